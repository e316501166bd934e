//! New although agents work, the target exists and no prepare queue is in force: nobody accepts.
//!
//! One finding for each kind, and for pod volumes each node, since only that node's agent may accept.

use std::collections::BTreeMap;

use super::accepts::{self, Ignored};
use super::overtaken::Overtaken;
use super::words;
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{TaskReplay, Verb};
use crate::snapshot::NodeAgent;
use crate::velero::{ObjectRef, TaskKind, TaskRef};

/// Proposes one finding for each kind and node.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    undecided_tasks(case, out);
    let mut groups: BTreeMap<(TaskKind, Option<String>), Vec<Ignored<'_, '_>>> = BTreeMap::new();
    // Where a prepare queue is in force, `prepare-queue-full` and `prepare-queue-stale` speak.
    let free = accepts::ignored(case).into_iter().filter(|ignored| {
        case.replay
            .prepare_queue
            .limit_for(ignored.task)
            .is_absent()
    });
    let mut overtaken = Overtaken::of(case, FindingId::AcceptBlocked, CouldBe::Warning);
    for ignored in free {
        if !overtaken.still_holds(ignored.task) {
            continue;
        }
        groups
            .entry((ignored.task.task.reference.kind, ignored.node.clone()))
            .or_default()
            .push(ignored);
    }
    overtaken.tell(out);
    for ((kind, node), group) in groups {
        out.findings.push(finding(case, kind, node, &group));
    }
}

fn undecided_tasks(case: &Case<'_, '_>, out: &mut Proposals) {
    let undecided: Vec<TaskRef> = case
        .tasks()
        .filter(|task| accepts::is_new_with_a_mover(task))
        .filter(|task| task.decision.verb == Verb::Unknown)
        .filter(|task| case.replay.prepare_queue.limit_for(task).is_absent())
        .filter(|task| case.older_than(task.task.created, case.threshold()))
        .map(|task| task.task.reference.clone())
        .collect();
    if !undecided.is_empty() {
        words::undecided(
            out,
            FindingId::AcceptBlocked,
            CouldBe::Warning,
            format!(
                "whether {} should be accepted could not be decided",
                words::tasks(&undecided)
            ),
        );
    }
}

/// The busy task that explains a whole group, if each of its tasks has one.
pub(in crate::diagnose) fn worker_busy_with<'a>(group: &[Ignored<'a, '_>]) -> Option<&'a TaskRef> {
    let first = group.first()?.busy_with?;
    group
        .iter()
        .all(|ignored| ignored.busy_with.is_some())
        .then_some(first)
}

/// Evidence that holds for each group: the oldest tasks, what the replay decides, and when.
pub(in crate::diagnose) fn evidence(group: &[Ignored<'_, '_>]) -> Vec<Evidence> {
    group
        .iter()
        .take(words::EVIDENCE_SHOWN)
        .flat_map(|ignored| {
            let task: &TaskReplay<'_> = ignored.task;
            [
                words::task_field(task.task, ".status.phase", task.task.phase.as_str()),
                Evidence::derived(
                    format!("decision for {}", task.task.reference),
                    format!(
                        "{}: {}; nothing has held it back since {}",
                        task.decision.verb.as_str(),
                        task.decision.reason,
                        ignored.since
                    ),
                ),
            ]
        })
        .collect()
}

/// The agents that may accept the group.
pub(in crate::diagnose) fn agents<'s>(
    case: &Case<'_, 's>,
    node: Option<&str>,
) -> Vec<&'s NodeAgent> {
    case.replay
        .nodes
        .values()
        .filter(|replay| replay.working.is_yes())
        .filter(|replay| node.is_none_or(|node| replay.node == node))
        .filter_map(|replay| replay.agent)
        .collect()
}

fn finding(
    case: &Case<'_, '_>,
    kind: TaskKind,
    node: Option<String>,
    group: &[Ignored<'_, '_>],
) -> Finding {
    let tasks: Vec<TaskRef> = group
        .iter()
        .map(|ignored| ignored.task.task.reference.clone())
        .collect();
    let since = group.iter().map(|ignored| ignored.since).min();
    let waited = words::span(since.map_or(0, |since| case.age(since)));
    let busy = worker_busy_with(group);
    let agents = agents(case, node.as_deref());
    let whose = node.as_ref().map_or_else(
        || "none of the working node-agents".to_owned(),
        |node| format!("the node-agent of node {node} has not"),
    );
    let accepted = if node.is_some() {
        format!("{whose} accepted")
    } else {
        format!("{whose} has accepted")
    };
    let why = busy.map_or_else(
        || "the cause is not known: a blocked worker is likely".to_owned(),
        |busy| format!("its worker still exposes {}", busy.name),
    );
    let mut finding = Finding::new(
        FindingId::AcceptBlocked,
        Severity::Warning,
        case.cap(if busy.is_some() {
            Confidence::Likely
        } else {
            Confidence::Possible
        }),
        format!(
            "{} {} New for {waited} and {accepted} {} although nothing holds {} back; {why}.",
            words::tasks(&tasks),
            words::verb(tasks.len(), "has been", "have been"),
            words::verb(tasks.len(), "it", "them"),
            words::verb(tasks.len(), "it", "them"),
        ),
    );
    finding.cause = Some(if busy.is_some() {
        "worker-blocked"
    } else {
        "undetermined"
    });
    finding.node = node;
    finding.blocked_by = busy.map(ObjectRef::from).into_iter().collect();
    finding.since = since;
    finding.deadline = case.earliest_deadline(&tasks);
    finding.evidence = evidence(group);
    finding.evidence.extend(
        agents
            .iter()
            .take(words::EVIDENCE_SHOWN)
            .map(|agent| words::agent_start(agent)),
    );
    if let Some(busy) = busy {
        finding.evidence.push(Evidence::derived(
            format!("worker for {kind}"),
            format!("one in each node-agent, and {busy} is Accepted without a pod"),
        ));
    }
    finding.actions = busy.map(words::show_task).into_iter().collect();
    finding.actions.push(crate::diagnose::finding::Action {
        command: agents.first().map_or_else(
            || "kubectl get pod {ns} -l component=velero".to_owned(),
            |agent| {
                format!(
                    "kubectl logs {{ns}} {} -c {} --since=15m",
                    words::quoted(&agent.pod.key.name),
                    words::quoted(&agent.container)
                )
            },
        ),
        effect: "shows what the node-agent does instead".to_owned(),
        risk: "none".to_owned(),
    });
    if busy.is_none() {
        finding.actions.extend(words::restart(
            case,
            &agents.iter().copied().take(1).collect::<Vec<_>>(),
            "gives the node-agent a new worker; any working node-agent may accept a DataUpload or DataDownload",
        ));
    }
    finding.tasks = tasks;
    finding
}

#[cfg(test)]
mod tests;
