//! Which touch makes a controller look at one task again, and where none helps.
//!
//! A touch of the task is an Update event on every node-agent (v1.12.4 … main pkg/controller, `For()`). What
//! a look then does is what the replay decides for the task; a touch is worth it where that would move the
//! task on, and where no timer of its own does it anyway.

use super::super::common::{cancel_command, explain_command, refusal, restart_command};
use super::super::model::{Expected, Override, Refusal, RefusalCode};
use super::super::{Known, restart};
use crate::diagnose::{Confidence, Finding, FindingId};
use crate::replay::{Doom, Gate, Mover, Situation, SlotEntry, TaskReplay, Trigger, Verb};
use crate::snapshot::{Cancel, Observed, Pod, Task};
use crate::velero::Phase;

/// What is touched.
#[derive(Clone, Copy, Debug)]
pub(super) enum Touch<'s> {
    /// The task.
    Task,
    /// Its mover pod.
    Pod(&'s Pod),
}

/// How a task is nudged.
#[derive(Clone, Debug)]
pub(super) struct Way<'s> {
    /// What is touched.
    pub(super) touch: Touch<'s>,
    /// What comes of the look, one clause.
    pub(super) why: String,
    /// Where Velero does that: release and file.
    pub(super) source: &'static str,
    /// What the task should do then.
    pub(super) expected: Expected,
    /// Whether it then asks for a slot, so that it competes with others.
    pub(super) for_slot: bool,
    /// What the look may cost, where it is made to find out.
    pub(super) probe: Option<&'static str>,
    /// What else the user should know.
    pub(super) warning: Option<&'static str>,
}

const TASK_EVENT: &str = "v1.12.4 … main pkg/controller: every Update event of a task is a look";
const POD_EVENT: &str = "v1.12.4 … main pkg/controller, the pod handlers: an Update of a Running mover pod makes the task Prepared";

/// What each look at a Prepared task risks (v1.12.4 … main `pkg/exposer`, GetExposed).
const EXPOSE_CHECK: &str = "each look runs the expose check again, and can end a task whose pod or volume is gone as Failed";

/// As [`EXPOSE_CHECK`], where the cause is not determined.
const PROBE: &str = "the cause is not determined: the look shows it, and each look runs the expose check again, which can end a doomed task as Failed";

/// Where a task without a mover pod asks for a slot, and where a look only reads: such a look has no expose check (v1.12.4 … v1.16.2
/// `pkg/controller/pod_volume_backup_controller.go`).
const PROBE_SLOT: &str = "the cause is not determined: the look shows it";

/// A cancel that is carried out in place of the mover pod (v1.17.2 … main pkg/controller, the delay rule).
const FORCED_CANCEL: &str = "a cancel that the mover pod did not carry out ends the task and deletes its pod, and its slot stays held until the node-agent restarts";

/// Before v1.14 any agent may end a task whose cancel is requested (v1.12.4, v1.13.2
/// `pkg/controller/data_upload_controller.go`).
const FOREIGN_CANCEL: &str = "under this release any node-agent may mark the task Canceled, while its own still moves data and holds the slot";

/// Where an Accepted task has no pod to touch (v1.14.1 … main `pkg/exposer`, PeekExposed, and the prepare timeout).
const PROBE_ACCEPTED: &str = "the cause is not determined: the look shows it, and ends a task whose pod cannot run or whose prepare timeout is over";

/// Where a New task is ignored for an unknown reason.
const PROBE_NEW: &str = "the cause is not determined: whether a controller looks at the task shows it; the look itself only accepts the task";

