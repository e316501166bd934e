//! What is supposed to be wrong, whom it concerns, and what mends it; and the rules that differ by release.

use serde_json::{Value, json};

use super::{ask, backup, cluster, queue, seconds, with_mover};
use crate::simulate::*;
use crate::testing::{agent, ago, completed, config_map, node, prepared, task};
use crate::velero::TaskKind;

/// A PodVolumeBackup that waits for its slot from v1.17 on.
fn prepared_backup(objects: &mut Vec<Value>, name: &str, at: &str) {
    let mut waiting = task(
        "PodVolumeBackup",
        name,
        "Prepared",
        at,
        &json!({"acceptedTimestamp": ago(90)}),
    );
    waiting["metadata"]["labels"]["velero.io/expose-on-going"] = json!("true");
    waiting["status"]["node"] = json!(at);
    with_mover(objects, waiting);
    let pod = objects
        .iter_mut()
        .rev()
        .find(|object| object["kind"] == "Pod");
    pod.unwrap()["metadata"]["labels"] = json!({"velero.io/pod-volume-backup": name});
}

fn outcomes(
    objects: &[Value],
    fault: Fault,
    kinds: &[TaskKind],
    scenarios: Vec<Scenario>,
) -> Vec<Outcome> {
    let trouble = Trouble {
        fault,
        kinds: kinds.iter().copied().collect(),
    };
    let request = Request {
        scenarios,
        troubles: [("node-a".to_owned(), trouble)].into(),
        ..Request::default()
    };
    ask(objects, &request).outcomes
}

fn requeued() -> Scenario {
    Scenario {
        requeue_prepared: RequeuePrepared::EveryMinute,
        ..Scenario::default()
    }
}

fn restarted() -> Scenario {
    Scenario {
        ghost_slots: GhostSlots::Gone,
        ..Scenario::default()
    }
}

#[test]
fn a_worker_that_does_not_go_on_is_mended_by_a_second_one_or_a_restart_and_not_by_looking_again() {
    let mut objects = queue(1, 2);
    prepared_backup(&mut objects, "files", "node-a");
    let two = Scenario {
        workers: 2,
        ..Scenario::default()
    };
    let all = outcomes(
        &objects,
        Fault::BlockedWorker,
        &[TaskKind::DataUpload],
        vec![Scenario::default(), requeued(), two, restarted()],
    );
    let stuck: Vec<_> = all.iter().map(|outcome| outcome.stuck.p90).collect();
    assert_eq!(stuck, [Some(2), Some(2), Some(0), Some(0)]);
    // The worker of the other kind goes on.
    let files = all[0].tasks.iter().find(|task| task.task.name == "files");
    assert_eq!(files.unwrap().ending, Ending::Completed);
    assert_eq!(all[0].tasks[1].ending, Ending::NobodyLooks);
}

#[test]
fn lost_events_are_mended_by_looking_again_or_a_restart() {
    let all = outcomes(
        &queue(1, 2),
        Fault::LostTimers,
        &[TaskKind::DataUpload],
        vec![Scenario::default(), requeued(), restarted()],
    );
    let stuck: Vec<_> = all.iter().map(|outcome| outcome.stuck.p90).collect();
    assert_eq!(stuck, [Some(2), Some(0), Some(0)]);
}

#[test]
fn what_is_not_determined_is_a_range_of_both_causes_and_said() {
    let troubles = [(
        "node-a".to_owned(),
        Trouble::of_all_kinds(Fault::Undetermined(1)),
    )];
    let request = Request {
        scenarios: vec![Scenario::default(), requeued(), restarted()],
        troubles: troubles.into(),
        ..Request::default()
    };
    let answer = ask(&queue(1, 2), &request);
    let stuck: Vec<_> = answer
        .outcomes
        .iter()
        .map(|outcome| (outcome.stuck.p50, outcome.stuck.p90))
        .collect();
    // Leaked slots stay leaked whoever looks.
    assert_eq!(
        stuck,
        [(Some(2), Some(2)), (Some(0), Some(2)), (Some(0), Some(0))]
    );
    let said = answer
        .assumptions
        .iter()
        .find(|assumption| assumption.about == "cause")
        .unwrap();
    assert!(
        said.text.contains("on 1 node is not determined"),
        "{}",
        said.text
    );
}

