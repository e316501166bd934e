//! The command line: where answers and messages go, exit codes, namespaces, filters, captures.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has found something"
)]

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::plugin::{Call, call, finish, input, inputs, plugin, shown};

/// Something is stuck on node-a, provably.
const STUCK: &str = "rules/prepared-stuck/fires-ghost-slot-canceled-task";
const NOW: &str = "2026-01-02T03:04:05Z";
const FORMATS: [&str; 5] = ["table", "wide", "json", "yaml", "name"];

fn with_stdin(args: &[&str], text: &str) -> Call {
    let mut child = plugin(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the plugin starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    stdin.write_all(text.as_bytes()).expect("the plugin reads");
    drop(stdin);
    finish(child.wait_with_output())
}

fn json(call: &Call) -> Value {
    serde_json::from_str(&call.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", call.out, call.err))
}

fn data_upload(namespace: &str) -> String {
    format!(
        "---\napiVersion: velero.io/v2alpha1\nkind: DataUpload\nmetadata:\n  name: du-1\n  namespace: {namespace}\n  \
         creationTimestamp: 2026-01-02T03:00:00Z\nspec: {{}}\nstatus:\n  phase: New\n"
    )
}

#[test]
fn the_exit_code_is_the_same_in_every_format() {
    let from = input(STUCK);
    for command in ["status", "diagnose", "replay"] {
        let codes: Vec<i32> = FORMATS
            .iter()
            .map(|format| call(&[command, "--from", &from, "--now", NOW, "-o", format]).code)
            .collect();
        let expected = if command == "diagnose" { 3 } else { 0 };
        assert_eq!(codes, [expected; 5], "{command}");
    }
}

#[test]
fn fail_on_never_turns_three_into_nought_and_the_verdict_stays() {
    let from = input(STUCK);
    let args = ["diagnose", "--from", &from, "--now", NOW, "-o", "json"];
    let never = call(&[&args[..], &["--fail-on", "never"]].concat());
    assert_eq!(never.code, 0, "{}", never.err);
    assert_eq!(json(&never)["verdict"], "stuck");
    assert_eq!(json(&call(&args)), json(&never));
}

#[test]
fn filters_choose_what_is_shown_and_the_exit_code() {
    let from = input(STUCK);
    let elsewhere = call(&[
        "diagnose",
        "--from",
        &from,
        "--now",
        NOW,
        "-o",
        "json",
        "--node",
        "node-elsewhere",
    ]);
    assert_ne!(elsewhere.code, 3);
    let findings = json(&elsewhere)["findings"].clone();
    assert!(
        findings
            .as_array()
            .expect("findings are a list")
            .iter()
            .all(|finding| finding["id"] != "prepared-stuck"),
        "{findings}"
    );
    let all = json(&call(&[
        "status", "--from", &from, "--now", NOW, "-o", "json",
    ]));
    let uploads = json(&call(&[
        "status", "--from", &from, "--now", NOW, "-o", "json", "--kind", "du",
    ]));
    assert_eq!(all["nodes"], uploads["nodes"]);
    let downloads = json(&call(&[
        "status", "--from", &from, "--now", NOW, "-o", "json", "--kind", "dd",
    ]));
    assert_eq!(downloads["nodes"], serde_json::json!([]));
}

#[test]
fn the_first_screen_of_every_case_has_at_most_24_rows() {
    for objects in inputs() {
        for command in ["status", "diagnose"] {
            let from = shown(&objects);
            let screen = call(&[command, "--from", &from]);
            // The longest thing on a screen is the path that the next command names: as long as the user made it.
            let rows: usize = screen
                .out
                .lines()
                .map(|line| {
                    line.replace(&from, "objects")
                        .chars()
                        .count()
                        .div_ceil(80)
                        .max(1)
                })
                .sum();
            assert!(rows <= 24, "{command} {from}:\n{}", screen.out);
        }
    }
}

#[test]
fn explain_finds_a_task_in_every_spelling_and_suggests_what_was_meant() {
    let from = input(STUCK);
    let names = call(&["replay", "--from", &from, "--now", NOW, "-o", "name"]);
    let pasted = names.out.lines().next().expect("a task is unfinished");
    let (_, name) = pasted.split_once('/').expect("a kind and a name");
    let explain = |what: &str, format: &str| {
        call(&["explain", what, "--from", &from, "--now", NOW, "-o", format])
    };
    let document = json(&explain(pasted, "json"));
    assert_eq!(document["kind"], "Explanation");
    assert_eq!(document["tasks"][0]["task"]["name"], name);
    assert_eq!(json(&explain(&format!("du/{name}"), "json")), document);
    for format in FORMATS {
        assert_eq!(explain(pasted, format).code, 0, "{format}");
    }
    let missing = explain(&format!("du/{name}x"), "table");
    assert_eq!(missing.code, 1);
    assert_eq!(missing.out, "");
    assert!(
        missing.err.contains(&format!("did you mean du/{name}")),
        "{}",
        missing.err
    );
    assert_eq!(explain("node/a", "table").code, 2);
}

#[test]
fn a_runbook_is_printed_without_any_source_and_an_unknown_id_is_a_usage_error() {
    let page = call(&["explain", "slot-queue"]);
    assert_eq!(page.code, 0, "{}", page.err);
    assert!(page.out.starts_with("# slot-queue\n"), "{}", page.out);
    let wrong = call(&["explain", "slot-quue"]);
    assert_eq!(wrong.code, 2);
    assert_eq!(wrong.out, "");
    assert!(
        wrong.err.contains("did you mean slot-queue?"),
        "{}",
        wrong.err
    );
}

#[test]
fn two_velero_namespaces_are_a_usage_error_that_lists_them() {
    let text = data_upload("team-a") + &data_upload("team-b");
    let both = with_stdin(&["status", "--from", "-"], &text);
    assert_eq!(both.code, 2);
    assert_eq!(both.out, "");
    assert_eq!(
        both.err,
        "error: several namespaces of the input look like Velero's: team-a, team-b\nhint: choose one with -n\n"
    );
    let one = with_stdin(
        &["status", "--from", "-", "-n", "team-b", "-o", "json"],
        &text,
    );
    assert_eq!(one.code, 0, "{}", one.err);
    assert_eq!(json(&one)["namespace"], "team-b");
}

#[test]
fn the_namespace_is_the_flags_then_the_client_configurations_then_the_environments() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let config = home.path().join(".config/velero");
    std::fs::create_dir_all(&config).expect("a folder");
    std::fs::write(config.join("config.json"), r#"{"namespace":"from-config"}"#).expect("a file");
    let file = home.path().join("objects.yaml");
    std::fs::write(
        &file,
        data_upload("from-config") + &data_upload("from-environment") + &data_upload("from-flag"),
    )
    .expect("a file");
    let from = shown(&file);
    let namespace = |args: &[&str], set_home: bool| {
        let mut command = plugin(&["status", "--from", &from, "-o", "json"]);
        command
            .args(args)
            .env("VELERO_NAMESPACE", "from-environment");
        if set_home {
            command.env("HOME", home.path());
        }
        json(&finish(command.output()))["namespace"].clone()
    };
    assert_eq!(namespace(&["-n", "from-flag"], true), "from-flag");
    assert_eq!(namespace(&[], true), "from-config");
    assert_eq!(namespace(&[], false), "from-environment");
}

#[test]
fn an_input_without_velero_is_not_an_empty_answer() {
    let none = with_stdin(
        &["status", "--from", "-"],
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n",
    );
    assert_eq!(none.code, 1);
    assert_eq!(none.out, "");
    assert!(
        none.err.starts_with("error: Velero not found"),
        "{}",
        none.err
    );
    let named = with_stdin(
        &["status", "--from", "-", "-n", "shop"],
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n",
    );
    assert_eq!(named.code, 1);
    assert!(named.out.contains("UNKNOWN"), "{}", named.out);
}

#[test]
fn without_a_cluster_the_error_says_so_and_standard_output_is_empty() {
    let lost = call(&["status"]);
    assert_eq!(lost.code, 1, "{}", lost.err);
    assert_eq!(lost.out, "");
    assert!(lost.err.starts_with("error: "), "{}", lost.err);
}

#[test]
fn now_without_files_is_a_usage_error() {
    let wrong = call(&["status", "--now", NOW]);
    assert_eq!(wrong.code, 2);
    assert_eq!(wrong.out, "");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let from = input(STUCK);
    for format in FORMATS {
        let mut child = plugin(&["diagnose", "--from", &from, "-o", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the plugin starts");
        drop(child.stdout.take());
        let gone = finish(child.wait_with_output());
        assert_eq!((gone.code, gone.err.as_str()), (0, ""), "{format}");
    }
}

#[test]
fn a_capture_reads_as_what_it_was_taken_from() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = shown(&folder.path().join("capture.json"));
    let from = input(STUCK);
    let taken = call(&[
        "capture",
        "--no-redact",
        "--from",
        &from,
        "--now",
        NOW,
        "-f",
        &file,
    ]);
    assert_eq!(taken.code, 0, "{}", taken.err);
    assert_eq!(taken.out, "");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&file)
            .expect("the capture is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let mut of_objects = json(&call(&[
        "diagnose", "--from", &from, "--now", NOW, "-o", "json",
    ]));
    let mut of_capture = json(&call(&["diagnose", "--from", &file, "-o", "json"]));
    assert_eq!(of_capture["source"]["nowFrom"], "capture");
    // The commands and the source name the files; nothing else differs.
    for document in [&mut of_objects, &mut of_capture] {
        document["source"] = Value::Null;
    }
    assert_eq!(of_objects, of_capture);

    let again = call(&["capture", "--no-redact", "--from", &from, "-f", &file]);
    assert_eq!(again.code, 1);
    assert!(
        again.err.contains("hint: nothing is overwritten"),
        "{}",
        again.err
    );
}

