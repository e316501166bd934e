//! New tasks on their way to Accepted.

use super::{At, Run};
use crate::replay::gates::{self, Passage};
use crate::simulate::engine::Event;
use crate::simulate::model::LANES;
use crate::simulate::{EXPOSE_DATA_MOVEMENT_MILLIS, EXPOSE_POD_VOLUME_MILLIS};

impl Run<'_> {
    pub(super) fn plan_ask(&mut self) {
        if self.asking.is_empty() {
            return;
        }
        let is_open = |gate: usize| {
            let limit = self.gates.get(gate).copied().flatten();
            self.has_room(limit)
        };
        let Some((at, task)) = self.asking.next(self.now, &is_open) else {
            return;
        };
        if self.asked == Some((at, task)) {
            return;
        }
        self.asked = Some((at, task));
        self.ask_plan = self.ask_plan.wrapping_add(1);
        self.events.push(
            at,
            Event::Ask {
                plan: self.ask_plan,
            },
        );
    }

    /// The gate of a New task: its number, and the ring that it asks in.
    pub(super) fn gate(&self, id: u32) -> usize {
        if self.model.tasks.at(id).any_agent {
            return 0;
        }
        self.lane_of(id)
            .and_then(|lane| usize::try_from(lane / LANES).ok())
            .and_then(|node| self.gate_of_node.get(node).copied())
            .unwrap_or(0)
    }

    pub(super) fn has_room(&self, limit: Option<i64>) -> bool {
        limit.is_none_or(|limit| gates::prepare_queue(self.queue, limit) == Passage::Open)
    }

    /// A New task asks at the prepare queue and is accepted, if there is room.
    pub(super) fn ask(&mut self, plan: u32) {
        if self.ask_plan != plan {
            return;
        }
        let Some((_, id)) = self.asked.take() else {
            return;
        };
        let gate = self.gate(id);
        let limit = self.gates.get(gate).copied().flatten();
        if !self.has_room(limit) || self.tasks.at(id).at != At::Asking {
            self.plan_ask();
            return;
        }
        let spec = self.model.tasks.at(id);
        self.asking.leave(gate, self.tasks.at(id).phase, id);
        let expose = if spec.any_agent {
            EXPOSE_DATA_MOVEMENT_MILLIS
        } else {
            EXPOSE_POD_VOLUME_MILLIS
        };
        let own = self.lane_of(id).map(|lane| lane / LANES);
        let acceptor = if spec.any_agent {
            let (queue, model) = (self.queue, self.model);
            // An agent with a smaller number of its own lets the task pass by.
            let accepts = |node: u32| {
                let own = model.nodes.at(node).prepare_queue;
                own.is_none_or(|limit| gates::prepare_queue(queue, limit) == Passage::Open)
            };
            usize::try_from(spec.kind)
                .ok()
                .and_then(|kind| self.exposers.get_mut(kind))
                .and_then(|exposers| exposers.take(self.now, expose, &accepts))
        } else {
            own.map(|node| (node, self.now))
        };
        let Some((node, begin)) = acceptor else {
            self.tasks.at_mut(id).at = At::Standing;
            self.plan_ask();
            return;
        };
        let lane = node * LANES + spec.kind;
        let round = self.round(lane);
        if self.scenario.workers <= 1 {
            self.lanes
                .at_mut(lane)
                .block(self.now, begin + expose, round);
        }
        let task = self.tasks.at_mut(id);
        task.at = At::Exposing;
        if !task.counted {
            task.counted = true;
            self.queue += 1;
        }
        let prepare = self.prepare_beyond(id, 0).unwrap_or(0).max(expose);
        if prepare >= self.model.prepare_timeout_ms {
            self.events
                .push(begin + self.model.prepare_timeout_ms, Event::Finish(id));
        } else {
            self.events.push(begin + prepare, Event::Arrive(id));
        }
        self.plan_ask();
    }

    /// Takes the label off: the prepare queue has room for another.
    pub(super) fn unlabel(&mut self, id: u32) {
        let task = self.tasks.at_mut(id);
        if task.counted {
            task.counted = false;
            self.queue -= 1;
            self.plan_ask();
        }
    }
}
