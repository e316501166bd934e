//! Redaction over all cases: a redacted capture leads to the same answers up to the names, and what was planted
//! into an input is not in the file.
//!
//! The first part works on the library, since two processes for each case would take minutes.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on has found something"
)]

use std::collections::BTreeMap;
use std::io::Read as _;

use serde_json::{Map, Value};
use velero_slots::capture::{Capture, format};
use velero_slots::collect::files::{self, Limits};
use velero_slots::diagnose::diagnose;
use velero_slots::redact::redact;
use velero_slots::render::{self, Format, Terminal};
use velero_slots::replay::{ReplayOptions, replay};
use velero_slots::report::{DiagnosisReport, Filters, Pins, ReplayReport, StatusReport};
use velero_slots::snapshot::{NamespaceSearch, ReadOptions, find_namespace, read};

use crate::plugin::{call, input, inputs, shown};

const NOW: &str = "2026-01-02T03:04:05Z";
/// What is planted; no part of it is a word of Velero or Kubernetes.
const PLANTED: &str = "zqxplant";

/// Fields whose texts are prose, which names the same things in other words.
const PROSE: [&str; 12] = [
    "summary", "command", "effect", "risk", "reason", "message", "why", "value", "source", "gaps",
    "title", "note",
];

/// Reads a case as `capture` does.
fn capture_of(objects: &std::path::Path) -> Option<Capture> {
    let mut capture = files::read(
        &[objects.to_owned()],
        &mut std::io::empty(),
        &Limits::default(),
    )
    .expect("a case is readable");
    let NamespaceSearch::Found(namespace) = find_namespace(&capture) else {
        return None;
    };
    capture.manifest.namespace = Some(namespace);
    capture.manifest.taken_at = NOW.parse().ok();
    Some(capture)
}

/// The documents of `diagnose`, `status` and `replay`.
fn answers(capture: &Capture) -> [Value; 3] {
    let snapshot = read(
        capture,
        &ReadOptions {
            namespace: capture.manifest.namespace.clone().unwrap_or_default(),
            now: NOW.parse().ok(),
        },
    );
    let options = ReplayOptions {
        threshold_seconds: 600,
    };
    let replayed = replay(&snapshot, options);
    let diagnosis = diagnose(&snapshot, &replayed);
    let (filters, pins, terminal) = (Filters::default(), Pins::default(), Terminal::default());
    let document = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut text = Vec::new();
        write(&mut text).expect("memory can be written");
        serde_json::from_slice(&text).expect("the answer is JSON")
    };
    let diagnosed = DiagnosisReport::new(&snapshot, &replayed, &diagnosis, &filters, &pins);
    let status = StatusReport::new(&snapshot, &replayed, &diagnosis, &filters, &pins);
    let decisions = ReplayReport::new(&snapshot, &replayed, &diagnosis, &filters, &pins);
    [
        document(&|out| render::diagnosis(out, &diagnosed, Format::Json, &terminal)),
        document(&|out| render::status(out, &status, Format::Json, &terminal)),
        document(&|out| render::replay(out, &decisions, Format::Json, &terminal)),
    ]
}

