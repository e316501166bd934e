//! Backups that are over, replayed: the state at an instant is put together from the timestamps that their
//! tasks have afterwards, the rest is predicted, and what then happened is the measure.

use serde_json::{Value, json};

use crate::capture::Capture;
use crate::replay::{ReplayOptions, replay};
use crate::simulate::durations::{Group, GroupId};
use crate::simulate::model::{Remaining, Start};
use crate::simulate::outcome::{Setting, rank};
use std::fmt::Write as _;

use crate::simulate::*;
use crate::snapshot::{ReadOptions, read};

/// The traces that are committed.
const TRACES: [&str; 3] = ["every-night", "first-night", "two-kinds"];

/// When the prediction is made: after this share of tonight's tasks has ended, in per cent.
const MOMENTS: [usize; 3] = [10, 25, 50];

/// Reads the objects of a file or folder of fixtures.
pub(super) fn objects(path: &str) -> Vec<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(path);
    let files: Vec<_> = if path.is_dir() {
        let mut files: Vec<_> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        files
    } else {
        vec![path]
    };
    files
        .iter()
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let list: Value = serde_saphyr::from_str(&text).unwrap();
            list["items"].as_array().unwrap().clone()
        })
        .collect()
}

pub(super) fn read_at(objects: Vec<Value>, now: Timestamp) -> Snapshot {
    let options = ReadOptions {
        namespace: "velero".to_owned(),
        now: Some(now),
    };
    read(&Capture::from_objects(objects), &options)
}

fn time(object: &Value, field: &str) -> Timestamp {
    object["status"][field].as_str().unwrap().parse().unwrap()
}

fn is_tonight(object: &Value) -> bool {
    object["metadata"]["name"]
        .as_str()
        .unwrap()
        .contains("-tonight-")
}

/// Puts a task back to where it was at an instant. Its bytes at that instant are not recorded, so a task
/// that runs has none.
fn rewound(mut task: Value, now: Timestamp) -> Vec<Value> {
    if time(&task, "completionTimestamp") <= now {
        return vec![task];
    }
    let (accepted, started) = (
        time(&task, "acceptedTimestamp"),
        time(&task, "startTimestamp"),
    );
    let name = task["metadata"]["name"].clone();
    let uid = task["metadata"]["uid"].clone();
    let node = task["status"]["node"]
        .as_str()
        .or(task["spec"]["node"].as_str())
        .unwrap()
        .to_owned();
    let status = task["status"].as_object_mut().unwrap();
    status.remove("completionTimestamp");
    status.remove("progress");
    let phase = if started <= now {
        "InProgress"
    } else {
        "Prepared"
    };
    status.insert("phase".to_owned(), json!(phase));
    if started > now {
        status.remove("startTimestamp");
        task["metadata"]["labels"]["velero.io/expose-on-going"] = json!("true");
    }
    let label = if task["kind"] == "DataUpload" {
        "velero.io/data-upload"
    } else {
        "velero.io/pod-volume-backup"
    };
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "velero", "labels": {label: name}, "creationTimestamp": accepted.to_string()},
        "spec": {"nodeName": node, "containers": [{"name": uid, "image": "velero"}],
                 "volumes": [{"name": uid, "persistentVolumeClaim": {"claimName": name}}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": uid, "ready": true, "state": {"running": {"startedAt": accepted.to_string()}}}]}
    });
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "velero"}, "status": {"phase": "Bound"}
    });
    vec![task, pod, claim]
}

/// The state of a trace when so many per cent of tonight's tasks had ended.
pub(super) fn state_of(trace: &str, percent: usize) -> (Snapshot, Vec<Value>) {
    let objects = objects(&format!("traces/{trace}.yaml"));
    let is_task = |object: &Value| object["status"]["completionTimestamp"].is_string();
    let tonight: Vec<Value> = objects
        .iter()
        .filter(|object| is_task(object) && is_tonight(object))
        .cloned()
        .collect();
    let mut ends: Vec<Timestamp> = tonight
        .iter()
        .map(|task| time(task, "completionTimestamp"))
        .collect();
    ends.sort();
    let now = ends[(ends.len() * percent).div_ceil(100) - 1];
    let then = objects
        .into_iter()
        .flat_map(|object| {
            if is_task(&object) {
                rewound(object, now)
            } else {
                vec![object]
            }
        })
        .collect();
    (read_at(then, now), tonight)
}

/// How far a prediction was off, in seconds.
struct Errors {
    tasks: usize,
    /// Of the start of each task.
    start: Vec<i64>,
    /// Of the first start, the second, and so on, whichever task it was.
    turn: Vec<i64>,
    /// Of the end of the last task.
    drained: i64,
    rest: i64,
}

/// How far off the prediction was, and how far one that knows how long each task takes: what is left is the
/// order of the timers, which nobody can know.
fn errors(trace: &str, percent: usize) -> (Errors, Errors) {
    let (snapshot, tonight) = state_of(trace, percent);
    let now = snapshot.taken_at;
    let replay = replay(&snapshot, ReplayOptions::default());
    let answer = simulate(&snapshot, &replay, &Request::default());
    let predicted = compare(&answer.outcomes[0], &tonight, now);
    let known = knowing_durations(&snapshot, &replay, &tonight);
    (predicted, compare(&known, &tonight, now))
}

