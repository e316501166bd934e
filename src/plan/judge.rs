//! What the observations after an action mean.
//!
//! The outcome of a look is evidence by itself: a task that moved was only not looked at; one that was looked
//! at and refused beside a free slot proves a slot that nobody shows; one that was not looked at proves a
//! worker that does not go on, or an agent that is dead.

mod next;
mod restart;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Expectation, Expected, Plan, PlanAction};
use super::observe::{Ending, Observation, Observations, StepResult, StepSeen};
use super::outcome::{
    Achieved, NodeOutcome, NodeResult, Outcome, RestartStage, TaskOutcome, TaskResult,
};
use super::step::StepKind;
use crate::velero::{Phase, TaskRef};

/// Says what the observations after an action mean.
#[must_use]
pub fn judge(plan: &Plan, observations: &Observations) -> Outcome {
    let tasks = tasks::all(plan, observations, observations.looks.as_slice());
    let nodes = match plan.action {
        PlanAction::Nudge => Vec::new(),
        PlanAction::Restart => restart::nodes(plan, observations),
    };
    let achieved = achieved(plan, observations, &tasks, &nodes);
    let mut outcome = Outcome {
        action: plan.action,
        achieved,
        summary: String::new(),
        last_seen: observations.looks.last().map(|look| look.at),
        ending: observations.ending.clone(),
        steps: observations.steps.clone(),
        nodes,
        tasks,
        warnings: warnings(observations),
        next: Vec::new(),
    };
    outcome.summary = summary(&outcome);
    outcome.next = next::commands(plan, &outcome);
    outcome
}

/// What the user should know: what was told while it went on, and what the readings lacked.
fn warnings(observations: &Observations) -> Vec<String> {
    let mut warnings = observations.warnings.clone();
    let mut lacking: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for unread in observations.looks.iter().flat_map(|look| &look.unread) {
        let (times, why) = lacking.entry(unread.resource).or_default();
        *times += 1;
        *why = unread.why();
    }
    let all = observations.looks.len();
    warnings.extend(
        lacking
            .into_values()
            .map(|(times, why)| format!("{why} in {times} of {all} readings after the step")),
    );
    warnings
}

/// Whether a step is part of the action itself, or of the trail alone.
fn is_essential(seen: &StepSeen) -> bool {
    match seen.step.kind {
        StepKind::AnnotateTask { .. }
        | StepKind::AnnotatePod { .. }
        | StepKind::DeletePod { .. } => true,
        StepKind::MarkReplacement { .. } => false,
    }
}

/// Whether a step changed something, or may have.
fn was_made(seen: &StepSeen) -> bool {
    match seen.result {
        StepResult::Done | StepResult::Unknown(_) => true,
        StepResult::DryRun
        | StepResult::Changed(_)
        | StepResult::Gone
        | StepResult::Forbidden(_)
        | StepResult::Refused(_)
        | StepResult::NotTried => false,
    }
}

/// Whether a step is a nudge after a restart that was named instead of made: `--no-follow-up`, or a right that
/// is missing.
fn is_left_to_the_user(plan: &Plan, seen: &StepSeen) -> bool {
    plan.action == PlanAction::Restart
        && seen.result == StepResult::NotTried
        && seen.step.task().is_some()
}

fn achieved(
    plan: &Plan,
    observations: &Observations,
    tasks: &[TaskOutcome],
    nodes: &[NodeOutcome],
) -> Achieved {
    if !observations.steps.iter().any(was_made) {
        return Achieved::NothingChanged;
    }
    let all_met = plan.expected.iter().all(|expected| is_met(expected, tasks));
    let all_recovered = nodes
        .iter()
        .all(|node| node.result == NodeResult::Recovered);
    // A task that moved on needed no touch any more; one that was not touched and stayed is not achieved.
    let untouched: BTreeSet<&TaskRef> = observations
        .steps
        .iter()
        .filter(|seen| is_essential(seen) && !was_made(seen) && !is_left_to_the_user(plan, seen))
        .filter_map(|seen| seen.step.task())
        .collect();
    let left = tasks.iter().any(|task| {
        untouched.contains(&task.task)
            && !matches!(
                task.result,
                TaskResult::Moved | TaskResult::Ended | TaskResult::Gone
            )
    });
    if all_met && all_recovered && !left && !observations.looks.is_empty() {
        Achieved::Yes
    } else {
        Achieved::No
    }
}

/// Whether enough of the tasks of an expectation did what they should.
fn is_met(expected: &Expectation, tasks: &[TaskOutcome]) -> bool {
    let met = tasks
        .iter()
        .filter(|task| expected.tasks.contains(&task.task))
        .filter(|task| did(expected.what, task))
        .count();
    met >= expected.at_least
}

fn did(what: Expected, task: &TaskOutcome) -> bool {
    let completed = task.after == Some(Phase::Completed);
    match (what, task.result) {
        // A task that is Canceling neither goes on nor has ended.
        (Expected::Move, TaskResult::Moved) => !task.is_canceling(),
        (Expected::Resume | Expected::End, TaskResult::Moved) => completed,
        (Expected::End, TaskResult::Ended | TaskResult::Gone)
        | (Expected::Resume, TaskResult::Unchanged) => true,
        (
            Expected::Move | Expected::End | Expected::Resume,
            TaskResult::RefusedSlot
            | TaskResult::Queued
            | TaskResult::LookedAt
            | TaskResult::NotLookedAt
            | TaskResult::Unknown,
        )
        | (Expected::Move | Expected::Resume, TaskResult::Ended | TaskResult::Gone)
        | (Expected::Move | Expected::End, TaskResult::Unchanged) => false,
    }
}

/// Returns the looks up to one of them.
fn until(looks: &[Observation], last: usize) -> &[Observation] {
    looks.get(..=last).unwrap_or(looks)
}

