//! Settings of the node-agent configuration that have no effect on the agents that run.
//!
//! One finding for each ConfigMap and cause. A ConfigMap counts as read by an agent if its release and
//! its flag say so; what an agent that starts later would make of it is no matter of this rule.

use std::collections::{BTreeMap, BTreeSet};

use super::words;
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::snapshot::log_evidence::Note;
use crate::snapshot::{ConfigMap, NodeAgent, Observed, ResourceKind};
use crate::velero::profile::{BadConfig, ConfigMapRead, SeveralKeys};
use crate::velero::{ConfigIssue, ObjectRef, TaskRef};

/// What has no effect, by cause; the texts name places and values.
type Settings = BTreeMap<&'static str, BTreeSet<String>>;

/// Proposes one finding for each ConfigMap and cause.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut readers: BTreeMap<&str, Vec<&NodeAgent>> = BTreeMap::new();
    let mut without_flag: Vec<&NodeAgent> = Vec::new();
    for agent in live_agents(case) {
        match agent.profile.config_map(agent.config_map_flag.as_deref()) {
            ConfigMapRead::Named(name) => readers.entry(name).or_default().push(agent),
            ConfigMapRead::FlagMissing => without_flag.push(agent),
            ConfigMapRead::NoSuchFeature => {}
        }
    }
    for (name, agents) in &readers {
        match case.snapshot.config_map(name) {
            Observed::Seen(map) => {
                let mut said = said_by_logs(agents);
                for (cause, settings) in ignored_settings(map, agents) {
                    let mut finding = finding(case, &map.name, cause, &settings, agents);
                    finding.evidence.extend(
                        said.remove(cause)
                            .unwrap_or_default()
                            .into_iter()
                            .take(words::EVIDENCE_SHOWN)
                            .map(|(agent, note)| words::log_line(agent, note)),
                    );
                    out.findings.push(finding);
                }
            }
            Observed::Absent => {}
            Observed::Unknown(reason) => {
                for (cause, warnings) in said_by_logs(agents) {
                    let said: Vec<&NodeAgent> = warnings.iter().map(|(agent, _)| *agent).collect();
                    let settings = warnings.iter().map(|(_, note)| note.text.clone()).collect();
                    let mut finding = finding(case, name, cause, &settings, &said);
                    finding.evidence = warnings
                        .iter()
                        .take(words::EVIDENCE_SHOWN)
                        .map(|(agent, note)| words::log_line(agent, note))
                        .collect();
                    out.findings.push(finding);
                }
                if case.tasks().next().is_some() {
                    words::gap_once(
                        case,
                        out,
                        ResourceKind::ConfigMap.plural(),
                        reason,
                        "settings that have no effect are not found",
                    );
                    words::undecided(
                        out,
                        FindingId::ConfigIgnored,
                        CouldBe::Warning,
                        format!("ConfigMap {name} could not be read"),
                    );
                }
            }
        }
    }
    if without_flag.is_empty() {
        return;
    }
    for map in unread_maps(case, &readers) {
        let settings = BTreeSet::from(["loadConcurrency".to_owned()]);
        out.findings.push(finding(
            case,
            &map.name,
            "flag-missing",
            &settings,
            &without_flag,
        ));
    }
}

fn live_agents<'s>(case: &Case<'_, 's>) -> impl Iterator<Item = &'s NodeAgent> {
    case.snapshot
        .agents
        .iter()
        .filter(|agent| agent.pod.deletion.is_none() && !agent.pod.has_ended())
}

/// ConfigMaps that hold a concurrency and that no agent reads.
fn unread_maps<'s>(
    case: &Case<'_, 's>,
    readers: &BTreeMap<&str, Vec<&NodeAgent>>,
) -> Vec<&'s ConfigMap> {
    case.snapshot
        .config_maps
        .values()
        .filter(|map| !readers.contains_key(map.name.as_str()))
        .filter(|map| {
            map.config
                .iter()
                .chain(map.all.values().flatten())
                .any(|config| config.load_concurrency.is_some())
        })
        .collect()
}

fn ignored_settings(map: &ConfigMap, agents: &[&NodeAgent]) -> Settings {
    let mut settings = Settings::new();
    let mut add = |cause, setting: String| {
        settings.entry(cause).or_default().insert(setting);
    };
    for agent in agents {
        let profile = &agent.profile;
        if map.keys.len() > 1 && profile.config_several_keys == SeveralKeys::PicksOneAtRandom {
            add("several-keys", format!("keys {}", map.keys.join(", ")));
        }
        match &map.config {
            Ok(config) => {
                for issue in config.issues_for(profile) {
                    let (cause, setting) = of_issue(&issue);
                    add(cause, setting);
                }
            }
            // One number of a wrong type makes such an agent drop the whole document.
            Err(why) if profile.config_broken == BadConfig::UsesDefault && is_number(why) => {
                add("invalid-number", why.clone());
            }
            Err(_) => {}
        }
    }
    settings
}

/// What the agents themselves said of settings without effect when they read them, by cause.
fn said_by_logs<'s>(
    agents: &[&'s NodeAgent],
) -> BTreeMap<&'static str, Vec<(&'s NodeAgent, &'s Note)>> {
    let mut said: BTreeMap<&'static str, Vec<(&NodeAgent, &Note)>> = BTreeMap::new();
    for agent in agents {
        let warnings = agent.evidence.iter().flat_map(|log| &log.config_warnings);
        for note in warnings {
            if let Some(cause) = of_warning(&note.text) {
                said.entry(cause).or_default().push((agent, note));
            }
        }
    }
    said
}

