//! What came of `nudge` and `restart`, for people: each step with its time.

use std::io::{self, Write};

use jiff::Timestamp;

use super::Terminal;
use super::columns::{Column, Room, Table};
use super::context::{acting_context, gaps_in_full, gaps_in_short, next};
use super::screen::{Line, Span, Style, wrap, write_lines};
use super::words::{NONE, UNKNOWN, time};
use crate::report::OutcomeReport;
use crate::report::action::{
    Achieved, Ending, NodeResult, Outcome, StepKind, StepResult, StepSeen, TaskOutcome, TaskResult,
};

const COLUMNS: [Column; 5] = [
    Column::always("TASK"),
    Column::until("NODE", 0),
    Column::always("BEFORE"),
    Column::always("AFTER"),
    Column::always("RESULT"),
];

const WIDE_COLUMNS: [Column; 7] = [
    Column::always("TASK"),
    Column::always("NODE"),
    Column::always("BEFORE"),
    Column::always("AFTER"),
    Column::always("RESULT"),
    Column::always("SEEN AT"),
    Column::always("EVIDENCE"),
];

/// How many tasks that are as they were the first screen lists.
const SHOWN: usize = 12;

/// Writes what came of it.
pub(super) fn table(
    out: &mut dyn Write,
    report: &OutcomeReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = top(report, terminal);
    let tasks = &report.outcome.tasks;
    if !tasks.is_empty() {
        let mut table = Table::new(&COLUMNS);
        // What happened to a task comes before what did not.
        let mut ordered: Vec<&TaskOutcome> = tasks.iter().collect();
        ordered.sort_by_key(|task| task.result == TaskResult::Unchanged);
        for task in ordered.iter().take(SHOWN) {
            table.row(row(task).into_iter().take(COLUMNS.len()));
        }
        lines.push(Line::default());
        lines.extend(table.lines(terminal, Room::Terminal));
        let hidden = tasks.len().saturating_sub(SHOWN);
        if hidden > 0 {
            lines.push(Line::new(
                &format!("{} and {hidden} more (use -o wide)", terminal.marks.more()),
                Style::Dim,
            ));
        }
    }
    lines.extend(bottom(report, terminal));
    lines.extend(gaps_in_short(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

/// Writes what came of it, with all evidence.
pub(super) fn wide(
    out: &mut dyn Write,
    report: &OutcomeReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = top(report, terminal);
    if !report.outcome.tasks.is_empty() {
        let mut table = Table::new(&WIDE_COLUMNS);
        for task in &report.outcome.tasks {
            table.row(row(task));
        }
        lines.push(Line::default());
        lines.extend(table.lines(terminal, Room::Any));
    }
    lines.extend(bottom(report, terminal));
    lines.extend(gaps_in_full(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

fn top(report: &OutcomeReport, terminal: &Terminal) -> Vec<Line> {
    let outcome = &report.outcome;
    let mut lines = acting_context(&report.head, terminal);
    let (mark, style) = match outcome.achieved {
        Achieved::Yes => (terminal.marks.good(), Style::Good),
        Achieved::No => (terminal.marks.bad(), Style::Bad),
        Achieved::NothingChanged => (terminal.marks.warn(), Style::Warn),
    };
    lines.extend(wrap(
        &Line::new(&format!("{mark} "), style),
        &outcome.summary,
        style,
        terminal,
    ));
    for Step { at, text, style } in happened(outcome) {
        // What was not seen has no time, and a word in its place would read as one.
        let at = at.map_or_else(String::new, |at| format!("{} ", time(at)));
        let first = Line::new(&at, Style::Dim);
        lines.extend(wrap(&first, &text, style, terminal));
    }
    lines
}

/// One thing that happened.
pub(super) struct Step {
    /// When it was seen.
    pub(super) at: Option<Timestamp>,
    /// What it is.
    pub(super) text: String,
    style: Style,
}

/// Tells what was written and what was seen, in that order.
pub(super) fn happened(outcome: &Outcome) -> Vec<Step> {
    let plain = |at: Timestamp, text: String| Step {
        at: Some(at),
        text,
        style: Style::Plain,
    };
    let mut all: Vec<Step> = outcome
        .steps
        .iter()
        .map(|seen| plain(seen.at, step(seen)))
        .collect();
    for node in &outcome.nodes {
        all.extend(node.stages.iter().map(|stage| {
            let text = format!("{}: {} ({})", node.node, stage.stage.as_str(), stage.by);
            plain(stage.at, text)
        }));
        let last = match node.result {
            NodeResult::Recovered => None,
            NodeResult::NotTried => Some("not tried".to_owned()),
            NodeResult::NotRecovered(_) => Some(
                node.trouble
                    .clone()
                    .unwrap_or_else(|| "nothing more was seen".to_owned()),
            ),
        };
        all.extend(last.map(|last| Step {
            at: outcome.last_seen,
            text: format!("{}: {last}", node.node),
            style: Style::Warn,
        }));
    }
    all
}

fn step(seen: &StepSeen) -> String {
    // What did not happen is never told in the past: a reader in haste takes the verb for the deed.
    let (did, what) = match &seen.step.kind {
        StepKind::AnnotateTask { task, .. } => {
            (format!("annotated {task}"), format!("annotate {task}"))
        }
        StepKind::AnnotatePod { pod, .. } => {
            (format!("annotated {pod}"), format!("annotate {pod}"))
        }
        StepKind::DeletePod { pod, .. } => (format!("deleted {pod}"), format!("delete {pod}")),
        StepKind::MarkReplacement { .. } => (
            "marked the new pod".to_owned(),
            "mark the new pod".to_owned(),
        ),
    };
    let message = seen
        .result
        .message()
        .map_or_else(String::new, |message| format!(": {message}"));
    match &seen.result {
        StepResult::Done => did,
        StepResult::DryRun => format!("{what}: not done, a dry run"),
        StepResult::Changed(_) => {
            format!("{what}: left alone, it changed in between{message}")
        }
        StepResult::Gone => format!("{what}: not done, it is gone"),
        StepResult::Forbidden(_) => format!("{what}: not allowed{message}"),
        StepResult::Refused(_) => format!("{what}: refused by the API server{message}"),
        StepResult::Unknown(_) => format!("{what}: not known whether it was done{message}"),
        StepResult::NotTried => format!("{what}: not tried"),
    }
}

fn row(task: &TaskOutcome) -> Vec<Span> {
    let plain = |text: &str| Span::new(text, Style::Plain);
    let style = match task.result {
        TaskResult::Moved => Style::Good,
        TaskResult::RefusedSlot | TaskResult::NotLookedAt | TaskResult::Ended => Style::Bad,
        TaskResult::LookedAt | TaskResult::Gone => Style::Warn,
        TaskResult::Unknown => Style::Unknown,
        TaskResult::Queued | TaskResult::Unchanged => Style::Plain,
    };
    vec![
        plain(&format!(
            "{}/{}",
            task.task.kind.short_name(),
            task.task.name
        )),
        plain(task.node.as_deref().unwrap_or(NONE)),
        plain(task.before.as_str()),
        plain(task.after.as_ref().map_or(UNKNOWN, |phase| phase.as_str())),
        Span::new(task.result.as_str(), style),
        plain(&task.at.map_or_else(|| NONE.to_owned(), time)),
        plain(task.evidence.as_deref().unwrap_or(NONE)),
    ]
}

fn bottom(report: &OutcomeReport, terminal: &Terminal) -> Vec<Line> {
    let outcome = &report.outcome;
    let mut lines = Vec::new();
    if let Ending::ServerLost(why) = &outcome.ending {
        lines.extend(wrap(
            &Line::new(&format!("{} ", terminal.marks.warn()), Style::Warn),
            &format!("the API server said last: {why}"),
            Style::Plain,
            terminal,
        ));
    }
    for warning in &outcome.warnings {
        lines.extend(wrap(
            &Line::new(&format!("{} ", terminal.marks.warn()), Style::Warn),
            warning,
            Style::Plain,
            terminal,
        ));
    }
    for command in &outcome.next {
        lines.extend(next(&command.command, terminal));
    }
    lines
}
