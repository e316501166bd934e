//! What the log of one node-agent proves: who took a slot and gave it back, who asks for one, what the
//! workers do.
//!
//! Velero writes nothing of its map of slots to the API, but each entry leaves lines in the log of the agent
//! that holds it, at the default log level (v1.15.2 … main `pkg/datapath/micro_service_watcher.go`; before,
//! `pkg/datapath/file_system.go`). A log speaks for one process only, and only from its first line on: what
//! happened before is not known, and never read as "nothing".

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::log_line::LogLine;
use crate::velero::{TaskKind, TaskRef};

mod marker;
mod read;
mod subject;

pub use read::read;

/// Returns the texts by which lines are told apart, for whoever changes lines and must leave these.
pub(crate) fn marker_texts() -> impl Iterator<Item = &'static str> {
    marker::texts()
}

/// What one log says of one process of a node-agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEvidence {
    /// The time of the first line that counts: of the process start if it is in the log, else of the first
    /// line of the process that is.
    pub speaks_from: Option<Timestamp>,
    /// The time of the last line.
    pub speaks_to: Option<Timestamp>,
    /// Whether the start of the process is in the log.
    pub start: LogStart,
    /// Lines of Velero that were read.
    pub lines: usize,
    /// Lines that were not Velero's: of a panic, of client-go, cut or binary ones.
    pub skipped: usize,
    /// The entries of the map of slots at the end of the log, by the name of the task, which is Velero's own key.
    pub entries: BTreeMap<String, LoggedEntry>,
    /// Tasks that asked for a slot and were not seen to get it, by name.
    pub waits: BTreeMap<String, WaitLoop>,
    /// What each kind's worker does.
    pub workers: BTreeMap<TaskKind, LoggedWorker>,
    /// Data paths that ended and whose task could not be finished, by the name of the task.
    pub failed_ends: BTreeMap<String, FailedEnd>,
    /// Cancels that were forced after their delay, by the name of the task, and when (v1.17 on).
    pub forced_cancels: BTreeMap<String, Note>,
    /// Tasks whose change to Prepared failed and is not tried again: "prepare will halt".
    pub halted_prepares: BTreeMap<String, Note>,
    /// The last expose diagnosis of a task: the lines after `[Diagnose … expose]`.
    pub diagnoses: BTreeMap<String, Diagnosis>,
    /// Tasks that could not be resumed after a restart.
    pub failed_resumes: BTreeMap<String, Note>,
    /// The last progress of a task that arrived and could not be written: its bytes move, its status does not.
    pub unwritten_progress: BTreeMap<String, Note>,
    /// The newest complaint about a list or watch, and how many there were: what makes an informer blind.
    pub watch_errors: Option<(usize, Note)>,
    /// What the process says of a configuration that is not as meant, in the order written; from the lines of
    /// its start, which are kept beyond lines that were left out.
    pub config_warnings: Vec<Note>,
    /// Tasks that took a slot and whose write to InProgress failed: they give it back and ask again.
    pub unmarked: BTreeMap<String, Note>,
    /// What the log says of each task, kept after its entry is gone and after it was let in.
    pub tasks: BTreeMap<String, LoggedTask>,
    /// Lines that no whole log of one process holds: two that run into each other, one that is much earlier than
    /// those before it, and a start of a process that is much later than that of the container, as where logs of
    /// several agents were put together.
    pub torn: usize,
    /// Whether more names occurred than are kept: then a name that is not there proves nothing.
    pub overflow: Overflow,
}

/// When a task was last seen in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedTask {
    /// Its kind, where a line tells.
    pub kind: Option<TaskKind>,
    /// When the agent last accepted it, or exposed it.
    pub accepted: Option<Timestamp>,
    /// When it was last made Prepared, or looked at as Prepared; `None` if the change failed.
    pub prepared: Option<Timestamp>,
    /// When the agent last took it up, for whatever reason.
    pub looked: Option<Timestamp>,
    /// When it was last let in.
    pub admitted: Option<Timestamp>,
    /// When it was last marked Canceled, which removes no entry (v1.15 on).
    pub canceled: Option<Timestamp>,
    /// When its entry was last removed; `None` if it is open or was never seen.
    pub left: Option<Timestamp>,
}

/// Whether the start of the process is in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogStart {
    /// It is not: the log was rotated, or only its end was read.
    #[default]
    Missing,
    /// It is, but lines between it and the rest were left out.
    BeforeAGap,
    /// It is, and nothing is missing since.
    Logged,
}

/// Whether more names occurred than are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// All are kept.
    #[default]
    No,
    /// Some were dropped.
    Yes,
}

/// A line worth repeating.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Its time.
    pub at: Option<Timestamp>,
    /// Its message, with the field `error` if there is one.
    pub text: String,
}

/// An entry of the map of slots that was made and not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEntry {
    /// The kind of the task, where the lines tell.
    pub kind: Option<TaskKind>,
    /// When it was made; `None` if that is before the log speaks.
    pub since: Option<Timestamp>,
    /// How it was made.
    pub how: Entered,
    /// How far its data path has come.
    pub stage: EntryStage,
    /// The last line about it.
    pub last: Note,
}

