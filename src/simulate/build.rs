//! From what was seen and decided to the state in numbers. Where each task stands is the replay's own
//! decision; nothing is decided again here.

use std::collections::BTreeMap;

use super::durations::{Learned, millis, own_remaining};
use super::model::{
    Ending, LANES, Model, NEVER, NONE, NextRules, NodeSpec, OnDeadline, Remaining, Settings, Start,
    TaskSpec, lane_of_kind,
};
use super::table::Table;
use super::{Left, Trouble};
use crate::replay::{
    Deadline, DeadlineWhat, Gate, Mover, NodeReplay, Replay, Situation, SlotEntry, TaskReplay,
    Verb, Working, is_healthy, restart_rules,
};
use crate::snapshot::{Exposing, Observed, Snapshot};
use crate::velero::profile::{CancelHandling, ConfigSource, FsBackupTimeout};
use crate::velero::{DEFAULT_PREPARE_TIMEOUT_SECONDS, Phase, Profile, TaskKind, TaskRef};

/// An expired Accepted task is handled after this long from v1.17 on (main
/// `pkg/controller/data_upload_controller.go`: the delay of 5 minutes, and the look every minute).
pub(super) const FORCED_CANCEL_MS: i64 = 6 * 60 * 1000;

/// A deadline that passed longer ago than this and did not end its task is not in force.
const PAST_MS: i64 = 2 * 60 * 1000;

/// The periodic look.
pub(super) const MINUTE_MS: i64 = 60 * 1000;

/// How long an Accepted task's pod runs at most before the next event makes the task Prepared.
const SECOND_MS: i64 = 1000;

/// How long a data path that was told to stop takes; assumed.
pub(super) const STOP_MS: i64 = 10 * 1000;

/// A model and the names behind its indices.
#[derive(Debug)]
pub(super) struct Built<'s> {
    pub(super) model: Model,
    pub(super) tasks: Vec<&'s TaskRef>,
    pub(super) left: Vec<Left>,
    /// Nodes whose limit is not known and was taken as the number of holders.
    pub(super) unknown_limits: Vec<String>,
    /// How many tasks have an operation timeout that nobody checks yet: their Backup or Restore is InProgress.
    pub(super) unchecked: usize,
    /// How many tasks have no node yet.
    pub(super) without_node: usize,
    pub(super) learned: Facts,
}

/// What the answer says of what was learned.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) finished: usize,
    pub(super) left_out: usize,
    pub(super) start_is_accept: usize,
    pub(super) absurd_bytes: usize,
    pub(super) prepare: usize,
}

/// What to build.
pub(super) struct Input<'a, 's> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) replay: &'a Replay<'s>,
    pub(super) troubles: &'a BTreeMap<String, Trouble>,
}

/// Builds the state of all nodes, or of some.
pub(super) fn build<'s>(
    input: &Input<'_, 's>,
    shows: &dyn Fn(&TaskReplay<'s>) -> bool,
) -> Built<'s> {
    let learned = Learned::of(input.snapshot, input.replay);
    let names: Vec<String> = input.replay.nodes.keys().cloned().collect();
    let node_ids: BTreeMap<String, u32> = names.iter().cloned().zip(0..).collect();
    let mut unknown_limits = Vec::new();
    let nodes: Vec<NodeSpec> = input
        .replay
        .nodes
        .values()
        .map(|node| node_spec(node, input, &mut unknown_limits))
        .collect();
    let mut built = Built {
        model: Model {
            names,
            node_ids,
            nodes: Table::new(nodes),
            tasks: Table::new(Vec::new()),
            groups: Vec::new(),
            prepare: Vec::new(),
            labelled_beside: 0,
            prepare_queue: input.replay.prepare_queue.data_movement.seen(),
            prepare_timeout_ms: prepare_timeout(input.snapshot),
            requeue_new_ms: requeue_new(input.replay),
        },
        tasks: Vec::new(),
        left: Vec::new(),
        unknown_limits,
        unchecked: 0,
        without_node: 0,
        learned: Facts::default(),
    };
    let mut specs = Vec::with_capacity(input.replay.tasks.len());
    let mut labelled: usize = 0;
    for task in input.replay.tasks.values().filter(|task| shows(task)) {
        match input.spec(task, &learned, &built.model) {
            Ok(spec) => {
                labelled += usize::from(spec.labelled);
                built.without_node += usize::from(spec.lane == NONE);
                built.unchecked += usize::from(
                    spec.on_deadline == OnDeadline::Cancels
                        && spec.deadline < NEVER
                        && is_unchecked(input.snapshot, task),
                );
                built.tasks.push(&task.task.reference);
                specs.push(spec);
            }
            Err(left) => built.left.push(left),
        }
    }
    let all = input.replay.prepare_queue.labelled.len();
    built.model.labelled_beside = i64::try_from(all.saturating_sub(labelled)).unwrap_or(i64::MAX);
    built.model.tasks = Table::new(specs);
    built.learned = Facts {
        finished: learned.finished,
        left_out: learned.left_out,
        start_is_accept: learned.start_is_accept,
        absurd_bytes: learned.absurd_bytes,
        prepare: learned.prepare.len(),
    };
    built.model.prepare.clone_from(&learned.prepare);
    if built.model.prepare.is_empty() {
        built
            .model
            .prepare
            .push(super::ASSUMED_PREPARE_SECONDS * 1000);
    }
    built.model.groups = learned.into_groups();
    built
}

