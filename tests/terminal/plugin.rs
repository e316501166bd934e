//! Calls of the compiled plugin on a terminal, in an environment that says little.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on has found something"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::pty::{Session, Shown, Size, Streams};

/// What counts as now in every case.
pub(crate) const NOW: &str = "2026-01-02T03:04:05Z";

/// The widths of a terminal that are tried.
pub(crate) const WIDTHS: [u16; 5] = [60, 80, 100, 120, 200];

/// Begins a call. It runs in the folder of the cases, so that paths in the answer are the same on every machine.
pub(crate) fn plugin(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-velero_slots"));
    command
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"))
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8");
    command
}

/// Returns a terminal of that width.
pub(crate) const fn wide(columns: u16) -> Size {
    Size { columns, rows: 24 }
}

/// Runs a call on a terminal.
pub(crate) fn on_terminal(command: Command, columns: u16) -> Shown {
    Session::start(command, wide(columns), Streams::All).finish()
}

/// What a call without a terminal wrote.
pub(crate) fn piped(mut command: Command) -> String {
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("the plugin starts");
    String::from_utf8(output.stdout).expect("an answer is UTF-8")
}

/// Returns every reading call about some objects, and the plan of every action: the tasks and nodes that they
/// name are those that `replay` names first.
pub(crate) fn calls(objects: &str) -> Vec<Vec<String>> {
    let replay = piped(plugin(&[
        "replay", "--from", objects, "--now", NOW, "-o", "json",
    ]));
    let replay: Value = serde_json::from_str(&replay).expect("the answer is JSON");
    let word = |path: &str| {
        let value = replay.pointer(&format!("/decisions/0/{path}"));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let task = format!("{}/{}", word("task/kind"), word("task/name"));
    let node = word("node");
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut call = |words: &[&str]| {
        for format in ["table", "wide"] {
            let more = ["--from", objects, "--now", NOW, "-o", format];
            all.push(words.iter().chain(&more).map(ToString::to_string).collect());
        }
    };
    call(&["status"]);
    call(&["diagnose"]);
    call(&["replay"]);
    call(&["replay", "--simulate"]);
    call(&["explain", &task]);
    call(&["nudge", &task, "--dry-run=client"]);
    if !node.is_empty() {
        call(&["restart", "--node", &node, "--dry-run=client"]);
        call(&["nudge", "--node", &node, "--dry-run=client"]);
    }
    all
}

/// Returns a call as arguments.
pub(crate) fn words(call: &[String]) -> Vec<&str> {
    call.iter().map(String::as_str).collect()
}

/// Copies the objects of a case, with some words replaced by others, and returns the folder.
pub(crate) fn rewritten(objects: &str, words: &[(&str, &str)]) -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(objects);
    let to = tempfile::tempdir().expect("a temporary folder");
    for path in files(&from) {
        let mut text = fs::read_to_string(&path).expect("a case is text");
        for (word, other) in words {
            text = text.replace(word, other);
        }
        let name = path.strip_prefix(&from).expect("it is below").to_owned();
        let target = to.path().join(name);
        fs::create_dir_all(target.parent().expect("it has a folder")).expect("a folder");
        fs::write(target, text).expect("a file");
    }
    to
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of cases") {
        let path = entry.expect("it is readable").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
