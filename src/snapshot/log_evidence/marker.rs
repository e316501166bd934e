//! Which lines mean something, release by release.
//!
//! The texts are those of v1.12.4 to v1.18.1 (`pkg/controller`, `pkg/exposer`, `pkg/datapath`,
//! `pkg/cmd/cli/nodeagent`); a text that a release does not write is simply never met. Lines of level debug
//! are named where they say more, and nothing depends on them.

use super::{EndFailure, Entered, EntryStage, WorkerStep};
use crate::velero::TaskKind;

/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A process starts; everything before is another one's.
    ProcessStart,
    /// An entry is made.
    Enters(Entered),
    /// An entry is removed.
    Leaves,
    /// The data path of an entry comes to a stage.
    Stage(EntryStage),
    /// A task is accepted, or exposed.
    Accepted,
    /// A task is made Prepared.
    Prepared,
    /// A task was marked Canceled without its callback.
    Canceled,
    /// The log of a mover pod follows, line by line.
    MoverLogBegins,
    /// The log of a mover pod is over.
    MoverLogEnds,
    /// A task asks for a slot.
    Tries,
    /// A task that is not for this agent, or for nobody, was looked at.
    PassedOver,
    /// It comes as far as the request for a slot.
    AtSlot,
    /// It is refused.
    Refused,
    /// It gets the slot.
    Admitted,
    /// It has the slot, and the write to InProgress fails: the data path is closed, and all begins anew.
    NotMarked,
    /// A worker takes up a task: whatever it did before has ended.
    Taken,
    /// A worker begins a step that may wait.
    Begins(WorkerStep),
    /// It ends the step.
    Ends,
    /// A cancel was forced after its delay.
    ForcedCancel,
    /// A data path ended and its task could not be finished.
    FailedEnd(EndFailure),
    /// The change to Prepared failed for good.
    PrepareHalts,
    /// An expose diagnosis.
    Diagnosis,
    /// A resume failed.
    ResumeFails,
    /// Progress arrived and could not be written.
    ProgressNotWritten,
    /// The configuration is not as meant.
    ConfigWarning,
}

use Mark::{
    Accepted, Admitted, AtSlot, Begins, Canceled, ConfigWarning, Diagnosis, Ends, Enters,
    ForcedCancel, Leaves, MoverLogBegins, MoverLogEnds, NotMarked, PassedOver, PrepareHalts,
    Prepared, ProcessStart, ProgressNotWritten, Refused, ResumeFails, Stage, Taken, Tries,
};
use TaskKind::{DataDownload, DataUpload, PodVolumeBackup, PodVolumeRestore};

/// A text and what it means. The kind is that of texts that only one controller writes.
type Marker = (&'static str, Option<TaskKind>, &'static [Mark]);