fn summary(outcome: &Outcome) -> String {
    let ending = match &outcome.ending {
        Ending::Decided => String::new(),
        Ending::TimeLimit => "; the time limit passed".to_owned(),
        Ending::Interrupted => "; interrupted, what was begun goes on".to_owned(),
        Ending::ServerLost(_) => "; the API server could not be asked any more".to_owned(),
    };
    let what = match outcome.achieved {
        Achieved::NothingChanged => {
            let dry = !outcome.steps.is_empty()
                && outcome
                    .steps
                    .iter()
                    .all(|seen| seen.result == StepResult::DryRun);
            return if dry {
                "nothing was changed: this was a dry run".to_owned()
            } else {
                format!("nothing was changed{ending}")
            };
        }
        Achieved::Yes | Achieved::No => match outcome.action {
            PlanAction::Restart => nodes_in_words(&outcome.nodes),
            PlanAction::Nudge => tasks_in_words(&outcome.tasks),
        },
    };
    format!("{what}{ending}")
}

fn nodes_in_words(nodes: &[NodeOutcome]) -> String {
    let of = |wanted: fn(&NodeResult) -> bool| -> Vec<String> {
        nodes
            .iter()
            .filter(|node| wanted(&node.result))
            .map(|node| node.node.clone())
            .collect()
    };
    let mut words = Vec::new();
    let recovered = of(|result| *result == NodeResult::Recovered);
    if !recovered.is_empty() {
        words.push(format!("{} recovered", super::common::listed(&recovered)));
    }
    for node in nodes {
        if let NodeResult::NotRecovered(stage) = node.result {
            let lacks = match &node.unseen {
                Some(why) => format!("{}: {why}", not_known(stage)),
                None => lacks(stage).to_owned(),
            };
            let verdict = match node.unseen {
                Some(_) => "is not known to have recovered",
                None => "did not recover",
            };
            words.push(format!("{} {verdict}: {lacks}", node.node));
        }
    }
    let not_tried = of(|result| *result == NodeResult::NotTried);
    if !not_tried.is_empty() {
        words.push(format!("{} not tried", super::common::listed(&not_tried)));
    }
    words.join("; ")
}

/// What did not happen after a stage.
const fn lacks(stage: RestartStage) -> &'static str {
    match stage {
        RestartStage::Planned => "its node-agent pod was not deleted",
        RestartStage::Deleted => "the old node-agent pod is still there",
        RestartStage::Gone => "no new node-agent pod was made",
        RestartStage::Replaced => "the new node-agent pod is not ready",
        RestartStage::Ready => "the new node-agent has not logged its start",
        RestartStage::Started => "what ran before is not taken up again",
        RestartStage::Resumed => "what was stuck does not move",
        RestartStage::Moving => "it moves, and not everything that was expected happened",
    }
}

/// What is not known after a stage, where nothing could be seen any more.
const fn not_known(stage: RestartStage) -> &'static str {
    match stage {
        RestartStage::Planned => "whether its node-agent pod was deleted is not known",
        RestartStage::Deleted => {
            "its node-agent pod was to be deleted, and whether it is gone is not known"
        }
        RestartStage::Gone => "whether a new node-agent pod was made is not known",
        RestartStage::Replaced => "whether the new node-agent pod is ready is not known",
        RestartStage::Ready => "whether the new node-agent has started is not known",
        RestartStage::Started => "whether what ran before is taken up again is not known",
        RestartStage::Resumed => "whether what was stuck moves is not known",
        RestartStage::Moving => "whether everything that was expected happened is not known",
    }
}

fn tasks_in_words(tasks: &[TaskOutcome]) -> String {
    let canceling: Vec<&TaskRef> = tasks
        .iter()
        .filter(|task| task.is_canceling())
        .map(|task| &task.task)
        .collect();
    let (unseen, seen): (Vec<&TaskOutcome>, Vec<&TaskOutcome>) = tasks
        .iter()
        .partition(|task| task.result == TaskResult::Unknown && task.after.is_none());
    let words = [
        (TaskResult::Moved, "moved"),
        (TaskResult::Ended, "ended"),
        (
            TaskResult::RefusedSlot,
            "looked at and refused beside a free slot: a ghost slot",
        ),
        (
            TaskResult::Queued,
            "looked at, and every slot is held: in the queue",
        ),
        (TaskResult::LookedAt, "looked at, and as before"),
        (
            TaskResult::NotLookedAt,
            "not looked at: the worker is blocked, or the node-agent is dead",
        ),
        (TaskResult::Gone, "gone"),
        (TaskResult::Unchanged, "as before"),
        (
            TaskResult::Unknown,
            "as before, and whether a controller looked is not known",
        ),
    ];
    let parts: Vec<String> = words
        .iter()
        .filter_map(|(result, what)| {
            let of: Vec<&TaskRef> = seen
                .iter()
                .filter(|task| task.result == *result && !task.is_canceling())
                .map(|task| &task.task)
                .collect();
            (!of.is_empty()).then(|| format!("{} {what}", super::common::named(of)))
        })
        .chain((!canceling.is_empty()).then(|| {
            format!(
                "{} Canceling, and not ended yet",
                super::common::named(canceling.iter().copied())
            )
        }))
        .chain(unseen_in_words(&unseen))
        .collect();
    parts.join("; ")
}

/// What is said of tasks of which nothing was seen: why, and never that they are as before.
fn unseen_in_words(tasks: &[&TaskOutcome]) -> Option<String> {
    let first = tasks.first()?;
    let why = first
        .evidence
        .as_deref()
        .unwrap_or("nothing was seen after the step");
    let named = super::common::named(tasks.iter().map(|task| &task.task));
    Some(format!("what came of {named} is not known: {why}"))
}
