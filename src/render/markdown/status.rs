//! `status`.

use std::io::{self, Write};

use super::super::status::{
    by_need, headline_texts, in_progress, needs_a_look, next_command, percent, queue_text,
};
use super::super::words::count;
use super::{
    Inline, LISTED, PAPER, Page, context, gaps, next, number_or_unknown, past, task, until_or_none,
};
use crate::report::{NodeRow, StatusReport, TaskRow};

const NODES: [&str; 8] = [
    "NODE",
    "VERDICT",
    "IN PROGRESS",
    "FREE BY STATUS",
    "WAITING",
    "OLDEST WAITS SINCE",
    "HELD BY",
    "LIMIT FROM",
];

const TASKS: [&str; 7] = [
    "NODE", "TASK", "SLOT", "PHASE", "SINCE", "PROGRESS", "DEADLINE",
];

/// Writes the answer.
pub(in crate::render) fn status(out: &mut dyn Write, report: &StatusReport) -> io::Result<()> {
    let mut page = Page::default();
    let mut headlines = headline_texts(report, &PAPER).into_iter();
    if let Some((_, _, text)) = headlines.next() {
        page.title(&Inline::words(&text));
    }
    context(&mut page, &report.head);
    for (_, _, text) in headlines {
        page.paragraph(&Inline::words(&text));
    }
    page.paragraph(&Inline::words(&queue_text(report)));
    let ordered = by_need(&report.nodes);
    let sick = ordered
        .iter()
        .filter(|node| needs_a_look(node.verdict))
        .count();
    let (shown, folded) = ordered.split_at(ordered.len().min(sick.saturating_add(LISTED)));
    page.table(&NODES, shown.iter().map(|node| node_row(node, report)));
    if !folded.is_empty() {
        page.paragraph(&Inline::words(&format!(
            "And {} that need no look.",
            count(folded.len(), "more node", "more nodes")
        )));
    }
    tasks(&mut page, shown.get(..sick).unwrap_or_default(), report);
    gaps(&mut page, &report.head);
    next(&mut page, next_command(report));
    page.write(out)
}

fn node_row(node: &NodeRow, report: &StatusReport) -> [Inline; 8] {
    let now = report.head.taken_at;
    let oldest = match (node.oldest_wait_seconds, node.waiting_count == 0) {
        (Some(seconds), _) => now
            .checked_sub(jiff::SignedDuration::from_secs(seconds))
            .map_or_else(|_| Inline::own("unknown"), |since| past(since, now)),
        (None, true) => Inline::own("none"),
        (None, false) => Inline::own("unknown"),
    };
    let held = match node.holders.as_slice() {
        [] => Inline::own("none"),
        [only] => task(&only.task),
        [first, others @ ..] => {
            task(&first.task).then(Inline::words(&format!(" +{}", others.len())))
        }
    };
    [
        Inline::code(&node.name),
        Inline::own(node.verdict.as_str()),
        Inline::words(&in_progress(node)),
        number_or_unknown(node.slots.free),
        Inline::words(&node.waiting_count.to_string()),
        oldest,
        held,
        Inline::own(node.limit.source.as_str()),
    ]
}

/// Lists who holds and who waits on the nodes that need a look.
fn tasks(page: &mut Page, nodes: &[&NodeRow], report: &StatusReport) {
    let all: Vec<(&NodeRow, &'static str, &TaskRow)> = nodes
        .iter()
        .flat_map(|node| {
            let holds = node.holders.iter().map(|task| (*node, "holds", task));
            let waits = node.waiting.iter().map(|task| (*node, "waits", task));
            holds.chain(waits)
        })
        .collect();
    if all.is_empty() {
        return;
    }
    page.heading(&Inline::own("Tasks of the nodes that need a look"));
    page.table(
        &TASKS,
        all.iter()
            .take(LISTED)
            .map(|(node, slot, row)| task_row(node, slot, row, report)),
    );
    let hidden = all.len().saturating_sub(LISTED);
    if hidden > 0 {
        page.paragraph(&Inline::words(&format!(
            "And {}.",
            count(hidden, "more task", "more tasks")
        )));
    }
}

fn task_row(
    node: &NodeRow,
    slot: &'static str,
    row: &TaskRow,
    report: &StatusReport,
) -> [Inline; 7] {
    let now = report.head.taken_at;
    [
        Inline::code(&node.name),
        task(&row.task),
        Inline::own(slot),
        Inline::words(row.phase.as_str()),
        row.since
            .map_or_else(|| Inline::own("unknown"), |since| past(since, now)),
        row.progress
            .and_then(percent)
            .map_or_else(|| Inline::own("none"), |percent| Inline::words(&percent)),
        until_or_none(row.deadline.as_ref(), now),
    ]
}
