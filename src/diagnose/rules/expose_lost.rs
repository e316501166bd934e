//! Accepted, without a pod, and provably nobody is making one: no release repeats an Expose that was cut
//! short. A slow snapshot is not lost: as long as the acceptor may still wait for it, this says nothing.

use std::collections::BTreeMap;

use super::overtaken::Overtaken;
use super::{accepts, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{NotWorking, Situation, TaskReplay, Working};
use crate::snapshot::{ContainerState, Coverage, NodeAgent, Observed, ResourceKind};
use crate::velero::{Phase, TaskKind, TaskRef};

/// How long ago the accept must be, in seconds: the Expose of a pod volume has nothing to wait for, and
/// between the lists of tasks and of pods a pod may come.
const LOST_AFTER_SECONDS: i64 = 60;

/// Why nobody exposes the task, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    AcceptorGone,
    AcceptorRestarted,
    AcceptorWentOn,
    NothingToWaitFor,
}

/// Proposes one finding for each reason.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut by_reason: BTreeMap<Reason, Vec<(&TaskReplay<'_>, Evidence)>> = BTreeMap::new();
    let mut unread: Vec<TaskRef> = Vec::new();
    let mut overtaken = Overtaken::of(case, FindingId::ExposeLost, CouldBe::Warning);
    for task in case.tasks() {
        if task.task.phase == Phase::Accepted
            && task.situation != Situation::Foreign
            && let Observed::Unknown(reason) = task.pod
        {
            unread.push(task.task.reference.clone());
            words::gap_once(
                case,
                out,
                ResourceKind::Pod.plural(),
                reason,
                "it is not known whether Accepted tasks have a mover pod",
            );
        }
        if let Some((reason, evidence)) = proof(case, task)
            && overtaken.still_holds(task)
        {
            by_reason.entry(reason).or_default().push((task, evidence));
        }
    }
    if !unread.is_empty() {
        words::undecided(
            out,
            FindingId::ExposeLost,
            CouldBe::Warning,
            format!(
                "the mover pod of {} could not be read",
                words::tasks(&unread)
            ),
        );
    }
    overtaken.tell(out);
    for (reason, lost) in by_reason {
        out.findings.push(finding(case, reason, &lost));
    }
}

