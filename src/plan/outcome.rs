//! What the observations after an action mean.

use jiff::Timestamp;

use super::model::PlanAction;
use super::observe::{Ending, StepSeen};
use crate::velero::{Phase, TaskRef};

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The action.
    pub action: PlanAction,
    /// Whether what it was for happened.
    pub achieved: Achieved,
    /// One sentence.
    pub summary: String,
    /// When the last observation was made; `None` if there is none.
    pub last_seen: Option<Timestamp>,
    /// Why the watching ended.
    pub ending: Ending,
    /// What came of each step.
    pub steps: Vec<StepSeen>,
    /// What came of each node, in the order of the plan.
    pub nodes: Vec<NodeOutcome>,
    /// What came of each task of the plan, ordered.
    pub tasks: Vec<TaskOutcome>,
    /// What else the user should know, one sentence each.
    pub warnings: Vec<String>,
    /// What to type next.
    pub next: Vec<NextCommand>,
}

/// Whether what an action was for happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Achieved {
    /// It did: exit code 0.
    Yes,
    /// It did not, within the time: exit code 5.
    No,
    /// Nothing was changed: no step was made. Exit code 4, or 0 for a dry run.
    NothingChanged,
}

impl Achieved {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "achieved",
            Self::No => "not-achieved",
            Self::NothingChanged => "nothing-changed",
        }
    }
}

/// What came of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOutcome {
    /// The node.
    pub node: String,
    /// What came of it.
    pub result: NodeResult,
    /// Each stage that was reached, with its time.
    pub stages: Vec<StageSeen>,
    /// What holds it up, in Kubernetes' or Velero's words.
    pub trouble: Option<String>,
    /// Why what came after the last stage is not known, where it could not be looked at: nothing may be
    /// concluded from not having seen it then.
    pub unseen: Option<String>,
}

/// A stage of a restart, and when it was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageSeen {
    /// The stage.
    pub stage: RestartStage,
    /// When.
    pub at: Timestamp,
    /// What shows it, one short text.
    pub by: String,
}

/// What came of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeResult {
    /// Everything that was expected of it happened.
    Recovered,
    /// It came as far as this stage.
    NotRecovered(RestartStage),
    /// It was not tried, because one before it did not recover.
    NotTried,
}

impl NodeResult {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::NotRecovered(_) => "not-recovered",
            Self::NotTried => "not-tried",
        }
    }
}

/// The stages of a restart, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestartStage {
    /// Nothing was done.
    Planned,
    /// The delete was accepted.
    Deleted,
    /// The old pod is gone.
    Gone,
    /// A pod with another UID is there.
    Replaced,
    /// It works: Running and ready.
    Ready,
    /// Its agent has logged its start; where no log can be read, its process start tells.
    Started,
    /// The tasks that ran are taken up again.
    Resumed,
    /// The stuck tasks move.
    Moving,
}

impl RestartStage {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Deleted => "deleted",
            Self::Gone => "gone",
            Self::Replaced => "replaced",
            Self::Ready => "ready",
            Self::Started => "started",
            Self::Resumed => "resumed",
            Self::Moving => "moving",
        }
    }
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOutcome {
    /// The task.
    pub task: TaskRef,
    /// Its node.
    pub node: Option<String>,
    /// Its phase before.
    pub before: Phase,
    /// Its phase as it was last seen.
    pub after: Option<Phase>,
    /// When it was last seen.
    pub at: Option<Timestamp>,
    /// What that means.
    pub result: TaskResult,
    /// What shows it: a log line, a message.
    pub evidence: Option<String>,
}

impl TaskOutcome {
    /// Returns whether the task is being cancelled and has not ended.
    #[must_use]
    pub fn is_canceling(&self) -> bool {
        self.after == Some(Phase::Canceling)
    }
}

/// What came of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskResult {
    /// It moved on.
    Moved,
    /// It was looked at and refused a slot although one is free by status: a ghost slot.
    RefusedSlot,
    /// It was looked at and waits behind tasks that hold every slot.
    Queued,
    /// It was looked at, and stayed as it is for another reason.
    LookedAt,
    /// It was not looked at: the worker is blocked or the agent is dead.
    NotLookedAt,
    /// It ended, badly: Failed or Canceled.
    Ended,
    /// It is as it was, which is all that was expected of it.
    Unchanged,
    /// It is gone.
    Gone,
    /// That is not known.
    Unknown,
}

impl TaskResult {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::RefusedSlot => "refused-slot",
            Self::Queued => "queued",
            Self::LookedAt => "looked-at",
            Self::NotLookedAt => "not-looked-at",
            Self::Ended => "ended",
            Self::Unchanged => "unchanged",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }
}

/// A command to type next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCommand {
    /// The command, with `{ns}` as in a finding's action.
    pub command: String,
    /// What it does, or why it is next.
    pub effect: String,
}
