//! What a glance asks for, and what it takes.

use super::{
    ClusterFlags, CollectOptions, DATA_UPLOADS, DU, Environment, Outcome, PODS, Reply,
    ResourceKind, Server, flags, hurried, listing, texts,
};
use crate::collect::cluster::{Cluster, connect_without_login};

const UPLOAD: &str =
    r#"{"metadata":{"name":"du-1","namespace":"velero"},"status":{"phase":"New"}}"#;
const AGENT: &str = r#"{"metadata":{"name":"node-agent","namespace":"backup"}}"#;

async fn cluster(flags: &ClusterFlags) -> Cluster {
    connect_without_login(flags, &Environment::empty())
        .await
        .unwrap()
}

fn without_namespace(server: &Server) -> ClusterFlags {
    ClusterFlags {
        namespace: None,
        ..flags(server, "")
    }
}

fn paths(server: &Server) -> Vec<String> {
    server
        .asked()
        .iter()
        .map(|asked| asked.path.clone())
        .collect()
}

#[tokio::test]
async fn a_glance_asks_for_its_lists_and_for_nothing_before_them() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::list(&[UPLOAD], ""),
        _ => Reply::empty(),
    });
    let cluster = cluster(&without_namespace(&server)).await;
    let (capture, namespace) = cluster
        .glance(
            &[DU, ResourceKind::Pod, ResourceKind::Node],
            &CollectOptions::default(),
        )
        .await;
    assert_eq!(namespace, "velero");
    assert_eq!(texts(&capture, listing(&capture, DU)), [UPLOAD]);
    let mut asked = paths(&server);
    asked.sort();
    assert_eq!(
        asked,
        [
            "/api/v1/namespaces/velero/pods",
            "/api/v1/nodes",
            DATA_UPLOADS
        ]
    );
}

#[tokio::test]
async fn a_glance_looks_elsewhere_only_when_nothing_is_at_home() {
    let server = Server::http(|asked| match asked.path.as_str() {
        "/apis/apps/v1/daemonsets" => Reply::list(&[AGENT], ""),
        "/apis/velero.io/v2alpha1/namespaces/backup/datauploads" => Reply::list(&[UPLOAD], ""),
        _ => Reply::empty(),
    });
    let (capture, namespace) = cluster(&without_namespace(&server))
        .await
        .glance(&[DU], &CollectOptions::default())
        .await;
    assert_eq!(namespace, "backup");
    assert_eq!(texts(&capture, listing(&capture, DU)), [UPLOAD]);
    assert_eq!(server.asked().len(), 3);

    // A namespace that the user names is not second-guessed.
    let server = Server::http(|_| Reply::empty());
    let (_, namespace) = cluster(&flags(&server, "mine"))
        .await
        .glance(&[DU], &CollectOptions::default())
        .await;
    assert_eq!(namespace, "mine");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_glance_takes_what_comes_in_time_and_tells_what_did_not() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::list(&[UPLOAD], ""),
        PODS => Reply::silence(),
        _ => Reply::forbidden(),
    });
    let (capture, _) = cluster(&flags(&server, "velero"))
        .await
        .glance(
            &[DU, ResourceKind::Pod, ResourceKind::ConfigMap],
            &hurried(),
        )
        .await;
    assert_eq!(texts(&capture, listing(&capture, DU)), [UPLOAD]);
    for resource in [ResourceKind::Pod, ResourceKind::ConfigMap] {
        let outcome = &listing(&capture, resource).outcome;
        assert!(matches!(outcome, Outcome::Refused { .. }), "{resource}");
    }
}

#[tokio::test]
async fn namespaces_are_told_with_those_that_hold_an_agent() {
    let server = Server::http(|asked| match asked.path.as_str() {
        "/api/v1/namespaces" => Reply::list(
            &[
                r#"{"metadata":{"name":"default"}}"#,
                r#"{"metadata":{"name":"backup"}}"#,
            ],
            "",
        ),
        "/apis/apps/v1/daemonsets" => Reply::list(&[AGENT], ""),
        _ => Reply::forbidden(),
    });
    let found = cluster(&without_namespace(&server))
        .await
        .namespaces(&CollectOptions::default())
        .await;
    let names: Vec<&str> = found.all.iter().map(String::as_str).collect();
    assert_eq!(names, ["backup", "default"]);
    let names: Vec<&str> = found.of_velero.iter().map(String::as_str).collect();
    assert_eq!(names, ["backup"]);
    assert_eq!(server.asked().len(), 2);
}