/// How an entry was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entered {
    /// By a watcher of a mover pod.
    Watcher,
    /// By a data path inside the agent.
    InProcess,
    /// Resumed after a restart, whatever the limit.
    Resumed,
    /// Before the log speaks: a later line shows that it was there.
    BeforeTheLog,
}

/// How far the data path of an entry has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryStage {
    /// It runs.
    Running,
    /// The mover pod has ended.
    PodEnded,
    /// The agent reads the mover pod's log, without a deadline.
    CollectingLog,
    /// That is done.
    LogCollected,
    /// The callback that writes the task runs.
    InCallback,
    /// It is being closed.
    Closing,
}

impl EntryStage {
    /// Returns the words used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "the data path runs",
            Self::PodEnded => "the mover pod has ended",
            Self::CollectingLog => "the mover pod's log is being collected",
            Self::LogCollected => "the mover pod's log was collected",
            Self::InCallback => "the callback runs",
            Self::Closing => "the data path is being closed",
        }
    }
}

/// A task that asks for a slot again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitLoop {
    /// The kind of the task.
    pub kind: Option<TaskKind>,
    /// Its first try that was not followed by an admission.
    pub first: Option<Timestamp>,
    /// Its last.
    pub last: Option<Timestamp>,
    /// How many.
    pub tries: usize,
    /// How many of them came as far as the request for a slot.
    pub at_slot: usize,
    /// How many were refused in so many words ("concurrent limited": v1.12 to v1.16, debug level from v1.17).
    pub refused: usize,
    /// The last line that shows the last try at the request for a slot.
    pub line: Note,
}

/// What the one worker of a kind does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedWorker {
    /// The step that it began last and was not seen to end.
    pub step: Option<BlockingStep>,
    /// Its last line.
    pub last: Option<Timestamp>,
    /// The last time at which it provably took up a task.
    pub last_taken: Option<Timestamp>,
}

/// A step that keeps the one worker of a kind busy while it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockingStep {
    /// What it does.
    pub what: WorkerStep,
    /// For which task.
    pub task: String,
    /// Since when.
    pub since: Option<Timestamp>,
    /// The line that began it.
    pub line: String,
}

/// What a worker may wait for (v1.17.2 `pkg/exposer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkerStep {
    /// It exposes: for a DataUpload up to the prepare timeout, until the VolumeSnapshot is ready.
    WaitsForSnapshot,
    /// It exposes: until something uses the target PVC.
    WaitsForConsumer,
    /// It exposes, and waits for nothing of note.
    Exposes,
    /// It looks at what is exposed: until the PVC is bound.
    WaitsForClaim,
    /// It looks at what is exposed: until the mover pod runs, up to the resource timeout.
    WaitsForPod,
    /// It opens the backup repository (in-process data paths).
    OpensRepository,
}

impl WorkerStep {
    /// Returns the words used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WaitsForSnapshot => "waits for the VolumeSnapshot of",
            Self::WaitsForConsumer => "waits for a consumer of the target PVC of",
            Self::Exposes => "exposes",
            Self::WaitsForClaim => "waits for the PVC of",
            Self::WaitsForPod => "waits for the mover pod of",
            Self::OpensRepository => "opens the backup repository for",
        }
    }
}

/// A data path that ended without ending its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedEnd {
    /// What failed.
    pub what: EndFailure,
    /// The line.
    pub note: Note,
}

/// What fails at the end of a data path (v1.17.2 `pkg/controller/*_controller.go`, the On… callbacks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndFailure {
    /// The task could not be read.
    Get,
    /// The restored volume could not be bound to the target PVC.
    Rebind,
    /// The last write of the status failed.
    Write,
}

/// What a node-agent wrote about an expose that did not succeed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// When.
    pub at: Option<Timestamp>,
    /// Its lines, without the prefix.
    pub lines: Vec<String>,
}

/// Returns whether a line of a node-agent's log is about a task, by the ways in which the controllers name it.
#[must_use]
pub fn is_about(line: &LogLine<'_>, task: &TaskRef) -> bool {
    let subject = subject::Subject::of(line, None);
    subject.name() == Some(task.name.as_str()) && subject.kind.is_none_or(|kind| kind == task.kind)
}

impl LogEvidence {
    /// Returns whether the log speaks over all of the time since `from`, so that what it does not say did not
    /// happen.
    #[must_use]
    pub fn speaks_since(&self, from: Timestamp) -> bool {
        self.overflow == Overflow::No
            && (self.start == LogStart::Logged
                || self.speaks_from.is_some_and(|speaks| speaks <= from))
    }

    /// Returns whether the log is that of the whole process, line by line, so that its entries are the map of slots.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.start == LogStart::Logged && self.torn == 0 && self.overflow == Overflow::No
    }

    /// Returns what the log says of a task.
    #[must_use]
    pub fn task(&self, task: &TaskRef) -> Option<&LoggedTask> {
        self.tasks
            .get(&task.name)
            .filter(|logged| logged.kind.is_none_or(|kind| kind == task.kind))
    }

    /// Returns how many seconds before the end of the log a time was.
    #[must_use]
    pub fn before_end(&self, time: Timestamp) -> Option<i64> {
        self.speaks_to.map(|end| end.duration_since(time).as_secs())
    }
}

#[cfg(test)]
mod tests;
