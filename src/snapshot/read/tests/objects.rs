//! Whole objects, as `kubectl get -o json --show-managed-fields` prints them.

use super::*;

pub(super) fn data_upload_v1_17() -> Value {
    json!({
        "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
        "metadata": {
            "name": "du-17", "namespace": "velero", "uid": "uid-du-17", "resourceVersion": "1017",
            "creationTimestamp": "2026-01-01T10:00:00Z", "generation": 4,
            "finalizers": ["velero.io/data-upload-download-finalizer"],
            "labels": {"velero.io/backup-name": "b1", "velero.io/expose-on-going": "true", "velero.io/pvc-uid": "x"},
            "annotations": null,
            "ownerReferences": [{"apiVersion": "velero.io/v1", "kind": "Backup", "name": "backup-one", "uid": "ub", "controller": true}],
            "managedFields": [
                {"manager": "velero", "operation": "Update", "apiVersion": "velero.io/v2alpha1", "time": "2026-01-01T10:00:00Z",
                 "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {".": {}, "f:csiSnapshot": {".": {}}}}},
                {"manager": "node-agent-server", "operation": "Update", "apiVersion": "velero.io/v2alpha1", "time": "2026-01-01T10:01:30Z",
                 "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {".": {}, "f:phase": {}, "f:node": {}, "f:progress": {}}}},
                {"manager": "kubectl-patch", "operation": "Update", "apiVersion": "velero.io/v2alpha1", "time": "2026-01-01T10:05:00Z",
                 "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:cancel": {}}}}
            ]
        },
        "spec": {
            "snapshotType": "CSI", "cancel": true, "datamover": "", "operationTimeout": "10m0s",
            "backupStorageLocation": "default", "sourceNamespace": "app", "sourcePVC": "data",
            "csiSnapshot": {"volumeSnapshot": "vs-1", "storageClass": "fast", "snapshotClass": "snap"}
        },
        "status": {
            "phase": "Prepared", "node": "node-a", "acceptedByNode": "node-b", "acceptedTimestamp": "2026-01-01T10:01:00Z",
            "startTimestamp": null, "completionTimestamp": null, "progress": {}, "nodeOS": "linux", "message": "waits"
        }
    })
}

pub(super) fn data_upload_v1_12() -> Value {
    json!({
        "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
        "metadata": {
            "name": "du-12", "namespace": "velero", "uid": "uid-du-12", "resourceVersion": "1012",
            "creationTimestamp": "2026-01-01T10:00:00Z",
            "labels": {"velero.io/accepted-by": "node-c", "velero.io/backup-name": "b1"}
        },
        "spec": {"snapshotType": "CSI", "csiSnapshot": null, "dataMoverConfig": null, "operationTimeout": "10m0s",
                 "sourceNamespace": "app", "sourcePVC": "data", "backupStorageLocation": "default"},
        "status": {"phase": "Accepted", "startTimestamp": "2026-01-01T10:00:10Z", "progress": {"bytesDone": 5, "totalBytes": 9}}
    })
}

pub(super) fn data_download_v1_15_1() -> Value {
    json!({
        "apiVersion": "velero.io/v2alpha1", "kind": "DataDownload",
        "metadata": {
            "name": "dd-15", "namespace": "velero", "uid": "uid-dd-15", "resourceVersion": "1015",
            "creationTimestamp": "2026-01-01T09:00:00Z", "deletionTimestamp": "2030-01-01T00:00:00Z",
            "labels": {"velero.io/restore-name": "r1", "velero.io/backup-name": "b-foreign"},
            "annotations": {"velero.io/accepted-by": "node-d", "velero.io/accepted-at": "2026-01-01T09:00:05Z",
                            "kubectl.kubernetes.io/last-applied-configuration": "{\"a\":\"b\\n\"}"}
        },
        "spec": {"targetVolume": {"namespace": "app", "pvc": "restored", "pv": ""}, "snapshotID": "s", "operationTimeout": "1h30m5.5s"},
        "status": {"phase": "Accepted"}
    })
}

pub(super) fn pod_volume_backup_v1_17() -> Value {
    json!({
        "apiVersion": "velero.io/v1", "kind": "PodVolumeBackup",
        "metadata": {"name": "pvb-17", "namespace": "velero", "uid": "uid-pvb", "resourceVersion": "7",
                     "creationTimestamp": "2026-01-01T08:00:00Z", "labels": {"velero.io/backup-name": "b1"}},
        "spec": {"node": "node-a", "pod": {"kind": "Pod", "namespace": "app", "name": "web-0", "uid": "uid-web"},
                 "volume": "data", "uploaderType": "kopia"},
        "status": {"phase": "InProgress", "startTimestamp": "2026-01-01T08:01:00Z", "acceptedTimestamp": "2026-01-01T08:00:10Z",
                   "progress": {"bytesDone": 10, "totalBytes": 100}}
    })
}

