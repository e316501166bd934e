//! What makes a cluster unusable as a source. Everything less is a gap in the capture.

use std::time::Duration;

use crate::collect::kubectl_compat::{Cause, ConfigError};

/// What kind of failure it is; each has its exit code at the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The kubeconfig, a certificate or the proxy cannot be used.
    Config,
    /// The credentials could not be had, or the server refuses them.
    Login,
    /// The server cannot be reached, or what answers is no API server.
    Unreachable,
    /// No installation of Velero was found.
    VeleroNotFound,
    /// The command line must say more, or something else.
    Usage,
    /// The time limit ended before anything was known.
    Timeout,
    /// The user ended it before anything was known.
    Interrupted,
}

/// Why a cluster could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// No connection could be configured.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nothing answered.
    #[error("connect to the API server {server}")]
    Unreachable {
        /// The server's URL.
        server: String,
        /// Why.
        source: Cause,
    },
    /// The server answered every request with 401.
    #[error("log in to the API server {server}: you must be logged in (Unauthorized)")]
    Login {
        /// The server's URL.
        server: String,
        /// The server's words.
        source: Cause,
    },
    /// Something answered that is no API server, such as the login page of a proxy.
    #[error("talk to the API server {server}")]
    NotKubernetes {
        /// The server's URL.
        server: String,
        /// What answered.
        source: Cause,
    },
    /// The server is there and could serve no request.
    #[error("read from the API server {server}")]
    Unavailable {
        /// The server's URL.
        server: String,
        /// The server's words.
        source: Cause,
    },
    /// The server answered nothing in time.
    #[error("the API server {server} did not answer within {}", seconds(*limit))]
    Timeout {
        /// The server's URL.
        server: String,
        /// The limit that ended.
        limit: Duration,
    },
    /// Ctrl-C, before anything was known.
    #[error("interrupted")]
    Interrupted,
    /// No namespace holds Velero.
    #[error("no installation of Velero found: {looked_for}; name its namespace with -n")]
    VeleroNotFound {
        /// What was looked for and where.
        looked_for: String,
    },
    /// It could not be looked for Velero.
    #[error(
        "cannot tell which namespace is Velero's: {looked_for}, and listing across namespaces is forbidden; name it with -n"
    )]
    SearchForbidden {
        /// What was looked for and where.
        looked_for: String,
        /// The server's words.
        source: Cause,
    },
    /// It could not be looked for Velero, for another reason than rights.
    #[error("cannot tell which namespace is Velero's: {looked_for}; name it with -n")]
    SearchFailed {
        /// What was looked for and where.
        looked_for: String,
        /// The server's words.
        source: Cause,
    },
    /// Several namespaces hold Velero.
    #[error("Velero is installed in several namespaces ({}); choose one with -n", namespaces.join(", "))]
    SeveralNamespaces {
        /// The namespaces, sorted.
        namespaces: Vec<String>,
    },
}

impl CollectError {
    /// Returns what kind of failure it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(error) if error.is_usage() => ErrorKind::Usage,
            Self::Config(error) if error.is_timeout() => ErrorKind::Timeout,
            Self::Config(error) if error.is_login() => ErrorKind::Login,
            Self::Config(_) => ErrorKind::Config,
            Self::Unreachable { .. } | Self::NotKubernetes { .. } | Self::Unavailable { .. } => {
                ErrorKind::Unreachable
            }
            Self::Login { .. } => ErrorKind::Login,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::Interrupted => ErrorKind::Interrupted,
            Self::VeleroNotFound { .. }
            | Self::SearchForbidden { .. }
            | Self::SearchFailed { .. } => ErrorKind::VeleroNotFound,
            Self::SeveralNamespaces { .. } => ErrorKind::Usage,
        }
    }
}

/// Writes a duration for a message: `10 s`, `0.5 s`.
pub(super) fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}
