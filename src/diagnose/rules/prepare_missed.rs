//! Accepted although the mover pod runs: the pod event that would have made it Prepared was lost.
//!
//! Only an Update event of the pod does that (v1.12.4 … main, pod handlers of the controllers); the
//! agent ignores the Create events that it gets for all pods when it starts.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::overtaken::Overtaken;
use super::words;
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Situation, TaskReplay};
use crate::snapshot::{Observed, Pod, ResourceKind};
use crate::velero::{Phase, TaskRef};

/// How long the pod must have run, in seconds: the event comes within a second, its handling within a
/// few, and a write that conflicts is tried again each second.
const MISSED_AFTER_SECONDS: i64 = 60;

struct Missed<'a, 's> {
    task: &'a TaskReplay<'s>,
    pod: &'s Pod,
    since: Timestamp,
}

/// Proposes one finding for each node.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut by_node: BTreeMap<&str, Vec<Missed<'_, '_>>> = BTreeMap::new();
    let mut unread: Vec<TaskRef> = Vec::new();
    let mut overtaken = Overtaken::of(case, FindingId::PrepareMissed, CouldBe::Critical);
    for task in case.tasks() {
        if task.task.phase != Phase::Accepted || task.situation == Situation::Foreign {
            continue;
        }
        let pod = match task.pod {
            Observed::Seen(pod) => pod,
            Observed::Absent => continue,
            Observed::Unknown(reason) => {
                unread.push(task.task.reference.clone());
                words::gap_once(
                    case,
                    out,
                    ResourceKind::Pod.plural(),
                    reason,
                    "it is not known whether the mover pods of Accepted tasks run",
                );
                continue;
            }
        };
        let (Some(node), Some(running)) = (pod.node.as_deref(), pod.running_since()) else {
            continue;
        };
        let since = task.accepted_at.map_or(running, |time| time.max(running));
        if pod.deletion.is_none()
            && case.age(since) > MISSED_AFTER_SECONDS
            && overtaken.still_holds(task)
        {
            by_node
                .entry(node)
                .or_default()
                .push(Missed { task, pod, since });
        }
    }
    if !unread.is_empty() {
        words::undecided(
            out,
            FindingId::PrepareMissed,
            CouldBe::Critical,
            format!(
                "the mover pod of {} could not be read",
                words::tasks(&unread)
            ),
        );
    }
    overtaken.tell(out);
    for (node, missed) in by_node {
        out.findings.push(finding(case, node, &missed));
    }
}

fn finding(case: &Case<'_, '_>, node: &str, missed: &[Missed<'_, '_>]) -> Finding {
    let tasks: Vec<TaskRef> = missed
        .iter()
        .map(|one| one.task.task.reference.clone())
        .collect();
    let since = missed.iter().map(|one| one.since).min();
    let works = case.node(node).is_some_and(|node| node.working.is_yes());
    let several = missed.len();
    let mut finding = Finding::new(
        FindingId::PrepareMissed,
        Severity::Critical,
        case.cap(if works {
            Confidence::Certain
        } else {
            Confidence::Likely
        }),
        format!(
            "{} on node {node} {} still Accepted although the mover {} for {}: the node-agent missed the event, and touching the {} mends it.",
            words::tasks(&tasks),
            words::verb(several, "is", "are"),
            words::verb(several, "pod has run", "pods have run"),
            words::span(since.map_or(0, |since| case.age(since))),
            words::verb(several, "pod", "pods"),
        ),
    );
    finding.node = Some(node.to_owned());
    finding.since = since;
    finding.deadline = case.earliest_deadline(&tasks);
    finding.evidence = evidence(case, node, missed);
    finding.actions = vec![
        Action {
            risk: "none: an annotation on the mover pod changes nothing else".to_owned(),
            ..words::nudge(
                &tasks,
                &format!(
                    "raises the Update event that was lost, on the mover {}; the {} Prepared within seconds",
                    words::verb(several, "pod", "pods"),
                    words::verb(several, "task becomes", "tasks become")
                ),
            )
        },
        Action {
            command: "kubectl velero-slots diagnose {ns}".to_owned(),
            effect: "shows whether it helped".to_owned(),
            risk: "none".to_owned(),
        },
    ];
    finding.references = vec!["velero-io/velero#9453", "velero-io/velero#8952"];
    finding.tasks = tasks;
    finding
}

fn evidence(case: &Case<'_, '_>, node: &str, missed: &[Missed<'_, '_>]) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    for one in missed.iter().take(words::EVIDENCE_SHOWN) {
        evidence.push(words::task_field(
            one.task.task,
            ".status.phase",
            one.task.task.phase.as_str(),
        ));
        evidence.push(words::pod_field(one.pod, ".status.phase", &one.pod.phase));
        evidence.push(Evidence::derived(
            format!("{} runs since", words::pod_ref(one.pod)),
            one.since.to_string(),
        ));
    }
    if let Some(agent) = case.node(node).and_then(|node| node.agent) {
        evidence.push(words::agent_start(agent));
        if let Some(log) = &agent.evidence {
            evidence.extend(
                missed
                    .iter()
                    .filter_map(|one| log.halted_prepares.get(&one.task.task.reference.name))
                    .take(words::EVIDENCE_SHOWN)
                    .map(|note| words::log_line(agent, note)),
            );
            // An agent whose watch fails misses events.
            let since = missed.iter().map(|one| one.since).min();
            evidence.extend(
                log.watch_errors
                    .as_ref()
                    .filter(|(_, note)| note.at >= since)
                    .map(|(_, note)| words::log_line(agent, note)),
            );
        }
    }
    evidence
}

#[cfg(test)]
mod tests;