pub(super) fn pod_volume_restore_v1_18() -> Value {
    json!({
        "apiVersion": "velero.io/v1", "kind": "PodVolumeRestore",
        "metadata": {"name": "pvr-18", "namespace": "velero", "uid": "uid-pvr", "resourceVersion": "8",
                     "creationTimestamp": "2026-01-01T08:00:00Z", "labels": {"velero.io/restore-name": "r1"}},
        "spec": {"pod": {"kind": "Pod", "namespace": "app", "name": "web-0", "uid": "uid-web"},
                 "volume": "data", "uploaderType": "restic", "snapshotSize": 5},
        "status": {}
    })
}

pub(super) fn agent_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "node-agent-x1", "namespace": "velero", "uid": "uid-agent", "resourceVersion": "20",
            "creationTimestamp": "2026-01-01T07:00:00Z",
            "labels": {"name": "node-agent", "role": "node-agent", "component": "velero"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "node-agent", "controller": true}]
        },
        "spec": {
            "nodeName": "node-a",
            "containers": [{"name": "node-agent", "image": "velero/velero:v1.17.1", "command": ["/velero"],
                "args": ["node-agent", "server", "--node-agent-configmap=na-config", "--backup-repository-configmap", "repo-config",
                         "--data-mover-prepare-timeout=45m"]}],
            "volumes": [{"name": "host-pods", "hostPath": {"path": "/var/lib/kubelet/pods"}}]
        },
        "status": {
            "phase": "Running", "startTime": "2026-01-01T07:00:01Z",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T07:00:06Z", "reason": null}],
            "containerStatuses": [{"name": "node-agent", "image": "sha256:0", "ready": true, "restartCount": 2,
                "state": {"running": {"startedAt": "2026-01-01T07:00:05Z"}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "startedAt": "2026-01-01T06:00:00Z",
                                             "finishedAt": "2026-01-01T06:59:00Z", "message": "bye"}}}]
        }
    })
}

pub(super) fn mover_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "du-17", "namespace": "velero", "uid": "uid-mover", "resourceVersion": "21",
            "creationTimestamp": "2026-01-01T10:01:05Z",
            "labels": {"velero.io/data-upload": "du-17", "role": "node-agent", "component": "velero"},
            "ownerReferences": [{"apiVersion": "velero.io/v2alpha1", "kind": "DataUpload", "name": "du-17", "controller": true}]
        },
        "spec": {
            "nodeName": "node-a", "initContainers": [{"name": "restore-wait", "image": "wait:1"}],
            "containers": [{"name": "uid-du-17", "image": "velero/velero:v1.17.1"}],
            "volumes": [{"name": "uid-du-17", "persistentVolumeClaim": {"claimName": "du-17"}}, {"name": "scratch", "ephemeral": {}}]
        },
        "status": {
            "phase": "Pending", "reason": "why", "message": "words", "conditions": null,
            "initContainerStatuses": [{"name": "restore-wait", "image": "x", "ready": false, "restartCount": 0,
                "state": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T10:01:20Z"}}, "lastState": {}}],
            "containerStatuses": [{"name": "uid-du-17", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]
        }
    })
}

pub(super) fn daemon_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "node-agent", "namespace": "velero", "resourceVersion": "30", "creationTimestamp": "2026-01-01T06:00:00Z"},
        "spec": {"template": {"metadata": {"labels": {"name": "node-agent"}, "creationTimestamp": null},
            "spec": {"containers": [{"name": "node-agent", "image": "velero/velero:v1.17.1", "args": ["node-agent", "server", "--node-agent-configmap=next-config"]}]}}},
        "status": {"desiredNumberScheduled": 3, "numberReady": 2}
    })
}

pub(super) fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "velero", "namespace": "velero", "resourceVersion": "31", "creationTimestamp": "2026-01-01T06:00:00Z",
                     "labels": {"component": "velero"}},
        "spec": {"template": {"metadata": {"labels": {"deploy": "velero"}},
            "spec": {"containers": [{"name": "velero", "image": "velero/velero:v1.17.1", "command": ["/velero"],
                "args": ["server", "--fs-backup-timeout=2h", "--default-item-operation-timeout", "6h"]}]}}}
    })
}

