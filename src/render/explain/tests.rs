//! Screens of `explain`, and what a hostile cluster may put on them.

use serde_json::{Value, json};

use crate::diagnose::diagnose;
use crate::render::{self, Format, Terminal};
use crate::replay::{ReplayOptions, replay};
use crate::report::{ExplanationReport, Pins, Subject};
use crate::snapshot::Snapshot;
use crate::testing::{
    agent, ago, completed, config_map, in_progress, mover, node, prepared, snapshot,
};

const FLAG: &str = "--node-agent-configmap=config";

fn world(config: &str, more: Vec<Value>) -> Snapshot {
    let mut objects = vec![
        node("a", &json!({})),
        agent("a", "v1.17.1", 86_400, &[FLAG]),
        config_map("config", config, 9_000_000),
        json!({
            "apiVersion": "velero.io/v1", "kind": "Backup",
            "metadata": {"name": "backup-1", "namespace": "velero", "creationTimestamp": ago(7300)},
            "spec": {"itemOperationTimeout": "4h0m0s"},
            "status": {"phase": "WaitingForPluginOperations", "startTimestamp": ago(7300)}
        }),
    ];
    objects.extend(more);
    snapshot(&objects)
}

fn full_node() -> Snapshot {
    world(
        r#"{"loadConcurrency": {"globalConfig": 1}}"#,
        vec![
            in_progress("du-holds", "a", 1800),
            mover("du-holds", "a", 1850),
            prepared("du-1", "a", 900),
            mover("du-1", "a", 950),
            prepared("du-2", "a", 800),
            mover("du-2", "a", 850),
        ],
    )
}

fn screen(seen: &Snapshot, what: &str, format: Format) -> String {
    let mut out = Vec::new();
    let replayed = replay(seen, ReplayOptions::default());
    let diagnosis = diagnose(seen, &replayed);
    let subject = Subject::parse(what).unwrap();
    let report =
        ExplanationReport::new(seen, &replayed, &diagnosis, &subject, &Pins::default()).unwrap();
    render::explanation(&mut out, &report, format, &Terminal::default()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_answer_comes_first_and_then_why() {
    let seen = full_node();
    insta::assert_snapshot!(screen(&seen, "du/du-1", Format::Table), @r"
    objects · velero · Velero 1.17.1 · limit 1/node
    as of 2026-01-02T12:00:00Z (--now)
    i DataUpload velero/du-1: Prepared on a for 15m: WAITING
      closed gate: slot: in progress 1 of 1: no slot is free
      frees it: the end of du-holds; 1 other task may take the slot first
      frees it: a limit above 1 for a in loadConcurrency, in force once its
                node-agent has restarted
      deadline: 2026-01-02T14:00:00Z (in 120m, itemOperationTimeout, approximate)
    i slot-queue: info, likely, a, 2 tasks, 15m
      2 DataUploads (du-1 and du-2) wait for a slot of a: in progress 1 of 1, the
      normal queue
    Gates, in the order of the rules of Velero 1.17.0:
    ✓  agent         pass        a node-agent looks after it on a
    ✓  prepare-queue pass        no prepareQueueLength is set
    ✓  expose        pass        passed: the task became Prepared; its mover pod is
                                 Running
    ✗  slot          closed      in progress 1 of 1: no slot is free
    Slots of a: in progress 1 of 1 (limit from: global), by status, not observed
      du/du-holds InProgress 10% for 30m
    Competes with: 1 other task (du/du-2); Velero keeps no order among them
    Story:
    2026-01-02T10:00:00Z  created [field: .metadata.creationTimestamp]
    2026-01-02T11:43:50Z  mover pod created [field: Pod velero/du-1
                          .metadata.creationTimestamp]
    2026-01-02T11:44:00Z  accepted by the node-agent of a [field:
                          .status.acceptedTimestamp]
    2026-01-02T11:44:00Z  mover pod taken up by the kubelet of a [field: Pod
                          velero/du-1 .status.startTime]
    2026-01-02T11:44:10Z  mover pod running [pod-condition: Pod velero/du-1
                          .status.containerStatuses[uid-du-1].state.running]
    2026-01-02T11:45:00Z  prepared [managedFields: managedFields of
                          node-agent-server]
    gaps: not in the input: datadownloads, deployments, podvolumebackups,
          podvolumerestores (see -o wide)
    ");
}

#[test]
fn a_backup_lists_its_tasks_before_it_tells_of_one() {
    let seen = full_node();
    insta::assert_snapshot!(
        screen(&seen, "backup/backup-1", Format::Table).lines().take(8).collect::<Vec<_>>().join("\n"),
        @r"
    objects · velero · Velero 1.17.1 · limit 1/node
    as of 2026-01-02T12:00:00Z (--now)
    i Backup velero/backup-1 is WaitingForPluginOperations: 3 unfinished tasks, 0
      finished: WAITING
    TASK          PHASE        NODE   VERDICT   GATE     ETA         DEADLINE
    du/du-1       Prepared     a      waiting   slot     <unknown>   in 120m
    du/du-2       Prepared     a      waiting   slot     <unknown>   in 120m
    du/du-holds   InProgress   a      running   <none>   <unknown>   in 120m
    "
    );
}

#[test]
fn a_hostile_message_cannot_reach_the_terminal() {
    let mut failed = completed("du-0", "a", 9000, 8000);
    failed["status"]["message"] = json!("\u{1b}[2Jgone\u{202e}\nforged line");
    let seen = world("{}", vec![failed]);
    for format in [Format::Table, Format::Wide, Format::Json, Format::Yaml] {
        let shown = screen(&seen, "du/du-0", format);
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
        assert!(!shown.lines().any(|line| line.starts_with("forged")));
    }
}

#[test]
fn a_line_is_at_most_eighty_columns_wide_apart_from_names() {
    let seen = full_node();
    for line in screen(&seen, "backup/backup-1", Format::Table).lines() {
        let one_word = line.split_whitespace().count() == 1 || line.starts_with("next:");
        assert!(line.chars().count() <= 80 || one_word, "{line}");
    }
}
