//! A task that runs or is being cancelled.

use super::{Look, Step};
use crate::replay::{CancelState, Gate, Mover, Situation, TaskReplay, Trigger, Verb};
use crate::snapshot::Cancel;
use crate::velero::profile::CancelHandling;

impl<'s> Look<'_, 's> {
    pub(super) fn in_progress(&self, task: &TaskReplay<'s>) -> Step<'s> {
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
