//! Rows 4 and 5: the data path ended, the task did not. After the end of the mover pod the node-agent
//! reads its log without a deadline and then runs a callback (v1.17.2
//! `pkg/datapath/micro_service_watcher.go`); either can hang, and a failed last write or rebind leaves
//! the task InProgress for ever.

use std::collections::BTreeMap;

use super::{broken, words};
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Situation, TaskReplay};
use crate::snapshot::Observed;

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut groups: BTreeMap<(Option<&str>, &'static str), Vec<&TaskReplay<'_>>> = BTreeMap::new();
    for task in case.tasks() {
        if let Some(cause) = cause(task) {
            groups
                .entry((task.node.as_deref(), cause))
                .or_default()
                .push(task);
        }
    }
    for ((node, cause), tasks) in groups {
        out.findings.push(finding(case, node, cause, &tasks));
    }
}

/// Returns the cause as far as the objects tell; `None` where the rule does not hold.
fn cause(task: &TaskReplay<'_>) -> Option<&'static str> {
    match task.situation {
        Situation::PodEnded
        | Situation::DoneButPodGone {
            target_not_bound: false,
        } => Some("undetermined"),
        Situation::DoneButPodGone {
            target_not_bound: true,
        } => Some("rebind-failed"),
        Situation::Foreign
        | Situation::UnknownPhase
        | Situation::Rewound { .. }
        | Situation::PodEnding
        | Situation::Finishing
        | Situation::PodLost
        | Situation::PodJustGone
        | Situation::PodUnreadable
        | Situation::Doomed(_)
        | Situation::Stalled
        | Situation::Ordinary => None,
    }
}

fn finding(
    case: &Case<'_, '_>,
    node: Option<&str>,
    cause: &'static str,
    tasks: &[&TaskReplay<'_>],
) -> Finding {
    let names = broken::references(tasks);
    let waiting = broken::waiting(case, node);
    let holds = broken::any_holds(tasks);
    let what = if cause == "rebind-failed" {
        "all data is restored, but the volume was not bound to the target PVC"
    } else if holds {
        "the mover pod has ended and the node-agent did not take it up (a hung log collection or a blocked callback)"
    } else {
        "all bytes are done and the mover pod is gone, but the last write never came"
    };
    let mut finding = broken::finding(
        case,
        FindingId::CompletionStuck,
        Severity::Critical,
        Confidence::Likely,
        node,
        tasks,
        format!(
            "{}: {what}{}",
            words::tasks(&names),
            broken::behind(&waiting)
        ),
    );
    finding.cause = Some(cause);
    finding.affects = waiting;
    finding.since = words::earliest(tasks.iter().map(|task| match task.pod {
        Observed::Seen(pod) => pod.ended_at(),
        Observed::Absent | Observed::Unknown(_) => task.last_write,
    }));
    for task in tasks {
        if let Observed::Seen(pod) = task.pod {
            finding.blocked_by.push(words::pod_ref(pod));
        }
    }
    for task in tasks.iter().take(words::EVIDENCE_SHOWN) {
        finding.evidence.push(words::task_field(
            task.task,
            ".status.phase",
            task.task.phase.as_str(),
        ));
        match task.pod {
            Observed::Seen(pod) => {
                let at = pod
                    .ended_at()
                    .map_or_else(String::new, |time| format!(" since {time}"));
                finding.evidence.push(words::pod_field(
                    pod,
                    ".status.phase",
                    &format!("{}{at}", pod.phase),
                ));
            }
            Observed::Absent | Observed::Unknown(_) => {
                finding.evidence.push(Evidence::field(
                    format!(
                        "Pod {}/{}",
                        task.task.reference.namespace, task.task.reference.name
                    ),
                    "does not exist".to_owned(),
                ));
                if let Some(progress) = task.task.progress {
                    finding.evidence.push(words::task_field(
                        task.task,
                        ".status.progress",
                        &format!("{} of {} bytes", progress.bytes_done, progress.total_bytes),
                    ));
                }
                if let Some(claim) = task
                    .task
                    .claim
                    .as_ref()
                    .filter(|_| cause == "rebind-failed")
                {
                    let phase = case
                        .snapshot
                        .restored_claim(&claim.namespace, &claim.name)
                        .seen()
                        .map_or("does not exist", |claim| claim.phase.as_str());
                    finding.evidence.push(Evidence::field(
                        format!(
                            "PersistentVolumeClaim {}/{} .status.phase",
                            claim.namespace, claim.name
                        ),
                        phase.to_owned(),
                    ));
                }
            }
        }
    }
    let agent = node
        .and_then(|node| case.node(node))
        .and_then(|node| node.agent);
    if holds {
        finding.actions.extend(agent.and_then(|agent| {
            words::restart(
                &[agent],
                "frees the slot; the ended pod is taken up when the task is resumed",
            )
        }));
    } else {
        finding.actions.extend(words::cancel(
            &names,
            "ends the task: its node-agent finds no data path and marks it Canceled at once",
            "the backup or restore counts the volume as failed; for a restore check the target PVC first",
        ));
    }
    finding
}
