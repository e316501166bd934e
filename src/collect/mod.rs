//! Fills a [`Capture`](crate::capture::Capture) from a cluster or from files. It reads and must not
//! interpret.

pub mod cluster;
pub mod error;
pub mod files;
pub mod kubectl_compat;

#[cfg(test)]
#[expect(
    dead_code,
    reason = "the cluster tests ask for more than the unit tests do"
)]
pub(crate) mod test_server;
