//! `status` for people.
//!
//! The first screen has at most [`SCREEN_ROWS`] rows on any cluster: nodes that need a look come first,
//! the others follow while there is room, and what is left out is counted.

use std::io::{self, Write};

use super::columns::{Column, Room, Table};
use super::context::{
    context, gaps_in_full, gaps_in_short, hidden_tasks, next, next_within, unmatched,
};
use super::eta::{eta, from_now};
use super::screen::{Line, Span, Style, cut, rows, wrap, write_lines};
use super::words::{NONE, UNKNOWN, age, count};
use super::{Marks, Terminal};
use crate::report::{NodeRow, NodeVerdict, Progress, StatusReport, TaskRow, VeleroSeen};

/// How many rows of a terminal the first screen may take.
pub(super) const SCREEN_ROWS: usize = 24;
/// How many nodes that need no look are shown where not all fit: enough to see what normal looks like.
const OTHERS_SHOWN: usize = 5;

/// Columns go in this order: HELD BY, OLDEST, WAITING.
const COLUMNS: [Column; 6] = [
    Column::always("NODE"),
    Column::always("VERDICT"),
    Column::always("IN PROGRESS"),
    Column::until("WAITING", 2),
    Column::until("OLDEST", 1),
    Column::until("HELD BY", 0),
];

const WIDE_COLUMNS: [Column; 17] = [
    Column::always("NODE"),
    Column::always("VERDICT"),
    Column::always("IN PROGRESS"),
    Column::always("FREE"),
    Column::always("LEAKED"),
    Column::always("WAITING"),
    Column::always("OLDEST"),
    Column::always("LIMIT FROM"),
    Column::always("CONFIGURED"),
    Column::always("PREPARED"),
    Column::always("CANCELING"),
    Column::always("ACCEPTED"),
    Column::always("NEW"),
    Column::always("AGENT"),
    Column::always("READY"),
    Column::always("RESTARTS"),
    Column::always("VERSION"),
];

const TASK_COLUMNS: [Column; 8] = [
    Column::always("NODE"),
    Column::always("TASK"),
    Column::always("SLOT"),
    Column::always("PHASE"),
    Column::always("SINCE"),
    Column::always("PROGRESS"),
    Column::always("ETA"),
    Column::always("DEADLINE"),
];

/// Writes the first screen.
pub(super) fn table(
    out: &mut dyn Write,
    report: &StatusReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut top = context(&report.head, terminal);
    top.extend(headline(report, terminal));
    let mut bottom = Vec::new();
    bottom.extend(queue(report, terminal));
    bottom.extend(gaps_in_short(&report.head, terminal));
    let room = SCREEN_ROWS.saturating_sub(rows(&top, terminal) + rows(&bottom, terminal));
    if let Some(command) = next_command(report) {
        bottom.extend(next_within(&command, room, terminal));
    }
    let room = SCREEN_ROWS.saturating_sub(rows(&top, terminal) + rows(&bottom, terminal));
    let lines = [top, nodes(report, room, terminal), bottom].concat();
    write_lines(out, &lines, terminal)
}

/// Writes everything.
pub(super) fn wide(
    out: &mut dyn Write,
    report: &StatusReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = context(&report.head, terminal);
    lines.extend(headline(report, terminal));
    lines.extend(queue(report, terminal));
    if !report.nodes.is_empty() {
        let mut table = Table::new(&WIDE_COLUMNS);
        for node in by_need(&report.nodes) {
            table.row(wide_row(node, terminal.marks));
        }
        lines.push(Line::default());
        lines.extend(table.lines(terminal, Room::Any));
    }
    lines.extend(tasks(report, terminal));
    lines.extend(gaps_in_full(&report.head, terminal));
    if let Some(command) = next_command(report) {
        lines.extend(next(&command, terminal));
    }
    write_lines(out, &lines, terminal)
}

fn headline(report: &StatusReport, terminal: &Terminal) -> Vec<Line> {
    headline_texts(report, terminal)
        .into_iter()
        .flat_map(|(mark, style, text)| {
            let first = Line::new(&format!("{mark} "), style);
            wrap(&first, &text, style, terminal)
        })
        .collect()
}

