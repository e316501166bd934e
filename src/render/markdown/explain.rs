//! `explain KIND/NAME`.

use std::io::{self, Write};

use super::super::context::hidden_tasks;
use super::super::eta::eta;
use super::super::explain::{Detail, competitors, format_progress, overview_text, slots_title};
use super::super::words::{age, count, time};
use super::{
    Inline, Item, LISTED, Page, context, finding, gaps, name_or_none, past, task, until,
    until_or_none,
};
use crate::report::{
    Competing, ExplanationReport, Holder, LoggedSlot, Standing, TaskExplanation, TaskLine,
};

const TASKS: [&str; 7] = [
    "TASK",
    "PHASE",
    "NODE",
    "VERDICT",
    "GATE",
    "EXPECTED END",
    "DEADLINE",
];

const GATES: [&str; 3] = ["GATE", "STATE", "WHY"];

const STORY: [&str; 3] = ["TIME", "WHAT", "SOURCE"];

/// Writes the answer.
pub(in crate::render) fn explanation(
    out: &mut dyn Write,
    report: &ExplanationReport,
) -> io::Result<()> {
    let mut page = Page::default();
    let overview = overview_text(report);
    match (&overview, report.tasks.as_slice()) {
        (Some(text), _) => page.title(&Inline::words(text)),
        (None, [only]) => page.title(&headline(only)),
        (None, tasks) => page.title(&Inline::words(&format!(
            "{} of that name: {}",
            count(tasks.len(), "task", "tasks"),
            report.verdict.as_str().to_uppercase()
        ))),
    }
    context(&mut page, &report.head);
    if overview.is_some() {
        let shown = report.unfinished.iter().take(LISTED);
        page.table(&TASKS, shown.map(|line| task_line(line, report)));
        let hidden = report.unfinished.len().saturating_sub(LISTED);
        if hidden > 0 {
            page.paragraph(&Inline::words(&format!(
                "And {}.",
                count(hidden, "more task", "more tasks")
            )));
        }
    }
    let has_own_title = overview.is_none() && report.tasks.len() == 1;
    for told in &report.tasks {
        if !has_own_title {
            page.heading(&headline(told));
        }
        in_full(&mut page, told, report);
    }
    gaps(&mut page, &report.head);
    page.write(out)
}

fn task_line(line: &TaskLine, report: &ExplanationReport) -> [Inline; 7] {
    let now = report.head.taken_at;
    [
        task(&line.task),
        Inline::words(line.phase.as_str()),
        name_or_none(line.node.as_deref()),
        Inline::own(line.verdict.as_str()),
        Inline::own(line.closed_gate.map_or("none", |gate| gate.as_str())),
        line.eta.as_ref().map_or_else(
            || Inline::own("unknown"),
            |expected| Inline::words(eta(expected, now).text()),
        ),
        until_or_none(line.deadline.as_ref(), now),
    ]
}

fn headline(told: &TaskExplanation) -> Inline {
    let mut line = Inline::words(&format!("{}: ", told.verdict.as_str().to_uppercase()))
        .then(Inline::code(&told.task.to_string()))
        .and(" is ")
        .then(Inline::words(told.phase.as_str()));
    if let Some(node) = &told.node {
        line = line.and(" on ").then(Inline::code(node));
    }
    match (told.phase_seconds, told.verdict) {
        (Some(seconds), Standing::Finished) => {
            line.then(Inline::words(&format!(" since {} ago", age(seconds))))
        }
        (Some(seconds), _) => line.then(Inline::words(&format!(" for {}", age(seconds)))),
        (None, _) => line,
    }
}

fn in_full(page: &mut Page, told: &TaskExplanation, report: &ExplanationReport) {
    page.list(answer(told, report));
    for concern in &told.findings {
        finding(page, &concern.row, report.head.taken_at);
    }
    if !told.gates.is_empty() {
        page.heading(
            &Inline::own("Gates, in the order of the rules of Velero ")
                .then(Inline::words(told.rules.trim_start_matches('v'))),
        );
        page.table(
            &GATES,
            told.gates.iter().map(|row| {
                [
                    Inline::own(row.gate.as_str()),
                    Inline::own(row.state.as_str()),
                    Inline::words(&row.reason),
                ]
            }),
        );
    }
    slots(page, told, report);
    if !told.story.is_empty() {
        page.heading(&Inline::own("Story"));
        page.table(
            &STORY,
            told.story.iter().map(|line| {
                let at = line
                    .at
                    .map_or_else(|| Inline::own("unknown"), |at| Inline::words(&time(at)));
                let source = Inline::own(line.from.as_str())
                    .and(" ")
                    .then(Inline::code(&line.source));
                [at, Inline::words(&line.what), source]
            }),
        );
    }
}

