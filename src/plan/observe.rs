//! What was seen after the steps of a plan.

mod look;

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::common::not_whole;
use super::model::Plan;
use crate::replay::Replay;
use crate::snapshot::{ContainerState, Coverage, GapReason, NodeAgent, ResourceKind, Snapshot};
use crate::velero::{Phase, TaskKind, TaskRef};
use look::look;
pub use look::{LogMarks, Since};

/// Everything that was seen while a plan was carried out, in the order in which it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// What came of the steps, follow-ups after the planned ones.
    pub steps: Vec<StepSeen>,
    /// Readings after the first write, oldest first.
    pub looks: Vec<Observation>,
    /// Why the watching ended.
    pub ending: Ending,
    /// What else the user should know, such as a trail that could not be left; one sentence each.
    pub warnings: Vec<String>,
}

/// Why the watching ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Everything that was expected happened, or cannot happen any more.
    #[default]
    Decided,
    /// The time limit passed.
    TimeLimit,
    /// The user interrupted it.
    Interrupted,
    /// The API server could not be asked any more, and what it said last.
    ServerLost(String),
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSeen {
    /// The step.
    pub step: super::Step,
    /// When, by the API server's clock where it answered.
    pub at: Timestamp,
    /// What came of it.
    pub result: StepResult,
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// It was made.
    Done,
    /// The server would have made it (`--dry-run=server`), or nothing was asked (`--dry-run=client`).
    DryRun,
    /// The object changed since it was read, and was left alone.
    Changed(String),
    /// The object is gone.
    Gone,
    /// It is not allowed.
    Forbidden(String),
    /// The server refused it for another reason.
    Refused(String),
    /// No answer came: it is not known whether it was made.
    Unknown(String),
    /// It was not tried, because an earlier one failed.
    NotTried,
}

impl StepResult {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::DryRun => "dry-run",
            Self::Changed(_) => "changed",
            Self::Gone => "gone",
            Self::Forbidden(_) => "forbidden",
            Self::Refused(_) => "refused",
            Self::Unknown(_) => "unknown",
            Self::NotTried => "not-tried",
        }
    }

    /// Returns what the server said, where it said something.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Changed(why) | Self::Forbidden(why) | Self::Refused(why) | Self::Unknown(why) => {
                Some(why)
            }
            Self::Done | Self::DryRun | Self::Gone | Self::NotTried => None,
        }
    }
}

impl Ending {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::TimeLimit => "time-limit",
            Self::Interrupted => "interrupted",
            Self::ServerLost(_) => "server-lost",
        }
    }
}

/// One reading after the first write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// When, by the API server's clock.
    pub at: Timestamp,
    /// The tasks of the plan, ordered.
    pub tasks: Vec<TaskSeen>,
    /// The nodes of the plan, by name.
    pub nodes: Vec<NodeSeen>,
    /// Of pods and tasks, what this reading lacks: what is not in it is not known to be gone.
    pub unread: Vec<Unread>,
}

/// A resource that a reading could not list, or not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Its plural name.
    pub resource: &'static str,
    /// Why.
    pub reason: GapReason,
    /// In the words of the API server; empty where it had none.
    pub message: String,
}

impl Unread {
    /// Returns why, in words.
    #[must_use]
    pub fn why(&self) -> String {
        let words = if self.message.is_empty() {
            self.reason.as_str()
        } else {
            self.message.as_str()
        };
        format!("{} could not be read ({words})", self.resource)
    }
}

impl Observation {
    /// Returns why the pods of this reading are not all that there are, if so.
    #[must_use]
    pub fn pods_unread(&self) -> Option<&Unread> {
        self.unread
            .iter()
            .find(|unread| unread.resource == ResourceKind::Pod.plural())
    }

    /// Returns whether the holders of slots may be more than this reading shows.
    #[must_use]
    pub const fn may_lack_holders(&self) -> bool {
        !self.unread.is_empty()
    }
}

/// One task, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSeen {
    /// The task.
    pub task: TaskRef,
    /// How it stands.
    pub state: TaskState,
    /// Whether a controller looked at it since the step.
    pub look: Look,
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It is there.
    There {
        /// Its UID: another one is another task of the same name.
        uid: String,
        /// Its phase.
        phase: Phase,
        /// `status.message`.
        message: String,
        /// `status.progress.bytesDone`.
        bytes_done: Option<i64>,
    },
    /// It is gone.
    Gone,
    /// It could not be read.
    Unreadable(GapReason),
}

/// Whether a controller looked at a task since the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// A line of the agent's log shows that it did.
    Seen {
        /// When.
        at: Option<Timestamp>,
        /// The line.
        line: String,
        /// Whether it came as far as the request for a slot.
        reached: Reached,
    },
    /// The log speaks over the time since the step, and shows no look.
    NotSeen {
        /// The time of the last line.
        through: Timestamp,
    },
    /// No log could be read, or it does not reach so far, and why.
    NotWatched(String),
}

/// How far a look came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// The request for a slot, which was refused.
    Slot,
    /// The data path runs again after a restart (v1.15.2 … main `pkg/controller`: "asyncBR is resumed for …",
    /// "Completed to resume in progress …").
    Resumed,
    /// Somewhere before it, or it is not known where.
    Elsewhere,
}

