//! What a rule may look at, and what it may say.

use jiff::Timestamp;

use super::finding::{Confidence, Finding, FindingId};
use crate::replay::{Deadline, NodeReplay, Replay, TaskReplay};
use crate::snapshot::log_evidence::LogEvidence;
use crate::snapshot::{Coverage, Gap, GapReason, ProfileBasis, ResourceKind, Snapshot, SourceType};
use crate::velero::{TaskKind, TaskRef};

/// Everything that a rule may look at.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct Case<'a, 's> {
    /// What was seen.
    pub(in crate::diagnose) snapshot: &'s Snapshot,
    /// What the replay makes of it.
    pub(in crate::diagnose) replay: &'a Replay<'s>,
    /// What the log of each node's agent tells, of those whose log was read: few, of perhaps a thousand.
    pub(in crate::diagnose) logs: Vec<&'s LogEvidence>,
}

impl<'a, 's> Case<'a, 's> {
    /// Makes the case of a snapshot and its replay.
    pub(in crate::diagnose) fn new(snapshot: &'s Snapshot, replay: &'a Replay<'s>) -> Self {
        let logs = replay
            .nodes
            .values()
            .filter_map(|node| node.agent?.evidence.as_ref());
        Self {
            snapshot,
            replay,
            logs: logs.collect(),
        }
    }

    /// Returns "now".
    pub(in crate::diagnose) const fn now(&self) -> Timestamp {
        self.snapshot.taken_at
    }

    /// Returns `--threshold` in seconds.
    pub(in crate::diagnose) const fn threshold(&self) -> i64 {
        self.replay.options.threshold_seconds
    }

    /// Returns how many seconds ago a time was; negative for the future.
    pub(in crate::diagnose) fn age(&self, time: Timestamp) -> i64 {
        self.now().duration_since(time).as_secs()
    }

    /// Returns whether a time is known and at least so many seconds ago.
    pub(in crate::diagnose) fn older_than(&self, time: Option<Timestamp>, seconds: i64) -> bool {
        time.is_some_and(|time| self.age(time) >= seconds)
    }

    /// Returns the replays of the unfinished tasks, in order.
    pub(in crate::diagnose) fn tasks(
        &self,
    ) -> impl Iterator<Item = &'a TaskReplay<'s>> + use<'a, 's> {
        self.replay.tasks.values()
    }

    /// Returns the replay of a node.
    pub(in crate::diagnose) fn node(&self, name: &str) -> Option<&'a NodeReplay<'s>> {
        self.replay.nodes.get(name)
    }

    /// Caps a confidence by what the input allows: with files, a task kind that is not in the input, or
    /// an agent whose version is not known, leaves at most `likely`.
    pub(in crate::diagnose) fn cap(&self, confidence: Confidence) -> Confidence {
        if self.is_capped() {
            confidence.min(Confidence::Likely)
        } else {
            confidence
        }
    }

    /// Caps a confidence that rests on a pod not being there: single documents of a file do not claim to be all.
    pub(in crate::diagnose) fn cap_absent_pod(&self, confidence: Confidence) -> Confidence {
        match self
            .snapshot
            .coverage_of(ResourceKind::Pod, &self.snapshot.namespace)
        {
            Coverage::Listed => confidence,
            Coverage::Present | Coverage::Partial | Coverage::Unreadable(_) => {
                confidence.min(Confidence::Likely)
            }
        }
    }

    fn is_capped(&self) -> bool {
        let kinds_missing = self.snapshot.source.source == SourceType::Files
            && self.snapshot.gaps.iter().any(|gap| {
                gap.reason == crate::snapshot::GapReason::NotInInput
                    && crate::velero::TaskKind::ALL
                        .iter()
                        .any(|kind| kind.plural() == gap.resource)
            });
        let version_guessed = self
            .snapshot
            .agents
            .iter()
            .any(|agent| agent.profile_basis == ProfileBasis::GuessedFromFields);
        kinds_missing || version_guessed
    }

    /// Returns the task kinds that exist and could not be listed as a whole: a refusal, a time limit, a
    /// list that was cut. A kind that is not in a file, or whose resource is not installed, is not one.
    pub(in crate::diagnose) fn refused_kinds(&self) -> Vec<TaskKind> {
        TaskKind::ALL
            .into_iter()
            .filter(|kind| match self.coverage(*kind) {
                Coverage::Listed | Coverage::Present => false,
                Coverage::Partial => true,
                Coverage::Unreadable(reason) => match reason {
                    GapReason::NotInInput | GapReason::NotFound => false,
                    GapReason::Forbidden
                    | GapReason::Malformed
                    | GapReason::Partial
                    | GapReason::Timeout
                    | GapReason::Unsupported => true,
                },
            })
            .collect()
    }

    /// Returns whether the API server knows none of the task kinds: Velero's custom resources are not
    /// installed there, or it is no API server of a cluster with Velero.
    pub(in crate::diagnose) fn no_task_kind_exists(&self) -> bool {
        TaskKind::ALL
            .into_iter()
            .all(|kind| self.coverage(kind) == Coverage::Unreadable(GapReason::NotFound))
    }

    /// Returns whether all tasks of a kind were listed, so that one that is not there is gone.
    pub(in crate::diagnose) fn lists(&self, kind: TaskKind) -> bool {
        self.coverage(kind) == Coverage::Listed
    }

    fn coverage(&self, kind: TaskKind) -> Coverage {
        self.snapshot
            .coverage_of(ResourceKind::Task(kind), &self.snapshot.namespace)
    }

    /// Returns the earliest deadline of some tasks.
    pub(in crate::diagnose) fn earliest_deadline<'t>(
        &self,
        tasks: impl IntoIterator<Item = &'t TaskRef>,
    ) -> Option<Deadline> {
        tasks
            .into_iter()
            .filter_map(|task| self.replay.tasks.get(task)?.deadline.clone())
            .min()
    }
}

/// What the rules say, before the table of precedence is applied.
#[derive(Clone, Debug, Default)]
pub(in crate::diagnose) struct Proposals {
    /// Findings.
    pub(in crate::diagnose) findings: Vec<Finding>,
    /// What a rule could not know.
    pub(in crate::diagnose) gaps: Vec<Gap>,
    /// Rules that lacked an input for an unfinished task.
    pub(in crate::diagnose) inconclusive: Vec<Inconclusive>,
}

/// A rule that could not decide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::diagnose) struct Inconclusive {
    /// The rule.
    pub(in crate::diagnose) rule: FindingId,
    /// Whether its finding could have been critical.
    pub(in crate::diagnose) could_be: CouldBe,
    /// What it lacked, one sentence.
    pub(in crate::diagnose) why: String,
}

/// The worst that an undecided rule could have said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::diagnose) enum CouldBe {
    /// A critical finding: the verdict is unknown.
    Critical,
    /// At most a warning: the verdict stands.
    Warning,
}
