//! The cases of `fixtures/`, played into a real API server: live, the plugin says of them what it says
//! offline.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use velero_slots::capture::ResourceKind;

use crate::cases::{Case, discover, list, strings, text};
use crate::control_plane::{ControlPlane, Plane};
use crate::player::{Moment, shift};
use crate::plugin::{PATIENT, Run, User};

/// Cases of which a cluster tells another story, and why. A test fails if one of them does not any more.
const EXCEPTIONS: [(&str, &str); 16] = [
    (
        "rules/orphaned-tasks/quiet-backups-are-single-documents",
        INCOMPLETE,
    ),
    ("rules/precedence/no-agent-and-no-pod-in-input", INCOMPLETE),
    ("rules/precedence/no-task-of-any-kind", INCOMPLETE),
    (
        "rules/precedence/one-node-document-is-not-all-nodes",
        INCOMPLETE,
    ),
    ("rules/precedence/row-2-nodes-not-readable", INCOMPLETE),
    (
        "rules/prepared-doomed/quiet-volumes-not-in-input",
        INCOMPLETE,
    ),
    (
        "rules/prepared-stuck/fires-with-unknown-limit-and-no-holder",
        INCOMPLETE,
    ),
    (
        "rules/restore-target-missing/quiet-application-namespace-not-in-input",
        INCOMPLETE,
    ),
    ("scenarios/rbac-refused-capture", REFUSED),
    ("rules/false-alarms/rbac-refusal-is-not-no-tasks", REFUSED),
    ("rules/false-alarms/rbac-refusal-of-all-tasks", REFUSED),
    ("rules/false-alarms/rbac-refusal-of-backups", REFUSED),
    ("rules/false-alarms/rbac-refusal-of-nodes", REFUSED),
    ("rules/precedence/empty-namespace-of-tasks", NO_TASKS),
    ("rules/transfer-stalled/fires-two-looks", TWO_MOMENTS),
    (
        "rules/known-bug/fires-agent-of-another-namespace-1.18.0",
        OTHER_NAMESPACE,
    ),
];

/// The story is that the input lacks whole kinds, or all but one object; a cluster lists all there are.
const INCOMPLETE: &str = "the input lacks what a cluster tells";
/// See the tests of rights.
const REFUSED: &str = "the input holds a refusal";
/// Pods of other namespaces are listed for the targets of restores alone: the right to list all pods is not
/// asked for to name a known fault.
const OTHER_NAMESPACE: &str = "the input holds pods that are not asked for";
/// Two captures of different times prove it, and a cluster shows the present.
const TWO_MOMENTS: &str = "the input holds two moments";
/// Files without a task are unknown, a cluster without a task is healthy.
const NO_TASKS: &str = "there are no tasks";

/// Lays a case so that its `now` is the server's. Returns by how much its times were moved.
fn play(plane: &ControlPlane, case: &Case) -> SignedDuration {
    let now: Timestamp = text(&case.expect, "now")
        .parse()
        .unwrap_or_else(|error| panic!("{}: now: {error}", case.name));
    let by = SignedDuration::from_secs(plane.api().now().as_second() - now.as_second());
    plane.etcd().clear();
    Moment::read(&case.folder.join("objects"))
        .later(by)
        .lay(plane);
    by
}

fn cases(root: &str) -> Vec<Case> {
    let cases = discover(Path::new(env!("CARGO_MANIFEST_DIR")))
        .unwrap_or_else(|complaints| panic!("{}", complaints.join("\n")));
    // For one case by hand: CASE=ghost-slot cargo test …
    let part = std::env::var("CASE").unwrap_or_default();
    let cases: Vec<Case> = cases
        .into_iter()
        .filter(|case| case.name.starts_with(root) && case.name.contains(&part))
        .collect();
    assert!(!cases.is_empty(), "there are cases below {root}");
    cases
}

/// Returns where the live answer differs from the offline one.
fn difference(plane: &ControlPlane, user: &User, case: &Case) -> Option<String> {
    let by = play(plane, case);
    let diagnose = |source: &[&str]| -> Run {
        // The API server proxies to no loopback address: metrics are tested against a server of our own.
        let mut arguments = vec!["diagnose", "-o", "json", "--metrics", "never"];
        arguments.extend(PATIENT);
        arguments.extend(source);
        arguments.extend(strings(&case.expect, "args"));
        user.plugin(&arguments)
    };
    let folder = case.folder.join("objects");
    let folder = folder.to_string_lossy();
    let live = diagnose(&[]);
    // At the same instant of the story: some cases are seconds away from a threshold.
    let now = serde_json::from_str::<Value>(&live.stdout)
        .ok()
        .and_then(|document| text(&document, "takenAt").parse::<Timestamp>().ok())
        .map_or_else(
            || text(&case.expect, "now").to_owned(),
            |now| (now - by).to_string(),
        );
    let offline = diagnose(&["--from", &folder, "--now", &now]);
    if live.code != offline.code {
        return Some(format!("exit codes\nlive: {live}\noffline: {offline}"));
    }
    if live.stdout.is_empty() && offline.stdout.is_empty() {
        return None;
    }
    let mut expected = offline.json();
    shift(&mut expected, by);
    let got = live.json();
    assert_eq!(got["source"]["type"], "cluster", "{live}");
    assert_eq!(got["source"]["nowFrom"], "server", "{live}");
    (outline(&got) != outline(&expected)).then(|| {
        format!(
            "live: {:#}\noffline: {:#}",
            outline(&got),
            outline(&expected)
        )
    })
}