/// Decides how a task is nudged.
pub(super) fn way<'s>(known: Known<'_, 's>, task: &TaskReplay<'s>) -> Result<Way<'s>, Refusal> {
    match task.situation {
        Situation::Foreign => return Err(foreign(task)),
        Situation::UnknownPhase => {
            return Err(refusal(
                RefusalCode::NotKnown,
                Override::Never,
                format!(
                    "phase {} is not known, so what a look would do is not known either",
                    task.task.phase
                ),
            ));
        }
        Situation::Rewound { .. }
        | Situation::PodEnded
        | Situation::PodEnding
        | Situation::DoneButPodGone { .. }
        | Situation::Finishing
        | Situation::PodLost
        | Situation::PodJustGone
        | Situation::PodUnreadable
        | Situation::Doomed(_)
        | Situation::Stalled
        | Situation::Ordinary => {}
    }
    if let Some(refusal) = nobody_looks(task) {
        return Err(refusal);
    }
    let cancels = task.task.cancel == Cancel::Requested && task.mover != Mover::InProcess;
    if task.situation == Situation::PodLost
        && matches!(task.task.phase, Phase::InProgress | Phase::Canceling)
    {
        return Err(pod_lost(task));
    }
    match &task.task.phase {
        Phase::Canceling if task.decision.verb != Verb::Cancel => Err(canceling(task)),
        Phase::New | Phase::Accepted | Phase::Prepared | Phase::InProgress | Phase::Canceling
            if (cancels || task.task.phase == Phase::Canceling)
                && task.decision.verb == Verb::Cancel =>
        {
            Ok(Way {
                touch: Touch::Task,
                why: format!("a look carries the cancel out: {}", task.decision.reason),
                source: TASK_EVENT,
                expected: Expected::End,
                for_slot: false,
                probe: None,
                warning: cancel_warning(known, task),
            })
        }
        Phase::Canceling => Err(canceling(task)),
        Phase::New => new(known, task),
        Phase::Accepted => accepted(known, task),
        Phase::Prepared => prepared(known, task),
        Phase::InProgress => Err(in_progress(task)),
        Phase::Canceled | Phase::Completed | Phase::Failed | Phase::Other(_) => {
            Err(final_task(task.task))
        }
    }
}

/// The touch that `--force` makes where none is expected to help.
pub(super) fn forced<'s>(task: &TaskReplay<'s>) -> Way<'s> {
    let touch = match (&task.task.phase, task.pod) {
        (Phase::Accepted, Observed::Seen(pod)) => Touch::Pod(pod),
        (
            Phase::Accepted
            | Phase::New
            | Phase::Prepared
            | Phase::InProgress
            | Phase::Canceling
            | Phase::Canceled
            | Phase::Completed
            | Phase::Failed
            | Phase::Other(_),
            Observed::Seen(_) | Observed::Absent | Observed::Unknown(_),
        ) => Touch::Task,
    };
    Way {
        touch,
        why: format!("a look decides anew; expected is: {}", task.decision.reason),
        source: match touch {
            Touch::Task => TASK_EVENT,
            Touch::Pod(_) => POD_EVENT,
        },
        expected: Expected::Move,
        for_slot: task.task.phase == Phase::Prepared,
        probe: Some(risk(task, touch)),
        warning: None,
    }
}

/// What a look costs that is made although it is not expected to help, by what the look does in the task's phase.
fn risk(task: &TaskReplay<'_>, touch: Touch<'_>) -> &'static str {
    match (&task.task.phase, touch) {
        (Phase::Prepared, _) if task.mover != Mover::InProcess => PROBE,
        (Phase::New, _) if task.mover != Mover::InProcess => PROBE_NEW,
        (Phase::Accepted, Touch::Task) => PROBE_ACCEPTED,
        (
            Phase::New
            | Phase::Accepted
            | Phase::Prepared
            | Phase::InProgress
            | Phase::Canceling
            | Phase::Canceled
            | Phase::Completed
            | Phase::Failed
            | Phase::Other(_),
            _,
        ) => PROBE_SLOT,
    }
}

