//! deploy/kubernetes: what is applied to a cluster is what this program says and takes.

use std::path::Path;

use clap::Parser as _;
use serde_json::Value;

use super::super::App;
use super::call;
use crate::report::{FindingId, RoleKind, role_yaml};

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kubernetes");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn documents(name: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&text(name)).unwrap()
}

/// Returns the pod of a `CronJob`.
fn pod(name: &str) -> Value {
    let [cron_job] = documents(name).try_into().unwrap();
    assert_eq!(cron_job["kind"], "CronJob");
    cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"].clone()
}

fn parses(words: &[&str]) {
    let words = std::iter::once("kubectl-velero_slots").chain(words.iter().copied());
    if let Err(error) = App::try_parse_from(words) {
        panic!("{error}");
    }
}

/// Returns the file with the `Role` and the `ClusterRole` that are printed now.
fn with_the_role(file: &str) -> String {
    let (account, rest) = file.split_once("---\n").unwrap();
    let bindings = rest
        .find("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding")
        .unwrap();
    let printed = role_yaml(RoleKind::Viewer, "velero");
    format!("{account}---\n{printed}{}", &rest[bindings..])
}

#[test]
#[ignore = "writes deploy/kubernetes/rbac.yaml after a change of rights"]
fn writes_the_role() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kubernetes/rbac.yaml");
    std::fs::write(path, with_the_role(&text("rbac.yaml"))).unwrap();
}

#[test]
fn the_role_is_the_one_that_auth_prints() {
    // After a change of rights: `cargo test --lib writes_the_role -- --ignored`.
    assert_eq!(text("rbac.yaml"), with_the_role(&text("rbac.yaml")));
    let bound: Vec<Value> = documents("rbac.yaml")
        .into_iter()
        .filter(|object| !object["roleRef"].is_null())
        .collect();
    assert_eq!(bound.len(), 2);
    for binding in bound {
        assert_eq!(binding["roleRef"]["name"], "velero-slots-viewer");
        assert_eq!(binding["subjects"][0]["name"], "velero-slots");
        assert_eq!(binding["subjects"][0]["namespace"], "velero");
    }
}

#[test]
fn the_pods_may_do_as_little_as_possible() {
    for name in ["cronjob.yaml", "cronjob-metrics.yaml"] {
        let pod = pod(name);
        assert_eq!(pod["serviceAccountName"], "velero-slots", "{name}");
        assert_eq!(pod["restartPolicy"], "Never", "{name}");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{name}");
        assert_eq!(
            pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault",
            "{name}"
        );
        let containers = pod["containers"].as_array().unwrap();
        assert_eq!(containers.len(), 1, "{name}");
        for container in containers {
            let context = &container["securityContext"];
            assert_eq!(context["allowPrivilegeEscalation"], false, "{name}");
            assert_eq!(context["readOnlyRootFilesystem"], true, "{name}");
            assert_eq!(context["capabilities"]["drop"][0], "ALL", "{name}");
            assert!(
                container["resources"]["limits"]["memory"].is_string(),
                "{name}"
            );
        }
    }
}

#[test]
fn the_arguments_are_ones_that_this_program_takes() {
    let of_job = pod("cronjob.yaml");
    let args: Vec<&str> = of_job["containers"][0]["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    assert_eq!(args[0], "diagnose");
    parses(&args);

    let of_metrics = pod("cronjob-metrics.yaml");
    let script = of_metrics["containers"][0]["args"][0].as_str().unwrap();
    let line = script
        .lines()
        .find_map(|line| line.strip_prefix("kubectl-velero_slots "))
        .unwrap();
    let words: Vec<&str> = line
        .split(" > ")
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    assert!(words.ends_with(&["-o", "openmetrics"]), "{words:?}");
    parses(&words);
}

#[test]
fn the_alerts_ask_for_metrics_and_labels_that_are_written() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/rules/prepared-stuck/fires-with-deadline/objects");
    let case = case.to_string_lossy();
    let (_, metrics, err) = call(&["diagnose", "--from", &case, "-o", "openmetrics"]);
    assert!(metrics.ends_with("# EOF\n"), "{err}");
    let [rule] = documents("alerts.yaml").try_into().unwrap();
    let rules = rule["spec"]["groups"][0]["rules"].as_array().unwrap();
    let docs =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/alerting.md"))
            .unwrap();
    for rule in rules {
        let alert = rule["alert"].as_str().unwrap();
        assert!(docs.contains(&format!("| `{alert}` |")), "{alert}");
        let expr = rule["expr"].as_str().unwrap();
        let words: Vec<&str> = expr
            .split(|c: char| !c.is_ascii_lowercase() && c != '_')
            .filter(|word| word.starts_with("velero_slots_"))
            .collect();
        assert!(!words.is_empty(), "{alert}");
        for word in words {
            assert!(
                metrics.contains(&format!("\n# TYPE {word} gauge\n")),
                "{alert}: {word}"
            );
        }
        // A matcher in an expression is a label and value of some series, or one that another finding has.
        for matcher in expr
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split('}').next())
        {
            let known = metrics.contains(matcher) || matcher == "severity=\"warning\"";
            assert!(known, "{alert}: {matcher}");
        }
        for text in rule["annotations"].as_object().unwrap().values() {
            let text = text.as_str().unwrap();
            let Some(command) = text.strip_prefix("kubectl velero-slots explain ") else {
                continue;
            };
            assert_eq!(command, "{{ $labels.id }}", "{alert}");
            for id in FindingId::ALL {
                parses(&["explain", id.as_str()]);
            }
        }
    }
}

#[test]
fn the_docs_name_the_files_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_to_string(root.join("docs/alerting.md")).unwrap();
    for entry in std::fs::read_dir(root.join("deploy/kubernetes")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(
            docs.contains(&format!("(../deploy/kubernetes/{name})")),
            "{name}"
        );
    }
}
