//! Bundles that other programs write: what is found in them is what is found in the same objects as kubectl
//! prints them, up to what the form of the bundle lacks; and what it lacks is told in its own words.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has found something"
)]

mod objects;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::plugin::{call, finish, input, plugin, shown};
use objects::Cluster;
use write::{Form, to_archive, to_folder};

const NOW: &str = "2026-01-02T03:04:05Z";

/// The stories that are told in every form.
const CASES: [&str; 8] = [
    "rules/prepared-stuck/fires-ghost-slot-from-log",
    "rules/prepared-stuck/fires-worker-blocked-from-log",
    "rules/prepared-stuck/fires-lost-reconcile-from-log",
    "rules/prepared-stuck/fires-undetermined-log-of-earlier-process",
    "rules/slot-queue/fires",
    "rules/owner-gone/fires-agent-missing",
    "rules/no-node-agent/fires-none-ready",
    "rules/expose-blocked/fires-unschedulable",
];

/// The gaps that the form of a bundle adds to those of the objects, by resource.
fn added_gaps(form: Form, case: &str) -> BTreeSet<&'static str> {
    let looks_at_claims = case.contains("expose-blocked");
    let has_agent_without_log = case.contains("slot-queue") || case.contains("no-node-agent");
    let mut added = BTreeSet::new();
    match form {
        Form::VeleroDebug | Form::VeleroDebugNewTime => {
            added.extend(["nodes", "deployments"]);
            if looks_at_claims {
                added.insert("persistentvolumeclaims");
            }
        }
        Form::MustGather | Form::Inspect => {
            added.insert("nodes");
        }
        Form::DumpFolder | Form::DumpStream => {
            if looks_at_claims {
                added.insert("persistentvolumeclaims");
            }
        }
        Form::KubectlFiles => return added,
    }
    if has_agent_without_log {
        added.insert("log");
    }
    added
}

fn diagnose(from: &[&Path]) -> Value {
    let mut args = vec!["diagnose".to_owned(), "-o".to_owned(), "json".to_owned()];
    for path in from {
        args.extend(["--from".to_owned(), shown(path)]);
    }
    args.extend(["--now".to_owned(), NOW.to_owned()]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let call = call(&args);
    assert!(!call.out.is_empty(), "{from:?}: {}", call.err);
    serde_json::from_str(&call.out).expect("a document")
}

/// The findings, without what follows from what else is in the input.
fn findings(diagnosis: &Value) -> BTreeMap<String, String> {
    diagnosis["findings"]
        .as_array()
        .expect("a diagnosis has findings")
        .iter()
        .map(|finding| {
            let told = [
                "cause",
                "severity",
                "node",
                "tasks",
                "blockedBy",
                "affects",
                "since",
            ]
            .map(|field| format!("{field}={}", finding[field]));
            (
                finding["id"].as_str().expect("an id").to_owned(),
                told.join(" "),
            )
        })
        .collect()
}

/// The resources of which something is not in the input.
fn missing(diagnosis: &Value) -> BTreeSet<&str> {
    diagnosis["gaps"]
        .as_array()
        .expect("a diagnosis has gaps")
        .iter()
        .filter(|gap| gap["reason"] == "not-in-input")
        .filter_map(|gap| gap["resource"].as_str())
        .collect()
}

/// The gaps for other reasons.
fn other_gaps(diagnosis: &Value) -> Vec<&Value> {
    diagnosis["gaps"]
        .as_array()
        .expect("a diagnosis has gaps")
        .iter()
        .filter(|gap| gap["reason"] != "not-in-input")
        .collect()
}

/// Writes a bundle of a case in a form, as a folder.
fn bundle(case: &str, form: Form) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    to_folder(&form.files(&Cluster::of_case(case)), folder.path());
    folder
}

#[test]
fn every_form_of_bundle_shows_what_the_objects_show() {
    for case in CASES {
        let own = diagnose(&[Path::new(&input(case))]);
        for form in Form::ALL {
            let folder = bundle(case, form);
            let seen = diagnose(&[folder.path()]);
            assert_eq!(findings(&seen), findings(&own), "{case} {form:?}");
            assert_eq!(seen["verdict"], own["verdict"], "{case} {form:?}");
            assert_eq!(other_gaps(&seen), other_gaps(&own), "{case} {form:?}");
            let expected: BTreeSet<&str> = missing(&own)
                .union(&added_gaps(form, case))
                .copied()
                .collect();
            assert_eq!(missing(&seen), expected, "{case} {form:?}");
        }
    }
}

