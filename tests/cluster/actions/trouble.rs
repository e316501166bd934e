//! What was begun does not come to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::site::{Site, meanwhile, wait_for};
use super::writes::{assert_planned, writes};
use crate::cases::text;
use crate::kwok::{NEVER_GONE, NEVER_READY};
use crate::proxy::Fate;

#[test]
fn a_pod_that_stays_terminating_is_told_at_the_time_limit() {
    let site = Site::with_kubelet("terminating", NEVER_GONE);
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes", "--timeout", "15s"]))
        .expect_code(5);
    let outcome = run.json();
    assert_eq!(outcome["achieved"], "not-achieved", "{run}");
    assert_eq!(outcome["ending"], "time-limit", "{run}");
    assert_eq!(outcome["nodes"][0]["reached"], "deleted", "{run}");
    assert_eq!(outcome["steps"][0]["result"], "done", "{run}");
    assert_planned(&plan, &proxy.take());
    // Once asked for, a deletion is not asked for again: the plan of the next call says what is the matter.
    let again = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes"]))
        .expect_code(4);
    let code = text(&again.json()["refusals"][0], "code").to_owned();
    assert_eq!(code, "already-restarting", "{again}");
    assert!(writes(&proxy.take()).is_empty(), "{again}");
}

#[test]
fn a_list_of_pods_that_fails_is_no_sign_that_the_old_pod_is_gone() {
    let site = Site::with_kubelet("unread", NEVER_GONE);
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let (deleted, failed) = (AtomicBool::new(false), AtomicUsize::new(0));
    proxy.gate(move |method, target| {
        if method == "DELETE" {
            deleted.store(true, Ordering::SeqCst);
        }
        let is_list = method == "GET" && target.contains("/pods?");
        if is_list && deleted.load(Ordering::SeqCst) && failed.fetch_add(1, Ordering::SeqCst) < 2 {
            return Fate::Drop;
        }
        Fate::Pass
    });
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes", "--timeout", "15s"]))
        .expect_code(5);
    let outcome = run.json();
    assert_eq!(outcome["nodes"][0]["reached"], "deleted", "{run}");
    let warnings = outcome["warnings"].to_string();
    assert!(warnings.contains("pods could not be read"), "{run}");
    assert_planned(&plan, &proxy.take());
}

#[test]
fn a_finalizer_on_the_pod_is_told_at_the_time_limit() {
    let site = Site::with_kubelet("finalizer", NEVER_GONE);
    site.upload("du-1", "a", "Prepared");
    let name = text(&site.agent("a")["metadata"], "name").to_owned();
    let pod = format!("{}/{name}", site.path("pods"));
    site.plane().api().patch(
        &pod,
        &serde_json::json!({"metadata": {"finalizers": ["tests.example.com/stays"]}}),
    );
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes", "--timeout", "12s"]))
        .expect_code(5);
    assert_eq!(run.json()["nodes"][0]["reached"], "deleted", "{run}");
    assert_planned(&plan, &proxy.take());
}

#[test]
fn a_new_pod_that_never_gets_ready_is_told_at_the_time_limit() {
    let site = Site::new("never-ready");
    site.upload("du-1", "a", "Prepared");
    site.next_pods_get(NEVER_READY);
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes", "--timeout", "25s"]))
        .expect_code(5);
    let outcome = run.json();
    assert_eq!(outcome["nodes"][0]["reached"], "replaced", "{run}");
    assert_eq!(outcome["ending"], "time-limit", "{run}");
    assert_planned(&plan, &proxy.take());
}

#[test]
fn an_api_server_that_is_gone_in_the_middle_is_asked_until_the_time_limit() {
    let site = Site::new("server-gone");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let deleted = AtomicBool::new(false);
    proxy.gate(move |method, _| {
        if deleted.load(Ordering::SeqCst) {
            return Fate::Drop;
        }
        deleted.store(method == "DELETE", Ordering::SeqCst);
        Fate::Pass
    });
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes", "--timeout", "15s"]))
        .expect_code(5);
    let outcome = run.json();
    assert_eq!(outcome["ending"], "server-lost", "{run}");
    assert_eq!(outcome["steps"][0]["result"], "done", "{run}");
    let summary = text(&outcome, "summary");
    assert!(
        summary.contains("is not known") && !summary.contains("still there"),
        "{run}"
    );
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    assert_eq!(writes(&seen).len(), 1, "{run}");
}

