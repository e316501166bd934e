//! The four task kinds, their phases, and how a task is named.

use std::cmp::Ordering;
use std::fmt;

/// One of the four custom resources through which Velero moves volume data.
///
/// All four share the slots of a node from v1.13 on; before, each kind had a pool of its own
/// (v1.12.4 pkg/controller: four calls of `NewManager(1)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskKind {
    /// `velero.io/v2alpha1` DataUpload: a volume snapshot on its way to the backup repository.
    DataUpload,
    /// `velero.io/v2alpha1` DataDownload: the way back.
    DataDownload,
    /// `velero.io/v1` PodVolumeBackup: a pod volume read through the file system.
    PodVolumeBackup,
    /// `velero.io/v1` PodVolumeRestore: the way back.
    PodVolumeRestore,
}

impl TaskKind {
    /// Every kind, in the order in which answers list them.
    pub const ALL: [Self; 4] = [
        Self::DataUpload,
        Self::DataDownload,
        Self::PodVolumeBackup,
        Self::PodVolumeRestore,
    ];

    /// Returns the `kind` of the custom resource.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DataUpload => "DataUpload",
            Self::DataDownload => "DataDownload",
            Self::PodVolumeBackup => "PodVolumeBackup",
            Self::PodVolumeRestore => "PodVolumeRestore",
        }
    }

    /// Returns the short name of the kind, as Velero's main branch registers it.
    #[must_use]
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::DataUpload => "du",
            Self::DataDownload => "dd",
            Self::PodVolumeBackup => "pvb",
            Self::PodVolumeRestore => "pvr",
        }
    }

    /// Returns the resource name used in API paths and RBAC rules.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::DataUpload => "datauploads",
            Self::DataDownload => "datadownloads",
            Self::PodVolumeBackup => "podvolumebackups",
            Self::PodVolumeRestore => "podvolumerestores",
        }
    }

    /// Returns the API version in the group `velero.io`.
    #[must_use]
    pub const fn version(self) -> &'static str {
        match self {
            Self::DataUpload | Self::DataDownload => "v2alpha1",
            Self::PodVolumeBackup | Self::PodVolumeRestore => "v1",
        }
    }

    /// Returns the label by which a mover pod names its task (v1.12.4 and v1.17.0 `pkg/apis/velero/v1/labels_annotations.go`).
    #[must_use]
    pub const fn mover_label(self) -> &'static str {
        match self {
            Self::DataUpload => "velero.io/data-upload",
            Self::DataDownload => "velero.io/data-download",
            Self::PodVolumeBackup => "velero.io/pod-volume-backup",
            Self::PodVolumeRestore => "velero.io/pod-volume-restore",
        }
    }

    /// Returns whether the task is a DataUpload or a DataDownload.
    #[must_use]
    pub const fn is_data_movement(self) -> bool {
        match self {
            Self::DataUpload | Self::DataDownload => true,
            Self::PodVolumeBackup | Self::PodVolumeRestore => false,
        }
    }

    /// Returns whether the task restores data.
    #[must_use]
    pub const fn is_restore(self) -> bool {
        match self {
            Self::DataDownload | Self::PodVolumeRestore => true,
            Self::DataUpload | Self::PodVolumeBackup => false,
        }
    }

    /// Finds the kind that a user wrote: kind, plural, singular or short name, in any case, with or
    /// without the API group.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let name = lower.split('.').next().unwrap_or_default();
        Self::ALL.into_iter().find(|kind| {
            let singular = kind.as_str().to_ascii_lowercase();
            name == singular || name == kind.plural() || name == kind.short_name()
        })
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names one task. Ordered by name, then kind: the order of every list that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRef {
    /// The kind of the custom resource.
    pub kind: TaskKind,
    /// The namespace, which is Velero's own.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
}

impl Ord for TaskRef {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.name, self.kind, &self.namespace).cmp(&(&other.name, other.kind, &other.namespace))
    }
}

impl PartialOrd for TaskRef {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for TaskRef {
    /// Writes `DataUpload velero/du-1`, the form used in evidence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// Names any object, tasks included. Ordered by name, then kind, then namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// The `kind`, such as `Pod`.
    pub kind: String,
    /// The namespace, or `None` for an object of the cluster.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectRef {
    /// Names a namespaced object.
    #[must_use]
    pub fn namespaced(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// Names an object of the cluster.
    #[must_use]
    pub fn cluster(kind: &str, name: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }
}

impl Ord for ObjectRef {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.name, &self.kind, &self.namespace).cmp(&(&other.name, &other.kind, &other.namespace))
    }
}

impl PartialOrd for ObjectRef {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<&TaskRef> for ObjectRef {
    fn from(task: &TaskRef) -> Self {
        Self::namespaced(task.kind.as_str(), &task.namespace, &task.name)
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// A task's `status.phase` (v1.17.2 `pkg/apis/velero/v2alpha1/data_upload_types.go`).
///
/// An empty phase is `New` in every release. PodVolumeBackup and PodVolumeRestore know only New,
/// InProgress, Completed and Failed before v1.17.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Empty or `New`: nobody has taken the task.
    New,
    /// A node-agent has taken the task and exposes the volume.
    Accepted,
    /// The mover pod runs; the task waits for a slot.
    Prepared,
    /// The task holds a slot.
    InProgress,
    /// Cancel was requested while the task ran.
    Canceling,
    /// Final: cancelled.
    Canceled,
    /// Final: done.
    Completed,
    /// Final: failed.
    Failed,
    /// A phase that this tool does not know, kept as it was written.
    Other(String),
}

impl Phase {
    /// Reads `status.phase`; every text is a phase.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "" | "New" => Self::New,
            "Accepted" => Self::Accepted,
            "Prepared" => Self::Prepared,
            "InProgress" => Self::InProgress,
            "Canceling" => Self::Canceling,
            "Canceled" => Self::Canceled,
            "Completed" => Self::Completed,
            "Failed" => Self::Failed,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns the phase as Velero writes it; the empty phase reads `New`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::New => "New",
            Self::Accepted => "Accepted",
            Self::Prepared => "Prepared",
            Self::InProgress => "InProgress",
            Self::Canceling => "Canceling",
            Self::Canceled => "Canceled",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::Other(text) => text,
        }
    }

    /// Returns whether Velero never changes the task again.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        match self {
            Self::Canceled | Self::Completed | Self::Failed => true,
            Self::New
            | Self::Accepted
            | Self::Prepared
            | Self::InProgress
            | Self::Canceling
            | Self::Other(_) => false,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
