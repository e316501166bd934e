use serde_json::{Value, json};

use crate::capture::{
    Capture, Item, Listing, NowFrom, Outcome, ResourceKind, Scope, SourceType, Text,
};
use crate::diagnose::{Confidence, Diagnosis, Finding, FindingId, Verdict, diagnose};
use crate::replay::{ReplayOptions, replay};
use crate::snapshot::{ReadOptions, read};
use crate::testing::{NS, agent, ago, merge, node, now, task};
use crate::velero::TaskKind;

/// A New PodVolumeRestore into pod app/web of a cluster, and the lists of pods that were read beside Velero's.
fn diagnosis(lists: Vec<(Scope, Vec<Value>)>) -> Diagnosis {
    let mut restore = task("PodVolumeRestore", "pvr-1", "New", "", &json!({}));
    merge(
        &mut restore,
        &json!({
            "metadata": {"creationTimestamp": ago(3600), "labels": {"velero.io/restore-name": "restore-1"}},
            "spec": {"pod": {"kind": "Pod", "namespace": "app", "name": "web", "uid": "uid-of-web"}}
        }),
    );
    let mut capture = Capture::from_objects([node("node-a", &json!({})), restore]);
    let velero = Scope::Namespace(NS.to_owned());
    let agents = (velero, vec![agent("node-a", "v1.17.2", 86_400, &[])]);
    for (scope, pods) in std::iter::once(agents).chain(lists) {
        let items = pods
            .into_iter()
            .map(|pod| {
                let body = pod.to_string();
                let item = Item {
                    text: capture.texts.len(),
                    span: 0..body.len(),
                };
                capture.texts.push(Text {
                    origin: "pods".to_owned(),
                    body,
                });
                item
            })
            .collect();
        capture.listings.push(Listing {
            resource: ResourceKind::Pod,
            scope,
            outcome: Outcome::Listed(items),
        });
    }
    for kind in TaskKind::ALL {
        capture.listings.push(Listing {
            resource: ResourceKind::Task(kind),
            scope: Scope::Namespace(NS.to_owned()),
            outcome: Outcome::Listed(Vec::new()),
        });
    }
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
    diagnose(&snapshot, &replay)
}

fn found(lists: Vec<(Scope, Vec<Value>)>) -> Finding {
    diagnosis(lists)
        .findings
        .into_iter()
        .find(|finding| finding.id == FindingId::RestoreTargetMissing)
        .unwrap()
}

fn labelled() -> Scope {
    Scope::Selected {
        label_selector: "velero.io/restore-name in (restore-1)".to_owned(),
    }
}

fn pod(name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "app", "uid": uid, "creationTimestamp": ago(3000)},
        "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}
    })
}

#[test]
fn a_target_that_no_label_finds_is_not_gone_since_labels_can_be_taken_away() {
    let diagnosis = diagnosis(vec![(labelled(), Vec::new())]);
    assert_eq!(diagnosis.verdict, Verdict::Unknown);
    assert!(diagnosis.findings.is_empty(), "{:?}", diagnosis.findings);
}

#[test]
fn a_target_that_a_whole_list_does_not_hold_or_whose_name_another_pod_has_is_gone_for_certain() {
    let whole = (Scope::Namespace("app".to_owned()), vec![pod("other", "x")]);
    assert_eq!(found(vec![whole]).confidence, Confidence::Certain);
    let replaced = (labelled(), vec![pod("web", "another")]);
    assert_eq!(found(vec![replaced]).confidence, Confidence::Certain);
}
