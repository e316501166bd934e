//! Every command of every runbook, and those that read, on what the finding fires on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use serde_json::Value;

use super::super::App;
use super::super::exit::Exit;
use super::call;
use crate::report::{FindingId, Runbook, runbook};
use crate::velero::TaskKind;

/// kubectl's commands that change nothing.
const READING: [&str; 7] = [
    "get", "describe", "logs", "top", "auth", "events", "version",
];

/// This plugin's commands that change nothing in a cluster.
const OURS_READING: [&str; 7] = [
    "status", "diagnose", "explain", "replay", "auth", "capture", "version",
];

/// The findings that can be critical.
const CRITICAL: [&str; 11] = [
    "agent-crashloop",
    "completion-stuck",
    "expose-blocked",
    "mover-pod-lost",
    "no-node-agent",
    "owner-gone",
    "phase-rewound",
    "prepare-missed",
    "prepare-queue-stale",
    "prepared-stuck",
    "restore-target-missing",
];

/// A command, and the section that it stands in.
struct Step<'p> {
    section: &'p str,
    command: &'p str,
}

fn steps(page: &Runbook) -> Vec<Step<'_>> {
    let mut found = Vec::new();
    let mut section = "";
    let mut inside = false;
    for line in page.text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title;
        } else if line.starts_with("```") {
            inside = !inside;
        } else if inside && line.starts_with("kubectl ") {
            found.push(Step {
                section,
                command: line,
            });
        }
    }
    found
}

fn pages() -> impl Iterator<Item = Runbook> {
    FindingId::ALL
        .iter()
        .map(|id| runbook(id.as_str()).expect("every id has a runbook"))
}

/// Returns the words of a call of this plugin; `None` for a command of kubectl.
fn of_plugin(command: &str) -> Option<Vec<&str>> {
    let words = command.strip_prefix("kubectl velero-slots ")?;
    let words = words.split(" > ").next().unwrap_or(words);
    Some(words.split_whitespace().collect())
}

#[test]
fn every_command_of_a_runbook_is_one_that_this_plugin_takes() {
    for page in pages() {
        for step in steps(&page) {
            let Some(words) = of_plugin(step.command) else {
                continue;
            };
            let words = std::iter::once("kubectl-velero_slots").chain(words);
            if let Err(error) = App::try_parse_from(words) {
                panic!("{}: {}\n{error}", page.id.as_str(), step.command);
            }
        }
    }
}

#[test]
fn what_changes_something_stands_under_act_alone() {
    for page in pages() {
        for step in steps(&page) {
            let reads = match of_plugin(step.command) {
                Some(words) => words
                    .first()
                    .is_some_and(|verb| OURS_READING.contains(verb)),
                None => step.command.split_whitespace().nth(1).is_some_and(|verb| {
                    READING.contains(&verb) || step.command.starts_with("kubectl rollout status ")
                }),
            };
            assert!(
                reads || step.section == "Act",
                "{}: {} stands under {}",
                page.id.as_str(),
                step.command,
                step.section
            );
        }
    }
}

/// An input in which a finding fires, and what the placeholders of its runbook are there.
struct Fires {
    objects: PathBuf,
    now: String,
    finding: Value,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules")
}

/// Finds the first case in which a finding fires critically, with a node where the page asks for one.
fn fires(id: &str, wants_node: bool) -> Option<Fires> {
    let mut cases: Vec<PathBuf> = std::fs::read_dir(fixtures().join(id))
        .ok()?
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("fires")
        })
        .collect();
    cases.sort();
    cases.into_iter().find_map(|case| {
        let expected = std::fs::read_to_string(case.join("expect.yaml")).unwrap();
        let expected: Value = serde_saphyr::from_str(&expected).unwrap();
        if expected.get("args").is_some() {
            return None;
        }
        let now = expected["now"].as_str()?.to_owned();
        let objects = case.join("objects");
        let from = objects.to_string_lossy().into_owned();
        let (_, out, err) = call(&["diagnose", "--from", &from, "--now", &now, "-o", "json"]);
        let document: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let finding = document["findings"].as_array()?.iter().find(|finding| {
            finding["id"] == id
                && finding["severity"] == "critical"
                && (!wants_node || finding["node"].is_string())
        })?;
        Some(Fires {
            finding: finding.clone(),
            objects,
            now,
        })
    })
}

/// Puts the names of a case into a command.
fn filled(words: &[&str], case: &Fires) -> Vec<String> {
    let node = case.finding["node"].as_str().unwrap_or("NODE");
    let task = &case.finding["tasks"][0];
    let name = task["name"].as_str().unwrap_or("NAME");
    let kind = task["kind"].as_str().and_then(TaskKind::parse);
    words
        .iter()
        .map(|word| match *word {
            "NODE" => node.to_owned(),
            "NAME" => name.to_owned(),
            "du/NAME" | "dd/NAME" | "pvb/NAME" | "pvr/NAME" => {
                format!("{}/{name}", kind.map_or("du", |kind| kind.short_name()))
            }
            word => word.to_owned(),
        })
        .collect()
}

#[test]
fn the_reading_commands_of_a_critical_runbook_show_the_finding() {
    for id in CRITICAL {
        let page = runbook(id).unwrap();
        let look: Vec<Vec<&str>> = steps(&page)
            .iter()
            .filter(|step| step.section == "Look")
            .filter_map(|step| of_plugin(step.command))
            .collect();
        let wants_node = look.iter().flatten().any(|word| *word == "NODE");
        let case = fires(id, wants_node).unwrap_or_else(|| panic!("{id} fires in no case"));
        let from = case.objects.to_string_lossy().into_owned();
        let mut shown = false;
        for words in &look {
            let mut args = filled(words, &case);
            args.extend(["--from", &from, "--now", &case.now].map(str::to_owned));
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let (exit, out, err) = call(&args);
            let expected = match words[0] {
                "diagnose" => Exit::Findings,
                _ => Exit::Answered,
            };
            assert_eq!(exit, expected, "{id}: {args:?}\n{err}");
            if matches!(words[0], "diagnose" | "explain") {
                assert!(out.contains(id), "{id}: {args:?}\n{out}");
                shown = true;
            }
        }
        assert!(shown, "the runbook of {id} has a command that shows it");
    }
}

#[test]
fn every_finding_that_is_critical_in_some_case_has_its_runbook_run() {
    let critical: BTreeSet<&str> = FindingId::ALL
        .iter()
        .map(|id| id.as_str())
        .filter(|id| fires(id, false).is_some())
        .collect();
    assert_eq!(critical, BTreeSet::from(CRITICAL));
}
