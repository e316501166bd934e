//! Kubernetes' own objects, with the fields that are read.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::ObjectKey;
use super::labels::Labels;
use super::mark::Mark;
use super::task::ManagedFields;
use crate::velero::NodeAgentConfig;

/// Whether a container is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It is not.
    No,
    /// It is.
    Yes,
}

/// A pod, with the fields that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`: with the UID the precondition of every write.
    pub resource_version: Option<String>,
    /// What this tool did to it before, by the annotations that it leaves.
    pub marks: Vec<Mark>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`: when the pod will be gone, which may lie in the future.
    pub deletion: Option<Timestamp>,
    /// When its deletion was asked for: `metadata.deletionTimestamp` less
    /// `metadata.deletionGracePeriodSeconds`.
    pub deletion_asked: Option<Timestamp>,
    /// `spec.nodeName`.
    pub node: Option<String>,
    /// `status.phase`.
    pub phase: String,
    /// `status.reason`, such as `Evicted`.
    pub reason: String,
    /// `status.message`.
    pub message: String,
    /// `status.startTime`.
    pub start_time: Option<Timestamp>,
    /// `status.conditions`.
    pub conditions: Vec<Condition>,
    /// `status.initContainerStatuses`.
    pub init_containers: Vec<Container>,
    /// `status.containerStatuses`.
    pub containers: Vec<Container>,
    /// Names of `spec.initContainers`.
    pub init_container_names: Vec<String>,
    /// Names of `spec.volumes`.
    pub volumes: Vec<String>,
    /// PVC names used by `spec.volumes`.
    pub claims: Vec<String>,
    /// The first controller owner, as kind and name.
    pub owner: Option<(String, String)>,
}

impl Pod {
    /// Returns whether the pod has ended: phase Succeeded or Failed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Returns when the pod ended: the newest container end, else the Ready condition's change; `None`
    /// when it has not ended or does not say.
    #[must_use]
    pub fn ended_at(&self) -> Option<Timestamp> {
        if !self.has_ended() {
            return None;
        }
        let containers = self
            .containers
            .iter()
            .filter_map(|container| match &container.state {
                ContainerState::Terminated(end) => end.finished_at,
                ContainerState::Running { .. }
                | ContainerState::Waiting { .. }
                | ContainerState::None => None,
            });
        containers.max().or_else(|| {
            self.conditions
                .iter()
                .filter(|condition| condition.kind == "Ready" || condition.kind == "PodScheduled")
                .filter_map(|condition| condition.changed)
                .max()
        })
    }

    /// Returns when the pod began to run: the newest `state.running.startedAt` of its containers, else
    /// the change of the Ready condition to True, else `status.startTime`.
    #[must_use]
    pub fn running_since(&self) -> Option<Timestamp> {
        if self.phase != "Running" {
            return None;
        }
        self.containers
            .iter()
            .filter_map(|container| match &container.state {
                ContainerState::Running { started_at } => *started_at,
                ContainerState::Terminated(_)
                | ContainerState::Waiting { .. }
                | ContainerState::None => None,
            })
            .max()
            .or_else(|| {
                self.conditions
                    .iter()
                    .find(|condition| condition.kind == "Ready" && condition.status == "True")
                    .and_then(|condition| condition.changed)
            })
            .or(self.start_time)
    }

    /// Looks for a condition by type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }
}

/// A condition of a pod, node or other object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `type`.
    pub kind: String,
    /// `status`: `True`, `False` or `Unknown`.
    pub status: String,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
    /// `lastTransitionTime`.
    pub changed: Option<Timestamp>,
}

/// The status of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// The image of the pod's spec (`status` may name only a digest).
    pub image: String,
    /// Whether it is ready.
    pub ready: Ready,
    /// `restartCount`.
    pub restarts: i64,
    /// `state`.
    pub state: ContainerState,
    /// `lastState.terminated`.
    pub last_end: Option<ContainerEnd>,
}

/// `state` of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// Running since.
    Running {
        /// `startedAt`.
        started_at: Option<Timestamp>,
    },
    /// Waiting.
    Waiting {
        /// Such as `CrashLoopBackOff`, `ErrImageNeverPull`.
        reason: String,
        /// The kubelet's words.
        message: String,
    },
    /// Ended.
    Terminated(ContainerEnd),
    /// No status yet.
    None,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerEnd {
    /// Such as `OOMKilled`, `Error`, `Completed`.
    pub reason: String,
    /// `exitCode`.
    pub exit_code: i64,
    /// `message`: for an agent the end of its output.
    pub message: String,
    /// `startedAt`.
    pub started_at: Option<Timestamp>,
    /// `finishedAt`.
    pub finished_at: Option<Timestamp>,
}

/// A Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// `metadata.labels`, which perNodeConfig selectors look at.
    pub labels: BTreeMap<String, String>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// The Ready condition, if there is one.
    pub ready: Option<Condition>,
    /// `spec.unschedulable`.
    pub cordoned: Cordoned,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// For each label key, the time of the newest managedFields entry that owns it; empty without managedFields.
    pub label_writes: BTreeMap<String, Timestamp>,
    /// Whether managedFields are in the input.
    pub managed_fields: ManagedFields,
}

/// What keeps pods off a Node that do not tolerate it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value; empty without one.
    pub value: String,
    /// `NoSchedule`, `NoExecute` or `PreferNoSchedule`.
    pub effect: String,
}

/// A taint, or taints, that a pod tolerates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The key; empty for all.
    pub key: String,
    /// `Exists` or `Equal`; empty for `Equal`.
    pub operator: String,
    /// The value.
    pub value: String,
    /// The effect; empty for all.
    pub effect: String,
}

/// Whether pods use the network of their node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostNetwork {
    /// They have one of their own.
    No,
    /// `hostNetwork` is true.
    Yes,
}

/// Whether a Node takes no new pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cordoned {
    /// It takes pods.
    No,
    /// `spec.unschedulable` is true.
    Yes,
}

/// A DaemonSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSet {
    /// Its name.
    pub name: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `status.desiredNumberScheduled`.
    pub desired: i64,
    /// `status.numberReady`.
    pub ready: i64,
    /// Labels of the pod template.
    pub template_labels: BTreeMap<String, String>,
    /// Tolerations of the pod template; the DaemonSet controller adds some to each pod that it makes.
    pub tolerations: Vec<Toleration>,
    /// `hostNetwork` of the pod template.
    pub host_network: HostNetwork,
    /// Command and arguments of the template's first container.
    pub args: Vec<String>,
    /// Image of the template's first container.
    pub image: String,
    /// Whether it is the node-agent's: named `node-agent*`, or its template carries the node-agent label.
    pub is_node_agent: IsNodeAgent,
}

/// Whether something belongs to the node-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsNodeAgent {
    /// It does not.
    No,
    /// It does.
    Yes,
}

/// A ConfigMap that may configure node-agents.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigMap {
    /// Its name.
    pub name: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// The newest managedFields time of an owner of its data.
    pub data_written: Option<Timestamp>,
    /// Whether managedFields are in the input.
    pub managed_fields: ManagedFields,
    /// The keys of `data`, sorted.
    pub keys: Vec<String>,
    /// The configuration that the first key holds, or why it holds none.
    pub config: Result<NodeAgentConfig, String>,
    /// The configuration of every key, by key, where there are several.
    pub all: BTreeMap<String, Result<NodeAgentConfig, String>>,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`.
    pub deletion: Option<Timestamp>,
    /// `status.phase`: `Bound`, `Pending`, `Lost`.
    pub phase: String,
    /// `spec.volumeName`.
    pub volume_name: String,
    /// `spec.storageClassName`.
    pub storage_class: Option<String>,
    /// The annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<String>,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
}

/// A VolumeSnapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSnapshot {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `status.readyToUse`, or `None` while there is none.
    pub ready_to_use: Option<bool>,
    /// `status.error.message`.
    pub error: Option<String>,
}

/// An Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is about.
    pub about: crate::velero::ObjectRef,
    /// The UID of that object; empty when it is not given.
    pub about_uid: String,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// Such as `FailedMount`.
    pub reason: String,
    /// Its words.
    pub message: String,
    /// When it was last seen: `lastTimestamp`, `series.lastObservedTime`, `eventTime`, or the creation.
    pub last_seen: Option<Timestamp>,
    /// When it was first seen.
    pub first_seen: Option<Timestamp>,
    /// How often.
    pub count: i64,
}
