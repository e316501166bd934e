//! Connects to a cluster as kubectl does: the same kubeconfig, flags, proxy, credentials and trust.
//!
//! kube's own loader differs from client-go in ways that stop an operator whose kubectl works: a
//! missing file in `$KUBECONFIG` is fatal, `NO_PROXY` is compared with the proxy, an empty string
//! counts as a value, a credential plugin runs three times. So the files are read and merged here and
//! only the result, a [`kube::Config`], is kube's.
//!
//! ```text
//! Environment ─┐
//! ClusterFlags ┼─ kubeconfig ─► overrides ─► exec, proxy, tls ─► kube::Config ─► client
//! files        ┘   (merge)      (one user, one cluster)
//! ```

mod bounded;
mod chosen;
mod client;
mod environment;
mod error;
mod exec;
mod forward;
mod kubeconfig;
mod names;
mod proxy;
mod resolve;
mod tls;
mod velero_config;

#[cfg(test)]
mod tests;

pub use client::build_client;
pub use environment::{Environment, Stdin};
pub use error::{Cause, ConfigError, error_text, printable};
pub use names::{KubeconfigNames, NameAbout, kubeconfig_names};
pub use resolve::{Connection, ResolvedCluster, resolve, resolve_without_login};
pub use velero_config::velero_namespace_hint;

/// The flags with which kubectl names a cluster and a user. An empty string is the same as absent.
#[derive(Clone, Default)]
pub struct ClusterFlags {
    /// `--kubeconfig`: the only file that is read.
    pub kubeconfig: Option<String>,
    /// `--context`.
    pub context: Option<String>,
    /// `--cluster`.
    pub cluster: Option<String>,
    /// `--user`.
    pub user: Option<String>,
    /// `-n`, `--namespace`.
    pub namespace: Option<String>,
    /// `--as`.
    pub as_user: Option<String>,
    /// `--as-group`, repeatable.
    pub as_groups: Vec<String>,
    /// `--as-uid`.
    pub as_uid: Option<String>,
    /// `--as-user-extra key=value`, repeatable.
    pub as_user_extra: Vec<String>,
    /// `--token`: replaces every other way to log in.
    pub token: Option<String>,
    /// `--server`.
    pub server: Option<String>,
    /// `--request-timeout`; `None` takes the tool's default.
    pub request_timeout: Option<std::time::Duration>,
    /// `--insecure-skip-tls-verify`.
    pub insecure_skip_tls_verify: Option<TlsVerify>,
    /// `--certificate-authority`.
    pub certificate_authority: Option<String>,
    /// `--client-certificate`.
    pub client_certificate: Option<String>,
    /// `--client-key`.
    pub client_key: Option<String>,
    /// `--tls-server-name`.
    pub tls_server_name: Option<String>,
}

/// Whether the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVerify {
    /// The connection is refused unless the certificate is trusted.
    Check,
    /// Any certificate is taken.
    Skip,
}

/// Where the words for a waiting user go: one call, one line on standard error.
pub type Progress<'a> = &'a dyn Fn(&str);

/// Returns the text unless it is empty: kubectl treats an empty value as an absent one.
fn present(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}
