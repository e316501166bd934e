//! What is known of each unfinished task, and its row in the contract's table of precedence.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::agents::Agents;
use super::{
    CancelState, Decision, Doom, Gate, Mover, ReplayOptions, RequestTime, Situation, SlotEntry,
    TaskReplay, TimeFrom, Trigger, Verb, deadline,
};
use crate::snapshot::{
    Cancel, ContainerState, Exposing, LogEvidence, ManagedFields, Observed, Pod, Snapshot, Task,
};
use crate::velero::profile::{CancelHandling, CancelOverdue, StartTimestamp, Worker};
use crate::velero::{
    DEFAULT_OPERATION_TIMEOUT_SECONDS, DEFAULT_RESOURCE_TIMEOUT_SECONDS, NODE_AGENT_MANAGER, Phase,
    Profile, TaskKind, TaskRef,
};

/// How long the end of a mover pod may be ago while its task still runs: after the pod's end the watcher
/// waits up to one minute for the last event and then collects the pod's log (v1.17.2
/// `pkg/datapath/micro_service_watcher.go`).
const END_PHASE_SECONDS: i64 = 2 * 60;

/// How long, in seconds, a log must go on to show that an entry is not about to be removed.
const HELD_SECONDS: i64 = 60;

/// How long a task may be without its pod: normal completion deletes the pod before the last write, and
/// the clean-up takes up to about two minutes for a DataUpload (v1.17.2 `pkg/exposer/csi_snapshot.go`).
const POD_GONE_QUIET_SECONDS: i64 = 5 * 60;

/// A DataDownload rebinds its volume after its pod is gone: three waits, each up to `operationTimeout`.
const REBIND_WAITS: i64 = 3;

/// How long bytes may stand still: the uploader reports every 10 seconds, and v1.15 holds its events back
/// for minutes after a burst (velero-io/velero#8579).
const STALLED_SECONDS: i64 = 15 * 60;

/// The reason of the Events by which a mover pod reports its progress (v1.15.2
/// `pkg/datapath/micro_service_watcher.go`); the Event's object has the name of the task.
const PROGRESS_EVENT: &str = "Data-Path-Progress";

/// How long a task may stand at 100 %: the repository is flushed and indexed after the last byte.
const FLUSH_SECONDS: i64 = 60 * 60;

/// After so long an agent of v1.17 on has ended every Canceling task that it found when it started: five
/// minutes of delay and a look every minute.
const FORCED_BY_NOW_SECONDS: i64 = 7 * 60;

/// Looks at every unfinished task.
pub(super) fn of_all<'s>(
    snapshot: &'s Snapshot,
    agents: &Agents<'s>,
    options: ReplayOptions,
) -> BTreeMap<&'s TaskRef, TaskReplay<'s>> {
    snapshot
        .unfinished()
        .map(|task| {
            (
                &task.reference,
                Look {
                    snapshot,
                    agents,
                    options,
                }
                .at(task),
            )
        })
        .collect()
}

/// Returns the node that a task is bound to, final tasks included: `status.node`, else its mover pod's,
/// else `spec.node`, else (New PodVolumeRestore) its target pod's.
pub(super) fn node_of(snapshot: &Snapshot, task: &Task, pod: Option<&Pod>) -> Option<String> {
    task.status_node
        .clone()
        .or_else(|| pod.and_then(|pod| pod.node.clone()))
        .or_else(|| task.spec_node.clone())
        .or_else(|| {
            if task.reference.kind != TaskKind::PodVolumeRestore {
                return None;
            }
            target_pod(snapshot, task)
                .seen()
                .and_then(|pod| pod.node.clone())
        })
}

/// Looks for the pod that a PodVolumeBackup or PodVolumeRestore names, by name and, where both carry
/// one, by UID: a pod that was replaced is another pod.
pub(crate) fn target_pod<'s>(snapshot: &'s Snapshot, task: &Task) -> Observed<&'s Pod> {
    let Some(target) = &task.pod else {
        return Observed::Absent;
    };
    match snapshot.restored_pod(&target.namespace, &target.name) {
        Observed::Seen(pod)
            if !target.uid.is_empty() && !pod.uid.is_empty() && pod.uid != target.uid =>
        {
            Observed::Absent
        }
        Observed::Seen(pod) => Observed::Seen(pod),
        Observed::Absent => Observed::Absent,
        Observed::Unknown(reason) => Observed::Unknown(reason),
    }
}