#[test]
fn a_capture_can_be_piped_into_a_reading_command() {
    let taken = call(&[
        "capture",
        "--no-redact",
        "--from",
        &input(STUCK),
        "--now",
        NOW,
        "-f",
        "-",
    ]);
    assert_eq!(taken.code, 0, "{}", taken.err);
    let read = with_stdin(&["diagnose", "--from", "-", "-o", "json"], &taken.out);
    assert_eq!(read.code, 3, "{}", read.err);
    assert_eq!(json(&read)["takenAt"], NOW);
}

#[test]
fn colour_is_written_only_when_asked_for() {
    let from = input(STUCK);
    let args = ["diagnose", "--from", &from, "--now", NOW];
    assert!(!call(&args).out.contains('\u{1b}'));
    assert!(
        call(&[&args[..], &["--color=always"]].concat())
            .out
            .contains('\u{1b}')
    );
    let forced = finish(plugin(&args).env("CLICOLOR_FORCE", "1").output());
    assert!(forced.out.contains('\u{1b}'));
    let refused = finish(
        plugin(&args)
            .env("CLICOLOR_FORCE", "1")
            .env("NO_COLOR", "1")
            .output(),
    );
    assert!(!refused.out.contains('\u{1b}'));
}

#[test]
fn no_headers_leaves_the_header_line_out() {
    let from = input(STUCK);
    let with = call(&["status", "--from", &from]).out;
    let without = call(&["status", "--from", &from, "--no-headers"]).out;
    assert!(with.contains("IN PROGRESS"), "{with}");
    assert!(!without.contains("IN PROGRESS"), "{without}");
}

