//! The software bill of materials: what is linked into the program, and nothing else.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::archive;
use crate::krew::Answer;

fn name() -> String {
    format!("kubectl-velero_slots-{}.cdx.json", archive::TARGET)
}

/// Returns the bill that `release/sbom` wrote.
fn written() -> String {
    let path = archive::root().join("target/dist").join(name());
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}: run release/sbom first", path.display()))
}

/// Returns the normal dependencies of the program as cargo resolves them for its build, by name and version.
fn linked() -> BTreeSet<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--quiet", "--locked", "--edges", "normal"])
        .args(["--prefix", "none", "--no-dedupe", "--format", "{p}"])
        .args(["--target", archive::TARGET])
        .current_dir(archive::root())
        .output()
        .expect("cargo runs");
    let tree = Answer::of(&output).succeeded().stdout;
    tree.lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next()?;
            let version = words.next()?.strip_prefix('v')?;
            (name != env!("CARGO_PKG_NAME")).then(|| (name.to_owned(), version.to_owned()))
        })
        .collect()
}

#[test]
fn the_bill_names_every_crate_that_is_linked_and_no_other() {
    let bill: Value = serde_json::from_str(&written()).expect("the bill is JSON");
    let components = bill["components"].as_array().expect("components");
    let named: BTreeSet<(String, String)> = components
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().expect("text").to_owned();
            (text("name"), text("version"))
        })
        .collect();
    let linked = linked();
    assert!(linked.len() > 100, "the tree was read: {}", linked.len());
    assert_eq!(named, linked);
    assert_eq!(components.len(), named.len(), "each once");
    for component in components {
        let purl = component["purl"].as_str().expect("a package address");
        assert!(purl.starts_with("pkg:cargo/"), "{purl}");
        assert_eq!(component["hashes"][0]["alg"], "SHA-256", "{purl}");
        assert!(component["licenses"].is_array(), "{purl}");
    }
}

#[test]
fn the_bill_is_of_this_version_and_of_this_target() {
    let bill: Value = serde_json::from_str(&written()).expect("the bill is JSON");
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let program = &bill["metadata"]["component"];
    assert_eq!(program["name"], "kubectl-velero_slots");
    assert_eq!(program["version"], env!("CARGO_PKG_VERSION"));
    let package = format!(
        "pkg:cargo/{}@{}",
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(program["purl"], package);
    assert!(
        bill["metadata"]["properties"]
            .as_array()
            .expect("properties")
            .iter()
            .any(|property| property["value"] == archive::TARGET),
        "{bill}"
    );
    let roots = bill["dependencies"].as_array().expect("dependencies");
    assert!(
        roots.iter().any(|one| one["ref"] == package
            && one["dependsOn"].as_array().is_some_and(|on| on.len() > 10)),
        "what the program itself depends on is listed"
    );
}

#[test]
fn the_bill_is_the_same_each_time_and_knows_no_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("bash")
        .arg(archive::root().join("release/sbom"))
        .arg(archive::TARGET)
        .arg(folder.path())
        .output()
        .expect("bash runs");
    Answer::of(&output).succeeded();
    let again = std::fs::read_to_string(folder.path().join(name())).expect("readable");
    assert!(written() == again, "the two bills differ");
    let root = archive::root().display().to_string();
    assert!(!again.contains(&root), "{root} is in the bill");
    assert!(!again.contains("serialNumber"), "nothing is drawn by lot");
}
