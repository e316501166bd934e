//! `replay`.

use std::io::{self, Write};

use super::super::replay::top_text;
use super::super::words::count;
use super::{Inline, PAPER, Page, context, gaps, name_or_none, task, until_or_none};
use crate::report::{DecisionRow, ReplayReport};

/// Decisions of the table; those that differ from what happens come first.
const ROWS: usize = 100;

const COLUMNS: [&str; 9] = [
    "TASK",
    "PHASE",
    "NODE",
    "DECISION",
    "GATE",
    "NEXT LOOK",
    "DIVERGES",
    "DEADLINE",
    "REASON",
];

/// Writes the answer.
pub(in crate::render) fn replay(out: &mut dyn Write, report: &ReplayReport) -> io::Result<()> {
    let mut page = Page::default();
    let (_, _, text) = top_text(report, &PAPER);
    page.title(&Inline::words(&text));
    context(&mut page, &report.head);
    let mut ordered: Vec<&DecisionRow> = report.decisions.iter().collect();
    ordered.sort_by_key(|decision| !decision.diverges);
    let (shown, hidden) = ordered.split_at(ordered.len().min(ROWS));
    page.table(&COLUMNS, shown.iter().map(|row| cells(row, report)));
    if !hidden.is_empty() {
        let differ = hidden.iter().filter(|row| row.diverges).count();
        page.paragraph(&Inline::words(&format!(
            "And {}, of which {differ} differ from what happens.",
            count(hidden.len(), "more decision", "more decisions")
        )));
    }
    gaps(&mut page, &report.head);
    page.write(out)
}

fn cells(row: &DecisionRow, report: &ReplayReport) -> [Inline; 9] {
    [
        task(&row.task),
        Inline::words(row.phase.as_str()),
        name_or_none(row.node.as_deref()),
        Inline::own(row.decision.as_str()),
        Inline::own(row.gate.as_str()),
        Inline::own(row.next_trigger.as_str()),
        Inline::own(if row.diverges { "yes" } else { "no" }),
        until_or_none(row.deadline.as_ref(), report.head.taken_at),
        Inline::words(&row.reason),
    ]
}
