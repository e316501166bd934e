//! Follows a live cluster: lists once, then watches, and gives a [`Capture`] of the present whenever one is
//! asked for.
//!
//! ```text
//!  list ─► Store ◄─ watch ─┐            a Capture like that of a single reading
//!            │             │ cut: again from the last version
//!            └─► capture() │ expired: list again        refused: list every few seconds
//! ```
//!
//! Nothing is interpreted and nothing is asked for per object. What is outside Velero's namespace depends on what
//! the tasks name, and is listed again every few seconds while they name something. What cannot be followed for a
//! while is told as a part that may be old, and never as nothing; while the server is silent altogether, the
//! capture stays that of the last moment at which it answered.

mod contact;
mod store;
mod stream;

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{join_all, join3};
use http::Request;
use jiff::Timestamp;
use kube::client::Body;
use tokio::sync::{Mutex, Notify, Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};

pub use contact::{Behind, Contact, Lost};

use super::answer::{Failure, FailureKind, date};
use super::error::{CollectError, seconds};
use super::list::{Answer, Depth, Narrowed, list, watch_path};
use super::namespace::NamespaceChoice;
use super::questions::{self, Named, ask_named};
use super::request::MOST_IN_FLIGHT;
use super::{Cluster, CollectOptions, with_progress};
use crate::capture::{
    Capture, Listing, Manifest, NowFrom, Outcome, Redacted, ResourceKind, SourceType, Text,
};
use crate::collect::kubectl_compat::{Progress, error_text};
use contact::{Clock, Link};
use store::{Changed, Store};
use stream::Watch;

/// How fast a following is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two readings of a list that may not be watched, and of what tasks name elsewhere.
    pub poll: Duration,
    /// Between two questions whether the server is there.
    pub beat: Duration,
    /// The first pause after a failure; it doubles.
    pub first_pause: Duration,
    /// The longest pause after failures.
    pub longest_pause: Duration,
    /// How long a list may be behind before it is told as a part: shorter than any time that a rule looks at.
    pub grace: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(5),
            beat: Duration::from_secs(10),
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            grace: Duration::from_secs(15),
        }
    }
}

/// A watch that ends earlier was cut off by something that will do so again.
const SHORT_WATCH: Duration = Duration::from_secs(5);
/// After how many failures of a watch its list is read again: the version may be one that the server, restored
/// from a backup, has never heard of.
const MOST_FAILURES: u32 = 3;
/// The server ends a watch after this long, and a little later for each further list, so that they are not all
/// taken up again at once.
const WATCH_SECONDS: u64 = 270;
/// Between two logins.
const LOGIN_EACH: Duration = Duration::from_secs(60);
/// The API server gets at least this many times the duration of a reading as a pause after it.
const REST: u32 = 4;
/// Changes come in bursts: they are looked at together.
const BURST: Duration = Duration::from_millis(50);

/// What is kept of one list.
struct Feed {
    store: RefCell<Store>,
    link: RefCell<Link>,
}

/// What tasks name outside Velero's namespace, as it was listed last.
#[derive(Default)]
struct Elsewhere {
    named: Named,
    texts: Vec<Text>,
    listings: Vec<Listing>,
}

/// A cluster that is followed. Nothing moves unless [`run`](Self::run) is polled.
pub struct Following<'a> {
    cluster: RefCell<Rc<Cluster>>,
    progress: Progress<'a>,
    options: CollectOptions,
    pace: Pace,
    namespace: NamespaceChoice,
    feeds: Vec<Feed>,
    elsewhere: RefCell<Elsewhere>,
    clock: Clock,
    lost: RefCell<Option<Silence>>,
    /// Counts what a reader of captures would want to see.
    changes: watch::Sender<u64>,
    /// Tasks changed: what they name may have, too.
    tasks_changed: Notify,
    /// A connection failed: is the server still there?
    doubt: Notify,
    /// The server is back: connections that look alive may not be.
    round: watch::Sender<u64>,
    lists: Semaphore,
    logged_in: Mutex<Option<Instant>>,
    requests: Cell<usize>,
}

/// The server does not answer, or has just begun to.
struct Silence {
    /// The last moment at which it answered.
    since: Option<Timestamp>,
    why: String,
    /// Since when it answers again; the lists are not yet what they are there.
    back: Option<Instant>,
}

