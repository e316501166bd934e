//! What the volume and the snapshot of a mover pod complain about, and what Events say.

use super::complaint::{Complaint, Permanence};
use crate::diagnose::case::Case;
use crate::diagnose::finding::{Confidence, Evidence, EvidenceKind};
use crate::replay::TaskReplay;
use crate::snapshot::{Event, ObjectKey, VolumeSnapshot};
use crate::velero::ObjectRef;

/// The mover pod's own PVC, which is named like the task.
pub(super) fn claim_not_bound(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<Complaint> {
    let reference = &task.task.reference;
    if !reference.kind.is_data_movement() {
        return None;
    }
    let claim = case
        .snapshot
        .claim(&reference.namespace, &reference.name)
        .seen()
        .filter(|claim| claim.phase != "Bound" && claim.deletion.is_none())?;
    let object = ObjectRef::namespaced(
        "PersistentVolumeClaim",
        &claim.key.namespace,
        &claim.key.name,
    );
    let mut complaint = Complaint {
        cause: "volume-not-bound",
        confidence: Confidence::Likely,
        message: None,
        evidence: vec![Evidence::field(
            format!("{object} .status.phase"),
            claim.phase.clone(),
        )],
        blocked_by: vec![object],
        since: claim.created,
        permanence: Permanence::Waiting,
    };
    let failed = last_event(
        case,
        "PersistentVolumeClaim",
        &claim.key,
        &claim.uid,
        |event| event.kind == "Warning",
    );
    if let Some(event) = failed {
        complaint.permanence = Permanence::Failing;
        complaint.evidence.push(event_evidence(event));
        complaint.message = Some(event.message.clone());
    }
    Some(complaint)
}

/// The source snapshot, then the exposer's own copy, which is named like the task.
pub(super) fn snapshot_not_ready(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<Complaint> {
    let reference = &task.task.reference;
    let source = task
        .task
        .snapshot_name
        .as_ref()
        .zip(task.task.claim.as_ref())
        .map(|(name, claim)| (claim.namespace.as_str(), name.as_str()));
    let copy = (reference.namespace.as_str(), reference.name.as_str());
    let snapshot = source
        .into_iter()
        .chain([copy])
        .filter_map(|(namespace, name)| case.snapshot.volume_snapshot(namespace, name).seen())
        .find(|snapshot| snapshot.ready_to_use != Some(true))?;
    Some(of_snapshot(case, snapshot))
}

fn of_snapshot(case: &Case<'_, '_>, snapshot: &VolumeSnapshot) -> Complaint {
    let object = ObjectRef::namespaced(
        "VolumeSnapshot",
        &snapshot.key.namespace,
        &snapshot.key.name,
    );
    let ready = snapshot
        .ready_to_use
        .map_or_else(|| "not set".to_owned(), |ready| ready.to_string());
    let mut complaint = Complaint {
        cause: "snapshot-not-ready",
        confidence: Confidence::Certain,
        message: snapshot.error.clone(),
        evidence: vec![Evidence::field(
            format!("{object} .status.readyToUse"),
            ready,
        )],
        blocked_by: vec![object.clone()],
        since: snapshot.created,
        permanence: Permanence::Waiting,
    };
    if let Some(error) = &snapshot.error {
        complaint.permanence = Permanence::Failing;
        complaint.evidence.push(Evidence::field(
            format!("{object} .status.error.message"),
            error.clone(),
        ));
    }
    let failed = last_event(case, "VolumeSnapshot", &snapshot.key, "", |event| {
        event.kind == "Warning"
    });
    if let Some(event) = failed {
        complaint.evidence.push(event_evidence(event));
        complaint
            .message
            .get_or_insert_with(|| event.message.clone());
    }
    complaint
}

/// The newest Event about an object of this life that fits.
pub(super) fn last_event<'s>(
    case: &Case<'_, 's>,
    kind: &str,
    key: &ObjectKey,
    uid: &str,
    fits: impl Fn(&Event) -> bool,
) -> Option<&'s Event> {
    case.snapshot
        .events
        .iter()
        .rev()
        .filter(|event| {
            event.about.kind == kind
                && event.about.name == key.name
                && event.about.namespace.as_deref() == Some(key.namespace.as_str())
                && (uid.is_empty() || event.about_uid.is_empty() || event.about_uid == uid)
        })
        .find(|event| fits(event))
}

pub(super) fn event_evidence(event: &Event) -> Evidence {
    Evidence {
        kind: EvidenceKind::Event,
        source: format!("{} {}", event.about, event.reason),
        value: event.message.clone(),
    }
}
