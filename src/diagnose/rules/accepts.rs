//! Who accepted what and when, and who waits in New although nothing holds it back: the common ground
//! of `expose-lost`, `accept-blocked` and `prepare-queue-stale`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::slot_cause;
use crate::diagnose::case::Case;
use crate::replay::{Mover, NodeReplay, Situation, TaskReplay, Verb};
use crate::snapshot::{Cancel, ContainerState, Observed, Task};
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
    let index = Index::of(case);
    // Thousands of tasks may wait; what their agents do is the same for each of a kind, node and release.
    let mut grounds: BTreeMap<(TaskKind, Option<String>, &str), Ground<'a>> = BTreeMap::new();
    case.tasks()
        .filter(|task| is_new_with_a_mover(task))
        .filter(|task| {
            task.decision.verb == Verb::Accept
                || (nobody_handles(task) && target_since(case, task.task).is_some())
        })
        .filter_map(|task| {
            let kind = task.task.reference.kind;
            let node = bound_to(case, task);
            let ground = grounds
                .entry((kind, node.clone(), task.profile.since))
                .or_insert_with(|| Ground::of(case, &index, task, node.as_deref()));
            let since = free_since(case, task, ground)?;
            let patience = patience(case, task);
            (case.age(since) >= patience).then_some(Ignored {
                busy_with: ground.busy_with,
                task,
                node,
                since,
            })
        })
        .collect()
}

/// The tasks by who accepted them, gathered in one pass.
struct Index<'a, 's> {
    accepted: BTreeMap<(TaskKind, &'s str), Vec<&'s Task>>,
    /// The first task without a pod that an agent may still be exposing.
    exposing: BTreeMap<(TaskKind, &'s str), &'a TaskRef>,
}

impl<'a, 's> Index<'a, 's> {
    fn of(case: &Case<'a, 's>) -> Self {
        let mut accepted: BTreeMap<_, Vec<&'s Task>> = BTreeMap::new();
        for task in case.snapshot.tasks.values() {
            // One whose acceptor is not known still shows that somebody accepts its kind.
            let key = (task.reference.kind, acceptor(task).unwrap_or_default());
            accepted.entry(key).or_default().push(task);
        }
        let mut exposing = BTreeMap::new();
        for task in case.tasks() {
            if task.task.phase == Phase::Accepted
                && matches!(task.pod, Observed::Absent)
                && let Some(name) = acceptor(task.task)
            {
                let key = (task.task.reference.kind, name);
                exposing.entry(key).or_insert(&task.task.reference);
            }
        }
        Self { accepted, exposing }
    }

    /// Returns the newest accept of a kind, by the agent of one node or by any.
    fn last_accept(
        &self,
        profile: &Profile,
        kind: TaskKind,
        node: Option<&str>,
    ) -> Option<Timestamp> {
        self.accepted
            .iter()
            .filter(|((of, name), _)| *of == kind && node.is_none_or(|node| *name == node))
            .flat_map(|(_, tasks)| tasks)
            .filter_map(|task| accepted_at(task, profile))
            .max()
    }
}

/// What the agents that may accept a task do: the same for all tasks of a kind, node and release.
struct Ground<'a> {
    /// When the first of them started; `None` if none works, or one's start is not known.
    agent_start: Option<Timestamp>,
    /// Their last accept of the kind.
    last_accept: Option<Timestamp>,
    /// A task of the kind without a pod, accepted by a working agent that may still be exposing it.
    /// Where any agent may accept, all of them have to be busy.
    busy_with: Option<&'a TaskRef>,
}

impl<'a> Ground<'a> {
    fn of<'s>(
        case: &Case<'a, 's>,
        index: &Index<'a, 's>,
        task: &TaskReplay<'s>,
        node: Option<&str>,
    ) -> Self {
        let kind = task.task.reference.kind;
        let working: Vec<&NodeReplay<'s>> = case
            .replay
            .nodes
            .values()
            .filter(|replay| replay.working.is_yes())
            .filter(|replay| node.is_none_or(|node| replay.node == node))
            .collect();
        // Of several agents the first to start could have taken it; an unknown start proves nothing.
        let starts: Option<Vec<Timestamp>> = working
            .iter()
            .filter_map(|replay| replay.agent)
            .map(|agent| agent.started_at)
            .collect();
        let busy: Option<Vec<&'a TaskRef>> = working
            .iter()
            .map(|replay| {
                let exposing = index.exposing.get(&(kind, replay.node.as_str())).copied();
                exposing.or_else(|| busy_by_log(case, replay, kind))
            })
            .collect();
        Self {
            agent_start: starts.and_then(|starts| starts.into_iter().min()),
            last_accept: index.last_accept(&task.profile, kind, node),
            busy_with: busy.and_then(|busy| busy.first().copied()),
        }
    }
}

/// The task in whose step the log shows the worker of an agent for longer than any step takes.
fn busy_by_log<'a, 's>(
    case: &Case<'a, 's>,
    replay: &NodeReplay<'s>,
    kind: TaskKind,
) -> Option<&'a TaskRef>
where
    's: 'a,
{
    let step = slot_cause::blocked_step(replay.agent?, kind)?;
    let name = TaskRef {
        kind,
        namespace: case.snapshot.namespace.clone(),
        name: step.task.clone(),
    };
    let (reference, _) = case.snapshot.tasks.get_key_value(&name)?;
    Some(reference)
}

/// Whether a task passes the gate from New to Accepted and nobody wants it ended.
pub(in crate::diagnose) fn is_new_with_a_mover(task: &TaskReplay<'_>) -> bool {
    task.task.phase == Phase::New
        && task.situation == Situation::Ordinary
        && task.task.cancel == Cancel::NotRequested
        && task.task.deletion.is_none()
        && (task.mover != Mover::InProcess || nobody_handles(task))
}

/// Whether no controller of the release takes such a task: a restic restore on main.
pub(in crate::diagnose) fn nobody_handles(task: &TaskReplay<'_>) -> bool {
    let kind = task.task.reference.kind;
    task.profile
        .worker(kind, &task.task.uploader_type)
        .is_none()
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
fn free_since(
    case: &Case<'_, '_>,
    task: &TaskReplay<'_>,
    ground: &Ground<'_>,
) -> Option<Timestamp> {
    let required = task.task.created?.max(ground.agent_start?);
    [
        Some(required),
        target_since(case, task.task),
        ground.last_accept,
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
                .restored_claim(&claim.namespace, &claim.name)
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
