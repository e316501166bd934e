//! What is listed outside Velero's namespace: targets of restores, and snapshots that uploads wait for.

use std::collections::BTreeSet;

use super::{
    ACCEPTED_UPLOAD, Asked, DATA_UPLOADS, GapReason, Outcome, PODS, Reply, ResourceKind, SNAPSHOTS,
    Scope, Server, count, read, texts,
};
use crate::collect::cluster::targets;

#[tokio::test]
async fn targets_of_unfinished_restores_are_listed_across_namespaces() {
    let server = Server::http(|asked| match asked.path.as_str() {
        "/apis/velero.io/v1/namespaces/velero/podvolumerestores" => Reply::list(
            &[
                r#"{"metadata":{"labels":{"velero.io/restore-name":"r-run"}},"status":{"phase":"InProgress"}}"#,
                r#"{"metadata":{"labels":{"velero.io/restore-name":"r-done"}},"status":{"phase":"Completed"}}"#,
                r#"{"metadata":{"labels":{"velero.io/restore-name":"r-new"}}}"#,
                r#"{"metadata":{}}"#,
                r#"{"metadata":7}"#,
            ],
            "",
        ),
        "/apis/velero.io/v2alpha1/namespaces/velero/datadownloads" => Reply::list(
            &[
                r#"{"metadata":{"labels":{"velero.io/restore-name":"r-dd"}},"status":{"phase":"Canceling"}}"#,
            ],
            "",
        ),
        "/api/v1/pods" => Reply::list(&[r#"{"target":1}"#], ""),
        "/api/v1/persistentvolumeclaims" => Reply::forbidden(),
        _ => Reply::empty(),
    });
    let capture = read(&server).await.capture;
    let scope = Scope::Selected {
        label_selector: "velero.io/restore-name in (r-dd,r-new,r-run)".to_owned(),
    };
    let of = |resource| {
        capture
            .listings
            .iter()
            .find(|listing| listing.resource == resource && listing.scope == scope)
            .unwrap()
    };
    assert_eq!(texts(&capture, of(ResourceKind::Pod)), [r#"{"target":1}"#]);
    assert!(matches!(
        of(ResourceKind::PersistentVolumeClaim).outcome,
        Outcome::Refused {
            reason: GapReason::Forbidden,
            ..
        }
    ));
}

/// The paths of one kind of list that a server was asked for, sorted.
fn paths(server: &Server, plural: &str) -> Vec<String> {
    let mut paths: Vec<String> = server
        .asked()
        .into_iter()
        .map(|asked| asked.path)
        .filter(|path| path.ends_with(plural))
        .collect();
    paths.sort();
    paths
}

#[tokio::test]
async fn snapshots_are_listed_where_they_are_and_only_while_an_upload_waits_for_one() {
    let accepted = |asked: &Asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::list(&[ACCEPTED_UPLOAD], ""),
        _ => Reply::empty(),
    };
    let server = Server::http(accepted);
    read(&server).await;
    assert_eq!(paths(&server, "/volumesnapshots"), [SNAPSHOTS]);

    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::list(
            &[r#"{"spec":{"sourceNamespace":"app"},"status":{"phase":"InProgress"}}"#],
            "",
        ),
        _ => Reply::empty(),
    });
    let capture = read(&server).await.capture;
    assert_eq!(paths(&server, "/volumesnapshots"), [""; 0]);
    assert!(
        capture
            .listings
            .iter()
            .all(|listing| listing.resource != ResourceKind::VolumeSnapshot)
    );
}

#[tokio::test]
async fn where_snapshots_of_all_namespaces_are_forbidden_those_that_matter_are_listed() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::list(&[ACCEPTED_UPLOAD], ""),
        SNAPSHOTS => Reply::forbidden(),
        _ => Reply::empty(),
    });
    read(&server).await;
    assert_eq!(
        paths(&server, "/volumesnapshots"),
        [
            "/apis/snapshot.storage.k8s.io/v1/namespaces/app/volumesnapshots",
            "/apis/snapshot.storage.k8s.io/v1/namespaces/velero/volumesnapshots",
            SNAPSHOTS,
        ]
    );
}

