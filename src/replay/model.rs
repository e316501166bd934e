//! The words of the replay: nodes, pools, limits, tasks, decisions.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::gates::{self, Passage};
use crate::snapshot::{Gap, NodeAgent, Observed, Pod, ProfileBasis, Snapshot, Task};
use crate::velero::{Profile, TaskKind, TaskRef};

/// How long things may take before they count as stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// How long a task may wait beside a free slot, in seconds (`--threshold`).
    pub threshold_seconds: i64,
}

impl Default for ReplayOptions {
    /// Ten minutes, the contract's default.
    fn default() -> Self {
        Self {
            threshold_seconds: 600,
        }
    }
}

/// The answer of the replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay<'s> {
    /// The options it was made with.
    pub options: ReplayOptions,
    /// Every node that has an agent or an unfinished task, by name.
    pub nodes: BTreeMap<String, NodeReplay<'s>>,
    /// What is known of each unfinished task.
    pub tasks: BTreeMap<&'s TaskRef, TaskReplay<'s>>,
    /// The cluster-wide gate before Accepted.
    pub prepare_queue: PrepareQueue,
    /// What the replay could not know.
    pub gaps: Vec<Gap>,
}

impl Replay<'_> {
    /// Returns the deadline that the Backup or Restore of a task sets. It holds in every phase, also for an
    /// Accepted task, whose nearest deadline is its prepare timeout.
    #[must_use]
    pub fn operation_deadline(
        &self,
        snapshot: &Snapshot,
        task: &TaskReplay<'_>,
    ) -> Option<Deadline> {
        super::deadline::of_operation(snapshot, task.task).0
    }
}

/// One node: its agent, its limit, and who holds and waits.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeReplay<'s> {
    /// The node's name.
    pub node: String,
    /// The agent that acts there: the working one, else the newest; `None` if there is none.
    pub agent: Option<&'s NodeAgent>,
    /// Whether that agent works.
    pub working: Working,
    /// The rules of the node: its agent's, else those of the rest of the cluster.
    pub profile: Profile,
    /// How sure the rules are.
    pub profile_basis: ProfileBasis,
    /// The concurrency number.
    pub limit: Limit,
    /// The pools of slots: one, or on v1.12 one for each kind.
    pub pools: Vec<Pool<'s>>,
    /// Tasks Accepted whose mover pod is on this node.
    pub accepted: Vec<&'s TaskRef>,
    /// New tasks bound to this node (PodVolumeBackup by `spec.node`, PodVolumeRestore by its target pod).
    pub new: Vec<&'s TaskRef>,
}

impl<'s> NodeReplay<'s> {
    /// Returns the holders of all pools, in order.
    #[must_use]
    pub fn holders(&self) -> Vec<&'s TaskRef> {
        let mut all: Vec<_> = self
            .pools
            .iter()
            .flat_map(|pool| pool.holders.iter().copied())
            .collect();
        all.sort();
        all
    }

    /// Returns the waiting tasks of all pools, in order.
    #[must_use]
    pub fn waiting(&self) -> Vec<&'s TaskRef> {
        let mut all: Vec<_> = self
            .pools
            .iter()
            .flat_map(|pool| pool.waiting.iter().copied())
            .collect();
        all.sort();
        all
    }

    /// Returns the number of slots of the node: the limit of its pool, or on v1.12 the sum of its four
    /// pools; `None` where one of them is undecidable.
    #[must_use]
    pub fn slots(&self) -> Option<i64> {
        self.pools.iter().map(|pool| pool.limit).sum()
    }
}

/// Whether a node has a working agent: a node-agent pod that is Running, its container ready, not
/// terminating, on a Node that is Ready where Nodes are readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Working {
    /// It has.
    Yes,
    /// It has not, for this reason, since then (where that is known).
    No {
        /// Why.
        why: NotWorking,
        /// Since when, provably.
        since: Option<Timestamp>,
    },
    /// Pods could not be read.
    Unknown,
}

impl Working {
    /// Returns whether the node has a working agent.
    #[must_use]
    pub const fn is_yes(&self) -> bool {
        matches!(self, Self::Yes)
    }
}

/// Why a node has no working agent, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotWorking {
    /// Nodes were readable and this one is not among them.
    NodeGone,
    /// The Node's Ready condition is not True.
    NodeNotReady,
    /// No node-agent pod is on the node.
    AgentMissing,
    /// There is one, and it is not running, not ready or terminating.
    AgentNotReady,
}

