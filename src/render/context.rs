//! The lines that every human view begins and ends with: which cluster, what could not be read.

use std::collections::BTreeMap;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::screen::{Line, Style, cut, rows, within, wrap};
use super::words::{UNKNOWN, count, time};
use super::{Lines, Terminal};
use crate::report::{GapReason, Head, NowFrom, SlotLimits, SourceType};

/// Rows that a part of the context may take.
const PART_ROWS: usize = 2;
/// Rows that the short list of gaps may take.
const GAP_ROWS: usize = 3;
/// Rows that must be left beside a command on a first screen.
const ROWS_BESIDE_NEXT: usize = 6;

/// Writes which cluster, namespace, Velero, limit and time the answer is about.
pub(super) fn context(head: &Head, terminal: &Terminal) -> Vec<Line> {
    let parts = [
        place(head, terminal),
        head.namespace.clone(),
        velero(head),
        limits(&head.limits),
        as_of(head),
    ];
    let dot = terminal.marks.dot();
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let part = terminal.marks.printable(&part);
        let part = cut(&part, terminal.width * PART_ROWS, terminal.marks);
        let longer = lines
            .last()
            .map(|line| format!("{line}{dot}{part}"))
            .filter(|longer| terminal.marks.printable(longer).width() <= terminal.width);
        match (longer, lines.last_mut()) {
            (Some(longer), Some(line)) => *line = longer,
            (Some(_) | None, _) => lines.push(part),
        }
    }
    lines
        .iter()
        .flat_map(|line| wrap(&Line::default(), line, Style::Strong, terminal))
        .collect()
}

/// Writes the context of an action: which cluster by name and by address, and which namespace, on the first
/// line.
pub(super) fn acting_context(head: &Head, terminal: &Terminal) -> Vec<Line> {
    let dot = terminal.marks.dot();
    let mut place = vec![place(head, terminal)];
    if head.source == SourceType::Cluster && head.pins.context.is_some() {
        place.extend(head.server.clone());
    }
    place.push(head.namespace.clone());
    let about = [velero(head), limits(&head.limits), as_of(head)];
    [place.join(dot), about.join(dot)]
        .iter()
        .flat_map(|text| wrap(&Line::default(), text, Style::Strong, terminal))
        .collect()
}

fn place(head: &Head, terminal: &Terminal) -> String {
    match head.source {
        SourceType::Cluster => head
            .pins
            .context
            .clone()
            .or_else(|| head.server.clone())
            .unwrap_or_else(|| "cluster".to_owned()),
        SourceType::Files => match head.paths.as_slice() {
            [] => "files".to_owned(),
            [path] => cut_front(path, terminal.width / 2, terminal),
            paths => count(paths.len(), "file", "files"),
        },
    }
}

/// Cuts a path at its front: its end tells more.
fn cut_front(path: &str, width: usize, terminal: &Terminal) -> String {
    let path = terminal.marks.printable(path);
    if path.width() <= width {
        return path;
    }
    let more = terminal.marks.more();
    let room = width.saturating_sub(more.width());
    let mut kept = Vec::new();
    let mut taken = 0;
    for c in path.chars().rev() {
        taken += c.width().unwrap_or(0);
        if taken > room || kept.len() >= width {
            break;
        }
        kept.push(c);
    }
    let end: String = kept.into_iter().rev().collect();
    format!("{more}{end}")
}

/// Writes the versions of Velero.
pub(super) fn velero(head: &Head) -> String {
    match head.velero_versions.as_slice() {
        [] => format!("Velero {UNKNOWN}"),
        [first, .., last] if head.velero_versions.len() > 3 => {
            format!(
                "Velero {first} to {last} ({} versions)",
                head.velero_versions.len()
            )
        }
        versions => format!("Velero {}", versions.join(", ")),
    }
}

/// Writes the limits in force.
pub(super) fn limits(limits: &SlotLimits) -> String {
    let known = match (limits.known.first(), limits.known.last()) {
        (Some(low), Some(high)) if low == high => format!("limit {low}/node"),
        (Some(low), Some(high)) => format!("limit {low} to {high}/node"),
        (None, _) | (_, None) => return format!("limit {UNKNOWN}"),
    };
    let kinds = if limits.per_kind { "/kind" } else { "" };
    if limits.unknown == 0 {
        format!("{known}{kinds}")
    } else {
        format!("{known}{kinds}, {} unknown", limits.unknown)
    }
}

/// Writes the time that counts as now, and where it comes from.
pub(super) fn as_of(head: &Head) -> String {
    let from = match head.now_from {
        NowFrom::Server => "",
        NowFrom::Flag => " (--now)",
        NowFrom::Capture => " (capture)",
        NowFrom::NewestObject => " (newest object)",
    };
    format!("as of {}{from}", time(head.taken_at))
}

