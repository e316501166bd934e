//! A task that waits beside a free slot: what the diagnosis found out about it, as a gate and a way out. The
//! objects alone show a slot that is free, and an answer that stopped there would mislead.

use super::gates::{GateName, GateRow, GateState};
use super::{Concern, NodeSlots, Role};
use crate::diagnose::{Finding, FindingId};
use crate::replay::NodeReplay;
use crate::snapshot::Snapshot;
use crate::velero::{TaskKind, TaskRef};

/// Entries of the log shown at most.
const LOGGED: usize = 12;

/// Returns the finding that says why a task does not get the slot that is free by status.
pub(super) fn by<'f>(
    concerns: impl IntoIterator<Item = (Role, &'f Finding)>,
) -> Option<&'f Finding> {
    concerns.into_iter().find_map(|(role, finding)| {
        let stuck = matches!(
            finding.id,
            FindingId::PreparedStuck | FindingId::SlotsLeaked
        );
        (stuck && role == Role::About).then_some(finding)
    })
}

/// Returns what the diagnosis says of a task where it knows more than the replay, which sees no log.
pub(super) fn why<'f>(concerns: impl IntoIterator<Item = (Role, &'f Finding)>) -> Option<&'f str> {
    concerns
        .into_iter()
        .find_map(|(role, finding)| finding.why.as_deref().filter(|_| role == Role::About))
}

fn blockers(finding: &Finding) -> String {
    let names: Vec<&str> = finding
        .blocked_by
        .iter()
        .map(|object| object.name.as_str())
        .collect();
    names.join(", ")
}

/// Puts the cause into the row of the slot.
pub(super) fn mark(gates: &mut [GateRow], finding: &Finding) {
    let Some(row) = gates.iter_mut().find(|row| row.gate == GateName::Slot) else {
        return;
    };
    let (state, reason) = row_of(finding);
    row.state = state;
    row.reason = reason;
}

fn row_of(finding: &Finding) -> (GateState, String) {
    let blockers = blockers(finding);
    match finding.cause {
        Some("ghost-slot") if blockers.is_empty() => (
            GateState::Closed,
            "free by status, and refused: an entry that no object shows holds the slot".to_owned(),
        ),
        Some("ghost-slot") => (
            GateState::Closed,
            format!("free by status, but held in the node-agent's memory for {blockers}"),
        ),
        Some("worker-blocked") if blockers.is_empty() => (
            GateState::NotReached,
            "free by status, and not asked for: the worker of its kind is blocked".to_owned(),
        ),
        Some("worker-blocked") => (
            GateState::NotReached,
            format!("free by status, and not asked for: the worker of its kind is busy with {blockers}"),
        ),
        Some("lost-reconcile") => (
            GateState::NotReached,
            "free by status, and not asked for: the node-agent does not look at the task any more"
                .to_owned(),
        ),
        Some(_) | None => (
            GateState::Unknown,
            "free by status, and not taken: it is held in the node-agent's memory, or nobody asks for it"
                .to_owned(),
        ),
    }
}

/// Returns what would free the task, the nearest way first; empty where the cause is not known.
pub(super) fn frees(finding: &Finding) -> Vec<String> {
    let node = finding.node.as_deref().unwrap_or("its node");
    let restart = format!(
        "a restart of the node-agent of {node}, which empties its memory; save its log first"
    );
    let blockers = blockers(finding);
    match finding.cause {
        Some("ghost-slot") => vec![restart],
        Some("worker-blocked") if blockers.is_empty() => vec![restart],
        Some("worker-blocked") => vec![format!("the end of what {blockers} waits for"), restart],
        Some("lost-reconcile") => vec![
            "any update of the task, such as an annotation: the node-agents look at it again"
                .to_owned(),
            restart,
        ],
        Some(_) | None => Vec::new(),
    }
}

/// Returns the entries of the agent's map that its log shows and the status of no task does. Where no line tells
/// the kind, the task of that name does, as the diagnosis has it.
pub(super) fn logged(
    snapshot: &Snapshot,
    node: &NodeReplay<'_>,
    slots: &NodeSlots,
) -> Vec<super::LoggedSlot> {
    let Some(log) = node.agent.and_then(|agent| agent.evidence.as_ref()) else {
        return Vec::new();
    };
    log.entries
        .iter()
        .filter(|(name, _)| {
            !slots
                .holders
                .iter()
                .any(|holder| holder.task.name == **name)
        })
        .take(LOGGED)
        .map(|(name, entry)| super::LoggedSlot {
            kind: entry.kind.or_else(|| kind_by_name(snapshot, name)),
            name: name.clone(),
            since: entry.since,
            stage: entry.stage.as_str(),
            speaks_from: log.speaks_from,
        })
        .collect()
}

fn kind_by_name(snapshot: &Snapshot, name: &str) -> Option<TaskKind> {
    TaskKind::ALL.into_iter().find(|kind| {
        snapshot.tasks.contains_key(&TaskRef {
            kind: *kind,
            namespace: snapshot.namespace.clone(),
            name: name.to_owned(),
        })
    })
}

/// As [`by`], of the rows of an answer.
pub(super) fn of_rows(concerns: &[Concern]) -> Option<&Finding> {
    by(about(concerns))
}

/// As [`why`], of the rows of an answer.
pub(super) fn why_of_rows(concerns: &[Concern]) -> Option<&str> {
    why(about(concerns))
}

fn about(concerns: &[Concern]) -> impl Iterator<Item = (Role, &Finding)> {
    concerns
        .iter()
        .map(|concern| (concern.role, &concern.row.finding))
}
