//! A task that runs or is being cancelled.

use jiff::SignedDuration;

use super::{Look, Step};
use crate::replay::{CancelState, Gate, Mover, Situation, SlotEntry, TaskReplay, Trigger, Verb};
use crate::snapshot::Cancel;
use crate::velero::Phase;
use crate::velero::profile::CancelHandling;

/// How long after an agent first saw `spec.cancel` it ends a task of another node, in InProgress and in
/// any other phase (v1.17.2 `pkg/controller/data_upload_controller.go`).
const FORCED_IN_PROGRESS_SECONDS: i64 = 60 * 60;
const FORCED_SECONDS: i64 = 5 * 60;

impl<'s> Look<'_, 's> {
    /// What other agents make of a requested cancel when the one of the task's node does not work.
    pub(super) fn cancel_without_owner(&self, task: &TaskReplay<'s>) -> Option<Step<'s>> {
        let owner_works = task
            .node
            .as_deref()
            .is_some_and(|node| self.agents.working(node).is_yes());
        if task.task.cancel == Cancel::NotRequested
            || task.mover == Mover::InProcess
            || owner_works
            || self.agents.any_works() != Some(true)
        {
            return None;
        }
        let in_progress = task.task.phase == Phase::InProgress;
        match task.profile.cancel {
            CancelHandling::AtOnceByAny => {
                Some(self.cancel_now(task, "cancel is requested: any node-agent ends the task"))
            }
            CancelHandling::AtOnceOwnerHolds | CancelHandling::AtOnceOwnerRuns => (!in_progress)
                .then(|| {
                    self.cancel_now(task, "cancel is requested: any node-agent ends the task")
                }),
            CancelHandling::ForcedAfterDelay if task.task.phase == Phase::New => {
                Some(self.cancel_now(task, "cancel is requested: any node-agent ends the task"))
            }
            CancelHandling::ForcedAfterDelay => {
                let delay = if in_progress {
                    FORCED_IN_PROGRESS_SECONDS
                } else {
                    FORCED_SECONDS
                };
                let forced_at = match task.cancel {
                    CancelState::NotRequested => None,
                    CancelState::Pending { since } => since,
                    CancelState::Overdue { since, .. } => Some(since),
                }
                .and_then(|since| since.checked_add(SignedDuration::from_secs(delay)).ok());
                if forced_at.is_some_and(|at| at <= self.snapshot.taken_at) {
                    return Some(
                        Step::new(
                            Gate::None,
                            Verb::Cancel,
                            Trigger::Periodic1m,
                            "cancel is requested and its delay is over: any node-agent ends the task",
                        )
                        .since(forced_at),
                    );
                }
                Some(Step::new(
                    Gate::None,
                    Verb::Wait,
                    Trigger::Periodic1m,
                    "cancel is requested: without the agent of its node, another one ends the task after a delay",
                ))
            }
        }
    }

    pub(super) fn in_progress(&self, task: &TaskReplay<'s>) -> Step<'s> {
        if let Some(step) = self.cancel_without_owner(task) {
            return step;
        }
        if let Some(step) = self.without_agent(task.node.as_deref()) {
            return step;
        }
        if task.task.cancel == Cancel::Requested && task.mover != Mover::InProcess {
            return self.cancel_now(task, "cancel is requested: its node-agent carries it out");
        }
        let reason = match task.situation {
            Situation::PodEnded => "its mover pod has ended, and the end was not taken up",
            Situation::PodEnding => "its mover pod has ended: the end is being taken up",
            Situation::DoneButPodGone { .. } if task.entry == SlotEntry::Holds => {
                "all bytes are done and its mover pod is gone: by the log its callback has not come back, and holds the slot"
            }
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
            | Situation::Stalled
            | Situation::Ordinary => "it runs: its end is taken from the data path",
        };
        let trigger = if task.mover == Mover::MoverPod {
            Trigger::PodUpdate
        } else {
            Trigger::None
        };
        Step::new(Gate::None, Verb::None, trigger, reason)
    }

    pub(super) fn canceling(&self, task: &TaskReplay<'s>) -> Step<'s> {
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

    pub(super) fn cancel_now(&self, task: &TaskReplay<'s>, reason: &str) -> Step<'s> {
        let kind = task.task.reference.kind;
        let uploader = &task.task.uploader_type;
        let periodic = task
            .profile
            .looks_every_minute(kind, uploader, &task.task.phase)
            || task.profile.looks_every_minute_at_cancel(kind, uploader);
        let trigger = if periodic {
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
