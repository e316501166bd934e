//! The verdict over everything, and that of each node.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Case, CouldBe, Inconclusive};
use super::finding::{Finding, FindingId, Severity};
use super::{NodeVerdict, Verdict};
use crate::replay::{NodeReplay, Situation, Working, is_healthy};
use crate::snapshot::{GapReason, IsNodeAgent, Observed, SourceType};

/// Stuck, else unknown, else attention, else healthy.
pub(super) fn of_all(findings: &[Finding], inconclusive: &[Inconclusive]) -> Verdict {
    let any = |severity| findings.iter().any(|finding| finding.severity == severity);
    if any(Severity::Critical) {
        Verdict::Stuck
    } else if inconclusive
        .iter()
        .any(|rule| rule.could_be == CouldBe::Critical)
    {
        Verdict::Unknown
    } else if any(Severity::Warning) {
        Verdict::Attention
    } else {
        Verdict::Healthy
    }
}

/// Finds what leaves the whole answer open, whatever the rules say: kinds that could not be listed,
/// phases that nobody knows, an input without any task.
pub(super) fn open_questions(case: &Case<'_, '_>) -> Vec<Inconclusive> {
    let mut open = Vec::new();
    let critical = |why: String| Inconclusive {
        rule: FindingId::PreparedStuck,
        could_be: CouldBe::Critical,
        why,
    };
    for kind in case.refused_kinds() {
        open.push(critical(format!("{} could not be read", kind.plural())));
    }
    let unknown: Vec<_> = case
        .tasks()
        .filter(|task| task.situation == Situation::UnknownPhase)
        .collect();
    if !unknown.is_empty() {
        let phases: BTreeSet<&str> = unknown
            .iter()
            .map(|task| task.task.phase.as_str())
            .collect();
        let phases: Vec<String> = phases
            .iter()
            .take(3)
            .map(|phase| format!("{phase:.40}"))
            .collect();
        open.push(critical(format!(
            "{} of {} tasks {} in a phase that is not known ({})",
            unknown.len(),
            case.snapshot.tasks.len(),
            if unknown.len() == 1 { "is" } else { "are" },
            phases.join(", "),
        )));
    }
    // Offline an empty answer is as likely an input that lacks the tasks as a cluster that has none.
    let nothing_read =
        case.snapshot.source.source == SourceType::Files && case.snapshot.tasks.is_empty();
    if nothing_read {
        open.push(critical("the input holds no task of any kind".to_owned()));
    }
    if case.no_task_kind_exists() {
        open.push(critical(format!(
            "Velero not found: none of its custom resources for data movement is known to the API server \
             (asked for in namespace {})",
            case.snapshot.namespace
        )));
    } else if case.snapshot.source.source == SourceType::Cluster && !has_sign_of_velero(case) {
        // A namespace that was named is not looked at beforehand: a misspelled one answers with empty lists.
        open.push(critical(format!(
            "Velero not found: there is no sign of it in namespace {} (no node-agent, no velero Deployment, \
             no task, no Backup or Restore)",
            case.snapshot.namespace
        )));
    }
    open
}

/// Whether anything was seen that an installation of Velero has or leaves behind.
fn has_sign_of_velero(case: &Case<'_, '_>) -> bool {
    let snapshot = case.snapshot;
    let server_seen = match snapshot.server_version {
        // A Deployment whose tag is no version is one all the same.
        Observed::Seen(_) | Observed::Unknown(GapReason::Unsupported) => true,
        Observed::Absent
        | Observed::Unknown(
            GapReason::Forbidden
            | GapReason::NotFound
            | GapReason::Malformed
            | GapReason::NotInInput
            | GapReason::Partial
            | GapReason::Timeout,
        ) => false,
    };
    server_seen
        || !snapshot.tasks.is_empty()
        || !snapshot.agents.is_empty()
        || snapshot
            .daemon_sets
            .values()
            .any(|set| set.is_node_agent == IsNodeAgent::Yes)
        || !snapshot.backups.is_empty()
        || !snapshot.restores.is_empty()
}

/// What the verdict of a node looks at, gathered once for all nodes.
struct Marks<'m> {
    /// A task kind could not be listed.
    refused: bool,
    /// Nodes with a task in a phase that nobody knows.
    unknown_phase: BTreeSet<&'m str>,
    /// Nodes with prepared-stuck.
    stuck: BTreeSet<&'m str>,
    /// Nodes with slots-leaked.
    leaked: BTreeSet<&'m str>,
}

/// The verdict of each node, first that applies.
pub(super) fn of_nodes(case: &Case<'_, '_>, findings: &[Finding]) -> BTreeMap<String, NodeVerdict> {
    let with = |id: FindingId| {
        findings
            .iter()
            .filter(move |finding| finding.id == id)
            .filter_map(|finding| finding.node.as_deref())
            .collect()
    };
    let marks = Marks {
        refused: !case.refused_kinds().is_empty(),
        unknown_phase: case
            .tasks()
            .filter(|task| task.situation == Situation::UnknownPhase)
            .filter_map(|task| task.node.as_deref())
            .collect(),
        stuck: with(FindingId::PreparedStuck),
        leaked: with(FindingId::SlotsLeaked),
    };
    case.replay
        .nodes
        .values()
        .map(|node| (node.node.clone(), of_node(case, node, &marks)))
        .collect()
}

