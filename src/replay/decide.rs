//! What the agent would decide for one task if it looked now, gate by gate.
//!
//! The order of the gates is Velero's own: for a New PodVolumeRestore the target before the prepare
//! queue, for a New DataDownload the queue before its target; for a Prepared task the expose check
//! (`GetExposed`) before the slot (v1.17.2 pkg/controller/*_controller.go).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::agents::Agents;
use super::node_slots::{is_ignored, waits};
use super::situation::{restore_wait, target_pod};
use super::{
    CancelState, DeadlineWhat, Decision, Doom, Gate, Mover, NAMED, NodeReplay, Pool, PrepareQueue,
    ReplayOptions, Situation, TaskReplay, Trigger, Verb, Working,
};
use crate::snapshot::{Cancel, ContainerState, Observed, Pod, Snapshot};
use crate::velero::profile::{
    BadRestoreTarget, CancelHandling, MissingPod, PeekExposed, PrepareQueue as QueueSupport,
    PrepareTimeoutBase, Unschedulable,
};
use crate::velero::{Phase, TaskKind, TaskRef};

/// How late each trigger may be before a decision that it should have brought counts as not taken. A
/// timer or period is allowed two misses; a lost event is given a minute.
const fn allowance_seconds(trigger: Trigger, threshold: i64) -> Option<i64> {
    match trigger {
        Trigger::Requeue5s => Some(15),
        Trigger::Requeue1m => Some(3 * 60),
        Trigger::Periodic1m => Some(2 * 60),
        Trigger::PodUpdate | Trigger::TargetPodUpdate => Some(60),
        // Nothing repeats an event of the object; the worker may be busy with the expose of another task.
        Trigger::ObjectUpdate => Some(threshold),
        // The retry of a backoff can be up to about 1000 seconds away.
        Trigger::Backoff => Some(2000),
        Trigger::AgentStart | Trigger::None => None,
    }
}

/// What a decision may look at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a, 's> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) agents: &'a Agents<'s>,
    pub(super) nodes: &'a BTreeMap<String, NodeReplay<'s>>,
    pub(super) queue: &'a PrepareQueue,
    /// The New tasks that ask at the prepare queue, in order.
    pub(super) held_back: &'a [&'s TaskRef],
    pub(super) options: ReplayOptions,
}

/// A decision in the making: where it ends, what it does, why, and what brings the task back.
struct Step<'s> {
    gate: Gate,
    verb: Verb,
    reason: String,
    trigger: Trigger,
    holders: Vec<&'s TaskRef>,
    competing: Option<Vec<&'s TaskRef>>,
    competing_count: usize,
    /// Since when the decision could have been taken.
    possible_since: Option<Timestamp>,
}

impl<'s> Step<'s> {
    fn new(gate: Gate, verb: Verb, trigger: Trigger, reason: impl Into<String>) -> Self {
        Self {
            gate,
            verb,
            reason: reason.into(),
            trigger,
            holders: Vec::new(),
            competing: None,
            competing_count: 0,
            possible_since: None,
        }
    }

    /// Notes who may take the next place instead.
    fn race(&mut self, task: &TaskReplay<'_>, all: &[&'s TaskRef]) {
        let others = || {
            all.iter()
                .copied()
                .filter(|other| **other != task.task.reference)
        };
        let itself = usize::from(all.binary_search(&&task.task.reference).is_ok());
        self.competing_count = all.len().saturating_sub(itself);
        self.competing = Some(others().take(NAMED).collect());
    }

    fn since(mut self, time: Option<Timestamp>) -> Self {
        self.possible_since = time;
        self
    }
}