/// Whether provably nobody makes the pod of this Accepted task.
pub(in crate::diagnose) fn is_lost(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> bool {
    proof(case, task).is_some()
}

fn proof(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<(Reason, Evidence)> {
    let accepted = task.accepted_at;
    if task.task.phase != Phase::Accepted
        || task.situation == Situation::Foreign
        || !task.pod.is_absent()
        || !case.older_than(accepted, LOST_AFTER_SECONDS)
    {
        return None;
    }
    acceptor_is_gone(case, task)
        .map(|evidence| (Reason::AcceptorGone, evidence))
        .or_else(|| Some((Reason::AcceptorRestarted, acceptor_restarted(case, task)?)))
        .or_else(|| Some((Reason::AcceptorWentOn, acceptor_went_on(case, task)?)))
        .or_else(|| Some((Reason::NothingToWaitFor, nothing_to_wait_for(task)?)))
}

/// The process that accepted the task does not exist any more. A Node that is only not Ready may still
/// run it.
fn acceptor_is_gone(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<Evidence> {
    let name = accepts::acceptor(task.task)?;
    let evidence = |value: &str| {
        Some(Evidence::derived(
            format!(
                "node-agent of node {name}, which accepted {}",
                task.task.reference
            ),
            value.to_owned(),
        ))
    };
    let Some(node) = case.node(name) else {
        // The replay knows every node that has an agent.
        let nodes_gone = case.snapshot.node(name).is_absent();
        let pods_read = match case
            .snapshot
            .coverage_of(ResourceKind::Pod, &case.snapshot.namespace)
        {
            Coverage::Listed | Coverage::Present => !case.snapshot.agents.is_empty(),
            Coverage::Partial | Coverage::Unreadable(_) => false,
        };
        return if nodes_gone {
            evidence("its Node does not exist")
        } else if pods_read {
            evidence("does not exist")
        } else {
            None
        };
    };
    match &node.working {
        Working::No { why, .. } => match why {
            NotWorking::NodeGone => evidence("its Node does not exist"),
            NotWorking::AgentMissing => evidence("does not exist"),
            NotWorking::AgentNotReady if node.agent.is_some_and(has_no_process) => {
                evidence("its container does not run")
            }
            NotWorking::AgentNotReady | NotWorking::NodeNotReady => None,
        },
        Working::Yes | Working::Unknown => None,
    }
}

fn has_no_process(agent: &NodeAgent) -> bool {
    agent
        .container_status()
        .is_some_and(|container| match &container.state {
            ContainerState::Waiting { .. } | ContainerState::Terminated(_) => true,
            ContainerState::Running { .. } | ContainerState::None => false,
        })
}

fn acceptor_restarted(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<Evidence> {
    let agent = case.node(accepts::acceptor(task.task)?)?.agent?;
    (agent.started_at? > task.accepted_at?).then(|| words::agent_start(agent))
}

/// One worker exposes the tasks of a kind one after the other, so a later accept ends the earlier Expose.
fn acceptor_went_on(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<Evidence> {
    let acceptor = accepts::acceptor(task.task)?;
    let accepted = task.accepted_at?;
    case.snapshot
        .tasks
        .values()
        .filter(|other| other.reference.kind == task.task.reference.kind)
        .filter(|other| accepts::acceptor(other) == Some(acceptor))
        .find_map(|other| {
            let later = accepts::accepted_at(other, &task.profile)?;
            (later > accepted).then(|| {
                words::task_field(
                    other,
                    "accepted later by the same node-agent",
                    &later.to_string(),
                )
            })
        })
}

/// The Expose of a pod volume makes its pod at once (v1.17.2 `pkg/exposer/pod_volume.go`).
fn nothing_to_wait_for(task: &TaskReplay<'_>) -> Option<Evidence> {
    match task.task.reference.kind {
        TaskKind::DataUpload | TaskKind::DataDownload => None,
        TaskKind::PodVolumeBackup | TaskKind::PodVolumeRestore => Some(words::task_field(
            task.task,
            ".status.acceptedTimestamp",
            &task.accepted_at?.to_string(),
        )),
    }
}

fn finding(case: &Case<'_, '_>, reason: Reason, lost: &[(&TaskReplay<'_>, Evidence)]) -> Finding {
    let tasks: Vec<TaskRef> = lost
        .iter()
        .map(|(task, _)| task.task.reference.clone())
        .collect();
    let deadline = case.earliest_deadline(&tasks);
    let several = tasks.len();
    let them = words::verb(several, "it", "them");
    let why = match reason {
        Reason::AcceptorGone => format!("the node-agent that accepted {them} is gone"),
        Reason::AcceptorRestarted => format!("the node-agent that accepted {them} has restarted"),
        Reason::AcceptorWentOn => {
            format!("the node-agent that accepted {them} has gone on to another task")
        }
        Reason::NothingToWaitFor => "its node-agent has nothing left to wait for".to_owned(),
    };
    let end = deadline.as_ref().map_or_else(
        || format!("no timeout is known that ends {them}"),
        |deadline| {
            let left = deadline.at.duration_since(case.now()).as_secs();
            if left > 0 {
                format!("a timeout ends {them} in {}", words::span(left))
            } else {
                format!("the timeout that ends {them} is due")
            }
        },
    );
    let mut finding = Finding::new(
        FindingId::ExposeLost,
        Severity::Warning,
        case.cap(case.cap_absent_pod(match reason {
            Reason::AcceptorGone | Reason::AcceptorRestarted => Confidence::Certain,
            Reason::AcceptorWentOn | Reason::NothingToWaitFor => Confidence::Likely,
        })),
        format!(
            "{} {} Accepted without a mover pod and nobody makes one ({why}); {end}.",
            words::tasks(&tasks),
            words::verb(several, "is", "are"),
        ),
    );
    finding.node = words::only_node(lost.iter().map(|(task, _)| task.node.as_deref()));
    finding.since = words::earliest(lost.iter().map(|(task, _)| task.accepted_at));
    finding.deadline = deadline;
    for (task, evidence) in lost.iter().take(words::EVIDENCE_SHOWN) {
        finding.evidence.push(words::task_field(
            task.task,
            ".status.phase",
            task.task.phase.as_str(),
        ));
        finding.evidence.push(Evidence::derived(
            format!("mover pod of {}", task.task.reference),
            "does not exist".to_owned(),
        ));
        finding.evidence.push(evidence.clone());
    }
    finding.actions = words::cancel(
        &tasks,
        "ends the task before its timeout, so that its backup or restore can end and be run again",
        "the backup or restore is PartiallyFailed, as it would be at the timeout; from v1.17 on it takes up to 7 minutes",
    );
    finding.references = vec!["velero-io/velero#9453"];
    finding.tasks = tasks;
    finding
}

#[cfg(test)]
mod tests;
