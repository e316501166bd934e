//! New tasks are held back by `loadConcurrency.prepareQueueLength`, the cluster-wide gate before
//! Accepted (v1.17.0 `pkg/exposer/vgdp_counter.go`).
//!
//! Beyond the threshold it is a warning; whether another finding already names what fills the queue is
//! the precedence's to judge.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{accepts, words};
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::Gate;
use crate::snapshot::Observed;
use crate::velero::{EXPOSE_ON_GOING_LABEL, ObjectRef, TaskRef};

/// Proposes at most one finding.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let queue = &case.replay.prepare_queue;
    let Observed::Seen(limit) = queue.limit else {
        return;
    };
    if queue.is_full() != Some(true) {
        return;
    }
    let held: Vec<_> = case
        .tasks()
        .filter(|task| accepts::is_new_with_a_mover(task))
        .filter(|task| task.decision.gate == Gate::PrepareQueue)
        .collect();
    let Some(oldest) = held.iter().map(|task| task.task.created).min() else {
        return;
    };
    let tasks: Vec<TaskRef> = held
        .iter()
        .map(|task| task.task.reference.clone())
        .collect();
    let severity = if case.older_than(oldest, case.threshold()) {
        Severity::Warning
    } else {
        Severity::Info
    };
    let by_node = by_node(case);
    let logged = case.snapshot.agents.iter().any(|agent| {
        agent
            .log
            .as_ref()
            .is_some_and(|log| log.prepare_queue == Some(limit))
    });
    let mut finding = Finding::new(
        FindingId::PrepareQueueFull,
        severity,
        case.cap(if logged {
            Confidence::Certain
        } else {
            Confidence::Likely
        }),
        format!(
            "{} {} in New because {} fill the prepare queue of {limit} ({}).",
            words::tasks(&tasks),
            words::verb(tasks.len(), "waits", "wait"),
            words::count(queue.labelled.len(), "task"),
            words::names(by_node.iter().map(String::as_str)),
        ),
    );
    finding.blocked_by = queue.labelled.iter().map(ObjectRef::from).collect();
    finding.blocked_by.sort();
    finding.since = full_since(case).max(oldest);
    finding.deadline = case.earliest_deadline(&tasks);
    finding.evidence = evidence(case, limit, &by_node);
    finding.actions = actions();
    finding.references = vec!["velero-io/velero#8344", "velero-io/velero#9064"];
    finding.tasks = tasks;
    out.findings.push(finding);
}

/// How many labelled tasks each node has, as `node-a 2`.
fn by_node(case: &Case<'_, '_>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for task in &case.replay.prepare_queue.labelled {
        let node = case
            .replay
            .tasks
            .get(task)
            .and_then(|task| task.node.as_deref())
            .unwrap_or("no node yet");
        let count = counts.entry(node).or_default();
        *count = count.saturating_add(1);
    }
    counts
        .into_iter()
        .map(|(node, count)| format!("{node} {count}"))
        .collect()
}

/// Since when the tasks that fill the queue now have filled it: their last accept.
fn full_since(case: &Case<'_, '_>) -> Option<Timestamp> {
    case.replay
        .prepare_queue
        .labelled
        .iter()
        .filter_map(|task| case.replay.tasks.get(task)?.accepted_at)
        .max()
}

fn evidence(case: &Case<'_, '_>, limit: i64, by_node: &[String]) -> Vec<Evidence> {
    vec![
        Evidence::field(
            "loadConcurrency.prepareQueueLength in force".to_owned(),
            limit.to_string(),
        ),
        Evidence::field(
            format!("tasks with the label {EXPOSE_ON_GOING_LABEL}=true"),
            case.replay.prepare_queue.labelled.len().to_string(),
        ),
        Evidence::derived("tasks in the queue by node".to_owned(), by_node.join(", ")),
    ]
}

fn actions() -> Vec<Action> {
    vec![
        Action {
            command: format!(
                "kubectl get datauploads.velero.io,datadownloads.velero.io,podvolumebackups.velero.io,podvolumerestores.velero.io {{ns}} -l {EXPOSE_ON_GOING_LABEL}=true"
            ),
            effect: "shows the tasks that fill the queue".to_owned(),
            risk: "none".to_owned(),
        },
        Action {
            command: "kubectl velero-slots status {ns}".to_owned(),
            effect: "shows on which node they wait for a slot".to_owned(),
            risk: "none".to_owned(),
        },
    ]
}

#[cfg(test)]
mod tests;
