//! What a scenario changes takes a restart, and the restart has its price.

use serde_json::{Value, json};

use super::{ask, backup, queue, scenarios, seconds, with_mover};
use crate::simulate::*;
use crate::testing::{
    agent, ago, completed, config_map, in_progress, merge, mover, node, prepared, task,
};

/// A node whose agent has this release and limit, three finished tasks, some that run and some that wait.
fn busy(tag: &str, limit: i64, runs: usize, waits: usize) -> Vec<Value> {
    let document = format!(r#"{{"loadConcurrency":{{"globalConfig":{limit}}}}}"#);
    let (map, flags): (_, &[&str]) = match tag {
        "v1.14.1" => ("node-agent-config", &[]),
        _ => ("config", &["--node-agent-configmap=config"]),
    };
    let mut objects = vec![
        node("node-a", &json!({})),
        agent("node-a", tag, 864_000, flags),
        config_map(map, &document, 8_640_000),
    ];
    for number in 0_i64..3 {
        let end = 4000 - number * 700;
        objects.push(completed(
            &format!("done-{number}"),
            "node-a",
            end + 600,
            end,
        ));
    }
    for number in 0..runs {
        with_mover(
            &mut objects,
            in_progress(&format!("runs-{number}"), "node-a", 300),
        );
    }
    for number in 0..waits {
        with_mover(
            &mut objects,
            prepared(&format!("wait-{number:03}"), "node-a", 30),
        );
    }
    objects
}

fn limited(limit: i64) -> Scenario {
    Scenario {
        concurrency: Concurrency::Everywhere(limit),
        ..Scenario::default()
    }
}

fn restarted() -> Scenario {
    Scenario {
        ghost_slots: GhostSlots::Gone,
        ..Scenario::default()
    }
}

fn leaked(scenarios: Vec<Scenario>) -> Request {
    let trouble = Trouble::of_all_kinds(Fault::LeakedSlots(1));
    Request {
        troubles: [("node-a".to_owned(), trouble)].into(),
        scenarios,
        depth: Depth::Everything,
        ..Request::default()
    }
}

fn ending(outcome: &Outcome, name: &str) -> Ending {
    let task = outcome.tasks.iter().find(|task| task.task.name == name);
    task.unwrap().ending
}

#[test]
fn a_lower_limit_takes_a_restart_that_on_v1_14_ends_what_runs_and_drains_later() {
    let request = scenarios(vec![Scenario::default(), limited(1), limited(2)]);
    let of = |tag| ask(&busy(tag, 3, 3, 20), &request).outcomes;
    let old = of("v1.14.1");
    assert_eq!(ending(&old[0], "runs-0"), Ending::Completed);
    for (outcome, limit) in old.iter().skip(1).zip([1, 2]) {
        assert_eq!(ending(outcome, "runs-0"), Ending::EndedByRestart);
        let restart = outcome.restart.as_ref().unwrap();
        assert_eq!((restart.ended, restart.stranded), (3, 0));
        // Twenty tasks of ten minutes, one or two at a time.
        assert!(seconds(outcome.drained.p50) >= 20 * 600 / limit);
    }
    let new = of("v1.17.2");
    assert_eq!(ending(&new[1], "runs-0"), Ending::Completed);
    assert_eq!(new[1].restart.as_ref().unwrap().ended, 0);
    assert_eq!(new[0].restart, None);
}

#[test]
fn the_present_limit_asked_for_by_its_number_restarts_nothing() {
    let answer = ask(&busy("v1.14.1", 3, 1, 2), &scenarios(vec![limited(3)]));
    assert_eq!(answer.outcomes[0].restart, None);
    assert_eq!(ending(&answer.outcomes[0], "runs-0"), Ending::Completed);
}

#[test]
fn a_leaked_slot_leaves_all_stuck_also_where_a_pool_above_its_limit_takes_everything() {
    for tag in ["v1.12.4", "v1.14.1", "v1.17.2"] {
        let mut objects = busy(tag, 3, 1, 7);
        objects.push(task(
            "PodVolumeBackup",
            "learned",
            "Completed",
            "node-a",
            &json!({"startTimestamp": ago(900), "completionTimestamp": ago(300)}),
        ));
        let answer = ask(&objects, &scenarios(vec![Scenario::default(), limited(5)]));
        for outcome in answer.outcomes {
            assert_eq!(outcome.probes.unwrap().stuck_by_leaked_slots, 7, "{tag}");
        }
    }
}

#[test]
fn the_end_of_ghost_slots_is_a_restart_with_all_that_it_ends() {
    let mut objects = busy("v1.16.2", 2, 1, 3);
    objects.push(node("node-b", &json!({})));
    objects.push(agent(
        "node-b",
        "v1.16.2",
        864_000,
        &["--node-agent-configmap=config"],
    ));
    let status = json!({"acceptedTimestamp": ago(20), "acceptedByNode": "node-b"});
    objects.push(task("DataUpload", "elsewhere", "Accepted", "", &status));
    let outcomes = ask(&objects, &leaked(vec![Scenario::default(), restarted()])).outcomes;
    assert_eq!(ending(&outcomes[0], "elsewhere"), Ending::Completed);
    assert_eq!(ending(&outcomes[1], "elsewhere"), Ending::EndedByRestart);
    assert_eq!(ending(&outcomes[1], "runs-0"), Ending::Completed);
    let restart = outcomes[1].restart.as_ref().unwrap();
    assert_eq!(restart.nodes, ["node-a"]);
    assert_eq!(restart.ended, 1);

    let outcomes = ask(&busy("v1.14.1", 2, 1, 3), &leaked(vec![restarted()])).outcomes;
    assert_eq!(ending(&outcomes[0], "runs-0"), Ending::EndedByRestart);
    assert_eq!(ending(&outcomes[0], "wait-000"), Ending::Completed);
}

#[test]
fn a_restart_brings_the_limit_that_the_configuration_names_by_now() {
    let mut objects = queue(1, 10);
    objects.retain(|object| object["kind"] != "ConfigMap");
    let document = r#"{"loadConcurrency":{"globalConfig":5}}"#;
    objects.push(config_map("config", document, 1000));
    let answer = ask(&objects, &scenarios(vec![Scenario::default(), restarted()]));
    let drained: Vec<i64> = answer
        .outcomes
        .iter()
        .map(|outcome| seconds(outcome.drained.p50))
        .collect();
    assert!(drained[0] >= 6000, "{drained:?}");
    assert!((1200..1300).contains(&drained[1]), "{drained:?}");
}

#[test]
fn another_limit_frees_ghost_slots_and_the_smallest_one_counts_without_them() {
    // Ten tasks of ten minutes, due in 25: five slots, none of them a ghost.
    let mut objects = queue(2, 10);
    objects.push(backup("2h25m"));
    let answer = ask(&objects, &leaked(vec![Scenario::default(), limited(5)]));
    assert_eq!(answer.outcomes[0].nodes[0].smallest_limit, Some(5));
    assert_eq!(answer.outcomes[1].missed.p50, Some(0));
    // Where the limit in force is enough without its ghosts, that is the answer.
    let mut objects = queue(5, 10);
    objects.push(backup("2h25m"));
    let answer = ask(&objects, &leaked(vec![Scenario::default()]));
    assert_eq!(answer.outcomes[0].nodes[0].smallest_limit, Some(5));
}

#[test]
fn an_upgrade_leaves_tasks_with_a_pod_that_only_pauses_in_their_slots() {
    let mut objects = busy("v1.14.1", 2, 0, 3);
    objects.push(json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "node-agent", "namespace": "velero"},
        "spec": {"template": {"spec": {"containers": [{"name": "node-agent", "image": "velero/velero:v1.17.2",
            "args": ["node-agent", "server", "--node-agent-configmap=node-agent-config"]}]}}}
    }));
    for object in &mut objects {
        if object["kind"] == "Pod"
            && object["metadata"]["name"]
                .as_str()
                .unwrap()
                .starts_with("node-agent")
        {
            merge(
                &mut object["metadata"],
                &json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet",
                    "name": "node-agent", "uid": "set", "controller": true}]}),
            );
        }
    }
    let outcomes = ask(&objects, &leaked(vec![restarted()])).outcomes;
    assert_eq!(outcomes[0].restart.as_ref().unwrap().stranded, 3);
    // Two take their slots for ever, and the third waits for one.
    let mut endings: Vec<Ending> = outcomes[0].tasks.iter().map(|task| task.ending).collect();
    endings.sort();
    assert_eq!(outcomes[0].stuck.p50, Some(3));
    assert!(endings.contains(&Ending::NeverEnds), "{endings:?}");
}

