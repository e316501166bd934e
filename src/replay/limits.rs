//! The concurrency number of each node: what the configuration says now, and what the running agent
//! uses. An agent reads its number once, before its controllers start (v1.17.2
//! pkg/cmd/cli/nodeagent/server.go): a change of the ConfigMap or of a node label has no effect until
//! its pod restarts.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::agents::Agents;
use super::concurrency::{ConfigState, ConfiguredLimit, LabelState, configured_limit};
use super::{Drift, Limit, LimitBasis, LimitSource};
use crate::snapshot::{
    ConfigMap, DaemonSet, Gap, GapReason, ManagedFields, Node, NodeAgent, Observed, ResourceKind,
    Snapshot, argument,
};
use crate::velero::profile::{BadConfig, ConfigMapRead, PrepareQueue, SeveralKeys};
use crate::velero::{NodeAgentConfig, ObjectRef, Profile};

/// What is known of the numbers of one node.
#[derive(Clone, Debug)]
pub(super) struct NodeLimit {
    pub(super) limit: Limit,
    pub(super) prepare_queue: Observed<i64>,
}

impl NodeLimit {
    /// A node whose limit cannot be known.
    pub(super) fn unknown(why: &str) -> Self {
        Self {
            limit: Limit {
                in_force: None,
                source: LimitSource::Unknown,
                configured_now: None,
                basis: LimitBasis::Unreadable(why.to_owned()),
                drift: Vec::new(),
                steps: Vec::new(),
            },
            prepare_queue: Observed::Absent,
        }
    }
}

