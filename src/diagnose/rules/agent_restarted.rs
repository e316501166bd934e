//! A node-agent restarted in the last 24 hours and a task was harmed by it: ended by the agent that
//! started, or left InProgress and not resumed.
//!
//! One finding for each node and cause of the restart. A restart that harmed nobody is none.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{ends, words};
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::Situation;
use crate::snapshot::log_evidence::{LogStart, Overflow};
use crate::snapshot::{ContainerEnd, ManagedFields, NodeAgent, Task};
use crate::velero::profile::OnRestart;
use crate::velero::{Phase, TaskRef};

/// How long after its start an agent ends the tasks that it finds, in seconds: caches are filled first.
const START_SECONDS: i64 = 180;

/// How long progress must stand still since the restart for a running task to count as not resumed, in
/// seconds: as for `transfer-stalled`.
const NOT_RESUMED_SECONDS: i64 = 15 * 60;

/// How shortly after its Node became Ready an agent must have started to have restarted with it, in seconds.
const NODE_START_SECONDS: i64 = 300;

/// What an agent says whose caches were not ready (v1.17.2 pkg/cmd/cli/nodeagent/server.go).
const NO_RESUME: &str = "Failed to wait cache for resume";

struct Harmed<'s> {
    task: &'s Task,
    agent: Option<&'s NodeAgent>,
    evidence: Evidence,
    confidence: Confidence,
    at: Option<Timestamp>,
}

/// Proposes one finding for each node and cause.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut groups: BTreeMap<(Option<String>, &'static str), Vec<Harmed<'_>>> = BTreeMap::new();
    for harmed in ended(case).into_iter().chain(not_resumed(case)) {
        let node = harmed
            .agent
            .and_then(NodeAgent::node)
            .map(str::to_owned)
            .or_else(|| own_node(harmed.task));
        let cause = cause(case, node.as_deref(), harmed.agent);
        groups.entry((node, cause)).or_default().push(harmed);
    }
    for ((node, cause), harmed) in groups {
        out.findings.push(finding(case, node, cause, &harmed));
    }
}

fn own_node(task: &Task) -> Option<String> {
    task.status_node
        .clone()
        .or_else(|| task.spec_node.clone())
        .or_else(|| task.accepted_by.clone())
}

/// Tasks whose message says that a starting node-agent ended them.
fn ended<'s>(case: &Case<'_, 's>) -> Vec<Harmed<'s>> {
    case.snapshot
        .tasks
        .values()
        .filter(|task| ends::is_agent_start(task))
        .filter_map(|task| {
            let at = ends::ended_at(task)?;
            let agent = starter(case, task, at);
            let started = agent.and_then(|agent| agent.started_at);
            let recent = case.age(at) < ends::RECENT_SECONDS
                && started.is_none_or(|start| case.age(start) < ends::RECENT_SECONDS);
            (recent && is_restart(case, task, agent)).then(|| Harmed {
                task,
                agent,
                evidence: words::task_field(task, ".status.message", &task.message),
                confidence: Confidence::Certain,
                at: Some(at),
            })
        })
        .collect()
}

/// The agent that started just before the task ended: the task's own if it fits, since from v1.15 to
/// v1.16 any agent that starts ends Accepted tasks of the whole namespace.
fn starter<'s>(case: &Case<'_, 's>, task: &Task, at: Timestamp) -> Option<&'s NodeAgent> {
    let fits = |agent: &&NodeAgent| {
        agent.started_at.is_some_and(|start| {
            let after = at.duration_since(start).as_secs();
            (0..=START_SECONDS).contains(&after)
        })
    };
    let own = own_node(task);
    // The task's own agent may take long: it resumes tasks one after the other, and waits up to its
    // resource timeout for each mover pod.
    let own_agent = case.snapshot.agents.iter().find(|agent| {
        own.is_some()
            && !was_accepted(task)
            && agent.node() == own.as_deref()
            && agent.started_at.is_some_and(|start| start <= at)
    });
    own_agent.or_else(|| {
        case.snapshot
            .agents
            .iter()
            .filter(fits)
            .max_by_key(|agent| agent.started_at)
    })
}

/// Whether the start that ended a task was a restart: the task had run there before, or the agent's
/// container or pod has a predecessor. An agent on a node that has just joined starts too.
fn is_restart(case: &Case<'_, '_>, task: &Task, agent: Option<&NodeAgent>) -> bool {
    let had_predecessor = agent.is_some_and(|agent| {
        agent
            .container_status()
            .is_some_and(|container| container.restarts > 0 || container.last_end.is_some())
            || case.snapshot.agents.iter().any(|other| {
                other.node() == agent.node()
                    && other.pod.key != agent.pod.key
                    && other.pod.created < agent.pod.created
            })
    });
    !was_accepted(task) || had_predecessor
}

