use serde_json::{Value, json};

use super::super::example::*;
use super::check;
use crate::diagnose::case::CouldBe;
use crate::diagnose::finding::{Confidence, Finding, Severity};

fn unscheduled(seconds: i64, message: &str) -> Value {
    with(
        mover("du-1", "Pending", seconds),
        "status.conditions",
        json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": message, "lastTransitionTime": ago(seconds)}]),
    )
}

fn scheduled(seconds: i64) -> Value {
    let pod = with(mover("du-1", "Pending", seconds), "spec.nodeName", "node-a");
    with(
        pod,
        "status.conditions",
        json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(seconds)}]),
    )
}

fn waiting(seconds: i64, reason: &str, message: &str) -> Value {
    with(
        scheduled(seconds),
        "status.containerStatuses",
        json!([{"name": "uid-du-1", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": reason, "message": message}}}]),
    )
}

fn claim(phase: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "du-1", "namespace": "velero", "creationTimestamp": ago(590)},
        "spec": {"storageClassName": "fast"}, "status": {"phase": phase}
    })
}

fn volume_snapshot(status: &Value) -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": "vs-du-1", "namespace": "app", "creationTimestamp": LONG_AGO},
        "status": status
    })
}

/// The findings about du-1, accepted so many seconds ago, beside more objects.
fn about(seconds: i64, objects: Vec<Value>) -> Vec<Finding> {
    let all = [
        vec![node("node-a"), agent("node-a"), accepted("du-1", seconds)],
        objects,
    ]
    .concat();
    propose(check, all).findings
}

fn cause(seconds: i64, objects: Vec<Value>) -> Option<&'static str> {
    about(seconds, objects)
        .first()
        .and_then(|found| found.cause)
}

#[test]
fn an_unschedulable_pod_gets_five_minutes_for_an_autoscaler() {
    let message = "0/3 nodes are available: 3 Insufficient cpu.";
    assert_eq!(cause(310, vec![unscheduled(299, message)]), None);
    let found = about(310, vec![unscheduled(300, message)]);
    assert_eq!(found[0].cause, Some("unschedulable"));
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(found[0].node, None);
    assert_eq!(found[0].since, Some(ago(300).parse().unwrap()));
    assert_eq!(blocker_names(&found[0]), ["du-1"]);
    assert!(found[0].summary.contains("3 Insufficient cpu"));
}

#[test]
fn the_last_five_minutes_before_the_deadline_are_critical() {
    let severity = |accepted: i64| {
        let found = about(accepted, vec![unscheduled(accepted - 5, "0/3 nodes")]);
        found[0].severity
    };
    assert_eq!(severity(1499), Severity::Warning);
    assert_eq!(severity(1500), Severity::Critical);
    assert_eq!(severity(1900), Severity::Critical);
}

#[test]
fn a_pod_whose_claim_is_not_bound_waits_for_its_volume() {
    let message = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    let pending = vec![unscheduled(400, message), claim("Pending")];
    let found = about(600, pending);
    assert_eq!(found[0].cause, Some("volume-not-bound"));
    assert_eq!(found[0].blocked_by[0].kind, "PersistentVolumeClaim");
    let failing = vec![
        unscheduled(130, message),
        claim("Pending"),
        event(
            "PersistentVolumeClaim",
            "du-1",
            "ProvisioningFailed",
            "no space left",
        ),
    ];
    let found = about(600, failing);
    assert!(found[0].summary.contains("no space left"));
}

#[test]
fn a_node_without_the_image_is_told_after_two_minutes() {
    let pod = |seconds| vec![waiting(seconds, "ErrImageNeverPull", "image not present")];
    assert_eq!(cause(300, pod(119)), None);
    assert_eq!(cause(300, pod(120)), Some("image-pull"));
    assert_eq!(about(300, pod(120))[0].node.as_deref(), Some("node-a"));
}

#[test]
fn a_volume_that_cannot_be_mounted_is_known_by_event_or_by_message() {
    let by_event = vec![
        waiting(400, "ContainerCreating", ""),
        event(
            "Pod",
            "du-1",
            "FailedMount",
            "timed out waiting for the condition",
        ),
    ];
    assert_eq!(cause(600, by_event), Some("mount-failed"));
    let by_message = with(
        waiting(400, "ContainerCreating", ""),
        "status.message",
        "MountVolume.SetUp failed for volume",
    );
    assert_eq!(cause(600, vec![by_message]), Some("mount-failed"));
    let silent = |seconds| vec![waiting(seconds, "ContainerCreating", "")];
    assert_eq!(cause(900, silent(599)), None);
    assert_eq!(cause(900, silent(600)), Some("undetermined"));
}

#[test]
fn an_event_of_an_earlier_pod_of_the_name_does_not_count() {
    let mut old = event("Pod", "du-1", "FailedMount", "timed out");
    old["involvedObject"]["uid"] = json!("another-life");
    let objects = vec![waiting(200, "ContainerCreating", ""), old];
    assert_eq!(cause(600, objects), None);
}

