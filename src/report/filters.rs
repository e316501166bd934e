//! `--node`, `--kind`, `--backup`, `--restore`: what is shown, never what is counted.

use std::collections::BTreeSet;

use crate::diagnose::Finding;
use crate::replay::{Replay, Situation, TaskReplay};
use crate::snapshot::{
    Coverage, Gap, GapReason, ParentKind, ParentRef, ResourceKind, Snapshot, Task,
};
use crate::velero::{ObjectRef, TaskKind, TaskRef};

/// The resource of a gap that is about a filter.
pub(super) const FILTER: &str = "filter";

/// What the user wants to see. Filters act after the analysis: they choose rows and findings and so
/// decide the exit code, and change no number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Nodes; empty means all.
    pub nodes: BTreeSet<String>,
    /// Task kinds; empty means all.
    pub kinds: BTreeSet<TaskKind>,
    /// A Backup: its tasks.
    pub backup: Option<String>,
    /// A Restore: its tasks. Beside a Backup the tasks of either are shown.
    pub restore: Option<String>,
}

impl Filters {
    /// Returns whether anything is left out.
    #[must_use]
    pub fn is_set(&self) -> bool {
        !self.nodes.is_empty() || self.choose_tasks()
    }

    /// Returns whether tasks are chosen by kind or parent.
    #[must_use]
    pub fn choose_tasks(&self) -> bool {
        !self.kinds.is_empty() || self.backup.is_some() || self.restore.is_some()
    }

    /// Returns whether a node is shown.
    #[must_use]
    pub fn shows_node(&self, node: &str) -> bool {
        self.nodes.is_empty() || self.nodes.contains(node)
    }

    /// Returns a gap for each node, Backup and Restore that occurs nowhere in what was read: what is
    /// shown for it is nothing, and that is no sign of health.
    pub(super) fn unmatched(&self, snapshot: &Snapshot, replay: &Replay<'_>) -> Vec<Gap> {
        let node_occurs = |name: &String| {
            snapshot.nodes.contains_key(name)
                || replay.nodes.contains_key(name)
                || snapshot.tasks.values().any(|task| {
                    task.status_node.as_ref() == Some(name) || task.spec_node.as_ref() == Some(name)
                })
                || replay
                    .tasks
                    .values()
                    .any(|task| task.node.as_ref() == Some(name))
        };
        let parent_occurs = |kind: ParentKind, name: &String| {
            snapshot.tasks.values().any(|task| {
                task.parent
                    .as_ref()
                    .is_some_and(|parent| parent.kind == kind && &parent.name == name)
            })
        };
        let nodes = self
            .nodes
            .iter()
            .filter(|name| !node_occurs(name))
            .map(|name| ("node", name));
        let backup = self.backup.iter().filter(|name| {
            !snapshot.backups.contains_key(*name) && !parent_occurs(ParentKind::Backup, name)
        });
        let restore = self.restore.iter().filter(|name| {
            !snapshot.restores.contains_key(*name) && !parent_occurs(ParentKind::Restore, name)
        });
        nodes
            .chain(backup.map(|name| ("Backup", name)))
            .chain(restore.map(|name| ("Restore", name)))
            .map(|(kind, name)| Gap {
                resource: FILTER.to_owned(),
                reason: GapReason::NotFound,
                message: format!("{kind} {name} occurs nowhere in what was read"),
                effect: "nothing is shown".to_owned(),
            })
            .collect()
    }

    fn shows_kind_and_parent(&self, task: &Task) -> bool {
        let kind = self.kinds.is_empty() || self.kinds.contains(&task.reference.kind);
        let wanted = |kind: ParentKind, name: &Option<String>| {
            name.as_ref().is_some_and(|name| {
                task.parent
                    .as_ref()
                    .is_some_and(|parent| parent.kind == kind && &parent.name == name)
            })
        };
        let parent = (self.backup.is_none() && self.restore.is_none())
            || wanted(ParentKind::Backup, &self.backup)
            || wanted(ParentKind::Restore, &self.restore);
        kind && parent
    }

