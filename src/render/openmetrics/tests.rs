//! A strict reader of the format, and what it reads.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::tests::samples::{
    cluster, diagnosis, du, finding, node, refused, status, unread,
};
use super::families;
use crate::report::{
    DiagnosisReport, FindingId, GapReason, NodeVerdict, Severity, StatusReport, TaskCount, Verdict,
};
use crate::velero::TaskKind;

fn of_status(report: &StatusReport) -> String {
    let mut out = Vec::new();
    super::status(&mut out, report).unwrap();
    String::from_utf8(out).unwrap()
}

fn of_diagnosis(report: &DiagnosisReport) -> String {
    let mut out = Vec::new();
    super::diagnosis(&mut out, report).unwrap();
    String::from_utf8(out).unwrap()
}

/// A family as it is written, by its series.
type Series = BTreeMap<BTreeMap<String, String>, i64>;

/// Reads a text by the rules of `OpenMetrics` 1.0 (the parts that are used here), and refuses what Prometheus'
/// text format, or `node_exporter`'s textfile collector, would refuse.
fn read(text: &str) -> BTreeMap<String, Series> {
    assert!(text.ends_with("\n# EOF\n"), "the end is marked: {text}");
    assert_eq!(text.matches("# EOF").count(), 1);
    assert!(!text.contains('\r'));
    let mut all: BTreeMap<String, Series> = BTreeMap::new();
    let mut family = String::new();
    let mut said: BTreeSet<&str> = BTreeSet::new();
    for line in text.strip_suffix("# EOF\n").unwrap().lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let keyword = words.next().unwrap();
            let name = words.next().unwrap();
            let value = words.next().unwrap();
            if name != family {
                assert!(!all.contains_key(name), "{name} is in one piece");
                assert!(is_name(name), "{name}");
                name.clone_into(&mut family);
                all.insert(name.to_owned(), Series::new());
                said.clear();
            }
            assert!(said.insert(keyword), "{keyword} of {name} is said once");
            assert!(all[name].is_empty(), "{keyword} of {name} comes first");
            match keyword {
                // The only type that both formats have and that is used.
                "TYPE" => assert_eq!(value, "gauge"),
                "UNIT" => assert!(name.ends_with(&format!("_{value}")), "{name}"),
                "HELP" => assert!(!value.contains(['\\', '"']), "{value}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, labels, value) = sample(line);
        assert_eq!(name, family, "the series stand below their family");
        assert!(said.contains("TYPE") && said.contains("HELP"));
        let series = all.get_mut(&family).unwrap();
        assert_eq!(series.insert(labels, value), None, "{line} is said once");
    }
    for (name, series) in &all {
        assert!(!series.is_empty(), "{name} has series");
    }
    all
}

fn is_name(text: &str) -> bool {
    text.starts_with("velero_slots_")
        && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        && ![
            "_total", "_count", "_sum", "_bucket", "_created", "_gcount", "_gsum",
        ]
        .iter()
        .any(|suffix| text.ends_with(suffix))
}

fn sample(line: &str) -> (&str, BTreeMap<String, String>, i64) {
    let end = line.find(['{', ' ']).unwrap();
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest),
        None => (BTreeMap::new(), rest),
    };
    // A value, and no timestamp.
    let value = rest.strip_prefix(' ').unwrap();
    (name, labels, value.parse().unwrap())
}

fn labels(mut rest: &str) -> (BTreeMap<String, String>, &str) {
    let mut found = BTreeMap::new();
    loop {
        let (name, value) = rest.split_once("=\"").unwrap();
        assert!(
            !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
            "{name}"
        );
        let mut text = String::new();
        let mut chars = value.char_indices();
        let end = loop {
            let (at, c) = chars.next().unwrap();
            match c {
                '"' => break at,
                '\\' => match chars.next().unwrap().1 {
                    'n' => text.push('\n'),
                    c @ ('\\' | '"') => text.push(c),
                    c => panic!("\\{c} is no escape"),
                },
                c => text.push(c),
            }
        };
        assert_eq!(found.insert(name.to_owned(), text), None);
        rest = &value[end + 1..];
        match rest.split_at(1) {
            (",", more) => rest = more,
            ("}", more) => return (found, more),
            (other, _) => panic!("{other}"),
        }
    }
}

