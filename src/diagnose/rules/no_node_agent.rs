//! No node-agent works anywhere and nothing says that one crashes (row 1b of the precedence).

use super::{agent_crashloop, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Situation, Working};
use crate::snapshot::{Coverage, DaemonSet, IsNodeAgent, NodeAgent, ResourceKind, SourceType};
use crate::velero::TaskRef;

/// How long agents may be not ready without a word, in seconds: a rollout replaces them one by one,
/// and on a cluster of one node there is none for a moment. The same time as in row 2.
const ROLLOUT_SECONDS: i64 = 120;

/// Proposes at most one finding.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let tasks: Vec<TaskRef> = case
        .tasks()
        .filter(|task| task.situation != Situation::Foreign)
        .map(|task| task.task.reference.clone())
        .collect();
    if tasks.is_empty() || case.replay.nodes.values().any(|node| node.working.is_yes()) {
        return;
    }
    if let Some(why) = unreadable(case) {
        words::undecided(out, FindingId::NoNodeAgent, CouldBe::Critical, why);
        return;
    }
    if !agent_crashloop::crashes(case).is_empty() || is_rolling(case) {
        return;
    }
    out.findings.push(finding(case, tasks));
}

/// Why it cannot be said that there is no agent.
fn unreadable(case: &Case<'_, '_>) -> Option<String> {
    let snapshot = case.snapshot;
    if !snapshot.agents.is_empty() {
        return None;
    }
    match snapshot.coverage_of(ResourceKind::Pod, &snapshot.namespace) {
        Coverage::Unreadable(reason) => Some(format!(
            "no node-agent pod could be read in namespace {} ({})",
            snapshot.namespace,
            reason.as_str()
        )),
        Coverage::Partial => Some(format!(
            "only a part of the pods of namespace {} could be read, and no node-agent is among them",
            snapshot.namespace
        )),
        Coverage::Listed | Coverage::Present => {
            let others = snapshot
                .pods
                .keys()
                .any(|key| key.namespace == snapshot.namespace);
            (snapshot.source.source == SourceType::Files && !others).then(|| {
                format!(
                    "the input holds no pod of namespace {}, so it does not show whether a node-agent works",
                    snapshot.namespace
                )
            })
        }
    }
}

/// Whether an agent was provably replaced or lost its readiness a moment ago.
fn is_rolling(case: &Case<'_, '_>) -> bool {
    let fresh_pod = case.snapshot.agents.iter().any(|agent| {
        !agent.pod.has_ended()
            && agent
                .pod
                .created
                .is_some_and(|time| case.age(time) < ROLLOUT_SECONDS)
    });
    let fresh_end = case.replay.nodes.values().any(|node| match &node.working {
        Working::No {
            since: Some(since), ..
        } => case.age(*since) < ROLLOUT_SECONDS,
        Working::No { since: None, .. } | Working::Yes | Working::Unknown => false,
    });
    fresh_pod || fresh_end
}

