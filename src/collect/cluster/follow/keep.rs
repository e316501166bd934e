//! One list, kept up to date: by a watch, or by being read again and again.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::answer::{Failure, FailureKind};
use super::super::list::{Depth, Narrowed, list, watch_path};
use super::contact::Link;
use super::store::Changed;
use super::stream::Watch;
use super::{Feed, Following, REST};

/// A watch that ends earlier was cut off by something that will do so again.
const SHORT_WATCH: Duration = Duration::from_secs(5);
/// After how many failures of a watch its list is read again: the version may be one that the server, restored
/// from a backup, has never heard of.
const MOST_FAILURES: u32 = 3;
/// The server ends a watch after this long, and a little later for each further list, so that they are not all
/// taken up again at once.
const WATCH_SECONDS: u64 = 270;

impl Following<'_> {
    fn set_link(&self, feed: &Feed, link: Link) {
        let news = !feed.link.borrow().is_like(&link);
        feed.link.replace(link);
        if news {
            self.publish();
        }
        self.end_silence();
    }

    /// Tells that a list is behind; since when, if that is not known yet.
    fn set_behind(&self, feed: &Feed, failure: &Failure) {
        let (since, from) = match &*feed.link.borrow() {
            Link::Behind { since, from, .. } => (*since, *from),
            Link::Watching | Link::Polling | Link::Refused => (self.now(), Instant::now()),
        };
        self.set_link(
            feed,
            Link::Behind {
                since,
                from,
                why: failure.message.clone(),
            },
        );
        self.doubt.notify_one();
    }

    /// Keeps one list up to date.
    pub(super) async fn keep(&self, place: usize, feed: &Feed) {
        let mut failures = 0_u32;
        let mut polls = Duration::ZERO;
        loop {
            let version = feed.store.borrow().version().map(str::to_owned);
            let Some(version) = version else {
                // Read at the start, or a moment ago, and not to its end.
                let failure = feed.store.borrow().failure().cloned();
                match failure {
                    Some(failure) => {
                        self.after_failed_list(feed, &failure);
                        failures = failures.saturating_add(1);
                        self.pause(failures, is_lasting(&failure)).await;
                    }
                    // A list without a version cannot be watched.
                    None => {
                        self.set_link(feed, Link::Polling);
                        sleep(self.pace.poll.max(polls * REST)).await;
                    }
                }
                polls = self.list(feed).await;
                continue;
            };
            if matches!(&*feed.link.borrow(), Link::Polling) {
                sleep(self.pace.poll.max(polls * REST)).await;
                polls = self.list(feed).await;
                if feed.store.borrow().failure().is_none() {
                    failures = 0;
                }
                continue;
            }
            let began = Instant::now();
            let end = self.watch(place, feed, &version).await;
            if began.elapsed() > SHORT_WATCH {
                failures = 0;
            }
            match end {
                // The server is back, and the watch was granted before: whether it is still one is not known.
                End::Doubted => {}
                End::Over if began.elapsed() > SHORT_WATCH => {}
                // What stands in between cuts off what is quiet for long. If there is more to it, the next watch
                // is not granted.
                End::Failed(failure)
                    if failure.kind == FailureKind::Cut && began.elapsed() > SHORT_WATCH =>
                {
                    self.doubt.notify_one();
                }
                End::Over => {
                    failures = failures.saturating_add(1);
                    self.pause(failures, Lasting::No).await;
                }
                End::Failed(failure) => match failure.kind {
                    FailureKind::Gone => {
                        feed.store.borrow_mut().expire();
                        self.list(feed).await;
                    }
                    // Lists may be allowed all the same.
                    FailureKind::Forbidden | FailureKind::NotFound | FailureKind::Rejected => {
                        self.set_link(feed, Link::Polling);
                        self.list(feed).await;
                    }
                    FailureKind::Unauthorized
                    | FailureKind::Unavailable
                    | FailureKind::Malformed
                    | FailureKind::NotKubernetes
                    | FailureKind::Timeout
                    | FailureKind::OutOfTime
                    | FailureKind::Interrupted
                    | FailureKind::Unreachable
                    | FailureKind::Cut
                    | FailureKind::TooLarge => {
                        if failure.kind == FailureKind::Unauthorized {
                            self.log_in_again().await;
                        }
                        self.set_behind(feed, &failure);
                        failures = failures.saturating_add(1);
                        self.pause(failures, Lasting::No).await;
                        if failures.is_multiple_of(MOST_FAILURES) {
                            self.list(feed).await;
                        }
                    }
                },
            }
        }
    }

    fn after_failed_list(&self, feed: &Feed, failure: &Failure) {
        match is_lasting(failure) {
            Lasting::Yes => self.set_link(feed, Link::Refused),
            Lasting::No => self.set_behind(feed, failure),
        }
    }

    /// Waits after a failure, but not beyond the moment at which the server is back.
    async fn pause(&self, failures: u32, lasting: Lasting) {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
        let pause = match lasting {
            Lasting::Yes => self.pace.longest_pause,
            Lasting::No => {
                (self.pace.first_pause.saturating_mul(doubled)).min(self.pace.longest_pause)
            }
        };
        let mut rounds = self.round.subscribe();
        tokio::select! {
            biased;
            _ = rounds.changed() => {}
            () = sleep(pause) => {}
        }
    }

    /// Reads a list anew. Returns how long it took.
    async fn list(&self, feed: &Feed) -> Duration {
        let Ok(_permit) = self.lists.acquire().await else {
            return Duration::ZERO;
        };
        self.renew_login().await;
        let began = Instant::now();
        let cluster = self.cluster();
        let quiet = |_: &str| {};
        let asker = cluster.asker(&self.options, &quiet);
        let question = feed.store.borrow().question.clone();
        let resource = question.resource;
        let answer = list(&asker, question, &Narrowed::default(), Depth::Everything).await;
        self.requests.set(self.requests.get() + asker.sent());
        self.clock.tell(asker.server_time());
        feed.store.borrow_mut().take(&answer);
        match &answer.failure {
            None => {
                // Whether it may be watched is known when it was tried.
                if !matches!(&*feed.link.borrow(), Link::Polling) {
                    self.set_link(feed, Link::Watching);
                }
            }
            Some(failure) => {
                if failure.kind == FailureKind::Unauthorized {
                    self.log_in_again().await;
                }
                self.after_failed_list(feed, failure);
            }
        }
        self.publish_change(resource);
        began.elapsed()
    }

    /// Follows a list from a version on, until the watch ends.
    async fn watch(&self, place: usize, feed: &Feed, version: &str) -> End {
        self.renew_login().await;
        let mut rounds = self.round.subscribe();
        let more = u64::try_from(place).unwrap_or_default();
        let question = feed.store.borrow().question.clone();
        let resource = question.resource;
        let path = watch_path(&question, version, WATCH_SECONDS + 10 * more);
        let cluster = self.cluster();
        self.requests.set(self.requests.get() + 1);
        let opened = Watch::open(
            cluster.client(),
            &path,
            self.request_timeout(),
            self.options.sizes.page_bytes,
        );
        let mut watch = match opened.await {
            Ok(watch) => watch,
            Err(failure) => return End::Failed(failure),
        };
        self.clock.tell(watch.date);
        self.set_link(feed, Link::Watching);
        loop {
            let next = tokio::select! {
                biased;
                _ = rounds.changed() => return End::Doubted,
                next = watch.next() => next,
            };
            match next {
                None => return End::Over,
                Some(Err(failure)) => return End::Failed(failure),
                Some(Ok(change)) => {
                    if feed.store.borrow_mut().apply(change) == Changed::Yes {
                        self.publish_change(resource);
                    }
                    if self.bytes() > self.options.sizes.total_bytes {
                        return End::Failed(Failure::new(
                            FailureKind::TooLarge,
                            "everything together is larger than is read",
                        ));
                    }
                }
            }
        }
    }
}

/// How a watch ended.
enum End {
    /// As watches do after a while.
    Over,
    /// With a reason.
    Failed(Failure),
    /// The server was silent meanwhile: the watch may be dead and not know.
    Doubted,
}

/// Whether a failure will be the same in a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    Yes,
    No,
}

fn is_lasting(failure: &Failure) -> Lasting {
    match failure.kind {
        FailureKind::Forbidden
        | FailureKind::NotFound
        | FailureKind::Rejected
        | FailureKind::TooLarge => Lasting::Yes,
        FailureKind::Gone
        | FailureKind::Unauthorized
        | FailureKind::Unavailable
        | FailureKind::Malformed
        | FailureKind::NotKubernetes
        | FailureKind::Timeout
        | FailureKind::OutOfTime
        | FailureKind::Interrupted
        | FailureKind::Unreachable
        | FailureKind::Cut => Lasting::No,
    }
}