/// Texts that a message begins with; the first that fits counts.
const BEGINNINGS: &[Marker] = &[
    ("Starting Velero node-agent server", None, &[ProcessStart]),
    // The workers of DataUpload and DataDownload announce each task that they take up.
    ("Reconcile ", None, &[Taken]),
    ("Reconciling PVR by ", Some(PodVolumeRestore), &[Taken]),
    // Expose.
    (
        "Data upload is accepted",
        Some(DataUpload),
        &[Accepted, Begins(WorkerStep::Exposes)],
    ),
    (
        "Exposing CSI snapshot",
        Some(DataUpload),
        &[Accepted, Begins(WorkerStep::WaitsForSnapshot)],
    ),
    (
        "Volumesnapshot is ready",
        Some(DataUpload),
        &[Begins(WorkerStep::Exposes)],
    ),
    ("Snapshot is exposed", Some(DataUpload), &[Ends]),
    ("expose snapshot with err ", Some(DataUpload), &[Ends]),
    (
        "Data download is accepted",
        Some(DataDownload),
        &[Accepted, Begins(WorkerStep::WaitsForConsumer)],
    ),
    (
        "Target PVC is consumed",
        Some(DataDownload),
        &[Begins(WorkerStep::Exposes)],
    ),
    ("Restore is exposed", Some(DataDownload), &[Ends]),
    (
        "Exposing PVB",
        Some(PodVolumeBackup),
        &[Accepted, Begins(WorkerStep::Exposes)],
    ),
    ("PVB is exposed", Some(PodVolumeBackup), &[Ends]),
    (
        "Exposing PVR",
        Some(PodVolumeRestore),
        &[Accepted, Begins(WorkerStep::Exposes)],
    ),
    ("PVR is exposed", Some(PodVolumeRestore), &[Ends]),
    ("update data upload status to ", Some(DataUpload), &[Ends]),
    (
        "update data download status to ",
        Some(DataDownload),
        &[Ends],
    ),
    ("update PVB status to ", Some(PodVolumeBackup), &[Ends]),
    ("update PVR status to ", Some(PodVolumeRestore), &[Ends]),
    // Made Prepared by the pod handler, before the write.
    ("Preparing dataupload", Some(DataUpload), &[Prepared]),
    ("Preparing data download", Some(DataDownload), &[Prepared]),
    ("Preparing PVB", Some(PodVolumeBackup), &[Prepared]),
    ("Preparing PVR", Some(PodVolumeRestore), &[Prepared]),
    ("data upload is canceled", Some(DataUpload), &[Canceled]),
    ("data download is canceled", Some(DataDownload), &[Canceled]),
    ("PVB is canceled", Some(PodVolumeBackup), &[Canceled]),
    ("PVR is canceled", Some(PodVolumeRestore), &[Canceled]),
    // Prepared: the 5-second loop.
    (
        "Data upload is prepared",
        Some(DataUpload),
        &[Prepared, Tries],
    ),
    (
        "Data download is prepared",
        Some(DataDownload),
        &[Prepared, Tries],
    ),
    (
        "PVB is prepared",
        Some(PodVolumeBackup),
        &[Prepared, Tries, Begins(WorkerStep::WaitsForPod)],
    ),
    (
        "PVR is prepared",
        Some(PodVolumeRestore),
        &[Prepared, Tries, Begins(WorkerStep::WaitsForPod)],
    ),
    (
        "Backup pod is in running state in node",
        Some(DataUpload),
        &[Begins(WorkerStep::WaitsForClaim)],
    ),
    (
        "Restore pod is in running state in node",
        Some(DataDownload),
        &[Begins(WorkerStep::WaitsForClaim)],
    ),
    (
        "Exposed snapshot is ready and creating data path routine",
        Some(DataUpload),
        &[AtSlot, Ends],
    ),
    (
        "Restore PVC is ready and creating data path routine",
        Some(DataDownload),
        &[AtSlot, Ends],
    ),
    (
        "Exposed PVB is ready and creating data path routine",
        Some(PodVolumeBackup),
        &[AtSlot, Ends],
    ),
    (
        "Exposed PVR is ready and creating data path routine",
        Some(PodVolumeRestore),
        &[AtSlot, Ends],
    ),
    (
        "Data path instance is concurrent limited",
        None,
        &[Refused, Ends],
    ),
    (
        "Cancellable data path is already started",
        None,
        &[PassedOver, Ends],
    ),
    ("Get empty exposer", None, &[PassedOver, Ends]),
    ("Prepared ", None, &[PassedOver, Ends]),
    // In-process pod volumes: New is where they wait, and a refusal has no line.
    (
        "PodVolumeBackup starting",
        Some(PodVolumeBackup),
        &[Tries, AtSlot, Begins(WorkerStep::OpensRepository)],
    ),
    (
        "Restore starting",
        Some(PodVolumeRestore),
        &[Tries, AtSlot, Begins(WorkerStep::OpensRepository)],
    ),
    ("Async fs backup data path started", None, &[Admitted, Ends]),
    (
        "Async fs restore data path started",
        None,
        &[Admitted, Ends],
    ),
    // Admitted.
    ("Init cancelable ", None, &[Admitted, Ends]),
    ("Run cancelable ", None, &[Admitted, Ends]),
    (
        "Data upload is marked as in progress",
        Some(DataUpload),
        &[Admitted, Ends],
    ),
    (
        "Data download is marked as in progress",
        Some(DataDownload),
        &[Admitted, Ends],
    ),
    (
        "PVB is marked as in progress",
        Some(PodVolumeBackup),
        &[Admitted, Ends],
    ),
    (
        "PVR is marked as in progress",
        Some(PodVolumeRestore),
        &[Admitted, Ends],
    ),
    // The map.
    (
        "MicroServiceBR is initialized",
        None,
        &[Enters(Entered::Watcher)],
    ),
    ("asyncBR is resumed for ", None, &[Enters(Entered::Resumed)]),
    (
        "FileSystemBR is initialized",
        None,
        &[Enters(Entered::InProcess)],
    ),
    ("FileSystemBR is closed", None, &[Leaves]),
    ("Closing FileSystemBR", None, &[Stage(EntryStage::Closing)]),
    ("MicroServiceBR is closed", None, &[Leaves]),
    (
        "Closing MicroServiceBR",
        None,
        &[Stage(EntryStage::Closing)],
    ),
    (
        "Finish waiting data path pod",
        None,
        &[Stage(EntryStage::PodEnded)],
    ),
    (
        "Starting to collect data mover pod log for ",
        None,
        &[Stage(EntryStage::CollectingLog)],
    ),
    (
        "Created log file ",
        None,
        &[Stage(EntryStage::CollectingLog)],
    ),
    ("Redirecting to log file ", None, &[MoverLogBegins]),
    (
        "Completed to collect data mover pod log",
        None,
        &[MoverLogEnds, Stage(EntryStage::LogCollected)],
    ),
    (
        "Failed to collect data mover logs",
        None,
        &[MoverLogEnds, Stage(EntryStage::LogCollected)],
    ),
    (
        "Calling callback on data path pod termination",
        None,
        &[Stage(EntryStage::InCallback)],
    ),
    (
        "Complete callback on data path pod termination",
        None,
        &[Leaves],
    ),
    // The ends that fail.
    (
        "Failed to rebind PV to target PVC on completion",
        Some(DataDownload),
        &[Mark::FailedEnd(EndFailure::Rebind)],
    ),
    (
        "error updating ",
        None,
        &[Mark::FailedEnd(EndFailure::Write)],
    ),
    // Lost on the way.
    ("[Diagnose ", None, &[Diagnosis]),
    ("Failed to resume data path for ", None, &[ResumeFails]),
    ("Failed to update progress", None, &[ProgressNotWritten]),
    // The configuration (`getDataPathConcurrentNum`).
    ("Failed to get node agent configs", None, &[ConfigWarning]),
    ("Global number ", None, &[ConfigWarning]),
    (
        "Failed to parse rule with label selector",
        None,
        &[ConfigWarning],
    ),
    ("Rule with label selector ", None, &[ConfigWarning]),
    ("Failed to get node info for ", None, &[ConfigWarning]),
    ("Failed to start VGDP counter", None, &[ConfigWarning]),
    ("Failed to wait cache for resume", None, &[ConfigWarning]),
];