/// Says how the nodes stand, and what is not known; each with its mark.
pub(super) fn headline_texts(
    report: &StatusReport,
    terminal: &Terminal,
) -> Vec<(&'static str, Style, String)> {
    let marks = terminal.marks;
    let mut texts = Vec::new();
    let number = |wanted: NodeVerdict| {
        report
            .nodes
            .iter()
            .filter(|node| node.verdict == wanted)
            .count()
    };
    let (stuck, no_agent, degraded, unknown) = (
        number(NodeVerdict::Stuck),
        number(NodeVerdict::NoAgent),
        number(NodeVerdict::Degraded),
        number(NodeVerdict::Unknown),
    );
    let mut unclear = Vec::new();
    if report.velero_seen == VeleroSeen::No {
        unclear.push(format!(
            "no node-agent and no task was seen in namespace {}",
            cut(&report.head.namespace, terminal.width, marks)
        ));
    }
    unclear.extend(unmatched(&report.head, terminal));
    unclear.extend(hidden_tasks(&report.head));
    if unknown > 0 {
        unclear.push(format!(
            "{} cannot be judged",
            count(unknown, "node", "nodes")
        ));
    }
    let mut bad = Vec::new();
    if stuck > 0 {
        bad.push(format!("{} stuck", count(stuck, "node", "nodes")));
    }
    if no_agent > 0 {
        bad.push(format!(
            "{} without a working agent",
            count(no_agent, "node", "nodes")
        ));
    }
    if degraded > 0 {
        bad.push(format!("{} degraded", count(degraded, "node", "nodes")));
    }
    let waiting = waiting_words(report);
    if !bad.is_empty() {
        let (mark, style) = if stuck + no_agent > 0 {
            (marks.bad(), Style::Bad)
        } else {
            (marks.warn(), Style::Warn)
        };
        texts.push((mark, style, format!("{}; {waiting}", bad.join(", "))));
    }
    if !unclear.is_empty() {
        let text = format!("UNKNOWN: {}", unclear.join("; "));
        texts.push((marks.unknown(), Style::Unknown, text));
    }
    if texts.is_empty() {
        let text = format!("no node is stuck; {waiting}");
        texts.push((marks.good(), Style::Good, text));
    }
    texts
}

fn waiting_words(report: &StatusReport) -> String {
    let held: usize = report.nodes.iter().map(|node| node.slots.held).sum();
    let waiting: usize = report.nodes.iter().map(|node| node.waiting_count).sum();
    let oldest = report
        .nodes
        .iter()
        .filter_map(|node| node.oldest_wait_seconds)
        .max();
    let waits = match (waiting, oldest) {
        (0, _) => "none waits for a slot".to_owned(),
        (1, Some(oldest)) => format!("1 waits for a slot ({})", age(oldest)),
        (1, None) => "1 waits for a slot".to_owned(),
        (_, Some(oldest)) => format!("{waiting} wait for a slot (oldest {})", age(oldest)),
        (_, None) => format!("{waiting} wait for a slot"),
    };
    format!("{} in progress, {waits}", count(held, "task", "tasks"))
}

fn queue(report: &StatusReport, terminal: &Terminal) -> Vec<Line> {
    let text = queue_text(report);
    if text.is_empty() {
        Vec::new()
    } else {
        wrap(&Line::default(), &text, Style::Plain, terminal)
    }
}

/// Says what no node owns yet, and what is not shown; empty where there is nothing to say.
pub(super) fn queue_text(report: &StatusReport) -> String {
    let mut parts = Vec::new();
    if let Some(queue) = report.prepare_queue {
        parts.push(format!("prepare queue {} of {}", queue.length, queue.limit));
    }
    let unassigned = report.unassigned;
    if unassigned.new + unassigned.accepted > 0 {
        parts.push(format!(
            "without a node yet: {} New, {} Accepted",
            unassigned.new, unassigned.accepted
        ));
    }
    if report.nodes_not_shown > 0 {
        parts.push(format!(
            "{} left out by filters",
            count(report.nodes_not_shown, "node", "nodes")
        ));
    }
    parts.join("; ")
}

