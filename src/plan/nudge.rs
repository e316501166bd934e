//! The plan of a nudge.

use super::model::{Plan, PlanAction};
use super::select::{NotSelected, NudgeTargets};
use super::{Known, Wishes};

/// Plans a nudge: the touch that makes a controller look again at some tasks.
///
/// # Errors
///
/// A name that names no task or node: an error of usage.
pub fn plan_nudge(
    known: Known<'_, '_>,
    _targets: &NudgeTargets,
    wishes: &Wishes,
) -> Result<Plan, NotSelected> {
    Ok(super::common::begin(known, PlanAction::Nudge, wishes))
}
