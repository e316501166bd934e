//! Whether what a plan was shown for is still so.

use std::collections::BTreeSet;

use crate::plan::{Plan, PlanAction, Refusal, RefusalCode, Step, Verdict};
use crate::velero::TaskRef;

/// What is left of a plan that was shown.
#[derive(Clone, Debug)]
pub struct StillValid {
    /// The plan, without the steps that are out of date.
    pub plan: Plan,
    /// What was dropped, and why, one clause each.
    pub left_alone: Vec<String>,
}

/// Returns what is left of the plan that was shown, by one made from a newer reading. A nudge loses the tasks
/// that do not need it any more; a restart goes on as it was shown, or not at all.
///
/// # Errors
///
/// What has changed that the user has not agreed to, or that nothing is left.
pub fn still_valid(shown: &Plan, fresh: &Plan) -> Result<StillValid, String> {
    if shown.action == PlanAction::Restart {
        return match stale(shown, fresh) {
            Some(change) => Err(change),
            None => Ok(StillValid {
                plan: shown.clone(),
                left_alone: Vec::new(),
            }),
        };
    }
    let mut kept: Vec<Step> = Vec::new();
    let mut gone: Vec<&Step> = Vec::new();
    for step in shown.executable() {
        match same_touch(shown, step, fresh) {
            Some(fresh) => kept.push(fresh.clone()),
            None => gone.push(step),
        }
    }
    if let (Some(step), true) = (gone.first(), kept.is_empty()) {
        return Err(dropped_words(step, fresh));
    }
    if gone.is_empty() {
        return match other_bill(shown, fresh) {
            Some(change) => Err(change),
            None => Ok(StillValid {
                plan: Plan {
                    steps: kept,
                    ..shown.clone()
                },
                left_alone: Vec::new(),
            }),
        };
    }
    let dropped: BTreeSet<&TaskRef> = gone.iter().filter_map(|step| step.task()).collect();
    let left_alone = gone.iter().map(|step| dropped_words(step, fresh)).collect();
    let mut plan = Plan {
        steps: kept,
        ..shown.clone()
    };
    plan.targets.retain(|task| !dropped.contains(task));
    plan.effects
        .retain(|effect| !dropped.contains(&effect.task));
    for expected in &mut plan.expected {
        expected.tasks.retain(|task| !dropped.contains(task));
        expected.at_least = expected.at_least.min(expected.tasks.len());
    }
    plan.expected.retain(|expected| !expected.tasks.is_empty());
    Ok(StillValid { plan, left_alone })
}

/// Returns the touch of a newer plan that is the one that was shown: of the same object, for the same task in the
/// same phase, for the same end. That the object was written in between, as a running task is every few seconds,
/// takes nothing from an annotation.
fn same_touch<'f>(shown: &Plan, step: &Step, fresh: &'f Plan) -> Option<&'f Step> {
    let task = step.task()?;
    let phase = |plan: &Plan| {
        let effect = plan.effects.iter().find(|effect| effect.task == *task);
        effect.map(|effect| effect.phase.clone())
    };
    let wanted = |plan: &Plan| {
        let expected = plan.expected.iter();
        expected
            .filter(|expected| expected.tasks.contains(task))
            .map(|expected| expected.what)
            .next()
    };
    let uid = |step: &Step| step.precondition().map(|guard| guard.uid.clone());
    let is_same = |other: &&Step| {
        (other.kind.as_str(), other.object(), other.task())
            == (step.kind.as_str(), step.object(), step.task())
            && uid(other) == uid(step)
    };
    fresh
        .executable()
        .iter()
        .find(is_same)
        .filter(|_| phase(shown) == phase(fresh) && wanted(shown) == wanted(fresh))
}

/// Returns what has changed between the plan that was shown and one made from a newer reading, if anything did
/// that the user has not agreed to.
fn stale(shown: &Plan, fresh: &Plan) -> Option<String> {
    for step in shown.executable() {
        if !fresh.executable().contains(step) {
            return Some(dropped_words(step, fresh));
        }
    }
    other_bill(shown, fresh)
}

/// Returns what a newer plan costs, or is refused for, that the one that was shown did not say.
fn other_bill(shown: &Plan, fresh: &Plan) -> Option<String> {
    // What was forced and would be allowed by now is no more than was agreed to, such as the restart of an agent
    // whose task has become stuck meanwhile.
    let is_milder = shown.verdict() == Verdict::Forced && fresh.verdict() == Verdict::Allowed;
    if fresh.verdict() != shown.verdict() && !is_milder {
        let reason = fresh
            .refusals
            .first()
            .map_or("the plan is another one now", |refusal| {
                refusal.reason.as_str()
            });
        return Some(reason.to_owned());
    }
    refused_too(shown, fresh).or_else(|| lost_too(shown, fresh))
}

/// Returns a refusal that was not shown, and that `--force` was therefore not given for.
fn refused_too(shown: &Plan, fresh: &Plan) -> Option<String> {
    let same = |one: &Refusal, other: &Refusal| {
        // What is not known is in the words alone.
        (one.code, &one.node) == (other.code, &other.node)
            && (one.code != RefusalCode::NotKnown || one.reason == other.reason)
    };
    fresh
        .refusals
        .iter()
        .find(|refusal| !shown.refusals.iter().any(|known| same(known, refusal)))
        .map(|refusal| refusal.reason.clone())
}

/// Returns what has changed about the restart of one node, if anything did that the user has not agreed to.
/// `fresh` is a plan for that node alone.
#[must_use]
pub(super) fn stale_node(shown: &Plan, fresh: &Plan, node: &str) -> Option<String> {
    let gone = shown
        .executable()
        .iter()
        .filter(|step| step.node.as_deref() == Some(node))
        .find(|step| !fresh.executable().contains(step));
    match gone {
        Some(step) => Some(dropped_words(step, fresh)),
        None => lost_too(shown, fresh),
    }
}

fn dropped_words(step: &Step, fresh: &Plan) -> String {
    let object = step
        .object()
        .map_or_else(|| "an object".to_owned(), |object| object.to_string());
    let refusal = fresh
        .refusals
        .iter()
        .find(|refusal| refusal.node == step.node);
    match refusal {
        Some(refusal) => format!("{object}: {}", refusal.reason),
        None => format!("{object} is gone, has changed, or no longer needs it"),
    }
}

fn lost_too(shown: &Plan, fresh: &Plan) -> Option<String> {
    let lost = fresh
        .losses()
        .find(|loss| !shown.losses().any(|known| known.task == loss.task));
    lost.map(|loss| format!("{} would be lost too: {}", loss.task, loss.why))
}
