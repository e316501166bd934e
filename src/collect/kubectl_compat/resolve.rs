//! From flags, environment and files to a `kube::Config`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderValue, Uri, header};
use jiff::Timestamp;

use super::chosen::{Chosen, choose};
use super::client::{login_in, proxy_authorization};
use super::error::{Cause, ConfigError};
use super::exec::{ClusterInfo, Run};
use super::forward::is_forwarded;
use super::kubeconfig::{Cluster, Found, Kubeconfig, User, find};
use super::proxy::{proxy_for, without_credentials};
use super::tls::certificates;
use super::{ClusterFlags, Environment, Progress, TlsVerify, bounded, present};

/// The `User-Agent` of every request, so that an audit log tells who asked.
pub(super) const USER_AGENT: &str = concat!("kubectl-velero-slots/", env!("CARGO_PKG_VERSION"));

/// The name under which client-go looks for a plugin's own configuration.
const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

/// Longest time to a TCP and TLS connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Which cluster was chosen, for the first line of every answer. Holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedCluster {
    /// The context's name; `None` in a pod, or when flags alone name the cluster.
    pub context: Option<String>,
    /// The kubeconfig's name of the cluster.
    pub cluster: String,
    /// The API server's URL, without credentials.
    pub server: String,
    /// The context's namespace, `default` if it names none. Not Velero's.
    pub namespace: String,
    /// The kubeconfig's name of the user.
    pub user: Option<String>,
    /// `--as`, or the kubeconfig's `as`.
    pub impersonates: Option<String>,
}

/// What a client is built from.
pub struct Connection {
    /// kube's configuration: no credential plugin left in it, no silent retry.
    pub config: kube::Config,
    /// What was chosen.
    pub resolved: ResolvedCluster,
    /// When the credential plugin's answer expires, by the server's clock.
    pub valid_until: Option<Timestamp>,
}

/// Finds the cluster and logs in, running a credential plugin at most once.
///
/// # Errors
///
/// A [`ConfigError`] when the files or flags name no usable cluster, or when the plugin fails.
pub async fn resolve(
    flags: &ClusterFlags,
    env: &Environment,
    progress: Progress<'_>,
) -> Result<Connection, ConfigError> {
    connection(named(flags, env)?, env, progress).await
}

/// Finds the cluster, and takes only credentials that are at hand: nothing is run, nobody is asked.
///
/// # Errors
///
/// As [`resolve`], and [`ConfigError::LoginNeeded`] when the user logs in by a credential plugin or an
/// auth-provider, whatever it might have in store.
pub async fn resolve_without_login(
    flags: &ClusterFlags,
    env: &Environment,
) -> Result<Connection, ConfigError> {
    let chosen = named(flags, env)?;
    if chosen.user.exec.is_some() || chosen.user.auth_provider.is_some() {
        return Err(ConfigError::LoginNeeded {
            user: chosen.user_name.unwrap_or_default(),
        });
    }
    connection(chosen, env, &|_| {}).await
}

fn named(flags: &ClusterFlags, env: &Environment) -> Result<Chosen, ConfigError> {
    match find(flags, env)? {
        Found::Merged(kubeconfig) => choose(&kubeconfig, flags),
        Found::Nothing { .. } if present(flags.server.as_deref()).is_some() => {
            choose(&Kubeconfig::default(), flags)
        }
        Found::Nothing { looked_at } => {
            let pod = in_cluster(env).ok_or(ConfigError::NoKubeconfig { looked_at })?;
            choose(&pod, flags)
        }
    }
}

/// The pod's own cluster, written as a kubeconfig so that the flags apply to it too.
fn in_cluster(env: &Environment) -> Option<Kubeconfig> {
    let host = present(env.kubernetes_service_host.as_deref())?;
    let port = present(env.kubernetes_service_port.as_deref())?;
    let dir = &env.service_account_dir;
    let token_file = dir.join("token");
    if !token_file.is_file() {
        return None;
    }
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    let path = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut kubeconfig = Kubeconfig::default();
    kubeconfig.clusters.push(super::kubeconfig::NamedCluster {
        name: IN_CLUSTER.to_owned(),
        cluster: Cluster {
            server: Some(format!("https://{host}:{port}")),
            certificate_authority: Some(path(dir.join("ca.crt"))),
            ..Cluster::default()
        },
    });
    kubeconfig.users.push(super::kubeconfig::NamedUser {
        name: IN_CLUSTER.to_owned(),
        user: User {
            token_file: Some(path(token_file)),
            ..User::default()
        },
    });
    kubeconfig.contexts.push(super::kubeconfig::NamedContext {
        name: IN_CLUSTER.to_owned(),
        context: super::kubeconfig::Context {
            cluster: Some(IN_CLUSTER.to_owned()),
            user: Some(IN_CLUSTER.to_owned()),
            namespace: bounded::read_to_string(&dir.join("namespace"))
                .ok()
                .map(|text| text.trim().to_owned()),
        },
    });
    kubeconfig.current_context = Some(IN_CLUSTER.to_owned());
    Some(kubeconfig)
}

