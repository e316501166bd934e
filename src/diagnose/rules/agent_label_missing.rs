//! Node-agent pods without the label by which Velero finds them: from v1.16 on `role=node-agent`
//! (v1.16.0 `pkg/nodeagent/node_agent.go`). Backups then say that no running daemonset pod is found.

use super::words;
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Action, Confidence, Finding, FindingId, Severity};
use crate::snapshot::{NodeAgent, ProfileBasis};
use crate::velero::profile::AgentLabel;

/// Proposes at most one finding.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let bare: Vec<&NodeAgent> = case
        .snapshot
        .agents
        .iter()
        .filter(|agent| agent.pod.deletion.is_none() && !agent.pod.has_ended())
        .filter(|agent| looks_for_role(case, agent))
        .filter(|agent| agent.pod.labels.get("role").map(String::as_str) != Some("node-agent"))
        .collect();
    let Some(first) = bare.first() else {
        return;
    };
    let mut finding = Finding::new(
        FindingId::AgentLabelMissing,
        Severity::Warning,
        case.cap(Confidence::Certain),
        format!(
            "{} ({}) {} without the label role=node-agent, so Velero does not find {} and skips pod volumes of {}.",
            words::count(bare.len(), "node-agent pod"),
            words::names(bare.iter().map(|agent| agent.pod.key.name.as_str())),
            words::verb(bare.len(), "is", "are"),
            words::verb(bare.len(), "it", "them"),
            words::verb(bare.len(), "its node", "their nodes"),
        ),
    );
    finding.node = words::only_node(bare.iter().map(|agent| agent.node()));
    finding.blocked_by = bare
        .iter()
        .map(|agent| words::pod_ref(&agent.pod))
        .collect();
    finding.blocked_by.sort();
    finding.since = words::earliest(bare.iter().map(|agent| agent.pod.created));
    finding.evidence = bare
        .iter()
        .take(words::EVIDENCE_SHOWN)
        .map(|agent| {
            words::pod_field(
                &agent.pod,
                ".metadata.labels.role",
                agent
                    .pod
                    .labels
                    .get("role")
                    .map_or("not set", String::as_str),
            )
        })
        .collect();
    let set = first
        .pod
        .owner
        .as_ref()
        .filter(|(kind, _)| kind == "DaemonSet")
        .map_or_else(|| "node-agent".to_owned(), |(_, name)| words::quoted(name));
    finding.actions = vec![Action {
        command: format!(
            "kubectl patch daemonset {{ns}} {set} --type merge -p '{{\"spec\":{{\"template\":{{\"metadata\":{{\"labels\":{{\"role\":\"node-agent\"}}}}}}}}}}'"
        ),
        effect:
            "adds the label and restarts every node-agent; with a chart, upgrade the chart instead"
                .to_owned(),
        risk: words::restart_risk(&first.profile),
    }];
    finding.references = vec!["velero-io/velero#9361", "vmware-tanzu/helm-charts#659"];
    out.findings.push(finding);
}

/// Whether the agent's release looks for the label. Where the version is only guessed, a field of a task
/// that came with v1.16 must bear it out.
fn looks_for_role(case: &Case<'_, '_>, agent: &NodeAgent) -> bool {
    if agent.profile.agent_label != AgentLabel::Role {
        return false;
    }
    match agent.profile_basis {
        ProfileBasis::Release | ProfileBasis::NewerThanKnown => true,
        ProfileBasis::GuessedFromFields => case
            .snapshot
            .tasks
            .values()
            .any(|task| task.accepted.is_some()),
    }
}

#[cfg(test)]
mod tests;
