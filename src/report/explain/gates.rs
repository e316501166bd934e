//! The gates of a task in the order in which Velero asks them, each with how it stands.
//!
//! The order is that of the replay: for a New PodVolumeRestore the target before the prepare queue, for a New
//! DataDownload the queue before its target; then the mover pod, then the slot.

use crate::replay::{Gate, Mover, Replay, TaskReplay, Trigger, Verb};
use crate::snapshot::Observed;
use crate::velero::profile::PrepareQueue as QueueSupport;
use crate::velero::{Phase, TaskKind};

/// What a task has to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateName {
    /// A node-agent that works.
    Agent,
    /// The restore's target pod or PVC.
    Target,
    /// `prepareQueueLength`.
    PrepareQueue,
    /// The mover pod and its volume.
    Expose,
    /// The slot.
    Slot,
}

impl GateName {
    /// Returns the word used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Target => "target",
            Self::PrepareQueue => "prepare-queue",
            Self::Expose => "expose",
            Self::Slot => "slot",
        }
    }
}

/// How a gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// It is passed, or would be by a look now.
    Pass,
    /// It keeps the task.
    Closed,
    /// What was read does not tell.
    Unknown,
    /// The task has not come to it.
    NotReached,
}

impl GateState {
    /// Returns the word used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Closed => "closed",
            Self::Unknown => "unknown",
            Self::NotReached => "not-reached",
        }
    }
}

/// One gate of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRow {
    /// Which.
    pub gate: GateName,
    /// How it stands.
    pub state: GateState,
    /// Why, in one sentence.
    pub reason: String,
}

/// Returns the gates of an unfinished task; empty for one that Velero's agents pass over.
pub(super) fn of(replay: &Replay<'_>, task: &TaskReplay<'_>) -> Vec<GateRow> {
    let decision = &task.decision;
    if decision.gate == Gate::None && decision.verb == Verb::Skip {
        return Vec::new();
    }
    let mut rows = vec![agent(task)];
    let order = order(task);
    let here = named(decision.gate).and_then(|gate| order.iter().position(|other| *other == gate));
    for (index, gate) in order.iter().copied().enumerate() {
        let state = match here {
            Some(here) if index == here => at(decision.verb),
            Some(here) if index < here => GateState::Pass,
            Some(_) | None => state_by_phase(task, gate),
        };
        let reason = if here == Some(index) {
            decision.reason.clone()
        } else {
            reason(replay, task, gate, state)
        };
        rows.push(GateRow {
            gate,
            state,
            reason,
        });
    }
    rows
}

const fn named(gate: Gate) -> Option<GateName> {
    match gate {
        Gate::Target => Some(GateName::Target),
        Gate::PrepareQueue => Some(GateName::PrepareQueue),
        Gate::Expose => Some(GateName::Expose),
        Gate::Slot => Some(GateName::Slot),
        Gate::None => None,
    }
}

fn order(task: &TaskReplay<'_>) -> Vec<GateName> {
    let kind = task.task.reference.kind;
    let mut gates = Vec::new();
    let target_first = kind == TaskKind::PodVolumeRestore;
    if target_first {
        gates.push(GateName::Target);
    }
    if task.profile.prepare_queue == QueueSupport::Present && task.mover == Mover::MoverPod {
        gates.push(GateName::PrepareQueue);
    }
    if kind == TaskKind::DataDownload {
        gates.push(GateName::Target);
    }
    if task.mover != Mover::InProcess {
        gates.push(GateName::Expose);
    }
    gates.push(GateName::Slot);
    gates
}

const fn at(verb: Verb) -> GateState {
    match verb {
        Verb::Admit | Verb::Accept | Verb::Prepare | Verb::None => GateState::Pass,
        Verb::Wait | Verb::Fail | Verb::Cancel | Verb::Skip => GateState::Closed,
        Verb::Unknown => GateState::Unknown,
    }
}

/// Returns how a gate stands at which the look did not end.
fn state_by_phase(task: &TaskReplay<'_>, gate: GateName) -> GateState {
    let passed = match &task.task.phase {
        Phase::New => {
            task.decision.verb == Verb::Accept
                && matches!(gate, GateName::Target | GateName::PrepareQueue)
        }
        Phase::Accepted => matches!(gate, GateName::Target | GateName::PrepareQueue),
        Phase::Prepared => {
            // A rewound task is Prepared only by name.
            gate != GateName::Slot
                || task.task.started.is_some() && task.decision.gate == Gate::None
        }
        Phase::InProgress
        | Phase::Canceling
        | Phase::Canceled
        | Phase::Completed
        | Phase::Failed => true,
        Phase::Other(_) => return GateState::Unknown,
    };
    if passed {
        GateState::Pass
    } else {
        GateState::NotReached
    }
}

fn agent(task: &TaskReplay<'_>) -> GateRow {
    let decision = &task.decision;
    let (state, reason) = match (decision.gate, decision.verb, decision.next_trigger) {
        (Gate::None, Verb::None, Trigger::AgentStart) => {
            (GateState::Closed, decision.reason.clone())
        }
        (Gate::None, Verb::Unknown, _) => (GateState::Unknown, decision.reason.clone()),
        _ => {
            let reason = match &task.node {
                Some(node) => format!("a node-agent looks after it on {node}"),
                None => "any working node-agent may take it".to_owned(),
            };
            (GateState::Pass, reason)
        }
    };
    GateRow {
        gate: GateName::Agent,
        state,
        reason,
    }
}

fn reason(replay: &Replay<'_>, task: &TaskReplay<'_>, gate: GateName, state: GateState) -> String {
    let accepted = || match task.accepted_at {
        Some(at) => format!("passed: accepted at {at}"),
        None => "passed: the task was accepted".to_owned(),
    };
    match state {
        GateState::NotReached => "not asked yet".to_owned(),
        GateState::Unknown | GateState::Closed => task.decision.reason.clone(),
        GateState::Pass => match gate {
            GateName::Agent => String::new(),
            GateName::Target if task.task.phase == Phase::New => "the target is there".to_owned(),
            GateName::Target => accepted(),
            GateName::PrepareQueue => match (&task.task.phase, &replay.prepare_queue.limit) {
                (_, Observed::Absent) => "no prepareQueueLength is set".to_owned(),
                (Phase::New, Observed::Seen(limit)) => format!(
                    "the prepare queue has room ({} of {limit})",
                    replay.prepare_queue.labelled.len()
                ),
                (_, Observed::Seen(_) | Observed::Unknown(_)) => accepted(),
            },
            GateName::Expose => match (&task.task.phase, task.pod) {
                (Phase::Prepared, Observed::Seen(pod)) => format!(
                    "passed: the task became Prepared; its mover pod is {}",
                    pod.phase
                ),
                (Phase::Prepared, Observed::Absent | Observed::Unknown(_)) => {
                    "passed: the task became Prepared".to_owned()
                }
                _ => "passed: the task has started".to_owned(),
            },
            GateName::Slot => match task.task.started {
                Some(at) => format!("taken: started at {at}"),
                None => "taken".to_owned(),
            },
        },
    }
}