const IN_CLUSTER: &str = "in-cluster";

async fn connection(
    chosen: Chosen,
    env: &Environment,
    progress: Progress<'_>,
) -> Result<Connection, ConfigError> {
    let Chosen {
        context_name,
        cluster_name,
        cluster,
        user_name,
        user,
        context_namespace,
    } = chosen;
    let server = server_uri(cluster.server.as_deref().unwrap_or_default())?;
    let mut config = kube::Config::new(server.clone());
    config.default_namespace.clone_from(&context_namespace);
    config.proxy_url = proxy_for(&server, cluster.proxy_url.as_deref(), env)?;
    config.disable_compression = cluster.disable_compression == Some(true);
    config.connect_timeout = Some(CONNECT_LIMIT);
    // Retries are ours and visible; kube's would be silent for up to minutes.
    config.default_retry = false;
    config
        .headers
        .push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
    if let Some(proxy) = &config.proxy_url
        && is_forwarded(&server, proxy)
        && let Some(login) = proxy_authorization(proxy)
    {
        config.headers.push((header::PROXY_AUTHORIZATION, login));
    }
    impersonate(&mut config, &user);
    let mut valid_until = None;
    // client-go reads credentials and authorities only for https: a token never travels in the clear.
    if server.scheme_str() == Some("https") {
        trust(&mut config, &cluster)?;
        let name = user_name.clone().unwrap_or_default();
        valid_until = log_in(&mut config, &name, user.clone(), &cluster, env, progress).await?;
    }
    log_in_by_url(&mut config);
    Ok(Connection {
        config,
        resolved: ResolvedCluster {
            context: context_name.filter(|name| name != IN_CLUSTER),
            cluster: cluster_name,
            server: without_credentials(server.to_string().trim_end_matches('/')),
            namespace: context_namespace,
            user: user_name,
            impersonates: user.as_user,
        },
        valid_until,
    })
}

/// Reads `server`; without a scheme it is http, as in kubectl (client-go `rest/url_utils.go`).
fn server_uri(server: &str) -> Result<Uri, ConfigError> {
    let invalid = || ConfigError::InvalidServer {
        server: without_credentials(server),
    };
    let text = if server.contains("://") {
        server.to_owned()
    } else {
        format!("http://{server}")
    };
    let uri: Uri = text
        .parse()
        .map_err(|_invalid: http::uri::InvalidUri| invalid())?;
    let has_host = uri.host().is_some_and(|host| !host.is_empty());
    match uri.scheme_str() {
        Some("http" | "https") if has_host => Ok(uri),
        Some(_) | None => Err(invalid()),
    }
}

fn impersonate(config: &mut kube::Config, user: &User) {
    let auth = &mut config.auth_info;
    auth.impersonate.clone_from(&user.as_user);
    auth.impersonate_uid.clone_from(&user.as_uid);
    auth.impersonate_groups = (!user.as_groups.is_empty()).then(|| user.as_groups.clone());
    auth.impersonate_user_extra =
        (!user.as_user_extra.is_empty()).then(|| user.as_user_extra.clone().into_iter().collect());
}

fn trust(config: &mut kube::Config, cluster: &Cluster) -> Result<(), ConfigError> {
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify == Some(true);
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    if let Some(pem) = authority(cluster)? {
        config.root_cert = Some(certificates("certificate authority", &pem)?);
    }
    Ok(())
}

fn authority(cluster: &Cluster) -> Result<Option<Vec<u8>>, ConfigError> {
    data_or_file(
        "certificate authority",
        cluster.certificate_authority_data.as_deref(),
        cluster.certificate_authority.as_deref(),
    )
}

/// Data wins over a file, as in client-go.
fn data_or_file(
    what: &'static str,
    data: Option<&str>,
    file: Option<&str>,
) -> Result<Option<Vec<u8>>, ConfigError> {
    if let Some(data) = data {
        // Wrapped base64 is taken by Go's decoder.
        let packed: String = data.split_whitespace().collect();
        return BASE64
            .decode(packed)
            .map(Some)
            .map_err(|error| ConfigError::BadData {
                what,
                source: Cause::of(&error),
            });
    }
    file.map(|file| read_file(what, Path::new(file)))
        .transpose()
}

fn read_file(what: &'static str, path: &Path) -> Result<Vec<u8>, ConfigError> {
    bounded::read(path).map_err(|source: io::Error| ConfigError::ReadFile {
        what,
        path: path.to_owned(),
        source,
    })
}

