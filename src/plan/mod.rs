//! What `nudge` and `restart` would do, decided without doing it.
//!
//! A planner takes what was read and what was concluded, and returns a [`Plan`]: the objects that would be
//! written, what that does to each task under the rules of the release that acts, what should happen
//! afterwards, and why it may be refused. Nothing here writes anything; carrying a plan out is the work of
//! another layer, which reports what it saw as [`Observations`], and [`judge`] says what that means.
//!
//! A plan names every object that may be written, with the UID and resource version that it was read with.
//! Whatever changed in between is left alone, and what a plan does not name is never touched.

mod common;
mod judge;
mod model;
mod nudge;
mod observe;
mod outcome;
mod restart;
mod select;
mod step;
mod trail;

pub use judge::judge;
pub use model::{
    AgentBill, Concern, ConfirmBy, Confirmation, Earlier, Effect, Expectation, Expected, FollowUp,
    Instead, LeftOut, NeededRight, NodePlan, Override, Plan, PlanAction, Probe, Refusal,
    RefusalCode, RightNeed, SaveLog, TaskEffect, Verdict,
};
pub use nudge::plan_nudge;
pub use observe::{
    AgentSeen, Ending, LogMarks, Look, NodeSeen, Observation, Observations, Reached, Since,
    StepResult, StepSeen, TaskSeen, TaskState, Unread, Works, observe,
};
pub use outcome::{
    Achieved, NextCommand, NodeOutcome, NodeResult, Outcome, RestartStage, StageSeen, TaskOutcome,
    TaskResult,
};
pub use restart::{follow_up, follow_up_open, plan_restart};
pub use select::{NotSelected, NudgeTargets, RestartTargets, Sure};
pub use step::{Precondition, Step, StepKind};
pub use trail::{EVENT_NUDGE, EVENT_RESTART, Trail, trail};

use crate::diagnose::Diagnosis;
use crate::replay::Replay;
use crate::snapshot::Snapshot;

/// Everything a planner may know.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a, 's> {
    /// What was seen.
    pub snapshot: &'s Snapshot,
    /// What the replay makes of it.
    pub replay: &'a Replay<'s>,
    /// What is wrong.
    pub diagnosis: &'a Diagnosis,
}

/// What the user asked for, besides the targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// `--force`.
    pub force: Force,
    /// `--no-follow-up`.
    pub follow_up: FollowUps,
    /// `--reason`, as it is written into the trail.
    pub reason: Option<String>,
    /// Whether the plan is to be carried out.
    pub intent: Intent,
}

/// Whether a plan is to be carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Intent {
    /// It is, or its writes are to be sent as a dry run: that takes a cluster.
    #[default]
    CarryOut,
    /// It is shown, and nothing else (`--dry-run=client`).
    Show,
}

/// Whether `--force` was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// It was not: every refusal holds.
    #[default]
    No,
    /// It was: refusals that may be overridden are.
    Yes,
}

/// Whether tasks that a restart leaves unobserved are nudged by their pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FollowUps {
    /// They are.
    #[default]
    Nudge,
    /// They are named only (`--no-follow-up`).
    NameOnly,
}

#[cfg(test)]
mod tests;
