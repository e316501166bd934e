//! What came of each task.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::model::{Expected, Plan, TaskEffect};
use super::super::observe::{
    Look, NodeSeen, Observation, Observations, Reached, StepResult, TaskSeen, TaskState,
};
use super::super::outcome::{TaskOutcome, TaskResult};
use crate::velero::{Phase, TaskRef};

/// How long, in seconds, a log must be silent about a task before that means that nobody looked: an event
/// reaches a worker that is free within moments.
const SILENT_SECONDS: i64 = 15;

/// Returns what came of every task of a plan, by the looks so far.
pub(super) fn all(
    plan: &Plan,
    observations: &Observations,
    looks: &[Observation],
) -> Vec<TaskOutcome> {
    let expected: BTreeMap<&TaskRef, Expected> = plan
        .expected
        .iter()
        .flat_map(|expected| expected.tasks.iter().map(move |task| (task, expected.what)))
        .collect();
    let mut outcomes: Vec<TaskOutcome> = plan
        .effects
        .iter()
        .map(|effect| {
            let last = looks.last();
            let seen: Option<(&Observation, &TaskSeen)> = last.and_then(|look| {
                Some((
                    look,
                    look.tasks.iter().find(|seen| seen.task == effect.task)?,
                ))
            });
            let touched = touched_at(observations, &effect.task);
            let node = effect.node.as_deref().and_then(|name| {
                last.and_then(|look| look.nodes.iter().find(|node| node.node == name))
            });
            let what = expected.get(&effect.task).copied();
            let (result, evidence) = match seen {
                None => (TaskResult::Unknown, None),
                Some((_, seen)) => {
                    let case = Case {
                        before: &effect.phase,
                        bytes_before: bytes_after_old(plan, looks, effect),
                        what,
                        touched,
                        node,
                        holders: last.map_or(Holders::MayBeMore, |look| {
                            if look.may_lack_holders() {
                                Holders::MayBeMore
                            } else {
                                Holders::All
                            }
                        }),
                    };
                    case.result(seen)
                }
            };
            TaskOutcome {
                task: effect.task.clone(),
                node: effect.node.clone(),
                before: effect.phase.clone(),
                after: seen.and_then(|(_, seen)| match &seen.state {
                    TaskState::There { phase, .. } => Some(phase.clone()),
                    TaskState::Gone | TaskState::Unreadable(_) => None,
                }),
                at: seen.map(|(look, _)| look.at),
                result,
                evidence,
            }
        })
        .collect();
    outcomes.sort_by(|a, b| a.task.cmp(&b.task));
    outcomes
}

/// What a task had done when its old agent was seen to be gone: whatever was done since, the new one tells.
fn bytes_after_old(plan: &Plan, looks: &[Observation], effect: &TaskEffect) -> Option<i64> {
    let node = plan.node(effect.node.as_deref()?)?;
    let old = node.agent.as_ref()?.uid.as_str();
    let first = looks.iter().find(|look| {
        look.pods_unread().is_none()
            && look
                .nodes
                .iter()
                .find(|seen| seen.node == node.node)
                .is_some_and(|seen| seen.agents.iter().all(|agent| agent.uid != old))
    })?;
    let seen = first.tasks.iter().find(|seen| seen.task == effect.task)?;
    match &seen.state {
        TaskState::There { bytes_done, .. } => Some(bytes_done.unwrap_or(0)),
        TaskState::Gone | TaskState::Unreadable(_) => None,
    }
}

/// When a task was touched: by its own step, else by the first of all.
fn touched_at(observations: &Observations, task: &TaskRef) -> Option<Timestamp> {
    let made = || {
        observations
            .steps
            .iter()
            .filter(|seen| matches!(seen.result, StepResult::Done | StepResult::Unknown(_)))
    };
    made()
        .find(|seen| seen.step.task() == Some(task))
        .or_else(|| made().next())
        .map(|seen| seen.at)
}

struct Case<'c> {
    before: &'c Phase,
    bytes_before: Option<i64>,
    what: Option<Expected>,
    touched: Option<Timestamp>,
    node: Option<&'c NodeSeen>,
    holders: Holders,
}

/// Whether a reading shows every task that holds a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holders {
    All,
    MayBeMore,
}

