//! Which cluster and user the files, the environment and the flags name.

use std::path::Path;

use super::{
    ClusterFlags, ConfigError, Connection, Environment, env_with, failure, one, resolved, write,
};
use crate::collect::kubectl_compat::{TlsVerify, error_text};

const FIRST: &str = "
current-context: \"\"
contexts:
- name: a
  context: {cluster: a, user: a, namespace: \"\"}
clusters:
- name: a
  cluster: {server: 'https://first.example.com:6443'}
";

const SECOND: &str = "
current-context: b
contexts:
- name: a
  context: {cluster: b, user: b, namespace: second}
- name: b
  context: {cluster: b, namespace: apps}
clusters:
- name: a
  cluster: {server: 'https://second.example.com'}
- name: b
  cluster: {server: 'https://b.example.com/k8s/clusters/c-1'}
users:
- name: a
  user: {as: somebody}
";

fn flags(change: impl FnOnce(&mut ClusterFlags)) -> ClusterFlags {
    let mut flags = ClusterFlags::default();
    change(&mut flags);
    flags
}

async fn of(text: &str, flags: &ClusterFlags) -> Result<Connection, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "config", text);
    resolved(flags, &env_with(&[&file])).await
}

#[tokio::test]
async fn files_are_merged_the_first_wins_and_a_missing_one_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let first = write(folder.path(), "first", FIRST);
    let second = write(folder.path(), "second", SECOND);
    let env = env_with(&[&missing, Path::new(""), &first, &second]);

    // An empty current-context counts as none: the next file's is taken.
    let chosen = resolved(&ClusterFlags::default(), &env).await.unwrap();
    assert_eq!(chosen.resolved.context.as_deref(), Some("b"));
    assert_eq!(
        chosen.resolved.server,
        "https://b.example.com/k8s/clusters/c-1"
    );
    assert_eq!(chosen.resolved.namespace, "apps");
    assert_eq!(chosen.resolved.user, None);

    // The first file's entries win whole, and its user comes from the second.
    let flags = flags(|flags| flags.context = Some("a".to_owned()));
    let chosen = resolved(&flags, &env).await.unwrap();
    assert_eq!(chosen.resolved.server, "https://first.example.com:6443");
    assert_eq!(
        chosen.resolved.namespace, "default",
        "an empty namespace is none"
    );
    assert_eq!(chosen.resolved.user.as_deref(), Some("a"));
    assert_eq!(chosen.resolved.impersonates.as_deref(), Some("somebody"));
}

#[tokio::test]
async fn the_flag_names_the_only_file_and_it_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let first = write(folder.path(), "first", FIRST);
    let second = write(folder.path(), "second", SECOND);
    let by_flag = |path: &Path| ClusterFlags {
        kubeconfig: Some(path.to_string_lossy().into_owned()),
        ..ClusterFlags::default()
    };
    let chosen = resolved(&by_flag(&second), &env_with(&[&first]))
        .await
        .unwrap();
    assert_eq!(chosen.resolved.context.as_deref(), Some("b"));

    let missing = folder.path().join("missing");
    let error = failure(resolved(&by_flag(&missing), &env_with(&[&first])).await);
    assert!(matches!(error, ConfigError::Read { .. }), "{error}");
}

#[tokio::test]
async fn the_usual_file_is_read_when_none_is_named() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".kube")).unwrap();
    write(&home.path().join(".kube"), "config", SECOND);
    for kubeconfig in [None, Some(String::new())] {
        let env = Environment {
            home: Some(home.path().to_owned()),
            kubeconfig,
            ..Environment::empty()
        };
        let chosen = resolved(&ClusterFlags::default(), &env).await.unwrap();
        assert_eq!(chosen.resolved.context.as_deref(), Some("b"));
    }
}

/// An environment as a pod has it.
fn pod(folder: &Path) -> Environment {
    write(folder, "token", "pod-token");
    write(folder, "ca.crt", include_str!("../testdata/authority.pem"));
    write(folder, "namespace", "pod-namespace\n");
    Environment {
        kubernetes_service_host: Some("fd00::1".to_owned()),
        kubernetes_service_port: Some("443".to_owned()),
        service_account_dir: folder.to_owned(),
        ..Environment::empty()
    }
}