/// One node, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    /// Its name.
    pub node: String,
    /// Its node-agent pods, oldest first: while one is being replaced there may be none or two. Where
    /// [`Observation::pods_unread`] says something, one that is missing here is not known to be gone.
    pub agents: Vec<AgentSeen>,
    /// The tasks that hold a slot by their status, ordered.
    pub holders: Vec<TaskRef>,
    /// The limit in force, where it is known.
    pub limit: Option<i64>,
}

/// One node-agent pod, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSeen {
    /// The pod's name.
    pub pod: String,
    /// Its UID.
    pub uid: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// Whether it works: Running, its container ready, not terminating.
    pub works: Works,
    /// When its process started.
    pub started: Option<Timestamp>,
    /// Whether its log shows the start of the agent.
    pub start_logged: Option<Timestamp>,
    /// How often its container restarted.
    pub restarts: i64,
    /// Why it does not work, in Kubernetes' words.
    pub trouble: Option<String>,
}

/// Whether an agent pod works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Works {
    /// It does.
    Yes,
    /// It does not, or not yet.
    NotYet,
    /// It is being deleted.
    Terminating,
}

/// Reads what happened since a step from a new reading: of the tasks and nodes of the plan.
#[must_use]
pub fn observe(
    plan: &Plan,
    snapshot: &Snapshot,
    replay: &Replay<'_>,
    since: &Since,
) -> Observation {
    let tasks: BTreeSet<&TaskRef> = plan
        .targets
        .iter()
        .chain(plan.effects.iter().map(|effect| &effect.task))
        .chain(plan.expected.iter().flat_map(|expected| &expected.tasks))
        .collect();
    Observation {
        at: snapshot.taken_at,
        tasks: tasks
            .into_iter()
            .map(|task| TaskSeen {
                task: task.clone(),
                state: state(snapshot, task),
                look: look(plan, snapshot, replay, task, since),
            })
            .collect(),
        nodes: plan
            .nodes
            .iter()
            .map(|node| node_seen(snapshot, replay, &node.node))
            .collect(),
        unread: unread(snapshot),
    }
}

/// What a reading lacks of what it should show.
fn unread(snapshot: &Snapshot) -> Vec<Unread> {
    let moving = std::iter::once(ResourceKind::Pod).chain(TaskKind::ALL.map(ResourceKind::Task));
    moving
        .filter_map(|resource| {
            let reason = not_whole(snapshot, resource)?;
            let message = snapshot
                .gaps
                .iter()
                .find(|gap| gap.resource == resource.plural() && gap.reason == reason)
                .map_or_else(String::new, |gap| gap.message.clone());
            Some(Unread {
                resource: resource.plural(),
                reason,
                message,
            })
        })
        .collect()
}

fn state(snapshot: &Snapshot, task: &TaskRef) -> TaskState {
    if let Some(task) = snapshot.tasks.get(task) {
        return TaskState::There {
            uid: task.uid.clone(),
            phase: task.phase.clone(),
            message: task.message.clone(),
            bytes_done: task.progress.map(|progress| progress.bytes_done),
        };
    }
    match snapshot.coverage_of(ResourceKind::Task(task.kind), &task.namespace) {
        Coverage::Listed => TaskState::Gone,
        Coverage::Present | Coverage::Partial => TaskState::Unreadable(GapReason::Partial),
        Coverage::Unreadable(reason) => TaskState::Unreadable(reason),
    }
}

fn node_seen(snapshot: &Snapshot, replay: &Replay<'_>, name: &str) -> NodeSeen {
    let node = replay.nodes.get(name);
    let mut agents: Vec<AgentSeen> = snapshot
        .agents
        .iter()
        .filter(|agent| agent.node() == Some(name))
        .map(agent_seen)
        .collect();
    agents.sort_by(|a, b| (a.created, &a.pod).cmp(&(b.created, &b.pod)));
    NodeSeen {
        node: name.to_owned(),
        agents,
        holders: node.map_or_else(Vec::new, |node| {
            node.holders().into_iter().cloned().collect()
        }),
        limit: node.and_then(crate::replay::NodeReplay::slots),
    }
}

fn agent_seen(agent: &NodeAgent) -> AgentSeen {
    let container = agent.container_status();
    let trouble = container
        .and_then(|container| match &container.state {
            ContainerState::Waiting { reason, message } if message.is_empty() => {
                Some(reason.clone())
            }
            ContainerState::Waiting { reason, message } => Some(format!("{reason}: {message}")),
            ContainerState::Terminated(end) => {
                Some(format!("{}, exit code {}", end.reason, end.exit_code))
            }
            ContainerState::Running { .. } | ContainerState::None => None,
        })
        .or_else(|| {
            agent
                .pod
                .condition("PodScheduled")
                .filter(|condition| condition.status != "True")
                .map(|condition| condition.message.clone())
        })
        .or_else(|| (!agent.pod.reason.is_empty()).then(|| agent.pod.reason.clone()));
    AgentSeen {
        pod: agent.pod.key.name.clone(),
        uid: agent.pod.uid.clone(),
        created: agent.pod.created,
        works: if agent.pod.deletion.is_some() {
            Works::Terminating
        } else if agent.pod_works() {
            Works::Yes
        } else {
            Works::NotYet
        },
        started: agent.started_at,
        start_logged: agent.log.as_ref().and_then(|log| log.process_start),
        restarts: container.map_or(0, |container| container.restarts),
        trouble: trouble.filter(|text| !text.is_empty()),
    }
}