impl<'s> Look<'_, 's> {
    /// Decides for one task.
    pub(super) fn decide(&self, task: &TaskReplay<'s>) -> Decision<'s> {
        let step = self.step(task);
        let moves_on = match step.verb {
            Verb::Admit | Verb::Accept | Verb::Prepare | Verb::Fail | Verb::Cancel => true,
            Verb::Wait | Verb::Skip | Verb::None | Verb::Unknown => false,
        };
        let since = step
            .possible_since
            .or_else(|| task.phase_since.map(|(time, _)| time));
        let late = since.is_some_and(|since| {
            allowance_seconds(step.trigger, self.options.threshold_seconds).is_some_and(|allowed| {
                self.snapshot.taken_at.duration_since(since).as_secs() > allowed
            })
        });
        Decision {
            gate: step.gate,
            verb: step.verb,
            reason: step.reason,
            holders: step.holders,
            competing: step.competing,
            competing_count: step.competing_count,
            next_trigger: step.trigger,
            diverges: moves_on && late,
        }
    }

    fn step(&self, task: &TaskReplay<'s>) -> Step<'s> {
        match task.situation {
            Situation::Foreign => {
                let mover = &task.task.data_mover;
                return Step::new(
                    Gate::None,
                    Verb::Skip,
                    Trigger::None,
                    format!(
                        "data mover {mover} is not Velero's: the node-agents pass over this task"
                    ),
                );
            }
            Situation::UnknownPhase => {
                let phase = &task.task.phase;
                return Step::new(
                    Gate::None,
                    Verb::Unknown,
                    Trigger::None,
                    format!("phase {phase} is not known"),
                );
            }
            Situation::Rewound { .. }
            | Situation::PodEnded
            | Situation::PodEnding
            | Situation::DoneButPodGone { .. }
            | Situation::Finishing
            | Situation::PodLost
            | Situation::PodJustGone
            | Situation::PodUnreadable
            | Situation::Doomed(_)
            | Situation::Ordinary => {}
        }
        if is_ignored(&task.profile, task.task) {
            return Step::new(
                Gate::None,
                Verb::Skip,
                Trigger::None,
                "this release has no controller for restic restores",
            );
        }
        match &task.task.phase {
            Phase::New => self.new_task(task),
            Phase::Accepted => self.accepted(task),
            Phase::Prepared => self.prepared(task),
            Phase::InProgress => self.in_progress(task),
            Phase::Canceling => self.canceling(task),
            Phase::Canceled | Phase::Completed | Phase::Failed | Phase::Other(_) => {
                Step::new(Gate::None, Verb::None, Trigger::None, "the task is final")
            }
        }
    }

    fn requeue(task: &TaskReplay<'_>) -> Trigger {
        if task.profile.requeue_seconds >= 60 {
            Trigger::Requeue1m
        } else {
            Trigger::Requeue5s
        }
    }

    /// Returns the step that ends the look when the agent of a node does not work.
    fn without_agent(&self, node: Option<&str>) -> Option<Step<'s>> {
        let Some(node) = node else {
            return match self.agents.any_works() {
                Some(true) => None,
                Some(false) => Some(Step::new(
                    Gate::None,
                    Verb::None,
                    Trigger::AgentStart,
                    "no node-agent works",
                )),
                None => Some(Step::new(
                    Gate::None,
                    Verb::Unknown,
                    Trigger::None,
                    "the node-agent pods could not be read",
                )),
            };
        };
        match self.agents.working(node) {
            Working::Yes => None,
            Working::No { .. } => Some(Step::new(
                Gate::None,
                Verb::None,
                Trigger::AgentStart,
                format!("no node-agent works on {node}"),
            )),
            Working::Unknown => Some(Step::new(
                Gate::None,
                Verb::Unknown,
                Trigger::None,
                format!("whether a node-agent works on {node} could not be read"),
            )),
        }
    }

    fn new_task(&self, task: &TaskReplay<'s>) -> Step<'s> {
        let kind = task.task.reference.kind;
        // DataUploads and DataDownloads are taken by any agent; pod volumes only by that of their node.
        let owner = if kind.is_data_movement() {
            None
        } else {
            task.node.as_deref()
        };
        if !(kind == TaskKind::PodVolumeRestore && owner.is_none())
            && let Some(step) = self.without_agent(owner)
        {
            return step;
        }
        if task.task.cancel == Cancel::Requested && task.mover != Mover::InProcess {
            return self.cancel_now(
                task,
                "cancel is requested: the task ends before it is accepted",
            );
        }
        match kind {
            TaskKind::DataUpload => self.queue_gate(task).unwrap_or_else(|| self.accept(task)),
            TaskKind::DataDownload => self
                .queue_gate(task)
                .or_else(|| self.target_claim_gate(task))
                .unwrap_or_else(|| self.accept(task)),
            TaskKind::PodVolumeBackup => {
                if task.mover == Mover::InProcess {
                    return self.slot_gate(task);
                }
                self.queue_gate(task).unwrap_or_else(|| self.accept(task))
            }
            TaskKind::PodVolumeRestore => {
                if let Some(step) = self.target_pod_gate(task) {
                    return step;
                }
                if task.mover == Mover::InProcess {
                    return self.slot_gate(task);
                }
                self.queue_gate(task).unwrap_or_else(|| self.accept(task))
            }
        }
    }

    fn accept(&self, task: &TaskReplay<'s>) -> Step<'s> {
        match self.queue.limit {
            Observed::Seen(limit) if task.profile.prepare_queue == QueueSupport::Present => {
                let length = self.queue.labelled.len();
                Step::new(
                    Gate::PrepareQueue,
                    Verb::Accept,
                    Self::requeue(task),
                    format!("the prepare queue has room ({length} of {limit})"),
                )
            }
            Observed::Seen(_) | Observed::Absent | Observed::Unknown(_) => Step::new(
                Gate::None,
                Verb::Accept,
                Trigger::ObjectUpdate,
                "nothing holds it back",
            ),
        }
    }

    fn queue_gate(&self, task: &TaskReplay<'s>) -> Option<Step<'s>> {
        if task.profile.prepare_queue == QueueSupport::Absent {
            return None;
        }
        let length = i64::try_from(self.queue.labelled.len()).unwrap_or(i64::MAX);
        match self.queue.limit {
            Observed::Seen(limit) if length >= limit => {
                let mut step = Step::new(
                    Gate::PrepareQueue,
                    Verb::Wait,
                    Self::requeue(task),
                    format!(
                        "{length} tasks are Accepted or Prepared, prepareQueueLength is {limit}"
                    ),
                );
                step.holders = self.labelled();
                step.race(task, self.held_back);
                Some(step)
            }
            Observed::Unknown(_) => Some(Step::new(
                Gate::PrepareQueue,
                Verb::Unknown,
                Self::requeue(task),
                "whether a prepare queue is in force could not be read",
            )),
            Observed::Seen(_) | Observed::Absent => None,
        }
    }

    fn labelled(&self) -> Vec<&'s TaskRef> {
        self.queue
            .labelled
            .iter()
            .take(NAMED)
            .filter_map(|name| self.snapshot.tasks.get(name).map(|task| &task.reference))
            .collect()
    }

    fn target_claim_gate(&self, task: &TaskReplay<'s>) -> Option<Step<'s>> {
        let claim = task.task.claim.as_ref()?;
        let name = format!("{}/{}", claim.namespace, claim.name);
        match self.snapshot.claim(&claim.namespace, &claim.name) {
            Observed::Seen(_) => None,
            Observed::Absent => Some(Step::new(
                Gate::Target,
                Verb::Wait,
                Trigger::Backoff,
                format!("the target PVC {name} does not exist"),
            )),
            Observed::Unknown(_) => Some(Step::new(
                Gate::Target,
                Verb::Unknown,
                Trigger::Backoff,
                format!("whether the target PVC {name} exists could not be read"),
            )),
        }
    }

    fn target_pod_gate(&self, task: &TaskReplay<'s>) -> Option<Step<'s>> {
        let target = task.task.pod.as_ref()?;
        let name = format!("{}/{}", target.namespace, target.name);
        let wait =
            |reason: String| Step::new(Gate::Target, Verb::Wait, Trigger::TargetPodUpdate, reason);
        let pod = match target_pod(self.snapshot, task.task) {
            Observed::Seen(pod) => pod,
            Observed::Absent => return Some(wait(format!("the target pod {name} does not exist"))),
            Observed::Unknown(_) => {
                return Some(Step::new(
                    Gate::Target,
                    Verb::Unknown,
                    Trigger::TargetPodUpdate,
                    format!("whether the target pod {name} exists could not be read"),
                ));
            }
        };
        if task.profile.bad_restore_target == BadRestoreTarget::Fails
            && let Some(why) = hopeless_target(pod)
        {
            return Some(Step::new(
                Gate::Target,
                Verb::Fail,
                Trigger::TargetPodUpdate,
                format!("the target pod {name} can never be ready: {why}"),
            ));
        }
        match restore_wait(pod) {
            Some(ContainerState::Running { .. }) => None,
            Some(ContainerState::Waiting { reason, .. }) => Some(wait(format!(
                "the init container restore-wait of {name} waits: {reason}"
            ))),
            Some(ContainerState::Terminated(_)) => Some(wait(format!(
                "the init container restore-wait of {name} has ended"
            ))),
            Some(ContainerState::None) | None => Some(wait(format!(
                "the init container restore-wait of {name} does not run ({})",
                pod.phase
            ))),
        }
    }

    fn accepted(&self, task: &TaskReplay<'s>) -> Step<'s> {
        if task.task.cancel == Cancel::Requested {
            if task.profile.cancel != CancelHandling::ForcedAfterDelay {
                return self.without_agent(None).unwrap_or_else(|| {
                    self.cancel_now(task, "cancel is requested: any node-agent ends the task")
                });
            }
            if matches!(task.cancel, CancelState::Overdue { .. }) {
                return self.without_agent(None).unwrap_or_else(|| {
                    self.cancel_now(task, "cancel is requested: its delay of 5 minutes is over")
                });
            }
        }
        if let Observed::Seen(pod) = task.pod {
            if let Some(why) = unrecoverable(pod, task) {
                return self.without_agent(None).unwrap_or_else(|| {
                    Step::new(
                        Gate::Expose,
                        Verb::Cancel,
                        Trigger::Periodic1m,
                        format!("the mover pod cannot recover: {why}"),
                    )
                    .since(pod.ended_at())
                });
            }
            if pod.phase == "Running" {
                return self.without_agent(pod.node.as_deref()).unwrap_or_else(|| {
                    Step::new(
                        Gate::Expose,
                        Verb::Prepare,
                        Trigger::PodUpdate,
                        "the mover pod runs: its next update makes the task Prepared",
                    )
                    .since(pod.running_since())
                });
            }
        }
        if let Some(step) = self.without_agent(None) {
            return step;
        }
        if let Some(deadline) = task.deadline.as_ref().filter(|deadline| {
            deadline.what == DeadlineWhat::PrepareTimeout && deadline.at <= self.snapshot.taken_at
        }) {
            return Step::new(
                Gate::Expose,
                Verb::Fail,
                Trigger::Periodic1m,
                "its prepare timeout is over",
            )
            .since(Some(deadline.at));
        }
        let never = task.profile.prepare_timeout_base == PrepareTimeoutBase::Never;
        match task.pod {
            Observed::Seen(pod) => Step::new(
                Gate::Expose,
                Verb::Wait,
                Trigger::PodUpdate,
                format!(
                    "the mover pod is {}",
                    if pod.phase.is_empty() {
                        "not started"
                    } else {
                        &pod.phase
                    }
                ),
            ),
            Observed::Absent => Step::new(
                Gate::Expose,
                Verb::Wait,
                Trigger::Periodic1m,
                if never {
                    "there is no mover pod, and in this release no prepare timeout fires"
                } else {
                    "there is no mover pod yet; only the prepare timeout ends this"
                },
            ),
            Observed::Unknown(_) => Step::new(
                Gate::Expose,
                Verb::Unknown,
                Trigger::PodUpdate,
                "the mover pod could not be read",
            ),
        }
    }

    fn prepared(&self, task: &TaskReplay<'s>) -> Step<'s> {
        if matches!(task.situation, Situation::Rewound { .. }) {
            return Step::new(
                Gate::None,
                Verb::None,
                Trigger::None,
                "the node-agent already runs this task: it answers each look with \"Cancellable data path is already started\"",
            );
        }
        if let Some(step) = self.without_agent(task.node.as_deref()) {
            return step;
        }
        if task.task.cancel == Cancel::Requested {
            return self.cancel_now(task, "cancel is requested: the task ends before it runs");
        }
        match task.situation {
            Situation::PodUnreadable => {
                return Step::new(
                    Gate::Expose,
                    Verb::Unknown,
                    Self::requeue(task),
                    "the mover pod could not be read",
                );
            }
            Situation::Doomed(Doom::PodMissing) => {
                return match task.profile.missing_pod_when_prepared {
                    MissingPod::SilentReturn => Step::new(
                        Gate::Expose,
                        Verb::Skip,
                        Trigger::ObjectUpdate,
                        "its mover pod is gone: the node-agent passes over it without a word",
                    ),
                    MissingPod::Fails => Step::new(
                        Gate::Expose,
                        Verb::Fail,
                        Self::requeue(task),
                        "its mover pod is gone: the next look ends it as Failed",
                    ),
                };
            }
            Situation::Doomed(Doom::VolumeMissing) => {
                return Step::new(
                    Gate::Expose,
                    Verb::Fail,
                    Self::requeue(task),
                    "its volume is gone: the next look ends it as Failed",
                );
            }
            Situation::Doomed(Doom::PodTerminal)
                if !task.task.reference.kind.is_data_movement() =>
            {
                return Step::new(
                    Gate::Expose,
                    Verb::Fail,
                    Self::requeue(task),
                    "its mover pod has ended: the look waits for it up to the resource timeout, then ends the task as Failed",
                );
            }
            Situation::Doomed(Doom::PodTerminal)
            | Situation::Foreign
            | Situation::UnknownPhase
            | Situation::Rewound { .. }
            | Situation::PodEnded
            | Situation::PodEnding
            | Situation::DoneButPodGone { .. }
            | Situation::Finishing
            | Situation::PodLost
            | Situation::PodJustGone
            | Situation::Ordinary => {}
        }
        self.slot_gate(task)
    }

    fn pool(&self, task: &TaskReplay<'s>) -> Option<&Pool<'s>> {
        let node = self.nodes.get(task.node.as_deref()?)?;
        node.pools
            .iter()
            .find(|pool| pool.kinds.contains(&task.task.reference.kind))
    }

    fn slot_gate(&self, task: &TaskReplay<'s>) -> Step<'s> {
        let Some(pool) = self.pool(task) else {
            return Step::new(
                Gate::Slot,
                Verb::Unknown,
                Trigger::None,
                "its node is not known",
            );
        };
        let held = i64::try_from(pool.holders.len()).unwrap_or(i64::MAX);
        let mut step = match pool.limit {
            None => Step::new(
                Gate::Slot,
                Verb::Unknown,
                Self::requeue(task),
                format!("{held} in progress, and the limit of the running node-agent is not known"),
            ),
            Some(limit) => {
                let refused = task.profile.limited_when.refuses(held, limit);
                if refused {
                    Step::new(
                        Gate::Slot,
                        Verb::Wait,
                        Self::requeue(task),
                        format!("in progress {held} of {limit}: no slot is free"),
                    )
                } else {
                    let since = task.phase_since.map(|(time, _)| time).max(pool.spare_since);
                    Step::new(
                        Gate::Slot,
                        Verb::Admit,
                        Self::requeue(task),
                        format!("in progress {held} of {limit}: a slot is free"),
                    )
                    .since(since)
                }
            }
        };
        step.holders.clone_from(&pool.holders);
        // Velero keeps no order among those that wait: the next free slot goes to the first timer.
        debug_assert!(waits(self.snapshot, task) || task.situation != Situation::Ordinary);
        step.race(task, &pool.waiting);
        step
    }

    fn in_progress(&self, task: &TaskReplay<'s>) -> Step<'s> {
        if let Some(step) = self.without_agent(task.node.as_deref()) {
            return step;
        }
        if task.task.cancel == Cancel::Requested && task.mover != Mover::InProcess {
            return self.cancel_now(task, "cancel is requested: its node-agent carries it out");
        }
        let reason = match task.situation {
            Situation::PodEnded => "its mover pod has ended, and the end was not taken up",
            Situation::PodEnding => "its mover pod has ended: the end is being taken up",
            Situation::DoneButPodGone { .. } => {
                "all bytes are done and its mover pod is gone: nothing looks at it any more"
            }
            Situation::Finishing => "all bytes are done: the last steps run",
            Situation::PodLost => "its mover pod is gone: nothing tells the node-agent",
            Situation::PodJustGone => "its mover pod is gone: the last write may still come",
            Situation::PodUnreadable => "it runs; its mover pod could not be read",
            Situation::Foreign
            | Situation::UnknownPhase
            | Situation::Rewound { .. }
            | Situation::Doomed(_)
            | Situation::Ordinary => "it runs: its end is taken from the data path",
        };
        let trigger = if task.mover == Mover::MoverPod {
            Trigger::PodUpdate
        } else {
            Trigger::None
        };
        Step::new(Gate::None, Verb::None, trigger, reason)
    }

    fn canceling(&self, task: &TaskReplay<'s>) -> Step<'s> {
        if task.profile.cancel == CancelHandling::ForcedAfterDelay {
            if let Some(step) = self.without_agent(None) {
                return step;
            }
            if matches!(task.cancel, CancelState::Overdue { .. }) {
                return self.cancel_now(
                    task,
                    "its delay of 5 minutes is over: any node-agent ends it",
                );
            }
            return Step::new(
                Gate::None,
                Verb::Wait,
                Trigger::Periodic1m,
                "the data path is told to stop; after 5 minutes any node-agent ends the task",
            );
        }
        if let Some(step) = self.without_agent(task.node.as_deref()) {
            return step;
        }
        Step::new(
            Gate::None,
            Verb::None,
            Trigger::None,
            "the data path is told to stop: only its end ends the task",
        )
    }

    fn cancel_now(&self, task: &TaskReplay<'s>, reason: &str) -> Step<'s> {
        let trigger = if task.profile.cancel == CancelHandling::ForcedAfterDelay {
            Trigger::Periodic1m
        } else {
            Trigger::ObjectUpdate
        };
        let since = match task.cancel {
            CancelState::NotRequested => None,
            CancelState::Pending { since } => since,
            CancelState::Overdue { since, .. } => Some(since),
        };
        // Without a known time nothing says that it is late.
        Step::new(Gate::None, Verb::Cancel, trigger, reason)
            .since(since.or(Some(self.snapshot.taken_at)))
    }
}

/// Returns why a mover pod can never run, by the rules of the task's release (v1.13.2, v1.14.1
/// pkg/util/kube/pod.go `IsPodUnrecoverable`).
fn unrecoverable(pod: &Pod, task: &TaskReplay<'_>) -> Option<String> {
    if task.profile.peek_exposed == PeekExposed::Absent {
        return None;
    }
    if matches!(pod.phase.as_str(), "Failed" | "Unknown") {
        return Some(format!(
            "phase {}, {}",
            pod.phase,
            if pod.message.is_empty() {
                "no message"
            } else {
                &pod.message
            }
        ));
    }
    let image = pod
        .containers
        .iter()
        .find_map(|container| match &container.state {
            ContainerState::Waiting { reason, .. }
                if reason == "ImagePullBackOff" || reason == "ErrImageNeverPull" =>
            {
                Some(format!("container {} waits: {reason}", container.name))
            }
            ContainerState::Waiting { .. }
            | ContainerState::Running { .. }
            | ContainerState::Terminated(_)
            | ContainerState::None => None,
        });
    image.or_else(|| {
        if task.profile.unschedulable == Unschedulable::MayRecover {
            return None;
        }
        pod.condition("PodScheduled")
            .filter(|condition| condition.status == "False" && condition.reason == "Unschedulable")
            .map(|condition| format!("it is unschedulable: {}", condition.message))
    })
}

/// Returns why the target pod of a restore can never be ready (main
/// `pkg/controller/pod_volume_restore_controller.go`).
fn hopeless_target(pod: &Pod) -> Option<String> {
    if matches!(pod.phase.as_str(), "Failed" | "Unknown") {
        return Some(format!("phase {}", pod.phase));
    }
    match restore_wait(pod) {
        None if !pod.init_container_names.is_empty()
            && !pod
                .init_container_names
                .iter()
                .any(|name| name == "restore-wait") =>
        {
            Some("it has no init container restore-wait".to_owned())
        }
        Some(ContainerState::Terminated(_)) => {
            Some("its init container restore-wait has ended".to_owned())
        }
        Some(ContainerState::Waiting { reason, .. })
            if matches!(
                reason.as_str(),
                "ImagePullBackOff"
                    | "ErrImageNeverPull"
                    | "CreateContainerConfigError"
                    | "CreateContainerError"
                    | "InvalidImageName"
                    | "ErrImagePull"
            ) =>
        {
            Some(format!("its init container restore-wait waits: {reason}"))
        }
        Some(
            ContainerState::Waiting { .. } | ContainerState::Running { .. } | ContainerState::None,
        )
        | None => None,
    }
}

/// Returns the New tasks that ask at the prepare queue, in order.
pub(super) fn held_back<'s>(tasks: &BTreeMap<&'s TaskRef, TaskReplay<'s>>) -> Vec<&'s TaskRef> {
    tasks
        .values()
        .filter(|task| {
            task.task.phase == Phase::New
                && task.situation != Situation::Foreign
                && task.mover == Mover::MoverPod
                && task.profile.prepare_queue == QueueSupport::Present
        })
        .map(|task| &task.task.reference)
        .collect()
}