/// Lays out every node if there is room; else those that need a look and a few of the others, and counts
/// the rest.
fn nodes(report: &StatusReport, room: usize, terminal: &Terminal) -> Vec<Line> {
    let ordered = by_need(&report.nodes);
    let sick = ordered
        .iter()
        .filter(|node| needs_a_look(node.verdict))
        .count();
    let mut shown = ordered.len();
    loop {
        let mut lines = Vec::new();
        if shown > 0 {
            let mut table = Table::new(&COLUMNS);
            for node in ordered.iter().take(shown) {
                table.row(row(node, terminal.marks));
            }
            lines.extend(table.lines(terminal, Room::Terminal));
        }
        lines.extend(folded(ordered.get(shown..).unwrap_or_default(), terminal));
        if shown == 0 || rows(&lines, terminal) <= room {
            return lines;
        }
        shown = (shown - 1).min(sick + OTHERS_SHOWN).min(room);
    }
}

/// Returns whether somebody should look at a node.
pub(super) const fn needs_a_look(verdict: NodeVerdict) -> bool {
    match verdict {
        NodeVerdict::Stuck
        | NodeVerdict::NoAgent
        | NodeVerdict::Degraded
        | NodeVerdict::Unknown => true,
        NodeVerdict::Queued | NodeVerdict::Busy | NodeVerdict::Idle => false,
    }
}

/// Counts the nodes that are not shown, by verdict.
fn folded(nodes: &[&NodeRow], terminal: &Terminal) -> Vec<Line> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let parts: Vec<String> = BY_NEED
        .iter()
        .filter_map(|verdict| {
            let number = nodes.iter().filter(|node| node.verdict == *verdict).count();
            (number > 0).then(|| format!("{number} {}", verdict.as_str()))
        })
        .collect();
    wrap(
        &Line::new(&format!("{} ", terminal.marks.more()), Style::Dim),
        &format!(
            "and {} more: {} (use -o wide)",
            count(nodes.len(), "node", "nodes"),
            parts.join(", ")
        ),
        Style::Dim,
        terminal,
    )
}

/// Those that need a look come first.
const BY_NEED: [NodeVerdict; 7] = [
    NodeVerdict::Stuck,
    NodeVerdict::NoAgent,
    NodeVerdict::Degraded,
    NodeVerdict::Unknown,
    NodeVerdict::Queued,
    NodeVerdict::Busy,
    NodeVerdict::Idle,
];

/// Orders nodes: those that need a look first, then by name.
pub(super) fn by_need(nodes: &[NodeRow]) -> Vec<&NodeRow> {
    let need = |node: &NodeRow| BY_NEED.iter().position(|verdict| *verdict == node.verdict);
    let mut ordered: Vec<&NodeRow> = nodes.iter().collect();
    ordered.sort_by_key(|node| (need(node), &node.name));
    ordered
}

fn verdict(node: &NodeRow, marks: Marks) -> Span {
    let (mark, style) = match node.verdict {
        NodeVerdict::Stuck | NodeVerdict::NoAgent => (marks.bad(), Style::Bad),
        NodeVerdict::Degraded => (marks.warn(), Style::Warn),
        NodeVerdict::Unknown => (marks.unknown(), Style::Unknown),
        NodeVerdict::Queued | NodeVerdict::Busy | NodeVerdict::Idle => ("", Style::Plain),
    };
    let text = format!("{mark} {}", node.verdict.as_str());
    Span::new(text.trim_start(), style)
}

/// Writes how many tasks hold a slot, by status, of how many.
pub(super) fn in_progress(node: &NodeRow) -> String {
    let limit = node.slots.limit;
    let limit = limit.map_or_else(|| UNKNOWN.to_owned(), |limit| limit.to_string());
    format!("{} of {limit}", node.slots.held)
}

fn oldest(node: &NodeRow) -> String {
    match (node.oldest_wait_seconds, node.waiting_count == 0) {
        (Some(seconds), _) => age(seconds),
        (None, true) => NONE.to_owned(),
        (None, false) => UNKNOWN.to_owned(),
    }
}

fn row(node: &NodeRow, marks: Marks) -> [Span; 6] {
    let held = match node.holders.as_slice() {
        [] => NONE.to_owned(),
        [only] => task_in_short(only),
        [first, others @ ..] => format!("{} +{}", task_in_short(first), others.len()),
    };
    let plain = |text: &str| Span::new(text, Style::Plain);
    [
        plain(&node.name),
        verdict(node, marks),
        plain(&in_progress(node)),
        plain(&node.waiting_count.to_string()),
        plain(&oldest(node)),
        plain(&held),
    ]
}

