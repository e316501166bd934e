//! An upgrade through an index: krew skips plugins that were installed by `--manifest`.

use std::path::Path;

use crate::archive;
use crate::krew::{Home, filled_manifest, git_commit};
use crate::serve::Files;

/// Puts a version of the plugin into the index, its archives below `<version>/` of the served folder.
fn publish(served: &Path, url: &str, version: &str, mark: &[u8]) {
    let folder = served.join(version);
    std::fs::create_dir(&folder).expect("a folder");
    let manifest = filled_manifest(&folder, Some(&format!("{url}/{version}")));
    let name = "kubectl-velero_slots-x86_64-unknown-linux-musl.tar.gz";
    // Two gzip members are one archive: the second version is another file with another sum.
    let mut bytes = std::fs::read(archive::path()).expect("readable");
    let before = sum(&folder.join(name));
    bytes.extend_from_slice(mark);
    std::fs::write(folder.join(name), bytes).expect("a file");
    let manifest = manifest
        .replacen(&before, &sum(&folder.join(name)), 1)
        .replace(
            &format!("version: v{}", env!("CARGO_PKG_VERSION")),
            &format!("version: {version}"),
        );
    let index = served.join("index");
    std::fs::create_dir_all(index.join("plugins")).expect("a folder");
    std::fs::write(index.join("plugins/velero-slots.yaml"), manifest).expect("a file");
    git_commit(&index, version);
}

fn sum(path: &Path) -> String {
    let output = std::process::Command::new("sha256sum")
        .arg(path)
        .output()
        .expect("sha256sum runs");
    let said = String::from_utf8_lossy(&output.stdout);
    said.split(' ').next().expect("a sum").to_owned()
}

/// An empty gzip member.
fn empty_member() -> Vec<u8> {
    flate2::GzBuilder::new()
        .write(Vec::new(), flate2::Compression::best())
        .finish()
        .expect("memory does not fail")
}

/// kubectl itself is asked, as a shell does.
#[track_caller]
fn assert_completes(home: &Home) {
    let completed = home
        .kubectl(["__complete", "velero-slots", "diag"])
        .succeeded();
    assert!(completed.stdout.starts_with("diagnose\t"), "{completed:?}");
}

#[test]
fn krew_upgrades_the_plugin_and_its_completion_through_an_own_index() {
    let home = Home::new();
    let served = home.path("served");
    std::fs::create_dir(&served).expect("a folder");
    let server = Files::of(&served);
    publish(&served, &server.url(), "v0.9.1", &[]);

    // As README tells a user to do until the central index has the plugin.
    let index = format!("{}/index/.git", server.url());
    home.kubectl(["krew", "index", "add", "velero-slots", &index])
        .succeeded();
    home.kubectl(["krew", "install", "velero-slots/velero-slots"])
        .succeeded();
    assert_eq!(home.installed_version().as_deref(), Some("v0.9.1"));
    let first = std::fs::read_link(home.link()).expect("a link");
    assert!(first.display().to_string().contains("v0.9.1"), "{first:?}");

    home.kubectl(["velero-slots", "completion", "kubectl", "--install"])
        .succeeded();
    assert_completes(&home);

    publish(&served, &server.url(), "v0.9.2", &empty_member());
    home.kubectl(["krew", "update"]).succeeded();
    home.kubectl(["krew", "upgrade", "velero-slots"])
        .succeeded();
    assert_eq!(home.installed_version().as_deref(), Some("v0.9.2"));
    let second = std::fs::read_link(home.link()).expect("a link");
    assert!(
        second.display().to_string().contains("v0.9.2"),
        "{second:?}"
    );
    home.kubectl(["velero-slots", "version"]).succeeded();
    // The link leads to krew's own, which krew has turned to the new version.
    assert_completes(&home);

    home.kubectl(["krew", "uninstall", "velero-slots"])
        .succeeded();
    assert!(!home.link().exists());
}
