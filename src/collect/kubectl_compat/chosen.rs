//! Which cluster, user and namespace the kubeconfig and the flags name together.
//!
//! The order is that of client-go's `DirectClientConfig` (v0.32 `tools/clientcmd/client_config.go`):
//! a flag beats the kubeconfig, and some flags clear what would contradict them.

use std::collections::BTreeMap;

use super::error::{ConfigError, printable};
use super::kubeconfig::{Cluster, Context, Kubeconfig, User};
use super::{ClusterFlags, TlsVerify, present};

/// One cluster and one user, with the flags applied.
pub(super) struct Chosen {
    pub(super) context_name: Option<String>,
    pub(super) cluster_name: String,
    pub(super) cluster: Cluster,
    pub(super) user_name: Option<String>,
    pub(super) user: User,
    /// The context's namespace, without `-n`.
    pub(super) context_namespace: String,
}

/// Applies the flags to a kubeconfig; an empty kubeconfig serves `--server` alone.
pub(super) fn choose(kubeconfig: &Kubeconfig, flags: &ClusterFlags) -> Result<Chosen, ConfigError> {
    let (context_name, context) = context(kubeconfig, flags)?;
    let (cluster_name, cluster) = cluster(kubeconfig, flags, &context, context_name.as_deref())?;
    let (user_name, user) = user(kubeconfig, flags, &context)?;
    let mut chosen = Chosen {
        context_name,
        cluster_name,
        cluster,
        user_name,
        user,
        context_namespace: context.namespace.unwrap_or_else(|| "default".to_owned()),
    };
    override_cluster(&mut chosen.cluster, flags);
    override_user(&mut chosen.user, flags)?;
    check(&chosen)?;
    Ok(chosen)
}

fn context(
    kubeconfig: &Kubeconfig,
    flags: &ClusterFlags,
) -> Result<(Option<String>, Context), ConfigError> {
    let name = present(flags.context.as_deref()).or(present(kubeconfig.current_context.as_deref()));
    let Some(name) = name else {
        return Ok((None, Context::default()));
    };
    kubeconfig
        .contexts
        .iter()
        .find(|context| context.name == name)
        .map(|found| (Some(name.to_owned()), found.context.clone()))
        .ok_or_else(|| ConfigError::NotInKubeconfig {
            what: "context",
            name: name.to_owned(),
            known: names(kubeconfig.contexts.iter().map(|context| &context.name)),
        })
}

fn cluster(
    kubeconfig: &Kubeconfig,
    flags: &ClusterFlags,
    context: &Context,
    context_name: Option<&str>,
) -> Result<(String, Cluster), ConfigError> {
    let name = present(flags.cluster.as_deref()).or(context.cluster.as_deref());
    let server_flag = present(flags.server.as_deref());
    let Some(name) = name else {
        return match (server_flag, context_name) {
            (Some(server), _) => Ok((server.to_owned(), Cluster::default())),
            (None, Some(context)) => Err(ConfigError::NoServer {
                cluster: format!("of context {context}"),
            }),
            (None, None) => Err(ConfigError::NoCurrentContext {
                contexts: names(kubeconfig.contexts.iter().map(|context| &context.name)),
            }),
        };
    };
    kubeconfig
        .clusters
        .iter()
        .find(|cluster| cluster.name == name)
        .map(|found| (name.to_owned(), found.cluster.clone()))
        .ok_or_else(|| ConfigError::NotInKubeconfig {
            what: "cluster",
            name: name.to_owned(),
            known: names(kubeconfig.clusters.iter().map(|cluster| &cluster.name)),
        })
}

fn user(
    kubeconfig: &Kubeconfig,
    flags: &ClusterFlags,
    context: &Context,
) -> Result<(Option<String>, User), ConfigError> {
    let flag = present(flags.user.as_deref());
    let Some(name) = flag.or(context.user.as_deref()) else {
        return Ok((None, User::default()));
    };
    let found = kubeconfig.users.iter().find(|user| user.name == name);
    match found {
        Some(found) => Ok((Some(name.to_owned()), found.user.clone())),
        // client-go: a context may name a user that is not there, a flag may not.
        None if flag.is_none() => Ok((Some(name.to_owned()), User::default())),
        None => Err(ConfigError::NotInKubeconfig {
            what: "user",
            name: name.to_owned(),
            known: names(kubeconfig.users.iter().map(|user| &user.name)),
        }),
    }
}

