//! The collector against a server that misbehaves in every way an API server or a proxy can.

mod elsewhere;
mod failures;
mod follow;
mod glance;
mod interrupts;
mod namespace;
mod traces;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{
    Cluster, CollectError, CollectOptions, Collected, ErrorKind, NamespaceRule, SizeLimits, connect,
};
use crate::capture::{Capture, GapReason, Listing, NowFrom, Outcome, ResourceKind, Scope};
use crate::collect::kubectl_compat::{ClusterFlags, Environment};
use crate::collect::test_server::{Asked, Reply, Server, closed_port};
use crate::velero::TaskKind;

const DATA_UPLOADS: &str = "/apis/velero.io/v2alpha1/namespaces/velero/datauploads";
const PODS: &str = "/api/v1/namespaces/velero/pods";

fn quiet(_line: &str) {}

fn flags(server: &Server, namespace: &str) -> ClusterFlags {
    ClusterFlags {
        server: Some(server.url()),
        namespace: Some(namespace.to_owned()),
        ..ClusterFlags::default()
    }
}

async fn cluster(flags: &ClusterFlags) -> Cluster {
    connect(flags, &Environment::empty(), &quiet).await.unwrap()
}

/// Short limits: a test that waits for one must not wait long.
fn hurried() -> CollectOptions {
    CollectOptions {
        request_timeout: Duration::from_millis(400),
        time_limit: Duration::from_secs(2),
        ..CollectOptions::default()
    }
}

async fn read(server: &Server) -> Collected {
    cluster(&flags(server, "velero"))
        .await
        .collect(&CollectOptions::default(), &quiet)
        .await
        .unwrap()
}

async fn fail(server: &Server, options: &CollectOptions) -> CollectError {
    cluster(&flags(server, "velero"))
        .await
        .collect(options, &quiet)
        .await
        .unwrap_err()
}

fn listing(capture: &Capture, resource: ResourceKind) -> &Listing {
    capture
        .listings
        .iter()
        .find(|listing| listing.resource == resource)
        .unwrap()
}

fn texts<'a>(capture: &'a Capture, listing: &Listing) -> Vec<&'a str> {
    listing
        .outcome
        .items()
        .iter()
        .map(|item| capture.json(item))
        .collect()
}

/// It waits for a VolumeSnapshot.
const ACCEPTED_UPLOAD: &str = r#"{"spec":{"sourceNamespace":"app"},"status":{"phase":"Accepted"}}"#;
const SNAPSHOTS: &str = "/apis/snapshot.storage.k8s.io/v1/volumesnapshots";

const DU: ResourceKind = ResourceKind::Task(TaskKind::DataUpload);

