//! `-o markdown`: an answer to paste into an incident channel or an issue.
//!
//! The verdict comes first. Times are absolute and in UTC, since nobody knows when a message is read, with
//! the age beside them. Commands stand in blocks of their own, pinned to the cluster and namespace. The
//! width of a terminal and its colours mean nothing here, and no name is cut; of what could be thousands the
//! first are listed and the rest is counted.

use jiff::Timestamp;

use super::context::{as_of, limits, velero, words as reason_words};
use super::words::{age, count, time};
use super::{Color, Headers, Lines, Marks, Terminal};
use crate::report::{Deadline, FindingRow, Head, NowFrom, SourceType};
use crate::velero::{ObjectRef, TaskRef};

use inline::Inline;
use page::{Item, Page};

mod action;
mod diagnosis;
mod explain;
mod inline;
mod page;
mod replay;
mod simulation;
mod status;
#[cfg(test)]
mod tests;

pub(super) use action::{outcome, plan};
pub(super) use diagnosis::diagnosis;
pub(super) use explain::explanation;
pub(super) use replay::replay;
pub(super) use simulation::simulation;
pub(super) use status::status;

/// Tasks, pieces of evidence and healthy nodes that one list has.
const LISTED: usize = 20;

/// What the words of the other views are asked for: nothing is cut, nothing is coloured.
const PAPER: Terminal = Terminal {
    // Some views take a multiple of it.
    width: usize::MAX / 16,
    color: Color::Off,
    marks: Marks::Unicode,
    headers: Headers::Shown,
    lines: Lines::Whole,
};

/// Writes which cluster, namespace, Velero, limit and time the answer is about.
fn context(page: &mut Page, head: &Head) {
    let place = match (head.source, &head.pins.context, &head.server) {
        (SourceType::Cluster, Some(context), _) => {
            Inline::own("context ").then(Inline::code(context))
        }
        (SourceType::Cluster, None, Some(server)) => {
            Inline::own("server ").then(Inline::code(server))
        }
        (SourceType::Cluster, None, None) => Inline::own("a cluster"),
        (SourceType::Files, _, _) => {
            Inline::own("from ").then(listed(head.paths.iter().map(|path| Inline::code(path))))
        }
    };
    let clock = match head.now_from {
        NowFrom::Server => " (clock of the API server)",
        NowFrom::Flag | NowFrom::Capture | NowFrom::NewestObject => "",
    };
    page.paragraph(&Inline::join(
        [
            place,
            Inline::own("namespace ").then(Inline::code(&head.namespace)),
            Inline::words(&velero(head)),
            Inline::words(&limits(&head.limits)),
            Inline::words(&as_of(head)).and(clock),
        ],
        ", ",
    ));
}

/// Writes what could not be read, and what the answer lacks because of it.
fn gaps(page: &mut Page, head: &Head) {
    if head.gaps.is_empty() {
        return;
    }
    page.heading(&Inline::own("Gaps: what could not be read or known"));
    page.list(head.gaps.iter().map(|gap| {
        let mut line = Inline::code(&gap.resource)
            .and(" (")
            .and(reason_words(gap.reason))
            .and(")");
        for (separator, text) in [(": ", &gap.message), ("; ", &gap.effect)] {
            if !text.is_empty() {
                line = line.and(separator).then(Inline::words(text));
            }
        }
        line
    }));
}

/// Writes a command that the reader may type next.
fn next(page: &mut Page, command: Option<String>) {
    if let Some(command) = command {
        page.paragraph(&Inline::own("Next:"));
        page.command(&command);
    }
}

