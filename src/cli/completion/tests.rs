//! Lines that are being typed, and what is offered for them.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::CommandFactory as _;
use tempfile::TempDir;

use super::answer::Answer;
use super::what::What;
use super::{complete, is_called_by, within};

/// No test is about a machine that is busy.
const PATIENT: Duration = Duration::from_secs(600);

/// Returns the last answer to a line, as the shell gets it.
fn answer(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let last = RefCell::new(Answer::nothing());
    complete(&words, PATIENT, &|better| {
        last.replace(better);
    });
    let mut bytes = Vec::new();
    last.into_inner().write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Returns the words that are offered, and the directive behind them.
fn offered(words: &[&str]) -> Vec<String> {
    answer(words)
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
        .collect()
}

fn scenario(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/scenarios")
        .join(name)
        .join("objects");
    path.to_string_lossy().into_owned()
}

fn kubeconfig(text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, text).unwrap();
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

#[test]
fn only_the_name_that_kubectl_asks_for_means_completion() {
    for name in [
        "kubectl_complete-velero_slots",
        "/home/u/.krew/bin/kubectl_complete-velero_slots",
        "kubectl_complete-velero_slots.exe",
    ] {
        assert!(is_called_by(name.as_ref()), "{name}");
    }
    for name in [
        "kubectl-velero_slots",
        "/kubectl_complete-x/kubectl-velero_slots",
        "",
    ] {
        assert!(!is_called_by(name.as_ref()), "{name}");
    }
}

#[test]
fn each_place_of_a_line_is_offered_what_can_stand_there() {
    let table: [(&[&str], &[&str]); 22] = [
        (&["re"], &["replay", "restart", ":36"]),
        (&["help", "st"], &["status", ":36"]),
        (
            &["status", "--color", ""],
            &["auto", "always", "never", ":36"],
        ),
        (&["status", "-o", "j"], &["json", ":36"]),
        (&["status", "--output", "j"], &["json", ":36"]),
        (&["status", "--output=j"], &["json", ":36"]),
        (&["status", "-o=j"], &["json", ":36"]),
        // What the shell replaces is the whole word then.
        (&["status", "-oj"], &["-ojson", ":36"]),
        (&["status", "--colo"], &["--color", ":36"]),
        (&["status", "--no-headers="], &["true", "false", ":36"]),
        // `=` is the only way to give it a value.
        (&["completion", "--install", "p"], &["powershell", ":36"]),
        (&["status", "--kind", "d"], &["du", "dd", ":36"]),
        (&["status", "--kind", "du,d"], &["du,dd", ":36"]),
        (&["status", "--kind", "du", "--kind", "d"], &["dd", ":36"]),
        (
            &["status", "--kind", "Pod"],
            &["PodVolumeBackup", "PodVolumeRestore", ":36"],
        ),
        (
            &["replay", "--simulate", "--design", "e"],
            &["early-check", ":36"],
        ),
        (
            &["explain", "prepared-"],
            &["prepared-stuck", "prepared-doomed", ":36"],
        ),
        (&["status", "--from", ""], &[":0"]),
        (&["capture", "-f", "x"], &[":0"]),
        (&["completion", "kubectl", "--path", ""], &[":16"]),
        (&["status", "--threshold", ""], &[":36"]),
        (&["no-such-command", "--no-such-flag", "x"], &[":36"]),
    ];
    for (words, expected) in table {
        assert_eq!(offered(words), expected, "{words:?}");
    }
}

#[test]
fn a_flag_is_offered_once_unless_it_can_be_repeated() {
    assert!(offered(&["status", "--"]).contains(&"--output".to_owned()));
    assert!(
        offered(&["status", "-o", "json", "--"])
            .iter()
            .all(|flag| flag != "--output")
    );
    let flags = offered(&["status", "--node", "a", "--"]);
    assert!(flags.contains(&"--node".to_owned()), "{flags:?}");
}

#[test]
fn flags_are_offered_where_nothing_else_can_stand() {
    assert_eq!(
        offered(&["restart", ""]).first().map(String::as_str),
        Some("--node")
    );
    // Behind two dashes there are no flags.
    assert_eq!(offered(&["restart", "--", ""]), [":36"]);
    assert_eq!(offered(&["restart", "--", "-"]), [":36"]);
}

#[test]
fn an_alias_of_a_flag_takes_its_value_as_the_flag_does() {
    let (_folder, path) = kubeconfig("contexts: [{name: prod}, {name: test}]");
    assert_eq!(
        offered(&["status", "--kubeconfig", &path, "--kubecontext", "p"]),
        ["prod", ":36"]
    );
}

#[test]
fn the_kubeconfig_of_the_line_names_contexts_clusters_and_users() {
    let (_folder, path) = kubeconfig(
        "
current-context: prod
contexts:
- {name: a, context: {cluster: c1, user: alice}}
- {name: prod, context: {cluster: c2, user: bob}}
- {name: $(touch x), context: {cluster: c2}}
clusters:
- {name: c1, cluster: {server: 'https://me:secret@10.0.0.1:6443'}}
- {name: c2, cluster: {server: 'https://10.0.0.2:6443'}}
users:
- {name: alice, user: {token: secret}}
- {name: bob, user: {exec: {command: /nonexistent}}}
",
    );
    let of = |flag: &str| answer(&["status", "--kubeconfig", &path, flag, ""]);
    assert_eq!(
        of("--context"),
        "prod\tthe current one, cluster c2\na\tcluster c1\n:36\n"
    );
    assert_eq!(
        of("--cluster"),
        "c1\thttps://10.0.0.1:6443\nc2\thttps://10.0.0.2:6443\n:36\n"
    );
    assert_eq!(of("--user"), "alice\nbob\n:36\n");
    assert_eq!(
        answer(&["status", "--kubeconfig=/nonexistent", "--context", ""]),
        ":36\n"
    );
}

#[test]
fn candidates_come_from_the_files_that_the_line_names() {
    let from = scenario("normal-long-queue");
    assert_eq!(
        answer(&["status", "--from", &from, "--node", ""]),
        "node-a\t2/2 in progress, 20 wait\nnode-b\t2/2 in progress, 20 wait\n:36\n"
    );
    let from_flag = format!("--from={from}");
    assert_eq!(
        offered(&["status", &from_flag, "--node", "node-a", "--node=n"]),
        ["node-b", ":36"]
    );
    assert_eq!(
        answer(&["status", &from_flag, "--node", "node-a,"]),
        "node-a,node-b\t2/2 in progress, 20 wait\n:36\n"
    );
    assert_eq!(
        offered(&[
            "replay",
            &from_flag,
            "--simulate",
            "--concurrency",
            "node-a"
        ]),
        ["node-a=", ":38"]
    );
    assert_eq!(
        answer(&["status", &from_flag, "--backup", ""]),
        "backup-1\t44 of 60 tasks unfinished\n:36\n"
    );
    assert_eq!(offered(&["status", &from_flag, "--restore", ""]), [":36"]);
    // In files the namespace is found.
    assert_eq!(offered(&["status", &from_flag, "-n", ""]), [":36"]);
}

#[test]
fn to_explain_nothing_yet_are_unfinished_tasks_then_findings() {
    let from = format!("--from={}", scenario("normal-long-queue"));
    let all = offered(&["explain", &from, ""]);
    let place = |value: &str| all.iter().position(|offered| offered == value);
    // Those that wait come before those that run, and tasks that are over are not among them.
    assert_eq!(place("du/du-a11"), Some(0), "{all:?}");
    assert!(place("du/du-a11") < place("du/du-a09"));
    assert!(place("du/du-a09") < place("backup/backup-1"));
    assert!(place("backup/backup-1") < place("slot-queue"));
    assert_eq!(place("du/du-a01"), None);
    assert!(offered(&["explain", &from, "du/du-a01"]).contains(&"du/du-a01".to_owned()));
}

#[test]
fn a_subject_is_offered_in_the_spelling_that_was_begun() {
    let from = format!("--from={}", scenario("normal-long-queue"));
    for (word, expected) in [
        ("du/du-a30", "du/du-a30"),
        ("DataUpload/du-a30", "DataUpload/du-a30"),
        (
            "datauploads.velero.io/du-a30",
            "datauploads.velero.io/du-a30",
        ),
        ("task/du-a30", "task/du-a30"),
        ("backups/b", "backups/backup-1"),
        ("backup/b", "backup/backup-1"),
    ] {
        assert_eq!(
            offered(&["explain", &from, word]),
            [expected, ":36"],
            "{word}"
        );
    }
    assert!(offered(&["explain", &from, "Data"]).contains(&"DataUpload/du-a30".to_owned()));
    let claims = offered(&["explain", &from, "pvc/"]);
    assert!(claims.len() > 1, "{claims:?}");
    assert!(
        claims
            .iter()
            .all(|claim| claim.starts_with("pvc/") || claim == ":36")
    );
}

#[test]
fn what_is_stuck_comes_first() {
    let from = format!("--from={}", scenario("drained-node"));
    assert_eq!(
        answer(&["restart", &from, "--node", ""]),
        "node-b\tstuck: 1/1 in progress, 2 wait\nnode-a\t1/1 in progress\n:36\n"
    );
    assert_eq!(
        answer(&["nudge", &from, ""]),
        "du/du-b1\tInProgress on node-b: mover-pod-lost\ndu/du-b2\tPrepared on node-b\n\
         du/du-b3\tPrepared on node-b\ndu/du-a1\tInProgress on node-a\n:36\n"
    );
    // A task that is named already is not offered again.
    let first = offered(&["nudge", &from, ""]).first().unwrap().clone();
    assert!(!offered(&["nudge", &from, &first, ""]).contains(&first));
}

#[test]
fn standard_input_is_not_read() {
    // It is the terminal at which somebody types.
    assert_eq!(offered(&["status", "--from", "-", "--node", ""]), [":36"]);
}

#[test]
fn a_source_that_cannot_be_read_offers_what_needs_none() {
    assert_eq!(
        offered(&["status", "--from", "/nonexistent", "--node", ""]),
        [":36"]
    );
    assert_eq!(
        offered(&["explain", "--from", "/nonexistent", "slot-"]),
        ["slot-queue", ":36"]
    );
    let (_folder, path) = kubeconfig("{");
    assert_eq!(
        offered(&["status", "--kubeconfig", &path, "--node", ""]),
        [":36"]
    );
}

#[test]
fn a_flag_with_a_wrong_value_does_not_hide_the_others() {
    let from = format!("--from={}", scenario("normal-long-queue"));
    assert_eq!(
        offered(&[
            "status",
            "--now",
            "soon",
            "--timeout=never",
            &from,
            "--node",
            ""
        ]),
        ["node-a", "node-b", ":36"]
    );
}

#[cfg(unix)]
#[test]
fn a_login_is_never_started() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let plugin = folder.path().join("login");
    std::fs::write(&plugin, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    std::fs::set_permissions(&plugin, PermissionsExt::from_mode(0o755)).unwrap();
    let file = |user: &str| -> PathBuf {
        let path = folder.path().join("kubeconfig");
        let text = format!(
            "
current-context: x
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}]
users: [{{name: u, user: {user}}}]
"
        );
        std::fs::write(&path, text).unwrap();
        path
    };
    let exec = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: {}}}}}",
        plugin.display()
    );
    for user in [exec.as_str(), "{auth-provider: {name: oidc, config: {}}}"] {
        let path = file(user);
        let path = path.to_string_lossy();
        for words in [
            ["status", "--kubeconfig", &path, "--node", ""],
            ["status", "--kubeconfig", &path, "-n", ""],
        ] {
            assert_eq!(offered(&words), [":36"]);
        }
    }
    assert!(!mark.exists());
}

