//! Node-agent pods that start and end again (rows 1a and 1c of the precedence).
//!
//! An agent that runs is not in a crash loop, even if its configuration will end it at its next start;
//! and an evicted or crashed pod beside a working one on the same node is history.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::words;
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{
    Action, Confidence, Evidence, EvidenceKind, Finding, FindingId, Severity,
};
use crate::replay::Situation;
use crate::snapshot::{
    ConfigMap, ContainerEnd, ContainerState, NodeAgent, Observed, Previous, Ready,
};
use crate::velero::TaskRef;
use crate::velero::profile::{BadConfig, ConfigSource, SeveralKeys};

/// Restarts from which, with a recent end, an agent counts as restarting again and again.
const RESTARTS: i64 = 3;

/// How long ago the last end may be for that, in seconds.
const RECENT_END_SECONDS: i64 = 600;

/// How long an agent that restarted often must run to count as cured, in seconds; it must also have
/// outlived its previous life. A configuration that ends the process does so within seconds.
const CURED_AFTER_SECONDS: i64 = 120;

/// The exit code of a process that was killed with SIGKILL, as the OOM killer does.
const EXIT_KILLED: i64 = 137;

/// An agent that crashes: why, and how sure that is.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct Crash<'s> {
    /// The agent.
    pub(in crate::diagnose) agent: &'s NodeAgent,
    why: Why,
    since: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct Why {
    cause: &'static str,
    confidence: Confidence,
    evidence: Vec<Evidence>,
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
            often && !cured
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

fn runs(agent: &NodeAgent) -> bool {
    agent
        .container_status()
        .is_some_and(|container| matches!(container.state, ContainerState::Running { .. }))
}

fn is_evicted(agent: &NodeAgent) -> bool {
    agent.pod.phase == "Failed" && agent.pod.reason == "Evicted"
}

fn is_out_of_memory(end: &ContainerEnd) -> bool {
    end.reason == "OOMKilled"
}

/// The ends of the agent's container that its status still tells of.
fn ends(agent: &NodeAgent) -> impl Iterator<Item = &ContainerEnd> {
    agent.container_status().into_iter().flat_map(|container| {
        let present = match &container.state {
            ContainerState::Terminated(end) => Some(end),
            ContainerState::Running { .. }
            | ContainerState::Waiting { .. }
            | ContainerState::None => None,
        };
        present.into_iter().chain(&container.last_end)
    })
}

fn why(case: &Case<'_, '_>, agent: &NodeAgent) -> Why {
    evicted(agent)
        .or_else(|| out_of_memory(agent))
        .or_else(|| said_by_the_process(case, agent))
        .or_else(|| shown_by_the_config_map(case, agent))
        .or_else(|| killed(agent))
        .unwrap_or_else(|| Why {
            cause: "undetermined",
            confidence: Confidence::Likely,
            evidence: container_evidence(agent),
        })
}

fn evicted(agent: &NodeAgent) -> Option<Why> {
    is_evicted(agent).then(|| Why {
        cause: "evicted",
        confidence: Confidence::Certain,
        evidence: vec![
            words::pod_field(&agent.pod, ".status.reason", &agent.pod.reason),
            words::pod_field(&agent.pod, ".status.message", &agent.pod.message),
        ],
    })
}

fn out_of_memory(agent: &NodeAgent) -> Option<Why> {
    ends(agent).any(is_out_of_memory).then(|| Why {
        cause: "oom-killed",
        confidence: Confidence::Certain,
        evidence: container_evidence(agent),
    })
}

fn killed(agent: &NodeAgent) -> Option<Why> {
    ends(agent)
        .any(|end| end.exit_code == EXIT_KILLED)
        .then(|| Why {
            cause: "oom-killed",
            confidence: Confidence::Likely,
            evidence: container_evidence(agent),
        })
}

/// What the agent's own last words name. The texts are Velero's:
/// v1.17.2 and v1.18.2 pkg/cmd/cli/nodeagent/server.go, `pkg/nodeagent/node_agent.go`.
fn said_by_the_process(case: &Case<'_, '_>, agent: &NodeAgent) -> Option<Why> {
    let (said, line) = last_words(case, agent).into_iter().find_map(|text| {
        let line = text
            .value
            .lines()
            .rev()
            .find(|line| config_cause(line).is_some())?;
        let said = config_cause(line)?;
        let value = line.trim().to_owned();
        Some((said, Evidence { value, ..text }))
    })?;
    let mut evidence = container_evidence(agent);
    evidence.push(line);
    // The general text does not say whether the ConfigMap is missing or broken; its state may.
    let (cause, confidence) = match said {
        SaidCause::Named(cause) => (cause, Confidence::Certain),
        SaidCause::SomeConfig => shown_by_the_config_map(case, agent).map_or(
            ("config-invalid", Confidence::Possible),
            |shown| {
                evidence.extend(shown.evidence);
                (shown.cause, Confidence::Likely)
            },
        ),
    };
    evidence.extend(config_map_now(case, agent));
    Some(Why {
        cause,
        confidence,
        evidence,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SaidCause {
    Named(&'static str),
    SomeConfig,
}

fn config_cause(line: &str) -> Option<SaidCause> {
    let about_config = [
        "node agent configs",
        "node-agent configs",
        "config map",
        "configMap",
        "configmap",
        "ConfigMap",
    ]
    .iter()
    .any(|text| line.contains(text));
    if line.contains("more than one keys") {
        Some(SaidCause::Named("config-multiple-keys"))
    } else if !about_config && !line.contains("error to unmarshall configs") {
        None
    } else if line.contains("not found") {
        Some(SaidCause::Named("config-missing"))
    } else if line.contains("error to unmarshall configs")
        || line.contains("data is not available in config map")
    {
        Some(SaidCause::Named("config-invalid"))
    } else if line.contains("error getting node agent configs")
        || line.contains("Failed to get node agent configs")
    {
        Some(SaidCause::SomeConfig)
    } else {
        None
    }
}

/// The texts that the agent's ended processes left: termination messages, and logs of a process that
/// does not run any more.
fn last_words(case: &Case<'_, '_>, agent: &NodeAgent) -> Vec<Evidence> {
    let pod = words::pod_ref(&agent.pod);
    let runs = runs(agent);
    let messages = ends(agent)
        .filter(|end| !end.message.is_empty())
        .map(|end| {
            Evidence::field(
                format!("{pod} termination message of container {}", agent.container),
                end.message.clone(),
            )
        });
    let logs = case
        .snapshot
        .logs
        .iter()
        .filter(|log| {
            log.namespace == agent.pod.key.namespace
                && log.pod == agent.pod.key.name
                && log.container == agent.container
                && (log.previous == Previous::Yes || !runs)
        })
        .map(|log| Evidence {
            kind: EvidenceKind::Log,
            source: format!("{pod} log of container {}", agent.container),
            value: log.body.clone(),
        });
    messages.chain(logs).collect()
}

/// What the ConfigMaps named by the agent's flags look like now, where its release ends on them.
fn shown_by_the_config_map(case: &Case<'_, '_>, agent: &NodeAgent) -> Option<Why> {
    if runs(agent) {
        // It read a configuration that was sound.
        return None;
    }
    let profile = &agent.profile;
    let likely = |cause, source: String, value: String| {
        let mut evidence = container_evidence(agent);
        evidence.push(Evidence::field(source, value));
        Why {
            cause,
            confidence: Confidence::Likely,
            evidence,
        }
    };
    if let Some(name) = config_map_name(agent) {
        let source = format!("ConfigMap {}/{name}", case.snapshot.namespace);
        match case.snapshot.config_map(name) {
            Observed::Absent if profile.config_missing == BadConfig::Exits => {
                return Some(likely(
                    "config-missing",
                    source,
                    "does not exist".to_owned(),
                ));
            }
            Observed::Seen(map) => {
                if let Some((cause, value)) = broken(map, agent) {
                    return Some(likely(cause, format!("{source} .data"), value));
                }
            }
            Observed::Absent | Observed::Unknown(_) => {}
        }
    }
    let repository = agent.repository_config_map_flag.as_deref()?;
    (profile.repository_config_missing == BadConfig::Exits
        && case.snapshot.config_map(repository).is_absent())
    .then(|| {
        likely(
            "config-missing",
            format!("ConfigMap {}/{repository}", case.snapshot.namespace),
            "does not exist (--backup-repository-configmap)".to_owned(),
        )
    })
}

fn broken(map: &ConfigMap, agent: &NodeAgent) -> Option<(&'static str, String)> {
    if map.keys.len() > 1 && agent.profile.config_several_keys == SeveralKeys::Exits {
        return Some((
            "config-multiple-keys",
            format!("keys {}", map.keys.join(", ")),
        ));
    }
    match &map.config {
        Err(why) if agent.profile.config_broken == BadConfig::Exits => {
            Some(("config-invalid", why.clone()))
        }
        Err(_) | Ok(_) => None,
    }
}

fn config_map_name(agent: &NodeAgent) -> Option<&str> {
    match agent.profile.config_source {
        ConfigSource::Flag => agent.config_map_flag.as_deref(),
        ConfigSource::FixedName | ConfigSource::None => None,
    }
}

/// Says so where the ConfigMap that the process complained about is there and sound by now.
fn config_map_now(case: &Case<'_, '_>, agent: &NodeAgent) -> Option<Evidence> {
    let name = config_map_name(agent)?;
    let map = case.snapshot.config_map(name).seen()?;
    broken(map, agent).is_none().then(|| {
        Evidence::field(
            format!("ConfigMap {}/{name}", case.snapshot.namespace),
            "exists now; the next start of the agent reads it".to_owned(),
        )
    })
}

fn container_evidence(agent: &NodeAgent) -> Vec<Evidence> {
    let Some(container) = agent.container_status() else {
        return Vec::new();
    };
    let path = format!(".status.containerStatuses[{}]", container.name);
    let mut evidence = vec![words::pod_field(
        &agent.pod,
        &format!("{path}.restartCount"),
        &container.restarts.to_string(),
    )];
    if let ContainerState::Waiting { reason, .. } = &container.state {
        evidence.push(words::pod_field(
            &agent.pod,
            &format!("{path}.state.waiting.reason"),
            reason,
        ));
    }
    if let Some(end) = ends(agent).next() {
        evidence.push(words::pod_field(
            &agent.pod,
            &format!("{path} last end"),
            &format!(
                "{} (exit code {}){}",
                if end.reason.is_empty() {
                    "no reason"
                } else {
                    &end.reason
                },
                end.exit_code,
                end.finished_at
                    .map_or_else(String::new, |time| format!(" at {time}"))
            ),
        ));
    }
    evidence
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
    finding.actions = actions(cause, group);
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

fn actions(cause: &str, group: &[Crash<'_>]) -> Vec<Action> {
    let Some(first) = group.first() else {
        return Vec::new();
    };
    let pod = &first.agent.pod.key.name;
    let mut actions = vec![match cause {
        "evicted" | "oom-killed" => words::describe_pod(pod),
        _ => Action {
            command: format!(
                "kubectl logs {{ns}} {pod} -c {} --previous",
                first.agent.container
            ),
            effect: "shows the last words of the process before".to_owned(),
            risk: "none".to_owned(),
        },
    }];
    if let (true, Some(name)) = (cause.starts_with("config-"), config_map_name(first.agent)) {
        actions.push(Action {
            command: format!("kubectl get configmap {{ns}} {name} -o yaml"),
            effect: "shows the configuration: one key, whose value is JSON".to_owned(),
            risk: "none".to_owned(),
        });
    }
    let agents: Vec<&NodeAgent> = group.iter().map(|crash| crash.agent).collect();
    actions.extend(words::restart(
        &agents,
        "once the cause is mended, starts the agent now instead of after its back-off",
    ));
    actions
}

#[cfg(test)]
mod tests;