/// Whether the operation timeout of a task is not checked yet: the server asks for the operations of a Backup or
/// Restore only when it is not InProgress any more (v1.12.4 … main
/// `pkg/controller/backup_operations_controller.go`).
pub(super) fn is_unchecked(snapshot: &Snapshot, task: &TaskReplay<'_>) -> bool {
    let parent = task.task.parent.as_ref();
    task.task.reference.kind.is_data_movement()
        && parent
            .and_then(|parent| snapshot.parent(parent).seen())
            .is_some_and(|parent| parent.phase == "InProgress")
}

fn node_spec(
    node: &NodeReplay<'_>,
    input: &Input<'_, '_>,
    unknown_limits: &mut Vec<String>,
) -> NodeSpec {
    let holders = node.holders().len();
    let limit = node.limit.in_force.unwrap_or_else(|| {
        if holders > 0 || !node.waiting().is_empty() {
            unknown_limits.push(node.node.clone());
        }
        i64::try_from(holders).unwrap_or(i64::MAX).max(1)
    });
    let queue = &input.replay.prepare_queue;
    let next = restart_rules(input.snapshot, input.replay, &node.node);
    NodeSpec {
        limit_is_known: node.limit.in_force.is_some(),
        settings: Settings {
            limit: match next.config_source {
                ConfigSource::None => false,
                ConfigSource::FixedName | ConfigSource::Flag => true,
            },
            queue: next.labels_accepted_tasks(),
        },
        next: NextRules {
            limited_when: next.limited_when,
            requeue_ms: requeue(&next),
            pool_per_kind: next.has_slots_per_kind(),
            limit: node.limit.configured_now,
        },
        limited_when: node.profile.limited_when,
        requeue_ms: requeue(&node.profile),
        pool_per_kind: node.profile.has_slots_per_kind(),
        works: match node.working {
            // What could not be read is not known to be broken.
            Working::Yes | Working::Unknown => true,
            Working::No { .. } => false,
        },
        limit,
        trouble: input.troubles.get(&node.node).copied(),
        prepare_queue: match queue.by_node.get(&node.node) {
            Some(Observed::Seen(limit)) => Some(*limit),
            Some(Observed::Absent) => None,
            // What one agent reads is what the others read, as long as nothing says otherwise.
            Some(Observed::Unknown(_)) | None => queue.limit.seen(),
        },
    }
}

fn requeue(rules: &Profile) -> i64 {
    rules.requeue_seconds.max(1).saturating_mul(1000)
}

fn prepare_timeout(snapshot: &Snapshot) -> i64 {
    snapshot
        .agents
        .iter()
        .map(|agent| agent.prepare_timeout_seconds)
        .find(|seconds| *seconds > 0)
        .unwrap_or(DEFAULT_PREPARE_TIMEOUT_SECONDS)
        .min(NEVER / 1000)
        .saturating_mul(1000)
}

/// New tasks ask again after the requeue time of the agents.
fn requeue_new(replay: &Replay<'_>) -> i64 {
    replay
        .nodes
        .values()
        .map(|node| node.profile.requeue_seconds)
        .min()
        .unwrap_or(5)
        .max(1)
        .saturating_mul(1000)
}

/// Why a task is not simulated.
fn left(task: &TaskReplay<'_>, why: &'static str) -> Left {
    Left {
        task: task.task.reference.clone(),
        why,
    }
}