/// The refusal for a task that is final.
pub(super) fn final_task(task: &Task) -> Refusal {
    refusal(
        RefusalCode::TaskFinal,
        Override::Never,
        format!(
            "{} is {}: nothing looks at it any more",
            task.reference, task.phase
        ),
    )
    .or(
        Some(explain_command(&task.reference)),
        "tells how it came to that",
    )
}

fn foreign(task: &TaskReplay<'_>) -> Refusal {
    refusal(
        RefusalCode::ForeignDataMover,
        Override::Never,
        format!(
            "{} belongs to data mover {}: Velero's node-agents pass over it",
            task.task.reference, task.task.data_mover
        ),
    )
    .or(None, "look at the controller of that data mover")
}

/// A touch without anybody to notice it.
fn nobody_looks(task: &TaskReplay<'_>) -> Option<Refusal> {
    let decision = &task.decision;
    if decision.next_trigger == Trigger::AgentStart {
        return Some(
            refusal(
                RefusalCode::NoWorkingAgent,
                Override::Never,
                format!("nobody would look at it: {}", decision.reason),
            )
            .or(
                Some("kubectl velero-slots diagnose {ns}".to_owned()),
                "says why no node-agent works there",
            ),
        );
    }
    (decision.verb == Verb::Skip && decision.gate == Gate::None).then(|| {
        refusal(
            RefusalCode::NoTouchHelps,
            Override::Never,
            format!("nobody would look at it: {}", decision.reason),
        )
        .or(
            Some(cancel_command(&task.task.reference)),
            "requests its cancel",
        )
    })
}

fn is_late(known: Known<'_, '_>, task: &TaskReplay<'_>) -> bool {
    task.decision.diverges
        || known
            .findings_about(&task.task.reference)
            .any(|finding| super::is_about_looks(finding.id))
}

fn find<'a>(known: Known<'a, '_>, task: &TaskReplay<'_>, ids: &[FindingId]) -> Option<&'a Finding> {
    known
        .findings_about(&task.task.reference)
        .find(|finding| ids.contains(&finding.id))
}

fn restart_of(task: &TaskReplay<'_>, finding: Option<&Finding>) -> Option<String> {
    finding
        .and_then(|finding| finding.node.as_deref())
        .or(task.node.as_deref())
        .map(restart_command)
}

fn looks_by_itself(task: &TaskReplay<'_>, when: &str) -> Refusal {
    refusal(
        RefusalCode::NothingStuck,
        Override::Force,
        format!("{} is not late: {when}", task.task.reference),
    )
    .or(
        Some(explain_command(&task.task.reference)),
        "tells what it waits for",
    )
}

/// A New task: its own touch, unless a gate is closed or it comes back by itself every few seconds.
fn new<'s>(known: Known<'_, 's>, task: &TaskReplay<'s>) -> Result<Way<'s>, Refusal> {
    let reference = &task.task.reference;
    let decision = &task.decision;
    match (decision.gate, decision.verb) {
        (Gate::Target, Verb::Wait) => {
            let effect = "mend the target first: its own event brings the restore back";
            let command = task.task.claim.as_ref().map_or_else(
                || {
                    task.task.pod.as_ref().map(|pod| {
                        format!(
                            "kubectl describe pod -n {} {}",
                            crate::diagnose::paste::name(&pod.namespace),
                            crate::diagnose::paste::name(&pod.name)
                        )
                    })
                },
                |claim| {
                    Some(format!(
                        "kubectl describe pvc -n {} {}",
                        crate::diagnose::paste::name(&claim.namespace),
                        crate::diagnose::paste::name(&claim.name)
                    ))
                },
            );
            Err(refusal(
                RefusalCode::RestoreTarget,
                Override::Force,
                format!("a look stops at its target: {}", decision.reason),
            )
            .or(command, effect))
        }
        (Gate::PrepareQueue, Verb::Wait) => Err(refusal(
            RefusalCode::PrepareQueueFull,
            Override::Force,
            format!("the prepare queue is full: {}", decision.reason),
        )
        .or(
            Some("kubectl velero-slots status {ns}".to_owned()),
            "says what fills it",
        )),
        (_, Verb::Fail) => Err(refusal(
            RefusalCode::TaskDoomed,
            Override::Force,
            format!("a look would end it as Failed: {}", decision.reason),
        )),
        (_, Verb::Accept) => accept(known, task),
        (Gate::Slot, _) => slot(known, task),
        (
            Gate::Target | Gate::PrepareQueue | Gate::Expose | Gate::None,
            Verb::Wait
            | Verb::Admit
            | Verb::Prepare
            | Verb::Cancel
            | Verb::Skip
            | Verb::None
            | Verb::Unknown,
        ) => Err(refusal(
            RefusalCode::NotKnown,
            Override::Force,
            format!("what a look would do is not known: {}", decision.reason),
        )
        .or(Some(explain_command(reference)), "tells what is not known")),
    }
}

