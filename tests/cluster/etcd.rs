//! Objects laid into etcd, under the API server.
//!
//! No client may set a uid, a creation time or the managedFields times of others, and with controllers
//! away nobody else does. The API server reads JSON from etcd as well as its own protobuf.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use velero_slots::capture::ResourceKind;

use crate::api::Api;

/// Operations per transaction; etcd refuses more.
const PER_TRANSACTION: usize = 128;

/// The store of a control plane.
pub(crate) struct Etcd {
    api: Api,
}

impl Etcd {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            api: Api::new(url, None),
        }
    }

    /// Stores objects as they are.
    pub(crate) fn put(&self, objects: &[Value]) {
        for chunk in objects.chunks(PER_TRANSACTION) {
            let operations: Vec<Value> = chunk
                .iter()
                .map(|object| {
                    json!({"requestPut": {
                        "key": STANDARD.encode(key(object)),
                        "value": STANDARD.encode(object.to_string()),
                    }})
                })
                .collect();
            self.api.post("/v3/kv/txn", &json!({"success": operations}));
        }
    }

    /// Removes all objects of every resource that the plugin reads, and Events that the API server itself
    /// writes. Left are what it needs for itself: namespaces, roles, its configuration in `kube-system`.
    pub(crate) fn clear(&self) {
        for resource in ResourceKind::ALL {
            let prefix = prefix(resource);
            if resource == ResourceKind::ConfigMap {
                self.delete(&prefix, &format!("{prefix}kube-system/"));
                self.delete(&format!("{prefix}kube-system0"), &after(&prefix));
            } else {
                self.delete(&prefix, &after(&prefix));
            }
        }
    }

    fn delete(&self, from: &str, to: &str) {
        self.api.post(
            "/v3/kv/deleterange",
            &json!({"key": STANDARD.encode(from), "range_end": STANDARD.encode(to)}),
        );
    }
}

/// Returns the first key after all keys that begin with `prefix`, which ends with a slash.
fn after(prefix: &str) -> String {
    format!("{}0", prefix.trim_end_matches('/'))
}

fn prefix(resource: ResourceKind) -> String {
    match (resource, resource.group()) {
        (ResourceKind::Node, _) => "/registry/minions/".to_owned(),
        (_, "" | "apps") => format!("/registry/{}/", resource.plural()),
        (_, group) => format!("/registry/{group}/{}/", resource.plural()),
    }
}

fn key(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let resource = text("/apiVersion")
        .zip(text("/kind"))
        .and_then(|(version, kind)| ResourceKind::of_object(version, kind))
        .unwrap_or_else(|| panic!("not a resource that is read: {object}"));
    let name = text("/metadata/name").unwrap_or_else(|| panic!("no name: {object}"));
    match text("/metadata/namespace") {
        Some(namespace) => format!("{}{namespace}/{name}", prefix(resource)),
        None => format!("{}{name}", prefix(resource)),
    }
}
