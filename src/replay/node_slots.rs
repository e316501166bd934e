//! Who holds and who waits for the slots of each node, and since when a slot is spare.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::agents::Agents;
use super::limits::NodeLimit;
use super::situation::{node_of, restore_wait, target_pod};
use super::{
    CancelState, Mover, NodeReplay, Pool, ReplayOptions, Situation, SlotEntry, TaskReplay,
};
use crate::snapshot::{Cancel, ContainerState, Snapshot, Task};
use crate::velero::profile::{LimitScope, MissingPod, StartTimestamp};
use crate::velero::{Phase, Profile, TaskKind, TaskRef};

/// One task of a node that ran or runs.
#[derive(Clone, Copy, Debug)]
struct Run {
    kind: TaskKind,
    start: Timestamp,
    end: Timestamp,
    /// Whether `start` is the time at which it began to run. On v1.12 and v1.13 the startTimestamp of a
    /// DataUpload or DataDownload is the accept time, and only the end is known.
    start_known: bool,
    /// Whether it has ended; one that runs "ends" now.
    ended: bool,
}

/// Sorts every task to its node.
pub(super) fn of_all<'s>(
    snapshot: &'s Snapshot,
    agents: &Agents<'s>,
    mut limits: BTreeMap<String, NodeLimit>,
    tasks: &BTreeMap<&'s TaskRef, TaskReplay<'s>>,
    options: ReplayOptions,
) -> BTreeMap<String, NodeReplay<'s>> {
    let mut by_node: BTreeMap<&str, Vec<&TaskReplay<'s>>> = BTreeMap::new();
    for task in tasks.values() {
        if let Some(node) = &task.node {
            by_node.entry(node).or_default().push(task);
        }
    }
    let mut runs = runs(snapshot, agents, tasks);
    let names: BTreeSet<&str> = agents.nodes().chain(by_node.keys().copied()).collect();
    names
        .into_iter()
        .map(|name| {
            let mine = by_node.get(name).map_or(&[][..], Vec::as_slice);
            let (profile, profile_basis) = agents.rules(Some(name));
            let limit = limits
                .remove(name)
                .unwrap_or_else(|| NodeLimit::unknown("no node-agent runs there"))
                .limit;
            let runs = runs.remove(name).unwrap_or_default();
            let node = Node {
                snapshot,
                agents,
                name,
                profile: &profile,
                runs: &runs,
                options,
            };
            let pools = match profile.limit_scope {
                LimitScope::PerNode => vec![node.pool(&TaskKind::ALL, mine, limit.in_force)],
                LimitScope::PerNodeAndKind => TaskKind::ALL
                    .iter()
                    .map(|kind| node.pool(&[*kind], mine, limit.in_force))
                    .collect(),
            };
            let in_phase = |phase: Phase| {
                mine.iter()
                    .filter(|task| task.task.phase == phase && task.situation != Situation::Foreign)
                    .map(|task| &task.task.reference)
                    .collect()
            };
            let replay = NodeReplay {
                node: name.to_owned(),
                agent: agents.acting(name),
                working: agents.working(name),
                profile,
                profile_basis,
                limit,
                pools,
                accepted: in_phase(Phase::Accepted),
                new: in_phase(Phase::New),
            };
            (name.to_owned(), replay)
        })
        .collect()
}

/// Returns whether a task waits for a slot of its node: Prepared, not rewound, without cancel. Up to
/// v1.16 a Prepared task without its pod is passed over, and pod volumes wait in New instead
/// (v1.16.2 `pkg/controller/pod_volume_backup_controller.go`, `pod_volume_restore_controller.go`).
pub(super) fn waits(snapshot: &Snapshot, replay: &TaskReplay<'_>) -> bool {
    let task = replay.task;
    if task.cancel == Cancel::Requested || replay.situation == Situation::Foreign {
        return false;
    }
    match task.phase {
        Phase::Prepared => {
            let rewound = matches!(replay.situation, Situation::Rewound { .. });
            let passed_over = replay.pod.is_absent()
                && replay.profile.missing_pod_when_prepared == MissingPod::SilentReturn;
            !rewound && !passed_over
        }
        Phase::New => {
            if replay.mover != Mover::InProcess || is_ignored(&replay.profile, task) {
                return false;
            }
            match task.reference.kind {
                TaskKind::PodVolumeBackup => true,
                TaskKind::PodVolumeRestore => target_pod(snapshot, task)
                    .seen()
                    .and_then(restore_wait)
                    .is_some_and(|state| matches!(state, ContainerState::Running { .. })),
                TaskKind::DataUpload | TaskKind::DataDownload => false,
            }
        }
        Phase::Accepted
        | Phase::InProgress
        | Phase::Canceling
        | Phase::Canceled
        | Phase::Completed
        | Phase::Failed
        | Phase::Other(_) => false,
    }
}

/// Returns whether no agent handles the task: a restic restore on main.
pub(super) fn is_ignored(profile: &Profile, task: &Task) -> bool {
    profile
        .worker(task.reference.kind, &task.uploader_type)
        .is_none()
}

/// Returns whether a task that holds a slot is sound: none of rows 3 to 7.
pub(crate) fn is_healthy(task: &TaskReplay<'_>) -> bool {
    let sound = match task.situation {
        Situation::Ordinary
        | Situation::PodEnding
        | Situation::Finishing
        | Situation::PodJustGone
        | Situation::PodUnreadable => true,
        Situation::Foreign
        | Situation::UnknownPhase
        | Situation::Rewound { .. }
        | Situation::PodEnded
        | Situation::DoneButPodGone { .. }
        | Situation::PodLost
        | Situation::Stalled
        | Situation::Doomed(_) => false,
    };
    sound && !matches!(task.cancel, CancelState::Overdue { .. })
}

