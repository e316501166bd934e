//! Why an agent ended: what it said, how it ended, and what its ConfigMaps look like now.

use super::words;
use crate::diagnose::case::Case;
use crate::diagnose::finding::{Confidence, Evidence, EvidenceKind};
use crate::snapshot::{ConfigMap, ContainerEnd, ContainerState, NodeAgent, Observed, Previous};
use crate::velero::profile::{BadConfig, ConfigSource, SeveralKeys};

/// The exit code of a process that was killed with SIGKILL, as the OOM killer does.
const EXIT_KILLED: i64 = 137;

/// A cause of [`FindingId::AgentCrashloop`](crate::diagnose::finding::FindingId::AgentCrashloop), and what it rests on.
#[derive(Clone, Debug)]
pub(super) struct Why {
    pub(super) cause: &'static str,
    pub(super) confidence: Confidence,
    pub(super) evidence: Vec<Evidence>,
}

pub(super) fn why(case: &Case<'_, '_>, agent: &NodeAgent) -> Why {
    evicted(agent)
        .or_else(|| out_of_memory(agent))
        .or_else(|| said_by_the_process(case, agent))
        .or_else(|| shown_by_the_config_map(case, agent))
        .or_else(|| killed(agent))
        .unwrap_or_else(|| Why {
            cause: "undetermined",
            confidence: Confidence::Likely,
            evidence: container_evidence(agent)
                .into_iter()
                .chain(panic_of(case, agent))
                .collect(),
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

/// The line with which the Go runtime, or the agent itself, ended the process.
fn panic_of(case: &Case<'_, '_>, agent: &NodeAgent) -> Option<Evidence> {
    last_words(case, agent).into_iter().find_map(|text| {
        let line = text.value.lines().rev().find(|line| {
            ["panic: ", "fatal error: "]
                .iter()
                .any(|begin| line.starts_with(begin))
                || line.contains("level=fatal")
                || line.contains("\"level\":\"fatal\"")
        })?;
        let value = line.trim().to_owned();
        Some(Evidence { value, ..text })
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

pub(super) fn config_map_name(agent: &NodeAgent) -> Option<&str> {
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

fn runs(agent: &NodeAgent) -> bool {
    agent
        .container_status()
        .is_some_and(|container| matches!(container.state, ContainerState::Running { .. }))
}

pub(super) fn is_evicted(agent: &NodeAgent) -> bool {
    agent.pod.phase == "Failed" && agent.pod.reason == "Evicted"
}

pub(super) fn is_out_of_memory(end: &ContainerEnd) -> bool {
    end.reason == "OOMKilled"
}

/// The ends of the agent's container that its status still tells of.
pub(super) fn ends(agent: &NodeAgent) -> impl Iterator<Item = &ContainerEnd> {
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