/// Returns the init container `restore-wait`, in which the restored pod waits for its volumes.
pub(crate) fn restore_wait(pod: &Pod) -> Option<&ContainerState> {
    pod.init_containers
        .iter()
        .find(|container| container.name == "restore-wait")
        .map(|container| &container.state)
}

/// Returns where the work of a task is done under a profile.
pub(super) fn mover_of(profile: &Profile, task: &Task) -> Mover {
    match profile.worker(task.reference.kind, &task.uploader_type) {
        Some(Worker::MoverPod) => Mover::MoverPod,
        Some(Worker::InProcessWithPausePod) => Mover::PausePod,
        // A task that nobody handles has no pod either.
        Some(Worker::InProcess) | None => Mover::InProcess,
    }
}

/// Looks for the mover pod of a task: the pod of its name in Velero's namespace, unless its label says
/// that it belongs to a task of another kind.
fn mover_pod<'s>(snapshot: &'s Snapshot, task: &Task, mover: Mover) -> Observed<&'s Pod> {
    if mover == Mover::InProcess {
        return Observed::Absent;
    }
    match snapshot.pod(&task.reference.namespace, &task.reference.name) {
        Observed::Seen(pod) => {
            let own = pod.labels.contains_key(task.reference.kind.mover_label());
            let labelled = TaskKind::ALL
                .iter()
                .any(|kind| pod.labels.contains_key(kind.mover_label()));
            if labelled && !own {
                Observed::Absent
            } else {
                Observed::Seen(pod)
            }
        }
        Observed::Absent => Observed::Absent,
        Observed::Unknown(reason) => Observed::Unknown(reason),
    }
}

struct Look<'a, 's> {
    snapshot: &'s Snapshot,
    agents: &'a Agents<'s>,
    options: ReplayOptions,
}

