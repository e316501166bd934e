//! Tests of the simulation.

mod faults;
mod page;
mod properties;
mod reported;
mod restarts;
mod traces;

use serde_json::{Value, json};

use super::*;
use crate::replay::{ReplayOptions, replay};
use crate::testing::{
    agent, ago, completed, config_map, in_progress, merge, mover, node, now, prepared, snapshot,
    task,
};

/// A cluster of one node with a limit.
fn cluster(limit: i64) -> Vec<Value> {
    let document = format!(r#"{{"loadConcurrency":{{"globalConfig":{limit}}}}}"#);
    vec![
        node("node-a", &json!({})),
        agent(
            "node-a",
            "v1.17.2",
            864_000,
            &["--node-agent-configmap=config"],
        ),
        config_map("config", &document, 8_640_000),
    ]
}

/// Adds a task with its mover pod and volume.
fn with_mover(objects: &mut Vec<Value>, task: Value) {
    let name = task["metadata"]["name"].as_str().unwrap().to_owned();
    let node = task["status"]["node"]
        .as_str()
        .unwrap_or("node-a")
        .to_owned();
    objects.push(mover(&name, &node, 60));
    objects.push(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "velero", "creationTimestamp": ago(600)},
        "status": {"phase": "Bound"}
    }));
    objects.push(task);
}

/// Three finished tasks of ten minutes, and some that wait.
fn queue(limit: i64, waiting: usize) -> Vec<Value> {
    let mut objects = cluster(limit);
    for number in 0_i64..3 {
        let end = 4000 - number * 700;
        objects.push(completed(
            &format!("done-{number}"),
            "node-a",
            end + 600,
            end,
        ));
    }
    for number in 0..waiting {
        with_mover(
            &mut objects,
            prepared(&format!("wait-{number:03}"), "node-a", 30),
        );
    }
    objects
}

/// A Backup whose operations may take so long.
fn backup(timeout: &str) -> Value {
    json!({
        "apiVersion": "velero.io/v1", "kind": "Backup",
        "metadata": {"name": "backup-1", "namespace": "velero", "creationTimestamp": ago(7300)},
        "spec": {"itemOperationTimeout": timeout},
        "status": {"phase": "WaitingForPluginOperations", "startTimestamp": ago(7290)}
    })
}

fn ask(objects: &[Value], request: &Request) -> Simulation {
    let snapshot = snapshot(objects);
    let replay = replay(&snapshot, ReplayOptions::default());
    simulate(&snapshot, &replay, request)
}

fn scenarios(scenarios: Vec<Scenario>) -> Request {
    Request {
        scenarios,
        depth: Depth::Everything,
        ..Request::default()
    }
}

fn seconds(millis: Option<i64>) -> i64 {
    millis.unwrap() / 1000
}

#[test]
fn four_tasks_of_ten_minutes_take_forty_with_one_slot_and_twenty_with_two() {
    let request = scenarios(vec![
        Scenario::default(),
        Scenario {
            concurrency: Concurrency::Everywhere(2),
            ..Scenario::default()
        },
    ]);
    let answer = ask(&queue(1, 4), &request);
    let drained: Vec<i64> = answer
        .outcomes
        .iter()
        .map(|outcome| seconds(outcome.drained.p50))
        .collect();
    assert!((2400..2425).contains(&drained[0]), "{drained:?}");
    assert!((1200..1215).contains(&drained[1]), "{drained:?}");
    assert_eq!(
        answer.outcomes[0].stuck,
        Range {
            p50: Some(0),
            p90: Some(0)
        }
    );
}

#[test]
fn upstream_wastes_a_call_for_each_waiting_task_every_five_seconds() {
    let request = scenarios(Design::ALL.map(Scenario::of).to_vec());
    let answer = ask(&queue(1, 4), &request);
    let [upstream, early, reserve] = &answer.outcomes[..] else {
        panic!("three designs");
    };
    // Three wait for ten minutes, two for twenty, one for thirty: 3600 seconds of waiting at 5.05 s.
    let wasted = upstream.wasted.p50.unwrap();
    assert!((700..730).contains(&wasted), "{wasted}");
    assert_eq!(upstream.calls.p50, Some(wasted + 4));
    assert_eq!(upstream.raced_same_kind.p90, Some(0));
    for outcome in [early, reserve] {
        assert_eq!(outcome.calls.p90, Some(4));
        assert_eq!(outcome.wasted.p90, Some(0));
    }
}

