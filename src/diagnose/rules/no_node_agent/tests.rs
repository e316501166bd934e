use serde_json::{Value, json};

use super::super::example::*;
use super::check;
use crate::diagnose::case::CouldBe;
use crate::diagnose::finding::Severity;

fn server() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "velero-5d9", "namespace": "velero", "creationTimestamp": LONG_AGO},
        "spec": {"nodeName": "node-a", "containers": [{"name": "velero", "image": "velero/velero:v1.17.1"}]},
        "status": {"phase": "Running"}
    })
}

fn not_ready(node: &str, seconds: i64) -> Value {
    let status = json!({"name": "node-agent", "ready": false, "restartCount": 0,
                        "state": {"waiting": {"reason": "ImagePullBackOff"}}});
    let pod = with(agent(node), "status.containerStatuses.0", status);
    let pod = with(pod, "status.phase", "Pending");
    let pod = with(pod, "metadata.creationTimestamp", ago(seconds));
    let pod = with(pod, "status.conditions.0.status", "False");
    with(pod, "status.conditions.0.lastTransitionTime", ago(seconds))
}

#[test]
fn a_namespace_without_a_daemon_set_has_no_agent() {
    let other = with(daemon_set(), "metadata.name", "log-shipper");
    let other = with(
        other,
        "spec.template.metadata.labels",
        json!({"app": "log-shipper"}),
    );
    let objects = [server(), other, task("DataUpload", "du-1", "")];
    let found = propose(check, objects).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].cause, Some("daemonset-missing"));
    assert_eq!(found[0].severity, Severity::Critical);
    assert_eq!(found[0].node, None);
    assert_eq!(task_names(&found[0]), ["du-1"]);
}

#[test]
fn a_daemon_set_without_pods_is_scheduled_nowhere() {
    let set = with(daemon_set(), "status.desiredNumberScheduled", 0);
    let objects = [server(), set, task("DataUpload", "du-1", "")];
    assert_eq!(
        propose(check, objects).findings[0].cause,
        Some("none-scheduled")
    );
}

#[test]
fn pods_that_are_not_ready_count_after_a_rollout_would_be_over() {
    let cause = |seconds| {
        let objects = [
            node("node-a"),
            daemon_set(),
            not_ready("node-a", seconds),
            task("DataUpload", "du-1", ""),
        ];
        let found = propose(check, objects).findings;
        found.first().and_then(|finding| finding.cause)
    };
    assert_eq!(cause(119), None);
    assert_eq!(cause(120), Some("none-ready"));
}

#[test]
fn an_agent_that_works_anywhere_is_one() {
    let objects = [
        node("node-a"),
        agent("node-a"),
        task("DataUpload", "du-1", ""),
    ];
    let told = propose(check, objects);
    assert!(told.findings.is_empty());
    assert!(told.inconclusive.is_empty());
}

#[test]
fn nothing_is_said_while_there_is_nothing_to_do() {
    assert!(propose(check, [server(), daemon_set()]).findings.is_empty());
}

#[test]
fn an_agent_that_crashes_is_another_finding() {
    let objects = [
        node("node-a"),
        crashing("node-a", "OOMKilled", 137, ""),
        task("DataUpload", "du-1", ""),
    ];
    assert!(propose(check, objects).findings.is_empty());
}

#[test]
fn an_input_without_pods_of_the_namespace_proves_nothing() {
    let elsewhere = with(server(), "metadata.namespace", "app");
    for objects in [
        vec![task("DataUpload", "du-1", "")],
        vec![elsewhere, task("DataUpload", "du-1", "")],
    ] {
        let told = propose(check, objects);
        assert!(told.findings.is_empty());
        assert_eq!(told.inconclusive[0].could_be, CouldBe::Critical);
    }
}
