//! Row 2: tasks of a node on which no agent works. Nobody takes over a task of another node in any
//! release (v1.17.2 `pkg/controller/data_upload_controller.go`).

use super::{broken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{NodeReplay, NotWorking, Situation, TaskReplay, Working};
use crate::snapshot::Observed;
use crate::velero::{Phase, TaskKind};

/// A pod or node that is not Ready for less than this is a blip: a rollout, a restarted kubelet.
const BLIP_SECONDS: i64 = 2 * 60;

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    for (name, owned) in broken::by_node(case.tasks().filter(|task| is_owned(task))) {
        let Some(node) = name.and_then(|name| case.node(name)) else {
            continue;
        };
        match &node.working {
            Working::Yes => {}
            Working::Unknown => words::undecided(
                out,
                FindingId::OwnerGone,
                CouldBe::Critical,
                format!(
                    "whether a node-agent works on {} could not be read",
                    node.node
                ),
            ),
            Working::No { why, since } => {
                if since.is_none_or(|since| case.age(since) >= BLIP_SECONDS) {
                    out.findings.push(finding(case, node, *why, &owned));
                }
            }
        }
    }
}

/// Returns whether only the agent of its node can move the task on.
fn is_owned(task: &TaskReplay<'_>) -> bool {
    if task.situation == Situation::Foreign {
        return false;
    }
    match task.task.phase {
        Phase::Prepared | Phase::InProgress | Phase::Canceling => true,
        Phase::Accepted => matches!(task.pod, Observed::Seen(pod) if pod.phase == "Running"),
        Phase::New => task.task.reference.kind == TaskKind::PodVolumeBackup,
        Phase::Canceled | Phase::Completed | Phase::Failed | Phase::Other(_) => false,
    }
}

fn finding(
    case: &Case<'_, '_>,
    node: &NodeReplay<'_>,
    why: NotWorking,
    owned: &[&TaskReplay<'_>],
) -> Finding {
    let name = &node.node;
    let (cause, what) = match why {
        NotWorking::NodeGone => ("node-gone", format!("node {name} does not exist any more")),
        NotWorking::NodeNotReady => ("node-not-ready", format!("node {name} is not Ready")),
        NotWorking::AgentMissing => ("agent-missing", format!("no node-agent pod is on {name}")),
        NotWorking::AgentNotReady => (
            "agent-not-ready",
            format!("the node-agent of {name} does not work"),
        ),
    };
    let tasks: Vec<_> = owned
        .iter()
        .map(|task| task.task.reference.clone())
        .collect();
    let mut finding = Finding::new(
        FindingId::OwnerGone,
        Severity::Critical,
        case.cap(match why {
            NotWorking::AgentMissing => case.cap_absent_pod(Confidence::Certain),
            NotWorking::NodeGone | NotWorking::NodeNotReady | NotWorking::AgentNotReady => {
                Confidence::Certain
            }
        }),
        format!(
            "{what}, and nobody else takes over its {}",
            words::tasks(&tasks),
        ),
    );
    finding.cause = Some(cause);
    finding.node = Some(name.clone());
    finding.deadline = case.earliest_deadline(&tasks);
    finding.since = match &node.working {
        Working::No { since, .. } => *since,
        Working::Yes | Working::Unknown => None,
    };
    finding.evidence = evidence(case, node, why);
    finding.actions = actions(node, why, &tasks);
    finding.tasks = tasks;
    finding.references = vec!["velero-io/velero#9718"];
    finding
}

fn evidence(case: &Case<'_, '_>, node: &NodeReplay<'_>, why: NotWorking) -> Vec<Evidence> {
    let name = &node.node;
    match why {
        NotWorking::NodeGone => vec![Evidence::field(
            "nodes".to_owned(),
            format!(
                "{} nodes were listed, {name} is not among them",
                case.snapshot.nodes.len()
            ),
        )],
        NotWorking::NodeNotReady => case
            .snapshot
            .nodes
            .get(name)
            .and_then(|node| node.ready.as_ref())
            .map(|ready| {
                Evidence::condition(
                    format!("Node {name} .status.conditions[Ready]"),
                    format!("{} {}", ready.status, ready.reason)
                        .trim_end()
                        .to_owned(),
                )
            })
            .into_iter()
            .collect(),
        NotWorking::AgentMissing => vec![Evidence::field(
            format!("pods of namespace {}", case.snapshot.namespace),
            format!(
                "{} node-agent pods were read, none on {name}",
                case.snapshot.agents.len()
            ),
        )],
        NotWorking::AgentNotReady => node
            .agent
            .map(|agent| {
                let mut read = vec![words::pod_field(
                    &agent.pod,
                    ".status.phase",
                    &agent.pod.phase,
                )];
                if let Some(deletion) = agent.pod.deletion {
                    read.push(words::pod_field(
                        &agent.pod,
                        ".metadata.deletionTimestamp",
                        &deletion.to_string(),
                    ));
                }
                if let Some(ready) = agent.pod.condition("Ready") {
                    read.push(Evidence::condition(
                        format!("{} .status.conditions[Ready]", words::pod_ref(&agent.pod)),
                        format!("{} {}", ready.status, ready.reason)
                            .trim_end()
                            .to_owned(),
                    ));
                }
                read
            })
            .unwrap_or_default(),
    }
}

fn actions(
    node: &NodeReplay<'_>,
    why: NotWorking,
    tasks: &[crate::velero::TaskRef],
) -> Vec<Action> {
    let look = match (why, node.agent) {
        (NotWorking::AgentNotReady, Some(agent)) => words::describe_pod(&agent.pod.key.name),
        (NotWorking::AgentNotReady | NotWorking::AgentMissing, _) => Action {
            command: "kubectl describe daemonset {ns} node-agent".to_owned(),
            effect: "shows node selector, tolerations and events of the node-agents".to_owned(),
            risk: "none".to_owned(),
        },
        (NotWorking::NodeGone | NotWorking::NodeNotReady, _) => Action {
            command: format!("kubectl describe node {}", words::quoted(&node.node)),
            effect: "shows the node, if it still exists".to_owned(),
            risk: "none".to_owned(),
        },
    };
    let mut actions = vec![look];
    if why == NotWorking::NodeGone {
        actions.extend(words::cancel(
            tasks,
            "ends them: another node-agent does it, after 5 minutes, or an hour for one that is InProgress (v1.17 on)",
            "their backup or restore ends as partially failed; up to v1.16 an InProgress task may not react",
        ));
    }
    actions
}
