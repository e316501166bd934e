//! What the TAB key offers, through the real `kubectl __complete velero-slots …`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::control_plane::Plane;
use crate::plugin::{Run, User};
use crate::rights::play;
use crate::test_server::{Asked, Reply, Server};

/// Completion for a machine that runs tests: slow, and not asked to be fast.
const PATIENT: (&str, &str) = ("VELERO_SLOTS_COMPLETION_TIMEOUT", "60s");

/// The longest that a completion may take that does not wait for anything. Its own limit is some hundred milliseconds;
/// this one is for a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

fn installed(user: User) -> User {
    let run = user
        .plugin(&["completion", "kubectl", "--install"])
        .expect_code(0);
    let link = user.file("bin/kubectl_complete-velero_slots");
    assert_eq!(
        run.stdout,
        format!("linked {} -> kubectl-velero_slots\n", link.display()),
        "{run}"
    );
    user
}

fn user_of(server: &Server, user: &Value) -> User {
    installed(User::new(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "tests",
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "clusters": [{"name": "tests", "cluster": {"server": server.url()}}],
        "users": [{"name": "tests", "user": user}],
    })))
}

fn with_token(server: &Server) -> User {
    user_of(server, &json!({"token": "token"}))
}

/// Presses TAB behind `kubectl velero-slots WORDS`.
fn tab(user: &User, words: &[&str], limit: (&str, &str)) -> Run {
    let output = user
        .command(&crate::programs::kubectl())
        .env(limit.0, limit.1)
        .args(["__complete", "velero-slots"])
        .args(words)
        .output()
        .expect("kubectl can be run");
    Run {
        line: format!("kubectl __complete velero-slots {}", words.join(" ")),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Calls what kubectl calls, with nothing said about time, to see what kubectl does not show.
fn ask(user: &User, words: &[&str]) -> Run {
    let output = user
        .command(&user.file("bin/kubectl_complete-velero_slots"))
        .args(words)
        .output()
        .expect("the link can be run");
    Run {
        line: format!("kubectl_complete-velero_slots {}", words.join(" ")),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Returns what the plugin asked for. Some builds of kubectl ask for the server's version before all else.
fn lists(server: &Server) -> Vec<Asked> {
    let mut asked = server.asked();
    asked.retain(|asked| asked.path != "/version");
    asked
}

#[test]
fn completion_knows_the_nodes_and_tasks_of_a_real_cluster() {
    let plane = Plane::Still.lock();
    play(&plane, "scenarios/drained-node");
    let user = installed(User::new(&plane.kubeconfig()));
    let offers = |words: &[&str]| tab(&user, words, PATIENT).expect_code(0).stdout;

    assert_eq!(
        offers(&["restart", "--node", ""]),
        "node-b\tstuck: 1/1 in progress, 2 wait\nnode-a\t1/1 in progress\n:36\n"
    );
    assert_eq!(
        offers(&["nudge", ""]),
        "du/du-b1\tInProgress on node-b: mover-pod-lost\ndu/du-b2\tPrepared on node-b\n\
         du/du-b3\tPrepared on node-b\ndu/du-a1\tInProgress on node-a\n:36\n"
    );
    // A script of the shell takes the value for what is behind the sign.
    assert_eq!(
        offers(&["status", "--node=node-a"]),
        "node-a\t1/1 in progress\n:36\n"
    );
    let subjects = offers(&["explain", ""]);
    assert!(subjects.starts_with("du/du-b1\t"), "{subjects}");
    assert!(subjects.contains("\nprepared-stuck\t"), "{subjects}");

    let namespaces = offers(&["diagnose", "-n", ""]);
    let (first, others) = namespaces.split_once('\n').unwrap_or_default();
    assert_eq!(first, "velero\ta node-agent runs here");
    assert!(others.starts_with("default\n"), "{others}");
    // What the line says already counts: there is nothing in that namespace.
    assert_eq!(offers(&["restart", "-n", "default", "--node", ""]), ":36\n");
    assert_eq!(offers(&["restart", "--token=wrong", "--node", ""]), ":36\n");
}

#[test]
fn completion_offers_commands_flags_and_contexts_through_kubectl() {
    let server = Server::http(|_| Reply::empty());
    let user = with_token(&server);
    let offers = |words: &[&str]| tab(&user, words, PATIENT).expect_code(0).stdout;
    assert!(offers(&[""]).starts_with("status\tShow which node"));
    assert_eq!(offers(&["diagnose", "--fail"]).lines().count(), 2);
    assert_eq!(
        offers(&["status", "--context", ""]),
        "tests\tthe current one, cluster tests\n:36\n"
    );
    assert_eq!(offers(&["status", "--from", ""]), ":0\n");
    // kubectl's own flags are not the plugin's.
    let flags = offers(&["status", "--"]);
    assert!(!flags.contains("--cache-dir"), "{flags}");
    assert_eq!(lists(&server).len(), 0);
}

#[test]
fn completion_asks_for_eight_lists_and_changes_nothing() {
    let server = Server::http(|asked| match asked.path.as_str() {
        "/apis/velero.io/v2alpha1/namespaces/velero/datauploads" => upload("du-1"),
        _ => Reply::empty(),
    });
    let user = with_token(&server);
    let run = tab(&user, &["explain", "du/"], PATIENT).expect_code(0);
    assert_eq!(
        run.stdout,
        "du/du-1\tPrepared on node-a: no-node-agent\n:36\n"
    );
    let asked = lists(&server);
    assert_eq!(asked.len(), 8, "{asked:?}");
    assert!(asked.iter().all(|asked| asked.method == "GET"), "{asked:?}");
    assert!(
        asked.iter().all(|asked| asked.query("limit") == "500"),
        "{asked:?}"
    );
}

fn upload(name: &str) -> Reply {
    let object = json!({
        "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
        "metadata": {"name": name, "namespace": "velero", "creationTimestamp": "2026-01-02T02:04:05Z"},
        "status": {"phase": "Prepared", "node": "node-a"},
    });
    Reply::list(&[&object.to_string()], "")
}

#[test]
fn completion_offers_what_is_known_when_a_list_never_comes() {
    let server = Server::http(|asked| match asked.path.as_str() {
        "/apis/velero.io/v2alpha1/namespaces/velero/datauploads" => upload("du-1"),
        "/api/v1/namespaces/velero/pods" => Reply::silence(),
        "/api/v1/nodes" => Reply::list(
            &[r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}}"#],
            "",
        ),
        _ => Reply::empty(),
    });
    let user = with_token(&server);
    // Three quarters of it go by.
    let limit = (PATIENT.0, "4s");
    let run = tab(&user, &["nudge", "du/"], limit).expect_code(0);
    assert_eq!(run.stdout, "du/du-1\tPrepared on node-a\n:36\n", "{run}");
}

#[test]
fn completion_ends_in_silence_when_the_server_never_answers() {
    let server = Server::http(|_| Reply::silence());
    let user = with_token(&server);
    for words in [
        ["restart", "--node", ""],
        ["status", "-n", ""],
        ["nudge", "--", ""],
    ] {
        let began = Instant::now();
        let run = ask(&user, &words).expect_code(0);
        assert!(began.elapsed() < AT_ONCE, "{run}");
        assert_eq!(
            (run.stdout.as_str(), run.stderr.as_str()),
            (":36\n", ""),
            "{run}"
        );
    }
    // What needs no server is there all the same.
    let run = ask(&user, &["explain", "slot-"]).expect_code(0);
    assert!(run.stdout.starts_with("slot-queue\t"), "{run}");
    assert_eq!(run.stderr, "");
}

#[test]
fn completion_is_silent_about_servers_that_are_gone_or_refuse() {
    let gone = Server::http(|_| Reply::empty().cut());
    let refusing = Server::http(|_| Reply::forbidden());
    let foreign = Server::http(|_| Reply::json(200, "<html>log in</html>"));
    for server in [&gone, &refusing, &foreign] {
        let run = ask(&with_token(server), &["restart", "--node", ""]).expect_code(0);
        assert_eq!(
            (run.stdout.as_str(), run.stderr.as_str()),
            (":36\n", ""),
            "{run}"
        );
    }
}

#[test]
fn completion_never_runs_a_credential_plugin() {
    let server = Server::http(|_| upload("du-1"));
    let script = |user: &User| -> PathBuf {
        let path = user.file("login");
        let mark = user.file("mark").display().to_string();
        std::fs::write(&path, format!("#!/bin/sh\n: > {mark}\n")).expect("the folder is ours");
        let status = std::process::Command::new("chmod")
            .arg("755")
            .arg(&path)
            .status();
        assert!(status.expect("chmod can be run").success());
        path
    };
    let user = user_of(&server, &json!({}));
    let login = script(&user);
    for mode in ["Never", "IfAvailable", "Always"] {
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "clusters": [{"name": "tests", "cluster": {"server": server.url()}}],
            "users": [{"name": "tests", "user": {"exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": login, "interactiveMode": mode,
            }}}],
        });
        std::fs::write(user.file("kubeconfig"), kubeconfig.to_string())
            .expect("the folder is ours");
        let run = tab(&user, &["nudge", ""], PATIENT).expect_code(0);
        assert_eq!(run.stdout, ":36\n", "{run}");
    }
    assert!(!user.file("mark").exists());
    assert_eq!(lists(&server).len(), 0);
}

