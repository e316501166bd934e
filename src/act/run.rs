//! The steps of a plan, one node after the other, and the watching after each.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::answer::{Failure, FailureKind};
use super::calls::{Effect, annotate, event, write};
use super::journal::{Journal, may_have_changed};
use super::rights::Rights;
use super::save_log::{SaveError, SaveLimits, SaveTo, save_log};
use super::send::send;
use super::stale::stale_node;
use super::watch::Settled;
use crate::capture::{AgentPod, Capture, Restarted};
use crate::collect::cluster::{Cluster, CollectOptions, Traces};
use crate::collect::kubectl_compat::{Progress, error_text};
use crate::plan::{
    FollowUps, LogMarks, NodePlan, Plan, PlanAction, Precondition, RightNeed, Since, Step,
    StepKind, StepResult, trail,
};
use crate::snapshot::Snapshot;
use crate::velero::ObjectRef;

/// How a plan is carried out.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much one reading may take.
    pub collect: CollectOptions,
    /// `--threshold`, in seconds.
    pub threshold_seconds: i64,
    /// `--reason`.
    pub reason: Option<String>,
    /// Whether tasks that a restart leaves unobserved are nudged.
    pub follow_ups: FollowUps,
    /// Whether the writes are real.
    pub effect: Effect,
    /// How long the watching after a nudge, or after the restart of one node, may take.
    pub limit: Duration,
    /// The least pause between two readings.
    pub pause: Duration,
    /// Whether logs of agents are read while watching.
    pub logs: Traces,
    /// Where the log of an agent is saved before its restart.
    pub save: Option<SaveTo>,
}

/// A plan that is being carried out.
pub struct Run<'r> {
    /// The cluster.
    pub cluster: &'r Cluster,
    /// What is done.
    pub plan: &'r Plan,
    /// The reading that the plan was made from.
    pub base: &'r Capture,
    /// What was seen in it.
    pub before: &'r Snapshot,
    /// Plans the restart of a node anew: before each node but the first, since the ones before take their time.
    pub replan: &'r dyn Fn(&Snapshot, &str) -> Result<Plan, String>,
    /// How.
    pub settings: &'r Settings,
    /// Which rights there are.
    pub rights: &'r Rights,
    /// Where it is written down.
    pub journal: &'r Journal,
    /// One call, one line for the user.
    pub say: Progress<'r>,
}

/// Steps that are made before anything is watched.
pub(super) struct Batch<'p> {
    /// The one node that they are about; `None` for a nudge, whose steps are all made at once.
    pub(super) node: Option<&'p str>,
    pub(super) steps: &'p [Step],
}

/// Whether the next step may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    On,
    Stop,
}

/// Whether the mark of a restart was settled, one way or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marked {
    Settled,
    /// The pod was written by somebody else between the reading and the mark.
    TooOld,
}

