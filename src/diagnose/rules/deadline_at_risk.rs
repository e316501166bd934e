//! Tasks that will be cancelled by their operation timeout before they get a slot, at the rate at which
//! tasks finish here. Predicted by [`crate::simulate`], with the replay's own rules.
//!
//! A prediction is worth a warning only where it stands on something: healthy nodes whose slots are all in
//! use, finished tasks to learn from, and nine of ten runs that agree. A node whose slots stand still has
//! a finding of its own, which names the deadline.

use std::collections::BTreeSet;

use super::words;
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{DeadlineWhat, NodeReplay, is_healthy};
use crate::simulate::{AtRisk, at_risk};
use crate::velero::{ObjectRef, TaskRef};

/// From how many finished tasks on the prediction is more than possible.
const MANY: usize = 10;

/// Proposes at most one finding.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let nodes: BTreeSet<&str> = case
        .replay
        .nodes
        .values()
        .filter(|node| is_orderly(case, node) && somebody_is_due(case, node))
        .map(|node| node.node.as_str())
        .collect();
    if nodes.is_empty() {
        return;
    }
    let Some(risk) = at_risk(case.snapshot, case.replay, &nodes) else {
        return;
    };
    let mut finding = Finding::new(
        FindingId::DeadlineAtRisk,
        Severity::Warning,
        case.cap(if risk.samples >= MANY {
            Confidence::Likely
        } else {
            Confidence::Possible
        }),
        summary(&risk),
    );
    if let [node] = risk.nodes.as_slice() {
        finding.node = Some(node.clone());
    }
    finding.blocked_by = holders(case, &risk);
    finding.deadline = case.earliest_deadline(&risk.tasks);
    finding.evidence = evidence(case, &risk);
    finding.actions = actions(&risk);
    finding.tasks = risk.tasks;
    out.findings.push(finding);
}

/// Whether the node works as it should: then only time is short.
fn is_orderly(case: &Case<'_, '_>, node: &NodeReplay<'_>) -> bool {
    node.working.is_yes()
        && node.limit.in_force.is_some()
        && !node.pools.iter().any(|pool| pool.idle)
        && node
            .holders()
            .into_iter()
            .all(|holder| case.replay.tasks.get(holder).is_some_and(is_healthy))
}

/// Whether a waiting task has an operation timeout that is still to come.
fn somebody_is_due(case: &Case<'_, '_>, node: &NodeReplay<'_>) -> bool {
    node.waiting().into_iter().any(|task| {
        case.replay
            .tasks
            .get(task)
            .and_then(|task| task.deadline.as_ref())
            .is_some_and(|deadline| {
                deadline.what == DeadlineWhat::ItemOperationTimeout && deadline.at > case.now()
            })
    })
}

fn summary(risk: &AtRisk) -> String {
    let cure = match (risk.smallest_limit, risk.hopeless) {
        (Some(limit), 0) => format!("with a limit of {limit} none would"),
        (Some(limit), late) => format!(
            "with a limit of {limit} none would but {late}, which {} longer than the time that is left",
            if late == 1 { "takes" } else { "take" }
        ),
        (None, _) if !risk.without_setting.is_empty() => {
            "this release has no limit to raise, an upgrade brings one".to_owned()
        }
        (None, _) => "no limit would change that".to_owned(),
    };
    let number = if risk.at_least == risk.expected {
        format!("About {}", risk.expected)
    } else {
        format!("{} to {}", risk.at_least, risk.expected)
    };
    let checked = if risk.unchecked > 0 {
        " The timeout is checked only when their Backup or Restore is not InProgress any more, so it may come later."
    } else {
        ""
    };
    format!(
        "{number} of {} on {} will be cancelled by the operation timeout before a slot is free for them; {cure}.{checked}",
        words::count(risk.tasks.len(), "waiting task"),
        words::names(risk.nodes.iter().map(String::as_str)),
    )
}

fn holders(case: &Case<'_, '_>, risk: &AtRisk) -> Vec<ObjectRef> {
    let mut all: Vec<&TaskRef> = risk
        .nodes
        .iter()
        .filter_map(|node| case.node(node))
        .flat_map(NodeReplay::holders)
        .collect();
    all.sort();
    all.into_iter().map(ObjectRef::from).collect()
}

fn evidence(case: &Case<'_, '_>, risk: &AtRisk) -> Vec<Evidence> {
    let mut all = vec![
        Evidence::derived(
            format!(
                "cancelled before they get a slot, in {} simulated runs",
                risk.runs
            ),
            format!(
                "at least {} in nine of ten, {} in half",
                risk.at_least, risk.expected
            ),
        ),
        Evidence::derived(
            "finished tasks that the durations are learned from".to_owned(),
            risk.samples.to_string(),
        ),
    ];
    for node in risk.nodes.iter().filter_map(|node| case.node(node)).take(3) {
        all.push(Evidence::derived(
            format!("{}: waiting tasks, limit in force", node.node),
            format!(
                "{}, {}",
                node.waiting().len(),
                node.limit.in_force.unwrap_or_default()
            ),
        ));
    }
    all
}

fn actions(risk: &AtRisk) -> Vec<Action> {
    let concurrency = risk
        .smallest_limit
        .map_or_else(String::new, |limit| format!(" --concurrency {limit}"));
    vec![Action {
        command: format!("kubectl velero-slots replay --simulate{concurrency} {{ns}}"),
        effect: "shows when each task would start and end, under the present and another limit"
            .to_owned(),
        risk: "none".to_owned(),
    }]
}

#[cfg(test)]
mod tests;
