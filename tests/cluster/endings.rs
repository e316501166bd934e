//! It always ends: the compiled plugin, called through kubectl, against API servers that are busy, slow,
//! silent, gone, or no API servers at all. What is known is printed, the message is clear, the exit code is
//! that of the contract, and nothing is asked again in silence.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cases::list;
use crate::plugin::{Run, User};
use crate::test_server::{Asked, Reply, Server, closed_port};

const UPLOADS: &str = "/apis/velero.io/v2alpha1/namespaces/velero/datauploads";
const PODS: &str = "/api/v1/namespaces/velero/pods";

/// Commands that read, each as far as it goes without a second step.
const READING: [&[&str]; 6] = [
    &["status"],
    &["diagnose"],
    &["replay"],
    &["replay", "--simulate"],
    &["explain", "dataupload/du-1"],
    &["capture", "--no-redact", "-f", "capture.tar.gz"],
];

/// A run and how long it took.
struct Ended {
    run: Run,
    took: Duration,
}

/// Calls the plugin with a server.
fn call(url: &str, arguments: &[&str]) -> Ended {
    let user = User::new(&Value::Null);
    let mut all = arguments.to_vec();
    all.extend(["--kubeconfig", "", "-n", "velero", "--server", url]);
    let began = Instant::now();
    let mut command = user.command(&crate::programs::kubectl());
    let output = command
        .env_remove("KUBECONFIG")
        .arg("velero-slots")
        .args(&all)
        .output()
        .expect("kubectl can be run");
    Ended {
        run: Run {
            line: format!("kubectl velero-slots {}", all.join(" ")),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        },
        took: began.elapsed(),
    }
}

impl Ended {
    /// Fails unless it ended with `code` and said `words` on standard error or in its gaps.
    fn expect(self, code: i32, words: &str) -> Self {
        let run = &self.run;
        assert_eq!(run.code, Some(code), "{run}");
        assert!(
            run.stderr.contains(words) || run.stdout.contains(words),
            "{words:?} is not said\n{run}"
        );
        assert!(
            !run.stderr.contains("panicked") && !run.stderr.contains("Status {"),
            "an error is shown raw\n{run}"
        );
        self
    }

    fn within(self, seconds: u64) -> Self {
        assert!(
            self.took < Duration::from_secs(seconds),
            "it took {:?}\n{}",
            self.took,
            self.run
        );
        self
    }

    /// Fails unless it prints the node of the task that could be read.
    fn shows_the_task(self) -> Self {
        let document = self.run.json();
        let nodes: Vec<&str> = list(&document, "nodes")
            .iter()
            .filter_map(|node| node["name"].as_str())
            .collect();
        assert_eq!(nodes, ["node-a"], "what is known is printed\n{}", self.run);
        self
    }

    /// Returns the reason of the gap of a resource.
    fn gap(&self, resource: &str) -> String {
        let document = self.run.json();
        list(&document, "gaps")
            .iter()
            .find(|gap| gap["resource"] == resource)
            .and_then(|gap| gap["reason"].as_str())
            .unwrap_or_else(|| panic!("no gap for {resource}\n{}", self.run))
            .to_owned()
    }
}

/// Answers as a small healthy cluster: one node, its agent, and one task that runs there.
fn healthy(asked: &Asked) -> Reply {
    let running = |name: &str, container: &str, labels: Value| {
        json!({
            "metadata": {
                "name": name, "namespace": "velero", "uid": name, "labels": labels,
                "creationTimestamp": "2026-01-02T02:00:00Z",
            },
            "spec": {
                "nodeName": "node-a",
                "containers": [{"name": container, "image": "velero/velero:v1.17.2"}],
            },
            "status": {
                "phase": "Running", "startTime": "2026-01-02T02:00:00Z",
                "containerStatuses": [{
                    "name": container, "ready": true, "restartCount": 0, "image": "velero/velero:v1.17.2",
                    "state": {"running": {"startedAt": "2026-01-02T02:00:00Z"}},
                }],
            },
        })
        .to_string()
    };
    match asked.path.as_str() {
        UPLOADS => Reply::list(&[&upload("du-1")], ""),
        PODS => Reply::list(
            &[
                &running(
                    "node-agent-a",
                    "node-agent",
                    json!({"name": "node-agent", "role": "node-agent"}),
                ),
                &running("du-1", "mover", json!({"velero.io/data-upload": "du-1"})),
            ],
            "",
        ),
        "/api/v1/nodes" => Reply::list(
            &[
                r#"{"metadata":{"name":"node-a","uid":"n"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#,
            ],
            "",
        ),
        _ => Reply::empty(),
    }
}

