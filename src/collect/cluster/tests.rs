//! The collector against a server that misbehaves in every way an API server or a proxy can.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{Cluster, CollectError, CollectOptions, Collected, ErrorKind, NamespaceRule, connect};
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
async fn every_resource_is_asked_for_once_and_only_with_get() {
    let server = Server::http(|_| Reply::empty());
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
        "/apis/snapshot.storage.k8s.io/v1/namespaces/velero/volumesnapshots" => {
            Reply::json(404, "404 page not found\n").header("Content-Type", "text/plain")
        }
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
    assert_eq!(listing(&capture, DU).outcome, Outcome::Listed(Vec::new()));
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

#[tokio::test]
async fn a_busy_server_is_waited_for_once_and_aloud() {
    let busy = AtomicUsize::new(0);
    let server = Server::http(move |asked| match asked.path.as_str() {
        PODS if busy.fetch_add(1, Ordering::SeqCst) == 0 => {
            Reply::status(429, "TooManyRequests", "too many requests").header("Retry-After", "0")
        }
        _ => Reply::empty(),
    });
    let said = RefCell::new(Vec::new());
    let capture = cluster(&flags(&server, "velero"))
        .await
        .collect(&CollectOptions::default(), &|line| {
            said.borrow_mut().push(line.to_owned());
        })
        .await
        .unwrap()
        .capture;
    let pods = listing(&capture, ResourceKind::Pod);
    assert_eq!(pods.outcome, Outcome::Listed(Vec::new()));
    assert_eq!(count(&server, |asked| asked.path == PODS), 2);
    let said = said.into_inner();
    assert!(
        said.iter()
            .any(|line| line.contains("busy") && line.contains("pods")),
        "{said:?}"
    );
}

#[tokio::test]
async fn a_server_that_stays_busy_or_asks_for_too_long_a_pause_is_not_pressed() {
    for (pause, tries) in [("0", 2), ("3600", 1), ("soon", 1)] {
        let server = Server::http(move |asked| match asked.path.as_str() {
            PODS => Reply::status(429, "TooManyRequests", "too many").header("Retry-After", pause),
            _ => Reply::empty(),
        });
        let capture = read(&server).await.capture;
        assert!(matches!(
            &listing(&capture, ResourceKind::Pod).outcome,
            Outcome::Refused { reason: GapReason::Partial, message } if message.contains("429")
        ));
        assert_eq!(
            count(&server, |asked| asked.path == PODS),
            tries,
            "Retry-After: {pause}"
        );
    }
}

#[tokio::test]
async fn a_503_is_reported_at_once_and_the_rest_goes_on() {
    let server = Server::http(|asked| match asked.path.as_str() {
        PODS => Reply::status(503, "ServiceUnavailable", "etcd is away"),
        _ => Reply::list(&["{}"], ""),
    });
    let capture = read(&server).await.capture;
    assert!(matches!(
        &listing(&capture, ResourceKind::Pod).outcome,
        Outcome::Refused { reason: GapReason::Partial, message }
            if message.contains("503") && message.contains("etcd is away")
    ));
    assert_eq!(count(&server, |asked| asked.path == PODS), 1);
    assert_eq!(listing(&capture, DU).outcome.items().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_down_altogether_is_an_error() {
    let server = Server::http(|_| Reply::status(503, "ServiceUnavailable", "etcd is away"));
    let error = fail(&server, &CollectOptions::default()).await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(matches!(error, CollectError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn one_list_that_never_comes_is_a_timeout_and_the_rest_is_read() {
    let server = Server::http(|asked| match asked.path.as_str() {
        PODS => Reply::silence(),
        _ => Reply::list(&["{}"], ""),
    });
    let capture = cluster(&flags(&server, "velero"))
        .await
        .collect(&hurried(), &quiet)
        .await
        .unwrap()
        .capture;
    assert_eq!(
        listing(&capture, ResourceKind::Pod).outcome,
        Outcome::Refused {
            reason: GapReason::Timeout,
            message: "the API server did not answer within 0.4 s".to_owned(),
        }
    );
    assert_eq!(listing(&capture, DU).outcome.items().len(), 1);
}

#[tokio::test]
async fn the_time_limit_ends_the_whole_reading_and_keeps_what_was_read() {
    let server = Server::http(
        |asked| match (asked.path.as_str(), asked.query("continue")) {
            (DATA_UPLOADS, "") => Reply::list(&[r#"{"n":1}"#], "next"),
            (DATA_UPLOADS, _) => Reply::silence(),
            _ => Reply::empty(),
        },
    );
    let options = CollectOptions {
        request_timeout: Duration::ZERO,
        time_limit: Duration::from_millis(600),
        ..CollectOptions::default()
    };
    let capture = cluster(&flags(&server, "velero"))
        .await
        .collect(&options, &quiet)
        .await
        .unwrap()
        .capture;
    let uploads = listing(&capture, DU);
    assert_eq!(texts(&capture, uploads), [r#"{"n":1}"#]);
    assert!(matches!(
        uploads.outcome,
        Outcome::Cut {
            reason: GapReason::Timeout,
            ..
        }
    ));
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_after_one_request_timeout() {
    let server = Server::http(|_| Reply::silence());
    let error = fail(&server, &hurried()).await;
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(
        error.to_string().ends_with("did not answer within 0.4 s"),
        "{error}"
    );
    assert!(server.asked().len() <= 5, "the rest is not even asked");
}

#[tokio::test]
async fn a_slow_server_is_named_after_a_second() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => Reply::empty().after(Duration::from_millis(1300)),
        _ => Reply::empty(),
    });
    let said = RefCell::new(Vec::new());
    cluster(&flags(&server, "velero"))
        .await
        .collect(&CollectOptions::default(), &|line| {
            said.borrow_mut().push(line.to_owned());
        })
        .await
        .unwrap();
    assert_eq!(
        said.into_inner(),
        ["waiting for the API server since 1 s: listing datauploads"]
    );
}

#[tokio::test]
async fn a_web_page_is_no_api_server() {
    let server = Server::http(|_| {
        Reply::json(200, "\n <!DOCTYPE html><title>Sign in</title>")
            .header("Content-Type", "text/html")
    });
    let error = fail(&server, &CollectOptions::default()).await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("web page"), "{source}");
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_malformed() {
    for body in [
        "{\"kind\":\"PodList\",\"items\":[",
        "[]",
        "{}",
        "{\"kind\":\"Pod\"}",
        "{\"kind\":\"PodList\",\"items\":{}}",
        "not json",
        "",
    ] {
        let server = Server::http(move |asked| match asked.path.as_str() {
            PODS => Reply::json(200, body),
            _ => Reply::empty(),
        });
        let capture = read(&server).await.capture;
        assert!(
            matches!(
                listing(&capture, ResourceKind::Pod).outcome,
                Outcome::Refused {
                    reason: GapReason::Malformed,
                    ..
                }
            ),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_list_without_items_is_empty() {
    for body in [
        r#"{"kind":"PodList","metadata":{},"items":null}"#,
        r#"{"kind":"PodList"}"#,
    ] {
        let server = Server::http(move |asked| match asked.path.as_str() {
            PODS => Reply::json(200, body),
            _ => Reply::empty(),
        });
        let capture = read(&server).await.capture;
        let pods = listing(&capture, ResourceKind::Pod);
        assert_eq!(pods.outcome, Outcome::Listed(Vec::new()), "{body}");
    }
}

#[tokio::test]
async fn refused_credentials_are_one_error() {
    let server = Server::http(|_| Reply::status(401, "Unauthorized", "Unauthorized"));
    let error = fail(&server, &CollectOptions::default()).await;
    assert_eq!(error.kind(), ErrorKind::Login);
    assert!(error.to_string().contains("must be logged in"), "{error}");
}

#[tokio::test]
async fn a_closed_port_is_one_error_with_its_reason() {
    let flags = ClusterFlags {
        server: Some(format!("http://{}", closed_port())),
        namespace: Some("velero".to_owned()),
        ..ClusterFlags::default()
    };
    let error = cluster(&flags)
        .await
        .collect(&CollectOptions::default(), &quiet)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("refused"), "{source}");
    assert_eq!(source.matches("refused").count(), 1, "{source}");
}

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

#[test]
fn a_long_selector_is_split_and_loses_no_name() {
    let restores: BTreeSet<String> = (0..200).map(|n| format!("restore-{n:055}")).collect();
    let selectors = super::targets::selectors(&restores);
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
    assert!(super::targets::selectors(&BTreeSet::new()).is_empty());
}

mod namespace {
    use super::{
        Asked, CollectError, CollectOptions, ErrorKind, NamespaceRule, Reply, Server, cluster,
        connect, count, quiet,
    };
    use crate::collect::cluster::NamespaceChoice;
    use crate::collect::kubectl_compat::{ClusterFlags, Environment};

    async fn found(
        answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Result<NamespaceChoice, CollectError> {
        let server = Server::http(answer);
        let flags = ClusterFlags {
            server: Some(server.url()),
            ..ClusterFlags::default()
        };
        let cluster = cluster(&flags).await;
        cluster
            .find_namespace(&CollectOptions::default(), &quiet)
            .await
    }

    fn object(name: &str, namespace: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","labels":{{"component":"velero","name":"node-agent"}}}}}}"#
        )
    }

    #[tokio::test]
    async fn the_users_word_beats_any_search_in_veleros_own_order() {
        let server = Server::http(|_| Reply::empty());
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join(".config").join("velero");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("config.json"), r#"{"namespace":"of-config"}"#).unwrap();
        let nowhere = tempfile::tempdir().unwrap();
        let cases = [
            (
                "of-flag",
                home.path(),
                "of-env",
                "of-flag",
                NamespaceRule::Flag,
            ),
            (
                "",
                home.path(),
                "of-env",
                "of-config",
                NamespaceRule::VeleroClientConfig,
            ),
            (
                "",
                nowhere.path(),
                "of-env",
                "of-env",
                NamespaceRule::Environment,
            ),
        ];
        for (flag, home, variable, namespace, rule) in cases {
            let flags = ClusterFlags {
                server: Some(server.url()),
                namespace: Some(flag.to_owned()),
                ..ClusterFlags::default()
            };
            let env = Environment {
                home: Some(home.to_owned()),
                velero_namespace: Some(variable.to_owned()),
                ..Environment::empty()
            };
            let cluster = connect(&flags, &env, &quiet).await.unwrap();
            let choice = cluster
                .find_namespace(&CollectOptions::default(), &quiet)
                .await
                .unwrap();
            assert_eq!((choice.namespace.as_str(), choice.rule), (namespace, rule));
        }
        assert_eq!(count(&server, |_| true), 0, "nothing had to be asked");
    }

    #[tokio::test]
    async fn each_sign_of_velero_makes_the_default_namespace_the_choice() {
        for sign in [
            "/apis/apps/v1/namespaces/velero/daemonsets",
            "/apis/apps/v1/namespaces/velero/deployments",
            "/api/v1/namespaces/velero/pods",
            "/apis/velero.io/v1/namespaces/velero/podvolumebackups",
            "/apis/velero.io/v1/namespaces/velero/podvolumerestores",
            "/apis/velero.io/v2alpha1/namespaces/velero/datauploads",
            "/apis/velero.io/v2alpha1/namespaces/velero/datadownloads",
        ] {
            let name = if sign.ends_with("daemonsets") {
                "node-agent"
            } else {
                "velero"
            };
            let object = object(name, "velero");
            let choice = found(move |asked| {
                if asked.path == sign {
                    Reply::list(&[&object], "more")
                } else {
                    Reply::empty()
                }
            })
            .await
            .unwrap();
            assert_eq!(choice.namespace, "velero", "{sign}");
            assert_eq!(choice.rule, NamespaceRule::DefaultName, "{sign}");
        }
    }

    #[tokio::test]
    async fn another_workload_in_the_default_namespace_is_no_sign() {
        let choice = found(|asked| match asked.path.as_str() {
            "/api/v1/namespaces/velero/pods" => {
                Reply::list(&[r#"{"metadata":{"name":"web","namespace":"velero"}}"#], "")
            }
            "/apis/apps/v1/daemonsets"
                if asked.query("fieldSelector") == "metadata.name=node-agent" =>
            {
                Reply::list(&[&object("node-agent", "openshift-adp")], "")
            }
            _ => Reply::empty(),
        })
        .await
        .unwrap();
        assert_eq!(choice.namespace, "openshift-adp");
        assert_eq!(choice.rule, NamespaceRule::OnlyOne);
    }

    #[tokio::test]
    async fn two_installations_are_listed_and_none_is_guessed() {
        let error = found(|asked| match asked.path.as_str() {
            "/apis/velero.io/v1/podvolumebackups" => {
                Reply::list(&[&object("a", "backup-b"), &object("b", "backup-a")], "")
            }
            _ => Reply::empty(),
        })
        .await
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(
            error.to_string(),
            "Velero is installed in several namespaces (backup-a, backup-b); choose one with -n"
        );
    }

    #[tokio::test]
    async fn no_velero_at_all_says_what_was_looked_for() {
        let error = found(|asked| {
            if asked.path.contains("velero.io") {
                Reply::json(404, "404 page not found")
            } else {
                Reply::empty()
            }
        })
        .await
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VeleroNotFound);
        assert_eq!(
            error.to_string(),
            "no installation of Velero found: no node-agent DaemonSet or pod, velero Deployment, or data movement task in any namespace; name its namespace with -n"
        );
    }

    #[tokio::test]
    async fn a_search_that_is_forbidden_says_so_and_asks_for_the_namespace() {
        let error = found(|_| Reply::forbidden()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VeleroNotFound);
        let text = error.to_string();
        assert!(text.contains("forbidden") && text.contains("-n"), "{text}");
    }

    #[tokio::test]
    async fn a_server_that_cannot_be_reached_ends_the_search() {
        let error = found(|_| Reply::status(401, "Unauthorized", "Unauthorized"))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Login);
    }

    #[tokio::test]
    async fn a_reading_stays_within_twenty_five_requests() {
        let server = Server::http(|asked| {
            if asked.path.ends_with("datadownloads") {
                Reply::list(
                    &[
                        r#"{"metadata":{"namespace":"velero","labels":{"velero.io/restore-name":"r"}}}"#,
                    ],
                    "",
                )
            } else {
                Reply::empty()
            }
        });
        let flags = ClusterFlags {
            server: Some(server.url()),
            ..ClusterFlags::default()
        };
        let collected = cluster(&flags)
            .await
            .collect(&CollectOptions::default(), &quiet)
            .await
            .unwrap();
        assert!(collected.requests <= 25, "{} requests", collected.requests);
    }
}
