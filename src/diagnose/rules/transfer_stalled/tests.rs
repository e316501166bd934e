use serde_json::{Value, json};

use crate::capture::{Capture, Cut, Earlier, Item, LogFile, Previous, Text};
use crate::diagnose::{Finding, FindingId, diagnose};
use crate::replay::{ReplayOptions, replay};
use crate::snapshot::{ReadOptions, read};
use crate::testing::{NS, agent, ago, in_progress, merge, mover, node, now};
use crate::velero::TaskKind;

/// A DataUpload that has run for two hours, without managedFields: one look at it proves nothing.
fn upload(bytes: i64) -> Value {
    let mut upload = in_progress("du-1", "node-a", 7200);
    upload["metadata"]["managedFields"] = Value::Null;
    upload["status"]["progress"]["bytesDone"] = json!(bytes);
    upload
}

/// What the rule says of a task now, where captures of some minutes ago hold it as given.
fn found(present: Value, earlier: &[(i64, Value)], more: Vec<Value>, log: &str) -> Option<Finding> {
    let mut objects = vec![
        node("node-a", &json!({})),
        agent("node-a", "v1.17.2", 86_400, &[]),
        mover("du-1", "node-a", 7210),
        present,
    ];
    objects.extend(more);
    let mut capture = Capture::from_objects(objects);
    for (minutes, object) in earlier {
        let body = object.to_string();
        let item = Item {
            text: capture.texts.len(),
            span: 0..body.len(),
        };
        capture.texts.push(Text {
            origin: "earlier".to_owned(),
            body,
        });
        capture.earlier.push(Earlier {
            taken_at: ago(minutes * 60).parse().unwrap(),
            kind: TaskKind::DataUpload,
            item,
        });
    }
    if !log.is_empty() {
        capture.logs.push(LogFile {
            namespace: NS.to_owned(),
            pod: "node-agent-node-a".to_owned(),
            container: "node-agent".to_owned(),
            previous: Previous::No,
            cut: Cut::Whole,
            body: log.to_owned(),
        });
    }
    let snapshot = read(
        &capture,
        &ReadOptions {
            namespace: NS.to_owned(),
            now: Some(now()),
        },
    );
    let replay = replay(&snapshot, ReplayOptions::default());
    let findings = diagnose(&snapshot, &replay).findings;
    findings
        .into_iter()
        .find(|finding| finding.id == FindingId::TransferStalled)
}

#[test]
fn two_looks_of_fifteen_minutes_with_the_same_bytes_prove_a_stall() {
    let stalled = found(upload(10), &[(15, upload(10))], Vec::new(), "").unwrap();
    assert_eq!(stalled.since, Some(ago(900).parse().unwrap()));
    assert!(
        stalled
            .evidence
            .iter()
            .any(|one| one.value.contains("the same in the capture taken at"))
    );
    let three = found(
        upload(10),
        &[(40, upload(9)), (30, upload(10)), (5, upload(10))],
        Vec::new(),
        "",
    )
    .unwrap();
    assert_eq!(three.since, Some(ago(1800).parse().unwrap()));
}

#[test]
fn one_look_or_two_close_ones_or_bytes_that_moved_prove_none() {
    assert_eq!(found(upload(10), &[], Vec::new(), ""), None);
    assert_eq!(found(upload(10), &[(14, upload(10))], Vec::new(), ""), None);
    assert_eq!(found(upload(10), &[(60, upload(9))], Vec::new(), ""), None);
    let moved_and_back = [(60, upload(10)), (10, upload(9))];
    assert_eq!(found(upload(10), &moved_and_back, Vec::new(), ""), None);
}

#[test]
fn a_task_that_was_made_anew_or_had_another_phase_is_not_compared() {
    let mut other = upload(10);
    other["metadata"]["uid"] = json!("another");
    assert_eq!(found(upload(10), &[(60, other)], Vec::new(), ""), None);
    let mut prepared = upload(10);
    prepared["status"]["phase"] = json!("Prepared");
    assert_eq!(found(upload(10), &[(60, prepared)], Vec::new(), ""), None);
}

#[test]
fn a_task_at_100_percent_is_given_an_hour_between_two_looks() {
    assert_eq!(
        found(upload(100), &[(59, upload(100))], Vec::new(), ""),
        None
    );
    assert!(found(upload(100), &[(60, upload(100))], Vec::new(), "").is_some());
}

#[test]
fn progress_that_an_event_reports_or_that_could_not_be_written_is_progress() {
    let event = |reason: &str, minutes: i64| {
        let mut event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": "du-1.1", "namespace": NS, "creationTimestamp": ago(3600)},
            "involvedObject": {"kind": "DataUpload", "namespace": NS, "name": "du-1"},
            "type": "Normal", "message": "{\"totalBytes\":100,\"doneBytes\":50}"
        });
        merge(
            &mut event,
            &json!({"reason": reason, "lastTimestamp": ago(minutes * 60)}),
        );
        vec![event]
    };
    let looks = [(30, upload(10))];
    assert_eq!(
        found(upload(10), &looks, event("Data-Path-Progress", 2), ""),
        None
    );
    assert!(found(upload(10), &looks, event("Data-Path-Progress", 20), "").is_some());
    assert!(found(upload(10), &looks, event("Scheduled", 2), "").is_some());
    let line = |seconds: i64| {
        format!(
            "time=\"{}\" level=error msg=\"Failed to update progress\" dataupload=velero/du-1 error=refused\n",
            ago(seconds)
        )
    };
    assert_eq!(found(upload(10), &looks, Vec::new(), &line(30)), None);
    assert!(found(upload(10), &looks, Vec::new(), &line(1200)).is_some());
}