/// The texts are those of v1.13.2 … v1.18.2 `pkg/cmd/cli/nodeagent/server.go`, getDataPathConcurrentNum. A
/// global number that is not there reads as 0, so a 0 tells of no setting.
fn of_warning(text: &str) -> Option<&'static str> {
    if text.starts_with("Failed to parse rule with label selector") {
        Some("invalid-selector")
    } else if text.starts_with("Rule with label selector")
        || (text.starts_with("Global number ") && !text.starts_with("Global number 0 "))
    {
        Some("invalid-number")
    } else {
        None
    }
}

fn is_number(why: &str) -> bool {
    why.contains("must be an integer") || why.contains("is not an integer")
}

fn of_issue(issue: &ConfigIssue) -> (&'static str, String) {
    match issue {
        ConfigIssue::TopLevelPrepareQueueLength { value } => (
            "top-level-prepare-queue-length",
            format!("prepareQueueLength {value}"),
        ),
        ConfigIssue::UnknownKey { path } => ("unknown-key", path.clone()),
        ConfigIssue::InvalidNumber { path, value } => ("invalid-number", format!("{path} {value}")),
        ConfigIssue::InvalidSelector { path, why } => {
            ("invalid-selector", format!("{path}: {why}"))
        }
    }
}

fn finding(
    case: &Case<'_, '_>,
    map: &str,
    cause: &'static str,
    settings: &BTreeSet<String>,
    agents: &[&NodeAgent],
) -> Finding {
    let object = ObjectRef::namespaced("ConfigMap", &case.snapshot.namespace, map);
    let nodes: BTreeSet<&str> = agents.iter().filter_map(|agent| agent.node()).collect();
    let mut affects: Vec<TaskRef> = nodes
        .iter()
        .filter_map(|node| case.node(node))
        .flat_map(|node| node.waiting())
        .cloned()
        .collect();
    affects.sort();
    let mut finding = Finding::new(
        FindingId::ConfigIgnored,
        Severity::Warning,
        case.cap(Confidence::Certain),
        summary(map, cause, settings, agents),
    );
    finding.cause = Some(cause);
    finding.node = words::only_node(nodes.iter().map(|node| Some(*node)));
    finding.affects = affects;
    finding.since = words::earliest(agents.iter().map(|agent| agent.started_at));
    finding.evidence = settings
        .iter()
        .map(|setting| Evidence::field(format!("{object} .data"), setting.clone()))
        .collect();
    if cause == "flag-missing" {
        finding
            .evidence
            .extend(agents.iter().take(words::EVIDENCE_SHOWN).map(|agent| {
                words::pod_field(
                    &agent.pod,
                    ".spec.containers args",
                    "no --node-agent-configmap",
                )
            }));
    }
    finding.actions = actions(map, cause, agents);
    finding
}

fn summary(map: &str, cause: &str, settings: &BTreeSet<String>, agents: &[&NodeAgent]) -> String {
    let what = words::names(settings.iter().map(String::as_str));
    match cause {
        "flag-missing" => format!(
            "ConfigMap {map} holds a concurrency, but {} without --node-agent-configmap, so it has no effect there.",
            if agents.len() == 1 {
                "a node-agent runs".to_owned()
            } else {
                format!("{} node-agents run", agents.len())
            }
        ),
        "top-level-prepare-queue-length" => format!(
            "{what} in ConfigMap {map} has no effect at the top level: Velero reads it under loadConcurrency."
        ),
        "several-keys" => format!(
            "ConfigMap {map} has several keys ({what}), of which each node-agent took one at random when it started."
        ),
        "invalid-number" => format!("ConfigMap {map} has a number without effect: {what}."),
        "invalid-selector" => {
            format!(
                "ConfigMap {map} has a rule that is skipped because its selector is not valid: {what}."
            )
        }
        _ => format!("ConfigMap {map} has keys that these node-agents do not read: {what}."),
    }
}

fn actions(map: &str, cause: &str, agents: &[&NodeAgent]) -> Vec<Action> {
    let set = agents
        .iter()
        .find_map(|agent| agent.pod.owner.as_ref())
        .filter(|(kind, _)| kind == "DaemonSet")
        .map_or("node-agent", |(_, name)| name.as_str());
    let risk = agents
        .first()
        .map_or_else(String::new, |agent| words::restart_risk(&agent.profile));
    if cause == "flag-missing" {
        return vec![Action {
            command: format!("kubectl edit daemonset {{ns}} {}", words::quoted(set)),
            effect: format!(
                "to add --node-agent-configmap={map} to the arguments, which restarts every node-agent"
            ),
            risk,
        }];
    }
    vec![
        Action {
            command: format!("kubectl edit configmap {{ns}} {}", words::quoted(map)),
            effect: "to mend the setting; it has no effect before the node-agents restart"
                .to_owned(),
            risk: "none until they restart".to_owned(),
        },
        Action {
            command: format!(
                "kubectl rollout restart daemonset {{ns}} {}",
                words::quoted(set)
            ),
            effect: "makes every node-agent read the configuration".to_owned(),
            risk,
        },
    ]
}

#[cfg(test)]
mod tests;
