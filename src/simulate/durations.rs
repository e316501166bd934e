//! How long tasks take, learned from what is there. Nothing is made up: a duration comes from the task's
//! own bytes, from finished tasks, or there is none.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::replay::{Replay, TaskReplay, TimeFrom, is_healthy};
use crate::snapshot::{Snapshot, Task};
use crate::velero::profile::StartTimestamp;
use crate::velero::{Phase, Profile, TaskKind};

/// Nothing that is learned or predicted is longer: what is, is a broken clock.
const LONGEST_MS: i64 = 30 * 24 * 3600 * 1000;

/// A rate over a shorter time says nothing: the uploader reports every 10 seconds.
const SHORTEST_RATE_MS: i64 = 30 * 1000;

/// How many finished tasks of a storage class or node it takes to prefer them to those of the cluster.
const ENOUGH: usize = 3;

/// From what a task's duration is taken, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Its own bytes and rate.
    OwnRate,
    /// Finished tasks of the same volume.
    SameVolume,
    /// Finished tasks of the same kind, storage class and node.
    StorageClassAndNode,
    /// Finished tasks of the same kind and node.
    Node,
    /// Finished tasks of the same kind anywhere.
    Kind,
    /// Finished tasks of any kind.
    Cluster,
    /// The rates of the tasks that run now: nothing has finished.
    Running,
}

impl Basis {
    /// Returns the words used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OwnRate => "its own bytes and rate",
            Self::SameVolume => "finished tasks of the same volume",
            Self::StorageClassAndNode => "finished tasks of the same kind, storage class and node",
            Self::Node => "finished tasks of the same kind and node",
            Self::Kind => "finished tasks of the same kind",
            Self::Cluster => "finished tasks of any kind",
            Self::Running => "the rates of the tasks that run now",
        }
    }
}

/// A group of durations, by index.
pub(super) type GroupId = u32;

/// Durations of one group in milliseconds, ascending.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) basis: Basis,
    pub(super) samples: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'s> {
    Volume(TaskKind, &'s str, &'s str, &'s str),
    ClassAndNode(TaskKind, &'s str, &'s str),
    Node(TaskKind, &'s str),
    Kind(TaskKind),
    Any,
    Running,
}

/// What was learned.
#[derive(Debug)]
pub(super) struct Learned<'s> {
    ids: BTreeMap<Key<'s>, GroupId>,
    groups: Vec<Group>,
    /// From Accepted to Prepared, in milliseconds, ascending.
    pub(super) prepare: Vec<i64>,
    /// How many finished tasks were learned from.
    pub(super) finished: usize,
    /// How many finished tasks were left out because their times run backwards or are absurd.
    pub(super) left_out: usize,
    /// How many were left out because their start is the time of the accept (v1.12, v1.13).
    pub(super) start_is_accept: usize,
    /// How many running tasks have bytes that cannot be: negative, or more done than there are.
    pub(super) absurd_bytes: usize,
}

impl<'s> Learned<'s> {
    /// Learns from every finished task, and from the rates of those that run.
    pub(super) fn of(snapshot: &'s Snapshot, replay: &Replay<'s>) -> Self {
        let mut found: BTreeMap<Key<'s>, Vec<i64>> = BTreeMap::new();
        let mut learned = Self {
            ids: BTreeMap::new(),
            groups: Vec::new(),
            prepare: prepare_times(replay),
            finished: 0,
            left_out: 0,
            start_is_accept: 0,
            absurd_bytes: 0,
        };
        let anywhere = replay.nodes.values().next().map(|node| node.profile);
        for task in snapshot.tasks.values() {
            if task.phase != Phase::Completed {
                continue;
            }
            let (Some(start), Some(end)) = (task.started, task.completed) else {
                continue;
            };
            let node = task.status_node.as_deref().or(task.spec_node.as_deref());
            let profile = node
                .and_then(|node| replay.nodes.get(node))
                .map(|node| node.profile)
                .or(anywhere);
            if profile.is_some_and(|profile| start_is_accept(&profile, task)) {
                learned.start_is_accept += 1;
                continue;
            }
            // To the second: a task of less than one counts as one.
            let duration = millis(end, start);
            if !(0..=LONGEST_MS).contains(&duration) || end > snapshot.taken_at {
                learned.left_out += 1;
                continue;
            }
            learned.finished += 1;
            for key in keys(task, node) {
                found.entry(key).or_default().push(duration.max(1000));
            }
        }
        for task in replay
            .tasks
            .values()
            .filter(|task| task.task.phase == Phase::InProgress)
        {
            if has_absurd_bytes(task.task) {
                learned.absurd_bytes += 1;
            }
            if let Some(rate) = Rate::of(task, snapshot.taken_at) {
                found.entry(Key::Running).or_default().push(rate.whole());
            }
        }
        for (key, mut samples) in found {
            samples.sort_unstable();
            let id = GroupId::try_from(learned.groups.len()).unwrap_or(GroupId::MAX);
            learned.groups.push(Group {
                basis: basis(&key),
                samples,
            });
            learned.ids.insert(key, id);
        }
        learned
    }

    /// Returns the groups.
    pub(super) fn into_groups(self) -> Vec<Group> {
        self.groups
    }

