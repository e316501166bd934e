//! What an HTTP answer means: a list, or a failure with the server's own words.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;

use crate::capture::GapReason;

/// Why a request has no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// The server's words, or ours where there are none.
    pub(super) message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// 403.
    Forbidden,
    /// 404: no such resource type.
    NotFound,
    /// 410: the list's continue token has expired.
    Gone,
    /// 401.
    Unauthorized,
    /// 429 and 5xx.
    Unavailable,
    /// Refused for another reason than rights, such as an address that the server does not proxy to.
    Rejected,
    /// An answer that is not what was asked for.
    Malformed,
    /// HTML, or a redirect.
    NotKubernetes,
    /// No answer in time.
    Timeout,
    /// The time limit of the whole command ended first.
    OutOfTime,
    /// Ctrl-C.
    Interrupted,
    /// No connection.
    Unreachable,
    /// The connection broke while the answer was read.
    Cut,
    /// The answer is larger than a reading takes.
    TooLarge,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Makes a failure for an answer that cannot be understood.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Malformed, message)
    }

    /// Returns the reason under which a gap names this failure. `Timeout` is kept for time limits, since
    /// the exit code speaks of them.
    pub(super) const fn reason(&self) -> GapReason {
        match self.kind {
            FailureKind::Forbidden | FailureKind::Unauthorized => GapReason::Forbidden,
            FailureKind::NotFound => GapReason::NotFound,
            FailureKind::Malformed | FailureKind::NotKubernetes => GapReason::Malformed,
            FailureKind::Timeout | FailureKind::OutOfTime => GapReason::Timeout,
            FailureKind::Gone
            | FailureKind::Rejected
            | FailureKind::Interrupted
            | FailureKind::Unavailable
            | FailureKind::Unreachable
            | FailureKind::Cut
            | FailureKind::TooLarge => GapReason::Partial,
        }
    }

    /// Returns whether a server that has never answered anything need not be asked again.
    pub(super) const fn is_hopeless(&self) -> bool {
        match self.kind {
            FailureKind::Unauthorized
            | FailureKind::NotKubernetes
            | FailureKind::Timeout
            | FailureKind::OutOfTime
            | FailureKind::Interrupted
            | FailureKind::Unreachable => true,
            FailureKind::Forbidden
            | FailureKind::NotFound
            | FailureKind::Gone
            | FailureKind::Unavailable
            | FailureKind::Rejected
            | FailureKind::Malformed
            | FailureKind::Cut
            | FailureKind::TooLarge => false,
        }
    }
}

pub(super) fn looks_like_html(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"<")
}

pub(super) fn not_kubernetes(status: StatusCode) -> Failure {
    Failure::new(
        FailureKind::NotKubernetes,
        format!(
            "the answer is a web page, not a Kubernetes API answer (HTTP {status}); a proxy or login page may stand in between"
        ),
    )
}

pub(super) fn refusal(status: StatusCode, body: &[u8]) -> Failure {
    let kind = match status.as_u16() {
        401 => FailureKind::Unauthorized,
        403 => FailureKind::Forbidden,
        404 => FailureKind::NotFound,
        410 => FailureKind::Gone,
        // The server says itself that its time was up.
        504 => FailureKind::Timeout,
        429 | 500..=599 => FailureKind::Unavailable,
        300..=399 => FailureKind::NotKubernetes,
        _ => FailureKind::Rejected,
    };
    let words = server_words(body);
    Failure::new(
        kind,
        match words {
            Some(words) if matches!(kind, FailureKind::Unavailable | FailureKind::Rejected) => {
                format!("HTTP {status}: {words}")
            }
            Some(words) => words,
            None => format!("HTTP {status}"),
        },
    )
}

/// Returns the message of a `Status` object, or a short plain text.
fn server_words(body: &[u8]) -> Option<String> {
    // Longer plain text is no message but a page.
    const LONGEST: usize = 300;
    if let Ok(status) = serde_json::from_slice::<serde_json::Value>(body) {
        return status
            .get("message")
            .and_then(serde_json::Value::as_str)
            .filter(|message| !message.is_empty())
            .map(str::to_owned);
    }
    std::str::from_utf8(body)
        .ok()
        .map(str::trim)
        .filter(|text| !text.is_empty() && text.len() <= LONGEST)
        .map(str::to_owned)
}

/// Reads the pause of a 429 or 503 in seconds. The HTTP date form is not used by API servers.
pub(super) fn retry_after(head: &http::response::Parts) -> Option<Duration> {
    if !matches!(
        head.status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    ) {
        return None;
    }
    head.headers
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
        .map(Duration::from_secs)
}

/// Returns the server's time.
pub(crate) fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(header::DATE)?.to_str().ok()?;
    jiff::fmt::rfc2822::parse(text)
        .ok()
        .map(|zoned| zoned.timestamp())
}