#[tokio::test]
async fn a_pod_uses_its_own_cluster_only_when_no_kubeconfig_is_named_or_found() {
    let folder = tempfile::tempdir().unwrap();
    let env = pod(folder.path());
    let chosen = resolved(&ClusterFlags::default(), &env).await.unwrap();
    assert_eq!(chosen.resolved.server, "https://[fd00::1]:443");
    assert_eq!(chosen.resolved.context, None);
    assert_eq!(chosen.resolved.namespace, "pod-namespace");
    assert!(chosen.config.auth_info.token_file.is_some());
    assert!(chosen.config.root_cert.is_some());

    // Named and missing, or broken, or without a context: an error, never the pod's own cluster.
    let named = Environment {
        kubeconfig: Some("/nowhere/config".to_owned()),
        ..env.clone()
    };
    let error = failure(resolved(&ClusterFlags::default(), &named).await);
    assert!(
        matches!(error, ConfigError::NamedKubeconfigMissing { .. }),
        "{error}"
    );
    for broken in ["contexts: {", "contexts: []"] {
        let file = write(folder.path(), "config", broken);
        let named = Environment {
            kubeconfig: Some(file.to_string_lossy().into_owned()),
            ..env.clone()
        };
        let error = failure(resolved(&ClusterFlags::default(), &named).await);
        assert!(
            matches!(
                error,
                ConfigError::Parse { .. } | ConfigError::NoCurrentContext { .. }
            ),
            "{error}"
        );
    }
}

#[tokio::test]
async fn nothing_at_all_says_where_was_looked() {
    let env = Environment {
        home: Some("/nowhere".into()),
        ..Environment::empty()
    };
    let error = failure(resolved(&ClusterFlags::default(), &env).await).to_string();
    assert!(error.contains("/nowhere/.kube/config"), "{error}");
}

#[tokio::test]
async fn names_that_do_not_exist_are_answered_with_those_that_do() {
    for (flags, expected) in [
        (
            flags(|flags| flags.context = Some("prod".to_owned())),
            "context \"prod\" does not exist in the kubeconfig (it holds: a, b)",
        ),
        (
            flags(|flags| flags.cluster = Some("prod".to_owned())),
            "cluster \"prod\" does not exist in the kubeconfig (it holds: a, b)",
        ),
        (
            flags(|flags| flags.user = Some("root".to_owned())),
            "user \"root\" does not exist in the kubeconfig (it holds: a)",
        ),
    ] {
        assert_eq!(failure(of(SECOND, &flags).await).to_string(), expected);
    }
}

#[tokio::test]
async fn a_server_without_a_scheme_is_http() {
    for (written, used) in [
        ("127.0.0.1:8001", Some("http://127.0.0.1:8001")),
        ("localhost", Some("http://localhost")),
        (
            "https://host.example.com:6443/prefix",
            Some("https://host.example.com:6443/prefix"),
        ),
        ("ftp://host", None),
        ("https://", None),
        ("not a url", None),
    ] {
        let text = one(&format!("server: '{written}'"), "");
        let chosen = of(&text, &ClusterFlags::default()).await.ok();
        let server = chosen.map(|chosen| chosen.resolved.server);
        assert_eq!(server.as_deref(), used, "{written}");
    }
}

#[tokio::test]
async fn a_token_never_travels_in_the_clear_and_no_plugin_runs_for_http() {
    let user = "token: secret, exec: {command: /nowhere/plugin}";
    let chosen = of(
        &one("server: 'http://host'", user),
        &ClusterFlags::default(),
    )
    .await
    .unwrap();
    assert!(chosen.config.auth_info.token.is_none());
    assert!(chosen.config.auth_info.exec.is_none());
}

#[tokio::test]
async fn empty_strings_mean_nothing_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "ca.pem",
        include_str!("../testdata/authority.pem"),
    );
    let text = one(
        "server: 'https://host', certificate-authority-data: '', certificate-authority: ca.pem, \
         tls-server-name: '', proxy-url: ''",
        "token: '', tokenFile: '', username: '', client-certificate-data: ''",
    );
    let file = write(folder.path(), "config", &text);
    let chosen = resolved(&ClusterFlags::default(), &env_with(&[&file]))
        .await
        .unwrap();
    assert_eq!(chosen.config.root_cert.as_ref().map(Vec::len), Some(1));
    assert_eq!(chosen.config.tls_server_name, None);
    assert_eq!(chosen.config.proxy_url, None);
    assert!(chosen.config.auth_info.token.is_none());
}

