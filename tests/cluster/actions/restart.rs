//! A restart that works, and what it leaves behind.

use serde_json::Value;

use super::site::{Site, meanwhile, wait_for};
use super::writes::{assert_planned, writes};
use crate::cases::{list, text};
use crate::kwok::NEVER_READY;

fn stages(outcome: &Value, node: usize) -> Vec<String> {
    list(&outcome["nodes"][node], "stages")
        .iter()
        .map(|stage| text(stage, "stage").to_owned())
        .collect()
}

#[test]
fn a_restart_brings_a_new_agent_and_the_stuck_task_moves() {
    let site = Site::new("success");
    site.upload("du-1", "a", "Prepared");
    let old = site.agent("a");
    let old_uid = text(&old["metadata"], "uid").to_owned();
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let words = ["restart", "--node", &node];
    let plan = site.plan(&user, &words);
    proxy.take();

    let mut words = words.to_vec();
    words.extend(["--yes", "--reason", "ticket 4711", "--timeout", "4m"]);
    let run = meanwhile(
        || {
            site.agent_other_than("a", &old_uid);
            site.move_upload("du-1", "InProgress");
        },
        || user.plugin(&site.arguments(&words)),
    );
    let run = run.expect_code(0);
    let outcome = run.json();
    assert_eq!(outcome["achieved"], "achieved", "{run}");
    assert_eq!(outcome["nodes"][0]["result"], "recovered", "{run}");
    let stages = stages(&outcome, 0);
    for stage in ["gone", "replaced", "ready", "started", "moving"] {
        assert!(stages.iter().any(|seen| seen == stage), "{stage}\n{run}");
    }
    assert_eq!(outcome["steps"][0]["step"]["uid"], old_uid, "{run}");
    assert_eq!(outcome["steps"][0]["result"], "done", "{run}");
    assert!(run.stderr.contains("deleted Pod"), "{run}");

    let seen = proxy.take();
    assert_planned(&plan, &seen);
    let methods: Vec<&str> = writes(&seen)
        .iter()
        .map(|write| write.method.as_str())
        .collect();
    assert_eq!(methods[..2], ["DELETE", "POST"], "{run}");

    let new = site.agent_other_than("a", &old_uid);
    let annotations = &new["metadata"]["annotations"];
    assert_eq!(annotations["velero-slots/reason"], "ticket 4711", "{new:#}");
    assert!(
        !annotations["velero-slots/restarted-at"].is_null(),
        "{new:#}"
    );
    let manager = list(&new["metadata"], "managedFields")
        .iter()
        .any(|fields| text(fields, "manager") == "kubectl-velero-slots");
    assert!(manager, "{new:#}");

    let events = site.plane().api().get(&site.path("events"));
    let event = list(&events, "items")
        .iter()
        .find(|event| text(event, "reason") == "VeleroSlotsRestart")
        .expect("an Event tells of the restart");
    assert_eq!(event["involvedObject"]["uid"], old_uid);
    assert!(text(event, "message").contains("ticket 4711"), "{event:#}");
    assert_eq!(event["source"]["component"], "kubectl-velero-slots");
}

#[test]
fn what_ran_is_resumed_and_what_nobody_watches_is_nudged_by_its_pod() {
    let site = Site::new("follow-up");
    site.upload("du-run", "a", "InProgress");
    site.upload("du-wait", "a", "Prepared");
    site.upload("du-accepted", "a", "Accepted");
    let old = site.agent("a");
    let old_uid = text(&old["metadata"], "uid").to_owned();
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let words = ["restart", "--node", &node, "--force"];
    let plan = site.plan(&user, &words);
    let followed: Vec<&str> = list(&plan, "followUps")
        .iter()
        .map(|follow_up| text(&follow_up["task"], "name"))
        .collect();
    assert_eq!(followed, ["du-accepted"], "{plan:#}");
    let resumed = list(&plan, "effects")
        .iter()
        .any(|effect| effect["task"]["name"] == "du-run" && effect["effect"] == "resumed");
    assert!(resumed, "{plan:#}");
    proxy.take();

    let mut words = words.to_vec();
    words.extend(["--yes", "--timeout", "5m"]);
    let run = meanwhile(
        || {
            site.agent_other_than("a", &old_uid);
            site.move_upload("du-wait", "InProgress");
            // Its end is one of the things that show that it was resumed; here no log does.
            site.move_upload("du-run", "Completed");
            wait_for("the nudge of the mover pod", || {
                let pod = site
                    .plane()
                    .api()
                    .get(&format!("{}/du-accepted", site.path("pods")));
                let nudged = &pod["metadata"]["annotations"]["velero-slots/nudged-at"];
                (!nudged.is_null()).then_some(())
            });
            site.move_upload("du-accepted", "Prepared");
        },
        || user.plugin(&site.arguments(&words)),
    );
    let run = run.expect_code(0);
    let outcome = run.json();
    assert_eq!(outcome["achieved"], "achieved", "{run}");
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    let patched = writes(&seen)
        .iter()
        .any(|write| write.method == "PATCH" && write.target.contains("/pods/du-accepted"));
    assert!(patched, "{run}");
}

