//! How tasks end, and what is left when nothing happens any more.

use super::{At, Run};
use crate::simulate::build::STOP_MS;
use crate::simulate::engine::{Event, Tally};
use crate::simulate::model::{Ending, LANES, OnDeadline, Start};

impl Run<'_> {
    pub(super) fn deadline(&mut self, id: u32) {
        if self.tasks.at(id).at == At::Ended {
            return;
        }
        if self.tasks.at(id).is_unknown {
            self.finish(id);
            return;
        }
        let spec = self.model.tasks.at(id);
        if let Some(missed) = usize::try_from(id)
            .ok()
            .and_then(|id| self.tally.missed.get_mut(id))
        {
            *missed = true;
        }
        match spec.on_deadline {
            OnDeadline::Cancels => {}
            OnDeadline::GoesOn => return,
        }
        match self.tasks.at(id).at {
            At::Running => {
                let stop = self.now.saturating_add(STOP_MS);
                if self.tasks.at(id).end > stop {
                    self.tasks.at_mut(id).ends_by_deadline = true;
                    self.ends_at(id, stop);
                }
            }
            At::Exposing | At::Standing if spec.cancel_delay > 0 => {
                self.events
                    .push(self.now + spec.cancel_delay, Event::Finish(id));
            }
            At::Waiting
            | At::WaitingUnseen
            | At::Looked
            | At::Asking
            | At::Exposing
            | At::Standing => {
                self.finish(id);
            }
            At::Ended => {}
        }
    }

    /// Ends a task that does not run.
    pub(super) fn finish(&mut self, id: u32) {
        let at = self.tasks.at(id).at;
        let spec = self.model.tasks.at(id);
        let lane = self.lane_of(id);
        match at {
            At::Waiting => {
                if let Some(lane) = lane {
                    self.unlane(id, lane);
                }
                self.leave_pool(id);
            }
            At::WaitingUnseen | At::Looked => self.leave_pool(id),
            At::Asking => self
                .asking
                .leave(self.gate(id), self.tasks.at(id).phase, id),
            At::Exposing | At::Standing => {}
            // A look that comes too late.
            At::Running | At::Ended => return,
        }
        let missed = usize::try_from(id)
            .ok()
            .and_then(|id| self.tally.missed.get(id))
            .copied();
        let ending = match spec.start {
            _ if self.tasks.at(id).is_unknown => Ending::NotKnown,
            Start::Ends(_, how) => how,
            // Cancelling it does not give its slot back.
            Start::HoldsForEver if missed == Some(true) => Ending::DeadlineRunning,
            _ if missed == Some(true) => Ending::DeadlineWaiting,
            Start::HoldsForEver => Ending::EndedByALook,
            Start::Holds(_)
            | Start::Waits
            | Start::Exposes { .. }
            | Start::BecomesPrepared
            | Start::New
            | Start::Stays(_) => Ending::PrepareTimeout,
        };
        self.end(id, ending);
        if let Some(lane) = lane {
            self.plan(self.model.pool(lane));
        }
        self.plan_ask();
    }

    pub(super) fn end(&mut self, id: u32, how: Ending) {
        self.tasks.at_mut(id).at = At::Ended;
        let is_known = how != Ending::NotKnown;
        if is_known {
            self.tally.drained = self.tally.drained.max(self.now);
        }
        if let Ok(index) = usize::try_from(id) {
            if is_known && let Some(ended) = self.tally.ended.get_mut(index) {
                *ended = self.now;
            }
            if let Some(ending) = self.tally.ending.get_mut(index) {
                *ending = how;
            }
        }
        self.unlabel(id);
    }

    /// Counts what is left when nothing happens any more.
    pub(super) fn close(mut self) -> Tally {
        let ids = self.tasks.ids();
        for id in ids {
            let how = match self.tasks.at(id).at {
                At::Ended => continue,
                At::Waiting | At::Looked => {
                    if let Some(lane) = self.lane_of(id) {
                        self.unlane(id, lane);
                        if self.model.nodes.at(lane / LANES).works {
                            Ending::NoSlotLeft
                        } else {
                            Ending::MissingOwner
                        }
                    } else {
                        Ending::MissingOwner
                    }
                }
                At::Exposing if self.tasks.at(id).is_unknown => Ending::NotKnown,
                At::WaitingUnseen | At::Exposing => Ending::NobodyLooks,
                At::Asking => Ending::NoRoomInQueue,
                At::Running => Ending::NeverEnds,
                At::Standing => match self.model.tasks.at(id).start {
                    Start::Stays(how) => how,
                    Start::New if self.lane_of(id).is_some_and(|lane| self.is_blocked(lane)) => {
                        Ending::NobodyLooks
                    }
                    Start::New => Ending::MissingOwner,
                    Start::HoldsForEver
                    | Start::Holds(_)
                    | Start::Waits
                    | Start::Exposes { .. }
                    | Start::BecomesPrepared
                    | Start::Ends(..) => {
                        if self.lane_of(id).is_none() {
                            Ending::MissingOwner
                        } else {
                            Ending::NeverEnds
                        }
                    }
                },
            };
            if let Some(ending) = usize::try_from(id)
                .ok()
                .and_then(|id| self.tally.ending.get_mut(id))
            {
                *ending = how;
            }
        }
        for pool in self.pools.ids() {
            self.pools.at_mut(pool).settle(self.now);
            self.tally.idle = self.tally.idle.saturating_add(self.pools.at(pool).idle());
        }
        self.tally
    }
}
