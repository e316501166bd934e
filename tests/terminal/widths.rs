//! What is shown fits, and what must be pasted is whole.

use unicode_width::UnicodeWidthStr as _;

use crate::plugin::{NOW, WIDTHS, calls, on_terminal, plugin, rewritten, words};

/// Stories of several forms: a leak, a queue, a lost node, restores, agents of two releases.
const STORIES: [&str; 5] = [
    "scenarios/seed-465/objects",
    "scenarios/normal-long-queue/objects",
    "scenarios/drained-node/objects",
    "scenarios/restore-waits-for-its-pods/objects",
    "scenarios/rollout-two-versions/objects",
];

/// Whether a line may be wider than the terminal: it is one name or one command, with nothing beside it.
fn stands_alone(line: &str) -> bool {
    line.starts_with("kubectl ") || !line.trim().contains(' ')
}

/// Returns the lines that are too wide.
fn too_wide(text: &str, columns: u16) -> Vec<&str> {
    text.lines()
        .filter(|line| line.width() > usize::from(columns) && !stands_alone(line))
        .collect()
}

fn complaints(objects: &str, columns: u16) -> Vec<String> {
    let mut all = Vec::new();
    for call in calls(objects) {
        let mut plain = plugin(&words(&call));
        plain.env("NO_COLOR", "1");
        let shown = on_terminal(plain, columns);
        let text = shown.text();
        assert!(
            matches!(shown.code, Some(0 | 1 | 3 | 4)),
            "{call:?}: {text}"
        );
        assert!(text.lines().count() > 1, "{call:?}: {text}");
        all.extend(
            too_wide(&text, columns)
                .iter()
                .map(|line| format!("{}: {line}", call.join(" "))),
        );
    }
    all
}

fn no_line_of_any_story_is_wider_than(columns: u16) {
    let all: Vec<String> = STORIES
        .iter()
        .flat_map(|story| complaints(story, columns))
        .collect();
    assert!(all.is_empty(), "at {columns}:\n{}", all.join("\n"));
}

#[test]
fn at_60_columns_no_line_is_wider() {
    no_line_of_any_story_is_wider_than(60);
}

#[test]
fn at_80_columns_no_line_is_wider() {
    no_line_of_any_story_is_wider_than(80);
}

#[test]
fn at_100_columns_no_line_is_wider() {
    no_line_of_any_story_is_wider_than(100);
}

#[test]
fn at_120_columns_no_line_is_wider() {
    no_line_of_any_story_is_wider_than(120);
}

#[test]
fn at_200_columns_no_line_is_wider() {
    no_line_of_any_story_is_wider_than(200);
}

/// A name of 63 characters and one of 120: what a cloud calls a node, and what Velero calls a task of a Backup
/// that a schedule with a long name made.
const LONG_NODE: &str = "ip-10-123-234-111-prod-eu-central-1-general-purpose-compute-a-1";
const LONG_TASK: &str = "daily-backup-of-everything-in-the-production-cluster-in-central-europe-with-snapshots-moved-to-20260102020000-backup-x7k2q";

#[test]
fn long_names_are_whole_and_make_no_other_line_wide() {
    let story = rewritten(
        "scenarios/seed-465/objects",
        &[
            ("\"node-c\"", &format!("\"{LONG_NODE}\"")),
            ("\"backup-1-002\"", &format!("\"{LONG_TASK}\"")),
        ],
    );
    let from = story.path().to_str().unwrap_or_default();
    for columns in WIDTHS {
        let all = complaints(from, columns);
        assert!(all.is_empty(), "at {columns}:\n{}", all.join("\n"));
    }
    for call in calls(from) {
        let shown = on_terminal(plugin(&words(&call)), 60).text();
        if call.iter().any(|word| word.contains(LONG_TASK)) {
            assert!(shown.contains(LONG_TASK), "{call:?}: {shown}");
        }
    }
    let status = on_terminal(plugin(&["status", "--from", from, "--now", NOW]), 60).text();
    assert!(status.lines().any(|line| line == LONG_NODE), "{status}");
}

#[test]
fn a_first_screen_fits_into_24_rows_of_80_columns() {
    for story in STORIES {
        for command in ["status", "diagnose"] {
            let mut call = plugin(&[command, "--from", story, "--now", NOW]);
            call.env("NO_COLOR", "1");
            let text = on_terminal(call, 80).text();
            let rows: usize = text
                .lines()
                .map(|line| line.width().div_ceil(80).max(1))
                .sum();
            assert!(rows <= 24, "{command} {story}:\n{text}");
        }
    }
}

