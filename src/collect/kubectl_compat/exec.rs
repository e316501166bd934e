//! Runs a credential plugin, once.
//!
//! kube runs it three times per client, synchronously, and without a limit. Here it runs once on a
//! thread of its own, its standard error goes straight to the user (device codes and login prompts are
//! printed there), and it is ended when its time is up.

use std::io::{self, Read as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::ConfigError;
use super::kubeconfig::Exec;
use super::{Progress, Stdin};

/// Longest run of a plugin when nobody is there. The slowest cloud command lines take a few seconds;
/// one that hangs waits for input that never comes.
pub(super) const SILENT_LIMIT: Duration = Duration::from_secs(60);

/// Longest run of a plugin when somebody sits at the terminal: a browser login with a second factor,
/// which plugins do with `interactiveMode: Never` too.
pub(super) const INTERACTIVE_LIMIT: Duration = Duration::from_secs(300);

/// What a plugin gave.
pub(super) struct Credential {
    pub(super) token: Option<String>,
    /// Certificate and key, in PEM.
    pub(super) identity: Option<(String, String)>,
    pub(super) valid_until: Option<Timestamp>,
}

/// What the plugin is told about the cluster, when the kubeconfig says `provideClusterInfo`.
#[derive(Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ClusterInfo {
    pub(super) server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tls_server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) insecure_skip_tls_verify: Option<bool>,
    /// PEM in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) certificate_authority_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) proxy_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disable_compression: Option<bool>,
    /// client-go writes a `null` where there is none.
    pub(super) config: Option<serde_json::Value>,
}

/// Everything that one run needs.
pub(super) struct Run {
    command: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    stdin: Stdin,
    install_hint: Option<String>,
    api_version: String,
    limit: Duration,
}

impl Run {
    /// Checks the kubeconfig's `exec` section as client-go does.
    pub(super) fn prepare(
        user: &str,
        exec: &Exec,
        stdin: Stdin,
        cluster: Option<ClusterInfo>,
    ) -> Result<Self, ConfigError> {
        let wrong = |reason: &str| ConfigError::ExecConfig {
            user: user.to_owned(),
            reason: reason.to_owned(),
        };
        let command = exec
            .command
            .clone()
            .ok_or_else(|| wrong("command must be given"))?;
        let api_version = exec
            .api_version
            .clone()
            .ok_or_else(|| wrong("apiVersion must be given"))?;
        if !matches!(
            api_version.as_str(),
            "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1"
        ) {
            return Err(wrong(&format!(
                "apiVersion {api_version} is not supported; update the kubeconfig to client.authentication.k8s.io/v1"
            )));
        }
        let limit = match stdin {
            Stdin::Terminal => INTERACTIVE_LIMIT,
            Stdin::NoTerminal => SILENT_LIMIT,
        };
        let stdin = match exec.interactive_mode.as_deref() {
            Some("Never") => Stdin::NoTerminal,
            Some("Always") if stdin == Stdin::NoTerminal => {
                return Err(wrong(
                    "interactiveMode is Always, and standard input is not a terminal",
                ));
            }
            Some("IfAvailable" | "Always") => stdin,
            // client.authentication.k8s.io/v1beta1 has a default, v1 has none.
            None if api_version.ends_with("/v1beta1") => stdin,
            None => return Err(wrong("interactiveMode must be given")),
            Some(other) => return Err(wrong(&format!("unknown interactiveMode {other:?}"))),
        };
        let info = ExecInfo {
            kind: "ExecCredential",
            api_version: &api_version,
            spec: Spec {
                interactive: stdin == Stdin::Terminal,
                cluster: cluster.filter(|_| exec.provide_cluster_info),
            },
        };
        let info = serde_json::to_string(&info).map_err(|error| wrong(&error.to_string()))?;
        let mut env: Vec<(String, String)> = exec
            .env
            .iter()
            .map(|pair| (pair.name.clone(), pair.value.clone()))
            .collect();
        env.push(("KUBERNETES_EXEC_INFO".to_owned(), info));
        Ok(Self {
            command,
            args: exec.args.clone(),
            env,
            stdin,
            install_hint: exec.install_hint.clone(),
            api_version,
            limit,
        })
    }

