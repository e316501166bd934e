//! What speaks for a restart of a node's agent, and what against it.

use std::collections::BTreeSet;

use super::super::Known;
use super::super::common::{has, named, nudge_command, refusal};
use super::super::model::{Override, Refusal, RefusalCode};
use crate::diagnose::{Finding, FindingId, NodeVerdict};
use crate::replay::{LimitBasis, RestartBill, RestartObstacle, SlotEntry};
use crate::velero::TaskRef;

/// The bug of v1.15.0 in which a failing pod volume blocks its node-agent for ever
/// (`pkg/datapath/file_system.go`): only a restart ends that.
const DEADLOCK: &str = "velero-8394";

/// Returns the findings that a restart of the node's agent mends.
pub(in crate::plan) fn mended<'a>(known: Known<'a, '_>, node: &str) -> Vec<&'a Finding> {
    known
        .diagnosis
        .findings
        .iter()
        .filter(|finding| is_mended(known, finding, node))
        .collect()
}

fn is_mended(known: Known<'_, '_>, finding: &Finding, node: &str) -> bool {
    let here = finding.node.as_deref() == Some(node);
    let holds = || {
        finding.tasks.iter().any(|task| {
            known
                .replay
                .tasks
                .get(task)
                .is_some_and(|task| task.entry == SlotEntry::Holds)
        })
    };
    match finding.id {
        FindingId::PreparedStuck | FindingId::SlotsLeaked | FindingId::PhaseRewound => here,
        // Without a slot there is nothing that a restart would free.
        FindingId::MoverPodLost | FindingId::CompletionStuck | FindingId::CancelStuck => {
            here && holds()
        }
        FindingId::AcceptBlocked => {
            finding.cause == Some("undetermined") && may_accept(known, finding, node)
        }
        FindingId::PrepareQueueStale => may_accept(known, finding, node),
        FindingId::ConfigDrift => {
            known
                .replay
                .nodes
                .get(node)
                .is_some_and(|node| match node.limit.basis {
                    LimitBasis::Drifted(_) => true,
                    LimitBasis::Logged => node.limit.in_force != node.limit.configured_now,
                    LimitBasis::Proven
                    | LimitBasis::AssumedUnchanged(_)
                    | LimitBasis::Unreadable(_) => false,
                })
        }
        FindingId::AgentCrashloop => {
            here && finding
                .cause
                .is_some_and(|cause| cause.starts_with("config-"))
        }
        FindingId::KnownBug => here && finding.cause == Some(DEADLOCK),
        // An agent that hangs on a node that works; where no pod is, none can be restarted.
        FindingId::OwnerGone => here && finding.cause == Some("agent-not-ready"),
        // A start that resumed nothing is made up for by another one. A task that has ended is beyond that.
        FindingId::AgentRestarted => here && holds(),
        FindingId::SlotQueue
        | FindingId::PreparedDoomed
        | FindingId::TransferStalled
        | FindingId::ExposeBlocked
        | FindingId::PrepareMissed
        | FindingId::ExposeLost
        | FindingId::PrepareQueueFull
        | FindingId::NoNodeAgent
        | FindingId::ForeignDataMover
        | FindingId::RestoreTargetMissing
        | FindingId::RestoreTargetNotReady
        | FindingId::ConfigIgnored
        | FindingId::AgentLabelMissing
        | FindingId::VersionSkew
        | FindingId::RecentFailures
        | FindingId::BackupWaitsFinishedTasks
        | FindingId::DeadlineAtRisk
        | FindingId::OrphanedTasks => false,
    }
}

/// Whether the agent of a node is one that may accept the tasks of a finding: that of the finding's node, one
/// that the finding names, else any that works.
fn may_accept(known: Known<'_, '_>, finding: &Finding, node: &str) -> bool {
    if let Some(of) = &finding.node {
        return of == node;
    }
    let Some(replay) = known.replay.nodes.get(node) else {
        return false;
    };
    let named: Vec<&str> = finding
        .blocked_by
        .iter()
        .filter(|object| object.kind == "Pod")
        .map(|object| object.name.as_str())
        .collect();
    replay.working.is_yes()
        && replay
            .agent
            .is_some_and(|agent| named.is_empty() || named.contains(&agent.pod.key.name.as_str()))
}