fn all_agree(root: &str) {
    let plane = Plane::Still.lock();
    let user = User::new(&plane.kubeconfig());
    let mut complaints = Vec::new();
    let cases = cases(root);
    for case in &cases {
        let exception = EXCEPTIONS.iter().find(|(name, _)| *name == case.name);
        match (difference(&plane, &user, case), exception) {
            (None, None) | (Some(_), Some(_)) => {}
            (Some(difference), None) => complaints.push(format!("{}: {difference}", case.name)),
            (None, Some((name, why))) => complaints.push(format!("{name}: no longer so: {why}")),
        }
    }
    assert!(
        complaints.is_empty(),
        "{} of {} cases:\n{}",
        complaints.len(),
        cases.len(),
        complaints.join("\n")
    );
}

#[test]
fn every_scenario_is_diagnosed_live_as_it_is_offline() {
    all_agree("scenarios");
}

#[test]
fn every_case_of_a_rule_is_diagnosed_live_as_it_is_offline() {
    all_agree("rules");
}

#[test]
fn every_exception_is_a_case() {
    let cases = cases("");
    for (name, _) in EXCEPTIONS {
        assert!(cases.iter().any(|case| case.name == name), "{name}");
    }
}

/// Returns what must be the same: all but the commands, which name their source.
fn essence(document: &Value) -> Value {
    let mut findings = document["findings"].clone();
    for finding in findings.as_array_mut().into_iter().flatten() {
        for action in finding["actions"].as_array_mut().into_iter().flatten() {
            action["command"] = Value::Null;
        }
    }
    json!({
        "verdict": document["verdict"],
        "namespace": document["namespace"],
        "veleroVersions": document["veleroVersions"],
        "gaps": document["gaps"],
        "findings": findings,
    })
}

/// Returns what must be the same even where the input lacks whole kinds: a file cannot say of a kind that
/// there is none, which shows in gaps and lowers confidence.
fn outline(document: &Value) -> Value {
    let fields = [
        "id",
        "cause",
        "severity",
        "node",
        "tasks",
        "blockedBy",
        "affects",
        "since",
        "deadline",
    ];
    let findings: Vec<Value> = list(document, "findings")
        .iter()
        .map(|finding| {
            fields
                .iter()
                .map(|&field| (field.to_owned(), finding[field].clone()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        })
        .collect();
    json!({"verdict": document["verdict"], "namespace": document["namespace"], "findings": findings})
}

/// Reads with the real kubectl what the plugin reads, into a folder.
fn read_with_kubectl(user: &User, namespace: &str) -> std::path::PathBuf {
    let folder = user.file("read-with-kubectl");
    let _not_there = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("the home is ours");
    for resource in ResourceKind::ALL {
        // Volumes and pods that restores write into are in other namespaces.
        let place = match resource {
            ResourceKind::Pod
            | ResourceKind::PersistentVolumeClaim
            | ResourceKind::VolumeSnapshot
            | ResourceKind::Node => "--all-namespaces".to_owned(),
            ResourceKind::Task(_)
            | ResourceKind::Backup
            | ResourceKind::Restore
            | ResourceKind::DaemonSet
            | ResourceKind::Deployment
            | ResourceKind::ConfigMap
            | ResourceKind::Event => format!("--namespace={namespace}"),
        };
        let name = format!("{}.{}", resource.plural(), resource.group());
        let run = user
            .kubectl(&[
                "get",
                name.trim_end_matches('.'),
                &place,
                "--output=json",
                "--show-managed-fields",
            ])
            .expect_code(0);
        std::fs::write(
            folder.join(format!("{}.json", resource.plural())),
            run.stdout,
        )
        .expect("the home is ours");
    }
    folder
}

#[test]
fn the_same_instant_read_into_files_gives_the_same_findings() {
    let plane = Plane::Still.lock();
    let user = User::new(&plane.kubeconfig());
    let diagnose = |more: &[&str]| {
        let mut arguments = vec!["diagnose", "-o", "json"];
        arguments.extend(PATIENT);
        arguments.extend(more);
        user.plugin(&arguments)
    };
    for case in cases("scenarios") {
        if EXCEPTIONS.iter().any(|(name, _)| *name == case.name) {
            continue;
        }
        let _moved = play(&plane, &case);
        // What a capture holds beside objects is read by a diagnosis too.
        let live = diagnose(&[]).json();
        let file = user.file("capture.json");
        let _not_there = std::fs::remove_file(&file);
        let path = file.to_string_lossy();
        user.plugin(&[
            "capture",
            "--no-redact",
            "-f",
            &path,
            PATIENT[0],
            PATIENT[1],
        ])
        .expect_code(0);
        let captured = diagnose(&["--from", &path, "--now", text(&live, "takenAt")]);
        assert_eq!(
            essence(&captured.json()),
            essence(&live),
            "{}: a capture\n{captured}\nlive: {live:#}",
            case.name
        );

        // kubectl prints objects and nothing else.
        let live = diagnose(&["--logs", "never", "--metrics", "never"]).json();
        let (now, namespace) = (text(&live, "takenAt"), text(&live, "namespace"));
        let folder = read_with_kubectl(&user, namespace);
        let path = folder.to_string_lossy();
        let read = diagnose(&["--from", &path, "--now", now, "-n", namespace]);
        assert_eq!(
            outline(&read.json()),
            outline(&live),
            "{}: what kubectl prints\n{read}\nlive: {live:#}",
            case.name
        );
    }
}
