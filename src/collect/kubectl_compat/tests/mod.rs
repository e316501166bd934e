//! The rows in which kube and kubectl differ, each with its case.

mod exec;
mod kubeconfig;
mod proxy;
mod tls;

use std::path::{Path, PathBuf};

use super::{ClusterFlags, ConfigError, Connection, Environment, resolve};

fn quiet(_line: &str) {}

/// Writes a file and returns its path.
fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn env_with(files: &[&Path]) -> Environment {
    let list = std::env::join_paths(files).unwrap();
    Environment {
        kubeconfig: Some(list.into_string().unwrap()),
        ..Environment::empty()
    }
}

async fn resolved(flags: &ClusterFlags, env: &Environment) -> Result<Connection, ConfigError> {
    resolve(flags, env, &quiet).await
}

fn failure(result: Result<Connection, ConfigError>) -> ConfigError {
    match result {
        Ok(connection) => panic!("resolved to {:?}", connection.resolved),
        Err(error) => error,
    }
}

/// A kubeconfig with one context, one cluster and one user; `cluster` and `user` are the inner lines.
fn one(cluster: &str, user: &str) -> String {
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