#[test]
fn on_v1_12_the_leak_is_in_the_pool_of_the_kind_that_waits() {
    let mut objects = vec![
        node("node-a", &json!({})),
        agent("node-a", "v1.12.4", 864_000, &[]),
    ];
    // A DataUpload of this release has no start to learn from.
    let mut learned = task(
        "PodVolumeBackup",
        "done",
        "Completed",
        "node-a",
        &json!({"startTimestamp": ago(900), "completionTimestamp": ago(300)}),
    );
    learned["metadata"]["labels"] = json!({});
    objects.push(learned);
    with_mover(&mut objects, prepared("moves", "node-a", 30));
    objects.push(task(
        "PodVolumeBackup",
        "files",
        "New",
        "node-a",
        &json!({}),
    ));
    let all = outcomes(
        &objects,
        Fault::LeakedSlots(1),
        &[TaskKind::DataUpload],
        vec![Scenario::default()],
    );
    let ending = |name: &str| {
        let task = all[0].tasks.iter().find(|task| task.task.name == name);
        task.unwrap().ending
    };
    assert_eq!(ending("moves"), Ending::NoSlotLeft);
    assert_eq!(ending("files"), Ending::Completed);
}

#[test]
fn the_timeout_of_the_file_system_backup_cancels_on_main_and_only_ends_the_wait_before() {
    let ending = |tag: &str| {
        let mut objects = vec![
            node("node-a", &json!({})),
            agent("node-a", tag, 864_000, &[]),
            backup("4h"),
        ];
        // The Backup began 7290 s ago, so its 240 minutes end in 7110 s; three tasks of an hour do not fit.
        objects.push(completed("done", "node-a", 8000, 4400));
        for name in ["first", "second", "third"] {
            prepared_backup(&mut objects, name, "node-a");
        }
        let answer = ask(&objects, &Request::default());
        let outcome = &answer.outcomes[0];
        assert!(outcome.missed.p50 >= Some(1), "{tag}: {:?}", outcome.missed);
        outcome.endings.keys().copied().collect::<Vec<_>>()
    };
    assert_eq!(ending("v1.18.2"), [Ending::Completed]);
    assert!(ending("main").contains(&Ending::DeadlineRunning));
}

#[test]
fn a_pod_volume_asks_the_prepare_queue_of_its_own_agent() {
    let document = |length: i64| {
        format!(r#"{{"loadConcurrency":{{"globalConfig":1,"prepareQueueLength":{length}}}}}"#)
    };
    let mut objects = cluster(1);
    objects.retain(|object| object["kind"] == "Node");
    objects.push(node("node-b", &json!({})));
    objects.push(config_map("narrow", &document(1), 8_640_000));
    objects.push(config_map("broad", &document(50), 8_640_000));
    for (name, map) in [("node-a", "narrow"), ("node-b", "broad")] {
        let flag = format!("--node-agent-configmap={map}");
        objects.push(agent(name, "v1.17.2", 864_000, &[&flag]));
    }
    objects.push(completed("done", "node-a", 2000, 1400));
    // It fills the queue of node-a for as long as it waits for its slot: ten minutes and ten more.
    with_mover(&mut objects, prepared("wait-1", "node-a", 30));
    with_mover(&mut objects, prepared("wait-2", "node-a", 30));
    for at in ["node-a", "node-b"] {
        objects.push(task(
            "PodVolumeBackup",
            &format!("new-{at}"),
            "New",
            at,
            &json!({}),
        ));
    }
    let answer = ask(&objects, &Request::default());
    let start = |name: &str| {
        let tasks = &answer.outcomes[0].tasks;
        let task = tasks.iter().find(|task| task.task.name == name).unwrap();
        seconds(task.start.p50)
    };
    assert!(start("new-node-b") < 120, "{}", start("new-node-b"));
    assert!(start("new-node-a") > 600, "{}", start("new-node-a"));
}
