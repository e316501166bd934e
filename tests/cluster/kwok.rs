//! How KWOK plays the kubelets.

use std::path::Path;

use serde_json::{Value, json};

/// Returns KWOK's configuration: every node becomes Ready, every scheduled pod Running and Ready, every
/// deleted pod goes, and every container's log is one file.
pub(crate) fn config(pod_log: &Path) -> String {
    [node_ready(), pod_ready(), pod_gone(), logs(pod_log)]
        .iter()
        .map(|document| format!("{document}\n---\n"))
        .collect()
}

fn stage(name: &str, kind: &str, conditions: &Value, next: &Value) -> Value {
    json!({
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": conditions},
            "next": next,
        },
    })
}

const READY: &str = r#".status.conditions.[] | select( .type == "Ready" ) | .status"#;

/// The label by which a pod asks for a kubelet that fails it.
pub(crate) const KUBELET_LABEL: &str = "kubelet";
const KUBELET: &str = ".metadata.labels.kubelet";
/// Its kubelet never starts it.
pub(crate) const NEVER_READY: &str = "never-ready";
/// Its kubelet never ends it.
pub(crate) const NEVER_GONE: &str = "never-gone";

fn node_ready() -> Value {
    stage(
        "node-ready",
        "Node",
        &json!([{"key": READY, "operator": "NotIn", "values": ["True"]}]),
        &json!({"statusTemplate": r#"
conditions:
- type: Ready
  status: "True"
  reason: KubeletReady
  message: kwok plays this kubelet
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
addresses:
- type: InternalIP
  address: {{ NodeIP | Quote }}
daemonEndpoints:
  kubeletEndpoint:
    Port: {{ NodePort }}
allocatable: {cpu: "64", memory: 256Gi, pods: "1000"}
capacity: {cpu: "64", memory: 256Gi, pods: "1000"}
"#}),
    )
}

fn pod_ready() -> Value {
    stage(
        "pod-ready",
        "Pod",
        &json!([
            {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"},
            {"key": ".status.phase", "operator": "In", "values": ["Pending"]},
            {"key": KUBELET, "operator": "NotIn", "values": [NEVER_READY]},
        ]),
        &json!({"statusTemplate": r#"
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  containerID: {{ printf "kwok://%s" .name | Quote }}
  ready: true
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {{ $now | Quote }}
{{ end }}
"#}),
    )
}

fn pod_gone() -> Value {
    stage(
        "pod-gone",
        "Pod",
        &json!([
            {"key": ".metadata.deletionTimestamp", "operator": "Exists"},
            {"key": KUBELET, "operator": "NotIn", "values": [NEVER_GONE]},
        ]),
        &json!({"finalizers": {"empty": true}, "delete": true}),
    )
}

fn logs(pod_log: &Path) -> Value {
    json!({
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "every-container"},
        "spec": {"logs": [{"logsFile": pod_log}]},
    })
}
