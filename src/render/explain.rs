//! `explain` for people: the answer first, then why.

use std::io::{self, Write};

use super::columns::{Column, Room, Table};
use super::context::{context, gaps_in_full, gaps_in_short, hidden_tasks, labelled, next};
use super::diagnosis::{sentence, title};
use super::eta::eta;
use super::screen::{Line, Span, Style, wrap, write_lines};
use super::words::{NONE, UNKNOWN, age, count, time};
use super::{Marks, Terminal};
use crate::report::{
    Competing, Deadline, ExplanationReport, GateState, Holder, NodeSlots, Progress, Runbook,
    Standing, TaskExplanation, TaskLine,
};

#[cfg(test)]
mod tests;

/// Unfinished tasks of a Backup, Restore or PVC that the table lists.
const LISTED: usize = 10;
/// Holders and competitors that the table names.
const NAMED: usize = 5;

/// How much a view tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// The first few of what could be many.
    Short,
    /// All of it.
    Everything,
}

/// Columns go in this order: NODE, GATE.
const COLUMNS: [Column; 7] = [
    Column::always("TASK"),
    Column::always("PHASE"),
    Column::until("NODE", 0),
    Column::always("VERDICT"),
    Column::until("GATE", 2),
    Column::until("ETA", 1),
    Column::always("DEADLINE"),
];

/// Writes the answer.
pub(super) fn table(
    out: &mut dyn Write,
    report: &ExplanationReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = all(report, terminal, Detail::Short);
    lines.extend(gaps_in_short(&report.head, terminal));
    if let Some(command) = next_command(report) {
        lines.extend(next(command, terminal));
    }
    write_lines(out, &lines, terminal)
}