/// Finds the numbers of every node that has an agent.
pub(super) fn of_all(
    snapshot: &Snapshot,
    agents: &Agents<'_>,
    gaps: &mut Vec<Gap>,
) -> BTreeMap<String, NodeLimit> {
    let mut unclear: BTreeMap<(GapReason, String, &'static str), Vec<String>> = BTreeMap::new();
    let mut limits = BTreeMap::new();
    for node in agents.nodes() {
        let Some(agent) = agents.acting(node) else {
            continue;
        };
        let found = of_agent(snapshot, agent, node);
        match &found.limit.basis {
            LimitBasis::Proven | LimitBasis::Logged => {}
            LimitBasis::AssumedUnchanged(why) => unclear
                .entry((
                    GapReason::Partial,
                    why.clone(),
                    "the limit is taken from what the configuration says now",
                ))
                .or_default()
                .push(node.to_owned()),
            LimitBasis::Drifted(drift) => {
                let objects: Vec<String> =
                    drift.iter().map(|drift| drift.object.to_string()).collect();
                unclear
                    .entry((
                        GapReason::Partial,
                        format!(
                            "{} changed after the node-agent started, and no log states its number",
                            objects.join(" and ")
                        ),
                        "the limit in force is not known",
                    ))
                    .or_default()
                    .push(node.to_owned());
            }
            LimitBasis::Unreadable(why) => unclear
                .entry((
                    GapReason::Unsupported,
                    why.clone(),
                    "the limit in force is not known",
                ))
                .or_default()
                .push(node.to_owned()),
        }
        limits.insert(node.to_owned(), found);
    }
    gaps.extend(
        unclear
            .into_iter()
            .map(|((reason, why, effect), nodes)| Gap {
                resource: "limit".to_owned(),
                reason,
                message: why,
                effect: format!("{effect} ({})", name_some(&nodes)),
            }),
    );
    limits
}

/// Names up to three nodes and counts the rest.
fn name_some(nodes: &[String]) -> String {
    let named = nodes
        .iter()
        .take(3)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match nodes.len().saturating_sub(3) {
        0 => named,
        rest => format!("{named} and {rest} more"),
    }
}

/// Returns the name of the ConfigMap that an agent reads, if it reads one.
fn config_map_name(agent: &NodeAgent) -> Option<&str> {
    match agent.profile.config_map(agent.config_map_flag.as_deref()) {
        ConfigMapRead::Named(name) => Some(name),
        ConfigMapRead::NoSuchFeature | ConfigMapRead::FlagMissing => None,
    }
}

fn of_agent(snapshot: &Snapshot, agent: &NodeAgent, node_name: &str) -> NodeLimit {
    let name = config_map_name(agent);
    let found = name.map(|name| snapshot.config_map(name));
    let node = snapshot.node(node_name);
    let keys: Vec<(&str, Result<&NodeAgentConfig, &str>)> = match found {
        Some(Observed::Seen(map)) => decoded(map),
        Some(Observed::Absent | Observed::Unknown(_)) | None => Vec::new(),
    };
    let unreadable = format!("ConfigMap {} could not be read", name.unwrap_or_default());
    let state = match found {
        None => ConfigState::NotNamed,
        Some(Observed::Absent) => ConfigState::Missing,
        Some(Observed::Unknown(_)) => ConfigState::Unreadable(&unreadable),
        Some(Observed::Seen(_)) if keys.is_empty() => ConfigState::NoData,
        Some(Observed::Seen(_)) => ConfigState::Keys(keys.clone()),
    };
    let labels = match node {
        Observed::Seen(node) => LabelState::Seen(&node.labels),
        Observed::Absent | Observed::Unknown(_) => LabelState::Unreadable,
    };
    let configured = configured_limit(&agent.profile, &state, labels);
    let mut drift = drift(
        snapshot,
        agent,
        found.and_then(Observed::seen),
        node.seen(),
        &keys,
    );
    // What would end an agent that starts now is not what the running one read.
    if drift.is_empty()
        && agent.pod_works()
        && configured.may_exit()
        && configured.numbers().is_empty()
        && let Some(name) = name
    {
        drift.push(Drift {
            object: ObjectRef::namespaced("ConfigMap", &snapshot.namespace, name),
            changed: None,
            what: "data".to_owned(),
        });
    }
    let assumed = assumed_unchanged(agent, name, found, node.seen(), &keys);
    let limit = in_force(agent, name, &state, &configured, drift, assumed);
    let prepare_queue = prepare_queue(agent, found, &keys, &limit);
    NodeLimit {
        limit,
        prepare_queue,
    }
}

fn decoded(map: &ConfigMap) -> Vec<(&str, Result<&NodeAgentConfig, &str>)> {
    if map.all.is_empty() {
        return map
            .keys
            .iter()
            .map(|key| (key.as_str(), map.config.as_ref().map_err(String::as_str)))
            .collect();
    }
    map.all
        .iter()
        .map(|(key, config)| (key.as_str(), config.as_ref().map_err(String::as_str)))
        .collect()
}

fn in_force(
    agent: &NodeAgent,
    name: Option<&str>,
    state: &ConfigState<'_>,
    configured: &ConfiguredLimit,
    drift: Vec<Drift>,
    assumed: Option<String>,
) -> Limit {
    let logged = agent.log.as_ref().and_then(|log| log.limit);
    let configured_now = configured.value();
    let (in_force, source, basis) = if let Some(number) = logged {
        (Some(number), LimitSource::AgentLog, LimitBasis::Logged)
    } else if !drift.is_empty() {
        (
            None,
            LimitSource::Unknown,
            LimitBasis::Drifted(drift.clone()),
        )
    } else if let Some(number) = configured_now {
        let basis = assumed.map_or(LimitBasis::Proven, LimitBasis::AssumedUnchanged);
        (Some(number), configured.source(), basis)
    } else {
        let name = name.unwrap_or_default();
        let why = match state {
            ConfigState::Unreadable(why) => (*why).to_owned(),
            ConfigState::Missing | ConfigState::NoData => {
                format!(
                    "ConfigMap {name} is not usable now: the running node-agent read another state of it"
                )
            }
            ConfigState::Keys(keys) if keys.len() > 1 && !configured.may_exit() => {
                format!(
                    "ConfigMap {name} has several keys: each node-agent picked one of them at random"
                )
            }
            ConfigState::Keys(_) if configured.may_exit() => {
                format!(
                    "ConfigMap {name} would end a node-agent that starts now: the running one read another state of it"
                )
            }
            ConfigState::NotNamed | ConfigState::Keys(_) => {
                format!(
                    "ConfigMap {name} has rules for node labels, and the labels could not be read"
                )
            }
        };
        (None, LimitSource::Unknown, LimitBasis::Unreadable(why))
    };
    Limit {
        in_force,
        source,
        configured_now,
        basis,
        drift,
        steps: configured.steps.iter().map(ToString::to_string).collect(),
    }
}

/// Returns every object of the configuration that provably changed after the agent started.
fn drift(
    snapshot: &Snapshot,
    agent: &NodeAgent,
    map: Option<&ConfigMap>,
    node: Option<&Node>,
    keys: &[(&str, Result<&NodeAgentConfig, &str>)],
) -> Vec<Drift> {
    let Some(start) = agent.started_at else {
        return Vec::new();
    };
    let mut drift = Vec::new();
    if let Some(map) = map
        && let Some(changed) = map
            .data_written
            .or(map.created)
            .filter(|changed| *changed > start)
    {
        drift.push(Drift {
            object: ObjectRef::namespaced("ConfigMap", &snapshot.namespace, &map.name),
            changed: Some(changed),
            what: "data".to_owned(),
        });
    }
    if let Some(node) = node {
        for key in selector_keys(keys) {
            let written: Option<Timestamp> = node.label_writes.get(&key).copied();
            if let Some(changed) = written.filter(|changed| *changed > start) {
                drift.push(Drift {
                    object: ObjectRef::cluster("Node", &node.name),
                    changed: Some(changed),
                    what: format!("label {key}"),
                });
            }
        }
    }
    drift
}

/// Returns the node labels that the rules look at. Labels that the kubelet and the cloud set are left
/// out: they do not change, and the time of their entry moves with every other field it owns.
fn selector_keys(
    keys: &[(&str, Result<&NodeAgentConfig, &str>)],
) -> std::collections::BTreeSet<String> {
    keys.iter()
        .filter_map(|(_, config)| config.as_ref().ok()?.load_concurrency.as_ref())
        .flat_map(|load| &load.per_node_config)
        .flat_map(|rule| rule.node_selector.label_keys())
        .filter(|key| {
            !key.split_once('/').is_some_and(|(domain, _)| {
                domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")
            })
        })
        .map(str::to_owned)
        .collect()
}

/// Returns why it is only assumed that the configuration did not change after the agent started.
fn assumed_unchanged(
    agent: &NodeAgent,
    name: Option<&str>,
    found: Option<Observed<&ConfigMap>>,
    node: Option<&Node>,
    keys: &[(&str, Result<&NodeAgentConfig, &str>)],
) -> Option<String> {
    let name = name?;
    if agent.started_at.is_none() {
        return Some("the start of the node-agent is not known".to_owned());
    }
    match found {
        Some(Observed::Seen(map)) => {
            if map.managed_fields == ManagedFields::LeftOut {
                return Some(format!(
                    "ConfigMap {name} carries no managedFields (kubectl leaves them out unless --show-managed-fields is given): whether it changed after the node-agent started is not known"
                ));
            }
        }
        // What is not there has no time of change.
        Some(Observed::Absent) => {
            return Some(format!(
                "ConfigMap {name} does not exist: when it was deleted is not known"
            ));
        }
        Some(Observed::Unknown(_)) | None => return None,
    }
    let by_labels = !selector_keys(keys).is_empty();
    match node {
        Some(node) if by_labels && node.managed_fields == ManagedFields::LeftOut => Some(
            "the Node carries no managedFields: whether its labels changed after the node-agent started is not known"
                .to_owned(),
        ),
        Some(_) | None => None,
    }
}

fn prepare_queue(
    agent: &NodeAgent,
    found: Option<Observed<&ConfigMap>>,
    keys: &[(&str, Result<&NodeAgentConfig, &str>)],
    limit: &Limit,
) -> Observed<i64> {
    if agent.profile.prepare_queue == PrepareQueue::Absent {
        return Observed::Absent;
    }
    if let Some(log) = &agent.log {
        if let Some(number) = log.prepare_queue {
            return Observed::Seen(number);
        }
        // The line comes right after the limit: a log that has the start and not the line says no.
        if log.process_start.is_some() && log.limit.is_some() {
            return Observed::Absent;
        }
    }
    if limit
        .drift
        .iter()
        .any(|drift| drift.object.kind == ResourceKind::ConfigMap.kind())
    {
        return Observed::Unknown(GapReason::Partial);
    }
    match found {
        None | Some(Observed::Absent) => Observed::Absent,
        Some(Observed::Unknown(reason)) => Observed::Unknown(reason),
        Some(Observed::Seen(_)) => {
            let mut numbers: Vec<i64> = keys
                .iter()
                .map(|(_, config)| {
                    config
                        .ok()
                        .and_then(|config| config.load_concurrency.as_ref())
                        .map_or(0, |load| load.prepare_queue_length.max(0))
                })
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            match numbers.as_slice() {
                [] | [0] => Observed::Absent,
                [number] => Observed::Seen(*number),
                // Several keys, and nobody knows which one was picked.
                _ => Observed::Unknown(GapReason::Unsupported),
            }
        }
    }
}

/// What would end an agent that starts now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartFault {
    /// The ConfigMap.
    pub(super) config_map: String,
    /// What is wrong with it.
    pub(super) why: String,
}

