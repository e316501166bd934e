//! A published fault of a version that is in use and fits what is seen. Which releases have which fault
//! is a table of the Velero layer; here stands what each fault looks like. One finding for each fault.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{ends, overtaken, words};
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{CancelState, DeadlineWhat, Mover, NotWorking, Situation, TaskReplay, Working};
use crate::snapshot::{Observed, ParentRef, Task};
use crate::velero::profile::{AgentLabel, KnownBug, Profile};
use crate::velero::{DEFAULT_PREPARE_TIMEOUT_SECONDS, Phase, TaskKind, TaskRef, VeleroVersion};

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    for bug in KnownBug::ALL {
        if let Some((what, tasks)) = seen(case, bug) {
            out.findings.push(finding(case, bug, &what, tasks));
        }
    }
}

/// Returns the version of the velero server; where its Deployment was not read, that of the agents if
/// they all have the same.
pub(super) fn server_version(case: &Case<'_, '_>) -> Option<VeleroVersion> {
    if let Observed::Seen(version) = &case.snapshot.server_version {
        return Some(version.clone());
    }
    let mut versions = case
        .snapshot
        .agents
        .iter()
        .map(|agent| match &agent.version {
            Observed::Seen(version) => Some(version.clone()),
            Observed::Absent | Observed::Unknown(_) => None,
        });
    let first = versions.next()??;
    versions
        .all(|version| version.as_ref() == Some(&first))
        .then_some(first)
}

/// Returns whether the agent of a task's node has the bug; without a node, whether any agent has it.
fn agent_has(case: &Case<'_, '_>, node: Option<&str>, bug: KnownBug) -> bool {
    case.snapshot
        .agents
        .iter()
        .filter(|agent| node.is_none() || agent.node() == node)
        .any(|agent| matches!(&agent.version, Observed::Seen(version) if bug.affects(version)))
}

/// Returns what is seen of a bug, and the tasks that show it.
fn seen(case: &Case<'_, '_>, bug: KnownBug) -> Option<(String, Vec<TaskRef>)> {
    let with = |fits: &dyn Fn(&TaskReplay<'_>) -> bool| -> Vec<TaskRef> {
        case.tasks()
            .filter(|task| task.situation != Situation::Foreign)
            .filter(|task| fits(task) && agent_has(case, task.node.as_deref(), bug))
            .filter(|task| !overtaken::is_overtaken(case, task))
            .map(|task| task.task.reference.clone())
            .collect()
    };
    let ended = |fits: &dyn Fn(&Task) -> bool| -> Vec<TaskRef> {
        case.snapshot
            .tasks
            .values()
            .filter(|task| {
                task.completed
                    .is_some_and(|end| case.age(end) <= ends::RECENT_SECONDS)
            })
            .filter(|task| fits(task) && agent_has(case, task.status_node.as_deref(), bug))
            .map(|task| task.reference.clone())
            .collect()
    };
    let (what, tasks) = match bug {
        KnownBug::Velero8391 => (
            "a cancelled data path ends as Failed, not as Canceled",
            ended(&|task| {
                task.reference.kind.is_data_movement()
                    && task.phase == Phase::Failed
                    && task.message.contains("data path is canceled")
            }),
        ),
        KnownBug::Velero8394 => (
            "a pod volume that fails deadlocks and keeps its slot until the node-agent restarts",
            with(&|task| task.situation == Situation::Stalled && task.mover == Mover::InProcess),
        ),
        KnownBug::Velero8485 => (
            "the prepare timeout of this release never fires",
            with(&|task| {
                task.task.phase == Phase::Accepted
                    && task
                        .deadline
                        .as_ref()
                        .is_none_or(|deadline| deadline.what != DeadlineWhat::PrepareTimeout)
                    && case.older_than(
                        task.accepted_at.or(task.task.created),
                        DEFAULT_PREPARE_TIMEOUT_SECONDS,
                    )
            }),
        ),
        KnownBug::Velero8579 => (
            "the progress shown stands still for minutes while the data moves",
            with(&|task| {
                task.situation == Situation::Stalled && task.task.reference.kind.is_data_movement()
            }),
        ),
        KnownBug::Velero9659 => (
            "a mover pod that is cancelled before its data path exists crashes or hangs",
            with(&|task| {
                task.mover == Mover::MoverPod
                    && task.task.phase == Phase::Canceling
                    && matches!(task.cancel, CancelState::Overdue { .. })
                    && task
                        .task
                        .progress
                        // A total is counted by the data path.
                        .is_none_or(|progress| {
                            progress.bytes_done == 0 && progress.total_bytes == 0
                        })
            }),
        ),
        KnownBug::Velero9365 => (
            "a PodVolumeRestore is written several times, and its phase can go back",
            with(&|task| {
                task.task.reference.kind == TaskKind::PodVolumeRestore
                    && matches!(task.situation, Situation::Rewound { .. })
            }),
        ),
        KnownBug::Velero9666 => (
            "a node-agent of another namespace counts as the one of a node that has none of its own",
            counted_elsewhere(case),
        ),
        KnownBug::Velero10007 => (
            "a PodVolumeBackup that ends Canceled is never counted as done",
            uncounted(case),
        ),
    };
    (!tasks.is_empty()).then(|| (what.to_owned(), tasks))
}

