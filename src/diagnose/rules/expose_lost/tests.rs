use serde_json::{Value, json};

use super::super::example::*;
use super::check;
use crate::diagnose::finding::Severity;

fn pvb(name: &str, seconds: i64) -> Value {
    let task = task("PodVolumeBackup", name, "Accepted");
    let task = with(task, "spec.node", "node-a");
    with(task, "status.acceptedTimestamp", ago(seconds))
}

fn lost(objects: impl IntoIterator<Item = Value>) -> Vec<String> {
    propose(check, objects)
        .findings
        .iter()
        .flat_map(task_names)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_slow_snapshot_is_not_a_lost_expose() {
    let objects = [node("node-a"), agent("node-a"), accepted("du-1", 1700)];
    assert!(lost(objects).is_empty());
}

#[test]
fn an_acceptor_that_started_after_the_accept_exposes_nothing() {
    let with_start = |seconds| {
        [
            node("node-a"),
            agent_started("node-a", seconds),
            accepted("du-1", 600),
        ]
    };
    assert!(lost(with_start(600)).is_empty());
    let found = propose(check, with_start(599)).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(found[0].since, Some(ago(600).parse().unwrap()));
    assert!(found[0].deadline.is_some());
}

#[test]
fn an_acceptor_that_is_gone_exposes_nothing() {
    let objects = [node("node-b"), agent("node-b"), accepted("du-1", 600)];
    assert_eq!(lost(objects), ["du-1"]);
}

#[test]
fn an_acceptor_on_a_node_that_is_only_not_ready_may_still_expose() {
    let away = with(node("node-a"), "status.conditions.0.status", "Unknown");
    let objects = [away, agent("node-a"), accepted("du-1", 600)];
    assert!(lost(objects).is_empty());
}

#[test]
fn a_later_accept_of_the_same_kind_by_the_same_agent_ends_an_expose() {
    let pair = |later: Value| {
        [
            node("node-a"),
            agent("node-a"),
            node("node-b"),
            agent("node-b"),
            accepted("du-1", 600),
            later,
            mover("du-2", "Pending", 400),
        ]
    };
    assert_eq!(lost(pair(accepted("du-2", 500))), ["du-1"]);
    assert!(lost(pair(accepted("du-2", 700))).is_empty());
    let by_other = with(accepted("du-2", 500), "status.acceptedByNode", "node-b");
    assert!(lost(pair(by_other)).is_empty());
}

#[test]
fn a_pod_volume_has_nothing_to_wait_for() {
    let objects = |seconds| [node("node-a"), agent("node-a"), pvb("pvb-1", seconds)];
    assert!(lost(objects(59)).is_empty());
    assert_eq!(lost(objects(60)), ["pvb-1"]);
}

#[test]
fn a_task_with_a_pod_is_not_lost() {
    let mut pod = mover("pvb-1", "Pending", 600);
    pod["metadata"]["labels"] = json!({"velero.io/pod-volume-backup": "pvb-1"});
    let objects = [node("node-a"), agent("node-a"), pvb("pvb-1", 600), pod];
    assert!(lost(objects).is_empty());
}
