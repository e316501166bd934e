//! `diagnose` for people.
//!
//! The first screen has at most 24 rows on any cluster. The worst finding is always told in full as far as
//! there is room; the others get a line each while there is room, then their details in turn; what is left
//! out is counted.

use std::io::{self, Write};

use super::context::{context, gaps_in_full, gaps_in_short, hidden_tasks, labelled, next_within};
use super::screen::{Line, Style, cut, rows, within, wrap, write_lines};
use super::status::SCREEN_ROWS;
use super::words::{age, count, time};
use super::{Marks, Terminal};
use crate::report::{DiagnosisReport, Evidence, EvidenceKind, FindingRow, Severity, Verdict};

/// Pieces of evidence of a finding on the first screen.
const EVIDENCE_SHOWN: usize = 3;
/// Rows that the headline of the first screen may take, and as many less one what is beside it unknown.
const HEADLINE_ROWS: usize = 4;
/// Rows that the sentence of the worst finding may take where there is no room for all of it.
const SENTENCE_ROWS: usize = 4;

/// Writes the first screen.
pub(super) fn table(
    out: &mut dyn Write,
    report: &DiagnosisReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut top = context(&report.head, terminal);
    top.extend(headline(report, terminal, Detail::Short));
    let mut bottom = gaps_in_short(&report.head, terminal);
    let room = SCREEN_ROWS.saturating_sub(rows(&top, terminal) + rows(&bottom, terminal));
    if let Some(command) = next_command(report) {
        bottom.extend(next_within(&command, room, terminal));
    }
    let room = SCREEN_ROWS.saturating_sub(rows(&top, terminal) + rows(&bottom, terminal));
    let lines = [top, fit(report, room, terminal), bottom].concat();
    write_lines(out, &lines, terminal)
}

