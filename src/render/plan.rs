//! What `nudge` and `restart` would do, for people: the bill before the question.

use std::io::{self, Write};

use super::columns::{Column, Room, Table};
use super::context::{acting_context, gaps_in_full, gaps_in_short, labelled};
use super::screen::{Line, Span, Style, wrap, write_lines};
use super::words::{NONE, UNKNOWN, age, count, time};
use super::{Marks, Terminal};
use crate::report::PlanReport;
use crate::report::action::{
    AgentBill, EVENT_NUDGE, EVENT_RESTART, Earlier, Effect, Expectation, Expected, Force, LeftOut,
    NodePlan, Override, Plan, PlanAction, Probe, Refusal, Step, StepKind, TaskEffect, Verdict,
};
use crate::velero::TaskRef;

/// Columns go in this order: DONE, NODE.
const COLUMNS: [Column; 5] = [
    Column::always("TASK"),
    Column::always("PHASE"),
    Column::until("DONE", 0),
    Column::until("NODE", 1),
    Column::always("AFTERWARDS"),
];

const WIDE_COLUMNS: [Column; 8] = [
    Column::always("TASK"),
    Column::always("PHASE"),
    Column::always("DONE"),
    Column::always("NODE"),
    Column::always("AFTERWARDS"),
    Column::always("STANDS"),
    Column::always("WHY"),
    Column::always("RULE"),
];

/// How many tasks without a loss the first screen lists; every loss is listed.
const SHOWN: usize = 8;

/// How many refusals, left out ones and earlier attempts the first screen tells.
const TOLD: usize = 3;

