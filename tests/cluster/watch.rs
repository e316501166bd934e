//! `-w` and `--until` against a real API server.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};
use velero_slots::capture::ResourceKind;

use crate::cases::{list, text};
use crate::control_plane::{ControlPlane, Plane};
use crate::load::forbidden_requests;
use crate::plugin::{PATIENT, User};
use crate::proxy::Fate;
use crate::rights::{Reach, account, play, reader};

const UPLOADS: &str = "/apis/velero.io/v2alpha1/namespaces/velero/datauploads";
/// Longer than anything takes to show.
const LIMIT: Duration = Duration::from_secs(120);

/// A plugin that watches.
struct Watching {
    child: Child,
    lines: Receiver<String>,
    told: Arc<Mutex<String>>,
    what: String,
}

impl Watching {
    fn start(user: &User, arguments: &[&str]) -> Self {
        let mut child = user
            .command(&crate::programs::kubectl())
            .arg("velero-slots")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl can be run");
        let (send, lines) = channel();
        let out = child.stdout.take().expect("it is piped");
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let told = Arc::new(Mutex::new(String::new()));
        let mut err = child.stderr.take().expect("it is piped");
        let heard = Arc::clone(&told);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = err.read(&mut bytes) {
                let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default());
                heard
                    .lock()
                    .expect("no thread has panicked")
                    .push_str(&text);
            }
        });
        Self {
            child,
            lines,
            told,
            what: arguments.join(" "),
        }
    }

    fn told(&self) -> String {
        self.told.lock().expect("no thread has panicked").clone()
    }

    fn line(&self) -> String {
        self.lines
            .recv_timeout(LIMIT)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", self.what, self.told()))
    }

    /// Returns the next document.
    fn document(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Reads documents until one is as wanted.
    fn document_with(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let document = self.document();
            if is_wanted(&document) {
                return document;
            }
        }
    }

    /// Waits until standard error holds a text.
    fn wait_told(&self, plane: &ControlPlane, part: &str) {
        plane.wait_for(&format!("{part:?} on standard error"), || {
            self.told().contains(part)
        });
    }

    fn end(&mut self) -> Option<i32> {
        self.child.wait().expect("it was started").code()
    }

    /// Presses Ctrl-C and returns the exit code.
    fn interrupt(mut self) -> Option<i32> {
        let status = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status()
            .expect("kill can be run");
        assert!(status.success(), "{}: {}", self.what, self.told());
        self.end()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It has ended by itself, unless a test fails.
        let _gone = self.child.kill();
    }
}

/// Lays a case where objects can be changed by requests, which want their namespace to be there.
fn lay(plane: &ControlPlane, case: &str) {
    plane.etcd().clear();
    account(plane, "watcher");
    play(plane, case);
}

fn set_phase(plane: &ControlPlane, name: &str, phase: &str) {
    let now = plane.api().now().to_string();
    plane.api().patch(
        &format!("{UPLOADS}/{name}"),
        &json!({"status": {"phase": phase, "completionTimestamp": now}}),
    );
}

fn in_progress(document: &Value, node: &str) -> u64 {
    list(document, "nodes")
        .iter()
        .find(|row| text(row, "name") == node)
        .and_then(|row| row["tasks"]["inProgress"].as_u64())
        .unwrap_or_else(|| panic!("no {node}: {document:#}"))
}

/// Returns a document without what goes on with time alone.
fn without_time(document: &Value) -> Value {
    let mut document = document.clone();
    document["takenAt"] = Value::Null;
    document
}