impl Run<'_> {
    /// Makes the steps of the plan that may be carried out, and watches what becomes of them. What was done and
    /// seen stands in the journal.
    ///
    /// # Errors
    ///
    /// When a log could not be saved: nothing was done to its node then, nor to those after it.
    pub async fn carry_out(&self) -> Result<(), SaveError> {
        self.journal.set_clock(Some(self.before.taken_at));
        let steps = self.plan.executable();
        let batches = batches(self.plan.action, steps);
        let mut rest = batches.iter();
        for (place, batch) in rest.by_ref().enumerate() {
            if place > 0
                && let Some(change) = self.changed_since(batch).await
            {
                let node = batch.node.unwrap_or("the next one");
                self.warn(format!(
                    "stopped before {node}, of which the plan is out of date: {change}"
                ));
                self.leave(batch);
                break;
            }
            if let Err(error) = self.save(batch).await {
                self.leave(batch);
                rest.for_each(|batch| self.leave(batch));
                return Err(error);
            }
            if self.make(batch).await == Settled::No {
                break;
            }
        }
        rest.for_each(|batch| self.leave(batch));
        Ok(())
    }

    /// Reads again, and returns what has changed about a node since the plan was shown.
    async fn changed_since(&self, batch: &Batch<'_>) -> Option<String> {
        let node = batch.node?;
        let capture = self
            .cluster
            .collect_again(
                self.base,
                &self.plan.namespace,
                &self.settings.collect,
                &|_: &str| {},
            )
            .await;
        let capture = match capture {
            Ok(capture) => capture,
            Err(error) => return Some(error_text(&error)),
        };
        self.journal.set_clock(capture.manifest.taken_at);
        match (self.replan)(&self.read(&capture), node) {
            Ok(fresh) => stale_node(self.plan, &fresh, node),
            Err(why) => Some(why),
        }
    }

    /// Writes down that the steps of a batch were not tried.
    fn leave(&self, batch: &Batch<'_>) {
        for step in batch.steps {
            self.journal.skip(step, StepResult::NotTried);
        }
    }

    /// Makes the steps of a batch and watches. Returns whether everything that was expected of it happened.
    async fn make(&self, batch: &Batch<'_>) -> Settled {
        let logs = match self.plan.action {
            PlanAction::Nudge => self.log_marks(batch).await,
            // The agent that looks is a new one, whose log is new.
            PlanAction::Restart => LogMarks::default(),
        };
        let mut since = None;
        let mut failed = Settled::Yes;
        let mut steps = batch.steps.iter();
        for step in steps.by_ref() {
            let Some((result, go)) = self.make_one(step).await else {
                continue;
            };
            if may_have_changed(&result) {
                since.get_or_insert(self.journal.now());
            } else if result != StepResult::DryRun {
                failed = Settled::No;
            }
            if go == Go::Stop {
                break;
            }
        }
        for step in steps {
            // A delete without an answer may have been made: the pod that replaces it is looked for all the same.
            let is_mark = matches!(step.kind, StepKind::MarkReplacement { .. });
            if !(is_mark && self.unanswered_delete(batch).is_some()) {
                self.journal.skip(step, StepResult::NotTried);
            }
        }
        let Some(since) = since else {
            // Nothing was written: there is nothing to watch for.
            self.leave_unmade_marks(batch);
            return failed;
        };
        let settled = self.watch(batch, &Since { at: since, logs }).await;
        self.leave_unmade_marks(batch);
        match (settled, failed) {
            (Settled::Yes, Settled::Yes) => Settled::Yes,
            (Settled::Yes | Settled::No, Settled::Yes | Settled::No) => Settled::No,
        }
    }

    /// Makes one step and leaves its trail; `None` for a step whose object is not there yet.
    async fn make_one(&self, step: &Step) -> Option<(StepResult, Go)> {
        let settings = self.settings;
        let marks = trail(step, self.journal.now(), settings.reason.as_deref());
        let call = write(step, &marks, settings.effect)?;
        let place = self.journal.begin(step);
        let answer = send(self.client(), self.request_limit(), &call).await;
        let (result, go) = match answer {
            Ok(done) => {
                self.journal.set_clock(done.at);
                (self.done(), Go::On)
            }
            Err(failure) => not_done(failure),
        };
        self.journal.finish(place, result.clone());
        self.tell(self.journal.now(), &step_words(step, &result));
        match (&result, &step.kind) {
            (StepResult::Done | StepResult::DryRun, _) => self.leave_event(step).await,
            // The annotation itself tells of it, if it is there.
            (
                StepResult::Unknown(_),
                StepKind::AnnotateTask { .. } | StepKind::AnnotatePod { .. },
            ) => self.warn(
                "no Event tells of the nudge, since it is not known whether it was made".to_owned(),
            ),
            (
                StepResult::Unknown(_)
                | StepResult::Changed(_)
                | StepResult::Gone
                | StepResult::Forbidden(_)
                | StepResult::Refused(_)
                | StepResult::NotTried,
                _,
            ) => {}
        }
        Some((result, go))
    }

    /// Returns the delete of a batch of which it is not known whether it was made.
    fn unanswered_delete<'b>(&self, batch: &Batch<'b>) -> Option<&'b Step> {
        batch.steps.iter().find(|step| {
            matches!(step.kind, StepKind::DeletePod { .. }) && self.journal.is_unanswered(step)
        })
    }

    /// Leaves the Event of a delete whose answer was lost, now that another pod shows that the old one is gone.
    pub(super) async fn leave_late_event(&self, batch: &Batch<'_>) {
        if let Some(delete) = self.unanswered_delete(batch) {
            self.leave_event(delete).await;
        }
    }

    const fn done(&self) -> StepResult {
        match self.settings.effect {
            Effect::Real => StepResult::Done,
            Effect::DryRun => StepResult::DryRun,
        }
    }

    /// Makes the nudges that a restart has made necessary.
    pub(super) async fn follow_up(&self, steps: &[Step]) {
        for step in steps {
            if self.journal.has_begun(step) {
                continue;
            }
            let allowed = if self.rights.denies(RightNeed::FollowUp, "patch", "pods") {
                FollowUps::NameOnly
            } else {
                self.settings.follow_ups
            };
            match allowed {
                FollowUps::Nudge => {
                    if let Some((_, Go::Stop)) = self.make_one(step).await {
                        return;
                    }
                }
                FollowUps::NameOnly => {
                    self.journal.skip(step, StepResult::NotTried);
                    if let Some(task) = step.task() {
                        self.tell(
                            self.journal.now(),
                            &format!("{task} needs a nudge, which is left to you"),
                        );
                    }
                }
            }
        }
    }

    /// Marks the pod that came after a restart. It is for the trail alone.
    pub(super) async fn mark(
        &self,
        step: &Step,
        pod: &ObjectRef,
        precondition: &Precondition,
    ) -> Marked {
        if self.rights.denies(RightNeed::Trail, "patch", "pods") {
            self.journal.skip(step, StepResult::NotTried);
            return Marked::Settled;
        }
        let marks = trail(step, self.journal.now(), self.settings.reason.as_deref());
        let place = self.journal.begin(step);
        let call = annotate(pod, precondition, &marks, self.settings.effect);
        let result = match send(self.client(), self.request_limit(), &call).await {
            Ok(done) => {
                self.journal.set_clock(done.at);
                self.done()
            }
            // The kubelet has written its status meanwhile; the next reading has its newer version.
            Err(failure) if failure.kind == FailureKind::Changed => {
                self.journal.forget(place);
                return Marked::TooOld;
            }
            Err(failure) => {
                self.warn(format!(
                    "the new pod {} is not marked with the restart: {}",
                    pod.name, failure.message
                ));
                not_done(failure).0
            }
        };
        self.journal.finish(place, result);
        Marked::Settled
    }

    fn leave_unmade_marks(&self, batch: &Batch<'_>) {
        for step in batch.steps {
            let is_mark = matches!(step.kind, StepKind::MarkReplacement { .. });
            if is_mark && !self.journal.has_marked(step) {
                self.journal.skip(step, StepResult::NotTried);
                if self.unanswered_delete(batch).is_some() {
                    self.warn(
                        "neither a mark nor an Event tells of the delete, which may have been made"
                            .to_owned(),
                    );
                }
            }
        }
    }

    async fn leave_event(&self, step: &Step) {
        if self.rights.denies(RightNeed::Trail, "create", "events") {
            return;
        }
        let at = self.journal.now();
        let marks = trail(step, at, self.settings.reason.as_deref());
        let uid = self.uid_of(step);
        let Some(call) = event(&marks, uid.as_deref(), at, self.settings.effect) else {
            return;
        };
        if let Err(failure) = send(self.client(), self.request_limit(), &call).await {
            self.warn(format!("no Event tells of it: {}", failure.message));
        }
    }

    /// Returns the UID of the object that the Event of a step is about.
    fn uid_of(&self, step: &Step) -> Option<String> {
        match &step.kind {
            StepKind::AnnotateTask { precondition, .. }
            | StepKind::DeletePod { precondition, .. } => Some(precondition.uid.clone()),
            StepKind::AnnotatePod { task, .. } => {
                self.before.tasks.get(task).map(|task| task.uid.clone())
            }
            StepKind::MarkReplacement { .. } => None,
        }
    }

    async fn save(&self, batch: &Batch<'_>) -> Result<(), SaveError> {
        let Some(to) = &self.settings.save else {
            return Ok(());
        };
        if self.settings.effect == Effect::DryRun {
            return Ok(());
        }
        let agent = batch.node.and_then(|node| self.plan.node(node));
        let Some(agent) = agent.and_then(|node| self.agent_to_save(node)) else {
            return Ok(());
        };
        let paths = save_log(self.client(), self.save_limits(), &agent, to).await?;
        for path in &paths {
            self.tell(
                self.journal.now(),
                &format!("saved the log of {} to {}", agent.pod, path.display()),
            );
        }
        self.journal.add_saved(paths);
        Ok(())
    }

    fn agent_to_save(&self, node: &NodePlan) -> Option<AgentPod> {
        let agent = node.agent.as_ref()?;
        Some(AgentPod {
            namespace: self.plan.namespace.clone(),
            pod: agent.pod.clone(),
            container: agent.container.clone(),
            started_at: agent.started,
            restarted: if agent.restarts > 0 {
                Restarted::Yes
            } else {
                Restarted::No
            },
        })
    }

    const fn client(&self) -> &kube::Client {
        self.cluster.client()
    }

    pub(super) fn request_limit(&self) -> Duration {
        let limit = self.settings.collect.request_timeout;
        if limit.is_zero() {
            self.settings.collect.time_limit
        } else {
            limit
        }
    }

    /// A log is saved within what the watching may take, which is what the user is ready to wait.
    fn save_limits(&self) -> SaveLimits {
        SaveLimits {
            wait: self.request_limit(),
            whole: self.settings.limit,
        }
    }

    /// Tells the user what is missing, now and in the outcome.
    fn warn(&self, what: String) {
        (self.say)(&format!("warning: {what}"));
        self.journal.warn(what);
    }

    /// Tells the user something that happened.
    pub(super) fn tell(&self, at: Timestamp, what: &str) {
        (self.say)(&format!("{} {what}", at.strftime("%H:%M:%SZ")));
    }

    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.settings.limit
    }
}

