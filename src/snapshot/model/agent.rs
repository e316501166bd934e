//! One node-agent, and what its log says of its start.

use jiff::Timestamp;

use super::super::{AgentMetrics, LogEvidence, Observed};
use super::object::{Container, ContainerState, Pod, Ready};
use crate::velero::{Profile, VeleroVersion};

/// How sure the profile of a node-agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileBasis {
    /// The version was read and its release is known.
    Release,
    /// The version was read and is newer than every release known: the newest rules, unverified.
    NewerThanKnown,
    /// The version could not be read: the newest rules that the objects' fields allow.
    GuessedFromFields,
}

/// One node-agent pod.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeAgent {
    /// The pod.
    pub pod: Pod,
    /// The name of the container that runs the agent (`node-agent`, `node-agent-windows`).
    pub container: String,
    /// The agent's version, from its image tag, or from its log's start line.
    pub version: Observed<VeleroVersion>,
    /// The rules by which it acts.
    pub profile: Profile,
    /// How sure they are.
    pub profile_basis: ProfileBasis,
    /// When the process started: `state.running.startedAt` of the container.
    pub started_at: Option<Timestamp>,
    /// The value of `--node-agent-configmap`, if given.
    pub config_map_flag: Option<String>,
    /// The value of `--backup-repository-configmap`, if given.
    pub repository_config_map_flag: Option<String>,
    /// `--data-mover-prepare-timeout`, or its default, in seconds.
    pub prepare_timeout_seconds: i64,
    /// What the agent's log says of its start, if a log was given.
    pub log: Option<StartLog>,
    /// What the log of the present process proves, if one was given that is its.
    pub evidence: Option<LogEvidence>,
    /// The same of the container before, if its log was given.
    pub previous_evidence: Option<LogEvidence>,
    /// What its metrics say, if they were read and are those of the present process.
    pub metrics: Option<AgentMetrics>,
}

/// What the log of the present agent process says of its start (the markers of
/// v1.13 … main pkg/cmd/cli/nodeagent/server.go).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartLog {
    /// The time of "Starting Velero node-agent server", if that line is there.
    pub process_start: Option<Timestamp>,
    /// The version in that line.
    pub version: Option<String>,
    /// The limit that the log states: "Use the per node number N …", "… use the global number N",
    /// "… use the default number N".
    pub limit: Option<i64>,
    /// The prepare queue that the log states: "VGDP loads are constrained with N".
    pub prepare_queue: Option<i64>,
}

impl NodeAgent {
    /// Returns the node the agent runs on.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.pod.node.as_deref()
    }

    /// Returns whether the pod works: Running, its agent container ready, not terminating.
    /// Whether the Node is Ready is asked elsewhere.
    #[must_use]
    pub fn pod_works(&self) -> bool {
        self.pod.phase == "Running"
            && self.pod.deletion.is_none()
            && self.pod.containers.iter().any(|container| {
                container.name == self.container
                    && container.ready == Ready::Yes
                    && matches!(container.state, ContainerState::Running { .. })
            })
    }

    /// Returns the status of the agent's container.
    #[must_use]
    pub fn container_status(&self) -> Option<&Container> {
        self.pod
            .containers
            .iter()
            .find(|container| container.name == self.container)
    }
}
