//! `replay` and `version` for people.

use std::io::{self, Write};

use super::Terminal;
use super::columns::{Column, Room, Table};
use super::context::{context, gaps_in_full, gaps_in_short, hidden_tasks, unmatched};
use super::screen::{Line, Span, Style, wrap, write_lines};
use super::words::{NONE, UNKNOWN, age, count};
use crate::report::{DecisionRow, ReplayReport, Verb, VersionReport};

/// Columns go in this order: NEXT LOOK, GATE, NODE, PHASE.
const COLUMNS: [Column; 7] = [
    Column::always("TASK"),
    Column::until("PHASE", 3),
    Column::until("NODE", 2),
    Column::always("DECISION"),
    Column::until("GATE", 1),
    Column::until("NEXT LOOK", 0),
    Column::always("DIVERGES"),
];

const WIDE_COLUMNS: [Column; 11] = [
    Column::always("TASK"),
    Column::always("PHASE"),
    Column::always("NODE"),
    Column::always("DECISION"),
    Column::always("GATE"),
    Column::always("NEXT LOOK"),
    Column::always("DIVERGES"),
    Column::always("DEADLINE"),
    Column::always("HOLDERS"),
    Column::always("COMPETING"),
    Column::always("REASON"),
];

/// Writes a row for each task.
pub(super) fn table(
    out: &mut dyn Write,
    report: &ReplayReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = top(report, terminal);
    if !report.decisions.is_empty() {
        let mut table = Table::new(&COLUMNS);
        for decision in &report.decisions {
            table.row(row(decision));
        }
        lines.extend(table.lines(terminal, Room::Terminal));
    }
    lines.extend(gaps_in_short(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

/// Writes a row for each task, with the reason.
pub(super) fn wide(
    out: &mut dyn Write,
    report: &ReplayReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = top(report, terminal);
    if !report.decisions.is_empty() {
        let mut table = Table::new(&WIDE_COLUMNS);
        for decision in &report.decisions {
            table.row(wide_row(decision, report));
        }
        lines.extend(table.lines(terminal, Room::Any));
    }
    lines.extend(gaps_in_full(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

/// Writes what this program is.
pub(super) fn version(out: &mut dyn Write, report: &VersionReport) -> io::Result<()> {
    writeln!(out, "Client Version: {}", report.client_version)?;
    writeln!(out, "Commit: {}", report.commit.unwrap_or(UNKNOWN))?;
    writeln!(out, "Rule Sets: {}", report.rule_sets.join(", "))
}

fn top(report: &ReplayReport, terminal: &Terminal) -> Vec<Line> {
    let mut lines = context(&report.head, terminal);
    let (mark, style, text) = top_text(report, terminal);
    let first = Line::new(&format!("{mark} "), style);
    lines.extend(wrap(&first, &text, style, terminal));
    lines
}

/// Says how many tasks there are, how many differ, and what is not known; with its mark.
pub(super) fn top_text(
    report: &ReplayReport,
    terminal: &Terminal,
) -> (&'static str, Style, String) {
    let diverging = report.decisions.iter().filter(|row| row.diverges).count();
    let tasks = match report.decisions.len() {
        0 => "no unfinished task was seen".to_owned(),
        number => count(number, "unfinished task", "unfinished tasks"),
    };
    let text = if report.decisions_not_shown > 0 {
        format!(
            "{tasks} ({} left out by filters)",
            report.decisions_not_shown
        )
    } else {
        tasks
    };
    let mut unclear: Vec<String> = unmatched(&report.head, terminal).into_iter().collect();
    unclear.extend(hidden_tasks(&report.head));
    if !unclear.is_empty() {
        let text = format!("UNKNOWN: {}; {text}", unclear.join("; "));
        return (terminal.marks.unknown(), Style::Unknown, text);
    }
    if diverging > 0 {
        let differ = if diverging == 1 { "differs" } else { "differ" };
        let text = format!("{text}; {diverging} {differ} from what would be decided now");
        (terminal.marks.warn(), Style::Warn, text)
    } else {
        (terminal.marks.good(), Style::Good, text)
    }
}

fn diverges(decision: &DecisionRow) -> Span {
    if decision.diverges {
        Span::new("yes", Style::Warn)
    } else {
        Span::new("no", Style::Plain)
    }
}

fn decided(decision: &DecisionRow) -> Span {
    let style = match decision.decision {
        Verb::Fail | Verb::Cancel => Style::Warn,
        Verb::Unknown => Style::Unknown,
        Verb::Admit | Verb::Wait | Verb::Accept | Verb::Prepare | Verb::Skip | Verb::None => {
            Style::Plain
        }
    };
    Span::new(decision.decision.as_str(), style)
}

fn row(decision: &DecisionRow) -> [Span; 7] {
    let plain = |text: &str| Span::new(text, Style::Plain);
    [
        plain(&format!(
            "{}/{}",
            decision.task.kind.short_name(),
            decision.task.name
        )),
        plain(decision.phase.as_str()),
        plain(decision.node.as_deref().unwrap_or(NONE)),
        decided(decision),
        plain(decision.gate.as_str()),
        plain(decision.next_trigger.as_str()),
        diverges(decision),
    ]
}

fn wide_row(decision: &DecisionRow, report: &ReplayReport) -> [Span; 11] {
    let plain = |text: &str| Span::new(text, Style::Plain);
    let [task, phase, node, decided, gate, trigger, diverges] = row(decision);
    let deadline = decision.deadline.as_ref().map_or_else(
        || NONE.to_owned(),
        |deadline| {
            let seconds = deadline.at.duration_since(report.head.taken_at).as_secs();
            if seconds >= 0 {
                format!("in {}", age(seconds))
            } else {
                format!("{} ago", age(seconds.saturating_neg()))
            }
        },
    );
    let competing = decision
        .competing
        .as_ref()
        .map_or_else(|| NONE.to_owned(), |competing| competing.count.to_string());
    [
        task,
        phase,
        node,
        decided,
        gate,
        trigger,
        diverges,
        plain(&deadline),
        plain(&decision.holders.len().to_string()),
        plain(&competing),
        plain(&decision.reason),
    ]
}