fn upload(name: &str) -> String {
    json!({
        "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
        "metadata": {
            "name": name, "namespace": "velero", "uid": name,
            "creationTimestamp": "2026-01-02T03:00:00Z",
        },
        "spec": {"operationTimeout": "10m"},
        "status": {
            "phase": "InProgress", "node": "node-a", "acceptedTimestamp": "2026-01-02T03:00:00Z",
            "startTimestamp": "2026-01-02T03:01:00Z", "progress": {"bytesDone": 1, "totalBytes": 2},
        },
    })
    .to_string()
}

fn count(server: &Server, path: &str) -> usize {
    let asked = server.asked();
    asked.iter().filter(|asked| asked.path == path).count()
}

#[test]
fn a_server_that_is_down_is_said_at_once_and_asked_nothing_twice() {
    let server = Server::http(|_| Reply::status(503, "ServiceUnavailable", "etcd is away"));
    for command in READING {
        let before = count(&server, PODS);
        call(&server.url(), command)
            .expect(1, "etcd is away")
            .within(8);
        assert!(count(&server, PODS) - before <= 1, "{command:?}");
    }
    call(&server.url(), &["auth"]).expect(
        1,
        "answered no question about rights: HTTP 503 Service Unavailable: etcd is away",
    );
}

#[test]
fn one_list_that_fails_leaves_the_rest() {
    let server = Server::http(|asked| match asked.path.as_str() {
        PODS => Reply::status(503, "ServiceUnavailable", "etcd is away"),
        _ => healthy(asked),
    });
    let ended = call(&server.url(), &["status", "-o", "json"])
        .expect(0, "etcd is away")
        .shows_the_task();
    assert_eq!(ended.gap("pods"), "partial");
    assert_eq!(count(&server, PODS), 1, "nothing is asked again in silence");
    call(&server.url(), &["diagnose", "-o", "wide"]).expect(1, "etcd is away");
}

#[test]
fn a_busy_server_is_waited_for_once_and_aloud() {
    let busy = AtomicUsize::new(0);
    let server = Server::http(move |asked| match asked.path.as_str() {
        PODS if busy.fetch_add(1, Ordering::SeqCst) == 0 => {
            Reply::status(429, "TooManyRequests", "too many requests").header("Retry-After", "1")
        }
        _ => healthy(asked),
    });
    let ended = call(&server.url(), &["status", "-o", "json"])
        .expect(
            0,
            "the API server is busy and asks to wait 1 s before pods are listed",
        )
        .shows_the_task();
    assert!(ended.took >= Duration::from_secs(1), "{:?}", ended.took);
    assert_eq!(count(&server, PODS), 2);
}

#[test]
fn a_server_that_asks_for_an_hour_is_not_waited_for() {
    let server = Server::http(|asked| match asked.path.as_str() {
        PODS => {
            Reply::status(429, "TooManyRequests", "too many requests").header("Retry-After", "3600")
        }
        _ => healthy(asked),
    });
    let ended = call(&server.url(), &["status", "-o", "json"])
        .expect(0, "too many requests")
        .within(8)
        .shows_the_task();
    assert_eq!(ended.gap("pods"), "partial");
    assert_eq!(count(&server, PODS), 1);
}

#[test]
fn a_list_that_expires_in_the_middle_is_read_again_aloud() {
    let expired = AtomicUsize::new(0);
    let server = Server::http(
        move |asked| match (asked.path.as_str(), asked.query("continue")) {
            (UPLOADS, "") => Reply::list(&[&upload("du-1")], "next"),
            (UPLOADS, _) if expired.fetch_add(1, Ordering::SeqCst) == 0 => {
                Reply::status(410, "Expired", "the provided continue parameter is too old")
            }
            (UPLOADS, _) => Reply::list(&[&upload("du-2")], ""),
            _ => healthy(asked),
        },
    );
    let ended = call(&server.url(), &["status", "-o", "json"])
        .expect(0, "reading it again from the beginning")
        .shows_the_task();
    assert_eq!(count(&server, UPLOADS), 4);
    let held = &ended.run.json()["nodes"][0]["slots"]["held"];
    assert_eq!(*held, json!(2), "each task counts once\n{}", ended.run);
}