    /// Returns whether a task is shown, wherever it runs.
    pub(super) fn shows_task(&self, replay: &Replay<'_>, task: &TaskRef) -> bool {
        replay
            .tasks
            .get(task)
            .map_or(!self.choose_tasks(), |known| {
                self.shows_kind_and_parent(known.task)
            })
    }

    /// Returns whether the decision about a task is shown: the task and its node both pass.
    pub(super) fn shows_decision(&self, task: &TaskReplay<'_>) -> bool {
        let node = self.nodes.is_empty()
            || task
                .node
                .as_deref()
                .is_some_and(|node| self.nodes.contains(node));
        node && self.shows_kind_and_parent(task.task)
    }

    /// Returns whether a finding is shown. One that names a node follows the node; one that names only
    /// tasks follows them; one that names neither is about the whole installation and is always shown.
    pub(super) fn shows_finding(
        &self,
        finding: &Finding,
        snapshot_tasks: &std::collections::BTreeMap<TaskRef, Task>,
        replay: &Replay<'_>,
    ) -> bool {
        let named: Vec<&Task> = concerned(finding)
            .filter_map(|task| snapshot_tasks.get(&task))
            .collect();
        let node = self.nodes.is_empty()
            || match &finding.node {
                Some(node) => self.nodes.contains(node),
                None => {
                    named.is_empty()
                        || named.iter().any(|task| {
                            replay
                                .tasks
                                .get(&task.reference)
                                .and_then(|known| known.node.as_deref())
                                .or(task.status_node.as_deref())
                                .or(task.spec_node.as_deref())
                                .is_none_or(|node| self.nodes.contains(node))
                        })
                }
            };
        let task = !self.choose_tasks()
            || named.is_empty()
            || named.iter().any(|task| self.shows_kind_and_parent(task));
        node && task
    }
}

/// Returns whether nothing that the filters show waits or runs: no task, and no Backup or Restore that they name, which
/// may have tasks to come. That is known only where every kind that is shown was read whole, and every filter names
/// something that occurs; tasks of another data mover do not count.
#[must_use]
pub fn is_idle(snapshot: &Snapshot, replay: &Replay<'_>, filters: &Filters) -> bool {
    let is_read = |kind: TaskKind| match snapshot
        .coverage_of(ResourceKind::Task(kind), &snapshot.namespace)
    {
        Coverage::Listed | Coverage::Present => true,
        Coverage::Partial => false,
        Coverage::Unreadable(reason) => match reason {
            // The cluster does not know the kind, and so has no task of it.
            GapReason::NotFound => true,
            GapReason::NotInInput
            | GapReason::Forbidden
            | GapReason::Malformed
            | GapReason::Partial
            | GapReason::Timeout
            | GapReason::Unsupported => false,
        },
    };
    let all_read = TaskKind::ALL
        .into_iter()
        .filter(|kind| filters.kinds.is_empty() || filters.kinds.contains(kind))
        .all(is_read);
    let is_busy = replay
        .tasks
        .values()
        .any(|task| task.situation != Situation::Foreign && filters.shows_decision(task));
    let backup = filters.backup.iter().map(|name| (ParentKind::Backup, name));
    let restore = filters
        .restore
        .iter()
        .map(|name| (ParentKind::Restore, name));
    let is_under_way = backup.chain(restore).any(|(kind, name)| {
        let name = name.clone();
        is_under_way(snapshot, &ParentRef { kind, name })
    });
    all_read && !is_busy && !is_under_way && filters.unmatched(snapshot, replay).is_empty()
}

/// Returns whether a Backup or Restore was seen and is not final.
pub(super) fn is_under_way(snapshot: &Snapshot, parent: &ParentRef) -> bool {
    snapshot
        .parent(parent)
        .seen()
        .is_some_and(|parent| !parent.is_final())
}

/// Returns every task that a finding names.
fn concerned(finding: &Finding) -> impl Iterator<Item = TaskRef> + '_ {
    finding
        .tasks
        .iter()
        .cloned()
        .chain(finding.affects.iter().cloned())
        .chain(finding.blocked_by.iter().filter_map(as_task))
}

