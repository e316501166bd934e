//! Calls of the compiled plugin, in an environment that says nothing.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on has found something"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a call left behind.
pub(crate) struct Call {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// Begins a call.
pub(crate) fn plugin(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-velero_slots"));
    command
        .args(args)
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null());
    command
}

/// Calls the plugin.
pub(crate) fn call(args: &[&str]) -> Call {
    finish(plugin(args).output())
}

/// Turns what a process left behind into text.
pub(crate) fn finish(output: std::io::Result<Output>) -> Call {
    let output = output.expect("the plugin starts");
    Call {
        code: output.status.code().expect("no signal ends the plugin"),
        out: String::from_utf8(output.stdout).expect("the answer is UTF-8"),
        err: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// Returns the objects of every case, in order.
pub(crate) fn inputs() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![crate::root().join("fixtures")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("fixtures are readable") {
            let path = entry.expect("fixtures are readable").path();
            if path.ends_with("objects") {
                found.push(path);
            } else if path.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the objects of a case.
pub(crate) fn input(case: &str) -> String {
    let path = crate::root().join("fixtures").join(case).join("objects");
    assert!(path.is_dir(), "{} is a case", path.display());
    shown(&path)
}

/// Returns a path as an argument.
pub(crate) fn shown(path: &Path) -> String {
    path.to_str().expect("fixtures have plain names").to_owned()
}
