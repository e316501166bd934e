//! The screens for people.

use unicode_width::UnicodeWidthStr as _;

use super::samples::{cluster, diagnosis, finding, node, refused, replay, status, unread};
use super::{shown_diagnosis, shown_replay, shown_status};
use crate::render::{Color, Format, Lines, Marks, Terminal};
use crate::report::{FindingId, FindingRow, NodeVerdict, Severity, VeleroSeen, Verdict};
use crate::velero::TaskKind;

const ESCAPES: [char; 4] = ['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}'];

fn rows(text: &str, width: usize) -> usize {
    text.lines()
        .map(|line| line.width().div_ceil(width).max(1))
        .sum()
}

/// Terminals and pipes of the usual widths.
fn terminals() -> impl Iterator<Item = Terminal> {
    [60, 80, 100, 120, 200].into_iter().flat_map(|width| {
        [Lines::Whole, Lines::Folded].map(|lines| Terminal {
            width,
            lines,
            ..Terminal::default()
        })
    })
}

fn many_findings(number: usize) -> Vec<FindingRow> {
    (0..number)
        .map(|index| {
            finding(
                FindingId::PreparedStuck,
                Severity::Critical,
                &format!("worker-{index:04}"),
            )
        })
        .collect()
}

#[test]
fn status_shows_sick_nodes_first() {
    insta::assert_snapshot!(shown_status(&cluster(3), Format::Table, &Terminal::default()), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ✗ 1 node stuck, 1 node without a working agent; 4 tasks in progress, 7 wait for
      a slot (oldest 47m)
    NODE          VERDICT      IN PROGRESS   WAITING   OLDEST   HELD BY
    worker-b      ✗ stuck      1 of 2        5         47m      du/du-h0 63%
    worker-a      ✗ no-agent   0 of 2        0         <none>   <none>
    worker-0000   queued       2 of 2        2         47m      du/du-h0 63% +1
    worker-0001   busy         1 of 2        0         <none>   du/du-h0 63%
    worker-0002   idle         0 of 2        0         <none>   <none>
    prepare queue 3 of 10; without a node yet: 4 New, 2 Accepted
    next: kubectl velero-slots diagnose -n velero --context prod-eu-1
    ");
}

#[test]
fn a_filter_hides_waiting_tasks_and_changes_no_number() {
    let whole = cluster(3);
    let mut filtered = whole.clone();
    for node in &mut filtered.nodes {
        node.waiting.clear();
    }
    // Markdown lists the tasks too.
    for format in [Format::Table, Format::OpenMetrics] {
        let shown = |report| shown_status(report, format, &Terminal::default());
        assert_eq!(shown(&filtered), shown(&whole));
    }
}

#[test]
fn status_of_a_big_cluster_folds_what_is_well_into_a_count() {
    insta::assert_snapshot!(shown_status(&cluster(1000), Format::Table, &Terminal::default()), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ✗ 1 node stuck, 1 node without a working agent; 1002 tasks in progress, 673 wait
      for a slot (oldest 47m)
    NODE          VERDICT      IN PROGRESS   WAITING   OLDEST   HELD BY
    worker-b      ✗ stuck      1 of 2        5         47m      du/du-h0 63%
    worker-a      ✗ no-agent   0 of 2        0         <none>   <none>
    worker-0000   queued       2 of 2        2         47m      du/du-h0 63% +1
    worker-0003   queued       2 of 2        2         47m      du/du-h0 63% +1
    worker-0006   queued       2 of 2        2         47m      du/du-h0 63% +1
    worker-0009   queued       2 of 2        2         47m      du/du-h0 63% +1
    worker-0012   queued       2 of 2        2         47m      du/du-h0 63% +1
    … and 995 nodes more: 329 queued, 333 busy, 333 idle (use -o wide)
    prepare queue 3 of 10; without a node yet: 4 New, 2 Accepted
    next: kubectl velero-slots diagnose -n velero --context prod-eu-1
    ");
}

#[test]
fn the_first_screen_of_status_has_at_most_24_rows_on_any_cluster() {
    for terminal in terminals() {
        let width = terminal.width;
        for size in [0, 1, 5, 15, 20, 40, 1000] {
            let mut report = cluster(size);
            for resource in ["nodes", "pods", "configmaps", "events", "backups"] {
                report.head.gaps.push(refused(resource));
            }
            let shown = shown_status(&report, Format::Table, &terminal);
            assert!(
                rows(&shown, width) <= 24,
                "{size} nodes at {width}:\n{shown}"
            );
            assert!(shown.contains("worker-b"), "{shown}");
        }
    }
}

#[test]
fn the_first_screen_of_diagnose_has_at_most_24_rows_on_any_cluster() {
    for terminal in terminals() {
        let width = terminal.width;
        for number in [0, 1, 2, 5, 15, 500] {
            let mut report = diagnosis(Verdict::Stuck, many_findings(number));
            report.head.gaps.push(refused("nodes"));
            report.inconclusive = vec!["pods could not be read".to_owned(); 3];
            let shown = shown_diagnosis(&report, Format::Table, &terminal);
            assert!(
                rows(&shown, width) <= 24,
                "{number} findings at {width}:\n{shown}"
            );
        }
    }
}

#[test]
fn a_finding_with_endless_words_leaves_the_screen_its_size() {
    let mut row = finding(FindingId::PreparedStuck, Severity::Critical, "worker-a");
    row.finding.summary = "word ".repeat(3000);
    let report = diagnosis(Verdict::Stuck, vec![row]);
    let shown = shown_diagnosis(&report, Format::Table, &Terminal::default());
    assert!(rows(&shown, 80) <= 24, "{shown}");
}

#[test]
fn no_name_however_long_or_wide_makes_a_first_screen_longer() {
    let names = [
        "n".repeat(253),
        "n".repeat(5000),
        "節点".repeat(60),
        "e\u{301}".repeat(5000),
        "\u{301}".repeat(200_000),
        "two words ".repeat(700),
    ];
    for name in &names {
        let mut report = diagnosis(Verdict::Stuck, many_findings(30));
        for row in &mut report.findings {
            row.finding.node = Some(name.clone());
            row.finding.summary = format!("Node {name} holds {name}.");
            for evidence in &mut row.finding.evidence {
                evidence.value.clone_from(name);
            }
            for action in &mut row.finding.actions {
                action.command = format!("kubectl describe node {name} TAIL");
            }
        }
        report.inconclusive = vec![format!("pod {name} could not be read"); 3];
        report.head.gaps.push(refused(name));
        let mut statuses = status(vec![node(name, NodeVerdict::Stuck, 1, 5); 30]);
        statuses.head.gaps.push(refused(name));
        for head in [&mut report.head, &mut statuses.head] {
            head.namespace.clone_from(name);
            head.velero_versions = vec![name.clone(); 3];
            head.pins.context = Some(name.clone());
        }
        for shown in [
            shown_diagnosis(&report, Format::Table, &Terminal::default()),
            shown_status(&statuses, Format::Table, &Terminal::default()),
        ] {
            assert!(rows(&shown, 80) <= 24, "{}:\n{shown}", rows(&shown, 80));
            // A command is whole, or it is not there.
            let next = shown.lines().last().unwrap_or_default();
            assert!(!next.starts_with("next: ") || !next.contains('…'), "{next}");
        }
    }
}

#[test]
fn at_60_columns_columns_go_and_names_stay() {
    let terminal = Terminal {
        width: 60,
        ..Terminal::default()
    };
    let long = "gke-prod-eu-1-default-pool-1a2b3c4d-x7k2";
    let report = status(vec![node(long, NodeVerdict::Stuck, 1, 5)]);
    insta::assert_snapshot!(shown_status(&report, Format::Table, &terminal), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node
    as of 2026-01-02T03:04:05Z
    ✗ 1 node stuck; 1 task in progress, 5 wait for a slot
      (oldest 47m)
    NODE                                       VERDICT   IN PROGRESS
    gke-prod-eu-1-default-pool-1a2b3c4d-x7k2   ✗ stuck   1 of 2
    prepare queue 3 of 10; without a node yet: 4 New, 2 Accepted
    next: kubectl velero-slots diagnose -n velero --context prod-eu-1
    ");
}

#[test]
fn a_name_longer_than_the_screen_is_not_cut() {
    let long = "n".repeat(200);
    let report = status(vec![node(&long, NodeVerdict::Stuck, 1, 5)]);
    let shown = shown_status(&report, Format::Table, &Terminal::default());
    assert!(shown.contains(&long));
    assert!(rows(&shown, 80) <= 24);
}

#[test]
fn a_refused_list_is_unknown_and_never_no_tasks() {
    let mut report = status(vec![node("worker-a", NodeVerdict::Idle, 0, 0)]);
    report.head.unread_tasks = vec![unread(TaskKind::DataUpload)];
    report.head.gaps = vec![refused("datauploads")];
    let shown = shown_status(&report, Format::Table, &Terminal::default());
    assert!(
        shown.contains("UNKNOWN: not read: datauploads (forbidden)"),
        "{shown}"
    );
    assert!(!shown.contains("no node is stuck"), "{shown}");

    let mut report = diagnosis(Verdict::Unknown, Vec::new());
    report.head.unread_tasks = vec![unread(TaskKind::DataUpload)];
    report.unfinished = 0;
    let shown = shown_diagnosis(&report, Format::Table, &Terminal::default());
    assert!(
        shown.contains("UNKNOWN: not read: datauploads (forbidden)"),
        "{shown}"
    );
    assert!(!shown.contains("no unfinished task"), "{shown}");
}

#[test]
fn where_nothing_of_velero_was_seen_nothing_is_called_fine() {
    let mut report = status(Vec::new());
    report.velero_seen = VeleroSeen::No;
    let shown = shown_status(&report, Format::Table, &Terminal::default());
    assert!(
        shown.contains("UNKNOWN: no node-agent and no task was seen in namespace velero"),
        "{shown}"
    );
}

#[test]
fn status_wide_lists_who_holds_and_who_waits() {
    let report = status(vec![node("worker-b", NodeVerdict::Stuck, 1, 2)]);
    insta::assert_snapshot!(shown_status(&report, Format::Wide, &Terminal::default()), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ✗ 1 node stuck; 1 task in progress, 2 wait for a slot (oldest 47m)
    prepare queue 3 of 10; without a node yet: 4 New, 2 Accepted

    NODE       VERDICT   IN PROGRESS   FREE   LEAKED   WAITING   OLDEST   LIMIT FROM   CONFIGURED   PREPARED   CANCELING   ACCEPTED   NEW   AGENT          READY   RESTARTS   VERSION
    worker-b   ✗ stuck   1 of 2        1      0        2         47m      global       2            2          0           0          0     node-agent-x   true    0          1.17.1

    NODE       TASK       SLOT    PHASE        SINCE   PROGRESS   ETA         DEADLINE
    worker-b   du/du-h0   holds   InProgress   47m     63%        <unknown>   <none>
    worker-b   du/du-w0   waits   Prepared     47m     0%         <unknown>   <none>
    worker-b   du/du-w1   waits   Prepared     47m     0%         <unknown>   <none>
    next: kubectl velero-slots diagnose -n velero --context prod-eu-1
    ");
}

#[test]
fn a_limit_that_is_not_known_is_shown_so() {
    let mut unclear = node("worker-a", NodeVerdict::Unknown, 1, 1);
    unclear.slots.limit = None;
    unclear.slots.free = None;
    unclear.agent = None;
    unclear.oldest_wait_seconds = None;
    let shown = shown_status(&status(vec![unclear]), Format::Table, &Terminal::default());
    assert!(
        shown.contains("1 of <unknown>   1         <unknown>"),
        "{shown}"
    );
    assert!(shown.contains("1 node cannot be judged"), "{shown}");
}

#[test]
fn diagnose_tells_the_worst_finding_in_full_and_ends_with_what_to_type() {
    let report = diagnosis(
        Verdict::Stuck,
        vec![
            finding(FindingId::PreparedStuck, Severity::Critical, "worker-b"),
            finding(FindingId::ConfigIgnored, Severity::Warning, "worker-c"),
        ],
    );
    insta::assert_snapshot!(shown_diagnosis(&report, Format::Table, &Terminal::default()), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ✗ STUCK: 1 critical finding, 1 warning
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-b, 2 tasks, 18h
      3 tasks wait on worker-b beside a free slot for 18h, and nothing moves there:
      an entry of a task that ended was never taken out of the agent's memory.
      - DataUpload velero/du-a1 .status.phase: Prepared
      - DataUpload velero/du-a2 .status.phase: Prepared
      - DataUpload velero/du-a3 .status.phase: Prepared
      deadline: 2026-01-02T05:04:05Z (in 120m, itemOperationTimeout, approximate)
    ! config-ignored (flag-missing): warning, likely, worker-c, 2 tasks, 18h
      3 tasks wait on worker-c beside a free slot for 18h, and nothing moves there:
      an entry of a task that ended was never taken out of the agent's memory.
      - DataUpload velero/du-a1 .status.phase: Prepared
      - DataUpload velero/du-a2 .status.phase: Prepared
      - DataUpload velero/du-a3 .status.phase: Prepared
      deadline: 2026-01-02T05:04:05Z (in 120m, itemOperationTimeout, approximate)
      next: kubectl velero-slots restart --node worker-c -n velero --context prod-eu-1
    next: kubectl velero-slots restart --node worker-b -n velero --context prod-eu-1
    ");
}

#[test]
fn diagnose_counts_the_findings_that_have_no_room() {
    let report = diagnosis(Verdict::Stuck, many_findings(40));
    insta::assert_snapshot!(shown_diagnosis(&report, Format::Table, &Terminal::default()), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ✗ STUCK: 40 critical findings
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0000, 2 tasks, 18h
      3 tasks wait on worker-0000 beside a free slot for 18h, and nothing moves
      there: an entry of a task that ended was never taken out of the agent's
      memory.
      - DataUpload velero/du-a1 .status.phase: Prepared
      - DataUpload velero/du-a2 .status.phase: Prepared
      - DataUpload velero/du-a3 .status.phase: Prepared
      deadline: 2026-01-02T05:04:05Z (in 120m, itemOperationTimeout, approximate)
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0001, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0002, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0003, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0004, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0005, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0006, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0007, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0008, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0009, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0010, 2 tasks, 18h
    ✗ prepared-stuck (ghost-slot): critical, likely, worker-0011, 2 tasks, 18h
    … and 28 more findings (use -o wide)
    next: kubectl velero-slots restart --node worker-0000 -n velero --context prod-eu-1
    ");
}

#[test]
fn diagnose_wide_tells_everything() {
    let mut report = diagnosis(
        Verdict::Stuck,
        vec![finding(
            FindingId::PreparedStuck,
            Severity::Critical,
            "worker-b",
        )],
    );
    report.head.gaps.push(refused("nodes"));
    insta::assert_snapshot!(shown_diagnosis(&report, Format::Wide, &Terminal::default()), @r#"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ✗ STUCK: 1 critical finding

    ✗ prepared-stuck (ghost-slot): critical, likely, worker-b, 2 tasks, 18h
      3 tasks wait on worker-b beside a free slot for 18h, and nothing moves there:
      an entry of a task that ended was never taken out of the agent's memory.
      since: 2026-01-01T09:04:05Z
      tasks:
        DataUpload velero/du-a1
        DataUpload velero/du-a2
      blocked by:
        Pod velero/du-old
      affects:
        DataUpload velero/du-a3
      evidence:
        field DataUpload velero/du-a1 .status.phase: Prepared
        field DataUpload velero/du-a2 .status.phase: Prepared
        field DataUpload velero/du-a3 .status.phase: Prepared
        field DataUpload velero/du-a4 .status.phase: Prepared
      deadline: 2026-01-02T05:04:05Z (in 120m, itemOperationTimeout, approximate)
      next: kubectl velero-slots restart --node worker-b -n velero --context prod-eu-1
        effect: starts the agent again: its slots are free then
        risk: running tasks of the node are resumed
      see: velero-io/velero#9334

    Gaps:
    ? nodes (forbidden)
      nodes is forbidden: User "jane" cannot list resource
      nothing is known of them
    "#);
}

#[test]
fn a_healthy_cluster_takes_two_lines() {
    let report = diagnosis(Verdict::Healthy, Vec::new());
    insta::assert_snapshot!(shown_diagnosis(&report, Format::Table, &Terminal::default()), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ✓ HEALTHY: nothing is stuck; 12 unfinished tasks
    ");
}

#[test]
fn replay_marks_what_diverges() {
    insta::assert_snapshot!(shown_replay(&replay(), Format::Table, &Terminal::default()), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ! 2 unfinished tasks; 1 differs from what would be decided now
    TASK       PHASE      NODE       DECISION   GATE   NEXT LOOK       DIVERGES
    du/du-a1   Prepared   worker-b   admit      slot   requeue-5s      yes
    du/du-b1   New        <none>     accept     none   object-update   no
    ");
}

#[test]
fn replay_wide_says_why() {
    insta::assert_snapshot!(shown_replay(&replay(), Format::Wide, &Terminal::default()), @r"
    prod-eu-1 · velero · Velero 1.17.1 · limit 2/node · as of 2026-01-02T03:04:05Z
    ! 2 unfinished tasks; 1 differs from what would be decided now
    TASK       PHASE      NODE       DECISION   GATE   NEXT LOOK       DIVERGES   DEADLINE   HOLDERS   COMPETING   REASON
    du/du-a1   Prepared   worker-b   admit      slot   requeue-5s      yes        in 120m    1         1           1 of 2 slots is held
    du/du-b1   New        <none>     accept     none   object-update   no         <none>     0         <none>      no prepare queue is in force
    ");
}

#[test]
fn without_utf8_every_mark_is_ascii() {
    let terminal = Terminal {
        marks: Marks::Ascii,
        ..Terminal::default()
    };
    for format in [Format::Table, Format::Wide] {
        let shown = [
            shown_status(&cluster(1000), format, &terminal),
            shown_diagnosis(
                &diagnosis(Verdict::Stuck, many_findings(40)),
                format,
                &terminal,
            ),
            shown_replay(&replay(), format, &terminal),
        ]
        .concat();
        assert!(shown.is_ascii(), "{shown}");
    }
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    let coloured = Terminal {
        color: Color::On,
        ..Terminal::default()
    };
    let report = diagnosis(Verdict::Stuck, many_findings(3));
    let with = shown_diagnosis(&report, Format::Table, &coloured);
    let mut without = String::new();
    let mut rest = with.as_str();
    while let Some((text, escape)) = rest.split_once('\u{1b}') {
        without.push_str(text);
        rest = escape.split_once('m').unwrap().1;
    }
    without.push_str(rest);
    assert_ne!(with, without);
    assert_eq!(
        without,
        shown_diagnosis(&report, Format::Table, &Terminal::default())
    );
}

#[test]
fn no_text_of_a_cluster_reaches_a_terminal_raw() {
    let hostile = "a\u{1b}[2J\u{9b}31m\u{202e}\u{7}\nb";
    let mut status_report = status(vec![node(hostile, NodeVerdict::Stuck, 1, 1)]);
    status_report.head.namespace = hostile.to_owned();
    status_report.head.server = Some(hostile.to_owned());
    status_report.head.velero_versions = vec![hostile.to_owned()];
    status_report.head.gaps = vec![refused(hostile)];
    status_report.nodes[0].holders[0].task.name = hostile.to_owned();
    let mut row = finding(FindingId::PreparedStuck, Severity::Critical, hostile);
    row.finding.evidence[0].value = hostile.to_owned();
    row.finding.actions[0].command = hostile.to_owned();
    row.finding.tasks[0].name = hostile.to_owned();
    let diagnosis_report = diagnosis(Verdict::Stuck, vec![row]);
    let mut replay_report = replay();
    replay_report.decisions[0].reason = hostile.to_owned();
    replay_report.decisions[0].task.name = hostile.to_owned();
    replay_report.decisions[0].node = Some(hostile.to_owned());
    let formats = [
        Format::Table,
        Format::Wide,
        Format::Json,
        Format::Yaml,
        Format::Name,
    ];
    for format in formats {
        let shown = [
            shown_status(&status_report, format, &Terminal::default()),
            shown_diagnosis(&diagnosis_report, format, &Terminal::default()),
            shown_replay(&replay_report, format, &Terminal::default()),
        ];
        for text in shown {
            assert!(!text.contains(ESCAPES), "{format:?}: {text:?}");
        }
    }
}
