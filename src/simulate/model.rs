//! The present state in numbers: nodes, pools, lanes and tasks by index. Built once; every run reads it.

use std::collections::BTreeMap;

use super::durations::{Group, GroupId};
use super::table::Table;
use super::trouble::Trouble;
use crate::velero::TaskKind;
use crate::velero::profile::LimitedWhen;

/// Lanes of a node: one worker queue for each kind.
pub(super) const LANES: u32 = 4;

/// The lane of a kind on its node, 0 to 3.
pub(super) const fn lane_of_kind(kind: TaskKind) -> u32 {
    match kind {
        TaskKind::DataUpload => 0,
        TaskKind::DataDownload => 1,
        TaskKind::PodVolumeBackup => 2,
        TaskKind::PodVolumeRestore => 3,
    }
}

/// No node, no group.
pub(super) const NONE: u32 = u32::MAX;

/// No time.
pub(super) const NEVER: i64 = i64::MAX;

/// How a task ended in a run, or why it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// It ran to its end.
    Completed,
    /// Its operation timeout ended it before it got a slot.
    DeadlineWaiting,
    /// Its operation timeout ended it while it ran.
    DeadlineRunning,
    /// Its prepare timeout ended it.
    PrepareTimeout,
    /// A look ends it: its pod or volume is gone, or cancel was requested.
    EndedByALook,
    /// The restart that the scenario takes cancels it or marks it Failed.
    EndedByRestart,
    /// It waits at the end of the run: every slot of its node is taken by something that never ends.
    NoSlotLeft,
    /// It waits at the end of the run: nothing makes a node-agent look at it.
    NobodyLooks,
    /// No node-agent works for it.
    MissingOwner,
    /// Its restore target is missing or not ready.
    Target,
    /// It holds its slot or its place, and nothing ends it.
    NeverEnds,
    /// The prepare queue is full of tasks that never leave it.
    NoRoomInQueue,
    /// It is Accepted for longer than any other was, and its Expose may still run: whether it becomes Prepared
    /// before its prepare timeout is not known.
    NotKnown,
}

impl Ending {
    /// Returns the text used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::DeadlineWaiting => "deadline-waiting",
            Self::DeadlineRunning => "deadline-running",
            Self::PrepareTimeout => "prepare-timeout",
            Self::EndedByALook => "ended-by-a-look",
            Self::EndedByRestart => "ended-by-restart",
            Self::NoSlotLeft => "no-slot-left",
            Self::NobodyLooks => "nobody-looks",
            Self::MissingOwner => "missing-owner",
            Self::Target => "target",
            Self::NeverEnds => "never-ends",
            Self::NoRoomInQueue => "no-room-in-queue",
            Self::NotKnown => "not-known",
        }
    }

    /// Returns whether the task still stands where it was when everything else has ended.
    #[must_use]
    pub const fn is_stuck(self) -> bool {
        match self {
            Self::Completed
            | Self::DeadlineWaiting
            | Self::DeadlineRunning
            | Self::PrepareTimeout
            | Self::EndedByALook
            | Self::EndedByRestart
            | Self::NotKnown => false,
            Self::NoSlotLeft
            | Self::NobodyLooks
            | Self::MissingOwner
            | Self::Target
            | Self::NeverEnds
            | Self::NoRoomInQueue => true,
        }
    }
}

/// How the time until a task's end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remaining {
    /// This long from now.
    Known(i64),
    /// Like the others of its group, but longer than it has run already.
    Beyond(i64),
}

/// Where a task stands at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// It holds a slot and ends by itself.
    Holds(Remaining),
    /// It holds a slot for ever.
    HoldsForEver,
    /// It waits for a slot.
    Waits,
    /// It is Accepted and becomes Prepared: its age, or at this time.
    Exposes {
        /// How long ago it was accepted.
        age_ms: i64,
    },
    /// Its pod runs: it becomes Prepared at once.
    BecomesPrepared,
    /// It is New.
    New,
    /// Something ends it, this long from now at the latest.
    Ends(i64, Ending),
    /// It stays as it is.
    Stays(Ending),
}

/// What the end of a task's time means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnDeadline {
    /// The task is cancelled.
    Cancels,
    /// The server stops waiting for it, and it goes on.
    GoesOn,
}

