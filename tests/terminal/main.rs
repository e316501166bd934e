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
mod widths;
