//! The plan of a restart.

use super::model::{ConfirmBy, Confirmation, Plan, PlanAction, Probe};
use super::observe::Observation;
use super::select::{NotSelected, RestartTargets};
use super::step::Step;
use super::{Known, Wishes};

/// Plans the restart of the node-agents of some nodes, one after the other.
///
/// # Errors
///
/// A name that names no node: an error of usage.
pub fn plan_restart(
    known: Known<'_, '_>,
    _targets: &RestartTargets,
    wishes: &Wishes,
) -> Result<Plan, NotSelected> {
    Ok(empty(known, PlanAction::Restart, wishes))
}

/// Returns the nudges that a restart makes necessary: of the plan's follow-ups, those whose task is still
/// Accepted while its mover pod runs, so that no event will come any more (v1.17 on).
///
/// `after` is a reading made when the new agent works. To be asked again with each reading: a pod that
/// begins to run under the eyes of the new agent needs no nudge, and one minute shows that.
#[must_use]
pub fn follow_up(_plan: &Plan, _after: Known<'_, '_>, _seen: &Observation) -> Vec<Step> {
    Vec::new()
}

pub(super) fn empty(known: Known<'_, '_>, action: PlanAction, wishes: &Wishes) -> Plan {
    Plan {
        action,
        taken_at: known.snapshot.taken_at,
        source: known.snapshot.source.source,
        namespace: known.snapshot.namespace.clone(),
        nodes: Vec::new(),
        targets: Vec::new(),
        steps: Vec::new(),
        follow_ups: Vec::new(),
        effects: Vec::new(),
        expected: Vec::new(),
        earlier: Vec::new(),
        refusals: Vec::new(),
        left_out: Vec::new(),
        warnings: Vec::new(),
        confirmation: Confirmation {
            by: ConfirmBy::YesNo,
            question: String::new(),
        },
        probe: Probe::No,
        rights: Vec::new(),
        force: wishes.force,
    }
}
