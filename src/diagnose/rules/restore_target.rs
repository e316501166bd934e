//! A restore that waits for the application: the target pod of a PodVolumeRestore or the target PVC of a
//! DataDownload does not exist (`restore-target-missing`) or is not ready (`restore-target-not-ready`).
//! The reason is in the application's namespace, not in Velero's queue (v1.17.2
//! `pkg/controller/pod_volume_restore_controller.go`, `data_download_controller.go`).

use std::collections::BTreeMap;

use super::overtaken::Overtaken;
use super::{broken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Situation, TaskReplay, restore_wait, target_pod};
use crate::snapshot::{Claim, ContainerState, Coverage, ObjectKey, Observed, Pod, ResourceKind};
use crate::velero::{ObjectRef, Phase, TaskKind};

/// A target that was just made is given this long before its absence or state means anything.
const GRACE_SECONDS: i64 = 2 * 60;

/// What a restore waits for.
enum Target<'s> {
    Pod(ObjectKey, Observed<&'s Pod>),
    Claim(ObjectKey, Observed<&'s Claim>),
}

impl Target<'_> {
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Pod(key, _) | Self::Claim(key, _) => key,
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Pod(..) => "Pod",
            Self::Claim(..) => "PersistentVolumeClaim",
        }
    }

    const fn is_absent(&self) -> bool {
        match self {
            Self::Pod(_, seen) => seen.is_absent(),
            Self::Claim(_, seen) => seen.is_absent(),
        }
    }

    const fn is_unknown(&self) -> bool {
        match self {
            Self::Pod(_, seen) => seen.is_unknown(),
            Self::Claim(_, seen) => seen.is_unknown(),
        }
    }

    fn reference(&self) -> ObjectRef {
        ObjectRef::namespaced(self.kind(), &self.key().namespace, &self.key().name)
    }
}

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let waiting: Vec<_> = case
        .tasks()
        .filter(|task| task.situation != Situation::Foreign)
        .filter(|task| case.older_than(task.task.created, GRACE_SECONDS))
        .filter_map(|task| Some((task, target(case, task)?)))
        .collect();
    let unread: Vec<_> = waiting
        .iter()
        .filter(|(_, target)| target.is_unknown())
        .map(|(task, _)| *task)
        .collect();
    if !unread.is_empty() {
        let names = broken::references(&unread);
        words::undecided(
            out,
            FindingId::RestoreTargetMissing,
            CouldBe::Critical,
            format!(
                "the restore targets of {} could not be read",
                words::tasks(&names)
            ),
        );
    }
    missing(case, out, &waiting);
    not_ready(case, out, &waiting);
}

/// Returns what a task waits for in the application's namespace, if it is in a phase that waits for it.
fn target<'s>(case: &Case<'_, 's>, task: &TaskReplay<'s>) -> Option<Target<'s>> {
    match (task.task.reference.kind, &task.task.phase) {
        (TaskKind::PodVolumeRestore, Phase::New) => {
            let pod = task.task.pod.as_ref()?;
            Some(Target::Pod(
                ObjectKey::new(&pod.namespace, &pod.name),
                target_pod(case.snapshot, task.task),
            ))
        }
        (TaskKind::DataDownload, Phase::New) => {
            let claim = task.task.claim.clone()?;
            let seen = case.snapshot.restored_claim(&claim.namespace, &claim.name);
            Some(Target::Claim(claim, seen))
        }
        // An Accepted DataDownload without a pod waits for its target PVC to be consumed. Where the PVC
        // could not be read, other rules speak.
        (TaskKind::DataDownload, Phase::Accepted) if task.pod.is_absent() => {
            let claim = task.task.claim.clone()?;
            let seen = case.snapshot.restored_claim(&claim.namespace, &claim.name);
            (!seen.is_unknown()).then_some(Target::Claim(claim, seen))
        }
        _ => None,
    }
}

