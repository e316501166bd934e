//! Asking the server which rights the user has, by `SelfSubjectAccessReview`: the only request of a
//! reading command that is not a GET, and it changes nothing.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::Cluster;
use super::answer::{Failure, FailureKind, looks_like_html, not_kubernetes, refusal};
use super::error::seconds;
use crate::collect::kubectl_compat::error_text;

/// How many requests are under way at once.
const IN_FLIGHT: usize = 5;
/// An answer repeats the question; a longer one is none.
const ANSWER_BYTES: usize = 1 << 20;

/// One question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Review<'q> {
    /// The verb.
    pub verb: &'q str,
    /// The API group.
    pub group: &'q str,
    /// The plural resource name.
    pub resource: &'q str,
    /// The subresource, or empty.
    pub subresource: &'q str,
    /// The namespace, or `None` for the whole cluster.
    pub namespace: Option<&'q str>,
    /// The one object that is concerned, or `None` for all of them.
    pub name: Option<&'q str>,
}

impl Cluster {
    /// Asks for some rights; the answers come in the same order. Where the server gave none, why not, in its own
    /// words if it had any.
    pub async fn review(
        &self,
        questions: &[Review<'_>],
        request_timeout: Duration,
    ) -> Vec<Result<bool, String>> {
        stream::iter(questions)
            .map(
                async |question| match timeout(request_timeout, self.review_one(question)).await {
                    Ok(answer) => answer.map_err(|failure| failure.message),
                    Err(_elapsed) => Err(format!(
                        "the API server did not answer within {}",
                        seconds(request_timeout)
                    )),
                },
            )
            .buffered(IN_FLIGHT)
            .collect()
            .await
    }

    async fn review_one(&self, question: &Review<'_>) -> Result<bool, Failure> {
        let mut attributes: Map<String, Value> = [
            ("verb", question.verb),
            ("group", question.group),
            ("resource", question.resource),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
        if !question.subresource.is_empty() {
            attributes.insert("subresource".to_owned(), json!(question.subresource));
        }
        if let Some(namespace) = question.namespace {
            attributes.insert("namespace".to_owned(), json!(namespace));
        }
        if let Some(name) = question.name {
            attributes.insert("name".to_owned(), json!(name));
        }
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        });
        let request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::ACCEPT, "application/json")
            .body(Body::from(body.to_string().into_bytes()))
            .map_err(|error| Failure::malformed(error_text(&error)))?;
        let response = self
            .client()
            .send(request)
            .await
            .map_err(|error| Failure::new(FailureKind::Unreachable, error_text(&error)))?;
        let (head, body) = response.into_parts();
        let bytes = Limited::new(body, ANSWER_BYTES)
            .collect()
            .await
            .map_err(|error| Failure::new(FailureKind::Cut, error.to_string()))?
            .to_bytes();
        if looks_like_html(&bytes) {
            return Err(not_kubernetes(head.status));
        }
        if !head.status.is_success() {
            return Err(refusal(head.status, &bytes));
        }
        serde_json::from_slice::<Value>(&bytes)
            .ok()
            .as_ref()
            .and_then(|answer| answer.pointer("/status/allowed"))
            .and_then(Value::as_bool)
            .ok_or_else(|| Failure::malformed("the answer does not say whether it is allowed"))
    }
}
