//! Following a server that misbehaves in every way an API server or a network can.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{
    AtomicUsize, CollectOptions, DATA_UPLOADS, DU, Duration, GapReason, Ordering, Outcome, PODS,
    Reply, ResourceKind, Server, cluster, flags, hurried, listing, quiet, texts,
};
use crate::collect::cluster::{Following, Pace};

/// Whoever waits for something here does not wait long.
const PACE: Pace = Pace {
    poll: Duration::from_millis(40),
    beat: Duration::from_millis(40),
    first_pause: Duration::from_millis(20),
    longest_pause: Duration::from_millis(80),
    grace: Duration::from_secs(60),
};
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Longer than anything takes.
const LIMIT: Duration = Duration::from_secs(60);

const UPLOAD: &str =
    r#"{"metadata":{"namespace":"velero","name":"du-1","resourceVersion":"7"},"a":1}"#;
const CHANGED: &str =
    r#"{"metadata":{"namespace":"velero","name":"du-1","resourceVersion":"8"},"a":2}"#;

fn change(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{object}}}"#)
}

async fn follow(server: &Server, pace: Pace, options: &CollectOptions) -> Following<'static> {
    cluster(&flags(server, "velero"))
        .await
        .follow(options, pace, &quiet)
        .await
        .unwrap()
}

/// Follows a server until something is so.
async fn until(following: &Following<'_>, is_so: impl Fn(&Following<'_>) -> bool) {
    let come = async {
        loop {
            let seen = following.changes();
            if is_so(following) {
                return;
            }
            // Not everything that a test asks for is a change.
            let _changed = tokio::time::timeout(LOOK, following.changed_since(seen)).await;
        }
    };
    tokio::select! {
        () = come => {}
        () = following.run() => panic!("a following has no end"),
        () = tokio::time::sleep(LIMIT) => panic!("it did not come about: {:?}", following.contact()),
    }
}

fn uploads(following: &Following<'_>) -> Vec<String> {
    let capture = following.capture();
    texts(&capture, listing(&capture, DU))
        .into_iter()
        .map(str::to_owned)
        .collect()
}

fn is_watch(asked: &super::Asked) -> bool {
    asked.query("watch") == "true"
}

/// Answers everything but the list and the watch of DataUploads.
fn other(asked: &super::Asked) -> Reply {
    if is_watch(asked) {
        Reply::watch(&[])
    } else if asked.path == DATA_UPLOADS {
        Reply::list(&[UPLOAD], "")
    } else {
        Reply::empty()
    }
}

#[tokio::test]
async fn a_change_is_seen_without_another_list() {
    let server = Server::http(|asked| {
        if asked.path == DATA_UPLOADS && is_watch(asked) {
            Reply::watch(&[&change("MODIFIED", CHANGED)])
        } else {
            other(asked)
        }
    });
    let following = follow(&server, PACE, &CollectOptions::default()).await;
    assert_eq!(uploads(&following), [UPLOAD]);
    until(&following, |following| uploads(following) == [CHANGED]).await;
    assert!(following.contact().is_current());
    let asked = server.asked();
    let of_uploads: Vec<_> = asked
        .iter()
        .filter(|asked| asked.path == DATA_UPLOADS)
        .collect();
    assert_eq!(
        of_uploads.iter().filter(|asked| !is_watch(asked)).count(),
        1
    );
    let watch = of_uploads.iter().find(|asked| is_watch(asked)).unwrap();
    assert_eq!(watch.query("resourceVersion"), "7");
    assert_eq!(watch.query("allowWatchBookmarks"), "true");
}

#[tokio::test]
async fn what_is_deleted_is_gone_and_what_is_new_is_there() {
    let new = UPLOAD.replace("du-1", "du-2");
    let changes = [change("DELETED", CHANGED), change("ADDED", &new)];
    let server = Server::http(move |asked| {
        if asked.path == DATA_UPLOADS && is_watch(asked) {
            Reply::watch(&[&changes[0], &changes[1]])
        } else {
            other(asked)
        }
    });
    let following = follow(&server, PACE, &CollectOptions::default()).await;
    let new = UPLOAD.replace("du-1", "du-2");
    until(&following, |following| uploads(following) == [new.clone()]).await;
}

