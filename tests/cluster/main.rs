//! The compiled plugin, called through the real `kubectl velero-slots …`, against a real control plane.
//!
//! `cargo test --features cluster-tests` starts etcd and kube-apiserver (and for what must move:
//! kube-controller-manager, kube-scheduler and KWOK) on loopback. Asked for, it fails when they cannot be
//! had: a test that is skipped in silence proves nothing.
//!
//! There are two control planes. In the [`Plane::Still`] one nothing moves by itself: the objects of a case
//! are laid into etcd with their own uids, creation times and managedFields, none of which a client may
//! set, and only the plugin looks at them, through a real API server. In the [`Plane::Alive`] one
//! controllers run, and objects are made as Velero and its users make them: by requests.
//!
//! [`Plane::Still`]: control_plane::Plane::Still
//! [`Plane::Alive`]: control_plane::Plane::Alive

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a test harness has a clock and an environment, and stops at the first surprise"
)]

mod actions;
mod api;
mod cases;
mod completion;
mod control_plane;
mod crds;
mod endings;
mod ends_early;
mod etcd;
mod installations;
mod kwok;
mod load;
mod oracle;
mod player;
mod plugin;
mod programs;
mod proxy;
mod reaper;
mod rights;
mod scenarios;
mod smoke;
#[expect(
    clippy::unwrap_used,
    dead_code,
    reason = "the recording server of the unit tests, of which not everything is used here"
)]
#[path = "../../src/collect/test_server.rs"]
mod test_server;
mod transfer;
mod watch;
