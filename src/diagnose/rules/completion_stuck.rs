//! Rows 4 and 5: the data path ended, the task did not. After the end of the mover pod the node-agent
//! reads its log without a deadline and then runs a callback (v1.17.2
//! `pkg/datapath/micro_service_watcher.go`); either can hang, and a failed last write or rebind leaves
//! the task InProgress for ever.

use std::collections::BTreeMap;

use super::overtaken::Overtaken;
use super::slot_cause::limits::{old_end, old_log};
use super::{broken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{Situation, TaskReplay};
use crate::snapshot::log_evidence::{EndFailure, EntryStage, FailedEnd, LogEvidence, LoggedEntry};
use crate::snapshot::{NodeAgent, Observed};

/// How long the log must go on after the begin of a step, in seconds, to prove that it hangs: after the end
/// of its pod a task is given two minutes before this rule speaks at all.
const HUNG_SECONDS: i64 = 60;

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut groups: BTreeMap<(Option<&str>, &'static str), Vec<&TaskReplay<'_>>> = BTreeMap::new();
    let mut overtaken = Overtaken::of(case, FindingId::CompletionStuck, CouldBe::Critical);
    for task in case.tasks() {
        if let Some(cause) = cause(case, task) {
            if !overtaken.still_holds(task) {
                continue;
            }
            groups
                .entry((task.node.as_deref(), cause))
                .or_default()
                .push(task);
        }
    }
    overtaken.tell(out);
    for ((node, cause), tasks) in groups {
        let traced = tasks.iter().find_map(|task| trace(case, task));
        out.gaps
            .extend(traced.and_then(|trace| old_log(case, trace.agent)));
        out.findings.push(finding(case, node, cause, &tasks));
    }
}

/// Returns the cause as far as objects and log tell; `None` where the rule does not hold.
fn cause(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> Option<&'static str> {
    let by_objects = match task.situation {
        Situation::PodEnded
        | Situation::DoneButPodGone {
            target_not_bound: false,
        } => "undetermined",
        Situation::DoneButPodGone {
            target_not_bound: true,
        } => "rebind-failed",
        Situation::Foreign
        | Situation::UnknownPhase
        | Situation::Rewound { .. }
        | Situation::PodEnding
        | Situation::Finishing
        | Situation::PodLost
        | Situation::PodJustGone
        | Situation::PodUnreadable
        | Situation::Doomed(_)
        | Situation::Stalled
        | Situation::Ordinary => return None,
    };
    let by_log = trace(case, task).and_then(|trace| trace.cause());
    Some(by_log.unwrap_or(by_objects))
}

/// What the log of a task's agent says of its end.
struct Trace<'s> {
    agent: &'s NodeAgent,
    log: &'s LogEvidence,
    entry: Option<&'s LoggedEntry>,
    failed: Option<&'s FailedEnd>,
}

fn trace<'s>(case: &Case<'_, 's>, task: &TaskReplay<'s>) -> Option<Trace<'s>> {
    let agent = case.node(task.node.as_deref()?)?.agent?;
    let log = agent.evidence.as_ref()?;
    let name = &task.task.reference.name;
    let kind = task.task.reference.kind;
    let entry = log
        .entries
        .get(name)
        .filter(|entry| entry.kind.is_none_or(|logged| logged == kind));
    let failed = log.failed_ends.get(name);
    (entry.is_some() || failed.is_some()).then_some(Trace {
        agent,
        log,
        entry,
        failed,
    })
}

impl Trace<'_> {
    fn cause(&self) -> Option<&'static str> {
        if let Some(failed) = self.failed {
            return Some(match failed.what {
                EndFailure::Rebind => "rebind-failed",
                // A task that could not be read is not written either.
                EndFailure::Get | EndFailure::Write => "status-write-failed",
            });
        }
        (self.entry?.stage == EntryStage::CollectingLog).then_some("log-collection-hung")
    }

    /// The line that settles the cause is the whole proof where the log goes on long after it, up to the time of
    /// the objects.
    fn confidence(&self, case: &Case<'_, '_>) -> Confidence {
        let hangs = || {
            let at = self.entry?.last.at?;
            (self.log.before_end(at)? >= HUNG_SECONDS).then_some(())
        };
        let is_old = old_end(case, self.log).is_some();
        if self.cause().is_some() && !is_old && (self.failed.is_some() || hangs().is_some()) {
            Confidence::Certain
        } else {
            Confidence::Likely
        }
    }

    fn evidence(&self, case: &Case<'_, '_>) -> Vec<Evidence> {
        let failed = self
            .failed
            .map(|failed| words::log_line(self.agent, &failed.note));
        let entry = self.entry.map(|entry| {
            let mut line = words::log_line(self.agent, &entry.last);
            line.value = format!("{}; since then {}", line.value, entry.stage.as_str());
            line
        });
        let end = old_end(case, self.log).map(|end| {
            Evidence::derived(
                "end of the log".to_owned(),
                format!("{end}, {} before now", words::span(case.age(end))),
            )
        });
        failed.into_iter().chain(entry).chain(end).collect()
    }
}

