//! What observations mean.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::velero::{Phase, TaskRef};

fn later(plan: &Plan, seconds: i64) -> Timestamp {
    plan.taken_at + SignedDuration::from_secs(seconds)
}

fn done(plan: &Plan) -> Vec<StepSeen> {
    plan.steps
        .iter()
        .map(|step| StepSeen {
            step: step.clone(),
            at: later(plan, 1),
            result: StepResult::Done,
        })
        .collect()
}

fn seen(task: &TaskRef, phase: Phase, look: Look) -> TaskSeen {
    TaskSeen {
        task: task.clone(),
        state: TaskState::There {
            uid: "uid".to_owned(),
            phase,
            message: String::new(),
            bytes_done: None,
        },
        look,
    }
}

fn slots(holders: usize) -> NodeSeen {
    NodeSeen {
        node: "node-a".to_owned(),
        agents: Vec::new(),
        holders: (0..holders)
            .map(|number| TaskRef {
                kind: crate::velero::TaskKind::DataUpload,
                namespace: "velero".to_owned(),
                name: format!("holder-{number}"),
            })
            .collect(),
        limit: Some(1),
    }
}

fn after_nudge(phase: Phase, look: Look, holders: usize) -> Outcome {
    let plan = nudged(&live(stuck("v1.17.1")), &["du/du-1"], Force::No);
    let observations = Observations {
        steps: done(&plan),
        looks: vec![Observation {
            at: later(&plan, 60),
            tasks: vec![seen(&plan.targets[0], phase, look)],
            nodes: vec![slots(holders)],
        }],
        ending: Ending::TimeLimit,
        warnings: Vec::new(),
    };
    judge(&plan, &observations)
}

fn at_slot() -> Look {
    Look::Seen {
        at: None,
        line: "Exposed snapshot is ready and creating data path routine".to_owned(),
        reached: Reached::Slot,
    }
}

#[test]
fn a_task_that_moved_was_only_not_looked_at() {
    let outcome = after_nudge(Phase::InProgress, Look::NotWatched("no log".to_owned()), 1);
    assert_eq!(outcome.achieved, Achieved::Yes, "{outcome:?}");
    assert_eq!(outcome.tasks[0].result, TaskResult::Moved);
}

#[test]
fn a_task_that_was_refused_beside_a_free_slot_proves_a_ghost() {
    let outcome = after_nudge(Phase::Prepared, at_slot(), 0);
    assert_eq!(outcome.achieved, Achieved::No);
    assert_eq!(outcome.tasks[0].result, TaskResult::RefusedSlot);
    assert!(
        outcome.next[0].command.contains("restart --node node-a"),
        "{:?}",
        outcome.next
    );
}

#[test]
fn a_task_that_was_refused_beside_full_slots_is_in_the_queue() {
    assert_eq!(
        after_nudge(Phase::Prepared, at_slot(), 1).tasks[0].result,
        TaskResult::Queued
    );
}

#[test]
fn a_log_that_is_silent_about_a_task_proves_a_blocked_worker_and_no_log_proves_nothing() {
    let through = nudged(&live(stuck("v1.17.1")), &["du/du-1"], Force::No).taken_at
        + SignedDuration::from_secs(60);
    let silent = after_nudge(Phase::Prepared, Look::NotSeen { through }, 0);
    assert_eq!(silent.tasks[0].result, TaskResult::NotLookedAt);
    let blind = after_nudge(Phase::Prepared, Look::NotWatched("forbidden".to_owned()), 0);
    assert_eq!(blind.tasks[0].result, TaskResult::Unknown);
    assert_eq!(blind.tasks[0].evidence.as_deref(), Some("forbidden"));
}

#[test]
fn a_task_that_the_look_ended_is_no_success() {
    let outcome = after_nudge(Phase::Failed, at_slot(), 0);
    assert_eq!(
        (outcome.achieved, outcome.tasks[0].result),
        (Achieved::No, TaskResult::Ended)
    );
}

#[test]
fn a_plan_of_which_no_step_was_made_changed_nothing() {
    let plan = restarted(&live(stuck("v1.17.1")), &["node-a"], Force::No);
    let mut steps = done(&plan);
    for step in &mut steps {
        step.result = StepResult::Changed("conflict".to_owned());
    }
    let outcome = judge(
        &plan,
        &Observations {
            steps,
            ..Observations::default()
        },
    );
    assert_eq!(outcome.achieved, Achieved::NothingChanged);
    assert_eq!(
        outcome.nodes[0].result,
        NodeResult::NotRecovered(RestartStage::Planned)
    );
}

