//! Credential plugins.

use super::{Contact, Row, one, trusting};

/// Notes what it was told, says something, and gives a token.
const PLUGIN: &str = r#"#!/bin/sh
echo "$* REGION=$REGION $KUBERNETES_EXEC_INFO" >>'@home@/plugin-runs'
echo 'open https://login.example.com and enter CODE' >&2
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"from-plugin"}}'
"#;

const EXEC: &str = "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: IfAvailable, args: [login, '--x'], env: [{name: REGION, value: eu}]}";

fn with(user: &str) -> Row {
    Row::new("a credential plugin", trusting(user)).file("plugin", PLUGIN)
}

fn plugin_token(contact: &Contact) -> bool {
    !contact.plugin_runs.is_empty()
        && contact.came(|way| way.authorization == "Bearer from-plugin")
        && contact.said("enter CODE")
}

/// Returns the arguments and variables of the first run, and the JSON that came with them.
fn told(contact: &Contact) -> (String, serde_json::Value) {
    let line = contact.plugin_runs.first().cloned().unwrap_or_default();
    let (arguments, info) = line.split_at(line.find('{').unwrap_or(line.len()));
    let info = serde_json::from_str(info).expect("the plugin is told JSON");
    (arguments.to_owned(), info)
}

fn no_plugin(contact: &Contact) -> bool {
    contact.plugin_runs.is_empty()
}

/// Rows 10 and 12: it runs once, is told the same, and what it says is shown.
#[test]
fn a_plugin_runs_once_and_is_told_the_same() {
    for (cluster, user) in [
        (super::CLUSTER.to_owned(), EXEC.to_owned()),
        (
            super::CLUSTER.to_owned(),
            EXEC.replace("interactiveMode", "provideClusterInfo: true, interactiveMode"),
        ),
        (
            format!(
                "{}, tls-server-name: localhost, extensions: [{{name: client.authentication.k8s.io/exec, extension: {{audience: a}}}}]",
                super::CLUSTER
            ),
            EXEC.replace("interactiveMode", "provideClusterInfo: true, interactiveMode"),
        ),
        (
            "server: '@https@/prefix/', insecure-skip-tls-verify: true".to_owned(),
            EXEC.replace("interactiveMode", "provideClusterInfo: true, interactiveMode"),
        ),
        (
            "server: '@https@', certificate-authority: pki/authority.pem, proxy-url: 'http://@proxy@', disable-compression: true".to_owned(),
            EXEC.replace("interactiveMode", "provideClusterInfo: true, interactiveMode"),
        ),
    ] {
        let row = Row::new("a credential plugin", one(&cluster, &user)).file("plugin", PLUGIN);
        let both = row.run();
        assert!(plugin_token(&both.kubectl), "{both}");
        assert!(plugin_token(&both.ours), "{both}");
        assert_eq!(both.ours.plugin_runs.len(), 1, "once\n{both}");
        assert_eq!(told(&both.ours), told(&both.kubectl), "it is told the same\n{both}");
        both.expect_same("a credential plugin");
    }
}

#[test]
fn a_plugin_is_found_as_kubectl_finds_it() {
    Row::new("beside the kubeconfig", "")
        .file("deep/config", trusting(EXEC))
        .file("deep/plugin", PLUGIN)
        .env("KUBECONFIG", "@home@/deep/config")
        .works(plugin_token);
    with(&EXEC.replace("./plugin", "'@home@/plugin'")).works(plugin_token);
    // A bare name is looked for on PATH, and there is one named like this beside the kubeconfig.
    with(&EXEC.replace("./plugin", "plugin")).fails("was not found");
    Row::new("on PATH", trusting(&EXEC.replace("./plugin", "plugin")))
        .file("bin/plugin", PLUGIN)
        .works(plugin_token);
}

/// Rows 9 and 13.
#[test]
fn another_login_keeps_the_plugin_from_running() {
    with(&format!("token: '', {EXEC}")).works(plugin_token);
    with(&format!("token: t, {EXEC}")).works(no_plugin);
    with(&format!("tokenFile: token, {EXEC}"))
        .file("token", "t")
        .works(no_plugin);
    with(EXEC).flags(&["--token", "t"]).works(no_plugin);
    Row::new("over http", one("server: '@http@'", EXEC))
        .file("plugin", PLUGIN)
        .works(no_plugin);
    with(&format!(
        "client-certificate: pki/client.pem, client-key: pki/client.key.pem, {EXEC}"
    ))
    .works(no_plugin);
    with(&format!("username: me, password: secret, {EXEC}")).works(no_plugin);
}

/// Rows 11 and 12.
#[test]
fn a_plugin_that_cannot_help_is_explained() {
    let hint = EXEC.replace("./plugin", "no-such-plugin-here").replace(
        "interactiveMode",
        "installHint: 'run: brew install it', interactiveMode",
    );
    Row::new("a missing plugin", trusting(&hint)).fails("no-such-plugin-here");
    Row::new("a missing plugin and its hint", trusting(&hint)).fails("run: brew install it");
    for (name, script, words) in [
        (
            "it fails",
            "#!/bin/sh\necho 'your session is over' >&2\nexit 3\n",
            "your session is over",
        ),
        ("its exit code", "#!/bin/sh\nexit 3\n", "exited 3"),
        ("no JSON", "#!/bin/sh\necho hello\n", "not JSON"),
        ("an empty answer", "#!/bin/sh\nexit 0\n", "not JSON"),
        (
            "no credential",
            "#!/bin/sh\necho '{}'\n",
            "not ExecCredential",
        ),
        (
            "another version",
            "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{\"token\":\"t\"}}'\n",
            "v1beta1",
        ),
        (
            "no status",
            "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}'\n",
            "no status",
        ),
    ] {
        Row::new(name, trusting(EXEC))
            .file("plugin", script)
            .fails(words);
    }
    for (from, to, words) in [
        (
            "apiVersion: client.authentication.k8s.io/v1, ",
            "",
            "apiVersion must be given",
        ),
        ("io/v1,", "io/v1alpha1,", "is not supported"),
        (
            "interactiveMode: IfAvailable, ",
            "",
            "interactiveMode must be given",
        ),
        ("IfAvailable", "Always", "not a terminal"),
        ("IfAvailable", "Sometimes", "interactiveMode"),
        ("command: ./plugin, ", "", "command must be given"),
    ] {
        with(&EXEC.replace(from, to)).fails(words);
    }
}

#[test]
fn a_plugin_of_the_beta_version_and_one_that_gives_a_certificate_work() {
    Row::new(
        "v1beta1",
        trusting("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin}"),
    )
    .file("plugin", PLUGIN.replace("io/v1\"", "io/v1beta1\""))
    .works(plugin_token);
    let escaped = |pem: &str| pem.trim_end().replace('\n', "\\n");
    let certificate = escaped(include_str!(
        "../../../src/collect/kubectl_compat/testdata/client.pem"
    ));
    let key = escaped(include_str!(
        "../../../src/collect/kubectl_compat/testdata/client.key.pem"
    ));
    Row::new("a certificate", trusting(EXEC))
        .file(
            "plugin",
            format!(
                "#!/bin/sh\nprintf '%s' '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{{\"clientCertificateData\":\"{certificate}\",\"clientKeyData\":\"{key}\"}}}}'\n"
            ),
        )
        .works(|contact| contact.came(|way| way.certificate.as_deref() == Some("client")));
}
