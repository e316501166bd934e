//! The answer as data, in the order in which it is shown.
//!
//! Everything that is a decision about what is shown is made here: filters, sort order, the verdict of
//! what is shown, the commands pinned to a cluster and namespace. [`crate::render`] only finds words and
//! places for it.

pub mod action;
mod diagnosis;
mod explain;
mod filters;
mod head;
mod pins;
mod replay;
mod rights;
mod runbooks;
mod simulation;
mod status;
mod version;

pub use action::{OutcomeReport, PlanReport};
pub use diagnosis::{DiagnosisReport, FailOn, FindingRow, Severities};
pub use explain::{
    Concern, ExplanationReport, GateName, GateRow, GateState, Holder, LoggedSlot, NodeSlots,
    NotFound, Role, Standing, StoryLine, StorySource, Subject, TaskExplanation, TaskLine,
};
pub use filters::{Filters, is_idle};
pub use head::{Head, NothingRead, SlotLimits, UnreadTasks};
pub use pins::Pins;

pub use replay::{COMPETING_LISTED, Competing, DecisionRow, ReplayReport};
pub use rights::{AuthReport, Need, RIGHTS, Right, RightRow, RightScope, RoleKind, role_yaml};
pub use runbooks::{Runbook, near_ids, runbook};
pub use simulation::{SimulationReport, troubles};
pub use status::{
    AgentRow, LimitRow, NodeRow, PrepareQueueRow, SlotsRow, StatusReport, TaskCount, TaskCounts,
    TaskRow, Unassigned, VeleroSeen,
};
pub use version::VersionReport;

pub use crate::diagnose::{
    Action, Confidence, Evidence, EvidenceKind, FindingId, NodeVerdict, Severity, Verdict,
};
pub use crate::replay::{Deadline, DeadlineWhat, Gate, LimitSource, Trigger, Verb};
pub use crate::simulate::{
    Assumption, Design, Ending, Eta, NodeOutcome, Outcome, Range, Simulation, TaskOutcome,
};
pub use crate::snapshot::{Gap, GapReason, NowFrom, Progress, SourceType};
