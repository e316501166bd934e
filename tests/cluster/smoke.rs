//! The control planes themselves: what the other tests stand on.

use serde_json::{Value, json};

use crate::control_plane::Plane;
use crate::plugin::User;

#[test]
fn an_object_laid_into_etcd_is_served_word_for_word() {
    let plane = Plane::Still.lock();
    let upload = json!({
        "apiVersion": "velero.io/v2alpha1",
        "kind": "DataUpload",
        "metadata": {
            "name": "du-1",
            "namespace": "velero",
            "uid": "00000000-0000-4000-8000-000000000001",
            "creationTimestamp": "2020-01-02T03:04:05Z",
            "generation": 1,
            "managedFields": [{
                "apiVersion": "velero.io/v2alpha1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:status": {"f:phase": {}}},
                "manager": "node-agent-server",
                "operation": "Update",
                "time": "2020-01-02T03:04:06Z",
            }],
        },
        "spec": {"csiSnapshot": {"volumeSnapshot": "vs-1"}},
        "status": {"phase": "Prepared", "somethingNew": 1},
    });
    plane.etcd().put(std::slice::from_ref(&upload));
    let mut served = plane
        .api()
        .get("/apis/velero.io/v2alpha1/namespaces/velero/datauploads/du-1");
    let metadata = served["metadata"].as_object_mut().expect("it has metadata");
    assert!(metadata.remove("resourceVersion").is_some(), "{metadata:?}");
    assert_eq!(served, upload);
}

#[test]
fn the_real_kubectl_calls_the_plugin() {
    let plane = Plane::Still.lock();
    let user = User::new(&plane.kubeconfig());
    let run = user.plugin(&["version"]).expect_code(0);
    assert!(
        run.stdout.contains(env!("CARGO_PKG_VERSION")),
        "the version is printed\n{run}"
    );
}

#[test]
fn controllers_run_a_node_agent_and_its_log_can_be_read() {
    let plane = Plane::Alive.lock();
    let api = plane.api();
    api.post(
        "/api/v1/namespaces",
        &json!({"metadata": {"name": "smoke"}}),
    );
    api.post(
        "/api/v1/nodes",
        &json!({"metadata": {"name": "smoke-node"}}),
    );
    let labels = json!({"name": "node-agent", "role": "node-agent"});
    plane.wait_for("the default service account", || {
        let accounts = api.get("/api/v1/namespaces/smoke/serviceaccounts");
        !accounts["items"].as_array().is_none_or(Vec::is_empty)
    });
    api.post(
        "/apis/apps/v1/namespaces/smoke/daemonsets",
        &json!({
            "metadata": {"name": "node-agent"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "node-agent", "image": "velero/velero:v1.17.2"}]},
                },
            },
        }),
    );
    let pods = "/api/v1/namespaces/smoke/pods";
    let ready = || {
        let list = api.get(pods);
        list["items"].as_array()?.iter().find_map(|pod| {
            let running = pod["status"]["phase"] == "Running"
                && pod["metadata"]["deletionTimestamp"].is_null();
            running.then(|| {
                pod["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
        })
    };
    plane.wait_for("the agent's pod", || ready().is_some());
    let first = ready().expect("it was there");

    std::fs::write(
        plane.pod_log(),
        "2026-01-02T03:04:05.000000000Z stdout F time=\"2026-01-02T03:04:05Z\" level=info msg=hello\n",
    )
    .expect("the file is ours");
    let user = User::new(&plane.kubeconfig());
    let log = user
        .kubectl(&["logs", "-n", "smoke", &first])
        .expect_code(0);
    assert!(log.stdout.contains("msg=hello"), "{log}");

    api.delete(&format!("{pods}/{first}"));
    plane.wait_for("another pod for the agent", || {
        ready().is_some_and(|name| name != first)
    });
    let node: Value = api.get("/api/v1/nodes/smoke-node");
    assert_eq!(node["status"]["conditions"][0]["type"], "Ready", "{node}");
}
