//! The servers, the home and the calls of one row.

use std::collections::BTreeSet;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use super::relay::{Proxied, Relay};
use crate::plugin::{Run, User};
use crate::test_server::{Asked, Identity, Reply, Server};

macro_rules! pem {
    ($name:literal) => {
        (
            concat!($name, ".pem"),
            include_str!(concat!(
                "../../../src/collect/kubectl_compat/testdata/",
                $name,
                ".pem"
            )),
        )
    };
}

/// The certificates and keys of the tests (`src/collect/kubectl_compat/testdata/make.sh`).
const PEMS: [(&str, &str); 19] = [
    pem!("authority"),
    pem!("server"),
    pem!("server.key"),
    pem!("self-signed"),
    pem!("self-signed.key"),
    pem!("other-name"),
    pem!("other-name.key"),
    pem!("expired"),
    pem!("p521"),
    pem!("p521.key"),
    pem!("client"),
    pem!("client.key"),
    pem!("client.sec1.key"),
    pem!("client.parameters.key"),
    pem!("rsa"),
    pem!("rsa.key"),
    pem!("rsa.pkcs1.key"),
    pem!("ed25519"),
    pem!("ed25519.key"),
];

/// No client of rustls can show it, and it is only asked for by the row that says so.
const CLIENT_V1: (&str, &str) = pem!("client-v1");

fn pem(name: &str) -> &'static str {
    PEMS.into_iter()
        .find(|(known, _)| known.strip_suffix(".pem") == Some(name))
        .map(|(_, text)| text)
        .expect("the tests name certificates that there are")
}

/// What the TLS server shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certificate {
    /// For 127.0.0.1 and localhost, signed by `pki/authority.pem`.
    Trusted,
    /// For 127.0.0.1 and localhost, signed by itself, and it says that it is an authority.
    SelfSigned,
    /// For other.example.com, signed by itself.
    OtherName,
    /// Its time is over.
    Expired,
    /// With a P-521 key, signed by `pki/authority.pem`.
    P521,
}

impl Certificate {
    fn identity(self) -> Identity {
        let (certificate, key) = match self {
            Self::Trusted => ("server", "server.key"),
            Self::SelfSigned => ("self-signed", "self-signed.key"),
            Self::OtherName => ("other-name", "other-name.key"),
            Self::Expired => ("expired", "self-signed.key"),
            Self::P521 => ("p521", "p521.key"),
        };
        Identity {
            certificate: pem(certificate),
            key: pem(key),
            client_authority: Some(pem("authority")),
        }
    }
}

/// How a client came: everything that a wrong kubeconfig loader would get wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    pub(crate) scheme: &'static str,
    /// The `Host` header.
    pub(crate) host: String,
    /// The path before `/api` or `/apis`.
    pub(crate) prefix: String,
    pub(crate) server_name: Option<String>,
    /// The name of the client certificate among the tests' own.
    pub(crate) certificate: Option<String>,
    /// Empty without.
    pub(crate) authorization: String,
    /// `Impersonate-*`, sorted.
    pub(crate) impersonation: Vec<(String, String)>,
    pub(crate) encoding: String,
}

/// What one call left behind.
pub(crate) struct Contact {
    pub(crate) run: Run,
    /// Every way in which a request came: one, unless a client contradicts itself.
    pub(crate) ways: BTreeSet<Way>,
    pub(crate) proxied: BTreeSet<Proxied>,
    /// The namespaces of pods and of Velero's tasks that were listed.
    pub(crate) namespaces: BTreeSet<String>,
    /// What the credential plugin noted: a line for each run.
    pub(crate) plugin_runs: Vec<String>,
}

impl Contact {
    pub(crate) fn worked(&self) -> bool {
        self.run.code == Some(0)
    }

    pub(crate) fn said(&self, words: &str) -> bool {
        self.run.stderr.contains(words)
    }