/// Returns the first node whose restart may mend a finding that any agent may.
pub(in crate::plan) fn first_of(known: Known<'_, '_>, finding: &Finding) -> Option<String> {
    known
        .replay
        .nodes
        .keys()
        .find(|node| is_mended(known, finding, node))
        .cloned()
}

/// Returns whether `--all-stuck` means this node: something of the node itself is stuck, and a restart
/// mends it.
pub(super) fn is_stuck(known: Known<'_, '_>, node: &str) -> bool {
    mended(known, node).iter().any(|finding| match finding.id {
        FindingId::PreparedStuck
        | FindingId::SlotsLeaked
        | FindingId::PhaseRewound
        | FindingId::MoverPodLost
        | FindingId::CompletionStuck
        | FindingId::CancelStuck
        | FindingId::OwnerGone
        | FindingId::KnownBug => true,
        // One restart may be enough for what any agent may accept: not all of them at once.
        FindingId::AcceptBlocked | FindingId::PrepareQueueStale => finding.node.is_some(),
        FindingId::ConfigDrift
        | FindingId::AgentCrashloop
        | FindingId::SlotQueue
        | FindingId::PreparedDoomed
        | FindingId::TransferStalled
        | FindingId::ExposeBlocked
        | FindingId::PrepareMissed
        | FindingId::ExposeLost
        | FindingId::PrepareQueueFull
        | FindingId::NoNodeAgent
        | FindingId::ForeignDataMover
        | FindingId::RestoreTargetMissing
        | FindingId::RestoreTargetNotReady
        | FindingId::AgentRestarted
        | FindingId::ConfigIgnored
        | FindingId::AgentLabelMissing
        | FindingId::VersionSkew
        | FindingId::RecentFailures
        | FindingId::BackupWaitsFinishedTasks
        | FindingId::DeadlineAtRisk
        | FindingId::OrphanedTasks => false,
    })
}

/// Returns the tasks that the restart of a node is for, ordered.
pub(super) fn targets(known: Known<'_, '_>, node: &str) -> Vec<TaskRef> {
    let mut tasks: Vec<TaskRef> = mended(known, node)
        .into_iter()
        .flat_map(|finding| finding.tasks.iter().chain(&finding.affects))
        .filter(|task| {
            known
                .replay
                .tasks
                .get(*task)
                .is_some_and(|task| task.node.is_none() || task.node.as_deref() == Some(node))
        })
        .cloned()
        .collect();
    tasks.sort();
    tasks.dedup();
    tasks
}

/// Returns why the restart of a node is refused, strongest first. `taken` are tasks that the restart of a
/// node before ends already.
pub(super) fn against(
    known: Known<'_, '_>,
    bill: &RestartBill<'_>,
    taken: &BTreeSet<TaskRef>,
) -> Vec<Refusal> {
    let node = bill.node.as_str();
    let mut refusals: Vec<Refusal> = bill
        .obstacles
        .iter()
        .map(|obstacle| of_obstacle(known, node, obstacle).on(Some(node)))
        .collect();
    if refusals.is_empty() {
        refusals.extend(unhelpful(known, node).map(|refusal| refusal.on(Some(node))));
    }
    let lost: Vec<&TaskRef> = bill
        .losses()
        .map(|task| &task.task.reference)
        .filter(|task| !taken.contains(task))
        .collect();
    if !lost.is_empty() {
        refusals.push(
            refusal(
                RefusalCode::TasksWouldBeLost,
                Override::Force,
                format!(
                    "under the rules of {} the restart ends {} that could succeed: {}",
                    bill.rules.since,
                    if lost.len() == 1 {
                        "a task".to_owned()
                    } else {
                        format!("{} tasks", lost.len())
                    },
                    named(lost.iter().copied()),
                ),
            )
            .on(Some(node))
            .about(lost)
            .or(
                Some("kubectl velero-slots status -w {ns}".to_owned()),
                "wait until they have ended, then restart",
            )
            .or(
                None,
                "--force restarts all the same, and asks for the node's name",
            ),
        );
    }
    refusals
}