    /// Returns the best group for a task, if anything is known at all.
    pub(super) fn group(&self, task: &'s Task, node: Option<&'s str>) -> Option<GroupId> {
        keys(task, node)
            .into_iter()
            .chain([Key::Running])
            .find_map(|key| {
                let id = *self.ids.get(&key)?;
                let enough = match key {
                    Key::ClassAndNode(..) | Key::Node(..) => ENOUGH,
                    Key::Volume(..) | Key::Kind(_) | Key::Any | Key::Running => 1,
                };
                let group = self.groups.get(usize::try_from(id).ok()?)?;
                (group.samples.len() >= enough).then_some(id)
            })
    }
}

const fn basis(key: &Key<'_>) -> Basis {
    match key {
        Key::Volume(..) => Basis::SameVolume,
        Key::ClassAndNode(..) => Basis::StorageClassAndNode,
        Key::Node(..) => Basis::Node,
        Key::Kind(_) => Basis::Kind,
        Key::Any => Basis::Cluster,
        Key::Running => Basis::Running,
    }
}

/// Returns the groups that a task belongs to, closest first.
fn keys<'s>(task: &'s Task, node: Option<&'s str>) -> Vec<Key<'s>> {
    let kind = task.reference.kind;
    let mut keys = Vec::with_capacity(5);
    match (&task.claim, &task.pod) {
        (Some(claim), _) => keys.push(Key::Volume(kind, &claim.namespace, &claim.name, "")),
        (None, Some(pod)) => {
            keys.push(Key::Volume(kind, &pod.namespace, &pod.name, &task.volume));
        }
        (None, None) => {}
    }
    if let (Some(class), Some(node)) = (&task.storage_class, node) {
        keys.push(Key::ClassAndNode(kind, class, node));
    }
    if let Some(node) = node {
        keys.push(Key::Node(kind, node));
    }
    keys.push(Key::Kind(kind));
    keys.push(Key::Any);
    keys
}

fn start_is_accept(profile: &Profile, task: &Task) -> bool {
    task.reference.kind.is_data_movement() && profile.start_timestamp == StartTimestamp::AcceptTime
}

/// Returns how long tasks took from Accepted to Prepared, where both times are known.
fn prepare_times(replay: &Replay<'_>) -> Vec<i64> {
    let mut times: Vec<i64> = replay
        .tasks
        .values()
        .filter(|task| task.task.phase == Phase::Prepared)
        .filter_map(|task| match task.phase_since? {
            (since, TimeFrom::ManagedFields | TimeFrom::MoverPod) => {
                Some(millis(since, task.accepted_at?))
            }
            (_, TimeFrom::Accepted | TimeFrom::Created | TimeFrom::Field) => None,
        })
        .filter(|time| (0..=LONGEST_MS).contains(time))
        .collect();
    times.sort_unstable();
    times
}

fn has_absurd_bytes(task: &Task) -> bool {
    task.progress.is_some_and(|progress| {
        progress.bytes_done < 0
            || progress.total_bytes < 0
            || (progress.total_bytes > 0 && progress.bytes_done > progress.total_bytes)
    })
}

/// How fast a running task is.
#[derive(Clone, Copy, Debug)]
struct Rate {
    done: i64,
    total: i64,
    /// From its start to its last report.
    elapsed_ms: i64,
    /// From its last report to now.
    since_report_ms: i64,
}

impl Rate {
    fn of(task: &TaskReplay<'_>, now: Timestamp) -> Option<Self> {
        let progress = task.task.progress?;
        let total = progress.total_bytes;
        let done = progress.bytes_done;
        if total <= 0 || done <= 0 || done > total || start_is_accept(&task.profile, task.task) {
            return None;
        }
        if !is_healthy(task) {
            return None;
        }
        let report = task
            .task
            .writes
            .progress
            .or(task.last_write)
            .map_or(now, |at| at.min(now));
        let elapsed_ms = millis(report, task.task.started?);
        if elapsed_ms < SHORTEST_RATE_MS {
            return None;
        }
        let rate = Self {
            done,
            total,
            elapsed_ms,
            since_report_ms: millis(now, report),
        };
        (rate.whole() <= LONGEST_MS).then_some(rate)
    }

    /// How long the whole task takes at this rate.
    fn whole(self) -> i64 {
        scaled(self.elapsed_ms, self.total, self.done)
    }

    /// How long it still takes, counted from now.
    fn remaining(self) -> i64 {
        self.whole()
            .saturating_sub(self.elapsed_ms)
            .saturating_sub(self.since_report_ms)
            .max(1000)
    }
}

/// `time * total / done` without overflow.
fn scaled(time: i64, total: i64, done: i64) -> i64 {
    let wide = i128::from(time) * i128::from(total) / i128::from(done.max(1));
    i64::try_from(wide).unwrap_or(i64::MAX)
}

/// Returns what a running task's own bytes say of how long it still takes, in milliseconds.
pub(super) fn own_remaining(task: &TaskReplay<'_>, now: Timestamp) -> Option<i64> {
    Rate::of(task, now).map(Rate::remaining)
}

/// Milliseconds from one instant to another; negative where they run backwards.
pub(super) fn millis(later: Timestamp, earlier: Timestamp) -> i64 {
    later
        .as_millisecond()
        .saturating_sub(earlier.as_millisecond())
}
