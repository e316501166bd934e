//! The compiled plugin on a pseudo-terminal: widths, colours, locales, hostile names, readers that go away.
//!
//! They know nothing of the code but its command line, so that they check it from outside.

#![cfg(unix)]

mod colours;
mod hostile;
mod locales;
mod plugin;
mod pty;
mod readers;
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    dead_code,
    reason = "the recording server of the unit tests, of which not everything is used here"
)]
#[path = "../../src/collect/test_server.rs"]
mod test_server;
mod watch;
mod widths;
