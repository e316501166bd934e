//! A case for each gate, and for what is found by name.

use serde_json::{Value, json};

use super::*;
use crate::diagnose::diagnose;
use crate::replay::{ReplayOptions, replay};
use crate::testing::{
    agent, ago, completed, config_map, in_progress, managed, merge, mover, node, prepared,
    snapshot, task,
};

const FLAG: &str = "--node-agent-configmap=config";

fn world(config: &str, more: Vec<Value>) -> Snapshot {
    let mut objects = vec![
        node("a", &json!({})),
        agent("a", "v1.17.1", 86_400, &[FLAG]),
        config_map("config", config, 9_000_000),
        json!({
            "apiVersion": "velero.io/v1", "kind": "Backup",
            "metadata": {"name": "backup-1", "namespace": "velero", "creationTimestamp": ago(7300)},
            "spec": {"itemOperationTimeout": "4h0m0s"},
            "status": {"phase": "WaitingForPluginOperations", "startTimestamp": ago(7300)}
        }),
    ];
    objects.extend(more);
    snapshot(&objects)
}

fn explain(seen: &Snapshot, what: &str) -> Result<ExplanationReport, NotFound> {
    let replayed = replay(seen, ReplayOptions::default());
    let diagnosis = diagnose(seen, &replayed);
    let subject = Subject::parse(what).unwrap();
    ExplanationReport::new(seen, &replayed, &diagnosis, &subject, &Pins::default())
}

fn told(seen: &Snapshot, what: &str) -> TaskExplanation {
    let report = explain(seen, what).unwrap();
    assert_eq!(report.tasks.len(), 1);
    report.tasks.into_iter().next().unwrap()
}

fn states(told: &TaskExplanation) -> Vec<String> {
    told.gates
        .iter()
        .map(|row| format!("{} {}", row.gate.as_str(), row.state.as_str()))
        .collect()
}

#[test]
fn a_full_prepare_queue_keeps_a_new_upload() {
    let seen = world(
        r#"{"loadConcurrency": {"globalConfig": 1, "prepareQueueLength": 1}}"#,
        vec![
            prepared("du-fills", "a", 60),
            mover("du-fills", "a", 60),
            task("DataUpload", "du-new", "", "", &json!({})),
        ],
    );
    let told = told(&seen, "du/du-new");
    assert_eq!(told.closed_gate, Some(GateName::PrepareQueue));
    assert_eq!(
        states(&told),
        [
            "agent pass",
            "prepare-queue closed",
            "expose not-reached",
            "slot not-reached"
        ]
    );
    assert_eq!(told.queue.len(), 1);
    assert!(
        told.frees[0].starts_with("1 task of the 1"),
        "{:?}",
        told.frees
    );
}

#[test]
fn a_missing_target_keeps_a_new_restore_behind_an_open_queue() {
    let mut download = task("DataDownload", "dd-1", "", "", &json!({}));
    merge(
        &mut download,
        &json!({"spec": {"targetVolume": {"namespace": "app", "pvc": "data"}}}),
    );
    let claims = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "other", "namespace": "app", "creationTimestamp": ago(9000)},
        "status": {"phase": "Bound"}
    });
    let seen = world(
        r#"{"loadConcurrency": {"prepareQueueLength": 5}}"#,
        vec![download, claims],
    );
    let told = told(&seen, "dd/dd-1");
    assert_eq!(told.closed_gate, Some(GateName::Target));
    assert_eq!(
        states(&told),
        [
            "agent pass",
            "prepare-queue pass",
            "target closed",
            "expose not-reached",
            "slot not-reached"
        ]
    );
    assert_eq!(told.frees, ["PVC app/data has to exist"]);
}

#[test]
fn a_pending_mover_pod_keeps_an_accepted_upload_until_its_deadline() {
    let mut accepted = task(
        "DataUpload",
        "du-1",
        "Accepted",
        "",
        &json!({"acceptedTimestamp": ago(300), "acceptedByNode": "a"}),
    );
    merge(
        &mut accepted,
        &json!({"metadata": {"labels": {"velero.io/expose-on-going": "true"}}}),
    );
    let mut pod = mover("du-1", "a", 0);
    pod["metadata"]["creationTimestamp"] = json!(ago(290));
    pod["spec"]["nodeName"] = Value::Null;
    pod["status"] = json!({
        "phase": "Pending",
        "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available", "lastTransitionTime": ago(290)
        }]
    });
    let seen = world("{}", vec![accepted, pod]);
    let told = told(&seen, "du/du-1");
    assert_eq!(told.closed_gate, Some(GateName::Expose));
    assert_eq!(
        told.deadline
            .as_ref()
            .map(|deadline| deadline.what.as_str()),
        Some("prepareTimeout")
    );
    let what: Vec<&str> = told.story.iter().map(|line| line.what.as_str()).collect();
    assert_eq!(
        what,
        [
            "created",
            "accepted by the node-agent of a",
            "mover pod created",
            "mover pod not scheduled: Unschedulable 0/1 nodes are available",
        ]
    );
    assert_eq!(told.story[3].from, StorySource::PodCondition);
}

