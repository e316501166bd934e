//! Whether a higher limit drains later: with the order of the timers it can. A slot more lets other tasks
//! start first, and a long one that starts last ends last.

use super::build::Built;
use super::model::NEVER;
use super::outcome::{Outcome, Range, limits};
use super::scenario::{Concurrency, Scenario};

/// In how many runs a scenario with higher limits drains later than the same one with the present limits,
/// run by run: the same timers and durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// In so many runs it drains later.
    pub runs: usize,
    /// Of so many.
    pub of: usize,
    /// By how many milliseconds, in those runs.
    pub by: Range,
    /// By how many at most.
    pub most: i64,
}

/// Compares each scenario that raises limits, and lowers none, with the one that leaves them.
pub(super) fn compare(built: &Built<'_>, outcomes: &mut [Outcome]) {
    let compared: Vec<Option<Later>> = outcomes
        .iter()
        .map(|outcome| {
            let present = Scenario {
                concurrency: Concurrency::Present,
                ..outcome.scenario.clone()
            };
            let (low, high) = (limits(built, &present), limits(built, &outcome.scenario));
            let pairs = || low.iter().zip(&high);
            let raises = pairs().all(|(low, high)| low <= high) && pairs().any(|(l, h)| l < h);
            let base = outcomes.iter().find(|other| other.scenario == present)?;
            raises.then(|| between(&runs(base), &runs(outcome)))
        })
        .collect();
    for (outcome, later) in outcomes.iter_mut().zip(compared) {
        outcome.later = later;
    }
}

/// By run: how many tasks miss their deadline, and when the last one has ended.
fn runs(outcome: &Outcome) -> Vec<(i64, i64)> {
    let missed = outcome.missed_by_run.iter().copied();
    missed.zip(outcome.drained_by_run.iter().copied()).collect()
}

/// A run in which more tasks keep their deadline is no worse for being longer: their end is what takes longer.
fn between(base: &[(i64, i64)], other: &[(i64, i64)]) -> Later {
    let by: Vec<i64> = base
        .iter()
        .zip(other)
        .filter(|(base, other)| base.0 <= other.0 && base.1 < other.1 && other.1 < NEVER)
        .map(|(base, other)| other.1 - base.1)
        .collect();
    Later {
        runs: by.len(),
        of: base.len().min(other.len()),
        most: by.iter().copied().max().unwrap_or(0),
        by: Range::of(by),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_compared_one_by_one() {
        let of = |drained: &[i64]| drained.iter().map(|at| (0, *at)).collect::<Vec<_>>();
        let later = between(&of(&[10, 20, 30, 40]), &of(&[9, 25, 30, 41]));
        assert_eq!((later.runs, later.of, later.most), (2, 4, 5));
        assert_eq!(later.by.p50, Some(1));
        let never = between(&of(&[10]), &of(&[10]));
        assert_eq!((never.runs, never.most, never.by.p50), (0, 0, None));
        // Five tasks more were done.
        assert_eq!(between(&[(10, 500)], &[(5, 510)]).runs, 0);
    }
}
