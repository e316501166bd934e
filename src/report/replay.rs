//! What each node-agent would decide for each unfinished task if it looked now.

use super::{Filters, Head, Pins};
use crate::diagnose::Diagnosis;
use crate::replay::{Deadline, Gate, Replay, TaskReplay, Trigger, Verb};
use crate::snapshot::Snapshot;
use crate::velero::{Phase, TaskRef};

/// How many of the competing tasks a decision lists. The count is exact; the list is cut, since on a node
/// with thousands of waiting tasks each of them would list all the others.
pub const COMPETING_LISTED: usize = 100;

/// The answer of `replay`.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayReport {
    /// The head.
    pub head: Head,
    /// One decision for each unfinished task, by task.
    pub decisions: Vec<DecisionRow>,
    /// How many the filters left out.
    pub decisions_not_shown: usize,
}

/// What would be decided for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRow {
    /// The task.
    pub task: TaskRef,
    /// Its phase.
    pub phase: Phase,
    /// Its node.
    pub node: Option<String>,
    /// The gate at which the look ends.
    pub gate: Gate,
    /// What it does.
    pub decision: Verb,
    /// Why.
    pub reason: String,
    /// Who holds what it waits for.
    pub holders: Vec<TaskRef>,
    /// Who may take the next slot instead.
    pub competing: Option<Competing>,
    /// What makes the agent look again.
    pub next_trigger: Trigger,
    /// When the task ends by itself at the latest.
    pub deadline: Option<Deadline>,
    /// Whether what happens differs from what would be decided.
    pub diverges: bool,
}

/// Tasks that may take the next slot first: Velero keeps no order among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Competing {
    /// How many.
    pub count: usize,
    /// The first [`COMPETING_LISTED`] of them.
    pub tasks: Vec<TaskRef>,
}

impl ReplayReport {
    /// Makes the answer from what was replayed.
    #[must_use]
    pub fn new(
        snapshot: &Snapshot,
        replay: &Replay<'_>,
        diagnosis: &Diagnosis,
        filters: &Filters,
        pins: &Pins,
    ) -> Self {
        let shown = || {
            replay
                .tasks
                .values()
                .filter(|task| filters.shows_decision(task))
        };
        let unmatched = filters.unmatched(snapshot, replay);
        let gaps = replay
            .gaps
            .iter()
            .chain(&diagnosis.gaps)
            .chain(shown().filter_map(|task| task.deadline_gap.as_ref()))
            .chain(&unmatched);
        let decisions: Vec<DecisionRow> = shown().map(row).collect();
        Self {
            head: Head::new(snapshot, replay, gaps, pins),
            decisions_not_shown: replay.tasks.len().saturating_sub(decisions.len()),
            decisions,
        }
    }

    /// Returns whether nothing could be answered: no kind of task could be read, or no decision is
    /// shown for a filter that names what occurs nowhere.
    #[must_use]
    pub fn nothing_answered(&self) -> bool {
        self.head.no_task_kind_was_read()
            || (self.decisions.is_empty() && self.head.unmatched_filters().next().is_some())
    }
}

pub(super) fn row(task: &TaskReplay<'_>) -> DecisionRow {
    let decision = &task.decision;
    let owned = |tasks: &[&TaskRef]| tasks.iter().map(|task| (*task).clone()).collect();
    DecisionRow {
        task: task.task.reference.clone(),
        phase: task.task.phase.clone(),
        node: task.node.clone(),
        gate: decision.gate,
        decision: decision.verb,
        reason: decision.reason.clone(),
        holders: owned(&decision.holders),
        competing: decision.competing.as_ref().map(|tasks| Competing {
            count: decision.competing_count,
            tasks: owned(tasks.get(..COMPETING_LISTED).unwrap_or(tasks)),
        }),
        next_trigger: decision.next_trigger,
        deadline: task.deadline.clone(),
        diverges: decision.diverges,
    }
}
