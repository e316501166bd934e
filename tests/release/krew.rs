//! The real krew, in a root of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::archive;

/// The archives that the manifest names; the one made here stands in for each.
pub(crate) const ARCHIVES: [&str; 5] = [
    "kubectl-velero_slots-x86_64-unknown-linux-musl.tar.gz",
    "kubectl-velero_slots-aarch64-unknown-linux-musl.tar.gz",
    "kubectl-velero_slots-x86_64-apple-darwin.tar.gz",
    "kubectl-velero_slots-aarch64-apple-darwin.tar.gz",
    "kubectl-velero_slots-x86_64-pc-windows-msvc.tar.gz",
];

/// A user with krew and nothing else.
pub(crate) struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    /// Makes a home whose krew knows one index: a repository without plugins, so that nothing is fetched.
    pub(crate) fn new() -> Self {
        Self::with_krew(&program("krew"))
    }

    /// Makes such a home with another krew.
    pub(crate) fn with_krew(krew: &Path) -> Self {
        let home = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        std::fs::create_dir(home.path("bin")).expect("a folder");
        std::os::unix::fs::symlink(krew, home.path("bin/kubectl-krew")).expect("a link to krew");
        let index = home.path("empty-index");
        std::fs::create_dir_all(index.join("plugins")).expect("a folder");
        std::fs::write(index.join("plugins/.keep"), "").expect("a file");
        git_commit(&index, "an index");
        home
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The link that krew makes for the plugin.
    pub(crate) fn link(&self) -> PathBuf {
        self.path("krew/bin/kubectl-velero_slots")
    }

    /// Writes the filled manifest, and returns its path.
    pub(crate) fn manifest(&self) -> PathBuf {
        let dist = self.path("dist");
        std::fs::create_dir(&dist).expect("a folder");
        let manifest = self.path("velero-slots.yaml");
        std::fs::write(&manifest, filled_manifest(&dist, None)).expect("a file");
        manifest
    }

    /// Calls `kubectl krew install` with a manifest and an archive of this machine.
    pub(crate) fn install(&self, manifest: &Path, archive: &Path) -> Answer {
        self.kubectl([
            "krew".to_owned(),
            "install".to_owned(),
            format!("--manifest={}", manifest.display()),
            format!("--archive={}", archive.display()),
        ])
    }

    /// Fails if krew has left anything of the plugin.
    #[track_caller]
    pub(crate) fn has_nothing_installed(&self) {
        assert!(!self.link().exists(), "no link");
        assert_eq!(self.installed_version(), None, "no receipt");
        assert!(
            !self.path("krew/store/velero-slots").exists(),
            "no half-made store"
        );
    }

    /// The version that krew holds installed.
    pub(crate) fn installed_version(&self) -> Option<String> {
        let receipt = std::fs::read_to_string(self.path("krew/receipts/velero-slots.yaml")).ok()?;
        let receipt: serde_json::Value = serde_saphyr::from_str(&receipt).expect("YAML");
        Some(
            receipt
                .pointer("/spec/version")?
                .as_str()
                .expect("a version is text")
                .to_owned(),
        )
    }

    /// Calls the real kubectl as this user.
    pub(crate) fn kubectl<I: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = I>,
    ) -> Answer {
        let path = std::env::var_os("PATH").expect("PATH is set");
        let own = [self.path("bin"), self.path("krew/bin")];
        let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path)))
            .expect("a PATH");
        let output = Command::new(script("tests/control-plane/kubectl", &[]))
            .args(arguments)
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("KREW_ROOT", self.path("krew"))
            .env("KREW_NO_UPGRADE_CHECK", "1")
            .env("KREW_DEFAULT_INDEX_URI", self.path("empty-index"))
            .env_remove("KUBECONFIG")
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .output()
            .expect("kubectl runs");
        Answer::of(&output)
    }
}