#[test]
fn with_no_follow_up_the_unobserved_task_is_named_and_not_touched() {
    let site = Site::new("no-follow-up");
    site.upload("du-wait", "a", "Prepared");
    site.upload("du-accepted", "a", "Accepted");
    let old_uid = text(&site.agent("a")["metadata"], "uid").to_owned();
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let words = ["restart", "--node", &node, "--force", "--no-follow-up"];
    let plan = site.plan(&user, &words);
    proxy.take();
    let mut words = words.to_vec();
    words.extend(["--yes", "--timeout", "40s"]);
    let run = meanwhile(
        || {
            site.agent_other_than("a", &old_uid);
            site.move_upload("du-wait", "InProgress");
        },
        || user.plugin(&site.arguments(&words)),
    );
    assert!(
        format!("{}{}", run.stdout, run.stderr).contains("du-accepted"),
        "{run}"
    );
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    assert!(
        !writes(&seen)
            .iter()
            .any(|write| write.target.contains("/pods/du-accepted")),
        "{run}"
    );
}

#[test]
fn the_log_is_saved_before_the_restart_and_never_over_another() {
    let site = Site::with_log("save-log");
    site.upload("du-1", "a", "Prepared");
    site.log("level=info msg=\"the last words of the agent\"");
    let old_uid = text(&site.agent("a")["metadata"], "uid").to_owned();
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let path = user.file("agent.log");
    let path = path.to_string_lossy();
    site.plan(&user, &["restart", "--node", &node]);
    proxy.take();

    std::fs::write(path.as_ref(), "an older one").expect("the home is ours");
    let words = [
        "restart",
        "--node",
        &node,
        "--yes",
        "--save-log",
        &path,
        "--timeout",
        "4m",
    ];
    let refused = user.plugin(&site.arguments(&words)).expect_code(4);
    assert!(refused.stderr.contains("agent.log"), "{refused}");
    assert!(writes(&proxy.take()).is_empty(), "{refused}");
    let kept = std::fs::read_to_string(path.as_ref()).expect("it is there");
    assert_eq!(kept, "an older one");

    std::fs::remove_file(path.as_ref()).expect("it is there");
    let run = meanwhile(
        || {
            site.agent_other_than("a", &old_uid);
            site.move_upload("du-1", "InProgress");
        },
        || user.plugin(&site.arguments(&words)),
    );
    let run = run.expect_code(0);
    let saved = std::fs::read_to_string(path.as_ref()).expect("it was saved");
    assert!(
        saved.contains("the last words of the agent"),
        "{saved}\n{run}"
    );
    let mode = std::fs::metadata(path.as_ref()).expect("it is there");
    let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn all_stuck_nodes_go_one_by_one_until_one_does_not_recover() {
    let site = Site::with_nodes("all-stuck", &["a", "b"], "");
    site.upload("du-a", "a", "Prepared");
    site.upload("du-b", "b", "Prepared");
    let second = text(&site.agent("b")["metadata"], "uid").to_owned();
    site.next_pods_get(NEVER_READY);
    let (proxy, user) = site.behind_proxy();
    let words = ["restart", "--all-stuck"];
    let plan = wait_for("a plan for both nodes", || {
        let plan = site.plan(&user, &words);
        let deletes = list(&plan, "steps")
            .iter()
            .filter(|step| text(step, "type") == "delete-pod")
            .count();
        (deletes == 2).then_some(plan)
    });
    proxy.take();
    let mut words = words.to_vec();
    words.extend(["--yes", "--timeout", "20s"]);
    let run = user.plugin(&site.arguments(&words)).expect_code(5);
    let outcome = run.json();
    assert_eq!(outcome["nodes"][0]["result"], "not-recovered", "{run}");
    assert_eq!(outcome["nodes"][1]["result"], "not-tried", "{run}");
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    let deletes = writes(&seen)
        .iter()
        .filter(|write| write.method == "DELETE")
        .count();
    assert_eq!(deletes, 1, "{run}");
    assert_eq!(site.agent("b")["metadata"]["uid"], second, "{run}");
}

#[test]
fn a_dry_run_changes_nothing() {
    let site = Site::new("dry-run");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    for words in [vec!["restart", "--node", &node], vec!["nudge", "du/du-1"]] {
        site.plan(&user, &words);
        let before = site.fingerprint();
        for dry_run in ["--dry-run=client", "--dry-run=server"] {
            proxy.take();
            let mut all = words.clone();
            all.push(dry_run);
            let run = user.plugin(&site.arguments(&all)).expect_code(0);
            assert_eq!(run.json()["kind"], "Plan", "{run}");
            let seen = proxy.take();
            assert_planned(&run.json(), &seen);
            match dry_run {
                "--dry-run=client" => assert!(writes(&seen).is_empty(), "{run}"),
                _ => {
                    assert!(!writes(&seen).is_empty(), "{run}");
                    for write in writes(&seen) {
                        let is_dry = write.target.contains("dryRun=All")
                            || write.body.contains(r#""dryRun":["All"]"#);
                        assert!(is_dry, "{write:?}");
                        assert!((200..300).contains(&write.status), "{write:?}\n{run}");
                    }
                }
            }
            assert_eq!(site.fingerprint(), before, "{run}");
        }
    }
}