#[tokio::test]
async fn file_names_are_relative_to_their_kubeconfig() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("pki")).unwrap();
    write(folder.path(), "token", "from-file");
    let text = one("server: 'https://host'", "tokenFile: ./token");
    let file = write(folder.path(), "config", &text);
    let chosen = resolved(&ClusterFlags::default(), &env_with(&[&file]))
        .await
        .unwrap();
    let token_file = chosen.config.auth_info.token_file.unwrap();
    assert!(Path::new(&token_file).is_absolute(), "{token_file}");

    let text = one("server: 'https://host'", "tokenFile: missing");
    let file = write(folder.path(), "config", &text);
    let error = failure(resolved(&ClusterFlags::default(), &env_with(&[&file])).await);
    assert!(error.to_string().starts_with("read token file "), "{error}");
}

#[tokio::test]
async fn a_token_flag_replaces_every_other_login() {
    let token = flags(|flags| flags.token = Some("from-flag".to_owned()));
    for user in [
        "exec: {command: /nowhere/plugin}",
        "auth-provider: {name: azure}",
        "username: me, password: secret",
        "tokenFile: /nowhere/token",
        "token: other",
    ] {
        let chosen = of(&one("server: 'https://host'", user), &token)
            .await
            .unwrap();
        let auth = chosen.config.auth_info;
        assert!(auth.token.is_some(), "{user}");
        assert!(
            auth.exec.is_none() && auth.auth_provider.is_none(),
            "{user}"
        );
        assert!(
            auth.username.is_none() && auth.token_file.is_none(),
            "{user}"
        );
    }
}

#[tokio::test]
async fn trust_without_check_and_an_authority_contradict_each_other() {
    let both = one(
        "server: 'https://host', insecure-skip-tls-verify: true, certificate-authority: /nowhere/ca",
        "",
    );
    let error = failure(of(&both, &ClusterFlags::default()).await);
    assert!(
        matches!(error, ConfigError::InsecureWithAuthority),
        "{error}"
    );

    // The flag clears the kubeconfig's authority.
    let skip = flags(|flags| flags.insecure_skip_tls_verify = Some(TlsVerify::Skip));
    let authority = one(
        "server: 'https://host', certificate-authority: /nowhere/ca",
        "",
    );
    let chosen = of(&authority, &skip).await.unwrap();
    assert!(chosen.config.accept_invalid_certs);
    assert_eq!(chosen.config.root_cert, None);

    // The other flag clears the kubeconfig's wish and its data.
    let folder = tempfile::tempdir().unwrap();
    let ca = write(
        folder.path(),
        "ca.pem",
        include_str!("../testdata/authority.pem"),
    );
    let named = flags(|flags| {
        flags.certificate_authority = Some(ca.to_string_lossy().into_owned());
    });
    let insecure = one("server: 'https://host', insecure-skip-tls-verify: true", "");
    let chosen = of(&insecure, &named).await.unwrap();
    assert!(!chosen.config.accept_invalid_certs);
    assert!(chosen.config.root_cert.is_some());

    // Both flags together are refused.
    let both = ClusterFlags {
        insecure_skip_tls_verify: Some(TlsVerify::Skip),
        ..named
    };
    let error = failure(of(&insecure, &both).await);
    assert!(
        matches!(error, ConfigError::InsecureWithAuthority),
        "{error}"
    );
}

#[tokio::test]
async fn another_server_does_not_inherit_the_server_name() {
    let text = one("server: 'https://host', tls-server-name: inner", "");
    let chosen = of(&text, &ClusterFlags::default()).await.unwrap();
    assert_eq!(chosen.config.tls_server_name.as_deref(), Some("inner"));
    let other = flags(|flags| flags.server = Some("https://other".to_owned()));
    let chosen = of(&text, &other).await.unwrap();
    assert_eq!(chosen.resolved.server, "https://other");
    assert_eq!(chosen.config.tls_server_name, None);
}

