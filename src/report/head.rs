//! The head of every document: when, from where, and what could not be read.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Pins;
use super::filters::FILTER;
use crate::replay::Replay;
use crate::snapshot::{
    Coverage, Gap, GapReason, NowFrom, Observed, ResourceKind, Snapshot, SourceType,
};
use crate::velero::TaskKind;

/// The head of every document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// "Now".
    pub taken_at: Timestamp,
    /// Cluster or files.
    pub source: SourceType,
    /// Where "now" comes from.
    pub now_from: NowFrom,
    /// The API server, if there was one.
    pub server: Option<String>,
    /// The files, if there were any.
    pub paths: Vec<String>,
    /// Velero's namespace.
    pub namespace: String,
    /// The versions of the server and of the agents, without duplicates, oldest first.
    pub velero_versions: Vec<String>,
    /// What could not be read or known.
    pub gaps: Vec<Gap>,
    /// Task kinds of which nothing or not everything could be read.
    pub unread_tasks: Vec<UnreadTasks>,
    /// The concurrency numbers of the nodes.
    pub limits: SlotLimits,
    /// What follow-up commands name.
    pub pins: Pins,
}

/// The concurrency numbers that are in force on the nodes that have an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotLimits {
    /// The numbers, ascending, without duplicates.
    pub known: Vec<i64>,
    /// On how many nodes the number is not known.
    pub unknown: usize,
    /// Whether some node has a pool of its own for each kind (v1.12).
    pub per_kind: bool,
}

/// A task kind that could not be read, or only in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadTasks {
    /// The kind.
    pub kind: TaskKind,
    /// Why.
    pub reason: GapReason,
    /// Whether nothing at all was read.
    pub nothing_read: NothingRead,
}

/// Whether nothing at all of a kind was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NothingRead {
    /// Nothing was.
    Yes,
    /// A part was.
    No,
}

impl Head {
    /// Makes the head of a document; gaps are ordered and without duplicates.
    pub(super) fn new<'g>(
        snapshot: &'g Snapshot,
        replay: &Replay<'_>,
        gaps: impl IntoIterator<Item = &'g Gap>,
        pins: &Pins,
    ) -> Self {
        let gaps: BTreeSet<Gap> = snapshot.gaps.iter().chain(gaps).cloned().collect();
        Self {
            taken_at: snapshot.taken_at,
            source: snapshot.source.source,
            now_from: snapshot.source.now_from,
            server: snapshot.source.server.clone(),
            paths: snapshot.source.paths.clone(),
            namespace: snapshot.namespace.clone(),
            velero_versions: versions(snapshot),
            gaps: gaps.into_iter().collect(),
            unread_tasks: unread_tasks(snapshot),
            limits: slot_limits(replay),
            pins: pins.clone(),
        }
    }

    /// Returns whether not one task kind could be read: then nothing is known of any slot.
    #[must_use]
    pub fn no_task_kind_was_read(&self) -> bool {
        self.unread_tasks
            .iter()
            .filter(|unread| unread.nothing_read == NothingRead::Yes)
            .count()
            == TaskKind::ALL.len()
    }

    /// Returns the kinds that may hide tasks: those refused, cut or broken. A kind that a file does not
    /// hold, or that the cluster does not know, hides nothing by itself.
    pub fn hidden_tasks(&self) -> impl Iterator<Item = &UnreadTasks> {
        self.unread_tasks
            .iter()
            .filter(|unread| match unread.reason {
                GapReason::NotInInput | GapReason::NotFound => false,
                GapReason::Forbidden
                | GapReason::Malformed
                | GapReason::Partial
                | GapReason::Timeout
                | GapReason::Unsupported => true,
            })
    }

    /// Returns what the filters name and what occurs nowhere, one sentence each.
    pub fn unmatched_filters(&self) -> impl Iterator<Item = &str> {
        self.gaps
            .iter()
            .filter(|gap| gap.resource == FILTER && gap.reason == GapReason::NotFound)
            .map(|gap| gap.message.as_str())
    }

    /// Returns whether the time limit cut the reading.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.gaps.iter().any(|gap| gap.reason == GapReason::Timeout)
    }
}

fn unread_tasks(snapshot: &Snapshot) -> Vec<UnreadTasks> {
    let of = |kind: TaskKind| {
        let (reason, nothing_read) =
            match snapshot.coverage_of(ResourceKind::Task(kind), &snapshot.namespace) {
                Coverage::Listed | Coverage::Present => return None,
                Coverage::Partial => (GapReason::Partial, NothingRead::No),
                Coverage::Unreadable(reason) => (reason, NothingRead::Yes),
            };
        Some(UnreadTasks {
            kind,
            reason,
            nothing_read,
        })
    };
    TaskKind::ALL.into_iter().filter_map(of).collect()
}

fn slot_limits(replay: &Replay<'_>) -> SlotLimits {
    let nodes = || replay.nodes.values().filter(|node| node.agent.is_some());
    let known: BTreeSet<i64> = nodes().filter_map(|node| node.limit.in_force).collect();
    SlotLimits {
        known: known.into_iter().collect(),
        unknown: nodes().filter(|node| node.limit.in_force.is_none()).count(),
        per_kind: nodes().any(|node| node.pools.len() > 1),
    }
}

fn versions(snapshot: &Snapshot) -> Vec<String> {
    let seen = snapshot
        .agents
        .iter()
        .map(|agent| &agent.version)
        .chain([&snapshot.server_version])
        .filter_map(|version| match version {
            Observed::Seen(version) => Some(plain_version(&version.to_string())),
            Observed::Absent | Observed::Unknown(_) => None,
        });
    let unique: BTreeSet<String> = seen.collect();
    let mut versions: Vec<String> = unique.into_iter().collect();
    versions.sort_by_cached_key(|version| numbers(version));
    versions
}

/// Returns a version without the `v` of image tags, as the documents show it.
pub(super) fn plain_version(text: &str) -> String {
    match text.strip_prefix('v') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => rest.to_owned(),
        Some(_) | None => text.to_owned(),
    }
}

/// Splits a version into its numbers, for an order that a reader expects; it decides nothing else.
fn numbers(version: &str) -> Vec<u64> {
    version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_shown_without_the_v_of_image_tags() {
        assert_eq!(plain_version("v1.17.1"), "1.17.1");
        assert_eq!(plain_version("main"), "main");
        assert_eq!(plain_version("velero"), "velero");
    }

    #[test]
    fn version_1_9_comes_before_1_17() {
        assert!(numbers("1.9.0") < numbers("1.17.0"));
    }
}