/// Whether the task was ended in Accepted: from v1.15 to v1.16 by any agent that starts, on a node that
/// may just have joined. All other texts speak of a task that ran on the agent's own node.
fn was_accepted(task: &Task) -> bool {
    task.message.contains("in Accepted status")
}

/// Tasks that ran before their agent started and have not moved since. Only where the release resumes
/// tasks, the bytes are not all done, and managedFields or the agent's log bear it out.
fn not_resumed<'s>(case: &Case<'_, 's>) -> Vec<Harmed<'s>> {
    case.tasks()
        .filter(|task| {
            task.task.phase == Phase::InProgress
                && matches!(task.situation, Situation::Ordinary | Situation::Stalled)
        })
        .filter_map(|task| {
            let node = case.node(task.node.as_deref()?)?;
            let agent = node.agent.filter(|_| node.working.is_yes())?;
            let start = agent.started_at?;
            let resumes = task.profile.on_restart(
                task.task.reference.kind,
                &task.task.uploader_type,
                &Phase::InProgress,
            ) == OnRestart::Resumed;
            let ran_before = task.task.started.is_some_and(|started| started < start);
            let recent = case.age(start) < ends::RECENT_SECONDS;
            if !resumes || !ran_before || !recent {
                return None;
            }
            let (evidence, confidence) = resume_failed(agent, task.task)
                .or_else(|| nothing_is_resumed(agent))
                .or_else(|| has_no_entry(agent, task.task, start))
                .or_else(|| stands_still(case, task.task, start))?;
            Some(Harmed {
                task: task.task,
                agent: Some(agent),
                evidence,
                confidence,
                at: Some(start),
            })
        })
        .collect()
}

/// The agent says so of this task.
fn resume_failed(agent: &NodeAgent, task: &Task) -> Option<(Evidence, Confidence)> {
    let log = agent.evidence.as_ref()?;
    let note = log.failed_resumes.get(&task.reference.name)?;
    Some((words::log_line(agent, note), Confidence::Certain))
}

/// The agent says so of all DataUploads and DataDownloads.
fn nothing_is_resumed(agent: &NodeAgent) -> Option<(Evidence, Confidence)> {
    let log = agent.evidence.as_ref()?;
    let note = log
        .config_warnings
        .iter()
        .find(|note| note.text.contains(NO_RESUME))?;
    Some((words::log_line(agent, note), Confidence::Likely))
}

/// The log of the process before shows the task in its map, and that of the present one, which is whole, does
/// not show that it was taken up again in the time that a resume may take.
fn has_no_entry(
    agent: &NodeAgent,
    task: &Task,
    start: Timestamp,
) -> Option<(Evidence, Confidence)> {
    let name = &task.reference.name;
    let before = agent.previous_evidence.as_ref()?.entries.get(name)?;
    let log = agent.evidence.as_ref()?;
    let waited = log
        .speaks_to
        .is_some_and(|end| end.duration_since(start).as_secs() >= NOT_RESUMED_SECONDS);
    let silent = log.start == LogStart::Logged
        && log.overflow == Overflow::No
        && !log.entries.contains_key(name)
        && !log.failed_ends.contains_key(name);
    (waited && silent).then(|| {
        let mut evidence = words::log_line(agent, &before.last);
        evidence.source = words::previous_log_of(agent);
        evidence.value = format!(
            "{}; the log of the process since then does not show that it was resumed",
            evidence.value
        );
        (evidence, Confidence::Likely)
    })
}

fn stands_still(
    case: &Case<'_, '_>,
    task: &Task,
    start: Timestamp,
) -> Option<(Evidence, Confidence)> {
    let patience = case.threshold().max(NOT_RESUMED_SECONDS);
    let unfinished = task
        .progress
        .is_some_and(|progress| progress.total_bytes > progress.bytes_done);
    let last = task.writes.progress.or(task.writes.node_agent)?;
    (task.writes.managed_fields == ManagedFields::Present
        && unfinished
        && last < start
        && case.age(start) >= patience)
        .then(|| {
            let evidence = words::task_field(
                task,
                "last write of .status.progress",
                &format!("{last}, before the node-agent started at {start}"),
            );
            (evidence, Confidence::Possible)
        })
}

