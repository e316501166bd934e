//! Finding Velero, and telling the time.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::cases::text;
use crate::control_plane::{ControlPlane, Plane};
use crate::plugin::User;

/// Lays a node-agent DaemonSet into a namespace.
fn install(plane: &ControlPlane, namespace: &str) {
    let labels = json!({"name": "node-agent", "role": "node-agent"});
    plane.etcd().put(&[json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": "node-agent",
            "namespace": namespace,
            "uid": "00000000-0000-4000-8000-000000000001",
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "node-agent", "image": "velero/velero:v1.17.2"}]},
            },
        },
    })]);
}

fn namespace_of(user: &User, arguments: &[&str]) -> String {
    let mut all = vec!["status", "-o", "json"];
    all.extend(arguments);
    text(&user.plugin(&all).json(), "namespace").to_owned()
}

#[test]
fn velero_is_found_wherever_it_is_installed() {
    let plane = Plane::Still.lock();
    let user = User::new(&plane.kubeconfig());

    let nowhere = user.plugin(&["status"]).expect_code(1);
    for word in ["node-agent", "velero Deployment", "-n"] {
        assert!(nowhere.stderr.contains(word), "{nowhere}");
    }

    install(&plane, "openshift-adp");
    assert_eq!(namespace_of(&user, &[]), "openshift-adp");

    install(&plane, "backup");
    let two = user.plugin(&["status"]).expect_code(2);
    for namespace in ["openshift-adp", "backup"] {
        assert!(two.stderr.contains(namespace), "{two}");
    }
    assert_eq!(namespace_of(&user, &["-n", "backup"]), "backup");

    install(&plane, "velero");
    assert_eq!(namespace_of(&user, &[]), "velero");
}

#[test]
fn now_is_the_time_of_the_server() {
    let plane = Plane::Still.lock();
    install(&plane, "velero");
    let ahead = SignedDuration::from_hours(7);
    let (_proxy, user) = plane.behind_proxy(ahead);

    let document: Value = user.plugin(&["status", "-o", "json"]).json();
    assert_eq!(document["source"]["nowFrom"], "server");
    let taken: Timestamp = text(&document, "takenAt").parse().expect("it is a time");
    let off = taken.duration_since(plane.api().now()) - ahead;
    assert!(off.abs() < SignedDuration::from_mins(1), "{taken}, {off}");
}
