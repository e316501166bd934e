//! Every task of a Backup is final and the Backup is not. With a Canceled PodVolumeBackup in a release
//! that never counts it (velero-io/velero#10007) the cause is known. No slot is involved: restarting
//! node-agents does not help.

use std::collections::BTreeMap;

use super::{ends, words};
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::snapshot::{Coverage, Parent, ParentKind, ParentRef, ResourceKind, Task};
use crate::velero::profile::KnownBug;
use crate::velero::{ObjectRef, Phase, TaskKind};

/// The phases in which a Backup waits for its tasks (v1.17.2 `pkg/apis/velero/v1/backup_types.go`).
const WAITING: [&str; 5] = [
    "InProgress",
    "WaitingForPluginOperations",
    "WaitingForPluginOperationsPartiallyFailed",
    "Finalizing",
    "FinalizingPartiallyFailed",
];

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    // A kind that was not read may hold the task that the Backup waits for.
    let all_kinds_read = [TaskKind::DataUpload, TaskKind::PodVolumeBackup]
        .iter()
        .all(|kind| {
            match case
                .snapshot
                .coverage_of(ResourceKind::Task(*kind), &case.snapshot.namespace)
            {
                Coverage::Listed | Coverage::Present => true,
                Coverage::Unreadable(reason) => matches!(
                    reason,
                    crate::snapshot::GapReason::NotFound | crate::snapshot::GapReason::NotInInput
                ),
                Coverage::Partial => false,
            }
        });
    if !all_kinds_read {
        return;
    }
    let mut by_parent: BTreeMap<&ParentRef, Vec<&Task>> = BTreeMap::new();
    for task in case.snapshot.tasks.values() {
        if let Some(parent) = task
            .parent
            .as_ref()
            .filter(|parent| parent.kind == ParentKind::Backup)
        {
            by_parent.entry(parent).or_default().push(task);
        }
    }
    for (reference, tasks) in by_parent {
        let Some(backup) = case.snapshot.backups.get(&reference.name) else {
            continue;
        };
        if !WAITING.contains(&backup.phase.as_str())
            || !tasks.iter().all(|task| task.phase.is_final())
        {
            continue;
        }
        let last = tasks.iter().filter_map(|task| ends::ended_at(task)).max();
        if case.older_than(last, case.threshold()) {
            out.findings.push(finding(case, backup, &tasks, last));
        }
    }
}

fn finding(
    case: &Case<'_, '_>,
    backup: &Parent,
    tasks: &[&Task],
    last: Option<jiff::Timestamp>,
) -> Finding {
    let canceled: Vec<_> = tasks
        .iter()
        .filter(|task| {
            task.reference.kind == TaskKind::PodVolumeBackup && task.phase == Phase::Canceled
        })
        .map(|task| task.reference.clone())
        .collect();
    let server = super::known_bug::server_version(case);
    let has_bug = server.is_some_and(|version| KnownBug::Velero10007.affects(&version));
    let not_counted = !canceled.is_empty() && has_bug && backup.phase == "InProgress";
    let name = &backup.reference.name;
    let why = if not_counted {
        format!(
            "{} ended Canceled, which this release never counts",
            words::tasks(&canceled)
        )
    } else {
        "the tasks do not tell why".to_owned()
    };
    let confidence = if not_counted {
        Confidence::Likely
    } else {
        Confidence::Possible
    };
    let mut finding = Finding::new(
        FindingId::BackupWaitsFinishedTasks,
        Severity::Warning,
        case.cap(confidence),
        format!(
            "Backup {name} is {} although all its {} are final: {why}",
            backup.phase,
            words::count(tasks.len(), "task")
        ),
    );
    finding.cause = Some(if not_counted {
        "canceled-not-counted"
    } else {
        "undetermined"
    });
    finding.since = last;
    finding.tasks = if not_counted {
        canceled
    } else {
        tasks.iter().map(|task| task.reference.clone()).collect()
    };
    finding.blocked_by = vec![ObjectRef::namespaced(
        "Backup",
        &case.snapshot.namespace,
        name,
    )];
    finding.evidence.push(Evidence::field(
        format!("Backup {}/{name} .status.phase", case.snapshot.namespace),
        backup.phase.clone(),
    ));
    finding.evidence.push(Evidence::derived(
        "tasks of the Backup".to_owned(),
        format!("{} in all, none unfinished", tasks.len()),
    ));
    finding.actions.push(Action {
        command: format!("kubectl get backups.velero.io {{ns}} {} -o yaml", words::quoted(name)),
        effect: "shows what the velero server still waits for; it ends by itself at the fs-backup-timeout at the latest".to_owned(),
        risk: "none; restarting node-agents does not help".to_owned(),
    });
    if not_counted {
        finding.references = vec!["velero-io/velero#10007"];
    }
    finding
}