fn of_node(case: &Case<'_, '_>, node: &NodeReplay<'_>, marks: &Marks<'_>) -> NodeVerdict {
    let name = node.node.as_str();
    let holders = node.holders();
    let replay_of = |task| case.replay.tasks.get(task);
    let unreadable = holders
        .iter()
        .any(|task| replay_of(task).is_some_and(|task| task.situation == Situation::PodUnreadable));
    if node.working == Working::Unknown
        || marks.refused
        || unreadable
        || marks.unknown_phase.contains(name)
    {
        return NodeVerdict::Unknown;
    }
    if !node.working.is_yes() {
        return NodeVerdict::NoAgent;
    }
    let broken = holders
        .iter()
        .filter(|task| !replay_of(task).is_some_and(is_healthy))
        .count();
    let every_slot_broken = node
        .slots()
        .is_some_and(|slots| broken > 0 && i64::try_from(broken).unwrap_or(i64::MAX) >= slots);
    if marks.stuck.contains(name) || every_slot_broken {
        NodeVerdict::Stuck
    } else if marks.leaked.contains(name) || broken > 0 {
        NodeVerdict::Degraded
    } else if !node.waiting().is_empty() {
        NodeVerdict::Queued
    } else if !holders.is_empty() {
        NodeVerdict::Busy
    } else {
        NodeVerdict::Idle
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Diagnosis, diagnose};
    use super::{GapReason, SourceType, Verdict};
    use crate::capture::{Capture, Listing, Outcome, ResourceKind, Scope};
    use crate::replay::{ReplayOptions, replay};
    use crate::snapshot::{ReadOptions, read};
    use crate::testing::{NS, agent, node, now};
    use crate::velero::TaskKind;

    /// Diagnoses what a cluster answers that has these objects and refuses some resources.
    fn live(objects: &[Value], refused: &[(ResourceKind, GapReason)]) -> Diagnosis {
        let mut capture = Capture::from_objects(objects.iter().cloned());
        capture.manifest.source = SourceType::Cluster;
        capture.manifest.namespace = Some(NS.to_owned());
        let read_already = std::mem::take(&mut capture.listings);
        for resource in ResourceKind::ALL {
            let refusal = refused.iter().find(|(of, _)| *of == resource);
            let outcome = match refusal {
                Some((_, reason)) => Outcome::Refused {
                    reason: *reason,
                    message: "refused".to_owned(),
                },
                None => read_already
                    .iter()
                    .find(|listing| listing.resource == resource)
                    .map_or(Outcome::Listed(Vec::new()), |listing| {
                        listing.outcome.clone()
                    }),
            };
            capture.listings.push(Listing {
                resource,
                scope: if resource == ResourceKind::Node {
                    Scope::Cluster
                } else {
                    Scope::Namespace(NS.to_owned())
                },
                outcome,
            });
        }
        let snapshot = read(
            &capture,
            &ReadOptions {
                namespace: NS.to_owned(),
                now: Some(now()),
            },
        );
        let replayed = replay(&snapshot, ReplayOptions::default());
        diagnose(&snapshot, &replayed)
    }

    fn deployment(name: &str, image: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": NS},
            "spec": {"template": {
                "metadata": {"labels": {"deploy": name}},
                "spec": {"containers": [{"name": name, "image": image, "command": ["/velero"], "args": ["server"]}]}
            }}
        })
    }

    fn says_not_found(diagnosis: &Diagnosis) -> bool {
        diagnosis.verdict == Verdict::Unknown
            && diagnosis
                .inconclusive
                .iter()
                .any(|why| why.starts_with("Velero not found"))
    }

    #[test]
    fn a_namespace_without_any_sign_of_velero_is_not_healthy() {
        assert!(says_not_found(&live(&[], &[])));
        assert!(says_not_found(&live(&[node("node-a", &json!({}))], &[])));
        // Every namespace has some DaemonSet, such as kube-system.
        let foreign = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-proxy", "namespace": NS},
            "spec": {"template": {"spec": {"containers": [{"name": "kube-proxy", "image": "kube-proxy:v1.33.0"}]}}}
        });
        assert!(says_not_found(&live(&[foreign], &[])));
    }

    #[test]
    fn a_server_that_knows_no_task_kind_is_not_healthy_whatever_else_is_there() {
        let unknown = TaskKind::ALL.map(|kind| (ResourceKind::Task(kind), GapReason::NotFound));
        assert!(says_not_found(&live(&[], &unknown)));
        let agent = agent("node-a", "v1.17.1", 4000, &[]);
        let with_agent = live(&[node("node-a", &json!({})), agent], &unknown);
        assert!(says_not_found(&with_agent), "{with_agent:?}");
    }

    #[test]
    fn what_could_not_be_read_is_no_sign_of_velero() {
        let refused = [
            (ResourceKind::Deployment, GapReason::Forbidden),
            (ResourceKind::DaemonSet, GapReason::Forbidden),
            (ResourceKind::Pod, GapReason::Forbidden),
        ];
        assert!(says_not_found(&live(&[], &refused)));
    }

    #[test]
    fn an_idle_velero_without_any_task_is_healthy() {
        let agent = agent("node-a", "v1.17.1", 4000, &[]);
        let idle = live(&[node("node-a", &json!({})), agent], &[]);
        assert_eq!(idle.verdict, Verdict::Healthy, "{:?}", idle.inconclusive);
        // One that only makes snapshots has no node-agent.
        for image in ["velero/velero:v1.17.1", "registry.example/velero:latest"] {
            let server_only = live(&[deployment("velero", image)], &[]);
            assert_eq!(
                server_only.verdict,
                Verdict::Healthy,
                "{image}: {:?}",
                server_only.inconclusive
            );
        }
    }
}
