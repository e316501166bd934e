//! Why no connection could be configured, and how an error and its causes become one line.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The words of an error and of its causes, each said once.
///
/// kube and hyper print a cause inside their own message and return it from `source()` too, or print
/// only "client error (Connect)" and hide the reason in `source()`. Neither may reach a user raw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause(pub String);

impl Cause {
    /// Flattens an error.
    #[must_use]
    pub fn of(error: &dyn Error) -> Self {
        Self(error_text(error))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.0))
    }
}

impl Error for Cause {}

/// Escapes control characters: words of a server or of a file must not steer a terminal.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let escaped = character.is_control().then(|| character.escape_default());
            let plain = escaped.is_none().then_some(character);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

/// Returns the messages along `source()`, joined by colons, leaving out what was said already and what says
/// nothing.
#[must_use]
pub fn error_text(error: &dyn Error) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let message = error.to_string();
        next = error.source();
        // kube's name for an error of the layers below it.
        let message = message.strip_prefix("ServiceError: ").unwrap_or(&message);
        // hyper's name for any error of a connection; the reason is behind it.
        let is_hollow = message.starts_with("client error (") && next.is_some();
        if message.is_empty() || is_hollow || text.contains(message) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(message);
    }
    translate(text)
}

/// Puts rustls's names into words that say what to do.
fn translate(text: String) -> String {
    const WORDS: [(&str, &str); 6] = [
        (
            "UnsupportedCertVersion",
            "a certificate is X.509 v1, which the TLS library refuses; re-issue it as v3",
        ),
        (
            "invalid peer certificate: UnknownIssuer",
            "the server's certificate is signed by an authority that is neither in the kubeconfig nor trusted by this machine",
        ),
        (
            "CaUsedAsEndEntity",
            "the server's certificate is signed by itself and is not the one in the kubeconfig, so it is signed by an authority that is not trusted",
        ),
        (
            "invalid peer certificate: NotValidForName",
            "the server's certificate is not valid for this host name",
        ),
        (
            "invalid peer certificate: Expired",
            "the server's certificate has expired",
        ),
        (
            "HandshakeFailure",
            "the server and this tool share no TLS version or cipher",
        ),
    ];
    for (name, words) in WORDS {
        if text.contains(name) {
            return format!("{words} ({text})");
        }
    }
    text
}

