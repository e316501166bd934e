//! The oracle: what the real kubectl does with a kubeconfig, flags and an environment, the plugin does too.
//!
//! Each row is one user's machine. `kubectl get pods` and `kubectl velero-slots status` are called on it,
//! both talk to the same recording servers on loopback, and what arrived is compared: over which scheme,
//! host and path, through which proxy, with which login, certificate and impersonation, and whether it went
//! well. Where the two differ on purpose, the row says why, and fails when they no longer do.
//!
//! Left out of the comparison, with the reason: `Accept` and `User-Agent` (each asks for what it can read and
//! names itself), the number of requests and their paths below the prefix (they ask for different things).

mod exec;
mod files;
mod flags;
mod logins;
mod proxies;
mod relay;
mod trust;
mod world;

use std::collections::BTreeSet;

pub(crate) use world::{Certificate, Contact, World};

/// One user's machine, and what is expected on it.
pub(crate) struct Row {
    name: &'static str,
    files: Vec<(&'static str, String)>,
    env: Vec<(&'static str, String)>,
    flags: Vec<String>,
    /// Only for kubectl, where it spells something differently.
    kubectl_flags: Option<Vec<String>>,
    certificate: Certificate,
}

impl Row {
    /// Begins a row with `$KUBECONFIG` naming a file `config` in the user's home.
    pub(crate) fn new(name: &'static str, config: impl Into<String>) -> Self {
        Self {
            name,
            files: vec![("config", config.into())],
            env: vec![("KUBECONFIG", "@home@/config".to_owned())],
            flags: Vec::new(),
            kubectl_flags: None,
            certificate: Certificate::Trusted,
        }
    }

    /// Adds a file in the home of the user.
    pub(crate) fn file(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.files.push((name, text.into()));
        self
    }

    /// Sets a variable, also one that is set already.
    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.retain(|(known, _)| *known != name);
        self.env.push((name, value.into()));
        self
    }

    /// Takes a variable away.
    pub(crate) fn without_env(mut self, name: &'static str) -> Self {
        self.env.retain(|(known, _)| *known != name);
        self
    }

    /// Adds flags for both.
    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.flags
            .extend(flags.iter().map(|flag| (*flag).to_owned()));
        self
    }

    /// Gives kubectl other flags.
    pub(crate) fn kubectl_flags(mut self, flags: &[&str]) -> Self {
        self.kubectl_flags = Some(flags.iter().map(|flag| (*flag).to_owned()).collect());
        self
    }

    /// Lets the TLS server show this certificate.
    pub(crate) const fn server(mut self, certificate: Certificate) -> Self {
        self.certificate = certificate;
        self
    }

    /// Both are to reach the server in the same way, with this `Authorization`.
    pub(crate) fn logs_in_with(self, authorization: &str) {
        self.works(|contact| {
            contact.ways.len() == 1
                && contact
                    .ways
                    .iter()
                    .all(|way| way.authorization == authorization)
        });
    }

    /// Both are to reach the server in the same way, and of it something holds, so that "the same" is not
    /// "nothing".
    pub(crate) fn works(self, holds: impl Fn(&Contact) -> bool) {
        let name = self.name;
        let both = self.run();
        assert!(both.kubectl.worked(), "{name}: kubectl fails\n{both}");
        assert!(both.ours.worked(), "{name}: the plugin fails\n{both}");
        both.expect_same(name);
        assert!(
            holds(&both.kubectl),
            "{name}: it is not what the row is about\n{both}"
        );
    }

    /// Both are to fail without having sent anything else, and the plugin says these words.
    pub(crate) fn fails(self, words: &str) {
        let name = self.name;
        let both = self.run();
        assert!(!both.kubectl.worked(), "{name}: kubectl works\n{both}");
        assert!(!both.ours.worked(), "{name}: the plugin works\n{both}");
        both.expect_same(name);
        assert!(
            both.ours.said(words),
            "{name}: the plugin does not say {words:?}\n{both}"
        );
    }

    /// The two differ on purpose, for this reason.
    pub(crate) fn differs(
        self,
        reason: &str,
        kubectl: impl Fn(&Contact) -> bool,
        ours: impl Fn(&Contact) -> bool,
    ) {
        let name = self.name;
        let both = self.run();
        assert!(
            kubectl(&both.kubectl),
            "{name}: kubectl is not as expected ({reason})\n{both}"
        );
        assert!(
            ours(&both.ours),
            "{name}: the plugin is not as expected ({reason})\n{both}"
        );
    }

    pub(crate) fn run(self) -> Both {
        let world = World::new(self.certificate);
        for (name, text) in &self.files {
            world.write(name, text);
        }
        let mut kubectl = vec!["get", "pods"];
        let theirs = self.kubectl_flags.as_ref().unwrap_or(&self.flags);
        kubectl.extend(theirs.iter().map(String::as_str));
        let mut ours = vec!["velero-slots", "status", "-o", "json"];
        ours.extend(self.flags.iter().map(String::as_str));
        Both {
            kubectl: world.call(&kubectl, &self.env),
            ours: world.call(&ours, &self.env),
        }
    }
}

/// What the two did on one machine.
pub(crate) struct Both {
    pub(crate) kubectl: Contact,
    pub(crate) ours: Contact,
}

impl Both {
    pub(crate) fn expect_same(&self, name: &str) {
        assert_eq!(
            self.ours.ways, self.kubectl.ways,
            "{name}: they do not ask in the same way\n{self}"
        );
        assert_eq!(
            self.ours.proxied, self.kubectl.proxied,
            "{name}: they do not use the proxy in the same way\n{self}"
        );
    }
}

impl std::fmt::Display for Both {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n\n{}", self.kubectl, self.ours)
    }
}

/// A kubeconfig with one context, one cluster and one user; `cluster` and `user` are the inner lines.
pub(crate) fn one(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
current-context: ctx
contexts:
- name: ctx
  context: {{cluster: c, user: u}}
clusters:
- name: c
  cluster: {{{cluster}}}
users:
- name: u
  user: {{{user}}}
"
    )
}

/// The cluster of the TLS server, trusted by its authority.
pub(crate) const CLUSTER: &str = "server: '@https@', certificate-authority-data: '@authority@'";

/// A kubeconfig of the TLS server.
pub(crate) fn trusting(user: &str) -> String {
    one(CLUSTER, user)
}

/// Returns the only element of a set.
pub(crate) fn only<T: Ord>(set: &BTreeSet<T>) -> Option<&T> {
    set.first().filter(|_| set.len() == 1)
}
