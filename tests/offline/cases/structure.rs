//! Checks cases without running them: a case that refers to nothing proves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Case, entries, list, strings, text};

/// The finding ids of the contract.
const FINDING_IDS: [&str; 31] = [
    "accept-blocked",
    "agent-crashloop",
    "agent-label-missing",
    "agent-restarted",
    "backup-waits-finished-tasks",
    "cancel-stuck",
    "completion-stuck",
    "config-drift",
    "config-ignored",
    "deadline-at-risk",
    "expose-blocked",
    "expose-lost",
    "foreign-data-mover",
    "known-bug",
    "mover-pod-lost",
    "no-node-agent",
    "orphaned-tasks",
    "owner-gone",
    "phase-rewound",
    "prepare-missed",
    "prepare-queue-full",
    "prepare-queue-stale",
    "prepared-doomed",
    "prepared-stuck",
    "recent-failures",
    "restore-target-missing",
    "restore-target-not-ready",
    "slot-queue",
    "slots-leaked",
    "transfer-stalled",
    "version-skew",
];

/// Folders of `rules/` that gather cases of many findings.
const GATHERINGS: [&str; 2] = ["false-alarms", "precedence"];

/// The kinds that a case may hold, by API group.
const KINDS: [(&str, &str); 14] = [
    ("velero.io", "DataUpload"),
    ("velero.io", "DataDownload"),
    ("velero.io", "PodVolumeBackup"),
    ("velero.io", "PodVolumeRestore"),
    ("velero.io", "Backup"),
    ("velero.io", "Restore"),
    ("", "Pod"),
    ("", "Node"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("", "ConfigMap"),
    ("", "PersistentVolumeClaim"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    ("", "Event"),
];

/// The fields of an expectation; another one is a typing error.
const FIELDS: [&str; 14] = [
    "now",
    "why",
    "args",
    "verdict",
    "exit",
    "findings",
    "also",
    "absent",
    "gaps",
    "namespace",
    "prepareQueue",
    "status",
    "replay",
    "stderr",
];

/// The fields of an expected finding.
const FINDING_FIELDS: [&str; 12] = [
    "id",
    "cause",
    "severity",
    "confidence",
    "confidenceAtMost",
    "node",
    "tasks",
    "taskCount",
    "blockedBy",
    "affects",
    "since",
    "deadline",
];

/// What a case's objects are called: `Kind/name`, as expectations name them, and `Kind/namespace/name`.
type Names = BTreeSet<String>;

/// Returns what is wrong with a case.
pub(crate) fn check_structure(case: &Case) -> Vec<String> {
    let mut complaints = Vec::new();
    let names = read_objects(&case.folder.join("objects"), &mut complaints);
    check_fields(case, &mut complaints);
    check_findings(case, &names, &mut complaints);
    check_absent(case, &mut complaints);
    for (task, _) in entries(&case.expect, "replay") {
        require_object(&names, task, "replay", &mut complaints);
    }
    if let Some(rule) = rule_of(case) {
        check_folder_name(case, rule, &mut complaints);
    }
    if case.name.starts_with("scenarios/") && !case.folder.join("scenario.md").is_file() {
        complaints.push("a scenario tells its story in scenario.md".to_owned());
    }
    complaints
}

/// Returns the findings that lack a case in which they fire, or their nearest miss.
pub(crate) fn check_coverage(cases: &[Case]) -> Vec<String> {
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in cases {
        if let Some(rule) = rule_of(case) {
            let leaf = leaf(case);
            let entry = seen.entry(rule).or_default();
            for kind in ["fires", "quiet"] {
                if leaf.starts_with(kind) {
                    entry.insert(kind);
                }
            }
        }
    }
    let mut missing = Vec::new();
    for (rule, kinds) in seen {
        for kind in ["fires", "quiet"] {
            if !kinds.contains(kind) {
                missing.push(format!("rules/{rule} has no case {kind}"));
            }
        }
    }
    missing
}

/// Returns the finding id whose folder the case is in.
fn rule_of(case: &Case) -> Option<&str> {
    let rule = case.name.strip_prefix("rules/")?.split('/').next()?;
    (!GATHERINGS.contains(&rule)).then_some(rule)
}

fn leaf(case: &Case) -> &str {
    case.name.rsplit('/').next().unwrap_or_default()
}

fn check_folder_name(case: &Case, rule: &str, complaints: &mut Vec<String>) {
    if !FINDING_IDS.contains(&rule) {
        complaints.push(format!("{rule} is no finding id"));
    }
    let fires = case
        .findings()
        .iter()
        .any(|finding| text(finding, "id") == rule);
    let forbidden = strings(&case.expect, "absent")
        .iter()
        .any(|id| id.split('/').next() == Some(rule));
    let leaf = leaf(case);
    if leaf.starts_with("fires") && !fires {
        complaints.push(format!("a case {leaf} expects {rule}"));
    } else if leaf.starts_with("quiet") && (fires || !forbidden) {
        complaints.push(format!("a case {leaf} names {rule} under absent"));
    } else if !leaf.starts_with("fires") && !leaf.starts_with("quiet") {
        complaints.push("the folder's name starts with fires or quiet".to_owned());
    }
}

fn check_fields(case: &Case, complaints: &mut Vec<String>) {
    let Some(fields) = case.expect.as_object() else {
        complaints.push("expect.yaml is a map".to_owned());
        return;
    };
    for field in fields.keys() {
        if !FIELDS.contains(&field.as_str()) {
            complaints.push(format!("unknown field {field} in expect.yaml"));
        }
    }
    for field in ["now", "why", "verdict", "exit", "findings"] {
        if !fields.contains_key(field) {
            complaints.push(format!("expect.yaml has no {field}"));
        }
    }
    if text(&case.expect, "now")
        .parse::<jiff::Timestamp>()
        .is_err()
    {
        complaints.push("now is no RFC 3339 time".to_owned());
    }
    if case.why().len() < 20 {
        complaints.push("why tells the story in a sentence".to_owned());
    }
    let says_nothing = case.findings().is_empty()
        && strings(&case.expect, "absent").is_empty()
        && entries(&case.expect, "status").next().is_none()
        && entries(&case.expect, "replay").next().is_none();
    if says_nothing {
        complaints.push("an expectation of nothing: name what must be absent".to_owned());
    }
}

fn check_findings(case: &Case, names: &Names, complaints: &mut Vec<String>) {
    for finding in case.findings() {
        let id = text(finding, "id");
        if !FINDING_IDS.contains(&id) {
            complaints.push(format!("unknown finding id {id:?}"));
        }
        for (field, _) in finding.as_object().into_iter().flatten() {
            if !FINDING_FIELDS.contains(&field.as_str()) {
                complaints.push(format!("unknown field {field} of finding {id}"));
            }
        }
        if text(finding, "severity").is_empty() {
            complaints.push(format!("finding {id} has no severity"));
        }
        // A log may name a culprit that no object shows.
        let by_objects =
            text(finding, "cause") != "worker-blocked" && text(finding, "cause") != "ghost-slot";
        let fields: &[&str] = if by_objects {
            &["tasks", "blockedBy", "affects"]
        } else {
            &["tasks", "affects"]
        };
        for field in fields {
            for name in strings(finding, field) {
                require_object(names, name, field, complaints);
            }
        }
    }
}

fn check_absent(case: &Case, complaints: &mut Vec<String>) {
    let also = strings(&case.expect, "also");
    for id in strings(&case.expect, "absent").iter().chain(&also) {
        let (id, cause) = id
            .split_once('/')
            .map_or((*id, None), |(id, cause)| (id, Some(cause)));
        if !FINDING_IDS.contains(&id) {
            complaints.push(format!("unknown finding id {id:?}"));
        }
        let expected = case
            .findings()
            .iter()
            .any(|finding| text(finding, "id") == id);
        if expected && cause.is_none() && !also.contains(&id) {
            complaints.push(format!("{id} is both expected and absent"));
        }
    }
}

fn require_object(names: &Names, name: &str, wanted_by: &str, complaints: &mut Vec<String>) {
    if !names.contains(name) {
        complaints.push(format!(
            "{wanted_by} names {name}, which is not in objects/"
        ));
    }
}

fn read_objects(folder: &Path, complaints: &mut Vec<String>) -> Names {
    let mut names = Names::new();
    for path in files(folder) {
        let shown = path.strip_prefix(folder).unwrap_or(&path).display();
        let Ok(body) = fs::read_to_string(&path) else {
            complaints.push(format!("objects/{shown} cannot be read"));
            continue;
        };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("log") => {}
            Some("yaml" | "json") => match documents(&path, &body) {
                Ok(documents) => {
                    for document in &documents {
                        read_object(document, &mut names, complaints);
                    }
                }
                Err(error) => complaints.push(format!("objects/{shown}: {error}")),
            },
            _ => complaints.push(format!("objects/{shown} is neither YAML, JSON nor a log")),
        }
    }
    if names.is_empty() {
        complaints.push("objects/ holds no object".to_owned());
    }
    names
}

fn documents(path: &Path, body: &str) -> Result<Vec<Value>, String> {
    if path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        return serde_json::from_str(body)
            .map(|document| vec![document])
            .map_err(|error| error.to_string());
    }
    serde_saphyr::from_multiple(body).map_err(|error| error.to_string())
}

/// Files below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read_object(object: &Value, names: &mut Names, complaints: &mut Vec<String>) {
    let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    match kind {
        "List" => {
            for item in list(object, "items") {
                read_object(item, names, complaints);
            }
        }
        // A capture of ours: the objects stand in its listings. Two captures are two looks at the same
        // objects; within one each is there once.
        "Capture" => {
            let mut seen = Names::new();
            for listing in list(object, "listings") {
                for item in list(listing, "items") {
                    read_object(item, &mut seen, complaints);
                }
            }
            names.extend(seen);
        }
        _ => {
            let meta = object.get("metadata").unwrap_or(&Value::Null);
            let (namespace, name) = (text(meta, "namespace"), text(meta, "name"));
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            if api_version.is_empty() || name.is_empty() {
                complaints.push(format!("a {kind:?} without apiVersion or metadata.name"));
            }
            if !KINDS.contains(&(group, kind)) {
                complaints.push(format!("unknown kind {kind:?} of {api_version:?}"));
            }
            names.insert(format!("{kind}/{name}"));
            if !names.insert(format!("{kind}/{namespace}/{name}")) {
                complaints.push(format!("{kind} {namespace}/{name} is there twice"));
            }
        }
    }
}
