//! What was seen, typed.
//!
//! A [`Snapshot`] is read from a [`crate::capture::Capture`] by a pure function. Whatever could not be read is a [`Gap`]
//! that travels to the report; a lookup answers [`Observed::Unknown`] for it, never [`Observed::Absent`].

use std::collections::BTreeMap;

use jiff::Timestamp;

pub use crate::capture::{GapReason, NowFrom, ResourceKind, SourceType};
use crate::velero::{NodeAgentConfig, Phase, Profile, TaskRef, VeleroVersion};

/// What a look at something showed. Never an `Option` that merges "no" with "could not look".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed<T> {
    /// It is there.
    Seen(T),
    /// It is provably not there.
    Absent,
    /// It could not be read, and why.
    Unknown(GapReason),
}

impl<T> Observed<T> {
    /// Returns the value, if it was seen.
    #[must_use]
    pub fn seen(self) -> Option<T> {
        match self {
            Self::Seen(value) => Some(value),
            Self::Absent | Self::Unknown(_) => None,
        }
    }

    /// Returns whether it is provably not there.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Returns whether it could not be read.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

/// Something that could not be read or known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// The plural resource name, or what else was looked for (`input`, `log`, `limit`).
    pub resource: String,
    /// Why.
    pub reason: GapReason,
    /// What exactly, in the words of the server or file.
    pub message: String,
    /// What the answer lacks because of it.
    pub effect: String,
}

/// Where the answer comes from: the head of every document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceHead {
    /// Cluster or files.
    pub source: SourceType,
    /// Where "now" comes from.
    pub now_from: NowFrom,
    /// The API server, if there was one.
    pub server: Option<String>,
    /// The files, if there were any.
    pub paths: Vec<String>,
}

/// How much of a resource is known in one namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of it: a list of the cluster, of the namespace, or a `List` in a file.
    Listed,
    /// Some objects, as single documents of a file. They count as what there is, but not as proof that
    /// a parent is gone.
    Present,
    /// A part only: a list that was cut, or one that was restricted by a selector.
    Partial,
    /// Nothing, and why.
    Unreadable(GapReason),
}

/// Everything the analysis may know. Pure data: built by `snapshot::read`, changed by nobody.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// "Now".
    pub taken_at: Timestamp,
    /// Where it comes from.
    pub source: SourceHead,
    /// Velero's namespace.
    pub namespace: String,
    /// All tasks of Velero's namespace, final ones included.
    pub tasks: BTreeMap<TaskRef, Task>,
    /// All node-agent pods of Velero's namespace, by node and name; evicted and failed ones included.
    pub agents: Vec<NodeAgent>,
    /// All other pods that were read, by namespace and name, mover pods included.
    pub pods: BTreeMap<ObjectKey, Pod>,
    /// Nodes by name.
    pub nodes: BTreeMap<String, Node>,
    /// DaemonSets of Velero's namespace by name.
    pub daemon_sets: BTreeMap<String, DaemonSet>,
    /// ConfigMaps of Velero's namespace that an agent reads or that hold `loadConcurrency`.
    pub config_maps: BTreeMap<String, ConfigMap>,
    /// Backups of Velero's namespace by name.
    pub backups: BTreeMap<String, Parent>,
    /// Restores of Velero's namespace by name.
    pub restores: BTreeMap<String, Parent>,
    /// PersistentVolumeClaims by namespace and name.
    pub claims: BTreeMap<ObjectKey, Claim>,
    /// VolumeSnapshots by namespace and name.
    pub volume_snapshots: BTreeMap<ObjectKey, VolumeSnapshot>,
    /// Events, oldest first.
    pub events: Vec<Event>,
    /// Logs as they came, in the order of namespace, pod, container.
    pub logs: Vec<crate::capture::LogFile>,
    /// The version of the velero server, from its Deployment's image.
    pub server_version: Observed<VeleroVersion>,
    /// The server's `--fs-backup-timeout`, or its default, in seconds.
    pub fs_backup_timeout_seconds: i64,
    /// The server's `--default-item-operation-timeout`, or its default, in seconds.
    pub default_item_operation_timeout_seconds: i64,
    /// How much of each resource is known, by resource and namespace; `""` holds for namespaces not
    /// listed here (a list of the whole cluster, or the reason why there is none).
    pub coverage: BTreeMap<(ResourceKind, String), Coverage>,
    /// What could not be read.
    pub gaps: Vec<Gap>,
}

