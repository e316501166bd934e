//! What is asked for, in which order, and what the answers make worth another question.

use std::collections::BTreeSet;

use futures_util::future::{join, join_all};

use super::answer::FailureKind;
use super::list::{Answer, Depth, Narrowed, Question, list};
use super::request::Asker;
use super::targets;
use crate::capture::{ResourceKind, Scope};
use crate::velero::TaskKind;

/// What is listed in Velero's namespace and does not decide what else is listed.
const IN_NAMESPACE: [ResourceKind; 9] = [
    ResourceKind::Task(TaskKind::PodVolumeBackup),
    ResourceKind::Backup,
    ResourceKind::Restore,
    ResourceKind::Pod,
    ResourceKind::DaemonSet,
    ResourceKind::Deployment,
    ResourceKind::ConfigMap,
    ResourceKind::PersistentVolumeClaim,
    ResourceKind::Event,
];

/// The kinds of restore tasks: they name the restores whose targets are looked up.
const RESTORE_TASKS: [TaskKind; 2] = [TaskKind::DataDownload, TaskKind::PodVolumeRestore];

/// What restore tasks write into.
const RESTORE_TARGETS: [ResourceKind; 2] = [ResourceKind::Pod, ResourceKind::PersistentVolumeClaim];

/// Returns what is asked for whatever the answers are.
pub(super) fn of_installation(namespace: &str) -> Vec<Question> {
    let own = |resource| Question {
        resource,
        scope: Scope::Namespace(namespace.to_owned()),
    };
    let mut questions = vec![own(ResourceKind::Task(TaskKind::DataUpload))];
    questions.extend(RESTORE_TASKS.map(|kind| own(ResourceKind::Task(kind))));
    questions.extend(IN_NAMESPACE.map(own));
    questions.push(Question {
        resource: ResourceKind::Node,
        scope: Scope::Cluster,
    });
    questions
}

/// Asks for everything that a diagnosis looks at.
pub(super) async fn ask_all(asker: &Asker<'_>, namespace: &str) -> Vec<Answer> {
    let own = |resource| ask_in(asker, resource, namespace);
    let others = async {
        let (mut answers, nodes) = join(
            join_all(IN_NAMESPACE.map(own)),
            ask_one(asker, ResourceKind::Node, Scope::Cluster),
        )
        .await;
        answers.push(nodes);
        answers
    };
    let (mut answers, (restores, others)) = join(
        ask_uploads(asker, namespace),
        join(ask_restores(asker, namespace), others),
    )
    .await;
    answers.extend(restores);
    answers.extend(others);
    answers
}

/// Lists DataUploads, and the VolumeSnapshots that some of them wait for.
async fn ask_uploads(asker: &Asker<'_>, velero: &str) -> Vec<Answer> {
    let uploads = ResourceKind::Task(TaskKind::DataUpload);
    let mut answers = vec![ask_in(asker, uploads, velero).await];
    let waited_for = targets::snapshot_namespaces(answers.iter().flat_map(Answer::objects));
    answers.extend(ask_snapshots(asker, velero, &waited_for).await);
    answers
}

/// Lists VolumeSnapshots that are waited for: those of all namespaces in one list, or, where that is forbidden,
/// of the few namespaces that matter.
async fn ask_snapshots(
    asker: &Asker<'_>,
    velero: &str,
    waited_for: &BTreeSet<String>,
) -> Vec<Answer> {
    if waited_for.is_empty() {
        return Vec::new();
    }
    let everywhere = ask_one(asker, ResourceKind::VolumeSnapshot, Scope::Cluster).await;
    let mut answers = Vec::new();
    if is_refused(&everywhere) {
        let namespaces = targets::few(waited_for.iter().map(String::as_str), velero);
        let own = [velero.to_owned()];
        answers.extend(
            join_all(
                own.iter()
                    .chain(&namespaces)
                    .map(|namespace| ask_in(asker, ResourceKind::VolumeSnapshot, namespace)),
            )
            .await,
        );
    }
    answers.push(everywhere);
    answers
}

/// Lists the restore tasks and what they write into.
async fn ask_restores(asker: &Asker<'_>, velero: &str) -> Vec<Answer> {
    let own = |kind| ask_in(asker, ResourceKind::Task(kind), velero);
    let mut answers = join_all(RESTORE_TASKS.map(own)).await;
    let named = {
        let tasks = RESTORE_TASKS
            .iter()
            .zip(&answers)
            .flat_map(|(kind, answer)| answer.objects().map(|json| (*kind, json)));
        Restoring::of_tasks(&tasks)
    };
    answers.extend(ask_targets(asker, velero, &named).await);
    answers
}