impl<'s> Look<'_, 's> {
    fn at(&self, task: &'s Task) -> TaskReplay<'s> {
        // The mover depends on the profile, the profile on the node, the node perhaps on the mover pod.
        let named = self
            .snapshot
            .pod(&task.reference.namespace, &task.reference.name)
            .seen();
        let node = node_of(self.snapshot, task, named);
        let (profile, _) = self
            .agents
            .rules(node.as_deref().or(task.accepted_by.as_deref()));
        let mover = mover_of(&profile, task);
        let pod = mover_pod(self.snapshot, task, mover);
        let node = node_of(self.snapshot, task, pod.seen());
        let agent = node.as_deref().and_then(|node| self.agents.acting(node));
        let agent_start = agent.and_then(|agent| agent.started_at);
        let last_write = last_write(task);
        let accepted_at = deadline::accepted_at(task, &profile);
        let facts = Facts {
            task,
            profile: &profile,
            mover,
            pod,
            agent_start,
            log: agent.and_then(|agent| agent.evidence.as_ref()),
            last_write,
            now: self.snapshot.taken_at,
        };
        let situation = self.situation(&facts);
        let entry = entry(&facts, situation);
        let cancel = self.cancel(&facts, node.as_deref());
        let prepare_timeout = task
            .accepted_by
            .as_deref()
            .or(node.as_deref())
            .and_then(|node| self.agents.acting(node))
            .or_else(|| self.snapshot.agents.first())
            .map(|agent| agent.prepare_timeout_seconds);
        let (deadline, deadline_gap) =
            deadline::of(self.snapshot, task, &profile, accepted_at, prepare_timeout);
        TaskReplay {
            task,
            phase_since: self.phase_since(&facts, accepted_at),
            node,
            profile,
            mover,
            pod,
            situation,
            entry,
            cancel,
            last_write,
            accepted_at,
            deadline,
            deadline_gap,
            decision: Decision {
                gate: Gate::None,
                verb: Verb::Unknown,
                reason: String::new(),
                holders: Vec::new(),
                competing: None,
                competing_count: 0,
                next_trigger: Trigger::None,
                diverges: false,
            },
        }
    }

    fn age(&self, time: Option<Timestamp>) -> Option<i64> {
        time.map(|time| self.snapshot.taken_at.duration_since(time).as_secs())
    }

    fn older_than(&self, time: Option<Timestamp>, seconds: i64) -> bool {
        self.age(time).is_some_and(|age| age >= seconds)
    }

    fn situation(&self, facts: &Facts<'_, 's>) -> Situation {
        let task = facts.task;
        if task.reference.kind.is_data_movement()
            && !facts.profile.handles_data_mover(&task.data_mover)
        {
            return Situation::Foreign;
        }
        match &task.phase {
            Phase::Other(_) => Situation::UnknownPhase,
            Phase::Prepared => self.prepared(facts),
            Phase::InProgress | Phase::Canceling => {
                let situation = if facts.mover == Mover::MoverPod {
                    self.running(facts)
                } else {
                    Situation::Ordinary
                };
                if situation == Situation::Ordinary && self.is_stalled(facts) {
                    Situation::Stalled
                } else {
                    situation
                }
            }
            Phase::New | Phase::Accepted | Phase::Canceled | Phase::Completed | Phase::Failed => {
                Situation::Ordinary
            }
        }
    }

    fn prepared(&self, facts: &Facts<'_, 's>) -> Situation {
        let task = facts.task;
        // An agent that started after the rewind has an empty map: the task is an ordinary waiting one again.
        let restarted_since = facts
            .agent_start
            .is_some_and(|start| Some(start) > facts.last_write);
        if facts.profile.can_rewind()
            && task.started.is_some()
            && task.accepted.is_some()
            && task.exposing == Exposing::No
            && !restarted_since
        {
            return Situation::Rewound {
                frozen: self.is_frozen(task),
            };
        }
        if task.cancel == Cancel::Requested || facts.mover == Mover::InProcess {
            return Situation::Ordinary;
        }
        match facts.pod {
            Observed::Absent => Situation::Doomed(Doom::PodMissing),
            Observed::Seen(pod) if pod.has_ended() => Situation::Doomed(Doom::PodTerminal),
            Observed::Seen(pod) if self.volume_is_missing(task, pod) => {
                Situation::Doomed(Doom::VolumeMissing)
            }
            Observed::Seen(_) => Situation::Ordinary,
            Observed::Unknown(_) => Situation::PodUnreadable,
        }
    }

    /// GetExposed of a DataUpload or DataDownload needs the PVC named like the task, and a volume of the
    /// mover pod named like the task's UID (v1.17.2 `pkg/exposer/csi_snapshot.go`, `generic_restore.go`).
    /// Pod volumes are read from the host path instead.
    fn volume_is_missing(&self, task: &Task, pod: &Pod) -> bool {
        if !task.reference.kind.is_data_movement() {
            return false;
        }
        let volume_unnamed =
            !pod.volumes.is_empty() && !task.uid.is_empty() && !pod.volumes.contains(&task.uid);
        volume_unnamed
            || self
                .snapshot
                .claim(&task.reference.namespace, &task.reference.name)
                .is_absent()
    }

    /// Whether a rewound task's progress is empty, or provably unchanged beyond the threshold.
    fn is_frozen(&self, task: &Task) -> bool {
        let Some(progress) = task.progress else {
            return true;
        };
        if progress.bytes_done <= 0 {
            return true;
        }
        match task.writes.managed_fields {
            ManagedFields::Present => self.older_than(
                task.writes.progress.or(task.writes.node_agent),
                self.options.threshold_seconds,
            ),
            ManagedFields::LeftOut => false,
        }
    }

    /// Rows 4 to 6: a task that runs in a mover pod, and its pod.
    fn running(&self, facts: &Facts<'_, 's>) -> Situation {
        let task = facts.task;
        match facts.pod {
            Observed::Unknown(_) => Situation::PodUnreadable,
            Observed::Seen(pod) if pod.has_ended() => {
                let ended = pod.ended_at();
                // An agent that started after the end of the pod picks it up when it resumes the task.
                let (since, limit) = match (ended, facts.agent_start) {
                    (Some(end), Some(start)) if start > end => {
                        let resume = if task.reference.kind.is_data_movement() {
                            0
                        } else {
                            DEFAULT_RESOURCE_TIMEOUT_SECONDS
                        };
                        (Some(start), END_PHASE_SECONDS + resume)
                    }
                    _ => (ended, END_PHASE_SECONDS),
                };
                match self.age(since) {
                    Some(age) if age > limit => Situation::PodEnded,
                    Some(_) => Situation::PodEnding,
                    // It has ended, and does not say when: the end phase cannot be told from a hang.
                    None => Situation::PodUnreadable,
                }
            }
            Observed::Seen(_) => Situation::Ordinary,
            Observed::Absent => {
                let done = task.progress.is_some_and(|progress| {
                    progress.total_bytes > 0 && progress.bytes_done == progress.total_bytes
                });
                let quiet = if done && task.reference.kind == TaskKind::DataDownload {
                    REBIND_WAITS.saturating_mul(
                        task.operation_timeout_seconds
                            .filter(|seconds| *seconds > 0)
                            .unwrap_or(DEFAULT_OPERATION_TIMEOUT_SECONDS),
                    )
                } else {
                    POD_GONE_QUIET_SECONDS
                };
                // The log of its agent settles it: the last write, or what comes before it, failed.
                if let Some(failed) = failed_end(facts) {
                    let over = self.older_than(Some(failed), END_PHASE_SECONDS);
                    return if over {
                        Situation::DoneButPodGone {
                            target_not_bound: self.target_is_unbound(task),
                        }
                    } else {
                        Situation::Finishing
                    };
                }
                // A started agent resumes its tasks first: give it the same time to notice.
                let over = self.older_than(facts.last_write.max(facts.agent_start), quiet);
                match (done, over) {
                    (true, true) => Situation::DoneButPodGone {
                        target_not_bound: self.target_is_unbound(task),
                    },
                    (true, false) => Situation::Finishing,
                    (false, true) => Situation::PodLost,
                    (false, false) => Situation::PodJustGone,
                }
            }
        }
    }

    /// Whether a task that runs has provably made no progress for longer than any report takes. Two looks
    /// prove it, and one does by managedFields: every change of the bytes is a write of the node-agent.
    fn is_stalled(&self, facts: &Facts<'_, 's>) -> bool {
        let task = facts.task;
        if task.phase != Phase::InProgress || task.cancel == Cancel::Requested {
            return false;
        }
        let by_looks = self.snapshot.bytes_unchanged_since(task);
        let by_write = match task.writes.managed_fields {
            ManagedFields::Present => task.writes.node_agent,
            ManagedFields::LeftOut => None,
        };
        // Of two proofs the one that reaches further back counts.
        let since = match (by_looks, by_write) {
            (Some(looks), Some(write)) => looks.min(write),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return false,
        };
        let done = task.progress.is_some_and(|progress| {
            progress.total_bytes > 0 && progress.bytes_done >= progress.total_bytes
        });
        let quiet = if done {
            FLUSH_SECONDS
        } else {
            STALLED_SECONDS.max(self.options.threshold_seconds)
        };
        // An agent that started since has to take the task up again first. Progress that came in and could not
        // be written is progress all the same.
        self.older_than(Some(since).max(facts.agent_start), quiet)
            && self
                .last_report(facts)
                .is_none_or(|report| self.older_than(Some(report), quiet))
    }

    /// When the mover of a task last reported progress, as far as Events and the agent's log say: its status
    /// may stand still although its data moves.
    fn last_report(&self, facts: &Facts<'_, 's>) -> Option<Timestamp> {
        let name = &facts.task.reference.name;
        let by_event = self
            .snapshot
            .events
            .iter()
            .rev()
            .find(|event| {
                event.reason == PROGRESS_EVENT
                    && event.about.name == *name
                    && event.about.namespace.as_ref() == Some(&facts.task.reference.namespace)
            })
            .and_then(|event| event.last_seen);
        let by_log = facts
            .log
            .and_then(|log| log.unwritten_progress.get(name))
            .and_then(|note| note.at);
        by_event.max(by_log)
    }

    fn target_is_unbound(&self, task: &Task) -> bool {
        if task.reference.kind != TaskKind::DataDownload {
            return false;
        }
        let Some(claim) = &task.claim else {
            return false;
        };
        match self.snapshot.restored_claim(&claim.namespace, &claim.name) {
            Observed::Seen(seen) => seen.phase != "Bound",
            Observed::Absent => true,
            Observed::Unknown(_) => false,
        }
    }

    fn cancel(&self, facts: &Facts<'_, 's>, node: Option<&str>) -> CancelState {
        let task = facts.task;
        if task.cancel == Cancel::NotRequested && task.phase != Phase::Canceling {
            return CancelState::NotRequested;
        }
        let requested = task.writes.cancel.as_ref().map(|(time, _)| *time);
        let by_any_agent = matches!(task.phase, Phase::New | Phase::Accepted);
        let works = if by_any_agent || node.is_none() {
            self.agents.any_works() == Some(true)
        } else {
            node.is_some_and(|node| self.agents.working(node).is_yes())
        };
        let overdue =
            facts
                .profile
                .cancel_overdue(task.reference.kind, &task.uploader_type, &task.phase);
        let allowed = match overdue {
            CancelOverdue::AfterSeconds(seconds) => Some(seconds),
            CancelOverdue::AfterThreshold => Some(self.options.threshold_seconds),
            CancelOverdue::Never => None,
        };
        // An agent's memory of when it first saw the flag starts anew with its process.
        let (since, known) = match (requested, &task.phase) {
            (Some(time), _) => (Some(time), RequestTime::Known),
            (None, Phase::Canceling) => (facts.last_write, RequestTime::CancelingSince),
            (None, _) => (None, RequestTime::Known),
        };
        let counted = since.map(|since| facts.agent_start.map_or(since, |start| since.max(start)));
        match since {
            Some(since)
                if works && allowed.is_some_and(|allowed| self.older_than(counted, allowed)) =>
            {
                CancelState::Overdue {
                    since,
                    requested: known,
                }
            }
            Some(_) | None => CancelState::Pending { since: requested },
        }
    }

    fn phase_since(
        &self,
        facts: &Facts<'_, 's>,
        accepted: Option<Timestamp>,
    ) -> Option<(Timestamp, TimeFrom)> {
        let task = facts.task;
        let created = task.created.map(|time| (time, TimeFrom::Created));
        let field = |time: Option<Timestamp>| time.map(|time| (time, TimeFrom::Field));
        let managed = task
            .writes
            .node_agent
            .map(|time| (time, TimeFrom::ManagedFields));
        match &task.phase {
            Phase::New => {
                // A pod volume restore waits for its target pod first, and only then for a slot.
                let ready = if task.reference.kind == TaskKind::PodVolumeRestore {
                    target_pod(self.snapshot, task)
                        .seen()
                        .and_then(restore_wait)
                        .and_then(|state| match state {
                            ContainerState::Running { started_at } => *started_at,
                            ContainerState::Waiting { .. }
                            | ContainerState::Terminated(_)
                            | ContainerState::None => None,
                        })
                } else {
                    None
                };
                let ready = ready
                    .filter(|time| Some(*time) > task.created)
                    .map(|time| (time, TimeFrom::MoverPod));
                ready.or_else(|| field(task.created))
            }
            Phase::Accepted => field(task.accepted.or(task.accepted_annotation))
                .or(managed)
                .or_else(|| field(accepted))
                .or(created),
            Phase::Prepared => {
                // A cancel request by an agent moves the time of the agents' entry.
                let moved = task
                    .writes
                    .cancel
                    .as_ref()
                    .is_some_and(|(_, manager)| manager == NODE_AGENT_MANAGER);
                managed
                    .filter(|_| !moved)
                    .or_else(|| {
                        facts
                            .pod
                            .seen()
                            .and_then(Pod::running_since)
                            .map(|time| (time, TimeFrom::MoverPod))
                    })
                    .or_else(|| accepted.map(|time| (time, TimeFrom::Accepted)))
                    .or(created)
            }
            Phase::InProgress => {
                let is_accept = task.reference.kind.is_data_movement()
                    && facts.profile.start_timestamp == StartTimestamp::AcceptTime;
                let from = if is_accept {
                    TimeFrom::Accepted
                } else {
                    TimeFrom::Field
                };
                task.started.map(|time| (time, from)).or(created)
            }
            Phase::Canceling | Phase::Other(_) => {
                managed.or_else(|| field(task.started)).or(created)
            }
            Phase::Canceled | Phase::Completed | Phase::Failed => field(task.completed),
        }
    }
}

