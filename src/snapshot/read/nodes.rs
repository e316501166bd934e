//! Nodes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::{Cordoned, ManagedFields, Node, ResourceKind, Taint};
use super::notes::{ManagedEntry, Notes, Who};
use super::wire::{ConditionWire, List, Meta, Obj, Text, Wire};

/// A Node.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    spec: Obj<Spec<'a>>,
    #[serde(borrow)]
    status: Obj<Status<'a>>,
}

impl Wire for NodeWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec<'a> {
    unschedulable: Option<bool>,
    #[serde(borrow)]
    taints: List<Obj<TaintWire<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TaintWire<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    value: Text<'a>,
    #[serde(borrow)]
    effect: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status<'a> {
    #[serde(borrow)]
    conditions: List<Obj<ConditionWire<'a>>>,
}

/// The part of a Node's `fieldsV1` that is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedFields {
    #[serde(rename = "f:metadata")]
    metadata: Obj<OwnedMeta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedMeta {
    #[serde(rename = "f:labels")]
    labels: Obj<BTreeMap<String, IgnoredAny>>,
}

impl Notes {
    /// Makes a Node of what was decoded.
    pub(super) fn node(&mut self, wire: &NodeWire<'_>) -> Node {
        let meta = &wire.metadata;
        let who = Who {
            resource: ResourceKind::Node,
            namespace: "",
            name: &meta.name,
        };
        let managed = self.managed(who, meta);
        let label_writes = managed.as_deref().map(label_writes).unwrap_or_default();
        Node {
            name: meta.name.owned(),
            labels: meta.labels.owned(),
            created: self.created(who, meta),
            ready: self
                .conditions(who, &wire.status.conditions)
                .into_iter()
                .find(|condition| condition.kind == "Ready"),
            cordoned: match wire.spec.unschedulable {
                Some(true) => Cordoned::Yes,
                Some(false) | None => Cordoned::No,
            },
            taints: wire
                .spec
                .taints
                .iter()
                .map(|taint| Taint {
                    key: taint.key.owned(),
                    value: taint.value.owned(),
                    effect: taint.effect.owned(),
                })
                .collect(),
            label_writes,
            managed_fields: managed.map_or(ManagedFields::LeftOut, |_| ManagedFields::Present),
        }
    }
}

fn label_writes(entries: &[ManagedEntry<'_>]) -> BTreeMap<String, Timestamp> {
    let mut writes: BTreeMap<String, Timestamp> = BTreeMap::new();
    for entry in entries {
        let (Some(time), true) = (entry.time, entry.fields.contains("\"f:labels\"")) else {
            continue;
        };
        let owned: OwnedFields = serde_json::from_str(entry.fields).unwrap_or_default();
        for key in owned.metadata.labels.keys() {
            // The set itself is noted as ".".
            let Some(key) = key.strip_prefix("f:") else {
                continue;
            };
            let newest = writes.entry(key.to_owned()).or_insert(time);
            *newest = time.max(*newest);
        }
    }
    writes
}
