//! How the time to an answer grows with the cluster: 1,000 and 10,000 tasks, a node for each twenty, as
//! many pods as tasks. Ten times the cluster should take about ten times as long, and no more.

#[path = "support/cluster.rs"]
mod cluster;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use velero_slots::capture::Capture;

const TASKS: [usize; 2] = [1_000, 10_000];

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    decode(&mut criterion);
    criterion.final_summary();
}

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode every object as JSON");
    for tasks in TASKS {
        let capture = Capture::from_objects(cluster::objects(cluster::Size::of(tasks)));
        group.throughput(Throughput::Elements(tasks as u64));
        group.bench_with_input(
            BenchmarkId::from_parameter(tasks),
            &capture,
            |bencher, capture| {
                bencher.iter(|| {
                    for item in capture
                        .listings
                        .iter()
                        .flat_map(|listing| listing.outcome.items())
                    {
                        let object: Result<serde_json::Value, _> =
                            serde_json::from_str(capture.json(item));
                        let _decoded = black_box(object);
                    }
                });
            },
        );
    }
    group.finish();
}