/// The concurrency number of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The number that the running agent uses, as far as it is known.
    pub in_force: Option<i64>,
    /// Where that comes from.
    pub source: LimitSource,
    /// What the configuration says now: what an agent that starts now would use.
    pub configured_now: Option<i64>,
    /// How sure `in_force` is.
    pub basis: LimitBasis,
    /// What provably changed after the agent started, whether or not a log states the number.
    pub drift: Vec<Drift>,
    /// What the agent's configuration says, step by step, in Velero's own order.
    pub steps: Vec<String>,
}

/// Where the concurrency number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// No configuration: 1.
    Default,
    /// `loadConcurrency.globalConfig`.
    Global,
    /// The smallest matching rule of `loadConcurrency.perNodeConfig`.
    PerNode,
    /// The agent's own log said so when it started.
    AgentLog,
    /// It is not known.
    Unknown,
}

impl LimitSource {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Global => "global",
            Self::PerNode => "per-node",
            Self::AgentLog => "agent-log",
            Self::Unknown => "unknown",
        }
    }
}

/// How sure the limit in force is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitBasis {
    /// The configuration provably did not change after the agent started, or none is read.
    Proven,
    /// The agent's log states it.
    Logged,
    /// It is not known whether the configuration changed after the agent started; taken as unchanged.
    AssumedUnchanged(String),
    /// Provably changed after the agent started: the old number is in force, and nobody can read it.
    Drifted(Vec<Drift>),
    /// The configuration could not be read, or does not say one number; and why.
    Unreadable(String),
}

/// One object whose change an agent has not seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drift {
    /// The ConfigMap or Node.
    pub object: crate::velero::ObjectRef,
    /// When it changed; `None` where only that it did is known.
    pub changed: Option<Timestamp>,
    /// What changed: `data`, or a label key.
    pub what: String,
}

/// One pool of slots.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool<'s> {
    /// The kinds that share it.
    pub kinds: Vec<TaskKind>,
    /// The limit of this pool: [`Limit::in_force`]; where that is unknown, 1 if nobody holds a slot
    /// (every limit is at least 1), else `None`: undecidable.
    pub limit: Option<i64>,
    /// Tasks that hold a slot, by the evidence of the objects; ordered.
    pub holders: Vec<&'s TaskRef>,
    /// Tasks that would take a slot; ordered.
    pub waiting: Vec<&'s TaskRef>,
    /// Since when a slot is provably spare: the latest of the agent's start, the Prepared time of the
    /// oldest waiting task, and the last instant at which at least `limit` tasks ran.
    pub spare_since: Option<Timestamp>,
    /// Whether a slot has been spare for at least the threshold while somebody waits.
    pub idle: bool,
    /// Whether a healthy holder exists, or a task ran, started or ended within the threshold.
    pub moving: bool,
    /// When the oldest waiting task began to wait, and how that is known.
    pub oldest_wait: Option<(Timestamp, TimeFrom)>,
}

/// How a time is known that no field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeFrom {
    /// The managedFields entry of manager `node-agent-server`.
    ManagedFields,
    /// The start of the mover pod's container.
    MoverPod,
    /// The accept time: a lower bound.
    Accepted,
    /// The creation of the task: a lower bound.
    Created,
    /// A field of the task says so.
    Field,
}

impl TimeFrom {
    /// Returns the words used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ManagedFields => "managedFields",
            Self::MoverPod => "mover pod start",
            Self::Accepted => "accept time",
            Self::Created => "creation time",
            Self::Field => "status",
        }
    }
}

/// The cluster-wide gate before Accepted (v1.17.0 `pkg/exposer/vgdp_counter.go`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareQueue {
    /// Whether it is in force: `Seen(limit)`, absent, or not known.
    pub limit: Observed<i64>,
    /// The tasks that carry the label and so fill it, ordered.
    pub labelled: Vec<TaskRef>,
    /// The number of each node's agent: a pod volume is accepted by the agent of its node alone.
    pub by_node: BTreeMap<String, Observed<i64>>,
    /// The number that holds back DataUploads and DataDownloads: the largest of all agents', since any
    /// agent may accept them; absent as soon as one agent has none.
    pub data_movement: Observed<i64>,
}

impl PrepareQueue {
    /// Returns the number that holds back a New task.
    #[must_use]
    pub fn limit_for(&self, task: &TaskReplay<'_>) -> Observed<i64> {
        if task.task.reference.kind.is_data_movement() {
            return self.data_movement;
        }
        task.node
            .as_ref()
            .and_then(|node| self.by_node.get(node).copied())
            .unwrap_or(self.limit)
    }