impl<'s> Input<'_, 's> {
    fn spec(
        &self,
        task: &TaskReplay<'s>,
        learned: &Learned<'s>,
        model: &Model,
    ) -> Result<TaskSpec, Left> {
        if task.situation == Situation::Foreign {
            return Err(left(task, "it belongs to another data mover"));
        }
        if task.situation == Situation::UnknownPhase {
            return Err(left(task, "its phase is not known"));
        }
        let node = task.node.as_deref().or_else(|| self.selected_node(task));
        let node_id = node.and_then(|node| model.node_ids.get(node)).copied();
        // The group's key outlives this look: the name is the snapshot's own.
        let node_name = self.lasting_node(task);
        let kind = lane_of_kind(task.task.reference.kind);
        let start = self.start(task)?;
        // Without any agent nobody carries a cancel out.
        let (deadline, what) = if model.nodes.iter().any(|node| node.works) {
            self.operation_deadline(task)
        } else {
            (NEVER, None)
        };
        let forced = task.profile.cancel == CancelHandling::ForcedAfterDelay;
        Ok(TaskSpec {
            lane: node_id.map_or(NONE, |node| node * LANES + kind),
            kind,
            start,
            deadline,
            on_deadline: what.map_or(OnDeadline::GoesOn, |what| self.on_deadline(task, what)),
            prepare_deadline: match &task.deadline {
                Some(Deadline {
                    at,
                    what: DeadlineWhat::PrepareTimeout,
                    ..
                }) => millis(*at, self.snapshot.taken_at).clamp(0, NEVER),
                Some(_) | None => NEVER,
            },
            cancel_delay: if forced
                && (task.task.phase == Phase::Accepted || task.decision.verb == Verb::None)
            {
                FORCED_CANCEL_MS
            } else {
                0
            },
            group: learned.group(task.task, node_name).unwrap_or(NONE),
            labelled: task.task.exposing == Exposing::Yes,
            has_pod: task.mover != Mover::InProcess,
            any_agent: task.task.reference.kind.is_data_movement(),
        })
    }

    /// The node of a task as the snapshot's own text.
    fn lasting_node(&self, task: &TaskReplay<'s>) -> Option<&'s str> {
        let node = task.node.as_deref()?;
        let named = task
            .task
            .status_node
            .as_deref()
            .or(task.task.spec_node.as_deref());
        named.filter(|name| *name == node).or_else(|| {
            let pod = task.pod.seen().and_then(|pod| pod.node.as_deref());
            pod.filter(|name| *name == node)
        })
    }

    /// A restore's volume may already be bound to a node.
    fn selected_node(&self, task: &TaskReplay<'s>) -> Option<&'s str> {
        let claim = task.task.claim.as_ref()?;
        if task.task.reference.kind != TaskKind::DataDownload {
            return None;
        }
        self.snapshot
            .restored_claim(&claim.namespace, &claim.name)
            .seen()?
            .selected_node
            .as_deref()
    }

    fn start(&self, task: &TaskReplay<'s>) -> Result<Start, Left> {
        let phase_ends = |how| Ok(Start::Ends(MINUTE_MS, how));
        let decision = &task.decision;
        match (&task.task.phase, task.entry) {
            (_, SlotEntry::Holds) => return Ok(self.holder(task)),
            (Phase::InProgress | Phase::Canceling, _) => {
                return Ok(Start::Stays(Ending::NeverEnds));
            }
            (
                Phase::New
                | Phase::Accepted
                | Phase::Prepared
                | Phase::Canceled
                | Phase::Completed
                | Phase::Failed
                | Phase::Other(_),
                SlotEntry::None | SlotEntry::CallbackReturned | SlotEntry::Forgotten,
            ) => {}
        }
        match decision.verb {
            Verb::Fail | Verb::Cancel => return phase_ends(Ending::EndedByALook),
            Verb::Skip if task.task.phase == Phase::New => {
                return Err(left(task, "no node-agent of this release handles it"));
            }
            Verb::Skip => return Ok(Start::Stays(Ending::NobodyLooks)),
            Verb::None => return Ok(Start::Stays(Ending::MissingOwner)),
            Verb::Admit | Verb::Wait | Verb::Accept | Verb::Prepare | Verb::Unknown => {}
        }
        Ok(match decision.gate {
            Gate::Target => Start::Stays(Ending::Target),
            Gate::Slot => Start::Waits,
            Gate::PrepareQueue | Gate::None | Gate::Expose => match task.task.phase {
                Phase::New => Start::New,
                Phase::Accepted => self.exposing(task),
                Phase::Prepared
                | Phase::InProgress
                | Phase::Canceling
                | Phase::Canceled
                | Phase::Completed
                | Phase::Failed
                | Phase::Other(_) => Start::Waits,
            },
        })
    }

    fn holder(&self, task: &TaskReplay<'s>) -> Start {
        let broken = task.node.is_none() || !is_healthy(task);
        if broken || task.decision.verb == Verb::None && !self.owner_works(task) {
            return Start::HoldsForEver;
        }
        if task.task.phase == Phase::Canceling || task.decision.verb == Verb::Cancel {
            return Start::Holds(Remaining::Known(STOP_MS));
        }
        match task.situation {
            // Its work is done: the last steps run.
            Situation::PodEnding | Situation::Finishing | Situation::PodJustGone => {
                Start::Holds(Remaining::Known(MINUTE_MS))
            }
            Situation::Foreign
            | Situation::UnknownPhase
            | Situation::Rewound { .. }
            | Situation::PodEnded
            | Situation::DoneButPodGone { .. }
            | Situation::PodLost
            | Situation::PodUnreadable
            | Situation::Doomed(_)
            | Situation::Stalled
            | Situation::Ordinary => {
                let now = self.snapshot.taken_at;
                let elapsed = || {
                    task.task
                        .started
                        .map_or(0, |start| millis(now, start).max(0))
                };
                Start::Holds(
                    own_remaining(task, now)
                        .map_or_else(|| Remaining::Beyond(elapsed()), Remaining::Known),
                )
            }
        }
    }

    fn owner_works(&self, task: &TaskReplay<'_>) -> bool {
        task.node
            .as_deref()
            .and_then(|node| self.replay.nodes.get(node))
            .is_some_and(|node| match node.working {
                Working::Yes | Working::Unknown => true,
                Working::No { .. } => false,
            })
    }

    fn exposing(&self, task: &TaskReplay<'_>) -> Start {
        if task.decision.verb == Verb::Prepare {
            // The event that should have made it Prepared was lost: only its timeout ends it.
            return if task.decision.diverges {
                Start::Stays(Ending::NobodyLooks)
            } else {
                Start::BecomesPrepared
            };
        }
        let accepted = task.accepted_at.or(task.task.created);
        let age = accepted.map_or(0, |at| millis(self.snapshot.taken_at, at).max(0));
        if task.pod.is_absent() && age > MINUTE_MS * 10 && self.expose_is_over(task) {
            return Start::Stays(Ending::NobodyLooks);
        }
        Start::Exposes {
            age_ms: age.max(SECOND_MS),
        }
    }

    /// Whether the Expose of a task without a pod does not run any more: that of a pod volume makes its pod at
    /// once, and that of another ends with the process of its acceptor.
    fn expose_is_over(&self, task: &TaskReplay<'_>) -> bool {
        if !task.task.reference.kind.is_data_movement() {
            return true;
        }
        let acceptor = task.task.accepted_by.as_deref();
        acceptor
            .and_then(|node| self.replay.nodes.get(node))
            .and_then(|node| node.agent?.started_at)
            .is_some_and(|started| {
                task.accepted_at
                    .or(task.task.created)
                    .is_some_and(|accepted| started > accepted)
            })
    }

    /// An operation timeout cancels the task. That of the file system backup belongs to the server, whose
    /// release decides; where that is not known, the agents' release does.
    fn on_deadline(&self, task: &TaskReplay<'_>, what: DeadlineWhat) -> OnDeadline {
        match what {
            DeadlineWhat::ItemOperationTimeout | DeadlineWhat::PrepareTimeout => {
                OnDeadline::Cancels
            }
            DeadlineWhat::FsBackupTimeout => {
                let server = match &self.snapshot.server_version {
                    Observed::Seen(version) => Profile::of(version).ok(),
                    Observed::Absent | Observed::Unknown(_) => None,
                };
                let profile = server.map_or(task.profile, |(profile, _)| profile);
                match (profile.fs_backup_timeout, task.task.reference.kind) {
                    (FsBackupTimeout::CancelsBackups, TaskKind::PodVolumeBackup) => {
                        OnDeadline::Cancels
                    }
                    (
                        FsBackupTimeout::CancelsBackups | FsBackupTimeout::StopsWaiting,
                        TaskKind::DataUpload
                        | TaskKind::DataDownload
                        | TaskKind::PodVolumeBackup
                        | TaskKind::PodVolumeRestore,
                    ) => OnDeadline::GoesOn,
                }
            }
        }
    }

    /// The deadline that holds in every phase, also for an Accepted task, whose nearest one is the prepare
    /// timeout.
    fn operation_deadline(&self, task: &TaskReplay<'_>) -> (i64, Option<DeadlineWhat>) {
        let deadline = match &task.deadline {
            Some(deadline) if deadline.what == DeadlineWhat::PrepareTimeout => {
                self.replay.operation_deadline(self.snapshot, task)
            }
            other => other.clone(),
        };
        deadline.map_or((NEVER, None), |deadline| {
            let at = millis(deadline.at, self.snapshot.taken_at);
            // Long over and the task still there: nobody enforces it (a Backup that is InProgress asks for
            // no operation).
            if at < -PAST_MS {
                (NEVER, None)
            } else {
                (at.max(0), Some(deadline.what))
            }
        })
    }
}

/// Returns whether the queue is known to be in force or not.
pub(super) fn queue_is_unknown(replay: &Replay<'_>) -> bool {
    match replay.prepare_queue.limit {
        Observed::Unknown(_) => true,
        Observed::Seen(_) | Observed::Absent => false,
    }
}
