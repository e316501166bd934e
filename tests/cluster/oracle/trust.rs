//! Which servers are trusted.

use super::{Certificate, Contact, Row, one};

fn reached(contact: &Contact) -> bool {
    contact.came(|way| way.scheme == "https")
}

fn cluster(rest: &str) -> String {
    one(&format!("server: '@https@', {rest}"), "token: t")
}

/// Rows 14, 19, 20 and 21.
#[test]
fn servers_that_kubectl_trusts_are_trusted() {
    for (name, shown, trust) in [
        (
            "an authority in a file",
            Certificate::Trusted,
            "certificate-authority: pki/authority.pem",
        ),
        (
            "an authority as data",
            Certificate::Trusted,
            "certificate-authority-data: '@authority@'",
        ),
        (
            "empty data beside a file",
            Certificate::Trusted,
            "certificate-authority-data: '', certificate-authority: pki/authority.pem",
        ),
        (
            "a pinned leaf",
            Certificate::Trusted,
            "certificate-authority: pki/server.pem",
        ),
        (
            "a self-signed certificate",
            Certificate::SelfSigned,
            "certificate-authority: pki/self-signed.pem",
        ),
        (
            "a P-521 key",
            Certificate::P521,
            "certificate-authority: pki/authority.pem",
        ),
        (
            "another name to expect",
            Certificate::OtherName,
            "certificate-authority: pki/other-name.pem, tls-server-name: other.example.com",
        ),
        (
            "no name to expect",
            Certificate::Trusted,
            "certificate-authority: pki/authority.pem, tls-server-name: ''",
        ),
        (
            "no check",
            Certificate::Expired,
            "insecure-skip-tls-verify: true",
        ),
        (
            "no check of a name",
            Certificate::OtherName,
            "insecure-skip-tls-verify: true",
        ),
    ] {
        Row::new(name, cluster(trust)).server(shown).works(reached);
    }
    Row::new(
        "several authorities",
        cluster("certificate-authority: bundle"),
    )
    .file(
        "bundle",
        format!(
            "# a comment\n{}\n{}",
            include_str!("../../../src/collect/kubectl_compat/testdata/other-name.pem"),
            include_str!("../../../src/collect/kubectl_compat/testdata/authority.pem")
        ),
    )
    .works(reached);
}

#[test]
fn servers_that_kubectl_refuses_are_refused() {
    for (name, shown, trust, words) in [
        (
            "another authority",
            Certificate::Trusted,
            "certificate-authority: pki/other-name.pem",
            "signed by an authority",
        ),
        (
            "the machine's authorities",
            Certificate::Trusted,
            "tls-server-name: localhost",
            "certificate",
        ),
        (
            "another name",
            Certificate::OtherName,
            "certificate-authority: pki/other-name.pem",
            "not valid for",
        ),
        (
            "a wrong name to expect",
            Certificate::Trusted,
            "certificate-authority: pki/authority.pem, tls-server-name: wrong.example.com",
            "not valid for",
        ),
        (
            "a time that is over",
            Certificate::Expired,
            "certificate-authority: pki/expired.pem",
            "expired",
        ),
        (
            "an authority that is away",
            Certificate::Trusted,
            "certificate-authority: missing",
            "missing",
        ),
        (
            "data that is no certificate",
            Certificate::Trusted,
            "certificate-authority-data: QQ==",
            "certificate",
        ),
        // Row 15.
        (
            "no check and an authority",
            Certificate::Trusted,
            "insecure-skip-tls-verify: true, certificate-authority: pki/authority.pem",
            "cannot be combined",
        ),
        (
            "no check and an authority as data",
            Certificate::Trusted,
            "insecure-skip-tls-verify: true, certificate-authority-data: '@authority@'",
            "cannot be combined",
        ),
    ] {
        Row::new(name, cluster(trust)).server(shown).fails(words);
    }
}

/// Row 15: what a flag clears.
#[test]
fn flags_of_trust_clear_what_would_contradict_them() {
    let authority = "certificate-authority-data: '@other-name@'";
    let insecure = "insecure-skip-tls-verify: true";
    for flags in [
        &["--insecure-skip-tls-verify"][..],
        &["--insecure-skip-tls-verify=true"],
        &["--insecure-skip-tls-verify=T"],
        &["--certificate-authority", "pki/authority.pem"],
    ] {
        Row::new("a flag of trust", cluster(authority))
            .flags(flags)
            .works(reached);
    }
    Row::new("no check switched off by flag", cluster(insecure))
        .flags(&["--insecure-skip-tls-verify=false"])
        .works(reached);
    Row::new("an authority over no check", cluster(insecure))
        .server(Certificate::SelfSigned)
        .flags(&["--certificate-authority", "pki/authority.pem"])
        .fails("signed by an authority");
    Row::new("both flags", cluster(authority))
        .flags(&[
            "--insecure-skip-tls-verify",
            "--certificate-authority",
            "pki/authority.pem",
        ])
        .fails("cannot be combined");
    Row::new(
        "another name by flag",
        cluster("certificate-authority: pki/other-name.pem"),
    )
    .server(Certificate::OtherName)
    .flags(&["--tls-server-name", "other.example.com"])
    .works(|contact| contact.came(|way| way.server_name.as_deref() == Some("other.example.com")));
    Row::new(
        "both data and file",
        cluster(
            "certificate-authority-data: '@authority@', certificate-authority: pki/other-name.pem",
        ),
    )
    .differs(
        "kubectl refuses it and says that the data would win; here the data wins",
        |kubectl| !kubectl.worked(),
        reached,
    );
}
