//! `replay --simulate` for people. The scenarios side by side first, then the nodes, then what the model
//! assumes.

use std::io::{self, Write};

use super::columns::{Column, Room, Table};
use super::context::{context, gaps_in_full, gaps_in_short, hidden_tasks};
use super::screen::{Line, Span, Style, rows, wrap, write_lines};
use super::status::SCREEN_ROWS;
use super::words::{NONE, age, count};
use super::{Marks, Terminal};
use crate::report::{
    Assumption, Design, Ending, NodeOutcome, Outcome, Range, SimulationReport, TaskOutcome,
};

/// Columns go in this order: IDLE, CALLS, LOST EVENT, LEAK, WASTED, MISSED.
const COLUMNS: [Column; 10] = [
    Column::always("DESIGN"),
    Column::always("WHAT IF"),
    Column::always("DRAINED IN"),
    Column::until("CALLS", 1),
    Column::until("WASTED", 4),
    Column::until("IDLE", 0),
    Column::until("MISSED", 5),
    Column::always("STUCK"),
    Column::until("LEAK", 3),
    Column::until("LOST", 2),
];

const WIDE_COLUMNS: [Column; 12] = [
    Column::always("DESIGN"),
    Column::always("WHAT IF"),
    Column::always("DRAINED IN"),
    Column::always("CALLS"),
    Column::always("WASTED"),
    Column::always("RACED SAME KIND"),
    Column::always("RACED OTHER KIND"),
    Column::always("SLOT IDLE"),
    Column::always("MISSED"),
    Column::always("STUCK"),
    Column::always("STUCK IF LEAKED"),
    Column::always("STUCK IF LOST"),
];

const NODE_COLUMNS: [Column; 4] = [
    Column::always("NODE"),
    Column::always("TASKS"),
    Column::always("IDLE IN"),
    Column::always("LIMIT NEEDED"),
];

const TASK_COLUMNS: [Column; 10] = [
    Column::always("TASK"),
    Column::always("PHASE"),
    Column::always("NODE"),
    Column::always("STARTS IN"),
    Column::always("ENDS IN"),
    Column::always("ENDING"),
    Column::always("DEADLINE"),
    Column::always("MISSED RUNS"),
    Column::always("LIMIT NEEDED"),
    Column::always("DURATION FROM"),
];

/// Writes the first screen.
pub(super) fn table(
    out: &mut dyn Write,
    report: &SimulationReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut top = top(report, terminal);
    let mut bottom = assumptions_in_short(report, terminal);
    bottom.extend(gaps_in_short(&report.head, terminal));
    let taken = rows(&top, terminal) + rows(&bottom, terminal);
    // The header and, where some are left out, the line that counts them.
    let room = SCREEN_ROWS.saturating_sub(taken + 2).max(1);
    let all = report.simulation.outcomes.len();
    let shown = if all <= room + 1 { all } else { room };
    top.extend(scenarios(report, shown, &COLUMNS, Room::Terminal, terminal));
    if shown < all {
        let more = count(all - shown, "other scenario", "other scenarios");
        let text = format!("{} and {more} (use -o wide)", terminal.marks.more());
        top.push(Line::new(&text, Style::Dim));
    }
    top.extend(restarts(report, terminal));
    top.extend(later(report, terminal));
    let room = SCREEN_ROWS.saturating_sub(rows(&top, terminal) + rows(&bottom, terminal));
    let lines = [top, nodes(report, room, terminal), bottom].concat();
    write_lines(out, &lines, terminal)
}