fn override_cluster(cluster: &mut Cluster, flags: &ClusterFlags) {
    let server = present(flags.server.as_deref());
    let server_name = present(flags.tls_server_name.as_deref());
    let authority = present(flags.certificate_authority.as_deref());
    let skip = flags.insecure_skip_tls_verify == Some(TlsVerify::Skip);
    // Another server has another name: the kubeconfig's name does not go with it.
    if server.is_some() || server_name.is_some() {
        cluster.tls_server_name = server_name.map(str::to_owned);
    }
    if let Some(server) = server {
        cluster.server = Some(server.to_owned());
    }
    // The flag for no check clears the kubeconfig's authority, and the flag for an authority clears the
    // kubeconfig's data and its wish for no check. Both flags together stay a contradiction.
    if skip || authority.is_some() {
        cluster.insecure_skip_tls_verify = Some(skip);
        cluster.certificate_authority = authority.map(str::to_owned);
        cluster.certificate_authority_data = None;
    }
}

fn override_user(user: &mut User, flags: &ClusterFlags) -> Result<(), ConfigError> {
    if let Some(certificate) = present(flags.client_certificate.as_deref()) {
        user.client_certificate = Some(certificate.to_owned());
        user.client_certificate_data = None;
    }
    if let Some(key) = present(flags.client_key.as_deref()) {
        user.client_key = Some(key.to_owned());
        user.client_key_data = None;
    }
    // kubectl 1.32 refuses a token beside a password and prefers the kubeconfig's token file to the flag.
    // Whoever gives a token wants it used.
    if let Some(token) = present(flags.token.as_deref()) {
        user.token = Some(token.to_owned());
        user.token_file = None;
        user.username = None;
        user.password = None;
    }
    // client-go asks neither a plugin nor a provider when a token is there.
    if user.token.is_some() {
        user.exec = None;
        user.auth_provider = None;
    }
    if let Some(name) = present(flags.as_user.as_deref()) {
        user.as_user = Some(name.to_owned());
    }
    if let Some(uid) = present(flags.as_uid.as_deref()) {
        user.as_uid = Some(uid.to_owned());
    }
    if !flags.as_groups.is_empty() {
        user.as_groups.clone_from(&flags.as_groups);
    }
    if !flags.as_user_extra.is_empty() {
        user.as_user_extra = extra(&flags.as_user_extra)?;
    }
    Ok(())
}

fn extra(pairs: &[String]) -> Result<BTreeMap<String, Vec<String>>, ConfigError> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(ConfigError::InvalidFlag {
                flag: "--as-user-extra",
                value: pair.clone(),
                reason: "write it as key=value".to_owned(),
            });
        };
        extra
            .entry(key.to_owned())
            .or_default()
            .push(value.to_owned());
    }
    Ok(extra)
}

fn check(chosen: &Chosen) -> Result<(), ConfigError> {
    let Chosen { cluster, user, .. } = chosen;
    if cluster.server.is_none() {
        return Err(ConfigError::NoServer {
            cluster: chosen.cluster_name.clone(),
        });
    }
    let has_authority =
        cluster.certificate_authority.is_some() || cluster.certificate_authority_data.is_some();
    if cluster.insecure_skip_tls_verify == Some(true) && has_authority {
        return Err(ConfigError::InsecureWithAuthority);
    }
    let impersonates_more =
        user.as_uid.is_some() || !user.as_groups.is_empty() || !user.as_user_extra.is_empty();
    if user.as_user.is_none() && impersonates_more {
        return Err(ConfigError::ImpersonationWithoutUser);
    }
    let has_token = user.token.is_some() || user.token_file.is_some();
    if has_token && user.username.is_some() {
        return Err(ConfigError::SeveralLogins {
            user: chosen.user_name.clone().unwrap_or_default(),
        });
    }
    Ok(())
}

/// Lists the names of a kubeconfig for a message.
fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    // A kubeconfig of hundreds of clusters must not fill the screen.
    const SHOWN: usize = 10;
    let all: Vec<String> = names.map(|name| printable(name)).collect();
    let shown: Vec<&str> = all.iter().take(SHOWN).map(String::as_str).collect();
    let shown = shown.join(", ");
    match all.len() {
        0 => "none".to_owned(),
        count if count > SHOWN => format!("{shown} and {} more", count - SHOWN),
        _ => shown,
    }
}
