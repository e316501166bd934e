//! How the queue drains from here.

use std::collections::BTreeMap;

use super::{Filters, Head, Pins};
use crate::diagnose::{Diagnosis, FindingId};
use crate::replay::Replay;
use crate::simulate::{Outcome, Simulation, Trouble};
use crate::snapshot::{Gap, GapReason, Snapshot};

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

/// Returns what a diagnosis supposes to be wrong with the nodes whose tasks wait beside a free slot. Where
/// it does not know the cause, the slots count as leaked: that is what a restart mends for sure.
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
            let trouble = match finding.cause {
                Some("lost-reconcile" | "worker-blocked") => Trouble::LostTimers,
                Some(_) | None => {
                    let held = i64::try_from(node.holders().len()).unwrap_or(i64::MAX);
                    let limit = node.limit.in_force.unwrap_or(1);
                    Trouble::LeakedSlots(limit.saturating_sub(held).max(0))
                }
            };
            Some((node.node.clone(), trouble))
        })
        .collect()
}
