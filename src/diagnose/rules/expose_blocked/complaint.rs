//! What the mover pod, its volume and its snapshot complain about.

use jiff::Timestamp;

use super::storage::{claim_not_bound, event_evidence, last_event, snapshot_not_ready};
use super::words;
use crate::diagnose::case::Case;
use crate::diagnose::finding::{Confidence, Evidence};
use crate::replay::TaskReplay;
use crate::snapshot::{ContainerState, Event, Observed, Pod};
use crate::velero::{ObjectRef, TaskKind};

/// What stands in the way of one task.
#[derive(Clone, Debug)]
pub(super) struct Complaint {
    pub(super) cause: &'static str,
    pub(super) confidence: Confidence,
    /// The words of Kubernetes, if it said any.
    pub(super) message: Option<String>,
    pub(super) blocked_by: Vec<ObjectRef>,
    pub(super) evidence: Vec<Evidence>,
    /// Since when; the accept where it is not known.
    pub(super) since: Option<Timestamp>,
    pub(super) permanence: Permanence,
}

/// Whether waiting may mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permanence {
    /// The pod has ended: nothing starts it again.
    Ended,
    /// Something was tried and failed; it is tried again.
    Failing,
    /// Something has not happened yet.
    Waiting,
}

impl Complaint {
    /// How long the complaint is part of a normal start, in seconds.
    ///
    /// Five minutes for what only has not happened yet: a cluster autoscaler brings a node in less
    /// (velero-io/velero#7910). Ten for a snapshot that is taken without an error, and for a pod that
    /// is being made without a complaint: a large volume takes its time. Two minutes for what
    /// was tried and failed, since volumes are often attached at the second try.
    pub(super) const fn patience(&self) -> i64 {
        match self.permanence {
            Permanence::Ended => 0,
            Permanence::Failing => 120,
            Permanence::Waiting => match self.cause.as_bytes() {
                b"undetermined" | b"snapshot-not-ready" => 600,
                _ => 300,
            },
        }
    }
}

/// Reasons of a waiting container that mean that there is no image. Mover pods never pull, so a node
/// without the image shows `ErrImageNeverPull`.
const IMAGE_REASONS: [&str; 5] = [
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "ImageInspectError",
    "InvalidImageName",
];

/// Reasons of pod events that mean that a volume does not get to the node.
const MOUNT_REASONS: [&str; 4] = [
    "FailedAttachVolume",
    "FailedMount",
    "FailedMapVolume",
    "VolumeResizeFailed",
];

/// Reasons of pod events that mean that a volume has come to the node.
const MENDED_REASONS: [&str; 3] = [
    "SuccessfulAttachVolume",
    "SuccessfulMountVolume",
    "VolumeResizeSuccessful",
];

