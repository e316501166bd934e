//! The verdict over everything, and that of each node.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Case, CouldBe, Inconclusive};
use super::finding::{Finding, FindingId, Severity};
use super::{NodeVerdict, Verdict};
use crate::replay::{NodeReplay, Situation, Working, is_healthy};
use crate::snapshot::SourceType;

/// Stuck, else unknown, else attention, else healthy.
pub(super) fn of_all(findings: &[Finding], inconclusive: &[Inconclusive]) -> Verdict {
    let any = |severity| findings.iter().any(|finding| finding.severity == severity);
    if any(Severity::Critical) {
        Verdict::Stuck
    } else if inconclusive
        .iter()
        .any(|rule| rule.could_be == CouldBe::Critical)
    {
        Verdict::Unknown
    } else if any(Severity::Warning) {
        Verdict::Attention
    } else {
        Verdict::Healthy
    }
}

/// Finds what leaves the whole answer open, whatever the rules say: kinds that could not be listed,
/// phases that nobody knows, an input without any task.
pub(super) fn open_questions(case: &Case<'_, '_>) -> Vec<Inconclusive> {
    let mut open = Vec::new();
    let critical = |why: String| Inconclusive {
        rule: FindingId::PreparedStuck,
        could_be: CouldBe::Critical,
        why,
    };
    for kind in case.refused_kinds() {
        open.push(critical(format!("{} could not be read", kind.plural())));
    }
    let unknown: Vec<_> = case
        .tasks()
        .filter(|task| task.situation == Situation::UnknownPhase)
        .collect();
    if let Some(first) = unknown.first() {
        open.push(critical(format!(
            "{} of {} is in phase {:.40}, which is not known",
            unknown.len(),
            case.snapshot.tasks.len(),
            first.task.phase.as_str(),
        )));
    }
    // Offline an empty answer is as likely an input that lacks the tasks as a cluster that has none.
    let nothing_read =
        case.snapshot.source.source == SourceType::Files && case.snapshot.tasks.is_empty();
    if nothing_read {
        open.push(critical("the input holds no task of any kind".to_owned()));
    }
    open
}

/// What the verdict of a node looks at, gathered once for all nodes.
struct Marks<'m> {
    /// A task kind could not be listed.
    refused: bool,
    /// Nodes with a task in a phase that nobody knows.
    unknown_phase: BTreeSet<&'m str>,
    /// Nodes with prepared-stuck.
    stuck: BTreeSet<&'m str>,
    /// Nodes with slots-leaked.
    leaked: BTreeSet<&'m str>,
}

/// The verdict of each node, first that applies.
pub(super) fn of_nodes(case: &Case<'_, '_>, findings: &[Finding]) -> BTreeMap<String, NodeVerdict> {
    let with = |id: FindingId| {
        findings
            .iter()
            .filter(move |finding| finding.id == id)
            .filter_map(|finding| finding.node.as_deref())
            .collect()
    };
    let marks = Marks {
        refused: !case.refused_kinds().is_empty(),
        unknown_phase: case
            .tasks()
            .filter(|task| task.situation == Situation::UnknownPhase)
            .filter_map(|task| task.node.as_deref())
            .collect(),
        stuck: with(FindingId::PreparedStuck),
        leaked: with(FindingId::SlotsLeaked),
    };
    case.replay
        .nodes
        .values()
        .map(|node| (node.node.clone(), of_node(case, node, &marks)))
        .collect()
}

fn of_node(case: &Case<'_, '_>, node: &NodeReplay<'_>, marks: &Marks<'_>) -> NodeVerdict {
    let name = node.node.as_str();
    let holders = node.holders();
    let replay_of = |task| case.replay.tasks.get(task);
    let unreadable = holders
        .iter()
        .any(|task| replay_of(task).is_some_and(|task| task.situation == Situation::PodUnreadable));
    if node.working == Working::Unknown
        || marks.refused
        || unreadable
        || marks.unknown_phase.contains(name)
    {
        return NodeVerdict::Unknown;
    }
    if !node.working.is_yes() {
        return NodeVerdict::NoAgent;
    }
    let broken = holders
        .iter()
        .filter(|task| !replay_of(task).is_some_and(is_healthy))
        .count();
    let every_slot_broken = node
        .slots()
        .is_some_and(|slots| broken > 0 && i64::try_from(broken).unwrap_or(i64::MAX) >= slots);
    if marks.stuck.contains(name) || every_slot_broken {
        NodeVerdict::Stuck
    } else if marks.leaked.contains(name) || broken > 0 {
        NodeVerdict::Degraded
    } else if !node.waiting().is_empty() {
        NodeVerdict::Queued
    } else if !holders.is_empty() {
        NodeVerdict::Busy
    } else {
        NodeVerdict::Idle
    }
}
