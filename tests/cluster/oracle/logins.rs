//! Tokens, passwords, certificates and impersonation.

use super::{Row, one, trusting};

#[test]
fn tokens_are_sent_as_kubectl_sends_them() {
    Row::new("a token", trusting("token: t")).logs_in_with("Bearer t");
    Row::new("a token by flag", trusting("token: t"))
        .flags(&["--token", "from-flag"])
        .logs_in_with("Bearer from-flag");
    Row::new("an empty token by flag", trusting("token: t"))
        .flags(&["--token", ""])
        .logs_in_with("Bearer t");
    for text in ["from-file", "from-file\n", "  from-file \r\n\n"] {
        Row::new("a token file", trusting("tokenFile: token"))
            .file("token", text)
            .logs_in_with("Bearer from-file");
    }
    Row::new(
        "a token beside a file",
        trusting("token: t, tokenFile: token"),
    )
    .file("token", "from-file\n")
    .logs_in_with("Bearer from-file");
    Row::new(
        "a file that is away",
        trusting("token: t, tokenFile: missing"),
    )
    .logs_in_with("Bearer t");
    Row::new("only a file that is away", trusting("tokenFile: missing")).fails("token file");
    Row::new("an empty token file", trusting("tokenFile: token"))
        .file("token", "\n")
        .fails("token file");
    Row::new("a token over http", one("server: '@http@'", "token: t")).logs_in_with("");
    Row::new("a flag's token over http", one("server: '@http@'", ""))
        .flags(&["--token", "t"])
        .logs_in_with("");
    Row::new(
        "a token by flag beside a token file",
        trusting("tokenFile: token"),
    )
    .file("token", "from-file")
    .flags(&["--token", "from-flag"])
    .differs(
        "kubectl sends the file's token all the same; who gives a token wants it used",
        |kubectl| kubectl.came(|way| way.authorization == "Bearer from-file"),
        |ours| ours.came(|way| way.authorization == "Bearer from-flag"),
    );
    Row::new("no login at all", trusting("")).differs(
        "kubectl asks for a username and password on the terminal; API servers have taken none since v1.19",
        |kubectl| !kubectl.worked() && kubectl.ways.is_empty(),
        |ours| ours.came(|way| way.authorization.is_empty()),
    );
}

#[test]
fn passwords_are_sent_as_kubectl_sends_them() {
    // base64 of me:secret and of me:
    Row::new("a password", trusting("username: me, password: secret"))
        .logs_in_with("Basic bWU6c2VjcmV0");
    Row::new(
        "a name without a password",
        trusting("username: me, password: ''"),
    )
    .logs_in_with("Basic bWU6");
    Row::new(
        "a password and a token",
        trusting("token: t, username: me, password: secret"),
    )
    .fails("both a token and a username");
    Row::new(
        "a password beside a token by flag",
        trusting("username: me, password: secret"),
    )
    .flags(&["--token", "t"])
    .differs(
        "kubectl refuses the two together; who gives a token wants it used",
        |kubectl| !kubectl.worked(),
        |ours| ours.came(|way| way.authorization == "Bearer t"),
    );
    Row::new("a password in the URL", one(
        "server: 'https://me:secret@127.0.0.1:@port@', certificate-authority-data: '@authority@'",
        "client-certificate: pki/client.pem, client-key: pki/client.key.pem",
    ))
    .logs_in_with("Basic bWU6c2VjcmV0");
    Row::new("a password in the URL beside a token", one(
        "server: 'https://me:secret@127.0.0.1:@port@', certificate-authority-data: '@authority@'",
        "token: t",
    ))
    .logs_in_with("Basic bWU6c2VjcmV0");
    Row::new(
        "a password in the URL over http",
        one("server: 'http://me:p%40@127.0.0.1:@plain-port@'", ""),
    )
    .logs_in_with("Basic bWU6cEA=");
}

