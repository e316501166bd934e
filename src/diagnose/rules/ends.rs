//! Why tasks ended badly, by the texts that Velero leaves in `status.message` and by the times that it
//! does not leave. The common ground of `recent-failures` and `agent-restarted`.

use jiff::{SignedDuration, Timestamp};

use crate::diagnose::case::Case;
use crate::snapshot::Task;
use crate::velero::{
    DEFAULT_ITEM_OPERATION_TIMEOUT_SECONDS, DEFAULT_PREPARE_TIMEOUT_SECONDS, Phase,
};

/// How far back ended tasks matter, in seconds.
pub(in crate::diagnose) const RECENT_SECONDS: i64 = 24 * 3600;

/// How much earlier than its operation timeout a cancelled task may have ended by it, in seconds: the
/// operation is a little older than the task.
const TIMEOUT_SLACK_SECONDS: i64 = 120;

/// Texts that a starting node-agent leaves (v1.12.4, v1.16.2 and v1.17.2 pkg/controller and
/// pkg/cmd/cli/nodeagent/server.go).
const AGENT_START: [&str; 4] = [
    "during the node-agent starting",
    "during the server starting, mark it as",
    "InProgress dataupload failed with error",
    "legacy podvolumerestore with status",
];

/// Returns whether a starting node-agent ended the task.
pub(in crate::diagnose) fn is_agent_start(task: &Task) -> bool {
    AGENT_START.iter().any(|text| task.message.contains(text))
        || (task.message.starts_with("Resume InProgress")
            && task.message.contains("failed with error"))
}

/// Returns when a final task ended. The prepare timeout writes no completionTimestamp; its write is
/// then the last of the node-agents, and without managedFields it is not before the timeout.
pub(in crate::diagnose) fn ended_at(task: &Task) -> Option<Timestamp> {
    if !task.phase.is_final() {
        return None;
    }
    task.completed.or(task.writes.node_agent).or_else(|| {
        let timeout = SignedDuration::from_secs(DEFAULT_PREPARE_TIMEOUT_SECONDS);
        task.accepted?.checked_add(timeout).ok()
    })
}

/// Returns the cause of a bad end, one of those of `recent-failures`; `None` for a task that ended well,
/// or that somebody wanted to end.
pub(in crate::diagnose) fn cause(case: &Case<'_, '_>, task: &Task) -> Option<&'static str> {
    let failed = match task.phase {
        Phase::Failed => Failed::Yes,
        Phase::Canceled => Failed::No,
        Phase::New
        | Phase::Accepted
        | Phase::Prepared
        | Phase::InProgress
        | Phase::Canceling
        | Phase::Completed
        | Phase::Other(_) => return None,
    };
    let message = task.message.as_str();
    if message.contains("because it is being deleted") || message.contains("is being deleted, mark")
    {
        return None;
    }
    let prepare_timeout = message.contains("timeout on preparing")
        || (failed == Failed::Yes && task.completed.is_none());
    Some(if prepare_timeout {
        "prepare-timeout"
    } else if message.contains("during the velero server starting") {
        "server-start"
    } else if is_agent_start(task) {
        "agent-start"
    } else if message.contains("with expose error") || message.contains("in abnormal status") {
        "pod-rejected"
    } else if message.contains("on pod volume timeout")
        || (failed == Failed::No && reached_timeout(case, task))
    {
        "operation-timeout"
    } else if failed == Failed::Yes && has_run(task) {
        "data-path"
    } else if failed == Failed::No && message.is_empty() {
        // Nothing but a request ends a task without a word, and whoever asked knows.
        return None;
    } else {
        "other"
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failed {
    Yes,
    No,
}

/// Whether the task had begun to move data: tasks that never ran have the same start and end.
fn has_run(task: &Task) -> bool {
    match (task.started, task.completed) {
        (Some(started), Some(completed)) => started < completed,
        (Some(_) | None, _) => false,
    }
}

/// Whether a cancelled DataUpload or DataDownload was as old as its operation timeout.
fn reached_timeout(case: &Case<'_, '_>, task: &Task) -> bool {
    if !task.reference.kind.is_data_movement() {
        return false;
    }
    let own = task
        .parent
        .as_ref()
        .and_then(|parent| case.snapshot.parent(parent).seen())
        .and_then(|parent| parent.item_operation_timeout_seconds);
    let timeout = own.unwrap_or_else(|| {
        case.snapshot
            .default_item_operation_timeout_seconds
            .max(DEFAULT_ITEM_OPERATION_TIMEOUT_SECONDS)
    });
    task.created
        .zip(task.completed)
        .is_some_and(|(created, completed)| {
            completed.duration_since(created).as_secs() >= timeout - TIMEOUT_SLACK_SECONDS
        })
}