/// Says what the gate is, what frees it, the deadline.
fn answer(told: &TaskExplanation, report: &ExplanationReport) -> Vec<Item> {
    let now = report.head.taken_at;
    let mut items: Vec<Item> = Vec::new();
    let mut say = |label: &'static str, text: Inline| {
        items.push(Inline::own(label).and(": ").then(text).into());
    };
    if told.verdict == Standing::Unknown {
        let mut reasons: Vec<String> = hidden_tasks(&report.head).into_iter().collect();
        reasons.extend(report.inconclusive.iter().cloned());
        if reasons.is_empty() {
            reasons.push(told.reason.clone());
        }
        say("not known", Inline::words(&reasons.join("; ")));
    }
    match told.closed_gate {
        Some(gate) => say(
            "closed gate",
            Inline::own(gate.as_str())
                .and(": ")
                .then(Inline::words(&told.reason)),
        ),
        None if told.verdict == Standing::Finished => say("end", Inline::words(&told.reason)),
        None => say("no gate is closed", Inline::words(&told.reason)),
    }
    for way in &told.frees {
        say("frees it", Inline::words(way));
    }
    if told.verdict != Standing::Finished {
        say(
            "deadline",
            told.deadline.as_ref().map_or_else(
                || Inline::own("none: no timeout that is known ends it"),
                |deadline| until(deadline, now),
            ),
        );
        if let Some(expected) = &told.eta {
            say(
                "expected end",
                Inline::words(eta(expected, now).text()).and(", simulated"),
            );
        }
    }
    items
}

fn slots(page: &mut Page, told: &TaskExplanation, report: &ExplanationReport) {
    if let Some(slots) = &told.slots {
        page.heading(&Inline::words(&slots_title(slots)));
        let held = slots.holders.iter().map(|holder| holds(holder, report));
        page.list(held.chain(slots.logged.iter().map(logged)));
    }
    if !told.queue.is_empty() {
        page.heading(&Inline::own("In the prepare queue"));
        let shown = told.queue.iter().take(LISTED);
        let hidden = told.queue.len().saturating_sub(LISTED);
        let more = (hidden > 0).then(|| Inline::words(&format!("and {hidden} more")));
        page.list(shown.map(|holder| holds(holder, report)).chain(more));
    }
    if let Some(competing) = &told.competing {
        page.paragraph(&competes(competing));
    }
}

fn holds(holder: &Holder, report: &ExplanationReport) -> Inline {
    let mut line = task(&holder.task)
        .and(" ")
        .then(Inline::words(holder.phase.as_str()));
    if let Some(progress) = holder.progress {
        line = line.then(Inline::words(&format_progress(progress)));
    }
    if let Some(started) = holder.started {
        line = line
            .and(" since ")
            .then(past(started, report.head.taken_at));
    }
    line
}

fn logged(slot: &LoggedSlot) -> Inline {
    let name = slot.kind.map_or_else(
        || format!("task {}", slot.name),
        |kind| format!("{}/{}", kind.short_name(), slot.name),
    );
    let since = match (slot.since, slot.speaks_from) {
        (Some(since), _) => format!("since {}", time(since)),
        (None, Some(from)) => format!("since before {}, when the log begins", time(from)),
        (None, None) => "since before the log begins".to_owned(),
    };
    Inline::code(&name)
        .and(" by the log of the node-agent, ")
        .then(Inline::words(&since))
        .and(": ")
        .and(slot.stage)
}

fn competes(competing: &Competing) -> Inline {
    let line = Inline::own("Competes with ");
    if competing.tasks.is_empty() {
        return line.then(Inline::words(&competitors(competing, Detail::Everything)));
    }
    let names = Inline::join(competing.tasks.iter().take(LISTED).map(task), ", ");
    let hidden = competing
        .count
        .saturating_sub(competing.tasks.len().min(LISTED));
    let more = if hidden > 0 {
        Inline::words(&format!(" and {hidden} more"))
    } else {
        Inline::default()
    };
    line.then(Inline::words(&count(
        competing.count,
        "other task",
        "other tasks",
    )))
    .and(": ")
    .then(names)
    .then(more)
    .and("; Velero keeps no order among them.")
}
