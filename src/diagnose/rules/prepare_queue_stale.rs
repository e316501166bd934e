//! A prepare queue is in force and has room, and New tasks wait all the same.
//!
//! Each agent counts the queue for itself and repeats the count only after certain phase changes
//! (v1.17.0 `pkg/exposer/vgdp_counter.go`), so a count can be too high for as long as nothing changes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::accepts::{self, Ignored};
use super::overtaken::Overtaken;
use super::{accept_blocked, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, EvidenceKind, Finding, FindingId, Severity};
use crate::replay::Verb;
use crate::snapshot::{NodeAgent, Observed, Task};
use crate::velero::{ObjectRef, Phase, TaskKind, TaskRef};

/// The line in which an agent says what it counted: `Query queue length for du 3`.
const COUNT_MARKER: &str = "Query queue length for ";

/// Proposes one finding for each kind, and for pod volumes each node.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let limit = match case.replay.prepare_queue.limit {
        Observed::Seen(limit) => limit,
        Observed::Absent => return,
        Observed::Unknown(_) => {
            undecided(case, out);
            return;
        }
    };
    let full_until = full_until(case, limit);
    let mut groups: BTreeMap<(TaskKind, Option<String>), Vec<Ignored<'_, '_>>> = BTreeMap::new();
    let queued = accepts::ignored(case).into_iter().filter(|ignored| {
        !case
            .replay
            .prepare_queue
            .limit_for(ignored.task)
            .is_absent()
    });
    let mut overtaken = Overtaken::of(case, FindingId::PrepareQueueStale, CouldBe::Critical);
    for mut ignored in queued {
        ignored.since = full_until.map_or(ignored.since, |time| ignored.since.max(time));
        if case.age(ignored.since) >= case.threshold() && overtaken.still_holds(ignored.task) {
            groups
                .entry((ignored.task.task.reference.kind, ignored.node.clone()))
                .or_default()
                .push(ignored);
        }
    }
    overtaken.tell(out);
    for ((_, node), group) in groups {
        out.findings.push(finding(case, limit, node, &group));
    }
}

fn undecided(case: &Case<'_, '_>, out: &mut Proposals) {
    let waiting: Vec<TaskRef> = case
        .tasks()
        .filter(|task| accepts::is_new_with_a_mover(task))
        .filter(|task| matches!(task.decision.verb, Verb::Unknown | Verb::Accept))
        .filter(|task| case.older_than(task.task.created, case.threshold()))
        .map(|task| task.task.reference.clone())
        .collect();
    if !waiting.is_empty() {
        words::undecided(
            out,
            FindingId::PrepareQueueStale,
            CouldBe::Critical,
            format!(
                "whether a prepare queue holds {} is not known",
                words::tasks(&waiting)
            ),
        );
    }
}

/// The last instant at which the tasks that can be seen filled the queue: a task counts from its accept
/// until it runs or ends.
fn full_until(case: &Case<'_, '_>, limit: i64) -> Option<Timestamp> {
    let mut changes: Vec<(Timestamp, i64)> = Vec::new();
    for task in case.snapshot.tasks.values() {
        let (Some(from), Some(to)) = (task.accepted, left_queue(case, task)) else {
            continue;
        };
        changes.push((from, 1));
        changes.push((to.max(from), -1));
    }
    // Entries before leavings of the same second: it may have been full then.
    changes.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut length = 0_i64;
    let mut full = None;
    for (time, change) in changes {
        if length >= limit {
            full = Some(time);
        }
        length = length.saturating_add(change);
    }
    full
}

/// When a task left the queue: its start or end; for one that still has the label, now.
fn left_queue(case: &Case<'_, '_>, task: &Task) -> Option<Timestamp> {
    match task.phase {
        Phase::New => None,
        Phase::Accepted | Phase::Prepared => Some(case.now()),
        Phase::InProgress | Phase::Canceling | Phase::Other(_) => task.started,
        Phase::Canceled | Phase::Completed | Phase::Failed => task
            .started
            .or(task.completed)
            // The prepare timeout writes no time (v1.17.2 data_upload_controller.go).
            .or(task.writes.node_agent),
    }
}

