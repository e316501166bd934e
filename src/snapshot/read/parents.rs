//! Backups and Restores.

use serde::Deserialize;

use super::super::{Parent, ParentKind, ParentRef, ResourceKind};
use super::notes::{Notes, Who};
use super::wire::{Loose, Meta, Obj, Text, Wire};

/// A Backup or a Restore.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ParentWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    spec: Obj<Spec<'a>>,
    #[serde(borrow)]
    status: Obj<Status<'a>>,
}

impl Wire for ParentWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    item_operation_timeout: Loose<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    phase: Text<'a>,
    #[serde(borrow)]
    start_timestamp: Loose<'a>,
    #[serde(borrow)]
    completion_timestamp: Loose<'a>,
}

impl Notes {
    /// Makes a Backup or Restore of what was decoded.
    pub(super) fn parent(&mut self, kind: ParentKind, wire: &ParentWire<'_>) -> Parent {
        let (meta, status) = (&wire.metadata, &wire.status);
        let who = Who {
            resource: match kind {
                ParentKind::Backup => ResourceKind::Backup,
                ParentKind::Restore => ResourceKind::Restore,
            },
            namespace: &meta.namespace,
            name: &meta.name,
        };
        self.managed_times(who, meta);
        Parent {
            reference: ParentRef {
                kind,
                name: meta.name.owned(),
            },
            phase: status.phase.owned(),
            created: self.created(who, meta),
            started: self.time(who, "status.startTimestamp", &status.start_timestamp),
            completed: self.time(
                who,
                "status.completionTimestamp",
                &status.completion_timestamp,
            ),
            item_operation_timeout_seconds: self.duration(
                who,
                "spec.itemOperationTimeout",
                &wire.spec.item_operation_timeout,
            ),
        }
    }
}
