//! A watch: what changes in a list, line by line, as the API server tells it.

use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::super::answer::{Failure, FailureKind, date, looks_like_html, not_kubernetes, refusal};
use super::super::error::seconds;
use super::store::Key;
use crate::collect::kubectl_compat::error_text;

/// Bytes of a refusal that are read.
const REFUSAL_BYTES: usize = 64 << 10;

/// What a line of a watch says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The object is there now, like this.
    There {
        /// Which object.
        key: Key,
        /// Its JSON, word for word.
        json: String,
        /// Its version.
        version: String,
    },
    /// The object is gone.
    Gone {
        /// Which object.
        key: Key,
        /// The version at which it went.
        version: String,
    },
    /// Nothing has changed up to a version.
    Bookmark {
        /// The version.
        version: String,
    },
}

impl Change {
    /// Returns the version from which on the watch can be taken up again.
    pub(super) fn version(&self) -> &str {
        match self {
            Self::There { version, .. }
            | Self::Gone { version, .. }
            | Self::Bookmark { version } => version,
        }
    }
}

/// A watch that the server has granted.
pub(super) struct Watch {
    body: Pin<Box<dyn Stream<Item = Result<Vec<u8>, kube::Error>>>>,
    buffer: Vec<u8>,
    /// Bytes of the buffer in which there is no end of a line.
    looked_at: usize,
    longest_line: usize,
    /// The server's time when it was granted.
    pub(super) date: Option<Timestamp>,
}

impl Watch {
    /// Asks for a watch. The limit is for the grant, not for the watch.
    pub(super) async fn open(
        client: &kube::Client,
        path: &str,
        limit: Duration,
        longest_line: usize,
    ) -> Result<Self, Failure> {
        let request = Request::get(path)
            .header(header::ACCEPT, "application/json")
            .body(Body::empty())
            .map_err(|error| Failure::malformed(error_text(&error)))?;
        let response = timeout(limit, client.send(request))
            .await
            .map_err(|_elapsed| {
                Failure::new(
                    FailureKind::Timeout,
                    format!("the API server did not answer within {}", seconds(limit)),
                )
            })?
            .map_err(|error| Failure::new(FailureKind::Unreachable, error_text(&error)))?;
        let (head, body) = response.into_parts();
        tracing::debug!(path, status = head.status.as_u16(), "watch");
        if head.status != StatusCode::OK {
            let mut bytes = Vec::new();
            let mut stream = std::pin::pin!(body.into_data_stream());
            while let Ok(Some(Ok(chunk))) = timeout(limit, stream.next()).await {
                bytes.extend_from_slice(&chunk);
                if bytes.len() >= REFUSAL_BYTES {
                    break;
                }
            }
            return Err(if looks_like_html(&bytes) {
                not_kubernetes(head.status)
            } else {
                refusal(head.status, &bytes)
            });
        }
        Ok(Self {
            date: date(&head.headers),
            body: Box::pin(
                body.into_data_stream()
                    .map(|chunk| chunk.map(|bytes| bytes.to_vec())),
            ),
            buffer: Vec::new(),
            looked_at: 0,
            longest_line,
        })
    }

