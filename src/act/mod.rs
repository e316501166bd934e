//! Carries out the steps of a plan, and looks at what became of them.
//!
//! It decides nothing: what is done, what is refused and what an observation means stands in the plan. Each write
//! is one request with a precondition, sent once and never repeated in silence.
//!
//! ```text
//! Plan ─► Run ─┬─ calls ─► send ─► API server
//!              ├─ watch ─► collect ─► Snapshot ─► observe ─► judge
//!              └─ Journal, which outlives an interruption
//! ```

mod answer;
mod calls;
mod journal;
mod rights;
mod run;
mod save_log;
mod send;
mod stale;
mod watch;

#[cfg(test)]
mod tests;

pub use calls::{Effect, FIELD_MANAGER};
pub use journal::Journal;
pub use rights::{Rights, ask_rights, right_words};
pub use run::{Run, Settings};
pub use save_log::{SaveError, SaveTo};
pub use stale::{StillValid, still_valid};
