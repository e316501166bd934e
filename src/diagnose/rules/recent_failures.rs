//! Tasks that ended badly in the last 24 hours, one finding for each cause.

use std::collections::BTreeMap;

use super::{ends, words};
use crate::diagnose::case::{Case, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, Finding, FindingId, Severity};
use crate::snapshot::Task;
use crate::snapshot::log_evidence::Note;
use crate::velero::{Profile, TaskRef};

/// Proposes one finding for each cause.
pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut by_cause: BTreeMap<&'static str, Vec<&Task>> = BTreeMap::new();
    for task in case.snapshot.tasks.values() {
        let recent = ends::ended_at(task).is_some_and(|time| case.age(time) < ends::RECENT_SECONDS);
        if !recent || is_foreign(case, task) {
            continue;
        }
        if let Some(cause) = ends::cause(case, task) {
            by_cause.entry(cause).or_default().push(task);
        }
    }
    for (cause, tasks) in by_cause {
        out.findings.push(finding(case, cause, &tasks));
    }
}

/// Another data mover's task, by the rules of the agents that there are.
fn is_foreign(case: &Case<'_, '_>, task: &Task) -> bool {
    if !task.reference.kind.is_data_movement() {
        return false;
    }
    let newest = Profile::newest();
    let mut profiles = case.snapshot.agents.iter().map(|agent| &agent.profile);
    let handled = if case.snapshot.agents.is_empty() {
        newest.handles_data_mover(&task.data_mover)
    } else {
        profiles.any(|profile| profile.handles_data_mover(&task.data_mover))
    };
    !handled
}

fn finding(case: &Case<'_, '_>, cause: &'static str, ended: &[&Task]) -> Finding {
    let tasks: Vec<TaskRef> = ended.iter().map(|task| task.reference.clone()).collect();
    let confidence = match cause {
        "operation-timeout" | "data-path" | "other" => Confidence::Likely,
        _ => Confidence::Certain,
    };
    let why = match cause {
        "prepare-timeout" => "was not prepared in time",
        "operation-timeout" => "was cancelled at the operation timeout",
        "agent-start" => "was ended by a node-agent that started",
        "server-start" => "was cancelled when the velero server started",
        "pod-rejected" => "was cancelled because its mover pod could not run",
        "data-path" => "failed while it moved data",
        _ => "ended badly for another reason",
    };
    let why = if ended.len() == 1 {
        why.to_owned()
    } else {
        why.replacen("was ", "were ", 1)
            .replacen("because its mover pod", "because their mover pods", 1)
            .replacen("while it moved", "while they moved", 1)
    };
    let said = ended
        .iter()
        .map(|task| task.message.as_str())
        .find(|message| !message.is_empty())
        .map_or_else(String::new, |message| {
            format!(": {}", words::short(message))
        });
    let mut finding = Finding::new(
        FindingId::RecentFailures,
        Severity::Info,
        case.cap(confidence),
        format!("In the last 24 hours {} {why}{said}.", words::tasks(&tasks)),
    );
    finding.cause = Some(cause);
    finding.since = words::earliest(ended.iter().map(|task| ends::ended_at(task)));
    finding.evidence = ended
        .iter()
        .take(words::EVIDENCE_SHOWN)
        .flat_map(|task| evidence(task).into_iter().chain(diagnosis(case, task)))
        .collect();
    finding.actions = tasks.first().map(words::show_task).into_iter().collect();
    finding.tasks = tasks;
    finding
}

fn evidence(task: &Task) -> Vec<Evidence> {
    let mut evidence = vec![words::task_field(
        task,
        ".status.phase",
        task.phase.as_str(),
    )];
    if !task.message.is_empty() {
        evidence.push(words::task_field(task, ".status.message", &task.message));
    }
    let completed = task
        .completed
        .map_or_else(|| "not set".to_owned(), |time| time.to_string());
    evidence.push(words::task_field(
        task,
        ".status.completionTimestamp",
        &completed,
    ));
    evidence
}

/// Lines of an expose diagnosis that are repeated; the first ones name the pod and what it waits for.
const DIAGNOSIS_SHOWN: usize = 5;

/// What the agent that ended the task wrote of its expose just before it removed the objects. Any agent may
/// have been the one.
fn diagnosis(case: &Case<'_, '_>, task: &Task) -> Vec<Evidence> {
    let name = &task.reference.name;
    case.snapshot
        .agents
        .iter()
        .find_map(|agent| {
            let said = agent.evidence.as_ref()?.diagnoses.get(name)?;
            let lines = said.lines.iter().take(DIAGNOSIS_SHOWN).map(|line| {
                words::log_line(
                    agent,
                    &Note {
                        at: said.at,
                        text: line.clone(),
                    },
                )
            });
            Some(lines.collect())
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