    /// Returns whether New tasks are held back; `None` when that is not known.
    #[must_use]
    pub fn is_full(&self) -> Option<bool> {
        let length = i64::try_from(self.labelled.len()).unwrap_or(i64::MAX);
        match self.limit {
            Observed::Seen(limit) => Some(gates::prepare_queue(length, limit) == Passage::Closed),
            Observed::Absent => Some(false),
            Observed::Unknown(_) => None,
        }
    }
}

/// One unfinished task: what is known, what its situation is, what would be decided.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskReplay<'s> {
    /// The task.
    pub task: &'s Task,
    /// Its node: `status.node`, else its mover pod's, else `spec.node`, else (in-process
    /// PodVolumeRestore) its target pod's. Never the acceptor.
    pub node: Option<String>,
    /// The rules that apply.
    pub profile: Profile,
    /// Where its work is done.
    pub mover: Mover,
    /// Its mover pod; [`Observed::Absent`] also for kinds that have none.
    pub pod: Observed<&'s Pod>,
    /// Its situation in the table of precedence.
    pub situation: Situation,
    /// Whether it has an entry in its agent's memory: a slot.
    pub entry: SlotEntry,
    /// How its cancel request stands.
    pub cancel: CancelState,
    /// When it became what its phase says, and how that is known.
    pub phase_since: Option<(Timestamp, TimeFrom)>,
    /// The managedFields time of the node-agents, else the newest of its own timestamps.
    pub last_write: Option<Timestamp>,
    /// When it was accepted.
    pub accepted_at: Option<Timestamp>,
    /// When it ends by itself at the latest.
    pub deadline: Option<Deadline>,
    /// Why there is no deadline although one may exist.
    pub deadline_gap: Option<Gap>,
    /// What the agent would decide.
    pub decision: Decision<'s>,
}

/// Where a task's work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// In a mover pod: the contract's "mover kinds".
    MoverPod,
    /// In the agent, beside a pause pod.
    PausePod,
    /// In the agent, without a pod.
    InProcess,
}

/// Whether a task has an entry in its agent's data-path manager. Derived, never observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotEntry {
    /// It holds a slot: InProgress, Canceling, or rewound.
    Holds,
    /// It holds none: it has not started, or has no node.
    None,
    /// Its callback has returned without ending it (row 5): the slot is free.
    CallbackReturned,
    /// Canceling since before its agent started: no version resumes it, its entry is gone.
    Forgotten,
}

/// How a cancel request stands (row 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CancelState {
    /// `spec.cancel` is not set.
    NotRequested,
    /// It is set, and its time is not over, or not known.
    Pending {
        /// The managedFields time of the entry that owns `f:cancel`.
        since: Option<Timestamp>,
    },
    /// It should have been carried out by now.
    Overdue {
        /// Since when it is requested, or (not certain) since when the task is Canceling at least.
        since: Timestamp,
        /// Whether managedFields say when it was requested.
        requested: RequestTime,
    },
}

/// Whether the time of a cancel request is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestTime {
    /// The managedFields entry that owns `f:cancel` says so.
    Known,
    /// Only that the task is Canceling since then.
    CancelingSince,
}

/// The row of the precedence table that a task falls under, apart from those about agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Situation {
    /// Row 0: another data mover's task.
    Foreign,
    /// A phase that this tool does not know.
    UnknownPhase,
    /// Row 3: Prepared again although it had started (v1.17 on).
    Rewound {
        /// Whether its progress is empty or unchanged beyond the threshold.
        frozen: bool,
    },
    /// Row 4: the mover pod ended more than two minutes ago and the task did not.
    PodEnded,
    /// Row 4 within its two minutes: the normal end phase.
    PodEnding,
    /// Row 5: the pod is gone, and the callback has returned: all bytes are done and the quiet time is over, or
    /// the agent's log says that the end of the data path failed.
    DoneButPodGone {
        /// Whether the target PVC of a DataDownload is seen and not Bound.
        target_not_bound: bool,
    },
    /// Row 5 within its quiet time.
    Finishing,
    /// Row 6: the pod is gone, bytes are missing, and the quiet time is over.
    PodLost,
    /// Row 6 within its quiet time.
    PodJustGone,
    /// Row 6 cannot be decided because pods could not be read.
    PodUnreadable,
    /// Row 8: Prepared, and its pod or volume is gone or ended.
    Doomed(Doom),
    /// It runs, its pod runs, and its bytes have not changed for longer than any report takes.
    Stalled,
    /// None of the above.
    Ordinary,
}

