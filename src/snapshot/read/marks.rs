//! The annotations that this tool's own actions leave.

use jiff::Timestamp;

use super::super::{Mark, MarkKind};
use super::wire::{Loose, Meta};

/// Reads the marks of an object, oldest first. They are this tool's own: one that cannot be read costs
/// nothing but the note that something was tried, and is no gap of the answer.
pub(super) fn marks(meta: &Meta<'_>) -> Vec<Mark> {
    let annotations = &meta.annotations;
    let reason = text(&annotations.reason)
        .filter(|reason| !reason.is_empty())
        .map(str::to_owned);
    let mut marks: Vec<Mark> = [
        (&annotations.nudged_at, MarkKind::Nudge),
        (&annotations.restarted_at, MarkKind::Restart),
    ]
    .into_iter()
    .filter_map(|(at, kind)| {
        Some(Mark {
            at: text(at)?.parse::<Timestamp>().ok()?,
            kind,
            reason: reason.clone(),
        })
    })
    .collect();
    marks.sort();
    marks
}

fn text<'a>(loose: &'a Loose<'_>) -> Option<&'a str> {
    match loose {
        Loose::Text(text) => Some(text),
        Loose::Absent | Loose::Odd(_) => None,
    }
}
