//! The views as they are read: by a person, and by a parser that looks for what a hostile text made of it.

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::super::tests::samples::{
    cluster, diagnosis, du, finding, node, refused, replay, status, unread,
};
use super::super::{Format, Terminal};
use crate::report::{
    DiagnosisReport, Evidence, FindingId, NodeVerdict, ReplayReport, Severity, StatusReport,
    Verdict,
};
use crate::velero::{ObjectRef, TaskKind};

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn of_status(report: &StatusReport) -> String {
    text(|out| super::status(out, report))
}

fn of_diagnosis(report: &DiagnosisReport) -> String {
    text(|out| super::diagnosis(out, report))
}

fn of_replay(report: &ReplayReport) -> String {
    text(|out| super::replay(out, report))
}

/// Reads Markdown as GitHub does, and returns its blocks without their texts: what a text may not change.
fn skeleton(markdown: &str) -> Vec<String> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM;
    Parser::new_ext(markdown, options)
        .filter_map(|event| match event {
            // Where words end and code begins is the text's own affair.
            Event::Text(_) | Event::Code(_) => None,
            Event::Start(tag) => Some(format!("{tag:?}")),
            Event::End(tag) => Some(format!("{tag:?}")),
            Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => Some(format!("{event:?}")),
        })
        .collect()
}

/// Returns what is neither in a code span nor in a block of code: where GitHub looks for mentions, issues,
/// emoji and addresses.
fn loose_text(markdown: &str) -> String {
    let mut loose = String::new();
    let mut inside_code = false;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        if matches!(
            event,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))
        ) {
            inside_code = true;
        } else if let Event::End(end) = &event {
            inside_code = inside_code && *end != TagEnd::CodeBlock;
            loose.push('\n');
        } else if let Event::Text(text) = event
            && !inside_code
        {
            loose.push_str(&text);
        }
    }
    loose
}

/// A cluster in which every text that comes from the API is one that somebody chose.
fn hostile(name: &str) -> (StatusReport, DiagnosisReport, ReplayReport) {
    let mut nodes = vec![node(name, NodeVerdict::Stuck, 1, 2)];
    for row in &mut nodes {
        for task in row.holders.iter_mut().chain(&mut row.waiting) {
            task.task = du(name);
        }
    }
    let mut of_nodes = status(nodes);
    let mut row = finding(FindingId::PreparedStuck, Severity::Critical, name);
    row.finding.summary = format!("{name} waits, {name}");
    row.finding.tasks = vec![du(name)];
    row.finding.affects = vec![du(name)];
    row.finding.blocked_by = vec![ObjectRef::namespaced("Pod", name, name)];
    row.finding.evidence = vec![Evidence::field(name.to_owned(), name.to_owned())];
    let mut findings = diagnosis(Verdict::Stuck, vec![row]);
    findings.inconclusive = vec![name.to_owned()];
    let mut decisions = replay();
    for decision in &mut decisions.decisions {
        decision.task = du(name);
        decision.node = Some(name.to_owned());
        decision.reason = name.to_owned();
    }
    for head in [&mut of_nodes.head, &mut findings.head, &mut decisions.head] {
        let mut gap = refused(name);
        gap.effect = name.to_owned();
        head.gaps = vec![gap];
        head.pins.context = Some(name.to_owned());
        head.velero_versions = vec![name.to_owned()];
    }
    // A namespace that is no name leaves no command to type.
    decisions.head.namespace = name.to_owned();
    (of_nodes, findings, decisions)
}