impl Cluster {
    /// Reads a cluster and goes on following it.
    ///
    /// # Errors
    ///
    /// Those of [`Cluster::collect`]: what fails later is told by [`Following::contact`].
    pub async fn follow<'a>(
        &self,
        options: &CollectOptions,
        pace: Pace,
        progress: Progress<'a>,
    ) -> Result<Following<'a>, CollectError> {
        let asker = self.asker(options, progress);
        with_progress(&asker, async {
            let namespace = self.namespace(&asker, options).await?;
            let everything = Narrowed::default();
            let questions = questions::of_installation(&namespace.namespace);
            let answers = questions
                .iter()
                .map(|question| list(&asker, question.clone(), &everything, Depth::Everything));
            let answers: Vec<Answer> = join_all(answers).await;
            if asker.is_interrupted_in_vain() {
                return Err(CollectError::Interrupted);
            }
            if let Some(failure) = asker.verdict() {
                return Err(self.unusable(failure, options));
            }
            let feeds: Vec<Feed> = answers
                .iter()
                .map(|answer| {
                    let mut store = Store::new(answer.question.clone());
                    store.take(answer);
                    Feed {
                        store: RefCell::new(store),
                        link: RefCell::default(),
                    }
                })
                .collect();
            let following = Following {
                cluster: RefCell::new(Rc::new(self.clone())),
                progress,
                options: options.clone(),
                pace,
                namespace,
                feeds,
                elsewhere: RefCell::default(),
                clock: Clock::default(),
                lost: RefCell::default(),
                changes: watch::Sender::new(0),
                tasks_changed: Notify::new(),
                doubt: Notify::new(),
                round: watch::Sender::new(0),
                lists: Semaphore::new(MOST_IN_FLIGHT),
                logged_in: Mutex::new(None),
                requests: Cell::new(0),
            };
            let named = following.named();
            let elsewhere = ask_named(&asker, &following.namespace.namespace, &named).await;
            following.set_elsewhere(named, elsewhere);
            following.clock.tell(asker.server_time());
            following.requests.set(asker.sent());
            Ok(following)
        })
        .await
    }
}

