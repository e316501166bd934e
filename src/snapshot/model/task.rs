//! A task and the Backup or Restore that it belongs to.

use jiff::Timestamp;

use super::super::ObjectKey;
use super::mark::Mark;
use crate::velero::{Phase, TaskRef};

/// One task, with the fields that are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name.
    pub reference: TaskRef,
    /// `metadata.uid`; mover pods name their container and volume after it.
    pub uid: String,
    /// `metadata.resourceVersion`: with the UID the precondition of every write.
    pub resource_version: Option<String>,
    /// What this tool did to it before, by the annotations that it leaves.
    pub marks: Vec<Mark>,
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
    /// Returns whether Velero never changes it again (v1.17.2 `pkg/apis/velero/v1/backup_types.go`, `restore_types.go`).
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(
            self.phase.as_str(),
            "Completed" | "PartiallyFailed" | "Failed" | "FailedValidation" | "Deleting"
        )
    }
}