/// Texts made of what Markdown, GitHub, Slack and a shell look at.
fn nasty() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "`",
        "``",
        "```",
        "~~~",
        "|",
        "\\",
        "\\|",
        "*",
        "**",
        "_",
        "__",
        "~~",
        "<",
        ">",
        "<b>",
        "</td>",
        "<!--",
        "&lt;",
        "[",
        "]",
        "](https://a.example)",
        "![x](y)",
        "(",
        ")",
        "#",
        "\n# x",
        "\n\n",
        "\r",
        "\t",
        "- ",
        "+ ",
        "1. ",
        "===",
        "---",
        "| --- |",
        "@everyone",
        "@a/b",
        "a@b.example",
        "https://a.example",
        "www.a.example",
        ":fire:",
        "#12",
        "a/b#12",
        "$x$",
        "$`x`$",
        "{",
        "}",
        "!",
        " ",
        "  ",
        "    ",
        "a",
        "b-c",
        "\u{202e}",
        "\u{1b}[31m",
        "\u{2028}",
        "é",
        "日本",
        ".",
        ":",
        "'",
        "\"",
        "[^1]",
        "[ ]",
        "[x]",
        "<!channel>",
        "&#64;",
    ]);
    prop::collection::vec(pieces, 1..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_of_a_cluster_can_leave_its_place(name in nasty()) {
        let (nodes, findings, decisions) = hostile(&name);
        let (plain_nodes, plain_findings, plain_decisions) = hostile("a");
        prop_assert_eq!(skeleton(&of_status(&nodes)), skeleton(&of_status(&plain_nodes)));
        prop_assert_eq!(
            skeleton(&of_diagnosis(&findings)),
            skeleton(&of_diagnosis(&plain_findings))
        );
        prop_assert_eq!(
            skeleton(&of_replay(&decisions)),
            skeleton(&of_replay(&plain_decisions))
        );
        for page in [of_status(&nodes), of_diagnosis(&findings), of_replay(&decisions)] {
            let loose = loose_text(&page);
            for magic in ['@', '#', '<', '>', '[', ']', '`', '*', '_', '~', '|', '$', '&', '\\'] {
                prop_assert!(!loose.contains(magic), "{magic:?} in {loose:?}");
            }
            prop_assert!(!loose.contains("://"), "{loose:?}");
            prop_assert!(!loose.contains("www."), "{loose:?}");
            prop_assert!(!loose.contains(":fire:"), "{loose:?}");
            prop_assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{page:?}");
        }
    }

    #[test]
    fn a_name_stands_in_its_cell_as_it_is(name in "[a-z0-9|`*_<>@#.-]{1,60}") {
        let page = of_status(&status(vec![node(&name, NodeVerdict::Idle, 0, 0)]));
        let codes: Vec<String> = Parser::new_ext(&page, Options::ENABLE_TABLES)
            .filter_map(|event| {
                if let Event::Code(text) = event {
                    Some(text.to_string())
                } else {
                    None
                }
            })
            .collect();
        prop_assert!(codes.contains(&name), "{codes:?}");
    }
}

#[test]
fn a_name_is_never_cut() {
    let name = format!("{}.example", "n".repeat(240));
    let (nodes, findings, decisions) = hostile(&name);
    for page in [
        of_status(&nodes),
        of_diagnosis(&findings),
        of_replay(&decisions),
    ] {
        assert!(page.contains(&format!("`{name}`")), "{page}");
    }
}

#[test]
fn neither_width_nor_colour_nor_marks_change_a_byte() {
    let report = cluster(3);
    let narrow =
        text(|out| super::super::status(out, &report, Format::Markdown, &Terminal::default()));
    let wide = Terminal {
        width: 200,
        color: super::super::Color::On,
        marks: super::super::Marks::Ascii,
        headers: super::super::Headers::Hidden,
        lines: super::super::Lines::Folded,
    };
    let colourful = text(|out| super::super::status(out, &report, Format::Markdown, &wide));
    assert_eq!(narrow, colourful);
    assert!(!narrow.contains('\u{1b}'));
}

#[test]
fn a_large_cluster_is_counted_where_it_is_not_listed() {
    let page = of_status(&cluster(500));
    assert!(
        page.contains("And 480 more nodes that need no look."),
        "{page}"
    );
    let mut row = finding(FindingId::PreparedStuck, Severity::Critical, "worker-b");
    row.finding.tasks = (0..50).map(|index| du(&format!("du-{index:02}"))).collect();
    let page = of_diagnosis(&diagnosis(Verdict::Stuck, vec![row]));
    assert!(page.contains("- tasks (50): `du/du-00`, "), "{page}");
    assert!(page.contains("`du/du-19` and 30 more\n"), "{page}");
}