#[test]
fn the_first_screen_of_status_at_five_widths() {
    let shown: String = WIDTHS
        .iter()
        .map(|columns| {
            let story = "scenarios/rollout-two-versions/objects";
            let mut call = plugin(&["status", "--from", story, "--now", NOW]);
            call.env("NO_COLOR", "1");
            format!("--- {columns}\n{}", on_terminal(call, *columns).text())
        })
        .collect();
    insta::assert_snapshot!(shown, @r"
    --- 60
    …/rollout-two-versions/objects · velero
    Velero 1.16.2, 1.17.2 · limit 1/node
    as of 2026-01-02T03:04:05Z (--now)
    ✓ no node is stuck; 2 tasks in progress, 3 wait for a slot
      (oldest 45m)
    NODE     VERDICT   IN PROGRESS   WAITING   OLDEST
    node-a   queued    1 of 1        1         30m
    node-b   queued    1 of 1        2         45m
    gaps: not in the input: datadownloads, podvolumerestores
          (see -o wide)
    next:
    kubectl velero-slots replay --from scenarios/rollout-two-versions/objects --now 2026-01-02T03:04:05Z -n velero
    --- 80
    scenarios/rollout-two-versions/objects · velero · Velero 1.16.2, 1.17.2
    limit 1/node · as of 2026-01-02T03:04:05Z (--now)
    ✓ no node is stuck; 2 tasks in progress, 3 wait for a slot (oldest 45m)
    NODE     VERDICT   IN PROGRESS   WAITING   OLDEST   HELD BY
    node-a   queued    1 of 1        1         30m      du/du-a1 39%
    node-b   queued    1 of 1        2         45m      du/du-b1 39%
    gaps: not in the input: datadownloads, podvolumerestores (see -o wide)
    next:
    kubectl velero-slots replay --from scenarios/rollout-two-versions/objects --now 2026-01-02T03:04:05Z -n velero
    --- 100
    scenarios/rollout-two-versions/objects · velero · Velero 1.16.2, 1.17.2 · limit 1/node
    as of 2026-01-02T03:04:05Z (--now)
    ✓ no node is stuck; 2 tasks in progress, 3 wait for a slot (oldest 45m)
    NODE     VERDICT   IN PROGRESS   WAITING   OLDEST   HELD BY
    node-a   queued    1 of 1        1         30m      du/du-a1 39%
    node-b   queued    1 of 1        2         45m      du/du-b1 39%
    gaps: not in the input: datadownloads, podvolumerestores (see -o wide)
    next:
    kubectl velero-slots replay --from scenarios/rollout-two-versions/objects --now 2026-01-02T03:04:05Z -n velero
    --- 120
    scenarios/rollout-two-versions/objects · velero · Velero 1.16.2, 1.17.2 · limit 1/node
    as of 2026-01-02T03:04:05Z (--now)
    ✓ no node is stuck; 2 tasks in progress, 3 wait for a slot (oldest 45m)
    NODE     VERDICT   IN PROGRESS   WAITING   OLDEST   HELD BY
    node-a   queued    1 of 1        1         30m      du/du-a1 39%
    node-b   queued    1 of 1        2         45m      du/du-b1 39%
    gaps: not in the input: datadownloads, podvolumerestores (see -o wide)
    next: kubectl velero-slots replay --from scenarios/rollout-two-versions/objects --now 2026-01-02T03:04:05Z -n velero
    --- 200
    scenarios/rollout-two-versions/objects · velero · Velero 1.16.2, 1.17.2 · limit 1/node · as of 2026-01-02T03:04:05Z (--now)
    ✓ no node is stuck; 2 tasks in progress, 3 wait for a slot (oldest 45m)
    NODE     VERDICT   IN PROGRESS   WAITING   OLDEST   HELD BY
    node-a   queued    1 of 1        1         30m      du/du-a1 39%
    node-b   queued    1 of 1        2         45m      du/du-b1 39%
    gaps: not in the input: datadownloads, podvolumerestores (see -o wide)
    next: kubectl velero-slots replay --from scenarios/rollout-two-versions/objects --now 2026-01-02T03:04:05Z -n velero
    ");
}
