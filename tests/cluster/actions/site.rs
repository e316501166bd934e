//! A namespace with node-agents on nodes of its own, and tasks in it.

use std::thread;
use std::time::{Duration, Instant};

use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::cases::{list, text};
use crate::control_plane::{ControlPlane, Locked, Plane};
use crate::kwok::KUBELET_LABEL;
use crate::plugin::{Run, User};
use crate::proxy::Proxy;

/// A busy machine needs its time.
const LIMIT: Duration = Duration::from_secs(240);
const LOOK_EACH: Duration = Duration::from_millis(200);

/// A namespace with node-agents. Several may be there at once: each has nodes of its own.
pub(super) struct Site {
    plane: &'static ControlPlane,
    pub(super) namespace: String,
    /// Of its nodes and its DaemonSet.
    name: String,
    /// All pods of the control plane share one log, so whoever reads logs needs it for itself.
    log: Option<Locked>,
}

/// Waits until something is there.
pub(super) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not in time");
        thread::sleep(LOOK_EACH);
    }
}

/// Does something while a call of the plugin runs. If that fails, what the plugin said is told too.
pub(super) fn meanwhile(act: impl FnOnce() + Send, call: impl FnOnce() -> Run) -> Run {
    thread::scope(|scope| {
        let acting = scope.spawn(act);
        let run = call();
        assert!(
            acting.join().is_ok(),
            "what should happen meanwhile did not, see above\n{run}"
        );
        run
    })
}

impl Site {
    /// Makes a namespace and one node-agent, on the node `NAME-a`.
    pub(super) fn new(name: &str) -> Self {
        Self::with_nodes(name, &["a"], "")
    }

    /// The same with a log, which no other test writes meanwhile.
    pub(super) fn with_log(name: &str) -> Self {
        let log = Plane::Alive.lock();
        let site = Self {
            log: Some(log),
            ..Self::new(name)
        };
        // What an earlier test has left there is not this one's.
        std::fs::write(site.plane.pod_log(), "").expect("the file is ours");
        site
    }

    /// The same with a kubelet that fails the agent's pods.
    pub(super) fn with_kubelet(name: &str, kubelet: &str) -> Self {
        Self::with_nodes(name, &["a"], kubelet)
    }

    /// The same on several nodes.
    pub(super) fn with_nodes(name: &str, nodes: &[&str], kubelet: &str) -> Self {
        let site = Self {
            plane: Plane::Alive.get(),
            namespace: format!("actions-{name}"),
            name: name.to_owned(),
            log: None,
        };
        site.make(nodes, kubelet);
        for node in nodes {
            site.agent(node);
        }
        site
    }