/// A namespace and a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// Makes a key.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl Snapshot {
    /// Returns how much of a resource is known in a namespace (`""` for Nodes).
    #[must_use]
    pub fn coverage_of(&self, resource: ResourceKind, namespace: &str) -> Coverage {
        self.coverage
            .get(&(resource, namespace.to_owned()))
            .or_else(|| self.coverage.get(&(resource, String::new())))
            .copied()
            .unwrap_or(Coverage::Unreadable(GapReason::NotInInput))
    }

    fn missing<T>(&self, resource: ResourceKind, namespace: &str) -> Observed<T> {
        match self.coverage_of(resource, namespace) {
            Coverage::Listed | Coverage::Present => Observed::Absent,
            Coverage::Partial => Observed::Unknown(GapReason::Partial),
            Coverage::Unreadable(reason) => Observed::Unknown(reason),
        }
    }

    /// Looks for a pod other than a node-agent pod.
    #[must_use]
    pub fn pod(&self, namespace: &str, name: &str) -> Observed<&Pod> {
        self.pods.get(&ObjectKey::new(namespace, name)).map_or_else(
            || self.missing(ResourceKind::Pod, namespace),
            Observed::Seen,
        )
    }

    /// Looks for a Node.
    #[must_use]
    pub fn node(&self, name: &str) -> Observed<&Node> {
        self.nodes
            .get(name)
            .map_or_else(|| self.missing(ResourceKind::Node, ""), Observed::Seen)
    }

    /// Looks for a ConfigMap of Velero's namespace.
    #[must_use]
    pub fn config_map(&self, name: &str) -> Observed<&ConfigMap> {
        self.config_maps.get(name).map_or_else(
            || self.missing(ResourceKind::ConfigMap, &self.namespace),
            Observed::Seen,
        )
    }

    /// Looks for a PersistentVolumeClaim.
    #[must_use]
    pub fn claim(&self, namespace: &str, name: &str) -> Observed<&Claim> {
        self.claims
            .get(&ObjectKey::new(namespace, name))
            .map_or_else(
                || self.missing(ResourceKind::PersistentVolumeClaim, namespace),
                Observed::Seen,
            )
    }

    /// Looks for a VolumeSnapshot.
    #[must_use]
    pub fn volume_snapshot(&self, namespace: &str, name: &str) -> Observed<&VolumeSnapshot> {
        self.volume_snapshots
            .get(&ObjectKey::new(namespace, name))
            .map_or_else(
                || self.missing(ResourceKind::VolumeSnapshot, namespace),
                Observed::Seen,
            )
    }

    /// Looks for the Backup or Restore of a task. Absent only where the kind was really listed: single
    /// documents of a file prove nothing about what is not among them.
    #[must_use]
    pub fn parent(&self, parent: &ParentRef) -> Observed<&Parent> {
        let (resource, map) = match parent.kind {
            ParentKind::Backup => (ResourceKind::Backup, &self.backups),
            ParentKind::Restore => (ResourceKind::Restore, &self.restores),
        };
        if let Some(found) = map.get(&parent.name) {
            return Observed::Seen(found);
        }
        match self.coverage_of(resource, &self.namespace) {
            Coverage::Listed => Observed::Absent,
            Coverage::Present | Coverage::Partial => Observed::Unknown(GapReason::Partial),
            Coverage::Unreadable(reason) => Observed::Unknown(reason),
        }
    }

    /// Returns the unfinished tasks, in order.
    pub fn unfinished(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(|task| !task.phase.is_final())
    }
}

