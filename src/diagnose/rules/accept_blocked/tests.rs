use serde_json::Value;

use super::super::example::*;
use super::check;
use crate::diagnose::finding::Severity;

fn fresh(name: &str, seconds: i64) -> Value {
    with(
        task("DataUpload", name, ""),
        "metadata.creationTimestamp",
        ago(seconds),
    )
}

fn cluster() -> Vec<Value> {
    vec![node("node-a"), agent("node-a"), config("{}")]
}

#[test]
fn a_new_task_that_nobody_accepts_is_told_at_the_threshold() {
    let found = |seconds| {
        let objects = [cluster(), vec![fresh("du-1", seconds)]].concat();
        propose(check, objects).findings
    };
    assert!(found(599).is_empty());
    let found = found(600);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].cause, Some("undetermined"));
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(found[0].since, Some(ago(600).parse().unwrap()));
}

#[test]
fn a_long_queue_that_moves_is_none() {
    let with_accept = |seconds| {
        let objects = [
            cluster(),
            vec![
                fresh("du-1", 3600),
                accepted("du-2", seconds),
                mover("du-2", "Pending", 60),
            ],
        ]
        .concat();
        propose(check, objects).findings.len()
    };
    assert_eq!(with_accept(599), 0);
    assert_eq!(with_accept(600), 1);
}

#[test]
fn a_worker_that_still_exposes_another_task_is_named() {
    let objects = [cluster(), vec![fresh("du-1", 3600), accepted("du-2", 900)]].concat();
    let found = propose(check, objects).findings;
    assert_eq!(found[0].cause, Some("worker-blocked"));
    assert_eq!(blocker_names(&found[0]), ["du-2"]);
}

#[test]
fn agents_that_started_a_moment_ago_have_not_had_their_turn() {
    let objects = [
        node("node-a"),
        agent_started("node-a", 60),
        config("{}"),
        fresh("du-1", 3600),
    ];
    assert!(propose(check, objects).findings.is_empty());
}

#[test]
fn a_prepare_queue_or_a_task_that_waits_for_its_slot_is_another_matter() {
    let queue = config("{\"loadConcurrency\":{\"globalConfig\":1,\"prepareQueueLength\":5}}");
    let queued = [node("node-a"), agent("node-a"), queue, fresh("du-1", 3600)];
    assert!(propose(check, queued).findings.is_empty());
    let old = with(task("PodVolumeBackup", "pvb-1", ""), "spec.node", "node-a");
    let in_process = [
        node("node-a"),
        agent_of("node-a", "v1.16.2"),
        config("{}"),
        old,
    ];
    assert!(propose(check, in_process).findings.is_empty());
}