/// Returns the value of the series that has at least these labels; there is exactly one.
fn value(all: &BTreeMap<String, Series>, name: &str, labels: &[(&str, &str)]) -> i64 {
    let found: Vec<i64> = all[name]
        .iter()
        .filter(|(of, _)| {
            labels
                .iter()
                .all(|(label, text)| of.get(*label).is_some_and(|value| value == text))
        })
        .map(|(_, value)| *value)
        .collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}");
    found[0]
}

fn counted(node: Option<&str>, kind: TaskKind, phase: &'static str, number: usize) -> TaskCount {
    TaskCount {
        node: node.map(str::to_owned),
        kind,
        phase,
        number,
    }
}

fn everything() -> DiagnosisReport {
    let mut row = finding(FindingId::PreparedStuck, Severity::Critical, "worker-b");
    row.finding.tasks.push(du("du-a9"));
    let report = diagnosis(
        Verdict::Stuck,
        vec![
            finding(FindingId::PreparedStuck, Severity::Critical, "worker-b"),
            row,
        ],
    );
    let mut nodes = cluster(3);
    nodes.task_counts = vec![
        counted(None, TaskKind::DataUpload, "New", 4),
        counted(Some("worker-b"), TaskKind::DataUpload, "Prepared", 5),
    ];
    report.with_status(nodes)
}

#[test]
fn a_diagnosis_is_a_text_that_both_formats_take() {
    let all = read(&of_diagnosis(&everything()));
    let stuck = [("velero_slots_verdict", "stuck")];
    assert_eq!(value(&all, "velero_slots_verdict", &stuck), 1);
    assert_eq!(all["velero_slots_verdict"].values().sum::<i64>(), 1);
    assert_eq!(all["velero_slots_verdict"].len(), 4);
    let labels = [
        ("id", "prepared-stuck"),
        ("cause", "ghost-slot"),
        ("severity", "critical"),
        ("confidence", "likely"),
        ("node", "worker-b"),
    ];
    assert_eq!(value(&all, "velero_slots_findings", &labels), 2);
    assert_eq!(value(&all, "velero_slots_finding_tasks", &labels), 5);
    assert_eq!(
        value(&all, "velero_slots_finding_affected_tasks", &labels),
        2
    );
    assert_eq!(
        value(&all, "velero_slots_finding_oldest_seconds", &labels),
        64_800
    );
    assert_eq!(
        value(
            &all,
            "velero_slots_unfinished_tasks",
            &[("kind", "DataUpload")]
        ),
        9
    );
    assert_eq!(
        value(
            &all,
            "velero_slots_unfinished_tasks",
            &[("kind", "PodVolumeRestore")]
        ),
        0
    );
    let node = [("node", "worker-b")];
    assert_eq!(value(&all, "velero_slots_node_in_progress", &node), 1);
    assert_eq!(
        value(&all, "velero_slots_node_oldest_wait_seconds", &node),
        2820
    );
}

#[test]
fn no_series_names_a_task() {
    let text = of_diagnosis(&everything());
    assert!(!text.contains("du-"), "{text}");
}

#[test]
fn every_metric_is_written_and_says_how_it_is_known() {
    let mut report = everything();
    report.head.gaps = vec![refused("nodes")];
    report.head.unread_tasks = vec![unread(TaskKind::PodVolumeRestore)];
    let all = read(&of_diagnosis(&report));
    for family in families::ALL {
        assert!(all.contains_key(family.name), "{}", family.name);
        let known = ["Observed: ", "Configured: ", "Derived: "];
        assert!(
            known.iter().any(|how| family.help.starts_with(how)),
            "{}",
            family.help
        );
    }
    assert_eq!(all.len(), families::ALL.len());
}

#[test]
fn every_metric_is_in_the_docs_and_no_other() {
    let docs = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/alerting.md"),
    )
    .unwrap();
    let listed: Vec<&str> = docs
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter_map(|cell| cell.split('{').next())
        .filter(|name| name.starts_with("velero_slots_"))
        .collect();
    let written: Vec<&str> = families::ALL.iter().map(|family| family.name).collect();
    assert_eq!(listed, written);
}

