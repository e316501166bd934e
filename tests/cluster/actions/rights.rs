//! Rights that are missing, and a role that is exactly enough.

use serde_json::{Value, json};

use super::site::{Site, meanwhile};
use super::writes::{assert_planned, writes};
use crate::cases::text;

/// Every right that reading needs.
fn reading() -> Vec<Value> {
    vec![
        json!({"apiGroups": ["velero.io"], "resources": ["*"], "verbs": ["list"]}),
        json!({"apiGroups": ["apps"], "resources": ["daemonsets", "deployments"], "verbs": ["list"]}),
        json!({"apiGroups": ["snapshot.storage.k8s.io"], "resources": ["volumesnapshots"], "verbs": ["list"]}),
        json!({
            "apiGroups": [""],
            "resources": ["pods", "nodes", "configmaps", "persistentvolumeclaims", "events"],
            "verbs": ["list"],
        }),
    ]
}

#[test]
fn a_missing_right_is_named_before_anything_is_changed() {
    let site = Site::new("forbidden");
    site.upload("du-1", "a", "Prepared");
    let token = site.account("reader", &Value::from(reading()));
    site.wait_for_right(&token, &site.path("pods"));
    let (proxy, user) = site.plane().behind_proxy_as(&token);
    let node = site.node("a");
    for (words, right) in [
        (vec!["restart", "--node", &node], "delete pods"),
        (vec!["nudge", "du/du-1"], "patch datauploads"),
    ] {
        site.plan(&user, &words);
        let before = site.fingerprint();
        proxy.take();
        let mut words = words;
        words.push("--yes");
        let run = user.plugin(&site.arguments(&words)).expect_code(4);
        assert!(run.stderr.contains(right), "{run}");
        assert!(run.stderr.contains("forbidden"), "{run}");
        assert!(writes(&proxy.take()).is_empty(), "{run}");
        assert_eq!(site.fingerprint(), before, "{run}");
    }
}

#[test]
fn rights_that_only_the_trail_needs_are_a_warning() {
    let site = Site::new("no-trail");
    site.upload("du-1", "a", "Prepared");
    let old = text(&site.agent("a")["metadata"], "uid").to_owned();
    let mut rules = reading();
    rules.push(json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}));
    let token = site.account("deleter", &Value::from(rules));
    site.wait_for_right(&token, &site.path("pods"));
    let (proxy, user) = site.plane().behind_proxy_as(&token);
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let words = ["restart", "--node", &node, "--yes", "--timeout", "4m"];
    let run = meanwhile(
        || {
            site.agent_other_than("a", &old);
            site.move_upload("du-1", "InProgress");
        },
        || user.plugin(&site.arguments(&words)),
    );
    let run = run.expect_code(0);
    assert!(
        run.stderr.contains("warning: you may not create events"),
        "{run}"
    );
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    let methods: Vec<&str> = writes(&seen)
        .iter()
        .map(|write| write.method.as_str())
        .collect();
    assert_eq!(methods, ["DELETE"], "{run}");
}

#[test]
fn the_printed_operator_role_is_enough_for_both_actions() {
    let site = Site::new("operator");
    site.upload("du-1", "a", "Prepared");
    let old = text(&site.agent("a")["metadata"], "uid").to_owned();
    let (_, admin) = site.behind_proxy();
    let printed = admin
        .plugin(&["auth", "--role", "operator", "-n", &site.namespace])
        .expect_code(0);
    let file = admin.file("operator.yaml");
    std::fs::write(&file, &printed.stdout).expect("the home is ours");
    admin
        .kubectl(&["apply", "-f", &file.to_string_lossy()])
        .expect_code(0);
    let token = site.account("operator", &json!([]));
    site.bind("operator", "Role", "velero-slots-operator");
    site.bind("operator", "ClusterRole", "velero-slots-operator");
    site.wait_for_right(&token, &site.path("pods"));
    site.wait_for_right(&token, "/api/v1/nodes?limit=1");
    let (proxy, user) = site.plane().behind_proxy_as(&token);
    let node = site.node("a");
    let plan = site.plan(&user, &["restart", "--node", &node]);
    proxy.take();
    let words = ["restart", "--node", &node, "--yes", "--timeout", "4m"];
    let run = meanwhile(
        || {
            site.agent_other_than("a", &old);
            site.move_upload("du-1", "InProgress");
        },
        || user.plugin(&site.arguments(&words)),
    );
    let run = run.expect_code(0);
    assert!(!run.stderr.contains("warning"), "{run}");
    let seen = proxy.take();
    assert_planned(&plan, &seen);
    assert!(seen.iter().all(|seen| seen.status != 403), "{run}");
}

#[test]
fn an_agent_that_may_not_be_seen_is_not_restarted() {
    let site = Site::new("not-known");
    site.upload("du-1", "a", "Prepared");
    let rules: Vec<Value> = reading()
        .into_iter()
        .map(|mut rule| {
            if let Some(resources) = rule["resources"].as_array_mut() {
                resources.retain(|resource| resource != "pods");
            }
            rule
        })
        .collect();
    let token = site.account("blind", &Value::from(rules));
    site.wait_for_right(&token, &site.path("configmaps"));
    let (proxy, user) = site.plane().behind_proxy_as(&token);
    let node = site.node("a");
    let run = user
        .plugin(&site.arguments(&["restart", "--node", &node, "--yes"]))
        .expect_code(4);
    assert!(run.stdout.contains("not-known"), "{run}");
    assert!(writes(&proxy.take()).is_empty(), "{run}");
}