#[test]
fn a_filter_that_names_what_occurs_nowhere_is_no_sign_of_health() {
    let from = input(STUCK);
    for filter in ["--node", "--backup", "--restore"] {
        for command in ["status", "diagnose", "replay"] {
            let all = [command, "--from", &from, "--now", NOW, filter, "nope"];
            let shown = call(&all);
            assert_eq!(shown.code, 1, "{command} {filter}: {}", shown.out);
            assert!(shown.out.contains("UNKNOWN"), "{}", shown.out);
            assert!(!shown.out.contains("HEALTHY"), "{}", shown.out);
            assert!(shown.err.contains("nope occurs nowhere"), "{}", shown.err);
            let document = json(&call(&[&all[..], &["-o", "json"]].concat()));
            let gap = document["gaps"]
                .as_array()
                .and_then(|gaps| gaps.iter().find(|gap| gap["resource"] == "filter"))
                .expect("a gap tells of the filter");
            assert_eq!(gap["reason"], "not-found");
            let empty = call(&[command, "--from", &from, filter, ""]);
            assert_eq!(empty.code, 2, "{command} {filter}: {}", empty.err);
        }
    }
}

#[test]
fn no_name_of_an_object_gives_another_command_than_the_one_shown() {
    for hostile in [
        "'x''; touch /tmp/y; echo '''",
        "'$(touch /tmp/y)'",
        "'--all'",
    ] {
        let text = data_upload("velero")
            .replace("du-1", hostile)
            .replace(
                "phase: New",
                "phase: Failed\n  startTimestamp: '2026-01-02T02:00:00Z'\n  completionTimestamp: '2026-01-02T03:00:00Z'\n  node: '`id`'",
            );
        let shown = with_stdin(
            &["diagnose", "--from", "-", "--now", NOW, "-o", "json"],
            &text,
        );
        let document = json(&shown);
        let commands: Vec<&str> = document["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|finding| finding["actions"].as_array().into_iter().flatten())
            .filter_map(|action| action["command"].as_str())
            .collect();
        for command in commands {
            for part in ["touch", "--all", "`", "no-name"] {
                assert!(!command.contains(part), "{command}");
            }
        }
        assert!(
            !document["findings"].as_array().is_none_or(Vec::is_empty),
            "{document}"
        );
    }
}

#[test]
fn explain_says_of_an_end_that_was_not_taken_up_what_diagnose_says() {
    for (case, words) in [
        (
            "fires-log-collection-hung",
            "the node-agent still reads its log",
        ),
        (
            "fires-callback-hung",
            "callback, which ends the task, has not come back",
        ),
        (
            "fires-status-write-failed",
            "the last write of the task failed",
        ),
    ] {
        let from = input(&format!("rules/completion-stuck/{case}"));
        let more = ["--from", &from, "--now", NOW, "-o", "json"];
        let told = json(&call(&[&["explain", "du/du-a1"], &more[..]].concat()));
        let found = json(&call(&[&["diagnose"], &more[..]].concat()));
        let reason = told["tasks"][0]["reason"].as_str().unwrap_or_default();
        let summary = found["findings"][0]["summary"].as_str().unwrap_or_default();
        assert!(reason.contains(words), "{case}: {reason}");
        assert!(summary.contains(reason), "{case}: {summary} / {reason}");
    }
}

#[test]
fn an_empty_log_is_told_as_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder
        .path()
        .join("logs/velero/node-agent-aaaaa/node-agent.log");
    std::fs::create_dir_all(log.parent().expect("it has a folder")).expect("a folder");
    std::fs::write(&log, "\n").expect("a file");
    let logs = shown(folder.path());
    let document = json(&call(&[
        "diagnose",
        "--from",
        &input(STUCK),
        "--from",
        &logs,
        "--now",
        NOW,
        "-o",
        "json",
    ]));
    let gap = document["gaps"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|gap| gap["message"] == "log of velero/node-agent-aaaaa is empty");
    assert!(gap.is_some(), "{}", document["gaps"]);
}
