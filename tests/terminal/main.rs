//! The compiled plugin on a pseudo-terminal.

#![cfg(unix)]

mod pty;
