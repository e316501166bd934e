//! The four task kinds.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::{
    Cancel, Exposing, GapReason, ManagedFields, ObjectKey, ParentKind, ParentRef, Progress,
    ResourceKind, TargetPod, Task, Writes,
};
use super::marks::marks;
use super::notes::{ManagedEntry, Notes, Who};
use super::wire::{Loose, Meta, Number, Obj, Text, Wire};
use crate::velero::{
    BACKUP_NAME_LABEL, EXPOSE_ON_GOING_LABEL, NODE_AGENT_MANAGER, Phase, RESTORE_NAME_LABEL,
    TaskKind, TaskRef,
};

/// The label by which v1.12 to v1.15.0 name the acceptor (v1.12.4 `pkg/controller/data_upload_controller.go`).
const ACCEPTED_BY_LABEL: &str = "velero.io/accepted-by";

/// The fields of all four kinds; each kind has its part of them (v1.18.2 pkg/apis/velero/v1 and v2alpha1).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    spec: Obj<Spec<'a>>,
    #[serde(borrow)]
    status: Obj<Status<'a>>,
}

impl Wire for TaskWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

/// A task of which only the name is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskHead<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
}

impl Wire for TaskHead<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec<'a> {
    cancel: Option<bool>,
    #[serde(borrow)]
    datamover: Text<'a>,
    #[serde(borrow)]
    uploader_type: Text<'a>,
    #[serde(borrow)]
    node: Text<'a>,
    #[serde(borrow)]
    operation_timeout: Loose<'a>,
    #[serde(borrow)]
    source_namespace: Text<'a>,
    #[serde(borrow, rename = "sourcePVC")]
    source_pvc: Text<'a>,
    #[serde(borrow)]
    target_volume: Obj<TargetVolume<'a>>,
    #[serde(borrow)]
    csi_snapshot: Obj<CsiSnapshot<'a>>,
    #[serde(borrow)]
    pod: Obj<PodReference<'a>>,
    #[serde(borrow)]
    volume: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TargetVolume<'a> {
    #[serde(borrow)]
    namespace: Text<'a>,
    #[serde(borrow)]
    pvc: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CsiSnapshot<'a> {
    #[serde(borrow)]
    volume_snapshot: Text<'a>,
    #[serde(borrow)]
    storage_class: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PodReference<'a> {
    #[serde(borrow)]
    namespace: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    uid: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    phase: Text<'a>,
    #[serde(borrow)]
    node: Text<'a>,
    #[serde(borrow)]
    accepted_by_node: Text<'a>,
    #[serde(borrow)]
    accepted_timestamp: Loose<'a>,
    #[serde(borrow)]
    start_timestamp: Loose<'a>,
    #[serde(borrow)]
    completion_timestamp: Loose<'a>,
    progress: Option<Obj<ProgressWire>>,
    #[serde(borrow)]
    message: Loose<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ProgressWire {
    bytes_done: Number,
    total_bytes: Number,
}

impl Notes {
    /// Makes a task of what was decoded.
    pub(super) fn task(&mut self, kind: TaskKind, wire: &TaskWire<'_>) -> Task {
        let (meta, spec, status) = (&wire.metadata, &wire.spec, &wire.status);
        let who = Who {
            resource: ResourceKind::Task(kind),
            namespace: &meta.namespace,
            name: &meta.name,
        };
        let phase = Phase::parse(&status.phase);
        if let Phase::Other(text) = &phase {
            self.common(
                who,
                GapReason::Unsupported,
                format!("status.phase {text:?} is not known"),
                "",
                "it is not known what comes of the task, so the verdict is unknown",
            );
        }
        Task {
            reference: TaskRef {
                kind,
                namespace: meta.namespace.owned(),
                name: meta.name.owned(),
            },
            uid: meta.uid.owned(),
            resource_version: self.resource_version(who, meta),
            marks: marks(meta),
            created: self.created(who, meta),
            deletion: self.other_time(who, "metadata.deletionTimestamp", &meta.deletion_timestamp),
            phase,
            cancel: match spec.cancel {
                Some(true) => Cancel::Requested,
                Some(false) | None => Cancel::NotRequested,
            },
            data_mover: spec.datamover.owned(),
            uploader_type: spec.uploader_type.owned(),
            status_node: status.node.set(),
            spec_node: spec.node.set(),
            accepted_by: accepted_by(meta, status),
            accepted: self.time(who, "status.acceptedTimestamp", &status.accepted_timestamp),
            accepted_annotation: self.time(
                who,
                "metadata.annotations.velero.io/accepted-at",
                &meta.annotations.accepted_at,
            ),
            started: self.time(who, "status.startTimestamp", &status.start_timestamp),
            completed: self.time(
                who,
                "status.completionTimestamp",
                &status.completion_timestamp,
            ),
            progress: self.progress(who, status),
            message: self.text(who, "status.message", &status.message),
            exposing: match meta.labels.get(EXPOSE_ON_GOING_LABEL) {
                Some("true") => Exposing::Yes,
                Some(_) | None => Exposing::No,
            },
            parent: parent(kind, meta),
            operation_timeout_seconds: self.duration(
                who,
                "spec.operationTimeout",
                &spec.operation_timeout,
            ),
            claim: claim(kind, spec),
            pod: (!spec.pod.name.is_empty()).then(|| TargetPod {
                namespace: spec.pod.namespace.owned(),
                name: spec.pod.name.owned(),
                uid: spec.pod.uid.owned(),
            }),
            volume: spec.volume.owned(),
            snapshot_name: spec.csi_snapshot.volume_snapshot.set(),
            storage_class: spec.csi_snapshot.storage_class.set(),
            writes: self.writes(who, meta),
        }
    }

