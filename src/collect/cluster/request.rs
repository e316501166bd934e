//! One GET: bounded in time, one of five at most, and never repeated in silence.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::client::Body;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};

use super::answer::{
    Failure, FailureKind, date, looks_like_html, not_kubernetes, refusal, retry_after,
};
use super::error::seconds;
use super::interrupt::Interrupt;
use crate::collect::kubectl_compat::{Progress, error_text};

/// Requests in flight at the same time. An API server in trouble must not be pushed further.
pub(super) const MOST_IN_FLIGHT: usize = 5;

/// How much a reading takes of a server. What is larger is a gap: a real cluster stays far below, and
/// what does not must not take the memory of the machine that looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SizeLimits {
    /// Bytes of one page of a list, unpacked.
    pub page_bytes: usize,
    /// Bytes of all pages together, unpacked.
    pub total_bytes: usize,
    /// Pages of one list.
    pub pages: usize,
}

impl Default for SizeLimits {
    /// A page holds 500 objects, so 128 MiB leave each a quarter of a mebibyte, and 1000 pages are half a
    /// million objects; 1 GiB is that many tasks of 2 KiB.
    fn default() -> Self {
        Self {
            page_bytes: 128 << 20,
            total_bytes: 1 << 30,
            pages: 1000,
        }
    }
}

/// The time limit of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeLimit {
    /// As the user gave it, and is told of it.
    pub(super) whole: Duration,
    /// What of it went by before the first request, such as for logging in.
    pub(super) spent: Duration,
}

/// Sends requests within the limits of one command and remembers what they have in common.
pub(super) struct Asker<'a> {
    client: &'a kube::Client,
    interrupt: &'a Interrupt,
    progress: Progress<'a>,
    request_timeout: Duration,
    time_limit: TimeLimit,
    sizes: SizeLimits,
    /// Bytes of JSON that are held, those of answers under way included.
    held: Cell<usize>,
    started: Instant,
    permits: Semaphore,
    /// What is in flight, for the progress line.
    waiting: RefCell<BTreeMap<String, usize>>,
    server_time: Cell<Option<Timestamp>>,
    answered: Cell<bool>,
    /// Why nothing was answered.
    first_failure: RefCell<Option<Failure>>,
    sent: Cell<usize>,
}

impl<'a> Asker<'a> {
    pub(super) fn new(
        client: &'a kube::Client,
        interrupt: &'a Interrupt,
        progress: Progress<'a>,
        request_timeout: Duration,
        time_limit: TimeLimit,
        sizes: SizeLimits,
    ) -> Self {
        Self {
            client,
            interrupt,
            progress,
            request_timeout,
            time_limit,
            sizes,
            held: Cell::new(0),
            started: Instant::now(),
            permits: Semaphore::new(MOST_IN_FLIGHT),
            waiting: RefCell::default(),
            server_time: Cell::new(None),
            answered: Cell::new(false),
            first_failure: RefCell::default(),
            sent: Cell::new(0),
        }
    }

    /// Says something to the user.
    pub(super) fn say(&self, line: &str) {
        (self.progress)(line);
    }

    /// Returns the `Date` of the first answer.
    pub(super) const fn server_time(&self) -> Option<Timestamp> {
        self.server_time.get()
    }

    /// Returns how many pages of one list are read at most.
    pub(super) const fn most_pages(&self) -> usize {
        self.sizes.pages
    }

    /// Returns how long the command runs.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns how many requests were sent.
    pub(super) const fn sent(&self) -> usize {
        self.sent.get()
    }

    /// Returns whether the user has interrupted the command before anything was answered.
    pub(super) fn is_interrupted_in_vain(&self) -> bool {
        self.interrupt.is_raised() && !self.answered.get()
    }

    /// Waits, but not beyond an interrupt.
    pub(super) async fn pause(&self, duration: Duration) {
        tokio::select! {
            biased;
            () = self.interrupt.raised() => {}
            () = sleep(duration) => {}
        }
    }

    /// Returns why the server as a whole is unusable, unless it has answered something.
    pub(super) fn verdict(&self) -> Option<Failure> {
        if self.answered.get() {
            return None;
        }
        self.first_failure.borrow().clone()
    }

    /// Returns what is in flight and for how long the command runs, for the progress line.
    pub(super) fn waits_for(&self) -> Option<String> {
        let waiting = self.waiting.borrow();
        if waiting.is_empty() {
            return None;
        }
        let names: Vec<&str> = waiting.keys().map(String::as_str).collect();
        Some(format!(
            "waiting for the API server since {} s: listing {}",
            self.started.elapsed().as_secs(),
            names.join(", ")
        ))
    }

