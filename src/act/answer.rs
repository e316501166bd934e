//! What the answer to a write means: whether it was carried out, was not, or may have been.

use std::error::Error;

use http::StatusCode;
use serde_json::Value;

use crate::collect::kubectl_compat::{error_text, printable};

/// Why a write was not carried out, or is not known to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Which kind.
    pub(super) kind: FailureKind,
    /// The server's words, or ours where there are none.
    pub(super) message: String,
}

/// Whether a write without a good answer may have been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// 401 or 403: not carried out.
    Forbidden,
    /// 409: the object is no longer the one that was read. Not carried out.
    Changed,
    /// 404: the object is gone. Not carried out.
    Gone,
    /// The server refused it for another reason, such as 429. Not carried out.
    Refused,
    /// No connection came about, so nothing was sent.
    NotSent,
    /// The connection broke, no answer came in time, or the server failed: it may have been carried out.
    Unknown,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Reads an answer that is not a success.
    pub(super) fn of_answer(status: StatusCode, body: &[u8]) -> Self {
        let answer: Option<Value> = serde_json::from_slice(body).ok();
        let words = answer
            .as_ref()
            .and_then(|answer| answer.get("message"))
            .and_then(Value::as_str)
            .filter(|message| !message.is_empty());
        let kind = match status.as_u16() {
            401 | 403 => FailureKind::Forbidden,
            404 => FailureKind::Gone,
            409 => FailureKind::Changed,
            // An object made anew has another uid, and a uid cannot be changed: the API server compares the
            // resourceVersion first, so this comes only from one that ignores it.
            422 if names_uid(answer.as_ref()) => FailureKind::Changed,
            300..=499 => FailureKind::Refused,
            // A server that fails, and whatever stands before it, may have passed the write on.
            _ => FailureKind::Unknown,
        };
        let message = match words {
            Some(words) => format!("HTTP {status}: {}", printable(words)),
            None => format!("HTTP {status}"),
        };
        Self::new(kind, message)
    }

    /// Reads an error of the client, without an answer.
    pub(super) fn of_error(error: &kube::Error) -> Self {
        let kind = if is_connect(error) {
            FailureKind::NotSent
        } else {
            FailureKind::Unknown
        };
        Self::new(kind, error_text(error))
    }
}

fn names_uid(answer: Option<&Value>) -> bool {
    answer
        .and_then(|answer| answer.pointer("/details/causes"))
        .and_then(Value::as_array)
        .is_some_and(|causes| {
            causes
                .iter()
                .any(|cause| cause.get("field").and_then(Value::as_str) == Some("metadata.uid"))
        })
}

/// Returns whether the connection itself failed: then not a byte of the request was sent.
fn is_connect(error: &kube::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error
            .downcast_ref::<hyper_util::client::legacy::Error>()
            .is_some_and(hyper_util::client::legacy::Error::is_connect)
        {
            return true;
        }
        next = error.source();
    }
    // kube keeps the service's error in a box whose source is that of the error inside.
    let kube::Error::Service(inner) = error else {
        return false;
    };
    inner
        .downcast_ref::<hyper_util::client::legacy::Error>()
        .is_some_and(hyper_util::client::legacy::Error::is_connect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, body: &str) -> FailureKind {
        Failure::of_answer(StatusCode::from_u16(status).unwrap(), body.as_bytes()).kind
    }

    #[test]
    fn a_conflict_and_a_missing_object_are_told_apart_from_a_refusal() {
        assert_eq!(kind(409, "{}"), FailureKind::Changed);
        assert_eq!(kind(404, "{}"), FailureKind::Gone);
        assert_eq!(kind(403, "{}"), FailureKind::Forbidden);
        assert_eq!(kind(401, "{}"), FailureKind::Forbidden);
    }

    #[test]
    fn a_changed_uid_is_a_lost_race_however_it_is_refused() {
        let body = r#"{"message":"invalid","details":{"causes":[{"field":"metadata.uid"}]}}"#;
        assert_eq!(kind(422, body), FailureKind::Changed);
        assert_eq!(kind(422, "{}"), FailureKind::Refused);
    }

    #[test]
    fn a_busy_server_has_done_nothing_and_a_failing_one_may_have() {
        assert_eq!(kind(429, "{}"), FailureKind::Refused);
        for status in [500, 502, 503, 504] {
            assert_eq!(kind(status, "{}"), FailureKind::Unknown, "{status}");
        }
    }

    #[test]
    fn the_server_s_words_cannot_steer_a_terminal() {
        let failure = Failure::of_answer(StatusCode::FORBIDDEN, b"{\"message\":\"a\\u001b[2J\"}");
        assert_eq!(failure.message, "HTTP 403 Forbidden: a\\u{1b}[2J");
    }
}
