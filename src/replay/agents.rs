//! Which agent acts for a node, whether it works, and by which rules.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{NotWorking, Working};
use crate::snapshot::{
    ContainerState, Coverage, NodeAgent, Observed, Pod, ProfileBasis, ResourceKind, Snapshot,
    rules_from_fields,
};
use crate::velero::Profile;

/// The agents of a snapshot, by node.
#[derive(Clone, Debug)]
pub(super) struct Agents<'s> {
    snapshot: &'s Snapshot,
    by_node: BTreeMap<&'s str, Vec<&'s NodeAgent>>,
    cluster: (Profile, ProfileBasis),
}

impl<'s> Agents<'s> {
    /// Sorts the agents by node and finds the rules for tasks without one.
    pub(super) fn of(snapshot: &'s Snapshot) -> Self {
        let mut by_node: BTreeMap<&str, Vec<&NodeAgent>> = BTreeMap::new();
        for agent in &snapshot.agents {
            if let Some(node) = agent.node() {
                by_node.entry(node).or_default().push(agent);
            }
        }
        for agents in by_node.values_mut() {
            // The one that acts comes first: a working pod before a broken one, then the newest process.
            agents.sort_by_key(|agent| {
                (
                    !agent.pod_works(),
                    std::cmp::Reverse(agent.started_at.or(agent.pod.created)),
                    &agent.pod.key,
                )
            });
        }
        Self {
            snapshot,
            by_node,
            cluster: cluster_rules(snapshot),
        }
    }

    /// Returns the nodes that have an agent pod.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &'s str> + use<'s, '_> {
        self.by_node.keys().copied()
    }

    /// Returns the agent that acts for a node: the working one, else the newest.
    pub(super) fn acting(&self, node: &str) -> Option<&'s NodeAgent> {
        self.by_node.get(node)?.first().copied()
    }

    /// Returns whether some node has a working agent; `None` when that is not known.
    pub(super) fn any_works(&self) -> Option<bool> {
        if self.nodes().any(|node| self.working(node).is_yes()) {
            return Some(true);
        }
        self.pods_are_complete().then_some(false)
    }

    /// Returns the rules of a node: its agent's, else those of the rest of the cluster.
    pub(super) fn rules(&self, node: Option<&str>) -> (Profile, ProfileBasis) {
        node.and_then(|node| self.acting(node))
            .map_or(self.cluster, |agent| (agent.profile, agent.profile_basis))
    }

    /// Returns whether a node has a working agent. A Node that is gone or not Ready excludes it whatever
    /// its pods say: the kubelet that reported them does not speak any more.
    pub(super) fn working(&self, node: &str) -> Working {
        match self.snapshot.node(node) {
            // Single documents of a file are not all Nodes there are; a working agent says that its own is one.
            Observed::Absent
                if self.snapshot.coverage_of(ResourceKind::Node, "") == Coverage::Present
                    && self.acting(node).is_some_and(NodeAgent::pod_works) => {}
            Observed::Absent => {
                return Working::No {
                    why: NotWorking::NodeGone,
                    since: None,
                };
            }
            Observed::Seen(seen) => {
                if let Some(ready) = seen.ready.as_ref().filter(|ready| ready.status != "True") {
                    return Working::No {
                        why: NotWorking::NodeNotReady,
                        since: ready.changed,
                    };
                }
            }
            Observed::Unknown(_) => {}
        }
        match self.acting(node) {
            Some(agent) if agent.pod_works() => Working::Yes,
            Some(agent) => Working::No {
                why: NotWorking::AgentNotReady,
                since: broken_since(&agent.pod),
            },
            None if self.pods_are_complete() => Working::No {
                why: NotWorking::AgentMissing,
                since: None,
            },
            None => Working::Unknown,
        }
    }

    fn pods_are_complete(&self) -> bool {
        match self
            .snapshot
            .coverage_of(ResourceKind::Pod, &self.snapshot.namespace)
        {
            Coverage::Listed | Coverage::Present => true,
            Coverage::Partial | Coverage::Unreadable(_) => false,
        }
    }
}

/// Returns since when an agent pod provably does not work: since when it is not Ready, at least since
/// it exists. A pod that is being deleted says when it will be gone, and with its grace period
/// when that was asked for.
fn broken_since(pod: &Pod) -> Option<Timestamp> {
    let not_ready = ["Ready", "ContainersReady"].into_iter().find_map(|kind| {
        pod.condition(kind)
            .filter(|condition| condition.status != "True")
            .and_then(|condition| condition.changed)
    });
    let ended = pod
        .containers
        .iter()
        .filter_map(|container| match &container.state {
            ContainerState::Terminated(end) => end.finished_at,
            ContainerState::Running { .. }
            | ContainerState::Waiting { .. }
            | ContainerState::None => None,
        });
    // The earliest of them: a pod that was broken before it was deleted is no blip.
    [not_ready, pod.deletion_asked]
        .into_iter()
        .flatten()
        .min()
        .or_else(|| ended.max())
        .or(if pod.phase == "Pending" {
            pod.created
        } else {
            None
        })
}

/// Returns the rules for tasks that belong to no node with an agent: those that most agents follow
/// (during a rollout either may act), else the newest that the objects' fields allow.
fn cluster_rules(snapshot: &Snapshot) -> (Profile, ProfileBasis) {
    let mut counts: BTreeMap<&str, (usize, (Profile, ProfileBasis))> = BTreeMap::new();
    for agent in &snapshot.agents {
        counts
            .entry(agent.profile.since)
            .or_insert((0, (agent.profile, agent.profile_basis)))
            .0 += 1;
    }
    counts
        .into_values()
        .max_by_key(|(count, _)| *count)
        .map_or_else(
            || {
                (
                    rules_from_fields(&snapshot.tasks),
                    ProfileBasis::GuessedFromFields,
                )
            },
            |(_, rules)| rules,
        )
}
