//! A made-up queue of any length on 1,000 nodes, with the fields that a simulation needs.

use serde_json::{Value, json};

const NODES: u32 = 1_000;

/// "Now".
pub(crate) fn now() -> jiff::Timestamp {
    jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(480_000)
}

/// Returns so many waiting tasks with their mover pods and volumes, and on every node an agent and a task
/// that has finished.
pub(crate) fn objects(tasks: u32) -> impl Iterator<Item = Value> {
    let finished = (0..NODES).map(|number| task(number, "done", "Completed"));
    let waiting = (0..tasks).map(|number| task(number, "wait", "Prepared"));
    let movers = (0..tasks).flat_map(|number| [mover(number), claim(number)]);
    let agents = (0..NODES).map(agent);
    agents.chain(finished).chain(waiting).chain(movers)
}

fn node(number: u32) -> String {
    format!("node-{:04}", number % NODES)
}

fn task(number: u32, name: &str, phase: &str) -> Value {
    let start = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(479_990);
    let end = start + jiff::SignedDuration::from_secs(i64::from(60 + number % 1800));
    // Null reads as absent.
    let ran = |time: jiff::Timestamp| (phase == "Completed").then(|| time.to_string());
    let status = json!({
        "phase": phase, "node": node(number), "acceptedByNode": node(number), "acceptedTimestamp": start.to_string(),
        "startTimestamp": ran(start), "completionTimestamp": ran(end)
    });
    json!({
        "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
        "metadata": {"name": format!("{name}-{number}"), "namespace": "velero", "uid": format!("{name}-{number}")},
        "spec": {"snapshotType": "CSI", "sourceNamespace": "app", "sourcePVC": format!("data-{number}")},
        "status": status
    })
}

fn mover(number: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("wait-{number}"), "namespace": "velero",
            "labels": {"velero.io/data-upload": format!("wait-{number}")}
        },
        "spec": {
            "nodeName": node(number), "containers": [{"name": format!("wait-{number}"), "image": "velero"}],
            "volumes": [{"name": format!("wait-{number}"), "persistentVolumeClaim": {"claimName": format!("wait-{number}")}}]
        },
        "status": {"phase": "Running"}
    })
}

fn claim(number: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": format!("wait-{number}"), "namespace": "velero"}, "status": {"phase": "Bound"}
    })
}

fn agent(number: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("node-agent-{number}"), "namespace": "velero",
            "labels": {"component": "velero", "name": "node-agent", "role": "node-agent"}
        },
        "spec": {"nodeName": node(number), "containers": [
            {"name": "node-agent", "image": "velero/velero:v1.17.2", "command": ["/velero"], "args": ["node-agent", "server"]}
        ]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "node-agent", "ready": true, "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}}}
        ]}
    })
}
