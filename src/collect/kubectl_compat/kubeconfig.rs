//! Reads kubeconfig files and merges them by client-go's rules.
//!
//! The first file that sets a value or holds an entry of a name wins, whole; a file that does not exist
//! is skipped; an empty string is no value (client-go tools/clientcmd/loader.go, v0.32).

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_saphyr::options::DuplicateKeyPolicy;

use super::error::{Cause, ConfigError};
use super::{ClusterFlags, Environment, bounded, present};

/// What a kubeconfig says, as far as it matters here. Unknown fields are not an error.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Kubeconfig {
    #[serde(deserialize_with = "non_empty")]
    kind: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) current_context: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) clusters: Vec<NamedCluster>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) users: Vec<NamedUser>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) contexts: Vec<NamedContext>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NamedCluster {
    pub(super) name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) cluster: Cluster,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NamedUser {
    pub(super) name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) user: User,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NamedContext {
    pub(super) name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) context: Context,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Context {
    #[serde(deserialize_with = "non_empty")]
    pub(super) cluster: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) user: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) namespace: Option<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Cluster {
    #[serde(deserialize_with = "non_empty")]
    pub(super) server: Option<String>,
    pub(super) insecure_skip_tls_verify: Option<bool>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) certificate_authority: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) certificate_authority_data: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) proxy_url: Option<String>,
    pub(super) disable_compression: Option<bool>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) tls_server_name: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) extensions: Vec<NamedExtension>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NamedExtension {
    pub(super) name: String,
    pub(super) extension: serde_json::Value,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct User {
    #[serde(deserialize_with = "non_empty")]
    pub(super) username: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) password: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) token: Option<String>,
    #[serde(rename = "tokenFile", deserialize_with = "non_empty")]
    pub(super) token_file: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) client_certificate: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) client_certificate_data: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) client_key: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) client_key_data: Option<String>,
    #[serde(rename = "as", deserialize_with = "non_empty")]
    pub(super) as_user: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) as_uid: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) as_groups: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) as_user_extra: std::collections::BTreeMap<String, Vec<String>>,
    pub(super) auth_provider: Option<AuthProvider>,
    pub(super) exec: Option<Exec>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct AuthProvider {
    pub(super) name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) config: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Exec {
    #[serde(deserialize_with = "non_empty")]
    pub(super) api_version: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) command: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) args: Vec<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) env: Vec<ExecEnv>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) install_hint: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(super) interactive_mode: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) provide_cluster_info: bool,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ExecEnv {
    pub(super) name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) value: String,
}

/// `key: ""` is what `kubectl config unset` leaves behind, and means nothing.
fn non_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// What was found on the machine.
pub(super) enum Found {
    /// The files that exist, merged.
    Merged(Kubeconfig),
    /// No file was named, and the usual one does not exist.
    Nothing {
        /// Where it was looked for.
        looked_at: String,
    },
}

/// Reads the kubeconfig that the flags or the environment name, else `$HOME/.kube/config`.
pub(super) fn find(flags: &ClusterFlags, env: &Environment) -> Result<Found, ConfigError> {
    if let Some(path) = present(flags.kubeconfig.as_deref()) {
        // Named by a flag: a missing file is an error here, as in kubectl.
        return read(Path::new(path)).map(Found::Merged);
    }
    let named: Vec<PathBuf> = present(env.kubeconfig.as_deref())
        .map(|list| {
            std::env::split_paths(list)
                .filter(|path| !path.as_os_str().is_empty())
                .collect()
        })
        .unwrap_or_default();
    if named.is_empty() {
        let Some(home) = &env.home else {
            return Ok(Found::Nothing {
                looked_at: "$KUBECONFIG, $HOME, both unset".to_owned(),
            });
        };
        let usual = home.join(".kube").join("config");
        let looked_at = usual.display().to_string();
        return Ok(read_existing(&usual)?.map_or(Found::Nothing { looked_at }, Found::Merged));
    }
    let mut merged: Option<Kubeconfig> = None;
    for path in &named {
        if let Some(next) = read_existing(path)? {
            merged = Some(match merged {
                Some(before) => merge(before, next),
                None => next,
            });
        }
    }
    merged.map(Found::Merged).ok_or_else(|| {
        let files: Vec<String> = named
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        ConfigError::NamedKubeconfigMissing {
            files: files.join(", "),
        }
    })
}

/// Lets the first file win, entry by entry.
fn merge(mut first: Kubeconfig, next: Kubeconfig) -> Kubeconfig {
    first.current_context = first.current_context.or(next.current_context);
    for cluster in next.clusters {
        if !first
            .clusters
            .iter()
            .any(|known| known.name == cluster.name)
        {
            first.clusters.push(cluster);
        }
    }
    for user in next.users {
        if !first.users.iter().any(|known| known.name == user.name) {
            first.users.push(user);
        }
    }
    for context in next.contexts {
        if !first
            .contexts
            .iter()
            .any(|known| known.name == context.name)
        {
            first.contexts.push(context);
        }
    }
    first
}

fn read_existing(path: &Path) -> Result<Option<Kubeconfig>, ConfigError> {
    match read(path) {
        Ok(kubeconfig) => Ok(Some(kubeconfig)),
        Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> Result<Kubeconfig, ConfigError> {
    let text = bounded::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut kubeconfig = parse(&text).map_err(|source| ConfigError::Parse {
        path: path.to_owned(),
        source,
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    make_absolute(&mut kubeconfig, folder);
    Ok(kubeconfig)
}

fn parse(text: &str) -> Result<Kubeconfig, Cause> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Kubeconfig::default());
    }
    let options = serde_saphyr::options! {
        // kubectl takes a duplicate key, and the last one counts.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        // A snippet could show a token.
        with_snippet: false,
    };
    let documents: Vec<Option<Kubeconfig>> =
        serde_saphyr::from_multiple_with_options(text, options)
            .map_err(|error| Cause(error.to_string()))?;
    // kubectl reads the first document of a file and no other.
    let kubeconfig = documents.into_iter().next().flatten().unwrap_or_default();
    match kubeconfig.kind.as_deref() {
        None | Some("Config") => Ok(kubeconfig),
        Some(other) => Err(Cause(format!("it is a {other}, not a Config"))),
    }
}

/// File names in a kubeconfig are relative to the kubeconfig (client-go `GetAuthInfoFileReferences`).
fn make_absolute(kubeconfig: &mut Kubeconfig, folder: &Path) {
    let resolve = |name: &mut Option<String>| {
        if let Some(text) = name
            && Path::new(text).is_relative()
        {
            *text = folder.join(&*text).to_string_lossy().into_owned();
        }
    };
    for named in &mut kubeconfig.clusters {
        resolve(&mut named.cluster.certificate_authority);
    }
    for named in &mut kubeconfig.users {
        resolve(&mut named.user.client_certificate);
        resolve(&mut named.user.client_key);
        resolve(&mut named.user.token_file);
        if let Some(exec) = &mut named.user.exec
            // A bare name is looked up in $PATH.
            && exec
                .command
                .as_deref()
                .is_some_and(|command| command.contains(std::path::MAIN_SEPARATOR))
        {
            resolve(&mut exec.command);
        }
    }
}
