//! Which namespace of the input is Velero's.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ResourceKind;
use super::agents::Candidate;
use super::notes::{ManagedTimes, Notes};
use super::pods::PodWire;
use super::tasks::TaskHead;
use super::wire::Wire as _;
use super::workloads::WorkloadWire;
use crate::capture::{Capture, Item};

/// The namespace that Velero's installers use unless told otherwise.
const USUAL: &str = "velero";

/// The outcome of a search for Velero's namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceSearch {
    /// It is this one.
    Found(String),
    /// Several look like Velero's, none of them is called `velero`; sorted.
    Several(Vec<String>),
    /// None looks like Velero's.
    None {
        /// What was looked for, for a message.
        looked_for: &'static str,
    },
}

/// Looks for Velero's namespace: the one that the capture was taken for, else `velero` if it holds a
/// node-agent DaemonSet or pod, a velero Deployment or any task, else the one namespace that does.
#[must_use]
pub fn find_namespace(capture: &Capture) -> NamespaceSearch {
    if let Some(namespace) = &capture.manifest.namespace {
        return NamespaceSearch::Found(namespace.clone());
    }
    let mut found = BTreeSet::new();
    // What cannot be decoded becomes a gap when the capture is read.
    let mut notes = Notes::new(ManagedTimes::Skip);
    for listing in &capture.listings {
        for item in listing.outcome.items() {
            let Some(namespace) = signs_of(&mut notes, capture, listing.resource, item) else {
                continue;
            };
            if namespace == USUAL {
                return NamespaceSearch::Found(namespace);
            }
            found.insert(namespace);
        }
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => NamespaceSearch::None {
            looked_for: "a node-agent DaemonSet or pod, a velero Deployment, or a task",
        },
        (Some(only), None) => NamespaceSearch::Found(only),
        (Some(first), Some(second)) => {
            NamespaceSearch::Several([first, second].into_iter().chain(found).collect())
        }
    }
}

/// Returns the namespace of an object that only Velero's namespace has.
fn signs_of(
    notes: &mut Notes,
    capture: &Capture,
    resource: ResourceKind,
    item: &Item,
) -> Option<String> {
    match resource {
        ResourceKind::Task(_) => {
            let task: TaskHead<'_> = notes.decode(capture, item, resource)?;
            Some(task.meta().namespace.owned())
        }
        ResourceKind::Pod => {
            let wire: PodWire<'_> = notes.decode(capture, item, resource)?;
            let candidate = Candidate {
                pod: notes.pod(&wire),
                containers: wire.containers().iter().map(|spec| spec.kept()).collect(),
            };
            candidate
                .is_agent(&BTreeMap::new())
                .then_some(candidate.pod.key.namespace)
        }
        ResourceKind::DaemonSet => {
            let wire: WorkloadWire<'_> = notes.decode(capture, item, resource)?;
            wire.is_node_agent().then(|| wire.meta().namespace.owned())
        }
        ResourceKind::Deployment => {
            let wire: WorkloadWire<'_> = notes.decode(capture, item, resource)?;
            wire.is_server().then(|| wire.meta().namespace.owned())
        }
        ResourceKind::Backup
        | ResourceKind::Restore
        | ResourceKind::Node
        | ResourceKind::ConfigMap
        | ResourceKind::PersistentVolumeClaim
        | ResourceKind::VolumeSnapshot
        | ResourceKind::Event => None,
    }
}