    /// Shortens the time limit, for tests.
    #[cfg(test)]
    pub(super) fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Runs the plugin on a thread of its own, so that an interrupted command need not wait for it.
    pub(super) async fn run(self, progress: Progress<'_>) -> Result<Credential, ConfigError> {
        let command = self.command.clone();
        let (sender, mut answer) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // The receiver is gone only when the whole command is being ended.
            let _unheard = sender.send(self.run_blocking());
        });
        let first = tokio::time::timeout(Duration::from_secs(1), &mut answer).await;
        let answered = match first {
            Ok(answered) => answered,
            Err(_elapsed) => {
                progress(&format!("waiting for credential plugin {command}"));
                answer.await
            }
        };
        answered.unwrap_or_else(|_dropped| {
            Err(ConfigError::ExecAnswer {
                command,
                reason: "it could not be waited for".to_owned(),
            })
        })
    }

    /// Runs the plugin and waits for it, no longer than the limit.
    pub(super) fn run_blocking(&self) -> Result<Credential, ConfigError> {
        let mut child = self.start()?;
        let (sender, output) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut text = String::new();
                let read = stdout
                    .take(super::bounded::MOST_BYTES)
                    .read_to_string(&mut text)
                    .map(|_| text);
                let _unheard = sender.send(read);
            });
        }
        let Ok(output) = output.recv_timeout(self.limit) else {
            return Err(self.stop(&mut child));
        };
        // A plugin that has closed its output has nothing more to say.
        const LINGER: Duration = Duration::from_secs(5);
        let Some(status) = wait(&mut child, self.limit.min(LINGER)).map_err(|e| self.broken(&e))?
        else {
            return Err(self.stop(&mut child));
        };
        if !status.success() {
            return Err(ConfigError::ExecFailed {
                command: self.command.clone(),
                ended: match status.code() {
                    Some(code) => format!("exited {code}"),
                    None => "was ended by a signal".to_owned(),
                },
                install_hint: self.install_hint.clone(),
            });
        }
        self.understand(&output.map_err(|error| self.broken(&error))?)
    }

    fn start(&self) -> Result<Child, ConfigError> {
        Command::new(&self.command)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(match self.stdin {
                Stdin::Terminal => Stdio::inherit(),
                Stdin::NoTerminal => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|source| {
                let command = self.command.clone();
                if source.kind() == io::ErrorKind::NotFound {
                    let install_hint = self.install_hint.clone();
                    ConfigError::ExecMissing {
                        command,
                        install_hint,
                    }
                } else {
                    ConfigError::ExecStart { command, source }
                }
            })
    }

    fn stop(&self, child: &mut Child) -> ConfigError {
        // It may have ended in this very moment; then there is nothing to end.
        let _ended = child.kill();
        let _status = child.wait();
        ConfigError::ExecTimeout {
            command: self.command.clone(),
            limit: self.limit,
        }
    }

    fn broken(&self, error: &io::Error) -> ConfigError {
        self.unusable(error.to_string())
    }

    fn unusable(&self, reason: String) -> ConfigError {
        ConfigError::ExecAnswer {
            command: self.command.clone(),
            reason,
        }
    }

    /// Reads an `ExecCredential`. Its text never reaches a message: it holds a token.
    fn understand(&self, output: &str) -> Result<Credential, ConfigError> {
        let answer: Answer = serde_json::from_str(output).map_err(|error| {
            self.unusable(format!(
                "it is not JSON (line {}, column {})",
                error.line(),
                error.column()
            ))
        })?;
        if answer.kind != "ExecCredential" || answer.api_version != self.api_version {
            return Err(self.unusable(format!(
                "it is {} {}, not ExecCredential {}",
                answer.kind, answer.api_version, self.api_version
            )));
        }
        let status = answer
            .status
            .ok_or_else(|| self.unusable("it has no status".to_owned()))?;
        let present = |text: Option<String>| text.filter(|text| !text.is_empty());
        let token = present(status.token);
        let identity = match (
            present(status.client_certificate_data),
            present(status.client_key_data),
        ) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err(self.unusable("a certificate without a key".to_owned())),
            (None, Some(_)) => return Err(self.unusable("a key without a certificate".to_owned())),
        };
        if token.is_none() && identity.is_none() {
            return Err(self.unusable("it holds neither a token nor a certificate".to_owned()));
        }
        Ok(Credential {
            token,
            identity,
            valid_until: status
                .expiration_timestamp
                .and_then(|text| text.parse().ok()),
        })
    }
}

/// Waits for a process without tying a thread to it for ever.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    const STEP: Duration = Duration::from_millis(5);
    let mut left = limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(STEP);
        left = left.saturating_sub(STEP);
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExecInfo<'a> {
    kind: &'static str,
    api_version: &'a str,
    spec: Spec,
}

#[derive(Serialize)]
struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterInfo>,
    interactive: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api_version: String,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}
