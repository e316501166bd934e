use serde_json::Value;

use super::super::example::*;
use super::check;
use crate::diagnose::case::CouldBe;
use crate::diagnose::finding::{Finding, Severity};

fn held(name: &str) -> Value {
    let task = with(
        task("DataUpload", name, "InProgress"),
        "status.node",
        "node-a",
    );
    with(task, "status.startTimestamp", ago(7200))
}

fn over(phase: &str, seconds: i64) -> Value {
    with(backup(phase), "status.completionTimestamp", ago(seconds))
}

fn found(objects: Vec<Value>) -> Vec<Finding> {
    let all = [vec![node("node-a"), agent("node-a")], objects].concat();
    propose(check, all).findings
}

#[test]
fn a_task_of_a_final_backup_is_told_at_the_threshold() {
    let with_end = |seconds| {
        found(vec![
            over("Failed", seconds),
            held("du-1"),
            running_mover("du-1", 7300),
        ])
    };
    assert!(with_end(599).is_empty());
    let found = with_end(600);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(found[0].node.as_deref(), Some("node-a"));
    assert_eq!(found[0].since, Some(ago(600).parse().unwrap()));
    assert_eq!(task_names(&found[0]), ["du-1"]);
}

#[test]
fn those_that_wait_behind_an_orphan_are_affected() {
    let mut waiting = with(accepted("du-2", 3600), "status.phase", "Prepared");
    waiting["status"]["node"] = "node-a".into();
    waiting["metadata"]["labels"]["velero.io/backup-name"] = "b2".into();
    let next = with(backup("InProgress"), "metadata.name", "b2");
    let found = found(vec![
        over("Failed", 3600),
        next,
        held("du-1"),
        running_mover("du-1", 7300),
        waiting,
        running_mover("du-2", 3500),
        config("{\"loadConcurrency\":{\"globalConfig\":1}}"),
    ]);
    assert_eq!(found.len(), 1);
    let affected: Vec<&str> = found[0]
        .affects
        .iter()
        .map(|task| task.name.as_str())
        .collect();
    assert_eq!(affected, ["du-2"]);
}

#[test]
fn a_backup_that_runs_or_finalizes_has_no_orphans() {
    for phase in ["InProgress", "WaitingForPluginOperations", "Finalizing"] {
        assert!(
            found(vec![backup(phase), held("du-1")]).is_empty(),
            "{phase}"
        );
    }
}

#[test]
fn a_backup_is_gone_only_where_all_were_listed() {
    let other = with(over("Completed", 3600), "metadata.name", "other");
    let listed = found(vec![other, held("du-1")]);
    assert!(listed[0].summary.contains("gone"));
    let told = propose(check, [node("node-a"), agent("node-a"), held("du-1")]);
    assert!(told.findings.is_empty());
    assert_eq!(told.inconclusive[0].could_be, CouldBe::Warning);
}

#[test]
fn a_name_that_was_hashed_into_its_label_is_not_gone() {
    let long = format!("{}-{}", "backup".repeat(10), "2026010204");
    let hashed = format!("{}abcdef", &long[..57]);
    let mut task = held("du-1");
    task["metadata"]["labels"]["velero.io/backup-name"] = hashed.into();
    let parent = with(backup("InProgress"), "metadata.name", long);
    assert!(found(vec![parent, task]).is_empty());
}

#[test]
fn a_new_task_takes_no_room() {
    let new = task("DataUpload", "du-1", "");
    assert!(found(vec![over("Failed", 3600), new]).is_empty());
}