fn accept<'s>(known: Known<'_, 's>, task: &TaskReplay<'s>) -> Result<Way<'s>, Refusal> {
    let finding = find(
        known,
        task,
        &[FindingId::AcceptBlocked, FindingId::PrepareQueueStale],
    );
    match finding.map(|finding| (finding, finding.id, finding.cause)) {
        Some((finding, FindingId::AcceptBlocked, Some("worker-blocked"))) => Err(refusal(
            RefusalCode::NoTouchHelps,
            Override::Force,
            format!(
                "the look waits for the worker, which is busy: {}",
                finding.summary
            ),
        )
        .or_as(finding)),
        Some((finding, FindingId::PrepareQueueStale, Some("stale-count"))) => Err(refusal(
            RefusalCode::NoTouchHelps,
            Override::Force,
            format!(
                "it is looked at every few seconds, and refused by a count that is too high: {}",
                finding.summary
            ),
        )
        .or(
            finding
                .node
                .clone()
                .or_else(|| restart::first_of(known, finding))
                .map(|node| restart_command(&node)),
            "makes the node-agent count anew",
        )),
        // The replay says since when it could have been accepted; before that it is on its way.
        None if !task.decision.diverges
            && task.decision.next_trigger != Trigger::Backoff
            && !is_late(known, task) =>
        {
            Err(looks_by_itself(
                task,
                "a node-agent should accept it within moments",
            ))
        }
        Some(_) | None => Ok(Way {
            touch: Touch::Task,
            why: match task.decision.next_trigger {
                Trigger::Backoff => {
                    "a look now instead of after its backoff of up to 1000 seconds".to_owned()
                }
                Trigger::Requeue5s
                | Trigger::Requeue1m
                | Trigger::Periodic1m
                | Trigger::PodUpdate
                | Trigger::TargetPodUpdate
                | Trigger::ObjectUpdate
                | Trigger::AgentStart
                | Trigger::None => {
                    format!("a look accepts it: {}", task.decision.reason)
                }
            },
            source: TASK_EVENT,
            expected: Expected::Move,
            for_slot: false,
            probe: finding.map(|_| PROBE_NEW),
            warning: None,
        }),
    }
}