/// Splits the steps into what is made before anything is watched: a nudge at once, a restart node by node.
fn batches(action: PlanAction, steps: &[Step]) -> Vec<Batch<'_>> {
    match action {
        PlanAction::Nudge if steps.is_empty() => Vec::new(),
        PlanAction::Nudge => vec![Batch { node: None, steps }],
        PlanAction::Restart => steps
            .chunk_by(|one, next| one.node == next.node)
            .map(|steps| Batch {
                node: steps.first().and_then(|step| step.node.as_deref()),
                steps,
            })
            .collect(),
    }
}

/// Says what came of a step that was not made, and whether those after it may still be.
fn not_done(failure: Failure) -> (StepResult, Go) {
    match failure.kind {
        // Whoever was faster was it for this object alone.
        FailureKind::Changed => (StepResult::Changed(failure.message), Go::On),
        FailureKind::Gone => (StepResult::Gone, Go::On),
        FailureKind::Forbidden => (StepResult::Forbidden(failure.message), Go::Stop),
        // A server in trouble is not pushed further.
        FailureKind::Refused | FailureKind::NotSent => {
            (StepResult::Refused(failure.message), Go::Stop)
        }
        FailureKind::Unknown => (StepResult::Unknown(failure.message), Go::Stop),
    }
}

