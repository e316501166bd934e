//! The names in a kubeconfig, for one who is about to choose.

use super::kubeconfig::{Found, find};
use super::proxy::without_credentials;
use super::{ClusterFlags, ConfigError, Environment};

/// What a kubeconfig names, in its order. Holds no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeconfigNames {
    /// `current-context`.
    pub current_context: Option<String>,
    /// The contexts, with their clusters.
    pub contexts: Vec<NameAbout>,
    /// The clusters, with their servers, without credentials.
    pub clusters: Vec<NameAbout>,
    /// The users.
    pub users: Vec<String>,
}

/// A name and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameAbout {
    /// The name.
    pub name: String,
    /// What is known; empty if nothing is.
    pub about: String,
}

/// Reads the names in the kubeconfig that the flags or the environment name. No file is no name.
///
/// # Errors
///
/// A [`ConfigError`] when a file cannot be read or understood.
pub fn kubeconfig_names(
    flags: &ClusterFlags,
    env: &Environment,
) -> Result<KubeconfigNames, ConfigError> {
    let kubeconfig = match find(flags, env)? {
        Found::Merged(kubeconfig) => kubeconfig,
        Found::Nothing { .. } => return Ok(KubeconfigNames::default()),
    };
    Ok(KubeconfigNames {
        current_context: kubeconfig.current_context,
        contexts: kubeconfig
            .contexts
            .into_iter()
            .map(|named| NameAbout {
                name: named.name,
                about: named.context.cluster.unwrap_or_default(),
            })
            .collect(),
        clusters: kubeconfig
            .clusters
            .into_iter()
            .map(|named| NameAbout {
                name: named.name,
                about: without_credentials(&named.cluster.server.unwrap_or_default()),
            })
            .collect(),
        users: (kubeconfig.users.into_iter())
            .map(|named| named.name)
            .collect(),
    })
}
