//! Which proxy a server is reached through, chosen as Go does.
//!
//! kubectl uses the kubeconfig's `proxy-url` whatever `NO_PROXY` says, and else Go's
//! `http.ProxyFromEnvironment` (golang.org/x/net/http/httpproxy): the target, not the proxy, is compared
//! with `NO_PROXY`; `localhost` and loopback addresses are always direct.

use std::net::IpAddr;

use http::Uri;

use super::Environment;
use super::error::ConfigError;

/// Returns the proxy for a server, or `None` for a direct connection.
pub(super) fn proxy_for(
    server: &Uri,
    proxy_url: Option<&str>,
    env: &Environment,
) -> Result<Option<Uri>, ConfigError> {
    if let Some(proxy) = proxy_url {
        return parse(proxy, "proxy-url of the kubeconfig", Scheme::Required).map(Some);
    }
    let (proxy, origin) = if server.scheme_str() == Some("https") {
        (env.https_proxy.as_deref(), "HTTPS_PROXY")
    } else {
        (env.http_proxy.as_deref(), "HTTP_PROXY")
    };
    let Some(proxy) = proxy.filter(|proxy| !proxy.is_empty()) else {
        return Ok(None);
    };
    let host = bare_host(server);
    let port = server.port_u16().unwrap_or_else(|| default_port(server));
    if is_direct(&host, port, env.no_proxy.as_deref().unwrap_or_default()) {
        return Ok(None);
    }
    parse(proxy, origin, Scheme::MayBeMissing).map(Some)
}

/// Whether a proxy may be written as `host:port`.
#[derive(Clone, Copy)]
enum Scheme {
    Required,
    MayBeMissing,
}

fn parse(proxy: &str, origin: &'static str, scheme: Scheme) -> Result<Uri, ConfigError> {
    let failed = |reason: &str| ConfigError::Proxy {
        proxy: without_credentials(proxy),
        origin,
        reason: reason.to_owned(),
    };
    let text = match scheme {
        Scheme::MayBeMissing if !proxy.contains("://") => format!("http://{proxy}"),
        Scheme::MayBeMissing | Scheme::Required => proxy.to_owned(),
    };
    // What is no scheme of a proxy is to Go an HTTP proxy all the same, if the environment names it.
    let text = match (scheme, text.split_once("://")) {
        (Scheme::MayBeMissing, Some((other, rest)))
            if !["http", "https", "socks5", "socks5h"]
                .contains(&other.to_ascii_lowercase().as_str()) =>
        {
            format!("http://{rest}")
        }
        (Scheme::MayBeMissing | Scheme::Required, _) => text,
    };
    // Both names mean to Go that the proxy resolves the host name, and that is what is done here.
    let text = match text.strip_prefix("socks5h://") {
        Some(rest) => format!("socks5://{rest}"),
        None => text,
    };
    let uri: Uri = text
        .trim_end_matches('/')
        .parse()
        .map_err(|_invalid: http::uri::InvalidUri| failed("not a URL"))?;
    match uri.scheme_str() {
        Some("http" | "https" | "socks5") if uri.host().is_some_and(|host| !host.is_empty()) => {
            Ok(uri)
        }
        Some("http" | "https" | "socks5") => Err(failed("it names no host")),
        Some(_) | None => Err(failed("unsupported scheme, must be http, https or socks5")),
    }
}

/// Removes `user:password@`, for messages.
pub(super) fn without_credentials(url: &str) -> String {
    let (scheme, rest) = url
        .split_once("://")
        .map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{path}")
}

fn default_port(server: &Uri) -> u16 {
    if server.scheme_str() == Some("https") {
        443
    } else {
        80
    }
}

fn bare_host(server: &Uri) -> String {
    let host = server.host().unwrap_or_default();
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .to_ascii_lowercase()
}

/// Go's `useProxy`, negated.
fn is_direct(host: &str, port: u16, no_proxy: &str) -> bool {
    if host == "localhost" {
        return true;
    }
    let ip: Option<IpAddr> = host.parse().ok();
    if ip.is_some_and(|ip| to_v4(ip).is_loopback()) {
        return true;
    }
    no_proxy
        .split(',')
        .map(|entry| entry.trim().to_ascii_lowercase())
        .filter(|entry| !entry.is_empty())
        .any(|entry| matches(&entry, host, ip, port))
}

fn matches(entry: &str, host: &str, ip: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some((network, bits)) = parse_cidr(entry) {
        return ip.is_some_and(|ip| contains(network, bits, ip));
    }
    let (name, wanted_port) = split_port(entry);
    if name.is_empty() || wanted_port.is_some_and(|wanted| wanted != port) {
        return false;
    }
    if let Ok(address) = name.parse::<IpAddr>() {
        return ip.is_some_and(|ip| to_v4(ip) == to_v4(address));
    }
    // `.example.com` and `*.example.com` mean the names below; `example.com` means itself too.
    let below = name.strip_prefix('*').unwrap_or(name);
    match below.strip_prefix('.') {
        Some(_) => host.ends_with(below),
        None => {
            host == below
                || host
                    .strip_suffix(below)
                    .is_some_and(|rest| rest.ends_with('.'))
        }
    }
}

/// Splits `host:port`, `[v6]:port` and `[v6]`; a bare IPv6 address has no port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some(rest) = entry.strip_prefix('[') {
        let (host, after) = rest.split_once(']').unwrap_or((rest, ""));
        return (
            host,
            after.strip_prefix(':').and_then(|port| port.parse().ok()),
        );
    }
    match entry.split_once(':') {
        Some((host, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (entry, None),
        },
        Some(_) | None => (entry, None),
    }
}

