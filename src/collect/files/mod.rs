//! Reads a [`Capture`] from files: our own captures, what kubectl prints, folders and archives of both,
//! container logs, and the bundles of `velero debug`, must-gather, `oc adm inspect` and
//! `kubectl cluster-info dump`.
//!
//! ```text
//! path ─┬─ folder ──► names ─┐
//!       ├─ archive ─► names ─┼─► bytes ─► json | yaml ─► objects ─► intake ─► Capture
//!       └─ file, stdin ──────┘
//! ```
//!
//! A broken document or object costs that document or object and becomes a problem of the capture. An input
//! that the user named and that yields nothing at all is an error. Of two objects of the same kind,
//! namespace and name the newer one is kept: the one with the higher `metadata.resourceVersion`, or, where
//! one has none, the one that tells of the later time; in one file, the one that stands later. Of two logs of a
//! container the one that ends later is kept. The order of the inputs does not matter. Secrets are never kept.

mod archive;
mod bytes;
mod deep_stack;
mod dump;
mod folder;
mod intake;
mod json;
mod log_text;
mod logs;
mod loose_log;
mod names;
mod objects;
mod pack;
mod passed_over;
mod place;
mod printable;
mod private;
mod reading;
mod said;
mod transcode;
mod yaml;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::PathBuf;

pub use super::error::FilesError;
use crate::capture::Capture;
use intake::Intake;
pub use pack::gzip;
use passed_over::PassedOver;
pub use place::Place;
use printable::printable;
pub use private::{Overwrite, write_private, write_whole};
use reading::Reading;

/// What one reading may take. The defaults fit clusters with hundreds of thousands of tasks and stop what
/// only a hostile input would hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one file of objects, unpacked.
    pub file_bytes: u64,
    /// Bytes kept of one log; of a longer one, the end is kept, and its first lines.
    pub log_bytes: u64,
    /// Bytes kept of all logs.
    pub all_log_bytes: u64,
    /// Bytes that all inputs together may hold and unpack to, skipped entries included.
    pub total_bytes: u64,
    /// Entries of one archive or folder.
    pub entries: usize,
    /// How deep YAML may be nested. Kubernetes itself stops at far less.
    pub yaml_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 1 << 30,
            log_bytes: 64 << 20,
            all_log_bytes: 512 << 20,
            total_bytes: 4 << 30,
            entries: 100_000,
            yaml_depth: 100,
        }
    }
}

/// Reads everything that `paths` name. `-` is `stdin`; a folder is read with all folders below it.
///
/// # Errors
///
/// [`FilesError`] if a path yields nothing at all. What a path yields in part is kept, and the rest is told
/// in [`Capture::problems`] and in the outcome of the listings.
pub fn read(
    paths: &[PathBuf],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Capture, FilesError> {
    if paths.is_empty() {
        return Err(FilesError::NoInput);
    }
    let mut reading = Reading {
        intake: Intake::default(),
        limits,
        budget: bytes::Budget::new(limits.total_bytes),
        passed_over: PassedOver::default(),
    };
    let mut names = Vec::new();
    for path in paths {
        let name = printable(&path.to_string_lossy());
        reading.path(path, &name, stdin)?;
        names.push(name);
    }
    if reading.intake.mixes_pseudonyms(paths.len()) {
        return Err(FilesError::RedactedBesideOthers);
    }
    Ok(reading.finish(names))
}