impl Following<'_> {
    /// Returns Velero's namespace and how it was found.
    #[must_use]
    pub const fn namespace(&self) -> &NamespaceChoice {
        &self.namespace
    }

    /// Returns the cluster, logged in.
    #[must_use]
    pub fn cluster(&self) -> Rc<Cluster> {
        Rc::clone(&self.cluster.borrow())
    }

    /// Returns the server's time, if it tells any.
    #[must_use]
    pub fn now(&self) -> Option<Timestamp> {
        match &*self.lost.borrow() {
            Some(silence) => silence.since,
            None => self.clock.now(),
        }
    }

    /// Returns a number that grows whenever something changed.
    #[must_use]
    pub fn changes(&self) -> u64 {
        *self.changes.borrow()
    }

    /// Waits until something has changed since a number of [`Self::changes`].
    pub async fn changed_since(&self, seen: u64) {
        let mut changes = self.changes.subscribe();
        if changes.wait_for(|count| *count != seen).await.is_err() {
            // The sender is our own, and so never gone.
            pending::<()>().await;
        }
    }

    /// Returns how many requests were sent.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.get()
    }

    /// Keeps everything up to date. It never ends by itself.
    pub async fn run(&self) {
        let feeds = self
            .feeds
            .iter()
            .enumerate()
            .map(|(place, feed)| self.keep(place, feed));
        join3(join_all(feeds), self.keep_elsewhere(), self.beat()).await;
    }

    /// Returns what is known now.
    #[must_use]
    pub fn capture(&self) -> Capture {
        let mut texts = Vec::new();
        let mut listings: Vec<Listing> = self
            .feeds
            .iter()
            .map(|feed| {
                let behind = self.told_behind(&feed.link.borrow());
                feed.store.borrow().listing(behind, &mut texts)
            })
            .collect();
        let elsewhere = self.elsewhere.borrow();
        let before = texts.len();
        texts.extend(elsewhere.texts.iter().cloned());
        listings.extend(
            elsewhere
                .listings
                .iter()
                .map(|listing| moved(listing, before)),
        );
        Capture {
            manifest: self.manifest(),
            texts,
            listings,
            earlier: Vec::new(),
            logs: Vec::new(),
            metrics: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Returns when and where that is.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        let taken_at = self.now();
        Manifest {
            source: SourceType::Cluster,
            taken_at,
            now_from: match taken_at {
                Some(_) => NowFrom::Server,
                None => NowFrom::NewestObject,
            },
            server: Some(self.cluster().resolved().server.clone()),
            paths: Vec::new(),
            namespace: Some(self.namespace.namespace.clone()),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            bundles: Vec::new(),
            redacted: Redacted::No,
        }
    }

    /// Returns how the following goes.
    #[must_use]
    pub fn contact(&self) -> Contact {
        let mut contact = Contact {
            lost: self.lost.borrow().as_ref().map(|silence| Lost {
                since: silence.since,
                why: silence.why.clone(),
            }),
            ..Contact::default()
        };
        for feed in &self.feeds {
            let resource = feed.store.borrow().question.resource;
            match &*feed.link.borrow() {
                Link::Watching => contact.watched += 1,
                Link::Polling => contact.polled.push(resource),
                Link::Refused => {}
                Link::Behind { since, why, .. } => contact.behind.push(Behind {
                    resource,
                    since: *since,
                    why: why.clone(),
                }),
            }
        }
        contact
    }

    /// Returns the reason for which a list is told as a part, if it is.
    fn told_behind(&self, link: &Link) -> Option<String> {
        // While the server is silent, everything is as of the moment before.
        if self.lost.borrow().is_some() {
            return None;
        }
        match link {
            Link::Behind { since, from, why } if from.elapsed() > self.pace.grace => {
                let since = since.map_or_else(|| "a while".to_owned(), |since| since.to_string());
                Some(format!("not followed since {since}: {why}"))
            }
            Link::Behind { .. } | Link::Watching | Link::Polling | Link::Refused => None,
        }
    }

    fn publish(&self) {
        self.changes
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Publishes that a list changed, once what its tasks name elsewhere is known as well.
    fn publish_change(&self, resource: ResourceKind) {
        match resource {
            ResourceKind::Task(_) => self.tasks_changed.notify_one(),
            ResourceKind::Backup
            | ResourceKind::Restore
            | ResourceKind::Pod
            | ResourceKind::Node
            | ResourceKind::DaemonSet
            | ResourceKind::Deployment
            | ResourceKind::ConfigMap
            | ResourceKind::PersistentVolumeClaim
            | ResourceKind::VolumeSnapshot
            | ResourceKind::Event => self.publish(),
        }
    }

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
    async fn keep(&self, place: usize, feed: &Feed) {
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

    fn bytes(&self) -> usize {
        self.feeds
            .iter()
            .map(|feed| feed.store.borrow().bytes())
            .sum()
    }

    fn request_timeout(&self) -> Duration {
        if self.options.request_timeout.is_zero() {
            self.options.time_limit
        } else {
            self.options.request_timeout
        }
    }

    /// Returns what the tasks name outside Velero's namespace.
    fn named(&self) -> Named {
        let stores: Vec<_> = self.feeds.iter().map(|feed| feed.store.borrow()).collect();
        let tasks = stores
            .iter()
            .filter_map(|store| match store.question.resource {
                ResourceKind::Task(kind) => Some((kind, store)),
                ResourceKind::Backup
                | ResourceKind::Restore
                | ResourceKind::Pod
                | ResourceKind::Node
                | ResourceKind::DaemonSet
                | ResourceKind::Deployment
                | ResourceKind::ConfigMap
                | ResourceKind::PersistentVolumeClaim
                | ResourceKind::VolumeSnapshot
                | ResourceKind::Event => None,
            });
        Named::of_tasks(
            tasks.flat_map(|(kind, store)| store.objects().map(move |json| (kind, json))),
        )
    }

    fn set_elsewhere(&self, named: Named, answers: Vec<Answer>) -> Changed {
        let mut elsewhere = Elsewhere {
            named,
            ..Elsewhere::default()
        };
        for answer in answers {
            let listing = answer.into_listing(&mut elsewhere.texts);
            elsewhere.listings.push(listing);
        }
        let old = self.elsewhere.replace(elsewhere);
        let new = self.elsewhere.borrow();
        let is_same = old.listings == new.listings
            && (old.texts.iter().map(|text| &text.body))
                .eq(new.texts.iter().map(|text| &text.body));
        if is_same { Changed::No } else { Changed::Yes }
    }

    /// Lists what tasks name outside Velero's namespace: at once when they name something else, and every few
    /// seconds while they name anything.
    async fn keep_elsewhere(&self) {
        let mut asked = Instant::now();
        let mut took = Duration::ZERO;
        loop {
            let each = self.pace.poll.max(took * REST);
            let changed = tokio::select! {
                biased;
                () = self.tasks_changed.notified() => Changed::Yes,
                () = tokio::time::sleep_until(asked + each) => Changed::No,
            };
            if changed == Changed::Yes {
                sleep(BURST).await;
            }
            let began = Instant::now();
            let named = self.named();
            let is_new = named != self.elsewhere.borrow().named;
            let is_due = asked.elapsed() >= each && named != Named::default();
            let mut shown = changed;
            if is_new || is_due {
                asked = began;
                if let Ok(_permit) = self.lists.acquire().await {
                    self.renew_login().await;
                    let cluster = self.cluster();
                    let quiet = |_: &str| {};
                    let asker = cluster.asker(&self.options, &quiet);
                    let answers = ask_named(&asker, &self.namespace.namespace, &named).await;
                    self.requests.set(self.requests.get() + asker.sent());
                    // A server that says nothing leaves what was known.
                    if asker.verdict().is_none() {
                        if self.set_elsewhere(named, answers) == Changed::Yes {
                            shown = Changed::Yes;
                        }
                    } else {
                        self.doubt.notify_one();
                    }
                }
                took = began.elapsed();
            } else if asked.elapsed() >= each {
                asked = began;
            }
            if shown == Changed::Yes {
                self.publish();
            }
            // Changes without an end must not keep the machine busy with reading tasks.
            sleep(began.elapsed().min(self.pace.poll) * REST).await;
        }
    }

    /// Asks every few seconds whether the server is there: a connection that is cut off without a word looks like
    /// one on which nothing changes.
    async fn beat(&self) {
        let mut failures = 0_u32;
        loop {
            match self.ask_whether_there().await {
                Ok(()) => {
                    failures = 0;
                    self.server_is_back();
                    tokio::select! {
                        () = sleep(self.pace.beat) => {}
                        () = self.doubt.notified() => sleep(BURST).await,
                    }
                }
                Err(why) => {
                    failures += 1;
                    self.server_is_silent(why);
                    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
                    sleep(
                        self.pace
                            .first_pause
                            .saturating_mul(doubled)
                            .min(self.pace.beat),
                    )
                    .await;
                }
            }
        }
    }

    /// Asks for the server's version, which everybody may know, and for its time on the way.
    async fn ask_whether_there(&self) -> Result<(), String> {
        self.renew_login().await;
        let request = Request::get("/version")
            .body(Body::empty())
            .map_err(|error| error_text(&error))?;
        let limit = self.request_timeout().min(self.pace.beat);
        self.requests.set(self.requests.get() + 1);
        let cluster = self.cluster();
        let answer = timeout(limit, cluster.client().send(request)).await;
        let response = answer
            .map_err(|_elapsed| format!("no answer within {}", seconds(limit)))?
            .map_err(|error| error_text(&error))?;
        let status = response.status();
        if status == http::StatusCode::UNAUTHORIZED {
            self.log_in_again().await;
        }
        if status.is_server_error() || status.is_redirection() {
            return Err(format!("HTTP {status}"));
        }
        self.clock.tell(date(response.headers()));
        // The rest of the answer is read, so that the connection can be used again.
        let read = timeout(limit, response.into_body().collect_bytes()).await;
        match read {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error_text(&error)),
            Err(_elapsed) => Err(format!("no answer within {}", seconds(limit))),
        }
    }

    fn server_is_silent(&self, why: String) {
        let since = match &*self.lost.borrow() {
            Some(silence) => silence.since,
            None => self.clock.last_told().or_else(|| self.clock.now()),
        };
        self.lost.replace(Some(Silence {
            since,
            why,
            back: None,
        }));
        self.publish();
    }

    fn server_is_back(&self) {
        let was_silent = match &mut *self.lost.borrow_mut() {
            Some(silence) if silence.back.is_none() => {
                silence.back = Some(Instant::now());
                true
            }
            Some(_) | None => false,
        };
        if was_silent {
            for feed in &self.feeds {
                feed.link.borrow_mut().doubt(self.clock.now());
            }
            self.round
                .send_modify(|round| *round = round.wrapping_add(1));
        }
        self.end_silence();
    }

    /// Ends a silence when the server is back and the lists are up to date again, or late beyond patience.
    fn end_silence(&self) {
        let is_over = match &*self.lost.borrow() {
            Some(Silence {
                back: Some(back), ..
            }) => {
                let any_behind = (self.feeds.iter())
                    .any(|feed| matches!(&*feed.link.borrow(), Link::Behind { .. }));
                !any_behind || back.elapsed() > self.pace.grace
            }
            Some(Silence { back: None, .. }) | None => false,
        };
        if is_over {
            self.lost.replace(None);
            self.publish();
        }
    }

    /// Logs in again before the credentials expire.
    async fn renew_login(&self) {
        let expires = self
            .clock
            .now()
            .is_some_and(|now| self.cluster().needs_login(now));
        if expires {
            self.log_in_again().await;
        }
    }

    /// Logs in again, if that was not tried a moment ago. Without success the old credentials stay: the server's
    /// refusal says the rest.
    async fn log_in_again(&self) {
        let mut last = self.logged_in.lock().await;
        if last.is_some_and(|last| last.elapsed() < LOGIN_EACH) {
            return;
        }
        *last = Some(Instant::now());
        match self.cluster().log_in_again(self.progress).await {
            Ok(cluster) => {
                self.cluster.replace(Rc::new(cluster));
            }
            Err(error) => (self.progress)(&format!("cannot log in again: {}", error_text(&error))),
        }
    }
}

/// Copies a listing whose texts stand elsewhere now.
fn moved(listing: &Listing, by: usize) -> Listing {
    let mut listing = listing.clone();
    let items = match &mut listing.outcome {
        Outcome::Listed(items) | Outcome::Cut { items, .. } => items,
        Outcome::Refused { .. } => return listing,
    };
    for item in items {
        item.text += by;
    }
    listing
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
