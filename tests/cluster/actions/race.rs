//! Somebody else is faster.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use super::site::Site;
use super::writes::{assert_planned, writes};
use crate::cases::text;
use crate::proxy::Fate;

#[test]
fn a_pod_that_was_replaced_between_plan_and_delete_is_left_alone() {
    let site = Site::new("replaced");
    site.upload("du-1", "a", "Prepared");
    let old = text(&site.agent("a")["metadata"], "uid").to_owned();
    let name = text(&site.agent("a")["metadata"], "name").to_owned();
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let (plane, pod) = (site.plane(), format!("{}/{name}", site.path("pods")));
    proxy.gate(move |method, _| {
        if method == "DELETE" {
            plane.api().delete(&pod);
            plane.wait_for("the old pod's end", || {
                plane
                    .api()
                    .send(&http::Method::GET, &pod, "application/json", Vec::new())
                    .is_ok_and(|answer| answer.status == http::StatusCode::NOT_FOUND)
            });
        }
        Fate::Pass
    });
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes"]))
        .expect_code(4);
    let outcome = run.json();
    assert_eq!(outcome["achieved"], "nothing-changed", "{run}");
    assert_eq!(outcome["steps"][0]["result"], "gone", "{run}");
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    assert_eq!(writes(&seen).len(), 1, "{run}");
    // The new pod was made by the other's delete and is still the same.
    let new = site.agent_other_than("a", &old);
    assert!(new["metadata"]["annotations"]["velero-slots/restarted-at"].is_null());
}

#[test]
fn a_pod_that_has_changed_between_plan_and_delete_is_left_alone() {
    let site = Site::new("changed");
    site.upload("du-1", "a", "Prepared");
    let agent = site.agent("a");
    let name = text(&agent["metadata"], "name").to_owned();
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let (plane, path) = (site.plane(), format!("{}/{name}", site.path("pods")));
    proxy.gate(move |method, _| {
        if method == "DELETE" {
            plane.api().patch(
                &path,
                &serde_json::json!({"metadata": {"annotations": {"somebody": "was here"}}}),
            );
        }
        Fate::Pass
    });
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes"]))
        .expect_code(4);
    assert_eq!(run.json()["steps"][0]["result"], "changed", "{run}");
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    assert_eq!(writes(&seen)[0].status, 409, "{run}");
    assert_eq!(writes(&seen).len(), 1, "{run}");
    assert_eq!(
        site.agent("a")["metadata"]["uid"],
        agent["metadata"]["uid"],
        "{run}"
    );
}

#[test]
fn a_plan_that_is_out_of_date_is_not_carried_out() {
    let site = Site::new("stale");
    site.upload("du-1", "a", "Prepared");
    let name = text(&site.agent("a")["metadata"], "name").to_owned();
    let (proxy, user) = site.behind_proxy();
    let node = site.node("a");
    site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let (plane, path) = (site.plane(), format!("{}/{name}", site.path("pods")));
    let changed = AtomicBool::new(false);
    // Rights are asked for when the plan stands, and before it is looked at again.
    proxy.gate(move |_, target| {
        if target.contains("selfsubjectaccessreviews") && !changed.swap(true, Ordering::SeqCst) {
            plane.api().patch(
                &path,
                &serde_json::json!({"metadata": {"annotations": {"somebody": "was here"}}}),
            );
        }
        Fate::Pass
    });
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes"]))
        .expect_code(4);
    assert_eq!(run.json()["kind"], "Plan", "{run}");
    assert!(run.stderr.contains("out of date"), "{run}");
    assert!(writes(&proxy.take()).is_empty(), "{run}");
}

#[test]
fn of_two_operators_at_once_one_restarts_and_the_other_is_told() {
    let site = Site::new("two");
    site.upload("du-1", "a", "Prepared");
    let old = text(&site.agent("a")["metadata"], "uid").to_owned();
    let node = site.node("a");
    let meet = Arc::new(Barrier::new(2));
    let operators = [site.behind_proxy(), site.behind_proxy()];
    let plan = site.plan(&operators[0].1, &["restart", "--node", &node]);
    for (proxy, _) in &operators {
        proxy.take();
        let meet = Arc::clone(&meet);
        proxy.gate(move |method, _| {
            if method == "DELETE" {
                meet.wait();
            }
            Fate::Pass
        });
    }
    let words = ["restart", "--node", &node, "--yes", "--timeout", "4m"];
    let runs = thread::scope(|scope| {
        let site = &site;
        scope.spawn(|| {
            site.agent_other_than("a", &old);
            site.move_upload("du-1", "InProgress");
        });
        let both: Vec<_> = operators
            .iter()
            .map(|(_, user)| scope.spawn(move || user.plugin(&site.arguments(&words))))
            .collect();
        both.into_iter()
            .map(|one| one.join().expect("it does not panic"))
            .collect::<Vec<_>>()
    });
    let mut codes: Vec<_> = runs.iter().map(|run| run.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(4)], "{}\n{}", runs[0], runs[1]);
    let mut deletes = Vec::new();
    for (proxy, _) in &operators {
        let seen = proxy.take();
        assert_planned(&plan, &seen);
        deletes.extend(
            writes(&seen)
                .iter()
                .filter(|write| write.method == "DELETE")
                .map(|write| write.status),
        );
    }
    deletes.sort_unstable();
    assert_eq!(deletes.len(), 2);
    assert_eq!(deletes[0], 200);
    assert!(matches!(deletes[1], 404 | 409), "{deletes:?}");
}
