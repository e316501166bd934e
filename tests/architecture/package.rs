//! What `cargo install` and `cargo binstall` make of the package: a file that kubectl finds.

use std::process::Command;

use serde_json::Value;

/// Returns the package as cargo reads it.
fn package() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--locked", "--offline"])
        .args(["--format-version", "1"])
        .current_dir(crate::root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let package = metadata.pointer("/packages/0");
    package.expect("one package").clone()
}

fn texts(value: &Value) -> Vec<&str> {
    let values = value.as_array().map_or(&[] as &[Value], Vec::as_slice);
    values.iter().filter_map(Value::as_str).collect()
}

#[test]
fn cargo_install_gives_the_one_file_that_kubectl_looks_for() {
    let package = package();
    let programs: Vec<&Value> = package["targets"]
        .as_array()
        .expect("targets")
        .iter()
        .filter(|target| texts(&target["kind"]).contains(&"bin"))
        .collect();
    assert_eq!(programs.len(), 1, "one program: {programs:?}");
    // `kubectl velero-slots` looks for an underscore.
    assert_eq!(programs[0]["name"], "kubectl-velero_slots");
    let default = texts(&package["features"]["default"]);
    for feature in texts(&programs[0]["required-features"]) {
        assert!(
            default.contains(&feature),
            "without {feature} it is left out in silence"
        );
    }
}

#[test]
fn cargo_binstall_asks_for_the_archives_that_a_release_has() {
    let package = package();
    let binstall = &package["metadata"]["binstall"];
    assert_eq!(binstall["pkg-fmt"], "tgz");
    // The program is at the top of the archive.
    assert_eq!(binstall["bin-dir"], "{ bin }{ binary-ext }");

    let archives = crate::krew::archives();
    let asked = |target: &str| {
        let default = &binstall["pkg-url"];
        let url = binstall["overrides"]
            .get(target)
            .map_or(default, |own| &own["pkg-url"]);
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        text(url)
            .replace("{ repo }", &text(&package["repository"]))
            .replace("{ version }", &text(&package["version"]))
            .replace("{ target }", target)
    };
    for archive in &archives {
        let target = archive
            .rsplit('/')
            .next()
            .and_then(|name| name.strip_prefix("kubectl-velero_slots-"))
            .and_then(|name| name.strip_suffix(".tar.gz"))
            .expect("an archive is named after its target");
        assert_eq!(asked(target), *archive);
    }
    // What most machines with Linux are, and there is no archive of that name.
    for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
        assert!(archives.contains(&asked(target)), "{}", asked(target));
    }
}
