//! One line for every release, kind and phase, in `fixtures/plans`.

use std::fmt::Write as _;

use super::*;
use crate::testing::merge;
use crate::velero::{Profile, TaskKind};

const PHASES: [&str; 5] = ["New", "Accepted", "Prepared", "InProgress", "Canceling"];

/// A task that has stood in a phase for an hour beside a pod that runs, where its kind has one.
fn objects(tag: &str, kind: TaskKind, phase: &str) -> Vec<Value> {
    let mut object = task(kind.as_str(), "t-1", phase, "node-a", &json!({}));
    object["metadata"]["managedFields"] = json!([crate::testing::managed(
        "node-agent-server",
        3600,
        &json!({"f:status": {"f:phase": {}}})
    )]);
    object["metadata"]["labels"]["velero.io/accepted-by"] = json!("node-a");
    if phase != "New" {
        merge(
            &mut object["status"],
            &json!({"acceptedTimestamp": ago(1500), "acceptedByNode": "node-a"}),
        );
    }
    if matches!(phase, "InProgress" | "Canceling") {
        merge(
            &mut object["status"],
            &json!({"startTimestamp": ago(3600), "progress": {"bytesDone": 1, "totalBytes": 9}}),
        );
    }
    if matches!(phase, "New" | "Accepted") && kind.is_data_movement() {
        object["status"].as_object_mut().unwrap().remove("node");
    }
    let mut all = cluster(tag);
    match kind {
        TaskKind::DataUpload => {}
        TaskKind::DataDownload => {
            object["spec"] = json!({"targetVolume": {"namespace": "app", "pvc": "data"}});
            all.push(json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data", "namespace": "app", "creationTimestamp": ago(9000)},
                "status": {"phase": "Pending"}
            }));
        }
        TaskKind::PodVolumeBackup => object["spec"]["uploaderType"] = json!("kopia"),
        TaskKind::PodVolumeRestore => {
            object["spec"] = json!({"uploaderType": "kopia", "pod": {"namespace": "app", "name": "web", "uid": "web-1"}});
            all.push(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "web", "namespace": "app", "uid": "web-1", "creationTimestamp": ago(9000)},
                "spec": {"nodeName": "node-a", "initContainers": [{"name": "restore-wait", "image": "x"}]},
                "status": {"phase": "Pending", "initContainerStatuses": [
                    {"name": "restore-wait", "state": {"running": {"startedAt": ago(8000)}}}
                ]}
            }));
        }
    }
    let has_pod = phase != "New" && (kind.is_data_movement() || is_mover(tag, kind));
    if has_pod {
        let mut pod = mover("t-1", "node-a", 1400);
        pod["metadata"]["labels"] = json!({kind.mover_label(): "t-1"});
        all.push(pod);
        all.push(claim("t-1"));
    }
    all.push(object);
    all
}

fn profile(tag: &str) -> Profile {
    let version = crate::velero::VeleroVersion::parse(tag).unwrap();
    Profile::of(&version).unwrap().0
}

fn is_mover(tag: &str, kind: TaskKind) -> bool {
    profile(tag).is_mover_kind(kind, "kopia")
}

fn prepares(tag: &str, kind: TaskKind) -> bool {
    profile(tag).prepares(kind, "kopia")
}

fn lines(of: fn(&Snapshot, &mut String)) -> String {
    let mut text = String::new();
    for tag in Profile::rule_sets() {
        let _infallible = writeln!(text, "{tag}");
        for kind in TaskKind::ALL {
            for phase in PHASES {
                let _infallible = write!(text, "  {kind} {phase}: ");
                if prepares(tag, kind) || matches!(phase, "New" | "InProgress") {
                    of(&live(objects(tag, kind, phase)), &mut text);
                } else {
                    text.push_str("this release has no such phase");
                }
                text.push('\n');
            }
        }
    }
    text
}

fn nudge(snapshot: &Snapshot, text: &mut String) {
    let name = snapshot.tasks.keys().next().unwrap();
    let plan = nudged(
        snapshot,
        &[&format!("{}/{}", name.kind, name.name)],
        Force::No,
    );
    match plan.refusals.first() {
        Some(refusal) => {
            let _infallible = write!(
                text,
                "refused {} ({})",
                refusal.code.as_str(),
                refusal.by.as_str()
            );
        }
        None => {
            let step = &plan.executable()[0];
            let expected = &plan.expected[0];
            let _infallible = write!(
                text,
                "{}, expects {} {}",
                step.kind.as_str(),
                expected.at_least,
                expected.what.as_str()
            );
            if plan.probe != Probe::No {
                text.push_str(", a probe");
            }
        }
    }
}

fn restart(snapshot: &Snapshot, text: &mut String) {
    let plan = restarted(snapshot, &["node-a"], Force::No);
    match plan.effects.iter().find(|effect| effect.task.name == "t-1") {
        Some(effect) => {
            let lost = if effect.is_loss() { ", lost" } else { "" };
            let _infallible = write!(text, "{}{lost} [{}]", effect.effect.as_str(), effect.source);
        }
        None => text.push_str("not concerned"),
    }
    for refusal in &plan.refusals {
        let _infallible = write!(
            text,
            "; {} ({})",
            refusal.code.as_str(),
            refusal.by.as_str()
        );
    }
}

fn tables() -> [(&'static str, String); 2] {
    [("nudge", lines(nudge)), ("restart", lines(restart))]
}

fn path(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/plans")
        .join(format!("{name}.txt"))
}

#[test]
fn every_release_kind_and_phase_is_planned_as_it_is_written_down() {
    for (name, table) in tables() {
        let committed = std::fs::read_to_string(path(name)).unwrap_or_default();
        let differs = committed
            .lines()
            .zip(table.lines())
            .find(|(committed, now)| committed != now);
        assert!(
            committed == table,
            "fixtures/plans/{name}.txt differs, first {differs:?}; to accept: cargo test --lib writes_the_plans -- --ignored"
        );
    }
}

#[test]
#[ignore = "changes the repository: run it after a change of the rules, and review what it writes"]
fn writes_the_plans() {
    for (name, table) in tables() {
        std::fs::write(path(name), table).unwrap();
        assert!(path(name).exists());
    }
}