#[test]
fn a_node_that_is_free_is_named_with_its_time() {
    let answer = ask(&queue(1, 2), &Request::default());
    let node = &answer.outcomes[0].nodes[0];
    assert_eq!((node.name.as_str(), node.tasks), ("node-a", 2));
    assert!((1200..1215).contains(&seconds(node.idle_at.p50)));
}

#[test]
fn a_leaked_slot_leaves_tasks_stuck_under_every_design_and_lost_timers_unless_requeued() {
    let mut all = Design::ALL.map(Scenario::of).to_vec();
    all.push(Scenario {
        requeue_prepared: RequeuePrepared::EveryMinute,
        ..Scenario::default()
    });
    let answer = ask(&queue(1, 4), &scenarios(all));
    let probes: Vec<(i64, i64)> = answer
        .outcomes
        .iter()
        .filter_map(|outcome| outcome.probes)
        .map(|probes| (probes.stuck_by_leaked_slots, probes.stuck_by_lost_events))
        .collect();
    assert_eq!(probes, vec![(4, 4), (4, 4), (4, 4), (4, 0)]);
}

#[test]
fn a_restart_buys_what_the_ghost_slots_took() {
    let troubles = BTreeMap::from([(
        "node-a".to_owned(),
        Trouble::of_all_kinds(Fault::LeakedSlots(1)),
    )]);
    let request = Request {
        troubles,
        ..scenarios(vec![
            Scenario::default(),
            Scenario {
                ghost_slots: GhostSlots::Gone,
                ..Scenario::default()
            },
        ])
    };
    let answer = ask(&queue(1, 2), &request);
    assert_eq!(answer.outcomes[0].stuck.p50, Some(2));
    assert_eq!(answer.outcomes[0].tasks[0].ending, Ending::NoSlotLeft);
    assert_eq!(answer.outcomes[0].nodes[0].idle_at.p50, None);
    assert_eq!(answer.outcomes[1].stuck.p50, Some(0));
}

#[test]
fn a_holder_ends_at_its_own_rate() {
    let mut objects = queue(1, 0);
    // 10 of 100 bytes in 590 s (the last write is 10 s ago): 5310 s to go, 10 of them over.
    with_mover(&mut objects, in_progress("runs", "node-a", 600));
    let answer = ask(&objects, &Request::default());
    let task = &answer.outcomes[0].tasks[0];
    assert_eq!(seconds(task.end.p50), 5300);
    assert_eq!(task.start.p50, Some(0));
    assert_eq!(task.basis, Some((Basis::OwnRate, 1)));
}

#[test]
fn the_smallest_limit_that_meets_the_deadlines_is_found() {
    // Ten tasks of ten minutes, all due in 25 minutes: two after another fit, so five slots.
    let mut objects = queue(1, 10);
    // Created two hours ago.
    objects.push(backup("2h25m"));
    let answer = ask(&objects, &scenarios(vec![Scenario::default()]));
    let outcome = &answer.outcomes[0];
    assert_eq!(outcome.missed.p50, Some(8));
    assert_eq!(outcome.nodes[0].smallest_limit, Some(5));
    assert!(outcome.tasks.iter().all(|task| task.missed_runs > 0));
}

#[test]
fn a_holder_that_is_late_anyway_or_broken_does_not_hide_the_smallest_limit() {
    // 10 of 100 bytes in ten minutes, and 25 are left.
    let slow = in_progress("runs", "node-a", 600);
    let mut lost = slow.clone();
    lost["metadata"]["managedFields"][0]["time"] = json!(ago(580));
    for (holder, has_pod) in [(slow, true), (lost, false)] {
        let mut objects = queue(1, 10);
        if has_pod {
            with_mover(&mut objects, holder);
        } else {
            objects.push(holder);
        }
        objects.push(backup("2h25m"));
        let answer = ask(&objects, &scenarios(vec![Scenario::default()]));
        let outcome = &answer.outcomes[0];
        let needed = |name: &str| {
            let task = outcome.tasks.iter().find(|task| task.task.name == name);
            task.unwrap().smallest_limit
        };
        // Two after another fit: five slots, beside that of a holder that the restart does not end.
        let enough = if has_pod { 6 } else { 5 };
        assert_eq!(outcome.nodes[0].smallest_limit, Some(enough));
        assert_eq!(needed("wait-000"), Some(enough));
        assert_eq!(needed("runs"), None, "pod: {has_pod}");
    }
}