#[test]
fn a_connection_that_breaks_in_the_middle_leaves_what_was_read() {
    let server = Server::http(
        |asked| match (asked.path.as_str(), asked.query("continue")) {
            (UPLOADS, "") => Reply::list(&[&upload("du-1")], "next"),
            (UPLOADS, _) => Reply::list(&[&upload("du-2")], "").cut(),
            _ => healthy(asked),
        },
    );
    let ended = call(&server.url(), &["status", "-o", "json"])
        .expect(0, "the connection broke")
        .shows_the_task();
    assert_eq!(ended.gap("datauploads"), "partial");
    assert_eq!(
        count(&server, UPLOADS),
        2,
        "nothing is asked again in silence"
    );
}

#[test]
fn a_list_that_never_comes_is_named_and_what_is_known_is_printed() {
    let server = Server::http(|asked| match asked.path.as_str() {
        PODS => Reply::silence(),
        _ => healthy(asked),
    });
    let ended = call(
        &server.url(),
        &["status", "-o", "json", "--request-timeout", "2s"],
    )
    .expect(124, "did not answer within 2 s")
    .within(10)
    .shows_the_task();
    assert_eq!(ended.gap("pods"), "timeout");
    let waits = "waiting for the API server since 1 s: listing pods";
    assert!(ended.run.stderr.contains(waits), "{}", ended.run);
    // The limit of the command ends it too.
    call(
        &server.url(),
        &[
            "status",
            "-o",
            "json",
            "--request-timeout",
            "0",
            "--timeout",
            "2s",
        ],
    )
    .expect(124, "the time limit of 2 s ended first")
    .within(10)
    .shows_the_task();
}

#[test]
fn a_server_that_never_answers_ends_every_command() {
    let server = Server::http(|_| Reply::silence());
    for command in READING {
        let mut all = command.to_vec();
        all.extend(["--request-timeout", "1s"]);
        call(&server.url(), &all)
            .expect(124, "did not answer within 1 s")
            .within(10);
    }
}

#[test]
fn a_request_may_take_ten_seconds_unless_told_otherwise() {
    let server = Server::http(|_| Reply::silence());
    let ended = call(&server.url(), &["status"])
        .expect(124, "did not answer within 10 s")
        .within(20);
    assert!(ended.took >= Duration::from_secs(10), "{:?}", ended.took);
}

#[test]
fn a_command_may_take_thirty_seconds_unless_told_otherwise() {
    let server = Server::http(|asked| match asked.path.as_str() {
        UPLOADS => {
            let page: usize = asked.query("continue").parse().unwrap_or(0);
            Reply::list(&[&upload("du-1")], &(page + 1).to_string()).after(Duration::from_secs(4))
        }
        _ => healthy(asked),
    });
    let ended = call(&server.url(), &["status", "-o", "json"])
        .expect(124, "the time limit of 30 s ended first")
        .within(45)
        .shows_the_task();
    assert!(ended.took >= Duration::from_secs(30), "{:?}", ended.took);
    assert_eq!(ended.gap("datauploads"), "timeout");
}

#[test]
fn a_login_page_is_no_api_server() {
    let page = || {
        Reply::json(200, "\n <!DOCTYPE html><title>Sign in</title>")
            .header("Content-Type", "text/html")
    };
    let server = Server::http(move |_| page());
    for command in READING {
        call(&server.url(), command).expect(1, "web page");
    }
    let redirecting = Server::http(|_| Reply::json(302, "").header("Location", "/login"));
    call(&redirecting.url(), &["status"]).expect(1, "302");
    let some = Server::http(move |asked| match asked.path.as_str() {
        PODS => page(),
        _ => healthy(asked),
    });
    let ended = call(&some.url(), &["status", "-o", "json"])
        .expect(0, "web page")
        .shows_the_task();
    assert_eq!(ended.gap("pods"), "malformed");
}

#[test]
fn no_server_and_a_refused_login_are_one_line_each() {
    for command in READING {
        call(&format!("http://{}", closed_port()), command)
            .expect(1, "refused")
            .within(8);
    }
    let server = Server::http(|_| Reply::status(401, "Unauthorized", "Unauthorized"));
    for command in READING {
        call(&server.url(), command).expect(1, "you must be logged in");
    }
}
