//! Reads a live cluster: whole lists, a few at a time, within a time limit.
//!
//! Nothing is asked for per object, nothing is sent but GET, and nothing is repeated in silence. What
//! could not be read becomes a refusal in the capture; only a cluster that answers nothing at all is an
//! error.
//!
//! ```text
//!                                       lists (≤ 5 in flight)
//! connect ─► Cluster ── collect ─► find Velero ─┬─► Velero's own namespace, Nodes ─────────┬─► Capture
//!                                               ├─► DataUploads ─► their VolumeSnapshots ──┤
//!                                               └─► restore tasks ─► what they write into ─┘
//! ```

mod again;
mod answer;
mod error;
mod follow;
mod glance;
mod interrupt;
mod list;
mod namespace;
mod questions;
mod request;
mod review;
mod targets;
mod traces;

#[cfg(test)]
mod tests;

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};

pub(crate) use answer::date as server_date;
pub use error::{CollectError, ErrorKind};
pub use follow::{Behind, Contact, Following, Lost, Pace};
pub use glance::{Namespaces, connect_without_login};
pub use interrupt::Interrupt;
pub(crate) use list::encode;
pub use namespace::{NamespaceChoice, NamespaceRule};
pub use request::SizeLimits;
pub use review::Review;
pub use traces::Traces;

use crate::capture::{Capture, Listing, Manifest, NowFrom, Redacted, SourceType, Text};
use crate::collect::kubectl_compat::{
    Cause, ClusterFlags, Connection, Environment, Progress, ResolvedCluster, build_client, resolve,
};
use answer::{Failure, FailureKind};
use list::Answer;
use namespace::SearchError;
use questions::ask_all;
use request::{Asker, TimeLimit};

/// A cluster that can be asked. Nothing was sent to it yet, except what a login needs.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    resolved: ResolvedCluster,
    valid_until: Option<Timestamp>,
    flags: ClusterFlags,
    env: Environment,
    interrupt: Interrupt,
}

/// How much a reading may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectOptions {
    /// Velero's namespace, if an earlier reading found it already; else it is looked for.
    pub namespace: Option<NamespaceChoice>,
    /// For the whole reading.
    pub time_limit: Duration,
    /// How much of `time_limit` went by before, such as for logging in.
    pub spent: Duration,
    /// For one request. Zero means no limit of its own, as in kubectl.
    pub request_timeout: Duration,
    /// How much it may hold.
    pub sizes: SizeLimits,
}

impl CollectOptions {
    /// The whole reading, unless `--timeout` says otherwise.
    pub const TIME_LIMIT: Duration = Duration::from_secs(30);
    /// One request, unless `--request-timeout` says otherwise.
    pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

    /// Returns the defaults, with `--request-timeout` applied.
    #[must_use]
    pub fn of_flags(flags: &ClusterFlags) -> Self {
        Self {
            request_timeout: flags.request_timeout.unwrap_or(Self::REQUEST_TIMEOUT),
            ..Self::default()
        }
    }
}

impl Default for CollectOptions {
    fn default() -> Self {
        Self {
            namespace: None,
            time_limit: Self::TIME_LIMIT,
            spent: Duration::ZERO,
            request_timeout: Self::REQUEST_TIMEOUT,
            sizes: SizeLimits::default(),
        }
    }
}

/// What a reading gave.
#[derive(Clone, Debug)]
pub struct Collected {
    /// What the server said.
    pub capture: Capture,
    /// Velero's namespace and how it was found.
    pub namespace: NamespaceChoice,
    /// How many requests were sent.
    pub requests: usize,
    /// How long it took: what is read later has the rest of the time limit.
    pub took: Duration,
}

/// Finds the cluster that the flags and the environment name, and logs in, as kubectl does. A credential
/// plugin runs at most once, with its standard error shown.
///
/// # Errors
///
/// [`CollectError::Config`] when no usable cluster is named or no credentials could be had.
pub async fn connect(
    flags: &ClusterFlags,
    env: &Environment,
    progress: Progress<'_>,
) -> Result<Cluster, CollectError> {
    Cluster::new(resolve(flags, env, progress).await?, flags, env)
}

impl Cluster {
    fn new(
        connection: Connection,
        flags: &ClusterFlags,
        env: &Environment,
    ) -> Result<Self, CollectError> {
        Ok(Self {
            client: build_client(&connection)?,
            resolved: connection.resolved,
            valid_until: connection.valid_until,
            flags: flags.clone(),
            env: env.clone(),
            interrupt: Interrupt::default(),
        })
    }

    /// Returns which cluster this is.
    #[must_use]
    pub const fn resolved(&self) -> &ResolvedCluster {
        &self.resolved
    }

    /// Lets an interrupt end readings of this cluster.
    #[must_use]
    pub fn with_interrupt(self, interrupt: &Interrupt) -> Self {
        Self {
            interrupt: interrupt.clone(),
            ..self
        }
    }

    /// Returns what ends readings of this cluster.
    #[must_use]
    pub const fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Returns the client, for what is not a list: logs, watches, actions.
    ///
    /// It never repeats a request and has no limit of its own but that for connecting: put
    /// `tokio::time::timeout` round each call, and show errors by
    /// [`error_text`](crate::collect::kubectl_compat::error_text).
    #[must_use]
    pub const fn client(&self) -> &kube::Client {
        &self.client
    }

    /// Returns whether the credential plugin must run again before another reading: its answer expires
    /// within a minute.
    #[must_use]
    pub fn needs_login(&self, now: Timestamp) -> bool {
        const MARGIN_SECONDS: i64 = 60;
        self.valid_until
            .is_some_and(|until| until.as_second() - now.as_second() < MARGIN_SECONDS)
    }

