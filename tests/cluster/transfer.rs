//! What `status` costs beside `kubectl get` and beside the mere transfer of the same lists.
//!
//! ```sh
//! cargo build --release
//! cargo test --features cluster-tests --test cluster -- --ignored --nocapture transfer
//! ```

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::SignedDuration;

use crate::control_plane::Plane;
use crate::plugin::User;

/// The best of so many runs is taken: the others were disturbed.
const RUNS: usize = 3;
/// Between two looks at the memory of a program.
const LOOK_EACH: Duration = Duration::from_millis(2);

/// What a program took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    time: Duration,
    /// The most memory that was resident, in bytes.
    memory: u64,
}

/// Returns the plugin as users have it: a release build, else the one of the tests.
fn plugin() -> PathBuf {
    let tested = Path::new(env!("CARGO_BIN_EXE_kubectl-velero_slots"));
    let release = tested
        .parent()
        .and_then(Path::parent)
        .map(|target| target.join("release/kubectl-velero_slots"))
        .filter(|path| path.is_file());
    release.unwrap_or_else(|| {
        eprintln!("no release build of the plugin: these are the figures of a debug build");
        tested.to_owned()
    })
}

/// Runs a program to its end, its answer going nowhere.
fn take(command: &mut Command) -> Taken {
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program can be run");
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let ended = loop {
        // The peak of a process never falls, so the last look counts; kubectl becomes the plugin it calls.
        if let Some(peak) = peak(&status) {
            memory = peak;
        }
        if let Some(ended) = child.try_wait().expect("it is our child") {
            break ended;
        }
        std::thread::sleep(LOOK_EACH);
    };
    assert!(ended.success(), "it ended with {ended}");
    Taken {
        time: began.elapsed(),
        memory,
    }
}

/// Reads the peak of a process that still runs, in bytes.
fn peak(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes * 1024)
}

fn best(mut command: impl FnMut() -> Command) -> Taken {
    (0..RUNS)
        .map(|_| take(&mut command()))
        .min_by_key(|taken| taken.time)
        .expect("there are runs")
}

fn row(name: &str, taken: Taken, transfer: Taken, kubectl: Taken) {
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    eprintln!(
        "{name:<28} {:>6.2} s {:>6.1} MB   {:>5.2} x transfer   {:>5.2} x kubectl's time   {:>5.2} x its memory",
        taken.time.as_secs_f64(),
        taken.memory as f64 / 1e6,
        ratio(taken.time, transfer.time),
        ratio(taken.time, kubectl.time),
        taken.memory as f64 / kubectl.memory as f64,
    );
}

#[test]
#[ignore = "it measures, which wants a machine that is idle and a release build of the plugin"]
fn status_beside_kubectl_and_a_plain_transfer() {
    let plane = Plane::Still.lock();
    plane.etcd().put(&crate::load::cluster(plane.api().now()));
    let plugin = plugin();

    // Which lists are the same is learnt from the plugin itself.
    let lists: Vec<String> = {
        let (proxy, user) = plane.behind_proxy(SignedDuration::ZERO);
        take(user.command(&plugin).arg("status"));
        proxy
            .take()
            .into_iter()
            .filter(|request| !request.target.contains("continue="))
            .map(|request| {
                let (path, _) = request
                    .target
                    .split_once('?')
                    .unwrap_or((&request.target, ""));
                path.to_owned()
            })
            .collect()
    };
    let user = User::new(&plane.kubeconfig());
    let transfer = best(|| {
        let mut command = user.command(Path::new("curl"));
        command
            .args(["--silent", "--fail", "--cacert"])
            .arg(plane.authority())
            .args(["-H", &format!("Authorization: Bearer {}", plane.token())]);
        for list in &lists {
            command
                .args(["-o", "/dev/null"])
                .arg(format!("{}{list}", plane.url()));
        }
        command
    });
    let kubectl = best(|| {
        let mut command = user.command(&crate::programs::kubectl());
        command.args(["get", "datauploads", "-n", "velero", "-o", "json"]);
        command
    });
    let status = best(|| {
        let mut command = user.command(&plugin);
        command.arg("status");
        command
    });
    eprintln!("{}: {} lists", plugin.display(), lists.len());
    row("curl, the same lists", transfer, transfer, kubectl);
    row("kubectl get datauploads", kubectl, transfer, kubectl);
    row("kubectl velero-slots status", status, transfer, kubectl);
    assert!(
        status.memory > 0 && kubectl.memory > 0,
        "{status:?} {kubectl:?}"
    );
}
