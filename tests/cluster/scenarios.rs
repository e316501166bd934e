//! The cases of `fixtures/`, played into a real API server: live, the plugin says of them what it says
//! offline.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use velero_slots::capture::ResourceKind;

use crate::cases::{Case, compare, discover, list, strings, text};
use crate::control_plane::{ControlPlane, Plane};
use crate::player::{Moment, shift};
use crate::plugin::{Run, User};

/// Lays a case so that its `now` is the server's, and moves its expectation with it.
fn play(plane: &ControlPlane, case: &Case) -> Case {
    let now: Timestamp = text(&case.expect, "now")
        .parse()
        .unwrap_or_else(|error| panic!("{}: now: {error}", case.name));
    let by = SignedDuration::from_secs(plane.api().now().as_second() - now.as_second());
    Moment::read(&case.folder.join("objects"))
        .later(by)
        .lay(plane);
    let mut expect = case.expect.clone();
    shift(&mut expect, by);
    Case {
        name: case.name.clone(),
        folder: case.folder.clone(),
        expect,
    }
}

fn cases(root: &str) -> Vec<Case> {
    let cases = discover(Path::new(env!("CARGO_MANIFEST_DIR")))
        .unwrap_or_else(|complaints| panic!("{}", complaints.join("\n")));
    let mut cases: Vec<Case> = cases
        .into_iter()
        .filter(|case| case.name.starts_with(root))
        .collect();
    cases.retain(|case| why_not_live(case).is_none());
    assert!(!cases.is_empty(), "there are cases below {root}");
    cases
}

/// Returns why a case cannot be told by a cluster.
fn why_not_live(case: &Case) -> Option<&'static str> {
    if case.folder.join("objects/capture.json").is_file() {
        return Some("a refusal is part of the story: see the tests of rights");
    }
    None
}

/// Runs a command live. Returns its document with the head of an offline one, since the head is the one
/// thing that differs.
fn live(user: &User, case: &mut Case, command: &str) -> (Run, Value) {
    let mut arguments = vec![command, "-o", "json"];
    arguments.extend(strings(&case.expect, "args"));
    let owned: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let arguments: Vec<&str> = owned.iter().map(String::as_str).collect();
    let run = user.plugin(&arguments);
    let mut document = run.json();
    assert_eq!(
        document["source"]["type"], "cluster",
        "{command} says where it looked\n{run}"
    );
    assert_eq!(document["source"]["nowFrom"], "server", "{run}");
    case.expect["now"] = document["takenAt"].clone();
    document["source"] = json!({"type": "files", "nowFrom": "flag"});
    (run, document)
}

fn check(user: &User, case: &mut Case) -> Vec<String> {
    let (run, document) = live(user, case, "diagnose");
    let mut complaints = compare::diagnosis(case, &document);
    let code = case.expect["exit"].as_i64();
    if run.code.map(i64::from) != code {
        complaints.push(format!("exit: expected {code:?}, got {:?}", run.code));
    }
    if case.expect.get("status").is_some() || case.expect.get("prepareQueue").is_some() {
        let (_, document) = live(user, case, "status");
        complaints.extend(compare::status(case, &document));
    }
    if case.expect.get("replay").is_some() {
        let (_, document) = live(user, case, "replay");
        complaints.extend(compare::replay(case, &document));
    }
    complaints
}

fn all_hold(root: &str) {
    let plane = Plane::Still.lock();
    let user = User::new(&plane.kubeconfig());
    let mut complaints = Vec::new();
    let cases = cases(root);
    for case in &cases {
        plane.etcd().clear();
        let mut played = play(&plane, case);
        let found = check(&user, &mut played);
        if !found.is_empty() {
            complaints.push(format!("{}\n    {}", case.name, found.join("\n    ")));
        }
    }
    assert!(
        complaints.is_empty(),
        "{} of {} cases differ live:\n{}",
        complaints.len(),
        cases.len(),
        complaints.join("\n")
    );
}

#[test]
fn every_scenario_is_diagnosed_live_as_it_is_offline() {
    all_hold("scenarios");
}

#[test]
fn every_case_of_every_finding_is_diagnosed_live_as_it_is_offline() {
    all_hold("rules");
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

/// Returns what must be the same even where the input lacks whole kinds, of which kubectl prints an empty
/// list without a kind.
fn outline(document: &Value) -> Vec<Value> {
    let fields = [
        "id",
        "cause",
        "severity",
        "node",
        "tasks",
        "blockedBy",
        "affects",
        "since",
    ];
    list(document, "findings")
        .iter()
        .map(|finding| {
            fields
                .iter()
                .map(|&field| (field.to_owned(), finding[field].clone()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        })
        .collect()
}

/// Reads with the real kubectl what the plugin reads, into a folder.
fn read_with_kubectl(user: &User, namespace: &str) -> std::path::PathBuf {
    let folder = user.file("read-with-kubectl");
    let _not_there = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("the home is ours");
    for resource in ResourceKind::ALL {
        // Volumes and pods that restores write into are in other namespaces.
        let place = match resource {
            ResourceKind::Pod | ResourceKind::PersistentVolumeClaim | ResourceKind::Node => {
                "--all-namespaces".to_owned()
            }
            ResourceKind::Task(_)
            | ResourceKind::Backup
            | ResourceKind::Restore
            | ResourceKind::DaemonSet
            | ResourceKind::Deployment
            | ResourceKind::ConfigMap
            | ResourceKind::VolumeSnapshot
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
    for case in cases("scenarios") {
        plane.etcd().clear();
        let _moved = play(&plane, &case);
        let live = user.plugin(&["diagnose", "-o", "json"]).json();
        let (now, namespace) = (text(&live, "takenAt"), text(&live, "namespace"));

        let file = user.file("capture.json");
        let _not_there = std::fs::remove_file(&file);
        let path = file.to_string_lossy();
        user.plugin(&["capture", "--no-redact", "-f", &path])
            .expect_code(0);
        let captured = user.plugin(&["diagnose", "--from", &path, "--now", now, "-o", "json"]);
        assert_eq!(
            essence(&captured.json()),
            essence(&live),
            "{}: a capture\n{captured}",
            case.name
        );

        let folder = read_with_kubectl(&user, namespace);
        let path = folder.to_string_lossy();
        let read = user.plugin(&[
            "diagnose", "--from", &path, "--now", now, "-n", namespace, "-o", "json",
        ]);
        assert_eq!(
            outline(&read.json()),
            outline(&live),
            "{}: what kubectl prints\n{read}",
            case.name
        );
    }
}
