//! What a user asks about, and what is meant by it.

use std::collections::BTreeSet;

use crate::diagnose::near::nearest;
use crate::snapshot::{Gap, GapReason, ObjectKey, Observed, ParentKind, ParentRef, Snapshot, Task};
use crate::velero::{ObjectRef, TaskKind, TaskRef};

/// What a user asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A task by kind and name.
    Task(TaskKind, String),
    /// Tasks of every kind with a name (`task/NAME`, or `pod/NAME`: a mover pod has the name of its task).
    AnyKind(String),
    /// A Backup or Restore: its tasks.
    Parent(ParentRef),
    /// A PersistentVolumeClaim: the tasks that read or write it.
    Claim(ObjectKey),
}

impl Subject {
    /// Reads `KIND/NAME`, or `pvc/NAMESPACE/NAME`.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, for a message.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, names) = parts.split_first().ok_or("it is empty")?;
        if names.is_empty() || names.iter().any(|name| name.is_empty()) {
            return Err("a name is missing");
        }
        let lower = kind.to_ascii_lowercase();
        let plain = lower.split('.').next().unwrap_or_default();
        if matches!(
            plain,
            "pvc" | "persistentvolumeclaim" | "persistentvolumeclaims"
        ) {
            return match names {
                [namespace, name] => Ok(Self::Claim(ObjectKey::new(namespace, name))),
                _ => Err("a PVC is named pvc/NAMESPACE/NAME"),
            };
        }
        let [name] = names else {
            return Err("only a PVC is named with its namespace");
        };
        let name = (*name).to_owned();
        if let Some(kind) = TaskKind::parse(kind) {
            return Ok(Self::Task(kind, name));
        }
        match plain {
            "backup" | "backups" => Ok(Self::Parent(ParentRef {
                kind: ParentKind::Backup,
                name,
            })),
            "restore" | "restores" => Ok(Self::Parent(ParentRef {
                kind: ParentKind::Restore,
                name,
            })),
            "task" | "tasks" | "pod" | "pods" | "po" => Ok(Self::AnyKind(name)),
            _ => Err("the kind is not known"),
        }
    }

    /// Names the subject.
    #[must_use]
    pub fn reference(&self, namespace: &str) -> ObjectRef {
        match self {
            Self::Task(kind, name) => ObjectRef::namespaced(kind.as_str(), namespace, name),
            Self::AnyKind(name) => ObjectRef::namespaced("Task", namespace, name),
            Self::Parent(parent) => {
                ObjectRef::namespaced(parent.kind.as_str(), namespace, &parent.name)
            }
            Self::Claim(claim) => {
                ObjectRef::namespaced("PersistentVolumeClaim", &claim.namespace, &claim.name)
            }
        }
    }

    /// Returns the tasks that are meant, in order, and what could not be known.
    pub(super) fn tasks<'s>(&self, snapshot: &'s Snapshot) -> (Vec<&'s Task>, Vec<Gap>) {
        match self {
            Self::Task(kind, name) => {
                let reference = TaskRef {
                    kind: *kind,
                    namespace: snapshot.namespace.clone(),
                    name: name.clone(),
                };
                (
                    snapshot.tasks.get(&reference).into_iter().collect(),
                    Vec::new(),
                )
            }
            Self::AnyKind(name) => (
                snapshot
                    .tasks
                    .values()
                    .filter(|task| task.reference.name == *name)
                    .collect(),
                Vec::new(),
            ),
            Self::Parent(parent) => (
                snapshot
                    .tasks
                    .values()
                    .filter(|task| task.parent.as_ref() == Some(parent))
                    .collect(),
                Vec::new(),
            ),
            Self::Claim(claim) => of_claim(snapshot, claim),
        }
    }

    /// Returns whether the subject itself is in the input, whatever tasks it has.
    pub(super) fn is_seen(&self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Task(..) | Self::AnyKind(_) => false,
            Self::Parent(parent) => matches!(snapshot.parent(parent), Observed::Seen(_)),
            Self::Claim(claim) => snapshot.claims.contains_key(claim),
        }
    }

    /// Returns what the user may have meant, nearest first, as it can be typed.
    pub(super) fn near(&self, snapshot: &Snapshot) -> Vec<String> {
        let task = |task: &TaskRef| format!("{}/{}", task.kind.short_name(), task.name);
        let candidates: BTreeSet<(String, String)> = match self {
            Self::Task(..) | Self::AnyKind(_) => snapshot
                .tasks
                .keys()
                .map(|reference| (reference.name.clone(), task(reference)))
                .collect(),
            Self::Parent(asked) => {
                let kind = asked.kind;
                let (known, word) = match kind {
                    ParentKind::Backup => (&snapshot.backups, "backup"),
                    ParentKind::Restore => (&snapshot.restores, "restore"),
                };
                let of_tasks = snapshot
                    .tasks
                    .values()
                    .filter_map(|task| task.parent.as_ref())
                    .filter(|parent| parent.kind == kind)
                    .map(|parent| &parent.name);
                known
                    .keys()
                    .chain(of_tasks)
                    .map(|name| (name.clone(), format!("{word}/{name}")))
                    .collect()
            }
            Self::Claim(_) => snapshot
                .tasks
                .values()
                .filter_map(|task| task.claim.as_ref())
                .chain(snapshot.claims.keys())
                .map(|key| {
                    let text = format!("pvc/{}/{}", key.namespace, key.name);
                    (format!("{}/{}", key.namespace, key.name), text)
                })
                .collect(),
        };
        let asked = match self {
            Self::Task(_, name) | Self::AnyKind(name) => name.clone(),
            Self::Parent(parent) => parent.name.clone(),
            Self::Claim(key) => format!("{}/{}", key.namespace, key.name),
        };
        nearest(&asked, candidates)
    }
}

