//! What is printed when a reading ends before all answers are there, by Ctrl-C or by a time limit.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cases::{list, text};
use crate::plugin::{Run, User};
use crate::test_server::{Reply, Server};

const UPLOADS: &str = "/apis/velero.io/v2alpha1/namespaces/velero/datauploads";
const PODS: &str = "/api/v1/namespaces/velero/pods";

fn user_of(server: &Server) -> User {
    User::new(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "tests",
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "clusters": [{"name": "tests", "cluster": {"server": server.url()}}],
        "users": [{"name": "tests", "user": {"token": "token"}}],
    }))
}

/// A server that tells of a waiting upload and never of pods.
fn without_pods() -> Server {
    Server::http(|asked| match asked.path.as_str() {
        UPLOADS => Reply::list(
            &[
                r#"{"apiVersion":"velero.io/v2alpha1","kind":"DataUpload","metadata":{"name":"du-1","namespace":"velero","creationTimestamp":"2026-01-02T02:04:05Z"},"status":{"phase":"Prepared","node":"node-a"}}"#,
            ],
            "",
        ),
        "/api/v1/nodes" => Reply::list(
            &[r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}}"#],
            "",
        ),
        PODS => Reply::silence(),
        _ => Reply::empty(),
    })
}

/// Calls the plugin itself, so that a signal reaches it and no kubectl, and interrupts it as soon as it says
/// that it waits.
fn interrupted(user: &User, arguments: &[&str]) -> Run {
    let mut child = user
        .command(std::path::Path::new(env!(
            "CARGO_BIN_EXE_kubectl-velero_slots"
        )))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the plugin can be run");
    let mut told = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut stderr = String::new();
    told.read_line(&mut stderr)
        .expect("it tells what it waits for");
    let signalled = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill can be run");
    assert!(signalled.success());
    told.read_to_string(&mut stderr).expect("it is text");
    let output = child.wait_with_output().expect("it ends");
    Run {
        line: arguments.join(" "),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr,
    }
}

fn gap<'a>(document: &'a Value, resource: &str) -> &'a Value {
    list(document, "gaps")
        .iter()
        .find(|gap| text(gap, "resource") == resource)
        .unwrap_or_else(|| panic!("no gap of {resource}: {document:#}"))
}

#[test]
fn an_interrupt_prints_what_is_known_and_ends_with_130() {
    let server = without_pods();
    let user = user_of(&server);
    for command in ["status", "diagnose", "replay"] {
        let run = interrupted(&user, &[command, "-n", "velero", "-o", "json"]).expect_code(130);
        let document = run.json();
        assert_eq!(text(gap(&document, "pods"), "reason"), "partial", "{run}");
        assert!(run.stderr.contains("interrupted"), "{run}");
    }
}

#[test]
fn an_interrupt_before_anything_is_known_ends_with_130_and_no_answer() {
    let server = Server::http(|_| Reply::silence());
    let run = interrupted(&user_of(&server), &["status", "-n", "velero"]).expect_code(130);
    assert_eq!(run.stdout, "", "{run}");
    assert!(run.stderr.contains("error: interrupted"), "{run}");
}

#[test]
fn a_time_limit_prints_what_is_known_and_ends_with_124() {
    let server = without_pods();
    let user = user_of(&server);
    for command in ["status", "diagnose", "replay"] {
        let run = user
            .plugin(&[command, "-n", "velero", "-o", "json", "--timeout", "2s"])
            .expect_code(124);
        let document = run.json();
        assert_eq!(text(gap(&document, "pods"), "reason"), "timeout", "{run}");
    }
}

#[test]
fn a_kubeconfig_without_an_end_is_refused_with_a_reason() {
    let server = without_pods();
    let run = user_of(&server)
        .plugin(&["status", "--kubeconfig", "/dev/zero"])
        .expect_code(1);
    assert!(
        run.stderr.contains("/dev/zero: it is larger than 16 MiB"),
        "{run}"
    );
}

#[test]
fn a_refused_connection_is_told_in_plain_words() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("loopback has free ports");
    let server = without_pods();
    let run = user_of(&server)
        .plugin(&[
            "status",
            "-n",
            "velero",
            "--server",
            &format!("http://{port}"),
        ])
        .expect_code(1);
    assert!(run.stderr.contains("refused"), "{run}");
    for word in ["ServiceError", "client error"] {
        assert!(!run.stderr.contains(word), "{run}");
    }
}