#[test]
fn what_is_not_known_has_no_series_and_a_gap_has() {
    let mut report = status(vec![node("worker-b", NodeVerdict::Unknown, 0, 0)]);
    for row in &mut report.nodes {
        row.agent = None;
        row.limit.value = None;
        row.limit.configured_now = None;
        row.slots.limit = None;
        row.slots.free = None;
    }
    report.prepare_queue = None;
    report.head.gaps = vec![refused("nodes"), refused("nodes")];
    report.head.unread_tasks = vec![unread(TaskKind::DataUpload)];
    let all = read(&of_status(&report));
    let gap = [("resource", "nodes"), ("reason", "forbidden")];
    assert_eq!(value(&all, "velero_slots_gap", &gap), 1);
    let kind = [("kind", "DataUpload"), ("reason", "forbidden")];
    assert_eq!(value(&all, "velero_slots_unread_task_kind", &kind), 1);
    assert_eq!(
        all["velero_slots_unfinished_tasks"].len(),
        3,
        "the kind that was refused has no number"
    );
    for absent in [
        "velero_slots_node_limit",
        "velero_slots_node_limit_configured",
        "velero_slots_node_slots",
        "velero_slots_node_slots_free",
        "velero_slots_node_in_progress",
        "velero_slots_node_waiting",
        "velero_slots_agent_ready",
        "velero_slots_prepare_queue_limit",
        "velero_slots_prepare_queue_length",
    ] {
        assert!(!all.contains_key(absent), "{absent}");
    }
    let unknown = [
        ("node", "worker-b"),
        ("velero_slots_node_verdict", "unknown"),
    ];
    assert_eq!(value(&all, "velero_slots_node_verdict", &unknown), 1);
}

#[test]
fn a_kind_that_was_read_in_part_has_no_sum() {
    let mut report = status(Vec::new());
    report.task_counts = vec![counted(None, TaskKind::DataUpload, "New", 4)];
    let mut partial = unread(TaskKind::DataUpload);
    partial.reason = GapReason::Partial;
    partial.nothing_read = crate::report::NothingRead::No;
    report.head.unread_tasks = vec![partial];
    let all = read(&of_status(&report));
    assert_eq!(
        value(&all, "velero_slots_tasks", &[("kind", "DataUpload")]),
        4
    );
    assert_eq!(all["velero_slots_unfinished_tasks"].len(), 3);
}