pub(super) fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": "velero", "resourceVersion": "40", "creationTimestamp": "2026-01-01T05:00:00Z",
            "managedFields": [
                {"manager": "kubectl-create", "time": "2026-01-01T05:00:00Z", "fieldsV1": {"f:data": {".": {}, "f:node-agent-config.json": {}}}},
                {"manager": "kubectl-edit", "time": "2026-01-01T05:30:00Z", "fieldsV1": {"f:data": {"f:node-agent-config.json": {}}}},
                {"manager": "kubectl-label", "time": "2026-01-01T05:45:00Z", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}}
            ]
        },
        "data": {"node-agent-config.json": "{\"loadConcurrency\":{\"globalConfig\":2,\"prepareQueueLength\":4}}"}
    })
}

pub(super) fn node() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "node-a", "resourceVersion": "50", "creationTimestamp": "2026-01-01T01:00:00Z", "labels": {"disk": "fast", "zone": "z"},
            "managedFields": [
                {"manager": "kubelet", "time": "2026-01-01T01:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:zone": {}}}}},
                {"manager": "kubectl-label", "time": "2026-01-01T04:00:00Z", "fieldsV1": {"f:metadata": {"f:labels": {"f:disk": {}}}}},
                {"manager": "kubelet", "time": "2026-01-01T07:10:00Z", "subresource": "status", "fieldsV1": {"f:status": {"f:conditions": {}}}}
            ]
        },
        "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "MemoryPressure", "status": "False"},
            {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok", "lastTransitionTime": "2026-01-01T01:05:00Z"}]}
    })
}

pub(super) fn backup() -> Value {
    json!({
        "apiVersion": "velero.io/v1", "kind": "Backup",
        "metadata": {"name": "backup-one", "namespace": "velero", "resourceVersion": "60", "creationTimestamp": "2026-01-01T09:59:00Z"},
        "spec": {"itemOperationTimeout": "4h0m0s"},
        "status": {"phase": "WaitingForPluginOperations", "startTimestamp": "2026-01-01T09:59:10Z", "expiration": "2030-01-01T00:00:00Z"}
    })
}

pub(super) fn restore() -> Value {
    json!({
        "apiVersion": "velero.io/v1", "kind": "Restore",
        "metadata": {"name": "r1", "namespace": "velero", "resourceVersion": "61", "creationTimestamp": "2026-01-01T08:00:00Z"},
        "spec": {"backupName": "b"},
        "status": {"phase": "Completed", "startTimestamp": "2026-01-01T08:00:01Z", "completionTimestamp": "2026-01-01T08:30:00Z"}
    })
}

pub(super) fn claim() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "app", "uid": "uid-claim", "resourceVersion": "70", "creationTimestamp": "2026-01-01T02:00:00Z",
                     "labels": {"app": "web"}, "annotations": {"volume.kubernetes.io/selected-node": "node-a"}},
        "spec": {"volumeName": "pv-1", "storageClassName": "fast"},
        "status": {"phase": "Bound"}
    })
}

pub(super) fn volume_snapshot() -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": "vs-1", "namespace": "app", "resourceVersion": "71", "creationTimestamp": "2026-01-01T09:59:30Z"},
        "status": {"readyToUse": false, "error": {"message": "no space", "time": "2026-01-01T09:59:40Z"}}
    })
}

pub(super) fn event() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": "du-17.1", "namespace": "velero", "resourceVersion": "80", "creationTimestamp": "2026-01-01T10:02:00Z"},
        "involvedObject": {"kind": "Pod", "namespace": "velero", "name": "du-17", "uid": "uid-mover"},
        "type": "Warning", "reason": "FailedMount", "message": "timed out", "count": 3, "eventTime": null, "series": null,
        "firstTimestamp": "2026-01-01T10:02:00Z", "lastTimestamp": "2026-01-01T10:04:00Z"
    })
}

pub(super) fn new_event() -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": "node-a.1", "namespace": "default", "resourceVersion": "81", "creationTimestamp": "2026-01-01T03:00:00Z"},
        "regarding": {"kind": "Node", "name": "node-a"},
        "type": "Normal", "reason": "NodeReady", "note": "is ready", "eventTime": "2026-01-01T03:00:00.000000Z",
        "series": {"count": 2, "lastObservedTime": "2026-01-01T03:30:00.123456Z"}
    })
}

/// One of everything.
pub(super) fn all() -> Vec<Value> {
    vec![
        data_upload_v1_17(),
        data_upload_v1_12(),
        data_download_v1_15_1(),
        pod_volume_backup_v1_17(),
        pod_volume_restore_v1_18(),
        agent_pod(),
        mover_pod(),
        daemon_set(),
        deployment(),
        config_map("na-config"),
        node(),
        backup(),
        restore(),
        claim(),
        volume_snapshot(),
        event(),
        new_event(),
    ]
}