#[test]
fn completion_offers_no_name_that_a_shell_would_run() {
    let server = Server::http(|asked| {
        let name = "$(touch mark)";
        match asked.path.as_str() {
            "/apis/velero.io/v2alpha1/namespaces/velero/datauploads" => Reply::list(
                &[
                    &json!({
                        "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
                        "metadata": {"name": name, "namespace": "velero"},
                        "status": {"phase": "Prepared", "node": "node-a"},
                    })
                    .to_string(),
                    &json!({
                        "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
                        "metadata": {"name": "du-2", "namespace": "velero"},
                        "status": {"phase": "Odd\n:4\t\u{1b}[2J", "node": "node\u{1b}[31m\n-b"},
                    })
                    .to_string(),
                ],
                "",
            ),
            _ => Reply::empty(),
        }
    });
    let user = with_token(&server);
    let run = tab(&user, &["nudge", ""], PATIENT).expect_code(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{run}");
    assert!(
        lines[0].starts_with("du/du-2\tOdd :4 \\u{1b}[2J on node\\u{1b}[31m -b"),
        "{run}"
    );
    assert_eq!(lines[1], ":36");
    let nodes = tab(&user, &["status", "--node", ""], PATIENT).expect_code(0);
    assert!(!nodes.stdout.contains('\u{1b}'), "{nodes}");
}