fn as_task(object: &ObjectRef) -> Option<TaskRef> {
    let kind = TaskKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == object.kind)?;
    Some(TaskRef {
        kind,
        namespace: object.namespace.clone()?,
        name: object.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Capture, Listing, Outcome, Scope};
    use crate::replay::{ReplayOptions, replay};
    use crate::snapshot::{ReadOptions, read};
    use crate::testing::{NS, ago, completed, in_progress, now};
    use serde_json::{Value, json};

    /// Lists some objects as a cluster does: every kind of task, and those that may not be read.
    fn listed(objects: &[Value], forbidden: &[TaskKind]) -> Snapshot {
        let mut capture = Capture::from_objects(objects.iter().cloned());
        for kind in TaskKind::ALL {
            let resource = ResourceKind::Task(kind);
            let known = capture
                .listings
                .iter_mut()
                .filter(|listing| listing.resource == resource);
            let scope = Scope::Namespace(NS.to_owned());
            let mut items = Vec::new();
            for listing in known {
                items.extend(listing.outcome.items().iter().cloned());
            }
            capture
                .listings
                .retain(|listing| listing.resource != resource);
            capture.listings.push(Listing {
                resource,
                scope,
                outcome: if forbidden.contains(&kind) {
                    Outcome::Refused {
                        reason: GapReason::Forbidden,
                        message: "no".to_owned(),
                    }
                } else {
                    Outcome::Listed(items)
                },
            });
        }
        let options = ReadOptions {
            namespace: NS.to_owned(),
            now: Some(now()),
        };
        read(&capture, &options)
    }

    fn idle(snapshot: &Snapshot, filters: &Filters) -> bool {
        is_idle(
            snapshot,
            &replay(snapshot, ReplayOptions::default()),
            filters,
        )
    }

    fn of_node(node: &str) -> Filters {
        Filters {
            nodes: [node.to_owned()].into(),
            ..Filters::default()
        }
    }

    #[test]
    fn idle_is_where_no_task_that_is_shown_is_unfinished() {
        let busy = listed(
            &[
                in_progress("du-1", "node-a", 60),
                completed("du-2", "node-b", 600, 60),
            ],
            &[],
        );
        assert!(!idle(&busy, &Filters::default()));
        assert!(!idle(&busy, &of_node("node-a")));
        assert!(idle(&busy, &of_node("node-b")));
        let of_restores = Filters {
            kinds: [TaskKind::DataDownload].into(),
            ..Filters::default()
        };
        assert!(idle(&busy, &of_restores));
        assert!(idle(&listed(&[], &[]), &Filters::default()));
    }

    #[test]
    fn a_kind_that_may_not_be_read_is_not_idle_and_one_that_is_not_shown_does_not_matter() {
        let blind = listed(&[], &[TaskKind::DataUpload]);
        assert!(!idle(&blind, &Filters::default()));
        let of_others = Filters {
            kinds: [TaskKind::PodVolumeBackup].into(),
            ..Filters::default()
        };
        assert!(idle(&blind, &of_others));
    }

    #[test]
    fn a_filter_that_names_nothing_is_never_idle() {
        assert!(!idle(&listed(&[], &[]), &of_node("node-typo")));
    }

    #[test]
    fn a_backup_that_goes_on_is_not_idle_though_it_has_no_task_yet() {
        let backup = |phase: &str| {
            json!({
                "apiVersion": "velero.io/v1", "kind": "Backup",
                "metadata": {"name": "backup-1", "namespace": NS, "creationTimestamp": ago(60)},
                "status": {"phase": phase}
            })
        };
        let filters = Filters {
            backup: Some("backup-1".to_owned()),
            ..Filters::default()
        };
        assert!(!idle(&listed(&[backup("InProgress")], &[]), &filters));
        assert!(idle(&listed(&[backup("Completed")], &[]), &filters));
    }
}
