//! Our own definitions of the custom resources that the plugin reads: names and versions from the
//! library's types, the fields that it reads, everything else preserved.
//!
//! Velero's own declare no status subresource, so a status is written with its object and raises the
//! generation (v1.17.2 config/crd/v1/bases). Short names exist on its main branch alone and not here.

use std::path::Path;

use serde_json::{Map, Value, json};
use velero_slots::capture::ResourceKind;
use velero_slots::velero::TaskKind;

/// Returns the definitions of all custom resources that the plugin reads.
pub(crate) fn all() -> Vec<Value> {
    ResourceKind::ALL
        .into_iter()
        .filter_map(definition)
        .collect()
}

/// Returns the definition of a resource; `None` for what Kubernetes itself serves.
fn definition(resource: ResourceKind) -> Option<Value> {
    let (spec, status) = fields(resource)?;
    let (plural, group, kind) = (resource.plural(), resource.group(), resource.kind());
    Some(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "annotations": annotations(group)},
        "spec": {
            "group": group,
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
            },
            "scope": "Namespaced",
            "versions": [{
                "name": resource.version(),
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": open(spec),
                        "status": open(status),
                    },
                }},
            }],
        },
    }))
}

/// Groups below `k8s.io` are reserved; the API server asks who has agreed to one.
fn annotations(group: &str) -> Value {
    if group.ends_with(".k8s.io") {
        json!({"api-approved.kubernetes.io": "unapproved, a definition for tests"})
    } else {
        json!({})
    }
}

/// A field that is read.
type Field = (&'static str, Value);

/// Returns the fields of spec and status that the plugin reads.
fn fields(resource: ResourceKind) -> Option<(Vec<Field>, Vec<Field>)> {
    match resource {
        ResourceKind::Task(kind) => Some((task_spec(kind), task_status())),
        ResourceKind::Backup | ResourceKind::Restore => Some((
            vec![("itemOperationTimeout", text())],
            vec![
                ("phase", text()),
                ("startTimestamp", time()),
                ("completionTimestamp", time()),
            ],
        )),
        ResourceKind::VolumeSnapshot => Some((
            vec![],
            vec![("readyToUse", json!({"type": "boolean"})), ("error", any())],
        )),
        ResourceKind::Pod
        | ResourceKind::Node
        | ResourceKind::DaemonSet
        | ResourceKind::Deployment
        | ResourceKind::ConfigMap
        | ResourceKind::PersistentVolumeClaim
        | ResourceKind::Event => None,
    }
}

fn task_spec(kind: TaskKind) -> Vec<Field> {
    let cancel = ("cancel", json!({"type": "boolean"}));
    match kind {
        TaskKind::DataUpload => vec![
            cancel,
            ("datamover", text()),
            ("operationTimeout", text()),
            ("sourceNamespace", text()),
            ("sourcePVC", text()),
            ("csiSnapshot", any()),
        ],
        TaskKind::DataDownload => vec![
            cancel,
            ("datamover", text()),
            ("operationTimeout", text()),
            ("targetVolume", any()),
        ],
        TaskKind::PodVolumeBackup => vec![
            cancel,
            ("node", text()),
            ("pod", any()),
            ("uploaderType", text()),
            ("volume", text()),
        ],
        TaskKind::PodVolumeRestore => vec![
            cancel,
            ("pod", any()),
            ("uploaderType", text()),
            ("volume", text()),
        ],
    }
}

fn task_status() -> Vec<Field> {
    let bytes = json!({"type": "integer", "format": "int64"});
    vec![
        ("phase", text()),
        ("node", text()),
        ("message", text()),
        ("acceptedByNode", text()),
        ("acceptedTimestamp", time()),
        ("startTimestamp", time()),
        ("completionTimestamp", time()),
        (
            "progress",
            json!({
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"bytesDone": bytes, "totalBytes": bytes},
            }),
        ),
    ]
}

fn open(fields: Vec<Field>) -> Value {
    let mut schema = any();
    if !fields.is_empty() {
        let properties: Map<String, Value> = fields
            .into_iter()
            .map(|(name, schema)| (name.to_owned(), schema))
            .collect();
        schema["properties"] = Value::Object(properties);
    }
    schema
}

fn any() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn text() -> Value {
    json!({"type": "string"})
}

/// A time, or the null that Velero writes where it has none.
fn time() -> Value {
    json!({"type": "string", "format": "date-time", "nullable": true})
}

/// The files are for people: `kubectl apply -f fixtures/crds` makes a cluster that the plugin can read.
#[test]
fn the_definitions_in_the_fixtures_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/crds");
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crds");
    std::fs::create_dir_all(&fresh).expect("the target folder can be written");
    let mut differing = Vec::new();
    for crd in all() {
        let name = crd["metadata"]["name"].as_str().expect("it has a name");
        let file = format!("{name}.json");
        let text = format!("{crd:#}\n");
        if std::fs::read_to_string(folder.join(&file)).ok().as_deref() != Some(&text) {
            std::fs::write(fresh.join(&file), &text).expect("the target folder can be written");
            differing.push(file);
        }
    }
    assert!(
        differing.is_empty(),
        "{differing:?} differ; look at them and copy them from {} to {}",
        fresh.display(),
        folder.display()
    );
}