fn missing(case: &Case<'_, '_>, out: &mut Proposals, waiting: &[(&TaskReplay<'_>, Target<'_>)]) {
    let mut overtaken = Overtaken::of(case, FindingId::RestoreTargetMissing, CouldBe::Critical);
    let gone: Vec<_> = waiting
        .iter()
        .filter(|(task, target)| target.is_absent() && overtaken.still_holds(task))
        .collect();
    overtaken.tell(out);
    if gone.is_empty() {
        return;
    }
    let tasks: Vec<_> = gone.iter().map(|(task, _)| *task).collect();
    let names = broken::references(&tasks);
    let targets: Vec<String> = gone
        .iter()
        .map(|(_, target)| format!("{}/{}", target.key().namespace, target.key().name))
        .collect();
    let mut finding = broken::finding(
        case,
        FindingId::RestoreTargetMissing,
        Severity::Critical,
        gone.iter()
            .map(|(task, target)| how_sure(case, task, target))
            .min()
            .unwrap_or(Confidence::Likely),
        None,
        &tasks,
        format!(
            "{} {} for {} that {} not exist: {}",
            words::tasks(&names),
            words::verb(names.len(), "waits", "wait"),
            words::verb(names.len(), "a target", "targets"),
            words::verb(names.len(), "does", "do"),
            words::names(targets.iter().map(String::as_str)),
        ),
    );
    finding.blocked_by = gone.iter().map(|(_, target)| target.reference()).collect();
    finding.since = words::earliest(tasks.iter().map(|task| task.task.created));
    for (task, target) in gone.iter().take(words::EVIDENCE_SHOWN) {
        finding.evidence.push(Evidence::field(
            target.reference().to_string(),
            "does not exist".to_owned(),
        ));
        if let Some(pod) = task.task.pod.as_ref().filter(|pod| !pod.uid.is_empty()) {
            finding
                .evidence
                .push(words::task_field(task.task, ".spec.pod.uid", &pod.uid));
        }
    }
    if let Some((_, target)) = gone.first() {
        finding.actions.push(look(target));
    }
    out.findings.push(finding);
}

/// How sure it is that a target does not exist. All objects of its namespace were read, or another pod has its
/// name: then it is. Single documents of that namespace are less.
fn how_sure(case: &Case<'_, '_>, task: &TaskReplay<'_>, target: &Target<'_>) -> Confidence {
    let key = target.key();
    let resource = match target {
        Target::Pod(..) => ResourceKind::Pod,
        Target::Claim(..) => ResourceKind::PersistentVolumeClaim,
    };
    let replaced = task.task.pod.is_some() && case.snapshot.pods.contains_key(key);
    match case.snapshot.coverage_of(resource, &key.namespace) {
        Coverage::Listed => Confidence::Certain,
        Coverage::Present | Coverage::Partial | Coverage::Unreadable(_) if replaced => {
            Confidence::Certain
        }
        Coverage::Present | Coverage::Partial | Coverage::Unreadable(_) => Confidence::Likely,
    }
}

fn not_ready(case: &Case<'_, '_>, out: &mut Proposals, waiting: &[(&TaskReplay<'_>, Target<'_>)]) {
    let mut groups: BTreeMap<&'static str, Vec<(&TaskReplay<'_>, &Target<'_>, String)>> =
        BTreeMap::new();
    let mut overtaken = Overtaken::of(case, FindingId::RestoreTargetNotReady, CouldBe::Warning);
    for (task, target) in waiting {
        if let Some((cause, why)) = reason(case, task, target)
            && overtaken.still_holds(task)
        {
            groups.entry(cause).or_default().push((task, target, why));
        }
    }
    overtaken.tell(out);
    for (cause, held) in groups {
        out.findings.push(held_back(case, cause, &held));
    }
}

fn held_back(
    case: &Case<'_, '_>,
    cause: &'static str,
    held: &[(&TaskReplay<'_>, &Target<'_>, String)],
) -> Finding {
    let tasks: Vec<_> = held.iter().map(|(task, _, _)| *task).collect();
    let names = broken::references(&tasks);
    let why = held.first().map_or("", |(_, _, why)| why.as_str());
    let mut finding = broken::finding(
        case,
        FindingId::RestoreTargetNotReady,
        Severity::Warning,
        Confidence::Certain,
        None,
        &tasks,
        format!(
            "{} {} for the application: {}",
            words::tasks(&names),
            words::verb(names.len(), "waits", "wait"),
            words::short(why),
        ),
    );
    finding.cause = Some(cause);
    finding.blocked_by = held
        .iter()
        .map(|(_, target, _)| target.reference())
        .collect();
    finding.since = words::earliest(tasks.iter().map(|task| task.task.created));
    for (_, target, why) in held.iter().take(words::EVIDENCE_SHOWN) {
        finding.evidence.push(Evidence::condition(
            target.reference().to_string(),
            why.clone(),
        ));
    }
    if let Some((_, target, _)) = held.first() {
        finding.actions.push(look(target));
    }
    finding
}