/// Writes everything.
pub(super) fn wide(
    out: &mut dyn Write,
    report: &DiagnosisReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = context(&report.head, terminal);
    lines.extend(headline(report, terminal, Detail::Everything));
    for row in &report.findings {
        lines.push(Line::default());
        lines.extend(everything(row, report, terminal));
    }
    lines.extend(gaps_in_full(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

/// How much a view tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// What fits on a first screen.
    Short,
    /// All of it.
    Everything,
}

fn headline(report: &DiagnosisReport, terminal: &Terminal, detail: Detail) -> Vec<Line> {
    headline_texts(report, terminal, detail)
        .into_iter()
        .enumerate()
        .flat_map(|(index, (mark, style, text))| {
            let most = match detail {
                Detail::Short => HEADLINE_ROWS.saturating_sub(index),
                Detail::Everything => usize::MAX,
            };
            let first = Line::new(&format!("{mark} "), style);
            within(wrap(&first, &text, style, terminal), most, terminal)
        })
        .collect()
}

/// Says the verdict, and what is unknown beside it; each with its mark.
pub(super) fn headline_texts(
    report: &DiagnosisReport,
    terminal: &Terminal,
    detail: Detail,
) -> Vec<(&'static str, Style, String)> {
    let marks = terminal.marks;
    let counts = severity_counts(report);
    let unfinished = match report.unfinished {
        0 => "no unfinished task was seen".to_owned(),
        number => count(number, "unfinished task", "unfinished tasks"),
    };
    let (mark, style, text) = match report.verdict {
        Verdict::Stuck => (marks.bad(), Style::Bad, format!("STUCK: {counts}")),
        Verdict::Unknown => (
            marks.unknown(),
            Style::Unknown,
            format!("UNKNOWN: {}", lacking(report, terminal, detail)),
        ),
        Verdict::Attention => (marks.warn(), Style::Warn, format!("ATTENTION: {counts}")),
        Verdict::Healthy if counts.is_empty() => (
            marks.good(),
            Style::Good,
            format!("HEALTHY: nothing is stuck; {unfinished}"),
        ),
        Verdict::Healthy => (
            marks.good(),
            Style::Good,
            format!("HEALTHY: nothing is stuck; {unfinished}; {counts}"),
        ),
    };
    let text = if report.findings_not_shown > 0 {
        format!(
            "{text} ({} left out by filters)",
            count(report.findings_not_shown, "finding", "findings")
        )
    } else {
        text
    };
    let mut texts = vec![(mark, style, text)];
    let also_unclear = match report.verdict {
        Verdict::Stuck => !report.inconclusive.is_empty() || hidden_tasks(&report.head).is_some(),
        Verdict::Attention | Verdict::Healthy => hidden_tasks(&report.head).is_some(),
        Verdict::Unknown => false,
    };
    if also_unclear {
        texts.push((
            marks.unknown(),
            Style::Unknown,
            format!("beside that UNKNOWN: {}", lacking(report, terminal, detail)),
        ));
    } else if report.verdict == Verdict::Unknown && !counts.is_empty() {
        texts.push((" ", Style::Plain, format!("found all the same: {counts}")));
    }
    texts
}

/// Says what is missing.
fn lacking(report: &DiagnosisReport, terminal: &Terminal, detail: Detail) -> String {
    let mut reasons: Vec<String> = hidden_tasks(&report.head).into_iter().collect();
    reasons.extend(report.inconclusive.iter().cloned());
    match (reasons.as_slice(), detail) {
        ([], _) => "too little was read to say more".to_owned(),
        ([only], _) => only.clone(),
        (all, Detail::Everything) => all.join("; "),
        ([first, others @ ..], Detail::Short) => {
            format!(
                "{} (and {} more)",
                cut(first, 240, terminal.marks),
                others.len()
            )
        }
    }
}

fn severity_counts(report: &DiagnosisReport) -> String {
    let counts = report.severities();
    let parts: Vec<String> = [
        (counts.critical, "critical finding", "critical findings"),
        (counts.warning, "warning", "warnings"),
        (counts.info, "note", "notes"),
    ]
    .into_iter()
    .filter(|(number, _, _)| *number > 0)
    .map(|(number, one, many)| count(number, one, many))
    .collect();
    parts.join(", ")
}

/// Fits as much of the findings as there is room for.
fn fit(report: &DiagnosisReport, room: usize, terminal: &Terminal) -> Vec<Line> {
    let Some((worst, others)) = report.findings.split_first() else {
        return Vec::new();
    };
    let mut blocks = vec![worst_block(worst, report, room, terminal)];
    let mut left = room.saturating_sub(rows(blocks.concat().as_slice(), terminal));
    let titles: Vec<Vec<Line>> = others.iter().map(|row| title(row, terminal)).collect();
    let all: usize = titles.iter().map(|lines| rows(lines, terminal)).sum();
    // The line that counts what is left out needs a row of its own.
    let mut budget = if all <= left {
        left
    } else {
        left.saturating_sub(1)
    };
    let mut shown = 0;
    for lines in titles {
        let taken = rows(&lines, terminal);
        if taken > budget {
            break;
        }
        budget -= taken;
        left -= taken;
        blocks.push(lines);
        shown += 1;
    }
    let hidden = others.len() - shown;
    if hidden > 0 {
        left = left.saturating_sub(1);
    }
    for (row, block) in others.iter().zip(blocks.iter_mut().skip(1)) {
        for detail in [
            full(row, report, terminal, Next::Shown),
            short(row, terminal),
        ] {
            let more = rows(&detail, terminal).saturating_sub(rows(block, terminal));
            if more <= left {
                left -= more;
                *block = detail;
                break;
            }
        }
    }
    let mut lines = blocks.concat();
    if hidden > 0 {
        lines.push(Line::new(
            &format!(
                "{} and {} (use -o wide)",
                terminal.marks.more(),
                count(hidden, "more finding", "more findings")
            ),
            Style::Dim,
        ));
    }
    lines
}

fn worst_block(
    row: &FindingRow,
    report: &DiagnosisReport,
    room: usize,
    terminal: &Terminal,
) -> Vec<Line> {
    // Its next command is the last line of the screen.
    let full = full(row, report, terminal, Next::AtTheEnd);
    let room = room.saturating_sub(usize::from(report.findings.len() > 1));
    if rows(&full, terminal) <= room {
        return full;
    }
    within(short(row, terminal), room.min(SENTENCE_ROWS + 1), terminal)
}

/// Whether the next command of a finding is told with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Shown,
    AtTheEnd,
}

const fn look(severity: Severity, marks: Marks) -> (&'static str, Style) {
    match severity {
        Severity::Critical => (marks.bad(), Style::Bad),
        Severity::Warning => (marks.warn(), Style::Warn),
        Severity::Info => (marks.note(), Style::Plain),
    }
}

pub(super) fn title(row: &FindingRow, terminal: &Terminal) -> Vec<Line> {
    let finding = &row.finding;
    let (mark, style) = look(finding.severity, terminal.marks);
    let cause = finding
        .cause
        .map(|cause| format!(" ({cause})"))
        .unwrap_or_default();
    let mut parts = vec![
        finding.severity.as_str().to_owned(),
        finding.confidence.as_str().to_owned(),
    ];
    parts.extend(finding.node.iter().cloned());
    if !finding.tasks.is_empty() {
        parts.push(count(finding.tasks.len(), "task", "tasks"));
    }
    parts.extend(row.for_seconds.map(age));
    let first = Line::new(&format!("{mark} {}{cause}:", finding.id.as_str()), style);
    let parts = parts.join(", ");
    let whole = first.clone().then(&format!(" {parts}"), Style::Plain);
    if whole.shown_width(terminal) <= terminal.width {
        return vec![whole];
    }
    let mut lines = vec![first];
    let indent = Line::new("  ", Style::Plain);
    lines.extend(wrap(&indent, &parts, Style::Plain, terminal));
    lines
}

pub(super) fn sentence(row: &FindingRow, terminal: &Terminal) -> Vec<Line> {
    wrap(
        &Line::new("  ", Style::Plain),
        &row.finding.summary,
        Style::Plain,
        terminal,
    )
}

fn short(row: &FindingRow, terminal: &Terminal) -> Vec<Line> {
    let mut lines = title(row, terminal);
    lines.extend(sentence(row, terminal));
    lines
}

/// Returns the first pieces of evidence, a log among them where there is one: it says from when on it speaks.
fn first_evidence(row: &FindingRow) -> Vec<&Evidence> {
    let all = &row.finding.evidence;
    let is_log = |evidence: &&Evidence| evidence.kind == EvidenceKind::Log;
    let mut shown: Vec<&Evidence> = all.iter().take(EVIDENCE_SHOWN).collect();
    if !shown.iter().any(is_log)
        && let Some(log) = all.iter().find(is_log)
    {
        shown.pop();
        shown.push(log);
    }
    shown
}

fn full(
    row: &FindingRow,
    report: &DiagnosisReport,
    terminal: &Terminal,
    next_command: Next,
) -> Vec<Line> {
    let mut lines = short(row, terminal);
    for evidence in first_evidence(row) {
        let text = format!("  - {}: {}", evidence.source, evidence.value);
        lines.push(Line::new(
            &cut(
                &terminal.marks.printable(&text),
                terminal.width,
                terminal.marks,
            ),
            Style::Dim,
        ));
    }
    lines.extend(deadline(row, report, terminal));
    if next_command == Next::Shown
        && let Some(action) = row.finding.actions.first()
    {
        lines.extend(labelled("  next: ", &action.command, terminal));
    }
    lines
}

fn deadline(row: &FindingRow, report: &DiagnosisReport, terminal: &Terminal) -> Vec<Line> {
    let Some(deadline) = row.finding.deadline.as_ref() else {
        return Vec::new();
    };
    let seconds = deadline.at.duration_since(report.head.taken_at).as_secs();
    let when = if seconds >= 0 {
        format!("in {}", age(seconds))
    } else {
        format!("{} ago", age(seconds.saturating_neg()))
    };
    let approximate = if deadline.approximate {
        ", approximate"
    } else {
        ""
    };
    wrap(
        &Line::new("  deadline: ", Style::Plain),
        &format!(
            "{} ({when}, {}{approximate})",
            time(deadline.at),
            deadline.what.as_str()
        ),
        Style::Plain,
        terminal,
    )
}

/// Tells all of a finding.
fn everything(row: &FindingRow, report: &DiagnosisReport, terminal: &Terminal) -> Vec<Line> {
    let finding = &row.finding;
    let mut lines = short(row, terminal);
    if let Some(since) = finding.since {
        lines.push(Line::new(
            &format!("  since: {}", time(since)),
            Style::Plain,
        ));
    }
    let lists = [
        (
            "tasks",
            finding.tasks.iter().map(ToString::to_string).collect(),
        ),
        (
            "blocked by",
            finding.blocked_by.iter().map(ToString::to_string).collect(),
        ),
        (
            "affects",
            finding
                .affects
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<String>>(),
        ),
    ];
    for (name, items) in lists {
        if !items.is_empty() {
            lines.push(Line::new(&format!("  {name}:"), Style::Plain));
            let indent = Line::new("    ", Style::Plain);
            lines.extend(
                items
                    .iter()
                    .flat_map(|item| wrap(&indent, item, Style::Plain, terminal)),
            );
        }
    }
    if !finding.evidence.is_empty() {
        lines.push(Line::new("  evidence:", Style::Plain));
    }
    for evidence in &finding.evidence {
        lines.extend(wrap(
            &Line::new(&format!("    {} ", evidence.kind.as_str()), Style::Dim),
            &format!("{}: {}", evidence.source, evidence.value),
            Style::Plain,
            terminal,
        ));
    }
    lines.extend(deadline(row, report, terminal));
    for action in &finding.actions {
        lines.extend(labelled("  next: ", &action.command, terminal));
        for (name, text) in [("effect", &action.effect), ("risk", &action.risk)] {
            if !text.is_empty() {
                lines.extend(wrap(
                    &Line::new(&format!("    {name}: "), Style::Dim),
                    text,
                    Style::Plain,
                    terminal,
                ));
            }
        }
    }
    if !finding.references.is_empty() {
        lines.extend(wrap(
            &Line::new("  see: ", Style::Dim),
            &finding.references.join(", "),
            Style::Dim,
            terminal,
        ));
    }
    lines
}

/// Returns the command of the worst finding; without one, a look at everything where something is not known.
pub(super) fn next_command(report: &DiagnosisReport) -> Option<String> {
    let action = report
        .findings
        .first()
        .and_then(|row| row.finding.actions.first());
    if let Some(action) = action {
        return Some(action.command.clone());
    }
    match report.verdict {
        Verdict::Unknown | Verdict::Stuck | Verdict::Attention => report
            .head
            .pins
            .reading_command("diagnose -o wide", &report.head.namespace),
        Verdict::Healthy => None,
    }
}
