//! A task runs, its pod runs, and its bytes have stood still for longer than any report takes.

use jiff::Timestamp;

use super::overtaken::Overtaken;
use super::{broken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, FindingId, Severity};
use crate::replay::{Situation, TaskReplay};
use crate::snapshot::ManagedFields;

/// When the node-agents last wrote a task, where managedFields say so.
fn written(task: &TaskReplay<'_>) -> Option<Timestamp> {
    task.task
        .writes
        .node_agent
        .filter(|_| task.task.writes.managed_fields == ManagedFields::Present)
}

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut overtaken = Overtaken::of(case, FindingId::TransferStalled, CouldBe::Warning);
    let stalled: Vec<_> = case
        .tasks()
        .filter(|task| task.situation == Situation::Stalled)
        .filter(|task| overtaken.still_holds(task))
        .collect();
    overtaken.tell(out);
    for (node, tasks) in broken::by_node(stalled.into_iter()) {
        if !node
            .and_then(|node| case.node(node))
            .is_some_and(|node| node.working.is_yes())
        {
            continue;
        }
        let names = broken::references(&tasks);
        let waiting = broken::waiting(case, node, &tasks);
        let since = words::earliest(tasks.iter().map(|task| {
            let looks = case.snapshot.bytes_unchanged_since(task.task);
            let written = written(task);
            words::earliest([looks, written])
        }));
        let span = since.map_or_else(String::new, |since| {
            format!(" for {}", words::span(case.age(since)))
        });
        let mut finding = broken::finding(
            case,
            FindingId::TransferStalled,
            Severity::Warning,
            Confidence::Likely,
            node,
            &tasks,
            format!(
                "{} {} in progress and {} not a byte forward{span}{}",
                words::tasks(&names),
                words::verb(names.len(), "is", "are"),
                words::verb(names.len(), "has come", "have come"),
                broken::behind(&waiting),
            ),
        );
        finding.affects = waiting;
        finding.since = since;
        for task in tasks.iter().take(words::EVIDENCE_SHOWN) {
            let progress = task.task.progress.map_or_else(
                || "empty".to_owned(),
                |progress| format!("{} of {} bytes", progress.bytes_done, progress.total_bytes),
            );
            finding
                .evidence
                .push(words::task_field(task.task, ".status.progress", &progress));
            if let Some(look) = case.snapshot.bytes_unchanged_since(task.task) {
                finding.evidence.push(words::task_field(
                    task.task,
                    ".status.progress",
                    &format!("the same in the capture taken at {look}"),
                ));
            }
            if let Some(write) = written(task) {
                finding.evidence.push(Evidence::field(
                    format!(
                        "{} .metadata.managedFields[node-agent-server].time",
                        task.task.reference
                    ),
                    write.to_string(),
                ));
            }
        }
        finding.actions = tasks
            .first()
            .map(|task| words::describe_pod(&task.task.reference.name))
            .into_iter()
            .collect();
        finding.references = vec!["velero-io/velero#8579"];
        out.findings.push(finding);
    }
}

#[cfg(test)]
mod tests;
