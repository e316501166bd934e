//! Asking the server which rights the user has, by `SelfSubjectAccessReview`: the only request of a
//! reading command that is not a GET, and it changes nothing.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::{Map, Value, json};

use super::Cluster;

/// How many requests are under way at once.
const IN_FLIGHT: usize = 5;

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
    /// Asks for some rights; the answers come in the same order, `None` where the server gave none in time.
    pub async fn review(
        &self,
        questions: &[Review<'_>],
        request_timeout: Duration,
    ) -> Vec<Option<bool>> {
        stream::iter(questions)
            .map(|question| self.review_one(question, request_timeout))
            .buffered(IN_FLIGHT)
            .collect()
            .await
    }

    async fn review_one(&self, question: &Review<'_>, request_timeout: Duration) -> Option<bool> {
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
            .body(body.to_string().into_bytes())
            .ok()?;
        let answer =
            tokio::time::timeout(request_timeout, self.client().request::<Value>(request)).await;
        answer.ok()?.ok()?.get("status")?.get("allowed")?.as_bool()
    }
}
