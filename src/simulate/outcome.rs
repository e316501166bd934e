//! Many runs as ranges.

use std::collections::BTreeMap;

use super::build::Built;
use super::durations::Basis;
use super::engine::{Tally, run};
use super::later::Later;
use super::model::{Ending, LANES, NEVER, NONE, Start};
use super::random::Chance;
use super::scenario::{Concurrency, GhostSlots, Scenario};
use super::stage::{self, Restart, Stage};
use crate::replay::{Deadline, DeadlineWhat, Replay};
use crate::snapshot::Snapshot;
use crate::velero::{Phase, TaskRef};

/// What half of the runs stay within, and what nine of ten do. `None`: it never happens in so many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// Half of the runs.
    pub p50: Option<i64>,
    /// Nine of ten.
    pub p90: Option<i64>,
}

impl Range {
    /// Takes the range of some numbers, one for each run.
    pub(super) fn of(mut numbers: Vec<i64>) -> Self {
        numbers.sort_unstable();
        Self {
            p50: rank(&numbers, 50),
            p90: rank(&numbers, 90),
        }
    }
}

/// The nearest rank: the smallest number that so many per cent of all do not exceed.
pub(super) fn rank(sorted: &[i64], percent: usize) -> Option<i64> {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().filter(|number| *number < NEVER)
}

/// What one scenario comes to. Times are in milliseconds from "now".
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The scenario.
    pub scenario: Scenario,
    /// When the last task has ended; of those that end at all.
    pub drained: Range,
    /// The same by run.
    pub drained_by_run: Vec<i64>,
    /// How many tasks miss their deadline, by run.
    pub missed_by_run: Vec<i64>,
    /// Whether the higher limits of the scenario drain later; only of one that raises limits.
    pub later: Option<Later>,
    /// `GetExposed` calls made.
    pub calls: Range,
    /// Those after which the slot was refused.
    pub wasted: Range,
    /// Of these, the slot went to a task of the same kind during the call.
    pub raced_same_kind: Range,
    /// Of these, it went to a task of another kind.
    pub raced_other_kind: Range,
    /// Slot-milliseconds that were free while a task waited for a slot of the same pool.
    pub idle: Range,
    /// Tasks that miss their deadline.
    pub missed: Range,
    /// Tasks that never end.
    pub stuck: Range,
    /// In how many of all runs and tasks each ending occurs, per run, rounded down.
    pub endings: BTreeMap<Ending, Range>,
    /// Each node.
    pub nodes: Vec<NodeOutcome>,
    /// Each task.
    pub tasks: Vec<TaskOutcome>,
    /// What a fault would do; only where asked for.
    pub probes: Option<Probes>,
    /// The restart that the scenario takes, played as one now.
    pub restart: Option<Restart>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// How many of the simulated tasks are bound to it now.
    pub tasks: usize,
    /// When its last task has ended, of those whose end is known; none where a task of it never ends.
    pub idle_at: Range,
    /// How many of its tasks end at a time that is not known, or not at all.
    pub not_known: usize,
    /// The smallest limit under which, in half of the runs, none of its tasks misses a deadline that some limit
    /// would meet; only where one does, and some limit helps.
    pub smallest_limit: Option<i64>,
}

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutcome {
    /// The task.
    pub task: TaskRef,
    /// Its phase now.
    pub phase: Phase,
    /// Its node now.
    pub node: Option<String>,
    /// When it gets its slot; 0 for one that has it.
    pub start: Range,
    /// When it ends.
    pub end: Range,
    /// How it ends in most runs.
    pub ending: Ending,
    /// Its deadline: that of its operation, else that of its preparation.
    pub deadline: Option<Deadline>,
    /// In how many runs it misses its deadline.
    pub missed_runs: u32,
    /// From what its duration is drawn, and from how many samples.
    pub basis: Option<(Basis, usize)>,
    /// The smallest limit of its node under which, in half of the runs, no task there misses a deadline that
    /// some limit would meet; only where this one misses its own in more than half, and some limit saves it.
    pub smallest_limit: Option<i64>,
}

/// What a fault would do under a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    /// Tasks that never end when every slot of the busiest node is leaked.
    pub stuck_by_leaked_slots: i64,
    /// Tasks that never end when the timers of the busiest node's waiting tasks are lost.
    pub stuck_by_lost_events: i64,
}

/// What every scenario of a request shares.
pub(super) struct Setting<'a, 's> {
    pub(super) built: &'a Built<'s>,
    pub(super) snapshot: &'s Snapshot,
    pub(super) replay: &'a Replay<'s>,
    pub(super) seed: u64,
    pub(super) runs: u32,
}

/// Returns the limit of each node under a scenario. Where the release has no number to set it stays.
pub(super) fn limits(built: &Built<'_>, scenario: &Scenario) -> Vec<i64> {
    let model = &built.model;
    model
        .names
        .iter()
        .zip(model.nodes.iter())
        .map(|(name, node)| {
            let asked = match &scenario.concurrency {
                Concurrency::Present => None,
                Concurrency::Everywhere(limit) => Some(*limit),
                Concurrency::OfNodes(nodes) => nodes.get(name).copied(),
            };
            // What the configuration names by now comes into force with the restart that ends ghost slots.
            let present = match scenario.ghost_slots {
                GhostSlots::Stay => node.limit,
                GhostSlots::Gone => node.next.limit.unwrap_or(node.limit),
            };
            asked.filter(|_| node.settings.limit).unwrap_or(present)
        })
        .collect()
}

/// Plays all runs of a scenario.
pub(super) fn play(
    setting: &Setting<'_, '_>,
    scenario: &Scenario,
    stage: &Stage<'_>,
) -> Vec<Tally> {
    (0..setting.runs)
        .map(|number| {
            let chance = Chance::of(setting.seed, number);
            run(&stage.model, scenario, &stage.limits, chance)
        })
        .collect()
}

