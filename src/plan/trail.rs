//! What an action leaves behind, so that the next person can tell what was tried.
//!
//! An Event on the object, and an annotation with the time and the reason. An Event must not carry one of
//! the reasons by which Velero's own watcher follows a mover pod: it matches Events by the name of the task
//! alone (v1.17.2, main `pkg/datapath/micro_service_watcher.go`).

use jiff::Timestamp;

use super::step::{Step, StepKind};
use crate::snapshot::{NUDGED_AT, REASON, RESTARTED_AT};
use crate::velero::ObjectRef;

/// The `reason` of the Event of a nudge.
pub const EVENT_NUDGE: &str = "VeleroSlotsNudge";

/// The `reason` of the Event of a restart.
pub const EVENT_RESTART: &str = "VeleroSlotsRestart";

/// What a step leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trail {
    /// The annotations of the object that the step patches; empty for a delete.
    pub annotations: Vec<(&'static str, String)>,
    /// What the Event is about: the task rather than its pod, since the pod goes with the task. `None` where
    /// another step of the plan has the Event.
    pub about: Option<ObjectRef>,
    /// The `reason` of the Event.
    pub event_reason: &'static str,
    /// The `action` of the Event.
    pub event_action: &'static str,
    /// The words of the Event.
    pub note: String,
}

/// Returns what a step leaves behind when it is made at a time, with the `--reason` of the user.
#[must_use]
pub fn trail(step: &Step, at: Timestamp, reason: Option<&str>) -> Trail {
    let because = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let marks = |key: &'static str| {
        let mut marks = vec![(key, at.to_string())];
        // Given or not: the reason of an older action must not read as that of this one.
        marks.push((REASON, reason.unwrap_or_default().to_owned()));
        marks
    };
    match &step.kind {
        StepKind::AnnotateTask { task, .. } => Trail {
            annotations: marks(NUDGED_AT),
            about: Some(ObjectRef::from(task)),
            event_reason: EVENT_NUDGE,
            event_action: "Nudge",
            note: format!("nudged by its annotation{because}"),
        },
        StepKind::AnnotatePod { pod, task, .. } => Trail {
            annotations: marks(NUDGED_AT),
            about: Some(ObjectRef::from(task)),
            event_reason: EVENT_NUDGE,
            event_action: "Nudge",
            note: format!(
                "nudged by an annotation of its mover pod {}{because}",
                pod.name
            ),
        },
        StepKind::DeletePod { pod, .. } => Trail {
            annotations: Vec::new(),
            about: Some(pod.clone()),
            event_reason: EVENT_RESTART,
            event_action: "Restart",
            note: format!("{}{because}", restarted(step.node.as_deref())),
        },
        StepKind::MarkReplacement { .. } => Trail {
            annotations: marks(RESTARTED_AT),
            about: None,
            event_reason: EVENT_RESTART,
            event_action: "Restart",
            note: String::new(),
        },
    }
}

/// How the Event of a restart begins. The pod that it is about is gone, so the words carry the node; a plan
/// finds earlier restarts by them.
pub(super) fn restarted(node: Option<&str>) -> String {
    format!("node-agent of node {} restarted", node.unwrap_or("unknown"))
}
