//! The credential plugin: how often it runs, what it is told, and what becomes of its failures.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{ClusterFlags, ConfigError, env_with, failure, one, quiet, resolved, write};
use crate::collect::cluster::{CollectOptions, connect};
use crate::collect::kubectl_compat::Stdin;
use crate::collect::kubectl_compat::exec::Run;
use crate::collect::kubectl_compat::kubeconfig::Exec;
use crate::collect::test_server::{Identity, Reply, Server};

const AUTHORITY: &str = include_str!("../testdata/authority.pem");

/// Writes a plugin that counts its runs in `runs` and then does what `script` says.
fn plugin(folder: &Path, script: &str) {
    let runs = folder.join("runs");
    let text = format!("#!/bin/sh\necho run >>'{}'\n{script}\n", runs.display());
    let path = write(folder, "plugin", &text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn runs(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("runs"))
        .map(|text| text.lines().count())
        .unwrap_or_default()
}

fn answer(status: &str) -> String {
    format!(
        r#"echo '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{{status}}}}}'"#
    )
}

const EXEC: &str = "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: IfAvailable, provideClusterInfo: true, args: [login], env: [{name: REGION, value: eu}]}";

#[tokio::test]
async fn it_runs_once_for_a_whole_reading_and_its_token_is_used() {
    let identity = Identity {
        certificate: include_str!("../testdata/server.pem"),
        key: include_str!("../testdata/server.key.pem"),
        client_authority: None,
    };
    let server = Server::https(&identity, |_| Reply::empty());
    let folder = tempfile::tempdir().unwrap();
    plugin(
        folder.path(),
        &answer(r#""token":"from-plugin","expirationTimestamp":"2026-01-02T03:05:00Z""#),
    );
    // An empty token beside `exec` does not stop the plugin.
    let text = one(
        &format!(
            "server: '{}', certificate-authority-data: '{}'",
            server.url(),
            BASE64.encode(AUTHORITY)
        ),
        &format!("token: '', {EXEC}"),
    );
    let file = write(folder.path(), "config", &text);
    let flags = ClusterFlags {
        namespace: Some("velero".to_owned()),
        ..ClusterFlags::default()
    };
    let cluster = connect(&flags, &env_with(&[&file]), &quiet).await.unwrap();
    let collected = cluster
        .collect(&CollectOptions::default(), &quiet)
        .await
        .unwrap();
    assert_eq!(runs(folder.path()), 1);
    for asked in server.asked() {
        assert_eq!(asked.header("authorization"), Some("Bearer from-plugin"));
    }
    let now = collected.capture.manifest.taken_at.unwrap();
    assert!(cluster.needs_login(now), "55 s are left");
    assert!(!cluster.needs_login("2026-01-02T03:00:00Z".parse().unwrap()));
}

#[tokio::test]
async fn its_certificate_logs_in_too() {
    let identity = Identity {
        certificate: include_str!("../testdata/server.pem"),
        key: include_str!("../testdata/server.key.pem"),
        client_authority: Some(AUTHORITY),
    };
    let server = Server::https(&identity, |_| Reply::empty());
    let folder = tempfile::tempdir().unwrap();
    let escaped = |pem: &str| pem.trim_end().replace('\n', "\\n");
    plugin(
        folder.path(),
        // `echo` of some shells would turn the two characters into a line break.
        &answer(&format!(
            r#""clientCertificateData":"{}","clientKeyData":"{}""#,
            escaped(include_str!("../testdata/client.pem")),
            escaped(include_str!("../testdata/client.key.pem"))
        ))
        .replacen("echo", "printf '%s\\n'", 1),
    );
    let text = one(
        &format!(
            "server: '{}', certificate-authority-data: '{}'",
            server.url(),
            BASE64.encode(AUTHORITY)
        ),
        EXEC,
    );
    let file = write(folder.path(), "config", &text);
    let flags = ClusterFlags {
        namespace: Some("velero".to_owned()),
        ..ClusterFlags::default()
    };
    let cluster = connect(&flags, &env_with(&[&file]), &quiet).await.unwrap();
    cluster
        .collect(&CollectOptions::default(), &quiet)
        .await
        .unwrap();
    assert_eq!(runs(folder.path()), 1);
}

#[tokio::test]
async fn it_is_told_the_cluster_its_arguments_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    plugin(
        folder.path(),
        &format!(
            "echo \"$1 $REGION $KUBERNETES_EXEC_INFO\" >'{}'\n{}",
            told.display(),
            answer(r#""token":"t""#)
        ),
    );
    let text = one(
        "server: 'https://host:6443', tls-server-name: inner, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]",
        EXEC,
    );
    let file = write(folder.path(), "config", &text);
    resolved(&ClusterFlags::default(), &env_with(&[&file]))
        .await
        .unwrap();
    let told = std::fs::read_to_string(told).unwrap();
    let info = told.trim().strip_prefix("login eu ").unwrap();
    let info: serde_json::Value = serde_json::from_str(info).unwrap();
    assert_eq!(
        info,
        serde_json::json!({
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1",
            "spec": {
                "interactive": false,
                "cluster": {
                    "server": "https://host:6443",
                    "tls-server-name": "inner",
                    "config": {"audience": "a"},
                },
            },
        })
    );
}

async fn fails(script: &str) -> ConfigError {
    let folder = tempfile::tempdir().unwrap();
    plugin(folder.path(), script);
    let file = write(
        folder.path(),
        "config",
        &one("server: 'https://host'", EXEC),
    );
    let error = failure(resolved(&ClusterFlags::default(), &env_with(&[&file])).await);
    assert_eq!(runs(folder.path()), 1, "{error}");
    assert!(error.is_login(), "{error}");
    error
}

#[tokio::test]
async fn its_failures_are_one_clean_line() {
    let error = fails("exit 3").await.to_string();
    assert!(error.ends_with("/plugin\" exited 3"), "{error}");
    let error = fails("kill -9 $$").await.to_string();
    assert!(error.ends_with("was ended by a signal"), "{error}");
    for (script, expected) in [
        ("echo 'token: s3cr3t'", "not JSON"),
        ("echo '{}'", "not ExecCredential"),
        (
            r#"echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"s3cr3t"}}'"#,
            "v1beta1",
        ),
        (&answer(""), "neither a token nor a certificate"),
        (
            &answer(r#""clientCertificateData":"s3cr3t""#),
            "without a key",
        ),
    ] {
        let error = fails(script).await.to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("s3cr3t"), "{error}");
    }
}

#[tokio::test]
async fn a_missing_plugin_is_named_with_the_hint_how_to_get_it() {
    let user = "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin-here, interactiveMode: Never, installHint: brew install it}";
    let folder = tempfile::tempdir().unwrap();
    let file = write(
        folder.path(),
        "config",
        &one("server: 'https://host'", user),
    );
    let error = failure(resolved(&ClusterFlags::default(), &env_with(&[&file])).await);
    assert_eq!(
        error.to_string(),
        "credential plugin \"no-such-plugin-here\" was not found; the kubeconfig says how to install it: brew install it"
    );
}

fn exec(change: impl FnOnce(&mut Exec)) -> Exec {
    let mut exec = Exec {
        api_version: Some("client.authentication.k8s.io/v1".to_owned()),
        command: Some("/bin/sh".to_owned()),
        interactive_mode: Some("Never".to_owned()),
        ..Exec::default()
    };
    change(&mut exec);
    exec
}

#[test]
fn a_plugin_that_does_not_end_is_ended() {
    for script in ["exec sleep 30", "exec sleep 30 >&-"] {
        let exec = exec(|exec| exec.args = vec!["-c".to_owned(), script.to_owned()]);
        let run = Run::prepare("u", &exec, Stdin::NoTerminal, None)
            .unwrap()
            .with_limit(Duration::from_millis(100));
        let Err(error) = run.run_blocking() else {
            panic!("{script} gave a credential");
        };
        assert!(error.is_timeout(), "{script}: {error}");
    }
}

#[test]
fn an_incomplete_exec_section_is_refused_before_anything_runs() {
    type Change = fn(&mut Exec);
    let cases: [(Change, &str); 6] = [
        (|exec| exec.command = None, "command must be given"),
        (|exec| exec.api_version = None, "apiVersion must be given"),
        (
            |exec| exec.api_version = Some("client.authentication.k8s.io/v1alpha1".to_owned()),
            "is not supported",
        ),
        (
            |exec| exec.interactive_mode = None,
            "interactiveMode must be given",
        ),
        (
            |exec| exec.interactive_mode = Some("Always".to_owned()),
            "not a terminal",
        ),
        (
            |exec| exec.interactive_mode = Some("Sometimes".to_owned()),
            "unknown interactiveMode",
        ),
    ];
    for (change, expected) in cases {
        let Err(error) = Run::prepare("u", &exec(change), Stdin::NoTerminal, None) else {
            panic!("taken without {expected}");
        };
        assert!(error.to_string().contains(expected), "{error}");
    }
    let beta = exec(|exec| {
        exec.api_version = Some("client.authentication.k8s.io/v1beta1".to_owned());
        exec.interactive_mode = None;
    });
    assert!(Run::prepare("u", &beta, Stdin::NoTerminal, None).is_ok());
}
