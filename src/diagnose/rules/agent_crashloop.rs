//! Node-agent pods that start and end again (rows 1a and 1c of the precedence).
//!
//! An agent that runs is not in a crash loop, even if its configuration will end it at its next start;
//! and an evicted or crashed pod beside a working one on the same node is history.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::words;
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Action, Confidence, Finding, FindingId, Severity};
use crate::replay::Situation;
use crate::snapshot::{ContainerEnd, ContainerState, NodeAgent, Ready};
use crate::velero::TaskRef;

mod cause;

use cause::{Why, config_map_name, ends, is_evicted, is_out_of_memory, why};

/// Restarts from which, with a recent end, an agent counts as restarting again and again.
const RESTARTS: i64 = 3;

/// How long ago the last end may be for that, in seconds.
const RECENT_END_SECONDS: i64 = 600;

/// How long an agent that restarted often must run to count as cured, in seconds; it must also have
/// outlived its previous life. A configuration that ends the process does so within seconds.
const CURED_AFTER_SECONDS: i64 = 120;

/// An agent that crashes: why, and how sure that is.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct Crash<'s> {
    /// The agent.
    pub(in crate::diagnose) agent: &'s NodeAgent,
    why: Why,
    since: Option<Timestamp>,
}

/// Proposes one finding for each cause.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut by_cause: BTreeMap<&'static str, Vec<Crash<'_>>> = BTreeMap::new();
    for crash in crashes(case) {
        by_cause.entry(crash.why.cause).or_default().push(crash);
    }
    for (cause, group) in by_cause {
        out.findings.push(finding(case, cause, &group));
    }
}

/// Returns the agents that crash, in the snapshot's order.
pub(in crate::diagnose) fn crashes<'s>(case: &Case<'_, 's>) -> Vec<Crash<'s>> {
    case.snapshot
        .agents
        .iter()
        .filter(|agent| is_latest_of_its_node(case, agent))
        .filter(|agent| shows_a_crash(case, agent))
        .map(|agent| Crash {
            agent,
            why: why(case, agent),
            since: ends(agent).filter_map(|end| end.finished_at).min(),
        })
        .collect()
}

/// An agent counts only if no other one works on its node and no newer one was made for it.
fn is_latest_of_its_node(case: &Case<'_, '_>, agent: &NodeAgent) -> bool {
    if agent.pod.deletion.is_some() {
        return false;
    }
    let Some(node) = agent.node() else {
        return true;
    };
    !case.snapshot.agents.iter().any(|other| {
        other.pod.key != agent.pod.key
            && other.node() == Some(node)
            && (other.pod_works()
                || (other.pod.deletion.is_none() && other.pod.created > agent.pod.created))
    })
}

fn shows_a_crash(case: &Case<'_, '_>, agent: &NodeAgent) -> bool {
    if is_evicted(agent) {
        return true;
    }
    let Some(container) = agent.container_status() else {
        return false;
    };
    let often = container.restarts >= RESTARTS
        && ends(agent).any(|end| {
            end.finished_at
                .is_some_and(|time| case.age(time) < RECENT_END_SECONDS)
        });
    match &container.state {
        ContainerState::Running { started_at } => {
            // One that is ready and has lived longer than the one before is cured.
            let cured = container.ready == Ready::Yes
                && has_outlived(case, *started_at, container.last_end.as_ref());
            let killed = container.ready == Ready::No && ends(agent).any(is_out_of_memory);
            (often && !cured) || killed
        }
        ContainerState::Waiting { reason, .. } if reason == "CrashLoopBackOff" => true,
        ContainerState::Waiting { .. } | ContainerState::Terminated(_) | ContainerState::None => {
            often
                || ends(agent).any(is_out_of_memory)
                || matches!(
                    why(case, agent).cause,
                    "config-missing" | "config-invalid" | "config-multiple-keys"
                ) && ends(agent).any(|end| end.exit_code != 0)
        }
    }
}

/// Whether a process that restarted often has lived longer than the one before it.
fn has_outlived(
    case: &Case<'_, '_>,
    started: Option<Timestamp>,
    before: Option<&ContainerEnd>,
) -> bool {
    let Some(started) = started else {
        return false;
    };
    let previous_life = before
        .and_then(|end| Some(end.finished_at?.duration_since(end.started_at?).as_secs()))
        .unwrap_or(0);
    case.age(started) >= previous_life.max(CURED_AFTER_SECONDS)
}

