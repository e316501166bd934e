//! What an action would do, and what came of it, as it is shown.

use super::{Head, Pins};
use crate::diagnose::Diagnosis;
use crate::plan::Known;
pub use crate::plan::{
    Achieved, AgentBill, Concern, ConfirmBy, Confirmation, EVENT_NUDGE, EVENT_RESTART, Earlier,
    Effect, Ending, Expectation, Expected, FollowUp, Force, Instead, LeftOut, NeededRight,
    NextCommand, NodeOutcome, NodePlan, NodeResult, Outcome, Override, Plan, PlanAction, Probe,
    Refusal, RefusalCode, RestartStage, RightNeed, SaveLog, StageSeen, Step, StepKind, StepResult,
    StepSeen, TaskEffect, TaskOutcome, TaskResult, Verdict,
};
use crate::replay::Replay;
use crate::snapshot::Snapshot;

/// The answer of `nudge` and `restart` before anything is done.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanReport {
    /// The head.
    pub head: Head,
    /// The plan; its commands are pinned to the cluster and namespace.
    pub plan: Plan,
}

/// The answer of `nudge` and `restart` after what was done.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeReport {
    /// The head of the reading that the plan rested on, with the time of the last look.
    pub head: Head,
    /// The plan that was carried out.
    pub plan: Plan,
    /// What came of it; its commands are pinned to the cluster and namespace.
    pub outcome: Outcome,
}

impl PlanReport {
    /// Makes the answer from a plan.
    #[must_use]
    pub fn new(known: Known<'_, '_>, plan: Plan, pins: &Pins) -> Self {
        Self {
            head: head(known.snapshot, known.replay, known.diagnosis, pins),
            plan: pinned(plan, pins),
        }
    }

    /// Makes the answer after the plan was carried out.
    #[must_use]
    pub fn outcome(self, mut outcome: Outcome, pins: &Pins) -> OutcomeReport {
        let mut head = self.head;
        if let Some(seen) = outcome.last_seen {
            head.taken_at = seen;
        }
        outcome.next = outcome
            .next
            .into_iter()
            .filter_map(|mut next| {
                next.command = pins.fill(&next.command, &self.plan.namespace)?;
                Some(next)
            })
            .collect();
        OutcomeReport {
            head,
            plan: self.plan,
            outcome,
        }
    }
}

fn head(snapshot: &Snapshot, replay: &Replay<'_>, diagnosis: &Diagnosis, pins: &Pins) -> Head {
    let gaps = replay.gaps.iter().chain(&diagnosis.gaps);
    Head::new(snapshot, replay, gaps, pins)
}

/// Pins the commands of a plan; one that cannot be pinned is left out, and what it does stays.
fn pinned(mut plan: Plan, pins: &Pins) -> Plan {
    let namespace = plan.namespace.clone();
    let pin = |instead: &mut Vec<Instead>| {
        for one in instead {
            one.command = one
                .command
                .take()
                .and_then(|command| pins.fill(&command, &namespace));
        }
    };
    for refusal in &mut plan.refusals {
        pin(&mut refusal.instead);
    }
    for left in &mut plan.left_out {
        pin(&mut left.refusal.instead);
    }
    for node in &mut plan.nodes {
        if let Some(save) = node.save_log.as_mut() {
            save.command = pins.fill(&save.command, &namespace).unwrap_or_default();
        }
    }
    plan
}
