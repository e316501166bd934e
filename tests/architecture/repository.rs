//! What a forgetful change would leave out.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// No source file may be longer. The house splits a file at 400 lines; this is the wall behind that.
const MAX_LINES: usize = 800;

/// Returns the names in a folder; none if there is no such folder.
fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("an entry is readable").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

#[test]
fn no_source_file_is_too_long_to_be_read() {
    for path in crate::rust_files("src") {
        let lines = fs::read_to_string(&path)
            .expect("a source file is readable")
            .lines()
            .count();
        assert!(
            lines <= MAX_LINES,
            "{} has {lines} lines: split it",
            path.display()
        );
    }
}

#[test]
fn the_changelog_has_a_place_for_what_is_not_released() {
    let changelog = crate::read("CHANGELOG.md");
    let headings: Vec<&str> = changelog
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    assert_eq!(headings.first(), Some(&"## [Unreleased]"));
    let released = format!("## [{}]", env!("CARGO_PKG_VERSION"));
    assert!(
        headings.len() == 1
            || headings
                .iter()
                .any(|heading| heading.starts_with(&released)),
        "after a first release, the manifest's version has a section"
    );
}

/// Folders of `fixtures/rules` that gather cases of many rules.
const GATHERINGS: [&str; 2] = ["false-alarms", "precedence"];

/// Returns what each rule's folder lacks: a case in which the rule fires, and its nearest miss.
fn missing_cases(folder: &Path) -> Vec<String> {
    let mut missing = Vec::new();
    for rule in names(folder) {
        if GATHERINGS.contains(&rule.as_str()) {
            continue;
        }
        let cases = names(&folder.join(&rule));
        for wanted in ["fires", "quiet"] {
            if !cases.iter().any(|case| case.starts_with(wanted)) {
                missing.push(format!("{rule} has no {wanted}"));
            }
        }
    }
    missing
}

#[test]
fn every_rule_has_a_case_that_fires_and_its_nearest_miss() {
    let folder = crate::root().join("fixtures/rules");
    assert_eq!(missing_cases(&folder), Vec::<String>::new());
}

#[test]
fn a_rule_without_its_nearest_miss_is_noticed() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    fs::create_dir_all(folder.path().join("slot-queue/fires")).expect("and filled");
    fs::create_dir_all(folder.path().join("owner-gone/fires-node-gone")).expect("and filled");
    fs::create_dir_all(folder.path().join("owner-gone/quiet-just-restarted")).expect("and filled");
    assert_eq!(missing_cases(folder.path()), ["slot-queue has no quiet"]);
}

#[test]
fn the_minimum_rust_version_is_not_newer_than_the_pinned_toolchain() {
    let minor = |text: &str, before: &str| -> u32 {
        let line = text
            .lines()
            .find(|line| line.starts_with(before))
            .expect("the line exists");
        let version = line.split('"').nth(1).expect("it is quoted");
        version
            .split('.')
            .nth(1)
            .and_then(|part| part.parse().ok())
            .expect("it is 1.N")
    };
    let minimum = minor(&crate::read("Cargo.toml"), "rust-version");
    let pinned = minor(&crate::read("rust-toolchain.toml"), "channel");
    assert!(minimum <= pinned, "{minimum} > {pinned}");
}