#[test]
fn each_change_is_one_line_and_nothing_is_asked_for_per_object() {
    let plane = Plane::Still.lock();
    lay(&plane, "scenarios/normal-long-queue");
    let (proxy, user) = plane.behind_proxy(SignedDuration::ZERO);
    let watching = Watching::start(&user, &["status", "-w", "-o", "json", PATIENT[0]]);
    let first = watching.document();
    assert_eq!(in_progress(&first, "node-a"), 2);
    plane.wait_for("a watch of every list", || {
        proxy
            .seen()
            .iter()
            .filter(|request| request.target.contains("watch=true"))
            .count()
            >= 13
    });
    proxy.take();
    set_phase(&plane, "du-a09", "Completed");
    let second = watching.document_with(|document| in_progress(document, "node-a") == 1);
    assert_ne!(without_time(&first), without_time(&second));
    set_phase(&plane, "du-a10", "Completed");
    let third = watching.document_with(|document| in_progress(document, "node-a") == 0);
    assert_ne!(without_time(&second), without_time(&third));
    let seen = proxy.take();
    assert_eq!(forbidden_requests(&seen), Vec::<String>::new());
    let asked: Vec<&str> = seen
        .iter()
        .map(|request| request.target.as_str())
        .filter(|target| *target != "/version")
        .collect();
    assert_eq!(asked, [""; 0], "a change costs no request");
    assert_eq!(watching.interrupt(), Some(130));
}

#[test]
fn without_the_right_to_watch_lists_are_read_again_and_that_is_said_once() {
    let plane = Plane::Still.lock();
    lay(&plane, "scenarios/normal-long-queue");
    let user = reader(&plane, Reach::Cluster, &[]);
    let watching = Watching::start(&user, &["status", "-w", "-o", "json", PATIENT[0]]);
    assert_eq!(in_progress(&watching.document(), "node-a"), 2);
    watching.wait_told(&plane, "no right to watch");
    set_phase(&plane, "du-a09", "Completed");
    let changed = watching.document_with(|document| in_progress(document, "node-a") == 1);
    assert_eq!(list(&changed, "gaps"), [] as [Value; 0], "{changed:#}");
    let told = watching.told();
    assert_eq!(told.matches("datauploads").count(), 1, "{told}");
    assert_eq!(watching.interrupt(), Some(130));
}