#[test]
fn a_full_node_keeps_a_prepared_upload_and_names_who_holds_and_who_competes() {
    let seen = world(
        r#"{"loadConcurrency": {"globalConfig": 1}}"#,
        vec![
            in_progress("du-holds", "a", 1800),
            mover("du-holds", "a", 1850),
            prepared("du-1", "a", 900),
            mover("du-1", "a", 950),
            prepared("du-2", "a", 800),
            mover("du-2", "a", 850),
        ],
    );
    let told = told(&seen, "du/du-1");
    assert_eq!(told.verdict, Standing::Waiting);
    assert_eq!(told.closed_gate, Some(GateName::Slot));
    assert_eq!(told.competing.as_ref().map(|others| others.count), Some(1));
    assert_eq!(told.findings[0].row.finding.id.as_str(), "slot-queue");
    let slots = told.slots.unwrap();
    assert_eq!((slots.limit, slots.holders.len()), (Some(1), 1));
    assert_eq!(slots.holders[0].task.name, "du-holds");
    assert_eq!(
        told.frees,
        [
            "the end of du-holds; 1 other task may take the slot first",
            "a limit above 1 for a in loadConcurrency, in force once its node-agent has restarted",
        ]
    );
}

#[test]
fn an_upload_beside_a_free_slot_is_stuck_though_no_gate_is_closed() {
    let seen = world(
        r#"{"loadConcurrency": {"globalConfig": 1}}"#,
        vec![
            completed("du-0", "a", 9000, 8000),
            prepared("du-1", "a", 6000),
            mover("du-1", "a", 6050),
        ],
    );
    let told = told(&seen, "du/du-1");
    assert_eq!(told.verdict, Standing::Stuck);
    assert_eq!(told.closed_gate, None);
    assert_eq!(told.findings[0].row.finding.id.as_str(), "prepared-stuck");
    assert!(
        told.frees[0].starts_with("by status a slot is free"),
        "{:?}",
        told.frees
    );
}

#[test]
fn a_backup_lists_its_unfinished_tasks_and_tells_of_the_worst() {
    let seen = world(
        r#"{"loadConcurrency": {"globalConfig": 1}}"#,
        vec![
            completed("du-0", "a", 9000, 8000),
            prepared("du-1", "a", 6000),
            mover("du-1", "a", 6050),
            task("DataUpload", "du-2", "", "", &json!({})),
        ],
    );
    let report = explain(&seen, "backup/backup-1").unwrap();
    assert_eq!(report.verdict, Standing::Stuck);
    assert_eq!(report.finished, 1);
    assert_eq!(report.unfinished.len(), 2);
    assert_eq!(report.tasks.len(), 1);
    assert_eq!(report.tasks[0].task.name, "du-1");
    assert_eq!(
        report.subject_phase.as_deref(),
        Some("WaitingForPluginOperations")
    );
}

#[test]
fn a_claim_finds_the_upload_that_reads_it() {
    let mut upload = task("DataUpload", "du-1", "", "", &json!({}));
    merge(
        &mut upload,
        &json!({"spec": {"sourceNamespace": "app", "sourcePVC": "data"}}),
    );
    let seen = world("{}", vec![upload]);
    let report = explain(&seen, "pvc/app/data").unwrap();
    assert_eq!(report.tasks[0].task.name, "du-1");
    let missing = explain(&seen, "pvc/app/dato").unwrap_err();
    assert_eq!(missing.near, ["pvc/app/data"]);
}

#[test]
fn a_final_task_says_how_it_ended() {
    let mut failed = completed("du-0", "a", 5000, 4000);
    failed["status"]["phase"] = json!("Failed");
    failed["status"]["message"] = json!("data path backup failed");
    let seen = world("{}", vec![failed]);
    let report = explain(&seen, "du/du-0").unwrap();
    assert_eq!(report.verdict, Standing::Finished);
    let told = &report.tasks[0];
    assert!(told.gates.is_empty());
    assert_eq!(told.decision, None);
    assert_eq!(told.reason, "it is final: data path backup failed");
    assert_eq!(
        told.story.last().unwrap().what,
        "message: data path backup failed"
    );
}