#[test]
fn a_diagnosis_reads_like_this() {
    let mut report = diagnosis(
        Verdict::Stuck,
        vec![finding(
            FindingId::PreparedStuck,
            Severity::Critical,
            "worker-b",
        )],
    );
    report.head.gaps = vec![refused("nodes")];
    insta::assert_snapshot!(of_diagnosis(&report), @r#"
    ## STUCK: 1 critical finding

    context `prod-eu-1`, namespace `velero`, Velero 1.17.1, limit 2/node, as of 2026-01-02T03:04:05Z (clock of the API server)

    ### critical: prepared-stuck (ghost-slot) on `worker-b`

    3 tasks wait on worker-b beside a free slot for 18h, and nothing moves there: an entry of a task that ended was never taken out of the agent's memory.

    - confidence: likely
    - since: 2026-01-01T09:04:05Z (18h)
    - deadline: 2026-01-02T05:04:05Z (in 120m), itemOperationTimeout, approximate
    - tasks (2): `du/du-a1`, `du/du-a2`
    - blocked by (1): `Pod velero/du-old`
    - affects (1): `du/du-a3`
    - evidence:
      - field `DataUpload velero/du-a1 .status.phase`: `Prepared`
      - field `DataUpload velero/du-a2 .status.phase`: `Prepared`
      - field `DataUpload velero/du-a3 .status.phase`: `Prepared`
      - field `DataUpload velero/du-a4 .status.phase`: `Prepared`
    - runbook: `kubectl velero-slots explain prepared-stuck`
    - see: `velero-io/velero#9334`

    Next: starts the agent again: its slots are free then. Risk: running tasks of the node are resumed

    ```sh
    kubectl velero-slots restart --node worker-b -n velero --context prod-eu-1
    ```

    ### Gaps: what could not be read or known

    - `nodes` (forbidden): nodes is forbidden: User "jane" cannot list resource; nothing is known of them
    "#);
}

#[test]
fn a_status_reads_like_this() {
    insta::assert_snapshot!(of_status(&cluster(1)), @"
    ## 1 node stuck, 1 node without a working agent; 3 tasks in progress, 7 wait for a slot (oldest 47m)

    context `prod-eu-1`, namespace `velero`, Velero 1.17.1, limit 2/node, as of 2026-01-02T03:04:05Z (clock of the API server)

    prepare queue 3 of 10; without a node yet: 4 New, 2 Accepted

    | NODE | VERDICT | IN PROGRESS | FREE BY STATUS | WAITING | OLDEST WAITS SINCE | HELD BY | LIMIT FROM |
    | --- | --- | --- | --- | --- | --- | --- | --- |
    | `worker-b` | stuck | 1 of 2 | 1 | 5 | 2026-01-02T02:17:05Z (47m) | `du/du-h0` | global |
    | `worker-a` | no-agent | 0 of 2 | 2 | 0 | none | none | global |
    | `worker-0000` | queued | 2 of 2 | 0 | 2 | 2026-01-02T02:17:05Z (47m) | `du/du-h0` +1 | global |

    ### Tasks of the nodes that need a look

    | NODE | TASK | SLOT | PHASE | SINCE | PROGRESS | DEADLINE |
    | --- | --- | --- | --- | --- | --- | --- |
    | `worker-b` | `du/du-h0` | holds | InProgress | 2026-01-02T02:17:05Z (47m) | 63% | none |
    | `worker-b` | `du/du-w0` | waits | Prepared | 2026-01-02T02:17:05Z (47m) | 0% | none |
    | `worker-b` | `du/du-w1` | waits | Prepared | 2026-01-02T02:17:05Z (47m) | 0% | none |
    | `worker-b` | `du/du-w2` | waits | Prepared | 2026-01-02T02:17:05Z (47m) | 0% | none |
    | `worker-b` | `du/du-w3` | waits | Prepared | 2026-01-02T02:17:05Z (47m) | 0% | none |
    | `worker-b` | `du/du-w4` | waits | Prepared | 2026-01-02T02:17:05Z (47m) | 0% | none |

    Next:

    ```sh
    kubectl velero-slots diagnose -n velero --context prod-eu-1
    ```
    ");
}

#[test]
fn a_replay_reads_like_this() {
    insta::assert_snapshot!(of_replay(&replay()), @"
    ## 2 unfinished tasks; 1 differs from what would be decided now

    context `prod-eu-1`, namespace `velero`, Velero 1.17.1, limit 2/node, as of 2026-01-02T03:04:05Z (clock of the API server)

    | TASK | PHASE | NODE | DECISION | GATE | NEXT LOOK | DIVERGES | DEADLINE | REASON |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | `du/du-a1` | Prepared | `worker-b` | admit | slot | requeue-5s | yes | 2026-01-02T05:04:05Z (in 120m) | 1 of 2 slots is held |
    | `du/du-b1` | New | none | accept | none | object-update | no | none | no prepare queue is in force |
    ");
}

#[test]
fn what_was_refused_is_in_the_first_line() {
    let mut report = status(Vec::new());
    report.head.unread_tasks = vec![unread(TaskKind::DataUpload)];
    let page = of_status(&report);
    assert!(
        page.starts_with("## UNKNOWN: not read: datauploads (forbidden)\n"),
        "{page}"
    );
}
