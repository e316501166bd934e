//! What observations mean.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::capture::{Cut, LogFile, Previous};
use crate::velero::{Phase, TaskRef};

pub(super) fn later(plan: &Plan, seconds: i64) -> Timestamp {
    plan.taken_at + SignedDuration::from_secs(seconds)
}

pub(super) fn done(plan: &Plan) -> Vec<StepSeen> {
    plan.steps
        .iter()
        .map(|step| StepSeen {
            step: step.clone(),
            at: later(plan, 1),
            result: StepResult::Done,
        })
        .collect()
}

pub(super) fn seen(task: &TaskRef, phase: Phase, look: Look) -> TaskSeen {
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

pub(super) fn slots(holders: usize) -> NodeSeen {
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
            unread: Vec::new(),
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

pub(super) fn agent_seen(plan: &Plan, uid: &str, works: Works) -> AgentSeen {
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
            unread: Vec::new(),
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
        observe(
            &plan,
            known.snapshot,
            known.replay,
            &Since::at(plan.taken_at),
        )
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

/// A restart under which du-2 runs on; the task as it was seen at some seconds after it.
fn after_resume(looks: &[(i64, Phase, Option<i64>, Look)]) -> Outcome {
    let mut objects = cluster("v1.17.1");
    objects.extend([
        in_progress("du-2", "node-a", 600),
        mover("du-2", "node-a", 660),
        claim("du-2"),
    ]);
    let plan = restarted(&live(objects), &["node-a"], Force::Yes);
    let task = plan.effects[0].task.clone();
    assert_eq!(plan.effects[0].effect, Effect::Resumed);
    let looks = looks
        .iter()
        .map(|(seconds, phase, bytes, look)| {
            let mut task = seen(&task, phase.clone(), look.clone());
            if let TaskState::There { bytes_done, .. } = &mut task.state {
                *bytes_done = *bytes;
            }
            Observation {
                at: later(&plan, *seconds),
                tasks: vec![task],
                nodes: vec![NodeSeen {
                    agents: vec![agent_seen(&plan, "new", Works::Yes)],
                    ..slots(1)
                }],
                unread: Vec::new(),
            }
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

fn logged(line: &str, reached: Reached) -> Look {
    Look::Seen {
        at: None,
        line: line.to_owned(),
        reached,
    }
}

#[test]
fn a_task_that_is_only_still_in_progress_is_not_known_to_be_resumed() {
    let blind = || Look::NotWatched("no log".to_owned());
    let still = after_resume(&[(600, Phase::InProgress, Some(5), blind())]);
    assert_eq!(still.tasks[0].result, TaskResult::Unknown, "{still:?}");
    assert_eq!(still.achieved, Achieved::No);
    assert_eq!(
        reached(&still),
        NodeResult::NotRecovered(RestartStage::Started)
    );
    let failed = logged(
        "Failed to resume data path for du, have to cancel it",
        Reached::Elsewhere,
    );
    let failing = after_resume(&[(30, Phase::InProgress, Some(5), failed)]);
    assert_eq!(failing.tasks[0].result, TaskResult::Unknown);
}

#[test]
fn a_line_of_the_resume_or_bytes_of_the_new_agent_show_that_a_task_is_resumed() {
    let blind = || Look::NotWatched("no log".to_owned());
    let line = logged("asyncBR is resumed for du du-2", Reached::Resumed);
    let by_line = after_resume(&[(30, Phase::InProgress, Some(5), line)]);
    assert_eq!(by_line.achieved, Achieved::Yes, "{by_line:?}");
    let by_bytes = after_resume(&[
        (20, Phase::InProgress, Some(5), blind()),
        (30, Phase::InProgress, Some(6), blind()),
    ]);
    assert_eq!(by_bytes.achieved, Achieved::Yes, "{by_bytes:?}");
    let ended = after_resume(&[(30, Phase::Completed, Some(9), blind())]);
    assert_eq!(ended.achieved, Achieved::Yes, "{ended:?}");
    let cancelled = after_resume(&[(30, Phase::Canceling, Some(5), blind())]);
    assert_eq!(cancelled.achieved, Achieved::No, "{cancelled:?}");
}

#[test]
fn a_cancel_that_only_reaches_canceling_has_not_ended_the_task() {
    let mut objects = cluster("v1.17.1");
    let mut running = in_progress("du-2", "node-a", 900);
    running["spec"]["cancel"] = json!(true);
    objects.extend([running, mover("du-2", "node-a", 960), claim("du-2")]);
    let plan = nudged(&live(objects), &["du/du-2"], Force::No);
    assert_eq!(plan.expected[0].what, Expected::End, "{plan:?}");
    let after = |phase: Phase| {
        judge(
            &plan,
            &Observations {
                steps: done(&plan),
                looks: vec![Observation {
                    at: later(&plan, 60),
                    tasks: vec![seen(
                        &plan.targets[0],
                        phase,
                        Look::NotWatched("no log".to_owned()),
                    )],
                    nodes: vec![slots(1)],
                    unread: Vec::new(),
                }],
                ending: Ending::TimeLimit,
                warnings: Vec::new(),
            },
        )
    };
    let canceling = after(Phase::Canceling);
    assert_eq!(canceling.achieved, Achieved::No, "{canceling:?}");
    assert!(canceling.summary.contains("not ended yet"), "{canceling:?}");
    assert!(canceling.next[0].command.contains("explain"));
    assert_eq!(after(Phase::Canceled).achieved, Achieved::Yes);
    assert_eq!(after(Phase::Completed).achieved, Achieved::Yes);
}

/// How du-1 was looked at by a log of the agent with these lines, which are some seconds old.
fn look_by(lines: &[(i64, &str, &str)]) -> Look {
    look_since(lines, |lines| {
        let before = lines.iter().filter(|(age, ..)| *age > 30);
        LogMarks::of(&with_log(&before.copied().collect::<Vec<_>>()))
    })
}

/// A cluster whose agent has logged these lines, which are some seconds old.
fn with_log(lines: &[(i64, &str, &str)]) -> Snapshot {
    let mut objects = stuck("v1.17.1");
    let body: Vec<String> = lines
        .iter()
        .map(|(age, level, rest)| format!("time=\"{}\" level={level} {rest}", ago(*age)))
        .collect();
    let mut snapshot = live(std::mem::take(&mut objects));
    snapshot.logs.push(LogFile {
        namespace: "velero".to_owned(),
        pod: "node-agent-node-a".to_owned(),
        container: "node-agent".to_owned(),
        previous: Previous::No,
        cut: Cut::Whole,
        body: body.join("\n"),
    });
    snapshot
}

/// The same, where du-1 was touched 30 s ago and this is known of what the log ended with then.
fn look_since(
    lines: &[(i64, &str, &str)],
    marks: impl FnOnce(&[(i64, &str, &str)]) -> LogMarks,
) -> Look {
    let plan = nudged(&live(stuck("v1.17.1")), &["du/du-1"], Force::No);
    let since = Since {
        at: plan.taken_at - SignedDuration::from_secs(30),
        logs: marks(lines),
    };
    with_known(&with_log(lines), |known| {
        observe(&plan, known.snapshot, known.replay, &since).tasks[0]
            .look
            .clone()
    })
}

#[test]
fn a_look_is_told_by_the_place_of_its_line_and_not_by_the_clock_of_its_node() {
    let about = "msg=\"Reconcile du-1\" dataupload=velero/du-1";
    let other = "msg=\"something else\" dataupload=velero/du-9";
    // The clock of the node is behind: the look seems to be from before the touch, 30 s ago.
    let behind = [
        (40, "info", other),
        (34, "info", about),
        (33, "info", other),
    ];
    let marked = |lines: &[(i64, &str, &str)]| LogMarks::of(&with_log(&lines[..1]));
    let look = look_since(&behind, marked);
    assert!(matches!(look, Look::Seen { .. }), "{look:?}");
    // It is ahead: a look from before the touch seems to be from after it.
    let ahead = [(24, "info", about), (20, "info", other)];
    let look = look_since(&ahead, marked);
    assert!(matches!(look, Look::NotSeen { .. }), "{look:?}");
}

#[test]
fn without_the_end_of_the_log_a_line_around_the_touch_tells_nothing() {
    let about = "msg=\"Reconcile du-1\" dataupload=velero/du-1";
    let blind = |age| {
        look_since(&[(100, "info", about), (age, "info", about)], |_| {
            LogMarks::default()
        })
    };
    for around in [36, 30, 24] {
        let look = blind(around);
        assert!(
            matches!(&look, Look::NotWatched(why) if why.contains("clock")),
            "{look:?}"
        );
    }
    assert!(matches!(blind(5), Look::Seen { .. }));
    assert!(matches!(blind(60), Look::NotSeen { .. }));
}

#[test]
fn a_log_that_was_rotated_since_is_told_by_its_own_clock() {
    let about = "msg=\"Reconcile du-1\" dataupload=velero/du-1";
    let gone = "msg=\"something else\" dataupload=velero/du-9";
    let look = look_since(&[(35, "info", about)], |_| {
        LogMarks::of(&with_log(&[(40, "info", gone)]))
    });
    assert!(matches!(look, Look::Seen { .. }), "{look:?}");
}

#[test]
fn the_silence_of_a_log_tells_something_only_where_looks_are_logged() {
    let other = "msg=\"something else\" dataupload=velero/du-9";
    assert!(matches!(
        look_by(&[(20, "warning", other), (10, "error", other)]),
        Look::NotWatched(_)
    ));
    assert!(matches!(
        look_by(&[(20, "info", other), (10, "error", other)]),
        Look::NotSeen { .. }
    ));
    assert!(matches!(
        look_by(&[(400, "info", other), (10, "warning", other)]),
        Look::NotSeen { .. }
    ));
}

#[test]
fn the_resume_of_a_task_is_found_among_later_lines_about_it() {
    let look = look_by(&[
        (20, "info", "msg=\"asyncBR is resumed for du du-1\""),
        (10, "info", "msg=\"Reconcile du-1\" dataupload=velero/du-1"),
    ]);
    assert!(
        matches!(
            &look,
            Look::Seen {
                reached: Reached::Resumed,
                ..
            }
        ),
        "{look:?}"
    );
}

#[test]
fn a_follow_up_that_is_left_to_the_user_is_named_and_no_failure() {
    let mut objects = stuck("v1.17.1");
    objects.extend([
        task(
            "DataUpload",
            "du-9",
            "Accepted",
            "",
            &json!({"acceptedTimestamp": ago(100), "acceptedByNode": "node-a"}),
        ),
        mover("du-9", "node-a", 20),
    ]);
    let plan = restarted(&live(objects), &["node-a"], Force::Yes);
    let follow_up = plan.follow_ups[0].clone();
    let mut steps = done(&plan);
    steps.push(StepSeen {
        step: Step {
            node: Some("node-a".to_owned()),
            kind: StepKind::AnnotatePod {
                pod: follow_up.pod,
                precondition: Precondition {
                    uid: follow_up.pod_uid,
                    resource_version: "9".to_owned(),
                },
                task: follow_up.task.clone(),
            },
        },
        at: later(&plan, 40),
        result: StepResult::NotTried,
    });
    let blind = || Look::NotWatched("no log".to_owned());
    let moved = plan.expected[0].tasks[0].clone();
    let outcome = judge(
        &plan,
        &Observations {
            steps,
            looks: vec![Observation {
                at: later(&plan, 60),
                tasks: vec![
                    seen(&moved, Phase::InProgress, blind()),
                    seen(&follow_up.task, Phase::Accepted, blind()),
                ],
                nodes: vec![NodeSeen {
                    agents: vec![agent_seen(&plan, "new", Works::Yes)],
                    ..slots(1)
                }],
                unread: Vec::new(),
            }],
            ending: Ending::Decided,
            warnings: Vec::new(),
        },
    );
    assert_eq!(outcome.achieved, Achieved::Yes, "{outcome:?}");
    assert!(
        outcome.next[0].command.contains("nudge DataUpload/du-9"),
        "{:?}",
        outcome.next
    );
}