#[test]
fn a_cancel_names_who_asked_for_it() {
    let mut task = in_progress("du-1", "a", 1800);
    task["spec"]["cancel"] = json!(true);
    let fields = task["metadata"]["managedFields"].as_array_mut().unwrap();
    fields.push(managed(
        "kubectl-patch",
        30,
        &json!({"f:spec": {"f:cancel": {}}}),
    ));
    let seen = world("{}", vec![task, mover("du-1", "a", 1850)]);
    let told = told(&seen, "du/du-1");
    let line = told
        .story
        .iter()
        .find(|line| line.what == "cancel requested by kubectl-patch")
        .unwrap();
    assert_eq!(line.from, StorySource::ManagedFields);
}

#[test]
fn a_mistyped_name_is_not_found_and_a_near_one_is_suggested() {
    let seen = world("{}", vec![task("DataUpload", "du-abc", "", "", &json!({}))]);
    let missing = explain(&seen, "du/du-abd").unwrap_err();
    assert_eq!(missing.near, ["du/du-abc"]);
    assert_eq!(missing.subject.to_string(), "DataUpload velero/du-abd");
    // The kind was mistaken, not the name.
    assert_eq!(
        explain(&seen, "pvb/du-abc").unwrap_err().near,
        ["du/du-abc"]
    );
}

#[test]
fn a_name_means_tasks_of_every_kind_where_none_is_said() {
    let seen = world(
        "{}",
        vec![
            task("DataUpload", "same", "", "", &json!({})),
            task("PodVolumeBackup", "same", "", "a", &json!({})),
        ],
    );
    assert_eq!(explain(&seen, "task/same").unwrap().tasks.len(), 2);
}

#[test]
fn without_the_pods_nothing_is_called_fine() {
    let seen = snapshot(&[node("a", &json!({})), prepared("du-1", "a", 60)]);
    let report = explain(&seen, "du/du-1").unwrap();
    assert_eq!(report.verdict, Standing::Unknown);
}

#[test]
fn the_slot_gate_is_closed_not_reached_or_unknown_by_what_stands_before_it() {
    let limit = r#"{"loadConcurrency": {"globalConfig": 1}}"#;
    let full = world(
        limit,
        vec![
            in_progress("du-holds", "a", 1800),
            mover("du-holds", "a", 1850),
            prepared("du-1", "a", 900),
            mover("du-1", "a", 950),
            task("DataUpload", "du-new", "", "", &json!({})),
        ],
    );
    let slot = |seen: &Snapshot, what: &str| {
        let gates = told(seen, what).gates;
        let row = gates.into_iter().find(|row| row.gate == GateName::Slot);
        let row = row.unwrap();
        (row.state, row.reason)
    };
    let (state, reason) = slot(&full, "du/du-1");
    assert_eq!(state, GateState::Closed);
    assert!(
        reason.contains("du-holds") || reason.contains('1'),
        "{reason}"
    );
    let (state, reason) = slot(&full, "du/du-new");
    assert_eq!(state, GateState::NotReached);
    assert_eq!(reason, "not asked yet");
    let (state, reason) = slot(&full, "du/du-holds");
    assert_eq!(state, GateState::Pass);
    assert!(reason.starts_with("taken: started at "), "{reason}");
}

#[test]
fn the_slot_gate_is_unknown_where_the_limit_in_force_is_not_known_and_says_why() {
    // The ConfigMap was raised after the agent's start: which number is in force does not stand anywhere.
    let mut objects = vec![
        node("a", &json!({})),
        agent("a", "v1.17.1", 86_400, &[FLAG]),
        config_map("config", r#"{"loadConcurrency": {"globalConfig": 3}}"#, 600),
    ];
    objects.extend([
        in_progress("du-holds", "a", 1800),
        mover("du-holds", "a", 1850),
        prepared("du-1", "a", 900),
        mover("du-1", "a", 950),
    ]);
    let told = told(&snapshot(&objects), "du/du-1");
    let row = told
        .gates
        .iter()
        .find(|row| row.gate == GateName::Slot)
        .unwrap();
    assert_eq!(row.state, GateState::Unknown, "{}", row.reason);
    assert!(row.reason.contains("limit"), "{}", row.reason);
}

#[test]
fn the_story_tells_the_end_that_the_log_shows_and_the_object_does_not() {
    use crate::snapshot::log_evidence::{LogEvidence, LoggedTask};
    let mut seen = world("{}", vec![in_progress("du-1", "a", 3600)]);
    let at = |seconds| ago(seconds).parse().ok();
    let mut log = LogEvidence::default();
    log.tasks.insert(
        "du-1".to_owned(),
        LoggedTask {
            admitted: at(3600),
            left: at(600),
            ..LoggedTask::default()
        },
    );
    seen.agents[0].evidence = Some(log);
    let told = told(&seen, "du/du-1");
    let of_log: Vec<&str> = told
        .story
        .iter()
        .filter(|line| line.from == StorySource::Log)
        .map(|line| line.what.as_str())
        .collect();
    assert_eq!(of_log, ["was let in", "gave its slot back"]);
}