fn wide_row(node: &NodeRow, marks: Marks) -> [Span; 17] {
    let plain = |text: &str| Span::new(text, Style::Plain);
    let number = |number: Option<i64>| {
        Span::new(
            &number.map_or_else(|| UNKNOWN.to_owned(), |number| number.to_string()),
            Style::Plain,
        )
    };
    let agent = node.agent.as_ref();
    let of_agent = |text: Option<Option<String>>| {
        let text = match text {
            Some(Some(text)) => text,
            Some(None) => UNKNOWN.to_owned(),
            None => NONE.to_owned(),
        };
        Span::new(&text, Style::Plain)
    };
    [
        plain(&node.name),
        verdict(node, marks),
        plain(&in_progress(node)),
        number(node.slots.free),
        plain(&node.slots.leaked_at_least.to_string()),
        plain(&node.waiting_count.to_string()),
        plain(&oldest(node)),
        plain(node.limit.source.as_str()),
        number(node.limit.configured_now),
        plain(&node.tasks.prepared.to_string()),
        plain(&node.tasks.canceling.to_string()),
        plain(&node.tasks.accepted.to_string()),
        plain(&node.tasks.new.to_string()),
        of_agent(agent.map(|agent| Some(agent.pod.clone()))),
        of_agent(agent.map(|agent| Some(agent.ready.to_string()))),
        of_agent(agent.map(|agent| agent.restarts.map(|restarts| restarts.to_string()))),
        of_agent(agent.map(|agent| agent.version.clone())),
    ]
}

/// Lists who holds and who waits.
fn tasks(report: &StatusReport, terminal: &Terminal) -> Vec<Line> {
    let mut table = Table::new(&TASK_COLUMNS);
    let mut any = false;
    for node in by_need(&report.nodes) {
        let holds = node.holders.iter().map(|task| ("holds", task));
        let waits = node.waiting.iter().map(|task| ("waits", task));
        for (slot, task) in holds.chain(waits) {
            any = true;
            let plain = |text: &str| Span::new(text, Style::Plain);
            let since = task.since.map_or_else(
                || UNKNOWN.to_owned(),
                |since| age(report.head.taken_at.duration_since(since).as_secs()),
            );
            table.row([
                plain(&node.name),
                plain(&format!(
                    "{}/{}",
                    task.task.kind.short_name(),
                    task.task.name
                )),
                plain(slot),
                plain(task.phase.as_str()),
                plain(&since),
                plain(
                    &task
                        .progress
                        .and_then(percent)
                        .unwrap_or_else(|| NONE.to_owned()),
                ),
                task.eta.as_ref().map_or_else(
                    || Span::new(UNKNOWN, Style::Plain),
                    |expected| eta(expected, report.head.taken_at),
                ),
                plain(&task.deadline.as_ref().map_or_else(
                    || NONE.to_owned(),
                    |deadline| from_now(deadline.at, report.head.taken_at),
                )),
            ]);
        }
    }
    if !any {
        return Vec::new();
    }
    let mut lines = vec![Line::default()];
    lines.extend(table.lines(terminal, Room::Any));
    lines
}

fn task_in_short(row: &TaskRow) -> String {
    let name = format!("{}/{}", row.task.kind.short_name(), row.task.name);
    match row.progress.and_then(percent) {
        Some(percent) => format!("{name} {percent}"),
        None => name,
    }
}

/// Returns how far a transfer is, where its total is known.
pub(super) fn percent(progress: Progress) -> Option<String> {
    if progress.total_bytes <= 0 {
        return None;
    }
    let done = i128::from(progress.bytes_done.clamp(0, progress.total_bytes));
    Some(format!(
        "{}%",
        done * 100 / i128::from(progress.total_bytes)
    ))
}

/// Returns the command that tells more.
pub(super) fn next_command(report: &StatusReport) -> Option<String> {
    let head = &report.head;
    let trouble = report.nothing_answered()
        || report.head.hidden_tasks().next().is_some()
        || report.nodes.iter().any(|node| needs_a_look(node.verdict));
    let waits = report.nodes.iter().any(|node| node.waiting_count > 0)
        || report.unassigned.new + report.unassigned.accepted > 0;
    let command = if trouble {
        "diagnose"
    } else if waits {
        "replay"
    } else {
        return None;
    };
    head.pins.reading_command(command, &head.namespace)
}
