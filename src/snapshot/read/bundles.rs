//! What the bundles of other programs leave out, in words that say which command would add it.

use std::collections::BTreeSet;

use super::super::{Gap, GapReason, NodeAgent, Previous, ResourceKind, Snapshot};
use crate::capture::BundleForm;
use crate::capture::bundle::{Place, PreviousLogs};
use crate::velero::TaskKind;

/// How many names a gap tells.
const NAMED: usize = 3;

/// Puts into the gap of a resource that is not in the input why that is so, and how to add it.
pub(super) fn explain(
    gap: &mut Gap,
    resource: ResourceKind,
    bundles: &[BundleForm],
    namespace: &str,
) {
    if bundles.is_empty() {
        return;
    }
    let why: Vec<String> = bundles.iter().map(|form| why(*form, resource)).collect();
    gap.message = format!("{}: {}", gap.message, why.join("; "));
    gap.effect = format!("{}; {}", gap.effect, how_to_add(resource, &[namespace]));
}

fn why(form: BundleForm, resource: ResourceKind) -> String {
    let name = form.name();
    let kind = resource.kind();
    match form.place_of(resource) {
        Place::Never => format!("{name} never contains {kind}s"),
        Place::IfAny => format!(
            "{name} has no file for a kind of which there was no object or which could not be listed"
        ),
        Place::IfAsked => format!("{name} holds {kind}s only if it was told to collect them"),
        Place::OfSomeNamespaces => match form {
            BundleForm::VeleroDebug => {
                format!("{name} contains {kind}s of Velero's namespace only")
            }
            BundleForm::MustGather => {
                format!("{name} contains {kind}s of the operator's namespaces only")
            }
            BundleForm::OcInspect | BundleForm::ClusterInfoDump => {
                format!("{name} contains {kind}s of the namespaces that it was told to collect")
            }
        },
    }
}

/// Returns the command whose output, given as a second input, closes a gap.
fn how_to_add(resource: ResourceKind, namespaces: &[&str]) -> String {
    let what = match resource {
        ResourceKind::Task(_) | ResourceKind::Backup | ResourceKind::Restore => {
            format!("{}.velero.io", resource.plural())
        }
        ResourceKind::Pod
        | ResourceKind::Node
        | ResourceKind::DaemonSet
        | ResourceKind::Deployment
        | ResourceKind::ConfigMap
        | ResourceKind::PersistentVolumeClaim
        | ResourceKind::VolumeSnapshot
        | ResourceKind::Event => resource.plural().to_owned(),
    };
    let whose = match (resource, namespaces) {
        (ResourceKind::Node, _) => String::new(),
        // Snapshots are made in the namespaces of the applications.
        (ResourceKind::VolumeSnapshot, _) => " -A".to_owned(),
        (_, [namespace]) if is_name(namespace) => format!(" -n {namespace}"),
        (_, _) => " -A".to_owned(),
    };
    let file = resource.plural();
    format!(
        "to add them: kubectl get {what}{whose} -o yaml --show-managed-fields > {file}.yaml, and --from {file}.yaml beside this input"
    )
}

/// Whether a text is a name that a command may hold as it is.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
        && !text.starts_with('-')
}

