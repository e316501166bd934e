//! What the restart of a node-agent would do: to the node's agent, and to each task, by the rules of the
//! release that starts.
//!
//! The agent that starts decides (v1.12.4 … main `pkg/cmd/cli/nodeagent/server.go`), and that is the one of
//! the DaemonSet's template, which need not be the one that runs.

mod several;

pub use several::{restart_obstacles, restart_rules, restarts};

use jiff::Timestamp;

use super::limits::{StartFault, start_faults};
use super::taints::{in_words, untolerated};
use super::{Mover, NotWorking, Replay, Situation, TaskReplay, Working};
use crate::snapshot::{
    Cancel, Coverage, DaemonSet, NodeAgent, Observed, Pod, ResourceKind, Snapshot, Task,
};
use crate::velero::profile::OnRestart;
use crate::velero::{Phase, Profile, TaskKind, VeleroVersion};

/// What the restart of the node-agent of one node would do.
#[derive(Clone, Debug, PartialEq)]
pub struct RestartBill<'s> {
    /// The node.
    pub node: String,
    /// Its agent: the working one, else the newest.
    pub agent: Option<&'s NodeAgent>,
    /// The rules of the agent that would start.
    pub rules: Profile,
    /// Whose rules they are.
    pub rules_from: RulesFrom,
    /// What comes of each task that the restart concerns, ordered. A task that stands elsewhere and is not
    /// touched is not among them.
    pub tasks: Vec<RestartedTask<'s>>,
    /// What stands against a restart, strongest first.
    pub obstacles: Vec<RestartObstacle>,
}

impl RestartBill<'_> {
    /// Returns the tasks that could succeed, and that the restart ends or strands.
    pub fn losses(&self) -> impl Iterator<Item = &RestartedTask<'_>> {
        self.tasks.iter().filter(|task| task.is_loss())
    }
}

/// Whose rules a restart follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulesFrom {
    /// Those of the agent that runs: the DaemonSet's template is the same, or could not be read.
    Agent,
    /// Those of the DaemonSet's template, which names this version.
    Template(String),
}

/// What comes of one task.
#[derive(Clone, Debug, PartialEq)]
pub struct RestartedTask<'s> {
    /// The task.
    pub task: &'s Task,
    /// Its node, if it has one.
    pub node: Option<String>,
    /// What comes of it.
    pub then: AfterRestart,
    /// Whether it could succeed without the restart.
    pub worth: Worth,
    /// Why, one clause.
    pub why: String,
    /// Where Velero does that: release and file.
    pub source: &'static str,
}

impl RestartedTask<'_> {
    /// Returns whether the restart ends or strands a task that could succeed.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.worth == Worth::Works
            && match self.then {
                AfterRestart::Canceled | AfterRestart::Failed | AfterRestart::Stranded => true,
                AfterRestart::Resumed
                | AfterRestart::StartsAgain
                | AfterRestart::Unobserved
                | AfterRestart::Released => false,
            }
    }
}

/// What comes of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AfterRestart {
    /// It runs, and the new agent takes it up again; cancelled if that fails.
    Resumed,
    /// It is cancelled.
    Canceled,
    /// It is marked Failed.
    Failed,
    /// Its phase stays or goes on, and nobody works on it any more: a timeout ends it, if any does.
    Stranded,
    /// Its phase stays, and the new agent looks at it when it starts.
    StartsAgain,
    /// Its phase stays; if its pod begins to run while no agent watches, nobody notices.
    Unobserved,
    /// It is Canceling: its slot is gone with the process, and nobody resumes it.
    Released,
}

/// Whether a task could succeed without the restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// It could.
    Works,
    /// It is broken, or being cancelled: nothing is lost with it.
    Broken,
}