/// Rows 14, 21 and 23 of the client's side.
#[test]
fn client_certificates_are_shown_as_kubectl_shows_them() {
    let files = "client-certificate: pki/client.pem, client-key: pki/client.key.pem";
    let data = "client-certificate-data: '@client@', client-key-data: '@client.key@'";
    let p521 = "client-certificate: pki/p521.pem, client-key: pki/p521.key.pem";
    let empty = "client-certificate-data: '', client-certificate: pki/client.pem, client-key: pki/client.key.pem, client-key-data: ''";
    let mixed = "client-certificate-data: '@client@', client-key: pki/client.key.pem";
    for (user, shown) in [
        (files, "client"),
        (data, "client"),
        (p521, "p521"),
        (empty, "client"),
        (mixed, "client"),
    ] {
        Row::new("a client certificate", trusting(user))
            .works(|contact| contact.came(|way| way.certificate.as_deref() == Some(shown)));
    }
    // Row 23: every form in which a key is kept.
    for (certificate, key) in [
        ("client", "client.sec1.key"),
        ("client", "client.parameters.key"),
        ("rsa", "rsa.key"),
        ("rsa", "rsa.pkcs1.key"),
        ("ed25519", "ed25519.key"),
    ] {
        let files = format!("client-certificate: pki/{certificate}.pem, client-key: pki/{key}.pem");
        let data =
            format!("client-certificate-data: '@{certificate}@', client-key-data: '@{key}@'");
        for user in [files, data] {
            Row::new(key, trusting(&user)).works(|contact| {
                contact.came(|way| way.certificate.as_deref() == Some(certificate))
            });
        }
    }
    Row::new(
        "a certificate and a token",
        trusting(&format!("{data}, token: t")),
    )
    .works(|contact| {
        contact.came(|way| {
            way.authorization == "Bearer t" && way.certificate.as_deref() == Some("client")
        })
    });
    let flags = [
        "--client-certificate",
        "pki/p521.pem",
        "--client-key",
        "pki/p521.key.pem",
    ];
    Row::new("certificates by flags over data", trusting(data))
        .flags(&flags)
        .differs(
            "kubectl refuses the two together; who gives a flag wants it used",
            |kubectl| !kubectl.worked() && kubectl.said("both specified"),
            |ours| ours.came(|way| way.certificate.as_deref() == Some("p521")),
        );
    for user in [files, "token: t"] {
        Row::new("certificates by flags", trusting(user))
            .flags(&flags)
            .works(|contact| contact.came(|way| way.certificate.as_deref() == Some("p521")));
    }
    Row::new(
        "a key without a certificate",
        trusting("token: t, client-key-data: '@client.key@'"),
    )
    .works(|contact| contact.came(|way| way.certificate.is_none()));
    Row::new(
        "a certificate without a key",
        trusting("client-certificate-data: '@client@'"),
    )
    .fails("no client key");
    Row::new(
        "a certificate that is away",
        trusting("client-certificate: missing, client-key: pki/client.key.pem"),
    )
    .fails("missing");
    Row::new(
        "a key of another certificate",
        trusting("client-certificate: pki/client.pem, client-key: pki/server.key.pem"),
    )
    .fails("");
    Row::new(
        "garbage",
        trusting("client-certificate-data: QQ==, client-key-data: QQ=="),
    )
    .fails("");
    Row::new(
        "no base64",
        trusting("client-certificate-data: '?', client-key-data: '?'"),
    )
    .fails("");
    Row::new("a certificate over http", one("server: '@http@'", files)).logs_in_with("");
    Row::new("both data and file", trusting(&format!("{files}, {data}"))).differs(
        "kubectl refuses it and says that the data would win; here the data wins",
        |kubectl| !kubectl.worked() && kubectl.said("both specified"),
        |ours| ours.came(|way| way.certificate.as_deref() == Some("client")),
    );
}

