//! Which node has how many slots, who holds them, who waits.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::head::plain_version;
use super::{Filters, Head, Pins};
use crate::diagnose::{Diagnosis, Finding, NodeVerdict};
use crate::replay::{Deadline, LimitSource, NodeReplay, Pool, Replay, Situation, TaskReplay};
use crate::simulate::Eta;
use crate::snapshot::{Observed, Progress, Snapshot};
use crate::velero::{Phase, TaskKind, TaskRef};

/// The answer of `status`.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusReport {
    /// The head.
    pub head: Head,
    /// The prepare queue; `None` where none is in force or that is not known (a gap says so).
    pub prepare_queue: Option<PrepareQueueRow>,
    /// Tasks that no node owns yet.
    pub unassigned: Unassigned,
    /// The nodes, by name.
    pub nodes: Vec<NodeRow>,
    /// How many nodes the filters left out.
    pub nodes_not_shown: usize,
    /// Whether any agent or task was seen at all.
    pub velero_seen: VeleroSeen,
    /// The unfinished tasks by node, kind and phase, in that order; none of a node that the filters left out.
    pub task_counts: Vec<TaskCount>,
}

/// How many unfinished tasks of a kind are in a phase on a node. Tasks of another data mover are not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCount {
    /// The node; `None` while no node has the task.
    pub node: Option<String>,
    /// The kind.
    pub kind: TaskKind,
    /// The phase, or `other` for one that is not known.
    pub phase: &'static str,
    /// How many.
    pub number: usize,
}

/// Whether any agent or task was seen at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VeleroSeen {
    /// None was: there is nothing to answer from.
    No,
    /// One was.
    Yes,
}

/// The prepare queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareQueueRow {
    /// How many tasks fill it.
    pub length: usize,
    /// `prepareQueueLength`.
    pub limit: i64,
}

/// Tasks that no node owns yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unassigned {
    /// New.
    pub new: usize,
    /// Accepted, without a scheduled mover pod.
    pub accepted: usize,
}

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRow {
    /// Its name.
    pub name: String,
    /// Its agent.
    pub agent: Option<AgentRow>,
    /// Its concurrency number.
    pub limit: LimitRow,
    /// Its slots.
    pub slots: SlotsRow,
    /// Its unfinished tasks, by phase.
    pub tasks: TaskCounts,
    /// How long the oldest waiting task waits.
    pub oldest_wait_seconds: Option<i64>,
    /// Tasks that hold a slot, by the evidence of the objects.
    pub holders: Vec<TaskRow>,
    /// Tasks that would take one.
    pub waiting: Vec<TaskRow>,
    /// How many they are, whatever a filter shows of them.
    pub waiting_count: usize,
    /// The verdict.
    pub verdict: NodeVerdict,
}

/// The agent of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    /// Its pod.
    pub pod: String,
    /// Whether it works: Running, ready, not terminating.
    pub ready: bool,
    /// When its process started.
    pub started_at: Option<Timestamp>,
    /// Its version.
    pub version: Option<String>,
    /// How often its container restarted.
    pub restarts: Option<i64>,
}

/// The concurrency number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRow {
    /// The number in force.
    pub value: Option<i64>,
    /// Where it comes from.
    pub source: LimitSource,
    /// What an agent that starts now would use.
    pub configured_now: Option<i64>,
}

/// The slots of a node. They are derived: a slot is an entry in the agent's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotsRow {
    /// How many there are; on v1.12 the sum over the four kinds.
    pub limit: Option<i64>,
    /// How many are held, by status.
    pub held: usize,
    /// How many are free, by status and not proven; `None` where the limit is not known.
    pub free: Option<i64>,
    /// How many are held by nothing that exists; above 0 only where a ghost slot is found.
    pub leaked_at_least: i64,
}

/// Unfinished tasks by phase. Tasks of another data mover are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Prepared.
    pub prepared: usize,
    /// InProgress.
    pub in_progress: usize,
    /// Canceling.
    pub canceling: usize,
    /// Accepted, the mover pod on this node.
    pub accepted: usize,
    /// New, bound to this node.
    pub new: usize,
}

/// One task of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The task.
    pub task: TaskRef,
    /// Its phase.
    pub phase: Phase,
    /// Its progress.
    pub progress: Option<Progress>,
    /// When it became what its phase says.
    pub since: Option<Timestamp>,
    /// When it ends by itself at the latest: the deadline of its operation, else of its preparation.
    pub deadline: Option<Deadline>,
    /// When it is expected to end; only after [`StatusReport::with_forecast`], and where something says
    /// how long tasks take.
    pub eta: Option<Eta>,
}

