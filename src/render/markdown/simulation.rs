//! `replay --simulate`.

use std::io::{self, Write};

use super::super::simulation::{
    idle_at, in_words, later_text, limit, numbers, restarts_text, times, top_text, when,
};
use super::super::words::count;
use super::{Inline, LISTED, Page, context, gaps, left_out, name_or_none, task, until_or_none};
use crate::report::{Outcome, SimulationReport, TaskOutcome};

const SCENARIOS: [&str; 10] = [
    "DESIGN",
    "WHAT IF",
    "DRAINED IN",
    "CALLS",
    "WASTED",
    "SLOT IDLE",
    "MISSED",
    "STUCK",
    "STUCK IF LEAKED",
    "STUCK IF LOST",
];

const NODES: [&str; 4] = ["NODE", "TASKS", "IDLE IN", "LIMIT NEEDED"];

const TASKS: [&str; 8] = [
    "TASK",
    "PHASE",
    "NODE",
    "STARTS IN",
    "ENDS IN",
    "ENDING",
    "DEADLINE",
    "LIMIT NEEDED",
];

/// Writes the answer.
pub(in crate::render) fn simulation(
    out: &mut dyn Write,
    report: &SimulationReport,
) -> io::Result<()> {
    let mut page = Page::default();
    if let Some((_, _, text)) = top_text(report, super::PAPER.marks) {
        page.title(&Inline::words(&text));
    }
    context(&mut page, &report.head);
    page.table(&SCENARIOS, report.simulation.outcomes.iter().map(scenario));
    if let Some(text) = restarts_text(report) {
        page.paragraph(&Inline::own("Restarts: ").then(Inline::words(&text)));
    }
    if let Some(text) = later_text(report) {
        page.paragraph(&Inline::own("Drains later: ").then(Inline::words(&text)));
    }
    if let Some(first) = report.simulation.outcomes.first() {
        page.table(
            &NODES,
            first.nodes.iter().take(LISTED).map(|node| {
                [
                    Inline::code(&node.name),
                    Inline::words(&node.tasks.to_string()),
                    Inline::words(&idle_at(node)),
                    Inline::words(&limit(node.smallest_limit)),
                ]
            }),
        );
        more(&mut page, first.nodes.len(), "more node", "more nodes");
        let shown = first.tasks.iter().take(LISTED);
        page.table(&TASKS, shown.map(|outcome| row(outcome, report)));
        more(&mut page, first.tasks.len(), "more task", "more tasks");
    }
    if let Some(line) = left_out(report.tasks_not_shown, "task", "tasks") {
        page.paragraph(&line);
    }
    if !report.simulation.assumptions.is_empty() {
        page.heading(&Inline::own("Assumed"));
    }
    let assumptions = report.simulation.assumptions.iter();
    page.list(assumptions.map(|one| Inline::words(&in_words(one))));
    if !report.simulation.outcomes.is_empty() {
        page.paragraph(&Inline::own(
            "Ranges are half of the runs..nine of ten. STUCK IF LEAKED, LOST: tasks stuck if the busiest node \
             leaked its slots or lost its timers.",
        ));
    }
    gaps(&mut page, &report.head);
    page.write(out)
}

fn more(page: &mut Page, all: usize, one: &str, many: &str) {
    let hidden = all.saturating_sub(LISTED);
    if hidden > 0 {
        page.paragraph(&Inline::words(&format!(
            "And {}.",
            count(hidden, one, many)
        )));
    }
}

fn scenario(outcome: &Outcome) -> [Inline; 10] {
    let changes = outcome.scenario.changes();
    let probe = |number: Option<i64>| Inline::words(&limit(number));
    [
        Inline::own(outcome.scenario.design.as_str()),
        if changes.is_empty() {
            Inline::own("as it is")
        } else {
            Inline::words(&changes)
        },
        Inline::words(&times(outcome.drained)),
        Inline::words(&numbers(outcome.calls)),
        Inline::words(&numbers(outcome.wasted)),
        Inline::words(&times(outcome.idle)),
        Inline::words(&numbers(outcome.missed)),
        Inline::words(&numbers(outcome.stuck)),
        probe(outcome.probes.map(|probes| probes.stuck_by_leaked_slots)),
        probe(outcome.probes.map(|probes| probes.stuck_by_lost_events)),
    ]
}

fn row(outcome: &TaskOutcome, report: &SimulationReport) -> [Inline; 8] {
    [
        task(&outcome.task),
        Inline::words(outcome.phase.as_str()),
        name_or_none(outcome.node.as_deref()),
        Inline::words(&when(outcome, outcome.start)),
        Inline::words(&when(outcome, outcome.end)),
        Inline::own(outcome.ending.as_str()),
        until_or_none(outcome.deadline.as_ref(), report.head.taken_at),
        Inline::words(&limit(outcome.smallest_limit)),
    ]
}
