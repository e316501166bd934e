//! Compares what a case expects with what the plugin says. A field that the case does not name is not
//! compared; `null` means that it must be null.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Case, entries, list, strings, text};

/// Returns where a diagnosis differs.
pub(crate) fn diagnosis(case: &Case, document: &Value) -> Vec<String> {
    let mut complaints = head(case, document, "Diagnosis");
    let verdict = case.expect.get("verdict").and_then(Value::as_str);
    if let Some(verdict) = verdict
        && verdict != text(document, "verdict")
    {
        complaints.push(format!(
            "verdict: expected {verdict}, got {}; gaps: {}",
            text(document, "verdict"),
            gaps(document)
        ));
    }
    let namespace = text(&case.expect, "namespace");
    if !namespace.is_empty() && namespace != text(document, "namespace") {
        complaints.push(format!(
            "namespace: expected {namespace}, got {}",
            text(document, "namespace")
        ));
    }
    for resource in strings(&case.expect, "gaps") {
        let there = list(document, "gaps")
            .iter()
            .any(|gap| text(gap, "resource") == resource);
        if !there {
            complaints.push(format!("no gap for {resource}; gaps: {}", gaps(document)));
        }
    }
    complaints.extend(findings(case, list(document, "findings")));
    complaints.extend(order(list(document, "findings")));
    complaints.extend(
        list(document, "findings")
            .iter()
            .filter_map(|finding| age(document, finding)),
    );
    complaints
}

/// `forSeconds` is `takenAt` minus `since`, and null with it.
fn age(document: &Value, finding: &Value) -> Option<String> {
    let seconds = |time: &str| {
        time.parse::<jiff::Timestamp>()
            .ok()
            .map(jiff::Timestamp::as_second)
    };
    let since = seconds(text(finding, "since"));
    let expected = since.and_then(|since| Some(seconds(text(document, "takenAt"))? - since));
    let got = finding.get("forSeconds").and_then(Value::as_i64);
    (expected != got).then(|| format!("forSeconds does not fit since: {}", one_line(finding)))
}

fn gaps(document: &Value) -> String {
    let gaps: Vec<String> = list(document, "gaps")
        .iter()
        .map(|gap| format!("{} {}", text(gap, "resource"), text(gap, "reason")))
        .collect();
    gaps.join(", ")
}

fn head(case: &Case, document: &Value, kind: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let head = json!({
        "apiVersion": "velero-slots/v1",
        "kind": kind,
        "takenAt": text(&case.expect, "now"),
        "source": { "type": "files", "nowFrom": "flag" },
    });
    difference("document", &head, Some(document), &mut complaints);
    complaints
}

fn findings(case: &Case, got: &[Value]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut left: Vec<&Value> = got.iter().collect();
    for expected in case.findings() {
        let id = text(expected, "id");
        let same: Vec<usize> = (0..left.len())
            .filter(|&at| left.get(at).is_some_and(|found| text(found, "id") == id))
            .collect();
        let best = same
            .into_iter()
            .filter_map(|at| left.get(at).map(|found| (finding(expected, found), at)))
            .min_by_key(|(differences, _)| differences.len());
        match best {
            None => complaints.push(format!("missing: {}", one_line(expected))),
            Some((differences, at)) => {
                let found = left.remove(at);
                if !differences.is_empty() {
                    complaints.push(format!("{id}: {}", differences.join("; ")));
                    complaints.push(format!("  it says: {}", text(found, "summary")));
                }
            }
        }
    }
    let absent = strings(&case.expect, "absent");
    for found in got {
        let id = text(found, "id");
        let with_cause = format!("{id}/{}", text(found, "cause"));
        if absent.iter().any(|name| *name == id || *name == with_cause) {
            complaints.push(format!("must be absent: {}", one_line(found)));
        }
    }
    let any = text(&case.expect, "also") == "any";
    let also = strings(&case.expect, "also");
    for found in left {
        let id = text(found, "id");
        if !any && !also.contains(&id) && !absent.contains(&id) {
            complaints.push(format!("not expected: {}", one_line(found)));
        }
    }
    complaints
}

fn one_line(finding: &Value) -> String {
    let cause = finding.get("cause").and_then(Value::as_str);
    format!(
        "{}{} {} node {} tasks [{}] {}",
        text(finding, "id"),
        cause.map_or(String::new(), |cause| format!(" ({cause})")),
        text(finding, "severity"),
        finding.get("node").map_or("?".to_owned(), shown),
        names(list(finding, "tasks")).join(", "),
        text(finding, "summary")
    )
}

