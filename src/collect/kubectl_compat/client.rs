//! Builds the client: kube's own layers over a connector whose certificate verifier is ours.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use http::{HeaderValue, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tower::{BoxError, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

use super::Connection;
use super::error::{Cause, ConfigError};
use super::forward::{Forward, is_forwarded};
use super::tls::PinningVerifier;

/// Builds a client. It sends nothing yet.
///
/// # Errors
///
/// A [`ConfigError`] when the TLS library refuses a certificate, a key or a name.
pub fn build_client(connection: &Connection) -> Result<kube::Client, ConfigError> {
    let config = &connection.config;
    // Several libraries in the tree could bring a provider of their own; this one knows P-521.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else was faster, and then it is installed all the same.
        let _installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(config.connect_timeout);
    let Some(proxy) = &config.proxy_url else {
        return finish(connection, https(config, http)?);
    };
    let login = login_in(proxy);
    match proxy.scheme_str() {
        Some("socks5") => {
            let mut socks = SocksV5::new(proxy.clone(), http);
            if let Some((user, password)) = login {
                socks = socks.with_auth(user, password);
            }
            finish(connection, https(config, socks)?)
        }
        Some("https") => {
            let tunnel = Tunnel::new(proxy.clone(), https(config, http)?);
            finish(connection, https(config, with_login(tunnel, login))?)
        }
        Some(_) | None if is_forwarded(&config.cluster_url, proxy) => {
            finish(connection, Forward::new(proxy.clone(), http))
        }
        Some(_) | None => {
            let tunnel = Tunnel::new(proxy.clone(), http);
            finish(connection, https(config, with_login(tunnel, login))?)
        }
    }
}

fn https<C>(config: &kube::Config, connector: C) -> Result<HttpsConnector<C>, ConfigError> {
    let builder = HttpsConnectorBuilder::new()
        .with_tls_config(tls_config(config)?)
        .https_or_http();
    let builder = match &config.tls_server_name {
        Some(name) => {
            let name =
                ServerName::try_from(name.clone()).map_err(|error| ConfigError::BadData {
                    what: "tls-server-name",
                    source: Cause::of(&error),
                })?;
            builder.with_server_name_resolver(FixedServerNameResolver::new(name))
        }
        None => builder,
    };
    Ok(builder.enable_http1().wrap_connector(connector))
}

fn tls_config(config: &kube::Config) -> Result<ClientConfig, ConfigError> {
    let mut tls = config
        .rustls_client_config()
        .map_err(|error| ConfigError::Tls {
            source: Cause::of(&error),
        })?;
    if let Some(roots) = &config.root_cert
        && !config.accept_invalid_certs
    {
        let verifier = PinningVerifier::new(roots)?;
        tls.dangerous().set_certificate_verifier(Arc::new(verifier));
    }
    Ok(tls)
}

fn finish<C>(connection: &Connection, connector: C) -> Result<kube::Client, ConfigError>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let config = &connection.config;
    let failed = |error: kube::Error| ConfigError::Client {
        source: Cause::of(&error),
    };
    let inner: legacy::Client<C, Body> =
        legacy::Builder::new(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(DecompressionLayer::new().gzip(!config.disable_compression))
        .option_layer(config.auth_layer().map_err(failed)?)
        .layer(config.extra_headers_layer().map_err(failed)?)
        .map_err(BoxError::from)
        .service(inner);
    Ok(kube::Client::new(service, config.default_namespace.clone())
        .with_valid_until(connection.valid_until))
}

fn with_login<C>(tunnel: Tunnel<C>, login: Option<(String, String)>) -> Tunnel<C> {
    let Some((user, password)) = login else {
        return tunnel;
    };
    match basic(&user, &password) {
        Some(header) => tunnel.with_auth(header),
        None => tunnel,
    }
}

/// Returns the header that a proxy asks for, if its URL holds a login.
pub(super) fn proxy_authorization(proxy: &Uri) -> Option<HeaderValue> {
    let (user, password) = login_in(proxy)?;
    basic(&user, &password)
}

/// `None` never happens: base64 is always a valid header value.
fn basic(user: &str, password: &str) -> Option<HeaderValue> {
    let packed = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    let mut header = HeaderValue::from_str(&format!("Basic {packed}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Reads `user:password@` of a URL, percent-decoded.
pub(super) fn login_in(url: &Uri) -> Option<(String, String)> {
    let (login, _) = url.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    Some((percent_decode(user).ok()?, percent_decode(password).ok()?))
}

fn percent_decode(text: &str) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let escaped = hex.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (first, escaped) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).map_err(io::Error::other)
}
