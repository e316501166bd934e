//! Shows who holds and who waits for the slots of Velero's node-agents, and says what is wrong.
//!
//! ```text
//! cluster ─┐
//!          ├─ collect ─► Capture ─► Snapshot ─► Replay ─► Findings ─► Report ─► render ─► stdout
//! files  ──┘    (raw objects)       (typed)    (decisions)
//! ```
//!
//! Everything between [`capture`] and `render` is a pure function of its input: no clock, no environment,
//! no network. The feature `cli` adds the edges.

#[cfg(feature = "cli")]
pub mod act;
pub mod capture;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod collect;
pub mod diagnose;
pub mod plan;
pub mod redact;
pub mod render;
pub mod replay;
pub mod report;
pub mod simulate;
pub mod snapshot;
pub mod velero;

#[cfg(test)]
mod testing;