#[test]
fn the_prepare_queue_holds_new_tasks_back() {
    let mut objects = queue(1, 0);
    for number in 0..4 {
        objects.push(task(
            "DataUpload",
            &format!("new-{number}"),
            "New",
            "",
            &json!({}),
        ));
    }
    let request = scenarios(vec![
        Scenario {
            prepare_queue: Some(1),
            ..Scenario::default()
        },
        Scenario::default(),
    ]);
    let answer = ask(&objects, &request);
    let drained: Vec<i64> = answer
        .outcomes
        .iter()
        .map(|outcome| seconds(outcome.drained.p50))
        .collect();
    // The next is accepted when the one before starts: its preparation is over long before the slot is free.
    assert!((2400..2500).contains(&drained[0]), "{drained:?}");
    assert!((2400..2500).contains(&drained[1]), "{drained:?}");
    assert!(answer.outcomes[0].calls.p50 < answer.outcomes[1].calls.p50);
}

#[test]
fn without_anything_to_learn_from_the_answer_is_a_refusal() {
    let mut objects = cluster(1);
    with_mover(&mut objects, prepared("wait", "node-a", 30));
    let answer = ask(&objects, &Request::default());
    assert!(answer.refused.is_some());
    assert_eq!((answer.runs, answer.outcomes.len()), (0, 0));
    let snapshot = snapshot(&objects);
    let replay = replay(&snapshot, ReplayOptions::default());
    assert!(forecast(&snapshot, &replay, &BTreeMap::new()).is_empty());
}

#[test]
fn times_that_run_backwards_are_left_out_and_said() {
    let mut objects = queue(1, 1);
    objects.push(completed("backwards", "node-a", 100, 200));
    objects.push(completed("from-the-future", "node-a", 100, -50));
    let answer = ask(&objects, &Request::default());
    let clock = answer
        .assumptions
        .iter()
        .find(|assumption| assumption.about == "clock")
        .unwrap();
    assert!(
        clock.text.starts_with("2 finished tasks are left out"),
        "{}",
        clock.text
    );
    assert!((600..606).contains(&seconds(answer.outcomes[0].drained.p50)));
}

#[test]
fn absurd_bytes_are_not_used() {
    for (done, total) in [
        (-5_i64, 100_i64),
        (200, 100),
        (0, 0),
        (i64::MAX, i64::MAX),
        (1, i64::MAX),
    ] {
        let mut objects = queue(1, 0);
        let mut running = in_progress("runs", "node-a", 100);
        merge(
            &mut running["status"],
            &json!({"progress": {"bytesDone": done, "totalBytes": total}}),
        );
        with_mover(&mut objects, running);
        let answer = ask(&objects, &Request::default());
        let end = seconds(answer.outcomes[0].tasks[0].end.p50);
        // Like the finished ones: 600 s, of which 100 are over; or, all bytes done, at once.
        assert!(
            end == 500 || (done == total && end <= 1),
            "{done} of {total}: {end}"
        );
    }
}

#[test]
fn a_node_without_a_working_agent_is_the_reason_that_is_given() {
    let mut objects = queue(1, 2);
    with_mover(&mut objects, prepared("lonely", "node-b", 30));
    let answer = ask(&objects, &Request::default());
    let lonely = answer.outcomes[0]
        .tasks
        .iter()
        .find(|task| task.task.name == "lonely")
        .unwrap();
    assert_eq!(lonely.ending, Ending::MissingOwner);
    assert_eq!(lonely.end.p50, None);
}

#[test]
fn what_is_assumed_is_said_with_its_samples() {
    let answer = ask(&queue(1, 2), &Request::default());
    let duration = answer
        .assumptions
        .iter()
        .find(|assumption| assumption.about == "duration")
        .unwrap();
    assert_eq!(
        (duration.text.as_str(), duration.samples),
        (
            "2 tasks take as long as finished tasks of the same kind and node took",
            Some(3)
        )
    );
    assert!(
        answer
            .assumptions
            .iter()
            .any(|assumption| assumption.about == "load")
    );
}

