//! What is worth telling: findings, and the verdict.
//!
//! Rules propose; `precedence` is the only place that suppresses. A rule that lacked an input for an
//! unfinished task says so, and a rule that could have been critical then makes the verdict unknown.

use std::collections::BTreeMap;

use crate::replay::Replay;
use crate::snapshot::{Gap, Snapshot};

mod case;
mod finding;
pub(crate) mod near;
pub(crate) mod paste;
mod precedence;
mod rules;
mod traces;
mod verdict;

pub use finding::{Action, Confidence, Evidence, EvidenceKind, Finding, FindingId, Severity};
pub use traces::nodes_that_need_logs;

/// The verdict of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A finding is critical.
    Stuck,
    /// Nothing critical was found, but a rule that can be critical lacked an input.
    Unknown,
    /// A finding is a warning.
    Attention,
    /// None of these.
    Healthy,
}

impl Verdict {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Unknown => "unknown",
            Self::Attention => "attention",
            Self::Healthy => "healthy",
        }
    }
}

/// The verdict of one node, first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeVerdict {
    /// Not decidable.
    Unknown,
    /// No working agent.
    NoAgent,
    /// Prepared-stuck, or every slot broken.
    Stuck,
    /// Slots-leaked, or a broken holder.
    Degraded,
    /// Someone waits.
    Queued,
    /// Someone holds.
    Busy,
    /// Nothing to do.
    Idle,
}

impl NodeVerdict {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::NoAgent => "no-agent",
            Self::Stuck => "stuck",
            Self::Degraded => "degraded",
            Self::Queued => "queued",
            Self::Busy => "busy",
            Self::Idle => "idle",
        }
    }
}

/// The answer of the diagnosis.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The verdict over everything, before any filter.
    pub verdict: Verdict,
    /// Findings by severity, id, node, first task.
    pub findings: Vec<Finding>,
    /// The verdict of each node of the replay.
    pub nodes: BTreeMap<String, NodeVerdict>,
    /// Every gap: of the snapshot, of the replay, of the rules; without duplicates, ordered.
    pub gaps: Vec<Gap>,
    /// Why the verdict is unknown where nothing critical was found, one sentence each.
    pub inconclusive: Vec<String>,
}

/// Diagnoses a replayed snapshot.
#[must_use]
pub fn diagnose(snapshot: &Snapshot, replay: &Replay<'_>) -> Diagnosis {
    let case = case::Case::new(snapshot, replay);
    let mut proposals = case::Proposals::default();
    for check in rules::RULES {
        check(&case, &mut proposals);
    }
    let agents = if replay.nodes.values().any(|node| node.working.is_yes()) {
        precedence::AnyAgent::Works
    } else {
        precedence::AnyAgent::None
    };
    let mut findings =
        precedence::apply(proposals.findings, agents, &replay.prepare_queue.labelled);
    for finding in &mut findings {
        finding
            .actions
            .retain(|action| !action.command.contains(paste::NO_NAME));
    }
    let mut inconclusive = proposals.inconclusive;
    inconclusive.extend(verdict::open_questions(&case));
    inconclusive.sort();
    inconclusive.dedup();
    let mut gaps: Vec<Gap> = snapshot.gaps.iter().chain(&replay.gaps).cloned().collect();
    gaps.extend(proposals.gaps);
    gaps.sort();
    gaps.dedup();
    let mut open: Vec<String> = inconclusive
        .iter()
        .filter(|rule| rule.could_be == case::CouldBe::Critical)
        .map(|rule| rule.why.clone())
        .collect();
    open.dedup();
    Diagnosis {
        verdict: verdict::of_all(&findings, &inconclusive),
        nodes: verdict::of_nodes(&case, &findings),
        findings,
        gaps,
        inconclusive: open,
    }
}
