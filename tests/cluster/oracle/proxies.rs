//! Which proxy is used, and how it is asked.
//!
//! `0.0.0.0` reaches this machine and is not a loopback address, which Go never sends through a proxy.

use super::relay::How;
use super::{Contact, Row, one, only};

const FAR: &str = "server: 'https://0.0.0.0:@port@', tls-server-name: localhost, certificate-authority-data: '@authority@'";

fn far() -> Row {
    Row::new("a server that is not loopback", one(FAR, "token: t"))
}

fn direct(contact: &Contact) -> bool {
    contact.proxied.is_empty() && contact.ways.len() == 1
}

fn tunnelled(how: How) -> impl Fn(&Contact) -> bool {
    move |contact| only(&contact.proxied).is_some_and(|proxied| proxied.how == how)
}

/// Rows 3 and 4.
#[test]
fn no_proxy_is_compared_with_the_server() {
    for (no_proxy, is_direct) in [
        ("", false),
        ("10.0.0.0/8", false),
        ("0.0.0.0/8", true),
        ("0.0.0.0", true),
        ("0.0.0.0:@port@", true),
        ("0.0.0.0:1", false),
        ("other, 0.0.0.0/8 ,", true),
        ("<local>", false),
        ("<local>,,0.0.0.0", true),
        ("*", true),
        ("127.0.0.1", false),
        ("0.0.0.0/99", false),
    ] {
        let row = far()
            .env("HTTPS_PROXY", "http://@proxy@")
            .env("NO_PROXY", no_proxy);
        if is_direct {
            row.works(direct);
        } else {
            row.works(tunnelled(How::Connect));
        }
    }
    for (name, no_proxy, is_direct) in [
        ("api.example.test", "example.test", true),
        ("api.example.test", ".example.test", true),
        ("api.example.test", "*.example.test", true),
        ("API.Example.TEST", "example.test", true),
        ("api.example.test", "api.example.test:@port@", true),
        ("badexample.test", "example.test", false),
        ("api.example.test", "other.test", false),
        ("example.test", ".example.test", false),
    ] {
        let server = format!(
            "server: 'https://{name}:@port@', tls-server-name: localhost, certificate-authority-data: '@authority@'"
        );
        let row = Row::new("a server by name", one(&server, "token: t"))
            .env("HTTPS_PROXY", "@proxy@")
            .env("NO_PROXY", no_proxy);
        if is_direct {
            // Nobody but the proxy knows the name.
            row.fails("");
        } else {
            row.works(tunnelled(How::Connect));
        }
    }
}

/// Rows 6 and 7, and the names of the variables.
#[test]
fn the_environment_names_a_proxy_as_go_reads_it() {
    for (variable, proxy, how) in [
        ("HTTPS_PROXY", "http://@proxy@", How::Connect),
        ("https_proxy", "http://@proxy@", How::Connect),
        ("HTTPS_PROXY", "@proxy@", How::Connect),
        ("HTTPS_PROXY", "http://@proxy@/", How::Connect),
        ("HTTPS_PROXY", "http://me:p%40ss@@proxy@", How::Connect),
        ("HTTPS_PROXY", "http://me@@proxy@", How::Connect),
        ("HTTPS_PROXY", "socks5://@proxy@", How::SocksAddress),
        ("HTTPS_PROXY", "socks5h://@proxy@", How::SocksAddress),
        (
            "HTTPS_PROXY",
            "socks5://me:p%40ss@@proxy@",
            How::SocksAddress,
        ),
    ] {
        far().env(variable, proxy).works(tunnelled(how));
    }
    far()
        .env("HTTP_PROXY", "http://@proxy@")
        .env("ALL_PROXY", "http://@proxy@")
        .works(direct);
    far()
        .env("HTTPS_PROXY", "")
        .env("https_proxy", "http://@proxy@")
        .works(tunnelled(How::Connect));
    Row::new("loopback", super::trusting("token: t"))
        .env("HTTPS_PROXY", "http://@proxy@")
        .works(direct);
    Row::new(
        "localhost",
        one(
            "server: 'https://localhost:@port@', certificate-authority-data: '@authority@'",
            "token: t",
        ),
    )
    .env("HTTPS_PROXY", "http://@proxy@")
    .works(direct);
    // What is no scheme of a proxy is an HTTP proxy all the same.
    far()
        .env("HTTPS_PROXY", "tcp://@proxy@")
        .works(tunnelled(How::Connect));
    for proxy in ["http://", "http://127.0.0.1:1"] {
        far().env("HTTPS_PROXY", proxy).fails("");
    }
}

#[test]
fn a_socks_proxy_resolves_the_name() {
    let server = "server: 'https://api.example.test:@port@', tls-server-name: localhost, certificate-authority-data: '@authority@'";
    for scheme in ["socks5", "socks5h"] {
        Row::new("a name behind SOCKS", one(server, "token: t"))
            .env("HTTPS_PROXY", format!("{scheme}://@proxy@"))
            .works(tunnelled(How::SocksName));
    }
    Row::new(
        "a name behind SOCKS of the kubeconfig",
        one(
            &format!("{server}, proxy-url: 'socks5://@proxy@'"),
            "token: t",
        ),
    )
    .works(tunnelled(How::SocksName));
}

/// Row 5.
#[test]
fn the_proxy_of_the_kubeconfig_beats_the_environment() {
    for proxy in [
        "http://@proxy@",
        "http://@proxy@/",
        "http://me:p%40ss@@proxy@",
    ] {
        Row::new(
            "proxy-url",
            one(&format!("{FAR}, proxy-url: '{proxy}'"), "token: t"),
        )
        .env("NO_PROXY", "*")
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .works(tunnelled(How::Connect));
    }
    Row::new(
        "proxy-url for loopback",
        one(
            "server: '@https@', certificate-authority-data: '@authority@', proxy-url: 'http://@proxy@'",
            "token: t",
        ),
    )
    .works(tunnelled(How::Connect));
    Row::new(
        "an empty proxy-url",
        one(&format!("{FAR}, proxy-url: ''"), "token: t"),
    )
    .env("HTTPS_PROXY", "http://@proxy@")
    .works(tunnelled(How::Connect));
    Row::new(
        "a proxy-url with another server by flag",
        one(&format!("{FAR}, proxy-url: 'http://@proxy@'"), "token: t"),
    )
    .flags(&[
        "--server",
        "https://0.0.0.0:@port@",
        "--tls-server-name",
        "localhost",
    ])
    .works(tunnelled(How::Connect));
    for proxy in ["ftp://@proxy@", "@proxy@", "not a url"] {
        Row::new(
            "an unusable proxy-url",
            one(&format!("{FAR}, proxy-url: '{proxy}'"), "token: t"),
        )
        .fails("proxy");
    }
}

#[test]
fn a_plain_server_is_asked_through_the_proxy_without_a_tunnel() {
    let plain = "server: 'http://api.example.test:@plain-port@/prefix'";
    for proxy in ["http://@proxy@", "@proxy@", "http://me:p%40ss@@proxy@"] {
        Row::new("a plain server behind a proxy", one(plain, ""))
            .env("HTTP_PROXY", proxy)
            .works(tunnelled(How::Absolute));
    }
    Row::new(
        "a plain server behind the kubeconfig's proxy",
        one(&format!("{plain}, proxy-url: 'http://@proxy@'"), ""),
    )
    .works(tunnelled(How::Absolute));
    Row::new("a plain server behind SOCKS", one(plain, ""))
        .env("HTTP_PROXY", "socks5://@proxy@")
        .works(tunnelled(How::SocksName));
}