#[test]
fn a_status_reads_like_this() {
    let mut report = status(vec![node("worker-b", NodeVerdict::Stuck, 1, 2)]);
    report.task_counts = vec![counted(
        Some("worker-b"),
        TaskKind::DataUpload,
        "Prepared",
        2,
    )];
    insta::assert_snapshot!(of_status(&report), @r#"
    # TYPE velero_slots_build_info gauge
    # HELP velero_slots_build_info Observed: the release of this program. Always 1.
    velero_slots_build_info{version="0.1.0"} 1
    # TYPE velero_slots_taken_at_timestamp_seconds gauge
    # UNIT velero_slots_taken_at_timestamp_seconds seconds
    # HELP velero_slots_taken_at_timestamp_seconds Observed: the time that the answer is about, by the clock of the API server.
    velero_slots_taken_at_timestamp_seconds 1767323045
    # TYPE velero_slots_velero_info gauge
    # HELP velero_slots_velero_info Observed: a release of Velero that runs. Always 1.
    velero_slots_velero_info{version="1.17.1"} 1
    # TYPE velero_slots_unfinished_tasks gauge
    # HELP velero_slots_unfinished_tasks Observed: unfinished tasks of Velero's own data mover, by kind.
    velero_slots_unfinished_tasks{kind="DataUpload"} 2
    velero_slots_unfinished_tasks{kind="DataDownload"} 0
    velero_slots_unfinished_tasks{kind="PodVolumeBackup"} 0
    velero_slots_unfinished_tasks{kind="PodVolumeRestore"} 0
    # TYPE velero_slots_tasks gauge
    # HELP velero_slots_tasks Observed: unfinished tasks of Velero's own data mover, by kind, phase and node; the node is empty while no node has the task.
    velero_slots_tasks{node="worker-b",kind="DataUpload",phase="Prepared"} 2
    # TYPE velero_slots_prepare_queue_length gauge
    # HELP velero_slots_prepare_queue_length Observed: how many tasks fill the prepare queue.
    velero_slots_prepare_queue_length 3
    # TYPE velero_slots_prepare_queue_limit gauge
    # HELP velero_slots_prepare_queue_limit Derived: the prepareQueueLength in force.
    velero_slots_prepare_queue_limit 10
    # TYPE velero_slots_node_verdict gauge
    # HELP velero_slots_node_verdict Derived: the verdict of a node. A state set.
    velero_slots_node_verdict{node="worker-b",velero_slots_node_verdict="stuck"} 1
    velero_slots_node_verdict{node="worker-b",velero_slots_node_verdict="no-agent"} 0
    velero_slots_node_verdict{node="worker-b",velero_slots_node_verdict="degraded"} 0
    velero_slots_node_verdict{node="worker-b",velero_slots_node_verdict="unknown"} 0
    velero_slots_node_verdict{node="worker-b",velero_slots_node_verdict="queued"} 0
    velero_slots_node_verdict{node="worker-b",velero_slots_node_verdict="busy"} 0
    velero_slots_node_verdict{node="worker-b",velero_slots_node_verdict="idle"} 0
    # TYPE velero_slots_agent_ready gauge
    # HELP velero_slots_agent_ready Observed: whether the node-agent of a node works: Running, ready, not terminating.
    velero_slots_agent_ready{node="worker-b"} 1
    # TYPE velero_slots_agent_restarts gauge
    # HELP velero_slots_agent_restarts Observed: how often the container of the node-agent restarted.
    velero_slots_agent_restarts{node="worker-b"} 0
    # TYPE velero_slots_agent_start_timestamp_seconds gauge
    # UNIT velero_slots_agent_start_timestamp_seconds seconds
    # HELP velero_slots_agent_start_timestamp_seconds Observed: when the process of the node-agent started.
    velero_slots_agent_start_timestamp_seconds{node="worker-b"} 1767225600
    # TYPE velero_slots_node_limit gauge
    # HELP velero_slots_node_limit Derived: the concurrency number that the running node-agent read when it started, and where that comes from.
    velero_slots_node_limit{node="worker-b",source="global"} 2
    # TYPE velero_slots_node_limit_configured gauge
    # HELP velero_slots_node_limit_configured Configured: the concurrency number that a node-agent that starts now would use.
    velero_slots_node_limit_configured{node="worker-b"} 2
    # TYPE velero_slots_node_slots gauge
    # HELP velero_slots_node_slots Derived: how many slots a node has; on Velero 1.12 of all kinds together, else the limit.
    velero_slots_node_slots{node="worker-b"} 2
    # TYPE velero_slots_node_in_progress gauge
    # HELP velero_slots_node_in_progress Derived: how many tasks hold a slot, by the status of the tasks. The memory of a node-agent is not seen.
    velero_slots_node_in_progress{node="worker-b"} 1
    # TYPE velero_slots_node_slots_free gauge
    # HELP velero_slots_node_slots_free Derived: how many slots are free by the status of the tasks. Not proven: the memory of a node-agent is not seen.
    velero_slots_node_slots_free{node="worker-b"} 1
    # TYPE velero_slots_node_slots_leaked_at_least gauge
    # HELP velero_slots_node_slots_leaked_at_least Derived: how many slots are held by nothing that exists; above 0 only where a finding says so.
    velero_slots_node_slots_leaked_at_least{node="worker-b"} 0
    # TYPE velero_slots_node_waiting gauge
    # HELP velero_slots_node_waiting Derived: how many tasks wait for a slot of the node.
    velero_slots_node_waiting{node="worker-b"} 2
    # TYPE velero_slots_node_oldest_wait_seconds gauge
    # UNIT velero_slots_node_oldest_wait_seconds seconds
    # HELP velero_slots_node_oldest_wait_seconds Derived: for how long the oldest of them waits; missing where none waits.
    velero_slots_node_oldest_wait_seconds{node="worker-b"} 2820
    # EOF
    "#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_name_can_leave_its_label(name in r#"[a-z"\\{}, =#\n\r\t\x1b\u{2028}é-]{0,20}"#) {
        let mut report = status(vec![node(&name, NodeVerdict::Idle, 1, 1)]);
        report.head.velero_versions = vec![name.clone()];
        report.head.gaps = vec![refused(&name)];
        report.task_counts = vec![counted(Some(&name), TaskKind::DataUpload, "Prepared", 1)];
        let text = of_status(&report);
        let all = read(&text);
        prop_assert_eq!(all["velero_slots_node_waiting"].len(), 1);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    }
}
