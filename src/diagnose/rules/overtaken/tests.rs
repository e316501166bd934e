use serde_json::{Value, json};

use super::super::example::*;
use super::super::{
    Check, accept_blocked, cancel_stuck, expose_blocked, mover_pod_lost, prepare_missed,
    prepared_doomed, restore_target, transfer_stalled,
};
use crate::capture::NowFrom;
use crate::diagnose::case::{Case, Proposals};
use crate::replay::{ReplayOptions, replay};
use crate::snapshot::Snapshot;

/// Lets one rule look, without what only whole findings have.
fn proposed(check: Check, snapshot: &Snapshot) -> Proposals {
    let replay = replay(snapshot, ReplayOptions::default());
    let case = Case::new(snapshot, &replay);
    let mut proposals = Proposals::default();
    check(&case, &mut proposals);
    proposals
}

/// The log of node-a, whose process began a day ago, with lines about du-1.
fn lines(lines: &[(i64, &str)]) -> String {
    let start = format!(
        "time=\"{}\" level=info msg=\"Starting Velero node-agent server v1.17.1 (01)\"\n",
        "2026-01-01T10:00:00Z"
    );
    let of = |(seconds, message): &(i64, &str)| {
        let whose = if message.starts_with("Reconcile ") {
            "dataupload=velero/du-9"
        } else if message.starts_with("Data download ") {
            "datadownload=velero/du-1"
        } else {
            "dataupload=velero/du-1"
        };
        format!(
            "time=\"{}\" level=info msg=\"{message}\" {whose}\n",
            ago(*seconds)
        )
    };
    start + &lines.iter().map(of).collect::<String>()
}

fn running(phase: &str) -> Value {
    let task = task("DataUpload", "du-1", phase);
    let task = with(task, "status.node", "node-a");
    let mut task = with(task, "status.startTimestamp", ago(7200));
    task["status"]["progress"] = json!({"totalBytes": 100, "bytesDone": 50});
    task["metadata"]["managedFields"] = json!([{
        "manager": "node-agent-server", "operation": "Update", "time": ago(7000),
        "fieldsV1": {"f:status": {"f:progress": {}}, "f:spec": {"f:cancel": {}}}
    }]);
    task
}

fn read_with(objects: &[Value], log_lines: &[(i64, &str)]) -> Snapshot {
    let base = [
        node("node-a"),
        daemon_set(),
        agent("node-a"),
        config(r#"{"loadConcurrency": {"globalConfig": 1}}"#),
    ];
    snapshot(
        base.into_iter().chain(objects.iter().cloned()),
        vec![log("node-a", &lines(log_lines))],
    )
}

/// What a rule is called, the rule, objects of which it speaks, and the line of the log that shows the task to
/// have gone on.
type Overtaking = (&'static str, Check, Vec<Value>, (i64, &'static str));

fn overtaken_cases() -> Vec<Overtaking> {
    let new = with(task("DataUpload", "du-1", ""), "status", json!({}));
    let mut cancelled = running("Canceling");
    cancelled["spec"]["cancel"] = json!(true);
    let prepared = with(
        task("DataUpload", "du-1", "Prepared"),
        "status.node",
        "node-a",
    );
    let mut download = task("DataDownload", "du-1", "");
    download["spec"]["targetVolume"] = json!({"namespace": "app", "pvc": "data"});
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "other", "namespace": "app", "creationTimestamp": LONG_AGO},
        "spec": {}, "status": {"phase": "Bound"}
    });
    vec![
        (
            "accept-blocked",
            accept_blocked::check,
            vec![new],
            (900, "Data upload is accepted"),
        ),
        (
            "prepare-missed",
            prepare_missed::check,
            vec![accepted("du-1", 1500), running_mover("du-1", 1400)],
            (1399, "Preparing dataupload"),
        ),
        (
            "expose-blocked",
            expose_blocked::check,
            vec![accepted("du-1", 1500), mover("du-1", "Pending", 1400)],
            (1300, "Data upload is marked as in progress"),
        ),
        (
            "prepared-doomed",
            prepared_doomed::check,
            vec![prepared, mover("other", "Running", 1400)],
            (1300, "Init cancelable dataUpload"),
        ),
        (
            "mover-pod-lost",
            mover_pod_lost::check,
            vec![running("InProgress"), mover("other", "Running", 1400)],
            (600, "Complete callback on data path pod termination"),
        ),
        (
            "transfer-stalled",
            transfer_stalled::check,
            vec![running("InProgress"), running_mover("du-1", 7200)],
            (600, "Complete callback on data path pod termination"),
        ),
        (
            "cancel-stuck",
            cancel_stuck::check,
            vec![cancelled.clone(), running_mover("du-1", 7200)],
            (600, "Complete callback on data path pod termination"),
        ),
        (
            "restore-target-missing",
            restore_target::check,
            vec![download, claim],
            (600, "Data download is accepted"),
        ),
        (
            "cancel-stuck forced",
            cancel_stuck::check,
            vec![cancelled, running_mover("du-1", 7200)],
            (600, "data upload is canceled"),
        ),
    ]
}