/// Why a Prepared task cannot succeed, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doom {
    /// Its mover pod is gone.
    PodMissing,
    /// Its mover pod has ended.
    PodTerminal,
    /// Its mover pod has no volume named after the task, or the PVC is gone.
    VolumeMissing,
}

/// When a task ends by itself at the latest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// The time.
    pub at: Timestamp,
    /// Which timeout.
    pub what: DeadlineWhat,
    /// Whether the base of the time is only in object storage, so that this is an estimate.
    pub approximate: bool,
}

/// The timeout behind a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeadlineWhat {
    /// `--data-mover-prepare-timeout` of the agent.
    PrepareTimeout,
    /// `spec.itemOperationTimeout` of the Backup or Restore.
    ItemOperationTimeout,
    /// `--fs-backup-timeout` of the server.
    FsBackupTimeout,
}

impl DeadlineWhat {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PrepareTimeout => "prepareTimeout",
            Self::ItemOperationTimeout => "itemOperationTimeout",
            Self::FsBackupTimeout => "fsBackupTimeout",
        }
    }
}

/// The gate at which a look ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The restore's target pod or PVC.
    Target,
    /// `prepareQueueLength`.
    PrepareQueue,
    /// The mover pod and its volume.
    Expose,
    /// The slot.
    Slot,
    /// None: nothing is asked.
    None,
}

impl Gate {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::PrepareQueue => "prepare-queue",
            Self::Expose => "expose",
            Self::Slot => "slot",
            Self::None => "none",
        }
    }
}

/// What a look now would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Prepared -> InProgress (in-process tasks: New -> InProgress).
    Admit,
    /// Nothing yet; another trigger brings it back.
    Wait,
    /// New -> Accepted.
    Accept,
    /// Accepted -> Prepared.
    Prepare,
    /// -> Failed.
    Fail,
    /// -> Canceling or Canceled.
    Cancel,
    /// The agents pass over it.
    Skip,
    /// Nothing is left to decide.
    None,
    /// Not decidable from what was read.
    Unknown,
}

impl Verb {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Wait => "wait",
            Self::Accept => "accept",
            Self::Prepare => "prepare",
            Self::Fail => "fail",
            Self::Cancel => "cancel",
            Self::Skip => "skip",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}

/// What makes the agent look at a task next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Its own timer, 5 seconds.
    Requeue5s,
    /// Its own timer, one minute (v1.12, v1.13.0).
    Requeue1m,
    /// The rate-limited retry, up to about 1000 seconds.
    Backoff,
    /// The periodic source, every minute.
    Periodic1m,
    /// An Update event of the mover pod.
    PodUpdate,
    /// An event of the restore's target pod.
    TargetPodUpdate,
    /// An Update event of the task.
    ObjectUpdate,
    /// The start of an agent.
    AgentStart,
    /// Nothing.
    None,
}

impl Trigger {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requeue5s => "requeue-5s",
            Self::Requeue1m => "requeue-1m",
            Self::Backoff => "backoff",
            Self::Periodic1m => "periodic-1m",
            Self::PodUpdate => "pod-update",
            Self::TargetPodUpdate => "target-pod-update",
            Self::ObjectUpdate => "object-update",
            Self::AgentStart => "agent-start",
            Self::None => "none",
        }
    }
}

/// How many competitors a decision names. With every other one named, a queue of thousands would make an
/// answer that grows with its square.
pub const NAMED: usize = 20;

/// What the agent would decide for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<'s> {
    /// The gate at which the look ends.
    pub gate: Gate,
    /// What it does.
    pub verb: Verb,
    /// Why, in one sentence.
    pub reason: String,
    /// Who holds the slots it waits for; at the prepare queue the first [`NAMED`] of those that fill it.
    pub holders: Vec<&'s TaskRef>,
    /// The first [`NAMED`] of those that may take the next slot instead: Velero keeps no order. `None`
    /// where there is no race.
    pub competing: Option<Vec<&'s TaskRef>>,
    /// How many may take it instead.
    pub competing_count: usize,
    /// What brings the task back.
    pub next_trigger: Trigger,
    /// Whether the decision would move the task on and it has not moved for longer than its trigger allows.
    pub diverges: bool,
}
