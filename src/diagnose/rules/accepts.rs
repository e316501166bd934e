//! Who accepted what and when, and who waits in New although nothing holds it back: the common ground
//! of `expose-lost`, `accept-blocked` and `prepare-queue-stale`.

use jiff::Timestamp;

use crate::diagnose::case::Case;
use crate::replay::{Mover, Situation, TaskReplay, Verb};
use crate::snapshot::{Cancel, ContainerState, NodeAgent, Observed, Task};
use crate::velero::profile::StartTimestamp;
use crate::velero::{Phase, Profile, TaskKind, TaskRef};

/// The longest pause between two looks at a New DataDownload whose target PVC was missing, in seconds:
/// the rate limiter of the controller doubles its delay up to this.
const BACKOFF_SECONDS: i64 = 1000;

/// Returns when a task was accepted; `None` for releases that do not write it.
pub(in crate::diagnose) fn accepted_at(task: &Task, profile: &Profile) -> Option<Timestamp> {
    let by_start = match profile.start_timestamp {
        StartTimestamp::AcceptTime if task.reference.kind.is_data_movement() => task.started,
        StartTimestamp::AcceptTime | StartTimestamp::InProgressTime => None,
    };
    task.accepted.or(task.accepted_annotation).or(by_start)
}

/// Returns the node whose agent accepted a task and exposes it: for pod volumes the task's own node.
pub(in crate::diagnose) fn acceptor(task: &Task) -> Option<&str> {
    match task.reference.kind {
        TaskKind::DataUpload | TaskKind::DataDownload => task.accepted_by.as_deref(),
        TaskKind::PodVolumeBackup => task.spec_node.as_deref(),
        TaskKind::PodVolumeRestore => task.status_node.as_deref(),
    }
}

/// Returns the newest accept of a kind, by the agent of one node or by any.
pub(in crate::diagnose) fn last_accept(
    case: &Case<'_, '_>,
    profile: &Profile,
    kind: TaskKind,
    node: Option<&str>,
) -> Option<Timestamp> {
    case.snapshot
        .tasks
        .values()
        .filter(|task| task.reference.kind == kind)
        .filter(|task| node.is_none() || acceptor(task) == node)
        .filter_map(|task| accepted_at(task, profile))
        .max()
}

/// A New task that its agent would accept now, and has not.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct Ignored<'a, 's> {
    /// The task.
    pub(in crate::diagnose) task: &'a TaskReplay<'s>,
    /// The node whose agent has to accept it; `None` where any may.
    pub(in crate::diagnose) node: Option<String>,
    /// Since when nothing provably held it back.
    pub(in crate::diagnose) since: Timestamp,
    /// A task of the same kind that the agent is exposing, and so keeps its one worker busy.
    pub(in crate::diagnose) busy_with: Option<&'a TaskRef>,
}

/// Returns the New tasks that a working agent would accept now and that waited beyond the threshold
/// although their agents accepted nothing of their kind in that time: while they do, it is a queue.
pub(in crate::diagnose) fn ignored<'a, 's>(case: &Case<'a, 's>) -> Vec<Ignored<'a, 's>> {
    case.tasks()
        .filter(|task| is_new_with_a_mover(task))
        .filter(|task| task.decision.verb == Verb::Accept)
        .filter_map(|task| {
            let node = bound_to(case, task);
            let since = free_since(case, task, node.as_deref())?;
            let patience = patience(case, task);
            (case.age(since) >= patience).then(|| Ignored {
                busy_with: busy_with(case, task, node.as_deref()),
                task,
                node,
                since,
            })
        })
        .collect()
}

/// Whether a task passes the gate from New to Accepted and nobody wants it ended.
pub(in crate::diagnose) fn is_new_with_a_mover(task: &TaskReplay<'_>) -> bool {
    task.task.phase == Phase::New
        && task.situation == Situation::Ordinary
        && task.task.cancel == Cancel::NotRequested
        && task.task.deletion.is_none()
        && task.mover != Mover::InProcess
}

