//! Servers that are busy, slow, silent, gone, or no API server at all.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{
    ClusterFlags, CollectError, CollectOptions, DATA_UPLOADS, DU, ErrorKind, GapReason, Outcome,
    PODS, Reply, ResourceKind, Server, SizeLimits, closed_port, cluster, count, fail, flags,
    hurried, listing, quiet, read, texts,
};

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
    assert!(!source.contains("ServiceError"), "{source}");
    assert!(!source.contains("client error"), "{source}");
}

/// Reads with some limits of size.
async fn read_within(server: &Server, sizes: SizeLimits) -> crate::capture::Capture {
    let options = CollectOptions {
        sizes,
        ..CollectOptions::default()
    };
    cluster(&flags(server, "velero"))
        .await
        .collect(&options, &quiet)
        .await
        .unwrap()
        .capture
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_a_gap_and_the_rest_is_read() {
    let large = format!(r#"{{"n":"{}"}}"#, "x".repeat(20_000));
    for packed in [false, true] {
        let large = large.clone();
        let server = Server::http(move |asked| match asked.path.as_str() {
            PODS if packed => Reply::list(&[&large], "").gzip(),
            PODS => Reply::list(&[&large], ""),
            _ => Reply::list(&["{}"], ""),
        });
        let capture = read_within(
            &server,
            SizeLimits {
                page_bytes: 10_000,
                ..SizeLimits::default()
            },
        )
        .await;
        assert_eq!(
            listing(&capture, ResourceKind::Pod).outcome,
            Outcome::Refused {
                reason: GapReason::Partial,
                message: "the answer is larger than 10000 bytes, which is more than is read"
                    .to_owned(),
            }
        );
        assert_eq!(listing(&capture, DU).outcome.items().len(), 1);
    }
}

#[tokio::test]
async fn all_answers_together_are_bounded_and_what_was_read_is_kept() {
    let page = format!(r#"{{"n":"{}"}}"#, "x".repeat(5000));
    let server = Server::http(move |asked| match asked.path.as_str() {
        DATA_UPLOADS => {
            let number: usize = asked.query("continue").parse().unwrap_or(0);
            Reply::list(&[&page], &(number + 1).to_string())
        }
        _ => Reply::empty(),
    });
    let sizes = SizeLimits {
        total_bytes: 40_000,
        ..SizeLimits::default()
    };
    let capture = read_within(&server, sizes).await;
    let uploads = listing(&capture, DU);
    assert!(!uploads.outcome.items().is_empty());
    assert!(uploads.outcome.items().len() < 8);
    assert!(
        matches!(
            &uploads.outcome,
            Outcome::Cut { reason: GapReason::Partial, message, .. }
                if message.starts_with("all answers together are larger than 40000 bytes")
        ),
        "{:?}",
        uploads.outcome
    );
}

#[tokio::test]
async fn a_list_of_endless_pages_ends() {
    let server = Server::http(|asked| match asked.path.as_str() {
        DATA_UPLOADS => {
            let number: usize = asked.query("continue").parse().unwrap_or(0);
            Reply::list(&["{}"], &(number + 1).to_string())
        }
        _ => Reply::empty(),
    });
    let sizes = SizeLimits {
        pages: 7,
        ..SizeLimits::default()
    };
    let capture = read_within(&server, sizes).await;
    let uploads = listing(&capture, DU);
    assert_eq!(uploads.outcome.items().len(), 7);
    assert!(matches!(
        &uploads.outcome,
        Outcome::Cut { reason: GapReason::Partial, message, .. } if message.contains("more than 7 pages")
    ));
    assert_eq!(count(&server, |asked| asked.path == DATA_UPLOADS), 7);
}

#[tokio::test]
async fn a_small_answer_that_unpacks_to_a_large_one_does_not_overrun_the_time_limit() {
    // Far more than any machine unpacks within the limit.
    let blanks = " ".repeat(96 << 20);
    let bomb = Reply::json(200, blanks).gzip();
    let server = Server::http(move |_| bomb.clone());
    let options = CollectOptions {
        time_limit: Duration::from_millis(20),
        request_timeout: Duration::ZERO,
        ..CollectOptions::default()
    };
    let result = cluster(&flags(&server, "velero"))
        .await
        .collect(&options, &quiet)
        .await;
    assert!(
        matches!(result, Err(CollectError::Timeout { .. })),
        "{result:?}"
    );
}
