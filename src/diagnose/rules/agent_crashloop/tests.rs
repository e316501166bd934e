use serde_json::json;

use super::super::example::*;
use super::check;
use crate::diagnose::finding::{Confidence, Severity};

const MISSING: &str = "An error occurred: error getting node agent configs from configMap na-config: configmaps \"na-config\" not found";

#[test]
fn an_agent_that_says_its_config_map_is_not_found_is_a_certain_crash() {
    let objects = [
        node("node-a"),
        crashing("node-a", "Error", 1, MISSING),
        task("DataUpload", "du-1", ""),
        task("DataDownload", "dd-1", ""),
        task("PodVolumeBackup", "pvb-1", ""),
        task("PodVolumeRestore", "pvr-1", ""),
    ];
    let found = propose(check, objects).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].cause, Some("config-missing"));
    assert_eq!(found[0].severity, Severity::Critical);
    assert_eq!(found[0].confidence, Confidence::Certain);
    assert_eq!(found[0].node.as_deref(), Some("node-a"));
    assert_eq!(found[0].since, Some(ago(60).parse().unwrap()));
    assert_eq!(blocker_names(&found[0]), ["node-agent-node-a"]);
    assert_eq!(task_names(&found[0]), ["dd-1", "du-1", "pvb-1", "pvr-1"]);
}

#[test]
fn the_text_names_the_cause_before_the_config_map_does() {
    let cause = |message: &str, objects: Vec<serde_json::Value>| {
        let agent = crashing("node-a", "Error", 1, message);
        let found = propose(check, [vec![node("node-a"), agent], objects].concat()).findings;
        found[0].cause
    };
    let sound = vec![config("{}")];
    assert_eq!(cause(MISSING, sound.clone()), Some("config-missing"));
    assert_eq!(
        cause(
            "error getting node agent configs: more than one keys are found in ConfigMap na-config's data. only expect one",
            sound.clone()
        ),
        Some("config-multiple-keys")
    );
    assert_eq!(
        cause("error to unmarshall configs from na-config", sound.clone()),
        Some("config-invalid")
    );
    assert_eq!(cause("panic: oh no", sound), Some("undetermined"));
}

#[test]
fn without_a_text_the_config_map_tells() {
    let cause = |version: &str, objects: Vec<serde_json::Value>| {
        let agent = with(
            crashing("node-a", "Error", 1, ""),
            "spec.containers.0.image",
            format!("velero/velero:{version}"),
        );
        let found = propose(check, [vec![node("node-a"), agent], objects].concat()).findings;
        (found[0].cause, found[0].confidence)
    };
    let other = with(config("{\"loadConcurrency\":{}}"), "metadata.name", "other");
    assert_eq!(
        cause("v1.17.1", vec![other.clone()]),
        (Some("config-missing"), Confidence::Likely)
    );
    assert_eq!(cause("v1.16.2", vec![other]).0, Some("undetermined"));
    assert_eq!(
        cause("v1.17.1", vec![config("not json")]).0,
        Some("config-invalid")
    );
    let two = with(config("{}"), "data.second", "{}");
    assert_eq!(
        cause("v1.18.2", vec![two.clone()]).0,
        Some("config-multiple-keys")
    );
    assert_eq!(cause("v1.17.1", vec![two]).0, Some("undetermined"));
}

#[test]
fn a_config_map_that_was_mended_since_is_mentioned() {
    let objects = [
        node("node-a"),
        crashing("node-a", "Error", 1, MISSING),
        config("{}"),
    ];
    let found = propose(check, objects).findings;
    assert!(
        found[0]
            .evidence
            .iter()
            .any(|evidence| evidence.value.contains("exists now"))
    );
}

#[test]
fn an_agent_killed_for_memory_is_told_from_one_with_a_bad_config() {
    let objects = [
        node("node-a"),
        node("node-b"),
        crashing("node-a", "OOMKilled", 137, ""),
        crashing("node-b", "Error", 1, MISSING),
    ];
    let found = propose(check, objects).findings;
    let told: Vec<_> = found
        .iter()
        .map(|finding| (finding.cause.unwrap(), finding.node.as_deref().unwrap()))
        .collect();
    assert_eq!(
        told,
        [("config-missing", "node-b"), ("oom-killed", "node-a")]
    );
}

