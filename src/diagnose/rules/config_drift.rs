//! The configuration changed after agents started: they still use the old number, since they read it
//! once (v1.13.2 … main pkg/cmd/cli/nodeagent/server.go).
//!
//! One finding for each changed object.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::words;
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Drift, LimitBasis, NodeReplay};
use crate::snapshot::NodeAgent;
use crate::velero::profile::ConfigMapRead;
use crate::velero::{ObjectRef, TaskRef};

struct Stale<'a, 's> {
    node: &'a NodeReplay<'s>,
    agent: &'s NodeAgent,
    changed: Option<Timestamp>,
    what: String,
}

/// Proposes one finding for each changed object.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut by_object: BTreeMap<ObjectRef, Vec<Stale<'_, '_>>> = BTreeMap::new();
    for node in case.replay.nodes.values() {
        let Some(agent) = node.agent else {
            continue;
        };
        for drift in drifts(case, node) {
            by_object.entry(drift.object).or_default().push(Stale {
                node,
                agent,
                changed: drift.changed,
                what: drift.what,
            });
        }
    }
    for (object, stale) in by_object {
        out.findings.push(finding(case, &object, &stale));
    }
}

/// A change that no managedFields tell of: the log states another number than the configuration gives now.
fn shown_by_the_log(case: &Case<'_, '_>, node: &NodeReplay<'_>) -> Option<Drift> {
    node.limit.configured_now?;
    let agent = node.agent?;
    match agent.profile.config_map(agent.config_map_flag.as_deref()) {
        ConfigMapRead::Named(name) => Some(Drift {
            object: ObjectRef::namespaced("ConfigMap", &case.snapshot.namespace, name),
            changed: None,
            what: "data, or of a node label that it selects".to_owned(),
        }),
        ConfigMapRead::NoSuchFeature | ConfigMapRead::FlagMissing => None,
    }
}

fn drifts(case: &Case<'_, '_>, node: &NodeReplay<'_>) -> Vec<Drift> {
    match &node.limit.basis {
        LimitBasis::Drifted(drifts) => drifts.clone(),
        // The log gives the number in force, so that the drift hides nothing; it is there all the same.
        LimitBasis::Logged if node.limit.in_force != node.limit.configured_now => {
            if node.limit.drift.is_empty() {
                shown_by_the_log(case, node).into_iter().collect()
            } else {
                node.limit.drift.clone()
            }
        }
        LimitBasis::Logged
        | LimitBasis::Proven
        | LimitBasis::AssumedUnchanged(_)
        | LimitBasis::Unreadable(_) => Vec::new(),
    }
}

/// Whether nothing but the log tells of the change.
fn by_log_only(stale: &Stale<'_, '_>) -> bool {
    stale.changed.is_none() && stale.node.limit.basis == LimitBasis::Logged
}

fn finding(case: &Case<'_, '_>, object: &ObjectRef, stale: &[Stale<'_, '_>]) -> Finding {
    let nodes: Vec<&str> = stale.iter().map(|one| one.node.node.as_str()).collect();
    let changed = stale.iter().filter_map(|one| one.changed).min();
    let ago = changed.map_or_else(String::new, |time| {
        format!(" {} ago", words::span(case.age(time)))
    });
    let mut affects: Vec<TaskRef> = stale
        .iter()
        .flat_map(|one| one.node.waiting())
        .cloned()
        .collect();
    affects.sort();
    affects.dedup();
    let mut finding = Finding::new(
        FindingId::ConfigDrift,
        Severity::Warning,
        case.cap(if stale.iter().all(by_log_only) {
            Confidence::Likely
        } else {
            Confidence::Certain
        }),
        format!(
            "{object} changed{ago}, after the node-agent of {} {} had started: {} still {} the old configuration.",
            words::verb(nodes.len(), "node", "nodes"),
            words::names(nodes.iter().copied()),
            words::verb(nodes.len(), "it", "they"),
            words::verb(nodes.len(), "uses", "use"),
        ),
    );
    finding.node = words::only_node(nodes.iter().map(|node| Some(*node)));
    finding.affects = affects;
    finding.since = changed;
    finding.evidence = evidence(object, stale);
    finding.actions = actions(case, stale);
    finding
}

fn evidence(object: &ObjectRef, stale: &[Stale<'_, '_>]) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    if let Some(first) = stale.first() {
        evidence.push(Evidence::field(
            format!("{object} change of {}", first.what),
            match first.changed {
                Some(changed) => changed.to_string(),
                None if by_log_only(first) => {
                    "since the start: the log of the node-agent states another number than what is there now gives"
                        .to_owned()
                }
                None => "since the start: what is there now would not let a node-agent start".to_owned(),
            },
        ));
    }
    for one in stale.iter().take(words::EVIDENCE_SHOWN) {
        evidence.push(words::agent_start(one.agent));
        let number = |value: Option<i64>| {
            value.map_or_else(|| "not known".to_owned(), |number| number.to_string())
        };
        evidence.push(Evidence::derived(
            format!("limit of node {}", one.node.node),
            format!(
                "in force {}, configured now {}",
                number(one.node.limit.in_force),
                number(one.node.limit.configured_now)
            ),
        ));
    }
    evidence
}

fn actions(case: &Case<'_, '_>, stale: &[Stale<'_, '_>]) -> Vec<Action> {
    let effect = "makes the node-agent read the present configuration";
    let Some(first) = stale.first() else {
        return Vec::new();
    };
    let all = stale.len() == case.snapshot.agents.len();
    match (&first.agent.pod.owner, all) {
        (Some((kind, name)), true) if kind == "DaemonSet" && stale.len() > 1 => vec![Action {
            command: format!(
                "kubectl rollout restart daemonset {{ns}} {}",
                words::quoted(name)
            ),
            effect: effect.to_owned(),
            risk: words::restart_risk(&first.agent.profile),
        }],
        _ => {
            let agents: Vec<&NodeAgent> = stale.iter().map(|one| one.agent).collect();
            words::restart(case, &agents, effect).into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests;