/// The node whose agent alone may accept the task.
fn bound_to(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<String> {
    match task.task.reference.kind {
        TaskKind::DataUpload | TaskKind::DataDownload => None,
        TaskKind::PodVolumeBackup => task.task.spec_node.clone(),
        TaskKind::PodVolumeRestore => task.node.clone().or_else(|| {
            let target = task.task.pod.as_ref()?;
            let pod = case.snapshot.pod(&target.namespace, &target.name).seen()?;
            pod.node.clone()
        }),
    }
}

/// Since when the task could have been accepted: its own creation, that of its target, the start of the
/// agents that may, and their last accept of its kind. `None` if no agent works that may.
fn free_since(case: &Case<'_, '_>, task: &TaskReplay<'_>, node: Option<&str>) -> Option<Timestamp> {
    let agents: Vec<&NodeAgent> = case
        .replay
        .nodes
        .values()
        .filter(|replay| replay.working.is_yes())
        .filter(|replay| node.is_none_or(|node| replay.node == node))
        .filter_map(|replay| replay.agent)
        .collect();
    // Of several agents the first to start could have taken it; an unknown start proves nothing.
    let agent_start = agents
        .iter()
        .map(|agent| agent.started_at)
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .min()?;
    let created = task.task.created?;
    [
        Some(created),
        Some(agent_start),
        target_since(case, task.task),
        last_accept(case, &task.profile, task.task.reference.kind, node),
    ]
    .into_iter()
    .flatten()
    .max()
}

/// Since when a restore's target is there: the PVC's creation, or the start of `restore-wait`.
fn target_since(case: &Case<'_, '_>, task: &Task) -> Option<Timestamp> {
    match task.reference.kind {
        TaskKind::DataUpload | TaskKind::PodVolumeBackup => None,
        TaskKind::DataDownload => {
            let claim = task.claim.as_ref()?;
            case.snapshot
                .claim(&claim.namespace, &claim.name)
                .seen()?
                .created
        }
        TaskKind::PodVolumeRestore => {
            let target = task.pod.as_ref()?;
            let pod = case.snapshot.pod(&target.namespace, &target.name).seen()?;
            pod.init_containers
                .iter()
                .find_map(|container| match &container.state {
                    ContainerState::Running { started_at } => *started_at,
                    ContainerState::Waiting { .. }
                    | ContainerState::Terminated(_)
                    | ContainerState::None => None,
                })
        }
    }
}

/// How long the task may wait: the threshold, and for a DataDownload whose PVC came after it at least
/// the longest pause of the rate limiter.
fn patience(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> i64 {
    let came_late = task.task.reference.kind == TaskKind::DataDownload
        && target_since(case, task.task) > task.task.created;
    if came_late {
        case.threshold().max(BACKOFF_SECONDS)
    } else {
        case.threshold()
    }
}

/// A task of the same kind without a pod, accepted by a working agent that may still be exposing it.
/// Where any agent may accept, all of them have to be busy.
fn busy_with<'a, 's>(
    case: &Case<'a, 's>,
    task: &TaskReplay<'s>,
    node: Option<&str>,
) -> Option<&'a TaskRef> {
    let kind = task.task.reference.kind;
    let busy_on = |name: &str| {
        case.tasks()
            .find(|other| {
                other.task.reference.kind == kind
                    && other.task.phase == Phase::Accepted
                    && matches!(other.pod, Observed::Absent)
                    && acceptor(other.task) == Some(name)
            })
            .map(|other| &other.task.reference)
    };
    let mut busy = case
        .replay
        .nodes
        .values()
        .filter(|replay| replay.working.is_yes())
        .filter(|replay| node.is_none_or(|node| replay.node == node))
        .map(|replay| busy_on(&replay.node));
    let first = busy.next()??;
    busy.all(|other| other.is_some()).then_some(first)
}