/// Collects when the tasks of each node ran, final ones included.
fn runs(
    snapshot: &Snapshot,
    agents: &Agents<'_>,
    tasks: &BTreeMap<&TaskRef, TaskReplay<'_>>,
) -> BTreeMap<String, Vec<Run>> {
    let now = snapshot.taken_at;
    let mut runs: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for task in snapshot.tasks.values() {
        let replay = tasks.get(&task.reference);
        if replay.is_some_and(|replay| replay.situation == Situation::Foreign) {
            continue;
        }
        let node = match replay {
            Some(replay) => replay.node.clone(),
            None => node_of(snapshot, task, None),
        };
        let (Some(node), Some(start)) = (node, task.started) else {
            continue;
        };
        let (profile, _) = agents.rules(Some(&node));
        let start_known = !task.reference.kind.is_data_movement()
            || profile.start_timestamp == StartTimestamp::InProgressTime;
        let end = match replay {
            // A final task that was cancelled before it ran has both times alike; one that failed in the
            // prepare timeout has no end at all.
            None => match task.completed {
                Some(end) if end > start || !start_known => end,
                Some(_) | None => continue,
            },
            Some(replay) => match replay.entry {
                SlotEntry::Holds => now,
                SlotEntry::CallbackReturned | SlotEntry::Forgotten => {
                    replay.last_write.unwrap_or(start)
                }
                SlotEntry::None => continue,
            },
        };
        let kind = task.reference.kind;
        runs.entry(node).or_default().push(Run {
            kind,
            start: start.min(now),
            end: end.min(now),
            start_known,
            ended: replay.is_none_or(|replay| replay.entry != SlotEntry::Holds),
        });
    }
    runs
}

struct Node<'a, 's> {
    snapshot: &'s Snapshot,
    agents: &'a Agents<'s>,
    name: &'a str,
    profile: &'a Profile,
    runs: &'a [Run],
    options: ReplayOptions,
}

impl<'s> Node<'_, 's> {
    fn pool(
        &self,
        kinds: &[TaskKind],
        mine: &[&TaskReplay<'s>],
        in_force: Option<i64>,
    ) -> Pool<'s> {
        let mine: Vec<&TaskReplay<'s>> = mine
            .iter()
            .copied()
            .filter(|task| kinds.contains(&task.task.reference.kind))
            .collect();
        let holding: Vec<&TaskReplay<'s>> = mine
            .iter()
            .copied()
            .filter(|task| task.entry == SlotEntry::Holds)
            .collect();
        let waiting: Vec<&TaskReplay<'s>> = mine
            .iter()
            .copied()
            .filter(|task| waits(self.snapshot, task))
            .collect();
        let limit = in_force.or(if holding.is_empty() { Some(1) } else { None });
        let oldest_wait = waiting.iter().filter_map(|task| task.phase_since).min();
        let runs: Vec<Run> = self
            .runs
            .iter()
            .copied()
            .filter(|run| kinds.contains(&run.kind))
            .collect();
        let held = i64::try_from(holding.len()).unwrap_or(i64::MAX);
        let spare_since = limit
            .and_then(|limit| self.spare_since(limit, oldest_wait.map(|(time, _)| time), &runs));
        let spare = limit.is_some_and(|limit| limit > held);
        let now = self.snapshot.taken_at;
        let threshold = self.options.threshold_seconds;
        let long_ago = |time: Timestamp| now.duration_since(time).as_secs() >= threshold;
        let recently = |time: Timestamp| !long_ago(time);
        let moving = holding.iter().any(|task| is_healthy(task))
            || runs.iter().any(|run| {
                (run.end < now && recently(run.end)) || (run.start_known && recently(run.start))
            });
        Pool {
            kinds: kinds.to_vec(),
            limit,
            idle: spare && !waiting.is_empty() && spare_since.is_some_and(long_ago),
            holders: holding.iter().map(|task| &task.task.reference).collect(),
            waiting: waiting.iter().map(|task| &task.task.reference).collect(),
            spare_since,
            moving,
            oldest_wait,
        }
    }

    /// The latest of the agent's start, the Prepared time of the oldest waiting task, and the last
    /// instant at which at least `limit` tasks ran.
    fn spare_since(
        &self,
        limit: i64,
        oldest_wait: Option<Timestamp>,
        runs: &[Run],
    ) -> Option<Timestamp> {
        let agent = self.agents.acting(self.name);
        let agent_start = agent.and_then(|agent| {
            agent
                .started_at
                .or(agent.pod.start_time)
                .or(agent.pod.created)
        });
        // A waiting task whose time is not known leaves it open since when the slot is spare.
        Some(oldest_wait?.max(agent_start?)).max(self.last_full(limit, runs))
    }

    fn last_full(&self, limit: i64, runs: &[Run]) -> Option<Timestamp> {
        let starts_unknown = self.profile.start_timestamp == StartTimestamp::AcceptTime;
        if limit <= 1 {
            return runs.iter().map(|run| run.end).max();
        }
        if starts_unknown {
            // How many ran beside each other cannot be told: any end may have freed the slot, and one
            // that still runs has not.
            return runs.iter().filter(|run| run.ended).map(|run| run.end).max();
        }
        let mut steps: Vec<(Timestamp, i64)> = runs
            .iter()
            .flat_map(|run| [(run.start, 1), (run.end, -1)])
            .collect();
        // At one instant an end comes after a start: two tasks that touch overlap for that instant.
        steps.sort_by_key(|(time, step)| (*time, -step));
        let mut running = 0_i64;
        let mut last = None;
        for (time, step) in steps {
            if running >= limit {
                last = Some(time);
            }
            running = running.saturating_add(step);
            if running >= limit {
                last = Some(time);
            }
        }
        last
    }
}