fn agent_seen(plan: &Plan, uid: &str, works: Works) -> AgentSeen {
    AgentSeen {
        pod: format!("node-agent-{uid}"),
        uid: uid.to_owned(),
        created: Some(later(plan, 3)),
        works,
        started: (works == Works::Yes).then(|| later(plan, 8)),
        start_logged: (works == Works::Yes).then(|| later(plan, 9)),
        restarts: 0,
        trouble: (works != Works::Yes).then(|| "ContainerCreating".to_owned()),
    }
}

/// Seconds after the plan, the agent pods that are there, the phase of the task.
type Seen<'a> = (i64, &'a [(&'a str, Works)], Phase);

fn after_restart(looks: &[Seen<'_>]) -> Outcome {
    let plan = restarted(&live(stuck("v1.17.1")), &["node-a"], Force::No);
    let looks = looks
        .iter()
        .map(|(seconds, agents, phase)| Observation {
            at: later(&plan, *seconds),
            tasks: vec![seen(
                &plan.targets[0],
                phase.clone(),
                Look::NotWatched("no log".to_owned()),
            )],
            nodes: vec![NodeSeen {
                agents: agents
                    .iter()
                    .map(|(uid, works)| agent_seen(&plan, uid, *works))
                    .collect(),
                ..slots(0)
            }],
        })
        .collect();
    judge(
        &plan,
        &Observations {
            steps: done(&plan),
            looks,
            ending: Ending::TimeLimit,
            warnings: Vec::new(),
        },
    )
}

fn reached(outcome: &Outcome) -> NodeResult {
    outcome.nodes[0].result
}

#[test]
fn a_restart_is_followed_stage_by_stage() {
    let outcome = after_restart(&[
        (2, &[("agent-node-a", Works::Terminating)], Phase::Prepared),
        (4, &[], Phase::Prepared),
        (6, &[("new", Works::NotYet)], Phase::Prepared),
        (10, &[("new", Works::Yes)], Phase::Prepared),
        (14, &[("new", Works::Yes)], Phase::InProgress),
    ]);
    assert_eq!(outcome.achieved, Achieved::Yes, "{outcome:?}");
    let stages: Vec<_> = outcome.nodes[0]
        .stages
        .iter()
        .map(|stage| stage.stage.as_str())
        .collect();
    assert_eq!(
        stages,
        [
            "deleted", "gone", "replaced", "ready", "started", "resumed", "moving"
        ]
    );
}

#[test]
fn a_restart_that_stops_half_way_says_where_and_what_holds_it_up() {
    let terminating =
        after_restart(&[(60, &[("agent-node-a", Works::Terminating)], Phase::Prepared)]);
    assert_eq!(
        reached(&terminating),
        NodeResult::NotRecovered(RestartStage::Deleted)
    );
    assert!(terminating.next[0].command.contains("describe pod"));
    let none = after_restart(&[(60, &[], Phase::Prepared)]);
    assert_eq!(reached(&none), NodeResult::NotRecovered(RestartStage::Gone));
    assert!(none.next[0].command.contains("describe daemonset"));
    let crashing = after_restart(&[(60, &[("new", Works::NotYet)], Phase::Prepared)]);
    assert_eq!(
        reached(&crashing),
        NodeResult::NotRecovered(RestartStage::Replaced)
    );
    assert!(
        crashing.nodes[0]
            .trouble
            .as_ref()
            .unwrap()
            .contains("ContainerCreating")
    );
    let still = after_restart(&[(60, &[("new", Works::Yes)], Phase::Prepared)]);
    assert_eq!(
        reached(&still),
        NodeResult::NotRecovered(RestartStage::Resumed)
    );
    assert_eq!(still.achieved, Achieved::No);
}

#[test]
fn an_observation_is_read_from_a_new_reading() {
    let plan = nudged(&live(stuck("v1.17.1")), &["du/du-1"], Force::No);
    let mut after = stuck("v1.17.1");
    after[3]["status"]["phase"] = json!("InProgress");
    let look = with_known(&live(after), |known| {
        observe(&plan, known.snapshot, known.replay, plan.taken_at)
    });
    assert!(matches!(
        &look.tasks[0].state,
        TaskState::There {
            phase: Phase::InProgress,
            ..
        }
    ));
    assert!(matches!(&look.tasks[0].look, Look::NotWatched(_)));
    assert_eq!(look.nodes[0].agents[0].works, Works::Yes);
}
