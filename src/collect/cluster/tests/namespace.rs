//! How Velero's namespace is found.

use super::{
    Asked, CollectError, CollectOptions, ErrorKind, NamespaceRule, Reply, Server, cluster, connect,
    count, quiet,
};
use crate::collect::cluster::NamespaceChoice;
use crate::collect::kubectl_compat::{ClusterFlags, Environment};

async fn found(
    answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
) -> Result<NamespaceChoice, CollectError> {
    let server = Server::http(answer);
    let flags = ClusterFlags {
        server: Some(server.url()),
        ..ClusterFlags::default()
    };
    let cluster = cluster(&flags).await;
    cluster
        .find_namespace(&CollectOptions::default(), &quiet)
        .await
}

fn object(name: &str, namespace: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","labels":{{"component":"velero","name":"node-agent"}}}}}}"#
    )
}

#[tokio::test]
async fn the_users_word_beats_any_search_in_veleros_own_order() {
    let server = Server::http(|_| Reply::empty());
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config").join("velero");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.json"), r#"{"namespace":"of-config"}"#).unwrap();
    let nowhere = tempfile::tempdir().unwrap();
    let cases = [
        (
            "of-flag",
            home.path(),
            "of-env",
            "of-flag",
            NamespaceRule::Flag,
        ),
        (
            "",
            home.path(),
            "of-env",
            "of-config",
            NamespaceRule::VeleroClientConfig,
        ),
        (
            "",
            nowhere.path(),
            "of-env",
            "of-env",
            NamespaceRule::Environment,
        ),
    ];
    for (flag, home, variable, namespace, rule) in cases {
        let flags = ClusterFlags {
            server: Some(server.url()),
            namespace: Some(flag.to_owned()),
            ..ClusterFlags::default()
        };
        let env = Environment {
            home: Some(home.to_owned()),
            velero_namespace: Some(variable.to_owned()),
            ..Environment::empty()
        };
        let cluster = connect(&flags, &env, &quiet).await.unwrap();
        let choice = cluster
            .find_namespace(&CollectOptions::default(), &quiet)
            .await
            .unwrap();
        assert_eq!((choice.namespace.as_str(), choice.rule), (namespace, rule));
    }
    assert_eq!(count(&server, |_| true), 0, "nothing had to be asked");
}

#[tokio::test]
async fn each_sign_of_velero_makes_the_default_namespace_the_choice() {
    for sign in [
        "/apis/apps/v1/namespaces/velero/daemonsets",
        "/apis/apps/v1/namespaces/velero/deployments",
        "/api/v1/namespaces/velero/pods",
        "/apis/velero.io/v1/namespaces/velero/podvolumebackups",
        "/apis/velero.io/v1/namespaces/velero/podvolumerestores",
        "/apis/velero.io/v2alpha1/namespaces/velero/datauploads",
        "/apis/velero.io/v2alpha1/namespaces/velero/datadownloads",
    ] {
        let name = if sign.ends_with("daemonsets") {
            "node-agent"
        } else {
            "velero"
        };
        let object = object(name, "velero");
        let choice = found(move |asked| {
            if asked.path == sign {
                Reply::list(&[&object], "more")
            } else {
                Reply::empty()
            }
        })
        .await
        .unwrap();
        assert_eq!(choice.namespace, "velero", "{sign}");
        assert_eq!(choice.rule, NamespaceRule::DefaultName, "{sign}");
    }
}

#[tokio::test]
async fn another_workload_in_the_default_namespace_is_no_sign() {
    let choice = found(|asked| match asked.path.as_str() {
        "/api/v1/namespaces/velero/pods" => {
            Reply::list(&[r#"{"metadata":{"name":"web","namespace":"velero"}}"#], "")
        }
        "/apis/apps/v1/daemonsets"
            if asked.query("fieldSelector") == "metadata.name=node-agent" =>
        {
            Reply::list(&[&object("node-agent", "openshift-adp")], "")
        }
        _ => Reply::empty(),
    })
    .await
    .unwrap();
    assert_eq!(choice.namespace, "openshift-adp");
    assert_eq!(choice.rule, NamespaceRule::OnlyOne);
}

#[tokio::test]
async fn two_installations_are_listed_and_none_is_guessed() {
    let error = found(|asked| match asked.path.as_str() {
        "/apis/velero.io/v1/podvolumebackups" => {
            Reply::list(&[&object("a", "backup-b"), &object("b", "backup-a")], "")
        }
        _ => Reply::empty(),
    })
    .await
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(
        error.to_string(),
        "Velero is installed in several namespaces (backup-a, backup-b); choose one with -n"
    );
}

#[tokio::test]
async fn no_velero_at_all_says_what_was_looked_for() {
    let error = found(|asked| {
        if asked.path.contains("velero.io") {
            Reply::json(404, "404 page not found")
        } else {
            Reply::empty()
        }
    })
    .await
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VeleroNotFound);
    assert_eq!(
        error.to_string(),
        "no installation of Velero found: no node-agent DaemonSet or pod, velero Deployment, or data movement task in any namespace; name its namespace with -n"
    );
}

#[tokio::test]
async fn a_search_that_is_forbidden_says_so_and_asks_for_the_namespace() {
    let error = found(|_| Reply::forbidden()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VeleroNotFound);
    let text = error.to_string();
    assert!(text.contains("forbidden") && text.contains("-n"), "{text}");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_ends_the_search() {
    let error = found(|_| Reply::status(401, "Unauthorized", "Unauthorized"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Login);
}

#[tokio::test]
async fn a_reading_stays_within_twenty_five_requests() {
    let server = Server::http(|asked| {
        if asked.path.ends_with("datadownloads") {
            Reply::list(
                &[r#"{"metadata":{"namespace":"velero","labels":{"velero.io/restore-name":"r"}}}"#],
                "",
            )
        } else {
            Reply::empty()
        }
    });
    let flags = ClusterFlags {
        server: Some(server.url()),
        ..ClusterFlags::default()
    };
    let collected = cluster(&flags)
        .await
        .collect(&CollectOptions::default(), &quiet)
        .await
        .unwrap();
    assert!(collected.requests <= 25, "{} requests", collected.requests);
}