/// Unfinished tasks of a node that has no agent of Velero's namespace and one of another, under a server that
/// has the bug. Of a cluster only Velero's own pods are read: it shows in input that holds both.
fn counted_elsewhere(case: &Case<'_, '_>) -> Vec<TaskRef> {
    let Some(server) = server_version(case).filter(|version| KnownBug::Velero9666.affects(version))
    else {
        return Vec::new();
    };
    // The server looks by the label of its own release.
    let label = match Profile::of(&server).map(|(profile, _)| profile.agent_label) {
        Ok(AgentLabel::Role) => "role",
        Ok(AgentLabel::Name) | Err(_) => "name",
    };
    let foreign_agents: BTreeSet<&str> = case
        .snapshot
        .pods
        .values()
        .filter(|pod| pod.key.namespace != case.snapshot.namespace && pod.phase == "Running")
        .filter(|pod| {
            pod.labels
                .get(label)
                .is_some_and(|value| value == "node-agent")
        })
        .filter_map(|pod| pod.node.as_deref())
        .collect();
    case.tasks()
        .filter(|task| task.situation != Situation::Foreign)
        .filter(|task| {
            task.node.as_deref().is_some_and(|name| {
                foreign_agents.contains(name)
                    && case
                        .node(name)
                        .is_some_and(|node| has_no_agent(&node.working))
            })
        })
        .map(|task| task.task.reference.clone())
        .collect()
}

const fn has_no_agent(working: &Working) -> bool {
    match working {
        Working::No { why, .. } => match why {
            NotWorking::AgentMissing => true,
            NotWorking::NodeGone | NotWorking::NodeNotReady | NotWorking::AgentNotReady => false,
        },
        Working::Yes | Working::Unknown => false,
    }
}

/// Canceled `PodVolumeBackups` of a Backup that is still InProgress although all its tasks are final, under
/// a server that has the bug.
fn uncounted(case: &Case<'_, '_>) -> Vec<TaskRef> {
    if !server_version(case).is_some_and(|version| KnownBug::Velero10007.affects(&version)) {
        return Vec::new();
    }
    let unfinished: BTreeSet<&ParentRef> = case
        .tasks()
        .filter_map(|task| task.task.parent.as_ref())
        .collect();
    // A Backup that makes its tasks, and one whose last task has just ended, are InProgress too.
    let mut last_ends: BTreeMap<&ParentRef, Option<Timestamp>> = BTreeMap::new();
    for task in case.snapshot.tasks.values() {
        if let Some(parent) = &task.parent {
            let last = last_ends.entry(parent).or_default();
            *last = (*last).max(ends::ended_at(task));
        }
    }
    case.snapshot
        .tasks
        .values()
        .filter(|task| {
            task.reference.kind == TaskKind::PodVolumeBackup && task.phase == Phase::Canceled
        })
        .filter(|task| {
            let last = task
                .parent
                .as_ref()
                .and_then(|parent| last_ends.get(parent));
            case.older_than(last.copied().flatten(), case.threshold())
        })
        .filter(|task| {
            task.parent
                .as_ref()
                .is_some_and(|parent| !unfinished.contains(parent))
        })
        .filter(|task| {
            task.parent
                .as_ref()
                .and_then(|parent| case.snapshot.backups.get(&parent.name))
                .is_some_and(|backup| backup.phase == "InProgress")
        })
        .map(|task| task.reference.clone())
        .collect()
}

fn finding(case: &Case<'_, '_>, bug: KnownBug, what: &str, tasks: Vec<TaskRef>) -> Finding {
    let mut finding = Finding::new(
        FindingId::KnownBug,
        Severity::Info,
        case.cap(Confidence::Likely),
        format!(
            "{} fits {}: {what}; fixed in {}",
            bug.reference(),
            words::tasks(&tasks),
            bug.fixed_in()
        ),
    );
    finding.cause = Some(bug.id());
    finding.evidence = case
        .snapshot
        .agents
        .iter()
        .take(1)
        .filter_map(|agent| match &agent.version {
            Observed::Seen(version) => Some(Evidence::field(
                format!(
                    "Pod {}/{} image",
                    agent.pod.key.namespace, agent.pod.key.name
                ),
                version.to_string(),
            )),
            Observed::Absent | Observed::Unknown(_) => None,
        })
        .collect();
    finding.tasks = tasks;
    finding.references = vec![bug.reference()];
    finding
}
