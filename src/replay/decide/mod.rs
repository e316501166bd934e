//! What the agent would decide for one task if it looked now, gate by gate.
//!
//! The order of the gates is Velero's own: for a New PodVolumeRestore the target before the prepare
//! queue, for a New DataDownload the queue before its target; for a Prepared task the expose check
//! (`GetExposed`) before the slot (v1.17.2 pkg/controller/*_controller.go).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::agents::Agents;
use super::node_slots::is_ignored;
use super::{
    Decision, Gate, Mover, NAMED, NodeReplay, PrepareQueue, ReplayOptions, Situation, TaskReplay,
    Trigger, Verb, Working,
};
use crate::snapshot::Snapshot;
use crate::velero::profile::PrepareQueue as QueueSupport;
use crate::velero::{Phase, TaskRef};

mod accepted;
mod new;
mod prepared;
mod running;

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
            | Situation::Stalled
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
