//! When a task ends by itself at the latest.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{Deadline, DeadlineWhat};
use crate::snapshot::{Gap, Observed, Parent, Snapshot, Task};
use crate::velero::profile::PrepareTimeoutBase;
use crate::velero::{DEFAULT_PREPARE_TIMEOUT_SECONDS, Phase, Profile};

/// Returns the time at which a task was accepted, by the field that its release writes.
pub(super) fn accepted_at(task: &Task, profile: &Profile) -> Option<Timestamp> {
    let by_field = task.accepted.or(task.accepted_annotation);
    match profile.prepare_timeout_base {
        PrepareTimeoutBase::StartTimestamp => by_field.or(task.started),
        PrepareTimeoutBase::Never
        | PrepareTimeoutBase::AcceptedAtAnnotation
        | PrepareTimeoutBase::AcceptedTimestamp => by_field,
    }
    // While a task is Accepted, the node-agents' entry in managedFields has the time of the accept.
    .or_else(|| {
        if task.phase == Phase::Accepted {
            task.writes.node_agent
        } else {
            None
        }
    })
}

/// Returns the deadline of an unfinished task, or why there is none although one exists.
pub(super) fn of(
    snapshot: &Snapshot,
    task: &Task,
    profile: &Profile,
    accepted: Option<Timestamp>,
    prepare_timeout_seconds: Option<i64>,
) -> (Option<Deadline>, Option<Gap>) {
    let prepare_timeout_fires = profile.prepare_timeout_base != PrepareTimeoutBase::Never;
    if task.phase == Phase::Accepted && prepare_timeout_fires {
        let seconds = prepare_timeout_seconds.unwrap_or(DEFAULT_PREPARE_TIMEOUT_SECONDS);
        let deadline = accepted
            .and_then(|time| after(time, seconds))
            .map(|at| Deadline {
                at,
                what: DeadlineWhat::PrepareTimeout,
                approximate: false,
            });
        return (deadline, None);
    }
    of_operation(snapshot, task)
}

/// Returns the deadline that the Backup or Restore of an unfinished task sets, whatever its phase.
pub(super) fn of_operation(snapshot: &Snapshot, task: &Task) -> (Option<Deadline>, Option<Gap>) {
    let Some(reference) = &task.parent else {
        return (None, None);
    };
    let parent = match snapshot.parent(reference) {
        Observed::Seen(parent) => parent,
        // Nobody asks for the operations of a parent that is gone.
        Observed::Absent => return (None, None),
        Observed::Unknown(reason) => {
            let gap = Gap {
                resource: match reference.kind {
                    crate::snapshot::ParentKind::Backup => "backups",
                    crate::snapshot::ParentKind::Restore => "restores",
                }
                .to_owned(),
                reason,
                message: format!("{} {}", reference.kind.as_str(), reference.name),
                effect: "the deadlines of their tasks are not known".to_owned(),
            };
            return (None, Some(gap));
        }
    };
    // A final parent asks for nothing any more: nothing ends its tasks.
    if parent.is_final() {
        return (None, None);
    }
    (under(snapshot, task, parent), None)
}

fn under(snapshot: &Snapshot, task: &Task, parent: &Parent) -> Option<Deadline> {
    if task.reference.kind.is_data_movement() {
        let seconds = parent
            .item_operation_timeout_seconds
            .filter(|seconds| *seconds > 0)
            .unwrap_or(snapshot.default_item_operation_timeout_seconds);
        let at = after(task.created?, seconds)?;
        // The operation's own creation time is only in object storage; the task is created within seconds of it.
        return Some(Deadline {
            at,
            what: DeadlineWhat::ItemOperationTimeout,
            approximate: true,
        });
    }
    let at = after(parent.started?, snapshot.fs_backup_timeout_seconds)?;
    Some(Deadline {
        at,
        what: DeadlineWhat::FsBackupTimeout,
        approximate: true,
    })
}

fn after(time: Timestamp, seconds: i64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// Tells in one gap for each kind which parents were not read.
pub(super) fn unread_parents<'g>(of_tasks: impl Iterator<Item = &'g Gap>) -> Vec<Gap> {
    let mut groups: BTreeMap<(&str, crate::snapshot::GapReason), BTreeSet<&str>> = BTreeMap::new();
    let mut effect = String::new();
    for gap in of_tasks {
        groups
            .entry((&gap.resource, gap.reason))
            .or_default()
            .insert(&gap.message);
        effect.clone_from(&gap.effect);
    }
    groups
        .into_iter()
        .map(|((resource, reason), names)| {
            let shown = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
            let more = match names.len().saturating_sub(3) {
                0 => String::new(),
                rest => format!(" and {rest} more"),
            };
            Gap {
                resource: resource.to_owned(),
                reason,
                message: format!("{shown}{more} could not be read"),
                effect: effect.clone(),
            }
        })
        .collect()
}