/// A task.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskSpec {
    /// The lane of its node and kind; [`NONE`] while it has no node.
    pub(super) lane: u32,
    /// Its kind, 0 to 3.
    pub(super) kind: u32,
    pub(super) start: Start,
    /// When its operation timeout ends it; [`NEVER`] without one.
    pub(super) deadline: i64,
    pub(super) on_deadline: OnDeadline,
    /// When its prepare timeout ends it while it is Accepted.
    pub(super) prepare_deadline: i64,
    /// How long an expired task stands before it is Canceled: the delay rule of an Accepted task.
    pub(super) cancel_delay: i64,
    pub(super) group: GroupId,
    /// It carries the label that the prepare queue counts.
    pub(super) labelled: bool,
    /// It has a mover or pause pod: `GetExposed` is called for it.
    pub(super) has_pod: bool,
    /// Any agent may accept it.
    pub(super) any_agent: bool,
}

/// The rules of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeSpec {
    pub(super) limited_when: LimitedWhen,
    pub(super) requeue_ms: i64,
    /// A pool for each kind (v1.12).
    pub(super) pool_per_kind: bool,
    pub(super) works: bool,
    /// The concurrency number in force; where it is not known, the number of holders, at least 1.
    pub(super) limit: i64,
    /// What is supposed to be wrong with it.
    pub(super) trouble: Option<Trouble>,
    /// The prepare queue of its agent.
    pub(super) prepare_queue: Option<i64>,
    /// The number in force is known.
    pub(super) limit_is_known: bool,
    /// What can be set for the release that would start.
    pub(super) settings: Settings,
    /// The rules of the agent that would start.
    pub(super) next: NextRules,
}

/// What a release lets its users set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// A concurrency number.
    pub(super) limit: bool,
    /// A prepare queue.
    pub(super) queue: bool,
}

/// The rules of a node after the restart of its agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextRules {
    pub(super) limited_when: LimitedWhen,
    pub(super) requeue_ms: i64,
    pub(super) pool_per_kind: bool,
    /// The concurrency number that the configuration names now, where that is decided.
    pub(super) limit: Option<i64>,
}

/// The present state.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) names: Vec<String>,
    pub(super) node_ids: BTreeMap<String, u32>,
    pub(super) nodes: Table<NodeSpec>,
    pub(super) tasks: Table<TaskSpec>,
    pub(super) groups: Vec<Group>,
    /// From Accepted to Prepared, in milliseconds, ascending; never empty.
    pub(super) prepare: Vec<i64>,
    /// Labels of tasks that are not simulated.
    pub(super) labelled_beside: i64,
    /// The prepare queue that holds back DataUploads and DataDownloads, which any agent accepts.
    pub(super) prepare_queue: Option<i64>,
    pub(super) prepare_timeout_ms: i64,
    pub(super) requeue_new_ms: i64,
}

impl Model {
    /// Returns the pool of a lane: its node's first lane, or itself on v1.12.
    pub(super) fn pool(&self, lane: u32) -> u32 {
        let node = lane / LANES;
        if self.nodes.at(node).pool_per_kind {
            lane
        } else {
            node * LANES
        }
    }

    /// Takes all deadlines away, to see what ends without them.
    pub(super) fn forget_deadlines(&mut self) {
        for id in self.tasks.ids() {
            let task = self.tasks.at_mut(id);
            task.deadline = NEVER;
            task.on_deadline = OnDeadline::GoesOn;
        }
    }

    /// Takes all entries of holders away.
    pub(super) fn forget_holders(&mut self) {
        for id in self.tasks.ids() {
            let task = self.tasks.at_mut(id);
            if matches!(task.start, Start::Holds(_) | Start::HoldsForEver) {
                task.start = Start::Stays(Ending::NeverEnds);
            }
        }
    }

    /// Takes all prepare queues away.
    pub(super) fn forget_prepare_queues(&mut self) {
        self.prepare_queue = None;
        for id in self.nodes.ids() {
            self.nodes.at_mut(id).prepare_queue = None;
        }
    }

    /// Returns whether nothing says how long any task takes.
    pub(super) fn knows_no_duration(&self) -> bool {
        self.groups.is_empty()
    }
}