/// Plays a scenario and sums it up.
pub(super) fn of(setting: &Setting<'_, '_>, scenario: &Scenario) -> Outcome {
    let stage = stage::of(setting, scenario, &BTreeMap::new());
    let tallies = play(setting, scenario, &stage);
    let range = |number: &dyn Fn(&Tally) -> i64| Range::of(tallies.iter().map(number).collect());
    let count = |tally: &Tally, wanted: &dyn Fn(Ending) -> bool| {
        to_i64(
            tally
                .ending
                .iter()
                .filter(|ending| wanted(**ending))
                .count(),
        )
    };
    let missed = |tally: &Tally| to_i64(tally.missed.iter().filter(|missed| **missed).count());
    let mut endings = BTreeMap::new();
    for ending in tallies.iter().flat_map(|tally| &tally.ending) {
        endings.entry(*ending).or_insert_with(Range::default);
    }
    for (ending, range) in &mut endings {
        *range = Range::of(
            tallies
                .iter()
                .map(|tally| count(tally, &|other| other == *ending))
                .collect(),
        );
    }
    Outcome {
        scenario: scenario.clone(),
        drained: range(&|tally| tally.drained),
        drained_by_run: tallies.iter().map(|tally| tally.drained).collect(),
        missed_by_run: tallies.iter().map(missed).collect(),
        later: None,
        calls: range(&|tally| tally.calls),
        wasted: range(&|tally| tally.wasted),
        raced_same_kind: range(&|tally| tally.raced_same_kind),
        raced_other_kind: range(&|tally| tally.raced_other_kind),
        idle: range(&|tally| tally.idle),
        missed: range(&missed),
        stuck: range(&|tally| count(tally, &Ending::is_stuck)),
        endings,
        nodes: nodes(setting, &tallies),
        tasks: tasks(setting, &tallies),
        probes: None,
        restart: stage.restart,
    }
}

fn to_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Nodes with a task of their own.
fn nodes(setting: &Setting<'_, '_>, tallies: &[Tally]) -> Vec<NodeOutcome> {
    let model = &setting.built.model;
    let mut of_node: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, spec) in model.tasks.iter().enumerate() {
        if spec.lane != NONE {
            of_node.entry(spec.lane / LANES).or_default().push(index);
        }
    }
    of_node
        .into_iter()
        .filter_map(|(node, tasks)| {
            let unknown =
                |tally: &Tally, task: usize| tally.ending.get(task) == Some(&Ending::NotKnown);
            let idle = tallies.iter().map(|tally| {
                let known = tasks.iter().filter(|task| !unknown(tally, **task));
                let ends = known.filter_map(|task| tally.ended.get(*task));
                ends.copied().max().unwrap_or(NEVER)
            });
            let not_known = tallies
                .iter()
                .map(|tally| tasks.iter().filter(|task| unknown(tally, **task)).count())
                .max();
            Some(NodeOutcome {
                name: model.names.get(usize::try_from(node).ok()?)?.clone(),
                tasks: tasks.len(),
                idle_at: Range::of(idle.collect()),
                not_known: not_known.unwrap_or(0),
                smallest_limit: None,
            })
        })
        .collect()
}

fn tasks(setting: &Setting<'_, '_>, tallies: &[Tally]) -> Vec<TaskOutcome> {
    let model = &setting.built.model;
    let by_run = |pick: &dyn Fn(&Tally) -> Option<i64>| {
        Range::of(
            tallies
                .iter()
                .map(|tally| pick(tally).unwrap_or(NEVER))
                .collect(),
        )
    };
    setting
        .built
        .tasks
        .iter()
        .zip(model.tasks.iter())
        .enumerate()
        .filter_map(|(index, (task, spec))| {
            let replayed = setting.replay.tasks.get(*task)?;
            let missed = tallies
                .iter()
                .filter(|tally| tally.missed.get(index) == Some(&true));
            let operation = match &replayed.deadline {
                Some(deadline) if deadline.what == DeadlineWhat::PrepareTimeout => setting
                    .replay
                    .operation_deadline(setting.snapshot, replayed),
                Some(_) | None => None,
            };
            let group = usize::try_from(spec.group)
                .ok()
                .and_then(|group| model.groups.get(group));
            Some(TaskOutcome {
                task: (*task).clone(),
                phase: replayed.task.phase.clone(),
                node: replayed.node.clone(),
                start: by_run(&|tally| tally.started.get(index).copied()),
                end: by_run(&|tally| tally.ended.get(index).copied()),
                ending: most_common(tallies.iter().filter_map(|tally| tally.ending.get(index))),
                deadline: operation.or_else(|| replayed.deadline.clone()),
                missed_runs: u32::try_from(missed.count()).unwrap_or(u32::MAX),
                basis: match spec.start {
                    Start::Holds(super::model::Remaining::Known(_)) => Some((Basis::OwnRate, 1)),
                    Start::Holds(super::model::Remaining::Beyond(_))
                    | Start::HoldsForEver
                    | Start::Waits
                    | Start::Exposes { .. }
                    | Start::BecomesPrepared
                    | Start::New
                    | Start::Ends(..)
                    | Start::Stays(_) => group.map(|group| (group.basis, group.samples.len())),
                },
                smallest_limit: None,
            })
        })
        .collect()
}

fn most_common<'t>(endings: impl Iterator<Item = &'t Ending>) -> Ending {
    let mut counts: BTreeMap<Ending, usize> = BTreeMap::new();
    for ending in endings {
        *counts.entry(*ending).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(ending, count)| (*count, std::cmp::Reverse(*ending)))
        .map_or(Ending::NeverEnds, |(ending, _)| ending)
}
