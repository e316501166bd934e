//! Objects for tests of rules: one line each, of v1.17.1 unless said otherwise, and a cluster in which
//! nothing is wrong.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Check;
use crate::capture::{Capture, Cut, LogFile, Previous};
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::Finding;
use crate::replay::{ReplayOptions, replay};
use crate::snapshot::{ReadOptions, Snapshot, read};

/// "Now" of every test.
pub(super) const NOW: &str = "2026-01-02T12:00:00Z";

/// Long before now.
pub(super) const LONG_AGO: &str = "2026-01-02T04:00:00Z";

/// Returns the time so many seconds before now.
pub(super) fn ago(seconds: i64) -> String {
    let now: Timestamp = NOW.parse().unwrap();
    now.checked_sub(jiff::SignedDuration::from_secs(seconds))
        .unwrap()
        .to_string()
}

/// Sets a value at a dotted path, making what is missing.
pub(super) fn with(mut object: Value, path: &str, value: impl Into<Value>) -> Value {
    let mut place = &mut object;
    for part in path.split('.') {
        place = match part.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[part],
        };
    }
    *place = value.into();
    object
}

/// A Node that is Ready.
pub(super) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": "2025-12-01T00:00:00Z"},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-01T00:00:00Z"}]}
    })
}

/// The node-agent DaemonSet.
pub(super) fn daemon_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "node-agent", "namespace": "velero", "creationTimestamp": "2025-12-01T00:00:00Z"},
        "spec": {"template": {
            "metadata": {"labels": {"component": "velero", "name": "node-agent", "role": "node-agent"}},
            "spec": {"containers": [{"name": "node-agent", "image": "velero/velero:v1.17.1"}]}
        }},
        "status": {"desiredNumberScheduled": 2, "numberReady": 2}
    })
}

/// The working agent of a node, named `node-agent-<node>`, running for a day.
pub(super) fn agent(node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("node-agent-{node}"), "namespace": "velero",
            "creationTimestamp": "2026-01-01T10:00:00Z",
            "labels": {"component": "velero", "name": "node-agent", "role": "node-agent"},
            "ownerReferences": [{"kind": "DaemonSet", "name": "node-agent", "controller": true}]
        },
        "spec": {"nodeName": node, "containers": [
            {"name": "node-agent", "image": "velero/velero:v1.17.1", "args": ["node-agent", "server", "--node-agent-configmap=na-config"]}
        ]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T10:00:00Z"}],
            "containerStatuses": [{
                "name": "node-agent", "image": "velero/velero:v1.17.1", "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": "2026-01-01T10:00:00Z"}}
            }]
        }
    })
}

/// An agent of another version.
pub(super) fn agent_of(node: &str, version: &str) -> Value {
    let image = format!("velero/velero:{version}");
    with(agent(node), "spec.containers.0.image", image)
}

/// An agent whose process has started so many seconds ago.
pub(super) fn agent_started(node: &str, seconds: i64) -> Value {
    with(
        agent(node),
        "status.containerStatuses.0.state.running.startedAt",
        ago(seconds),
    )
}

/// An agent in CrashLoopBackOff whose last process ended with a message, 60 seconds ago.
pub(super) fn crashing(node: &str, reason: &str, exit_code: i64, message: &str) -> Value {
    let status = json!({
        "name": "node-agent", "ready": false, "restartCount": 7,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
        "lastState": {"terminated": {
            "reason": reason, "exitCode": exit_code, "message": message,
            "startedAt": ago(62), "finishedAt": ago(60)
        }}
    });
    let pod = with(agent(node), "status.containerStatuses.0", status);
    with(pod, "status.conditions.0.status", "False")
}

/// The ConfigMap that the agents' flag names, written before they started.
pub(super) fn config(document: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "na-config", "namespace": "velero", "creationTimestamp": "2025-12-01T00:00:00Z"},
        "data": {"config.json": document}
    })
}

/// A task in a phase, created eight hours ago.
pub(super) fn task(kind: &str, name: &str, phase: &str) -> Value {
    let version = if kind.starts_with("Data") {
        "velero.io/v2alpha1"
    } else {
        "velero.io/v1"
    };
    json!({
        "apiVersion": version, "kind": kind,
        "metadata": {
            "name": name, "namespace": "velero", "uid": format!("uid-{name}"),
            "creationTimestamp": LONG_AGO,
            "labels": {"velero.io/backup-name": "b1"}
        },
        "spec": {"sourceNamespace": "app", "sourcePVC": "data", "uploaderType": "kopia",
                 "csiSnapshot": {"volumeSnapshot": format!("vs-{name}"), "storageClass": "fast"}},
        "status": {"phase": phase}
    })
}

