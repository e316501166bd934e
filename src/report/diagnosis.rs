//! What is wrong, how sure, on what evidence, what to type next.

use jiff::Timestamp;

use super::{Filters, Head, Pins, StatusReport};
use crate::diagnose::{Action, Diagnosis, Finding, Severity, Verdict};
use crate::replay::Replay;
use crate::snapshot::{Gap, Snapshot};

/// The answer of `diagnose`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagnosisReport {
    /// The head.
    pub head: Head,
    /// The verdict of what is shown: without filters, that of the diagnosis.
    pub verdict: Verdict,
    /// Why nothing better than `unknown` can be said, one sentence each. Filters leave these as they are: what
    /// could not be read may concern every task. A filter that names what occurs nowhere is one of them.
    pub inconclusive: Vec<String>,
    /// The findings, by severity, id, node, first task.
    pub findings: Vec<FindingRow>,
    /// How many findings the filters left out.
    pub findings_not_shown: usize,
    /// How many tasks are unfinished, before any filter.
    pub unfinished: usize,
    /// The answer of `status` beside it; only after [`DiagnosisReport::with_status`].
    pub status: Option<Box<StatusReport>>,
}

/// One finding, its times worked out and its commands pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingRow {
    /// The finding; its actions carry `-n` and `--context`.
    pub finding: Finding,
    /// For how long it holds.
    pub for_seconds: Option<i64>,
}

/// From which severity on `diagnose` ends with exit code 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOn {
    /// Only critical findings.
    #[default]
    Critical,
    /// Warnings too.
    Warning,
    /// Every finding.
    Info,
    /// Never.
    Never,
}

impl FailOn {
    fn reaches(self, severity: Severity) -> bool {
        // Severities are ordered from the worst on.
        match self {
            Self::Critical => severity <= Severity::Critical,
            Self::Warning => severity <= Severity::Warning,
            Self::Info => severity <= Severity::Info,
            Self::Never => false,
        }
    }
}

/// How many findings of each severity are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Severities {
    /// Critical.
    pub critical: usize,
    /// Warnings.
    pub warning: usize,
    /// Notes.
    pub info: usize,
}

impl DiagnosisReport {
    /// Makes the answer from what was seen and concluded.
    #[must_use]
    pub fn new(
        snapshot: &Snapshot,
        replay: &Replay<'_>,
        diagnosis: &Diagnosis,
        filters: &Filters,
        pins: &Pins,
    ) -> Self {
        let findings: Vec<FindingRow> = diagnosis
            .findings
            .iter()
            .filter(|finding| filters.shows_finding(finding, &snapshot.tasks, replay))
            .map(|finding| row(finding, snapshot, pins))
            .collect();
        let deadline_gaps: Vec<&Gap> = findings
            .iter()
            .filter(|row| row.finding.deadline.is_none())
            .flat_map(|row| &row.finding.tasks)
            .filter_map(|task| replay.tasks.get(task)?.deadline_gap.as_ref())
            .collect();
        let unmatched = filters.unmatched(snapshot, replay);
        let gaps = replay
            .gaps
            .iter()
            .chain(&diagnosis.gaps)
            .chain(deadline_gaps)
            .chain(&unmatched);
        let mut inconclusive = diagnosis.inconclusive.clone();
        inconclusive.extend(unmatched.iter().map(|gap| gap.message.clone()));
        Self {
            head: Head::new(snapshot, replay, gaps, pins),
            verdict: if filters.is_set() {
                verdict_of_shown(diagnosis, &findings, &unmatched)
            } else {
                diagnosis.verdict
            },
            inconclusive,
            findings_not_shown: diagnosis.findings.len().saturating_sub(findings.len()),
            findings,
            unfinished: replay.tasks.len(),
            status: None,
        }
    }

    /// Adds the answer of `status`, for the format that tells both at once.
    #[must_use]
    pub fn with_status(mut self, status: StatusReport) -> Self {
        self.status = Some(Box::new(status));
        self
    }

    /// Counts what is shown.
    #[must_use]
    pub fn severities(&self) -> Severities {
        let mut counts = Severities::default();
        for row in &self.findings {
            match row.finding.severity {
                Severity::Critical => counts.critical += 1,
                Severity::Warning => counts.warning += 1,
                Severity::Info => counts.info += 1,
            }
        }
        counts
    }

    /// Returns whether nothing that is shown is stuck, and that is known.
    #[must_use]
    pub fn is_unstuck(&self) -> bool {
        match self.verdict {
            Verdict::Attention | Verdict::Healthy => !self.fails(FailOn::Critical),
            Verdict::Stuck | Verdict::Unknown => false,
        }
    }

    /// Returns whether a finding that is shown reaches a severity.
    #[must_use]
    pub fn fails(&self, fail_on: FailOn) -> bool {
        self.findings
            .iter()
            .any(|row| fail_on.reaches(row.finding.severity))
    }
}

/// Works the contract's verdict out from the findings that the filters leave.
fn verdict_of_shown(diagnosis: &Diagnosis, findings: &[FindingRow], unmatched: &[Gap]) -> Verdict {
    let worst = findings.iter().map(|row| row.finding.severity).min();
    let undecided = diagnosis.verdict == Verdict::Unknown
        || !diagnosis.inconclusive.is_empty()
        || !unmatched.is_empty();
    match worst {
        Some(Severity::Critical) => Verdict::Stuck,
        Some(Severity::Warning | Severity::Info) | None if undecided => Verdict::Unknown,
        Some(Severity::Warning) => Verdict::Attention,
        Some(Severity::Info) | None => Verdict::Healthy,
    }
}

pub(super) fn row(finding: &Finding, snapshot: &Snapshot, pins: &Pins) -> FindingRow {
    let elapsed = |since: Timestamp| snapshot.taken_at.duration_since(since).as_secs().max(0);
    let mut finding = finding.clone();
    finding.actions = finding
        .actions
        .into_iter()
        .filter_map(|action| {
            let command = pins.fill(&action.command, &snapshot.namespace)?;
            Some(Action { command, ..action })
        })
        .collect();
    FindingRow {
        for_seconds: finding.since.map(elapsed),
        finding,
    }
}