/// Looks for what keeps an Accepted task from being prepared; `None` where nothing does, where it is
/// another finding's matter, or where it cannot be read.
pub(super) fn of(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<Complaint> {
    match task.pod {
        Observed::Seen(pod) => of_pod(case, task, pod),
        Observed::Absent => without_a_pod(case, task),
        Observed::Unknown(_) => None,
    }
}

fn of_pod(case: &Case<'_, '_>, task: &TaskReplay<'_>, pod: &Pod) -> Option<Complaint> {
    if pod.deletion.is_some() {
        return None;
    }
    match pod.phase.as_str() {
        // A pod that runs is `prepare-missed`'s matter.
        "Running" => None,
        "Failed" | "Succeeded" | "Unknown" => Some(ended(pod)),
        _ => unscheduled(case, task, pod)
            .or_else(|| no_image(pod))
            .or_else(|| not_mounted(case, pod))
            .or_else(|| claim_not_bound(case, task))
            .or_else(|| Some(silent(pod))),
    }
}

fn about(pod: &Pod, cause: &'static str) -> Complaint {
    Complaint {
        cause,
        confidence: Confidence::Certain,
        message: None,
        blocked_by: vec![words::pod_ref(pod)],
        evidence: vec![words::pod_field(pod, ".status.phase", &pod.phase)],
        since: pod.created,
        permanence: Permanence::Waiting,
    }
}

/// A pod that ended before it was used: the kubelet did not admit it, or its container ended.
fn ended(pod: &Pod) -> Complaint {
    let ran = pod.containers.iter().any(|container| {
        matches!(&container.state, ContainerState::Terminated(end) if end.started_at.is_some())
    });
    let refused = pod.message.starts_with("Pod was rejected")
        || pod.message.contains("Predicate ")
        || pod.reason.starts_with("OutOf")
        || [
            "UnexpectedAdmissionError",
            "NodeAffinity",
            "NodePorts",
            "TopologyAffinityError",
        ]
        .contains(&pod.reason.as_str());
    let mut complaint = about(
        pod,
        if pod.phase == "Failed" && refused && !ran {
            "pod-rejected"
        } else {
            "undetermined"
        },
    );
    complaint.permanence = Permanence::Ended;
    complaint.since = pod.ended_at().or(pod.created);
    if complaint.cause == "undetermined" {
        complaint.confidence = Confidence::Possible;
    }
    let words_said = [&pod.reason, &pod.message]
        .into_iter()
        .filter(|text| !text.is_empty())
        .cloned()
        .collect::<Vec<_>>()
        .join(": ");
    let by_container = pod
        .containers
        .iter()
        .find_map(|container| match &container.state {
            ContainerState::Terminated(end) => Some(format!(
                "container ended with {} (exit code {}) {}",
                end.reason, end.exit_code, end.message
            )),
            ContainerState::Running { .. }
            | ContainerState::Waiting { .. }
            | ContainerState::None => None,
        });
    let said = if words_said.is_empty() {
        by_container
    } else {
        Some(words_said)
    };
    if let Some(said) = said {
        complaint
            .evidence
            .push(words::pod_field(pod, ".status.message", &said));
        complaint.message = Some(said);
    }
    complaint
}

fn unscheduled(case: &Case<'_, '_>, task: &TaskReplay<'_>, pod: &Pod) -> Option<Complaint> {
    let condition = pod
        .condition("PodScheduled")
        .filter(|condition| condition.status == "False")?;
    let volume_missing = condition
        .message
        .contains("unbound immediate PersistentVolumeClaims")
        || condition.message.contains("persistentvolumeclaim");
    let mut complaint = about(
        pod,
        if volume_missing {
            "volume-not-bound"
        } else {
            "unschedulable"
        },
    );
    complaint.evidence.push(Evidence::condition(
        format!("{} PodScheduled", words::pod_ref(pod)),
        format!(
            "{} {}: {}",
            condition.status, condition.reason, condition.message
        ),
    ));
    complaint.message = Some(condition.message.clone());
    complaint.since = condition.changed.or(pod.created);
    if volume_missing && let Some(claim) = claim_not_bound(case, task) {
        complaint.blocked_by = claim.blocked_by;
        complaint.evidence.extend(claim.evidence);
        complaint.permanence = claim.permanence;
        complaint.message = claim.message.or(complaint.message);
    }
    Some(complaint)
}

fn no_image(pod: &Pod) -> Option<Complaint> {
    let (name, reason, message) = pod.containers.iter().find_map(|container| {
        let ContainerState::Waiting { reason, message } = &container.state else {
            return None;
        };
        IMAGE_REASONS
            .contains(&reason.as_str())
            .then_some((&container.name, reason, message))
    })?;
    let mut complaint = about(pod, "image-pull");
    complaint.permanence = Permanence::Failing;
    complaint.evidence.push(words::pod_field(
        pod,
        &format!(".status.containerStatuses[{name}].state.waiting"),
        &format!("{reason}: {message}"),
    ));
    complaint.message = Some(if message.is_empty() {
        reason.clone()
    } else {
        format!("{reason}: {message}")
    });
    complaint.since = scheduled_at(pod);
    Some(complaint)
}

/// A volume that does not get to the node: by an Event of the pod, or by the pod's own message.
fn not_mounted(case: &Case<'_, '_>, pod: &Pod) -> Option<Complaint> {
    let by_event = last_event(case, "Pod", &pod.key, &pod.uid, |event| {
        MOUNT_REASONS.contains(&event.reason.as_str()) && !is_mended(case, pod, event)
    });
    let by_message = is_about_a_mount(&pod.message).then_some(&pod.message);
    let mut complaint = about(pod, "mount-failed");
    complaint.confidence = Confidence::Likely;
    complaint.permanence = Permanence::Failing;
    complaint.since = scheduled_at(pod);
    if let Some(event) = by_event {
        complaint.evidence.push(event_evidence(event));
        complaint.message = Some(event.message.clone());
        complaint.since = event.first_seen.or(complaint.since);
    } else {
        let message = by_message?;
        complaint
            .evidence
            .push(words::pod_field(pod, ".status.message", message));
        complaint.message = Some(message.clone());
    }
    Some(complaint)
}

/// Whether words of a pod are about a mount or an attachment: whole words, since an amount is none.
fn is_about_a_mount(message: &str) -> bool {
    message
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .map(str::to_ascii_lowercase)
        .any(|word| {
            ["mount", "unmount", "attach", "failedmount", "failedattach"]
                .iter()
                .any(|begin| word.starts_with(begin))
        })
}

/// Whether a volume got to the node after the Event that complains of it: the attachment is tried again, and an
/// attachment that succeeds ends what came before.
fn is_mended(case: &Case<'_, '_>, pod: &Pod, complaint: &Event) -> bool {
    last_event(case, "Pod", &pod.key, &pod.uid, |event| {
        MENDED_REASONS.contains(&event.reason.as_str())
            && event.last_seen >= complaint.last_seen
            && match (volume_in(&complaint.message), volume_in(&event.message)) {
                (Some(missing), Some(there)) => missing == there,
                (Some(_) | None, Some(_) | None) => true,
            }
    })
    .is_some()
}

/// The volume that an Event names in quotes: `… for volume "pvc-1"`.
fn volume_in(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("volume \"")?;
    rest.split_once('"').map(|(name, _)| name)
}

/// A pod that is scheduled and says nothing.
fn silent(pod: &Pod) -> Complaint {
    let mut complaint = about(pod, "undetermined");
    complaint.confidence = Confidence::Possible;
    complaint.since = scheduled_at(pod);
    for container in pod.init_containers.iter().chain(&pod.containers) {
        if let ContainerState::Waiting { reason, message } = &container.state {
            let said = format!("{reason} {message}").trim_end().to_owned();
            complaint.evidence.push(words::pod_field(
                pod,
                &format!(
                    ".status.containerStatuses[{}].state.waiting",
                    container.name
                ),
                &said,
            ));
            complaint.message.get_or_insert(said);
        }
    }
    complaint
}

fn scheduled_at(pod: &Pod) -> Option<Timestamp> {
    pod.condition("PodScheduled")
        .filter(|condition| condition.status == "True")
        .and_then(|condition| condition.changed)
        .or(pod.start_time)
        .or(pod.created)
}

/// The acceptor is still exposing: for a DataUpload it waits for the snapshot. A DataDownload waits for
/// a consumer of its target PVC, which is `restore-target-not-ready`'s matter; a pod volume waits for
/// nothing.
fn without_a_pod(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<Complaint> {
    let nothing_known = || Complaint {
        cause: "undetermined",
        confidence: Confidence::Possible,
        message: None,
        blocked_by: Vec::new(),
        evidence: vec![Evidence::derived(
            format!("mover pod of {}", task.task.reference),
            "does not exist".to_owned(),
        )],
        since: task.accepted_at,
        permanence: Permanence::Waiting,
    };
    match task.task.reference.kind {
        TaskKind::DataUpload => Some(snapshot_not_ready(case, task).unwrap_or_else(nothing_known)),
        TaskKind::DataDownload => {
            let target = task.task.claim.as_ref()?;
            match case
                .snapshot
                .restored_claim(&target.namespace, &target.name)
            {
                Observed::Seen(claim) if claim.phase == "Bound" => Some(nothing_known()),
                Observed::Seen(claim) if claim.selected_node.is_some() => Some(nothing_known()),
                Observed::Seen(_) | Observed::Absent => None,
                Observed::Unknown(_) => Some(nothing_known()),
            }
        }
        TaskKind::PodVolumeBackup | TaskKind::PodVolumeRestore => None,
    }
}