const DOWNLOADS: &str = "/apis/velero.io/v2alpha1/namespaces/velero/datadownloads";
const CLAIMS: &str = "/api/v1/persistentvolumeclaims";

fn download(restore: &str, namespace: &str, claim: &str) -> String {
    format!(
        r#"{{"metadata":{{"labels":{{"velero.io/restore-name":"{restore}"}}}},"spec":{{"targetVolume":{{"namespace":"{namespace}","pvc":"{claim}","pv":""}}}}}}"#
    )
}

#[tokio::test]
async fn a_target_without_its_label_is_looked_for_in_its_namespace() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DOWNLOADS => Reply::list(
            &[
                &download("r", "labelled", "data"),
                &download("r", "bare", "data"),
                &download("r", "velero", "data"),
            ],
            "",
        ),
        CLAIMS => Reply::list(
            &[r#"{"metadata":{"namespace":"labelled","name":"data"}}"#],
            "",
        ),
        _ => Reply::empty(),
    });
    read(&server).await;
    assert_eq!(
        paths(&server, "/persistentvolumeclaims"),
        [
            "/api/v1/namespaces/bare/persistentvolumeclaims",
            "/api/v1/namespaces/velero/persistentvolumeclaims",
            CLAIMS,
        ]
    );
    // Nothing there writes into a pod.
    assert_eq!(paths(&server, "/pods"), [PODS, "/api/v1/pods"]);
}

#[tokio::test]
async fn where_labels_may_not_be_searched_for_the_targets_namespaces_are_listed() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DOWNLOADS => Reply::list(&[&download("r", "app", "data")], ""),
        CLAIMS => Reply::forbidden(),
        _ => Reply::empty(),
    });
    read(&server).await;
    assert!(
        paths(&server, "/persistentvolumeclaims")
            .contains(&"/api/v1/namespaces/app/persistentvolumeclaims".to_owned())
    );
}

#[tokio::test]
async fn a_server_in_trouble_is_not_asked_for_more_namespaces() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DOWNLOADS => Reply::list(&[&download("r", "app", "data")], ""),
        CLAIMS => Reply::status(503, "ServiceUnavailable", "etcd is away"),
        _ => Reply::empty(),
    });
    read(&server).await;
    assert_eq!(
        paths(&server, "/persistentvolumeclaims"),
        ["/api/v1/namespaces/velero/persistentvolumeclaims", CLAIMS]
    );
}

#[tokio::test]
async fn of_many_namespaces_without_labels_the_first_ten_are_listed() {
    let downloads: Vec<String> = (0..25)
        .map(|number| download("r", &format!("app-{number:02}"), "data"))
        .collect();
    let server = Server::http(move |asked| match asked.path.as_str() {
        DOWNLOADS => Reply::list(
            &downloads.iter().map(String::as_str).collect::<Vec<_>>(),
            "",
        ),
        _ => Reply::empty(),
    });
    read(&server).await;
    let of_apps = count(&server, |asked| asked.path.contains("/namespaces/app-"));
    assert_eq!(of_apps, 10);
}

#[test]
fn a_long_selector_is_split_and_loses_no_name() {
    let restores: BTreeSet<String> = (0..200).map(|n| format!("restore-{n:055}")).collect();
    let selectors = targets::selectors(&restores);
    assert!(selectors.len() > 1);
    let mut named = BTreeSet::new();
    for selector in &selectors {
        assert!(selector.len() < 2100, "{}", selector.len());
        let names = selector
            .strip_prefix("velero.io/restore-name in (")
            .unwrap()
            .strip_suffix(')')
            .unwrap();
        named.extend(names.split(',').map(str::to_owned));
    }
    assert_eq!(named, restores);
    assert!(targets::selectors(&BTreeSet::new()).is_empty());
}