    /// Gets a path. `what` names it for the progress line.
    pub(super) async fn get(
        &self,
        path: &str,
        accept: &'static str,
        what: &str,
    ) -> Result<String, Failure> {
        self.get_as(path, accept, what, Form::Json).await
    }

    /// Gets a text that may hold anything, and of it at most so many bytes.
    pub(super) async fn get_text(
        &self,
        path: &str,
        what: &str,
        most_bytes: usize,
    ) -> Result<String, Failure> {
        self.get_as(path, "*/*", what, Form::Text { most_bytes })
            .await
    }

    async fn get_as(
        &self,
        path: &str,
        accept: &'static str,
        what: &str,
        form: Form,
    ) -> Result<String, Failure> {
        tokio::select! {
            biased;
            () = self.interrupt.raised() => Err(Failure::new(
                FailureKind::Interrupted,
                "the command was interrupted before the answer came",
            )),
            answer = self.get_within_limits(path, accept, what, form) => answer,
        }
    }

    async fn get_within_limits(
        &self,
        path: &str,
        accept: &'static str,
        what: &str,
        form: Form,
    ) -> Result<String, Failure> {
        let deadline = self.deadline();
        let Ok(Ok(_permit)) = timeout_at(deadline, self.permits.acquire()).await else {
            return Err(self.out_of_time());
        };
        if let Some(failure) = self.verdict().filter(Failure::is_hopeless) {
            return Err(failure);
        }
        // A limit is only looked at where something is waited for, and a fast server never lets that happen.
        if Instant::now() >= deadline {
            return Err(self.out_of_time());
        }
        let _waiting = Waiting::enter(&self.waiting, what);
        let first = self.once(path, accept, form).await;
        let answer = match first {
            Err((_, Some(pause))) if Instant::now() + pause < deadline => {
                self.say(&format!(
                    "the API server is busy and asks to wait {} before {what} are listed; waiting",
                    seconds(pause)
                ));
                sleep(pause).await;
                self.once(path, accept, form).await
            }
            Ok(_) | Err(_) => first,
        };
        let answer = answer.map_err(|(failure, _)| failure);
        self.remember(&answer);
        answer
    }

    fn deadline(&self) -> Instant {
        self.started + self.time_limit.whole.saturating_sub(self.time_limit.spent)
    }

    fn out_of_time(&self) -> Failure {
        Failure::new(
            FailureKind::OutOfTime,
            format!(
                "the time limit of {} ended first",
                seconds(self.time_limit.whole)
            ),
        )
    }

    fn remember(&self, answer: &Result<String, Failure>) {
        let understood = match answer {
            Ok(_) => true,
            Err(failure) => match failure.kind {
                FailureKind::Forbidden
                | FailureKind::NotFound
                | FailureKind::Gone
                | FailureKind::TooLarge => true,
                FailureKind::Unauthorized
                | FailureKind::Unavailable
                | FailureKind::Rejected
                | FailureKind::Malformed
                | FailureKind::NotKubernetes
                | FailureKind::Timeout
                | FailureKind::OutOfTime
                | FailureKind::Interrupted
                | FailureKind::Unreachable
                | FailureKind::Cut => false,
            },
        };
        if understood {
            self.answered.set(true);
        } else if let Err(failure) = answer {
            self.first_failure
                .borrow_mut()
                .get_or_insert_with(|| failure.clone());
        }
    }

    /// Sends one request. A failure comes with the pause that the server asks for.
    async fn once(
        &self,
        path: &str,
        accept: &'static str,
        form: Form,
    ) -> Result<String, (Failure, Option<Duration>)> {
        let own_limit = Instant::now() + self.request_timeout;
        let deadline = self.deadline();
        self.sent.set(self.sent.get() + 1);
        match timeout_at(own_limit.min(deadline), self.exchange(path, accept, form)).await {
            Ok(answer) => answer,
            Err(_elapsed) if deadline <= own_limit => Err((self.out_of_time(), None)),
            Err(_elapsed) => Err((
                Failure::new(
                    FailureKind::Timeout,
                    format!(
                        "the API server did not answer within {}",
                        seconds(self.request_timeout)
                    ),
                ),
                None,
            )),
        }
    }

