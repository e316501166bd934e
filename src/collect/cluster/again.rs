//! A second reading of what moves: the tasks and the pods of Velero's namespace. What a diagnosis looks at beside
//! them changes too seldom to be asked for every few seconds.

use futures_util::future::join_all;

use super::error::CollectError;
use super::list::{Answer, Depth, Narrowed, Question, list};
use super::{Cluster, CollectOptions, with_progress};
use crate::capture::{Capture, Listing, NowFrom, Outcome, ResourceKind, Scope, Text};
use crate::collect::kubectl_compat::Progress;
use crate::velero::TaskKind;

/// What is read again.
const MOVES: [ResourceKind; 5] = [
    ResourceKind::Task(TaskKind::DataUpload),
    ResourceKind::Task(TaskKind::DataDownload),
    ResourceKind::Task(TaskKind::PodVolumeBackup),
    ResourceKind::Task(TaskKind::PodVolumeRestore),
    ResourceKind::Pod,
];

impl Cluster {
    /// Reads the tasks and pods of a namespace again; everything else is taken from an earlier reading, logs and
    /// metrics included.
    ///
    /// # Errors
    ///
    /// A [`CollectError`] when nothing at all was answered. What is refused or late alone is a gap.
    pub async fn collect_again(
        &self,
        base: &Capture,
        namespace: &str,
        options: &CollectOptions,
        progress: Progress<'_>,
    ) -> Result<Capture, CollectError> {
        let asker = self.asker(options, progress);
        let questions = MOVES.map(|resource| Question {
            resource,
            scope: Scope::Namespace(namespace.to_owned()),
        });
        let everything = Narrowed::default();
        let answers =
            questions.map(|question| list(&asker, question, &everything, Depth::Everything));
        let answers = with_progress(&asker, join_all(answers)).await;
        if let Some(failure) = asker.verdict() {
            return Err(self.unusable(failure, options));
        }
        let mut capture = without(base, namespace);
        let fresh: Vec<Listing> = answers
            .into_iter()
            .map(|answer: Answer| answer.into_listing(&mut capture.texts))
            .collect();
        capture.listings.splice(0..0, fresh);
        if let Some(now) = asker.server_time() {
            capture.manifest.taken_at = Some(now);
            capture.manifest.now_from = NowFrom::Server;
        }
        Ok(capture)
    }
}

/// Copies a capture without what is read again, and without the texts that nothing points into then.
fn without(base: &Capture, namespace: &str) -> Capture {
    let is_kept = |listing: &&Listing| {
        !(MOVES.contains(&listing.resource)
            && listing.scope == Scope::Namespace(namespace.to_owned()))
    };
    let mut texts: Vec<Text> = Vec::new();
    let mut moved: Vec<Option<usize>> = vec![None; base.texts.len()];
    let mut listings: Vec<Listing> = base.listings.iter().filter(is_kept).cloned().collect();
    for listing in &mut listings {
        let items = match &mut listing.outcome {
            Outcome::Listed(items) | Outcome::Cut { items, .. } => items,
            Outcome::Refused { .. } => continue,
        };
        for item in items {
            let (Some(place), Some(text)) = (moved.get_mut(item.text), base.texts.get(item.text))
            else {
                continue;
            };
            item.text = *place.get_or_insert_with(|| {
                texts.push(text.clone());
                texts.len() - 1
            });
        }
    }
    Capture {
        manifest: base.manifest.clone(),
        texts,
        listings,
        logs: base.logs.clone(),
        metrics: base.metrics.clone(),
        problems: base.problems.clone(),
        earlier: base.earlier.clone(),
    }
}
