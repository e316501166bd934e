//! The plugin, called as its users call it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Flags for a reading that is not about time limits: tests run on busy machines too.
pub(crate) const PATIENT: [&str; 2] = ["--request-timeout=5m", "--timeout=10m"];

/// A user's machine: a home, a kubeconfig, and the plugin on PATH.
pub(crate) struct User {
    home: TempDir,
    path: String,
}

/// What a run left.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// What was typed, for messages.
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl User {
    pub(crate) fn new(kubeconfig: &Value) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let bin = home.path().join("bin");
        std::fs::create_dir(&bin).expect("the folder is ours");
        std::os::unix::fs::symlink(
            env!("CARGO_BIN_EXE_kubectl-velero_slots"),
            bin.join("kubectl-velero_slots"),
        )
        .expect("a link can be made");
        std::fs::write(home.path().join("kubeconfig"), kubeconfig.to_string())
            .expect("the folder is ours");
        // kubectl looks for plugins on PATH.
        let path = format!("{}:/usr/bin:/bin", bin.display());
        Self { home, path }
    }

    /// Returns a path in the user's home.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Runs `kubectl velero-slots ARGUMENTS`.
    pub(crate) fn plugin(&self, arguments: &[&str]) -> Run {
        let mut all = vec!["velero-slots"];
        all.extend(arguments);
        self.kubectl(&all)
    }

    /// Runs `kubectl ARGUMENTS`.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Run {
        let output = self
            .command(&crate::programs::kubectl())
            .args(arguments)
            .output()
            .expect("kubectl can be run");
        Run {
            line: format!("kubectl {}", arguments.join(" ")),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Starts `kubectl velero-slots ARGUMENTS` and does not wait for its end.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let child = self
            .command(&crate::programs::kubectl())
            .arg("velero-slots")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl can be run");
        Running {
            line: format!("kubectl velero-slots {}", arguments.join(" ")),
            child,
        }
    }

    /// Returns a call of a program on this machine.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // Nothing of the machine that runs the tests may reach a run.
        command
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.file("kubeconfig"))
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }
}

/// A run that is under way.
pub(crate) struct Running {
    line: String,
    child: Child,
}

impl Running {
    /// Presses Ctrl-C. kubectl has become the plugin by then: it replaces itself (`syscall.Exec`).
    pub(crate) fn interrupt(&self) {
        let status = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status()
            .expect("kill can be run");
        assert!(status.success(), "{} was not there any more", self.line);
    }

    /// Waits for its end.
    pub(crate) fn wait(self) -> Run {
        let output = self.child.wait_with_output().expect("it was started");
        Run {
            line: self.line,
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Run {
    /// Fails unless the run ended with `code`.
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Returns the answer as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{self}"))
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self
            .code
            .map_or_else(|| "none".to_owned(), |code| code.to_string());
        write!(
            f,
            "$ {}\nexit {code}\n--- stdout\n{}\n--- stderr\n{}",
            self.line, self.stdout, self.stderr
        )
    }
}
