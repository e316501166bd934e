//! Agents of several versions side by side: each acts by the rules of its own.

use std::collections::BTreeMap;

use super::words;
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::snapshot::{NodeAgent, Observed};

/// Proposes at most one finding.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut by_version: BTreeMap<String, Vec<&NodeAgent>> = BTreeMap::new();
    for agent in &case.snapshot.agents {
        if agent.pod.deletion.is_some() || agent.pod.has_ended() {
            continue;
        }
        if let Observed::Seen(version) = &agent.version {
            by_version
                .entry(version.to_string())
                .or_default()
                .push(agent);
        }
    }
    if by_version.len() < 2 {
        return;
    }
    let parts: Vec<String> = by_version
        .iter()
        .map(|(version, agents)| format!("{version} on {}", words::count(agents.len(), "node")))
        .collect();
    let mut finding = Finding::new(
        FindingId::VersionSkew,
        Severity::Info,
        case.cap(Confidence::Certain),
        format!(
            "Node-agents of several versions run side by side: {}.",
            words::names(parts.iter().map(String::as_str))
        ),
    );
    finding.evidence = by_version
        .iter()
        .map(|(version, agents)| {
            Evidence::field(
                format!("image of node-agents, version {version}"),
                words::names(agents.iter().map(|agent| agent.pod.key.name.as_str())),
            )
        })
        .collect();
    // The newest of the versions' first pods: before it was made there was no second version.
    finding.since = by_version
        .values()
        .filter_map(|agents| agents.iter().filter_map(|agent| agent.pod.created).min())
        .max();
    finding.actions = vec![Action {
        command: "kubectl get daemonset {ns} -o wide".to_owned(),
        effect: "shows whether a rollout is under way".to_owned(),
        risk: "none".to_owned(),
    }];
    out.findings.push(finding);
}

#[cfg(test)]
mod tests;
