//! Nudges: what moves, what is refused again, and what somebody else was faster with.

use std::thread;

use super::site::{Site, meanwhile, wait_for};
use super::writes::{assert_planned, writes};
use crate::cases::{list, text};
use crate::proxy::Fate;

fn wait_for_nudge(site: &Site, name: &str) {
    wait_for("the nudge", || {
        let upload = site.get_upload(name);
        (!upload["metadata"]["annotations"]["velero-slots/nudged-at"].is_null()).then_some(())
    });
}

#[test]
fn a_nudge_that_helps_is_seen_to_help() {
    let site = Site::new("nudge");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let plan = site.plan(&user, &["nudge", "du/du-1"]);
    proxy.take();
    let words = [
        "nudge",
        "du/du-1",
        "--yes",
        "--reason",
        "ticket 4711",
        "--timeout",
        "3m",
    ];
    let run = meanwhile(
        || {
            wait_for_nudge(&site, "du-1");
            site.move_upload("du-1", "InProgress");
        },
        || user.plugin(&site.arguments(&words)),
    );
    let run = run.expect_code(0);
    let outcome = run.json();
    assert_eq!(outcome["achieved"], "achieved", "{run}");
    assert_eq!(outcome["tasks"][0]["result"], "moved", "{run}");
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    assert_eq!(writes(&seen).len(), 2, "{run}");
    let upload = site.get_upload("du-1");
    let annotations = &upload["metadata"]["annotations"];
    assert_eq!(annotations["velero-slots/reason"], "ticket 4711");
    let events = site.plane().api().get(&site.path("events"));
    let event = list(&events, "items")
        .iter()
        .find(|event| text(event, "reason") == "VeleroSlotsNudge")
        .expect("an Event tells of the nudge");
    assert_eq!(event["involvedObject"]["uid"], upload["metadata"]["uid"]);
}

#[test]
fn a_look_that_ends_in_a_refusal_is_evidence_of_a_ghost_slot() {
    let site = Site::with_log("refused");
    site.upload("du-1", "a", "Prepared");
    site.log("level=info msg=\"Starting Velero node-agent server v1.17.1 (abc)\"");
    let (proxy, user) = site.behind_proxy();
    let plan = site.plan(&user, &["nudge", "du/du-1"]);
    proxy.take();
    let run = meanwhile(
        || {
            wait_for_nudge(&site, "du-1");
            let node = site.node("a");
            for message in [
                format!("Data upload is prepared and should be processed by {node} ({node})"),
                "Exposed snapshot is ready and creating data path routine".to_owned(),
            ] {
                site.log(&format!(
                    "level=info msg=\"{message}\" controller=dataupload dataupload={}/du-1",
                    site.namespace
                ));
            }
        },
        || user.plugin(&site.arguments(&["nudge", "du/du-1", "--yes", "--timeout", "1m"])),
    );
    let run = run.expect_code(5);
    let outcome = run.json();
    assert_eq!(outcome["tasks"][0]["result"], "refused-slot", "{run}");
    assert!(!list(&outcome, "next").is_empty(), "{run}");
    assert_planned(&plan, &proxy.take());
}

#[test]
fn a_task_that_has_changed_between_plan_and_patch_is_left_alone() {
    let site = Site::new("nudge-race");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let plan = site.plan(&user, &["nudge", "du/du-1"]);
    proxy.take();
    let (plane, path) = (site.plane(), format!("{}/du-1", site.uploads()));
    proxy.gate(move |method, _| {
        if method == "PATCH" {
            plane.api().patch(
                &path,
                &serde_json::json!({"metadata": {"labels": {"somebody": "was-here"}}}),
            );
        }
        Fate::Pass
    });
    let run = user
        .plugin(&site.arguments(&["nudge", "du/du-1", "--yes"]))
        .expect_code(4);
    assert_eq!(run.json()["steps"][0]["result"], "changed", "{run}");
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    assert_eq!(writes(&seen).len(), 1, "{run}");
    let upload = site.get_upload("du-1");
    assert!(upload["metadata"]["annotations"]["velero-slots/nudged-at"].is_null());
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_done() {
    let site = Site::new("no-terminal");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    site.plan(&user, &["restart", "--node", &node]);
    let before = site.fingerprint();
    proxy.take();
    for words in [vec!["restart", "--node", &node], vec!["nudge", "du/du-1"]] {
        let run = user.plugin(&site.arguments(&words)).expect_code(4);
        assert!(run.stderr.contains("--yes"), "{run}");
        assert_eq!(run.json()["kind"], "Plan", "{run}");
        assert!(writes(&proxy.take()).is_empty(), "{run}");
        assert_eq!(site.fingerprint(), before, "{run}");
    }
}

/// Runs the plugin at a terminal (that of `script`), with an answer typed.
fn at_terminal(
    user: &crate::plugin::User,
    arguments: &[&str],
    answer: &str,
) -> std::process::Output {
    use std::io::Write as _;
    let line = format!(
        "{} velero-slots {}",
        crate::programs::kubectl().display(),
        arguments.join(" ")
    );
    let mut child = user
        .command(std::path::Path::new("/usr/bin/script"))
        .args(["-qec", &line, "/dev/null"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("script of util-linux can be run");
    let mut stdin = child.stdin.take().expect("it was asked for");
    writeln!(stdin, "{answer}").expect("the terminal takes it");
    // The input stays open until the end: at a terminal nobody hangs up.
    let output = child.wait_with_output().expect("it was started");
    drop(stdin);
    output
}

#[test]
fn at_a_terminal_the_question_names_the_place_and_no_is_no() {
    if !std::path::Path::new("/usr/bin/script").exists() {
        eprintln!("no script of util-linux here: the prompt is left to the unit tests");
        return;
    }
    let site = Site::new("terminal");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let plan = site.plan(&user, &["nudge", "du/du-1"]);
    proxy.take();
    let arguments = site.arguments(&["nudge", "du/du-1", "--timeout", "3m"]);
    let refused = at_terminal(&user, &arguments, "n");
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    for word in ["context tests", "127.0.0.1", &site.namespace, "(y/N)"] {
        assert!(said.contains(word), "{word}\n{said}");
    }
    assert!(writes(&proxy.take()).is_empty(), "{said}");

    let done = thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_nudge(&site, "du-1");
            site.move_upload("du-1", "InProgress");
        });
        at_terminal(&user, &arguments, "y")
    });
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert_planned(&plan, &proxy.take());
}
