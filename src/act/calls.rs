//! The requests of a step: the one write, guarded by its precondition, and the Event of its trail.

use http::Method;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::send::Call;
use crate::collect::cluster::encode;
use crate::plan::{Precondition, Step, StepKind, Trail};
use crate::velero::{ObjectRef, TaskKind};

/// The field manager of every write, and the source of every Event.
pub const FIELD_MANAGER: &str = "kubectl-velero-slots";

/// Whether the server carries a write out or only says whether it would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It carries it out.
    Real,
    /// It does everything but that (`dryRun=All`).
    DryRun,
}

const MERGE_PATCH: &str = "application/merge-patch+json";
const JSON: &str = "application/json";

/// Returns the write of a step; `None` for one whose object is not there yet.
pub(super) fn write(step: &Step, trail: &Trail, effect: Effect) -> Option<Call> {
    match &step.kind {
        StepKind::AnnotateTask { task, precondition } => Some(annotate(
            &ObjectRef::from(task),
            precondition,
            trail,
            effect,
        )),
        StepKind::AnnotatePod {
            pod, precondition, ..
        } => Some(annotate(pod, precondition, trail, effect)),
        StepKind::DeletePod {
            pod, precondition, ..
        } => Some(delete(pod, precondition, effect)),
        StepKind::MarkReplacement { .. } => None,
    }
}

/// Returns the patch that annotates an object, unless it has changed: a merge patch that names another UID or
/// resource version than the object's is a conflict.
pub(super) fn annotate(
    object: &ObjectRef,
    precondition: &Precondition,
    trail: &Trail,
    effect: Effect,
) -> Call {
    let annotations: Map<String, Value> = trail
        .annotations
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::from(value.as_str())))
        .collect();
    Call {
        method: Method::PATCH,
        target: format!("{}{}", path(object), query(effect)),
        content_type: MERGE_PATCH,
        body: json!({"metadata": {
            "uid": precondition.uid,
            "resourceVersion": precondition.resource_version,
            "annotations": annotations,
        }}),
    }
}

fn delete(pod: &ObjectRef, precondition: &Precondition, effect: Effect) -> Call {
    let mut options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {
            "uid": precondition.uid,
            "resourceVersion": precondition.resource_version,
        },
    });
    if let (Effect::DryRun, Some(fields)) = (effect, options.as_object_mut()) {
        fields.insert("dryRun".to_owned(), json!(["All"]));
    }
    Call {
        method: Method::DELETE,
        target: path(pod),
        content_type: JSON,
        body: options,
    }
}

/// Returns the request that makes the Event of a trail; `None` where another step has it. `uid` is that of the
/// object that it is about, without which `kubectl describe` does not show it.
pub(super) fn event(
    trail: &Trail,
    uid: Option<&str>,
    at: Timestamp,
    effect: Effect,
) -> Option<Call> {
    let about = trail.about.as_ref()?;
    let namespace = about.namespace.as_deref().unwrap_or("default");
    let mut involved = json!({
        "apiVersion": api_version(&about.kind),
        "kind": about.kind,
        "namespace": namespace,
        "name": about.name,
    });
    if let (Some(uid), Some(fields)) = (uid, involved.as_object_mut()) {
        fields.insert("uid".to_owned(), json!(uid));
    }
    // Kubernetes keeps whole seconds in an Event's times.
    let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
    Some(Call {
        method: Method::POST,
        target: format!(
            "/api/v1/namespaces/{}/events{}",
            encode(namespace),
            query(effect)
        ),
        content_type: JSON,
        body: json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": format!("{}.", about.name), "namespace": namespace},
            "involvedObject": involved,
            "reason": trail.event_reason,
            "action": trail.event_action,
            "message": trail.note,
            "type": "Normal",
            "count": 1,
            "firstTimestamp": at.to_string(),
            "lastTimestamp": at.to_string(),
            "source": {"component": FIELD_MANAGER},
            "reportingComponent": FIELD_MANAGER,
            "reportingInstance": concat!("kubectl-velero-slots/", env!("CARGO_PKG_VERSION")),
        }),
    })
}

fn query(effect: Effect) -> String {
    match effect {
        Effect::Real => format!("?fieldManager={FIELD_MANAGER}"),
        Effect::DryRun => format!("?fieldManager={FIELD_MANAGER}&dryRun=All"),
    }
}