    /// Returns whether something was sent, and all of it as `holds` says.
    pub(crate) fn came(&self, holds: impl Fn(&Way) -> bool) -> bool {
        !self.ways.is_empty() && self.ways.iter().all(holds)
    }
}

#[expect(clippy::use_debug, reason = "only a failing test prints it")]
impl std::fmt::Display for Contact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.run)?;
        for way in &self.ways {
            writeln!(f, "came: {way:?}")?;
        }
        for proxied in &self.proxied {
            writeln!(f, "proxy: {proxied:?}")?;
        }
        for namespace in &self.namespaces {
            writeln!(f, "namespace: {namespace}")?;
        }
        for run in &self.plugin_runs {
            writeln!(f, "plugin: {run}")?;
        }
        Ok(())
    }
}

/// The machine of a row, and the servers that it can reach.
pub(crate) struct World {
    user: User,
    https: Server,
    http: Server,
    relay: Relay,
}

impl World {
    pub(crate) fn new(certificate: Certificate) -> Self {
        let user = User::new(&serde_json::Value::Null);
        let pki = user.file("pki");
        std::fs::create_dir(&pki).expect("the folder is ours");
        for (name, text) in PEMS.into_iter().chain([CLIENT_V1]) {
            std::fs::write(pki.join(name), text).expect("the folder is ours");
        }
        Self {
            user,
            https: Server::https_asking(&certificate.identity(), answer),
            http: Server::http(answer),
            relay: Relay::start(),
        }
    }

    /// Writes a file in the home of the user; a script when it begins like one.
    pub(crate) fn write(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.user.file(name);
        let folder = path.parent().expect("it is in a folder");
        std::fs::create_dir_all(folder).expect("the folder is ours");
        std::fs::write(&path, self.fill(text)).expect("the folder is ours");
        if text.starts_with("#!") {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
                .expect("the file is ours");
        }
    }

    /// Puts addresses, folders and certificates into a text.
    fn fill(&self, text: &str) -> String {
        let port = |address: String| {
            address
                .rsplit_once(':')
                .map(|(_, port)| port.to_owned())
                .expect("an address has a port")
        };
        let mut filled = text
            .replace("@https@", &self.https.url())
            .replace("@http@", &self.http.url())
            .replace("@port@", &port(self.https.address()))
            .replace("@plain-port@", &port(self.http.address()))
            .replace("@proxy@", self.relay.address())
            .replace("@home@", &self.user.file("").display().to_string());
        for (name, pem) in PEMS.into_iter().chain([CLIENT_V1]) {
            let name = name.strip_suffix(".pem").unwrap_or(name);
            filled = filled.replace(&format!("@{name}@"), &BASE64.encode(pem));
        }
        filled
    }

