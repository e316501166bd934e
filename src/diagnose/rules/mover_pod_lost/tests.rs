use serde_json::json;

use crate::capture::{Capture, Cut, LogFile, NowFrom, Previous, SourceType};
use crate::diagnose::{Confidence, Finding, FindingId, diagnose};
use crate::replay::{ReplayOptions, SlotEntry, replay};
use crate::snapshot::{ReadOptions, read};
use crate::testing::{NS, agent, ago, in_progress, managed, node, now};

/// A DataUpload at 10 % whose mover pod is gone, last written an hour ago, and what the log of its agent says.
fn found(lines: &[(i64, &str, &str)]) -> (Vec<Finding>, SlotEntry) {
    let mut upload = in_progress("du-1", "node-a", 7200);
    upload["metadata"]["managedFields"] = json!([managed(
        "node-agent-server",
        3600,
        &json!({"f:status": {"f:progress": {}}})
    )]);
    let other = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "other", "namespace": NS, "creationTimestamp": ago(9000)},
        "spec": {}, "status": {"phase": "Running"}
    });
    let mut capture = Capture::from_objects([
        node("node-a", &json!({})),
        agent("node-a", "v1.17.2", 86_400, &[]),
        other,
        upload,
    ]);
    let body: String = lines
        .iter()
        .map(|(seconds, message, fields)| {
            format!(
                "time=\"{}\" level=info msg=\"{message}\" dataupload=velero/du-1 {fields}\n",
                ago(*seconds)
            )
        })
        .collect();
    capture.logs.push(LogFile {
        namespace: NS.to_owned(),
        pod: "node-agent-node-a".to_owned(),
        container: "node-agent".to_owned(),
        previous: Previous::No,
        cut: Cut::Whole,
        body,
    });
    capture.manifest.source = SourceType::Cluster;
    capture.manifest.taken_at = Some(now());
    capture.manifest.now_from = NowFrom::Server;
    let snapshot = read(
        &capture,
        &ReadOptions {
            namespace: NS.to_owned(),
            now: None,
        },
    );
    let replay = replay(&snapshot, ReplayOptions::default());
    let entry = replay.tasks.values().next().unwrap().entry;
    (diagnose(&snapshot, &replay).findings, entry)
}

fn of(findings: &[Finding], id: FindingId) -> Option<&Finding> {
    findings.iter().find(|finding| finding.id == id)
}

const BEGINS: (i64, &str, &str) = (7200, "MicroServiceBR is initialized", "taskName=du-1");

#[test]
fn a_failed_last_write_in_the_log_makes_it_a_stuck_completion_that_holds_no_slot() {
    let (findings, entry) = found(&[
        BEGINS,
        (3600, "Calling callback on data path pod termination", ""),
        (3599, "error updating DataUpload status", "error=refused"),
        (3599, "Complete callback on data path pod termination", ""),
        (10, "Reconcile du-2", ""),
    ]);
    assert_eq!(of(&findings, FindingId::MoverPodLost), None);
    let stuck = of(&findings, FindingId::CompletionStuck).unwrap();
    assert_eq!(
        (stuck.cause, stuck.confidence),
        (Some("status-write-failed"), Confidence::Certain)
    );
    assert_eq!(entry, SlotEntry::CallbackReturned);
}

#[test]
fn a_failure_of_an_earlier_life_or_a_callback_that_still_runs_is_no_failed_end() {
    let (findings, entry) = found(&[
        (9000, "error updating DataUpload status", "error=refused"),
        BEGINS,
        (10, "Reconcile du-2", ""),
    ]);
    assert!(of(&findings, FindingId::MoverPodLost).is_some());
    assert_eq!(entry, SlotEntry::Holds);
    let (findings, entry) = found(&[
        BEGINS,
        (3600, "Calling callback on data path pod termination", ""),
        (3599, "error updating DataUpload status", "error=refused"),
        (10, "Reconcile du-2", ""),
    ]);
    assert!(of(&findings, FindingId::MoverPodLost).is_some());
    assert_eq!(entry, SlotEntry::Holds);
}

#[test]
fn the_line_that_shows_the_slot_still_held_is_among_the_evidence() {
    let (findings, _) = found(&[BEGINS, (10, "Reconcile du-2", "")]);
    let lost = of(&findings, FindingId::MoverPodLost).unwrap();
    assert!(
        lost.evidence.iter().any(|one| one
            .value
            .contains("MicroServiceBR is initialized; no end of it since")),
        "{:?}",
        lost.evidence
    );
}