#[derive(Clone, Copy)]
struct Facts<'p, 's> {
    task: &'s Task,
    profile: &'p Profile,
    mover: Mover,
    pod: Observed<&'s Pod>,
    agent_start: Option<Timestamp>,
    /// What the log of the agent's present process proves, if it was read.
    log: Option<&'s LogEvidence>,
    last_write: Option<Timestamp>,
    now: Timestamp,
}

/// When the end of a task's data path failed so that its callback has returned without ending it, by the log of
/// its agent: a write that was refused, or a task that could not be read (v1.17.2
/// `pkg/controller/*_controller.go`, the On… callbacks). The slot is free then.
fn failed_end(facts: &Facts<'_, '_>) -> Option<Timestamp> {
    let name = &facts.task.reference.name;
    let log = facts.log?;
    let at = log.failed_ends.get(name)?.note.at?;
    let since_it_runs = facts.task.started.is_none_or(|started| at >= started);
    (since_it_runs && !log.entries.contains_key(name)).then_some(at)
}

/// Whether the log of its agent shows that the entry of a task is still there long after the last write and the
/// last line about it: a callback that hangs, in the rebind of a DataDownload for instance, holds the slot.
fn is_held_by_log(facts: &Facts<'_, '_>) -> bool {
    let open = || {
        let log = facts.log.filter(|log| log.torn == 0)?;
        let reference = &facts.task.reference;
        let entry = log.entries.get(&reference.name)?;
        let is_mine = entry.kind.is_none_or(|kind| kind == reference.kind);
        let last = entry.last.at.max(facts.last_write).filter(|_| is_mine)?;
        log.before_end(last)
    };
    open().is_some_and(|seconds| seconds >= HELD_SECONDS)
}

