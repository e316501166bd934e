//! The compiled plugin under the name that kubectl asks for candidates, the scripts in a real shell, and the link.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has found something, and one is about a program that ends"
)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::plugin::{Call, finish, input, plugin};

/// A folder of `$PATH` with the plugin in it, as a link.
struct Bin {
    folder: TempDir,
}

impl Bin {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        symlink(
            env!("CARGO_BIN_EXE_kubectl-velero_slots"),
            folder.path().join("kubectl-velero_slots"),
        )
        .expect("the folder is ours");
        Self { folder }
    }

    fn completer(&self) -> PathBuf {
        self.folder.path().join("kubectl_complete-velero_slots")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", "/nonexistent")
            .env("PATH", self.folder.path())
            // Not a test of speed: machines that run tests are busy.
            .env("VELERO_SLOTS_COMPLETION_TIMEOUT", "60s")
            .stdin(Stdio::null());
        command
    }

    fn install(&self, arguments: &[&str]) -> Call {
        let program = self.folder.path().join("kubectl-velero_slots");
        finish(
            self.command(&program)
                .args(["completion", "kubectl", "--install"])
                .args(arguments)
                .output(),
        )
    }

    fn complete(&self, words: &[&str]) -> Call {
        finish(self.command(&self.completer()).args(words).output())
    }
}

#[test]
fn an_installed_link_answers_as_kubectl_asks() {
    let bin = Bin::new();
    let first = bin.install(&[]);
    assert_eq!(first.code, 0, "{}", first.err);
    assert_eq!(
        first.out,
        format!(
            "linked {} -> kubectl-velero_slots\n",
            bin.completer().display()
        )
    );
    assert!(
        first.err.contains("warning: kubectl is not in $PATH"),
        "{}",
        first.err
    );
    let second = bin.install(&[]);
    assert_eq!(second.code, 0, "{}", second.err);
    assert!(second.out.starts_with("nothing to do: "), "{}", second.out);

    let from = format!("--from={}", input("scenarios/normal-long-queue"));
    let answer = bin.complete(&["status", &from, "--node", ""]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    assert_eq!(
        answer.out,
        "node-a\t2/2 in progress, 20 wait\nnode-b\t2/2 in progress, 20 wait\n:36\n"
    );
    // No word at all is an empty one.
    let commands = bin.complete(&[]);
    assert!(commands.out.starts_with("status\t"), "{}", commands.out);
}

#[test]
fn what_stands_in_the_place_of_the_link_is_never_replaced() {
    let bin = Bin::new();
    std::fs::write(bin.completer(), "mine").expect("the folder is ours");
    let refused = bin.install(&[]);
    assert_eq!(refused.code, 1);
    assert_eq!(refused.out, "");
    assert!(refused.err.contains("stays as it is"), "{}", refused.err);
    let content = std::fs::read_to_string(bin.completer()).expect("it is there");
    assert_eq!(content, "mine");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_nobody_can_write_is_told_with_what_to_do() {
    let bin = Bin::new();
    // Not even root makes a file there.
    let refused = bin.install(&["--path", "/sys"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.starts_with("error: make a link in /sys: "),
        "{}",
        refused.err
    );
    assert!(
        refused.err.contains("hint: choose a folder of $PATH"),
        "{}",
        refused.err
    );
}

#[test]
fn only_kubectl_is_installed_and_only_an_installation_has_a_path() {
    for arguments in [
        &["completion", "bash", "--install"][..],
        &["completion", "kubectl", "--path", "/"],
        &["completion", "tcsh"],
        &["completion"],
    ] {
        let call = finish(plugin(arguments).output());
        assert_eq!(call.code, 2, "{arguments:?}: {}", call.err);
        assert_eq!(call.out, "");
    }
}

#[test]
fn a_source_that_hangs_ends_in_silence() {
    let bin = Bin::new();
    bin.install(&[]);
    let pipe = bin.folder.path().join("kubeconfig");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let began = Instant::now();
    // Nobody ever writes into the pipe.
    let answer = finish(
        bin.command(&bin.completer())
            .env_remove("VELERO_SLOTS_COMPLETION_TIMEOUT")
            .env("KUBECONFIG", &pipe)
            .args(["status", "--node", ""])
            .output(),
    );
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    assert_eq!(answer.out, ":36\n");
    // A bound for a busy machine; the limit itself is some hundred milliseconds.
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn bash_completes_the_plain_name_by_the_script() {
    let script = finish(plugin(&["completion", "bash"]).output());
    assert_eq!((script.code, script.err.as_str()), (0, ""));
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("script");
    std::fs::write(&path, &script.out).expect("the folder is ours");
    let ask = r#"
        source "$1"
        registered=$(complete -p kubectl-velero_slots)
        [[ $registered =~ -F\ ([^ ]+) ]]
        COMP_WORDS=(kubectl-velero_slots explain --out)
        COMP_CWORD=2
        "${BASH_REMATCH[1]}" kubectl-velero_slots --out explain
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let bash = finish(
        Command::new("bash")
            .args(["--norc", "-c", ask, "bash"])
            .arg(&path)
            .stdin(Stdio::null())
            .output(),
    );
    assert_eq!((bash.code, bash.err.as_str()), (0, ""));
    assert_eq!(bash.out, "--output\n");
}

#[test]
fn each_shell_gets_a_script_for_the_plain_name() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = finish(plugin(&["completion", shell]).output());
        assert_eq!((script.code, script.err.as_str()), (0, ""), "{shell}");
        assert!(script.out.contains("kubectl-velero_slots"), "{shell}");
        // Comments begin alike in all of them, and say how kubectl is completed.
        let last = script.out.lines().last().unwrap_or_default();
        assert!(last.starts_with("# "), "{shell}: {last}");
        assert!(
            last.ends_with("completion kubectl --install"),
            "{shell}: {last}"
        );
    }
    let zsh = finish(plugin(&["completion", "zsh"]).output()).out;
    // zsh autoloads by the first line.
    assert!(zsh.starts_with("#compdef kubectl-velero_slots\n"), "{zsh}");
}