async fn log_in(
    config: &mut kube::Config,
    user_name: &str,
    user: User,
    cluster: &Cluster,
    env: &Environment,
    progress: Progress<'_>,
) -> Result<Option<Timestamp>, ConfigError> {
    let mut identity = kubeconfig_identity(user_name, &user)?;
    let mut valid_until = None;
    if user.token.is_some() || user.token_file.is_some() {
        bearer(&mut config.auth_info, user.token, user.token_file)?;
    } else if let Some(username) = user.username {
        config.auth_info.username = Some(username);
        config.auth_info.password = Some(user.password.unwrap_or_default().into());
    } else if let Some(provider) = user.auth_provider {
        // kube refreshes OpenID Connect tokens; client-go has dropped every other provider.
        if provider.name != "oidc" {
            return Err(ConfigError::AuthProvider {
                name: provider.name,
            });
        }
        config.auth_info.auth_provider = Some(kube::config::AuthProviderConfig {
            name: provider.name,
            config: provider.config.into_iter().collect(),
            ..kube::config::AuthProviderConfig::default()
        });
    } else if let Some(exec) = user.exec
        // A certificate is a login, and no other is asked for beside it (v0.32 `exec.UpdateTransportConfig`).
        && identity.is_none()
    {
        let info = cluster_info(cluster)?;
        let run = Run::prepare(user_name, &exec, env.stdin, Some(info))?;
        let credential = run.run(progress).await?;
        config.auth_info.token = credential.token.map(Into::into);
        identity = credential.identity;
        valid_until = credential.valid_until;
    }
    if let Some((certificate, key)) = identity {
        config.auth_info.client_certificate_data = Some(BASE64.encode(certificate));
        config.auth_info.client_key_data = Some(BASE64.encode(key).into());
    }
    Ok(valid_until)
}

/// Go sends the `user:password@` of a URL before every other login, over http too (net/http `Client`).
fn log_in_by_url(config: &mut kube::Config) {
    let Some((user, password)) = login_in(&config.cluster_url) else {
        return;
    };
    let auth = &mut config.auth_info;
    auth.token = None;
    auth.token_file = None;
    auth.auth_provider = None;
    auth.username = Some(user);
    auth.password = Some(password.into());
}

/// client-go reads a token file again and again and sends what it reads; the token beside it is only for
/// the time when the file cannot be read (v0.32 `transport/round_trippers.go`).
fn bearer(
    auth: &mut kube::config::AuthInfo,
    token: Option<String>,
    file: Option<String>,
) -> Result<(), ConfigError> {
    let read = file
        .as_deref()
        .map(|file| read_file("token file", Path::new(file)))
        .transpose();
    match (read, token) {
        (Ok(Some(text)), _) => {
            let text = String::from_utf8_lossy(&text);
            if text.trim().is_empty() {
                return Err(ConfigError::BadData {
                    what: "token file",
                    source: Cause("it is empty".to_owned()),
                });
            }
            if text == text.trim() {
                // kube reads the file again every minute.
                auth.token_file = file;
            } else {
                // kube would put the line break into the header, and fail.
                auth.token = Some(text.trim().to_owned().into());
            }
        }
        (Ok(None) | Err(_), Some(token)) => auth.token = Some(token.into()),
        (Err(error), None) => return Err(error),
        (Ok(None), None) => {}
    }
    Ok(())
}

fn kubeconfig_identity(
    user_name: &str,
    user: &User,
) -> Result<Option<(String, String)>, ConfigError> {
    let certificate = data_or_file(
        "client certificate",
        user.client_certificate_data.as_deref(),
        user.client_certificate.as_deref(),
    )?;
    let key = data_or_file(
        "client key",
        user.client_key_data.as_deref(),
        user.client_key.as_deref(),
    )?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((
            String::from_utf8_lossy(&certificate).into_owned(),
            String::from_utf8_lossy(&key).into_owned(),
        ))),
        // A key alone is no login (v0.32 `transport.Config.HasCertAuth`), and client-go does not mind it.
        (None, None | Some(_)) => Ok(None),
        (Some(_), None) => Err(ConfigError::HalfIdentity {
            user: user_name.to_owned(),
            has: "a client certificate",
            lacks: "client key",
        }),
    }
}

fn cluster_info(cluster: &Cluster) -> Result<ClusterInfo, ConfigError> {
    Ok(ClusterInfo {
        // As it is written: plugins compare it with the kubeconfig.
        server: cluster.server.clone().unwrap_or_default(),
        tls_server_name: cluster.tls_server_name.clone(),
        insecure_skip_tls_verify: cluster.insecure_skip_tls_verify.filter(|skip| *skip),
        certificate_authority_data: authority(cluster)?.map(|pem| BASE64.encode(pem)),
        proxy_url: cluster.proxy_url.clone(),
        disable_compression: cluster.disable_compression.filter(|disable| *disable),
        config: cluster
            .extensions
            .iter()
            .find(|extension| extension.name == EXEC_EXTENSION)
            .map(|extension| extension.extension.clone()),
    })
}

impl ClusterFlags {
    /// Returns whether the flags ask for no check of the server's certificate.
    #[must_use]
    pub fn skips_tls_verify(&self) -> bool {
        self.insecure_skip_tls_verify == Some(TlsVerify::Skip)
    }
}