    /// Returns the control plane; also for threads that the test starts.
    pub(super) const fn plane(&self) -> &'static ControlPlane {
        self.plane
    }

    pub(super) fn node(&self, node: &str) -> String {
        format!("{}-{node}", self.name)
    }

    fn make(&self, nodes: &[&str], kubelet: &str) {
        let api = self.plane.api();
        api.post(
            "/api/v1/namespaces",
            &json!({"metadata": {"name": self.namespace}}),
        );
        for node in nodes {
            api.post(
                "/api/v1/nodes",
                &json!({"metadata": {"name": self.node(node), "labels": {"site": self.name}}}),
            );
        }
        wait_for("the default service account", || {
            let accounts = api.get(&self.path("serviceaccounts"));
            (!list(&accounts, "items").is_empty()).then_some(())
        });
        api.post(
            &self.path("configmaps"),
            &json!({
                "metadata": {"name": "node-agent-config"},
                "data": {"config.json": r#"{"loadConcurrency": {"globalConfig": 2}}"#},
            }),
        );
        api.post(
            &format!("/apis/velero.io/v1/namespaces/{}/backups", self.namespace),
            &json!({
                "apiVersion": "velero.io/v1",
                "kind": "Backup",
                "metadata": {"name": "backup-1"},
                "spec": {"itemOperationTimeout": "4h0m0s"},
                "status": {
                    "phase": "WaitingForPluginOperations",
                    "startTimestamp": second(api.now()),
                },
            }),
        );
        let selector = json!({"name": "node-agent"});
        let mut labels = json!({"name": "node-agent", "role": "node-agent", "component": "velero"});
        if !kubelet.is_empty() {
            labels[KUBELET_LABEL] = json!(kubelet);
        }
        api.post(
            &format!("/apis/apps/v1/namespaces/{}/daemonsets", self.namespace),
            &json!({
                "metadata": {"name": "node-agent"},
                "spec": {
                    "selector": {"matchLabels": selector},
                    // A changed template is for the next pod alone.
                    "updateStrategy": {"type": "OnDelete"},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {
                            "nodeSelector": {"site": self.name},
                            "terminationGracePeriodSeconds": 1,
                            "containers": [{
                                "name": "node-agent",
                                "image": "velero/velero:v1.17.1",
                                "command": ["/velero"],
                                "args": ["node-agent", "server", "--node-agent-configmap=node-agent-config"],
                            }],
                        },
                    },
                },
            }),
        );
    }

    /// Returns the path of a resource of the core group in the namespace.
    pub(super) fn path(&self, plural: &str) -> String {
        format!("/api/v1/namespaces/{}/{plural}", self.namespace)
    }

    /// Returns the path of the DataUploads.
    pub(super) fn uploads(&self) -> String {
        format!(
            "/apis/velero.io/v2alpha1/namespaces/{}/datauploads",
            self.namespace
        )
    }

    /// Waits for the agent that works on a node, and returns its pod.
    pub(super) fn agent(&self, node: &str) -> Value {
        self.agent_other_than(node, "")
    }

    /// Waits for the agent that works on a node and has another UID.
    pub(super) fn agent_other_than(&self, node: &str, uid: &str) -> Value {
        let node = self.node(node);
        wait_for(&format!("the agent of {node}"), || {
            let pods = self.plane().api().get(&self.path("pods"));
            list(&pods, "items")
                .iter()
                .find(|pod| {
                    text(&pod["metadata"]["labels"], "name") == "node-agent"
                        && text(&pod["spec"], "nodeName") == node
                        && text(&pod["metadata"], "uid") != uid
                        && pod["metadata"]["deletionTimestamp"].is_null()
                        && pod["status"]["containerStatuses"][0]["ready"] == true
                })
                .cloned()
        })
    }

    /// Makes a DataUpload in a phase, with its mover pod running on a node.
    pub(super) fn upload(&self, name: &str, node: &str, phase: &str) {
        let api = self.plane.api();
        let node = self.node(node);
        let now = second(api.now());
        let mut status = json!({
            "phase": phase, "node": node, "acceptedByNode": node, "acceptedTimestamp": now,
        });
        if phase == "InProgress" {
            status["startTimestamp"] = json!(now);
            status["progress"] = json!({"bytesDone": 1, "totalBytes": 100});
        }
        let made = api.post(
            &format!("{}?fieldManager=node-agent-server", self.uploads()),
            &json!({
                "apiVersion": "velero.io/v2alpha1",
                "kind": "DataUpload",
                "metadata": {"name": name, "labels": {"velero.io/backup-name": "backup-1"}},
                "spec": {
                    "snapshotType": "CSI",
                    "csiSnapshot": {"volumeSnapshot": name, "storageClass": "fast"},
                    "operationTimeout": "10m0s",
                    "sourceNamespace": "app",
                    "sourcePVC": name,
                },
                "status": status,
            }),
        );
        let uid = text(&made["metadata"], "uid");
        self.make_volume(name);
        api.post(
            &self.path("pods"),
            &json!({
                "metadata": {
                    "name": name,
                    "labels": {
                        "velero.io/data-upload": name,
                        "velero.io/exposer-pod-group": "snapshot-exposer",
                    },
                },
                "spec": {
                    "nodeName": node,
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": uid, "image": "velero/velero:v1.17.1"}],
                    "volumes": [{"name": uid, "persistentVolumeClaim": {"claimName": name}}],
                },
            }),
        );
        wait_for(&format!("the mover pod {name}"), || {
            let pod = self
                .plane()
                .api()
                .get(&format!("{}/{name}", self.path("pods")));
            (pod["status"]["phase"] == "Running").then_some(())
        });
    }

    /// Makes the claim of a mover pod, bound; the controller that binds claims does not run.
    fn make_volume(&self, name: &str) {
        let api = self.plane.api();
        let claims = self.path("persistentvolumeclaims");
        api.post(
            &claims,
            &json!({
                "metadata": {"name": name},
                "spec": {
                    "accessModes": ["ReadOnlyMany"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "storageClassName": "fast",
                    "volumeName": format!("volume-{name}"),
                },
            }),
        );
        api.patch(
            &format!("{claims}/{name}/status"),
            &json!({"status": {
                "phase": "Bound",
                "accessModes": ["ReadOnlyMany"],
                "capacity": {"storage": "1Gi"},
            }}),
        );
    }

    /// Moves a DataUpload to a phase, as its node-agent would.
    pub(super) fn move_upload(&self, name: &str, phase: &str) {
        let api = self.plane().api();
        let mut status = json!({"phase": phase});
        if phase == "InProgress" {
            status["startTimestamp"] = json!(second(api.now()));
            status["progress"] = json!({"bytesDone": 2, "totalBytes": 100});
        }
        api.patch(
            &format!("{}/{name}?fieldManager=node-agent-server", self.uploads()),
            &json!({"status": status}),
        );
    }

    pub(super) fn get_upload(&self, name: &str) -> Value {
        self.plane()
            .api()
            .get(&format!("{}/{name}", self.uploads()))
    }

    /// Makes the pods that come from now on ask for another kubelet.
    pub(super) fn next_pods_get(&self, kubelet: &str) {
        self.plane().api().patch(
            &format!(
                "/apis/apps/v1/namespaces/{}/daemonsets/node-agent",
                self.namespace
            ),
            &json!({"spec": {"template": {"metadata": {"labels": {KUBELET_LABEL: kubelet}}}}}),
        );
    }

    /// Starts a proxy, and returns it with the administrator behind it.
    pub(super) fn behind_proxy(&self) -> (Proxy, User) {
        self.plane.behind_proxy(SignedDuration::ZERO)
    }

    /// Returns the arguments of an action in this namespace, where tasks count as stuck after a second.
    pub(super) fn arguments<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let mut all = words.to_vec();
        all.extend([
            "-n",
            &self.namespace,
            "--threshold",
            "1s",
            "--metrics",
            "never",
            "-o",
            "json",
        ]);
        if self.log.is_none() {
            all.extend(["--logs", "never"]);
        }
        all
    }

    /// Waits until an action would be allowed, and returns its plan.
    pub(super) fn plan(&self, user: &User, words: &[&str]) -> Value {
        let mut all = words.to_vec();
        all.push("--dry-run=client");
        let arguments = self.arguments(&all);
        let mut last: Option<Run> = None;
        let deadline = Instant::now() + LIMIT;
        loop {
            let run = user.plugin(&arguments);
            if run.code == Some(0) {
                return run.json();
            }
            let complaint = last.as_ref().unwrap_or(&run).to_string();
            assert!(Instant::now() < deadline, "never allowed\n{complaint}");
            last = Some(run);
            thread::sleep(LOOK_EACH);
        }
    }

    /// Returns UID and resource version of everything in the namespace that an action might write.
    pub(super) fn fingerprint(&self) -> Vec<String> {
        let api = self.plane.api();
        let paths = [
            self.path("pods"),
            self.path("events"),
            self.path("configmaps"),
            self.uploads(),
            format!("/apis/apps/v1/namespaces/{}/daemonsets", self.namespace),
        ];
        paths
            .iter()
            .flat_map(|path| list(&api.get(path), "items").to_vec())
            .map(|object| {
                let of = |field: &str| text(&object["metadata"], field).to_owned();
                format!("{} {} {}", of("name"), of("uid"), of("resourceVersion"))
            })
            .collect()
    }

    /// Writes a line of every agent's log.
    pub(super) fn log(&self, line: &str) {
        let now = self.plane().api().now();
        let line = format!(
            "{} stdout F time=\"{}\" {line}\n",
            now.strftime("%Y-%m-%dT%H:%M:%S.000000000Z"),
            second(now)
        );
        let path = self.plane().pod_log();
        let earlier = std::fs::read_to_string(path).unwrap_or_default();
        std::fs::write(path, earlier + &line).expect("the file is ours");
    }

    /// Returns the token of a service account with some rights, in the namespace and for lists in the cluster.
    pub(super) fn account(&self, name: &str, rules: &Value) -> String {
        let api = self.plane.api();
        let accounts = self.path("serviceaccounts");
        api.post(&accounts, &json!({"metadata": {"name": name}}));
        let token = api.post(
            &format!("{accounts}/{name}/token"),
            &json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
        );
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let role = format!("{}-{name}", self.name);
        api.post(
            &format!("{rbac}/clusterroles"),
            &json!({"metadata": {"name": role}, "rules": rules}),
        );
        self.bind(name, "ClusterRole", &role);
        text(&token["status"], "token").to_owned()
    }

    /// Binds a service account to a role, where that role holds.
    pub(super) fn bind(&self, account: &str, kind: &str, role: &str) {
        let root = match kind {
            "ClusterRole" => "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings".to_owned(),
            _ => format!(
                "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
                self.namespace
            ),
        };
        self.plane.api().post(
            &root,
            &json!({
                "metadata": {"name": format!("{}-{account}-{role}", self.name)},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self.namespace}],
            }),
        );
    }

    /// Waits until the API server knows of a right.
    pub(super) fn wait_for_right(&self, token: &str, path: &str) {
        let own = crate::api::Api::new(self.plane.url(), Some(token));
        wait_for(&format!("the right for {path}"), || {
            own.send(&Method::GET, path, "application/json", Vec::new())
                .is_ok_and(|answer| answer.status.is_success())
                .then_some(())
        });
    }
}

/// Kubernetes keeps whole seconds.
fn second(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
