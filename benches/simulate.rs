//! How the time of one run grows with the queue: 1,000, 10,000 and 100,000 waiting tasks on 1,000 nodes.
//! Ten times the queue should take about ten times as long (n log n), 100,000 less than a second.
//!
//! ```sh
//! cargo bench --no-default-features --bench simulate
//! ```

use criterion::{BenchmarkId, Criterion, Throughput};
use serde_json::{Value, json};
use velero_slots::capture::Capture;
use velero_slots::replay::{ReplayOptions, replay};
use velero_slots::simulate::{Design, Request, Scenario, simulate};
use velero_slots::snapshot::{ReadOptions, Snapshot, read};

const NODES: u32 = 1_000;
const TASKS: [u32; 3] = [1_000, 10_000, 100_000];

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group("simulate, one run");
    for tasks in TASKS {
        let snapshot = cluster(tasks);
        let replay = replay(&snapshot, ReplayOptions::default());
        group.throughput(Throughput::Elements(tasks.into()));
        for design in Design::ALL {
            let request = Request {
                scenarios: vec![Scenario::of(design)],
                runs: Some(1),
                ..Request::default()
            };
            let id = BenchmarkId::new(design.as_str(), tasks);
            group.bench_with_input(id, &request, |bencher, request| {
                bencher.iter(|| simulate(&snapshot, &replay, request));
            });
        }
    }
    group.finish();
    criterion.final_summary();
    if let Some(peak) = peak() {
        println!("peak memory of the process, reading the largest input included: {peak} MB");
    }
}

/// Returns the largest resident set that this process had, in megabytes, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024 / 1_000_000)
}

/// Waiting tasks on every node, and one that has finished there.
fn cluster(tasks: u32) -> Snapshot {
    let finished = (0..NODES).map(|number| task(number, "done", "Completed"));
    let waiting = (0..tasks).map(|number| task(number, "wait", "Prepared"));
    let movers = (0..tasks).flat_map(|number| [mover(number), claim(number)]);
    let agents = (0..NODES).map(agent);
    let capture = Capture::from_objects(agents.chain(finished).chain(waiting).chain(movers));
    let options = ReadOptions {
        namespace: "velero".to_owned(),
        now: Some(jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(480_000)),
    };
    read(&capture, &options)
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
