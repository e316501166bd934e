//! A Prepared task: its mover pod and volume, and the slot.

use jiff::{SignedDuration, Timestamp};

use super::{Look, Step};
use crate::replay::gates::{self, Passage};
use crate::replay::{Doom, Gate, Pool, Situation, TaskReplay, Trigger, Verb};
use crate::snapshot::{Cancel, Pod};
use crate::velero::DEFAULT_RESOURCE_TIMEOUT_SECONDS;
use crate::velero::profile::MissingPod;

fn after(time: Option<Timestamp>, seconds: i64) -> Option<Timestamp> {
    time?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

impl<'s> Look<'_, 's> {
    pub(super) fn prepared(&self, task: &TaskReplay<'s>) -> Step<'s> {
        if matches!(task.situation, Situation::Rewound { .. }) {
            return Step::new(
                Gate::None,
                Verb::None,
                Trigger::None,
                "the node-agent already runs this task: it answers each look with \"Cancellable data path is already started\"",
            );
        }
        if let Some(step) = self.cancel_without_owner(task) {
            return step;
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
                )
                // The look itself takes as long as the agent's --resource-timeout.
                .since(after(task.pod.seen().and_then(Pod::ended_at), DEFAULT_RESOURCE_TIMEOUT_SECONDS));
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
            | Situation::Stalled
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

    pub(super) fn slot_gate(&self, task: &TaskReplay<'s>) -> Step<'s> {
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
                if gates::slot(task.profile.limited_when, held, limit) == Passage::Closed {
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
                        if held < limit {
                            format!("in progress {held} of {limit}: a slot is free")
                        } else {
                            format!("in progress {held} of {limit}: this release refuses only at the limit, not above it")
                        },
                    )
                    .since(since)
                }
            }
        };
        step.holders.clone_from(&pool.holders);
        // Velero keeps no order among those that wait: the next free slot goes to the first timer.
        step.race(task, &pool.waiting);
        step
    }
}
