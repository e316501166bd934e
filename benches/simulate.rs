//! How the time of one run grows with the queue: 1,000, 10,000 and 100,000 waiting tasks on 1,000 nodes.
//! Ten times the queue should take about ten times as long (n log n), 100,000 less than a second.
//!
//! ```sh
//! cargo bench --no-default-features --bench simulate
//! ```

use criterion::{BenchmarkId, Criterion, Throughput};
use velero_slots::capture::Capture;
use velero_slots::replay::{ReplayOptions, replay};
use velero_slots::simulate::{Design, Request, Scenario, simulate};
use velero_slots::snapshot::{ReadOptions, Snapshot, read_owned};

#[path = "support/queue.rs"]
mod queue;

const TASKS: [u32; 3] = [1_000, 10_000, 100_000];

#[expect(clippy::print_stdout, reason = "a measure is there to be read")]
fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group("simulate, one run");
    for tasks in TASKS {
        let snapshot = cluster(tasks);
        let replay = replay(&snapshot, ReplayOptions::default());
        group.throughput(Throughput::Elements(tasks.into()));
        for design in Design::ALL {
            let request = Request {
                scenarios: vec![Scenario::of(design)],
                runs: Some(1),
                ..Request::default()
            };
            let id = BenchmarkId::new(design.as_str(), tasks);
            group.bench_with_input(id, &request, |bencher, request| {
                bencher.iter(|| simulate(&snapshot, &replay, request));
            });
        }
    }
    group.finish();
    criterion.final_summary();
    if let Some(peak) = peak() {
        println!("peak memory of the process, reading the largest input included: {peak} MB");
    }
}

/// Returns the largest resident set that this process had, in megabytes, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024 / 1_000_000)
}

/// Waiting tasks on 1,000 nodes.
fn cluster(tasks: u32) -> Snapshot {
    let capture = Capture::from_objects(queue::objects(tasks));
    let options = ReadOptions {
        namespace: "velero".to_owned(),
        now: Some(queue::now()),
    };
    read_owned(capture, &options)
}
