//! Which server certificates are trusted and which client certificates are shown: against a real TLS
//! server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{ClusterFlags, Environment, env_with, quiet, write};
use crate::collect::cluster::{CollectOptions, connect};
use crate::collect::test_server::{Identity, Reply, Server};

pub(super) const AUTHORITY: &str = include_str!("../testdata/authority.pem");
pub(super) const SERVER: &str = include_str!("../testdata/server.pem");
pub(super) const SERVER_KEY: &str = include_str!("../testdata/server.key.pem");
const SELF_SIGNED: &str = include_str!("../testdata/self-signed.pem");
const SELF_SIGNED_KEY: &str = include_str!("../testdata/self-signed.key.pem");
const EXPIRED: &str = include_str!("../testdata/expired.pem");
const OTHER_NAME: &str = include_str!("../testdata/other-name.pem");
const OTHER_NAME_KEY: &str = include_str!("../testdata/other-name.key.pem");
const P521: &str = include_str!("../testdata/p521.pem");
const P521_KEY: &str = include_str!("../testdata/p521.key.pem");
const CLIENT: &str = include_str!("../testdata/client.pem");
const CLIENT_V1: &str = include_str!("../testdata/client-v1.pem");
const CLIENT_KEY: &str = include_str!("../testdata/client.key.pem");

pub(super) fn server(certificate: &'static str, key: &'static str) -> Server {
    let identity = Identity {
        certificate,
        key,
        client_authority: None,
    };
    Server::https(&identity, |_| Reply::empty())
}

/// Reads once through a kubeconfig; returns the words of what went wrong.
pub(super) async fn read(server: &Server, cluster: &str, user: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let cluster = format!("server: '{}', {cluster}", server.url());
    let file = write(folder.path(), "config", &super::one(&cluster, user));
    let flags = ClusterFlags {
        namespace: Some("velero".to_owned()),
        ..ClusterFlags::default()
    };
    read_with(&flags, &env_with(&[&file])).await
}

async fn read_with(flags: &ClusterFlags, env: &Environment) -> Result<(), String> {
    let words = |error: &dyn std::error::Error| super::super::error_text(error);
    let cluster = connect(flags, env, &quiet)
        .await
        .map_err(|error| words(&error))?;
    cluster
        .collect(&CollectOptions::default(), &quiet)
        .await
        .map(|_collected| ())
        .map_err(|error| words(&error))
}

pub(super) fn authority(pem: &str) -> String {
    format!("certificate-authority-data: '{}'", BASE64.encode(pem))
}

fn identity(certificate: &str, key: &str) -> String {
    format!(
        "client-certificate-data: '{}', client-key-data: '{}'",
        BASE64.encode(certificate),
        BASE64.encode(key)
    )
}

#[tokio::test]
async fn servers_that_kubectl_trusts_are_trusted() {
    for (name, certificate, key, root) in [
        ("signed by the authority", SERVER, SERVER_KEY, AUTHORITY),
        ("pinned leaf", SERVER, SERVER_KEY, SERVER),
        (
            "self-signed authority",
            SELF_SIGNED,
            SELF_SIGNED_KEY,
            SELF_SIGNED,
        ),
        ("P-521", P521, P521_KEY, AUTHORITY),
    ] {
        let server = server(certificate, key);
        assert_eq!(read(&server, &authority(root), "").await, Ok(()), "{name}");
    }
    let both = format!("{OTHER_NAME}{AUTHORITY}");
    let server = server(SERVER, SERVER_KEY);
    assert_eq!(
        read(&server, &authority(&both), "").await,
        Ok(()),
        "a bundle"
    );
}

#[tokio::test]
async fn pinning_does_not_stand_above_name_date_or_identity() {
    for (name, certificate, key, root, expected) in [
        (
            "another authority",
            SERVER,
            SERVER_KEY,
            OTHER_NAME,
            "signed by an authority",
        ),
        (
            "another pinned leaf",
            SELF_SIGNED,
            SELF_SIGNED_KEY,
            SERVER,
            "certificate",
        ),
        (
            "pinned, other name",
            OTHER_NAME,
            OTHER_NAME_KEY,
            OTHER_NAME,
            "not valid for",
        ),
        (
            "pinned, expired",
            EXPIRED,
            SELF_SIGNED_KEY,
            EXPIRED,
            "expired",
        ),
    ] {
        let server = server(certificate, key);
        let error = read(&server, &authority(root), "").await.unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
        assert!(server.asked().is_empty(), "{name}: nothing was sent");
    }
}

#[tokio::test]
async fn the_name_to_check_can_be_another_one() {
    let server = server(OTHER_NAME, OTHER_NAME_KEY);
    let named = format!(
        "{}, tls-server-name: other.example.com",
        authority(OTHER_NAME)
    );
    assert_eq!(read(&server, &named, "").await, Ok(()));
}

#[tokio::test]
async fn without_check_anything_is_taken() {
    let server = server(EXPIRED, SELF_SIGNED_KEY);
    let result = read(&server, "insecure-skip-tls-verify: true", "").await;
    assert_eq!(result, Ok(()));
}

#[tokio::test]
async fn client_certificates_are_shown_p521_included() {
    for (certificate, key) in [(CLIENT, CLIENT_KEY), (P521, P521_KEY)] {
        let wanted = Identity {
            certificate: SERVER,
            key: SERVER_KEY,
            client_authority: Some(AUTHORITY),
        };
        let server = Server::https(&wanted, |_| Reply::empty());
        let trust = authority(AUTHORITY);
        assert_eq!(
            read(&server, &trust, &identity(certificate, key)).await,
            Ok(())
        );
        assert!(
            read(&server, &trust, "").await.is_err(),
            "without one it is refused"
        );
    }
}

#[tokio::test]
async fn a_v1_client_certificate_is_explained() {
    let server = server(SERVER, SERVER_KEY);
    let user = identity(CLIENT_V1, CLIENT_KEY);
    let error = read(&server, &authority(AUTHORITY), &user)
        .await
        .unwrap_err();
    assert!(
        error.contains("X.509 v1") && error.contains("re-issue it as v3"),
        "{error}"
    );
}

#[tokio::test]
async fn a_token_is_sent_over_tls() {
    let server = server(SERVER, SERVER_KEY);
    read(&server, &authority(AUTHORITY), "token: s3cr3t")
        .await
        .unwrap();
    for asked in server.asked() {
        assert_eq!(asked.header("authorization"), Some("Bearer s3cr3t"));
    }
}

#[tokio::test]
async fn a_token_file_is_read_trimmed_and_beats_the_token_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "token", "from-file\n");
    let bare = write(folder.path(), "bare", "from-file");
    let missing = folder.path().join("missing");
    for (file, token, sent) in [
        (&file, "", "Bearer from-file"),
        (&file, "inline", "Bearer from-file"),
        (&bare, "inline", "Bearer from-file"),
        (&missing, "inline", "Bearer inline"),
    ] {
        let server = server(SERVER, SERVER_KEY);
        let user = format!("token: '{token}', tokenFile: '{}'", file.display());
        read(&server, &authority(AUTHORITY), &user).await.unwrap();
        assert_eq!(server.asked()[0].header("authorization"), Some(sent));
    }
}
