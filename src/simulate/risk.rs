//! Which tasks will be cancelled before they get a slot, as `diagnose` asks.

use std::collections::{BTreeMap, BTreeSet};

use super::RUNS;
use super::build::{Input, build, is_unchecked};
use super::model::Ending;
use super::outcome::{self, Setting, play, rank};
use super::scenario::Scenario;
use crate::replay::{Replay, TaskReplay};
use crate::snapshot::Snapshot;
use crate::velero::TaskRef;

/// How many finished tasks it takes to predict anything.
const ENOUGH: usize = 3;

/// Tasks at risk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtRisk {
    /// How many waiting tasks are cancelled before they get a slot, at least, in nine of ten runs.
    pub at_least: usize,
    /// The same in half of the runs.
    pub expected: usize,
    /// The waiting tasks that any of this can hit: cancelled so in more than one run of ten.
    pub tasks: Vec<TaskRef>,
    /// Their nodes.
    pub nodes: Vec<String>,
    /// How many of these no limit saves: they take longer than the time that is left.
    pub hopeless: usize,
    /// The smallest limit under which none of the others is, if a limit helps; of the node that needs the
    /// largest.
    pub smallest_limit: Option<i64>,
    /// The release of these nodes has no concurrency number to set.
    pub without_setting: Vec<String>,
    /// How many of the tasks belong to a Backup or Restore that is InProgress: nobody checks their timeout yet.
    pub unchecked: usize,
    /// From how many finished tasks it is predicted.
    pub samples: usize,
    /// In how many runs.
    pub runs: u32,
}

/// Predicts which tasks of some nodes are cancelled by their operation timeout before they get a slot.
/// Nothing is predicted from fewer than three finished tasks.
#[must_use]
pub fn at_risk(snapshot: &Snapshot, replay: &Replay<'_>, nodes: &BTreeSet<&str>) -> Option<AtRisk> {
    let troubles = BTreeMap::new();
    let input = Input {
        snapshot,
        replay,
        troubles: &troubles,
    };
    let of_these = |task: &TaskReplay<'_>| {
        task.node
            .as_deref()
            .is_some_and(|node| nodes.contains(node))
    };
    let mut built = build(&input, &of_these);
    // Tasks elsewhere are not played, so what they do to the prepare queue is not known here.
    built.model.forget_prepare_queues();
    if built.learned.finished < ENOUGH || built.model.knows_no_duration() {
        return None;
    }
    let setting = Setting {
        built: &built,
        snapshot,
        replay,
        seed: 0,
        runs: super::runs_for(built.tasks.len()).min(RUNS),
    };
    let scenario = Scenario::default();
    let stage = super::stage::of(&setting, &scenario, &BTreeMap::new());
    let tallies = play(&setting, &scenario, &stage);
    let hit = |ending: &Ending| *ending == Ending::DeadlineWaiting;
    let mut counts: Vec<i64> = tallies
        .iter()
        .map(|tally| {
            let hits = tally.ending.iter().filter(|ending| hit(ending)).count();
            i64::try_from(hits).unwrap_or(i64::MAX)
        })
        .collect();
    counts.sort_unstable();
    let count = |percent| rank(&counts, percent).and_then(|count| usize::try_from(count).ok());
    let (at_least, expected) = (count(10)?, count(50)?);
    if at_least == 0 {
        return None;
    }
    let mut outcome = outcome::of(&setting, &scenario);
    let late_anyway = super::limits::find(&setting, &scenario, &mut outcome);
    let mut tasks = Vec::new();
    let mut hopeless = 0;
    let mut unchecked = 0;
    let mut of = BTreeSet::new();
    for (index, task) in built.tasks.iter().enumerate() {
        let hits = tallies
            .iter()
            .filter(|tally| tally.ending.get(index).is_some_and(hit))
            .count();
        if hits * 10 > tallies.len() {
            tasks.push((*task).clone());
            hopeless += usize::from(late_anyway.contains(&index));
            let replayed = replay.tasks.get(*task);
            unchecked += usize::from(replayed.is_some_and(|task| is_unchecked(snapshot, task)));
            of.extend(replayed.and_then(|task| task.node.clone()));
        }
    }
    // A node without a number of its own: none of its tasks can be saved.
    let smallest_limit = outcome
        .nodes
        .iter()
        .filter(|node| of.contains(&node.name))
        .filter_map(|node| node.smallest_limit)
        .max();
    let without_setting = built
        .model
        .names
        .iter()
        .zip(built.model.nodes.iter())
        .filter(|(name, node)| !node.settings.limit && of.contains(*name))
        .map(|(name, _)| name.clone())
        .collect();
    Some(AtRisk {
        at_least,
        expected,
        tasks,
        nodes: of.into_iter().collect(),
        hopeless,
        without_setting,
        unchecked,
        smallest_limit,
        samples: built.learned.finished,
        runs: setting.runs,
    })
}