fn parse_cidr(entry: &str) -> Option<(IpAddr, u8)> {
    let (network, bits) = entry.split_once('/')?;
    let network: IpAddr = network.parse().ok()?;
    let bits: u8 = bits.parse().ok()?;
    let most = if network.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some((network, bits))
}

fn contains(network: IpAddr, bits: u8, ip: IpAddr) -> bool {
    match (network, to_v4(ip)) {
        (IpAddr::V4(network), IpAddr::V4(ip)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            u32::from(network) & mask == u32::from(ip) & mask
        }
        (IpAddr::V6(network), IpAddr::V6(ip)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            u128::from(network) & mask == u128::from(ip) & mask
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

/// Go compares an IPv4-mapped address as the IPv4 address it is.
fn to_v4(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, Uri, proxy_for, without_credentials};

    fn chosen(server: &str, env: &Environment) -> Option<String> {
        let server: Uri = server.parse().unwrap();
        proxy_for(&server, None, env)
            .unwrap()
            .map(|proxy| proxy.to_string().trim_end_matches('/').to_owned())
    }

    fn env(https_proxy: &str, no_proxy: &str) -> Environment {
        Environment {
            https_proxy: Some(https_proxy.to_owned()),
            no_proxy: Some(no_proxy.to_owned()),
            ..Environment::empty()
        }
    }

    #[test]
    fn no_proxy_is_compared_with_the_server_as_go_does() {
        let direct = [
            ("https://10.1.2.3:6443", "10.0.0.0/8"),
            ("https://10.1.2.3:6443", "10.1.2.3"),
            ("https://10.1.2.3:6443", "10.1.2.3:6443"),
            ("https://10.1.2.3:6443", "other.example.com, 10.0.0.0/8 ,"),
            ("https://api.example.com", "example.com"),
            ("https://example.com", "example.com"),
            ("https://api.example.com", ".example.com"),
            ("https://api.example.com", "*.example.com"),
            ("https://API.Example.COM", "example.com"),
            ("https://api.example.com", "example.com:443"),
            ("https://anything.example.org", "*"),
            ("https://[fd00::1]:6443", "fd00::/8"),
            ("https://[fd00::1]:6443", "[fd00::1]:6443"),
            ("https://[fd00::1]:6443", "fd00::1"),
            ("https://10.1.2.3", "0.0.0.0/0"),
            ("https://localhost:6443", ""),
            ("https://127.0.0.1:6443", ""),
            ("https://127.9.9.9:6443", ""),
            ("https://[::1]:6443", ""),
        ];
        for (server, no_proxy) in direct {
            let env = env("http://proxy:3128", no_proxy);
            assert_eq!(
                chosen(server, &env),
                None,
                "{server} with NO_PROXY={no_proxy}"
            );
        }
        let proxied = [
            ("https://10.1.2.3:6443", ""),
            ("https://10.1.2.3:6443", "<local>,,"),
            ("https://10.1.2.3:6443", "192.168.0.0/16"),
            ("https://10.1.2.3:6443", "10.1.2.3:443"),
            ("https://10.1.2.3:6443", "10.1.2.3/99"),
            ("https://example.com", ".example.com"),
            ("https://example.com", "*.example.com"),
            ("https://badexample.com", "example.com"),
            ("https://api.example.com", "example.com:6443"),
            ("https://10.1.2.3", "proxy"),
        ];
        for (server, no_proxy) in proxied {
            let env = env("http://proxy:3128", no_proxy);
            assert_eq!(
                chosen(server, &env).as_deref(),
                Some("http://proxy:3128"),
                "{server} with NO_PROXY={no_proxy}"
            );
        }
    }

    #[test]
    fn a_proxy_without_a_scheme_is_http_and_socks5h_is_socks5() {
        let server = "https://10.1.2.3:6443";
        for (written, used) in [
            ("proxy:3128", "http://proxy:3128"),
            ("socks5h://proxy:1080", "socks5://proxy:1080"),
            ("socks5://proxy:1080", "socks5://proxy:1080"),
            ("https://proxy:8443/", "https://proxy:8443"),
            (
                "http://user:secret@proxy:3128",
                "http://user:secret@proxy:3128",
            ),
        ] {
            assert_eq!(chosen(server, &env(written, "")).as_deref(), Some(used));
        }
    }

    #[test]
    fn each_scheme_of_the_server_has_its_own_variable() {
        let env = Environment {
            http_proxy: Some("http://plain:1".to_owned()),
            ..Environment::empty()
        };
        assert_eq!(chosen("https://10.1.2.3", &env), None);
        assert_eq!(
            chosen("http://10.1.2.3", &env).as_deref(),
            Some("http://plain:1")
        );
    }

    #[test]
    fn proxy_url_of_the_kubeconfig_beats_no_proxy() {
        let server: Uri = "https://10.1.2.3:6443".parse().unwrap();
        let env = env("http://other:1", "*");
        let proxy = proxy_for(&server, Some("http://proxy:3128"), &env).unwrap();
        assert_eq!(proxy.unwrap().authority().unwrap().as_str(), "proxy:3128");
    }

    #[test]
    fn an_unusable_proxy_is_named_without_its_password() {
        let server: Uri = "https://10.1.2.3:6443".parse().unwrap();
        let error = proxy_for(
            &server,
            Some("ftp://me:secret@proxy:1"),
            &Environment::empty(),
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains("ftp://proxy:1"), "{error}");
        assert!(!error.contains("secret"), "{error}");
        assert_eq!(without_credentials("me:secret@proxy:1"), "proxy:1");
    }
}