fn finding(case: &Case<'_, '_>, cause: &'static str, group: &[Crash<'_>]) -> Finding {
    let none_works = !case.replay.nodes.values().any(|node| node.working.is_yes());
    let tasks: Vec<TaskRef> = case
        .tasks()
        .filter(|task| task.situation != Situation::Foreign)
        .filter(|task| match &task.node {
            Some(node) => group
                .iter()
                .any(|crash| crash.agent.node() == Some(node.as_str())),
            // A task that nobody has taken waits for these agents only where there are no others.
            None => none_works,
        })
        .map(|task| task.task.reference.clone())
        .collect();
    let confidence = group
        .iter()
        .map(|crash| crash.why.confidence)
        .min()
        .unwrap_or(Confidence::Possible);
    let mut finding = Finding::new(
        FindingId::AgentCrashloop,
        Severity::Critical,
        case.cap(confidence),
        summary(cause, group, &tasks),
    );
    finding.cause = Some(cause);
    finding.node = words::only_node(group.iter().map(|crash| crash.agent.node()));
    finding.blocked_by = group
        .iter()
        .map(|crash| words::pod_ref(&crash.agent.pod))
        .collect();
    finding.blocked_by.sort();
    finding.since = words::earliest(group.iter().map(|crash| crash.since));
    finding.deadline = case.earliest_deadline(&tasks);
    finding.tasks = tasks;
    finding.evidence = group
        .iter()
        .take(words::EVIDENCE_SHOWN)
        .flat_map(|crash| crash.why.evidence.iter().cloned())
        .collect();
    finding.actions = actions(case, cause, group);
    finding
}

fn summary(cause: &str, group: &[Crash<'_>], tasks: &[TaskRef]) -> String {
    let pods = words::names(group.iter().map(|crash| crash.agent.pod.key.name.as_str()));
    let one = group.len() == 1;
    let agents = if one {
        format!("Node-agent {pods}")
    } else {
        format!("{} node-agents ({pods})", group.len())
    };
    let configured = group
        .iter()
        .find_map(|crash| config_map_name(crash.agent))
        .unwrap_or("given by its flags");
    let what = match cause {
        "config-missing" => format!(
            "{} at every start because a ConfigMap named by a flag does not exist ({configured})",
            words::verb(group.len(), "ends", "end")
        ),
        "config-invalid" => format!(
            "{} at every start because the ConfigMap {configured} cannot be read as the configuration",
            words::verb(group.len(), "ends", "end")
        ),
        "config-multiple-keys" => format!(
            "{} at every start because the ConfigMap {configured} has more than one key",
            words::verb(group.len(), "ends", "end")
        ),
        "oom-killed" => format!(
            "{} killed again and again for lack of memory",
            words::verb(group.len(), "is", "are")
        ),
        "evicted" => format!(
            "{} evicted from {} and no other one works there",
            words::verb(group.len(), "was", "were"),
            words::verb(group.len(), "its node", "their nodes"),
        ),
        _ => format!(
            "{} again and again, and nothing that was read says why",
            words::verb(group.len(), "restarts", "restart")
        ),
    };
    if tasks.is_empty() {
        format!("{agents} {what}.")
    } else {
        format!("{agents} {what}; {} cannot go on.", words::tasks(tasks))
    }
}

fn actions(case: &Case<'_, '_>, cause: &str, group: &[Crash<'_>]) -> Vec<Action> {
    let Some(first) = group.first() else {
        return Vec::new();
    };
    let pod = &first.agent.pod.key.name;
    let mut actions = vec![match cause {
        "evicted" | "oom-killed" => words::describe_pod(pod),
        _ => Action {
            command: format!(
                "kubectl logs {{ns}} {} -c {} --previous",
                words::quoted(pod),
                words::quoted(&first.agent.container)
            ),
            effect: "shows the last words of the process before".to_owned(),
            risk: "none".to_owned(),
        },
    }];
    if let (true, Some(name)) = (cause.starts_with("config-"), config_map_name(first.agent)) {
        actions.push(Action {
            command: format!(
                "kubectl get configmap {{ns}} {} -o yaml",
                words::quoted(name)
            ),
            effect: "shows the configuration: one key, whose value is JSON".to_owned(),
            risk: "none".to_owned(),
        });
    }
    // Memory and eviction are not mended by another start.
    if cause.starts_with("config-") {
        let agents: Vec<&NodeAgent> = group.iter().map(|crash| crash.agent).collect();
        actions.extend(words::restart(
            case,
            &agents,
            "starts the agent now instead of after its back-off: the configuration would let it",
        ));
    }
    actions
}

#[cfg(test)]
mod tests;
