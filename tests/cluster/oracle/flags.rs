//! The flags that name a server.

use super::{Contact, Row, one, trusting};

fn at(scheme: &'static str, prefix: &'static str) -> impl Fn(&Contact) -> bool {
    move |contact| contact.came(|way| way.scheme == scheme && way.prefix == prefix)
}

/// Row 16: `server` with a path, a slash at its end, or no scheme.
#[test]
fn a_server_is_written_as_kubectl_reads_it() {
    for (written, scheme, prefix) in [
        ("@https@", "https", ""),
        ("@https@/", "https", ""),
        ("@https@/k8s/clusters/c-1", "https", "/k8s/clusters/c-1"),
        ("@https@/k8s/clusters/c-1/", "https", "/k8s/clusters/c-1"),
        ("@https@//", "https", ""),
        ("@https@/a?b=c#d", "https", "/a"),
        ("HTTPS://127.0.0.1:@port@", "https", ""),
        ("https://localhost:@port@", "https", ""),
        ("127.0.0.1:@plain-port@", "http", ""),
        ("localhost:@plain-port@", "http", ""),
        ("localhost:@plain-port@/", "http", ""),
        ("@http@/prefix", "http", "/prefix"),
    ] {
        let name = written;
        let authority = "certificate-authority-data: '@authority@'";
        Row::new(
            name,
            one(&format!("server: '{written}', {authority}"), "token: t"),
        )
        .works(at(scheme, prefix));
        Row::new(
            name,
            one(
                &format!("server: 'https://127.0.0.1:1', {authority}"),
                "token: t",
            ),
        )
        .flags(&["--server", written])
        .works(at(scheme, prefix));
    }
    for written in ["ftp://127.0.0.1:@port@", "https://", "not a url"] {
        Row::new(written, one(&format!("server: '{written}'"), "token: t")).fails("");
    }
    Row::new(
        "a path without a scheme",
        one("server: '127.0.0.1:@plain-port@/path'", "token: t"),
    )
    .differs(
        "kubectl refuses a path without a scheme; only one thing can be meant",
        |kubectl| !kubectl.worked() && kubectl.ways.is_empty(),
        at("http", "/path"),
    );
}

#[test]
fn flags_alone_name_a_server() {
    for flags in [
        &["--server", "@http@"][..],
        &["-s", "@http@"],
        &["--server=@http@/"],
    ] {
        Row::new("a server by flag alone", "")
            .without_env("KUBECONFIG")
            .flags(flags)
            .works(at("http", ""));
    }
    Row::new("everything by flags", "")
        .without_env("KUBECONFIG")
        .flags(&[
            "--server",
            "@https@",
            "--certificate-authority",
            "pki/authority.pem",
            "--client-certificate",
            "pki/client.pem",
            "--client-key",
            "pki/client.key.pem",
            "--token",
            "t",
        ])
        .works(|contact| {
            contact.came(|way| {
                way.authorization == "Bearer t" && way.certificate.as_deref() == Some("client")
            })
        });
    Row::new("an empty server flag is none", trusting("token: t"))
        .flags(&["--server", ""])
        .logs_in_with("Bearer t");
}

/// The credentials of a kubeconfig go with another server too, its name in the certificate does not.
#[test]
fn another_server_by_flag() {
    let cluster = "server: 'https://127.0.0.1:1', certificate-authority-data: '@authority@', tls-server-name: other.example.com";
    Row::new("another server", one(cluster, "token: t"))
        .flags(&["--server", "@https@"])
        .logs_in_with("Bearer t");
    Row::new("another server with a name", one(cluster, "token: t"))
        .flags(&["--server", "@https@", "--tls-server-name", "localhost"])
        .works(|contact| contact.came(|way| way.server_name.as_deref() == Some("localhost")));
}

#[test]
fn compression_is_asked_for_as_kubectl_asks() {
    let whole = "server: '@https@', certificate-authority-data: '@authority@'";
    Row::new("compression", one(whole, "token: t"))
        .works(|contact| contact.came(|way| way.encoding == "gzip"));
    Row::new(
        "no compression",
        one(&format!("{whole}, disable-compression: true"), "token: t"),
    )
    .works(|contact| contact.came(|way| way.encoding != "gzip"));
}
