//! What is refused, by krew or by the scripts, and in which words.

use std::path::Path;
use std::process::Command;

use crate::archive;
use crate::krew::{ARCHIVES, Answer, Home, filled_manifest, validated};

fn half(path: &Path) -> Vec<u8> {
    let whole = std::fs::read(path).expect("readable");
    whole[..whole.len() / 2].to_owned()
}

/// Calls a script of `release/` with a folder.
fn script(name: &str, folder: &Path) -> Answer {
    let output = Command::new("bash")
        .arg(archive::root().join("release").join(name))
        .arg(folder)
        .output()
        .expect("bash runs");
    Answer::of(&output)
}

#[test]
fn half_an_archive_has_another_sum_and_nothing_is_installed() {
    let home = Home::new();
    let manifest = home.manifest();
    let path = home.path("half.tar.gz");
    std::fs::write(&path, half(&archive::path())).expect("a file");

    let refused = home.install(&manifest, &path);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(
        refused.stderr.contains("checksum does not match"),
        "{refused:?}"
    );
    home.has_nothing_installed();
}

#[test]
fn the_manifest_of_the_repository_has_no_sums_and_installs_nothing() {
    let home = Home::new();
    let refused = home.install(
        &archive::root().join("krew-manifest.yaml"),
        &archive::path(),
    );
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("checksum does not match, want: 0000"),
        "{refused:?}"
    );
    home.has_nothing_installed();
}

#[test]
fn upper_case_sums_are_refused_before_anything_is_unpacked_and_never_written() {
    let home = Home::new();
    let manifest = home.manifest();
    let filled = std::fs::read_to_string(&manifest).expect("readable");
    let sums: Vec<&str> = filled
        .lines()
        .filter_map(|line| line.trim().strip_prefix("sha256: "))
        .collect();
    assert_eq!(sums.len(), ARCHIVES.len());
    let mut upper = filled.clone();
    for sum in sums {
        assert_eq!(sum.len(), 64, "{sum}");
        assert_eq!(sum, sum.to_ascii_lowercase(), "release/manifest");
        upper = upper.replace(sum, &sum.to_ascii_uppercase());
    }
    std::fs::write(&manifest, upper).expect("a file");

    // krew says itself what it wants, so nothing of ours has to.
    for refused in [
        home.install(&manifest, &archive::path()),
        validated(&manifest),
    ] {
        assert_ne!(refused.code, Some(0), "{refused:?}");
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(
            said.contains("is not valid, must match pattern ^[a-f0-9]{64}$"),
            "{said}"
        );
    }
    home.has_nothing_installed();
}

#[test]
fn no_sums_are_made_of_half_an_archive() {
    // With a sum of its own krew would take it for whole, and stop in the middle of a file.
    let folder = tempfile::tempdir().expect("a folder");
    filled_manifest(folder.path(), None);
    let path = folder.path().join(ARCHIVES[2]);
    std::fs::write(&path, half(&path)).expect("a file");
    for name in ["manifest", "sums"] {
        let refused = script(name, folder.path());
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused
                .stderr
                .contains(&format!("{} is not whole", ARCHIVES[2])),
            "{refused:?}"
        );
    }
    assert!(!folder.path().join("SHA256SUMS").exists());
}

#[test]
fn a_manifest_is_not_made_from_a_folder_that_lacks_an_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = script("manifest", folder.path());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains(ARCHIVES[0]), "{refused:?}");
}

#[test]
fn the_sums_are_those_of_sha256sum_in_lower_case_and_name_every_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = filled_manifest(folder.path(), None);
    std::fs::write(folder.path().join("velero-slots.yaml"), &manifest).expect("a file");
    for _ in ["the first time", "and over an older one"] {
        script("sums", folder.path()).succeeded();
    }
    let sums = std::fs::read_to_string(folder.path().join("SHA256SUMS")).expect("readable");
    let named: Vec<(&str, &str)> = sums
        .lines()
        .map(|line| line.split_once("  ").expect("a sum, two spaces, a name"))
        .collect();
    let mut expected = ARCHIVES.to_vec();
    expected.push("velero-slots.yaml");
    expected.sort_unstable();
    let names: Vec<&str> = named.iter().map(|(_, name)| *name).collect();
    assert_eq!(names, expected);
    for (sum, name) in named {
        assert_eq!(sum.len(), 64, "{name}");
        assert_eq!(sum, sum.to_ascii_lowercase(), "{name}");
        assert!(
            name == "velero-slots.yaml" || manifest.contains(sum),
            "the manifest has the same sum of {name}"
        );
    }
    let checked = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(folder.path())
        .output()
        .expect("sha256sum runs");
    Answer::of(&checked).succeeded();
}
