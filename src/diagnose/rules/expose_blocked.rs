//! Accepted, and the mover pod or its volume does not come up. The task ends by itself at its deadline,
//! and the objects that say why are deleted then.
//!
//! One finding for each cause and node (no node while the pod is not scheduled). The first moments are
//! quiet: [`Complaint::patience`].

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::overtaken::Overtaken;
use super::{expose_lost, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Situation, TaskReplay};
use crate::snapshot::{Observed, ResourceKind};
use crate::velero::{ObjectRef, Phase, TaskRef};

mod complaint;
mod storage;

use complaint::Complaint;

/// How long before the deadline the finding is critical, in seconds.
const CRITICAL_SECONDS: i64 = 300;

struct Blocked<'a, 's> {
    task: &'a TaskReplay<'s>,
    complaint: Complaint,
    since: Timestamp,
}

/// Proposes one finding for each cause and node.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut groups: BTreeMap<(&'static str, Option<String>), Vec<Blocked<'_, '_>>> =
        BTreeMap::new();
    let mut unread: Vec<TaskRef> = Vec::new();
    let mut overtaken = Overtaken::of(case, FindingId::ExposeBlocked, CouldBe::Critical);
    for task in case.tasks() {
        if task.task.phase != Phase::Accepted || task.situation == Situation::Foreign {
            continue;
        }
        if let Observed::Unknown(reason) = task.pod {
            unread.push(task.task.reference.clone());
            words::gap_once(
                case,
                out,
                ResourceKind::Pod.plural(),
                reason,
                "it is not known whether the mover pods of Accepted tasks come up",
            );
            continue;
        }
        if let Some(blocked) = blocked(case, task)
            && overtaken.still_holds(task)
        {
            let node = task.pod.seen().and_then(|pod| pod.node.clone());
            groups
                .entry((blocked.complaint.cause, node))
                .or_default()
                .push(blocked);
        }
    }
    if !unread.is_empty() {
        words::undecided(
            out,
            FindingId::ExposeBlocked,
            CouldBe::Critical,
            format!(
                "the mover pod of {} could not be read",
                words::tasks(&unread)
            ),
        );
    }
    overtaken.tell(out);
    for ((cause, node), group) in groups {
        out.findings.push(finding(case, cause, node, &group));
    }
}

fn blocked<'a, 's>(case: &Case<'_, 's>, task: &'a TaskReplay<'s>) -> Option<Blocked<'a, 's>> {
    if expose_lost::is_lost(case, task) {
        return None;
    }
    let complaint = complaint::of(case, task)?;
    // A snapshot may be older than the accept: then nobody waited for it yet.
    let since = complaint.since.max(task.accepted_at)?;
    (case.age(since) >= patience(task, &complaint)).then_some(Blocked {
        task,
        complaint,
        since,
    })
}

/// How long the complaint may last; never more than half of the time that the task has at all.
fn patience(task: &TaskReplay<'_>, complaint: &Complaint) -> i64 {
    let all = task
        .deadline
        .as_ref()
        .zip(task.accepted_at)
        .map(|(deadline, accepted)| deadline.at.duration_since(accepted).as_secs());
    let patience = complaint.patience();
    all.map_or(patience, |all| patience.min(all / 2))
}

fn finding(
    case: &Case<'_, '_>,
    cause: &'static str,
    node: Option<String>,
    group: &[Blocked<'_, '_>],
) -> Finding {
    let tasks: Vec<TaskRef> = group
        .iter()
        .map(|blocked| blocked.task.task.reference.clone())
        .collect();
    let deadline = case.earliest_deadline(&tasks);
    let left = deadline
        .as_ref()
        .map(|deadline| deadline.at.duration_since(case.now()).as_secs());
    let severity = if left.is_some_and(|left| left <= CRITICAL_SECONDS) {
        Severity::Critical
    } else {
        Severity::Warning
    };
    let confidence = group
        .iter()
        .map(|blocked| blocked.complaint.confidence)
        .min()
        .unwrap_or(Confidence::Possible);
    let mut finding = Finding::new(
        FindingId::ExposeBlocked,
        severity,
        case.cap(confidence),
        summary(cause, group, &tasks, left),
    );
    finding.cause = Some(cause);
    finding.node = node;
    finding.blocked_by = group
        .iter()
        .flat_map(|blocked| blocked.complaint.blocked_by.iter().cloned())
        .collect::<std::collections::BTreeSet<ObjectRef>>()
        .into_iter()
        .collect();
    finding.since = group.iter().map(|blocked| blocked.since).min();
    finding.deadline = deadline;
    finding.evidence = group
        .iter()
        .take(words::EVIDENCE_SHOWN)
        .flat_map(|blocked| {
            let phase = words::task_field(
                blocked.task.task,
                ".status.phase",
                blocked.task.task.phase.as_str(),
            );
            std::iter::once(phase).chain(blocked.complaint.evidence.iter().cloned())
        })
        .collect::<Vec<Evidence>>();
    finding.actions = actions(cause, group);
    finding.references = references(cause);
    finding.tasks = tasks;
    finding
}

