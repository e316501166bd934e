//! What a public report says of finished backups, held against the model: how long each took, and how many
//! tasks ran on each node. No start of a single task is in it.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::replay::{ReplayOptions, replay};
use crate::simulate::outcome::Setting;
use crate::simulate::*;
use crate::testing::{agent, ago, node, prepared, snapshot, task};

#[derive(Deserialize)]
struct Report {
    cycles: Vec<Cycle>,
}

#[derive(Deserialize)]
struct Cycle {
    seconds: i64,
    tasks: BTreeMap<String, usize>,
}

fn cycles() -> Vec<Cycle> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/traces/reported.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    serde_saphyr::from_str::<Report>(&text).unwrap().cycles
}

/// The state of a cycle with all its tasks Prepared.
fn state(cycle: &Cycle) -> Snapshot {
    let mut objects: Vec<Value> = Vec::new();
    for (name, tasks) in &cycle.tasks {
        objects.push(node(name, &json!({})));
        objects.push(agent(name, "v1.12.2", 864_000, &[]));
        for number in 0..*tasks {
            super::with_mover(
                &mut objects,
                prepared(&format!("{name}-{number:02}"), name, 30),
            );
        }
    }
    // A DataUpload of v1.12 says nothing of its start, so another kind says how long one takes.
    objects.push(task(
        "PodVolumeBackup",
        "done",
        "Completed",
        "node-a",
        &json!({"startTimestamp": ago(5000), "completionTimestamp": ago(4000)}),
    ));
    snapshot(&objects)
}

/// How long a cycle takes, in seconds, when each of its tasks runs so long.
fn drained(snapshot: &Snapshot, seconds: i64) -> i64 {
    let replay = replay(snapshot, ReplayOptions::default());
    let troubles = BTreeMap::new();
    let input = build::Input {
        snapshot,
        replay: &replay,
        troubles: &troubles,
    };
    let mut built = build::build(&input, &|_| true);
    for group in &mut built.model.groups {
        group.samples = vec![seconds * 1000];
    }
    let setting = Setting {
        built: &built,
        snapshot,
        replay: &replay,
        seed: 0,
        runs: 9,
    };
    let outcome = crate::simulate::outcome::of(&setting, &Scenario::default());
    outcome.drained.p50.unwrap() / 1000
}

/// The duration of a task that makes the model take as long as the report says.
fn duration(cycle: &Cycle, snapshot: &Snapshot) -> i64 {
    let (mut low, mut high) = (1, 120);
    while low < high {
        let middle = i64::midpoint(low, high);
        if drained(snapshot, middle) < cycle.seconds {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The table of the page: each cycle predicted from what the three others say of a task's duration.
pub(super) fn table() -> String {
    let cycles = cycles();
    let states: Vec<Snapshot> = cycles.iter().map(state).collect();
    let durations: Vec<i64> = cycles
        .iter()
        .zip(&states)
        .map(|(cycle, state)| duration(cycle, state))
        .collect();
    let mut text = "| tasks on the busiest node | a task took | a task took in the others | predicted | took | error |\n|---|---|---|---|---|---|\n".to_owned();
    for (number, cycle) in cycles.iter().enumerate() {
        let mut others: Vec<i64> = durations
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number)
            .map(|(_, seconds)| *seconds)
            .collect();
        others.sort_unstable();
        let learned = others[1];
        let predicted = drained(&states[number], learned);
        writeln!(
            text,
            "| {} of 100 | {} s | {learned} s | {predicted} s | {} s | {:+} % |",
            cycle.tasks.values().max().unwrap(),
            durations[number],
            cycle.seconds,
            (predicted - cycle.seconds) * 100 / cycle.seconds,
        )
        .unwrap();
    }
    text
}

#[test]
fn the_report_is_of_100_tasks_each_time() {
    for cycle in cycles() {
        assert_eq!(cycle.tasks.values().sum::<usize>(), 100);
        assert_eq!(cycle.tasks.len(), 6);
    }
}
