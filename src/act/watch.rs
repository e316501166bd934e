//! Readings after a write, a few seconds apart, until everything that was expected happened or the time is over.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};

use super::calls::Effect;
use super::run::{Batch, Marked, Run};
use crate::capture::{AgentPod, Capture, GapReason, Restarted};
use crate::collect::cluster::Traces;
use crate::collect::kubectl_compat::error_text;
use crate::diagnose::diagnose;
use crate::plan::{
    Achieved, Ending, Known, LogMarks, NodeResult, Observation, Outcome, Precondition,
    RestartStage, Since, Step, StepKind, TaskOutcome, TaskResult, TaskState, follow_up,
    follow_up_open, judge, observe,
};
use crate::replay::{ReplayOptions, replay};
use crate::snapshot::{NodeAgent, ReadOptions, Snapshot, read};
use crate::velero::{ObjectRef, Phase, TaskRef};

/// The API server gets at least this many times the duration of a reading as a pause after it.
const REST: u32 = 4;
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// What the last reading before the time limit may take.
const LAST_READING: Duration = Duration::from_secs(1);
/// What the reading of logs just before a step may take.
const MARK_READING: Duration = Duration::from_secs(5);
/// The longest that one reading may take.
const LONGEST_READING: Duration = Duration::from_secs(30);
/// How often the new pod is read anew for its mark.
const MOST_MARKS: usize = 4;
/// Agents whose logs are read each time.
const MOST_LOGS: usize = 8;

/// Whether everything that was expected happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Yes,
    No,
}

/// What the user was told already, and what need not be tried again.
#[derive(Default)]
struct Told {
    stages: BTreeMap<String, Vec<RestartStage>>,
    phases: BTreeMap<TaskRef, Phase>,
    /// The server's last words, while it does not answer.
    lost: Option<String>,
    logs: Logs,
    late_event: LateEvent,
    /// How often the mark of the new pod came too late for the version that was read.
    marks_too_old: usize,
}

/// Whether the Event of a delete without an answer has still to be left.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum LateEvent {
    #[default]
    Open,
    Settled,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Logs {
    #[default]
    Readable,
    Forbidden,
}

