//! What the replay promises, on small worlds and on generated ones.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    agent, ago, completed, config_map, in_progress, managed, mover, node, prepared, snapshot, task,
};

const FLAG: &str = "--node-agent-configmap=node-agent-config";

fn world(more: Vec<Value>) -> Vec<Value> {
    let mut objects = vec![
        node("node-a", &json!({"pool": "fast"})),
        agent("node-a", "v1.17.1", 86_400, &[FLAG]),
        config_map(
            "node-agent-config",
            r#"{"loadConcurrency":{"globalConfig":1}}"#,
            172_800,
        ),
    ];
    objects.extend(more);
    objects
}

fn decision(objects: &[Value], name: &str) -> (Gate, Verb, Trigger, bool) {
    let seen = snapshot(objects);
    let replayed = replay(&seen, ReplayOptions::default());
    let task = replayed
        .tasks
        .values()
        .find(|task| task.task.reference.name == name)
        .unwrap();
    let decision = &task.decision;
    (
        decision.gate,
        decision.verb,
        decision.next_trigger,
        decision.diverges,
    )
}

fn pool_of(objects: &[Value], name: &str) -> (Option<i64>, usize, usize, bool, bool) {
    let seen = snapshot(objects);
    let replayed = replay(&seen, ReplayOptions::default());
    let pool = &replayed.nodes[name].pools[0];
    (
        pool.limit,
        pool.holders.len(),
        pool.waiting.len(),
        pool.idle,
        pool.moving,
    )
}

#[test]
fn a_full_node_makes_prepared_tasks_wait() {
    let objects = world(vec![
        in_progress("du-run", "node-a", 3600),
        mover("du-run", "node-a", 3700),
        prepared("du-wait", "node-a", 3000),
        mover("du-wait", "node-a", 3000),
    ]);
    assert_eq!(
        decision(&objects, "du-wait"),
        (Gate::Slot, Verb::Wait, Trigger::Requeue5s, false)
    );
    assert_eq!(pool_of(&objects, "node-a"), (Some(1), 1, 1, false, true));
}

#[test]
fn a_free_slot_admits_and_reality_diverges_after_three_timers() {
    let objects = |since| {
        world(vec![
            prepared("du-wait", "node-a", since),
            mover("du-wait", "node-a", since),
        ])
    };
    assert_eq!(
        decision(&objects(15), "du-wait"),
        (Gate::Slot, Verb::Admit, Trigger::Requeue5s, false)
    );
    assert_eq!(
        decision(&objects(16), "du-wait"),
        (Gate::Slot, Verb::Admit, Trigger::Requeue5s, true)
    );
}

#[test]
fn a_slot_is_idle_only_beyond_the_threshold_after_the_last_task_ended() {
    let objects = |ended| {
        world(vec![
            completed("du-done", "node-a", 7000, ended),
            prepared("du-wait", "node-a", 3000),
            mover("du-wait", "node-a", 3000),
        ])
    };
    assert_eq!(
        pool_of(&objects(599), "node-a"),
        (Some(1), 0, 1, false, true)
    );
    assert_eq!(
        pool_of(&objects(600), "node-a"),
        (Some(1), 0, 1, true, false)
    );
}

#[test]
fn an_agent_that_just_started_has_no_idle_slot() {
    let mut objects = world(vec![
        prepared("du-wait", "node-a", 3000),
        mover("du-wait", "node-a", 3000),
    ]);
    objects[1] = agent("node-a", "v1.17.1", 300, &[FLAG]);
    assert!(!pool_of(&objects, "node-a").3);
    objects[1] = agent("node-a", "v1.17.1", 700, &[FLAG]);
    assert!(pool_of(&objects, "node-a").3);
}

#[test]
fn a_changed_config_leaves_the_limit_unknown_but_never_below_one() {
    let mut objects = world(vec![
        prepared("du-wait", "node-a", 3000),
        mover("du-wait", "node-a", 3000),
    ]);
    objects[2] = config_map(
        "node-agent-config",
        r#"{"loadConcurrency":{"globalConfig":4}}"#,
        3600,
    );
    let seen = snapshot(&objects);
    let replayed = replay(&seen, ReplayOptions::default());
    let node = &replayed.nodes["node-a"];
    assert_eq!(node.limit.in_force, None);
    assert_eq!(node.limit.configured_now, Some(4));
    assert!(matches!(node.limit.basis, LimitBasis::Drifted(_)));
    // Nobody holds a slot: a slot is free whatever the limit.
    assert_eq!(node.pools[0].limit, Some(1));
    objects.push(in_progress("du-run", "node-a", 3600));
    objects.push(mover("du-run", "node-a", 3600));
    assert_eq!(pool_of(&objects, "node-a").0, None);
    assert_eq!(decision(&objects, "du-wait").1, Verb::Unknown);
}