/// Writes in at most two lines what could not be read, by reason.
pub(super) fn gaps_in_short(head: &Head, terminal: &Terminal) -> Vec<Line> {
    let mut by_reason: BTreeMap<GapReason, Vec<&str>> = BTreeMap::new();
    for gap in &head.gaps {
        let resources = by_reason.entry(gap.reason).or_default();
        if !resources.contains(&gap.resource.as_str()) {
            resources.push(&gap.resource);
        }
    }
    if by_reason.is_empty() {
        return Vec::new();
    }
    let groups: Vec<String> = by_reason
        .iter()
        .map(|(reason, resources)| format!("{}: {}", words(*reason), resources.join(", ")))
        .collect();
    let room = (terminal.width * 2).saturating_sub(40);
    let text = cut(&groups.join("; "), room, terminal.marks);
    let lines = wrap(
        &Line::new("gaps: ", Style::Unknown),
        &format!("{text} (see -o wide)"),
        Style::Plain,
        terminal,
    );
    within(lines, GAP_ROWS, terminal)
}

/// Writes everything that could not be read, and what the answer lacks because of it.
pub(super) fn gaps_in_full(head: &Head, terminal: &Terminal) -> Vec<Line> {
    let mut lines = Vec::new();
    if !head.gaps.is_empty() {
        lines.push(Line::default());
        lines.push(Line::new("Gaps:", Style::Strong));
    }
    for gap in &head.gaps {
        lines.push(
            Line::new(
                &format!("{} {} ", terminal.marks.unknown(), gap.resource),
                Style::Unknown,
            )
            .then(&format!("({})", gap.reason.as_str()), Style::Plain),
        );
        let indent = Line::new("  ", Style::Plain);
        for text in [&gap.message, &gap.effect] {
            if !text.is_empty() {
                lines.extend(wrap(&indent, text, Style::Plain, terminal));
            }
        }
    }
    lines
}

/// Names what the filters ask for and what occurs nowhere, for a headline.
pub(super) fn unmatched(head: &Head, terminal: &Terminal) -> Option<String> {
    let all: Vec<&str> = head.unmatched_filters().collect();
    (!all.is_empty()).then(|| cut(&all.join("; "), terminal.width, terminal.marks))
}

/// Names the task kinds that could not be read, for a headline.
pub(super) fn hidden_tasks(head: &Head) -> Option<String> {
    let hidden: Vec<String> = if head.no_task_kind_was_read() {
        head.unread_tasks
            .iter()
            .map(|unread| format!("{} ({})", unread.kind.plural(), words(unread.reason)))
            .collect()
    } else {
        head.hidden_tasks()
            .map(|unread| format!("{} ({})", unread.kind.plural(), words(unread.reason)))
            .collect()
    };
    if hidden.is_empty() {
        None
    } else {
        Some(format!("not read: {}", hidden.join(", ")))
    }
}

/// Writes why something could not be read.
pub(super) const fn words(reason: GapReason) -> &'static str {
    match reason {
        GapReason::Forbidden => "forbidden",
        GapReason::NotFound => "not found",
        GapReason::Malformed => "malformed",
        GapReason::NotInInput => "not in the input",
        GapReason::Partial => "only in part",
        GapReason::Timeout => "timed out",
        GapReason::Unsupported => "not supported",
    }
}

/// Writes the next command. It is not wrapped: it will be pasted.
pub(super) fn next(command: &str, terminal: &Terminal) -> Vec<Line> {
    labelled("next: ", command, terminal)
}

/// Writes a command behind a label, or, where a terminal has no room for both, on a line of its own, which can
/// be taken whole.
pub(super) fn labelled(label: &str, command: &str, terminal: &Terminal) -> Vec<Line> {
    let line = Line::new(label, Style::Dim).then(command, Style::Strong);
    match terminal.lines {
        Lines::Folded if line.shown_width(terminal) > terminal.width => {
            let label = label.trim_end();
            let before = (!label.is_empty()).then(|| Line::new(label, Style::Dim));
            let command = Line::new(command, Style::Strong);
            before.into_iter().chain([command]).collect()
        }
        Lines::Folded | Lines::Whole => vec![line],
    }
}

/// Writes the next command where the screen has room for it. A command is shown whole or not at all.
pub(super) fn next_within(command: &str, room: usize, terminal: &Terminal) -> Vec<Line> {
    let lines = next(command, terminal);
    if rows(&lines, terminal) + ROWS_BESIDE_NEXT <= room {
        lines
    } else {
        wrap(
            &Line::new("next: ", Style::Dim),
            "a command too long for this screen: see -o wide",
            Style::Plain,
            terminal,
        )
    }
}
