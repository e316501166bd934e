//! One file for each command: its arguments and what it does.

pub(crate) mod auth;
pub(crate) mod capture;
pub(crate) mod diagnose;
pub(crate) mod explain;
pub(crate) mod replay;
mod simulate;
pub(crate) mod status;
pub(crate) mod version;
