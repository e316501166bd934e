//! Where the programs come from.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A program of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Etcd,
    ApiServer,
    ControllerManager,
    Scheduler,
    Kwok,
}

impl Program {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kwok => "kwok",
        }
    }

    /// Returns the path of the program: in `$KUBEBUILDER_ASSETS` if it is there, else in the cache that
    /// `tests/control-plane/build` fills.
    ///
    /// # Errors
    ///
    /// What the build said.
    pub(crate) fn path(self) -> Result<PathBuf, String> {
        std::env::var_os("KUBEBUILDER_ASSETS")
            .map(|folder| Path::new(&folder).join(self.name()))
            .filter(|path| path.is_file())
            .map_or_else(|| Ok(built()?.join(self.name())), Ok)
    }
}

/// Returns the folder of the programs that are built here, after building what is missing.
fn built() -> Result<&'static Path, String> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOLDER
        .get_or_init(build)
        .as_deref()
        .map_err(|error| error.clone())
}

fn build() -> Result<PathBuf, String> {
    path_from("build", &["etcd", "kubernetes", "kwok"])
}

/// Runs a script beside the modules of the control plane, and returns the path that it prints.
fn path_from(script: &str, arguments: &[&str]) -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/control-plane")
        .join(script);
    // Its progress goes where cargo's goes: a first build takes minutes.
    let output = Command::new("bash")
        .arg(&script)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("run {}: {error}", script.display()))?;
    if !output.status.success() {
        return Err(format!(
            "{} ended with {}; see its words above",
            script.display(),
            output.status
        ));
    }
    let path = String::from_utf8_lossy(&output.stdout);
    Ok(PathBuf::from(path.trim()))
}

/// Returns the real kubectl: the machine's, else the one that `tests/control-plane/kubectl` gets.
pub(crate) fn kubectl() -> PathBuf {
    static KUBECTL: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    KUBECTL
        .get_or_init(|| path_from("kubectl", &[]))
        .clone()
        .unwrap_or_else(|error| panic!("no kubectl: {error}"))
}