/// What a program said.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Returns a program of krew's, built from its module into the cache.
fn program(name: &str) -> PathBuf {
    script("tests/control-plane/build", &["krew"]).join(name)
}

/// Runs a script of the repository, and returns the path that it prints.
fn script(path: &str, arguments: &[&str]) -> PathBuf {
    let output = Command::new("bash")
        .arg(archive::root().join(path))
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("bash runs");
    assert!(output.status.success(), "{path}");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}

/// Commits everything in a folder, which becomes a repository if it is none.
pub(crate) fn git_commit(folder: &Path, message: &str) {
    let init: &[&str] = &["init", "--quiet", "--initial-branch=main", "."];
    let init = (!folder.join(".git").exists()).then_some(init);
    for arguments in init.into_iter().chain([
        &["add", "--all"] as &[&str],
        &["commit", "--quiet", "--message", message],
        &["update-server-info"],
    ]) {
        let status = Command::new("git")
            .args(["-c", "user.name=test", "-c", "user.email=test@example.com"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(folder)
            .status()
            .expect("git runs");
        assert!(status.success(), "git {arguments:?}");
    }
}

/// Lays the archive under every name that the manifest has, and returns the filled manifest.
pub(crate) fn filled_manifest(folder: &Path, base: Option<&str>) -> String {
    for name in ARCHIVES {
        std::fs::copy(archive::path(), folder.join(name)).expect("a copy");
    }
    let output = Command::new("bash")
        .arg(archive::root().join("release/manifest"))
        .arg(folder)
        .args(base)
        .output()
        .expect("bash runs");
    let answer = Answer::of(&output).succeeded();
    answer.stdout
}

pub(crate) fn validated(manifest: &Path) -> Answer {
    let output = Command::new(program("validate-krew-manifest"))
        .arg("-skip-install")
        .arg("-manifest")
        .arg(manifest)
        .output()
        .expect("the validator runs");
    Answer::of(&output)
}

#[test]
fn krews_own_validator_takes_the_manifest_as_it_is_and_filled_in() {
    let folder = tempfile::tempdir().expect("a folder");
    // The validator wants the file to be named after the plugin.
    let path = folder.path().join("velero-slots.yaml");
    std::fs::copy(archive::root().join("krew-manifest.yaml"), &path).expect("a copy");
    validated(&path).succeeded();

    let filled = filled_manifest(folder.path(), None);
    assert!(!filled.contains(&"0".repeat(64)), "every sum is filled in");
    std::fs::write(&path, &filled).expect("a file");
    validated(&path).succeeded();
}

#[test]
fn krew_installs_the_archive_kubectl_runs_it_and_krew_removes_it() {
    let home = Home::new();
    // krew removes nothing before it has an index.
    home.kubectl(["krew", "update"]).succeeded();
    let installed = home.install(&home.manifest(), &archive::path()).succeeded();
    assert!(
        installed.stderr.contains("Installed plugin: velero-slots"),
        "{installed:?}"
    );
    assert!(home.link().exists(), "krew links the program");

    let version = home.kubectl(["velero-slots", "version"]).succeeded();
    assert!(
        version.stdout.contains(env!("CARGO_PKG_VERSION")),
        "{version:?}"
    );
    let scenario = archive::root().join("fixtures/scenarios/seed-465/objects");
    let diagnosis = home.kubectl([
        OsStr::new("velero-slots"),
        OsStr::new("diagnose"),
        OsStr::new("--from"),
        scenario.as_os_str(),
    ]);
    assert_eq!(diagnosis.code, Some(3), "{diagnosis:?}");
    assert!(diagnosis.stdout.contains("prepared-stuck"), "{diagnosis:?}");

    home.kubectl(["krew", "uninstall", "velero-slots"])
        .succeeded();
    home.has_nothing_installed();
    let gone = home.kubectl(["velero-slots", "version"]);
    assert_ne!(gone.code, Some(0), "{gone:?}");
}
