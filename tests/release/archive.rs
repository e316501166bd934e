//! What is in the archive, and what krew's rules and a user of `tar` want of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::read::GzDecoder;

use crate::elf;

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
    assert!(
        page.contains("kubectl-velero_slots-diagnose - Say what is wrong"),
        "the name is the file's: {page}"
    );
    assert!(
        page.contains("\\fBkubectl velero-slots diagnose\\fR"),
        "{page}"
    );
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
fn the_program_starts_on_every_distribution_since_2014_and_is_small() {
    let files = files();
    let (_, program) = &files["kubectl-velero_slots"];
    let needs = elf::Needs::of(program).expect("the program is an ELF file");
    assert!(!needs.glibc.is_empty(), "it was looked at: {needs:?}");
    for release in &needs.glibc {
        assert!(*release <= elf::GLIBC, "{release} of {needs:?}");
    }
    assert_eq!(needs.other.len(), 0, "{needs:?}");
    // What glibc itself is made of; anything else would have to be installed.
    for library in &needs.libraries {
        let name = library.split(".so").next().expect("a name");
        assert!(
            [
                "libc",
                "libm",
                "libdl",
                "libpthread",
                "librt",
                "ld-linux-x86-64"
            ]
            .contains(&name),
            "{library}"
        );
    }
    assert!(program.len() <= 12_000_000, "{} bytes", program.len());
}

#[test]
fn packing_the_same_program_again_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("kubectl-velero_slots");
    std::fs::write(&program, &files()["kubectl-velero_slots"].1).expect("a file");
    let packed = pack(&program, folder.path());
    assert!(packed.status.success(), "{packed:?}");
    let again = folder
        .path()
        .join(path().file_name().expect("it has a name"));
    assert!(
        std::fs::read(path()).expect("readable") == std::fs::read(again).expect("readable"),
        "the two archives differ; was this one packed before a change?"
    );
}

#[test]
fn a_program_that_would_not_start_everywhere_is_not_packed() {
    let folder = tempfile::tempdir().expect("a folder");
    // The test itself is linked against the glibc of this machine.
    let own = std::env::current_exe().expect("a test is a program");
    let needs = elf::Needs::of(&std::fs::read(&own).expect("readable")).expect("an ELF file");
    assert!(
        needs.glibc.iter().any(|release| *release > elf::GLIBC),
        "this machine has a glibc of before 2014: {needs:?}"
    );
    let refused = pack(&own, folder.path());
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0,
        "nothing is left that looks like an archive"
    );
}

fn pack(program: &Path, folder: &Path) -> Output {
    Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--example", "release-archive"])
        .arg("--")
        .arg(program)
        .arg(TARGET)
        .arg(folder)
        .output()
        .expect("cargo runs")
}
