//! What makes a source unusable. Everything less is a [`crate::capture::Problem`] or a refused listing,
//! and travels with what could be read.

use std::io;

use crate::capture::format::FormatError;

pub use super::files::Place;

/// Why files, an archive or standard input cannot be used at all.
///
/// Names and words of the input are escaped: every message is safe to print.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// It cannot be opened or read.
    #[error("read {path}")]
    Read {
        /// The file, as the user named it.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A redacted capture beside other inputs: what is called alike in two of them is not the same.
    #[error("a redacted capture is read alone: its pseudonyms mean nothing in other inputs")]
    RedactedBesideOthers,
    /// It holds nothing.
    #[error("{path} is empty")]
    Empty {
        /// The file, as the user named it.
        path: String,
    },
    /// It is larger than the limit, as it is or unpacked.
    #[error("{path} holds more than {limit} bytes")]
    TooLarge {
        /// The file, as the user named it.
        path: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// With it, the inputs of the run would be larger than the limit, as they are or unpacked.
    #[error("{path} was not read: all inputs together hold more than {limit} bytes")]
    AllTooLarge {
        /// The file, as the user named it.
        path: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// It is not text in UTF-8.
    #[error("{path} is not text: {what}")]
    NotText {
        /// The file, as the user named it.
        path: String,
        /// What it is instead, and where that shows.
        what: String,
    },
    /// It is text, and nothing in it could be understood.
    #[error("{path}, {place}: {message}")]
    Unusable {
        /// The file, as the user named it, and the document in it.
        path: String,
        /// Where.
        place: Place,
        /// What is wrong.
        message: String,
    },
    /// It is a capture of ours that cannot be read.
    #[error("{path}")]
    Format {
        /// The file, as the user named it.
        path: String,
        /// Why.
        #[source]
        source: FormatError,
    },
    /// A folder or archive in which nothing could be read.
    #[error("{path} holds nothing that can be read: {first}")]
    Nothing {
        /// The folder or archive, as the user named it.
        path: String,
        /// What was wrong first, or that no file has a name that is read.
        first: String,
    },
    /// No input was named.
    #[error("no input was named")]
    NoInput,
}
