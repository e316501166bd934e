//! A pool of slots in a run.

use crate::replay::gates::{self, Passage};
use crate::velero::profile::LimitedWhen;

/// A pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    pub(super) limit: i64,
    pub(super) when: LimitedWhen,
    /// Entries: holders, ghosts, and reservations.
    entries: i64,
    /// Tasks that wait for one of its slots, those under a look included.
    waiting: i64,
    changed: i64,
    idle: i64,
    /// The lane that took the last slot.
    pub(super) last_taker: u32,
}

impl Pool {
    pub(super) const fn new(limit: i64, when: LimitedWhen, entries: i64, taker: u32) -> Self {
        Self {
            limit,
            when,
            entries,
            waiting: 0,
            changed: 0,
            idle: 0,
            last_taker: taker,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        gates::slot(self.when, self.entries, self.limit) == Passage::Open
    }

    /// Takes a slot; returns how far above the limit that is.
    pub(super) fn take(&mut self, now: i64, lane: u32) -> i64 {
        self.settle(now);
        self.entries += 1;
        self.last_taker = lane;
        (self.entries - self.limit).max(0)
    }

    pub(super) fn release(&mut self, now: i64) {
        self.settle(now);
        self.entries -= 1;
    }

    pub(super) fn wait(&mut self, now: i64, by: i64) {
        self.settle(now);
        self.waiting += by;
    }

    /// Counts the free slots of the time since the last change, if somebody waited.
    pub(super) fn settle(&mut self, now: i64) {
        let passed = now - self.changed;
        self.changed = now;
        if self.waiting > 0 {
            let free = (self.limit - self.entries).max(0).min(self.waiting);
            self.idle = self.idle.saturating_add(free.saturating_mul(passed));
        }
    }

    pub(super) const fn idle(&self) -> i64 {
        self.idle
    }
}
