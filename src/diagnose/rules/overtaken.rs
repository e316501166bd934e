//! Tasks that went on after their objects were read: the logs are read after them, and in a bundle of files
//! the two need not be of one moment. Then the phase of an object is of the past, and what it would mean by now is
//! neither a finding nor a proof of health.

use jiff::Timestamp;

use super::words;
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::FindingId;
use crate::replay::{Situation, TaskReplay};
use crate::snapshot::log_evidence::LogEvidence;
use crate::snapshot::{Gap, GapReason, ManagedFields, NowFrom};
use crate::velero::{Phase, TaskRef};

/// For how long, in seconds, the objects may lag behind the logs that were read after them: a large cluster is
/// read within that time, and a callback writes its task's end last.
const BEHIND_SECONDS: i64 = 120;

/// How much later than a line the write may be, in seconds, that the line announces.
const WRITE_SECONDS: i64 = 30;

/// How far the log shows a task to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Accepted,
    Prepared,
    LetIn,
    Ended,
}

impl Step {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Prepared => "prepared",
            Self::LetIn => "let in",
            Self::Ended => "ended",
        }
    }

    /// The step that a phase shows to be done; `None` where nothing can come after it.
    const fn of(task: &TaskReplay<'_>) -> Option<Option<Self>> {
        match task.task.phase {
            Phase::New => Some(None),
            Phase::Accepted => Some(Some(Self::Accepted)),
            // One whose phase went back was let in.
            Phase::Prepared if matches!(task.situation, Situation::Rewound { .. }) => {
                Some(Some(Self::LetIn))
            }
            Phase::Prepared => Some(Some(Self::Prepared)),
            Phase::InProgress | Phase::Canceling => Some(Some(Self::LetIn)),
            Phase::Completed | Phase::Failed | Phase::Canceled | Phase::Other(_) => None,
        }
    }
}

/// Whether a log that is not of the cluster may be newer than the objects beside it.
pub(super) const fn objects_may_be_old(case: &Case<'_, '_>) -> bool {
    match case.snapshot.source.now_from {
        NowFrom::NewestObject | NowFrom::Flag => true,
        NowFrom::Server | NowFrom::Capture => false,
    }
}

/// Returns what the log shows a task to have done since, and when.
fn step(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<(Step, Timestamp)> {
    let done = Step::of(task)?;
    // Whoever accepts and prepares a task need not be the agent of its node, and its node need not be known.
    let anywhere = done < Some(Step::Prepared);
    let own = task
        .node
        .as_deref()
        .and_then(|node| case.node(node)?.agent?.evidence.as_ref());
    let others: &[&LogEvidence] = if anywhere { &case.logs } else { &[] };
    own.iter()
        .chain(others)
        .filter_map(|log| furthest(log, &task.task.reference))
        .filter(|(step, at)| Some(*step) > done && is_later(case, task, *at))
        .max()
}

/// Returns the last step of a task that a log shows and does not take back.
fn furthest(log: &LogEvidence, task: &TaskRef) -> Option<(Step, Timestamp)> {
    let logged = log.task(task)?;
    let name = &task.name;
    // A cancel that was forced ends the task, whatever becomes of its entry.
    let goes_on = log.entries.contains_key(name) || log.failed_ends.contains_key(name);
    let asks = log.waits.contains_key(name) || log.unmarked.contains_key(name);
    [
        (
            Step::Ended,
            logged
                .left
                .filter(|_| !goes_on && !asks)
                .max(logged.canceled),
        ),
        (Step::LetIn, logged.admitted.filter(|_| !asks)),
        (Step::Prepared, logged.prepared),
        (Step::Accepted, logged.accepted),
    ]
    .into_iter()
    .find_map(|(step, at)| Some((step, at?)))
}

/// Whether a line is of this run of the task, and so late that the object may be older.
fn is_later(case: &Case<'_, '_>, task: &TaskReplay<'_>, at: Timestamp) -> bool {
    let writes = &task.task.writes;
    let written_since = writes.managed_fields == ManagedFields::Present
        && writes
            .node_agent
            .is_some_and(|write| write.duration_since(at).as_secs() > WRITE_SECONDS);
    let of_this_run = task
        .task
        .started
        .max(task.task.created)
        .is_none_or(|from| from <= at);
    let may_be_late = case.age(at) < BEHIND_SECONDS || objects_may_be_old(case);
    of_this_run && may_be_late && !written_since
}

/// Returns whether a log shows that a task has gone on since its object was read.
pub(super) fn is_overtaken(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> bool {
    step(case, task).is_some()
}

/// Returns when a log shows that a task was let in since, or ended after that.
pub(super) fn let_in(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<Timestamp> {
    step(case, task)
        .filter(|(step, _)| *step >= Step::LetIn)
        .map(|(_, at)| at)
}

/// The tasks that a rule would have told of, and that a log shows to have gone on.
pub(super) struct Overtaken<'c, 'a, 's> {
    case: &'c Case<'a, 's>,
    rule: FindingId,
    could_be: CouldBe,
    seen: Vec<(TaskRef, Step, Timestamp)>,
}

impl<'c, 'a, 's> Overtaken<'c, 'a, 's> {
    /// Begins for one rule.
    pub(super) const fn of(case: &'c Case<'a, 's>, rule: FindingId, could_be: CouldBe) -> Self {
        Self {
            case,
            rule,
            could_be,
            seen: Vec::new(),
        }
    }

    /// Returns whether the phase of a task still holds as far as the logs tell; keeps the task if it does not.
    pub(super) fn still_holds(&mut self, task: &TaskReplay<'_>) -> bool {
        let found = step(self.case, task);
        if let Some((step, at)) = found {
            self.seen.push((task.task.reference.clone(), step, at));
        }
        found.is_none()
    }

    /// Says of the tasks kept that the rule could not decide.
    pub(super) fn tell(mut self, out: &mut Proposals) {
        self.seen.sort();
        let tasks: Vec<TaskRef> = self.seen.iter().map(|(task, _, _)| task.clone()).collect();
        let Some((_, step, at)) = self.seen.first() else {
            return;
        };
        let what = match self.seen.len() {
            1 => format!("{} was {} at {at}", words::tasks(&tasks), step.as_str()),
            _ => format!(
                "{} went on, the first was {} at {at}",
                words::tasks(&tasks),
                step.as_str()
            ),
        };
        tell(out, self.rule, self.could_be, &what);
    }
}

/// Says what a log shows that the objects do not, and that a rule could not decide for it.
pub(super) fn tell(out: &mut Proposals, rule: FindingId, could_be: CouldBe, what: &str) {
    let why = format!("the log of the node-agent is newer than the objects: {what}");
    let gap = Gap::new(
        "log",
        GapReason::Partial,
        &why,
        "what its phase would mean is not concluded; objects read again would tell",
    );
    if !out.gaps.contains(&gap) {
        out.gaps.push(gap);
    }
    words::undecided(out, rule, could_be, why);
}

#[cfg(test)]
mod tests;