#[test]
fn a_rejected_pod_is_told_at_once() {
    let rejected = with(scheduled(10), "status.phase", "Failed");
    let rejected = with(
        rejected,
        "status.message",
        "Pod was rejected: Node didn't have enough resource: cpu",
    );
    assert_eq!(cause(20, vec![rejected]), Some("pod-rejected"));
}

#[test]
fn without_a_pod_the_snapshot_is_looked_at() {
    let not_ready = volume_snapshot(&json!({"readyToUse": false}));
    // Readable pods are what makes a pod provably absent.
    assert_eq!(cause(599, vec![not_ready.clone()]), None);
    let found = about(600, vec![not_ready]);
    assert_eq!(found[0].cause, Some("snapshot-not-ready"));
    assert_eq!(found[0].since, Some(ago(600).parse().unwrap()));
    assert!(found[0].actions[0].command.contains("-n app vs-du-1"));
    let failed = volume_snapshot(&json!({"readyToUse": false, "error": {"message": "quota"}}));
    assert_eq!(cause(120, vec![failed]), Some("snapshot-not-ready"));
    let ready = volume_snapshot(&json!({"readyToUse": true}));
    assert_eq!(cause(600, vec![ready]), Some("undetermined"));
    assert_eq!(cause(600, vec![]), Some("undetermined"));
}

#[test]
fn a_lost_expose_or_a_running_pod_is_another_finding() {
    let gone = [node("node-b"), agent("node-b"), accepted("du-1", 600)];
    assert!(propose(check, gone).findings.is_empty());
    assert_eq!(cause(600, vec![running_mover("du-1", 300)]), None);
}

#[test]
fn a_short_prepare_timeout_shortens_the_patience() {
    let mut hasty = agent("node-a");
    hasty["spec"]["containers"][0]["args"] =
        json!(["node-agent", "server", "--data-mover-prepare-timeout=4m"]);
    let objects = [
        node("node-a"),
        hasty,
        accepted("du-1", 130),
        unscheduled(125, "0/3 nodes"),
    ];
    assert_eq!(propose(check, objects).findings.len(), 1);
}

#[test]
fn tasks_with_one_cause_on_one_node_are_one_finding() {
    let second = with(
        waiting(400, "ErrImageNeverPull", ""),
        "metadata.name",
        "du-2",
    );
    let mut second = second;
    second["metadata"]["labels"] = json!({"velero.io/data-upload": "du-2"});
    let found = about(
        600,
        vec![
            waiting(400, "ErrImageNeverPull", ""),
            accepted("du-2", 500),
            second,
        ],
    );
    assert_eq!(found.len(), 1);
    assert_eq!(task_names(&found[0]), ["du-1", "du-2"]);
}

#[test]
fn pods_that_cannot_be_read_leave_it_open() {
    let told = propose(check, [accepted("du-1", 600)]);
    assert!(told.findings.is_empty());
    assert_eq!(told.inconclusive[0].could_be, CouldBe::Critical);
}

#[test]
fn an_amount_is_no_mount_and_words_of_a_pod_are_at_most_likely() {
    let of = |message: &str| {
        let found = about(900, vec![with(scheduled(800), "status.message", message)]);
        (found[0].cause, found[0].confidence)
    };
    let (cause, _) = of("Pod needs a sufficient amount of ephemeral storage");
    assert_eq!(cause, Some("undetermined"));
    for message in [
        "Unable to attach or mount volumes: timed out",
        "MountVolume.SetUp failed for volume \"pvc-1\"",
        "AttachVolume.Attach failed",
    ] {
        assert_eq!(of(message), (Some("mount-failed"), Confidence::Likely));
    }
}

#[test]
fn an_attachment_that_succeeded_at_last_is_over_for_its_own_volume() {
    let failed = event(
        "Pod",
        "du-1",
        "FailedAttachVolume",
        "Multi-Attach error for volume \"pvc-1\" Volume is already used",
    );
    let attached = |volume: &str| {
        event(
            "Pod",
            "du-1",
            "SuccessfulAttachVolume",
            &format!("AttachVolume.Attach succeeded for volume \"{volume}\""),
        )
    };
    let cause = |events: &[Value]| {
        let objects = [vec![scheduled(800)], events.to_vec()].concat();
        about(900, objects)[0].cause
    };
    assert_eq!(cause(std::slice::from_ref(&failed)), Some("mount-failed"));
    assert_eq!(
        cause(&[failed.clone(), attached("pvc-1")]),
        Some("undetermined")
    );
    assert_eq!(
        cause(&[failed.clone(), attached("pvc-2")]),
        Some("mount-failed")
    );
    let before = with(attached("pvc-1"), "lastTimestamp", ago(300));
    assert_eq!(cause(&[failed, before]), Some("mount-failed"));
}

#[test]
fn a_pod_that_says_why_it_ended_is_not_said_to_be_silent() {
    let mut evicted = mover("du-1", "Failed", 300);
    evicted["status"] = json!({"phase": "Failed", "reason": "Evicted",
        "message": "The node was low on resource: memory."});
    let summary = about(600, vec![evicted])[0].summary.clone();
    assert!(
        summary.contains("does not come up: Evicted: The node was low"),
        "{summary}"
    );
    assert!(
        !summary.contains("nothing that was read says why"),
        "{summary}"
    );
}