#[tokio::test]
async fn a_capture_of_a_following_is_that_of_a_reading() {
    let server = Server::http(other);
    let read = cluster(&flags(&server, "velero"))
        .await
        .collect(&CollectOptions::default(), &quiet)
        .await
        .unwrap()
        .capture;
    let following = follow(&server, PACE, &CollectOptions::default()).await;
    let followed = following.capture();
    assert_eq!(followed.manifest, read.manifest);
    let of = |capture: &crate::capture::Capture| {
        let mut all: Vec<_> = capture
            .listings
            .iter()
            .map(|listing| {
                let texts: Vec<String> = (texts(capture, listing).into_iter())
                    .map(str::to_owned)
                    .collect();
                (listing.resource, listing.scope.clone(), texts)
            })
            .collect();
        all.sort();
        all
    };
    assert_eq!(of(&followed), of(&read));
}

#[tokio::test]
async fn without_the_right_to_watch_a_list_is_read_again_and_again() {
    let lists = AtomicUsize::new(0);
    let server = Server::http(move |asked| {
        if asked.path != DATA_UPLOADS {
            other(asked)
        } else if is_watch(asked) {
            Reply::forbidden()
        } else if lists.fetch_add(1, Ordering::SeqCst) < 3 {
            Reply::list(&[UPLOAD], "")
        } else {
            Reply::list(&[CHANGED], "")
        }
    });
    let following = follow(&server, PACE, &CollectOptions::default()).await;
    until(&following, |following| uploads(following) == [CHANGED]).await;
    let contact = following.contact();
    assert_eq!(contact.polled, [DU]);
    assert!(contact.is_current());
    let watches = server.asked();
    let watches = watches
        .iter()
        .filter(|asked| asked.path == DATA_UPLOADS && is_watch(asked));
    assert_eq!(watches.count(), 1, "a refusal is not asked for twice");
}

#[tokio::test]
async fn a_list_that_may_not_be_read_is_a_refusal_and_no_empty_list() {
    let server = Server::http(|asked| match asked.path.as_str() {
        PODS => Reply::forbidden(),
        _ => other(asked),
    });
    let following = follow(&server, PACE, &CollectOptions::default()).await;
    until(&following, |following| following.requests() > 40).await;
    let capture = following.capture();
    assert!(matches!(
        listing(&capture, ResourceKind::Pod).outcome,
        Outcome::Refused {
            reason: GapReason::Forbidden,
            ..
        }
    ));
    assert!(
        following.contact().is_current(),
        "a refusal is nothing to wait for"
    );
}

#[tokio::test]
async fn an_expired_version_lets_the_list_be_read_anew() {
    let lists = AtomicUsize::new(0);
    let server = Server::http(move |asked| {
        if asked.path != DATA_UPLOADS {
            other(asked)
        } else if !is_watch(asked) {
            match lists.fetch_add(1, Ordering::SeqCst) {
                0 => Reply::list(&[UPLOAD], ""),
                _ => Reply::list(&[CHANGED], ""),
            }
        } else if lists.load(Ordering::SeqCst) == 1 {
            Reply::ended_watch(&[
                r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#,
            ])
        } else {
            Reply::watch(&[])
        }
    });
    let following = follow(&server, PACE, &CollectOptions::default()).await;
    until(&following, |following| uploads(following) == [CHANGED]).await;
    until(&following, |following| following.contact().is_current()).await;
}

#[tokio::test]
async fn a_watch_that_breaks_off_goes_on_from_where_it_was() {
    let watches = AtomicUsize::new(0);
    let bookmark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"30"}}}"#;
    let server = Server::http(move |asked| {
        if asked.path != DATA_UPLOADS || !is_watch(asked) {
            return other(asked);
        }
        match watches.fetch_add(1, Ordering::SeqCst) {
            // Twice the length, of which half is sent.
            0 => Reply::ended_watch(&[bookmark, bookmark]).cut(),
            _ => Reply::watch(&[&change("MODIFIED", CHANGED)]),
        }
    });
    let following = follow(&server, PACE, &CollectOptions::default()).await;
    until(&following, |following| uploads(following) == [CHANGED]).await;
    let asked = server.asked();
    let versions: Vec<&str> = asked
        .iter()
        .filter(|asked| asked.path == DATA_UPLOADS && is_watch(asked))
        .map(|asked| asked.query("resourceVersion"))
        .collect();
    assert_eq!(versions, ["7", "30"]);
}