fn of_obstacle(known: Known<'_, '_>, node: &str, obstacle: &RestartObstacle) -> Refusal {
    let describe = |what: String, effect| (Some(format!("kubectl describe {what}")), effect);
    let (code, reason, (command, effect)) = match obstacle {
        RestartObstacle::NodeGone => (
            RefusalCode::NodeGone,
            format!("node {node} does not exist any more, and its tasks have no owner"),
            (
                Some("kubectl velero-slots diagnose {ns}".to_owned()),
                "says what ends the tasks of that node",
            ),
        ),
        RestartObstacle::NodeNotReady => (
            RefusalCode::OtherFindingFirst,
            format!(
                "node {node} is not Ready: its kubelet would not end the pod, nor start another"
            ),
            describe(
                format!("node {}", crate::diagnose::paste::name(node)),
                "shows why; mend the node first",
            ),
        ),
        RestartObstacle::NoAgentPod => (
            RefusalCode::NoAgentPod,
            format!("no node-agent pod is on node {node}"),
            describe(
                "daemonset {ns} node-agent".to_owned(),
                "shows why none is scheduled there",
            ),
        ),
        RestartObstacle::AgentUnknown => (
            RefusalCode::NotKnown,
            format!("the node-agent pods could not be read, so that of node {node} is not known"),
            (
                Some("kubectl velero-slots auth {ns}".to_owned()),
                "says which rights are missing",
            ),
        ),
        RestartObstacle::Terminating(since) => (
            RefusalCode::AlreadyRestarting,
            format!(
                "the node-agent pod of node {node} is being deleted{}",
                since.map_or_else(String::new, |since| format!(" since {since}"))
            ),
            (
                Some("kubectl get pod {ns} -l component=velero -o wide".to_owned()),
                "shows whether a new one comes up",
            ),
        ),
        RestartObstacle::Starting => (
            RefusalCode::AlreadyRestarting,
            format!(
                "the node-agent pod of node {node} has only just been made and is not ready yet"
            ),
            (
                Some("kubectl get pod {ns} -l component=velero -o wide".to_owned()),
                "shows whether it comes up",
            ),
        ),
        RestartObstacle::NotRecreated(why) => (
            RefusalCode::NotRecreated,
            format!("nothing would make a new node-agent pod on node {node}: {why}"),
            (
                Some("kubectl get daemonset {ns}".to_owned()),
                "shows the DaemonSets there are",
            ),
        ),
        RestartObstacle::Untolerated { taint, daemon_set } => (
            RefusalCode::NotRecreated,
            format!(
                "nothing would make a new node-agent pod on node {node}: DaemonSet {daemon_set} does not tolerate the taint {taint}"
            ),
            (
                Some(format!(
                    "kubectl describe node {}",
                    crate::diagnose::paste::name(node)
                )),
                "shows its taints; remove this one, or let the DaemonSet tolerate it, then restart",
            ),
        ),
        RestartObstacle::ConfigWouldCrash { config_map, why } => (
            RefusalCode::ConfigWouldCrash,
            format!("the node-agent that starts would end at ConfigMap {config_map}: {why}"),
            if known.snapshot.config_map(config_map).is_absent() {
                (
                    Some("kubectl get configmap {ns}".to_owned()),
                    "shows which there are: make the missing one, or take its name out of the DaemonSet; a running node-agent does not read it",
                )
            } else {
                (
                    Some(format!(
                        "kubectl edit configmap {{ns}} {}",
                        crate::diagnose::paste::name(config_map)
                    )),
                    "to mend it first; a running node-agent does not read it",
                )
            },
        ),
    };
    refusal(code, Override::Never, reason).or(command, effect)
}

