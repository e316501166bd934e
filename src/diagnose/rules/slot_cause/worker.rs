//! Nobody asks for the slot: a worker that does not go on, or one that does not know of the task any more.

use super::{BLOCKED_SECONDS, SETTLED_SECONDS, SlotCause, Traces, blocked_step};
use crate::diagnose::finding::{Confidence, Evidence};
use crate::diagnose::rules::words;
use crate::snapshot::log_evidence::{BlockingStep, LogEvidence};
use crate::velero::{ObjectRef, TaskKind};

impl Traces<'_, '_, '_> {
    /// A worker that does not go on holds up every task of its kind.
    pub(super) fn blocked_worker(&self) -> Option<SlotCause> {
        let blocked: Vec<(TaskKind, Option<&BlockingStep>, Option<i64>)> = self
            .kinds()
            .into_iter()
            .filter_map(|kind| {
                let step = blocked_step(self.agent, kind);
                let busy = self.busy_by_metrics(kind);
                (step.is_some() || busy.is_some()).then_some((kind, step, busy))
            })
            .collect();
        let (kind, step, busy) = *blocked.first()?;
        let mut evidence = Vec::new();
        let mut culprits = Vec::new();
        for (kind, step, busy) in &blocked {
            if let Some(step) = step {
                evidence.push(Evidence::log(
                    words::log_of(self.agent),
                    format!(
                        "{} {} {}; nothing of its worker since",
                        step.since
                            .map_or_else(String::new, |since| since.to_string()),
                        step.line,
                        step.task
                    ),
                ));
                culprits.push(ObjectRef::namespaced(
                    kind.as_str(),
                    &self.case.snapshot.namespace,
                    &step.task,
                ));
            }
            if let Some(seconds) = busy {
                evidence.push(Evidence::metric(
                    words::metrics_of(self.agent),
                    format!("the worker of {kind} has been busy with one task for {seconds} s"),
                ));
            }
        }
        // Every kind that waits, and for so long that no task of it could have been looked at in between.
        let all = blocked.len() == self.kinds().len()
            && blocked
                .iter()
                .all(|(_, step, busy)| self.blocked_all_along(*step, *busy));
        let doing = match (step, busy) {
            (Some(step), _) => format!("{} {}", step.what.as_str(), step.task),
            (None, Some(seconds)) => {
                format!("is busy with one task for {}", words::span(seconds))
            }
            (None, None) => return None,
        };
        Some(SlotCause {
            cause: "worker-blocked",
            confidence: if all {
                Confidence::Certain
            } else {
                Confidence::Likely
            },
            culprits,
            why: format!(
                "the one worker for {kind} of the node-agent {doing} and looks at nothing else"
            ),
            evidence,
        })
    }

    fn blocked_all_along(&self, step: Option<&BlockingStep>, busy: Option<i64>) -> bool {
        let by_log = || {
            let since = step?.since?;
            self.log()?.before_end(since)
        };
        busy.or_else(by_log)
            .is_some_and(|seconds| seconds >= self.case.threshold())
    }

    fn busy_by_metrics(&self, kind: TaskKind) -> Option<i64> {
        let worker = self.metrics()?.workers.get(&kind)?;
        let seconds = worker.longest_running_seconds?;
        (worker.active.is_some_and(|active| active > 0) && seconds >= BLOCKED_SECONDS)
            .then_some(seconds)
    }

    /// Nobody tries: the worker is stuck where no line tells, or it is free and does not know of the task.
    pub(super) fn no_try(&self) -> Option<SlotCause> {
        let idle: Vec<bool> = self
            .kinds()
            .into_iter()
            .map(|kind| self.idle_by_metrics(kind))
            .collect();
        let idle_by_metrics = !idle.is_empty() && idle.iter().all(|idle| *idle);
        let log = self.log().filter(|log| self.would_show_tries(log));
        if log.is_none() && !idle_by_metrics {
            return None;
        }
        let idle_by_log = log.is_some_and(|log| {
            self.kinds().iter().all(|kind| {
                log.workers
                    .get(kind)
                    .and_then(|worker| worker.last_taken)
                    .is_some_and(|taken| {
                        taken.duration_since(self.since).as_secs() >= SETTLED_SECONDS
                    })
            })
        });
        let mut evidence = Vec::new();
        if let Some(log) = log {
            evidence.push(self.speaks(log));
            evidence.push(Evidence::log(
                words::log_of(self.agent),
                format!("no try for any of the waiting tasks since {}", self.since),
            ));
        }
        if idle_by_metrics {
            evidence.push(Evidence::metric(
                words::metrics_of(self.agent),
                "no active worker of these kinds, and nothing comes back to ask again".to_owned(),
            ));
        }
        let blind = self.blind();
        evidence.extend(blind.clone());
        if idle_by_metrics || idle_by_log {
            return Some(SlotCause {
                cause: "lost-reconcile",
                confidence: if idle_by_metrics && log.is_some() {
                    Confidence::Certain
                } else {
                    Confidence::Likely
                },
                culprits: Vec::new(),
                why: format!(
                    "the node-agent works and does not look at the task any more: its event was lost{}",
                    match blind {
                        Some(_) => ", and its log complains that a watch fails",
                        None => "",
                    }
                ),
                evidence,
            });
        }
        // A watch that fails explains the silence as well as a worker that hangs does.
        if blind.is_some() {
            return Some(SlotCause {
                cause: "lost-reconcile",
                confidence: Confidence::Possible,
                culprits: Vec::new(),
                why: "the node-agent has not looked at the task since, and its log complains that a watch fails: it may not see what changes"
                    .to_owned(),
                evidence,
            });
        }
        Some(SlotCause {
            cause: "worker-blocked",
            // A worker of which the log never shows a line need not have had anything to do.
            confidence: if self.kinds().iter().all(|kind| {
                log.is_some_and(|log| log.workers.get(kind).is_some_and(|w| w.last.is_some()))
            }) {
                Confidence::Likely
            } else {
                Confidence::Possible
            },
            culprits: Vec::new(),
            why: "the node-agent works and its worker for these tasks has not looked at one since: it is blocked"
                .to_owned(),
            evidence,
        })
    }

    /// The newest complaint about a list or watch, if it came after the slot became spare: an agent that does
    /// not see the API gets no events.
    fn blind(&self) -> Option<Evidence> {
        let (count, note) = self.log()?.watch_errors.as_ref()?;
        note.at.filter(|at| *at >= self.since)?;
        let mut line = words::log_line(self.agent, note);
        line.value = format!(
            "{}; the last of {}",
            line.value,
            words::count(*count, "complaint")
        );
        Some(line)
    }

    fn idle_by_metrics(&self, kind: TaskKind) -> bool {
        let Some(metrics) = self.metrics() else {
            return false;
        };
        let long_enough = metrics
            .span_seconds()
            .is_some_and(|span| span > self.node.profile.requeue_seconds);
        long_enough
            && metrics
                .workers
                .get(&kind)
                .is_some_and(|worker| worker.active == Some(0) && worker.requeued == Some(0))
    }

    /// Whether the log would show a try if there had been one: it speaks since the slot is spare, up to
    /// well beyond the threshold, at a level at which workers write lines, and there is no try in it.
    fn would_show_tries(&self, log: &LogEvidence) -> bool {
        let speaks_on = log
            .before_end(self.since)
            .is_some_and(|seconds| seconds >= self.case.threshold())
            && log.torn == 0;
        let workers_write = log
            .workers
            .values()
            .filter_map(|worker| worker.last)
            .any(|last| last > self.since);
        let no_try = self.waiting().all(|task| {
            let looked = log
                .task(task)
                .and_then(|logged| logged.looked.max(logged.admitted).max(logged.left));
            let tried = log.waits.get(&task.name).and_then(|wait| wait.last);
            looked.max(tried).is_none_or(|last| last < self.since)
        });
        log.speaks_since(self.since) && speaks_on && workers_write && no_try
    }
}