/// An Accepted task: only an event of its mover pod makes it Prepared.
fn accepted<'s>(known: Known<'_, 's>, task: &TaskReplay<'s>) -> Result<Way<'s>, Refusal> {
    let reference = &task.task.reference;
    let decision = &task.decision;
    match decision.verb {
        Verb::Cancel | Verb::Fail => {
            return Err(refusal(
                RefusalCode::TaskDoomed,
                Override::Force,
                format!("a look would end it: {}", decision.reason),
            )
            .or(
                Some(explain_command(reference)),
                "tells what went wrong with it",
            ));
        }
        Verb::Prepare => {}
        Verb::Admit | Verb::Wait | Verb::Accept | Verb::Skip | Verb::None | Verb::Unknown => {
            return Err(match task.pod {
                Observed::Seen(pod) => {
                    let blocked = find(known, task, &[FindingId::ExposeBlocked]);
                    let why = blocked.map_or_else(
                        || format!("its mover pod is {}", pod.phase),
                        |finding| finding.summary.clone(),
                    );
                    let base = refusal(
                        RefusalCode::ExposeBlocked,
                        Override::Never,
                        format!(
                            "its mover pod does not run yet, and a look does not change that: {why}"
                        ),
                    );
                    match blocked {
                        Some(finding) => base.or_as(finding),
                        None => base.or(
                            Some(format!(
                                "kubectl describe pod {{ns}} {}",
                                crate::diagnose::paste::name(&pod.key.name)
                            )),
                            "shows what it waits for",
                        ),
                    }
                }
                Observed::Absent => refusal(
                    RefusalCode::NoTouchHelps,
                    Override::Never,
                    format!(
                        "it has no mover pod to touch, and no look makes one: {}",
                        decision.reason
                    ),
                )
                .or(
                    Some(cancel_command(reference)),
                    "ends it before its timeout, if nobody makes the pod any more",
                ),
                Observed::Unknown(_) => refusal(
                    RefusalCode::NotKnown,
                    Override::Never,
                    "its mover pod could not be read, and only a touch of the pod helps".to_owned(),
                )
                .or(
                    Some("kubectl velero-slots auth {ns}".to_owned()),
                    "says which rights are missing",
                ),
            });
        }
    }
    match task.pod {
        Observed::Seen(pod) => Ok(Way {
            touch: Touch::Pod(pod),
            why: "its mover pod runs and the event was lost: a touch of the pod makes it Prepared; one of the task would not"
                .to_owned(),
            source: POD_EVENT,
            expected: Expected::Move,
            for_slot: false,
            probe: None,
            warning: None,
        }),
        Observed::Absent | Observed::Unknown(_) => Err(refusal(
            RefusalCode::NotKnown,
            Override::Never,
            "its mover pod could not be read".to_owned(),
        )),
    }
}

/// A Prepared task: its own touch, unless what it waits for is held.
fn prepared<'s>(known: Known<'_, 's>, task: &TaskReplay<'s>) -> Result<Way<'s>, Refusal> {
    let reference = &task.task.reference;
    match task.situation {
        Situation::Rewound { .. } => Err(refusal(
            RefusalCode::NoTouchHelps,
            Override::Never,
            task.decision.reason.clone(),
        )
        .or(
            restart_of(task, None),
            "empties the node-agent's memory: the task then runs again from Prepared",
        )),
        Situation::Doomed(Doom::PodMissing) if task.decision.verb == Verb::Skip => Err(refusal(
            RefusalCode::MoverPodLost,
            Override::Never,
            task.decision.reason.clone(),
        )
        .or(Some(cancel_command(reference)), "ends it")),
        Situation::Doomed(_) => Err(refusal(
            RefusalCode::TaskDoomed,
            Override::Force,
            format!("{}: a look cannot help it", task.decision.reason),
        )
        .or(Some(cancel_command(reference)), "ends it at once")),
        Situation::PodUnreadable => Err(refusal(
            RefusalCode::NotKnown,
            Override::Force,
            "its mover pod could not be read: a look may end it as Failed".to_owned(),
        )
        .or(
            Some("kubectl velero-slots auth {ns}".to_owned()),
            "says which rights are missing",
        )),
        Situation::Foreign
        | Situation::UnknownPhase
        | Situation::PodEnded
        | Situation::PodEnding
        | Situation::DoneButPodGone { .. }
        | Situation::Finishing
        | Situation::PodLost
        | Situation::PodJustGone
        | Situation::Stalled
        | Situation::Ordinary => slot(known, task),
    }
}