/// Returns what would end an agent of a release that starts now, in the place of a running one. The flags
/// are those of the DaemonSet's template where that was read.
pub(super) fn start_faults(
    snapshot: &Snapshot,
    rules: &Profile,
    agent: &NodeAgent,
    set: Option<&DaemonSet>,
) -> Vec<StartFault> {
    let flag = |name: &str, of_agent: Option<&String>| -> Option<String> {
        match set {
            Some(set) if !set.args.is_empty() => argument(&set.args, name)
                .filter(|value| !value.is_empty())
                .map(str::to_owned),
            Some(_) | None => of_agent.cloned(),
        }
    };
    let mut faults = Vec::new();
    let configured = flag("--node-agent-configmap", agent.config_map_flag.as_ref());
    if let ConfigMapRead::Named(name) = rules.config_map(configured.as_deref()) {
        let why = match snapshot.config_map(name) {
            Observed::Absent if rules.config_missing == BadConfig::Exits => {
                Some("it does not exist".to_owned())
            }
            Observed::Seen(map)
                if map.keys.len() > 1 && rules.config_several_keys == SeveralKeys::Exits =>
            {
                Some(format!("it has more than one key: {}", map.keys.join(", ")))
            }
            Observed::Seen(map) if rules.config_broken == BadConfig::Exits => {
                // With several keys one of them is picked at random: one that is broken may be it.
                map.config
                    .as_ref()
                    .err()
                    .or_else(|| map.all.values().find_map(|config| config.as_ref().err()))
                    .cloned()
            }
            Observed::Absent | Observed::Seen(_) | Observed::Unknown(_) => None,
        };
        faults.extend(why.map(|why| StartFault {
            config_map: name.to_owned(),
            why,
        }));
    }
    let repository = flag(
        "--backup-repository-configmap",
        agent.repository_config_map_flag.as_ref(),
    );
    if let Some(name) = repository
        && rules.repository_config_missing == BadConfig::Exits
        && snapshot.config_map(&name).is_absent()
    {
        faults.push(StartFault {
            config_map: name,
            why: "it does not exist".to_owned(),
        });
    }
    faults
}