/// Why no connection could be configured.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A kubeconfig could not be read.
    #[error("read kubeconfig {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A kubeconfig is not one.
    #[error("understand kubeconfig {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Cause,
    },
    /// No kubeconfig, no pod, no `--server`.
    #[error("no kubeconfig found (looked at {looked_at}) and not running in a pod")]
    NoKubeconfig {
        /// Which files were looked for.
        looked_at: String,
    },
    /// Files were named, and none exists. A pod's own cluster is not taken instead.
    #[error("none of the kubeconfig files named by $KUBECONFIG exists: {files}")]
    NamedKubeconfigMissing {
        /// The files.
        files: String,
    },
    /// The kubeconfig names no current context and neither do the flags.
    #[error(
        "the kubeconfig has no current context; name one with --context (it holds: {contexts})"
    )]
    NoCurrentContext {
        /// The contexts that exist.
        contexts: String,
    },
    /// There is no context, cluster or user of that name.
    #[error("{what} {name:?} does not exist in the kubeconfig (it holds: {known})")]
    NotInKubeconfig {
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The cluster has no server.
    #[error("cluster {cluster:?} of the kubeconfig has no server")]
    NoServer {
        /// The cluster's name.
        cluster: String,
    },
    /// The server is not a URL.
    #[error("server {server:?} is not a URL or a host and port")]
    InvalidServer {
        /// The text.
        server: String,
    },
    /// Both a certificate authority and no check of certificates were asked for.
    #[error(
        "a certificate authority cannot be combined with insecure-skip-tls-verify: remove one of them"
    )]
    InsecureWithAuthority,
    /// `--as-group`, `--as-uid` or `--as-user-extra` without `--as`.
    #[error("--as-group, --as-uid and --as-user-extra need --as")]
    ImpersonationWithoutUser,
    /// A value of a flag cannot be used.
    #[error("invalid value {value:?} for {flag}: {reason}")]
    InvalidFlag {
        /// The flag.
        flag: &'static str,
        /// Its value.
        value: String,
        /// Why.
        reason: String,
    },
    /// The user has both a token and a password.
    #[error("user {user:?} has both a token and a username with password; only one is allowed")]
    SeveralLogins {
        /// The user's name.
        user: String,
    },
    /// A file that the kubeconfig or a flag names cannot be read.
    #[error("read {what} {}", path.display())]
    ReadFile {
        /// What the file is for.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Certificate or key data cannot be used.
    #[error("understand {what}")]
    BadData {
        /// What the data is for.
        what: &'static str,
        /// Why.
        source: Cause,
    },
    /// A certificate without a key, or a key without a certificate.
    #[error("user {user:?} has {has} but no {lacks}")]
    HalfIdentity {
        /// The user's name.
        user: String,
        /// What is there.
        has: &'static str,
        /// What is missing.
        lacks: &'static str,
    },
    /// The proxy cannot be used.
    #[error("proxy {proxy:?} (from {origin}): {reason}")]
    Proxy {
        /// The proxy as written, without credentials.
        proxy: String,
        /// Which setting named it.
        origin: &'static str,
        /// Why.
        reason: String,
    },
    /// The kubeconfig's `exec` section is incomplete.
    #[error("user {user:?}: exec section: {reason}")]
    ExecConfig {
        /// The user's name.
        user: String,
        /// What is wrong.
        reason: String,
    },
    /// The credential plugin is not installed.
    #[error("credential plugin {command:?} was not found{}", hint(install_hint))]
    ExecMissing {
        /// The program.
        command: String,
        /// The kubeconfig's `installHint`.
        install_hint: Option<String>,
    },
    /// The credential plugin could not be started.
    #[error("start credential plugin {command:?}")]
    ExecStart {
        /// The program.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// The credential plugin failed; what it said on its standard error was shown.
    #[error("credential plugin {command:?} {ended}{}", hint(install_hint))]
    ExecFailed {
        /// The program.
        command: String,
        /// `exited 255`, `was ended by a signal`.
        ended: String,
        /// The kubeconfig's `installHint`.
        install_hint: Option<String>,
    },
    /// The credential plugin did not end.
    #[error("credential plugin {command:?} did not answer within {} s", limit.as_secs())]
    ExecTimeout {
        /// The program.
        command: String,
        /// The time limit.
        limit: Duration,
    },
    /// The credential plugin's answer is no `ExecCredential`.
    #[error("credential plugin {command:?} gave an answer that cannot be used: {reason}")]
    ExecAnswer {
        /// The program.
        command: String,
        /// Why.
        reason: String,
    },
    /// The login method is not supported.
    #[error("auth-provider {name:?} is not supported{}", provider_hint(name))]
    AuthProvider {
        /// The provider's name.
        name: String,
    },
    /// There are no credentials at hand, and a login was not wanted.
    #[error("user {user:?} would have to log in")]
    LoginNeeded {
        /// The kubeconfig's name of the user.
        user: String,
    },
    /// The TLS library refuses a certificate or a key.
    #[error("prepare the TLS connection")]
    Tls {
        /// Why.
        source: Cause,
    },
    /// The client could not be built for another reason.
    #[error("prepare the connection")]
    Client {
        /// Why.
        source: Cause,
    },
}

impl ConfigError {
    /// Returns whether the command line itself is wrong, as opposed to the machine or the kubeconfig.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::ImpersonationWithoutUser | Self::InvalidFlag { .. }
        )
    }

    /// Returns whether the time limit of the credential plugin ended it.
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::ExecTimeout { .. })
    }

    /// Returns whether the credentials could not be had.
    #[must_use]
    pub const fn is_login(&self) -> bool {
        matches!(
            self,
            Self::ExecMissing { .. }
                | Self::ExecStart { .. }
                | Self::ExecFailed { .. }
                | Self::ExecAnswer { .. }
                | Self::ExecConfig { .. }
                | Self::AuthProvider { .. }
                | Self::LoginNeeded { .. }
                | Self::SeveralLogins { .. }
        )
    }
}

#[expect(
    clippy::ref_option,
    reason = "called from thiserror's format arguments"
)]
fn hint(install_hint: &Option<String>) -> String {
    install_hint
        .as_deref()
        .map(|hint| {
            // Hints of several lines are usual.
            let lines: Vec<String> = hint.trim().lines().map(printable).collect();
            format!(
                "; the kubeconfig says how to install it: {}",
                lines.join("\n")
            )
        })
        .unwrap_or_default()
}

fn provider_hint(name: &str) -> &'static str {
    match name {
        "azure" => "; use the credential plugin kubelogin instead",
        "gcp" => "; use the credential plugin gke-gcloud-auth-plugin instead",
        _ => "",
    }
}
