//! What is in the archive, and what krew's rules and a user of `tar` want of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;

pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Returns the archive that `release/archive` made.
pub(crate) fn path() -> PathBuf {
    let path = root().join(format!("target/dist/kubectl-velero_slots-{TARGET}.tar.gz"));
    assert!(
        path.is_file(),
        "{} is not there: run release/archive first",
        path.display()
    );
    path
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns mode and bytes of every file in the archive.
fn files() -> BTreeMap<String, (u32, Vec<u8>)> {
    let file = File::open(path()).expect("the archive opens");
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(GzDecoder::new(file))
        .entries()
        .expect("the archive is a tar")
    {
        let mut entry = entry.expect("an entry is whole");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("an entry is whole");
        let path = entry.path().expect("a path").display().to_string();
        let mode = entry.header().mode().expect("a mode");
        assert!(
            files.insert(path.clone(), (mode, bytes)).is_none(),
            "{path} is there twice"
        );
    }
    files
}

#[test]
fn the_archive_holds_the_program_the_licence_manual_pages_and_completions() {
    let files = files();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    for name in [
        "kubectl-velero_slots",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "man/kubectl-velero_slots.1",
        "man/kubectl-velero_slots-diagnose.1",
        "man/kubectl-velero_slots-restart.1",
        "completions/kubectl-velero_slots.bash",
        "completions/_kubectl-velero_slots",
        "completions/kubectl-velero_slots.fish",
        "completions/_kubectl-velero_slots.ps1",
    ] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    for (name, (mode, bytes)) in &files {
        let expected = if name == "kubectl-velero_slots" {
            0o755
        } else {
            0o644
        };
        assert_eq!(*mode, expected, "{name}");
        assert!(!bytes.is_empty(), "{name} is empty");
    }
}

#[test]
fn the_manual_page_of_a_command_names_its_flags() {
    let files = files();
    let (_, page) = &files["man/kubectl-velero_slots-diagnose.1"];
    let page = String::from_utf8_lossy(page).replace("\\-", "-");
    for flag in ["--threshold", "--fail-on", "--from", "--context"] {
        assert!(page.contains(flag), "{flag}");
    }
}

#[test]
fn the_archive_says_nothing_of_the_machine_that_made_it() {
    let home = std::env::var("HOME").expect("HOME is set");
    let folder = root().display().to_string();
    for (name, (_, bytes)) in files() {
        for path in [&home, &folder] {
            // A home of `/` or `/root` is in every program that knows about homes.
            if path.len() > 6 {
                let found = bytes
                    .windows(path.len())
                    .any(|window| window == path.as_bytes());
                assert!(!found, "{path} is in {name}");
            }
        }
    }
}

#[test]
fn packing_the_same_program_again_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = root().join(format!("target/{TARGET}/release/kubectl-velero_slots"));
    let status = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--locked",
            "--example",
            "release-archive",
            "--",
        ])
        .arg(&binary)
        .arg(TARGET)
        .arg(folder.path())
        .status()
        .expect("cargo runs");
    assert!(status.success());
    let again = folder
        .path()
        .join(path().file_name().expect("it has a name"));
    assert!(
        std::fs::read(path()).expect("readable") == std::fs::read(again).expect("readable"),
        "the two archives differ"
    );
}