/// Replaces every text that is a name, and leaves prose out.
fn renamed(value: &Value, names: &BTreeMap<&str, &str>) -> Value {
    match value {
        Value::String(text) => Value::from(names.get(text.as_str()).copied().unwrap_or(text)),
        Value::Array(values) => values.iter().map(|value| renamed(value, names)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(key, value)| !PROSE.contains(&key.as_str()) || value.is_object())
                .filter(|(key, _)| {
                    !["evidence", "actions", "veleroVersions", "source"].contains(&key.as_str())
                })
                .map(|(key, value)| (key.clone(), renamed(value, names)))
                .collect::<Map<String, Value>>(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// How many pieces of evidence and actions each finding has, and of what kind.
fn shape(document: &Value) -> Vec<(String, Vec<String>, usize)> {
    let findings = document["findings"].as_array().into_iter().flatten();
    findings
        .map(|finding| {
            let kinds = finding["evidence"].as_array().into_iter().flatten();
            (
                finding["id"].to_string(),
                kinds.map(|one| one["kind"].to_string()).collect(),
                finding["actions"].as_array().map_or(0, Vec::len),
            )
        })
        .collect()
}

#[test]
fn a_redacted_capture_of_every_case_leads_to_the_same_answers_up_to_the_names() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for objects in inputs() {
        let Some(capture) = capture_of(&objects) else {
            continue;
        };
        let redaction = redact(&capture);
        let names: BTreeMap<&str, &str> = redaction
            .pseudonyms
            .iter()
            .map(|one| (one.name.as_str(), one.pseudonym.as_str()))
            .collect();
        let none = BTreeMap::new();
        let (before, after) = (answers(&capture), answers(&redaction.capture));
        for (before, after) in before.iter().zip(&after) {
            let (expected, got) = (renamed(before, &names), renamed(after, &none));
            if expected != got {
                wrong.push(format!(
                    "{}\n{expected:#}\nis now\n{got:#}",
                    objects.display()
                ));
                break;
            }
            if shape(before) != shape(after) {
                wrong.push(format!(
                    "{}: {:?} is now {:?}",
                    objects.display(),
                    shape(before),
                    shape(after)
                ));
            }
        }
        seen += 1;
    }
    assert!(seen > 300, "{seen} cases have one Velero");
    assert!(
        wrong.is_empty(),
        "{} cases: {}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

#[test]
fn redaction_is_deterministic_and_a_fixed_point_for_every_case() {
    for objects in inputs() {
        let Some(capture) = capture_of(&objects) else {
            continue;
        };
        let text = |capture: &Capture| {
            let mut text = Vec::new();
            format::write(capture, &mut text).expect("memory can be written");
            String::from_utf8(text).expect("a capture is UTF-8")
        };
        let once = redact(&capture);
        assert_eq!(once, redact(&capture), "{}", objects.display());
        let again = redact(&once.capture);
        assert_eq!(
            text(&again.capture),
            text(&once.capture),
            "{}",
            objects.display()
        );
    }
}

/// Puts what is planted into every text that may hold a name or prose, at its end or as a pair of its own.
fn plant(value: &mut Value, key: &str, number: &mut usize) {
    match value {
        Value::String(text) => {
            let is_prose = ["message", "note", "error"].contains(&key);
            let is_name = [
                "name",
                "namespace",
                "node",
                "nodeName",
                "uid",
                "claimName",
                "volumeName",
                "volume",
                "storageClassName",
                "storageClass",
                "sourcePVC",
                "sourceNamespace",
                "pvc",
                "volumeSnapshot",
                "datamover",
                "acceptedByNode",
                "manager",
                "image",
            ]
            .contains(&key);
            *number += 1;
            if is_prose {
                *text = format!(
                    "{text} {PLANTED}{number} password={PLANTED} https://u:{PLANTED}@{PLANTED}.example/{PLANTED} {PLANTED}-{number}.x"
                );
            } else if is_name {
                *text = format!("{text}-{PLANTED}{number}");
            }
        }
        Value::Array(values) => {
            for value in values {
                plant(value, key, number);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                plant(value, key, number);
            }
            if ["labels", "annotations", "data", "matchLabels"].contains(&key) {
                *number += 1;
                fields.insert(format!("{PLANTED}.example/{number}"), PLANTED.into());
            }
            if key == "metadata" || key == "containers" || key == "spec" {
                fields.insert(
                    "annotations".to_owned(),
                    serde_json::json!({ PLANTED: PLANTED }),
                );
                fields.insert(
                    "env".to_owned(),
                    serde_json::json!([{"name": PLANTED, "value": PLANTED}]),
                );
                fields.insert(
                    "args".to_owned(),
                    serde_json::json!([format!("--token={PLANTED}"), PLANTED]),
                );
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn what_is_planted_into_any_case_is_not_in_the_file() {
    let mut number = 0;
    for objects in inputs() {
        let Some(mut capture) = capture_of(&objects) else {
            continue;
        };
        // Every object is written anew, into a text of its own.
        let originals = capture.clone();
        capture.texts.clear();
        for listing in &mut capture.listings {
            use velero_slots::capture::{Outcome, Text};
            let items = match &mut listing.outcome {
                Outcome::Listed(items) | Outcome::Cut { items, .. } => items,
                Outcome::Refused { message, .. } => {
                    *message = format!("{message} User \"{PLANTED}\" {PLANTED}");
                    continue;
                }
            };
            for item in items {
                let mut object: Value =
                    serde_json::from_str(originals.json(item)).unwrap_or_default();
                plant(&mut object, "", &mut number);
                let body = object.to_string();
                item.text = capture.texts.len();
                item.span = 0..body.len();
                capture.texts.push(Text {
                    origin: PLANTED.to_owned(),
                    body,
                });
            }
        }
        for log in &mut capture.logs {
            log.body = log
                .body
                .lines()
                .map(|line| format!("{line} {PLANTED}=x error=\"{PLANTED} secret: {PLANTED}\"\n{PLANTED}: {line}\n"))
                .collect();
            log.pod.push_str(PLANTED);
        }
        let mut text = Vec::new();
        format::write(&redact(&capture).capture, &mut text).expect("memory can be written");
        let text = String::from_utf8(text).expect("a capture is UTF-8");
        let at = text.find(PLANTED);
        let around = at.and_then(|at| text.get(at.saturating_sub(300)..at + 40));
        assert_eq!(around, None, "{}", objects.display());
    }
    assert!(number > 1000, "{number} texts were planted");
}

#[test]
fn the_plugin_redacts_by_default_packs_and_reads_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = shown(&folder.path().join("capture.json.gz"));
    let names = shown(&folder.path().join("names.json"));
    let from = input("rules/prepared-stuck/fires-ghost-slot-canceled-task");
    let taken = call(&[
        "capture",
        "--from",
        &from,
        "--now",
        NOW,
        "-f",
        &file,
        "--save-names",
        &names,
    ]);
    assert_eq!(taken.code, 0, "{}", taken.err);
    assert!(taken.err.contains("Names are pseudonyms"), "{}", taken.err);
    let packed = std::fs::File::open(&file).expect("the capture is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("it is packed");
    assert!(!text.contains("node-a\""), "{text}");
    assert!(text.contains("\"redacted\":true"), "{text}");
    let names: BTreeMap<String, String> =
        serde_json::from_str(&std::fs::read_to_string(&names).expect("the names are there"))
            .expect("they are JSON");
    assert_eq!(names.get("node-1").map(String::as_str), Some("node-a"));
    let answer = call(&["diagnose", "--from", &file, "-o", "json"]);
    assert_eq!(answer.code, 3, "{}", answer.err);
    assert!(
        answer.out.contains("names are pseudonyms"),
        "{}",
        answer.out
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        2
    );
}

#[test]
fn a_dry_run_tells_what_would_be_taken_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = shown(&folder.path().join("capture.json"));
    let from = input("rules/prepared-stuck/fires-ghost-slot-canceled-task");
    let told = call(&[
        "capture",
        "--dry-run",
        "--from",
        &from,
        "--now",
        NOW,
        "-f",
        &file,
    ]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.contains("datauploads"), "{}", told.out);
    assert!(told.out.ends_with("Nothing was written.\n"), "{}", told.out);
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0
    );
}

#[test]
fn nothing_is_overwritten_unless_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = shown(&folder.path().join("capture.json"));
    std::fs::write(&file, "mine").expect("a file");
    let from = input("rules/prepared-stuck/fires-ghost-slot-canceled-task");
    let refused = call(&["capture", "--from", &from, "-f", &file]);
    assert_eq!(refused.code, 1);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mine");
    let replaced = call(&["capture", "--overwrite", "--from", &from, "-f", &file]);
    assert_eq!(replaced.code, 0, "{}", replaced.err);
    assert_ne!(std::fs::read_to_string(&file).expect("a file"), "mine");
}

#[test]
fn two_redacted_captures_are_not_compared_since_their_names_are_not_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let from = input("rules/prepared-stuck/fires-ghost-slot-canceled-task");
    let files = ["one.json", "two.json"].map(|name| shown(&folder.path().join(name)));
    for file in &files {
        assert_eq!(
            call(&["capture", "--from", &from, "--now", NOW, "-f", file]).code,
            0
        );
    }
    let [one, two] = &files;
    for args in [
        vec!["diagnose", "--from", one, "--from", two],
        vec!["diagnose", "--from", one, "--from", &from],
        vec![
            "diagnose",
            "--from",
            folder.path().to_str().expect("a plain name"),
        ],
    ] {
        let both = call(&args);
        assert_eq!(both.code, 1, "{args:?}");
        assert!(both.err.contains("is read alone"), "{}", both.err);
    }
}
