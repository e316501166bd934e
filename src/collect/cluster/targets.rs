//! The pods and claims that restores write into, wherever they are.
//!
//! A PodVolumeRestore waits in its target pod, a DataDownload binds its target claim. Both live in the
//! namespaces being restored, and Velero labels whatever it restores with the Restore's name (v1.17.2
//! pkg/restore/restore.go), so two lists with a selector find them all.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::velero::Phase;

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
    labels: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: Option<String>,
}

/// Returns the Restores whose tasks are not over, as the tasks' labels name them. An object that cannot
/// be understood names none; whoever reads the capture reports it.
pub(super) fn unfinished_restores<'a>(tasks: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    tasks
        .filter_map(|json| serde_json::from_str::<Task>(json).ok())
        .filter(|task| !Phase::parse(task.status.phase.as_deref().unwrap_or_default()).is_final())
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