#[test]
fn an_api_server_that_comes_back_in_time_is_no_failure() {
    let site = Site::new("server-back");
    site.upload("du-1", "a", "Prepared");
    let old = text(&site.agent("a")["metadata"], "uid").to_owned();
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let (deleted, dropped) = (AtomicBool::new(false), AtomicUsize::new(0));
    proxy.gate(move |method, _| {
        if deleted.load(Ordering::SeqCst) && dropped.fetch_add(1, Ordering::SeqCst) < 12 {
            return Fate::Drop;
        }
        if method == "DELETE" {
            deleted.store(true, Ordering::SeqCst);
        }
        Fate::Pass
    });
    let words = ["restart", "--node", &node, "--yes", "--timeout", "4m"];
    let run = meanwhile(
        || {
            site.agent_other_than("a", &old);
            site.move_upload("du-1", "InProgress");
        },
        || user.plugin(&site.arguments(&words)),
    );
    let run = run.expect_code(0);
    assert!(run.stderr.contains("answers again"), "{run}");
    assert_planned(&plan, &proxy.take());
}

#[test]
fn an_answer_that_never_comes_is_not_repeated_and_not_taken_for_a_refusal() {
    let site = Site::new("no-answer");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    proxy.gate(move |method, _| {
        if method == "DELETE" {
            count.fetch_add(1, Ordering::SeqCst);
            return Fate::Drop;
        }
        Fate::Pass
    });
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes", "--timeout", "12s"]))
        .expect_code(5);
    assert_eq!(run.json()["steps"][0]["result"], "unknown", "{run}");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "{run}");
}

#[test]
fn ctrl_c_after_the_delete_tells_what_was_changed() {
    let site = Site::new("interrupted");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let running =
        user.start(&site.arguments(&["restart", "--node", &node, "--yes", "--timeout", "4m"]));
    wait_for("the Event after the delete", || {
        proxy
            .seen()
            .iter()
            .any(|seen| seen.method == "POST" && seen.target.contains("/events"))
            .then_some(())
    });
    running.interrupt();
    let run = running.wait().expect_code(130);
    let outcome = run.json();
    assert_eq!(outcome["ending"], "interrupted", "{run}");
    assert_eq!(outcome["steps"][0]["result"], "done", "{run}");
    assert!(run.stderr.contains("interrupted"), "{run}");
    assert_planned(&plan, &proxy.take());
}

#[test]
fn ctrl_c_while_the_answer_is_awaited_says_that_it_is_not_known() {
    let site = Site::new("in-flight");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let asked = Arc::new(AtomicBool::new(false));
    let (seen, open) = (Arc::clone(&asked), Arc::new(AtomicBool::new(false)));
    let closed = Arc::clone(&open);
    proxy.gate(move |method, _| {
        if method != "DELETE" {
            return Fate::Pass;
        }
        seen.store(true, Ordering::SeqCst);
        while !closed.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(20));
        }
        Fate::Drop
    });
    let words = [
        "restart",
        "--node",
        &node,
        "--yes",
        "--request-timeout",
        "2m",
    ];
    let running = user.start(&site.arguments(&words));
    wait_for("the delete", || asked.load(Ordering::SeqCst).then_some(()));
    running.interrupt();
    let run = running.wait().expect_code(130);
    open.store(true, Ordering::SeqCst);
    let outcome = run.json();
    assert_eq!(outcome["steps"][0]["result"], "unknown", "{run}");
    let summary = text(&outcome, "summary");
    assert!(
        summary.contains("whether its node-agent pod was deleted is not known"),
        "{run}"
    );
}

#[test]
fn ctrl_c_before_the_first_write_changes_nothing() {
    let site = Site::new("early");
    site.upload("du-1", "a", "Prepared");
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    site.plan(&user, &["restart", "--node", &node]);
    let before = site.fingerprint();
    proxy.take();
    let asked = Arc::new(AtomicBool::new(false));
    let (seen, open) = (Arc::clone(&asked), Arc::new(AtomicBool::new(false)));
    let closed = Arc::clone(&open);
    proxy.gate(move |_, target| {
        if target.contains("selfsubjectaccessreviews") {
            seen.store(true, Ordering::SeqCst);
            while !closed.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(20));
            }
        }
        Fate::Pass
    });
    let words = [
        "restart",
        "--node",
        &node,
        "--yes",
        "--request-timeout",
        "2m",
    ];
    let running = user.start(&site.arguments(&words));
    wait_for("the question about rights", || {
        asked.load(Ordering::SeqCst).then_some(())
    });
    running.interrupt();
    let run = running.wait().expect_code(130);
    open.store(true, Ordering::SeqCst);
    assert!(run.stderr.contains("nothing was changed"), "{run}");
    assert!(writes(&proxy.take()).is_empty(), "{run}");
    assert_eq!(site.fingerprint(), before, "{run}");
}
