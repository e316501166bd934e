//! The part of the process environment that decides how a cluster is reached, read once.

use std::io::IsTerminal as _;
use std::path::PathBuf;

/// What the environment says. Tests make their own; the tool reads it with [`Environment::of_process`].
#[derive(Clone, Debug)]
pub struct Environment {
    /// `$KUBECONFIG`: a list of files.
    pub kubeconfig: Option<String>,
    /// `$HOME` (`%USERPROFILE%` on Windows).
    pub home: Option<PathBuf>,
    /// `$HTTPS_PROXY`, else `$https_proxy`.
    pub https_proxy: Option<String>,
    /// `$HTTP_PROXY`, else `$http_proxy`.
    pub http_proxy: Option<String>,
    /// `$NO_PROXY`, else `$no_proxy`.
    pub no_proxy: Option<String>,
    /// `$KUBERNETES_SERVICE_HOST`, set in pods.
    pub kubernetes_service_host: Option<String>,
    /// `$KUBERNETES_SERVICE_PORT`, set in pods.
    pub kubernetes_service_port: Option<String>,
    /// Where a pod finds its service account's token and the cluster's certificate authority.
    pub service_account_dir: PathBuf,
    /// `$VELERO_NAMESPACE`.
    pub velero_namespace: Option<String>,
    /// Whether a credential plugin could ask the user something.
    pub stdin: Stdin,
}

/// What standard input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// A terminal: somebody can answer.
    Terminal,
    /// A pipe, a file or nothing.
    NoTerminal,
}

impl Environment {
    /// Returns an environment in which nothing is set.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            kubeconfig: None,
            home: None,
            https_proxy: None,
            http_proxy: None,
            no_proxy: None,
            kubernetes_service_host: None,
            kubernetes_service_port: None,
            service_account_dir: PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount"),
            velero_namespace: None,
            stdin: Stdin::NoTerminal,
        }
    }

    /// Reads the environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            kubeconfig: first_set(&["KUBECONFIG"]),
            home: home(),
            // Go asks for the upper-case name first (golang.org/x/net/http/httpproxy FromEnvironment).
            https_proxy: first_set(&["HTTPS_PROXY", "https_proxy"]),
            http_proxy: first_set(&["HTTP_PROXY", "http_proxy"]),
            no_proxy: first_set(&["NO_PROXY", "no_proxy"]),
            kubernetes_service_host: first_set(&["KUBERNETES_SERVICE_HOST"]),
            kubernetes_service_port: first_set(&["KUBERNETES_SERVICE_PORT"]),
            velero_namespace: first_set(&["VELERO_NAMESPACE"]),
            stdin: if std::io::stdin().is_terminal() {
                Stdin::Terminal
            } else {
                Stdin::NoTerminal
            },
            ..Self::empty()
        }
    }
}

fn home() -> Option<PathBuf> {
    let names: &[&str] = if cfg!(windows) {
        &["HOME", "USERPROFILE"]
    } else {
        &["HOME"]
    };
    first_set(names).map(PathBuf::from)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where collect reads the environment"
)]
fn first_set(names: &[&str]) -> Option<String> {
    names
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
}