#[tokio::test]
async fn pages_are_read_to_the_end_and_kept_word_for_word() {
    let server = Server::http(
        |asked| match (asked.path.as_str(), asked.query("continue")) {
            (DATA_UPLOADS, "") => Reply::list(&[r#"{"a": 1}"#, r#"{ "b":[ 2 ]}"#], "page/2=&"),
            (DATA_UPLOADS, "page/2=&") => Reply::list(&[r#"{"c":"ä\u0041"}"#], ""),
            _ => Reply::empty(),
        },
    );
    let collected = read(&server).await;
    let capture = &collected.capture;
    let uploads = listing(capture, DU);
    assert!(matches!(uploads.outcome, Outcome::Listed(_)));
    assert_eq!(
        texts(capture, uploads),
        [r#"{"a": 1}"#, r#"{ "b":[ 2 ]}"#, r#"{"c":"ä\u0041"}"#]
    );
    assert_eq!(uploads.scope, Scope::Namespace("velero".to_owned()));
    let first = &server.asked()[0];
    assert_eq!(first.query("limit"), "500");
    assert_eq!(collected.namespace.rule, NamespaceRule::Flag);
    assert_eq!(collected.requests, server.asked().len());
}

#[tokio::test]
async fn events_are_read_page_by_page_and_of_veleros_namespace_only() {
    const EVENTS: &str = "/api/v1/namespaces/velero/events";
    let server = Server::http(
        |asked| match (asked.path.as_str(), asked.query("continue")) {
            (EVENTS, "") => Reply::list(&[r#"{"reason":"FailedScheduling"}"#], "next"),
            (EVENTS, "next") => Reply::list(&[r#"{"reason":"FailedMount"}"#], ""),
            _ => Reply::empty(),
        },
    );
    let capture = read(&server).await.capture;
    let events = listing(&capture, ResourceKind::Event);
    assert_eq!(events.scope, Scope::Namespace("velero".to_owned()));
    assert_eq!(texts(&capture, events).len(), 2);
    let asked = server.asked();
    let of_events: Vec<_> = asked
        .iter()
        .filter(|asked| asked.path.ends_with("/events"))
        .collect();
    assert_eq!(of_events.len(), 2);
    for asked in of_events {
        assert_eq!((asked.path.as_str(), asked.query("limit")), (EVENTS, "500"));
    }
}

#[tokio::test]
async fn a_compressed_page_is_kept_as_it_was_before() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::list(&[r#"{"a": 1}"#], "").gzip(),
        _ => Reply::empty(),
    });
    let capture = read(&server).await.capture;
    assert_eq!(texts(&capture, listing(&capture, DU)), [r#"{"a": 1}"#]);
}

#[tokio::test]
async fn every_resource_is_asked_for_once_and_only_with_get() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::list(&[ACCEPTED_UPLOAD], ""),
        _ => Reply::empty(),
    });
    let capture = read(&server).await.capture;
    let listed: BTreeSet<ResourceKind> = capture
        .listings
        .iter()
        .map(|listing| listing.resource)
        .collect();
    assert_eq!(listed, ResourceKind::ALL.into_iter().collect());
    assert_eq!(capture.listings.len(), ResourceKind::ALL.len());
    assert_eq!(listing(&capture, ResourceKind::Node).scope, Scope::Cluster);
    let version = env!("CARGO_PKG_VERSION");
    for asked in server.asked() {
        assert_eq!(asked.method, "GET");
        assert_eq!(
            asked.header("user-agent"),
            Some(format!("kubectl-velero-slots/{version}").as_str())
        );
        assert_eq!(asked.header("accept-encoding"), Some("gzip"));
        assert!(!asked.path.contains("secret"), "{}", asked.path);
    }
}

#[tokio::test]
async fn no_more_than_five_requests_are_in_flight() {
    let server = Server::http(|_| Reply::empty().after(Duration::from_millis(30)));
    read(&server).await;
    let most = server.most_in_flight();
    assert!((2..=5).contains(&most), "{most} requests at a time");
}

#[tokio::test]
async fn now_is_the_clock_of_the_server() {
    let server = Server::http(|_| Reply::empty());
    let manifest = read(&server).await.capture.manifest;
    assert_eq!(manifest.taken_at, "2026-01-02T03:04:05Z".parse().ok());
    assert_eq!(manifest.now_from, NowFrom::Server);
    assert_eq!(manifest.server, Some(server.url()));
    assert_eq!(manifest.namespace.as_deref(), Some("velero"));
}

#[tokio::test]
async fn without_a_date_header_now_is_left_to_the_objects() {
    let server = Server::http(|_| Reply::empty().without_date());
    let manifest = read(&server).await.capture.manifest;
    assert_eq!(manifest.taken_at, None);
    assert_eq!(manifest.now_from, NowFrom::NewestObject);
}

#[tokio::test]
async fn a_refusal_is_told_from_an_empty_list() {
    let server = Server::http(|asked| match asked.path.as_str() {
        PODS => Reply::status(
            403,
            "Forbidden",
            "pods is forbidden: User \"eve\" cannot list",
        ),
        DATA_UPLOADS => Reply::list(&[ACCEPTED_UPLOAD], ""),
        SNAPSHOTS => Reply::json(404, "404 page not found\n").header("Content-Type", "text/plain"),
        _ => Reply::empty(),
    });
    let capture = read(&server).await.capture;
    assert_eq!(
        listing(&capture, ResourceKind::Pod).outcome,
        Outcome::Refused {
            reason: GapReason::Forbidden,
            message: "pods is forbidden: User \"eve\" cannot list".to_owned(),
        }
    );
    assert_eq!(
        listing(&capture, ResourceKind::VolumeSnapshot).outcome,
        Outcome::Refused {
            reason: GapReason::NotFound,
            message: "404 page not found".to_owned(),
        }
    );
    let backups = listing(&capture, ResourceKind::Backup);
    assert_eq!(backups.outcome, Outcome::Listed(Vec::new()));
}

#[tokio::test]
async fn everything_forbidden_is_a_capture_of_refusals() {
    let server = Server::http(|_| Reply::forbidden());
    let capture = read(&server).await.capture;
    assert!(capture.listings.iter().all(|listing| matches!(
        listing.outcome,
        Outcome::Refused {
            reason: GapReason::Forbidden,
            ..
        }
    )));
}

#[tokio::test]
async fn a_list_that_expires_is_read_once_more_from_the_beginning() {
    let expired = AtomicUsize::new(0);
    let server = Server::http(
        move |asked| match (asked.path.as_str(), asked.query("continue")) {
            (DATA_UPLOADS, "") => Reply::list(&[r#"{"n":1}"#], "next"),
            (DATA_UPLOADS, _) if expired.fetch_add(1, Ordering::SeqCst) == 0 => {
                Reply::status(410, "Expired", "The provided continue parameter is too old")
            }
            (DATA_UPLOADS, _) => Reply::list(&[r#"{"n":2}"#], ""),
            _ => Reply::empty(),
        },
    );
    let said = RefCell::new(Vec::new());
    let capture = cluster(&flags(&server, "velero"))
        .await
        .collect(&CollectOptions::default(), &|line| {
            said.borrow_mut().push(line.to_owned());
        })
        .await
        .unwrap()
        .capture;
    let uploads = listing(&capture, DU);
    assert!(matches!(uploads.outcome, Outcome::Listed(_)));
    assert_eq!(texts(&capture, uploads), [r#"{"n":1}"#, r#"{"n":2}"#]);
    let said = said.into_inner();
    assert!(
        said.iter()
            .any(|line| line.contains("datauploads") && line.contains("again")),
        "{said:?}"
    );
}

#[tokio::test]
async fn a_list_that_expires_twice_is_cut() {
    let server = Server::http(
        |asked| match (asked.path.as_str(), asked.query("continue")) {
            (DATA_UPLOADS, "") => Reply::list(&[r#"{"n":1}"#], "next"),
            (DATA_UPLOADS, _) => Reply::status(410, "Expired", "too old"),
            _ => Reply::empty(),
        },
    );
    let capture = read(&server).await.capture;
    let uploads = listing(&capture, DU);
    assert_eq!(texts(&capture, uploads), [r#"{"n":1}"#]);
    assert!(matches!(
        &uploads.outcome,
        Outcome::Cut { reason: GapReason::Partial, message, .. } if message == "too old"
    ));
    let asked = count(&server, |asked| asked.path == DATA_UPLOADS);
    assert_eq!(asked, 4, "two pages, twice");
}

fn count(server: &Server, which: impl Fn(&Asked) -> bool) -> usize {
    server.asked().iter().filter(|asked| which(asked)).count()
}

#[tokio::test]
async fn a_list_whose_token_repeats_is_cut_and_does_not_go_on_for_ever() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::list(&[r#"{"n":1}"#], "same"),
        _ => Reply::empty(),
    });
    let capture = read(&server).await.capture;
    let uploads = listing(&capture, DU);
    assert!(matches!(
        uploads.outcome,
        Outcome::Cut {
            reason: GapReason::Malformed,
            ..
        }
    ));
    assert_eq!(count(&server, |asked| asked.path == DATA_UPLOADS), 2);
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_middle_of_a_list_leaves_what_was_read() {
    let server = Server::http(
        |asked| match (asked.path.as_str(), asked.query("continue")) {
            (DATA_UPLOADS, "") => Reply::list(&[r#"{"n":1}"#], "next"),
            (DATA_UPLOADS, _) => Reply::list(&[r#"{"n":2}"#], "").cut(),
            (PODS, _) => Reply::list(&[r#"{"n":3}"#], "").cut(),
            _ => Reply::empty(),
        },
    );
    let capture = read(&server).await.capture;
    let uploads = listing(&capture, DU);
    assert_eq!(texts(&capture, uploads), [r#"{"n":1}"#]);
    assert!(matches!(
        &uploads.outcome,
        Outcome::Cut { reason: GapReason::Partial, message, .. } if message.contains("broke")
    ));
    assert!(matches!(
        &listing(&capture, ResourceKind::Pod).outcome,
        Outcome::Refused { reason: GapReason::Partial, message } if message.contains("broke")
    ));
}