/// A task that asks for a slot: Prepared, or a New one that has no mover pod.
fn slot<'s>(known: Known<'_, 's>, task: &TaskReplay<'s>) -> Result<Way<'s>, Refusal> {
    let decision = &task.decision;
    let way = |probe: Option<&'static str>| Way {
        touch: Touch::Task,
        why: format!("one more look now: {}", decision.reason),
        source: TASK_EVENT,
        expected: Expected::Move,
        for_slot: true,
        probe: probe.map(|risk| {
            if task.mover == Mover::InProcess {
                PROBE_SLOT
            } else {
                risk
            }
        }),
        warning: (probe.is_none() && task.mover != Mover::InProcess).then_some(EXPOSE_CHECK),
    };
    if decision.verb == Verb::Wait {
        let broken = known.diagnosis.findings.iter().find(|finding| {
            finding.id != FindingId::SlotQueue
                && finding.affects.binary_search(&task.task.reference).is_ok()
                && holds_of_pool(known, task, finding)
        });
        if let Some(broken) = broken {
            return Err(refusal(
                RefusalCode::OtherFindingFirst,
                Override::Force,
                format!(
                    "every slot is held, one of them by something broken: {}",
                    broken.summary
                ),
            )
            .or_as(broken)
            .or(
                restart_of(task, Some(broken)),
                "frees the slots of the node",
            ));
        }
        return Err(refusal(
            RefusalCode::NormalQueue,
            Override::Force,
            format!("the queue is a normal one: {}", decision.reason),
        )
        .or(
            Some("kubectl velero-slots replay --simulate {ns}".to_owned()),
            "says when its turn comes",
        ));
    }
    let finding = find(
        known,
        task,
        &[FindingId::PreparedStuck, FindingId::SlotsLeaked],
    );
    let Some(finding) = finding else {
        if decision.verb == Verb::Unknown {
            return Ok(way(Some(PROBE)));
        }
        return if decision.diverges {
            Ok(way(None))
        } else {
            Err(looks_by_itself(
                task,
                match decision.next_trigger {
                    Trigger::Requeue1m => "it comes back by itself every minute",
                    Trigger::Requeue5s
                    | Trigger::Backoff
                    | Trigger::Periodic1m
                    | Trigger::PodUpdate
                    | Trigger::TargetPodUpdate
                    | Trigger::ObjectUpdate
                    | Trigger::AgentStart
                    | Trigger::None => "it comes back by itself every 5 seconds",
                },
            ))
        };
    };
    match finding.cause {
        Some("ghost-slot") if finding.confidence >= Confidence::Likely => Err(refusal(
            RefusalCode::GhostSlot,
            Override::Force,
            format!(
                "it is looked at again and again, and refused each time: {}",
                finding.summary
            ),
        )
        .or(
            restart_of(task, Some(finding)),
            "empties the node-agent's memory: every slot is free again",
        )),
        Some("worker-blocked") => Err(refusal(
            RefusalCode::NoTouchHelps,
            Override::Force,
            format!(
                "the look waits behind a worker that does not go on: {}",
                finding.summary
            ),
        )
        .or(
            restart_of(task, Some(finding)),
            "gives the node-agent new workers",
        )),
        Some("lost-reconcile") => Ok(way(None)),
        Some(_) | None => Ok(way(Some(PROBE))),
    }
}

/// Whether a task of a finding holds a slot of the pool that a task waits for; on v1.12 each kind has its own.
fn holds_of_pool(known: Known<'_, '_>, task: &TaskReplay<'_>, finding: &Finding) -> bool {
    let kinds = super::pool_kinds(known, task);
    finding.tasks.iter().any(|held| {
        kinds.contains(&held.kind)
            && known
                .replay
                .tasks
                .get(held)
                .is_some_and(|held| held.entry == SlotEntry::Holds && held.node == task.node)
    })
}

