use serde_json::Value;

use super::super::example::*;
use super::check;
use crate::diagnose::finding::Severity;

fn ended(kind: &str, name: &str, phase: &str, message: &str, start: i64, end: i64) -> Value {
    let task = with(task(kind, name, phase), "status.message", message);
    let task = with(task, "status.startTimestamp", ago(start));
    with(task, "status.completionTimestamp", ago(end))
}

fn cause(task: Value) -> Option<&'static str> {
    let found = propose(check, [agent("node-a"), backup("PartiallyFailed"), task]).findings;
    assert!(
        found
            .iter()
            .all(|finding| finding.severity == Severity::Info)
    );
    found.first().and_then(|finding| finding.cause)
}

#[test]
fn messages_of_velero_name_the_cause() {
    let of =
        |phase: &str, message: &str| cause(ended("DataUpload", "du-1", phase, message, 600, 600));
    assert_eq!(
        of(
            "Canceled",
            "Dataupload is in Accepted status during the node-agent starting, mark it as cancel"
        ),
        Some("agent-start")
    );
    assert_eq!(
        of(
            "Canceled",
            "Resume InProgress dataupload failed with error pod gone, mark it as cancel"
        ),
        Some("agent-start")
    );
    assert_eq!(
        of(
            "Failed",
            "get a podvolumebackup with status \"InProgress\" during the server starting, mark it as \"Failed\""
        ),
        Some("agent-start")
    );
    assert_eq!(
        of(
            "Canceled",
            "Dataupload is in status \"Prepared\" during the velero server starting, mark it as cancel"
        ),
        Some("server-start")
    );
    assert_eq!(
        of(
            "Canceled",
            "found a du velero/du-1 with expose error: Pod is in abnormal state [Failed]. mark it as cancel"
        ),
        Some("pod-rejected")
    );
    assert_eq!(
        of("Canceled", "Cancel PVB on pod volume timeout"),
        Some("operation-timeout")
    );
    assert_eq!(of("Failed", "exposed snapshot is not ready"), Some("other"));
    assert_eq!(
        of("Canceled", "Cancel dataupload because it is being deleted"),
        None
    );
}

#[test]
fn a_failure_without_an_end_is_a_prepare_timeout() {
    let mut task = accepted("du-1", 3600);
    task["status"]["phase"] = "Failed".into();
    assert_eq!(cause(task), Some("prepare-timeout"));
}

#[test]
fn a_failure_after_a_start_is_one_of_the_data_path() {
    let task = ended(
        "DataUpload",
        "du-1",
        "Failed",
        "error to run uploader",
        900,
        600,
    );
    assert_eq!(cause(task), Some("data-path"));
}

#[test]
fn a_cancel_at_the_age_of_the_operation_timeout_is_that() {
    let at = |timeout: &str| {
        let parent = with(
            backup("PartiallyFailed"),
            "spec.itemOperationTimeout",
            timeout,
        );
        let task = ended("DataUpload", "du-1", "Canceled", "", 600, 600);
        propose(check, [agent("node-a"), parent, task])
            .findings
            .first()
            .and_then(|finding| finding.cause)
    };
    // Created eight hours ago, ended ten minutes ago.
    assert_eq!(at("7h50m"), Some("operation-timeout"));
    // Whoever asked for the cancel of a younger one knows.
    assert_eq!(at("7h53m"), None);
}

#[test]
fn only_the_last_day_and_only_bad_ends_count() {
    let day = 24 * 3600;
    let at = |end: i64| cause(ended("DataUpload", "du-1", "Failed", "oops", end, end));
    assert_eq!(at(day - 1), Some("other"));
    assert_eq!(at(day), None);
    assert_eq!(
        cause(ended("DataUpload", "du-1", "Completed", "", 900, 600)),
        None
    );
    let mut foreign = ended("DataUpload", "du-1", "Failed", "oops", 600, 600);
    foreign["spec"]["datamover"] = "other-mover".into();
    assert_eq!(cause(foreign), None);
}
