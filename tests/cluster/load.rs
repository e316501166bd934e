//! A large cluster: how many requests, of which kind, and how many at once.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::cases::list;
use crate::control_plane::Plane;
use crate::plugin::PATIENT;
use crate::proxy::Seen;

const NODES: usize = 1_000;
const FINAL_TASKS: usize = 9_000;
const RUNNING_TASKS: usize = 1_000;

/// The promises about one `status`.
const MOST_REQUESTS: usize = 40;
const MOST_IN_FLIGHT: usize = 5;

fn uid(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

fn node(number: usize) -> String {
    format!("worker-{number:04}")
}

fn pod(name: &str, number: usize, labels: &Value, container: &str, created: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "velero", "uid": uid(number),
            "creationTimestamp": created, "labels": labels,
        },
        "spec": {
            "nodeName": node(number % NODES),
            "containers": [{"name": container, "image": "velero/velero:v1.17.2"}],
        },
        "status": {
            "phase": "Running",
            "startTime": created,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": created}],
            "containerStatuses": [{
                "name": container, "image": "velero/velero:v1.17.2", "imageID": "",
                "ready": true, "restartCount": 0, "state": {"running": {"startedAt": created}},
            }],
        },
    })
}

fn task(number: usize, created: &str) -> Value {
    let runs = number < RUNNING_TASKS;
    let mut status = json!({
        "phase": if runs { "InProgress" } else { "Completed" },
        "node": node(number % NODES),
        "acceptedTimestamp": created,
        "startTimestamp": created,
        "progress": {"bytesDone": 1, "totalBytes": 2},
    });
    if !runs {
        status["completionTimestamp"] = created.into();
    }
    json!({
        "apiVersion": "velero.io/v2alpha1",
        "kind": "DataUpload",
        "metadata": {
            "name": format!("du-{number:05}"), "namespace": "velero", "uid": uid(100_000 + number),
            "creationTimestamp": created,
        },
        "spec": {"operationTimeout": "10m", "sourceNamespace": "app", "sourcePVC": "data"},
        "status": status,
    })
}

/// Returns the objects of the cluster.
pub(crate) fn cluster(now: Timestamp) -> Vec<Value> {
    let created = (now - SignedDuration::from_mins(30)).to_string();
    let agent = json!({"name": "node-agent", "role": "node-agent"});
    let mut objects = vec![json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": "node-agent", "namespace": "velero", "uid": uid(0), "creationTimestamp": created,
        },
        "spec": {
            "selector": {"matchLabels": agent},
            "template": {
                "metadata": {"labels": agent},
                "spec": {"containers": [{"name": "node-agent", "image": "velero/velero:v1.17.2"}]},
            },
        },
    })];
    for number in 0..NODES {
        objects.push(json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": node(number), "uid": uid(10_000 + number), "creationTimestamp": created,
            },
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": created}]},
        }));
        objects.push(pod(
            &format!("node-agent-{number:04}"),
            number,
            &agent,
            "node-agent",
            &created,
        ));
    }
    for number in 0..RUNNING_TASKS {
        let labels = json!({"velero.io/data-upload": format!("du-{number:05}")});
        objects.push(pod(
            &format!("du-{number:05}"),
            20_000 + number,
            &labels,
            "mover",
            &created,
        ));
    }
    objects.extend((0..RUNNING_TASKS + FINAL_TASKS).map(|number| task(number, &created)));
    objects
}

/// Returns what a reading command must not have sent.
pub(crate) fn forbidden_requests(seen: &[Seen]) -> Vec<String> {
    const REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    seen.iter()
        .filter(|request| {
            let is_review = request.method == "POST" && request.target == REVIEW;
            !(request.method == "GET" || is_review)
        })
        .map(|request| format!("{} {}", request.method, request.target))
        .collect()
}

#[test]
fn ten_thousand_tasks_are_read_in_few_paged_requests() {
    let plane = Plane::Still.lock();
    plane.etcd().put(&cluster(plane.api().now()));
    let (proxy, user) = plane.behind_proxy(SignedDuration::ZERO);

    for command in ["status", "diagnose", "replay"] {
        let run = user.plugin(&[command, "-o", "json", PATIENT[0], PATIENT[1]]);
        let seen = proxy.take();
        let targets: Vec<&str> = seen.iter().map(|request| request.target.as_str()).collect();
        let log = targets.join("\n");
        assert!(
            seen.len() <= MOST_REQUESTS,
            "{command}: {} requests\n{log}",
            seen.len()
        );
        assert_eq!(forbidden_requests(&seen), Vec::<String>::new(), "{command}");
        assert!(
            targets.iter().all(|target| target.contains("limit=")),
            "{command}: every list is paged\n{log}"
        );
        assert!(
            seen.iter()
                .all(|request| request.user_agent.contains("velero-slots")),
            "{command}: requests name the tool: {seen:?}"
        );
        let document = run.json();
        if command == "status" {
            let nodes = list(&document, "nodes");
            assert_eq!(nodes.len(), NODES, "every node has a row");
            let held: u64 = nodes
                .iter()
                .filter_map(|node| node["slots"]["held"].as_u64())
                .sum();
            assert_eq!(
                held, RUNNING_TASKS as u64,
                "every running task holds a slot"
            );
        }
    }
    let at_once = proxy.most_in_flight();
    assert!(at_once <= MOST_IN_FLIGHT, "{at_once} requests at once");
}