/// The queue as an agent last counted it, by its log: the sum over the kinds that it names.
fn counted(case: &Case<'_, '_>, agent: &NodeAgent) -> Option<i64> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    let logs = case.snapshot.logs.iter().filter(|log| {
        log.pod == agent.pod.key.name
            && log.namespace == agent.pod.key.namespace
            && log.container == agent.container
            && log.previous == crate::snapshot::Previous::No
    });
    for line in logs.flat_map(|log| log.body.lines()) {
        let Some((_, rest)) = line.split_once(COUNT_MARKER) else {
            continue;
        };
        let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric());
        let (Some(kind), Some(count)) = (words.next(), words.next()) else {
            continue;
        };
        if let Ok(count) = count.parse() {
            counts.insert(kind.to_owned(), count);
        }
    }
    counts.values().copied().reduce(i64::saturating_add)
}

fn finding(
    case: &Case<'_, '_>,
    limit: i64,
    node: Option<String>,
    group: &[Ignored<'_, '_>],
) -> Finding {
    let tasks: Vec<TaskRef> = group
        .iter()
        .map(|ignored| ignored.task.task.reference.clone())
        .collect();
    let since = group.iter().map(|ignored| ignored.since).min();
    let labelled = case.replay.prepare_queue.labelled.len();
    let busy = accept_blocked::worker_busy_with(group);
    let agents = accept_blocked::agents(case, node.as_deref());
    let stale: Vec<(&NodeAgent, i64)> = agents
        .iter()
        .filter_map(|agent| Some((*agent, counted(case, agent)?)))
        .filter(|(_, count)| *count >= limit)
        .collect();
    let (cause, confidence) = if !stale.is_empty() {
        ("stale-count", Confidence::Likely)
    } else if busy.is_some() {
        ("undetermined", Confidence::Possible)
    } else {
        ("stale-count", Confidence::Possible)
    };
    let why = if cause == "stale-count" {
        "a node-agent counts tasks that are gone".to_owned()
    } else {
        busy.map_or_else(
            || "the cause is not known".to_owned(),
            |busy| {
                format!(
                    "the count may be stale, or the worker is busy with {}",
                    busy.name
                )
            },
        )
    };
    let mut finding = Finding::new(
        FindingId::PrepareQueueStale,
        Severity::Critical,
        case.cap(confidence),
        format!(
            "{} {} waited in New for {} although the prepare queue has room ({labelled} of {limit}); {why}.",
            words::tasks(&tasks),
            words::verb(tasks.len(), "has", "have"),
            words::span(since.map_or(0, |since| case.age(since))),
        ),
    );
    finding.cause = Some(cause);
    finding.node = node;
    finding.blocked_by = stale
        .iter()
        .map(|(agent, _)| words::pod_ref(&agent.pod))
        .chain(busy.map(ObjectRef::from))
        .collect();
    finding.blocked_by.sort();
    finding.since = since;
    finding.deadline = case.earliest_deadline(&tasks);
    finding.evidence = vec![
        Evidence::field(
            "loadConcurrency.prepareQueueLength in force".to_owned(),
            limit.to_string(),
        ),
        Evidence::field(
            format!(
                "tasks with the label {}=true",
                crate::velero::EXPOSE_ON_GOING_LABEL
            ),
            labelled.to_string(),
        ),
    ];
    for (agent, count) in &stale {
        finding.evidence.push(Evidence {
            kind: EvidenceKind::Log,
            source: format!("{} last counts of the queue", words::pod_ref(&agent.pod)),
            value: format!("{count} in all"),
        });
    }
    finding.evidence.extend(accept_blocked::evidence(group));
    let restarted: Vec<&NodeAgent> = if stale.is_empty() {
        agents.iter().copied().take(1).collect()
    } else {
        stale.iter().map(|(agent, _)| *agent).take(1).collect()
    };
    finding.actions = words::restart(
        case,
        &restarted,
        "makes this node-agent count the queue anew; any working node-agent may accept a DataUpload or DataDownload",
    )
    .into_iter()
    .collect();
    finding.references = vec!["velero-io/velero#9064"];
    finding.tasks = tasks;
    finding
}

#[cfg(test)]
mod tests;
