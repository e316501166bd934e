//! PersistentVolumeClaims and VolumeSnapshots.

use serde::Deserialize;

use super::super::{Claim, ObjectKey, ResourceKind, VolumeSnapshot};
use super::notes::{Notes, Who};
use super::wire::{Loose, Meta, Obj, Text, Wire};

/// A PersistentVolumeClaim.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaimWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    spec: Obj<ClaimSpec<'a>>,
    #[serde(borrow)]
    status: Obj<ClaimStatus<'a>>,
}

impl Wire for ClaimWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClaimSpec<'a> {
    #[serde(borrow)]
    volume_name: Text<'a>,
    #[serde(borrow)]
    storage_class_name: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaimStatus<'a> {
    #[serde(borrow)]
    phase: Text<'a>,
}

/// A VolumeSnapshot.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct VolumeSnapshotWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    status: Obj<SnapshotStatus<'a>>,
}

impl Wire for VolumeSnapshotWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SnapshotStatus<'a> {
    ready_to_use: Option<bool>,
    #[serde(borrow)]
    error: Option<Obj<SnapshotError<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SnapshotError<'a> {
    #[serde(borrow)]
    message: Loose<'a>,
}

impl Notes {
    /// Makes a PersistentVolumeClaim of what was decoded.
    pub(super) fn claim(&mut self, wire: &ClaimWire<'_>) -> Claim {
        let meta = &wire.metadata;
        let who = Who {
            resource: ResourceKind::PersistentVolumeClaim,
            namespace: &meta.namespace,
            name: &meta.name,
        };
        self.managed_times(who, meta);
        Claim {
            key: ObjectKey::new(&meta.namespace, &meta.name),
            uid: meta.uid.owned(),
            created: self.created(who, meta),
            deletion: self.other_time(who, "metadata.deletionTimestamp", &meta.deletion_timestamp),
            phase: wire.status.phase.owned(),
            volume_name: wire.spec.volume_name.owned(),
            // An empty class is a setting of its own: no dynamic provisioning.
            storage_class: wire.spec.storage_class_name.as_ref().map(Text::owned),
            selected_node: meta.annotations.selected_node.set(),
            labels: meta.labels.owned(),
        }
    }

    /// Makes a VolumeSnapshot of what was decoded.
    pub(super) fn volume_snapshot(&mut self, wire: &VolumeSnapshotWire<'_>) -> VolumeSnapshot {
        let meta = &wire.metadata;
        let who = Who {
            resource: ResourceKind::VolumeSnapshot,
            namespace: &meta.namespace,
            name: &meta.name,
        };
        self.managed_times(who, meta);
        VolumeSnapshot {
            key: ObjectKey::new(&meta.namespace, &meta.name),
            created: self.created(who, meta),
            ready_to_use: wire.status.ready_to_use,
            error: wire
                .status
                .error
                .as_ref()
                .map(|error| self.text(who, "status.error.message", &error.message)),
        }
    }
}