/// Writes a finding: its heading, its sentence, its times, what it names, its evidence and its actions.
fn finding(page: &mut Page, row: &FindingRow, now: Timestamp) {
    let finding = &row.finding;
    let mut title = Inline::own(finding.severity.as_str())
        .and(": ")
        .and(finding.id.as_str());
    if let Some(cause) = finding.cause {
        title = title.and(" (").and(cause).and(")");
    }
    if let Some(node) = &finding.node {
        title = title.and(" on ").then(Inline::code(node));
    }
    page.heading(&title);
    page.paragraph(&Inline::words(&finding.summary));
    let mut items: Vec<Item> = vec![
        Inline::own("confidence: ")
            .and(finding.confidence.as_str())
            .into(),
    ];
    if let Some(since) = finding.since {
        items.push(Inline::own("since: ").then(past(since, now)).into());
    }
    if let Some(deadline) = &finding.deadline {
        items.push(Inline::own("deadline: ").then(until(deadline, now)).into());
    }
    let named = [
        ("tasks", objects(finding.tasks.iter().map(task))),
        ("blocked by", objects(finding.blocked_by.iter().map(object))),
        ("affects", objects(finding.affects.iter().map(task))),
    ];
    for (name, line) in named {
        if let Some(line) = line {
            items.push(Inline::own(name).then(line).into());
        }
    }
    if !finding.evidence.is_empty() {
        let hidden = finding.evidence.len().saturating_sub(LISTED);
        let mut below: Vec<Inline> = finding
            .evidence
            .iter()
            .take(LISTED)
            .map(|evidence| {
                Inline::own(evidence.kind.as_str())
                    .and(" ")
                    .then(Inline::code(&evidence.source))
                    .and(": ")
                    .then(Inline::code(&evidence.value))
            })
            .collect();
        if hidden > 0 {
            below.push(Inline::words(&format!("and {hidden} more")));
        }
        items.push(Item::with(Inline::own("evidence:"), below));
    }
    items.push(
        Inline::own("runbook: ")
            .then(Inline::code(&format!(
                "kubectl velero-slots explain {}",
                finding.id.as_str()
            )))
            .into(),
    );
    if !finding.references.is_empty() {
        // In code, so that a pasted answer leaves no trace in an issue of Velero's.
        let references = finding.references.iter().map(|text| Inline::code(text));
        items.push(Inline::own("see: ").then(listed(references)).into());
    }
    page.list(items);
    for action in &finding.actions {
        let mut line = Inline::own("Next");
        for (name, text) in [(": ", &action.effect), (". Risk: ", &action.risk)] {
            if !text.is_empty() {
                line = line.and(name).then(Inline::words(text));
            }
        }
        page.paragraph(&line);
        page.command(&action.command);
    }
}

/// Writes a number of things and the first of them; `None` without any.
fn objects(all: impl ExactSizeIterator<Item = Inline>) -> Option<Inline> {
    let number = all.len();
    (number > 0).then(|| {
        Inline::own(" (")
            .then(Inline::words(&number.to_string()))
            .and("): ")
            .then(listed(all))
    })
}

/// Writes the first of some things, and counts the rest.
fn listed(all: impl ExactSizeIterator<Item = Inline>) -> Inline {
    let hidden = all.len().saturating_sub(LISTED);
    let line = Inline::join(all.take(LISTED), ", ");
    if hidden > 0 {
        line.then(Inline::words(&format!(" and {hidden} more")))
    } else {
        line
    }
}

/// Writes a task as it can be typed after `explain`.
fn task(task: &TaskRef) -> Inline {
    Inline::code(&format!("{}/{}", task.kind.short_name(), task.name))
}

fn object(object: &ObjectRef) -> Inline {
    Inline::code(&object.to_string())
}

/// Writes a name, or that there is none.
fn name_or_none(name: Option<&str>) -> Inline {
    name.map_or_else(|| Inline::own("none"), Inline::code)
}

/// Writes a number, or that it is not known.
fn number_or_unknown(number: Option<i64>) -> Inline {
    number.map_or_else(
        || Inline::own("unknown"),
        |number| Inline::words(&number.to_string()),
    )
}

/// Writes an instant of the past, with how long ago it was.
fn past(at: Timestamp, now: Timestamp) -> Inline {
    Inline::words(&format!(
        "{} ({})",
        time(at),
        age(now.duration_since(at).as_secs())
    ))
}

/// Writes an instant that may be to come.
fn instant(at: Timestamp, now: Timestamp) -> Inline {
    Inline::words(&format!("{} ({})", time(at), super::eta::from_now(at, now)))
}

fn until(deadline: &Deadline, now: Timestamp) -> Inline {
    let line = instant(deadline.at, now)
        .and(", ")
        .and(deadline.what.as_str());
    if deadline.approximate {
        line.and(", approximate")
    } else {
        line
    }
}

fn until_or_none(deadline: Option<&Deadline>, now: Timestamp) -> Inline {
    deadline.map_or_else(|| Inline::own("none"), |deadline| instant(deadline.at, now))
}

/// Writes how many are not shown, where some are not.
fn left_out(number: usize, one: &str, many: &str) -> Option<Inline> {
    (number > 0).then(|| {
        Inline::words(&format!(
            "{} left out by filters.",
            count(number, one, many)
        ))
    })
}
