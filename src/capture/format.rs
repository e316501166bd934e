//! Our capture file: one JSON document that every reading command takes.
//!
//! ```json
//! { "apiVersion": "velero-slots/v1", "kind": "Capture", "formatVersion": 1,
//!   "manifest": { "takenAt": "2026-01-02T03:04:05Z", "nowFrom": "server", "server": "https://…",
//!                 "namespace": "velero", "toolVersion": "0.1.0", "redacted": false },
//!   "listings": [
//!     { "resource": "pods", "group": "", "version": "v1",
//!       "scope": { "type": "namespace", "namespace": "velero" }, "items": [ … ] },
//!     { "resource": "nodes", …, "scope": { "type": "cluster" },
//!       "refused": { "reason": "forbidden", "message": "…" } },
//!     { "resource": "events", …, "items": [ … ], "cut": { "reason": "timeout", "message": "…" } } ],
//!   "logs": [ { "namespace": "velero", "pod": "node-agent-x", "container": "node-agent",
//!               "previous": false, "cut": true, "body": "…" } ],
//!   "metrics": [ { "namespace": "velero", "pod": "node-agent-x", "port": 8080,
//!                  "takenAt": "2026-01-02T03:04:05Z", "body": "…" } ],
//!   "problems": [ { "resource": "input", "reason": "malformed", "message": "…" } ] }
//! ```
//!
//! Objects stand in it word for word. Fields may be added within a format version; a reader ignores
//! what it does not know. A change that an old reader would misunderstand raises the version.

mod read;
mod write;

use std::fmt;

pub use read::{Parsed, parse, read};
pub use write::write;

/// The `apiVersion` of every document of this tool.
pub const API_VERSION: &str = "velero-slots/v1";

/// The `kind` of a capture file.
pub const KIND: &str = "Capture";

/// The newest format that this version reads, and the one that it writes.
pub const FORMAT_VERSION: u64 = 1;

/// Why a capture file cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum FormatError {
    /// It was written by a newer version of the tool, in a format that this one does not know.
    Newer {
        /// The format of the file.
        format: u64,
        /// The version of the tool that wrote it, as the file says.
        tool_version: String,
    },
    /// It is JSON, but not a capture.
    NotACapture,
    /// It is not JSON, or a field has another type than the format gives it. Line and column count from
    /// the start of the document.
    Malformed(serde_json::Error),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer {
                format,
                tool_version,
            } => {
                write!(
                    f,
                    "the capture has format {format}, and this version reads formats up to {FORMAT_VERSION}"
                )?;
                if tool_version.is_empty() {
                    f.write_str("; use a newer version of the tool")
                } else {
                    // The file is foreign: what it says is escaped before it is shown.
                    let version = tool_version.escape_default();
                    write!(
                        f,
                        "; use version {version} of the tool, which wrote it, or a newer one"
                    )
                }
            }
            Self::NotACapture => f.write_str("the document is not a capture of this tool"),
            Self::Malformed(_) => f.write_str("the capture is malformed"),
        }
    }
}

impl std::error::Error for FormatError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            Self::Newer { .. } | Self::NotACapture => None,
        }
    }
}

#[cfg(test)]
mod tests;
