//! Plain requests to an API server or etcd, as an administrator.

use std::sync::Mutex;

use http::{Method, Request, StatusCode};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::Value;
use tokio::runtime::Runtime;

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
    /// The `Date` header.
    pub(crate) date: Option<Timestamp>,
}

/// A server that takes and gives JSON.
pub(crate) struct Api {
    // A runtime of one thread: requests wait for each other, and tests are not about that.
    runtime: Mutex<Runtime>,
    client: kube::Client,
}

impl Api {
    pub(crate) fn new(url: &str, token: Option<&str>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let mut config = kube::Config::new(url.parse().expect("the URL is ours"));
        config.auth_info.token = token.map(|token| token.to_owned().into());
        config.accept_invalid_certs = true;
        config.proxy_url = None;
        let client = {
            let _context = runtime.enter();
            kube::Client::try_from(config).expect("the configuration is ours")
        };
        Self {
            runtime: Mutex::new(runtime),
            client,
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// No answer, or an answer that is neither JSON nor empty.
    pub(crate) fn send(
        &self,
        method: &Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Answer, String> {
        let request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header(http::header::CONTENT_TYPE, content_type)
            .header(http::header::ACCEPT, "application/json")
            .body(Body::from(body))
            .map_err(|error| error.to_string())?;
        let runtime = self.runtime.lock().expect("no request has panicked");
        runtime.block_on(async {
            let failed = |error: &dyn std::error::Error| format!("{method} {path}: {error}");
            let response = self
                .client
                .send(request)
                .await
                .map_err(|error| failed(&error))?;
            let (head, body) = response.into_parts();
            let bytes = body.collect_bytes().await.map_err(|error| failed(&error))?;
            let date = head
                .headers
                .get(http::header::DATE)
                .and_then(|date| date.to_str().ok())
                .and_then(|date| jiff::fmt::rfc2822::parse(date).ok())
                .map(|date| date.timestamp());
            Ok(Answer {
                status: head.status,
                body: serde_json::from_slice(&bytes).unwrap_or_else(|_| {
                    Value::String(String::from_utf8_lossy(&bytes).into_owned())
                }),
                date,
            })
        })
    }

    fn ask(&self, method: &Method, path: &str, content_type: &str, body: &Value) -> Answer {
        let bytes = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let answer = self
            .send(method, path, content_type, bytes)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(
            answer.status.is_success(),
            "{method} {path}: {}: {}",
            answer.status,
            answer.body
        );
        answer
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.ask(&Method::GET, path, "application/json", &Value::Null)
            .body
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.ask(&Method::POST, path, "application/json", body).body
    }

    /// Sends a merge patch.
    pub(crate) fn patch(&self, path: &str, body: &Value) -> Value {
        self.ask(&Method::PATCH, path, "application/merge-patch+json", body)
            .body
    }

    pub(crate) fn delete(&self, path: &str) -> Value {
        self.ask(&Method::DELETE, path, "application/json", &Value::Null)
            .body
    }

    /// Returns the server's time.
    pub(crate) fn now(&self) -> Timestamp {
        self.ask(&Method::GET, "/version", "application/json", &Value::Null)
            .date
            .expect("API servers send their time")
    }
}
