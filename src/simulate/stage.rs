//! The state that a scenario begins with.
//!
//! A node-agent reads its numbers when it starts, and only the end of its process frees the slots that nothing
//! holds. So another limit, another prepare queue and the end of ghost slots each take a restart, and a restart
//! has its price: it is played as the replay's bill says, by the rules of the release that starts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::build::{FORCED_CANCEL_MS, MINUTE_MS};
use super::model::{
    Ending, LANES, Model, NEVER, NONE, NodeSpec, OnDeadline, Remaining, Start, TaskSpec,
};
use super::outcome::{Setting, limits};
use super::scenario::{GhostSlots, Scenario};
use crate::replay::{
    AfterRestart, RestartObstacle, Situation, TaskReplay, restart_obstacles, restarts,
};
use crate::velero::profile::CancelHandling;
use crate::velero::{Phase, Profile};

/// The restart that a scenario takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restart {
    /// The nodes whose node-agents restart.
    pub nodes: Vec<String>,
    /// How many tasks it cancels or marks Failed.
    pub ended: usize,
    /// How many tasks stay, and nobody works on them any more.
    pub stranded: usize,
    /// Nodes whose node-agent would have to restart and cannot.
    pub cannot: Vec<String>,
}

/// The state and the limits that a scenario begins with.
pub(super) struct Stage<'m> {
    pub(super) model: Cow<'m, Model>,
    pub(super) limits: Vec<i64>,
    /// The restart that leads here; none where the scenario takes none.
    pub(super) restart: Option<Restart>,
}

/// Sets the stage for a scenario, with the limits of some nodes tried instead of its own. A node whose limit is
/// tried restarts where a slot of it is a ghost, even for the limit that it has.
pub(super) fn of<'m>(
    setting: &Setting<'m, '_>,
    scenario: &Scenario,
    tried: &BTreeMap<u32, i64>,
) -> Stage<'m> {
    let built = &setting.built.model;
    let mut limits: Vec<i64> = (0..)
        .zip(limits(setting.built, scenario))
        .map(|(node, limit)| tried.get(&node).copied().unwrap_or(limit))
        .collect();
    let ghosts = with_ghosts(built);
    let mut needed: BTreeMap<u32, &str> = BTreeMap::new();
    let mut cannot = Vec::new();
    for ((id, name), (node, limit)) in (0_u32..)
        .zip(&built.names)
        .zip(built.nodes.iter().zip(&mut limits))
    {
        let is_asked = tried.contains_key(&id) || scenario.names_limit_of(name);
        let frees = scenario.ghost_slots == GhostSlots::Gone || tried.contains_key(&id);
        let other_limit = !node.limit_is_known || *limit != node.limit;
        let why = Why {
            limit: is_asked && node.settings.limit && other_limit,
            queue: node.settings.queue
                && scenario.prepare_queue.is_some()
                && scenario.prepare_queue != node.prepare_queue,
            process: frees && ghosts.contains(&id)
                || scenario.ghost_slots == GhostSlots::Gone
                    && node.next.limit.is_some()
                    && other_limit,
        };
        if !why.any() {
            continue;
        }
        if can_restart(setting, node, name, &why) {
            needed.insert(id, name);
        } else {
            if !why.limit {
                *limit = node.limit;
            }
            cannot.push(name.clone());
        }
    }
    if needed.is_empty() && cannot.is_empty() {
        return Stage {
            model: Cow::Borrowed(built),
            limits,
            restart: None,
        };
    }
    let mut model = built.clone();
    for id in needed.keys() {
        restart_node(model.nodes.at_mut(*id), scenario);
    }
    let all_have = model
        .nodes
        .iter()
        .all(|node| !node.works || node.settings.queue);
    if let (Some(length), true) = (scenario.prepare_queue, all_have) {
        model.prepare_queue = Some(length);
    }
    let mut restart = Restart {
        nodes: needed.values().map(|name| (*name).to_owned()).collect(),
        cannot,
        ..Restart::default()
    };
    let nodes: BTreeSet<&str> = needed.values().copied().collect();
    let effects = restarts(setting.snapshot, setting.replay, &nodes);
    for (id, task) in (0_u32..).zip(&setting.built.tasks) {
        let (Some((then, rules)), Some(replayed)) =
            (effects.get(*task), setting.replay.tasks.get(*task))
        else {
            continue;
        };
        match then {
            AfterRestart::Canceled | AfterRestart::Failed => restart.ended += 1,
            AfterRestart::Stranded => restart.stranded += 1,
            AfterRestart::Resumed
            | AfterRestart::StartsAgain
            | AfterRestart::Unobserved
            | AfterRestart::Released => {}
        }
        restart_task(model.tasks.at_mut(id), *then, rules, replayed);
    }
    Stage {
        model: Cow::Owned(model),
        limits,
        restart: Some(restart),
    }
}

