//! How the time to an answer grows with the cluster: 1,000 and 10,000 tasks, a node for each twenty, as
//! many pods as tasks. Ten times the cluster should take about ten times as long, and no more.
//!
//! ```sh
//! cargo bench --no-default-features --bench replay
//! ```

#[path = "support/cluster.rs"]
mod cluster;

use criterion::{BenchmarkId, Criterion, Throughput};
use velero_slots::capture::Capture;
use velero_slots::diagnose::diagnose;
use velero_slots::replay::{ReplayOptions, replay};
use velero_slots::snapshot::{ReadOptions, Snapshot, read};

const TASKS: [u32; 2] = [1_000, 10_000];

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let clusters = TASKS.map(Cluster::of);
    measure(&mut criterion, "read", &clusters, |cluster| {
        read(&cluster.capture, &cluster.options)
    });
    measure(&mut criterion, "replay", &clusters, |cluster| {
        replay(&cluster.snapshot, ReplayOptions::default())
            .tasks
            .len()
    });
    measure(
        &mut criterion,
        "replay and diagnose",
        &clusters,
        |cluster| {
            let replay = replay(&cluster.snapshot, ReplayOptions::default());
            diagnose(&cluster.snapshot, &replay)
        },
    );
    criterion.final_summary();
}

/// One cluster, as it comes and as it was read.
struct Cluster {
    tasks: u32,
    capture: Capture,
    options: ReadOptions,
    snapshot: Snapshot,
}

impl Cluster {
    fn of(tasks: u32) -> Self {
        let capture = Capture::from_objects(cluster::objects(cluster::Size::of(tasks as usize)));
        let options = ReadOptions {
            namespace: "velero".to_owned(),
            now: None,
        };
        let snapshot = read(&capture, &options);
        Self {
            tasks,
            capture,
            options,
            snapshot,
        }
    }
}

fn measure<T>(
    criterion: &mut Criterion,
    name: &str,
    clusters: &[Cluster],
    work: impl Fn(&Cluster) -> T,
) {
    let mut group = criterion.benchmark_group(name);
    for cluster in clusters {
        group.throughput(Throughput::Elements(cluster.tasks.into()));
        let id = BenchmarkId::from_parameter(cluster.tasks);
        group.bench_with_input(id, cluster, |bencher, cluster| {
            bencher.iter(|| work(cluster));
        });
    }
    group.finish();
}