#[test]
fn without_managed_fields_nobody_knows_whether_the_config_changed() {
    let mut objects = world(vec![prepared("du-wait", "node-a", 3000)]);
    objects[2]["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    let seen = snapshot(&objects);
    let replayed = replay(&seen, ReplayOptions::default());
    let node = &replayed.nodes["node-a"];
    assert_eq!(node.limit.in_force, Some(1));
    assert!(matches!(node.limit.basis, LimitBasis::AssumedUnchanged(_)));
    assert!(replayed.gaps.iter().any(|gap| gap.resource == "limit"));
}

#[test]
fn a_node_label_that_a_rule_looks_at_counts_as_configuration() {
    let rules = r#"{"loadConcurrency":{"globalConfig":1,"perNodeConfig":[{"nodeSelector":{"matchLabels":{"pool":"fast"}},"number":3}]}}"#;
    let mut objects = world(vec![]);
    objects[2] = config_map("node-agent-config", rules, 172_800);
    let limit = |objects: &[Value]| {
        let seen = snapshot(objects);
        let replayed = replay(&seen, ReplayOptions::default());
        (
            replayed.nodes["node-a"].limit.in_force,
            replayed.nodes["node-a"].limit.drift.len(),
        )
    };
    assert_eq!(limit(&objects), (Some(3), 0));
    objects[0]["metadata"]["managedFields"] = json!([managed(
        "kubectl-label",
        60,
        &json!({"f:metadata": {"f:labels": {"f:pool": {}}}})
    )]);
    assert_eq!(limit(&objects), (None, 1));
}

#[test]
fn the_four_kinds_of_v1_12_have_a_slot_each() {
    let mut objects = world(vec![
        task(
            "DataUpload",
            "du-run",
            "InProgress",
            "node-a",
            &json!({"startTimestamp": ago(600)}),
        ),
        task(
            "DataDownload",
            "dd-wait",
            "Prepared",
            "node-a",
            &json!({"startTimestamp": ago(500)}),
        ),
        task("PodVolumeBackup", "pvb-wait", "", "node-a", &json!({})),
    ]);
    objects.push({
        let mut pod = mover("dd-wait", "node-a", 400);
        pod["metadata"]["labels"] = json!({"velero.io/data-download": "dd-wait"});
        pod
    });
    objects[1] = agent("node-a", "v1.12.4", 86_400, &[]);
    let seen = snapshot(&objects);
    let replayed = replay(&seen, ReplayOptions::default());
    let node = &replayed.nodes["node-a"];
    assert_eq!(node.pools.len(), 4);
    assert_eq!(node.slots(), Some(4));
    assert_eq!(
        decision(&objects, "dd-wait"),
        (Gate::Slot, Verb::Admit, Trigger::Requeue1m, true)
    );
    assert_eq!(decision(&objects, "pvb-wait").1, Verb::Admit);
}

#[test]
fn a_task_past_the_limit_is_admitted_by_releases_that_compare_for_equality() {
    let objects = |tag| {
        let mut objects = world(vec![
            task(
                "DataUpload",
                "du-1",
                "InProgress",
                "node-a",
                &json!({"startTimestamp": ago(600)}),
            ),
            task(
                "DataUpload",
                "du-2",
                "InProgress",
                "node-a",
                &json!({"startTimestamp": ago(600)}),
            ),
            task("DataUpload", "du-wait", "Prepared", "node-a", &json!({})),
            mover("du-wait", "node-a", 500),
        ]);
        objects[1] = agent("node-a", tag, 86_400, &[]);
        objects
    };
    assert_eq!(decision(&objects("v1.14.1"), "du-wait").1, Verb::Admit);
    assert_eq!(decision(&objects("v1.15.2"), "du-wait").1, Verb::Wait);
}

#[test]
fn new_tasks_meet_the_gates_in_veleros_order() {
    let config = r#"{"loadConcurrency":{"prepareQueueLength":1}}"#;
    let mut objects = world(vec![
        prepared("du-1", "node-a", 60),
        mover("du-1", "node-a", 60),
    ]);
    objects[2] = config_map("node-agent-config", config, 172_800);
    let mut download = task("DataDownload", "dd-new", "", "", &json!({}));
    download["spec"] = json!({"targetVolume": {"namespace": "app", "pvc": "data"}});
    let mut restore = task("PodVolumeRestore", "pvr-new", "", "", &json!({}));
    restore["spec"] = json!({"pod": {"namespace": "app", "name": "web", "uid": "u"}});
    objects.push(download);
    objects.push(restore);
    // The application's namespace is in the input, the pod is not.
    let mut other = mover("other", "node-a", 60);
    other["metadata"]["namespace"] = json!("app");
    objects.push(other);
    assert_eq!(decision(&objects, "dd-new").0, Gate::PrepareQueue);
    assert_eq!(
        decision(&objects, "pvr-new"),
        (Gate::Target, Verb::Wait, Trigger::TargetPodUpdate, false)
    );
}

#[test]
fn an_accepted_task_whose_pod_runs_lost_its_event_after_a_minute() {
    let objects = |since| {
        let mut pod = mover("du-acc", "node-a", since);
        pod["metadata"]["creationTimestamp"] = json!(ago(since + 30));
        world(vec![
            task(
                "DataUpload",
                "du-acc",
                "Accepted",
                "",
                &json!({"acceptedTimestamp": ago(since + 60), "acceptedByNode": "node-a"}),
            ),
            pod,
        ])
    };
    assert_eq!(
        decision(&objects(30), "du-acc"),
        (Gate::Expose, Verb::Prepare, Trigger::PodUpdate, false)
    );
    assert_eq!(
        decision(&objects(90), "du-acc"),
        (Gate::Expose, Verb::Prepare, Trigger::PodUpdate, true)
    );
}

#[test]
fn a_prepared_task_without_its_pod_fails_or_is_passed_over_by_release() {
    let objects = |tag| {
        let mut objects = world(vec![prepared("du-wait", "node-a", 3000)]);
        objects[1] = agent("node-a", tag, 86_400, &[]);
        objects
    };
    assert_eq!(
        decision(&objects("v1.17.1").clone(), "du-wait").1,
        Verb::Fail
    );
    assert_eq!(decision(&objects("v1.16.2"), "du-wait").1, Verb::Skip);
}

/// One node's worth of tasks: how many run, wait, are done, are cancelled while Prepared.
fn crowd() -> impl Strategy<Value = (usize, usize, usize, i64, i64)> {
    (0_usize..4, 0_usize..6, 0_usize..4, 1_i64..5, 0_i64..7200)
}

fn build((running, waiting, done, limit, since): (usize, usize, usize, i64, i64)) -> Vec<Value> {
    let mut objects = world(Vec::new());
    objects[2] = config_map(
        "node-agent-config",
        &format!(r#"{{"loadConcurrency":{{"globalConfig":{limit}}}}}"#),
        172_800,
    );
    for index in 0..running {
        let name = format!("du-run-{index}");
        objects.push(in_progress(&name, "node-a", since));
        objects.push(mover(&name, "node-a", since));
    }
    for index in 0..waiting {
        let name = format!("du-wait-{index}");
        objects.push(prepared(&name, "node-a", since));
        objects.push(mover(&name, "node-a", since));
    }
    for index in 0..done {
        objects.push(completed(
            &format!("du-done-{index}"),
            "node-a",
            since + 100,
            since,
        ));
    }
    objects
}

fn verbs(objects: &[Value]) -> BTreeMap<String, Verb> {
    let seen = snapshot(objects);
    let replayed = replay(&seen, ReplayOptions::default());
    replayed
        .tasks
        .values()
        .map(|task| (task.task.reference.name.clone(), task.decision.verb))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_unfinished_task_gets_one_decision(world in crowd()) {
        let verbs = verbs(&build(world));
        prop_assert_eq!(verbs.len(), world.0 + world.1);
        prop_assert!(verbs.values().all(|verb| *verb != Verb::Unknown));
    }

    #[test]
    fn all_waiting_tasks_are_candidates_with_a_free_slot_and_none_without(world in crowd()) {
        let verbs = verbs(&build(world));
        let free = world.3 > i64::try_from(world.0).unwrap();
        let wanted = if free { Verb::Admit } else { Verb::Wait };
        for (name, verb) in verbs.iter().filter(|(name, _)| name.starts_with("du-wait")) {
            prop_assert_eq!(*verb, wanted, "{}", name);
        }
    }

    #[test]
    fn raising_the_limit_never_makes_a_task_wait(world in crowd()) {
        let before = verbs(&build(world));
        let after = verbs(&build((world.0, world.1, world.2, world.3 + 1, world.4)));
        for (name, verb) in &before {
            if *verb == Verb::Admit {
                prop_assert_eq!(after[name], Verb::Admit, "{}", name);
            }
        }
    }

    #[test]
    fn the_order_of_the_input_does_not_matter(world in crowd(), turn in 0_usize..40) {
        let objects = build(world);
        let mut turned = objects.clone();
        let by = turn % turned.len();
        turned.rotate_left(by);
        let seen = [snapshot(&objects), snapshot(&turned)];
        let [one, other] = seen.each_ref().map(|seen| format!("{:?}", replay(seen, ReplayOptions::default())));
        prop_assert_eq!(one, other);
    }
}
