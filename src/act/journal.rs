//! What was done and seen so far. It outlives the work, so that an interrupted one can still be told.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::plan::{Ending, Observation, Observations, Step, StepResult, StepSeen};

/// What was done and seen so far.
#[derive(Debug, Default)]
pub struct Journal {
    seen: RefCell<Observations>,
    saved: RefCell<Vec<PathBuf>>,
    clock: Cell<Option<(Timestamp, Instant)>>,
}

impl Journal {
    /// Returns what was done and seen.
    #[must_use]
    pub fn observations(&self) -> Observations {
        self.seen.borrow().clone()
    }

    /// Returns the logs that were saved.
    #[must_use]
    pub fn saved(&self) -> Vec<PathBuf> {
        self.saved.borrow().clone()
    }

    /// Returns whether a write was sent that was or may have been carried out.
    #[must_use]
    pub fn may_have_changed(&self) -> bool {
        self.seen
            .borrow()
            .steps
            .iter()
            .any(|step| may_have_changed(&step.result))
    }

    /// Says why the watching ended.
    pub fn end(&self, ending: Ending) {
        self.seen.borrow_mut().ending = ending;
    }

    /// Returns the server's time, as far as it is known.
    pub(super) fn now(&self) -> Timestamp {
        let Some((at, since)) = self.clock.get() else {
            return Timestamp::UNIX_EPOCH;
        };
        let passed = SignedDuration::try_from(since.elapsed()).unwrap_or_default();
        at.checked_add(passed).unwrap_or(at)
    }

    /// Takes over the server's time from an answer.
    pub(super) fn set_clock(&self, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.clock.set(Some((at, Instant::now())));
        }
    }

    /// Writes down what the user should know afterwards too.
    pub(crate) fn warn(&self, what: String) {
        self.seen.borrow_mut().warnings.push(what);
    }

    pub(super) fn add_saved(&self, paths: Vec<PathBuf>) {
        self.saved.borrow_mut().extend(paths);
    }

    pub(super) fn add_look(&self, look: Observation) {
        self.seen.borrow_mut().looks.push(look);
    }

    /// Writes down a step before it is sent, and returns its place.
    pub(super) fn begin(&self, step: &Step) -> usize {
        let at = self.now();
        let steps = &mut self.seen.borrow_mut().steps;
        steps.push(StepSeen {
            step: step.clone(),
            at,
            result: StepResult::Unknown("interrupted before the answer came".to_owned()),
        });
        steps.len() - 1
    }

    /// Writes down what came of a step.
    pub(super) fn finish(&self, place: usize, result: StepResult) {
        let at = self.now();
        if let Some(step) = self.seen.borrow_mut().steps.get_mut(place) {
            step.at = at;
            step.result = result;
        }
    }

    /// Strikes out the newest step, which is to be made again from a newer reading.
    pub(super) fn forget(&self, place: usize) {
        self.seen.borrow_mut().steps.truncate(place);
    }

    /// Writes down a step that was not sent.
    pub(super) fn skip(&self, step: &Step, result: StepResult) {
        let place = self.begin(step);
        self.finish(place, result);
    }

    /// Returns whether a step like this was begun already.
    pub(super) fn has_begun(&self, step: &Step) -> bool {
        let object = step.object();
        self.seen.borrow().steps.iter().any(|seen| {
            seen.step.object() == object && seen.step.task() == step.task() && object.is_some()
        })
    }

    /// Returns whether no answer came to a step, so that it may or may not have been made.
    pub(super) fn is_unanswered(&self, step: &Step) -> bool {
        self.seen
            .borrow()
            .steps
            .iter()
            .any(|seen| seen.step == *step && matches!(seen.result, StepResult::Unknown(_)))
    }

    /// Returns whether the mark of a replacement was tried already.
    pub(super) fn has_marked(&self, step: &Step) -> bool {
        self.seen
            .borrow()
            .steps
            .iter()
            .any(|seen| seen.step == *step)
    }
}

pub(super) const fn may_have_changed(result: &StepResult) -> bool {
    match result {
        StepResult::Done | StepResult::Unknown(_) => true,
        StepResult::DryRun
        | StepResult::Changed(_)
        | StepResult::Gone
        | StepResult::Forbidden(_)
        | StepResult::Refused(_)
        | StepResult::NotTried => false,
    }
}