/// Writes everything.
pub(super) fn wide(
    out: &mut dyn Write,
    report: &SimulationReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = top(report, terminal);
    let all = report.simulation.outcomes.len();
    lines.extend(scenarios(report, all, &WIDE_COLUMNS, Room::Any, terminal));
    lines.extend(restarts(report, terminal));
    lines.extend(later(report, terminal));
    if let Some(first) = report.simulation.outcomes.first() {
        if !first.nodes.is_empty() {
            lines.push(Line::default());
            lines.extend(node_table(&first.nodes, terminal));
        }
        if !first.tasks.is_empty() {
            let mut table = Table::new(&TASK_COLUMNS);
            for task in &first.tasks {
                table.row(task_row(task, report));
            }
            lines.push(Line::default());
            lines.extend(table.lines(terminal, Room::Any));
        }
    }
    lines.push(Line::default());
    for assumption in &report.simulation.assumptions {
        lines.extend(wrap(
            &Line::new("assumed: ", Style::Dim),
            &in_words(assumption),
            Style::Plain,
            terminal,
        ));
    }
    lines.extend(gaps_in_full(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

fn top(report: &SimulationReport, terminal: &Terminal) -> Vec<Line> {
    let mut lines = context(&report.head, terminal);
    if let Some((mark, style, text)) = top_text(report, terminal.marks) {
        let first = Line::new(&format!("{mark} "), style);
        lines.extend(wrap(&first, &text, style, terminal));
    }
    lines
}

/// Says what was simulated, and what becomes of the tasks; with its mark. `None` where nothing was simulated.
pub(super) fn top_text(
    report: &SimulationReport,
    marks: Marks,
) -> Option<(&'static str, Style, String)> {
    let simulation = &report.simulation;
    let tasks = count(simulation.tasks, "unfinished task", "unfinished tasks");
    if let Some(why) = hidden_tasks(&report.head).or_else(|| simulation.refused.clone()) {
        let text = format!("UNKNOWN: {why}; {tasks}");
        return Some((marks.unknown(), Style::Unknown, text));
    }
    let first = simulation.outcomes.first()?;
    let of = |range: Range, what: &str| match (range.p50.unwrap_or(0), range.p90.unwrap_or(0)) {
        (0, 0) => None,
        (0, most) => Some(format!("up to {most} of them {what} in some runs")),
        (half, _) => Some(format!("{half} of them {what}")),
    };
    let missed = of(first.missed, "miss their deadline");
    let stuck = of(first.stuck, "never end");
    let is_good = missed.is_none() && stuck.is_none();
    let unknown = first
        .tasks
        .iter()
        .filter(|task| task.ending == Ending::NotKnown)
        .count();
    let runs = match simulation.runs {
        1 => "once".to_owned(),
        runs => format!("{runs} times"),
    };
    let mut parts = vec![format!(
        "{tasks}, simulated {runs} with seed {}",
        simulation.seed
    )];
    parts.extend(missed);
    parts.extend(stuck);
    if unknown > 0 {
        parts.push(format!("the end of {unknown} of them is not known"));
    }
    if report.tasks_not_shown > 0 {
        parts.push(format!("{} left out by filters", report.tasks_not_shown));
    }
    let text = parts.join("; ");
    Some(if is_good {
        (marks.good(), Style::Good, text)
    } else {
        (marks.warn(), Style::Warn, text)
    })
}

/// The scenarios side by side.
fn scenarios(
    report: &SimulationReport,
    shown: usize,
    columns: &[Column],
    room: Room,
    terminal: &Terminal,
) -> Vec<Line> {
    if report.simulation.outcomes.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(columns);
    for outcome in report.simulation.outcomes.iter().take(shown) {
        let cells = scenario_row(outcome);
        if columns.len() == COLUMNS.len() {
            let [
                design,
                change,
                drained,
                calls,
                wasted,
                _,
                _,
                idle,
                missed,
                stuck,
                leak,
                lost,
            ] = cells;
            table.row([
                design, change, drained, calls, wasted, idle, missed, stuck, leak, lost,
            ]);
        } else {
            table.row(cells);
        }
    }
    table.lines(terminal, room)
}

/// Says which scenarios take a restart, and what it costs. The designs of one change take the same one.
pub(super) fn restarts_text(report: &SimulationReport) -> Option<String> {
    // By what they come to, in the order of the first.
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    for outcome in &report.simulation.outcomes {
        let Some(restart) = &outcome.restart else {
            continue;
        };
        let of = match restart.nodes.as_slice() {
            [] => continue,
            [node] => format!("the node-agent of {node}"),
            nodes => format!("the node-agents of {} nodes", nodes.len()),
        };
        let mut price = Vec::new();
        if restart.ended > 0 {
            price.push(format!("ends {}", count(restart.ended, "task", "tasks")));
        }
        if restart.stranded > 0 {
            let tasks = count(restart.stranded, "task", "tasks");
            price.push(format!("leaves {tasks} to nobody"));
        }
        if price.is_empty() {
            price.push("ends no task".to_owned());
        }
        let text = format!("{of}, which {}", price.join(" and "));
        let changes = outcome.scenario.changes();
        match parts.iter_mut().find(|(other, _)| *other == text) {
            Some((_, all)) if all.contains(&changes) => {}
            Some((_, all)) => all.push(changes),
            None => parts.push((text, vec![changes])),
        }
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(text, changes)| format!("{text} ({})", changes.join("; ")))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn restarts(report: &SimulationReport, terminal: &Terminal) -> Vec<Line> {
    let first = Line::new("Restarts: ", Style::Dim);
    restarts_text(report).map_or_else(Vec::new, |text| wrap(&first, &text, Style::Plain, terminal))
}

/// Says how often higher limits drain later: the timers decide who is next, so they can.
pub(super) fn later_text(report: &SimulationReport) -> Option<String> {
    let several = report
        .simulation
        .outcomes
        .iter()
        .any(|outcome| outcome.scenario.design != Design::Upstream);
    let parts: Vec<String> = report
        .simulation
        .outcomes
        .iter()
        .filter_map(|outcome| {
            let compared = outcome.later?;
            let design = if several {
                format!("{}, ", outcome.scenario.design.as_str())
            } else {
                String::new()
            };
            let changes = outcome.scenario.changes();
            let by = match compared.by.p50 {
                Some(half) if half == compared.most => format!(" by {}", age(half / 1000)),
                Some(half) => {
                    format!(
                        " by {}, at most {}",
                        age(half / 1000),
                        age(compared.most / 1000)
                    )
                }
                None => String::new(),
            };
            Some(format!(
                "{design}{changes} in {} of {} runs{by}",
                compared.runs, compared.of
            ))
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn later(report: &SimulationReport, terminal: &Terminal) -> Vec<Line> {
    let first = Line::new("Drains later: ", Style::Dim);
    later_text(report).map_or_else(Vec::new, |text| wrap(&first, &text, Style::Plain, terminal))
}

fn scenario_row(outcome: &Outcome) -> [Span; 12] {
    let plain = |text: &str| Span::new(text, Style::Plain);
    let bad = |range: Range| {
        let style = if range.p90.unwrap_or(0) > 0 {
            Style::Warn
        } else {
            Style::Plain
        };
        Span::new(&numbers(range), style)
    };
    let changes = outcome.scenario.changes();
    let probe = |number: Option<i64>| {
        plain(&number.map_or_else(|| NONE.to_owned(), |number| number.to_string()))
    };
    [
        plain(outcome.scenario.design.as_str()),
        plain(if changes.is_empty() {
            "as it is"
        } else {
            &changes
        }),
        plain(&times(outcome.drained)),
        plain(&numbers(outcome.calls)),
        plain(&numbers(outcome.wasted)),
        plain(&numbers(outcome.raced_same_kind)),
        plain(&numbers(outcome.raced_other_kind)),
        plain(&times(outcome.idle)),
        bad(outcome.missed),
        bad(outcome.stuck),
        probe(outcome.probes.map(|probes| probes.stuck_by_leaked_slots)),
        probe(outcome.probes.map(|probes| probes.stuck_by_lost_events)),
    ]
}

/// Lays out as many nodes of the first scenario as there is room for: those that are busy longest.
fn nodes(report: &SimulationReport, room: usize, terminal: &Terminal) -> Vec<Line> {
    let Some(first) = report.simulation.outcomes.first() else {
        return Vec::new();
    };
    let mut ordered: Vec<NodeOutcome> = first.nodes.clone();
    let last = |range: Range| range.p50.unwrap_or(i64::MAX);
    ordered.sort_by_key(|node| (std::cmp::Reverse(last(node.idle_at)), node.name.clone()));
    let mut shown = ordered.len().min(room);
    while shown > 0 {
        let mut lines = vec![Line::default()];
        lines.extend(node_table(
            ordered.get(..shown).unwrap_or_default(),
            terminal,
        ));
        if shown < ordered.len() {
            lines.push(Line::new(
                &format!(
                    "{} and {} (use -o wide)",
                    terminal.marks.more(),
                    count(ordered.len() - shown, "other node", "other nodes")
                ),
                Style::Dim,
            ));
        }
        if rows(&lines, terminal) <= room {
            return lines;
        }
        shown -= 1;
    }
    Vec::new()
}

fn node_table(nodes: &[NodeOutcome], terminal: &Terminal) -> Vec<Line> {
    let mut table = Table::new(&NODE_COLUMNS);
    for node in nodes {
        let plain = |text: &str| Span::new(text, Style::Plain);
        table.row([
            plain(&node.name),
            plain(&node.tasks.to_string()),
            plain(&idle_at(node)),
            plain(&limit(node.smallest_limit)),
        ]);
    }
    table.lines(terminal, Room::Any)
}

fn task_row(task: &TaskOutcome, report: &SimulationReport) -> [Span; 10] {
    let plain = |text: &str| Span::new(text, Style::Plain);
    let deadline = task.deadline.as_ref().map_or_else(
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
    [
        plain(&format!(
            "{}/{}",
            task.task.kind.short_name(),
            task.task.name
        )),
        plain(task.phase.as_str()),
        plain(task.node.as_deref().unwrap_or(NONE)),
        plain(&when(task, task.start)),
        plain(&when(task, task.end)),
        plain(task.ending.as_str()),
        plain(&deadline),
        plain(&task.missed_runs.to_string()),
        plain(&limit(task.smallest_limit)),
        plain(&task.basis.map_or_else(
            || NONE.to_owned(),
            |(basis, samples)| format!("{} ({samples})", basis.as_str()),
        )),
    ]
}

/// Writes when a task starts or ends; one whose end is not known does not start "never".
pub(super) fn when(task: &TaskOutcome, at: Range) -> String {
    if task.ending == Ending::NotKnown {
        "unknown".to_owned()
    } else {
        times(at)
    }
}

/// Writes when the last task of a node ends; where some are not known and the others never end it is not known.
pub(super) fn idle_at(node: &NodeOutcome) -> String {
    match (node.idle_at.p50, node.not_known) {
        (None, 1..) => "unknown".to_owned(),
        (_, _) => times(node.idle_at),
    }
}

/// Writes a number, or that there is none.
pub(super) fn limit(limit: Option<i64>) -> String {
    limit.map_or_else(|| NONE.to_owned(), |limit| limit.to_string())
}

/// Half of the runs, and nine of ten where that reads differently.
fn range(range: Range, write: impl Fn(i64) -> String) -> String {
    let half = range.p50.map_or_else(|| "never".to_owned(), &write);
    let most = range.p90.map_or_else(|| "never".to_owned(), &write);
    if half == most {
        half
    } else {
        format!("{half}..{most}")
    }
}

/// Writes durations in milliseconds.
pub(super) fn times(millis: Range) -> String {
    range(millis, |millis| age(millis / 1000))
}

/// Writes numbers.
pub(super) fn numbers(of: Range) -> String {
    range(of, |number| number.to_string())
}

/// Writes an assumption, and on how much it rests.
pub(super) fn in_words(assumption: &Assumption) -> String {
    match assumption.samples {
        Some(samples) => format!(
            "{} ({})",
            assumption.text,
            count(samples, "sample", "samples")
        ),
        None => assumption.text.clone(),
    }
}

fn assumptions_in_short(report: &SimulationReport, terminal: &Terminal) -> Vec<Line> {
    let all = &report.simulation.assumptions;
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let more = match all.len() - 1 {
        0 => String::new(),
        rest => format!(
            ", and {} (use -o wide)",
            count(rest, "other assumption", "other assumptions")
        ),
    };
    let mut lines = wrap(
        &Line::new("Assumes: ", Style::Dim),
        &format!("{}{more}", in_words(first)),
        Style::Plain,
        terminal,
    );
    lines.extend(wrap(
        &Line::default(),
        "Ranges are half of the runs..nine of ten. LEAK, LOST: tasks stuck if the busiest node leaked its slots or lost its timers.",
        Style::Dim,
        terminal,
    ));
    lines
}
