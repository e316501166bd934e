//! What is wrong with a log as a whole: it is none of Velero's, or most of it could not be read.

use super::super::log_line::LogLine;
use super::super::{Gap, GapReason, LogEvidence};
use crate::capture::{LINES_LEFT_OUT, LogFile};

/// Finds that a log is empty, or holds lines and none of Velero: a node-agent writes when it starts.
pub(super) fn no_log_of_velero(log: &LogFile) -> Option<Gap> {
    let is_line = |line: &&str| !line.trim().is_empty() && !line.starts_with(LINES_LEFT_OUT);
    if log.body.trim().is_empty() {
        return Some(Gap::new(
            "log",
            GapReason::Partial,
            &format!("log of {}/{} is empty", log.namespace, log.pod),
            "it says nothing: neither that something happened nor that it did not",
        ));
    }
    let lines = log.body.lines().filter(is_line).count();
    let has_one = || log.body.lines().any(|line| LogLine::parse(line).is_some());
    if lines == 0 || has_one() {
        return None;
    }
    let what = match lines {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    };
    Some(Gap::new(
        "log",
        GapReason::Malformed,
        &format!(
            "log of {}/{} holds no line of Velero: {what} of something else",
            log.namespace, log.pod
        ),
        "nothing is read from it",
    ))
}

/// Finds that more lines were read over than read. Some always are: those of a panic, of client-go.
pub(super) fn mostly_read_over(log: &LogFile, evidence: &LogEvidence) -> Option<Gap> {
    (evidence.skipped > evidence.lines).then(|| {
        let all = evidence.skipped.saturating_add(evidence.lines);
        Gap::new(
            "log",
            GapReason::Malformed,
            &format!(
                "{} of {all} lines of the log of {}/{} are torn or not Velero's",
                evidence.skipped, log.namespace, log.pod
            ),
            "they were read over, and what they say is not known",
        )
    })
}

/// Finds lines that no whole log of one process holds.
pub(super) fn torn(log: &LogFile, evidence: &LogEvidence) -> Option<Gap> {
    (evidence.torn > 0).then(|| {
        Gap::new(
            "log",
            GapReason::Malformed,
            &format!(
                "log of {}/{} is not that of one process: lines run into each other, one is much earlier than those before it, or a start is not that of the container",
                log.namespace, log.pod
            ),
            "what it does not show may have happened, and nothing that it shows is certain",
        )
    })
}