fn task_kind(kind: &str) -> Option<TaskKind> {
    TaskKind::ALL
        .into_iter()
        .find(|known| known.as_str() == kind)
}

fn api_version(kind: &str) -> String {
    task_kind(kind).map_or_else(
        || "v1".to_owned(),
        |kind| format!("velero.io/{}", kind.version()),
    )
}

/// Returns the path of a task or a pod: nothing else is ever written.
fn path(object: &ObjectRef) -> String {
    let (root, plural) = match task_kind(&object.kind) {
        Some(kind) => (format!("/apis/velero.io/{}", kind.version()), kind.plural()),
        None => ("/api/v1".to_owned(), "pods"),
    };
    format!(
        "{root}/namespaces/{}/{plural}/{}",
        encode(object.namespace.as_deref().unwrap_or_default()),
        encode(&object.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::trail;
    use crate::velero::TaskRef;

    fn precondition() -> Precondition {
        Precondition {
            uid: "u-1".to_owned(),
            resource_version: "7".to_owned(),
        }
    }

    fn at() -> Timestamp {
        "2026-01-02T03:04:05.678Z".parse().unwrap()
    }

    fn restart() -> Step {
        Step {
            node: Some("node-a".to_owned()),
            kind: StepKind::DeletePod {
                pod: ObjectRef::namespaced("Pod", "velero", "node-agent-a"),
                precondition: precondition(),
                created: None,
            },
        }
    }

    fn nudge() -> Step {
        Step {
            node: None,
            kind: StepKind::AnnotateTask {
                task: TaskRef {
                    kind: TaskKind::DataUpload,
                    namespace: "velero".to_owned(),
                    name: "du-1".to_owned(),
                },
                precondition: precondition(),
            },
        }
    }

    #[test]
    fn a_delete_names_the_uid_and_the_resource_version_that_were_read() {
        let step = restart();
        let call = write(&step, &trail(&step, at(), None), Effect::Real).unwrap();
        assert_eq!(call.method, Method::DELETE);
        assert_eq!(call.target, "/api/v1/namespaces/velero/pods/node-agent-a");
        assert_eq!(
            call.body["preconditions"],
            json!({"uid": "u-1", "resourceVersion": "7"})
        );
        assert_eq!(call.body.get("dryRun"), None);
    }

    #[test]
    fn a_patch_carries_the_uid_and_the_resource_version_and_nothing_but_annotations() {
        let step = nudge();
        let call = write(&step, &trail(&step, at(), Some("why")), Effect::Real).unwrap();
        assert_eq!(call.method, Method::PATCH);
        assert_eq!(
            call.target,
            "/apis/velero.io/v2alpha1/namespaces/velero/datauploads/du-1?fieldManager=kubectl-velero-slots"
        );
        let metadata = call.body["metadata"].as_object().unwrap();
        assert_eq!(metadata.len(), 3);
        assert_eq!(metadata["uid"], "u-1");
        assert_eq!(metadata["resourceVersion"], "7");
        assert_eq!(metadata["annotations"]["velero-slots/reason"], "why");
        assert_eq!(call.body.as_object().unwrap().len(), 1);
    }

    #[test]
    fn a_dry_run_says_so_in_every_request() {
        let (delete, patch) = (restart(), nudge());
        let call = write(&delete, &trail(&delete, at(), None), Effect::DryRun).unwrap();
        assert_eq!(call.body["dryRun"], json!(["All"]));
        let trail = trail(&patch, at(), None);
        let call = write(&patch, &trail, Effect::DryRun).unwrap();
        assert!(call.target.ends_with("&dryRun=All"), "{}", call.target);
        let call = event(&trail, None, at(), Effect::DryRun).unwrap();
        assert!(call.target.ends_with("&dryRun=All"), "{}", call.target);
    }

    #[test]
    fn an_event_is_about_the_object_and_in_whole_seconds() {
        let step = nudge();
        let trail = trail(&step, at(), None);
        let call = event(&trail, Some("u-1"), at(), Effect::Real).unwrap();
        assert_eq!(call.method, Method::POST);
        assert_eq!(
            call.body["involvedObject"],
            json!({"apiVersion": "velero.io/v2alpha1", "kind": "DataUpload", "namespace": "velero", "name": "du-1", "uid": "u-1"})
        );
        assert_eq!(call.body["firstTimestamp"], "2026-01-02T03:04:05Z");
    }
}
