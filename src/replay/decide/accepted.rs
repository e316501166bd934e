//! An Accepted task: its mover pod, and the prepare timeout.

use super::{Look, Step};
use crate::replay::{CancelState, DeadlineWhat, Gate, TaskReplay, Trigger, Verb};
use crate::snapshot::{Cancel, ContainerState, Observed, Pod};
use crate::velero::profile::{CancelHandling, PeekExposed, PrepareTimeoutBase, Unschedulable};

impl<'s> Look<'_, 's> {
    pub(super) fn accepted(&self, task: &TaskReplay<'s>) -> Step<'s> {
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
                    "there is no mover pod yet: Expose makes it, if it still runs; the prepare timeout ends this at the latest"
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
