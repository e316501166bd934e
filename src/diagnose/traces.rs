//! Of which node-agents the objects alone do not tell enough, so that log and metrics are worth a request.

use crate::replay::{LimitBasis, NodeReplay, Replay, Situation, Verb, is_healthy};
use crate::snapshot::{AgentPod, NodeAgent, Restarted, Snapshot};
use crate::velero::Phase;

/// Agents asked at most: on a larger trouble the first ones tell what it is, and the API server is spared.
const MOST_AGENTS: usize = 20;

/// Returns the node-agents whose traces would decide something: somebody waits beside a slot that seems free, a
/// holder is broken, a task has ended and does not say so, the limit in force is not known while it matters, or nobody accepts a New task.
#[must_use]
pub fn nodes_that_need_logs(snapshot: &Snapshot, replay: &Replay<'_>) -> Vec<AgentPod> {
    let ignored_everywhere = ignored_by(snapshot, replay, None);
    replay
        .nodes
        .values()
        .filter(|node| node.working.is_yes())
        .filter(|node| {
            needs_log(replay, node)
                || ignored_everywhere
                || ignored_by(snapshot, replay, Some(&node.node))
        })
        .filter_map(|node| node.agent)
        .map(agent_pod)
        .take(MOST_AGENTS)
        .collect()
}

fn needs_log(replay: &Replay<'_>, node: &NodeReplay<'_>) -> bool {
    let waits_beside_a_slot = node.pools.iter().any(|pool| {
        let held = i64::try_from(pool.holders.len()).unwrap_or(i64::MAX);
        !pool.waiting.is_empty() && pool.limit.is_none_or(|limit| held < limit)
    });
    let holders = node.holders();
    let broken = holders
        .iter()
        .any(|holder| !replay.tasks.get(holder).is_some_and(is_healthy));
    // Such a task holds no slot any more, and why its last write is missing stands in the log alone.
    let ended_untold = replay.tasks.values().any(|task| {
        task.node.as_deref() == Some(&node.node)
            && matches!(task.situation, Situation::DoneButPodGone { .. })
    });
    let limit_unknown = match node.limit.basis {
        LimitBasis::Proven | LimitBasis::Logged => false,
        LimitBasis::AssumedUnchanged(_) | LimitBasis::Drifted(_) | LimitBasis::Unreadable(_) => {
            true
        }
    };
    waits_beside_a_slot || broken || ended_untold || (limit_unknown && !node.waiting().is_empty())
}

/// Whether a New task that nothing holds back has waited beyond the threshold: one bound to a node, or one that
/// any agent may accept.
fn ignored_by(snapshot: &Snapshot, replay: &Replay<'_>, node: Option<&str>) -> bool {
    replay.tasks.values().any(|task| {
        let bound_to = if task.task.reference.kind.is_data_movement() {
            None
        } else {
            task.node.as_deref()
        };
        let waited = task.task.created.is_some_and(|created| {
            snapshot.taken_at.duration_since(created).as_secs() >= replay.options.threshold_seconds
        });
        task.task.phase == Phase::New
            && bound_to == node
            && waited
            && task.decision.verb == Verb::Accept
    })
}

fn agent_pod(agent: &NodeAgent) -> AgentPod {
    let restarted = agent
        .container_status()
        .is_some_and(|status| status.restarts > 0);
    AgentPod {
        namespace: agent.pod.key.namespace.clone(),
        pod: agent.pod.key.name.clone(),
        container: agent.container.clone(),
        restarted: if restarted {
            Restarted::Yes
        } else {
            Restarted::No
        },
        started_at: agent.started_at,
    }
}