/// Row 22.
#[test]
fn a_v1_client_certificate_is_refused_with_what_to_do() {
    Row::new(
        "an X.509 v1 certificate",
        trusting("client-certificate: pki/client-v1.pem, client-key: pki/client.key.pem"),
    )
    .differs(
        "the TLS library takes only v3, which API servers have asked for since Go 1.15",
        // Our recording server is of the same library and refuses it too.
        |kubectl| !kubectl.worked(),
        |ours| ours.said("X.509 v1") && ours.said("re-issue it as v3") && ours.ways.is_empty(),
    );
}

#[test]
fn impersonation_is_passed_on_as_kubectl_passes_it_on() {
    let header = |name: &str, value: &str| (format!("impersonate-{name}"), value.to_owned());
    Row::new("everything by flags", trusting("token: t"))
        .flags(&[
            "--as",
            "jane",
            "--as-uid",
            "7",
            "--as-group",
            "dev",
            "--as-group=ops",
        ])
        .works(|contact| {
            contact.came(|way| {
                way.impersonation
                    == [
                        header("group", "dev"),
                        header("group", "ops"),
                        header("uid", "7"),
                        header("user", "jane"),
                    ]
            })
        });
    Row::new(
        "everything in the kubeconfig",
        trusting("token: t, as: jane, as-uid: '7', as-groups: [dev, ops], as-user-extra: {scopes: [a, b], 'Acme/a%b': ['ä c']}"),
    )
    .works(|contact| contact.came(|way| way.impersonation.len() == 7));
    Row::new(
        "a flag over the kubeconfig",
        trusting("token: t, as: jane, as-groups: [dev]"),
    )
    .flags(&["--as", "joe", "--as-group", "ops"])
    .works(|contact| {
        contact.came(|way| way.impersonation == [header("group", "ops"), header("user", "joe")])
    });
    Row::new("over http", one("server: '@http@'", ""))
        .flags(&["--as", "jane"])
        .works(|contact| contact.came(|way| way.impersonation == [header("user", "jane")]));
    Row::new("a service account", trusting("token: t"))
        .flags(&["--as", "system:serviceaccount:velero:viewer"])
        .works(|contact| contact.came(|way| way.impersonation.len() == 1));
    Row::new("extra attributes by flag", trusting("token: t, as: jane"))
        .flags(&[
            "--as-user-extra",
            "scopes=a",
            "--as-user-extra",
            "scopes=b=c",
        ])
        .kubectl_flags(&[])
        .differs(
            "kubectl has had the flag since 1.34; the headers are compared by the kubeconfig's row",
            |kubectl| kubectl.came(|way| way.impersonation == [header("user", "jane")]),
            |ours| {
                ours.came(|way| {
                    way.impersonation
                        == [
                            header("extra-scopes", "a"),
                            header("extra-scopes", "b=c"),
                            header("user", "jane"),
                        ]
                })
            },
        );
    for flags in [&["--as-group", "dev"][..], &["--as-uid", "7"]] {
        Row::new("a group or uid without a user", trusting("token: t"))
            .flags(flags)
            .fails("need --as");
    }
    Row::new(
        "groups without a user in the kubeconfig",
        trusting("token: t, as-groups: [dev]"),
    )
    .fails("need --as");
}

#[test]
fn openid_connect_tokens_are_sent_and_dropped_providers_are_named() {
    // {"alg":"none"}.{"exp":4102444800}: valid until the year 2100.
    let token = "eyJhbGciOiJub25lIn0.eyJleHAiOjQxMDI0NDQ4MDB9.c2ln";
    Row::new(
        "an ID token that is still good",
        trusting(&format!(
            "auth-provider: {{name: oidc, config: {{idp-issuer-url: 'https://127.0.0.1:1', client-id: c, id-token: {token}}}}}"
        )),
    )
    .logs_in_with(&format!("Bearer {token}"));
    for name in ["azure", "gcp", "other"] {
        Row::new(
            "a provider that is gone",
            trusting(&format!("auth-provider: {{name: {name}}}")),
        )
        .fails("is not supported");
    }
}