    /// Logs in again, for a long watch.
    ///
    /// # Errors
    ///
    /// As [`connect`].
    pub async fn log_in_again(&self, progress: Progress<'_>) -> Result<Self, CollectError> {
        let again = connect(&self.flags, &self.env, progress).await?;
        Ok(again.with_interrupt(&self.interrupt))
    }

    /// Finds Velero's namespace: what the user says, else where Velero is.
    ///
    /// # Errors
    ///
    /// A [`CollectError`] when Velero is nowhere or in several namespaces, when it cannot be looked for,
    /// or when the server is unusable.
    pub async fn find_namespace(
        &self,
        options: &CollectOptions,
        progress: Progress<'_>,
    ) -> Result<NamespaceChoice, CollectError> {
        let asker = self.asker(options, progress);
        with_progress(&asker, self.namespace(&asker, options)).await
    }

    /// Reads everything that a diagnosis looks at.
    ///
    /// # Errors
    ///
    /// A [`CollectError`] when Velero's namespace is not known or nothing at all was answered.
    pub async fn collect(
        &self,
        options: &CollectOptions,
        progress: Progress<'_>,
    ) -> Result<Collected, CollectError> {
        let asker = self.asker(options, progress);
        with_progress(&asker, self.read(&asker, options)).await
    }

    fn asker<'a>(&'a self, options: &CollectOptions, progress: Progress<'a>) -> Asker<'a> {
        let request_timeout = if options.request_timeout.is_zero() {
            options.time_limit
        } else {
            options.request_timeout
        };
        Asker::new(
            &self.client,
            &self.interrupt,
            progress,
            request_timeout.min(options.time_limit),
            TimeLimit {
                whole: options.time_limit,
                spent: options.spent,
            },
            options.sizes,
        )
    }

    async fn namespace(
        &self,
        asker: &Asker<'_>,
        options: &CollectOptions,
    ) -> Result<NamespaceChoice, CollectError> {
        let known = options
            .namespace
            .clone()
            .or_else(|| namespace::told(&self.flags, &self.env));
        match known {
            Some(known) => Ok(known),
            None => namespace::search(asker).await.map_err(|error| match error {
                // Where Velero is, is the first thing to know.
                _ if self.interrupt.is_raised() => CollectError::Interrupted,
                SearchError::Server(failure) => self.unusable(failure, options),
                SearchError::Collect(error) => error,
            }),
        }
    }

    async fn read(
        &self,
        asker: &Asker<'_>,
        options: &CollectOptions,
    ) -> Result<Collected, CollectError> {
        let namespace = self.namespace(asker, options).await?;
        let answers = ask_all(asker, &namespace.namespace).await;
        if asker.is_interrupted_in_vain() {
            return Err(CollectError::Interrupted);
        }
        if let Some(failure) = asker.verdict() {
            return Err(self.unusable(failure, options));
        }
        Ok(Collected {
            capture: self.capture(asker, answers, &namespace.namespace),
            namespace,
            requests: asker.sent(),
            took: asker.elapsed(),
        })
    }

    fn capture(&self, asker: &Asker<'_>, answers: Vec<Answer>, namespace: &str) -> Capture {
        let mut texts: Vec<Text> = Vec::new();
        let listings: Vec<Listing> = answers
            .into_iter()
            .map(|answer| answer.into_listing(&mut texts))
            .collect();
        let manifest = self.manifest(asker.server_time(), namespace);
        Capture::of_lists(manifest, texts, listings)
    }

    /// Returns when and where a capture was taken; without the server's time, now is the newest on any object.
    fn manifest(&self, taken_at: Option<Timestamp>, namespace: &str) -> Manifest {
        Manifest {
            source: SourceType::Cluster,
            taken_at,
            now_from: match taken_at {
                Some(_) => NowFrom::Server,
                None => NowFrom::NewestObject,
            },
            server: Some(self.resolved.server.clone()),
            paths: Vec::new(),
            namespace: Some(namespace.to_owned()),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            bundles: Vec::new(),
            redacted: Redacted::No,
        }
    }

    fn unusable(&self, failure: Failure, options: &CollectOptions) -> CollectError {
        let server = self.resolved.server.clone();
        let source = Cause(failure.message);
        match failure.kind {
            FailureKind::Unauthorized => CollectError::Login { server, source },
            FailureKind::NotKubernetes | FailureKind::Malformed | FailureKind::Rejected => {
                CollectError::NotKubernetes { server, source }
            }
            FailureKind::Interrupted => CollectError::Interrupted,
            FailureKind::Timeout | FailureKind::OutOfTime => CollectError::Timeout {
                server,
                limit: if options.request_timeout.is_zero() {
                    options.time_limit
                } else {
                    options.request_timeout.min(options.time_limit)
                },
            },
            FailureKind::Unavailable => CollectError::Unavailable { server, source },
            FailureKind::Unreachable
            | FailureKind::Cut
            | FailureKind::TooLarge
            | FailureKind::Forbidden
            | FailureKind::NotFound
            | FailureKind::Gone => CollectError::Unreachable { server, source },
        }
    }
}

/// Runs a reading, and says after a second, and then every five, what it waits for.
async fn with_progress<T>(asker: &Asker<'_>, work: impl Future<Output = T>) -> T {
    const FIRST: Duration = Duration::from_secs(1);
    const EACH: Duration = Duration::from_secs(5);
    let mut work = pin!(work);
    let mut next = Instant::now() + FIRST;
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = sleep_until(next) => {
                if let Some(line) = asker.waits_for() {
                    asker.say(&line);
                }
                next += EACH;
            }
        }
    }
}
