//! The restarts of several node-agents together, for who plays them: without the words of the bill, and
//! without a look at every task for every node.

use std::collections::{BTreeMap, BTreeSet};

use super::{AfterRestart, Bill, RestartObstacle, daemon_set, rules};
use crate::replay::{Replay, TaskReplay};
use crate::snapshot::{Observed, Snapshot};
use crate::velero::profile::OnRestart;
use crate::velero::{Phase, Profile, TaskRef};

/// Returns the rules of the node-agent that would start on a node.
#[must_use]
pub fn restart_rules(snapshot: &Snapshot, replay: &Replay<'_>, node: &str) -> Profile {
    bill(snapshot, replay, node).rules
}

/// Returns what stands against the restart of the node-agent of a node, strongest first.
#[must_use]
pub fn restart_obstacles(
    snapshot: &Snapshot,
    replay: &Replay<'_>,
    node: &str,
) -> Vec<RestartObstacle> {
    let bill = bill(snapshot, replay, node);
    let set = bill.agent.and_then(|agent| daemon_set(snapshot, agent));
    bill.obstacles(set)
}

/// Returns what the restart of the node-agents of all these nodes would do to each task that it concerns, and
/// the rules of the release that does it. Where two restarts concern one task, the worse counts.
#[must_use]
pub fn restarts<'s>(
    snapshot: &'s Snapshot,
    replay: &Replay<'s>,
    nodes: &BTreeSet<&str>,
) -> BTreeMap<&'s TaskRef, (AfterRestart, Profile)> {
    let bills: BTreeMap<&str, Bill<'_, 's>> = nodes
        .iter()
        .map(|node| (*node, bill(snapshot, replay, node)))
        .collect();
    replay
        .tasks
        .values()
        .filter_map(|task| {
            let then = concerned(&bills, task)
                .into_iter()
                .filter_map(|bill| Some((bill.of(task)?.then, bill.rules)))
                .min_by_key(|(then, _)| severity(*then))?;
            Some((&task.task.reference, then))
        })
        .collect()
}

fn bill<'b, 's>(snapshot: &'s Snapshot, replay: &'b Replay<'s>, node: &'b str) -> Bill<'b, 's> {
    let agent = replay.nodes.get(node).and_then(|node| node.agent);
    let set = agent.and_then(|agent| daemon_set(snapshot, agent));
    let (rules, _) = rules(snapshot, replay, node, agent, set);
    Bill {
        snapshot,
        replay,
        node,
        agent,
        rules,
    }
}

/// The bills that a task can be on: those of its node, of its pod's and of its acceptor's, and one of a release
/// that cancels what is Accepted anywhere.
fn concerned<'b, 'c, 's>(
    bills: &'b BTreeMap<&str, Bill<'c, 's>>,
    task: &TaskReplay<'_>,
) -> Vec<&'b Bill<'c, 's>> {
    let pod = match task.pod {
        Observed::Seen(pod) => pod.node.as_deref(),
        Observed::Absent | Observed::Unknown(_) => None,
    };
    let own = [task.node.as_deref(), pod, task.task.accepted_by.as_deref()];
    let mut found: Vec<_> = own
        .into_iter()
        .flatten()
        .filter_map(|node| bills.get(node))
        .collect();
    if task.task.phase == Phase::Accepted {
        found.extend(
            bills
                .values()
                .find(|bill| bill.on_restart(task) == OnRestart::CanceledEverywhere),
        );
    }
    found
}

/// What ends a task comes before what strands it, and that before the rest.
const fn severity(then: AfterRestart) -> u8 {
    match then {
        AfterRestart::Canceled | AfterRestart::Failed => 0,
        AfterRestart::Stranded => 1,
        AfterRestart::Resumed
        | AfterRestart::StartsAgain
        | AfterRestart::Unobserved
        | AfterRestart::Released => 2,
    }
}
