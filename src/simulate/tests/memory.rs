//! How much memory the largest queue takes, from its text to the answer.

use crate::capture::Capture;
use crate::replay::{ReplayOptions, replay};
use crate::simulate::*;
use crate::snapshot::{ReadOptions, read_owned};

#[path = "../../../benches/support/queue.rs"]
mod queue;

/// A number of this process in megabytes, where the system tells.
fn megabytes(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024 / 1_000_000)
}

#[test]
#[ignore = "takes a minute, and must be alone in its process"]
fn the_largest_queue_is_read_and_simulated_in_less_than_500_megabytes() {
    let capture = Capture::from_objects(queue::objects(100_000));
    let mut stages = Vec::new();
    let mut stage = |what: &str| {
        let (now, peak) = (megabytes("VmRSS:"), megabytes("VmHWM:"));
        if let (Some(now), Some(peak)) = (now, peak) {
            stages.push(format!("{what}: {now} MB, at most {peak} MB so far"));
        }
    };
    stage("text");
    let options = ReadOptions {
        namespace: "velero".to_owned(),
        now: Some(queue::now()),
    };
    let snapshot = read_owned(capture, &options);
    stage("snapshot");
    let replay = replay(&snapshot, ReplayOptions::default());
    stage("replay");
    let request = Request {
        runs: Some(1),
        ..Request::default()
    };
    let answer = simulate(&snapshot, &replay, &request);
    stage("simulation");
    assert_eq!((answer.tasks, answer.runs), (100_000, 1));
    if let Some(peak) = megabytes("VmHWM:") {
        assert!(peak < 500, "{}", stages.join("; "));
    }
}