/// Returns why a target that exists is not ready, by what it says itself.
fn reason(
    case: &Case<'_, '_>,
    task: &TaskReplay<'_>,
    target: &Target<'_>,
) -> Option<(&'static str, String)> {
    match target {
        Target::Pod(_, Observed::Seen(pod)) => pod_reason(pod),
        Target::Claim(_, Observed::Seen(claim)) => claim_reason(case, task, claim),
        Target::Pod(_, Observed::Absent | Observed::Unknown(_))
        | Target::Claim(_, Observed::Absent | Observed::Unknown(_)) => None,
    }
}

fn pod_reason(pod: &Pod) -> Option<(&'static str, String)> {
    if matches!(restore_wait(pod), Some(ContainerState::Running { .. })) {
        return None;
    }
    let name = format!("{}/{}", pod.key.namespace, pod.key.name);
    let image = pod
        .init_containers
        .iter()
        .chain(&pod.containers)
        .find_map(|container| match &container.state {
            ContainerState::Waiting { reason, message }
                if matches!(
                    reason.as_str(),
                    "ImagePullBackOff" | "ErrImagePull" | "ErrImageNeverPull" | "InvalidImageName"
                ) =>
            {
                Some(format!(
                    "container {} of {name}: {reason} {message}",
                    container.name
                ))
            }
            ContainerState::Waiting { .. }
            | ContainerState::Running { .. }
            | ContainerState::Terminated(_)
            | ContainerState::None => None,
        });
    if let Some(image) = image {
        return Some(("image-pull", image.trim_end().to_owned()));
    }
    let scheduled = pod.condition("PodScheduled");
    if let Some(condition) = scheduled.filter(|condition| condition.status != "True") {
        return Some((
            "pod-pending",
            format!(
                "pod {name} is not scheduled: {} {}",
                condition.reason, condition.message
            ),
        ));
    }
    if pod.node.is_none() {
        return Some((
            "pod-pending",
            format!("pod {name} is {} and has no node", pod.phase),
        ));
    }
    Some((
        "init-not-running",
        format!(
            "init container restore-wait of pod {name} does not run (pod {})",
            pod.phase
        ),
    ))
}

/// A PVC of a class that waits for its first consumer is bound only when a pod uses it; `WaitPVCConsumed`
/// waits for its selected node (v1.16.2 `pkg/exposer/generic_restore.go`).
fn claim_reason(
    case: &Case<'_, '_>,
    task: &TaskReplay<'_>,
    claim: &Claim,
) -> Option<(&'static str, String)> {
    if task.task.phase != Phase::Accepted || claim.phase == "Bound" || claim.selected_node.is_some()
    {
        return None;
    }
    let used = case.snapshot.pods.values().any(|pod| {
        pod.key.namespace == claim.key.namespace && pod.claims.contains(&claim.key.name)
    });
    (!used).then(|| {
        (
            "no-consumer",
            format!(
                "PVC {}/{} is {} and no pod uses it",
                claim.key.namespace, claim.key.name, claim.phase
            ),
        )
    })
}

fn look(target: &Target<'_>) -> Action {
    let key = target.key();
    Action {
        command: format!(
            "kubectl describe {} -n {} {}",
            match target {
                Target::Pod(..) => "pod",
                Target::Claim(..) => "pvc",
            },
            words::quoted(&key.namespace),
            words::quoted(&key.name)
        ),
        effect: "shows what the application's object says itself".to_owned(),
        risk: "none".to_owned(),
    }
}

#[cfg(test)]
mod tests;