/// What stands against the restart of a node-agent, strongest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestartObstacle {
    /// Nodes were readable and this one is not among them.
    NodeGone,
    /// The Node is not Ready: its kubelet would not end the pod, nor start another.
    NodeNotReady,
    /// No node-agent pod is on the node.
    NoAgentPod,
    /// Pods could not be read.
    AgentUnknown,
    /// The pod is being deleted, since then.
    Terminating(Option<Timestamp>),
    /// The pod is new and has not come up yet.
    Starting,
    /// No DaemonSet would make a new one, and why.
    NotRecreated(String),
    /// The Node has a taint that a new pod of the DaemonSet does not tolerate: the one that runs was there
    /// before it.
    Untolerated {
        /// The taint, as `kubectl taint` takes it.
        taint: String,
        /// The DaemonSet.
        daemon_set: String,
    },
    /// The agent that starts would end at its configuration, and why.
    ConfigWouldCrash {
        /// The ConfigMap.
        config_map: String,
        /// What is wrong with it.
        why: String,
    },
}

/// How long a new agent pod may take to come up before it counts as broken, in seconds.
const STARTING_SECONDS: i64 = 2 * 60;

/// How long the Expose of a pod volume may take, in seconds: it makes its pod at once.
const POD_VOLUME_EXPOSE_SECONDS: i64 = 60;

const SERVER: &str = "v1.17.2 … main pkg/cmd/cli/nodeagent/server.go";
const CONTROLLERS_1_12: &str =
    "v1.12.2 pkg/controller/data_upload_controller.go, data_download_controller.go";
const CONTROLLERS_1_14: &str =
    "v1.12.4 … v1.14.1 pkg/controller/data_upload_controller.go, data_download_controller.go";
const CONTROLLERS_1_16: &str =
    "v1.15.2, v1.16.2 pkg/controller/data_upload_controller.go, data_download_controller.go";
const FAILED_1_16: &str = "v1.12.4 … v1.16.2 pkg/cmd/cli/nodeagent/server.go";
const LEGACY: &str = "v1.17.2, v1.18.2 pkg/cmd/cli/nodeagent/server.go";
const POD_EVENTS: &str =
    "v1.12.4 … main pkg/controller, the pod handlers: Create events are ignored";
const FIRST_LIST: &str =
    "v1.12.4 … main pkg/controller: the first list is a Create event for each task";
const NOT_RESUMED: &str = "v1.12.4 … main pkg/controller: no release resumes Canceling";
const NEW_ONLY: &str = "v1.12.4 … v1.16.2 pkg/controller/pod_volume_backup_controller.go, pod_volume_restore_controller.go";
const NO_RESTIC: &str = "main pkg/controller/pod_volume_restore_controller.go";
const PAUSE_POD: &str = "v1.12.4 … v1.14.1 pkg/exposer: the pod runs /velero-helper pause; v1.15.2 … main pkg/datapath/micro_service_watcher.go";
const EXPOSE: &str = "v1.12.4 … main pkg/controller: Expose runs once, after the accept";

/// Returns what the restart of the node-agent of a node would do.
#[must_use]
pub fn restart_bill<'s>(
    snapshot: &'s Snapshot,
    replay: &Replay<'s>,
    node: &str,
) -> RestartBill<'s> {
    let agent = replay.nodes.get(node).and_then(|node| node.agent);
    let set = agent.and_then(|agent| daemon_set(snapshot, agent));
    let (rules, rules_from) = rules(snapshot, replay, node, agent, set);
    let bill = Bill {
        snapshot,
        replay,
        node,
        agent,
        rules,
    };
    RestartBill {
        node: node.to_owned(),
        agent,
        rules,
        rules_from,
        tasks: replay
            .tasks
            .values()
            .filter_map(|task| bill.of(task))
            .collect(),
        obstacles: bill.obstacles(set),
    }
}

fn daemon_set<'s>(snapshot: &'s Snapshot, agent: &NodeAgent) -> Option<&'s DaemonSet> {
    let (kind, name) = agent.pod.owner.as_ref()?;
    (kind == "DaemonSet")
        .then(|| snapshot.daemon_sets.get(name))
        .flatten()
}