#[test]
fn where_others_work_only_tasks_of_the_node_are_named() {
    let of_a = with(
        task("DataUpload", "du-a", "Prepared"),
        "status.node",
        "node-a",
    );
    let of_b = with(
        task("DataUpload", "du-b", "Prepared"),
        "status.node",
        "node-b",
    );
    let objects = [
        node("node-a"),
        node("node-b"),
        crashing("node-a", "OOMKilled", 137, ""),
        agent("node-b"),
        of_a,
        of_b,
        task("DataUpload", "du-new", ""),
    ];
    let found = propose(check, objects).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(task_names(&found[0]), ["du-a"]);
}

#[test]
fn a_running_agent_is_no_crash_loop_however_bad_its_config_is_now() {
    let objects = [
        node("node-a"),
        agent("node-a"),
        config("not json"),
        task("DataUpload", "du-1", ""),
    ];
    assert!(propose(check, objects).findings.is_empty());
}

#[test]
fn a_running_agent_that_restarted_often_is_cured_once_it_outlives_its_last_life() {
    let running = |restarts: i64, life: i64, uptime: i64| {
        let status = json!({
            "name": "node-agent", "ready": true, "restartCount": restarts,
            "state": {"running": {"startedAt": ago(uptime)}},
            "lastState": {"terminated": {
                "reason": "Error", "exitCode": 1,
                "startedAt": ago(uptime + 5 + life), "finishedAt": ago(uptime + 5)
            }}
        });
        let agent = with(agent("node-a"), "status.containerStatuses.0", status);
        propose(check, [node("node-a"), agent]).findings.len()
    };
    assert_eq!(running(3, 300, 60), 1);
    assert_eq!(running(3, 300, 299), 1);
    assert_eq!(running(3, 300, 300), 0);
    assert_eq!(running(3, 1, 119), 1);
    assert_eq!(running(3, 1, 120), 0);
    assert_eq!(running(2, 300, 60), 0);
    assert_eq!(running(3, 5000, 594), 1);
    assert_eq!(running(3, 5000, 595), 0);
}

#[test]
fn an_evicted_pod_beside_its_successor_is_history() {
    let evicted = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "node-agent-old", "namespace": "velero", "creationTimestamp": LONG_AGO,
                     "labels": {"name": "node-agent"}},
        "spec": {"nodeName": "node-a", "containers": [{"name": "node-agent", "image": "velero/velero:v1.17.1"}]},
        "status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    });
    let alone = propose(check, [node("node-a"), evicted.clone()]).findings;
    assert_eq!(alone[0].cause, Some("evicted"));
    let beside = [node("node-a"), evicted, agent("node-a")];
    assert!(propose(check, beside).findings.is_empty());
}

#[test]
fn an_agent_that_runs_and_is_not_ready_is_not_cured() {
    let status = json!({
        "name": "node-agent", "ready": false, "restartCount": 3,
        "state": {"running": {"startedAt": ago(300)}},
        "lastState": {"terminated": {
            "reason": "Error", "exitCode": 2, "startedAt": ago(540), "finishedAt": ago(302)
        }}
    });
    let agent = with(agent("node-a"), "status.containerStatuses.0", status);
    assert_eq!(propose(check, [node("node-a"), agent]).findings.len(), 1);
}

#[test]
fn the_last_words_of_a_process_that_panicked_are_among_the_evidence() {
    let mut before = log(
        "node-a",
        "time=\"2026-01-02T11:58:00Z\" level=info msg=x\npanic: runtime error: index out of range\ngoroutine 1 [running]:\n",
    );
    before.previous = crate::capture::Previous::Yes;
    let objects = [node("node-a"), crashing("node-a", "Error", 2, "")];
    let found = propose_on(check, &snapshot(objects, vec![before])).findings;
    assert_eq!(found[0].cause, Some("undetermined"));
    assert!(
        found[0]
            .evidence
            .iter()
            .any(|one| one.value == "panic: runtime error: index out of range"),
        "{:?}",
        found[0].evidence
    );
}