/// Writes the bill.
pub(super) fn table(
    out: &mut dyn Write,
    report: &PlanReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = lines(report, Width::Short, terminal);
    lines.extend(gaps_in_short(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

/// Writes the bill with every reason, step and right.
pub(super) fn wide(
    out: &mut dyn Write,
    report: &PlanReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let mut lines = lines(report, Width::Full, terminal);
    lines.extend(gaps_in_full(&report.head, terminal));
    write_lines(out, &lines, terminal)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// What a first screen tells.
    Short,
    /// All of it.
    Full,
}

fn lines(report: &PlanReport, width: Width, terminal: &Terminal) -> Vec<Line> {
    let plan = &report.plan;
    let mut lines = acting_context(&report.head, terminal);
    lines.extend(verdict(plan, terminal));
    for refusal in told(&plan.refusals, width) {
        lines.extend(refused(refusal, plan.force, terminal));
    }
    lines.extend(more(
        plan.refusals.len(),
        width,
        "reason",
        "reasons",
        terminal,
    ));
    for node in &plan.nodes {
        lines.extend(node_lines(report, node, terminal));
    }
    lines.extend(effects(plan, width, terminal));
    for expected in &plan.expected {
        lines.extend(then(expected, terminal));
    }
    for follow_up in &plan.follow_ups {
        lines.extend(field(
            "after",
            &format!(
                "nudges {} by its pod if the new node-agent does not notice it",
                short(&follow_up.task)
            ),
            terminal,
        ));
    }
    if let Probe::Yes { risk } = &plan.probe {
        lines.extend(field("probe", risk, terminal));
    }
    for earlier in told(&plan.earlier, width) {
        lines.extend(field("before", &tried(earlier), terminal));
    }
    for left in told(&plan.left_out, width) {
        lines.extend(left_out(left, terminal));
    }
    lines.extend(more(
        plan.left_out.len(),
        width,
        "left out",
        "left out",
        terminal,
    ));
    for warning in &plan.warnings {
        lines.extend(wrap(
            &Line::new(&format!("{} ", terminal.marks.warn()), Style::Warn),
            warning,
            Style::Plain,
            terminal,
        ));
    }
    for step in &plan.steps {
        lines.extend(field("writes", &written(step, width), terminal));
    }
    if !plan.steps.is_empty() {
        lines.extend(field("writes", &events(plan.action), terminal));
    }
    if plan.action == PlanAction::Restart && !plan.steps.is_empty() {
        for save in plan.nodes.iter().filter_map(|node| node.save_log.as_ref()) {
            lines.extend(field(
                "log",
                "a restart destroys it: --save-log PATH keeps it, or",
                terminal,
            ));
            lines.extend(labelled("        ", &save.command, terminal));
        }
    }
    if width == Width::Full {
        for right in &plan.rights {
            let group = if right.group.is_empty() {
                String::new()
            } else {
                format!(".{}", right.group)
            };
            let part = if right.subresource.is_empty() {
                String::new()
            } else {
                format!("/{}", right.subresource)
            };
            let name = right
                .name
                .as_ref()
                .map_or_else(String::new, |name| format!(" {name}"));
            lines.extend(field(
                "right",
                &format!(
                    "{} {}{group}{part}{name} in {} ({})",
                    right.verb,
                    right.resource,
                    right.namespace,
                    right.need.as_str()
                ),
                terminal,
            ));
        }
    }
    lines
}

/// Says which Events an action writes.
pub(super) fn events(action: PlanAction) -> String {
    match action {
        PlanAction::Nudge => format!("an Event on each task ({EVENT_NUDGE})"),
        PlanAction::Restart => format!("an Event on each deleted pod ({EVENT_RESTART})"),
    }
}

fn told<T>(all: &[T], width: Width) -> &[T] {
    match width {
        Width::Full => all,
        Width::Short => all.get(..TOLD).unwrap_or(all),
    }
}

fn more(number: usize, width: Width, one: &str, many: &str, terminal: &Terminal) -> Option<Line> {
    let hidden = number.saturating_sub(TOLD);
    (width == Width::Short && hidden > 0).then(|| {
        Line::new(
            &format!(
                "{} and {} more (use -o wide)",
                terminal.marks.more(),
                count(hidden, one, many)
            ),
            Style::Dim,
        )
    })
}

fn field(name: &str, text: &str, terminal: &Terminal) -> Vec<Line> {
    wrap(
        &Line::new(&format!("{name:<8}"), Style::Dim),
        text,
        Style::Plain,
        terminal,
    )
}

fn short(task: &TaskRef) -> String {
    format!("{}/{}", task.kind.short_name(), task.name)
}

fn verdict(plan: &Plan, terminal: &Terminal) -> Vec<Line> {
    let (mark, style, text) = verdict_text(plan, terminal.marks);
    let first = Line::new(&format!("{mark} "), style);
    wrap(&first, &text, style, terminal)
}

/// Says whether it may be done; with its mark.
pub(super) fn verdict_text(plan: &Plan, marks: Marks) -> (&'static str, Style, String) {
    let what = if plan.confirmation.question.is_empty() {
        format!("{}: nothing to do", plan.action.as_str())
    } else {
        plan.confirmation.question.clone()
    };
    match plan.verdict() {
        Verdict::Allowed if plan.steps.is_empty() => (marks.warn(), Style::Warn, what),
        Verdict::Allowed => (marks.good(), Style::Good, format!("would {what}")),
        Verdict::Forced => (marks.warn(), Style::Warn, format!("would {what} (--force)")),
        Verdict::RefusedUnlessForced => (
            marks.bad(),
            Style::Bad,
            format!("refused, unless --force is given: {what}"),
        ),
        Verdict::Refused => (marks.bad(), Style::Bad, format!("refused: {what}")),
    }
}

/// Says why it is refused, and whether that is overridden.
pub(super) fn refused_text(refusal: &Refusal, force: Force) -> String {
    let over = match (refusal.by, force) {
        (Override::Force, Force::Yes) => "overridden by --force: ",
        (Override::Force | Override::Never, Force::No) | (Override::Never, Force::Yes) => "",
    };
    format!("{over}{} ({})", refusal.reason, refusal.code.as_str())
}

fn refused(refusal: &Refusal, force: Force, terminal: &Terminal) -> Vec<Line> {
    let mut lines = field("why", &refused_text(refusal, force), terminal);
    for instead in &refusal.instead {
        lines.extend(field("instead", &instead.effect, terminal));
        if let Some(command) = &instead.command {
            // A command that must be pasted is never broken.
            lines.extend(labelled("        ", command, terminal));
        }
    }
    lines
}

fn node_lines(report: &PlanReport, node: &NodePlan, terminal: &Terminal) -> Vec<Line> {
    let agent = node.agent.as_ref().map_or_else(
        || "no node-agent pod".to_owned(),
        |agent| agent_text(report, agent),
    );
    let limit = node
        .limit
        .map_or_else(|| UNKNOWN.to_owned(), |limit| limit.to_string());
    let mut lines = field(
        "node",
        &format!(
            "{}: {agent}; IN PROGRESS {} of {limit}, {}; rules of {}",
            node.node,
            node.holders.len(),
            count(node.waiting.len(), "task waits", "tasks wait"),
            node.rules
        ),
        terminal,
    );
    if let Some(doubt) = &node.rules_doubt {
        lines.extend(field("", doubt, terminal));
    }
    lines
}

/// Says which node-agent it is, how old, of which release.
pub(super) fn agent_text(report: &PlanReport, agent: &AgentBill) -> String {
    let ago = |from: Option<jiff::Timestamp>| {
        from.map_or_else(
            || UNKNOWN.to_owned(),
            |from| age(report.head.taken_at.duration_since(from).as_secs()),
        )
    };
    format!(
        "pod {}, {} old, Velero {}, {}",
        agent.pod,
        ago(agent.created),
        agent.version.as_deref().unwrap_or(UNKNOWN),
        count(
            usize::try_from(agent.restarts).unwrap_or(0),
            "restart",
            "restarts"
        ),
    )
}

fn effects(plan: &Plan, width: Width, terminal: &Terminal) -> Vec<Line> {
    if plan.effects.is_empty() {
        return Vec::new();
    }
    let mut ordered: Vec<&TaskEffect> = plan.effects.iter().collect();
    // What is lost comes first; the order within is the plan's.
    ordered.sort_by_key(|effect| !effect.is_loss());
    let losses = plan.losses().count();
    let shown = match width {
        Width::Full => ordered.len(),
        Width::Short => ordered.len().min(losses.saturating_add(SHOWN)),
    };
    let (columns, room): (&[Column], Room) = match width {
        Width::Full => (&WIDE_COLUMNS, Room::Any),
        Width::Short => (&COLUMNS, Room::Terminal),
    };
    let mut table = Table::new(columns);
    for effect in ordered.iter().take(shown) {
        let mut cells = cells(effect);
        if width == Width::Full {
            let plain = |text: &str| Span::new(text, Style::Plain);
            cells.extend([
                plain(effect.concern.as_str()),
                plain(&effect.why),
                plain(effect.source),
            ]);
        }
        table.row(cells);
    }
    let mut lines = vec![Line::default()];
    lines.extend(table.lines(terminal, room));
    let hidden = ordered.len().saturating_sub(shown);
    if hidden > 0 {
        lines.push(Line::new(
            &format!(
                "{} and {} without a loss (use -o wide)",
                terminal.marks.more(),
                count(hidden, "other task", "other tasks")
            ),
            Style::Dim,
        ));
    }
    lines.push(Line::default());
    lines
}

fn cells(effect: &TaskEffect) -> Vec<Span> {
    let plain = |text: &str| Span::new(text, Style::Plain);
    let done = match effect.progress {
        Some((done, total)) if total > 0 => {
            let percent = done.saturating_mul(100).checked_div(total).unwrap_or(0);
            format!("{}%", percent.clamp(0, 100))
        }
        Some(_) | None => NONE.to_owned(),
    };
    vec![
        plain(&short(&effect.task)),
        plain(effect.phase.as_str()),
        plain(&done),
        plain(effect.node.as_deref().unwrap_or(NONE)),
        afterwards(effect),
    ]
}

/// Says what becomes of a task.
pub(super) fn afterwards(effect: &TaskEffect) -> Span {
    let (text, style) = match effect.effect {
        Effect::Resumed => ("resumed", Style::Plain),
        Effect::Canceled => ("cancelled", Style::Warn),
        Effect::Failed => ("failed", Style::Warn),
        Effect::Stranded => ("left without an owner", Style::Warn),
        Effect::StartsAgain => ("looked at anew", Style::Plain),
        Effect::LookedAt => ("looked at", Style::Plain),
        Effect::Unobserved => ("stays, unobserved", Style::Plain),
        Effect::Released => ("stays, its slot is freed", Style::Plain),
        Effect::Untouched => ("untouched", Style::Plain),
    };
    if effect.is_loss() {
        Span::new(&format!("LOST: {text}"), Style::Bad)
    } else {
        Span::new(text, style)
    }
}

fn then(expected: &Expectation, terminal: &Terminal) -> Vec<Line> {
    field("expect", &expected_text(expected), terminal)
}

/// Says what should happen, and until when.
pub(super) fn expected_text(expected: &Expectation) -> String {
    let all = expected.tasks.len();
    let one = expected.at_least == 1;
    let who = match expected.tasks.as_slice() {
        [only] => short(only),
        _ if expected.at_least == all => format!("all {all} tasks"),
        _ => format!("at least {} of {all} tasks", expected.at_least),
    };
    let what = match (expected.what, one) {
        (Expected::Move, true) => "moves on",
        (Expected::Move, false) => "move on",
        (Expected::End, true) => "ends",
        (Expected::End, false) => "end",
        (Expected::Resume, true) => "goes on",
        (Expected::Resume, false) => "go on",
    };
    let node = expected
        .node
        .as_ref()
        .map_or_else(String::new, |node| format!(" on {node}"));
    format!("{who}{node} {what} within {}", age(expected.within_seconds))
}

/// Says what was tried before.
pub(super) fn tried(earlier: &Earlier) -> String {
    let node = earlier
        .node
        .as_ref()
        .map_or_else(String::new, |node| format!(" on {node}"));
    let reason = earlier
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {reason}"));
    format!(
        "{} of {}{node} at {}{reason}",
        earlier.action.as_str(),
        earlier.object,
        time(earlier.at)
    )
}

fn left_out(left: &LeftOut, terminal: &Terminal) -> Vec<Line> {
    let what = match (&left.task, &left.node) {
        (Some(task), _) => short(task),
        (None, Some(node)) => format!("node {node}"),
        (None, None) => NONE.to_owned(),
    };
    let mut lines = field(
        "not",
        &format!(
            "{what}: {} ({})",
            left.refusal.reason,
            left.refusal.code.as_str()
        ),
        terminal,
    );
    if let Some(command) = left
        .refusal
        .instead
        .iter()
        .find_map(|instead| instead.command.as_ref())
    {
        lines.extend(labelled("        ", command, terminal));
    }
    lines
}

/// Says what a step writes.
pub(super) fn written(step: &Step, width: Width) -> String {
    let what = match &step.kind {
        StepKind::AnnotateTask { task, .. } => format!("an annotation on {task}"),
        StepKind::AnnotatePod { pod, task, .. } => {
            format!("an annotation on {pod}, the mover pod of {}", short(task))
        }
        StepKind::DeletePod { pod, .. } => format!("deletes {pod}"),
        StepKind::MarkReplacement { .. } => "an annotation on the pod that replaces it".to_owned(),
    };
    match (width, step.precondition()) {
        (Width::Full, Some(guard)) => format!(
            "{what}, only as uid {} in resourceVersion {}",
            guard.uid, guard.resource_version
        ),
        (Width::Full | Width::Short, _) => what,
    }
}
