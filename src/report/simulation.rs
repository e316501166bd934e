//! How the queue drains from here.

use std::collections::BTreeMap;

use super::{Filters, Head, Pins};
use crate::diagnose::{Diagnosis, FindingId};
use crate::replay::{NodeReplay, Replay};
use crate::simulate::{Fault, Kinds, Outcome, Simulation, Trouble};
use crate::snapshot::{Gap, GapReason, Snapshot};
use crate::velero::TaskRef;

/// The answer of `replay --simulate`.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationReport {
    /// The head.
    pub head: Head,
    /// What was simulated; tasks and nodes that the filters leave out are gone.
    pub simulation: Simulation,
    /// How many tasks the filters left out.
    pub tasks_not_shown: usize,
}

impl SimulationReport {
    /// Makes the answer from what was simulated.
    #[must_use]
    pub fn new(
        snapshot: &Snapshot,
        replay: &Replay<'_>,
        diagnosis: &Diagnosis,
        mut simulation: Simulation,
        filters: &Filters,
        pins: &Pins,
    ) -> Self {
        let refused = simulation.refused.as_ref().map(|why| {
            Gap::new(
                "durations",
                GapReason::NotFound,
                why,
                "nothing could be simulated",
            )
        });
        let unmatched = filters.unmatched(snapshot, replay);
        let gaps = replay
            .gaps
            .iter()
            .chain(&diagnosis.gaps)
            .chain(&refused)
            .chain(&unmatched);
        let head = Head::new(snapshot, replay, gaps, pins);
        let before = simulation
            .outcomes
            .first()
            .map_or(0, |outcome| outcome.tasks.len());
        for outcome in &mut simulation.outcomes {
            show(outcome, replay, filters);
        }
        let after = simulation
            .outcomes
            .first()
            .map_or(0, |outcome| outcome.tasks.len());
        Self {
            head,
            simulation,
            tasks_not_shown: before.saturating_sub(after),
        }
    }

    /// Returns whether nothing could be answered: no kind of task could be read, nothing says how long a
    /// task takes, or no task is shown for a filter that names what occurs nowhere.
    #[must_use]
    pub fn nothing_answered(&self) -> bool {
        let nothing_shown = self
            .simulation
            .outcomes
            .first()
            .is_none_or(|outcome| outcome.tasks.is_empty());
        self.head.no_task_kind_was_read()
            || self.simulation.refused.is_some()
            || (nothing_shown && self.head.unmatched_filters().next().is_some())
    }
}

fn show(outcome: &mut Outcome, replay: &Replay<'_>, filters: &Filters) {
    outcome.nodes.retain(|node| filters.shows_node(&node.name));
    outcome.tasks.retain(|task| {
        replay
            .tasks
            .get(&task.task)
            .is_none_or(|task| filters.shows_decision(task))
    });
}

/// Returns what a diagnosis supposes to be wrong with the nodes whose tasks wait beside a free slot, and with
/// which kinds. What it does not know stays undetermined.
#[must_use]
pub fn troubles(replay: &Replay<'_>, diagnosis: &Diagnosis) -> BTreeMap<String, Trouble> {
    diagnosis
        .findings
        .iter()
        .filter(|finding| {
            matches!(
                finding.id,
                FindingId::PreparedStuck | FindingId::SlotsLeaked
            )
        })
        .filter_map(|finding| {
            let node = replay.nodes.get(finding.node.as_deref()?)?;
            let kinds: Kinds = finding.tasks.iter().map(|task| task.kind).collect();
            let spare = spare(node, &finding.tasks);
            let fault = match finding.cause {
                Some("lost-reconcile") => Fault::LostTimers,
                Some("worker-blocked") => Fault::BlockedWorker,
                Some("ghost-slot") => Fault::LeakedSlots(spare),
                Some(_) | None => Fault::Undetermined(spare),
            };
            Some((node.node.clone(), Trouble { fault, kinds }))
        })
        .collect()
}

/// How many slots are free by status in a pool where one of these tasks waits; on v1.12 each kind has its own.
fn spare(node: &NodeReplay<'_>, waiting: &[TaskRef]) -> i64 {
    node.pools
        .iter()
        .filter(|pool| waiting.iter().any(|task| pool.kinds.contains(&task.kind)))
        .map(|pool| {
            let held = i64::try_from(pool.holders.len()).unwrap_or(i64::MAX);
            pool.limit.unwrap_or(1).saturating_sub(held).max(0)
        })
        .max()
        .unwrap_or(0)
}
