//! Objects as clusters of several releases hold them, and what becomes of them when they are broken.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::*;
use super::{ReadOptions, read};
use crate::capture::Capture;
use crate::velero::{Phase, TaskKind};

mod broken;
mod bundles;
mod completeness;
mod objects;
mod releases;

fn options() -> ReadOptions {
    ReadOptions {
        namespace: "velero".to_owned(),
        now: None,
    }
}

fn snapshot_of(objects: impl IntoIterator<Item = Value>) -> Snapshot {
    read(&Capture::from_objects(objects), &options())
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn task<'s>(snapshot: &'s Snapshot, kind: TaskKind, name: &str) -> &'s Task {
    &snapshot.tasks[&TaskRef {
        kind,
        namespace: "velero".to_owned(),
        name: name.to_owned(),
    }]
}

/// The gaps that name a resource, as one text.
fn gaps(snapshot: &Snapshot, resource: &str) -> String {
    snapshot
        .gaps
        .iter()
        .filter(|gap| gap.resource == resource)
        .map(|gap| format!("{} {} | {}\n", gap.reason.as_str(), gap.message, gap.effect))
        .collect()
}