/// Writes everything.
pub(super) fn wide(
    out: &mut dyn Write,
    report: &ExplanationReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = all(report, terminal, Detail::Everything);
    lines.extend(gaps_in_full(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

/// Writes a runbook as it is.
pub(super) fn runbook(out: &mut dyn Write, page: &Runbook) -> io::Result<()> {
    out.write_all(page.text.as_bytes())
}

fn all(report: &ExplanationReport, terminal: &Terminal, detail: Detail) -> Vec<Line> {
    let mut lines = context(&report.head, terminal);
    lines.extend(overview(report, terminal, detail));
    for task in &report.tasks {
        if lines.len() > 2 {
            lines.push(Line::default());
        }
        lines.extend(answer(task, report, terminal));
        lines.extend(findings(task, terminal, detail));
        lines.extend(gates(task, terminal));
        lines.extend(slots(task, report, terminal, detail));
        lines.extend(story(task, terminal));
    }
    lines
}

const fn look(standing: Standing, marks: Marks) -> (&'static str, Style) {
    match standing {
        Standing::Stuck => (marks.bad(), Style::Bad),
        Standing::Unknown => (marks.unknown(), Style::Unknown),
        Standing::Attention => (marks.warn(), Style::Warn),
        Standing::Waiting | Standing::Finished => (marks.note(), Style::Plain),
        Standing::Running => (marks.good(), Style::Good),
    }
}

/// Says how the tasks of a Backup, Restore or PVC stand; nothing for a task itself.
pub(super) fn overview_text(report: &ExplanationReport) -> Option<String> {
    let of_tasks = matches!(
        report.subject.kind.as_str(),
        "Backup" | "Restore" | "PersistentVolumeClaim"
    );
    if !of_tasks {
        return None;
    }
    let phase = report
        .subject_phase
        .as_deref()
        .map(|phase| format!(" is {}", if phase.is_empty() { "New" } else { phase }))
        .unwrap_or_default();
    Some(format!(
        "{}{phase}: {}, {} finished: {}",
        report.subject,
        count(
            report.unfinished.len(),
            "unfinished task",
            "unfinished tasks"
        ),
        report.finished,
        report.verdict.as_str().to_uppercase()
    ))
}

/// Writes the list of a Backup's, Restore's or PVC's tasks; nothing for a task itself.
fn overview(report: &ExplanationReport, terminal: &Terminal, detail: Detail) -> Vec<Line> {
    let Some(text) = overview_text(report) else {
        return Vec::new();
    };
    let (mark, style) = look(report.verdict, terminal.marks);
    let mut lines = wrap(
        &Line::new(&format!("{mark} "), style),
        &text,
        style,
        terminal,
    );
    let shown = match detail {
        Detail::Short => report
            .unfinished
            .get(..LISTED)
            .unwrap_or(&report.unfinished),
        Detail::Everything => &report.unfinished,
    };
    if !shown.is_empty() {
        let mut table = Table::new(&COLUMNS);
        for line in shown {
            table.row(row(line, report));
        }
        lines.extend(table.lines(terminal, Room::Terminal));
    }
    let hidden = report.unfinished.len().saturating_sub(shown.len());
    if hidden > 0 {
        lines.push(Line::new(
            &format!(
                "{} and {} (use -o wide)",
                terminal.marks.more(),
                count(hidden, "more task", "more tasks")
            ),
            Style::Dim,
        ));
    }
    lines
}

fn row(line: &TaskLine, report: &ExplanationReport) -> [Span; 7] {
    let plain = |text: &str| Span::new(text, Style::Plain);
    let (_, style) = look(line.verdict, Marks::Ascii);
    [
        plain(&format!(
            "{}/{}",
            line.task.kind.short_name(),
            line.task.name
        )),
        plain(line.phase.as_str()),
        plain(line.node.as_deref().unwrap_or(NONE)),
        Span::new(line.verdict.as_str(), style),
        plain(line.closed_gate.map_or(NONE, |gate| gate.as_str())),
        line.eta.as_ref().map_or_else(
            || plain(UNKNOWN),
            |expected| eta(expected, report.head.taken_at),
        ),
        plain(
            &line
                .deadline
                .as_ref()
                .map_or_else(|| NONE.to_owned(), |deadline| until(deadline, report)),
        ),
    ]
}

fn until(deadline: &Deadline, report: &ExplanationReport) -> String {
    let seconds = deadline.at.duration_since(report.head.taken_at).as_secs();
    if seconds >= 0 {
        format!("in {}", age(seconds))
    } else {
        format!("{} ago", age(seconds.saturating_neg()))
    }
}

/// Writes phase, verdict, closed gate, what frees it, the deadline.
fn answer(task: &TaskExplanation, report: &ExplanationReport, terminal: &Terminal) -> Vec<Line> {
    let (mark, style) = look(task.verdict, terminal.marks);
    let node = task
        .node
        .as_deref()
        .map(|node| format!(" on {node}"))
        .unwrap_or_default();
    let long = match (task.phase_seconds, task.verdict) {
        (Some(seconds), Standing::Finished) => format!(" since {} ago", age(seconds)),
        (Some(seconds), _) => format!(" for {}", age(seconds)),
        (None, _) => String::new(),
    };
    let text = format!(
        "{}: {}{node}{long}: {}",
        task.task,
        task.phase,
        task.verdict.as_str().to_uppercase()
    );
    let mut lines = wrap(
        &Line::new(&format!("{mark} "), style),
        &text,
        style,
        terminal,
    );
    let mut say = |label: &str, text: &str| {
        lines.extend(wrap(
            &Line::new(&format!("  {label}: "), Style::Strong),
            text,
            Style::Plain,
            terminal,
        ));
    };
    if task.verdict == Standing::Unknown {
        let mut reasons: Vec<String> = hidden_tasks(&report.head).into_iter().collect();
        reasons.extend(report.inconclusive.iter().take(2).cloned());
        if reasons.is_empty() {
            reasons.push(task.reason.clone());
        }
        say("not known", &reasons.join("; "));
    }
    match task.closed_gate {
        Some(gate) => say(
            "closed gate",
            &format!("{}: {}", gate.as_str(), task.reason),
        ),
        None if task.verdict == Standing::Finished => say("end", &task.reason),
        None => say("no gate is closed", &task.reason),
    }
    for way in &task.frees {
        say("frees it", way);
    }
    if task.verdict != Standing::Finished {
        let text = task.deadline.as_ref().map_or_else(
            || format!("{NONE}: no timeout that is known ends it"),
            |deadline| {
                let approximate = if deadline.approximate {
                    ", approximate"
                } else {
                    ""
                };
                format!(
                    "{} ({}, {}{approximate})",
                    time(deadline.at),
                    until(deadline, report),
                    deadline.what.as_str()
                )
            },
        );
        say("deadline", &text);
        if let Some(expected) = &task.eta {
            say(
                "expected end",
                &format!(
                    "{} (simulated, see replay --simulate)",
                    eta(expected, report.head.taken_at).text()
                ),
            );
        }
    }
    lines
}

fn findings(task: &TaskExplanation, terminal: &Terminal, detail: Detail) -> Vec<Line> {
    let mut lines = Vec::new();
    for concern in &task.findings {
        lines.extend(title(&concern.row, terminal));
        lines.extend(sentence(&concern.row, terminal));
        if detail == Detail::Everything {
            for evidence in &concern.row.finding.evidence {
                lines.extend(wrap(
                    &Line::new("  - ", Style::Dim),
                    &format!("{}: {}", evidence.source, evidence.value),
                    Style::Dim,
                    terminal,
                ));
            }
            for action in &concern.row.finding.actions {
                lines.extend(labelled("  next: ", &action.command, terminal));
            }
        }
    }
    lines
}

fn gates(task: &TaskExplanation, terminal: &Terminal) -> Vec<Line> {
    if task.gates.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::new(
        &format!(
            "Gates, in the order of the rules of Velero {}:",
            task.rules.trim_start_matches('v')
        ),
        Style::Strong,
    )];
    let marks = terminal.marks;
    for row in &task.gates {
        let (mark, style) = match row.state {
            GateState::Pass => (marks.good(), Style::Good),
            GateState::Closed => (marks.bad(), Style::Bad),
            GateState::Unknown => (marks.unknown(), Style::Unknown),
            GateState::NotReached => ("-", Style::Dim),
        };
        let label = format!(
            "{mark:<2} {:<13} {:<11} ",
            row.gate.as_str(),
            row.state.as_str()
        );
        lines.extend(wrap(
            &Line::new(&label, style),
            &row.reason,
            Style::Plain,
            terminal,
        ));
    }
    lines
}

fn slots(
    task: &TaskExplanation,
    report: &ExplanationReport,
    terminal: &Terminal,
    detail: Detail,
) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(slots) = &task.slots {
        lines.extend(wrap(
            &Line::default(),
            &slots_title(slots),
            Style::Strong,
            terminal,
        ));
        lines.extend(holders(&slots.holders, report, terminal, detail));
        for slot in &slots.logged {
            let task = slot.kind.map_or_else(
                || format!("task {}", slot.name),
                |kind| format!("{}/{}", kind.short_name(), slot.name),
            );
            let since = match (slot.since, slot.speaks_from) {
                (Some(since), _) => format!("since {}", time(since)),
                (None, Some(from)) => format!("since before {}, when the log begins", time(from)),
                (None, None) => "since before the log begins".to_owned(),
            };
            lines.extend(wrap(
                &Line::new("  ", Style::Plain),
                &format!("{task} by the node-agent's log, {since}: {}", slot.stage),
                Style::Plain,
                terminal,
            ));
        }
    }
    if !task.queue.is_empty() {
        lines.push(Line::new("In the prepare queue:", Style::Strong));
        lines.extend(holders(&task.queue, report, terminal, detail));
    }
    if let Some(competing) = &task.competing {
        lines.extend(wrap(
            &Line::new("Competes with: ", Style::Strong),
            &competitors(competing, detail),
            Style::Plain,
            terminal,
        ));
    }
    lines
}

/// Says how many slots a node has, and how many are held by status.
pub(super) fn slots_title(slots: &NodeSlots) -> String {
    let limit = slots
        .limit
        .map_or_else(|| UNKNOWN.to_owned(), |limit| limit.to_string());
    format!(
        "Slots of {}: in progress {} of {limit} (limit from: {}), by status, not observed",
        slots.node,
        slots.holders.len(),
        slots.limit_source.as_str()
    )
}

fn holders(
    all: &[Holder],
    report: &ExplanationReport,
    terminal: &Terminal,
    detail: Detail,
) -> Vec<Line> {
    let shown = match detail {
        Detail::Short => all.get(..NAMED).unwrap_or(all),
        Detail::Everything => all,
    };
    let mut lines: Vec<Line> = shown
        .iter()
        .flat_map(|holder| {
            let mut text = format!(
                "{}/{} {}",
                holder.task.kind.short_name(),
                holder.task.name,
                holder.phase
            );
            if let Some(progress) = holder.progress {
                text.push_str(&format_progress(progress));
            }
            if let Some(started) = holder.started {
                let seconds = report.head.taken_at.duration_since(started).as_secs();
                text.push_str(" for ");
                text.push_str(&age(seconds));
            }
            wrap(
                &Line::new("  ", Style::Plain),
                &text,
                Style::Plain,
                terminal,
            )
        })
        .collect();
    let hidden = all.len().saturating_sub(shown.len());
    if hidden > 0 {
        lines.push(Line::new(
            &format!("  {} and {hidden} more", terminal.marks.more()),
            Style::Dim,
        ));
    }
    lines
}

/// Writes how far a transfer is, with a blank before; nothing where its total is not known.
pub(super) fn format_progress(progress: Progress) -> String {
    if progress.total_bytes > 0 {
        let percent = i128::from(progress.bytes_done) * 100 / i128::from(progress.total_bytes);
        format!(" {percent}%")
    } else {
        String::new()
    }
}

/// Says who may take the next slot or place first.
pub(super) fn competitors(competing: &Competing, detail: Detail) -> String {
    if competing.count == 0 {
        return "nobody".to_owned();
    }
    let shown = match detail {
        Detail::Short => NAMED,
        Detail::Everything => competing.tasks.len(),
    };
    let names: Vec<String> = competing
        .tasks
        .iter()
        .take(shown)
        .map(|task| format!("{}/{}", task.kind.short_name(), task.name))
        .collect();
    let more = competing.count.saturating_sub(names.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "{} ({}{more}); Velero keeps no order among them",
        count(competing.count, "other task", "other tasks"),
        names.join(", ")
    )
}

fn story(task: &TaskExplanation, terminal: &Terminal) -> Vec<Line> {
    let mut lines = vec![Line::new("Story:", Style::Strong)];
    for line in &task.story {
        let at = line.at.map_or_else(|| UNKNOWN.to_owned(), time);
        // Most lines are about the task itself: its name is above.
        let own = format!("{} ", task.task);
        let source = line.source.strip_prefix(&own).unwrap_or(&line.source);
        lines.extend(wrap(
            &Line::new(&format!("{at:<20}  "), Style::Plain),
            &format!("{} [{}: {source}]", line.what, line.from.as_str()),
            Style::Plain,
            terminal,
        ));
    }
    lines
}

/// Returns the first action of the worst finding that has one.
fn next_command(report: &ExplanationReport) -> Option<&str> {
    let action = report
        .tasks
        .iter()
        .flat_map(|task| &task.findings)
        .find_map(|concern| concern.row.finding.actions.first())?;
    Some(&action.command)
}
