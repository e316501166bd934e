//! What could not be seen is neither gone nor as it was.

use super::judging::{agent_seen, done, later, seen, slots};
use super::*;
use crate::capture::GapReason;
use crate::snapshot::{Coverage, ResourceKind};
use crate::velero::{Phase, TaskKind};

fn unread(resource: &'static str, reason: GapReason) -> Unread {
    Unread {
        resource,
        reason,
        message: String::new(),
    }
}

/// One look at a restart under which du-2 runs on.
struct Glance {
    seconds: i64,
    agents: Vec<(&'static str, Works)>,
    bytes: i64,
    unread: Vec<Unread>,
}

fn glance(seconds: i64, agents: &[(&'static str, Works)], bytes: i64) -> Glance {
    Glance {
        seconds,
        agents: agents.to_vec(),
        bytes,
        unread: Vec::new(),
    }
}

fn blind(seconds: i64, bytes: i64) -> Glance {
    Glance {
        unread: vec![unread("pods", GapReason::Forbidden)],
        ..glance(seconds, &[], bytes)
    }
}

fn of_restart(glances: &[Glance], answer: StepResult, ending: Ending) -> Outcome {
    let mut objects = cluster("v1.17.1");
    objects.extend([
        in_progress("du-2", "node-a", 600),
        mover("du-2", "node-a", 660),
        claim("du-2"),
    ]);
    let plan = restarted(&live(objects), &["node-a"], Force::Yes);
    let looks = glances
        .iter()
        .map(|glance| {
            let mut task = seen(
                &plan.effects[0].task,
                Phase::InProgress,
                Look::NotWatched("no log".to_owned()),
            );
            if let TaskState::There { bytes_done, .. } = &mut task.state {
                *bytes_done = Some(glance.bytes);
            }
            Observation {
                at: later(&plan, glance.seconds),
                tasks: vec![task],
                nodes: vec![NodeSeen {
                    agents: glance
                        .agents
                        .iter()
                        .map(|(uid, works)| agent_seen(&plan, uid, *works))
                        .collect(),
                    ..slots(1)
                }],
                unread: glance.unread.clone(),
            }
        })
        .collect();
    let mut steps = done(&plan);
    steps[0].result = answer;
    judge(
        &plan,
        &Observations {
            steps,
            looks,
            ending,
            warnings: Vec::new(),
        },
    )
}

fn stages(outcome: &Outcome) -> Vec<&str> {
    let stages = outcome.nodes[0].stages.iter();
    stages.map(|stage| stage.stage.as_str()).collect()
}

#[test]
fn a_reading_without_pods_is_no_proof_that_the_old_pod_is_gone() {
    let old = ("agent-node-a", Works::Terminating);
    let new = ("new", Works::Yes);
    let outcome = of_restart(
        &[
            blind(2, 1),
            glance(4, &[old], 30),
            glance(8, &[new], 30),
            glance(20, &[new], 30),
        ],
        StepResult::Done,
        Ending::TimeLimit,
    );
    assert_eq!(outcome.achieved, Achieved::No, "{outcome:?}");
    let gone = &outcome.nodes[0].stages[1];
    assert_eq!(gone.stage, RestartStage::Gone);
    assert_eq!(gone.at, outcome.last_seen.unwrap() - SECONDS_12);
    assert_eq!(
        outcome.summary,
        "node-a did not recover: what ran before is not taken up again; the time limit passed"
    );
    assert_eq!(
        outcome.warnings,
        ["pods could not be read (forbidden) in 1 of 4 readings after the step"]
    );
}

const SECONDS_12: jiff::SignedDuration = jiff::SignedDuration::from_secs(12);

#[test]
fn pods_that_stay_unread_leave_it_open_what_became_of_the_agent() {
    let outcome = of_restart(
        &[blind(2, 1), blind(4, 2), blind(60, 3)],
        StepResult::Done,
        Ending::TimeLimit,
    );
    assert_eq!(stages(&outcome), ["deleted"]);
    assert!(
        outcome
            .summary
            .starts_with("node-a is not known to have recovered: "),
        "{}",
        outcome.summary
    );
    assert!(
        outcome
            .summary
            .contains("pods could not be read (forbidden)")
    );
    assert!(
        outcome.next[0].command.contains("get pod"),
        "{:?}",
        outcome.next
    );
}

#[test]
fn a_delete_without_an_answer_is_never_told_as_one_that_was_not_made() {
    let unanswered = || StepResult::Unknown("interrupted".to_owned());
    let unseen = of_restart(&[], unanswered(), Ending::Interrupted);
    assert!(
        unseen
            .summary
            .contains("whether its node-agent pod was deleted is not known"),
        "{}",
        unseen.summary
    );
    assert!(
        !unseen
            .next
            .iter()
            .any(|next| next.command.contains("restart --node")),
        "{:?}",
        unseen.next
    );
    let terminating = of_restart(
        &[glance(2, &[("agent-node-a", Works::Terminating)], 1)],
        unanswered(),
        Ending::TimeLimit,
    );
    assert_eq!(stages(&terminating), ["deleted"]);
    let there = of_restart(
        &[glance(2, &[("agent-node-a", Works::Yes)], 1)],
        unanswered(),
        Ending::TimeLimit,
    );
    assert!(
        there.summary.contains("was not deleted"),
        "{}",
        there.summary
    );
}

#[test]
fn a_server_that_is_lost_after_the_delete_leaves_it_open_whether_the_pod_is_there() {
    let lost = || Ending::ServerLost("HTTP 401".to_owned());
    let at_once = of_restart(&[], StepResult::Done, lost());
    assert!(!at_once.summary.contains("still there"), "{at_once:?}");
    assert!(at_once.summary.contains("nothing was seen after it"));
    let later = of_restart(
        &[glance(2, &[("agent-node-a", Works::Terminating)], 1)],
        StepResult::Done,
        lost(),
    );
    assert!(!later.summary.contains("still there"), "{later:?}");
    assert!(
        later.summary.contains("nothing was seen after 20"),
        "{later:?}"
    );
}

/// A nudge after which the task was seen so.
fn of_nudge(state: TaskState, look: Look, unread: Vec<Unread>) -> Outcome {
    let plan = nudged(&live(stuck("v1.17.1")), &["du/du-1"], Force::No);
    let mut task = seen(&plan.targets[0], Phase::Prepared, look);
    task.state = match state {
        TaskState::There { .. } => task.state,
        TaskState::Gone | TaskState::Unreadable(_) => state,
    };
    judge(
        &plan,
        &Observations {
            steps: done(&plan),
            looks: vec![Observation {
                at: later(&plan, 60),
                tasks: vec![task],
                nodes: vec![slots(0)],
                unread,
            }],
            ending: Ending::TimeLimit,
            warnings: Vec::new(),
        },
    )
}

#[test]
fn a_task_that_could_not_be_read_is_not_as_before() {
    let outcome = of_nudge(
        TaskState::Unreadable(GapReason::Forbidden),
        Look::NotWatched("no log".to_owned()),
        vec![unread("datauploads", GapReason::Forbidden)],
    );
    assert_eq!(
        outcome.summary,
        "what came of DataUpload/du-1 is not known: it could not be read: forbidden; the time limit passed"
    );
    assert_eq!(outcome.achieved, Achieved::No);
}

#[test]
fn holders_that_could_not_all_be_read_prove_no_ghost_slot() {
    let refused = || Look::Seen {
        at: None,
        line: "requeue later".to_owned(),
        reached: Reached::Slot,
    };
    let there = || TaskState::There {
        uid: String::new(),
        phase: Phase::Prepared,
        message: String::new(),
        bytes_done: None,
    };
    let whole = of_nudge(there(), refused(), Vec::new());
    assert_eq!(whole.tasks[0].result, TaskResult::RefusedSlot);
    let lacking = of_nudge(
        there(),
        refused(),
        vec![unread("podvolumebackups", GapReason::Timeout)],
    );
    assert_eq!(lacking.tasks[0].result, TaskResult::LookedAt);
}

#[test]
fn a_reading_says_which_lists_it_lacks() {
    let plan = nudged(&live(stuck("v1.17.1")), &["du/du-1"], Force::No);
    let mut after = live(stuck("v1.17.1"));
    after.agents.clear();
    for (resource, reason) in [
        (ResourceKind::Pod, GapReason::Timeout),
        // A cluster without this kind lacks nothing.
        (
            ResourceKind::Task(TaskKind::DataDownload),
            GapReason::NotFound,
        ),
        (
            ResourceKind::Task(TaskKind::PodVolumeBackup),
            GapReason::Forbidden,
        ),
    ] {
        after.coverage.insert(
            (resource, after.namespace.clone()),
            Coverage::Unreadable(reason),
        );
    }
    let look = with_known(&after, |known| {
        observe(
            &plan,
            known.snapshot,
            known.replay,
            &Since::at(plan.taken_at),
        )
    });
    assert_eq!(
        look.unread,
        [
            unread("pods", GapReason::Timeout),
            unread("podvolumebackups", GapReason::Forbidden)
        ]
    );
    assert!(
        matches!(&look.tasks[0].look, Look::NotWatched(why) if why.contains("could not be read"))
    );
}

/// What a role sees that may not list some of the tasks.
fn forbidden(kinds: &[TaskKind]) -> Snapshot {
    let mut snapshot = live(stuck("v1.17.1"));
    for kind in kinds {
        snapshot.tasks.retain(|task, _| task.kind != *kind);
        snapshot.coverage.insert(
            (ResourceKind::Task(*kind), snapshot.namespace.clone()),
            Coverage::Unreadable(GapReason::Forbidden),
        );
    }
    snapshot
}

#[test]
fn a_kind_that_may_not_be_listed_is_never_called_empty() {
    let snapshot = forbidden(&[TaskKind::DataUpload]);
    with_known(&snapshot, |known| {
        let named = NudgeTargets::Tasks(vec!["du/du-1".to_owned()]);
        let error = plan_nudge(known, &named, &Wishes::default()).unwrap_err();
        assert_eq!(error.sure, Sure::NotRead);
        assert!(error.why.contains("forbidden"), "{}", error.why);
        for targets in [
            NudgeTargets::AllStuck,
            NudgeTargets::Nodes(vec!["node-a".to_owned()]),
        ] {
            let plan = plan_nudge(known, &targets, &Wishes::default()).unwrap();
            assert_eq!(codes(&plan), [RefusalCode::NotKnown], "{plan:?}");
            assert!(
                plan.refusals[0].reason.contains("datauploads (forbidden)"),
                "{:?}",
                plan.refusals
            );
        }
        let plan = plan_restart(known, &RestartTargets::AllStuck, &Wishes::default()).unwrap();
        assert_eq!(codes(&plan), [RefusalCode::NotKnown], "{plan:?}");
        // Another kind was read, and has no such task.
        let other = NudgeTargets::Tasks(vec!["pvb/pvb-1".to_owned()]);
        let error = plan_nudge(known, &other, &Wishes::default()).unwrap_err();
        assert_eq!(error.sure, Sure::Yes);
    });
}

#[test]
fn a_node_that_nobody_could_have_seen_is_not_called_missing() {
    let none = |nodes: Coverage| {
        let mut snapshot = forbidden(&TaskKind::ALL);
        snapshot.agents.clear();
        snapshot.nodes.clear();
        snapshot.coverage.insert(
            (ResourceKind::Pod, snapshot.namespace.clone()),
            Coverage::Unreadable(GapReason::Forbidden),
        );
        snapshot
            .coverage
            .insert((ResourceKind::Node, String::new()), nodes);
        with_known(&snapshot, |known| {
            let targets = RestartTargets::Nodes(vec!["node-a".to_owned()]);
            plan_restart(known, &targets, &Wishes::default()).unwrap_err()
        })
    };
    let blind = none(Coverage::Unreadable(GapReason::Forbidden));
    assert_eq!(blind.sure, Sure::NotRead, "{}", blind.why);
    let listed = none(Coverage::Listed);
    assert_eq!(listed.sure, Sure::Yes);
    assert_eq!(listed.why, "there is no node \"node-a\"");
}
