//! JSON, YAML and names.

use std::io::{self, Write};

use super::samples::{cluster, diagnosis, du, finding, head, node, replay, status};
use super::{shown_diagnosis, shown_replay, shown_status};
use crate::render::{Format, Terminal};
use crate::report::{FindingId, NodeVerdict, Severity, Verdict};

fn same_document(json: &str, yaml: &str) {
    let from_json: serde_json::Value = serde_json::from_str(json).unwrap();
    let from_yaml: serde_json::Value = serde_saphyr::from_str(yaml).unwrap();
    assert_eq!(from_json, from_yaml);
}

#[test]
fn yaml_is_the_same_document_as_json() {
    let terminal = Terminal::default();
    let report = cluster(3);
    same_document(
        &shown_status(&report, Format::Json, &terminal),
        &shown_status(&report, Format::Yaml, &terminal),
    );
    let report = diagnosis(
        Verdict::Stuck,
        vec![finding(
            FindingId::PreparedStuck,
            Severity::Critical,
            "worker-b",
        )],
    );
    same_document(
        &shown_diagnosis(&report, Format::Json, &terminal),
        &shown_diagnosis(&report, Format::Yaml, &terminal),
    );
    same_document(
        &shown_replay(&replay(), Format::Json, &terminal),
        &shown_replay(&replay(), Format::Yaml, &terminal),
    );
}