#[test]
fn v1_12_has_no_limit_to_raise() {
    let mut objects = vec![
        node("node-a", &json!({})),
        agent("node-a", "v1.12.4", 864_000, &[]),
        backup("2h25m"),
    ];
    for number in 0_i64..3 {
        objects.push(task(
            "PodVolumeBackup",
            &format!("done-{number}"),
            "Completed",
            "node-a",
            &json!({"startTimestamp": ago(4000), "completionTimestamp": ago(3400)}),
        ));
    }
    for number in 0..10 {
        let name = format!("wait-{number}");
        objects.push(prepared(&name, "node-a", 30));
        objects.push(mover(&name, "node-a", 60));
    }
    let answer = ask(&objects, &scenarios(vec![Scenario::default(), limited(10)]));
    let [present, asked] = &answer.outcomes[..] else {
        panic!("two scenarios");
    };
    assert!(present.missed.p50 > Some(0));
    assert_eq!(present.nodes[0].smallest_limit, None);
    assert_eq!((asked.drained, &asked.restart), (present.drained, &None));
    let said = |about: &str| {
        let found = answer.assumptions.iter().find(|one| one.about == about);
        found.map(|one| one.text.clone())
    };
    assert!(
        said("limit")
            .unwrap()
            .contains("has no concurrency number to set"),
        "{:?}",
        answer.assumptions
    );
}

#[test]
fn a_prepare_queue_is_played_only_where_the_release_has_one() {
    let queued = Scenario {
        prepare_queue: Some(1),
        ..Scenario::default()
    };
    let restart = |tag| {
        let answer = ask(&busy(tag, 2, 1, 3), &scenarios(vec![queued.clone()]));
        let said = answer
            .assumptions
            .iter()
            .any(|one| one.about == "prepare queue");
        (answer.outcomes[0].restart.is_some(), said)
    };
    assert_eq!(restart("v1.16.2"), (false, true));
    assert_eq!(restart("v1.17.2"), (true, false));
}

#[test]
fn what_takes_a_restart_is_said() {
    let answer = ask(&busy("v1.17.2", 2, 1, 3), &leaked(vec![restarted()]));
    let said: Vec<&str> = answer
        .assumptions
        .iter()
        .filter(|one| one.about == "restart")
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("played as a restart of the node-agents concerned now"));
    let answer = ask(&busy("v1.17.2", 2, 1, 3), &scenarios(vec![restarted()]));
    assert!(
        answer
            .assumptions
            .iter()
            .any(|one| one.text.contains("nothing restarts")),
        "{:?}",
        answer.assumptions
    );
}
