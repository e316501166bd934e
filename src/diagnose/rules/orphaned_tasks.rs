//! Unfinished tasks whose Backup or Restore is final or gone, and which still hold slots or fill the
//! queue. One finding for each Backup or Restore.
//!
//! A Backup or Restore is gone only where all of them were listed, and its task is older than the
//! threshold: between two lists a new one may have come.

use std::collections::BTreeMap;

use super::words;
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Mover, NodeReplay, Situation, TaskReplay};
use crate::snapshot::{Observed, ParentKind, ParentRef};
use crate::velero::{ObjectRef, Phase, TaskRef};

/// The length of a label value into which Velero puts a longer name, cut and hashed
/// (v1.17.2 pkg/label/label.go).
const LABEL_LENGTH: usize = 63;

/// What is left of the name in such a value.
const LABEL_PREFIX_LENGTH: usize = 57;

/// Proposes one finding for each Backup or Restore.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut groups: BTreeMap<&ParentRef, Vec<&TaskReplay<'_>>> = BTreeMap::new();
    let mut unread = Vec::new();
    for task in case.tasks().filter(|task| takes_room(task)) {
        let Some(parent) = &task.task.parent else {
            continue;
        };
        match end_of(case, parent, task) {
            End::Over | End::Gone => groups.entry(parent).or_default().push(task),
            End::NotKnown => unread.push(task.task.reference.clone()),
            End::NotOver => {}
        }
    }
    if !unread.is_empty() {
        words::undecided(
            out,
            FindingId::OrphanedTasks,
            CouldBe::Warning,
            format!(
                "the Backup or Restore of {} could not be read",
                words::tasks(&unread)
            ),
        );
    }
    for (parent, tasks) in groups {
        out.findings.push(finding(case, parent, &tasks));
    }
}

enum End {
    Over,
    Gone,
    NotOver,
    NotKnown,
}

fn end_of(case: &Case<'_, '_>, parent: &ParentRef, task: &TaskReplay<'_>) -> End {
    match case.snapshot.parent(parent) {
        Observed::Seen(seen)
            if seen.is_final() && case.older_than(seen.completed, case.threshold()) =>
        {
            End::Over
        }
        Observed::Absent
            if !may_be_hashed(case, parent)
                && case.older_than(task.task.created, case.threshold()) =>
        {
            End::Gone
        }
        Observed::Seen(_) | Observed::Absent => End::NotOver,
        Observed::Unknown(_) => End::NotKnown,
    }
}

/// Whether the name is a hashed label value of a Backup or Restore that is there.
fn may_be_hashed(case: &Case<'_, '_>, parent: &ParentRef) -> bool {
    let all = match parent.kind {
        ParentKind::Backup => &case.snapshot.backups,
        ParentKind::Restore => &case.snapshot.restores,
    };
    let Some(prefix) = parent.name.get(..LABEL_PREFIX_LENGTH) else {
        return false;
    };
    parent.name.len() == LABEL_LENGTH
        && all
            .keys()
            .any(|name| name.len() > LABEL_LENGTH && name.starts_with(prefix))
}

/// Whether the task holds a slot, waits for one or counts against the prepare queue. A New task with a
/// mover pod does none of these.
fn takes_room(task: &TaskReplay<'_>) -> bool {
    let ours = !matches!(task.situation, Situation::Foreign | Situation::UnknownPhase);
    let waits = task.task.phase != Phase::New || task.mover == Mover::InProcess;
    ours && waits
}

fn finding(case: &Case<'_, '_>, parent: &ParentRef, orphans: &[&TaskReplay<'_>]) -> Finding {
    let tasks: Vec<TaskRef> = orphans
        .iter()
        .map(|task| task.task.reference.clone())
        .collect();
    let seen = case.snapshot.parent(parent).seen();
    let phase = seen.map_or("gone", |seen| seen.phase.as_str());
    let object =
        ObjectRef::namespaced(parent.kind.as_str(), &case.snapshot.namespace, &parent.name);
    let since = seen.and_then(|seen| seen.completed);
    let ago = since.map_or_else(String::new, |time| {
        format!(" for {}", words::span(case.age(time)))
    });
    let mut finding = Finding::new(
        FindingId::OrphanedTasks,
        Severity::Warning,
        case.cap(Confidence::Certain),
        format!(
            "{} {} has been {phase}{ago}, and {} of it still {} slots or {} the queue.",
            parent.kind.as_str(),
            parent.name,
            words::tasks(&tasks),
            words::verb(tasks.len(), "holds", "hold"),
            words::verb(tasks.len(), "fills", "fill"),
        ),
    );
    finding.node = words::only_node(orphans.iter().map(|task| task.node.as_deref()));
    finding.affects = affects(case, orphans, &tasks);
    finding.since = since;
    finding.deadline = case.earliest_deadline(&tasks);
    finding.evidence = vec![Evidence::field(
        format!("{object} .status.phase"),
        phase.to_owned(),
    )];
    if let Some(time) = since {
        finding.evidence.push(Evidence::field(
            format!("{object} .status.completionTimestamp"),
            time.to_string(),
        ));
    }
    finding.evidence.extend(
        orphans
            .iter()
            .take(words::EVIDENCE_SHOWN)
            .map(|task| words::task_field(task.task, ".status.phase", task.task.phase.as_str())),
    );
    let cancelled: Vec<TaskRef> = orphans
        .iter()
        .filter(|task| {
            task.profile
                .can_cancel(task.task.reference.kind, &task.task.uploader_type)
        })
        .map(|task| task.task.reference.clone())
        .collect();
    finding.actions = words::cancel(
        &cancelled,
        "ends tasks whose result nobody waits for any more",
        "the data of the volume is not moved; from v1.17 on a mover that does not stop within 5 minutes leaves its slot held until the node-agent restarts",
    );
    finding.tasks = tasks;
    finding
}

/// The tasks that wait on a node whose slots are full, one of them held by an orphan.
fn affects(case: &Case<'_, '_>, orphans: &[&TaskReplay<'_>], tasks: &[TaskRef]) -> Vec<TaskRef> {
    let mut affects: Vec<TaskRef> = orphans
        .iter()
        .filter_map(|task| case.node(task.node.as_deref()?))
        .flat_map(|node: &NodeReplay<'_>| &node.pools)
        .filter(|pool| pool.holders.iter().any(|holder| tasks.contains(holder)))
        .filter(|pool| {
            let held = i64::try_from(pool.holders.len()).unwrap_or(i64::MAX);
            pool.limit.is_some_and(|limit| held >= limit)
        })
        .flat_map(|pool| pool.waiting.iter().copied())
        .filter(|task| !tasks.contains(task))
        .cloned()
        .collect();
    affects.sort();
    affects.dedup();
    affects
}

#[cfg(test)]
mod tests;
