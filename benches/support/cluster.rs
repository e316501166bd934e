//! A made-up cluster of any size, as the API server would print it: the same objects every time.
//!
//! The sizes of objects are those of real ones, managedFields included, since most of the time spent on a
//! large list is spent on what nobody reads.

use serde_json::{Value, json};

/// The namespace of Velero.
const NAMESPACE: &str = "velero";

/// Slots of each node, as its ConfigMap says.
const LIMIT: usize = 2;

/// How large the cluster is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Tasks, of all kinds and phases.
    pub(crate) tasks: usize,
    /// Nodes, each with its node-agent.
    pub(crate) nodes: usize,
    /// Pods in all: agents, mover pods, and those of applications.
    pub(crate) pods: usize,
}

impl Size {
    /// Returns a cluster with so many tasks and pods, and a node for each twenty of them.
    pub(crate) const fn of(tasks: usize) -> Self {
        Self {
            tasks,
            nodes: tasks / 20,
            pods: tasks,
        }
    }
}

/// Returns every object of the cluster.
///
/// Most nodes work: as many tasks run as there are slots, and others wait for one. On every fiftieth node
/// nothing runs and tasks wait all the same.
pub(crate) fn objects(size: Size) -> Vec<Value> {
    let mut objects = vec![daemon_set(size.nodes), deployment(), config_map()];
    objects.extend((0..size.nodes).map(node));
    objects.extend((0..size.nodes).map(agent));
    objects.extend((0..=size.tasks / 250).map(backup));
    let tasks: Vec<Task> = (0..size.tasks)
        .map(|number| Task::of(number, size))
        .collect();
    let movers: Vec<Value> = tasks.iter().filter_map(Task::mover_pod).collect();
    let rest = size.pods.saturating_sub(size.nodes + movers.len());
    objects.extend(tasks.iter().map(Task::object));
    objects.extend(movers);
    objects.extend((0..rest).map(|number| application_pod(number, size.nodes)));
    objects
}

/// Returns the time so many seconds after the beginning of the day of the incident.
fn at(seconds: usize) -> String {
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("2026-01-02T{hours:02}:{minutes:02}:{:02}Z", seconds % 60)
}

/// Returns a UID that is the same each time.
fn uid(kind: usize, number: usize) -> String {
    format!("{number:08x}-{kind:04x}-4000-8000-{:012x}", number * 7919)
}

fn node_name(number: usize) -> String {
    format!("worker-{number:04}.example.internal")
}

/// Which of the phases a made-up task is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Accepted,
    Prepared,
    InProgress,
    Completed,
}

/// One made-up task.
struct Task {
    number: usize,
    node: usize,
    phase: Phase,
}

impl Task {
    fn of(number: usize, size: Size) -> Self {
        let nodes = size.nodes.max(1);
        let (node, turn) = (number % nodes, number / nodes);
        let phase = match turn {
            turn if turn < LIMIT && node.is_multiple_of(50) => Phase::Completed,
            turn if turn < LIMIT => Phase::InProgress,
            turn if turn < 6 => Phase::Prepared,
            6 => Phase::Accepted,
            turn if turn < 14 => Phase::New,
            _ => Phase::Completed,
        };
        Self {
            number,
            node,
            phase,
        }
    }

    fn name(&self) -> String {
        let number = self.number;
        if self.is_upload() {
            format!("nightly-{:04}-{number:05}", number / 250)
        } else {
            format!("nightly-{:04}-volume-{number:05}", number / 250)
        }
    }

    /// Three of four tasks are DataUploads, the others pod volume backups.
    const fn is_upload(&self) -> bool {
        !self.number.is_multiple_of(4)
    }