#[test]
fn an_archive_of_a_bundle_shows_what_its_folder_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    for form in Form::ALL {
        let files = form.files(&Cluster::of_case(CASES[0]));
        let unpacked = folder.path().join(form.folder());
        to_folder(&files, &unpacked);
        let archive = folder.path().join(format!("{}.tar.gz", form.folder()));
        fs::write(&archive, to_archive(&files)).expect("a file");
        let (mut one, mut other) = (diagnose(&[&unpacked]), diagnose(&[&archive]));
        one["source"] = Value::Null;
        other["source"] = Value::Null;
        // Commands name the input.
        let told = |value: &Value| value.to_string().replace(".tar.gz", "");
        assert_eq!(told(&one), told(&other), "{form:?}");
    }
}

/// The story that the bundles below `fixtures/bundles` tell.
const GOLDEN: &str = CASES[0];

/// What the program says of a golden bundle: the verdict, its findings, and every gap word for word.
fn answer(form: Form) -> String {
    let from = format!("fixtures/bundles/{}/objects", form.folder());
    let mut command = plugin(&["diagnose", "--from", &from, "--now", NOW, "-o", "json"]);
    let run = finish(command.current_dir(crate::root()).output());
    let diagnosis: Value = serde_json::from_str(&run.out).expect("a document");
    let mut lines = vec![format!("verdict: {}", diagnosis["verdict"])];
    for finding in diagnosis["findings"].as_array().expect("findings") {
        lines.push(format!(
            "finding: {} {} {}",
            finding["id"], finding["cause"], finding["node"]
        ));
    }
    for gap in diagnosis["gaps"].as_array().expect("gaps") {
        let field = |name: &str| gap[name].as_str().unwrap_or_default();
        let (resource, reason) = (field("resource"), field("reason"));
        lines.push(format!("gap: {resource} {reason}: {}", field("message")));
        lines.push(format!("    {}", field("effect")));
    }
    format!("{}\n", lines.join("\n"))
}

fn golden(form: Form) -> PathBuf {
    crate::root().join("fixtures/bundles").join(form.folder())
}

/// The files below a folder, by path.
fn files_below(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("a folder").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_string_lossy();
                let text = fs::read_to_string(&path).expect("text");
                found.insert(name.replace('\\', "/"), text);
            }
        }
    }
    found
}

#[test]
fn the_golden_bundles_are_what_the_writers_write_and_are_answered_as_written_down() {
    for form in Form::ALL {
        let written: BTreeMap<String, String> =
            form.files(&Cluster::of_case(GOLDEN)).into_iter().collect();
        assert!(
            files_below(&golden(form).join("objects")) == written,
            "{form:?}"
        );
        let expected = fs::read_to_string(golden(form).join("expected.txt")).expect("text");
        assert_eq!(answer(form), expected, "{form:?}");
    }
}

/// Writes the golden bundles, what is said of them, and the corpus of the fuzz target: read what changed
/// before it is committed.
#[test]
#[ignore = "writes to the repository"]
fn writes_the_golden_bundles() {
    let corpus = crate::root().join("fuzz/corpus/bundles");
    fs::create_dir_all(&corpus).expect("a folder");
    for form in Form::ALL {
        let files = form.files(&Cluster::of_case(GOLDEN));
        let objects = golden(form).join("objects");
        if objects.is_dir() {
            fs::remove_dir_all(&objects).expect("a folder");
        }
        to_folder(&files, &objects);
        fs::write(golden(form).join("expected.txt"), answer(form)).expect("a file");
        let seed: Vec<String> = files
            .iter()
            .map(|(path, text)| format!("{path}\n{text}"))
            .collect();
        fs::write(
            corpus.join(format!("{}.txt", form.folder())),
            seed.join("\u{1e}"),
        )
        .expect("a file");
    }
}