#[test]
fn the_answer_is_the_best_one_that_came_in_time() {
    let fast = within(PATIENT, |tell| {
        tell(Answer::nothing());
        tell(Answer::left_to_the_shell(super::answer::Directive::Files));
    });
    assert_eq!(
        fast,
        Answer::left_to_the_shell(super::answer::Directive::Files)
    );
    // The work waits for a word that never comes, and the answer does not wait for the work.
    let (_never, word) = std::sync::mpsc::channel::<()>();
    let slow = within(Duration::from_millis(1), move |tell| {
        let _heard = word.recv();
        tell(Answer::left_to_the_shell(super::answer::Directive::Files));
    });
    assert_eq!(slow, Answer::nothing());
}

#[test]
fn work_that_fails_is_an_answer_without_candidates() {
    assert_eq!(within(PATIENT, |_| panic!("on purpose")), Answer::nothing());
}

/// Values that only the user knows. A new argument is either completed, in `what.rs`, or listed here.
const FREE: [&str; 15] = [
    "as_groups",
    "as_uid",
    "as_user",
    "as_user_extra",
    "now",
    "prepare_queue",
    "reason",
    "request_timeout",
    "seed",
    "server",
    "threshold",
    "timeout",
    "tls_server_name",
    "token",
    "workers",
];

#[test]
fn every_value_is_completed_or_known_to_be_free() {
    let app = super::super::App::command();
    let mut free = std::collections::BTreeSet::new();
    for command in app.get_subcommands() {
        for arg in command.get_arguments() {
            if arg.get_action().takes_values() && What::of(arg) == What::Free {
                free.insert(arg.get_id().to_string());
            }
        }
    }
    let expected: std::collections::BTreeSet<String> =
        FREE.iter().map(ToString::to_string).collect();
    assert_eq!(free, expected);
}
