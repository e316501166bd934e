use serde_json::{Value, json};

use super::super::example::*;
use super::check;
use crate::diagnose::finding::{Confidence, Finding, Severity};

const RESUME: &str = "Resume InProgress dataupload failed with error oops, mark it as cancel";

fn canceled(message: &str, node: &str, end: i64) -> Value {
    let task = with(
        task("DataUpload", "du-1", "Canceled"),
        "status.message",
        message,
    );
    let task = with(task, "status.node", node);
    let task = with(task, "status.startTimestamp", ago(7200));
    with(task, "status.completionTimestamp", ago(end))
}

fn restarted(node: &str, seconds: i64, reason: &str, exit_code: i64) -> Value {
    let agent = agent_started(node, seconds);
    with(
        agent,
        "status.containerStatuses.0.lastState.terminated",
        json!({"reason": reason, "exitCode": exit_code, "finishedAt": ago(seconds + 2)}),
    )
}

fn found(objects: Vec<Value>) -> Vec<Finding> {
    propose(check, objects).findings
}

#[test]
fn a_task_ended_by_a_starting_agent_was_harmed() {
    let found = found(vec![
        node("node-a"),
        restarted("node-a", 3600, "OOMKilled", 137),
        canceled(RESUME, "node-a", 3590),
    ]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(found[0].cause, Some("oom-killed"));
    assert_eq!(found[0].node.as_deref(), Some("node-a"));
    assert_eq!(found[0].since, Some(ago(3600).parse().unwrap()));
    assert_eq!(task_names(&found[0]), ["du-1"]);
}

#[test]
fn a_task_accepted_elsewhere_is_charged_to_the_agent_that_started() {
    let message =
        "Dataupload is in Accepted status during the node-agent starting, mark it as cancel";
    let found = found(vec![
        node("node-a"),
        node("node-new"),
        agent("node-a"),
        restarted("node-new", 3600, "Error", 1),
        canceled(message, "node-a", 3595),
    ]);
    assert_eq!(found[0].node.as_deref(), Some("node-new"));
    assert_eq!(found[0].cause, Some("undetermined"));
}

#[test]
fn a_node_that_came_back_is_told_from_an_agent_that_failed() {
    let cause = |reason, code| {
        found(vec![
            node("node-a"),
            restarted("node-a", 3600, reason, code),
            canceled(RESUME, "node-a", 3590),
        ])[0]
            .cause
    };
    assert_eq!(cause("Unknown", 255), Some("node-restart"));
    assert_eq!(cause("Error", 1), Some("undetermined"));
}

#[test]
fn a_restart_that_harmed_nobody_or_long_ago_is_none() {
    let harmless = with(canceled("", "node-a", 3590), "status.phase", "Completed");
    assert!(
        found(vec![
            node("node-a"),
            restarted("node-a", 3600, "OOMKilled", 137),
            harmless
        ])
        .is_empty()
    );
    let day = 24 * 3600;
    assert!(found(vec![node("node-a"), canceled(RESUME, "node-a", day)]).is_empty());
    assert_eq!(
        found(vec![node("node-a"), canceled(RESUME, "node-a", day - 1)]).len(),
        1
    );
}

#[test]
fn a_task_that_stands_still_since_the_restart_may_not_be_resumed() {
    let running = |start: i64, done: i64| {
        let mut task = with(
            task("DataUpload", "du-1", "InProgress"),
            "status.node",
            "node-a",
        );
        task["status"]["startTimestamp"] = ago(7200).into();
        task["status"]["progress"] = json!({"bytesDone": done, "totalBytes": 100});
        task["metadata"]["managedFields"] = json!([{
            "manager": "node-agent-server", "operation": "Update", "time": ago(start + 30),
            "fieldsV1": {"f:status": {"f:progress": {"f:bytesDone": {}}}}
        }]);
        found(vec![
            node("node-a"),
            restarted("node-a", start, "Error", 1),
            task,
            running_mover("du-1", 7300),
        ])
    };
    assert!(running(899, 50).is_empty());
    let found = running(900, 50);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].confidence, Confidence::Possible);
    assert!(running(900, 100).is_empty());
}

#[test]
fn a_resume_that_gave_up_after_its_wait_is_charged_to_the_own_agent() {
    let found = found(vec![
        node("node-a"),
        restarted("node-a", 3600, "OOMKilled", 137),
        canceled(RESUME, "node-a", 3000),
    ]);
    assert_eq!(found[0].cause, Some("oom-killed"));
}

/// A DataUpload that ran before the agent started, an hour ago, and was written a minute ago: only the logs tell.
fn with_logs(present: &str, previous: &str) -> Vec<Finding> {
    let mut running = with(
        task("DataUpload", "du-1", "InProgress"),
        "status.node",
        "node-a",
    );
    running["status"]["startTimestamp"] = ago(7200).into();
    running["metadata"]["managedFields"] = json!([{
        "manager": "node-agent-server", "operation": "Update", "time": ago(60),
        "fieldsV1": {"f:status": {"f:progress": {"f:bytesDone": {}}}}
    }]);
    let objects = [
        node("node-a"),
        restarted("node-a", 3600, "Error", 1),
        running,
        running_mover("du-1", 7300),
    ];
    let mut before = log("node-a", previous);
    before.previous = crate::capture::Previous::Yes;
    let logs = vec![log("node-a", present), before];
    propose_on(check, &snapshot(objects, logs)).findings
}

fn line(seconds: i64, message: &str) -> String {
    format!(
        "time=\"{}\" level=info msg=\"{message}\" dataupload=velero/du-1\n",
        ago(seconds)
    )
}

fn start() -> String {
    line(3600, "Starting Velero node-agent server v1.17.1 (0123)")
}

#[test]
fn a_resume_that_failed_by_the_log_harmed_its_task() {
    let failed = start() + &line(3590, "Failed to resume data path for du, have to cancel it");
    let found = with_logs(&failed, "");
    assert_eq!(found.len(), 1);
    // Not every kind of task is in the input, which caps what is certain.
    assert_eq!(found[0].confidence, Confidence::Likely);
    assert!(found[0].evidence[0].value.contains("have to cancel it"));
    let all = start()
        + &line(
            3500,
            "Failed to wait cache for resume, will not resume DU/DD",
        );
    let all = with_logs(&all, "");
    assert!(all[0].evidence[0].value.contains("will not resume DU/DD"));
}

#[test]
fn a_task_of_the_map_before_that_the_present_log_never_names_was_not_resumed() {
    let before = line(7200, "MicroServiceBR is initialized");
    let silent = start() + &line(10, "some other line");
    let found = with_logs(&silent, &before);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].confidence, Confidence::Likely);
    assert!(found[0].evidence[0].source.contains(" --previous, from "));
    // Resumed; or the log is not whole; or nobody knows of it before.
    let resumed = start() + &line(3590, "asyncBR is resumed for du du-1");
    assert!(with_logs(&(resumed + &line(10, "x")), &before).is_empty());
    assert!(with_logs(&line(10, "some other line"), &before).is_empty());
    assert!(with_logs(&silent, "").is_empty());
}
