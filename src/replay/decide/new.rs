//! A New task: its target, the prepare queue, and (pod volumes without mover pods) the slot.

use super::{Look, Step};
use crate::replay::gates::{self, Passage};
use crate::replay::situation::{restore_wait, target_pod};
use crate::replay::{Gate, Mover, NAMED, TaskReplay, Trigger, Verb};
use crate::snapshot::{Cancel, ContainerState, Observed, Pod};
use crate::velero::profile::{BadRestoreTarget, PrepareQueue as QueueSupport};
use crate::velero::{TaskKind, TaskRef};

impl<'s> Look<'_, 's> {
    pub(super) fn new_task(&self, task: &TaskReplay<'s>) -> Step<'s> {
        let kind = task.task.reference.kind;
        // DataUploads and DataDownloads are taken by any agent; pod volumes only by that of their node.
        let owner = if kind.is_data_movement() {
            None
        } else {
            task.node.as_deref()
        };
        if let Some(step) = self.cancel_without_owner(task) {
            return step;
        }
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
                .unwrap_or_else(|| self.accept_download(task)),
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

    /// A DataDownload that found no target PVC comes back by its backoff alone, whenever the PVC appears.
    fn accept_download(&self, task: &TaskReplay<'s>) -> Step<'s> {
        let mut step = self.accept(task);
        let appeared = task
            .task
            .claim
            .as_ref()
            .and_then(|claim| {
                self.snapshot
                    .restored_claim(&claim.namespace, &claim.name)
                    .seen()
            })
            .and_then(|claim| claim.created)
            .filter(|created| Some(*created) > task.task.created);
        if appeared.is_some() {
            step.trigger = Trigger::Backoff;
            step.possible_since = appeared;
        }
        step
    }

    fn accept(&self, task: &TaskReplay<'s>) -> Step<'s> {
        match self.queue.limit_for(task) {
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
        match self.queue.limit_for(task) {
            Observed::Seen(limit) if gates::prepare_queue(length, limit) == Passage::Closed => {
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
        match self.snapshot.restored_claim(&claim.namespace, &claim.name) {
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