    async fn exchange(
        &self,
        path: &str,
        accept: &'static str,
        form: Form,
    ) -> Result<String, (Failure, Option<Duration>)> {
        let began = Instant::now();
        let request = Request::get(path)
            .header(header::ACCEPT, accept)
            .body(Body::empty())
            .map_err(|error| (Failure::malformed(error_text(&error)), None))?;
        let response = self.client.send(request).await.map_err(|error| {
            let text = error_text(&error);
            tracing::debug!(path, error = text, "GET failed");
            (Failure::new(FailureKind::Unreachable, text), None)
        })?;
        let (head, body) = response.into_parts();
        let bytes = self
            .read_body(body, form)
            .await
            .map_err(|failure| (failure, None))?;
        tracing::debug!(
            path,
            status = head.status.as_u16(),
            bytes = bytes.len(),
            milliseconds = began.elapsed().as_millis(),
            "GET"
        );
        if looks_like_html(&bytes) {
            return Err((not_kubernetes(head.status), None));
        }
        if self.server_time.get().is_none() {
            self.server_time.set(date(&head.headers));
        }
        if head.status == StatusCode::OK {
            return match form {
                Form::Json => String::from_utf8(bytes)
                    .map_err(|_invalid| (Failure::malformed("the answer is not UTF-8"), None)),
                Form::Text { .. } => Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
                    String::from_utf8_lossy(error.as_bytes()).into_owned()
                })),
            };
        }
        Err((refusal(head.status, &bytes), retry_after(&head)))
    }

    async fn read_body(&self, body: Body, form: Form) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let read = match form {
            Form::Json => self.read_json(body, &mut bytes).await,
            Form::Text { most_bytes } => read_text(body, &mut bytes, most_bytes).await,
        };
        if let (Err(_), Form::Json) = (&read, form) {
            self.held.set(self.held.get().saturating_sub(bytes.len()));
        }
        read.map(|()| bytes)
    }

    async fn read_json(&self, body: Body, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        let mut stream = std::pin::pin!(body.into_data_stream());
        let mut since_pause = 0;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| broken(&error))?;
            if bytes.len().saturating_add(chunk.len()) > self.sizes.page_bytes {
                return Err(too_large("the answer is", self.sizes.page_bytes));
            }
            let held = self.held.get().saturating_add(chunk.len());
            if held > self.sizes.total_bytes {
                return Err(too_large(
                    "all answers together are",
                    self.sizes.total_bytes,
                ));
            }
            self.held.set(held);
            bytes.extend_from_slice(&chunk);
            pause(&mut since_pause, chunk.len()).await;
        }
        Ok(())
    }
}

async fn read_text(body: Body, bytes: &mut Vec<u8>, most_bytes: usize) -> Result<(), Failure> {
    let mut stream = std::pin::pin!(body.into_data_stream());
    let mut since_pause = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| broken(&error))?;
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= most_bytes {
            bytes.truncate(most_bytes);
            break;
        }
        pause(&mut since_pause, chunk.len()).await;
    }
    Ok(())
}

/// Lets the time limits and the other lists have their turn: what is unpacked from memory is never waited
/// for, so without this a small answer that unpacks to a large one would overrun every limit.
async fn pause(since_pause: &mut usize, read: usize) {
    const EACH: usize = 1 << 20;
    *since_pause = since_pause.saturating_add(read);
    if *since_pause >= EACH {
        *since_pause = 0;
        tokio::task::yield_now().await;
    }
}

fn broken(error: &kube::Error) -> Failure {
    let text = format!("the connection broke: {}", error_text(error));
    Failure::new(FailureKind::Cut, text)
}

fn too_large(what: &str, limit: usize) -> Failure {
    let limit = match limit >> 20 {
        0 => format!("{limit} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    };
    Failure::new(
        FailureKind::TooLarge,
        format!("{what} larger than {limit}, which is more than is read"),
    )
}

/// What an answer is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// JSON, whole.
    Json,
    /// A text of any kind; the rest beyond the limit is not read.
    Text {
        /// The limit.
        most_bytes: usize,
    },
}

/// Removes itself from what is in flight.
struct Waiting<'a> {
    all: &'a RefCell<BTreeMap<String, usize>>,
    what: String,
}

impl<'a> Waiting<'a> {
    fn enter(all: &'a RefCell<BTreeMap<String, usize>>, what: &str) -> Self {
        *all.borrow_mut().entry(what.to_owned()).or_default() += 1;
        Self {
            all,
            what: what.to_owned(),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut all = self.all.borrow_mut();
        if let Some(count) = all.get_mut(&self.what) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.what);
            }
        }
    }
}
