//! The single writes of a plan.

use jiff::Timestamp;

use crate::velero::{ObjectRef, TaskRef};

/// What must still hold when an object is written: the write is refused by the API server otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Precondition {
    /// `metadata.uid`: it is still the same object.
    pub uid: String,
    /// `metadata.resourceVersion`: nobody has written it since it was read.
    pub resource_version: String,
}

/// One write, to be made only while its precondition holds. The order in a plan is the order of the writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node whose agent it is about; `None` where any agent may act (New DataUploads and DataDownloads).
    pub node: Option<String>,
    /// What is written.
    pub kind: StepKind,
}

/// What a step writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Annotates the task: an Update event, on which every node-agent looks at it
    /// (v1.12.4 … main pkg/controller: `For()` without a predicate on annotations).
    AnnotateTask {
        /// The task.
        task: TaskRef,
        /// What must still hold.
        precondition: Precondition,
    },
    /// Annotates the mover pod of an Accepted task: a pod Update, on which the agent of the pod's node takes
    /// the task to Prepared (v1.13.2 … main `pkg/controller/data_upload_controller.go`, the pod handler).
    AnnotatePod {
        /// The pod, in Velero's namespace.
        pod: ObjectRef,
        /// What must still hold.
        precondition: Precondition,
        /// The task that the pod works for.
        task: TaskRef,
    },
    /// Deletes a node-agent pod; its DaemonSet makes a new one.
    DeletePod {
        /// The pod, in Velero's namespace.
        pod: ObjectRef,
        /// What must still hold.
        precondition: Precondition,
        /// `metadata.creationTimestamp`.
        created: Option<Timestamp>,
    },
    /// Marks the node-agent pod that replaced a deleted one with the time and the reason of the restart. It
    /// is for the trail alone: where it fails that is a warning.
    MarkReplacement {
        /// The UID of the pod that was deleted; the one that is marked is another one on the same node, made
        /// after the delete and owned by the same DaemonSet.
        replaces: String,
        /// The DaemonSet that owns both.
        owner: Option<String>,
    },
}

impl StepKind {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::AnnotateTask { .. } => "annotate-task",
            Self::AnnotatePod { .. } => "annotate-pod",
            Self::DeletePod { .. } => "delete-pod",
            Self::MarkReplacement { .. } => "mark-replacement",
        }
    }
}

impl Step {
    /// Returns the object that is written; `None` for one that does not exist yet.
    #[must_use]
    pub fn object(&self) -> Option<ObjectRef> {
        match &self.kind {
            StepKind::AnnotateTask { task, .. } => Some(ObjectRef::from(task)),
            StepKind::AnnotatePod { pod, .. } | StepKind::DeletePod { pod, .. } => {
                Some(pod.clone())
            }
            StepKind::MarkReplacement { .. } => None,
        }
    }

    /// Returns the task that the step is for.
    #[must_use]
    pub const fn task(&self) -> Option<&TaskRef> {
        match &self.kind {
            StepKind::AnnotateTask { task, .. } | StepKind::AnnotatePod { task, .. } => Some(task),
            StepKind::DeletePod { .. } | StepKind::MarkReplacement { .. } => None,
        }
    }

    /// Returns what must still hold; `None` for an object that does not exist yet.
    #[must_use]
    pub const fn precondition(&self) -> Option<&Precondition> {
        match &self.kind {
            StepKind::AnnotateTask { precondition, .. }
            | StepKind::AnnotatePod { precondition, .. }
            | StepKind::DeletePod { precondition, .. } => Some(precondition),
            StepKind::MarkReplacement { .. } => None,
        }
    }
}