    const fn kind(&self) -> &'static str {
        if self.is_upload() {
            "DataUpload"
        } else {
            "PodVolumeBackup"
        }
    }

    const fn api_version(&self) -> &'static str {
        if self.is_upload() {
            "velero.io/v2alpha1"
        } else {
            "velero.io/v1"
        }
    }

    fn created(&self) -> usize {
        self.number % 600
    }

    fn object(&self) -> Value {
        let phase = match self.phase {
            Phase::New => "",
            Phase::Accepted => "Accepted",
            Phase::Prepared => "Prepared",
            Phase::InProgress => "InProgress",
            Phase::Completed => "Completed",
        };
        let mut metadata = json!({
            "name": self.name(), "namespace": NAMESPACE, "uid": uid(1, self.number),
            "resourceVersion": (900_000 + self.number).to_string(), "generation": 5,
            "creationTimestamp": at(self.created()),
            "finalizers": ["velero.io/data-upload-download-finalizer"],
            "labels": {
                "velero.io/backup-name": backup_name(self.number / 250),
                "velero.io/backup-uid": uid(2, self.number / 250),
                "velero.io/pvc-uid": uid(3, self.number),
                "velero.io/async-operation-id": format!("du-{}.{}", uid(2, self.number / 250), uid(3, self.number)),
            },
            "ownerReferences": [{
                "apiVersion": "velero.io/v1", "kind": "Backup", "controller": true,
                "name": backup_name(self.number / 250), "uid": uid(2, self.number / 250),
            }],
            "managedFields": [
                managed("velero", self.created(), self.api_version(), &json!({
                    "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:velero.io/backup-name": {},
                        "f:velero.io/backup-uid": {}, "f:velero.io/pvc-uid": {}, "f:velero.io/async-operation-id": {}},
                        "f:ownerReferences": {".": {}, "k:{\"uid\":\"x\"}": {}}},
                    "f:spec": {".": {}, "f:backupStorageLocation": {}, "f:csiSnapshot": {".": {}, "f:snapshotClass": {},
                        "f:storageClass": {}, "f:volumeSnapshot": {}}, "f:operationTimeout": {}, "f:snapshotType": {},
                        "f:sourceNamespace": {}, "f:sourcePVC": {}},
                })),
                managed("node-agent-server", self.created() + 300, self.api_version(), &json!({
                    "f:metadata": {"f:finalizers": {".": {}, "v:\"velero.io/data-upload-download-finalizer\"": {}},
                        "f:labels": {"f:velero.io/expose-on-going": {}}},
                    "f:status": {".": {}, "f:acceptedByNode": {}, "f:acceptedTimestamp": {}, "f:node": {}, "f:nodeOS": {},
                        "f:phase": {}, "f:progress": {".": {}, "f:bytesDone": {}, "f:totalBytes": {}}, "f:startTimestamp": {}},
                })),
            ],
        });
        if matches!(self.phase, Phase::Accepted | Phase::Prepared)
            && let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut)
        {
            labels.insert("velero.io/expose-on-going".to_owned(), json!("true"));
        }
        let status = self.status(phase);
        let (application, volume) = (self.number % 400, self.number);
        if self.is_upload() {
            json!({
                "apiVersion": self.api_version(), "kind": self.kind(), "metadata": metadata,
                "spec": {
                    "backupStorageLocation": "default", "operationTimeout": "10m0s", "snapshotType": "CSI",
                    "csiSnapshot": {"snapshotClass": "csi-snapclass", "storageClass": "fast-replicated",
                        "volumeSnapshot": format!("velero-data-{volume:05}-x7k2p")},
                    "sourceNamespace": format!("shop-{application:03}"), "sourcePVC": format!("data-{volume:05}"),
                },
                "status": status,
            })
        } else {
            json!({
                "apiVersion": self.api_version(), "kind": self.kind(), "metadata": metadata,
                "spec": {
                    "backupStorageLocation": "default", "node": node_name(self.node), "uploaderType": "kopia",
                    "volume": "data", "repoIdentifier": "",
                    "pod": {"kind": "Pod", "namespace": format!("shop-{application:03}"),
                        "name": format!("web-{volume:05}"), "uid": uid(4, volume)},
                    "tags": {"backup": backup_name(self.number / 250), "volume": "data"},
                },
                "status": status,
            })
        }
    }

    fn status(&self, phase: &str) -> Value {
        let accepted = at(self.created() + 120);
        let mut status = json!({"phase": phase});
        let Some(fields) = status.as_object_mut() else {
            return status;
        };
        if self.phase != Phase::New {
            fields.insert("acceptedTimestamp".to_owned(), json!(accepted));
            if self.is_upload() {
                fields.insert("acceptedByNode".to_owned(), json!(node_name(self.node)));
            }
        }
        if self.is_upload() && !matches!(self.phase, Phase::New | Phase::Accepted) {
            fields.insert("node".to_owned(), json!(node_name(self.node)));
            fields.insert("nodeOS".to_owned(), json!("linux"));
        }
        if matches!(self.phase, Phase::InProgress | Phase::Completed) {
            fields.insert("startTimestamp".to_owned(), json!(at(self.created() + 300)));
            fields.insert(
                "progress".to_owned(),
                json!({"bytesDone": 21_474_836_480_u64, "totalBytes": 107_374_182_400_u64}),
            );
        }
        if self.phase == Phase::Completed {
            fields.insert(
                "completionTimestamp".to_owned(),
                json!(at(self.created() + 1200)),
            );
            fields.insert(
                "snapshotID".to_owned(),
                json!(uid(5, self.number).replace('-', "")),
            );
        }
        status
    }

    /// Returns the pod that Velero started for the task, while there is one.
    fn mover_pod(&self) -> Option<Value> {
        let running = match self.phase {
            Phase::New | Phase::Completed => return None,
            Phase::Accepted => Running::No,
            Phase::Prepared | Phase::InProgress => Running::Yes,
        };
        let label = if self.is_upload() {
            "velero.io/data-upload"
        } else {
            "velero.io/pod-volume-backup"
        };
        Some(pod(&PodParts {
            name: self.name(),
            namespace: NAMESPACE.to_owned(),
            uid: uid(6, self.number),
            created: self.created() + 150,
            node: self.node,
            labels: json!({label: self.name(), "velero.io/exposer-pod-group": "snapshot-exposer"}),
            owner: json!({"apiVersion": self.api_version(), "kind": self.kind(), "controller": true,
                "name": self.name(), "uid": uid(1, self.number)}),
            container: uid(1, self.number),
            image: "velero/velero:v1.17.1",
            args: json!([
                "data-mover",
                "backup",
                "--volume-path=/volume",
                "--volume-mode=Filesystem",
                format!("--data-upload={}", self.name()),
                "--resource-timeout=10m0s",
                "--log-level=info"
            ]),
            running,
        }))
    }
}

