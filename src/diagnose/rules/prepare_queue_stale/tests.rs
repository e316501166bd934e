use serde_json::Value;

use super::super::example::*;
use super::check;
use crate::diagnose::case::CouldBe;
use crate::diagnose::finding::{Confidence, Finding, Severity};

const ONE: &str = "{\"loadConcurrency\":{\"globalConfig\":1,\"prepareQueueLength\":1}}";

fn cluster() -> Vec<Value> {
    vec![node("node-a"), agent("node-a"), config(ONE)]
}

fn fresh(name: &str, seconds: i64) -> Value {
    with(
        task("DataUpload", name, ""),
        "metadata.creationTimestamp",
        ago(seconds),
    )
}

fn finished(name: &str, accepted_ago: i64, started_ago: i64) -> Value {
    let mut task = accepted(name, accepted_ago);
    task["metadata"]["labels"] = serde_json::json!({});
    let task = with(task, "status.phase", "Completed");
    let task = with(task, "status.startTimestamp", ago(started_ago));
    with(task, "status.completionTimestamp", ago(started_ago - 1))
}

fn found(objects: Vec<Value>) -> Vec<Finding> {
    propose(check, [cluster(), objects].concat()).findings
}

#[test]
fn room_in_the_queue_and_a_task_in_new_beyond_the_threshold_is_critical() {
    assert!(found(vec![fresh("du-1", 599)]).is_empty());
    let found = found(vec![fresh("du-1", 600)]);
    assert_eq!(found[0].severity, Severity::Critical);
    assert_eq!(found[0].cause, Some("stale-count"));
    assert_eq!(found[0].confidence, Confidence::Possible);
    assert!(found[0].summary.contains("(0 of 1)"));
}

#[test]
fn the_time_counts_from_the_last_instant_at_which_the_queue_was_full() {
    assert!(found(vec![fresh("du-2", 7200), finished("du-1", 7000, 599)]).is_empty());
    let found = found(vec![fresh("du-2", 7200), finished("du-1", 7000, 600)]);
    assert_eq!(found[0].since, Some(ago(600).parse().unwrap()));
}

#[test]
fn a_count_in_the_log_makes_it_likely() {
    let objects = [cluster(), vec![fresh("du-1", 3600)]].concat();
    let body = "time=\"2026-01-02T09:00:00Z\" level=info msg=\"Query queue length for du 1\"\n";
    let told = propose_on(check, &snapshot(objects, vec![log("node-a", body)]));
    assert_eq!(told.findings[0].cause, Some("stale-count"));
    assert_eq!(told.findings[0].confidence, Confidence::Likely);
    assert_eq!(blocker_names(&told.findings[0]), ["node-agent-node-a"]);
}

#[test]
fn a_full_queue_or_none_is_another_matter() {
    assert!(found(vec![fresh("du-2", 7200), accepted("du-1", 7000)]).is_empty());
    let none = [
        node("node-a"),
        agent("node-a"),
        config("{}"),
        fresh("du-1", 7200),
    ];
    assert!(propose(check, none).findings.is_empty());
}

#[test]
fn a_config_map_that_cannot_be_read_leaves_it_open() {
    let told = propose(
        check,
        [node("node-a"), agent("node-a"), fresh("du-1", 7200)],
    );
    assert!(told.findings.is_empty());
    assert_eq!(told.inconclusive[0].could_be, CouldBe::Critical);
}