/// Returns what came of a step, in words.
fn step_words(step: &Step, result: &StepResult) -> String {
    let object = step
        .object()
        .map_or_else(String::new, |object| object.to_string());
    let (done, would, not) = match &step.kind {
        StepKind::DeletePod { .. } => ("deleted", "would delete", "not deleted"),
        StepKind::AnnotateTask { .. }
        | StepKind::AnnotatePod { .. }
        | StepKind::MarkReplacement { .. } => ("annotated", "would annotate", "not annotated"),
    };
    let place = match (&step.kind, &step.node) {
        (StepKind::DeletePod { .. }, Some(node)) => format!(" of node {node}"),
        (StepKind::AnnotatePod { task, .. }, _) => format!(", the mover pod of {task}"),
        (
            StepKind::DeletePod { .. }
            | StepKind::AnnotateTask { .. }
            | StepKind::MarkReplacement { .. },
            _,
        ) => String::new(),
    };
    match result {
        StepResult::Done => format!("{done} {object}{place}"),
        StepResult::DryRun => format!("{would} {object}{place} (server dry run)"),
        StepResult::Changed(words) => {
            format!("{object}{place} has changed since the plan and was left alone: {words}")
        }
        StepResult::Gone => format!("{object}{place} is gone, nothing was done to it"),
        StepResult::Forbidden(words) | StepResult::Refused(words) => {
            format!("{not} {object}{place}: {words}")
        }
        StepResult::Unknown(words) => {
            format!("no answer about {object}{place}, so it may or may not be {done}: {words}")
        }
        StepResult::NotTried => format!("{object}{place}: not tried"),
    }
}