#[test]
fn a_prediction_for_diagnose_needs_three_finished_tasks_and_a_deadline_that_is_missed() {
    let at_risk_of = |objects: &[Value]| {
        let snapshot = snapshot(objects);
        let replay = replay(&snapshot, ReplayOptions::default());
        at_risk(&snapshot, &replay, &["node-a"].into())
    };
    let mut objects = queue(1, 10);
    objects.push(backup("2h25m"));
    let risk = at_risk_of(&objects).unwrap();
    assert_eq!(
        (risk.at_least, risk.smallest_limit, risk.samples),
        (7, Some(5), 3)
    );
    assert_eq!(risk.nodes, vec!["node-a".to_owned()]);
    let mut enough_time = queue(1, 10);
    enough_time.push(backup("24h"));
    assert_eq!(at_risk_of(&enough_time), None);
    let few: Vec<Value> = objects
        .into_iter()
        .filter(|object| object["metadata"]["name"] != "done-0")
        .collect();
    assert_eq!(at_risk_of(&few), None);
}

#[test]
fn an_instant_is_counted_from_now() {
    let answer = ask(&queue(1, 1), &Request::default());
    assert_eq!(answer.at(0), Some(now()));
    assert_eq!(answer.at(i64::MAX), None);
}

#[test]
fn a_slow_expose_is_not_called_lost_and_its_end_is_not_known() {
    let slow = |age: i64| {
        let mut objects = queue(1, 1);
        let status = json!({"acceptedTimestamp": ago(age), "acceptedByNode": "node-a"});
        objects.push(task("DataUpload", "slow", "Accepted", "", &status));
        let answer = ask(&objects, &Request::default());
        let said = answer
            .assumptions
            .iter()
            .any(|one| one.about == "preparing" && one.text.contains("as long again"));
        assert!(said, "{:?}", answer.assumptions);
        let mut tasks = answer.outcomes[0].tasks.iter();
        tasks
            .find(|task| task.task.name == "slow")
            .cloned()
            .unwrap()
    };
    assert_eq!(slow(100).ending, Ending::Completed);
    for age in [400, 900, 1700] {
        let task = slow(age);
        assert_eq!(task.ending, Ending::NotKnown, "{age}");
        assert_eq!((task.start.p50, task.end.p50), (None, None), "{age}");
        assert_eq!(task.missed_runs, 0, "{age}");
    }
}

#[test]
fn an_expose_whose_agent_has_started_since_ends_by_its_prepare_timeout() {
    let mut objects = queue(1, 0);
    objects.retain(|object| object["kind"] != "Pod");
    objects.push(agent(
        "node-a",
        "v1.17.2",
        300,
        &["--node-agent-configmap=config"],
    ));
    let status = json!({"acceptedTimestamp": ago(900), "acceptedByNode": "node-a"});
    objects.push(task("DataUpload", "lost", "Accepted", "", &status));
    let answer = ask(&objects, &Request::default());
    assert_eq!(answer.outcomes[0].tasks[0].ending, Ending::PrepareTimeout);
}

#[test]
fn a_timeout_that_nobody_checks_yet_is_said() {
    let said = |phase: &str| {
        let mut objects = queue(1, 2);
        let mut backup = backup("2h25m");
        backup["status"]["phase"] = json!(phase);
        objects.push(backup);
        let answer = ask(&objects, &Request::default());
        let mut assumptions = answer.assumptions.iter();
        assumptions
            .find(|one| one.about == "deadline")
            .map(|one| one.text.clone())
    };
    assert!(
        said("InProgress")
            .unwrap()
            .contains("of 2 tasks counts as in force")
    );
    assert_eq!(said("WaitingForPluginOperations"), None);
}

#[test]
fn finished_tasks_that_tell_nothing_are_not_said_to_be_none() {
    let mut objects = cluster(1);
    with_mover(&mut objects, prepared("wait", "node-a", 30));
    for name in ["one", "two"] {
        objects.push(completed(name, "node-a", 100, 200));
    }
    let refused = ask(&objects, &Request::default()).refused.unwrap();
    assert!(
        refused.starts_with("none of the 2 tasks that have finished tells how long it ran"),
        "{refused}"
    );
}

#[test]
fn a_holder_that_never_ends_has_begun() {
    let mut objects = queue(1, 0);
    let mut lost = in_progress("runs", "node-a", 900);
    lost["metadata"]["managedFields"][0]["time"] = json!(ago(880));
    objects.push(lost);
    let answer = ask(&objects, &Request::default());
    assert_eq!(answer.outcomes[0].tasks[0].start.p50, Some(0));
}
