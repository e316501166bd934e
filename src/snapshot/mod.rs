//! What was seen, typed.
//!
//! A [`Snapshot`] is read from a [`crate::capture::Capture`] by a pure function. Whatever could not be read is a [`Gap`]
//! that travels to the report; a lookup answers [`Observed::Unknown`] for it, never [`Observed::Absent`].

use std::collections::BTreeMap;

use jiff::Timestamp;

pub use crate::capture::{
    AgentPod, GapReason, LogFile, NowFrom, Previous, ResourceKind, Restarted, SourceType,
};
use crate::velero::{Phase, TaskRef, VeleroVersion};

pub mod log_evidence;
pub mod log_line;
pub mod metrics;
mod model;
mod read;

pub use log_evidence::LogEvidence;
pub use metrics::AgentMetrics;
pub use model::{
    Cancel, Claim, Condition, ConfigMap, Container, ContainerEnd, ContainerState, Cordoned,
    DaemonSet, Event, Exposing, HostNetwork, IsNodeAgent, Labels, ManagedFields, Mark, MarkKind,
    NUDGED_AT, Node, NodeAgent, Parent, ParentKind, ParentRef, Pod, ProfileBasis, Progress, REASON,
    RESTARTED_AT, Ready, StartLog, Taint, TargetPod, Task, Toleration, VolumeSnapshot, Writes,
};
pub use read::{NamespaceSearch, ReadOptions, find_namespace, read, read_owned};
pub(crate) use read::{argument, rules_from_fields};

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

impl Gap {
    /// Makes a gap.
    #[must_use]
    pub fn new(resource: &str, reason: GapReason, message: &str, effect: &str) -> Self {
        Self {
            resource: resource.to_owned(),
            reason,
            message: message.to_owned(),
            effect: effect.to_owned(),
        }
    }
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
    /// The newest time on any object: they were read after it. Logs do not count, and managedFields only where
    /// "now" is not given.
    pub newest_object: Option<Timestamp>,
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
    /// What earlier captures say of the tasks, oldest first.
    pub earlier: BTreeMap<TaskRef, Vec<EarlierLook>>,
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
    /// For pods and claims: whether all were read that carry the label `velero.io/restore-name` of a
    /// Restore with unfinished tasks, in whatever namespace. See [`Self::restored_pod`].
    pub restore_targets: BTreeMap<ResourceKind, Observed<()>>,
    /// What could not be read.
    pub gaps: Vec<Gap>,
}

/// A task as a capture of an earlier time shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierLook {
    /// When that capture was taken.
    pub at: Timestamp,
    /// The UID: a task that was made anew under the same name is another one.
    pub uid: String,
    /// The phase.
    pub phase: Phase,
    /// The progress.
    pub progress: Option<Progress>,
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

    /// Looks for the pod that a PodVolumeRestore restores into. Velero labels everything that a Restore
    /// made, and a list by that label shows nearly all of them; that it lacks one proves nothing, since
    /// anybody can take a label away.
    #[must_use]
    pub fn restored_pod(&self, namespace: &str, name: &str) -> Observed<&Pod> {
        let seen = self.pod(namespace, name);
        self.with_reason(ResourceKind::Pod, seen)
    }

    /// Looks for the PersistentVolumeClaim that a DataDownload writes to, as [`Self::restored_pod`] does.
    #[must_use]
    pub fn restored_claim(&self, namespace: &str, name: &str) -> Observed<&Claim> {
        let seen = self.claim(namespace, name);
        self.with_reason(ResourceKind::PersistentVolumeClaim, seen)
    }

    /// Tells why the list by label failed, where nothing else was asked.
    fn with_reason<T>(&self, resource: ResourceKind, seen: Observed<T>) -> Observed<T> {
        match (seen, self.restore_targets.get(&resource)) {
            (Observed::Unknown(_), Some(Observed::Unknown(reason))) => Observed::Unknown(*reason),
            (seen, Some(Observed::Seen(()) | Observed::Unknown(_) | Observed::Absent) | None) => {
                seen
            }
        }
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

    /// Returns the time of the earliest capture since which a task that runs has not come a byte forward, if
    /// there is a look that is earlier than "now" and shows the same bytes.
    #[must_use]
    pub fn bytes_unchanged_since(&self, task: &Task) -> Option<Timestamp> {
        let bytes = |progress: Option<Progress>| progress.map_or(0, |progress| progress.bytes_done);
        self.earlier
            .get(&task.reference)?
            .iter()
            .rev()
            .take_while(|look| {
                look.at < self.taken_at
                    && look.uid == task.uid
                    && look.phase == task.phase
                    && bytes(look.progress) == bytes(task.progress)
            })
            .last()
            .map(|look| look.at)
    }

    /// Returns the unfinished tasks, in order.
    pub fn unfinished(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(|task| !task.phase.is_final())
    }
}