fn is_in_callback(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> bool {
    trace(case, task)
        .and_then(|trace| trace.entry)
        .is_some_and(|entry| entry.stage == EntryStage::InCallback)
}

/// Whether a task holds its slot: by the objects, or because the log shows that its entry is still there.
fn holds(case: &Case<'_, '_>, task: &TaskReplay<'_>) -> bool {
    broken::any_holds(&[task]) || trace(case, task).is_some_and(|trace| trace.entry.is_some())
}

fn finding(
    case: &Case<'_, '_>,
    node: Option<&str>,
    cause: &'static str,
    tasks: &[&TaskReplay<'_>],
) -> Finding {
    let names = broken::references(tasks);
    let waiting = broken::waiting(case, node, tasks);
    let holds = tasks.iter().any(|task| holds(case, task));
    let any_pod = tasks.iter().any(|task| task.pod.seen().is_some());
    let what = if cause == "rebind-failed" {
        "all data is restored, but the volume was not bound to the target PVC"
    } else if cause == "log-collection-hung" {
        "the mover pod has ended, and the node-agent still reads its log, which it does without a deadline"
    } else if cause == "status-write-failed" {
        "the data path ended, and the last write of the task failed"
    } else if holds && tasks.iter().all(|task| is_in_callback(case, task)) {
        "the mover pod has ended and the node-agent's callback, which ends the task, has not come back"
    } else if holds && !any_pod {
        "all bytes are done and the mover pod is gone, but the node-agent's log shows no end of its data path"
    } else if holds {
        "the mover pod has ended and the node-agent did not take it up (a hung log collection or a blocked callback)"
    } else {
        "all bytes are done and the mover pod is gone, but the last write never came"
    };
    let mut finding = broken::finding(
        case,
        FindingId::CompletionStuck,
        Severity::Critical,
        tasks
            .iter()
            .map(|task| {
                trace(case, task).map_or_else(
                    || match task.pod {
                        Observed::Seen(_) => Confidence::Likely,
                        Observed::Absent | Observed::Unknown(_) => {
                            broken::by_last_write(&[task], Confidence::Likely)
                        }
                    },
                    |trace| trace.confidence(case),
                )
            })
            .min()
            .unwrap_or(Confidence::Likely),
        node,
        tasks,
        format!(
            "{}: {what}{}",
            words::tasks(&names),
            broken::behind(&waiting)
        ),
    );
    finding.cause = Some(cause);
    finding.why = Some(what.to_owned());
    finding.affects = waiting;
    finding.since = words::earliest(tasks.iter().map(|task| match task.pod {
        Observed::Seen(pod) => pod.ended_at(),
        Observed::Absent | Observed::Unknown(_) => task.last_write,
    }));
    for task in tasks {
        if let Observed::Seen(pod) = task.pod {
            finding.blocked_by.push(words::pod_ref(pod));
        }
    }
    for task in tasks.iter().take(words::EVIDENCE_SHOWN) {
        finding.evidence.push(words::task_field(
            task.task,
            ".status.phase",
            task.task.phase.as_str(),
        ));
        if let Some(trace) = trace(case, task) {
            finding.evidence.extend(trace.evidence(case));
        }
        match task.pod {
            Observed::Seen(pod) => {
                let at = pod
                    .ended_at()
                    .map_or_else(String::new, |time| format!(" since {time}"));
                finding.evidence.push(words::pod_field(
                    pod,
                    ".status.phase",
                    &format!("{}{at}", pod.phase),
                ));
            }
            Observed::Absent | Observed::Unknown(_) => {
                finding.evidence.push(Evidence::field(
                    format!(
                        "Pod {}/{}",
                        task.task.reference.namespace, task.task.reference.name
                    ),
                    "does not exist".to_owned(),
                ));
                if let Some(progress) = task.task.progress {
                    finding.evidence.push(words::task_field(
                        task.task,
                        ".status.progress",
                        &format!("{} of {} bytes", progress.bytes_done, progress.total_bytes),
                    ));
                }
                if let Some(claim) = task
                    .task
                    .claim
                    .as_ref()
                    .filter(|_| cause == "rebind-failed")
                {
                    let phase = case
                        .snapshot
                        .restored_claim(&claim.namespace, &claim.name)
                        .seen()
                        .map_or("does not exist", |claim| claim.phase.as_str());
                    finding.evidence.push(Evidence::field(
                        format!(
                            "PersistentVolumeClaim {}/{} .status.phase",
                            claim.namespace, claim.name
                        ),
                        phase.to_owned(),
                    ));
                }
            }
        }
    }
    let agent = node
        .and_then(|node| case.node(node))
        .and_then(|node| node.agent);
    if holds {
        finding.actions.extend(agent.and_then(|agent| {
            words::restart(
                case,
                &[agent],
                if any_pod {
                    "frees the slot; the ended pod is taken up when the task is resumed"
                } else {
                    "frees the slot; the task cannot be resumed without its pod, and is cancelled"
                },
            )
        }));
    } else {
        finding.actions.extend(words::cancel(
            &names,
            "ends the task: its node-agent finds no data path and marks it Canceled at once",
            "the backup or restore counts the volume as failed; for a restore check the target PVC first",
        ));
    }
    finding
}