/// Returns the tasks that read or write a claim. A DataUpload and a DataDownload name it; a pod volume only
/// names a pod, which names its claims.
fn of_claim<'s>(snapshot: &'s Snapshot, claim: &ObjectKey) -> (Vec<&'s Task>, Vec<Gap>) {
    let mut unread = 0_usize;
    let tasks = snapshot
        .tasks
        .values()
        .filter(|task| {
            if task.claim.as_ref() == Some(claim) {
                return true;
            }
            // The claim that Velero makes for a task has the name of the task.
            if claim.namespace == snapshot.namespace && claim.name == task.reference.name {
                return true;
            }
            let Some(target) = &task.pod else {
                return false;
            };
            if target.namespace != claim.namespace {
                return false;
            }
            let key = ObjectKey::new(&target.namespace, &target.name);
            match snapshot.pods.get(&key) {
                Some(pod) => pod.claims.contains(&claim.name),
                None => {
                    unread += 1;
                    false
                }
            }
        })
        .collect();
    let gaps = if unread == 0 {
        Vec::new()
    } else {
        vec![Gap::new(
            "pods",
            GapReason::Partial,
            &format!(
                "{unread} pods of namespace {} that PodVolumeBackups or PodVolumeRestores name are not in the input",
                claim.namespace
            ),
            "which of those tasks read or write the PVC is not known",
        )]
    };
    (tasks, gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_taken_in_every_spelling_of_kubectl() {
        let task = |kind| Ok(Subject::Task(kind, "a".to_owned()));
        assert_eq!(Subject::parse("du/a"), task(TaskKind::DataUpload));
        assert_eq!(
            Subject::parse("DataDownload/a"),
            task(TaskKind::DataDownload)
        );
        assert_eq!(
            Subject::parse("podvolumebackups.velero.io/a"),
            task(TaskKind::PodVolumeBackup)
        );
        assert_eq!(
            Subject::parse("backups.velero.io/b"),
            Ok(Subject::Parent(ParentRef {
                kind: ParentKind::Backup,
                name: "b".to_owned()
            }))
        );
        assert_eq!(
            Subject::parse("pvc/app/data"),
            Ok(Subject::Claim(ObjectKey::new("app", "data")))
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_a_reason() {
        assert_eq!(
            Subject::parse("pvc/data"),
            Err("a PVC is named pvc/NAMESPACE/NAME")
        );
        assert_eq!(Subject::parse("du/"), Err("a name is missing"));
        assert_eq!(
            Subject::parse("du/a/b"),
            Err("only a PVC is named with its namespace")
        );
        assert_eq!(Subject::parse("node/a"), Err("the kind is not known"));
    }
}