/// What a cancel that a look carries out leaves behind.
fn cancel_warning(known: Known<'_, '_>, task: &TaskReplay<'_>) -> Option<&'static str> {
    match &task.task.phase {
        Phase::Canceling => Some(FORCED_CANCEL),
        Phase::InProgress => {
            let node = known.replay.nodes.get(task.node.as_deref()?)?;
            (node.profile.since.starts_with("v1.12.") || node.profile.since.starts_with("v1.13."))
                .then_some(FOREIGN_CANCEL)
        }
        Phase::New
        | Phase::Accepted
        | Phase::Prepared
        | Phase::Canceled
        | Phase::Completed
        | Phase::Failed
        | Phase::Other(_) => None,
    }
}

/// A task whose mover pod is gone: a cancel may end it, and only a restart frees its slot.
fn pod_lost(task: &TaskReplay<'_>) -> Refusal {
    let base = refusal(
        RefusalCode::MoverPodLost,
        Override::Never,
        format!(
            "no look brings its mover pod back: {}",
            task.decision.reason
        ),
    );
    let base = if task.task.cancel == Cancel::Requested {
        base.or(
            Some(explain_command(&task.task.reference)),
            "tells when its cancel ends it",
        )
    } else {
        base.or(
            Some(cancel_command(&task.task.reference)),
            "first: ends the task",
        )
    };
    base.or_restart(task, "then: frees its slot")
}

impl Refusal {
    /// Adds the restart of the task's node, where the task holds a slot: without one it frees nothing.
    fn or_restart(self, task: &TaskReplay<'_>, effect: &str) -> Self {
        match task.entry {
            SlotEntry::Holds => self.or(restart_of(task, None), effect),
            SlotEntry::None | SlotEntry::CallbackReturned | SlotEntry::Forgotten => self,
        }
    }
}

fn in_progress(task: &TaskReplay<'_>) -> Refusal {
    let reference = &task.task.reference;
    let reason = &task.decision.reason;
    match task.situation {
        Situation::PodLost | Situation::PodJustGone => pod_lost(task),
        Situation::DoneButPodGone { .. } => refusal(
            RefusalCode::NoTouchHelps,
            Override::Never,
            format!("a look at a running task does nothing: {reason}"),
        )
        .or(
            Some(cancel_command(reference)),
            "ends it as Canceled: the write that would have completed it is lost",
        )
        .or_restart(task, "then: frees its slot"),
        Situation::PodEnded => refusal(
            RefusalCode::NoTouchHelps,
            Override::Never,
            format!("a look at a running task does nothing: {reason}"),
        )
        // v1.17.2 … main: the resume of a pod volume waits for its pod to run, and cancels it in the end.
        .or_restart(
            task,
            if reference.kind.is_data_movement() && task.mover == Mover::MoverPod {
                "frees its slot; the end of its pod is taken up when it is resumed"
            } else {
                "frees its slot; the task ends as Canceled, although its data may be complete"
            },
        ),
        Situation::Foreign
        | Situation::UnknownPhase
        | Situation::Rewound { .. }
        | Situation::PodEnding
        | Situation::Finishing
        | Situation::PodUnreadable
        | Situation::Doomed(_)
        | Situation::Stalled
        | Situation::Ordinary => refusal(
            RefusalCode::NoTouchHelps,
            Override::Never,
            format!("a look at a running task does nothing: {reason}"),
        )
        .or(Some(explain_command(reference)), "tells how it goes on"),
    }
}

fn canceling(task: &TaskReplay<'_>) -> Refusal {
    let base = refusal(
        RefusalCode::NoTouchHelps,
        Override::Never,
        format!(
            "a look at a Canceling task does nothing: {}",
            task.decision.reason
        ),
    );
    if task.decision.verb == Verb::Wait {
        return base.or(None, "wait: a node-agent ends it by itself after 5 minutes");
    }
    base.or(
        restart_of(task, None),
        "frees its slot; before v1.17 the task itself stays Canceling",
    )
}
