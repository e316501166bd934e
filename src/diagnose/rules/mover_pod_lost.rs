//! Row 6: a task runs and its mover pod is gone. The node-agent's watcher knows no deletion: a pod with
//! grace period 0 is removed at once and never shows a terminal phase (v1.17.2
//! `pkg/datapath/micro_service_watcher.go`). Nothing ends the task but its deadline, and cancelling it
//! leaves the slot held until the agent restarts.

use super::overtaken::Overtaken;
use super::{broken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, FindingId, Severity};
use crate::replay::{Situation, TaskReplay};
use crate::velero::Phase;

/// The line by which the log of the task's agent shows that its slot is still held.
fn held_by_log(case: &Case<'_, '_>, node: Option<&str>, task: &TaskReplay<'_>) -> Option<Evidence> {
    let agent = case.node(node?)?.agent?;
    let reference = &task.task.reference;
    let entry = agent.evidence.as_ref()?.entries.get(&reference.name)?;
    let mine = entry.kind.is_none_or(|kind| kind == reference.kind);
    mine.then(|| {
        let mut line = words::log_line(agent, &entry.last);
        line.value = format!("{}; no end of it since", line.value);
        line
    })
}

/// Whether the log of the task's agent shows that its entry was removed.
fn left_by_log(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> bool {
    let logged = || {
        let log = case.node(task.node.as_deref()?)?.agent?.evidence.as_ref()?;
        let reference = &task.task.reference;
        let left = log.task(reference)?.left?;
        Some(left >= task.task.started? && !log.entries.contains_key(&reference.name))
    };
    logged() == Some(true)
}

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let unread: Vec<_> = case
        .tasks()
        .filter(|task| {
            task.situation == Situation::PodUnreadable && task.task.phase != Phase::Prepared
        })
        .collect();
    if !unread.is_empty() {
        words::undecided(
            out,
            FindingId::MoverPodLost,
            CouldBe::Critical,
            format!(
                "the mover pods of {} could not be read",
                words::tasks(&broken::references(&unread))
            ),
        );
    }
    let mut overtaken = Overtaken::of(case, FindingId::MoverPodLost, CouldBe::Critical);
    let lost: Vec<_> = case
        .tasks()
        .filter(|task| task.situation == Situation::PodLost)
        .filter(|task| overtaken.still_holds(task))
        .collect();
    overtaken.tell(out);
    for (node, tasks) in broken::by_node(lost.into_iter()) {
        let names = broken::references(&tasks);
        let held = tasks
            .iter()
            .any(|task| broken::any_holds(&[task]) && !left_by_log(case, task));
        // Behind a slot that is free nobody waits.
        let waiting = if held {
            broken::waiting(case, node, &tasks)
        } else {
            Vec::new()
        };
        let mut finding = broken::finding(
            case,
            FindingId::MoverPodLost,
            Severity::Critical,
            case.cap_absent_pod(broken::by_last_write(&tasks, Confidence::Certain)),
            node,
            &tasks,
            format!(
                "{} {} on, but {} mover pod is gone: {}{}",
                words::tasks(&names),
                words::verb(names.len(), "runs", "run"),
                words::verb(names.len(), "its", "each"),
                if held {
                    "only the deadline ends it, and the slot stays held until the node-agent restarts"
                } else {
                    "nothing works on it any more, and it holds no slot"
                },
                broken::behind(&waiting),
            ),
        );
        finding.affects = waiting;
        finding.since = words::earliest(tasks.iter().map(|task| task.last_write));
        for task in tasks.iter().take(words::EVIDENCE_SHOWN) {
            finding.evidence.push(words::task_field(
                task.task,
                ".status.phase",
                task.task.phase.as_str(),
            ));
            finding.evidence.push(Evidence::field(
                format!(
                    "Pod {}/{}",
                    task.task.reference.namespace, task.task.reference.name
                ),
                "does not exist".to_owned(),
            ));
            if let Some(write) = task.last_write {
                finding.evidence.push(Evidence::derived(
                    format!("{} last write", task.task.reference),
                    write.to_string(),
                ));
            }
            finding.evidence.extend(held_by_log(case, node, task));
        }
        finding.actions = words::cancel(
            &names,
            "first: ends the task (v1.17 on within 5 to 6 minutes)",
            "the volume counts as failed; the slot stays held",
        );
        let agent = node
            .and_then(|node| case.node(node))
            .and_then(|node| node.agent);
        finding.actions.extend(
            agent
                .filter(|_| held)
                .and_then(|agent| words::restart(case, &[agent], "then: frees the slot")),
        );
        finding.references = vec!["velero-io/velero#9334", "velero-io/velero#10207"];
        out.findings.push(finding);
    }
}

#[cfg(test)]
mod tests;