fn finding(case: &Case<'_, '_>, tasks: Vec<TaskRef>) -> Finding {
    let snapshot = case.snapshot;
    let sets: Vec<&DaemonSet> = snapshot
        .daemon_sets
        .values()
        .filter(|set| set.is_node_agent == IsNodeAgent::Yes)
        .collect();
    let sets_known = match snapshot.coverage_of(ResourceKind::DaemonSet, &snapshot.namespace) {
        Coverage::Listed | Coverage::Present => SetsKnown::Yes,
        Coverage::Partial | Coverage::Unreadable(_) => SetsKnown::No,
    };
    let pods: Vec<&NodeAgent> = snapshot.agents.iter().collect();
    let cause = if sets.is_empty() && sets_known == SetsKnown::Yes && pods.is_empty() {
        "daemonset-missing"
    } else if pods.is_empty() {
        "none-scheduled"
    } else {
        "none-ready"
    };
    let confidence = if pods.is_empty() && sets.is_empty() && sets_known == SetsKnown::No {
        Confidence::Likely
    } else {
        Confidence::Certain
    };
    let mut finding = Finding::new(
        FindingId::NoNodeAgent,
        Severity::Critical,
        case.cap(confidence),
        summary(case, cause, &sets, &tasks),
    );
    finding.cause = Some(cause);
    finding.since = all_down_since(case);
    finding.deadline = case.earliest_deadline(&tasks);
    finding.tasks = tasks;
    finding.evidence = evidence(case, &sets, &pods);
    finding.actions = actions(cause, &sets, &pods);
    finding.references = vec!["velero-io/velero#9697"];
    finding
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetsKnown {
    Yes,
    No,
}

/// Since when provably none works: the latest of the agents' own times, if each has one.
fn all_down_since(case: &Case<'_, '_>) -> Option<jiff::Timestamp> {
    let times: Option<Vec<jiff::Timestamp>> = case
        .replay
        .nodes
        .values()
        .filter(|node| node.agent.is_some())
        .map(|node| match &node.working {
            Working::No { since, .. } => *since,
            Working::Yes | Working::Unknown => None,
        })
        .collect();
    times?.into_iter().max()
}

fn summary(case: &Case<'_, '_>, cause: &str, sets: &[&DaemonSet], tasks: &[TaskRef]) -> String {
    let wait = format!(
        "{} {}",
        words::tasks(tasks),
        words::verb(
            tasks.len(),
            "has nobody to run it",
            "have nobody to run them"
        )
    );
    let names = words::names(sets.iter().map(|set| set.name.as_str()));
    match cause {
        "daemonset-missing" => format!(
            "Namespace {} has no node-agent DaemonSet; {wait}.",
            case.snapshot.namespace
        ),
        "none-scheduled" if sets.is_empty() => format!(
            "Namespace {} has no node-agent pod; {wait}.",
            case.snapshot.namespace
        ),
        "none-scheduled" => format!("DaemonSet {names} has no pod on any node; {wait}."),
        _ => format!(
            "None of {} is ready; {wait}.",
            words::count(case.snapshot.agents.len(), "node-agent pod")
        ),
    }
}

fn evidence(case: &Case<'_, '_>, sets: &[&DaemonSet], pods: &[&NodeAgent]) -> Vec<Evidence> {
    let namespace = &case.snapshot.namespace;
    let mut evidence = Vec::new();
    for set in sets {
        evidence.push(Evidence::field(
            format!("DaemonSet {namespace}/{} .status", set.name),
            format!(
                "desiredNumberScheduled {}, numberReady {}",
                set.desired, set.ready
            ),
        ));
    }
    if sets.is_empty() {
        evidence.push(Evidence::derived(
            format!("DaemonSets of namespace {namespace}"),
            match case
                .snapshot
                .coverage_of(ResourceKind::DaemonSet, namespace)
            {
                Coverage::Listed | Coverage::Present => "no node-agent among them".to_owned(),
                Coverage::Partial => "read only in part".to_owned(),
                Coverage::Unreadable(reason) => format!("not read: {}", reason.as_str()),
            },
        ));
    }
    if pods.is_empty() {
        evidence.push(Evidence::derived(
            format!("pods of namespace {namespace}"),
            "no node-agent among them".to_owned(),
        ));
    }
    for agent in pods.iter().take(words::EVIDENCE_SHOWN) {
        let pod = &agent.pod;
        evidence.push(words::pod_field(pod, ".status.phase", &pod.phase));
        if let Some(ready) = pod.condition("Ready") {
            evidence.push(Evidence::condition(
                format!("{} Ready", words::pod_ref(pod)),
                format!("{} {}", ready.status, ready.reason)
                    .trim_end()
                    .to_owned(),
            ));
        }
    }
    evidence
}

fn actions(cause: &str, sets: &[&DaemonSet], pods: &[&NodeAgent]) -> Vec<Action> {
    let look = |command: String, effect: &str| Action {
        command,
        effect: effect.to_owned(),
        risk: "none".to_owned(),
    };
    match (cause, sets.first(), pods.first()) {
        ("none-ready", _, Some(agent)) => vec![words::describe_pod(&agent.pod.key.name)],
        (_, Some(set), _) => vec![look(
            format!(
                "kubectl describe daemonset {{ns}} {}",
                words::quoted(&set.name)
            ),
            "shows the node selector, the tolerations and why no pod is made",
        )],
        _ => vec![look(
            "kubectl get daemonset {ns}".to_owned(),
            "shows whether the node-agent is installed; `velero install --use-node-agent` or the chart's `deployNodeAgent` makes it",
        )],
    }
}

#[cfg(test)]
mod tests;
