//! What `nudge` and `restart` would do, and what came of it.

use std::io::{self, Write};

use super::super::outcome::{Step, happened};
use super::super::plan::{
    Width, afterwards, agent_text, events, expected_text, refused_text, tried, verdict_text,
    written,
};
use super::super::words::{count, time};
use super::{
    Inline, Item, LISTED, PAPER, Page, context, gaps, name_or_none, number_or_unknown, task,
};
use crate::report::action::{
    Ending, LeftOut, NodePlan, Plan, PlanAction, Probe, Refusal, TaskEffect, TaskOutcome,
};
use crate::report::{OutcomeReport, PlanReport};

const EFFECTS: [&str; 5] = ["TASK", "PHASE", "NODE", "AFTERWARDS", "WHY"];

const TASKS: [&str; 6] = ["TASK", "NODE", "BEFORE", "AFTER", "RESULT", "EVIDENCE"];

/// Writes the bill.
pub(in crate::render) fn plan(out: &mut dyn Write, report: &PlanReport) -> io::Result<()> {
    let plan = &report.plan;
    let mut page = Page::default();
    let (_, _, text) = verdict_text(plan, PAPER.marks);
    page.title(&Inline::words(&text));
    context(&mut page, &report.head);
    for refusal in &plan.refusals {
        refused(&mut page, Inline::own("Why: "), refusal, plan);
    }
    page.list(plan.nodes.iter().map(|node| node_line(report, node)));
    let mut ordered: Vec<&TaskEffect> = plan.effects.iter().collect();
    // What is lost comes first; the order within is the plan's.
    ordered.sort_by_key(|effect| !effect.is_loss());
    let losses = plan.losses().count();
    let (shown, hidden) = ordered.split_at(ordered.len().min(losses.saturating_add(LISTED)));
    page.table(&EFFECTS, shown.iter().map(|effect| effect_row(effect)));
    if !hidden.is_empty() {
        page.paragraph(&Inline::words(&format!(
            "And {} without a loss.",
            count(hidden.len(), "other task", "other tasks")
        )));
    }
    page.list(notes(plan));
    for left in &plan.left_out {
        let what = match (&left.task, &left.node) {
            (Some(one), _) => task(one),
            (None, Some(node)) => Inline::own("node ").then(Inline::code(node)),
            (None, None) => Inline::own("something"),
        };
        let LeftOut { refusal, .. } = left;
        refused(
            &mut page,
            Inline::own("Left out ").then(what).and(": "),
            refusal,
            plan,
        );
    }
    if !plan.steps.is_empty() {
        page.heading(&Inline::own("Writes"));
        let steps = plan.steps.iter();
        page.list(
            steps
                .map(|step| Inline::words(&written(step, Width::Short)))
                .chain([Inline::words(&events(plan.action))]),
        );
    }
    if plan.action == PlanAction::Restart && !plan.steps.is_empty() {
        for save in plan.nodes.iter().filter_map(|node| node.save_log.as_ref()) {
            page.paragraph(&Inline::own(
                "A restart destroys the log: `--save-log PATH` keeps it, or",
            ));
            page.command(&save.command);
        }
    }
    gaps(&mut page, &report.head);
    page.write(out)
}

fn refused(page: &mut Page, start: Inline, refusal: &Refusal, plan: &Plan) {
    page.paragraph(&start.then(Inline::words(&refused_text(refusal, plan.force))));
    for instead in &refusal.instead {
        page.paragraph(&Inline::own("Instead: ").then(Inline::words(&instead.effect)));
        if let Some(command) = &instead.command {
            page.command(command);
        }
    }
}

fn node_line(report: &PlanReport, node: &NodePlan) -> Item {
    let agent = node.agent.as_ref().map_or_else(
        || Inline::own("no node-agent pod"),
        |agent| Inline::words(&agent_text(report, agent)),
    );
    let line = Inline::own("node ")
        .then(Inline::code(&node.node))
        .and(": ")
        .then(agent)
        .then(Inline::words(&format!(
            "; IN PROGRESS {} of ",
            node.holders.len()
        )))
        .then(number_or_unknown(node.limit))
        .then(Inline::words(&format!(
            ", {}; rules of {}",
            count(node.waiting.len(), "task waits", "tasks wait"),
            node.rules
        )));
    Item::with(
        line,
        node.rules_doubt
            .iter()
            .map(|doubt| Inline::words(doubt))
            .collect(),
    )
}

fn effect_row(effect: &TaskEffect) -> [Inline; 5] {
    [
        task(&effect.task),
        Inline::words(effect.phase.as_str()),
        name_or_none(effect.node.as_deref()),
        Inline::words(afterwards(effect).text()),
        Inline::words(&effect.why),
    ]
}

/// Says what should happen, what was tried before, and what to mind.
fn notes(plan: &Plan) -> Vec<Inline> {
    let expected = plan
        .expected
        .iter()
        .map(|expected| Inline::own("expect: ").then(Inline::words(&expected_text(expected))));
    let after = plan.follow_ups.iter().map(|follow_up| {
        Inline::own("after: nudges ")
            .then(task(&follow_up.task))
            .and(" by its pod if the new node-agent does not notice it")
    });
    let before = plan
        .earlier
        .iter()
        .map(|earlier| Inline::own("before: ").then(Inline::words(&tried(earlier))));
    let warnings = plan
        .warnings
        .iter()
        .map(|warning| Inline::own("mind: ").then(Inline::words(warning)));
    let probe = match &plan.probe {
        Probe::Yes { risk } => Some(Inline::own("probe: ").then(Inline::words(risk))),
        Probe::No => None,
    };
    expected
        .chain(after)
        .chain(probe)
        .chain(before)
        .chain(warnings)
        .collect()
}

/// Writes what came of it.
pub(in crate::render) fn outcome(out: &mut dyn Write, report: &OutcomeReport) -> io::Result<()> {
    let outcome = &report.outcome;
    let mut page = Page::default();
    page.title(&Inline::words(&outcome.summary));
    context(&mut page, &report.head);
    page.list(happened(outcome).into_iter().map(|Step { at, text, .. }| {
        let at = at.map_or_else(Inline::default, |at| Inline::words(&time(at)).and(" "));
        at.then(Inline::words(&text))
    }));
    page.table(&TASKS, outcome.tasks.iter().map(task_row));
    let mut notes = Vec::new();
    if let Ending::ServerLost(why) = &outcome.ending {
        notes.push(Inline::own("the API server said last: ").then(Inline::words(why)));
    }
    let warnings = outcome.warnings.iter();
    notes.extend(warnings.map(|text| Inline::own("mind: ").then(Inline::words(text))));
    page.list(notes);
    for command in &outcome.next {
        page.paragraph(&Inline::own("Next: ").then(Inline::words(&command.effect)));
        page.command(&command.command);
    }
    gaps(&mut page, &report.head);
    page.write(out)
}

fn task_row(outcome: &TaskOutcome) -> [Inline; 6] {
    let seen = outcome
        .at
        .map_or_else(Inline::default, |at| Inline::words(&time(at)).and(": "));
    [
        task(&outcome.task),
        name_or_none(outcome.node.as_deref()),
        Inline::words(outcome.before.as_str()),
        outcome.after.as_ref().map_or_else(
            || Inline::own("unknown"),
            |after| Inline::words(after.as_str()),
        ),
        Inline::own(outcome.result.as_str()),
        seen.then(
            outcome
                .evidence
                .as_ref()
                .map_or_else(|| Inline::own("none"), |text| Inline::words(text)),
        ),
    ]
}
