//! The release archive, installed by the real krew through the real kubectl, upgraded and removed again.
//!
//! ```sh
//! release/archive && cargo test --features release-tests --test release
//! ```
//!
//! Asked for, it fails when the archive or a program cannot be had: a test that is skipped in silence
//! proves nothing.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test harness has an environment, and stops at the first surprise"
)]

mod archive;
mod krew;
mod serve;
mod upgrade;
