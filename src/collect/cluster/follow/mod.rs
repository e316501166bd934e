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

mod beat;
mod contact;
mod elsewhere;
mod keep;
mod store;
mod stream;

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{join_all, join3};
use jiff::Timestamp;
use tokio::sync::{Mutex, Notify, Semaphore, watch};
use tokio::time::Instant;

pub use contact::{Behind, Contact, Lost};

use super::error::CollectError;
use super::list::{Answer, Depth, Narrowed, list};
use super::namespace::NamespaceChoice;
use super::questions::{self, Named, ask_named};
use super::request::MOST_IN_FLIGHT;
use super::{Cluster, CollectOptions, with_progress};
use crate::capture::{Capture, Listing, Manifest, Outcome, ResourceKind, Text};
use crate::collect::kubectl_compat::Progress;
use contact::{Clock, Link};
use store::Store;

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

/// The API server gets at least this many times the duration of a reading as a pause after it.
const REST: u32 = 4;

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
        Capture::of_lists(self.manifest(), texts, listings)
    }

    /// Returns when and where that is.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        self.cluster()
            .manifest(self.now(), &self.namespace.namespace)
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
        match resource.task() {
            Some(_) => self.tasks_changed.notify_one(),
            None => self.publish(),
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