fn summary(cause: &str, group: &[Blocked<'_, '_>], tasks: &[TaskRef], left: Option<i64>) -> String {
    let several = tasks.len();
    let pods = words::verb(several, "the mover pod", "the mover pods");
    let said = group
        .iter()
        .find_map(|blocked| blocked.complaint.message.as_deref())
        .map_or_else(String::new, |message| {
            format!(": {}", words::short(message))
        });
    let what = match cause {
        "unschedulable" => format!("no node takes {pods}"),
        "volume-not-bound" => format!(
            "the volume of {pods} {} not bound",
            words::verb(several, "is", "are")
        ),
        "snapshot-not-ready" => "the volume snapshot is not ready".to_owned(),
        "mount-failed" => format!("the volume of {pods} cannot be mounted"),
        "image-pull" => format!("{pods} {} no image", words::verb(several, "gets", "get")),
        "pod-rejected" => format!("the node rejected {pods}"),
        _ if !said.is_empty() => {
            format!("{pods} {} not come up", words::verb(several, "does", "do"))
        }
        _ => format!(
            "{pods} {} not come up, and nothing that was read says why",
            words::verb(several, "does", "do")
        ),
    };
    let end = match left {
        Some(left) if left > 0 => format!(
            "; without a change {} in {}",
            words::verb(several, "it ends", "the first ends"),
            words::span(left)
        ),
        Some(_) => "; the timeout is due".to_owned(),
        None => String::new(),
    };
    format!(
        "{} {} to be prepared because {what}{said}{end}.",
        words::tasks(tasks),
        words::verb(several, "waits", "wait"),
    )
}

fn actions(cause: &str, group: &[Blocked<'_, '_>]) -> Vec<Action> {
    let Some(first) = group.first() else {
        return Vec::new();
    };
    let name = &first.task.task.reference.name;
    let look = |command: String, effect: &str| Action {
        command,
        effect: effect.to_owned(),
        risk: "none".to_owned(),
    };
    match cause {
        "snapshot-not-ready" => first
            .complaint
            .blocked_by
            .first()
            .map(|snapshot| {
                let place = match &snapshot.namespace {
                    Some(namespace) if *namespace != first.task.task.reference.namespace => {
                        format!("-n {}", words::quoted(namespace))
                    }
                    Some(_) | None => "{ns}".to_owned(),
                };
                look(
                    format!(
                        "kubectl describe volumesnapshot {place} {}",
                        words::quoted(&snapshot.name)
                    ),
                    "shows why the snapshot is not ready",
                )
            })
            .into_iter()
            .collect(),
        "volume-not-bound" => vec![
            look(
                format!("kubectl describe pvc {{ns}} {}", words::quoted(name)),
                "shows why no volume is bound, with the provisioner's events",
            ),
            words::describe_pod(name),
        ],
        "undetermined" if first.task.pod.is_absent() => vec![
            words::show_task(&first.task.task.reference),
            look(
                format!(
                    "kubectl get events {{ns}} --field-selector involvedObject.name={}",
                    words::quoted(name)
                ),
                "shows what happened to the pod, the PVC and the snapshot of the task",
            ),
        ],
        _ => vec![words::describe_pod(name)],
    }
}

fn references(cause: &str) -> Vec<&'static str> {
    match cause {
        "unschedulable" => vec!["velero-io/velero#9735", "velero-io/velero#7910"],
        "image-pull" => vec!["velero-io/velero#6562"],
        "undetermined" => vec!["velero-io/velero#8125"],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
