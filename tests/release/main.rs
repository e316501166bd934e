//! The release archive, installed by the real krew through the real kubectl, upgraded and removed again.
//!
//! ```sh
//! release/archive && release/sbom && cargo test --features release-tests --test release
//! ```
//!
//! Asked for, it fails when the archive or a program cannot be had: a test that is skipped in silence
//! proves nothing.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test harness has an environment, and stops at the first surprise"
)]

mod archive;
mod bill;
#[path = "../../examples/release-archive/elf.rs"]
mod elf;
mod krew;
mod old_krew;
mod refusals;
mod serve;
mod upgrade;
