//! The contract's table of precedence: the only place that suppresses.
//!
//! Which of rows 3 to 8 a single task falls under is decided once, by the replay (its situation), so
//! that rules cannot contradict each other. What is left is which finding makes which other one
//! superfluous, and that is this table.

use std::collections::BTreeSet;

use super::finding::{Finding, FindingId, Severity};
use crate::velero::TaskRef;

/// Whether some agent of the namespace works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnyAgent {
    /// At least one does.
    Works,
    /// None does: rows 1a and 1b.
    None,
}

/// Rows 3 to 7.
const BROKEN_TASKS: [FindingId; 4] = [
    FindingId::PhaseRewound,
    FindingId::CompletionStuck,
    FindingId::MoverPodLost,
    FindingId::CancelStuck,
];

/// Rows N1 to N6.
const NODE_ROWS: [FindingId; 3] = [
    FindingId::SlotQueue,
    FindingId::PreparedStuck,
    FindingId::SlotsLeaked,
];

/// Returns whether a finding suppresses another one for the tasks that it is about.
fn suppresses(by: FindingId, other: FindingId, agents: AnyAgent) -> bool {
    match by {
        FindingId::ForeignDataMover => other != FindingId::ForeignDataMover,
        FindingId::AgentCrashloop if agents == AnyAgent::Works => other == FindingId::OwnerGone,
        FindingId::AgentCrashloop => other == FindingId::NoNodeAgent || without_agents(other),
        FindingId::NoNodeAgent => without_agents(other),
        FindingId::OwnerGone => {
            BROKEN_TASKS.contains(&other)
                || NODE_ROWS.contains(&other)
                || matches!(other, FindingId::PrepareMissed | FindingId::TransferStalled)
        }
        FindingId::PhaseRewound => {
            matches!(other, FindingId::PreparedDoomed | FindingId::CancelStuck)
        }
        FindingId::CompletionStuck | FindingId::MoverPodLost => {
            matches!(other, FindingId::CancelStuck | FindingId::TransferStalled)
        }
        FindingId::CancelStuck => other == FindingId::TransferStalled,
        FindingId::SlotQueue
        | FindingId::PreparedStuck
        | FindingId::SlotsLeaked
        | FindingId::PreparedDoomed
        | FindingId::ExposeBlocked
        | FindingId::PrepareMissed
        | FindingId::ExposeLost
        | FindingId::AcceptBlocked
        | FindingId::PrepareQueueFull
        | FindingId::PrepareQueueStale
        | FindingId::RestoreTargetMissing
        | FindingId::RestoreTargetNotReady
        | FindingId::AgentRestarted
        | FindingId::ConfigDrift
        | FindingId::ConfigIgnored
        | FindingId::AgentLabelMissing
        | FindingId::VersionSkew
        | FindingId::RecentFailures
        | FindingId::OrphanedTasks
        | FindingId::DeadlineAtRisk
        | FindingId::TransferStalled
        | FindingId::BackupWaitsFinishedTasks
        | FindingId::KnownBug => false,
    }
}

/// Rows 1a and 1b: without any agent nothing below can be told from the missing agent.
fn without_agents(other: FindingId) -> bool {
    other == FindingId::OwnerGone
        || BROKEN_TASKS.contains(&other)
        || NODE_ROWS.contains(&other)
        || matches!(
            other,
            FindingId::PrepareQueueFull
                | FindingId::PrepareQueueStale
                | FindingId::PrepareMissed
                | FindingId::TransferStalled
        )
}

/// Applies the table and puts the findings into the order of the contract.
pub(super) fn apply(
    proposed: Vec<Finding>,
    agents: AnyAgent,
    labelled: &[TaskRef],
) -> Vec<Finding> {
    let claims: Vec<(FindingId, BTreeSet<TaskRef>)> = proposed
        .iter()
        .map(|finding| (finding.id, finding.tasks.iter().cloned().collect()))
        .collect();
    let mut kept: Vec<Finding> = proposed
        .into_iter()
        .filter_map(|mut finding| {
            if finding.tasks.is_empty() {
                // A finding about no task is about agents or configuration; only no-node-agent yields then.
                let yields = finding.id == FindingId::NoNodeAgent
                    && claims
                        .iter()
                        .any(|(by, _)| suppresses(*by, finding.id, agents));
                return (!yields).then_some(finding);
            }
            for (by, claimed) in &claims {
                if suppresses(*by, finding.id, agents) {
                    finding.tasks.retain(|task| !claimed.contains(task));
                }
            }
            (!finding.tasks.is_empty()).then_some(finding)
        })
        .collect();
    quiet_named_queue(&mut kept, labelled);
    sort(&mut kept);
    kept
}

/// `prepare-queue-full` stays info while a critical finding already names what fills the queue.
fn quiet_named_queue(findings: &mut [Finding], labelled: &[TaskRef]) {
    let named = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Critical)
        .any(|finding| {
            finding
                .tasks
                .iter()
                .chain(&finding.affects)
                .any(|task| labelled.binary_search(task).is_ok())
        });
    if !named {
        return;
    }
    for finding in findings
        .iter_mut()
        .filter(|finding| finding.id == FindingId::PrepareQueueFull)
    {
        finding.severity = Severity::Info;
    }
}

/// By severity, id, node, first task, cause; the lists inside by name. The order is part of the contract.
fn sort(findings: &mut [Finding]) {
    for finding in findings.iter_mut() {
        finding.tasks.sort();
        finding.tasks.dedup();
        finding.affects.sort();
        finding.affects.dedup();
        finding.blocked_by.sort();
        finding.blocked_by.dedup();
    }
    findings.sort_by(|a, b| {
        (
            a.severity,
            a.id.as_str(),
            &a.node,
            a.tasks.first(),
            a.cause,
            &a.summary,
        )
            .cmp(&(
                b.severity,
                b.id.as_str(),
                &b.node,
                b.tasks.first(),
                b.cause,
                &b.summary,
            ))
    });
}