/// Returns the contract's lastWrite: the managedFields time of the node-agents, else the newest of the
/// task's own timestamps.
fn last_write(task: &Task) -> Option<Timestamp> {
    task.writes.node_agent.or_else(|| {
        [
            task.created,
            task.accepted,
            task.accepted_annotation,
            task.started,
            task.completed,
        ]
        .into_iter()
        .flatten()
        .max()
    })
}

/// Whether a Canceling task was last written before its agent started. Without managedFields the last
/// write is only known to be no earlier than the task's own timestamps; where the delay rule would have
/// ended a forgotten task by now, one that is still Canceling is not forgotten.
fn is_forgotten(facts: &Facts<'_, '_>) -> bool {
    let Some(start) = facts.agent_start else {
        return false;
    };
    let written_before = facts.last_write.is_some_and(|write| write < start);
    let delay_rule = facts.profile.cancel == CancelHandling::ForcedAfterDelay;
    let forced_by_now = delay_rule
        && facts.task.writes.managed_fields == ManagedFields::LeftOut
        && facts.now.duration_since(start).as_secs() >= FORCED_BY_NOW_SECONDS;
    written_before && !forced_by_now
}

fn entry(facts: &Facts<'_, '_>, situation: Situation) -> SlotEntry {
    match situation {
        Situation::Foreign | Situation::UnknownPhase => return SlotEntry::None,
        Situation::Rewound { .. } => return SlotEntry::Holds,
        Situation::DoneButPodGone { .. } if is_held_by_log(facts) => return SlotEntry::Holds,
        Situation::DoneButPodGone { .. } => return SlotEntry::CallbackReturned,
        Situation::PodEnded
        | Situation::PodEnding
        | Situation::Finishing
        | Situation::PodLost
        | Situation::PodJustGone
        | Situation::PodUnreadable
        | Situation::Doomed(_)
        | Situation::Stalled
        | Situation::Ordinary => {}
    }
    match facts.task.phase {
        Phase::InProgress | Phase::Canceling if failed_end(facts).is_some() => {
            SlotEntry::CallbackReturned
        }
        Phase::InProgress => SlotEntry::Holds,
        Phase::Canceling => {
            if is_forgotten(facts) {
                SlotEntry::Forgotten
            } else {
                SlotEntry::Holds
            }
        }
        Phase::New
        | Phase::Accepted
        | Phase::Prepared
        | Phase::Canceled
        | Phase::Completed
        | Phase::Failed
        | Phase::Other(_) => SlotEntry::None,
    }
}
