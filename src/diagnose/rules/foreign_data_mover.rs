//! Row 0: tasks of another data mover. Velero's node-agents pass over them without a word, so they are
//! never part of a queue or of a stuck verdict (v1.18.2 `pkg/datamover/util.go`, main
//! `pkg/util/datamover/datamover.go`).

use std::collections::BTreeSet;

use super::words;
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Confidence, Finding, FindingId, Severity};
use crate::replay::Situation;

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let foreign: Vec<_> = case
        .tasks()
        .filter(|task| task.situation == Situation::Foreign)
        .collect();
    if foreign.is_empty() {
        return;
    }
    let tasks: Vec<_> = foreign
        .iter()
        .map(|task| task.task.reference.clone())
        .collect();
    let movers: BTreeSet<&str> = foreign
        .iter()
        .map(|task| task.task.data_mover.as_str())
        .collect();
    let mut finding = Finding::new(
        FindingId::ForeignDataMover,
        Severity::Info,
        // The field alone decides, whatever else is or is not in the input.
        Confidence::Certain,
        format!(
            "{} {} to the data mover {}: Velero's node-agents do not touch them, ask its owner",
            words::tasks(&tasks),
            words::verb(tasks.len(), "belongs", "belong"),
            words::names(movers.iter().copied()),
        ),
    );
    finding.since = words::earliest(foreign.iter().map(|task| task.task.created));
    finding.evidence = foreign
        .iter()
        .take(words::EVIDENCE_SHOWN)
        .map(|task| words::task_field(task.task, ".spec.datamover", &task.task.data_mover))
        .collect();
    finding.tasks = tasks;
    out.findings.push(finding);
}
