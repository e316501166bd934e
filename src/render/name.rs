//! `-o name`: what can be pasted into kubectl, one a line.
//!
//! A name that is not a Kubernetes name cannot be pasted and might be hostile: it is left out.

use std::collections::BTreeSet;
use std::io::{self, Write};

use crate::report::action::{Plan, Step, StepResult};
use crate::report::{
    DiagnosisReport, ExplanationReport, OutcomeReport, ReplayReport, SimulationReport, StatusReport,
};
use crate::velero::{TaskKind, TaskRef};

/// Writes `node/NAME` for each node shown.
pub(super) fn status(out: &mut dyn Write, report: &StatusReport) -> io::Result<()> {
    for node in &report.nodes {
        if is_name(&node.name) {
            writeln!(out, "node/{}", node.name)?;
        }
    }
    Ok(())
}

/// Writes `KIND.velero.io/NAME` for each task that a finding shown is about.
pub(super) fn diagnosis(out: &mut dyn Write, report: &DiagnosisReport) -> io::Result<()> {
    let tasks: BTreeSet<&TaskRef> = report
        .findings
        .iter()
        .flat_map(|row| &row.finding.tasks)
        .collect();
    for task in tasks {
        write_task(out, task)?;
    }
    Ok(())
}

/// Writes `KIND.velero.io/NAME` for each task shown.
pub(super) fn replay(out: &mut dyn Write, report: &ReplayReport) -> io::Result<()> {
    for decision in &report.decisions {
        write_task(out, &decision.task)?;
    }
    Ok(())
}

/// Writes `KIND.velero.io/NAME` for each unfinished task meant, and each told in full.
pub(super) fn explanation(out: &mut dyn Write, report: &ExplanationReport) -> io::Result<()> {
    let unfinished = report.unfinished.iter().map(|line| &line.task);
    let told = report.tasks.iter().map(|told| &told.task);
    let tasks: BTreeSet<&TaskRef> = unfinished.chain(told).collect();
    for task in tasks {
        write_task(out, task)?;
    }
    Ok(())
}

/// Writes `KIND.velero.io/NAME` for each task shown.
pub(super) fn simulation(out: &mut dyn Write, report: &SimulationReport) -> io::Result<()> {
    let tasks = report.simulation.outcomes.first().map(|first| &first.tasks);
    for task in tasks.into_iter().flatten() {
        write_task(out, &task.task)?;
    }
    Ok(())
}

/// Writes `pod/NAME` or `KIND.velero.io/NAME` for each object that would be written; none where the plan is
/// refused.
pub(super) fn plan(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    for step in plan.executable() {
        write_step(out, step)?;
    }
    Ok(())
}

/// Writes the same for each object that was written.
pub(super) fn outcome(out: &mut dyn Write, report: &OutcomeReport) -> io::Result<()> {
    let made = report
        .outcome
        .steps
        .iter()
        .filter(|seen| matches!(seen.result, StepResult::Done | StepResult::DryRun));
    for seen in made {
        write_step(out, &seen.step)?;
    }
    Ok(())
}

fn write_step(out: &mut dyn Write, step: &Step) -> io::Result<()> {
    match (step.object(), step.task()) {
        (Some(pod), _) if pod.kind == "Pod" && is_name(&pod.name) => {
            writeln!(out, "pod/{}", pod.name)
        }
        (Some(_), Some(task)) => write_task(out, task),
        (Some(_) | None, _) => Ok(()),
    }
}

fn write_task(out: &mut dyn Write, task: &TaskRef) -> io::Result<()> {
    if is_name(&task.name) {
        writeln!(out, "{}.velero.io/{}", singular(task.kind), task.name)?;
    }
    Ok(())
}

const fn singular(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::DataUpload => "dataupload",
        TaskKind::DataDownload => "datadownload",
        TaskKind::PodVolumeBackup => "podvolumebackup",
        TaskKind::PodVolumeRestore => "podvolumerestore",
    }
}

/// Returns whether a text can be the name of a Kubernetes object (RFC 1123 subdomain characters).
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.')
}
