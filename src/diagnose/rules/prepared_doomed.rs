//! Row 8: a Prepared task whose pod or volume is gone or ended. The next look ends it as Failed, or (up
//! to v1.16, pod gone) passes over it without a word (v1.17.2 `pkg/exposer/csi_snapshot.go`,
//! `pkg/exposer/pod_volume.go`).

use std::collections::BTreeMap;

use super::overtaken::Overtaken;
use super::{broken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Doom, Situation, TaskReplay};
use crate::snapshot::{Coverage, Observed, ResourceKind};
use crate::velero::Phase;
use crate::velero::profile::MissingPod;

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let unread: Vec<_> = case
        .tasks()
        .filter(|task| {
            task.situation == Situation::PodUnreadable && task.task.phase == Phase::Prepared
        })
        .collect();
    if !unread.is_empty() {
        words::undecided(
            out,
            FindingId::PreparedDoomed,
            CouldBe::Warning,
            format!(
                "the mover pods of {} could not be read",
                words::tasks(&broken::references(&unread))
            ),
        );
    }
    let mut groups: BTreeMap<(Option<&str>, Doom), Vec<&TaskReplay<'_>>> = BTreeMap::new();
    let mut overtaken = Overtaken::of(case, FindingId::PreparedDoomed, CouldBe::Warning);
    for task in case.tasks() {
        if let Situation::Doomed(doom) = task.situation
            && overtaken.still_holds(task)
        {
            groups
                .entry((task.node.as_deref(), doom))
                .or_default()
                .push(task);
        }
    }
    overtaken.tell(out);
    for ((node, doom), tasks) in groups {
        out.findings.push(finding(case, node, doom, &tasks));
    }
}

/// A pod that names no volume of the task says so itself; a PVC that is not there is proven by a list only.
fn volume_missing(case: &Case<'_, '_>, tasks: &[&TaskReplay<'_>]) -> Confidence {
    let listed = case.snapshot.coverage_of(
        ResourceKind::PersistentVolumeClaim,
        &case.snapshot.namespace,
    ) == Coverage::Listed;
    let said_by_the_pod = tasks.iter().all(|task| {
        task.pod
            .seen()
            .is_some_and(|pod| !pod.volumes.is_empty() && !pod.volumes.contains(&task.task.uid))
    });
    if listed || said_by_the_pod {
        Confidence::Certain
    } else {
        Confidence::Likely
    }
}

fn finding(
    case: &Case<'_, '_>,
    node: Option<&str>,
    doom: Doom,
    tasks: &[&TaskReplay<'_>],
) -> Finding {
    let names = broken::references(tasks);
    let passed_over = tasks
        .iter()
        .all(|task| task.profile.missing_pod_when_prepared == MissingPod::SilentReturn);
    let (cause, what) = match doom {
        Doom::PodMissing if passed_over => (
            "pod-missing",
            "the mover pod is gone, and this release passes over such a task without a word",
        ),
        Doom::PodMissing => (
            "pod-missing",
            "the mover pod is gone: the next look ends it as Failed",
        ),
        Doom::PodTerminal => (
            "pod-terminal",
            "the mover pod has ended: it fails when it gets its slot",
        ),
        Doom::VolumeMissing => (
            "volume-missing",
            "its volume is gone: the next look ends it as Failed",
        ),
    };
    let mut finding = broken::finding(
        case,
        FindingId::PreparedDoomed,
        Severity::Warning,
        match doom {
            Doom::PodTerminal => Confidence::Certain,
            Doom::PodMissing => case.cap_absent_pod(Confidence::Certain),
            Doom::VolumeMissing => volume_missing(case, tasks),
        },
        node,
        tasks,
        format!("{} cannot succeed: {what}", words::tasks(&names)),
    );
    finding.cause = Some(cause);
    for task in tasks.iter().take(words::EVIDENCE_SHOWN) {
        finding
            .evidence
            .push(words::task_field(task.task, ".status.phase", "Prepared"));
        match task.pod {
            Observed::Seen(pod) if doom == Doom::PodTerminal => {
                finding
                    .evidence
                    .push(words::pod_field(pod, ".status.phase", &pod.phase));
            }
            Observed::Seen(pod) => finding.evidence.push(words::pod_field(
                pod,
                ".spec.volumes, PersistentVolumeClaim of the same name",
                "no volume of this task",
            )),
            Observed::Absent | Observed::Unknown(_) => finding.evidence.push(Evidence::field(
                format!(
                    "Pod {}/{}",
                    task.task.reference.namespace, task.task.reference.name
                ),
                "does not exist".to_owned(),
            )),
        }
    }
    finding.since = words::earliest(tasks.iter().map(|task| match task.pod {
        Observed::Seen(pod) => pod.ended_at(),
        Observed::Absent | Observed::Unknown(_) => None,
    }));
    finding.actions = words::cancel(
        &names,
        "ends the task at once, so that it takes no slot",
        "the volume counts as failed, which it will anyway",
    );
    finding
}