    /// Calls `kubectl ARGUMENTS`.
    pub(crate) fn call(&self, arguments: &[&str], env: &[(&str, String)]) -> Contact {
        let filled: Vec<String> = arguments.iter().map(|text| self.fill(text)).collect();
        let before = [self.https.asked().len(), self.http.asked().len()];
        let _earlier = self.relay.take();
        let notes = self.user.file("plugin-runs");
        // There is none before the first run.
        let _removed = std::fs::remove_file(&notes);
        let mut command = self.user.command(&crate::programs::kubectl());
        command
            .env_remove("KUBECONFIG")
            .envs(env.iter().map(|(name, value)| (name, self.fill(value))))
            .args(&filled)
            .stdin(Stdio::null());
        let output = command.output().expect("kubectl can be run");
        let asked: Vec<(&'static str, Asked)> = [("https", &self.https), ("http", &self.http)]
            .into_iter()
            .zip(before)
            .flat_map(|((scheme, server), before)| {
                let new = server.asked().split_off(before);
                new.into_iter().map(move |asked| (scheme, asked))
            })
            // Some vendors' kubectl asks for the version first, to call the kubectl that fits.
            .filter(|(_, asked)| !asked.path.ends_with("/version"))
            .collect();
        Contact {
            run: Run {
                line: format!("kubectl {}", filled.join(" ")),
                code: output.status.code(),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            },
            namespaces: asked
                .iter()
                .filter_map(|(_, asked)| namespace(&asked.path))
                .collect(),
            ways: asked
                .iter()
                .map(|(scheme, asked)| way(scheme, asked))
                .collect(),
            proxied: self.relay.take(),
            plugin_runs: std::fs::read_to_string(&notes)
                .map(|text| text.lines().map(str::to_owned).collect())
                .unwrap_or_default(),
        }
    }
}

/// Answers as an API server with an idle Velero on it, at whatever prefix.
fn answer(asked: &Asked) -> Reply {
    let path = origin_form(&asked.path);
    let path = path
        .find("/api")
        .and_then(|start| path.get(start..))
        .unwrap_or(path);
    if path.ends_with("/daemonsets") {
        return Reply::list(&[&daemon_set(path)], "");
    }
    let body = match path {
        "/api" => r#"{"kind":"APIVersions","versions":["v1"]}"#,
        "/apis" => r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#,
        "/api/v1" => {
            r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[
                {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list"]}]}"#
        }
        _ if path.ends_with("/version") => {
            r#"{"major":"1","minor":"32","gitVersion":"v1.32.4","platform":"linux/amd64"}"#
        }
        _ if path.ends_with("/pods") => {
            r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}"#
        }
        _ => r#"{"kind":"SomeList","apiVersion":"v1","metadata":{},"items":[]}"#,
    };
    Reply::json(200, body)
}

/// A node-agent in the namespace that is asked for.
fn daemon_set(path: &str) -> String {
    let namespace = path
        .split_once("/namespaces/")
        .and_then(|(_, rest)| rest.split('/').next())
        .unwrap_or("velero");
    json!({
        "metadata": {"name": "node-agent", "namespace": namespace, "uid": "1"},
        "spec": {"template": {"spec": {
            "containers": [{"name": "node-agent", "image": "velero/velero:v1.17.2"}],
        }}},
    })
    .to_string()
}

/// Returns the path of a request; through an HTTP proxy the whole URL is asked for.
fn origin_form(target: &str) -> &str {
    target
        .split_once("://")
        .and_then(|(_, rest)| rest.find('/').and_then(|start| rest.get(start..)))
        .unwrap_or(target)
}

fn way(scheme: &'static str, asked: &Asked) -> Way {
    let header = |name: &str| asked.header(name).unwrap_or_default().to_owned();
    let path = origin_form(&asked.path);
    let prefix = path
        .find("/api")
        .and_then(|end| path.get(..end))
        .unwrap_or(path);
    let mut impersonation: Vec<(String, String)> = asked
        .headers
        .iter()
        .filter(|(name, _)| name.starts_with("impersonate-"))
        .cloned()
        .collect();
    impersonation.sort();
    Way {
        scheme,
        host: header("host"),
        prefix: prefix.to_owned(),
        server_name: asked.tls.server_name.clone(),
        certificate: asked.tls.certificate.as_deref().map(name_of),
        authorization: header("authorization"),
        impersonation,
        encoding: header("accept-encoding"),
    }
}

/// Returns the name of a certificate.
fn name_of(der: &[u8]) -> String {
    PEMS.into_iter()
        .find(|(_, text)| {
            CertificateDer::from_pem_slice(text.as_bytes())
                .is_ok_and(|certificate| certificate.as_ref() == der)
        })
        .map_or_else(
            || "unknown".to_owned(),
            |(name, _)| name.trim_end_matches(".pem").to_owned(),
        )
}

/// Returns the namespace whose pods or tasks are listed.
fn namespace(path: &str) -> Option<String> {
    let (_, rest) = path.split_once("/namespaces/")?;
    let (namespace, resource) = rest.split_once('/')?;
    matches!(resource, "pods" | "datauploads").then(|| namespace.to_owned())
}