/// Finds what the bundles of an input leave out beside whole resources.
pub(super) fn gaps(bundles: &[BundleForm], snapshot: &Snapshot) -> Vec<Gap> {
    if bundles.is_empty() {
        return Vec::new();
    }
    [
        target_pods(bundles, snapshot),
        target_claims(bundles, snapshot),
        logs(bundles, snapshot),
        previous_logs(bundles, snapshot),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn target_pods(bundles: &[BundleForm], snapshot: &Snapshot) -> Option<Gap> {
    let namespaces: BTreeSet<&str> = snapshot
        .unfinished()
        .filter(|task| task.reference.kind == TaskKind::PodVolumeRestore)
        .filter_map(|task| task.pod.as_ref())
        .filter(|pod| {
            snapshot
                .restored_pod(&pod.namespace, &pod.name)
                .is_unknown()
        })
        .map(|pod| pod.namespace.as_str())
        .collect();
    targets(
        bundles,
        ResourceKind::Pod,
        &namespaces,
        "whether the pods that PodVolumeRestores restore into exist is not known",
    )
}

fn target_claims(bundles: &[BundleForm], snapshot: &Snapshot) -> Option<Gap> {
    let namespaces: BTreeSet<&str> = snapshot
        .unfinished()
        .filter(|task| task.reference.kind == TaskKind::DataDownload)
        .filter_map(|task| task.claim.as_ref())
        .filter(|claim| {
            snapshot
                .restored_claim(&claim.namespace, &claim.name)
                .is_unknown()
        })
        .map(|claim| claim.namespace.as_str())
        .collect();
    targets(
        bundles,
        ResourceKind::PersistentVolumeClaim,
        &namespaces,
        "whether the claims that DataDownloads write to exist is not known",
    )
}

fn targets(
    bundles: &[BundleForm],
    resource: ResourceKind,
    namespaces: &BTreeSet<&str>,
    effect: &str,
) -> Option<Gap> {
    if namespaces.is_empty() {
        return None;
    }
    let namespaces: Vec<&str> = namespaces.iter().copied().collect();
    let why: Vec<String> = bundles.iter().map(|form| why(*form, resource)).collect();
    let message = format!(
        "the input holds no {} of {} {}: {}",
        resource.kind(),
        if namespaces.len() == 1 {
            "namespace"
        } else {
            "namespaces"
        },
        first(&namespaces),
        why.join("; ")
    );
    let effect = format!("{effect}; {}", how_to_add(resource, &namespaces));
    Some(Gap::new(
        resource.plural(),
        GapReason::NotInInput,
        &message,
        &effect,
    ))
}

/// Agents that have something to tell and of which no log is there: each program passes over a log that
/// it could not fetch.
fn logs(bundles: &[BundleForm], snapshot: &Snapshot) -> Option<Gap> {
    let silent: Vec<&NodeAgent> = snapshot
        .agents
        .iter()
        .filter(|agent| !has_log(snapshot, agent, Previous::No))
        .filter(|agent| {
            let node = agent.node();
            node.is_some()
                && snapshot.unfinished().any(|task| {
                    task.status_node.as_deref() == node || task.spec_node.as_deref() == node
                })
        })
        .collect();
    let example = silent.first()?;
    let names: Vec<&str> = silent
        .iter()
        .map(|agent| agent.pod.key.name.as_str())
        .collect();
    let forms: Vec<&str> = bundles.iter().map(|form| form.name()).collect();
    let message = format!(
        "the input holds no log of {}: {} leaves out a log that could not be fetched",
        first(&names),
        forms.join(" or ")
    );
    let effect = format!(
        "what took the slots there and what the workers do is not known from it; {}",
        how_to_add_log(example, "", "")
    );
    Some(Gap::new("log", GapReason::NotInInput, &message, &effect))
}

/// Agents that have restarted, in bundles that have no place for the log of the container before.
fn previous_logs(bundles: &[BundleForm], snapshot: &Snapshot) -> Option<Gap> {
    let forms: Vec<&str> = bundles
        .iter()
        .filter(|form| form.previous_logs() == PreviousLogs::Never)
        .map(|form| form.name())
        .collect();
    if forms.is_empty() {
        return None;
    }
    let restarted: Vec<&NodeAgent> = snapshot
        .agents
        .iter()
        .filter(|agent| {
            agent
                .container_status()
                .is_some_and(|container| container.restarts > 0)
        })
        .filter(|agent| !has_log(snapshot, agent, Previous::Yes))
        .collect();
    let example = restarted.first()?;
    let names: Vec<&str> = restarted
        .iter()
        .map(|agent| agent.pod.key.name.as_str())
        .collect();
    let message = format!(
        "{} restarted, and {} never contains the log of the container before",
        first(&names),
        forms.join(" or ")
    );
    let effect = format!(
        "why the process before ended, and what it held, is not known from its log; {}",
        how_to_add_log(example, " --previous", ".previous")
    );
    Some(Gap::new("log", GapReason::NotInInput, &message, &effect))
}

fn has_log(snapshot: &Snapshot, agent: &NodeAgent, previous: Previous) -> bool {
    snapshot.logs.iter().any(|log| {
        log.previous == previous
            && log.namespace == agent.pod.key.namespace
            && log.pod == agent.pod.key.name
            && log.container == agent.container
            && !log.body.trim().is_empty()
    })
}

fn how_to_add_log(agent: &NodeAgent, flag: &str, ending: &str) -> String {
    let key = &agent.pod.key;
    if !(is_name(&key.namespace) && is_name(&key.name) && is_name(&agent.container)) {
        return "kubectl logs would add it".to_owned();
    }
    let (namespace, name, container) = (&key.namespace, &key.name, &agent.container);
    format!(
        "to add it: kubectl logs -n {namespace} {name} -c {container}{flag} > {name}{ending}.log, and --from {name}{ending}.log beside this input"
    )
}

fn first(names: &[&str]) -> String {
    let told: Vec<&str> = names.iter().copied().take(NAMED).collect();
    match names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", told.join(", ")),
        None => told.join(", "),
    }
}