/// Whether a made-up pod runs or still waits to be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    Yes,
    No,
}

/// What differs between made-up pods.
struct PodParts {
    name: String,
    namespace: String,
    uid: String,
    created: usize,
    node: usize,
    labels: Value,
    owner: Value,
    container: String,
    image: &'static str,
    args: Value,
    running: Running,
}

fn pod(parts: &PodParts) -> Value {
    let started = at(parts.created + 20);
    let (phase, ready, state) = match parts.running {
        Running::Yes => (
            "Running",
            "True",
            json!({"running": {"startedAt": started}}),
        ),
        Running::No => (
            "Pending",
            "False",
            json!({"waiting": {"reason": "ContainerCreating"}}),
        ),
    };
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": started});
    let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": parts.name, "namespace": parts.namespace, "uid": parts.uid, "labels": parts.labels,
            "resourceVersion": "123456789", "creationTimestamp": at(parts.created), "ownerReferences": [parts.owner],
            "managedFields": [
                managed("kube-controller-manager", parts.created, "v1", &json!({
                    "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:ownerReferences": {".": {}, "k:{\"uid\":\"x\"}": {}}},
                    "f:spec": {"f:automountServiceAccountToken": {}, "f:containers": {"k:{\"name\":\"main\"}": {".": {},
                        "f:args": {}, "f:command": {}, "f:env": {".": {}, "k:{\"name\":\"NODE_NAME\"}": {".": {}, "f:name": {}, "f:valueFrom": {}}},
                        "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {}, "f:terminationMessagePath": {},
                        "f:terminationMessagePolicy": {}, "f:volumeMounts": {".": {}, "k:{\"mountPath\":\"/volume\"}": {".": {},
                        "f:mountPath": {}, "f:name": {}}}}}, "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:restartPolicy": {},
                        "f:schedulerName": {}, "f:securityContext": {}, "f:terminationGracePeriodSeconds": {}, "f:volumes": {".": {},
                        "k:{\"name\":\"volume\"}": {".": {}, "f:name": {}, "f:persistentVolumeClaim": {".": {}, "f:claimName": {}}}}},
                })),
                managed("kubelet", parts.created + 20, "v1", &json!({
                    "f:status": {"f:conditions": {"k:{\"type\":\"ContainersReady\"}": {".": {}, "f:lastProbeTime": {},
                        "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}, "k:{\"type\":\"Initialized\"}": {".": {},
                        "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}},
                        "k:{\"type\":\"Ready\"}": {".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}},
                        "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:podIPs": {}, "f:startTime": {}},
                })),
            ],
        },
        "spec": {
            "nodeName": node_name(parts.node), "restartPolicy": "Never", "serviceAccountName": "velero",
            "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "containers": [{"name": parts.container, "image": parts.image, "imagePullPolicy": "IfNotPresent",
                "command": ["/velero"], "args": parts.args, "resources": {},
                "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}],
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "volumeMounts": [{"name": parts.uid, "mountPath": "/volume"}]}],
            "tolerations": [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")],
            "volumes": [{"name": parts.uid, "persistentVolumeClaim": {"claimName": parts.name, "readOnly": true}}],
        },
        "status": {
            "phase": phase, "qosClass": "BestEffort", "hostIP": "10.0.0.1", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
            "startTime": at(parts.created + 5),
            "conditions": [condition("Initialized", "True"), condition("Ready", ready),
                condition("ContainersReady", ready), condition("PodScheduled", "True")],
            "containerStatuses": [{"name": parts.container, "image": parts.image, "ready": parts.running == Running::Yes,
                "started": parts.running == Running::Yes, "restartCount": 0, "lastState": {}, "state": state,
                "imageID": format!("sha256:{:064x}", parts.created), "containerID": format!("containerd://{:064x}", parts.created)}],
        },
    })
}

