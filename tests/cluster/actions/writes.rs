//! Holds what was written to what the plan showed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cases::{list, text};
use crate::proxy::Seen;

/// Returns the requests that are no reading. Questions about rights change nothing.
pub(super) fn writes(seen: &[Seen]) -> Vec<&Seen> {
    seen.iter()
        .filter(|seen| seen.method != "GET" && !seen.target.contains("selfsubjectaccessreviews"))
        .collect()
}

/// Returns the path of a pod or a task of a plan.
fn path(object: &Value) -> String {
    let root = match text(object, "kind") {
        "Pod" => "/api/v1",
        "DataUpload" | "DataDownload" => "/apis/velero.io/v2alpha1",
        _ => "/apis/velero.io/v1",
    };
    let plural = format!("{}s", text(object, "kind").to_lowercase());
    format!(
        "{root}/namespaces/{}/{plural}/{}",
        text(object, "namespace"),
        text(object, "name")
    )
}

/// Fails unless every write is one that the plan showed, with the precondition that it showed.
pub(super) fn assert_planned(plan: &Value, seen: &[Seen]) {
    for write in writes(seen) {
        assert!(
            write.user_agent.starts_with("kubectl-velero-slots/"),
            "{write:?}"
        );
        let target = write.target.split('?').next().unwrap_or_default();
        let body: Value =
            serde_json::from_str(&write.body).unwrap_or_else(|error| panic!("{error}: {write:?}"));
        let planned = match write.method.as_str() {
            "DELETE" => is_planned_delete(plan, target, &body),
            "PATCH" => is_planned_patch(plan, target, &body),
            "POST" => is_planned_event(plan, target, &body),
            _ => false,
        };
        assert!(planned, "not in the plan: {write:?}\n{plan:#}");
    }
}

fn steps<'p>(plan: &'p Value, kind: &str) -> impl Iterator<Item = &'p Value> {
    list(plan, "steps")
        .iter()
        .filter(move |step| text(step, "type") == kind)
}

fn is_planned_delete(plan: &Value, target: &str, body: &Value) -> bool {
    steps(plan, "delete-pod").any(|step| {
        path(&step["object"]) == target
            && body["preconditions"]["uid"] == step["uid"]
            && body["preconditions"]["resourceVersion"] == step["resourceVersion"]
    })
}

fn is_planned_patch(plan: &Value, target: &str, body: &Value) -> bool {
    let metadata = body["metadata"].as_object().expect("a patch of metadata");
    let keys: BTreeSet<&str> = metadata.keys().map(String::as_str).collect();
    let of_trail = body["metadata"]["annotations"]
        .as_object()
        .is_some_and(|annotations| {
            annotations
                .keys()
                .all(|key| key.starts_with("velero-slots/"))
        });
    let only_that = body.as_object().is_some_and(|body| body.len() == 1)
        && keys == BTreeSet::from(["annotations", "resourceVersion", "uid"])
        && of_trail;
    let annotated = steps(plan, "annotate-task")
        .chain(steps(plan, "annotate-pod"))
        .any(|step| {
            path(&step["object"]) == target
                && body["metadata"]["uid"] == step["uid"]
                && body["metadata"]["resourceVersion"] == step["resourceVersion"]
        });
    let followed_up = list(plan, "followUps").iter().any(|follow_up| {
        path(&follow_up["pod"]) == target && body["metadata"]["uid"] == follow_up["podUid"]
    });
    // The new pod has a name that nobody knows beforehand.
    let marked = steps(plan, "mark-replacement").next().is_some()
        && target.starts_with(&format!(
            "/api/v1/namespaces/{}/pods/node-agent-",
            text(plan, "namespace")
        ))
        && !body["metadata"]["annotations"]["velero-slots/restarted-at"].is_null();
    only_that && (annotated || followed_up || marked)
}

fn is_planned_event(plan: &Value, target: &str, body: &Value) -> bool {
    let about = &body["involvedObject"];
    let is = |object: &Value| {
        text(object, "kind") == text(about, "kind") && text(object, "name") == text(about, "name")
    };
    let of_step = list(plan, "steps")
        .iter()
        .any(|step| is(&step["object"]) || is(&step["task"]));
    let of_follow_up = list(plan, "followUps")
        .iter()
        .any(|follow_up| is(&follow_up["task"]));
    target == format!("/api/v1/namespaces/{}/events", text(plan, "namespace"))
        && (of_step || of_follow_up)
}
