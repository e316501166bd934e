//! One request that changes something: sent once, bounded in time, never repeated.

use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::client::Body;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::timeout;

use super::answer::{Failure, FailureKind};
use crate::collect::cluster::server_date;
use crate::collect::kubectl_compat::error_text;

/// An answer to a write is an object or a `Status`; a larger one is not read to its end.
const ANSWER_BYTES: usize = 8 << 20;

/// A request, before it is sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    /// `DELETE`, `PATCH` or `POST`.
    pub(super) method: Method,
    /// Path and query.
    pub(super) target: String,
    /// What the body is.
    pub(super) content_type: &'static str,
    /// The body.
    pub(super) body: Value,
}

/// The answer to a write that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    /// The server's time.
    pub(super) at: Option<Timestamp>,
}

/// Sends a request once.
///
/// # Errors
///
/// A [`Failure`] that says whether it may have been carried out all the same.
pub(super) async fn send(
    client: &kube::Client,
    limit: Duration,
    call: &Call,
) -> Result<Done, Failure> {
    match timeout(limit, exchange(client, call)).await {
        Ok(answer) => answer,
        Err(_elapsed) => Err(Failure::new(
            FailureKind::Unknown,
            format!("no answer within {:.0} s", limit.as_secs_f64()),
        )),
    }
}

async fn exchange(client: &kube::Client, call: &Call) -> Result<Done, Failure> {
    let not_sent =
        |error: &dyn std::error::Error| Failure::new(FailureKind::NotSent, error_text(error));
    let bytes = serde_json::to_vec(&call.body).map_err(|error| not_sent(&error))?;
    let request = Request::builder()
        .method(call.method.clone())
        .uri(&call.target)
        .header(header::CONTENT_TYPE, call.content_type)
        .header(header::ACCEPT, "application/json")
        .body(Body::from(bytes))
        .map_err(|error| not_sent(&error))?;
    let response = client
        .send(request)
        .await
        .map_err(|error| Failure::of_error(&error))?;
    let (head, body) = response.into_parts();
    let at = server_date(&head.headers);
    let bytes = http_body_util::Limited::new(body, ANSWER_BYTES)
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    tracing::debug!(
        method = %call.method,
        target = call.target,
        status = head.status.as_u16(),
        "write"
    );
    if !head.status.is_success() {
        let bytes = bytes.unwrap_or_default();
        return Err(Failure::of_answer(head.status, &bytes));
    }
    // Where the answer breaks off, its status line has said all the same that the write was carried out. What is
    // whole and no JSON comes from something else than an API server, such as a login page.
    match bytes.map(|bytes| serde_json::from_slice::<IgnoredAny>(&bytes)) {
        Ok(Ok(_)) | Err(_) => Ok(Done { at }),
        Ok(Err(_no_json)) => Err(Failure::new(
            FailureKind::Unknown,
            "what answered is no API server",
        )),
    }
}
