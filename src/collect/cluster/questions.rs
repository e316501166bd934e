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

/// Lists DataUploads, and the VolumeSnapshots that some of them wait for: those of all namespaces in one
/// list, or, where that is forbidden, of the few namespaces that matter.
async fn ask_uploads(asker: &Asker<'_>, velero: &str) -> Vec<Answer> {
    let uploads = ResourceKind::Task(TaskKind::DataUpload);
    let mut answers = vec![ask_in(asker, uploads, velero).await];
    let waited_for = targets::snapshot_namespaces(answers.iter().flat_map(Answer::objects));
    if waited_for.is_empty() {
        return answers;
    }
    let everywhere = ask_one(asker, ResourceKind::VolumeSnapshot, Scope::Cluster).await;
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

/// Lists the restore tasks and what they write into: by the label of their Restores in one list per kind,
/// and then the namespaces of those that no labelled list has shown, or could show.
async fn ask_restores(asker: &Asker<'_>, velero: &str) -> Vec<Answer> {
    let own = |kind| ask_in(asker, ResourceKind::Task(kind), velero);
    let mut answers = join_all(RESTORE_TASKS.map(own)).await;
    let unfinished = targets::unfinished_restores(answers.iter().flat_map(Answer::objects));
    let wanted: Vec<targets::Target> = RESTORE_TASKS
        .iter()
        .zip(&answers)
        .flat_map(|(kind, answer)| targets::of_unfinished(*kind, answer.objects()))
        .collect();
    let labelled = ask_labelled(asker, targets::selectors(&unfinished)).await;
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
            targets::namespaces_to_look_in(resource, &wanted, &found, velero)
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
    answers.extend(labelled);
    answers.extend(more);
    answers
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
