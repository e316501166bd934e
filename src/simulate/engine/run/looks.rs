//! Waiting, looking and asking for a slot.

use super::{At, MINUTE_MS, Run, get_exposed};
use crate::simulate::CHECK_MILLIS;
use crate::simulate::engine::Event;
use crate::simulate::engine::lane::looks_between;
use crate::simulate::model::LANES;
use crate::simulate::random::Question;
use crate::simulate::scenario::{Order, RequeuePrepared};

impl Run<'_> {
    pub(super) fn arrive(&mut self, id: u32) {
        if self.tasks.at(id).at == At::WaitingUnseen {
            self.leave_pool(id);
        }
        if self.lane_of(id).is_some_and(|lane| self.is_blocked(lane)) {
            self.wait_unseen(id);
            return;
        }
        self.wait(id, 0);
        if let Some(lane) = self.lane_of(id) {
            self.plan(self.model.pool(lane));
        }
    }

    /// Puts a task into its lane; its first look is `wait` from now.
    pub(super) fn wait(&mut self, id: u32, wait: i64) {
        let Some(lane) = self.lane_of(id) else {
            return;
        };
        let pool = self.model.pool(lane);
        self.pools.at_mut(pool).wait(self.now, 1);
        self.join(id, lane, wait);
    }

    pub(super) fn join(&mut self, id: u32, lane: u32, wait: i64) {
        let round = self.round(lane);
        let turn = match self.scenario.order {
            Order::OwnTimers => None,
            Order::FirstComeFirstServed => {
                self.turns += 1;
                Some(self.turns)
            }
        };
        let first = self
            .lanes
            .at_mut(lane)
            .join(self.now, round, wait, id, turn);
        let task = self.tasks.at_mut(id);
        task.at = At::Waiting;
        task.first = first;
        task.phase = turn.unwrap_or_else(|| first.rem_euclid(round.period));
        task.joined = self.now;
    }

    pub(super) fn wait_unseen(&mut self, id: u32) {
        let Some(lane) = self.lane_of(id) else {
            return;
        };
        self.pools.at_mut(self.model.pool(lane)).wait(self.now, 1);
        self.tasks.at_mut(id).at = At::WaitingUnseen;
        // Behind a worker that does not go on it does not matter what is enqueued.
        if self.scenario.requeue_prepared == RequeuePrepared::EveryMinute && !self.is_blocked(lane)
        {
            // The source lists the tasks in no order.
            let place = self.chance.draw(Question::Phase, id, 1000);
            let at = self.minute(lane, self.now) + place;
            self.events.push(at, Event::Arrive(id));
        }
    }

    /// Returns when the periodic source of a lane's node enqueues next.
    pub(super) fn minute(&self, lane: u32, after: i64) -> i64 {
        let phase = self.chance.draw(Question::Minute, lane / LANES, MINUTE_MS);
        after + (phase - after).rem_euclid(MINUTE_MS)
    }

    pub(super) fn leave_pool(&mut self, id: u32) {
        if let Some(lane) = self.lane_of(id) {
            let pool = self.model.pool(lane);
            self.pools.at_mut(pool).wait(self.now, -1);
        }
    }

    /// Takes a task out of its lane and counts the looks that changed nothing.
    pub(super) fn unlane(&mut self, id: u32, lane: u32) {
        let round = self.round(lane);
        let task = *self.tasks.at(id);
        let clock = self.lanes.at_mut(lane).clock(self.now, round);
        self.lanes
            .at_mut(lane)
            .leave(self.now, round, task.phase, id);
        if self.scenario.design.asks_the_slot_first() || !self.model.tasks.at(id).has_pod {
            return;
        }
        let mut looks = looks_between(task.first, clock, round.period);
        if self.scenario.requeue_prepared == RequeuePrepared::EveryMinute {
            let first = self.minute(lane, task.joined);
            looks += looks_between(first, self.now, MINUTE_MS);
        }
        self.tally.calls += looks;
        self.tally.wasted += looks;
    }

    /// Plans the next look of each lane of a pool that has a free slot.
    pub(super) fn plan(&mut self, pool: u32) {
        if !self.pools.at(pool).is_open() {
            return;
        }
        let node = self.model.nodes.at(pool / LANES);
        if !node.works {
            return;
        }
        let lanes = if node.pool_per_kind {
            pool..pool + 1
        } else {
            pool..pool + LANES
        };
        match self.scenario.order {
            Order::OwnTimers => {
                for lane in lanes {
                    self.plan_lane(lane);
                }
            }
            Order::FirstComeFirstServed => {
                let looking = lanes.clone().any(|lane| self.lanes.at(lane).looking > 0);
                let first = lanes
                    .filter_map(|lane| Some((self.lanes.at(lane).head()?, lane)))
                    .min();
                if let Some(((_, task), lane)) = first
                    && !looking
                {
                    self.push_look(lane, self.now, task);
                }
            }
        }
    }

    pub(super) fn plan_lane(&mut self, lane: u32) {
        let round = self.round(lane);
        let state = self.lanes.at_mut(lane);
        if state.is_empty() || state.looking >= self.scenario.workers.max(1) {
            return;
        }
        let Some((mut at, mut task)) = state.next(self.now, round) else {
            return;
        };
        if self.scenario.requeue_prepared == RequeuePrepared::EveryMinute {
            let tick = self.minute(lane, self.now);
            if tick < at
                && let Some((_, first)) = self.lanes.at(lane).head()
            {
                (at, task) = (tick, first);
            }
        }
        self.push_look(lane, at, task);
    }

    pub(super) fn push_look(&mut self, lane: u32, at: i64, task: u32) {
        let state = self.lanes.at_mut(lane);
        if state.planned == Some((at, task)) {
            return;
        }
        state.plan = state.plan.wrapping_add(1);
        state.planned = Some((at, task));
        let plan = state.plan;
        self.events.push(at, Event::Look { lane, plan });
    }

    pub(super) fn look(&mut self, lane: u32, plan: u32) {
        let state = self.lanes.at_mut(lane);
        if state.plan != plan {
            return;
        }
        let Some((_, id)) = state.planned.take() else {
            return;
        };
        let pool = self.model.pool(lane);
        // Somebody was faster: this look is one of those that are counted when the task leaves.
        if !self.pools.at(pool).is_open() || self.tasks.at(id).at != At::Waiting {
            if self.tasks.at(id).at != At::Waiting {
                self.plan(pool);
            }
            return;
        }
        self.unlane(id, lane);
        self.tasks.at_mut(id).at = At::Looked;
        self.lanes.at_mut(lane).looking += 1;
        let has_pod = self.model.tasks.at(id).has_pod;
        self.tally.calls += i64::from(has_pod);
        if !self.scenario.design.asks_the_slot_last() {
            self.take(pool, lane);
        }
        let cost = if has_pod {
            get_exposed(lane % LANES)
        } else {
            CHECK_MILLIS
        };
        self.events.push(self.now + cost, Event::Request(id));
        self.plan(pool);
    }

    pub(super) fn take(&mut self, pool: u32, lane: u32) {
        let over = self.pools.at_mut(pool).take(self.now, lane);
        self.tally.over_limit = self.tally.over_limit.max(over);
    }

    pub(super) fn request(&mut self, id: u32) {
        let Some(lane) = self.lane_of(id) else {
            return;
        };
        let pool = self.model.pool(lane);
        self.lanes.at_mut(lane).looking -= 1;
        let late = self.scenario.design.asks_the_slot_last();
        if self.tasks.at(id).at != At::Looked {
            // Its deadline came during the look.
            if !late {
                self.pools.at_mut(pool).release(self.now);
            }
            self.plan(pool);
            return;
        }
        if late && !self.pools.at(pool).is_open() {
            if self.model.tasks.at(id).has_pod {
                self.tally.wasted += 1;
                if self.pools.at(pool).last_taker == lane {
                    self.tally.raced_same_kind += 1;
                } else {
                    self.tally.raced_other_kind += 1;
                }
            }
            let requeue = self.model.nodes.at(lane / LANES).requeue_ms;
            self.join(id, lane, requeue);
            return;
        }
        if late {
            self.take(pool, lane);
        }
        self.leave_pool(id);
        self.tally_start(id, self.now);
        let duration = self.duration(id);
        self.ends_at(id, self.now.saturating_add(duration));
        self.unlabel(id);
        self.plan(pool);
    }
}