impl StatusReport {
    /// Makes the answer from what was seen and concluded.
    #[must_use]
    pub fn new(
        snapshot: &Snapshot,
        replay: &Replay<'_>,
        diagnosis: &Diagnosis,
        filters: &Filters,
        pins: &Pins,
    ) -> Self {
        let nodes: Vec<NodeRow> = replay
            .nodes
            .values()
            .filter(|node| filters.shows_node(&node.node))
            .map(|node| NodeRow::new(snapshot, replay, diagnosis, node))
            .filter(|row| !filters.choose_tasks() || concerns(row, replay, filters))
            .map(|row| row.filtered(replay, filters))
            .collect();
        let nothing_seen = snapshot.tasks.is_empty()
            && snapshot.agents.is_empty()
            && !snapshot
                .daemon_sets
                .values()
                .any(|set| set.is_node_agent == crate::snapshot::IsNodeAgent::Yes);
        Self {
            head: Head::new(
                snapshot,
                replay,
                replay
                    .gaps
                    .iter()
                    .chain(&diagnosis.gaps)
                    .chain(&filters.unmatched(snapshot, replay)),
                pins,
            ),
            prepare_queue: prepare_queue(replay),
            unassigned: unassigned(replay),
            task_counts: task_counts(replay, filters),
            nodes_not_shown: replay.nodes.len().saturating_sub(nodes.len()),
            nodes,
            velero_seen: if nothing_seen {
                VeleroSeen::No
            } else {
                VeleroSeen::Yes
            },
        }
    }

    /// Adds when each task is expected to end.
    #[must_use]
    pub fn with_forecast(mut self, forecast: &BTreeMap<TaskRef, Eta>) -> Self {
        for node in &mut self.nodes {
            for task in node.holders.iter_mut().chain(&mut node.waiting) {
                task.eta = forecast.get(&task.task).cloned();
            }
        }
        self
    }

    /// Returns whether nothing could be answered: no kind of task could be read, neither an agent nor a
    /// task was seen, or no node is shown for a filter that names what occurs nowhere.
    #[must_use]
    pub fn nothing_answered(&self) -> bool {
        self.head.no_task_kind_was_read()
            || self.velero_seen == VeleroSeen::No
            || (self.nodes.is_empty() && self.head.unmatched_filters().next().is_some())
    }
}

fn prepare_queue(replay: &Replay<'_>) -> Option<PrepareQueueRow> {
    match replay.prepare_queue.limit {
        Observed::Seen(limit) => Some(PrepareQueueRow {
            length: replay.prepare_queue.labelled.len(),
            limit,
        }),
        Observed::Absent | Observed::Unknown(_) => None,
    }
}

fn unassigned(replay: &Replay<'_>) -> Unassigned {
    let mut counts = Unassigned::default();
    for task in ours(replay).filter(|task| task.node.is_none()) {
        match task.task.phase {
            Phase::New => counts.new += 1,
            Phase::Accepted => counts.accepted += 1,
            Phase::Prepared
            | Phase::InProgress
            | Phase::Canceling
            | Phase::Canceled
            | Phase::Completed
            | Phase::Failed
            | Phase::Other(_) => {}
        }
    }
    counts
}

