//! One run: the events of one possible future, from the present state to an empty queue.

mod accept;
mod lane;
mod pool;
mod run;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) use run::run;

use super::model::{Ending, NEVER};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A running task ends.
    End(u32),
    /// A task becomes Prepared.
    Arrive(u32),
    /// A look asks for its slot.
    Request(u32),
    /// A lane looks at the task it planned, unless the plan changed.
    Look { lane: u32, plan: u32 },
    /// The prepare queue lets somebody ask, unless the plan changed.
    Ask { plan: u32 },
    /// A task's operation timeout is over.
    Deadline(u32),
    /// Something ends a task that does not run.
    Finish(u32),
}

/// Events in the order of time, then of their making.
#[derive(Debug, Default)]
struct Events {
    heap: BinaryHeap<Reverse<(i64, u64, Event)>>,
    made: u64,
}

impl Events {
    fn push(&mut self, at: i64, event: Event) {
        if at < NEVER {
            self.made += 1;
            self.heap.push(Reverse((at, self.made, event)));
        }
    }

    fn pop(&mut self) -> Option<(i64, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

/// What one run came to. Times are milliseconds from now.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// When the last task ended.
    pub(super) drained: i64,
    /// `GetExposed` calls made.
    pub(super) calls: i64,
    /// Those after which the task was refused its slot.
    pub(super) wasted: i64,
    /// Of these: another task of the same kind took the slot during the call.
    pub(super) raced_same_kind: i64,
    /// Of these: a task of another kind took it.
    pub(super) raced_other_kind: i64,
    /// Slot-milliseconds that were free while somebody waited in the same pool.
    pub(super) idle: i64,
    /// The largest number of entries above the limit that an admission made.
    pub(super) over_limit: i64,
    /// By task: when it got its slot; [`NEVER`] if it did not.
    pub(super) started: Vec<i64>,
    /// By task: when it ended; [`NEVER`] if it did not.
    pub(super) ended: Vec<i64>,
    /// By task: how.
    pub(super) ending: Vec<Ending>,
    /// By task: whether its deadline passed before its end.
    pub(super) missed: Vec<bool>,
}
