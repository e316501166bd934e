//! One file for each command: its arguments and what it does.

mod action;
pub(crate) mod auth;
pub(crate) mod capture;
pub(crate) mod completion;
pub(crate) mod diagnose;
pub(crate) mod explain;
pub(crate) mod nudge;
pub(crate) mod replay;
pub(crate) mod restart;
mod simulate;
pub(crate) mod status;
pub(crate) mod version;