/// What the tasks of an installation name outside its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    snapshots: BTreeSet<String>,
    restoring: Restoring,
}

impl Named {
    /// Reads it from tasks.
    pub(super) fn of_tasks<'a>(tasks: impl Iterator<Item = (TaskKind, &'a str)> + Clone) -> Self {
        Self {
            snapshots: targets::snapshot_namespaces(
                tasks
                    .clone()
                    .filter(|(kind, _)| *kind == TaskKind::DataUpload)
                    .map(|(_, json)| json),
            ),
            restoring: Restoring::of_tasks(&tasks.filter(|(kind, _)| RESTORE_TASKS.contains(kind))),
        }
    }
}

/// Lists what tasks name outside Velero's namespace; nothing while they name nothing.
pub(super) async fn ask_named(asker: &Asker<'_>, velero: &str, named: &Named) -> Vec<Answer> {
    let (mut answers, targets) = join(
        ask_snapshots(asker, velero, &named.snapshots),
        ask_targets(asker, velero, &named.restoring),
    )
    .await;
    answers.extend(targets);
    answers
}

/// What unfinished restore tasks belong to, and write into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Restoring {
    restores: BTreeSet<String>,
    targets: Vec<targets::Target>,
}

impl Restoring {
    fn of_tasks<'a>(tasks: &(impl Iterator<Item = (TaskKind, &'a str)> + Clone)) -> Self {
        Self {
            restores: targets::unfinished_restores(tasks.clone().map(|(_, json)| json)),
            targets: RESTORE_TASKS
                .into_iter()
                .flat_map(|kind| {
                    let own = tasks.clone().filter(move |(of, _)| *of == kind);
                    targets::of_unfinished(kind, own.map(|(_, json)| json))
                })
                .collect(),
        }
    }
}

/// Lists what restore tasks write into: by the label of their Restores in one list per kind, and then the
/// namespaces of those that no labelled list has shown, or could show.
async fn ask_targets(asker: &Asker<'_>, velero: &str, named: &Restoring) -> Vec<Answer> {
    let wanted = &named.targets;
    let mut labelled = ask_labelled(asker, targets::selectors(&named.restores)).await;
    let found: BTreeSet<targets::Target> = labelled
        .iter()
        .flat_map(|answer| {
            answer
                .objects()
                .filter_map(|json| targets::as_target(answer.question.resource, json))
        })
        .collect();
    let more = RESTORE_TARGETS.into_iter().flat_map(|resource| {
        // A list that broke off, or never came, says nothing of what to look for elsewhere, and a server
        // in trouble is not asked for more.
        let is_worth_it = labelled
            .iter()
            .filter(|answer| answer.question.resource == resource)
            .all(|answer| answer.failure.is_none() || is_refused(answer));
        let namespaces = if is_worth_it {
            targets::namespaces_to_look_in(resource, wanted, &found, velero)
        } else {
            Vec::new()
        };
        namespaces
            .into_iter()
            .map(move |namespace| (resource, namespace))
    });
    let more: Vec<Answer> = join_all(
        more.map(|(resource, namespace)| async move { ask_in(asker, resource, &namespace).await }),
    )
    .await;
    labelled.extend(more);
    labelled
}

async fn ask_labelled(asker: &Asker<'_>, selectors: Vec<String>) -> Vec<Answer> {
    let questions = selectors.into_iter().flat_map(|label_selector| {
        RESTORE_TARGETS.map(|resource| {
            let label_selector = label_selector.clone();
            ask_one(asker, resource, Scope::Selected { label_selector })
        })
    });
    join_all(questions).await
}

fn is_refused(answer: &Answer) -> bool {
    answer
        .failure
        .as_ref()
        .is_some_and(|failure| failure.kind == FailureKind::Forbidden)
}

async fn ask_in(asker: &Asker<'_>, resource: ResourceKind, namespace: &str) -> Answer {
    ask_one(asker, resource, Scope::Namespace(namespace.to_owned())).await
}

async fn ask_one(asker: &Asker<'_>, resource: ResourceKind, scope: Scope) -> Answer {
    let question = Question { resource, scope };
    list(asker, question, &Narrowed::default(), Depth::Everything).await
}