/// An Accepted DataUpload that node-a accepted so many seconds ago.
pub(super) fn accepted(name: &str, seconds: i64) -> Value {
    let task = task("DataUpload", name, "Accepted");
    let mut task = with(task, "status.acceptedByNode", "node-a");
    task["metadata"]["labels"]["velero.io/expose-on-going"] = json!("true");
    with(task, "status.acceptedTimestamp", ago(seconds))
}

/// The mover pod of a DataUpload in a phase, created so many seconds ago.
pub(super) fn mover(name: &str, phase: &str, seconds: i64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "velero", "uid": format!("pod-{name}"),
            "creationTimestamp": ago(seconds), "labels": {"velero.io/data-upload": name}
        },
        "spec": {"containers": [{"name": format!("uid-{name}"), "image": "velero/velero:v1.17.1"}],
                 "volumes": [{"name": format!("uid-{name}"), "persistentVolumeClaim": {"claimName": name}}]},
        "status": {"phase": phase}
    })
}

/// The mover pod of a DataUpload that has run on node-a for so many seconds.
pub(super) fn running_mover(name: &str, seconds: i64) -> Value {
    let pod = with(mover(name, "Running", seconds), "spec.nodeName", "node-a");
    with(
        pod,
        "status.containerStatuses",
        json!([{"name": format!("uid-{name}"), "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": ago(seconds)}}}]),
    )
}

/// The Backup of the tasks, in a phase.
pub(super) fn backup(phase: &str) -> Value {
    json!({
        "apiVersion": "velero.io/v1", "kind": "Backup",
        "metadata": {"name": "b1", "namespace": "velero", "creationTimestamp": LONG_AGO},
        "spec": {"itemOperationTimeout": "12h0m0s"},
        "status": {"phase": phase, "startTimestamp": LONG_AGO}
    })
}

/// A Warning or Normal Event of this minute about an object of Velero's namespace.
pub(super) fn event(kind: &str, name: &str, reason: &str, message: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{name}.{reason}"), "namespace": "velero", "creationTimestamp": ago(400)},
        "involvedObject": {"kind": kind, "namespace": "velero", "name": name},
        "type": "Warning", "reason": reason, "message": message,
        "firstTimestamp": ago(400), "lastTimestamp": ago(30), "count": 5
    })
}

/// The log of an agent's present process.
pub(super) fn log(node: &str, body: &str) -> LogFile {
    LogFile {
        namespace: "velero".to_owned(),
        pod: format!("node-agent-{node}"),
        container: "node-agent".to_owned(),
        previous: Previous::No,
        cut: Cut::Whole,
        body: body.to_owned(),
    }
}

/// Reads objects, which are all that there is of their resources; of the others nothing is known.
pub(super) fn snapshot(objects: impl IntoIterator<Item = Value>, logs: Vec<LogFile>) -> Snapshot {
    let mut capture = Capture::from_objects(objects);
    capture.logs = logs;
    let options = ReadOptions {
        namespace: "velero".to_owned(),
        now: Some(NOW.parse().unwrap()),
    };
    read(&capture, &options)
}

/// Lets one rule look at objects.
pub(super) fn propose(check: Check, objects: impl IntoIterator<Item = Value>) -> Proposals {
    propose_on(check, &snapshot(objects, Vec::new()))
}

/// Lets one rule look at a snapshot.
pub(super) fn propose_on(check: Check, snapshot: &Snapshot) -> Proposals {
    let replay = replay(snapshot, ReplayOptions::default());
    let case = Case::new(snapshot, &replay);
    let mut proposals = Proposals::default();
    check(&case, &mut proposals);
    for finding in &proposals.findings {
        assert_well_formed(finding);
    }
    proposals
}

/// What holds for the finding of any rule.
fn assert_well_formed(finding: &Finding) {
    match finding.cause {
        Some(cause) => assert!(finding.id.causes().contains(&cause), "{cause}"),
        None => assert!(finding.id.causes().is_empty(), "a cause is missing"),
    }
    assert!(finding.summary.ends_with('.'), "{}", finding.summary);
    assert!(!finding.summary.contains("  "), "{}", finding.summary);
    assert!(!finding.evidence.is_empty(), "{}", finding.summary);
    assert!(!finding.actions.is_empty(), "{}", finding.summary);
}

/// Names of the tasks of a finding.
pub(super) fn task_names(finding: &Finding) -> Vec<&str> {
    finding
        .tasks
        .iter()
        .map(|task| task.name.as_str())
        .collect()
}

/// Names of what blocks.
pub(super) fn blocker_names(finding: &Finding) -> Vec<&str> {
    finding
        .blocked_by
        .iter()
        .map(|object| object.name.as_str())
        .collect()
}