fn agent(number: usize) -> Value {
    pod(&PodParts {
        name: format!("node-agent-{number:05}"),
        namespace: NAMESPACE.to_owned(),
        uid: uid(7, number),
        created: 0,
        node: number,
        labels: json!({"component": "velero", "name": "node-agent", "role": "node-agent",
            "controller-revision-hash": "6c8d7f9b5", "pod-template-generation": "1"}),
        owner: json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "controller": true, "name": "node-agent", "uid": uid(8, 0)}),
        container: "node-agent".to_owned(),
        image: "velero/velero:v1.17.1",
        args: json!([
            "node-agent",
            "server",
            "--node-agent-configmap=node-agent-config"
        ]),
        running: Running::Yes,
    })
}

fn application_pod(number: usize, nodes: usize) -> Value {
    pod(&PodParts {
        name: format!("web-{number:05}"),
        namespace: format!("shop-{:03}", number % 400),
        uid: uid(4, number),
        created: 0,
        node: number % nodes.max(1),
        labels: json!({"app": "web", "pod-template-hash": "5f7d8c9b6d"}),
        owner: json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true, "name": "web-5f7d8c9b6d", "uid": uid(9, number)}),
        container: "web".to_owned(),
        image: "registry.example.internal/shop/web:3.14",
        args: json!(["serve", "--listen=:8080"]),
        running: Running::Yes,
    })
}

fn managed(manager: &str, seconds: usize, api_version: &str, fields: &Value) -> Value {
    json!({"manager": manager, "operation": "Update", "apiVersion": api_version, "time": at(seconds),
        "fieldsType": "FieldsV1", "fieldsV1": fields})
}

fn node(number: usize) -> Value {
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": "KubeletHasNoProblem",
        "message": "kubelet has no problem with this", "lastHeartbeatTime": at(7000), "lastTransitionTime": at(0)})
    };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": node_name(number), "uid": uid(10, number), "creationTimestamp": at(0), "resourceVersion": "5",
            "labels": {"kubernetes.io/hostname": node_name(number), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": format!("zone-{}", number % 3), "node.kubernetes.io/instance-type": "m-16"},
            "managedFields": [managed("kubelet", 0, "v1", &json!({"f:metadata": {"f:labels": {".": {},
                "f:kubernetes.io/hostname": {}, "f:kubernetes.io/os": {}, "f:topology.kubernetes.io/zone": {}}}}))],
        },
        "spec": {"podCIDR": "10.1.0.0/24"},
        "status": {"conditions": [condition("MemoryPressure", "False"), condition("DiskPressure", "False"),
            condition("PIDPressure", "False"), condition("Ready", "True")]},
    })
}

fn backup_name(number: usize) -> String {
    format!("nightly-{number:04}")
}

fn backup(number: usize) -> Value {
    json!({
        "apiVersion": "velero.io/v1", "kind": "Backup",
        "metadata": {"name": backup_name(number), "namespace": NAMESPACE, "uid": uid(2, number), "creationTimestamp": at(0)},
        "spec": {"itemOperationTimeout": "4h0m0s", "csiSnapshotTimeout": "10m0s", "snapshotMoveData": true},
        "status": {"phase": "WaitingForPluginOperations", "startTimestamp": at(0)},
    })
}

fn daemon_set(nodes: usize) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "node-agent", "namespace": NAMESPACE, "uid": uid(8, 0), "creationTimestamp": at(0)},
        "spec": {"template": {"metadata": {"labels": {"component": "velero", "name": "node-agent", "role": "node-agent"}},
            "spec": {"containers": [{"name": "node-agent", "image": "velero/velero:v1.17.1", "command": ["/velero"],
                "args": ["node-agent", "server", "--node-agent-configmap=node-agent-config"]}]}}},
        "status": {"desiredNumberScheduled": nodes, "numberReady": nodes},
    })
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "velero", "namespace": NAMESPACE, "uid": uid(11, 0), "creationTimestamp": at(0)},
        "spec": {"template": {"spec": {"containers": [{"name": "velero", "image": "velero/velero:v1.17.1",
            "command": ["/velero"], "args": ["server"]}]}}},
    })
}

fn config_map() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "node-agent-config", "namespace": NAMESPACE, "uid": uid(12, 0), "creationTimestamp": at(0)},
        "data": {"node-agent-config.json": json!({"loadConcurrency": {"globalConfig": LIMIT}}).to_string()},
    })
}
