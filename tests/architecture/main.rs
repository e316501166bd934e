//! Tests about the repository itself: imports against the layer table of ARCHITECTURE.md, the plugin
//! manifest against krew's rules, and what a forgetful change would leave out.
//!
//! They link nothing of ours: they read the sources, so that they also hold for code that does not compile.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot read its own repository has nothing else to say"
)]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds of Rust items are not our enum, and most are looked at in the same way"
)]

mod compatibility;
mod imports;
mod krew;
mod package;
mod repository;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("read {path}: {error}"))
}

/// Returns the `.rs` files below a folder of the repository, in order.
fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository is readable") {
            let path = entry.expect("its entries are").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