#[test]
fn a_task_that_the_log_shows_further_on_than_its_object_is_no_finding_and_no_sign_of_health() {
    for (name, check, objects, line) in overtaken_cases() {
        let without = proposed(check, &read_with(&objects, &[(10, "Reconcile du-9")]));
        assert_eq!(without.findings.len(), 1, "{name}");
        assert!(without.inconclusive.is_empty(), "{name}");
        let with = proposed(check, &read_with(&objects, &[line, (10, "Reconcile du-9")]));
        assert!(with.findings.is_empty(), "{name}: {:?}", with.findings);
        let why = &with.inconclusive[0].why;
        assert!(with.gaps.iter().any(|gap| gap.message == *why), "{name}");
        assert!(
            why.starts_with("the log of the node-agent is newer than the objects: Data"),
            "{name}: {why}"
        );
    }
}

#[test]
fn a_line_that_is_older_than_the_reading_of_a_cluster_overtakes_nothing() {
    for (name, check, objects, line) in overtaken_cases() {
        let mut snapshot = read_with(&objects, &[line, (10, "Reconcile du-9")]);
        snapshot.source.now_from = NowFrom::Server;
        assert_eq!(proposed(check, &snapshot).findings.len(), 1, "{name}");
        let mut snapshot = read_with(&objects, &[(100, line.1), (10, "Reconcile du-9")]);
        snapshot.source.now_from = NowFrom::Server;
        assert!(proposed(check, &snapshot).findings.is_empty(), "{name}");
    }
}

#[test]
fn a_change_to_prepared_that_failed_is_still_missed() {
    let objects = [accepted("du-1", 1500), running_mover("du-1", 1400)];
    let halted = [
        (1399, "Preparing dataupload"),
        (
            1398,
            "failed to update dataupload, prepare will halt for this dataupload",
        ),
    ];
    let found = proposed(prepare_missed::check, &read_with(&objects, &halted));
    assert_eq!(found.findings.len(), 1);
}

#[test]
fn a_task_that_was_written_after_the_line_is_as_its_object_says() {
    let mut task = running("InProgress");
    task["metadata"]["managedFields"][0]["time"] = json!(ago(5000));
    let objects = [task, running_mover("du-1", 7200)];
    let line = [(6000, "Complete callback on data path pod termination")];
    let found = proposed(transfer_stalled::check, &read_with(&objects, &line));
    assert_eq!(found.findings.len(), 1);
}

#[test]
fn an_end_that_failed_by_the_log_overtakes_nothing() {
    let objects = [running("InProgress"), mover("other", "Running", 1400)];
    let failed = [
        (601, "error updating DataUpload status"),
        (600, "Complete callback on data path pod termination"),
    ];
    let found = proposed(
        super::super::completion_stuck::check,
        &read_with(&objects, &failed),
    );
    assert_eq!(found.findings.len(), 1);
}