/// Why the agent restarted.
fn cause(case: &Case<'_, '_>, node: Option<&str>, agent: Option<&NodeAgent>) -> &'static str {
    let end = agent
        .and_then(NodeAgent::container_status)
        .and_then(|container| container.last_end.as_ref());
    let evicted = node.is_some()
        && case.snapshot.agents.iter().any(|other| {
            other.node() == node && other.pod.phase == "Failed" && other.pod.reason == "Evicted"
        });
    if end.is_some_and(|end| end.reason == "OOMKilled") {
        "oom-killed"
    } else if evicted {
        "evicted"
    } else if end.is_some_and(lost_by_the_kubelet) || node_came_back(case, node, agent) {
        "node-restart"
    } else {
        "undetermined"
    }
}

/// A kubelet that finds its containers gone after a reboot calls the reason Unknown.
fn lost_by_the_kubelet(end: &ContainerEnd) -> bool {
    end.reason == "Unknown" && end.exit_code == 255
}

fn node_came_back(case: &Case<'_, '_>, node: Option<&str>, agent: Option<&NodeAgent>) -> bool {
    let ready_since = node
        .and_then(|node| case.snapshot.node(node).seen())
        .and_then(|node| node.ready.as_ref())
        .filter(|ready| ready.status == "True")
        .and_then(|ready| ready.changed);
    let start = agent.and_then(|agent| agent.started_at);
    // A pod that is younger than its Node's readiness was made for another reason.
    let made = agent.and_then(|agent| agent.pod.created);
    ready_since.zip(start).is_some_and(|(ready, start)| {
        let after = start.duration_since(ready).as_secs();
        made.is_some_and(|made| made < ready) && after.abs() <= NODE_START_SECONDS
    })
}

fn finding(
    case: &Case<'_, '_>,
    node: Option<String>,
    cause: &'static str,
    harmed: &[Harmed<'_>],
) -> Finding {
    let mut tasks: Vec<TaskRef> = harmed
        .iter()
        .map(|harmed| harmed.task.reference.clone())
        .collect();
    tasks.sort();
    tasks.dedup();
    let confidence = harmed
        .iter()
        .map(|harmed| harmed.confidence)
        .min()
        .unwrap_or(Confidence::Possible);
    let place = node
        .as_ref()
        .map_or_else(|| "a node".to_owned(), |node| format!("node {node}"));
    let why = match cause {
        "oom-killed" => " for lack of memory",
        "evicted" => " because its pod was evicted",
        "node-restart" => " with its node",
        _ => "",
    };
    let mut finding = Finding::new(
        FindingId::AgentRestarted,
        Severity::Warning,
        case.cap(confidence),
        format!(
            "The node-agent of {place} restarted{why}, and {} {} harmed by it.",
            words::tasks(&tasks),
            words::verb(tasks.len(), "was", "were"),
        ),
    );
    finding.cause = Some(cause);
    finding.node = node;
    let agent = harmed.iter().find_map(|harmed| harmed.agent);
    finding.since = agent
        .and_then(|agent| agent.started_at)
        .or_else(|| words::earliest(harmed.iter().map(|harmed| harmed.at)));
    finding.deadline = case.earliest_deadline(&tasks);
    finding.evidence = harmed
        .iter()
        .take(words::EVIDENCE_SHOWN)
        .map(|harmed| harmed.evidence.clone())
        .collect();
    if let Some(agent) = agent {
        finding.blocked_by = vec![words::pod_ref(&agent.pod)];
        finding.evidence.push(words::agent_start(agent));
        if let Some(end) = agent
            .container_status()
            .and_then(|container| container.last_end.as_ref())
        {
            finding.evidence.push(words::pod_field(
                &agent.pod,
                &format!(
                    ".status.containerStatuses[{}].lastState.terminated",
                    agent.container
                ),
                &format!("{} (exit code {})", end.reason, end.exit_code),
            ));
        }
        finding.actions = vec![
            Action {
                command: format!(
                    "kubectl logs {{ns}} {} -c {} --previous",
                    words::quoted(&agent.pod.key.name),
                    words::quoted(&agent.container)
                ),
                effect: "shows the last words of the process before".to_owned(),
                risk: "none".to_owned(),
            },
            words::describe_pod(&agent.pod.key.name),
        ];
    }
    if finding.actions.is_empty() {
        finding.actions = tasks.first().map(words::show_task).into_iter().collect();
    }
    finding.references = vec!["velero-io/velero#8534", "velero-io/velero#7761"];
    finding.tasks = tasks;
    finding
}

#[cfg(test)]
mod tests;
