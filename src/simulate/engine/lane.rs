//! The tasks of one kind that wait on one node, and the one worker (or more) that looks at them.
//!
//! Each waiting task has its own timer. While the pool is full its looks change nothing, so they are not
//! played one by one: the timers are phases on a circle, and a clock of the lane tells who comes next
//! after any instant and how often each has come by since. With so many waiting tasks that one round takes
//! longer than the timers, the worker goes round without a pause and the clock runs slower.

use std::collections::BTreeSet;

/// A lane.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// Waiting tasks by their phase on the circle (or their turn, when the order is fixed), and by index.
    ring: BTreeSet<(i64, u32)>,
    /// What the lane's clock shows, in milliseconds of undisturbed rounds.
    clock: i64,
    /// When it showed that; in the future while the worker is blocked.
    at: i64,
    /// The clock time up to which tasks that came at once are served: one after the other.
    served: i64,
    /// Looks under way.
    pub(super) looking: u32,
    /// Stamp of the look that is planned.
    pub(super) plan: u32,
    /// The planned look: when, and at which task.
    pub(super) planned: Option<(i64, u32)>,
}

/// How a lane goes round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// The undisturbed period of a task's looks: the requeue time and the look itself.
    pub(super) period: i64,
    /// What a refused look costs the worker.
    pub(super) cost: i64,
    /// Workers.
    pub(super) workers: i64,
}

impl Lane {
    /// Puts a task in, whose next look is `wait` of undisturbed clock from now. Returns its clock time.
    pub(super) fn join(
        &mut self,
        now: i64,
        round: Round,
        wait: i64,
        task: u32,
        turn: Option<i64>,
    ) -> i64 {
        self.advance(now, round);
        let mut first = self.clock.saturating_add(wait);
        if wait == 0 {
            first = first.max(self.served);
            self.served = first.saturating_add(round.cost);
        }
        let phase = turn.unwrap_or_else(|| first.rem_euclid(round.period));
        self.ring.insert((phase, task));
        first
    }

    /// Takes a task out. `phase` is what it was put in with.
    pub(super) fn leave(&mut self, now: i64, round: Round, phase: i64, task: u32) {
        self.advance(now, round);
        self.ring.remove(&(phase, task));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns the first in turn.
    pub(super) fn head(&self) -> Option<(i64, u32)> {
        self.ring.first().copied()
    }

    /// Returns what the clock shows.
    pub(super) fn clock(&mut self, now: i64, round: Round) -> i64 {
        self.advance(now, round);
        self.clock
    }

    /// The worker does something else until then; timers that fire meanwhile wait for it.
    pub(super) fn block(&mut self, now: i64, until: i64, round: Round) {
        self.advance(now, round);
        self.at = self.at.max(until);
    }

    /// Returns when the next task is looked at, and which.
    pub(super) fn next(&mut self, now: i64, round: Round) -> Option<(i64, u32)> {
        self.advance(now, round);
        let here = self.clock.rem_euclid(round.period);
        let (phase, task) = self
            .ring
            .range((here, 0)..)
            .next()
            .or_else(|| self.ring.first())
            .copied()?;
        let away = (phase - here).rem_euclid(round.period);
        let stretched = self.stretched(away, round);
        // Behind a blocked worker the first whose timer has fired is looked at as soon as it is free.
        Some((now.saturating_add(stretched).max(self.at), task))
    }

    fn advance(&mut self, now: i64, round: Round) {
        let passed = now - self.at;
        if passed <= 0 {
            return;
        }
        self.at = now;
        let real = self.real_period(round);
        self.clock += if real == round.period {
            passed
        } else {
            passed.saturating_mul(round.period) / real
        };
    }

    /// Turns undisturbed time into real time, rounded up.
    fn stretched(&self, time: i64, round: Round) -> i64 {
        let real = self.real_period(round);
        if real == round.period {
            time
        } else {
            time.saturating_mul(real).saturating_add(round.period - 1) / round.period
        }
    }

    fn real_period(&self, round: Round) -> i64 {
        let waiting = i64::try_from(self.ring.len()).unwrap_or(i64::MAX);
        let busy = waiting.saturating_mul(round.cost) / round.workers.max(1);
        busy.max(round.period)
    }
}

/// Returns how many looks fall into the clock times from `joined` up to and without `left`, when the first
/// is at `first`.
pub(super) fn looks_between(first: i64, left: i64, period: i64) -> i64 {
    if left <= first {
        0
    } else {
        (left - first - 1) / period + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Round = Round {
        period: 5000,
        cost: 50,
        workers: 1,
    };

    #[test]
    fn the_first_timer_after_an_instant_is_the_next_look() {
        let mut lane = Lane::default();
        lane.join(0, ROUND, 1000, 1, None);
        lane.join(0, ROUND, 4000, 2, None);
        assert_eq!(lane.next(0, ROUND), Some((1000, 1)));
        assert_eq!(lane.next(2000, ROUND), Some((4000, 2)));
        assert_eq!(lane.next(4001, ROUND), Some((6000, 1)));
        assert_eq!(lane.next(50_500, ROUND), Some((51_000, 1)));
    }

    #[test]
    fn a_crowded_lane_goes_round_more_slowly() {
        let mut lane = Lane::default();
        for task in 0..200 {
            lane.join(0, ROUND, i64::from(task) * 25, task, None);
        }
        // 200 looks of 50 ms: a round of 10 seconds. Half the circle takes five.
        assert_eq!(lane.next(10, ROUND).map(|(at, _)| at), Some(50));
        assert_eq!(lane.clock(10_000, ROUND), 5000);
    }

    #[test]
    fn a_blocked_worker_looks_when_it_is_free_again() {
        let mut lane = Lane::default();
        lane.join(0, ROUND, 1000, 1, None);
        lane.block(500, 3000, ROUND);
        assert_eq!(lane.next(600, ROUND), Some((3000, 1)));
    }

    #[test]
    fn looks_are_counted_from_the_first_on() {
        assert_eq!(looks_between(100, 100, 5000), 0);
        assert_eq!(looks_between(100, 101, 5000), 1);
        assert_eq!(looks_between(100, 5100, 5000), 1);
        assert_eq!(looks_between(100, 5101, 5000), 2);
    }
}
