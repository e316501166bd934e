//! A busy worker, as far as the objects alone show it: each kind has one worker in each node-agent, and
//! it does nothing else while it exposes a volume or waits for a pod (v1.17.2
//! `pkg/controller/data_upload_controller.go`, `pkg/exposer/pod_volume.go`).

use std::collections::BTreeSet;

use super::SlotCause;
use crate::diagnose::case::Case;
use crate::diagnose::finding::{Confidence, Evidence};
use crate::diagnose::rules::words;
use crate::replay::{Doom, NodeReplay, Pool, Situation, TaskReplay};
use crate::snapshot::Observed;
use crate::velero::{DEFAULT_RESOURCE_TIMEOUT_SECONDS, ObjectRef, Phase, TaskKind};

/// Returns what keeps the workers of every waiting kind busy, if something does for each. `tasks` are those that
/// the agent accepted or that are on its node.
pub(in crate::diagnose::rules) fn busy_worker(
    case: &Case<'_, '_>,
    node: &NodeReplay<'_>,
    pools: &[&Pool<'_>],
    tasks: &[&TaskReplay<'_>],
) -> Option<SlotCause> {
    let kinds: BTreeSet<TaskKind> = pools
        .iter()
        .flat_map(|pool| pool.waiting.iter().map(|task| task.kind))
        .collect();
    let busy: Option<Vec<&TaskReplay<'_>>> = kinds
        .iter()
        .map(|kind| {
            tasks.iter().copied().find(|task| {
                task.task.reference.kind == *kind
                    && (exposes(case, node, task) || waits_for_its_pod(case, node, task))
            })
        })
        .collect();
    let busy = busy.filter(|busy| !busy.is_empty())?;
    let names: Vec<&str> = busy
        .iter()
        .map(|task| task.task.reference.name.as_str())
        .collect();
    Some(SlotCause {
        cause: "worker-blocked",
        confidence: Confidence::Likely,
        culprits: busy
            .iter()
            .map(|task| ObjectRef::from(&task.task.reference))
            .collect(),
        why: format!(
            "the one worker of the kind is busy with {}, and looks at nothing else until that is over",
            words::names(names)
        ),
        evidence: busy
            .iter()
            .flat_map(|task| {
                [
                    words::task_field(task.task, ".status.phase", task.task.phase.as_str()),
                    Evidence::derived(
                        format!("mover pod of {}", task.task.reference),
                        match task.pod {
                            Observed::Seen(pod) => pod.phase.clone(),
                            Observed::Absent => "not made yet".to_owned(),
                            Observed::Unknown(_) => "not known".to_owned(),
                        },
                    ),
                ]
            })
            .collect(),
    })
}

/// Whether the agent of the node is in the Expose of a task: it accepted it since it started, and there
/// is no mover pod yet. Only data movement waits in there, for a snapshot or a consumer.
fn exposes(case: &Case<'_, '_>, node: &NodeReplay<'_>, task: &TaskReplay<'_>) -> bool {
    let start = node.agent.and_then(|agent| agent.started_at);
    task.task.phase == Phase::Accepted
        && task.task.reference.kind.is_data_movement()
        && task.pod.is_absent()
        && task.task.accepted_by.as_deref() == Some(node.node.as_str())
        && task.accepted_at > start
        && task
            .deadline
            .as_ref()
            .is_none_or(|deadline| deadline.at > case.now())
}

/// Whether the worker of a pod volume waits for a pod that has ended: up to the resource timeout.
fn waits_for_its_pod(case: &Case<'_, '_>, node: &NodeReplay<'_>, task: &TaskReplay<'_>) -> bool {
    let ended = task.pod.seen().and_then(crate::snapshot::Pod::ended_at);
    !task.task.reference.kind.is_data_movement()
        && task.situation == Situation::Doomed(Doom::PodTerminal)
        && task.node.as_deref() == Some(node.node.as_str())
        && !case.older_than(ended, DEFAULT_RESOURCE_TIMEOUT_SECONDS)
}
