//! What rows 3 to 6 have in common: tasks of one node, told together, with those that wait behind them.

use std::collections::BTreeMap;

use super::words;
use crate::diagnose::case::Case;
use crate::diagnose::finding::{Confidence, Finding, FindingId, Severity};
use crate::replay::{SlotEntry, TaskReplay};
use crate::snapshot::ManagedFields;
use crate::velero::TaskRef;

/// Groups the tasks that a rule is about by node; a task whose node is not known stands under `None`.
pub(super) fn by_node<'a, 's>(
    tasks: impl Iterator<Item = &'a TaskReplay<'s>>,
) -> BTreeMap<Option<&'a str>, Vec<&'a TaskReplay<'s>>>
where
    's: 'a,
{
    let mut groups: BTreeMap<Option<&str>, Vec<&TaskReplay<'s>>> = BTreeMap::new();
    for task in tasks {
        groups.entry(task.node.as_deref()).or_default().push(task);
    }
    groups
}

/// Returns the names of some tasks.
pub(super) fn references(tasks: &[&TaskReplay<'_>]) -> Vec<TaskRef> {
    tasks
        .iter()
        .map(|task| task.task.reference.clone())
        .collect()
}

/// Begins a finding about tasks of one node.
pub(super) fn finding(
    case: &Case<'_, '_>,
    id: FindingId,
    severity: Severity,
    confidence: Confidence,
    node: Option<&str>,
    tasks: &[&TaskReplay<'_>],
    summary: String,
) -> Finding {
    let mut finding = Finding::new(id, severity, case.cap(confidence), summary);
    finding.node = node.map(str::to_owned);
    finding.tasks = references(tasks);
    finding.deadline = case.earliest_deadline(&finding.tasks);
    finding
}

/// Returns a confidence for what rests on the last write of some tasks: without managedFields that time
/// is only a lower bound, and a task whose last write is still to come looks the same.
pub(super) fn by_last_write(tasks: &[&TaskReplay<'_>], confidence: Confidence) -> Confidence {
    let known = tasks
        .iter()
        .all(|task| task.task.writes.managed_fields == ManagedFields::Present);
    if known {
        confidence
    } else {
        Confidence::Possible
    }
}

/// Returns those that wait for a slot of the pools of some tasks: one for the node, on v1.12 one for each kind.
pub(super) fn waiting(
    case: &Case<'_, '_>,
    node: Option<&str>,
    tasks: &[&TaskReplay<'_>],
) -> Vec<TaskRef> {
    let Some(node) = node.and_then(|node| case.node(node)) else {
        return Vec::new();
    };
    let mut waiting: Vec<TaskRef> = node
        .pools
        .iter()
        .filter(|pool| {
            tasks
                .iter()
                .any(|task| pool.kinds.contains(&task.task.reference.kind))
        })
        .flat_map(|pool| pool.waiting.iter().copied().cloned())
        .collect();
    waiting.sort();
    waiting
}

/// Says how many wait, for the end of a sentence; empty if nobody does.
pub(super) fn behind(waiting: &[TaskRef]) -> String {
    match waiting.len() {
        0 => String::new(),
        number => format!(
            "; {} {} behind",
            words::count(number, "task"),
            words::verb(number, "waits", "wait")
        ),
    }
}

/// Returns whether any of the tasks holds a slot.
pub(super) fn any_holds(tasks: &[&TaskReplay<'_>]) -> bool {
    tasks.iter().any(|task| task.entry == SlotEntry::Holds)
}