/// Why a node-agent must restart.
struct Why {
    /// For another limit.
    limit: bool,
    /// For another prepare queue.
    queue: bool,
    /// For the end of its ghost slots, or the limit that its configuration names by now.
    process: bool,
}

impl Why {
    const fn any(&self) -> bool {
        self.limit || self.queue || self.process
    }
}

/// The nodes where something is wrong that the end of a process mends: a trouble, or a slot that is held for ever.
pub(super) fn with_ghosts(model: &Model) -> BTreeSet<u32> {
    let troubled = (0_u32..)
        .zip(model.nodes.iter())
        .filter(|(_, node)| node.trouble.is_some())
        .map(|(id, _)| id);
    let held = model
        .tasks
        .iter()
        .filter(|task| task.start == Start::HoldsForEver && task.lane != NONE)
        .map(|task| task.lane / LANES);
    troubled.chain(held).collect()
}

fn can_restart(setting: &Setting<'_, '_>, node: &NodeSpec, name: &str, why: &Why) -> bool {
    node.works
        && restart_obstacles(setting.snapshot, setting.replay, name)
            .iter()
            .all(|obstacle| match obstacle {
                RestartObstacle::NodeGone
                | RestartObstacle::NodeNotReady
                | RestartObstacle::NoAgentPod
                | RestartObstacle::NotRecreated(_)
                | RestartObstacle::Untolerated { .. } => false,
                // Another number is written to the ConfigMap first, which is mended then.
                RestartObstacle::ConfigWouldCrash { .. } => why.limit || why.queue,
                RestartObstacle::AgentUnknown
                | RestartObstacle::Terminating(_)
                | RestartObstacle::Starting => true,
            })
}

fn restart_node(node: &mut NodeSpec, scenario: &Scenario) {
    node.trouble = None;
    node.limited_when = node.next.limited_when;
    node.requeue_ms = node.next.requeue_ms;
    node.pool_per_kind = node.next.pool_per_kind;
    if node.settings.queue && scenario.prepare_queue.is_some() {
        node.prepare_queue = scenario.prepare_queue;
    }
}

fn restart_task(spec: &mut TaskSpec, then: AfterRestart, rules: &Profile, task: &TaskReplay<'_>) {
    match then {
        AfterRestart::Canceled | AfterRestart::Failed => {
            spec.start = Start::Ends(MINUTE_MS, Ending::EndedByRestart);
        }
        AfterRestart::Stranded => strand(spec, rules, task),
        AfterRestart::StartsAgain => {
            // A rewound task asks for a slot like the others.
            if matches!(spec.start, Start::Holds(_) | Start::HoldsForEver) {
                spec.start = Start::Waits;
            }
        }
        AfterRestart::Resumed => {
            // The end of its pod is taken up by the agent that starts.
            if spec.start == Start::HoldsForEver && task.situation == Situation::PodEnded {
                spec.start = Start::Holds(Remaining::Known(MINUTE_MS));
            }
        }
        AfterRestart::Unobserved => {}
        AfterRestart::Released => {
            spec.start = match rules.cancel {
                CancelHandling::ForcedAfterDelay => {
                    Start::Ends(FORCED_CANCEL_MS, Ending::EndedByALook)
                }
                CancelHandling::AtOnceByAny
                | CancelHandling::AtOnceOwnerHolds
                | CancelHandling::AtOnceOwnerRuns => Start::Stays(Ending::NeverEnds),
            };
        }
    }
}

/// A task that nobody brings to its end.
fn strand(spec: &mut TaskSpec, rules: &Profile, task: &TaskReplay<'_>) {
    let (kind, uploader) = (task.task.reference.kind, &task.task.uploader_type);
    let prepares = rules.prepares(kind, uploader);
    if rules.is_mover_kind(kind, uploader) && !task.pod.is_absent() {
        // Its pod only pauses: it takes its slot, and no duration ends it.
        spec.group = NONE;
        if matches!(spec.start, Start::Holds(_) | Start::HoldsForEver) {
            spec.start = Start::Holds(Remaining::Beyond(0));
        }
        return;
    }
    if task.task.phase == Phase::Accepted && prepares {
        spec.start = Start::Stays(Ending::NobodyLooks);
        return;
    }
    spec.start = Start::Stays(if task.task.phase == Phase::InProgress {
        Ending::NeverEnds
    } else {
        Ending::NobodyLooks
    });
    spec.on_deadline = OnDeadline::GoesOn;
    if !prepares {
        spec.prepare_deadline = NEVER;
    }
}
