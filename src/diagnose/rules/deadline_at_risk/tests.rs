use serde_json::{Value, json};

use super::super::example::*;
use super::check;
use crate::diagnose::finding::{Confidence, Finding, Severity};

const ONE: &str = "{\"loadConcurrency\":{\"globalConfig\":1}}";

/// A finished task of half an hour, which ended so many seconds ago.
fn finished(name: &str, ended: i64) -> Value {
    let done = with(
        task("DataUpload", name, "Completed"),
        "status.node",
        "node-a",
    );
    let done = with(done, "status.startTimestamp", ago(ended + 1800));
    with(done, "status.completionTimestamp", ago(ended))
}

/// A task that runs since ten minutes and has done a third.
fn running(name: &str) -> [Value; 2] {
    running_of(name, 300)
}

/// A task that runs since ten minutes and has done 100 bytes of so many.
fn running_of(name: &str, total: i64) -> [Value; 2] {
    let held = with(
        task("DataUpload", name, "InProgress"),
        "status.node",
        "node-a",
    );
    let held = with(held, "status.startTimestamp", ago(600));
    let held = with(
        held,
        "status.progress",
        json!({"bytesDone": 100, "totalBytes": total}),
    );
    let written = json!([{"manager": "node-agent-server", "operation": "Update", "apiVersion": "velero.io/v2alpha1",
        "time": ago(0), "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:progress": {}}}}]);
    [
        with(held, "metadata.managedFields", written),
        running_mover(name, 700),
    ]
}

fn waiting(name: &str) -> Vec<Value> {
    let mut queued = with(
        task("DataUpload", name, "Prepared"),
        "status.node",
        "node-a",
    );
    queued["metadata"]["labels"]["velero.io/expose-on-going"] = json!("true");
    let queued = with(queued, "status.acceptedTimestamp", ago(7000));
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "velero", "creationTimestamp": LONG_AGO},
        "status": {"phase": "Bound"}
    });
    vec![queued, running_mover(name, 6900), claim]
}

/// Six wait behind one that runs; the operation timeout counts from eight hours ago.
fn found(timeout: &str, finished_tasks: i64) -> Vec<Finding> {
    found_behind(running("runs"), timeout, finished_tasks)
}

fn found_behind(runs: [Value; 2], timeout: &str, finished_tasks: i64) -> Vec<Finding> {
    let mut objects = vec![node("node-a"), agent("node-a"), config(ONE)];
    objects.push(with(
        backup("WaitingForPluginOperations"),
        "spec.itemOperationTimeout",
        timeout,
    ));
    for number in 0..finished_tasks {
        objects.push(finished(&format!("done-{number}"), 610 + number * 1800));
    }
    objects.extend(runs);
    for number in 0..6 {
        objects.extend(waiting(&format!("wait-{number}")));
    }
    propose(check, objects).findings
}

#[test]
fn tasks_that_will_be_cancelled_before_their_turn_are_counted_and_named() {
    // An hour is left. The running one takes twenty minutes, the next thirty; one more begins. Two rounds of
    // thirty minutes are a few seconds too long, so all but the last must begin at once.
    let found = found("9h0m0s", 4);
    let [finding] = found.as_slice() else {
        panic!("one finding, got {found:?}");
    };
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.confidence, Confidence::Possible);
    assert_eq!(finding.node.as_deref(), Some("node-a"));
    assert_eq!(task_names(finding).len(), 6);
    assert_eq!(blocker_names(finding), ["runs"]);
    assert_eq!(
        finding.deadline.as_ref().unwrap().at.to_string(),
        "2026-01-02T13:00:00Z"
    );
    assert_eq!(
        finding.summary,
        "About 4 of 6 waiting tasks on node-a will be cancelled by the operation timeout before a slot is free for them; with a limit of 6 none would."
    );
    assert!(
        finding.actions[0]
            .command
            .contains("--simulate --concurrency 6")
    );
}

#[test]
fn a_holder_that_is_late_under_any_limit_does_not_hide_the_limit_that_saves_the_others() {
    // Ten minutes for a fiftieth: eight hours to go, of which one is left.
    let found = found_behind(running_of("runs", 5000), "9h0m0s", 4);
    let [finding] = found.as_slice() else {
        panic!("one finding, got {found:?}");
    };
    assert_eq!(task_names(finding).len(), 6);
    assert!(
        finding.summary.ends_with("with a limit of 7 none would."),
        "{}",
        finding.summary
    );
}

#[test]
fn tasks_that_take_longer_than_their_time_are_not_said_to_be_saved_by_a_limit() {
    // Twenty minutes are left, and each takes thirty.
    let found = found("8h20m0s", 4);
    assert!(
        found[0].summary.ends_with("no limit would change that."),
        "{}",
        found[0].summary
    );
}

#[test]
fn a_timeout_that_the_server_does_not_check_yet_is_said_to_come_later() {
    let of = |phase: &str| {
        let mut objects = vec![
            node("node-a"),
            agent("node-a"),
            config(ONE),
            with(backup(phase), "spec.itemOperationTimeout", "9h0m0s"),
        ];
        for number in 0..4 {
            objects.push(finished(&format!("done-{number}"), 610 + number * 1800));
        }
        objects.extend(running("runs"));
        for number in 0..6 {
            objects.extend(waiting(&format!("wait-{number}")));
        }
        propose(check, objects).findings[0]
            .summary
            .contains("it may come later")
    };
    assert!(of("InProgress"));
    assert!(!of("WaitingForPluginOperations"));
}

#[test]
fn v1_12_is_not_told_to_raise_a_limit_that_it_does_not_have() {
    let mut objects = vec![
        node("node-a"),
        with(
            agent("node-a"),
            "spec.containers.0.image",
            "velero/velero:v1.12.4",
        ),
        with(
            backup("WaitingForPluginOperations"),
            "spec.itemOperationTimeout",
            "9h0m0s",
        ),
    ];
    for number in 0..4 {
        let done = finished(&format!("done-{number}"), 610 + number * 1800);
        objects.push(with(done, "kind", "PodVolumeBackup"));
    }
    objects.extend(running("runs"));
    for number in 0..6 {
        objects.extend(waiting(&format!("wait-{number}")));
    }
    let found = propose(check, objects).findings;
    let [finding] = found.as_slice() else {
        panic!("one finding, got {found:?}");
    };
    assert!(
        finding
            .summary
            .ends_with("this release has no limit to raise, an upgrade brings one."),
        "{}",
        finding.summary
    );
    assert!(!finding.actions[0].command.contains("--concurrency"));
}

#[test]
fn time_enough_is_quiet() {
    assert_eq!(found("13h0m0s", 4), Vec::new());
}

#[test]
fn too_few_finished_tasks_predict_nothing() {
    assert_eq!(found("9h0m0s", 2), Vec::new());
}

#[test]
fn many_finished_tasks_make_it_likely() {
    assert_eq!(found("9h0m0s", 10)[0].confidence, Confidence::Likely);
}