/// Returns why a restart cannot help a node, if it cannot.
fn unhelpful(known: Known<'_, '_>, node: &str) -> Option<Refusal> {
    let here: Vec<&Finding> = known.findings_on(node).collect();
    let find = |id: FindingId| here.iter().find(|finding| finding.id == id).copied();
    let first_mend = |finding: &Finding, why: &str| {
        refusal(
            RefusalCode::OtherFindingFirst,
            Override::Force,
            format!("{} {why}: {}", finding.id.as_str(), finding.summary),
        )
        .about(&finding.tasks)
        .or_nudge_as(finding)
    };
    let mended = mended(known, node);
    for id in [FindingId::AgentCrashloop, FindingId::OwnerGone] {
        if let Some(finding) = find(id).filter(|_| !has(&mended, id)) {
            return Some(first_mend(finding, "must be mended first"));
        }
    }
    if !mended.is_empty() {
        return None;
    }
    if let Some(queue) = find(FindingId::SlotQueue) {
        return Some(
            refusal(
                RefusalCode::NormalQueue,
                Override::Force,
                format!(
                    "the queue of node {node} is a normal one: {}",
                    queue.summary
                ),
            )
            .about(&queue.tasks)
            .or(
                Some("kubectl velero-slots replay --simulate {ns}".to_owned()),
                "says when the queue is empty, and from which limit on it would be sooner",
            ),
        );
    }
    if let Some(missed) = find(FindingId::PrepareMissed) {
        let command = missed.tasks.first().map(nudge_command);
        let refusal = first_mend(missed, "is mended by a nudge, without a restart");
        let told = refusal
            .instead
            .iter()
            .any(|instead| instead.command == command);
        return Some(if told {
            refusal
        } else {
            refusal.or(command, "touches the mover pod")
        });
    }
    if let Some(blocked) = find(FindingId::ExposeBlocked) {
        return Some(
            refusal(
                RefusalCode::ExposeBlocked,
                Override::Force,
                format!(
                    "no node-agent can bring up a mover pod that Kubernetes does not: {}",
                    blocked.summary
                ),
            )
            .about(&blocked.tasks)
            .or_as(blocked),
        );
    }
    for id in [
        FindingId::RestoreTargetMissing,
        FindingId::RestoreTargetNotReady,
    ] {
        if let Some(target) = find(id) {
            return Some(
                refusal(
                    RefusalCode::RestoreTarget,
                    Override::Force,
                    format!(
                        "no restart makes the target of a restore: {}",
                        target.summary
                    ),
                )
                .about(&target.tasks)
                .or_as(target),
            );
        }
    }
    for id in [
        FindingId::CancelStuck,
        FindingId::MoverPodLost,
        FindingId::CompletionStuck,
        FindingId::PreparedDoomed,
        FindingId::ExposeLost,
        FindingId::TransferStalled,
    ] {
        if let Some(finding) = find(id) {
            return Some(first_mend(finding, "is not mended by a restart"));
        }
    }
    let full = known
        .diagnosis
        .findings
        .iter()
        .find(|finding| finding.id == FindingId::PrepareQueueFull);
    if let Some(full) = full {
        return Some(
            refusal(
                RefusalCode::PrepareQueueFull,
                Override::Force,
                format!(
                    "nothing is stuck on node {node}, and a restart does not empty the prepare queue: {}",
                    full.summary
                ),
            )
            .about(&full.tasks)
            .or_as(full),
        );
    }
    if known.diagnosis.nodes.get(node) == Some(&NodeVerdict::Unknown) {
        return Some(
            refusal(
                RefusalCode::NotKnown,
                Override::Force,
                format!("whether node {node} is stuck is not known"),
            )
            .or(
                Some("kubectl velero-slots diagnose {ns}".to_owned()),
                "says what could not be read",
            ),
        );
    }
    Some(
        refusal(
            RefusalCode::NothingStuck,
            Override::Force,
            format!("nothing is stuck on node {node}"),
        )
        .or(
            Some("kubectl velero-slots diagnose {ns}".to_owned()),
            "says what is wrong elsewhere, if anything is",
        ),
    )
}