#[test]
fn a_connection_that_is_cut_is_taken_up_again_and_nothing_is_forgotten_meanwhile() {
    let plane = Plane::Still.lock();
    lay(&plane, "scenarios/normal-long-queue");
    let (proxy, user) = plane.behind_proxy(SignedDuration::ZERO);
    let watching = Watching::start(&user, &["diagnose", "-w", "-o", "json", PATIENT[0]]);
    let first = watching.document();
    assert_eq!(text(&first, "verdict"), "healthy");
    let is_away = Arc::new(AtomicBool::new(true));
    let gate = Arc::clone(&is_away);
    proxy.gate(move |_, _| {
        if gate.load(Ordering::SeqCst) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    proxy.cut();
    watching.wait_told(&plane, "the API server does not answer since ");
    // What happens meanwhile is seen afterwards.
    set_phase(&plane, "du-a09", "Completed");
    is_away.store(false, Ordering::SeqCst);
    watching.wait_told(&plane, "the API server answers again");
    let second = watching.document();
    for document in [&first, &second] {
        assert_eq!(list(document, "gaps"), [] as [Value; 0], "{document:#}");
    }
    assert_ne!(without_time(&first), without_time(&second));
    assert_eq!(watching.interrupt(), Some(130));
}

#[test]
fn what_only_a_log_decides_follows_the_first_answer() {
    let plane = Plane::Still.lock();
    lay(&plane, "rules/prepared-stuck/fires-ghost-slot-from-log");
    let user = User::new(&plane.kubeconfig());
    let watching = Watching::start(
        &user,
        &[
            "diagnose",
            "-w",
            "-o",
            "json",
            "--metrics",
            "never",
            PATIENT[0],
        ],
    );
    let cause = |document: &Value| {
        list(document, "findings")
            .iter()
            .find(|finding| text(finding, "id") == "prepared-stuck")
            .map(|finding| text(finding, "cause").to_owned())
    };
    let first = watching.document();
    assert_eq!(cause(&first).as_deref(), Some("undetermined"));
    let second = watching.document_with(|document| cause(document) != cause(&first));
    assert_eq!(cause(&second).as_deref(), Some("ghost-slot"));
    assert_eq!(watching.interrupt(), Some(130));
}

#[test]
fn until_ends_when_it_is_so_and_prints_the_answer_once() {
    let plane = Plane::Still.lock();
    lay(&plane, "scenarios/normal-long-queue");
    let user = User::new(&plane.kubeconfig());
    // Nothing is stuck from the beginning.
    let run = user
        .plugin(&[
            "diagnose",
            "--until",
            "unstuck",
            "-o",
            "json",
            "--timeout=2m",
        ])
        .expect_code(0);
    assert_eq!(text(&run.json(), "verdict"), "healthy");
    let mut waiting = Watching::start(
        &user,
        &[
            "explain",
            "du/du-a09",
            "--until=idle",
            "--timeout=5m",
            "-o",
            "json",
        ],
    );
    set_phase(&plane, "du-a09", "Completed");
    assert_eq!(waiting.end(), Some(0), "{}", waiting.told());
    let printed: Vec<String> = waiting.lines.iter().collect();
    let document: Value = serde_json::from_str(&printed.join("\n")).expect("one document");
    assert_eq!(text(&document, "verdict"), "finished");
}

#[test]
fn until_ends_with_124_when_its_time_is_over() {
    let plane = Plane::Still.lock();
    lay(&plane, "scenarios/normal-long-queue");
    let user = User::new(&plane.kubeconfig());
    for arguments in [
        &["status", "--until", "idle", "--timeout", "3s", "-o", "json"],
        &[
            "diagnose",
            "--until",
            "idle",
            "--timeout",
            "3s",
            "-o",
            "json",
        ],
    ] {
        let run = user.plugin(arguments).expect_code(124);
        assert!(!run.json().is_null(), "the last answer is printed: {run}");
        assert!(
            run.stderr
                .contains("the time limit ended before it was idle"),
            "{run}"
        );
    }
}

#[test]
fn a_finding_comes_before_a_time_limit_unless_it_is_told_not_to() {
    let plane = Plane::Still.lock();
    lay(&plane, "scenarios/seed-465");
    let user = User::new(&plane.kubeconfig());
    let words = ["diagnose", "--until", "unstuck", "--timeout", "10s"];
    let run = user.plugin(&words).expect_code(3);
    assert!(
        run.stderr
            .contains("the time limit ended before it was unstuck"),
        "{run}"
    );
    let mut never = words.to_vec();
    never.extend(["--fail-on", "never"]);
    user.plugin(&never).expect_code(124);
}

#[test]
fn what_cannot_be_known_is_neither_idle_nor_unstuck() {
    let plane = Plane::Still.lock();
    lay(&plane, "scenarios/everything-healthy");
    let blind = reader(&plane, Reach::Cluster, &ResourceKind::ALL);
    for until in ["idle", "unstuck"] {
        let arguments = [
            "status",
            "-n",
            "velero",
            "--until",
            until,
            "--timeout",
            "3s",
        ];
        let run = blind.plugin(&arguments).expect_code(124);
        assert!(run.stdout.contains("UNKNOWN"), "{run}");
    }
}

#[test]
fn a_pipe_that_is_closed_ends_a_watch_without_an_error() {
    let plane = Plane::Still.lock();
    lay(&plane, "scenarios/normal-long-queue");
    let user = User::new(&plane.kubeconfig());
    let mut child = user
        .command(Path::new("/bin/sh"))
        .args([
            "-c",
            "kubectl_velero=$1; \"$kubectl_velero\" status -w -o json; echo \"exit $?\" >&2",
            "sh",
            env!("CARGO_BIN_EXE_kubectl-velero_slots"),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell can be run");
    let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it is text");
    drop(out);
    set_phase(&plane, "du-a09", "Completed");
    let mut told = String::new();
    let mut err = child.stderr.take().expect("it is piped");
    err.read_to_string(&mut told).expect("it is text");
    assert!(told.contains("exit 0"), "{told}");
    child.wait().expect("it was started");
}
