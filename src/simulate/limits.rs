//! Under which smallest limit a deadline is met.

use std::collections::{BTreeMap, BTreeSet};

use super::engine::Tally;
use super::model::{Ending, LANES, NONE};
use super::outcome::{Outcome, Setting, limits, play};
use super::scenario::Scenario;
use super::stage;

/// Looks for the smallest limit of each node, all nodes at once: nodes do not share slots.
///
/// Which of the waiting tasks a timeout hits is up to their timers, so what counts is how many of a node
/// it hits: in half of the runs none. A task that is late in a run with a slot for everybody is no reason for
/// a higher limit: it holds its slot already, takes longer than its time, or is held up elsewhere.
///
/// Returns the tasks that no limit saves, by index: late in most of the runs with a slot for everybody.
pub(super) fn find(
    setting: &Setting<'_, '_>,
    scenario: &Scenario,
    outcome: &mut Outcome,
) -> BTreeSet<usize> {
    let model = &setting.built.model;
    let present = limits(setting.built, scenario);
    let half = setting.runs / 2;
    let mut of_node: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, spec) in model.tasks.iter().enumerate() {
        if spec.lane != NONE {
            of_node.entry(spec.lane / LANES).or_default().push(index);
        }
    }
    // A release without a number to set has none to look for. And a node that no task misses in any run needs
    // no search, and none is played for it.
    let missed = |index: &usize| {
        outcome
            .tasks
            .get(*index)
            .is_some_and(|task| task.missed_runs > 0)
    };
    of_node.retain(|node, tasks| model.nodes.at(*node).settings.limit && tasks.iter().any(missed));
    if of_node.is_empty() {
        return BTreeSet::new();
    }
    let shorter = Setting {
        runs: setting.runs.min(5),
        ..*setting
    };
    let widest: BTreeMap<u32, i64> = of_node
        .iter()
        .map(|(node, tasks)| {
            let most = i64::try_from(tasks.len()).unwrap_or(i64::MAX);
            (*node, most.max(at(&present, *node).unwrap_or(1)))
        })
        .collect();
    let at_best = play(&shorter, scenario, &stage::of(&shorter, scenario, &widest));
    let hopeless: BTreeSet<usize> = of_node
        .values()
        .flatten()
        .filter(|index| {
            let late = at_best.iter().filter(|tally| misses(tally, **index));
            late.count() * 2 > at_best.len()
        })
        .copied()
        .collect();
    let mut search: BTreeMap<u32, Search> = of_node
        .iter()
        .map(|(node, tasks)| {
            let low = at(&present, *node).unwrap_or(1);
            let most = i64::try_from(tasks.len()).unwrap_or(i64::MAX);
            // The present limit may do in half of the runs: it is tried too.
            (
                *node,
                Search::above(low - 1, most.max(low.saturating_add(1))),
            )
        })
        .collect();
    while search.values().any(|search| search.next().is_some()) {
        let tried: BTreeMap<u32, i64> = search
            .iter()
            .filter_map(|(node, search)| Some((*node, search.next().or(search.found())?)))
            .collect();
        let tallies = play(&shorter, scenario, &stage::of(&shorter, scenario, &tried));
        for (node, search) in &mut search {
            if let Some(limit) = search.next() {
                let tasks = of_node.get(node).map_or(&[][..], Vec::as_slice);
                search.saw(limit, nobody_is_late(&tallies, &at_best, tasks));
            }
        }
    }
    let ghosts = stage::with_ghosts(model);
    for (node, search) in search {
        // The present limit is an answer where the restart alone mends it.
        let found = search
            .found()
            .filter(|limit| Some(*limit) > at(&present, node) || ghosts.contains(&node));
        let name = usize::try_from(node)
            .ok()
            .and_then(|node| model.names.get(node));
        if let Some(row) = outcome.nodes.iter_mut().find(|row| Some(&row.name) == name) {
            row.smallest_limit = found;
        }
        for index in of_node.get(&node).into_iter().flatten() {
            if let Some(task) = outcome
                .tasks
                .get_mut(*index)
                .filter(|task| task.missed_runs > half && !hopeless.contains(index))
            {
                task.smallest_limit = found;
            }
        }
    }
    hopeless
}

fn at(limits: &[i64], node: u32) -> Option<i64> {
    limits.get(usize::try_from(node).ok()?).copied()
}

/// Whether in at least half of the runs no task misses its deadline that keeps it with a slot for everybody:
/// run by run, since each has the same durations.
fn nobody_is_late(tallies: &[Tally], at_best: &[Tally], tasks: &[usize]) -> bool {
    let clean = tallies
        .iter()
        .zip(at_best)
        .filter(|(tally, best)| {
            !tasks
                .iter()
                .any(|index| misses(tally, *index) && !misses(best, *index))
        })
        .count();
    clean * 2 >= tallies.len()
}

/// Whether a task does not keep its deadline; one that the restart for the limit ends does not either.
fn misses(tally: &Tally, task: usize) -> bool {
    tally.missed.get(task) == Some(&true) || tally.ending.get(task) == Some(&Ending::EndedByRestart)
}

/// A search for the smallest number that helps, if a larger one never helps less.
#[derive(Clone, Copy, Debug)]
struct Search {
    /// The largest number that does not help.
    low: i64,
    /// The smallest that does.
    high: Option<i64>,
    bound: i64,
    over: bool,
}

impl Search {
    const fn above(low: i64, bound: i64) -> Self {
        Self {
            low,
            high: None,
            bound,
            over: false,
        }
    }

    /// Returns the number to try next.
    fn next(self) -> Option<i64> {
        if self.over {
            return None;
        }
        match self.high {
            None => Some(
                self.low
                    .saturating_mul(2)
                    .clamp(self.low + 1, self.bound.max(self.low + 1)),
            ),
            Some(high) if high - self.low > 1 => Some(self.low + (high - self.low) / 2),
            Some(_) => None,
        }
    }

    fn saw(&mut self, limit: i64, helps: bool) {
        if helps {
            self.high = Some(limit);
        } else {
            self.low = limit;
            self.over = self.high.is_none() && limit >= self.bound;
        }
    }

    const fn found(self) -> Option<i64> {
        self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(low: i64, bound: i64, smallest: i64) -> Option<i64> {
        let mut search = Search::above(low, bound);
        let mut steps = 0;
        while let Some(limit) = search.next() {
            search.saw(limit, limit >= smallest);
            steps += 1;
            assert!(steps < 50);
        }
        search.found()
    }

    #[test]
    fn the_smallest_number_that_helps_is_found() {
        for smallest in 2..=100 {
            assert_eq!(search(1, 100, smallest), Some(smallest));
        }
        assert_eq!(search(1, 100, 101), None);
        assert_eq!(search(3, 4, 4), Some(4));
    }
}