    /// Returns the next change; `None` when the server has ended the watch, as it does now and then.
    pub(super) async fn next(&mut self) -> Option<Result<Change, Failure>> {
        loop {
            if let Some(line) = self.line() {
                return Some(read(&line));
            }
            if self.buffer.len() > self.longest_line {
                return Some(Err(Failure::new(
                    FailureKind::TooLarge,
                    "a change is larger than is read",
                )));
            }
            match self.body.next().await {
                Some(Ok(chunk)) => self.buffer.extend_from_slice(&chunk),
                Some(Err(error)) => {
                    let text = format!("the connection broke: {}", error_text(&error));
                    return Some(Err(Failure::new(FailureKind::Cut, text)));
                }
                // What is left of a line that never ended is told again when the watch is taken up again.
                None => return None,
            }
        }
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let rest = self.buffer.get(self.looked_at..)?;
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            self.looked_at = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.looked_at + end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        self.looked_at = 0;
        line.pop();
        Some(line)
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

/// Who an object is, and in which version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    resource_version: String,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

fn read(line: &[u8]) -> Result<Change, Failure> {
    let not_a_change = |why: &dyn std::fmt::Display| {
        Failure::malformed(format!("what came is not a change of a list: {why}"))
    };
    if looks_like_html(line) {
        return Err(not_kubernetes(StatusCode::OK));
    }
    let text = std::str::from_utf8(line).map_err(|error| not_a_change(&error))?;
    let line: Line<'_> = serde_json::from_str(text).map_err(|error| not_a_change(&error))?;
    if line.kind == "ERROR" {
        let bytes = line.object.get().as_bytes();
        let code = serde_json::from_slice::<Status>(bytes).map_or(0, |status| status.code);
        // Without a code that means something: as if the server were in trouble.
        let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        return Err(refusal(status, bytes));
    }
    let json = line.object.get();
    let Object { metadata } = serde_json::from_str(json).map_err(|error| not_a_change(&error))?;
    let version = metadata.resource_version;
    let key = Key {
        namespace: metadata.namespace,
        name: metadata.name,
    };
    match line.kind {
        "ADDED" | "MODIFIED" => Ok(Change::There {
            key,
            json: json.to_owned(),
            version,
        }),
        "DELETED" => Ok(Change::Gone { key, version }),
        "BOOKMARK" => Ok(Change::Bookmark { version }),
        other => Err(not_a_change(&format!("{other:?} is no type of a change"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str, name: &str) -> Key {
        Key {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_change_keeps_the_object_word_for_word() {
        let object = r#"{ "metadata":{"namespace":"velero","name":"du-1","resourceVersion":"12"},"a":[ 1 ]}"#;
        for kind in ["ADDED", "MODIFIED"] {
            let line = format!(r#"{{"type":"{kind}","object":{object}}}"#);
            assert_eq!(
                read(line.as_bytes()),
                Ok(Change::There {
                    key: key("velero", "du-1"),
                    json: object.to_owned(),
                    version: "12".to_owned(),
                })
            );
        }
        let line = format!(r#"{{"type":"DELETED","object":{object}}}"#);
        assert_eq!(
            read(line.as_bytes()),
            Ok(Change::Gone {
                key: key("velero", "du-1"),
                version: "12".to_owned(),
            })
        );
    }

    #[test]
    fn a_bookmark_moves_the_version_alone() {
        let line =
            r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"99"}}}"#;
        let change = read(line.as_bytes()).unwrap();
        assert_eq!(change.version(), "99");
        assert!(matches!(change, Change::Bookmark { .. }));
    }

    #[test]
    fn an_expired_version_is_told_from_other_errors() {
        let error = |code: u16| {
            let line = format!(
                r#"{{"type":"ERROR","object":{{"kind":"Status","message":"no more","code":{code}}}}}"#
            );
            read(line.as_bytes()).unwrap_err()
        };
        assert_eq!(error(410).kind, FailureKind::Gone);
        assert_eq!(error(410).message, "no more");
        assert_eq!(error(403).kind, FailureKind::Forbidden);
        assert_eq!(error(500).kind, FailureKind::Unavailable);
        assert_eq!(error(0).kind, FailureKind::Unavailable);
    }

    #[test]
    fn what_is_no_change_is_a_failure_and_no_change() {
        for line in [
            "",
            "<html>",
            "{}",
            r#"{"type":"ADDED"}"#,
            r#"{"type":"ADDED","object":[]}"#,
            r#"{"type":"NEWS","object":{"metadata":{}}}"#,
        ] {
            assert!(read(line.as_bytes()).is_err(), "{line}");
        }
    }
}