    fn progress(&mut self, who: Who<'_>, status: &Status<'_>) -> Option<Progress> {
        let wire = status.progress.as_ref()?;
        // Go leaves zeros out: `progress: {}` is 0 of 0.
        let mut bytes = |field, number| match number {
            Number::Absent => Some(0),
            Number::Value(value) => Some(value),
            Number::Odd => {
                self.field_lost(who, field, "is not an integer");
                None
            }
        };
        let bytes_done = bytes("status.progress.bytesDone", wire.bytes_done);
        let total_bytes = bytes("status.progress.totalBytes", wire.total_bytes);
        Some(Progress {
            bytes_done: bytes_done?,
            total_bytes: total_bytes?,
        })
    }

    fn writes(&mut self, who: Who<'_>, meta: &Meta<'_>) -> Writes {
        let Some(entries) = self.managed(who, meta) else {
            return Writes::default();
        };
        let node_agent = entries
            .iter()
            .filter(|entry| &*entry.manager == NODE_AGENT_MANAGER)
            .filter_map(|entry| entry.time)
            .max();
        let mut writes = Writes {
            managed_fields: ManagedFields::Present,
            node_agent,
            cancel: None,
            progress: None,
        };
        for entry in &entries {
            let owned = owned_fields(entry);
            if owned.spec.cancel.is_some() {
                let write = entry.time.map(|time| (time, entry.manager.owned()));
                writes.cancel = writes.cancel.max(write);
            }
            if owned.status.progress.is_some() {
                writes.progress = writes.progress.max(entry.time);
            }
        }
        writes
    }
}

/// The part of `fieldsV1` that is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedFields {
    #[serde(rename = "f:spec")]
    spec: Obj<OwnedSpec>,
    #[serde(rename = "f:status")]
    status: Obj<OwnedStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedSpec {
    #[serde(rename = "f:cancel")]
    cancel: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedStatus {
    #[serde(rename = "f:progress")]
    progress: Option<IgnoredAny>,
}

fn owned_fields(entry: &ManagedEntry<'_>) -> OwnedFields {
    // Most entries own neither: a search is several times cheaper than a parse.
    if !entry.fields.contains("\"f:cancel\"") && !entry.fields.contains("\"f:progress\"") {
        return OwnedFields::default();
    }
    // A set of fields of another shape owns nothing that is known.
    serde_json::from_str(entry.fields).unwrap_or_default()
}

fn accepted_by(meta: &Meta<'_>, status: &Status<'_>) -> Option<String> {
    status
        .accepted_by_node
        .set()
        .or_else(|| meta.annotations.accepted_by.set())
        .or_else(|| meta.labels.get(ACCEPTED_BY_LABEL).map(str::to_owned))
}

fn parent(kind: TaskKind, meta: &Meta<'_>) -> Option<ParentRef> {
    let owner = meta.owner_references.iter().find_map(|owner| {
        if !owner.api_version.starts_with("velero.io/") {
            return None;
        }
        let kind = match &*owner.kind {
            "Backup" => ParentKind::Backup,
            "Restore" => ParentKind::Restore,
            // Owner kinds are text of the cluster, not an enum of ours.
            _ => return None,
        };
        Some(ParentRef {
            kind,
            name: owner.name.owned(),
        })
    });
    owner.or_else(|| {
        let labelled = |kind, label| {
            meta.labels.get(label).map(|name| ParentRef {
                kind,
                name: name.to_owned(),
            })
        };
        let backup = labelled(ParentKind::Backup, BACKUP_NAME_LABEL);
        let restore = labelled(ParentKind::Restore, RESTORE_NAME_LABEL);
        // An object that was itself restored carries the Restore's label beside its own.
        if kind.is_restore() {
            restore.or(backup)
        } else {
            backup.or(restore)
        }
    })
}

fn claim(kind: TaskKind, spec: &Spec<'_>) -> Option<ObjectKey> {
    let (namespace, name) = match kind {
        TaskKind::DataUpload => (&spec.source_namespace, &spec.source_pvc),
        TaskKind::DataDownload => (&spec.target_volume.namespace, &spec.target_volume.pvc),
        TaskKind::PodVolumeBackup | TaskKind::PodVolumeRestore => return None,
    };
    (!name.is_empty()).then(|| ObjectKey::new(namespace, name))
}
