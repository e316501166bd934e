//! Tests of the compiled plugin on files: every case below `fixtures/rules` and `fixtures/scenarios` says
//! what the contract says about its objects, and the command line keeps what docs/output.md promises.
//!
//! They know nothing of the code but its command line and its JSON, so that they check it from outside.

mod bundles;
mod cases;
mod commands;
#[cfg(unix)]
mod completion;
mod plugin;
mod redaction;
mod rules;
mod schemas;
#[cfg(feature = "cli")]
mod suggestions;

use std::path::Path;

/// Returns the folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
