//! What each node-agent would decide for each unfinished task if it looked now.
//!
//! [`replay`] is a pure function of the [`Snapshot`]. It keeps apart what is observed (a phase), what is
//! configured (a number in a ConfigMap) and what is derived (who holds a slot: slots are entries in a
//! node-agent's memory and are never written to the API).

use crate::snapshot::Snapshot;

mod agents;
pub mod concurrency;
mod deadline;
mod decide;
pub mod gates;
mod limits;
mod model;
mod node_slots;
mod prepare_queue;
mod restart;
mod situation;
mod taints;
#[cfg(test)]
mod tests;

pub use model::{
    CancelState, Deadline, DeadlineWhat, Decision, Doom, Drift, Gate, Limit, LimitBasis,
    LimitSource, Mover, NAMED, NodeReplay, NotWorking, Pool, PrepareQueue, Replay, ReplayOptions,
    RequestTime, Situation, SlotEntry, TaskReplay, TimeFrom, Trigger, Verb, Working,
};
pub(crate) use node_slots::is_healthy;
pub use restart::{
    AfterRestart, RestartBill, RestartObstacle, RestartedTask, RulesFrom, Worth, restart_bill,
    restart_obstacles, restart_rules, restarts,
};
pub(crate) use situation::{restore_wait, target_pod};

/// Replays the admission of every unfinished task.
#[must_use]
pub fn replay(snapshot: &Snapshot, options: ReplayOptions) -> Replay<'_> {
    let agents = agents::Agents::of(snapshot);
    let mut gaps = Vec::new();
    let limits = limits::of_all(snapshot, &agents, &mut gaps);
    let prepare_queue = prepare_queue::of(snapshot, &agents, &limits);
    let mut tasks = situation::of_all(snapshot, &agents, options);
    let nodes = node_slots::of_all(snapshot, &agents, limits, &tasks, options);
    let decisions: Vec<Decision<'_>> = {
        let held_back = decide::held_back(&tasks);
        let look = decide::Look {
            snapshot,
            agents: &agents,
            nodes: &nodes,
            queue: &prepare_queue,
            held_back: &held_back,
            options,
        };
        tasks.values().map(|task| look.decide(task)).collect()
    };
    for (task, decision) in tasks.values_mut().zip(decisions) {
        task.decision = decision;
    }
    gaps.extend(deadline::unread_parents(
        tasks.values().filter_map(|task| task.deadline_gap.as_ref()),
    ));
    gaps.sort();
    gaps.dedup();
    Replay {
        options,
        nodes,
        tasks,
        prepare_queue,
        gaps,
    }
}