impl Run<'_> {
    /// Looks again and again until everything that is expected of a batch happened, or the time is over.
    pub(super) async fn watch(&self, batch: &Batch<'_>, since: &Since) -> Settled {
        let deadline = self.deadline();
        let mut told = Told::default();
        loop {
            let began = Instant::now();
            let rest = deadline.saturating_duration_since(began);
            match self.read_again(rest, &mut told, batch).await {
                Ok(snapshot) => {
                    if told.lost.take().is_some() {
                        self.tell(self.journal.now(), "the API server answers again");
                    }
                    if self.look(&snapshot, batch, since, &mut told).await == Settled::Yes {
                        self.journal.end(Ending::Decided);
                        return Settled::Yes;
                    }
                }
                Err(words) => {
                    if told.lost.is_none() {
                        self.tell(
                            self.journal.now(),
                            &format!("the API server cannot be asked, trying on: {words}"),
                        );
                    }
                    told.lost = Some(words);
                }
            }
            let pause = (began.elapsed() * REST)
                .max(self.settings.pause)
                .min(LONGEST_PAUSE);
            let now = Instant::now();
            let last = deadline - LAST_READING;
            if now >= last {
                break;
            }
            sleep_until((now + pause).min(last)).await;
        }
        let ending = match told.lost {
            Some(words) => Ending::ServerLost(words),
            None => Ending::TimeLimit,
        };
        self.journal.end(ending);
        Settled::No
    }

    /// Reads what moves, and the logs of the agents concerned.
    async fn read_again(
        &self,
        rest: Duration,
        told: &mut Told,
        batch: &Batch<'_>,
    ) -> Result<Snapshot, String> {
        let mut options = self.settings.collect.clone();
        options.time_limit = rest.clamp(LAST_READING, LONGEST_READING);
        let quiet = |_: &str| {};
        let began = Instant::now();
        let mut capture = self
            .cluster
            .collect_again(self.base, &self.plan.namespace, &options, &quiet)
            .await
            .map_err(|error| error_text(&error))?;
        self.journal.set_clock(capture.manifest.taken_at);
        // Logs of the reading before say nothing of what came after.
        capture.logs.clear();
        let snapshot = self.read(&capture);
        let wanted = self.wanted_logs(&snapshot, batch, told.logs);
        if wanted.is_empty() {
            return Ok(snapshot);
        }
        let problems = capture.problems.len();
        self.cluster
            .add_logs(&mut capture, &wanted, &options, began.elapsed(), &quiet)
            .await;
        let forbidden = capture
            .problems
            .iter()
            .skip(problems)
            .any(|problem| problem.resource == "log" && problem.reason == GapReason::Forbidden);
        if forbidden {
            told.logs = Logs::Forbidden;
            (self.say)("warning: logs of node-agents may not be read, so phases alone tell");
        }
        Ok(self.read(&capture))
    }

    /// Reads what the logs of the agents concerned end with, just before a step. Without it the clocks of nodes
    /// and API server have to be compared, so it is worth a moment and no more.
    pub(super) async fn log_marks(&self, batch: &Batch<'_>) -> LogMarks {
        let wanted = match self.settings.effect {
            Effect::Real => self.wanted_logs(self.before, batch, Logs::Readable),
            Effect::DryRun => Vec::new(),
        };
        if wanted.is_empty() {
            return LogMarks::default();
        }
        let mut capture = self.base.clone();
        capture.logs.clear();
        let mut options = self.settings.collect.clone();
        options.time_limit = MARK_READING;
        self.cluster
            .add_logs(
                &mut capture,
                &wanted,
                &options,
                Duration::ZERO,
                &|_: &str| {},
            )
            .await;
        LogMarks::of(&self.read(&capture))
    }

    pub(super) fn read(&self, capture: &Capture) -> Snapshot {
        read(
            capture,
            &ReadOptions {
                namespace: self.plan.namespace.clone(),
                now: None,
            },
        )
    }

    fn wanted_logs(&self, snapshot: &Snapshot, batch: &Batch<'_>, logs: Logs) -> Vec<AgentPod> {
        match (self.settings.logs, logs) {
            (Traces::Never, _) | (Traces::Auto, Logs::Forbidden) => return Vec::new(),
            (Traces::Auto, Logs::Readable) => {}
        }
        // What has no node may be taken up by any agent.
        let anywhere = self.plan.effects.iter().any(|effect| effect.node.is_none());
        let concerns = |agent: &&NodeAgent| {
            agent.node().is_some_and(|node| match batch.node {
                Some(only) => node == only,
                None => anywhere || self.plan.node(node).is_some(),
            })
        };
        snapshot
            .agents
            .iter()
            .filter(concerns)
            // A container that does not run yet has no log.
            .filter(|agent| agent.started_at.is_some())
            .take(MOST_LOGS)
            .map(|agent| AgentPod {
                namespace: agent.pod.key.namespace.clone(),
                pod: agent.pod.key.name.clone(),
                container: agent.container.clone(),
                restarted: Restarted::No,
                started_at: agent.started_at,
            })
            .collect()
    }

    /// Takes a reading as an observation, makes the follow-ups that are due, and says what is new.
    async fn look(
        &self,
        snapshot: &Snapshot,
        batch: &Batch<'_>,
        since: &Since,
        told: &mut Told,
    ) -> Settled {
        let replayed = replay(
            snapshot,
            ReplayOptions {
                threshold_seconds: self.settings.threshold_seconds,
            },
        );
        let seen = observe(self.plan, snapshot, &replayed, since);
        self.tell_phases(&seen, told);
        self.journal.add_look(seen.clone());
        let mut is_open = false;
        if let Some(node) = batch.node {
            if self.mark_replacement(snapshot, batch, node, told).await == Marked::TooOld {
                told.marks_too_old += 1;
            }
            let diagnosis = diagnose(snapshot, &replayed);
            let known = Known {
                snapshot,
                replay: &replayed,
                diagnosis: &diagnosis,
            };
            let due: Vec<Step> = follow_up(self.plan, known)
                .into_iter()
                .filter(|step| step.node.as_deref() == Some(node))
                .collect();
            self.follow_up(&due).await;
            is_open = follow_up_open(self.plan, known)
                .iter()
                .any(|follow_up| follow_up.node == node);
        }
        let outcome = judge(self.plan, &self.journal.observations());
        self.tell_stages(&outcome, batch, told);
        let marks_are_due = batch.node.is_some()
            && (1..MOST_MARKS).contains(&told.marks_too_old)
            && batch.steps.iter().any(|step| {
                matches!(step.kind, StepKind::MarkReplacement { .. })
                    && !self.journal.has_marked(step)
            });
        if marks_are_due || is_open {
            return Settled::No;
        }
        self.settled(&outcome, batch, since.at, seen.at)
    }

    async fn mark_replacement(
        &self,
        snapshot: &Snapshot,
        batch: &Batch<'_>,
        node: &str,
        told: &mut Told,
    ) -> Marked {
        let marks = batch
            .steps
            .iter()
            .filter(|step| !self.journal.has_marked(step));
        for step in marks {
            let StepKind::MarkReplacement { replaces, owner } = &step.kind else {
                continue;
            };
            let replacement = snapshot.agents.iter().find(|agent| {
                agent.node() == Some(node)
                    && agent.pod.uid != *replaces
                    && agent.pod_works()
                    && agent.pod.owner.as_ref().map(|(_, name)| name) == owner.as_ref()
            });
            let Some(agent) = replacement else {
                continue;
            };
            // One Event is enough, however often the mark is tried.
            if std::mem::replace(&mut told.late_event, LateEvent::Settled) == LateEvent::Open {
                self.leave_late_event(batch).await;
            }
            let Some(resource_version) = agent.pod.resource_version.clone() else {
                continue;
            };
            let pod = ObjectRef::namespaced("Pod", &agent.pod.key.namespace, &agent.pod.key.name);
            let precondition = Precondition {
                uid: agent.pod.uid.clone(),
                resource_version,
            };
            if self.mark(step, &pod, &precondition).await == Marked::TooOld {
                return Marked::TooOld;
            }
        }
        Marked::Settled
    }

    fn tell_phases(&self, seen: &Observation, told: &mut Told) {
        for task in &seen.tasks {
            let TaskState::There { phase, .. } = &task.state else {
                continue;
            };
            let before = told
                .phases
                .insert(task.task.clone(), phase.clone())
                .or_else(|| {
                    let before = self.before.tasks.get(&task.task)?;
                    Some(before.phase.clone())
                });
            if before.as_ref().is_some_and(|before| before != phase) {
                self.tell(seen.at, &format!("{} is {}", task.task, phase.as_str()));
            }
        }
    }

    fn tell_stages(&self, outcome: &Outcome, batch: &Batch<'_>, told: &mut Told) {
        let nodes = outcome
            .nodes
            .iter()
            .filter(|node| batch.node.is_none_or(|only| node.node == only));
        for node in nodes {
            let known = told.stages.entry(node.node.clone()).or_default();
            for stage in &node.stages {
                if known.contains(&stage.stage) {
                    continue;
                }
                known.push(stage.stage);
                // The step itself was told when it was made.
                if !matches!(stage.stage, RestartStage::Planned | RestartStage::Deleted) {
                    self.tell(
                        stage.at,
                        &format!("{}: {}: {}", node.node, stage.stage.as_str(), stage.by),
                    );
                }
            }
        }
    }

    fn settled(
        &self,
        outcome: &Outcome,
        batch: &Batch<'_>,
        since: Timestamp,
        now: Timestamp,
    ) -> Settled {
        if let Some(node) = batch.node {
            let recovered = outcome
                .nodes
                .iter()
                .any(|seen| seen.node == node && seen.result == NodeResult::Recovered);
            return if recovered { Settled::Yes } else { Settled::No };
        }
        if outcome.achieved == Achieved::Yes {
            return Settled::Yes;
        }
        let within = self
            .plan
            .expected
            .iter()
            .map(|expected| expected.within_seconds)
            .max();
        let waited = within.is_some_and(|within| now.as_second() - since.as_second() > within);
        let is_settled = |task: &TaskOutcome| match task.result {
            // The end is what was asked for, and the next look may show it.
            TaskResult::Moved if task.is_canceling() => false,
            TaskResult::Moved | TaskResult::Ended | TaskResult::Gone | TaskResult::RefusedSlot => {
                true
            }
            // A look can be seen in the log before its effect is seen in the task.
            TaskResult::LookedAt | TaskResult::Queued => waited,
            TaskResult::NotLookedAt | TaskResult::Unchanged | TaskResult::Unknown => false,
        };
        let targets = outcome
            .tasks
            .iter()
            .filter(|task| self.plan.targets.contains(&task.task));
        if targets.clone().next().is_some() && targets.into_iter().all(is_settled) {
            Settled::Yes
        } else {
            Settled::No
        }
    }
}