impl Case<'_> {
    fn result(&self, seen: &TaskSeen) -> (TaskResult, Option<String>) {
        let (phase, message, bytes) = match &seen.state {
            TaskState::Gone => return (TaskResult::Gone, None),
            TaskState::Unreadable(reason) => {
                return (
                    TaskResult::Unknown,
                    Some(format!("it could not be read: {}", reason.as_str())),
                );
            }
            TaskState::There {
                phase,
                message,
                bytes_done,
                ..
            } => (phase, message, bytes_done),
        };
        let told = (!message.is_empty()).then(|| message.clone());
        match phase {
            Phase::Failed | Phase::Canceled => return (TaskResult::Ended, told),
            Phase::New
            | Phase::Accepted
            | Phase::Prepared
            | Phase::InProgress
            | Phase::Canceling
            | Phase::Completed
            | Phase::Other(_) => {}
        }
        if rank(phase) > rank(self.before) {
            return (TaskResult::Moved, told);
        }
        match self.what {
            None => (TaskResult::Unchanged, None),
            Some(Expected::Resume) => self.resumed(seen, *bytes),
            Some(Expected::Move | Expected::End) => self.stayed(seen),
        }
    }

    /// A task that ran and still does: whether the new agent has taken it up.
    fn resumed(&self, seen: &TaskSeen, bytes: Option<i64>) -> (TaskResult, Option<String>) {
        if let Look::Seen {
            line,
            reached: Reached::Resumed,
            ..
        } = &seen.look
        {
            return (TaskResult::Unchanged, Some(line.clone()));
        }
        if let (Some(before), Some(now)) = (self.bytes_before, bytes)
            && now > before
        {
            return (
                TaskResult::Unchanged,
                Some(format!("{} bytes since", now.saturating_sub(before))),
            );
        }
        // Its phase proves nothing: an agent whose cache is not ready in time resumes nothing, and cancels
        // nothing either (v1.15.2 … main pkg/cmd/cli/nodeagent/server.go).
        (
            TaskResult::Unknown,
            Some(
                "neither a line of the log nor its progress shows that it was taken up again"
                    .to_owned(),
            ),
        )
    }

    /// A task that did not move.
    fn stayed(&self, seen: &TaskSeen) -> (TaskResult, Option<String>) {
        match &seen.look {
            Look::Seen {
                line,
                reached: Reached::Slot,
                ..
            } => {
                let slots = self.node.map(|node| (node.holders.len(), node.limit));
                let result = match (slots, self.holders) {
                    (Some((held, Some(limit))), _)
                        if i64::try_from(held).unwrap_or(i64::MAX) >= limit =>
                    {
                        TaskResult::Queued
                    }
                    // Every limit is at least 1.
                    (Some((_, Some(_)) | (0, None)), Holders::All) => TaskResult::RefusedSlot,
                    (Some(_), Holders::MayBeMore) | (Some((_, None)) | None, _) => {
                        TaskResult::LookedAt
                    }
                };
                (result, Some(line.clone()))
            }
            Look::Seen {
                line,
                reached: Reached::Elsewhere | Reached::Resumed,
                ..
            } => (TaskResult::LookedAt, Some(line.clone())),
            Look::NotSeen { through } => {
                let silent = self
                    .touched
                    .map(|touched| through.duration_since(touched).as_secs());
                match silent {
                    Some(seconds) if seconds >= SILENT_SECONDS => (
                        TaskResult::NotLookedAt,
                        Some(format!(
                            "no line about it in the node-agent's log for {seconds} s"
                        )),
                    ),
                    Some(_) | None => (TaskResult::Unknown, None),
                }
            }
            Look::NotWatched(why) => (TaskResult::Unknown, Some(why.clone())),
        }
    }
}

/// How far a phase is on the way to its end.
const fn rank(phase: &Phase) -> u8 {
    match phase {
        Phase::Accepted => 1,
        Phase::Prepared => 2,
        Phase::InProgress => 3,
        Phase::Canceling => 4,
        Phase::Canceled | Phase::Completed | Phase::Failed => 5,
        // Where an unknown phase stands is not known: it never counts as a move.
        Phase::New | Phase::Other(_) => 0,
    }
}