/// Simulates with the durations that the tasks then had.
fn knowing_durations(snapshot: &Snapshot, replay: &Replay<'_>, tonight: &[Value]) -> Outcome {
    let troubles = BTreeMap::new();
    let input = build::Input {
        snapshot,
        replay,
        troubles: &troubles,
    };
    let mut built = build::build(&input, &|_| true);
    let now = snapshot.taken_at;
    for (index, task) in built.tasks.iter().enumerate() {
        let real = tonight
            .iter()
            .find(|real| real["metadata"]["name"] == task.name)
            .unwrap();
        let (start, end) = (
            time(real, "startTimestamp"),
            time(real, "completionTimestamp"),
        );
        let spec = built.model.tasks.at_mut(u32::try_from(index).unwrap());
        if start <= now {
            let left = end.duration_since(now).as_millis();
            spec.start = Start::Holds(Remaining::Known(left.try_into().unwrap()));
        }
        spec.group = GroupId::try_from(built.model.groups.len()).unwrap();
        let whole = end.duration_since(start).as_millis();
        built.model.groups.push(Group {
            basis: Basis::SameVolume,
            samples: vec![whole.try_into().unwrap()],
        });
    }
    let setting = Setting {
        built: &built,
        snapshot,
        replay,
        seed: 0,
        runs: RUNS,
    };
    crate::simulate::outcome::of(&setting, &Scenario::default())
}

fn compare(outcome: &Outcome, tonight: &[Value], now: Timestamp) -> Errors {
    let waited: Vec<&TaskOutcome> = outcome
        .tasks
        .iter()
        .filter(|task| task.start.p50 != Some(0))
        .collect();
    let real = |name: &str| {
        let task = tonight
            .iter()
            .find(|task| task["metadata"]["name"] == name)
            .unwrap();
        time(task, "startTimestamp").duration_since(now).as_secs()
    };
    let mut predicted: Vec<i64> = waited
        .iter()
        .map(|task| task.start.p50.unwrap() / 1000)
        .collect();
    let mut happened: Vec<i64> = waited.iter().map(|task| real(&task.task.name)).collect();
    let off = |predicted: &[i64], happened: &[i64]| {
        let mut off: Vec<i64> = predicted
            .iter()
            .zip(happened)
            .map(|(a, b)| (a - b).abs())
            .collect();
        off.sort_unstable();
        off
    };
    let start = off(&predicted, &happened);
    predicted.sort_unstable();
    happened.sort_unstable();
    let last = tonight
        .iter()
        .map(|task| time(task, "completionTimestamp"))
        .max()
        .unwrap();
    let rest = last.duration_since(now).as_secs();
    Errors {
        tasks: waited.len(),
        start,
        turn: off(&predicted, &happened),
        drained: outcome.drained.p50.unwrap() / 1000 - rest,
        rest,
    }
}

fn minutes(seconds: i64) -> String {
    let tenths = seconds * 10 / 60;
    let sign = if tenths < 0 { "-" } else { "" };
    format!("{sign}{}.{}", tenths.abs() / 10, tenths.abs() % 10)
}

/// The table of the page.
pub(super) fn table() -> String {
    let mut text = "| trace | ended | waiting | start: median | start: p90 | durations known: median | durations known: p90 | turn: median | turn: p90 | drained | durations known: drained |\n|---|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for trace in TRACES {
        for percent in MOMENTS {
            let (errors, known) = errors(trace, percent);
            let of = |errors: &[i64], percent| minutes(rank(errors, percent).unwrap());
            writeln!(
                text,
                "| {trace} | {percent} % | {} | {} | {} | {} | {} | {} | {} | {} of {} | {} |",
                errors.tasks,
                of(&errors.start, 50),
                of(&errors.start, 90),
                of(&known.start, 50),
                of(&known.start, 90),
                of(&errors.turn, 50),
                of(&errors.turn, 90),
                minutes(errors.drained),
                minutes(errors.rest),
                minutes(known.drained),
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn a_trace_is_put_back_to_an_instant_without_knowing_what_comes() {
    let (snapshot, tonight) = state_of("every-night", 25);
    assert_eq!(tonight.len(), 72);
    let replay = replay(&snapshot, ReplayOptions::default());
    // The slots are full, as they were; nothing that ended is unfinished and nothing that runs has an end.
    for node in replay.nodes.values() {
        assert!(node.holders().len() <= 2, "{}", node.node);
        assert_eq!(node.limit.in_force, Some(2));
    }
    let later = snapshot
        .tasks
        .values()
        .filter(|task| task.completed.is_some_and(|end| end > snapshot.taken_at));
    assert_eq!(later.count(), 0);
    let ended = snapshot
        .tasks
        .values()
        .filter(|task| task.reference.name.contains("-tonight-") && task.completed.is_some());
    assert_eq!(ended.count(), 18);
}
