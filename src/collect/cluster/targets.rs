//! What tasks name outside Velero's namespace: pods and claims that restores write into, and snapshots of
//! the applications.
//!
//! A PodVolumeRestore waits in its target pod, a DataDownload binds its target claim. Both live in the
//! namespaces being restored, and Velero labels whatever it restores with the Restore's name (v1.17.2
//! pkg/restore/restore.go), so two lists with a selector find nearly all. A label can be taken away again:
//! only a list of the namespace proves that a target is not there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::capture::ResourceKind;
use crate::velero::{Phase, TaskKind};

/// Namespaces that are listed for what was not found otherwise, for each kind. Whoever restores more of them
/// at once, and takes the labels away, is told what was not looked at.
const MOST_NAMESPACES: usize = 10;

/// The label with the Restore's name (v1.17.2 `pkg/apis/velero/v1/labels_annotations.go`).
const RESTORE_NAME: &str = "velero.io/restore-name";

/// Longest selector. Percent-encoded it stays below the 8 KiB at which proxies cut a request line.
const LONGEST_SELECTOR: usize = 2000;

#[derive(Deserialize)]
struct Task {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: Option<String>,
}

/// A task, as far as it names something elsewhere.
#[derive(Deserialize)]
struct Naming {
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    pod: Option<Named>,
    #[serde(default)]
    target_volume: Option<TargetVolume>,
    #[serde(default)]
    source_namespace: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct TargetVolume {
    namespace: String,
    pvc: String,
}

#[derive(Deserialize)]
struct Found {
    metadata: Named,
}

/// A pod or a claim that a restore writes into.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    resource: ResourceKind,
    namespace: String,
    name: String,
}

/// Returns the Restores whose tasks are not over, as the tasks' labels name them. An object that cannot
/// be understood names none; whoever reads the capture reports it.
pub(super) fn unfinished_restores<'a>(tasks: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    tasks
        .filter_map(|json| serde_json::from_str::<Task>(json).ok())
        .filter(|task| !phase(&task.status).is_final())
        .filter_map(|task| task.metadata.labels?.remove(RESTORE_NAME))
        .filter(|name| !name.is_empty())
        .collect()
}

/// Returns label selectors that together match everything restored by the named Restores.
pub(super) fn selectors(restores: &BTreeSet<String>) -> Vec<String> {
    let mut chunks: Vec<String> = Vec::new();
    for name in restores {
        match chunks.last_mut() {
            Some(chunk) if chunk.len() + name.len() < LONGEST_SELECTOR => {
                chunk.push(',');
                chunk.push_str(name);
            }
            Some(_) | None => chunks.push(name.clone()),
        }
    }
    chunks
        .into_iter()
        .map(|names| format!("{RESTORE_NAME} in ({names})"))
        .collect()
}

/// Returns what the unfinished restore tasks of a kind write into. An object that cannot be understood names
/// nothing.
pub(super) fn of_unfinished<'a>(
    kind: TaskKind,
    tasks: impl Iterator<Item = &'a str>,
) -> Vec<Target> {
    tasks
        .filter_map(|json| serde_json::from_str::<Naming>(json).ok())
        .filter(|task| !phase(&task.status).is_final())
        .filter_map(|task| match kind {
            TaskKind::PodVolumeRestore => task.spec.pod.map(|pod| Target {
                resource: ResourceKind::Pod,
                namespace: pod.namespace,
                name: pod.name,
            }),
            TaskKind::DataDownload => task.spec.target_volume.map(|volume| Target {
                resource: ResourceKind::PersistentVolumeClaim,
                namespace: volume.namespace,
                name: volume.pvc,
            }),
            TaskKind::DataUpload | TaskKind::PodVolumeBackup => None,
        })
        .collect()
}

/// Returns an object of a list as a target, if it says who it is.
pub(super) fn as_target(resource: ResourceKind, json: &str) -> Option<Target> {
    let found: Found = serde_json::from_str(json).ok()?;
    Some(Target {
        resource,
        namespace: found.metadata.namespace,
        name: found.metadata.name,
    })
}

/// Returns the namespaces in which targets of a resource are still to be looked for.
pub(super) fn namespaces_to_look_in(
    resource: ResourceKind,
    wanted: &[Target],
    found: &BTreeSet<Target>,
    velero: &str,
) -> Vec<String> {
    let namespaces = wanted
        .iter()
        .filter(|target| target.resource == resource && !found.contains(target))
        .map(|target| target.namespace.as_str());
    few(namespaces, velero)
}

/// Returns the namespaces whose snapshots DataUploads wait for: the acceptor waits for the application's
/// VolumeSnapshot before it makes Velero's own copy of it (v1.17.2 `pkg/exposer/csi_snapshot.go`).
pub(super) fn snapshot_namespaces<'a>(uploads: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    uploads
        .filter_map(|json| serde_json::from_str::<Naming>(json).ok())
        .filter(|task| phase(&task.status) == Phase::Accepted)
        .map(|task| task.spec.source_namespace.unwrap_or_default())
        .collect()
}

/// Returns the first namespaces beside Velero's own, sorted.
pub(super) fn few<'a>(namespaces: impl Iterator<Item = &'a str>, velero: &str) -> Vec<String> {
    let all: BTreeSet<&str> = namespaces
        .filter(|namespace| !namespace.is_empty() && *namespace != velero)
        .collect();
    all.into_iter()
        .take(MOST_NAMESPACES)
        .map(str::to_owned)
        .collect()
}

fn phase(status: &Status) -> Phase {
    Phase::parse(status.phase.as_deref().unwrap_or_default())
}