fn rules(
    snapshot: &Snapshot,
    replay: &Replay<'_>,
    node: &str,
    agent: Option<&NodeAgent>,
    set: Option<&DaemonSet>,
) -> (Profile, RulesFrom) {
    let runs = agent.map_or_else(
        || {
            replay.nodes.get(node).map_or_else(
                || crate::snapshot::rules_from_fields(&snapshot.tasks),
                |node| node.profile,
            )
        },
        |agent| agent.profile,
    );
    let starts = set
        .and_then(|set| VeleroVersion::from_image(&set.image))
        .and_then(|version| Some((Profile::of(&version).ok()?.0, version)));
    match starts {
        Some((profile, version)) if profile != runs => {
            (profile, RulesFrom::Template(version.to_string()))
        }
        Some(_) | None => (runs, RulesFrom::Agent),
    }
}

struct Bill<'b, 's> {
    snapshot: &'s Snapshot,
    replay: &'b Replay<'s>,
    node: &'b str,
    agent: Option<&'s NodeAgent>,
    rules: Profile,
}

impl<'s> Bill<'_, 's> {
    fn obstacles(&self, set: Option<&DaemonSet>) -> Vec<RestartObstacle> {
        let mut found = Vec::new();
        let working = self.replay.nodes.get(self.node).map(|node| &node.working);
        match working {
            Some(Working::No { why, .. }) => match why {
                NotWorking::NodeGone => found.push(RestartObstacle::NodeGone),
                NotWorking::NodeNotReady => found.push(RestartObstacle::NodeNotReady),
                NotWorking::AgentMissing | NotWorking::AgentNotReady => {}
            },
            // The replay knows every node that has an agent or a task.
            None if self.snapshot.node(self.node).is_absent() => {
                found.push(RestartObstacle::NodeGone);
            }
            Some(Working::Yes | Working::Unknown) | None => {}
        }
        let Some(agent) = self.agent else {
            found.push(
                match self
                    .snapshot
                    .coverage_of(ResourceKind::Pod, &self.snapshot.namespace)
                {
                    Coverage::Listed | Coverage::Present => RestartObstacle::NoAgentPod,
                    Coverage::Partial | Coverage::Unreadable(_) => RestartObstacle::AgentUnknown,
                },
            );
            return found;
        };
        if agent.pod.deletion.is_some() {
            found.push(RestartObstacle::Terminating(
                agent.pod.deletion_asked.or(agent.pod.deletion),
            ));
        } else if !agent.pod_works() && self.is_new(&agent.pod) {
            found.push(RestartObstacle::Starting);
        }
        found.extend(self.not_recreated(agent).map(RestartObstacle::NotRecreated));
        // A node that is not Ready has a taint for that alone.
        if let (Some(set), Observed::Seen(node), false) = (
            set,
            self.snapshot.node(self.node),
            found.contains(&RestartObstacle::NodeNotReady),
        ) && let Some(taint) = untolerated(node, set)
        {
            found.push(RestartObstacle::Untolerated {
                taint: in_words(taint),
                daemon_set: set.name.clone(),
            });
        }
        found.extend(
            start_faults(self.snapshot, &self.rules, agent, set)
                .into_iter()
                .map(
                    |StartFault { config_map, why }| RestartObstacle::ConfigWouldCrash {
                        config_map,
                        why,
                    },
                ),
        );
        found
    }

    fn is_new(&self, pod: &Pod) -> bool {
        let restarts: i64 = pod
            .containers
            .iter()
            .map(|container| container.restarts)
            .sum();
        restarts == 0
            && pod.created.is_some_and(|created| {
                self.snapshot.taken_at.duration_since(created).as_secs() < STARTING_SECONDS
            })
    }

    fn not_recreated(&self, agent: &NodeAgent) -> Option<String> {
        match &agent.pod.owner {
            Some((kind, name)) if kind == "DaemonSet" => {
                let listed = match self
                    .snapshot
                    .coverage_of(ResourceKind::DaemonSet, &self.snapshot.namespace)
                {
                    Coverage::Listed => true,
                    Coverage::Present | Coverage::Partial | Coverage::Unreadable(_) => false,
                };
                (listed && !self.snapshot.daemon_sets.contains_key(name))
                    .then(|| format!("its DaemonSet {name} does not exist"))
            }
            Some((kind, name)) => Some(format!("it belongs to {kind} {name}, not to a DaemonSet")),
            None => Some("it belongs to no DaemonSet".to_owned()),
        }
    }

    fn of(&self, task: &TaskReplay<'s>) -> Option<RestartedTask<'s>> {
        let (then, why, source) = match task.situation {
            Situation::UnknownPhase => return None,
            // The agents pass over a foreign task everywhere but here.
            Situation::Foreign => self.foreign(task)?,
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
            | Situation::Ordinary => match &task.task.phase {
                Phase::New => self.new_task(task)?,
                Phase::Accepted => self.accepted(task)?,
                Phase::Prepared => self.prepared(task)?,
                Phase::InProgress => self.in_progress(task)?,
                Phase::Canceling => self.is_here(task).then(|| {
                    (
                        AfterRestart::Released,
                        "its slot is free with the old process; nobody resumes it".to_owned(),
                        NOT_RESUMED,
                    )
                })?,
                Phase::Canceled | Phase::Completed | Phase::Failed | Phase::Other(_) => {
                    return None;
                }
            },
        };
        Some(RestartedTask {
            task: task.task,
            node: task.node.clone(),
            then,
            worth: self.worth(task, then),
            why,
            source,
        })
    }

    fn is_here(&self, task: &TaskReplay<'_>) -> bool {
        task.node.as_deref() == Some(self.node)
    }

    /// Whether the task's pod is on the node, as the agents' pod cache sees it.
    fn pod_is_here(&self, task: &TaskReplay<'_>) -> bool {
        match task.pod {
            Observed::Seen(pod) => pod.node.as_deref() == Some(self.node),
            Observed::Absent => false,
            Observed::Unknown(_) => self.is_here(task),
        }
    }

    /// The node whose agent runs the Expose of an Accepted task.
    fn was_accepted_here(&self, task: &TaskReplay<'_>) -> bool {
        let kind = task.task.reference.kind;
        match task.task.accepted_by.as_deref() {
            Some(node) => node == self.node,
            None => !kind.is_data_movement() && self.is_here(task),
        }
    }

    fn on_restart(&self, task: &TaskReplay<'_>) -> OnRestart {
        self.rules.on_restart(
            task.task.reference.kind,
            &task.task.uploader_type,
            &task.task.phase,
        )
    }

    fn foreign(&self, task: &TaskReplay<'_>) -> Option<(AfterRestart, String, &'static str)> {
        (task.task.phase == Phase::Accepted
            && self.on_restart(task) == OnRestart::CanceledEverywhere)
            .then(|| {
                (
                    AfterRestart::Canceled,
                    "every Accepted task of the namespace is cancelled, those of other data movers too"
                        .to_owned(),
                    CONTROLLERS_1_16,
                )
            })
    }

    fn new_task(&self, task: &TaskReplay<'_>) -> Option<(AfterRestart, String, &'static str)> {
        let kind = task.task.reference.kind;
        (self.is_here(task) && !kind.is_data_movement()).then(|| {
            if self.rules.worker(kind, &task.task.uploader_type).is_none() {
                (
                    AfterRestart::Stranded,
                    "the release that starts does not handle it".to_owned(),
                    NO_RESTIC,
                )
            } else {
                (
                    AfterRestart::StartsAgain,
                    "it is left in New, and the new node-agent looks at it".to_owned(),
                    FIRST_LIST,
                )
            }
        })
    }

    /// A task that waits for its pod or its slot, and that the release which starts cannot bring to an end: it
    /// handles this kind in New only, or it waits for a pod that the release before made to pause.
    fn left_behind(&self, task: &TaskReplay<'_>) -> Option<(AfterRestart, String, &'static str)> {
        let (kind, uploader) = (task.task.reference.kind, &task.task.uploader_type);
        if !self.rules.prepares(kind, uploader) && self.is_here(task) {
            return Some((
                AfterRestart::Stranded,
                format!(
                    "the release that starts handles a {kind} in New only: it stays {} for ever",
                    task.task.phase
                ),
                NEW_ONLY,
            ));
        }
        let only_pauses = task.mover == Mover::PausePod && self.rules.is_mover_kind(kind, uploader);
        (only_pauses && !task.pod.is_absent() && (self.pod_is_here(task) || self.is_here(task)))
            .then(|| {
                (
                    AfterRestart::Stranded,
                    "its pod only pauses, and the release that starts waits for it to move the data: it takes its slot and does not end"
                        .to_owned(),
                    PAUSE_POD,
                )
            })
    }

    fn accepted(&self, task: &TaskReplay<'_>) -> Option<(AfterRestart, String, &'static str)> {
        match self.on_restart(task) {
            OnRestart::CanceledOnThisNode if self.pod_is_here(task) => Some((
                AfterRestart::Canceled,
                "Accepted with its pod on this node: cancelled when the node-agent starts"
                    .to_owned(),
                CONTROLLERS_1_12,
            )),
            OnRestart::CanceledIfAcceptor if self.was_accepted_here(task) => Some((
                AfterRestart::Canceled,
                "Accepted by this node: cancelled when the node-agent starts".to_owned(),
                CONTROLLERS_1_14,
            )),
            OnRestart::CanceledEverywhere => Some((
                AfterRestart::Canceled,
                "every Accepted task of the namespace is cancelled when any node-agent starts"
                    .to_owned(),
                CONTROLLERS_1_16,
            )),
            OnRestart::CanceledOnThisNode
            | OnRestart::CanceledIfAcceptor
            | OnRestart::Left
            | OnRestart::Resumed
            | OnRestart::Failed => self.left_behind(task).or_else(|| match task.pod {
                Observed::Seen(_) if self.pod_is_here(task) => Some((
                    AfterRestart::Unobserved,
                    "it stays Accepted, and a pod that begins to run while no node-agent watches is not noticed"
                        .to_owned(),
                    POD_EVENTS,
                )),
                Observed::Unknown(_) if self.is_here(task) => Some((
                    AfterRestart::Unobserved,
                    "it stays Accepted; its mover pod could not be read".to_owned(),
                    POD_EVENTS,
                )),
                Observed::Absent if self.was_accepted_here(task) => Some((
                    AfterRestart::Stranded,
                    "its Expose runs in this node-agent and is not repeated: it stays Accepted until its timeout"
                        .to_owned(),
                    EXPOSE,
                )),
                Observed::Seen(_) | Observed::Unknown(_) | Observed::Absent => None,
            }),
        }
    }

    fn prepared(&self, task: &TaskReplay<'_>) -> Option<(AfterRestart, String, &'static str)> {
        if !self.is_here(task) {
            return None;
        }
        match self.on_restart(task) {
            OnRestart::CanceledOnThisNode if self.pod_is_here(task) => Some((
                AfterRestart::Canceled,
                "Prepared with its pod on this node: cancelled when the node-agent starts"
                    .to_owned(),
                CONTROLLERS_1_12,
            )),
            OnRestart::CanceledOnThisNode
            | OnRestart::Left
            | OnRestart::CanceledIfAcceptor
            | OnRestart::CanceledEverywhere
            | OnRestart::Resumed
            | OnRestart::Failed => Some(self.left_behind(task).unwrap_or_else(|| {
                (
                    AfterRestart::StartsAgain,
                    "it stays Prepared, and the new node-agent looks at it when it starts"
                        .to_owned(),
                    FIRST_LIST,
                )
            })),
        }
    }

    fn in_progress(&self, task: &TaskReplay<'_>) -> Option<(AfterRestart, String, &'static str)> {
        if !self.is_here(task) {
            return None;
        }
        let kind = task.task.reference.kind;
        match self.on_restart(task) {
            OnRestart::Resumed => Some(self.resumed(task)),
            OnRestart::Failed => {
                let source = if self.rules.labels_accepted_tasks() {
                    LEGACY
                } else {
                    FAILED_1_16
                };
                Some((
                    AfterRestart::Failed,
                    format!("a running {kind} of this node is marked Failed"),
                    source,
                ))
            }
            OnRestart::CanceledOnThisNode | OnRestart::CanceledIfAcceptor
                if task.pod.is_absent() =>
            {
                Some((
                    AfterRestart::Stranded,
                    "its data path ends with the process, and without its pod nothing cancels it"
                        .to_owned(),
                    CONTROLLERS_1_14,
                ))
            }
            OnRestart::CanceledOnThisNode
            | OnRestart::CanceledIfAcceptor
            | OnRestart::CanceledEverywhere => Some((
                AfterRestart::Canceled,
                "its data path ends with the process, and the task is cancelled".to_owned(),
                CONTROLLERS_1_14,
            )),
            OnRestart::Left => Some((
                AfterRestart::Stranded,
                "no controller of this release takes it up again".to_owned(),
                SERVER,
            )),
        }
    }

    /// A task that the new agent takes up again, unless its pod says that this must fail.
    fn resumed(&self, task: &TaskReplay<'_>) -> (AfterRestart, String, &'static str) {
        let source = if self.rules.labels_accepted_tasks() {
            SERVER
        } else {
            CONTROLLERS_1_16
        };
        let kind = task.task.reference.kind;
        if task.mover != Mover::MoverPod {
            return match task.pod {
                Observed::Absent => (
                    AfterRestart::Canceled,
                    "its data path ends with the old process, and the release that starts cancels what it cannot resume"
                        .to_owned(),
                    source,
                ),
                Observed::Seen(_) | Observed::Unknown(_) => (
                    AfterRestart::Stranded,
                    "its data path ends with the old process, and the release that starts waits for a pod that only pauses"
                        .to_owned(),
                    source,
                ),
            };
        }
        match task.pod {
            Observed::Absent => (
                AfterRestart::Canceled,
                "without its mover pod it cannot be resumed, and a failed resume cancels it"
                    .to_owned(),
                source,
            ),
            Observed::Seen(pod) if pod.has_ended() && !kind.is_data_movement() => (
                AfterRestart::Canceled,
                "its pod has ended: the resume waits for it to run, fails and cancels the task, although the data may be complete"
                    .to_owned(),
                source,
            ),
            Observed::Seen(pod) if pod.has_ended() => (
                AfterRestart::Resumed,
                "it is resumed, and the end of its pod is taken up".to_owned(),
                source,
            ),
            Observed::Seen(_) | Observed::Unknown(_)
                if kind == TaskKind::DataDownload && !self.rules.labels_accepted_tasks() =>
            {
                (
                    AfterRestart::Resumed,
                    "it is resumed; this release reads the result of a resumed DataDownload as that of a backup"
                        .to_owned(),
                    source,
                )
            }
            Observed::Seen(_) | Observed::Unknown(_) => (
                AfterRestart::Resumed,
                "its mover pod goes on, and the new node-agent takes it up again; cancelled if that fails"
                    .to_owned(),
                source,
            ),
        }
    }

    fn worth(&self, task: &TaskReplay<'_>, then: AfterRestart) -> Worth {
        if task.task.cancel == Cancel::Requested || task.task.phase == Phase::Canceling {
            return Worth::Broken;
        }
        if then == AfterRestart::Stranded
            && task.task.phase == Phase::Accepted
            && task.pod.is_absent()
            && self
                .rules
                .prepares(task.task.reference.kind, &task.task.uploader_type)
            && self.expose_is_over(task)
        {
            return Worth::Broken;
        }
        match task.situation {
            Situation::PodEnded
            | Situation::PodLost
            | Situation::DoneButPodGone { .. }
            | Situation::Doomed(_) => Worth::Broken,
            Situation::Foreign
            | Situation::UnknownPhase
            | Situation::Rewound { .. }
            | Situation::PodEnding
            | Situation::Finishing
            | Situation::PodJustGone
            | Situation::PodUnreadable
            | Situation::Stalled
            | Situation::Ordinary => Worth::Works,
        }
    }

    /// Whether the Expose of an Accepted task without a pod provably does not run any more.
    fn expose_is_over(&self, task: &TaskReplay<'_>) -> bool {
        let Some(accepted) = task.accepted_at else {
            return false;
        };
        let restarted = self
            .agent
            .and_then(|agent| agent.started_at)
            .is_some_and(|started| started > accepted);
        let at_once = !task.task.reference.kind.is_data_movement()
            && self.snapshot.taken_at.duration_since(accepted).as_secs()
                > POD_VOLUME_EXPOSE_SECONDS;
        restarted || at_once
    }
}