#[tokio::test]
async fn a_list_that_stays_behind_is_told_as_a_part_and_never_as_nothing() {
    let server = Server::http(|asked| {
        if asked.path == DATA_UPLOADS && is_watch(asked) {
            Reply::status(503, "ServiceUnavailable", "not now")
        } else {
            other(asked)
        }
    });
    let pace = Pace {
        grace: Duration::ZERO,
        ..PACE
    };
    let following = follow(&server, pace, &CollectOptions::default()).await;
    until(&following, |following| {
        let capture = following.capture();
        matches!(
            &listing(&capture, DU).outcome,
            Outcome::Cut { items, reason: GapReason::Partial, message }
                if items.len() == 1 && message.starts_with("not followed since 2026-01-02T03:04:")
                    && message.ends_with("not now")
        )
    })
    .await;
    let contact = following.contact();
    assert!(!contact.is_current());
    assert_eq!(contact.lost, None, "the server answers other questions");
}

#[tokio::test]
async fn while_the_server_is_silent_the_answer_stays_that_of_the_moment_before() {
    let is_dead = Arc::new(AtomicBool::new(false));
    let dead = Arc::clone(&is_dead);
    let server = Server::http(move |asked| {
        if dead.load(Ordering::SeqCst) {
            Reply::silence()
        } else if is_watch(asked) {
            // So that every watch meets the silence.
            Reply::ended_watch(&[])
        } else {
            other(asked)
        }
    });
    let pace = Pace {
        grace: Duration::ZERO,
        ..PACE
    };
    let following = follow(&server, pace, &hurried()).await;
    is_dead.store(true, Ordering::SeqCst);
    until(&following, |following| following.contact().lost.is_some()).await;
    let lost = following.contact().lost.unwrap();
    assert_eq!(lost.since, "2026-01-02T03:04:05Z".parse().ok());
    let capture = following.capture();
    assert_eq!(capture.manifest.taken_at, lost.since);
    assert_eq!(listing(&capture, DU).outcome.items().len(), 1);
    assert!(matches!(listing(&capture, DU).outcome, Outcome::Listed(_)));
    is_dead.store(false, Ordering::SeqCst);
    until(&following, |following| following.contact().lost.is_none()).await;
}

#[tokio::test]
async fn a_server_that_cannot_be_read_at_all_is_the_same_error_as_for_a_reading() {
    let server = Server::http(|_| Reply::silence());
    let error = cluster(&flags(&server, "velero"))
        .await
        .follow(&hurried(), PACE, &quiet)
        .await
        .err()
        .unwrap();
    assert_eq!(error.kind(), super::ErrorKind::Timeout);
}

#[tokio::test]
async fn what_tasks_name_elsewhere_is_listed_when_they_begin_to_name_it() {
    let waiting = r#"{"metadata":{"namespace":"velero","name":"du-1","resourceVersion":"8"},"spec":{"sourceNamespace":"app"},"status":{"phase":"Accepted"}}"#;
    let server = Server::http(move |asked| {
        if asked.path == DATA_UPLOADS && is_watch(asked) {
            Reply::watch(&[&change("MODIFIED", waiting)])
        } else if asked.path == super::SNAPSHOTS {
            Reply::list(&[r#"{"metadata":{"namespace":"app","name":"snap"}}"#], "")
        } else {
            other(asked)
        }
    });
    let following = follow(&server, PACE, &CollectOptions::default()).await;
    let snapshots = |following: &Following<'_>| {
        let capture = following.capture();
        capture
            .listings
            .iter()
            .filter(|listing| listing.resource == ResourceKind::VolumeSnapshot)
            .map(|listing| texts(&capture, listing).len())
            .sum::<usize>()
    };
    assert_eq!(snapshots(&following), 0);
    until(&following, |following| snapshots(following) == 1).await;
}

#[tokio::test]
async fn nothing_is_asked_for_per_object() {
    let many: Vec<String> = (0..50)
        .map(|number| UPLOAD.replace("du-1", &format!("du-{number}")))
        .collect();
    let server = Server::http(move |asked| {
        if asked.path == DATA_UPLOADS && !is_watch(asked) {
            let objects: Vec<&str> = many.iter().map(String::as_str).collect();
            Reply::list(&objects, "")
        } else {
            other(asked)
        }
    });
    let pace = Pace {
        beat: Duration::from_secs(5),
        ..PACE
    };
    let following = follow(&server, pace, &CollectOptions::default()).await;
    let lists = following.requests();
    until(&following, |following| following.requests() > 2 * lists).await;
    for asked in server.asked() {
        assert_eq!(asked.method, "GET");
        assert!(!asked.path.contains("du-"), "{}", asked.path);
    }
    // A list and a watch for each, and whether the server is there.
    assert_eq!(following.requests(), 2 * lists + 1);
}