#[tokio::test]
async fn impersonation_is_passed_on_and_needs_a_user() {
    let text = one("server: 'http://host'", "");
    let whole = flags(|flags| {
        flags.as_user = Some("jane".to_owned());
        flags.as_uid = Some("7".to_owned());
        flags.as_groups = vec!["dev".to_owned(), "ops".to_owned()];
        flags.as_user_extra = vec!["scopes=a".to_owned(), "scopes=b=c".to_owned()];
    });
    let auth = of(&text, &whole).await.unwrap().config.auth_info;
    assert_eq!(auth.impersonate.as_deref(), Some("jane"));
    assert_eq!(auth.impersonate_uid.as_deref(), Some("7"));
    assert_eq!(auth.impersonate_groups.unwrap(), ["dev", "ops"]);
    assert_eq!(auth.impersonate_user_extra.unwrap()["scopes"], ["a", "b=c"]);

    let no_user = flags(|flags| flags.as_groups = vec!["dev".to_owned()]);
    let error = failure(of(&text, &no_user).await);
    assert!(error.is_usage(), "{error}");
    let no_pair = flags(|flags| {
        flags.as_user = Some("jane".to_owned());
        flags.as_user_extra = vec!["scopes".to_owned()];
    });
    assert!(failure(of(&text, &no_pair).await).is_usage());
}

#[tokio::test]
async fn flags_alone_can_name_a_server() {
    let flags = flags(|flags| flags.server = Some("127.0.0.1:8001".to_owned()));
    let chosen = resolved(&flags, &Environment::empty()).await.unwrap();
    assert_eq!(chosen.resolved.server, "http://127.0.0.1:8001");
    assert_eq!(chosen.resolved.context, None);
}

#[tokio::test]
async fn what_kubectl_reads_is_read() {
    for (name, text) in [
        (
            "a duplicate key",
            "current-context: x\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: 'http://h'}}]",
        ),
        (
            "nulls and unknown fields",
            "preferences: {}\nusers: null\nextensions:\ncurrent-context: a\nnew-field: [1]\ncontexts: [{name: a, context: {cluster: a, user: null, extensions: [{name: m, extension: {v: 1}}]}}]\nclusters: [{name: a, cluster: {server: 'http://h', extensions: null}}]",
        ),
        (
            "JSON",
            r#"{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"a","user":"nobody"}}],"clusters":[{"name":"a","cluster":{"server":"http://h"}}]}"#,
        ),
        (
            "a byte order mark and a second document",
            "\u{feff}current-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: 'http://h'}}]\n---\ncurrent-context: b\n",
        ),
        (
            "a context named by a number",
            "current-context: 007\ncontexts: [{name: 007, context: {cluster: 1.10}}]\nclusters: [{name: 1.10, cluster: {server: 'http://h'}}]",
        ),
    ] {
        let chosen = of(text, &ClusterFlags::default()).await;
        let server = chosen.map(|chosen| chosen.resolved.server);
        assert_eq!(
            server.as_deref().ok(),
            Some("http://h"),
            "{name}: {:?}",
            server.as_ref().err()
        );
    }
}

#[tokio::test]
async fn a_broken_kubeconfig_is_named_with_its_line_and_without_its_secrets() {
    let text = "users:\n- name: u\n  user:\n    token: s3cr3t\n   bad: indent\n";
    let error = failure(of(text, &ClusterFlags::default()).await);
    let text = error_text(&error);
    assert!(text.contains("config") && text.contains("line"), "{text}");
    assert!(!text.contains("s3cr3t"), "{text}");
}

#[tokio::test]
async fn logins_that_cannot_work_are_explained() {
    for (user, expected) in [
        ("token: t, username: me", "has both a token and a username"),
        ("auth-provider: {name: azure}", "kubelogin"),
        ("auth-provider: {name: gcp}", "gke-gcloud-auth-plugin"),
        (
            "client-certificate-data: QQ==",
            "has a client certificate but no client key",
        ),
        (
            "client-certificate-data: QQ==, client-key-data: '?'",
            "understand client key",
        ),
    ] {
        let error = failure(
            of(
                &one("server: 'https://host'", user),
                &ClusterFlags::default(),
            )
            .await,
        );
        assert!(error.to_string().contains(expected), "{error}");
    }
    let bad_ca = one(
        "server: 'https://host', certificate-authority-data: QQ==",
        "",
    );
    let error = failure(of(&bad_ca, &ClusterFlags::default()).await);
    assert!(error_text(&error).contains("no certificate"), "{error}");
}