#[test]
fn strings_that_yaml_would_take_for_something_else_stay_strings() {
    let tricky = [
        "no",
        "on",
        "y",
        "~",
        "null",
        "1.17",
        "017",
        "1e3",
        "0x1f",
        "12:30:45",
        "2026-01-02",
        "2026-01-02T03:04:05Z",
        "",
        " lead",
        "trail ",
        "- item",
        "a: b",
        "#note",
        "%x",
        "@x",
        "`x",
        "*x",
        "&x",
        "!x",
        "{x",
        "[x",
        "two\nlines\n",
        "tab\there",
        "quote\"and'other",
        "back\\slash",
        "\u{1b}[31m",
        "a\u{202e}b",
        "a\u{9b}b\u{7f}",
        "\u{feff}bom",
        "\\u202e",
        "日本 ✗",
    ];
    let mut report = status(
        tricky
            .iter()
            .map(|name| node(name, NodeVerdict::Idle, 0, 0))
            .collect(),
    );
    report.head.velero_versions = vec!["1.17".to_owned(), "no".to_owned()];
    let json = shown_status(&report, Format::Json, &Terminal::default());
    let yaml = shown_status(&report, Format::Yaml, &Terminal::default());
    same_document(&json, &yaml);
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&str> = read["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, tricky);
}

#[test]
fn a_number_of_nodes_has_this_shape() {
    let report = status(vec![node("worker-b", NodeVerdict::Stuck, 1, 1)]);
    insta::assert_snapshot!(shown_status(&report, Format::Yaml, &Terminal::default()), @r#"
    apiVersion: velero-slots/v1
    kind: Status
    takenAt: "2026-01-02T03:04:05Z"
    source:
      type: cluster
      nowFrom: server
      server: https://cluster.example:6443
      paths: []
    namespace: velero
    veleroVersions:
    - "1.17.1"
    gaps: []
    prepareQueue:
      length: 3
      limit: 10
    unassigned:
      new: 4
      accepted: 2
    nodes:
    - name: worker-b
      agent:
        pod: node-agent-x
        ready: true
        startedAt: "2026-01-01T00:00:00Z"
        version: "1.17.1"
        restarts: 0
      limit:
        value: 2
        source: global
        configuredNow: 2
      slots:
        limit: 2
        held: 1
        free: 1
        leakedAtLeast: 0
      tasks:
        prepared: 1
        inProgress: 1
        canceling: 0
        accepted: 0
        new: 0
      oldestWaitSeconds: 2820
      holders:
      - kind: DataUpload
        namespace: velero
        name: du-h0
        deadline: null
        eta: null
      waiting:
      - kind: DataUpload
        namespace: velero
        name: du-w0
        deadline: null
        eta: null
      verdict: stuck
    "#);
}

#[test]
fn a_finding_has_this_shape() {
    let report = diagnosis(
        Verdict::Stuck,
        vec![finding(
            FindingId::PreparedStuck,
            Severity::Critical,
            "worker-b",
        )],
    );
    insta::assert_snapshot!(shown_diagnosis(&report, Format::Yaml, &Terminal::default()), @r#"
    apiVersion: velero-slots/v1
    kind: Diagnosis
    takenAt: "2026-01-02T03:04:05Z"
    source:
      type: cluster
      nowFrom: server
      server: https://cluster.example:6443
      paths: []
    namespace: velero
    veleroVersions:
    - "1.17.1"
    gaps: []
    verdict: stuck
    findings:
    - id: prepared-stuck
      cause: ghost-slot
      severity: critical
      confidence: likely
      node: worker-b
      tasks:
      - kind: DataUpload
        namespace: velero
        name: du-a1
      - kind: DataUpload
        namespace: velero
        name: du-a2
      blockedBy:
      - kind: Pod
        namespace: velero
        name: du-old
      affects:
      - kind: DataUpload
        namespace: velero
        name: du-a3
      since: "2026-01-01T09:04:05Z"
      forSeconds: 64800
      deadline:
        at: "2026-01-02T05:04:05Z"
        what: itemOperationTimeout
        approximate: true
      summary: "3 tasks wait on worker-b beside a free slot for 18h, and nothing moves there: an entry of a task that ended was never taken out of the agent's memory."
      evidence:
      - kind: field
        source: DataUpload velero/du-a1 .status.phase
        value: Prepared
      - kind: field
        source: DataUpload velero/du-a2 .status.phase
        value: Prepared
      - kind: field
        source: DataUpload velero/du-a3 .status.phase
        value: Prepared
      - kind: field
        source: DataUpload velero/du-a4 .status.phase
        value: Prepared
      actions:
      - command: kubectl velero-slots restart --node worker-b -n velero --context prod-eu-1
        effect: "starts the agent again: its slots are free then"
        risk: running tasks of the node are resumed
      references:
      - velero-io/velero#9334
    "#);
}

#[test]
fn a_decision_has_this_shape() {
    insta::assert_snapshot!(shown_replay(&replay(), Format::Yaml, &Terminal::default()), @r#"
    apiVersion: velero-slots/v1
    kind: Replay
    takenAt: "2026-01-02T03:04:05Z"
    source:
      type: cluster
      nowFrom: server
      server: https://cluster.example:6443
      paths: []
    namespace: velero
    veleroVersions:
    - "1.17.1"
    gaps: []
    decisions:
    - task:
        kind: DataUpload
        namespace: velero
        name: du-a1
      phase: Prepared
      node: worker-b
      gate: slot
      decision: admit
      reason: 1 of 2 slots is held
      holders:
      - kind: DataUpload
        namespace: velero
        name: du-h0
      competing:
        count: 1
        tasks:
        - kind: DataUpload
          namespace: velero
          name: du-a2
      nextTrigger: requeue-5s
      deadline:
        at: "2026-01-02T05:04:05Z"
        what: itemOperationTimeout
        approximate: true
      diverges: true
    - task:
        kind: DataUpload
        namespace: velero
        name: du-b1
      phase: New
      node: null
      gate: none
      decision: accept
      reason: no prepare queue is in force
      holders: []
      competing: null
      nextTrigger: object-update
      deadline: null
      diverges: false
    "#);
}

#[test]
fn times_are_written_to_the_second_in_utc() {
    let mut report = status(Vec::new());
    report.head = head();
    report.head.taken_at = "2026-01-02T05:04:05.987654321+02:00".parse().unwrap();
    let json = shown_status(&report, Format::Json, &Terminal::default());
    assert!(
        json.contains(r#""takenAt": "2026-01-02T03:04:05Z""#),
        "{json}"
    );
}

#[test]
fn names_are_what_kubectl_takes() {
    let terminal = Terminal::default();
    assert_eq!(
        shown_status(&cluster(1), Format::Name, &terminal),
        "node/worker-b\nnode/worker-a\nnode/worker-0000\n"
    );
    assert_eq!(
        shown_replay(&replay(), Format::Name, &terminal),
        "dataupload.velero.io/du-a1\ndataupload.velero.io/du-b1\n"
    );
    let mut row = finding(FindingId::PreparedStuck, Severity::Critical, "worker-b");
    row.finding.tasks = vec![du("du-a1"), du("$(reboot)")];
    let report = diagnosis(Verdict::Stuck, vec![row.clone(), row]);
    assert_eq!(
        shown_diagnosis(&report, Format::Name, &terminal),
        "dataupload.velero.io/du-a1\n"
    );
}

#[test]
fn a_reader_that_goes_away_is_told_apart_in_every_format() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for format in [
        Format::Table,
        Format::Wide,
        Format::Json,
        Format::Yaml,
        Format::Name,
        Format::Markdown,
    ] {
        let error = crate::render::status(&mut Gone, &cluster(3), format, &Terminal::default())
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{format:?}");
    }
}
