//! krew 0.3, the last before it knew more indexes than one (2020): what README tells its users is so.

use std::path::PathBuf;
use std::process::Command;

use crate::archive;
use crate::krew::{Answer, Home};

/// Builds the old krew; Go's own cache makes that quick the second time.
fn krew() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("krew-0.3");
    let output = Command::new("go")
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&path)
        .arg("sigs.k8s.io/krew/cmd/krew")
        .current_dir(archive::root().join("tests/release/old-krew"))
        .env("GOWORK", "off")
        .env("CGO_ENABLED", "0")
        .env_remove("GOFLAGS")
        .output()
        .expect("go is on PATH");
    Answer::of(&output).succeeded();
    path
}

#[test]
fn an_old_krew_installs_by_the_manifest_and_says_that_it_knows_no_own_index() {
    let home = Home::with_krew(&krew());
    let added = home.kubectl([
        "krew",
        "index",
        "add",
        "velero-slots",
        "https://example.com",
    ]);
    assert_ne!(added.code, Some(0), "{added:?}");
    assert!(
        added
            .stderr
            .contains("unknown command \"index\" for \"krew\""),
        "the words that README explains: {added:?}"
    );

    home.install(&home.manifest(), &archive::path()).succeeded();
    let version = home.kubectl(["velero-slots", "version"]).succeeded();
    assert!(
        version.stdout.contains(env!("CARGO_PKG_VERSION")),
        "{version:?}"
    );
}