/// One task, with the fields that are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name.
    pub reference: TaskRef,
    /// `metadata.uid`; mover pods name their container and volume after it.
    pub uid: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`.
    pub deletion: Option<Timestamp>,
    /// `status.phase`.
    pub phase: Phase,
    /// `spec.cancel`.
    pub cancel: Cancel,
    /// `spec.datamover`; empty reads as Velero's own.
    pub data_mover: String,
    /// `spec.uploaderType`.
    pub uploader_type: String,
    /// `status.node`.
    pub status_node: Option<String>,
    /// `spec.node` (PodVolumeBackup).
    pub spec_node: Option<String>,
    /// Who accepted it: `status.acceptedByNode`, else the annotation, else the label `velero.io/accepted-by`.
    pub accepted_by: Option<String>,
    /// `status.acceptedTimestamp`.
    pub accepted: Option<Timestamp>,
    /// The annotation `velero.io/accepted-at` (v1.15.1, v1.15.2).
    pub accepted_annotation: Option<Timestamp>,
    /// `status.startTimestamp`.
    pub started: Option<Timestamp>,
    /// `status.completionTimestamp`.
    pub completed: Option<Timestamp>,
    /// `status.progress`.
    pub progress: Option<Progress>,
    /// `status.message`.
    pub message: String,
    /// Whether the label `velero.io/expose-on-going` is set to `true`.
    pub exposing: Exposing,
    /// The Backup or Restore it belongs to.
    pub parent: Option<ParentRef>,
    /// `spec.operationTimeout`, in seconds.
    pub operation_timeout_seconds: Option<i64>,
    /// The PVC read from (DataUpload: `spec.sourceNamespace`/`spec.sourcePVC`) or written to
    /// (DataDownload: `spec.targetVolume`).
    pub claim: Option<ObjectKey>,
    /// `spec.pod` of a PodVolumeBackup or PodVolumeRestore.
    pub pod: Option<TargetPod>,
    /// `spec.volume` of a PodVolumeBackup or PodVolumeRestore.
    pub volume: String,
    /// `spec.csiSnapshot.volumeSnapshot`: the name of the source VolumeSnapshot in `spec.sourceNamespace`.
    pub snapshot_name: Option<String>,
    /// `spec.csiSnapshot.storageClass`.
    pub storage_class: Option<String>,
    /// What managedFields tell.
    pub writes: Writes,
}

/// Whether `spec.cancel` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// No.
    NotRequested,
    /// Yes.
    Requested,
}

/// Whether a task counts against the prepare queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposing {
    /// The label is not set.
    No,
    /// The label is `true`.
    Yes,
}

/// `status.progress`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes done; may be negative or larger than the total in broken objects.
    pub bytes_done: i64,
    /// Bytes in all; 0 while unknown.
    pub total_bytes: i64,
}

/// A pod named by a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetPod {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID; empty when the task does not carry it.
    pub uid: String,
}

/// What managedFields tell about a task's writes, to the second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Whether managedFields are in the input at all; kubectl leaves them out by default.
    pub managed_fields: ManagedFields,
    /// The time of manager `node-agent-server`: its last write that changed a value.
    pub node_agent: Option<Timestamp>,
    /// The time of the entry that owns `f:spec.f:cancel`, and its manager.
    pub cancel: Option<(Timestamp, String)>,
    /// The newest entry of any manager that owns `f:status.f:progress`.
    pub progress: Option<Timestamp>,
}

/// Whether managedFields are in the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagedFields {
    /// They are not.
    #[default]
    LeftOut,
    /// They are.
    Present,
}

/// Whether a parent is a Backup or a Restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParentKind {
    /// A Backup.
    Backup,
    /// A Restore.
    Restore,
}

impl ParentKind {
    /// Returns the `kind`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Backup => "Backup",
            Self::Restore => "Restore",
        }
    }
}

/// Names a Backup or Restore of Velero's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParentRef {
    /// Which of the two.
    pub kind: ParentKind,
    /// Its name: the owner reference's, else the label's (a label value over 63 characters is hashed by Velero).
    pub name: String,
}

/// A Backup or a Restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its name.
    pub reference: ParentRef,
    /// `status.phase`.
    pub phase: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `status.startTimestamp`.
    pub started: Option<Timestamp>,
    /// `status.completionTimestamp`.
    pub completed: Option<Timestamp>,
    /// `spec.itemOperationTimeout`, in seconds.
    pub item_operation_timeout_seconds: Option<i64>,
}

impl Parent {
    /// Returns whether Velero never changes it again (v1.17.2 pkg/apis/velero/v1/backup_types.go, restore_types.go).
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(
            self.phase.as_str(),
            "Completed" | "PartiallyFailed" | "Failed" | "FailedValidation" | "Deleting"
        )
    }
}

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
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`.
    pub deletion: Option<Timestamp>,
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
    /// For each label key, the time of the newest managedFields entry that owns it; empty without managedFields.
    pub label_writes: BTreeMap<String, Timestamp>,
    /// Whether managedFields are in the input.
    pub managed_fields: ManagedFields,
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