fn task_counts(replay: &Replay<'_>, filters: &Filters) -> Vec<TaskCount> {
    let mut numbers: BTreeMap<(Option<&str>, TaskKind, &'static str), usize> = BTreeMap::new();
    for task in ours(replay) {
        let node = task.node.as_deref();
        if node.is_none_or(|node| filters.shows_node(node)) {
            let phase = match task.task.phase {
                Phase::New => "New",
                Phase::Accepted => "Accepted",
                Phase::Prepared => "Prepared",
                Phase::InProgress => "InProgress",
                Phase::Canceling => "Canceling",
                Phase::Canceled => "Canceled",
                Phase::Completed => "Completed",
                Phase::Failed => "Failed",
                Phase::Other(_) => "other",
            };
            *numbers
                .entry((node, task.task.reference.kind, phase))
                .or_default() += 1;
        }
    }
    numbers
        .into_iter()
        .map(|((node, kind, phase), number)| TaskCount {
            node: node.map(str::to_owned),
            kind,
            phase,
            number,
        })
        .collect()
}

/// Returns the tasks that Velero's own data mover handles.
fn ours<'r, 's>(replay: &'r Replay<'s>) -> impl Iterator<Item = &'r TaskReplay<'s>> {
    replay
        .tasks
        .values()
        .filter(|task| task.situation != Situation::Foreign)
}

fn concerns(row: &NodeRow, replay: &Replay<'_>, filters: &Filters) -> bool {
    replay.tasks.values().any(|task| {
        task.node.as_deref() == Some(row.name.as_str())
            && filters.shows_task(replay, &task.task.reference)
    })
}

impl NodeRow {
    fn new(
        snapshot: &Snapshot,
        replay: &Replay<'_>,
        diagnosis: &Diagnosis,
        node: &NodeReplay<'_>,
    ) -> Self {
        let oldest = node
            .pools
            .iter()
            .filter_map(|pool| pool.oldest_wait.map(|(since, _)| since))
            .min();
        let rows = |tasks: Vec<&TaskRef>| tasks.into_iter().map(|task| row(replay, task)).collect();
        Self {
            name: node.node.clone(),
            agent: agent_row(node),
            limit: LimitRow {
                value: node.limit.in_force,
                source: node.limit.source,
                configured_now: node.limit.configured_now,
            },
            slots: slots(node, &diagnosis.findings),
            tasks: counts(replay, &node.node),
            oldest_wait_seconds: oldest
                .map(|since| snapshot.taken_at.duration_since(since).as_secs().max(0)),
            holders: rows(node.holders()),
            waiting: rows(node.waiting()),
            waiting_count: node.waiting().len(),
            // A node without a verdict has not been decided about.
            verdict: diagnosis
                .nodes
                .get(&node.node)
                .copied()
                .unwrap_or(NodeVerdict::Unknown),
        }
    }

    fn filtered(mut self, replay: &Replay<'_>, filters: &Filters) -> Self {
        let shown = |row: &TaskRow| filters.shows_task(replay, &row.task);
        self.holders.retain(shown);
        self.waiting.retain(shown);
        self
    }
}

fn row(replay: &Replay<'_>, task: &TaskRef) -> TaskRow {
    let known = replay.tasks.get(task);
    TaskRow {
        task: task.clone(),
        phase: known.map_or(Phase::New, |known| known.task.phase.clone()),
        progress: known.and_then(|known| known.task.progress),
        since: known.and_then(|known| known.phase_since.map(|(since, _)| since)),
        deadline: known.and_then(|known| known.deadline.clone()),
        eta: None,
    }
}

fn agent_row(node: &NodeReplay<'_>) -> Option<AgentRow> {
    let agent = node.agent?;
    Some(AgentRow {
        pod: agent.pod.key.name.clone(),
        ready: agent.pod_works(),
        started_at: agent.started_at,
        version: match &agent.version {
            Observed::Seen(version) => Some(plain_version(&version.to_string())),
            Observed::Absent | Observed::Unknown(_) => None,
        },
        restarts: agent.container_status().map(|status| status.restarts),
    })
}

fn slots(node: &NodeReplay<'_>, findings: &[Finding]) -> SlotsRow {
    let spare = |pool: &Pool<'_>| {
        let limit = pool.limit?;
        let held = i64::try_from(pool.holders.len()).unwrap_or(i64::MAX);
        Some(limit.saturating_sub(held).max(0))
    };
    let free: Option<i64> = node.pools.iter().map(spare).sum();
    let free = if node.pools.is_empty() {
        node.limit.in_force.map(|limit| limit.max(0))
    } else {
        free
    };
    let ghost = findings.iter().any(|finding| {
        finding.cause == Some("ghost-slot") && finding.node.as_deref() == Some(node.node.as_str())
    });
    SlotsRow {
        limit: if node.pools.is_empty() {
            node.limit.in_force
        } else {
            node.slots()
        },
        held: node.pools.iter().map(|pool| pool.holders.len()).sum(),
        free,
        leaked_at_least: if ghost { free.unwrap_or(0) } else { 0 },
    }
}

fn counts(replay: &Replay<'_>, node: &str) -> TaskCounts {
    let mut counts = TaskCounts::default();
    for task in ours(replay).filter(|task| task.node.as_deref() == Some(node)) {
        match task.task.phase {
            Phase::Prepared => counts.prepared += 1,
            Phase::InProgress => counts.in_progress += 1,
            Phase::Canceling => counts.canceling += 1,
            Phase::Accepted => counts.accepted += 1,
            Phase::New => counts.new += 1,
            Phase::Canceled | Phase::Completed | Phase::Failed | Phase::Other(_) => {}
        }
    }
    counts
}