/// Returns the differences between an expected finding and one that has its id.
fn finding(expected: &Value, got: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    for (field, wanted) in expected.as_object().into_iter().flatten() {
        match field.as_str() {
            "id" => {}
            "tasks" | "blockedBy" | "affects" => {
                let wanted: BTreeSet<String> = names(wanted.as_array().map_or(&[], Vec::as_slice))
                    .into_iter()
                    .collect();
                let found: BTreeSet<String> = names(list(got, field)).into_iter().collect();
                if wanted != found {
                    differences.push(format!(
                        "{field}: expected {}, got {}",
                        few(&wanted),
                        few(&found)
                    ));
                }
            }
            "taskCount" => {
                let found = list(got, "tasks").len() as u64;
                if wanted.as_u64() != Some(found) {
                    differences.push(format!("tasks: expected {wanted} of them, got {found}"));
                }
            }
            "confidenceAtMost" => {
                let found = text(got, "confidence");
                if confidence(found) > confidence(wanted.as_str().unwrap_or_default()) {
                    differences.push(format!(
                        "confidence: expected at most {}, got {found}",
                        shown(wanted)
                    ));
                }
            }
            _ => difference(field, wanted, got.get(field), &mut differences),
        }
    }
    differences
}

/// Compares a value; of a map only the fields that are expected.
fn difference(name: &str, wanted: &Value, got: Option<&Value>, differences: &mut Vec<String>) {
    match (wanted, got) {
        (Value::Object(fields), Some(got @ Value::Object(_))) => {
            for (field, wanted) in fields {
                difference(
                    &format!("{name}.{field}"),
                    wanted,
                    got.get(field),
                    differences,
                );
            }
        }
        (wanted, got) if Some(wanted) == got => {}
        (wanted, got) => differences.push(format!(
            "{name}: expected {}, got {}",
            shown(wanted),
            got.map_or("nothing".to_owned(), shown)
        )),
    }
}

fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Returns references as `Kind/name`, whether they are written so or as objects.
fn names(references: &[Value]) -> Vec<String> {
    references
        .iter()
        .map(|reference| {
            reference.as_str().map_or_else(
                || format!("{}/{}", text(reference, "kind"), text(reference, "name")),
                ToOwned::to_owned,
            )
        })
        .collect()
}

fn few(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().map(String::as_str).take(8).collect();
    let more = names.len().saturating_sub(shown.len());
    if more == 0 {
        format!("[{}]", shown.join(", "))
    } else {
        format!("[{}, … {more} more]", shown.join(", "))
    }
}

fn confidence(name: &str) -> u8 {
    match name {
        "possible" => 0,
        "likely" => 1,
        _ => 2,
    }
}

/// The order of findings is part of the contract: severity, id, node, first task.
fn order(findings: &[Value]) -> Vec<String> {
    let key = |finding: &Value| {
        let severity = match text(finding, "severity") {
            "critical" => 0,
            "warning" => 1,
            _ => 2,
        };
        (severity, text(finding, "id").to_owned())
    };
    let mut complaints = Vec::new();
    for (before, after) in findings.iter().zip(findings.iter().skip(1)) {
        let nodes = (
            before.get("node").and_then(Value::as_str),
            after.get("node").and_then(Value::as_str),
        );
        let by_node = match nodes {
            (Some(first), Some(second)) => first <= second,
            (None, _) | (_, None) => true,
        };
        let (first, second) = (key(before), key(after));
        if first > second || (first == second && !by_node) {
            complaints.push(format!(
                "order: {} stands before {}",
                one_line(before),
                one_line(after)
            ));
        }
    }
    complaints
}

/// Returns where the rows of `status` differ.
pub(crate) fn status(case: &Case, document: &Value) -> Vec<String> {
    let mut complaints = head(case, document, "Status");
    for (name, wanted) in entries(&case.expect, "status") {
        let row = list(document, "nodes")
            .iter()
            .find(|row| text(row, "name") == name);
        let Some(row) = row else {
            complaints.push(format!("status: no row for {name}"));
            continue;
        };
        for (field, wanted) in wanted.as_object().into_iter().flatten() {
            let got = match field.as_str() {
                "limit" => row.pointer("/limit/value"),
                "held" => row.pointer("/slots/held"),
                "free" => row.pointer("/slots/free"),
                "leaked" => row.pointer("/slots/leakedAtLeast"),
                other => row.get(other),
            };
            let mut differences = Vec::new();
            difference(field, wanted, got, &mut differences);
            complaints.extend(
                differences
                    .into_iter()
                    .map(|difference| format!("status {name} {difference}")),
            );
        }
    }
    if let Some(wanted) = case.expect.get("prepareQueue") {
        difference(
            "prepareQueue",
            wanted,
            document.get("prepareQueue"),
            &mut complaints,
        );
    }
    complaints
}

/// Returns where the decisions of `replay` differ.
pub(crate) fn replay(case: &Case, document: &Value) -> Vec<String> {
    let mut complaints = head(case, document, "Replay");
    for (name, wanted) in entries(&case.expect, "replay") {
        let decision = list(document, "decisions").iter().find(|decision| {
            decision.get("task").is_some_and(|task| {
                format!("{}/{}", text(task, "kind"), text(task, "name")) == *name
            })
        });
        let Some(decision) = decision else {
            complaints.push(format!("replay: no decision for {name}"));
            continue;
        };
        let mut differences = Vec::new();
        for (field, wanted) in wanted.as_object().into_iter().flatten() {
            difference(field, wanted, decision.get(field), &mut differences);
        }
        complaints.extend(
            differences
                .into_iter()
                .map(|difference| format!("replay {name} {difference}")),
        );
    }
    complaints
}