/// Texts that stand anywhere in a message.
const PARTS: &[Marker] = &[
    (
        // DataDownload and PodVolumeRestore write "rasonable".
        "but not handled in r",
        None,
        &[ForcedCancel],
    ),
    ("prepare will halt for this", None, &[PrepareHalts]),
    (
        "to InProgress, will data path close and retry",
        None,
        &[NotMarked, Ends],
    ),
];

/// Ends of "Failed to get <task> …" in a callback.
const GET_FAILURES: [&str; 3] = [" on completion", " on failure", " on cancel"];

/// Returns the texts by which lines are told apart, for whoever changes lines and must leave these.
pub(super) fn texts() -> impl Iterator<Item = &'static str> {
    BEGINNINGS
        .iter()
        .chain(PARTS)
        .map(|(text, _, _)| *text)
        .chain(["Failed to get "])
        .chain(GET_FAILURES)
}

/// Returns what a message means, and the kind that it can only be about.
pub(super) fn marks(message: &str) -> (Option<TaskKind>, &'static [Mark]) {
    let found = BEGINNINGS
        .iter()
        .find(|(text, _, _)| message.starts_with(text))
        .or_else(|| PARTS.iter().find(|(text, _, _)| message.contains(text)));
    if let Some((_, kind, marks)) = found {
        return (*kind, marks);
    }
    if message.starts_with("Failed to get ")
        && GET_FAILURES.iter().any(|end| message.ends_with(end))
    {
        return (None, &[Mark::FailedEnd(EndFailure::Get)]);
    }
    (None, &[])
}
