//! Terse objects for tests: a world of one Velero namespace at a fixed instant. Only the fields that a
//! test is about are given; the rest is what a real object of that kind has.

pub(crate) mod mutate;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::capture::Capture;
use crate::snapshot::{ReadOptions, Snapshot, read};

/// Velero's namespace in every test.
pub(crate) const NS: &str = "velero";

/// "Now" in every test.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_767_355_200).unwrap()
}

/// The instant some seconds before [`now`], as Kubernetes writes it.
pub(crate) fn ago(seconds: i64) -> String {
    (now() - SignedDuration::from_secs(seconds)).to_string()
}

/// Reads a snapshot of some objects at [`now`].
pub(crate) fn snapshot(objects: &[Value]) -> Snapshot {
    let capture = Capture::from_objects(objects.iter().cloned());
    read(
        &capture,
        &ReadOptions {
            namespace: NS.to_owned(),
            now: Some(now()),
        },
    )
}

/// A managedFields entry.
pub(crate) fn managed(manager: &str, seconds_ago: i64, fields: &Value) -> Value {
    json!({
        "manager": manager, "operation": "Update", "apiVersion": "v1", "time": ago(seconds_ago),
        "fieldsType": "FieldsV1", "fieldsV1": fields
    })
}

/// A Node that is Ready.
pub(crate) fn node(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": ago(8_640_000), "labels": labels, "managedFields": []},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(8_640_000)}]}
    })
}

/// A node-agent pod that works, of a release, started some seconds ago, with further arguments.
pub(crate) fn agent(node: &str, tag: &str, started_ago: i64, args: &[&str]) -> Value {
    let mut all = vec!["node-agent", "server"];
    all.extend(args);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("node-agent-{node}"), "namespace": NS, "uid": format!("agent-{node}"),
            "creationTimestamp": ago(started_ago + 5),
            "labels": {"component": "velero", "name": "node-agent", "role": "node-agent"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "node-agent", "uid": "ds", "controller": true}]
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "node-agent", "image": format!("velero/velero:{tag}"), "command": ["/velero"], "args": all}]
        },
        "status": {
            "phase": "Running", "startTime": ago(started_ago + 4),
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(started_ago)}],
            "containerStatuses": [{
                "name": "node-agent", "ready": true, "restartCount": 0, "image": "x", "imageID": "x",
                "state": {"running": {"startedAt": ago(started_ago)}}
            }]
        }
    })
}

/// The node-agent ConfigMap, with managedFields that say when its data was written.
pub(crate) fn config_map(name: &str, document: &str, written_ago: i64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": NS, "creationTimestamp": ago(written_ago.max(9_000_000)),
            "managedFields": [managed("kubectl", written_ago, &json!({"f:data": {".": {}, "f:config.json": {}}}))]
        },
        "data": {"config.json": document}
    })
}

/// A task: kind, name, phase, node (empty for none), and more of its `status`.
pub(crate) fn task(kind: &str, name: &str, phase: &str, node: &str, status: &Value) -> Value {
    let data_movement = matches!(kind, "DataUpload" | "DataDownload");
    let mut object = json!({
        "apiVersion": if data_movement { "velero.io/v2alpha1" } else { "velero.io/v1" },
        "kind": kind,
        "metadata": {
            "name": name, "namespace": NS, "uid": format!("uid-{name}"), "creationTimestamp": ago(7200),
            "labels": {"velero.io/backup-name": "backup-1"}
        },
        "spec": {},
        "status": {"phase": phase}
    });
    if !node.is_empty() {
        let holder = if kind == "PodVolumeBackup" {
            "spec"
        } else {
            "status"
        };
        object[holder]["node"] = json!(node);
    }
    merge(&mut object["status"], status);
    object
}

/// A DataUpload of v1.17 in Prepared since some seconds, told by managedFields.
pub(crate) fn prepared(name: &str, node: &str, seconds_ago: i64) -> Value {
    let mut object = task(
        "DataUpload",
        name,
        "Prepared",
        node,
        &json!({"acceptedTimestamp": ago(seconds_ago + 60), "acceptedByNode": node}),
    );
    object["metadata"]["labels"]["velero.io/expose-on-going"] = json!("true");
    object["metadata"]["managedFields"] = json!([managed(
        "node-agent-server",
        seconds_ago,
        &json!({"f:status": {"f:phase": {}}})
    )]);
    object
}

/// A DataUpload in progress since some seconds, last written ten seconds ago.
pub(crate) fn in_progress(name: &str, node: &str, seconds_ago: i64) -> Value {
    let mut object = task(
        "DataUpload",
        name,
        "InProgress",
        node,
        &json!({
            "acceptedTimestamp": ago(seconds_ago + 60), "startTimestamp": ago(seconds_ago),
            "progress": {"bytesDone": 10, "totalBytes": 100}
        }),
    );
    object["metadata"]["managedFields"] = json!([managed(
        "node-agent-server",
        10,
        &json!({"f:status": {"f:progress": {}}})
    )]);
    object
}

/// A DataUpload that ran from and to some seconds ago.
pub(crate) fn completed(name: &str, node: &str, from: i64, to: i64) -> Value {
    task(
        "DataUpload",
        name,
        "Completed",
        node,
        &json!({"startTimestamp": ago(from), "completionTimestamp": ago(to)}),
    )
}

/// The mover pod of a DataUpload that runs since some seconds.
pub(crate) fn mover(name: &str, node: &str, running_ago: i64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": NS, "uid": format!("pod-{name}"), "creationTimestamp": ago(running_ago + 20),
            "labels": {"velero.io/data-upload": name, "velero.io/exposer-pod-group": "snapshot-exposer"}
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": format!("uid-{name}"), "image": "velero/velero:v1.17.1"}],
            "volumes": [{"name": format!("uid-{name}"), "persistentVolumeClaim": {"claimName": name}}]
        },
        "status": {
            "phase": "Running", "startTime": ago(running_ago + 10),
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(running_ago)}],
            "containerStatuses": [{
                "name": format!("uid-{name}"), "ready": true, "restartCount": 0, "image": "x", "imageID": "x",
                "state": {"running": {"startedAt": ago(running_ago)}}
            }]
        }
    })
}

/// Puts the fields of one object into another.
pub(crate) fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
