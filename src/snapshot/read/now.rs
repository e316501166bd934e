//! "Now": never the clock of the machine that reads.

use jiff::{SignedDuration, Timestamp};

use super::super::{Gap, GapReason, NowFrom, SourceType};
use super::ReadOptions;
use super::notes::Notes;
use crate::capture::Capture;

/// "Now", where it is given: a server's clock, `--now`, or the time of a capture file.
pub(super) fn given_now(capture: &Capture, options: &ReadOptions) -> Option<(Timestamp, NowFrom)> {
    let manifest = &capture.manifest;
    let flag = match manifest.source {
        SourceType::Files => options.now.map(|now| (now, NowFrom::Flag)),
        SourceType::Cluster => None,
    };
    flag.or_else(|| manifest.taken_at.map(|now| (now, manifest.now_from)))
}

/// How far a last line may be ahead of all else and still be believed.
const FAR_AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// How a log ends.
#[derive(Debug)]
pub(super) struct LogEnd {
    /// The time of its last line that has one.
    pub(super) last: Timestamp,
    /// The time of the one before.
    pub(super) before: Option<Timestamp>,
    /// The pod, as gaps name it.
    pub(super) whose: String,
}

/// Counts the ends of the logs for "now". One line that is a day ahead of the line before it and of every object
/// is no sign of what time it is.
fn count_log_ends(notes: &mut Notes) {
    let objects = notes.newest();
    for end in notes.take_log_ends() {
        let is_far_from = |time: Timestamp| end.last.duration_since(time) > FAR_AHEAD;
        let is_alone = objects.is_some_and(is_far_from) && end.before.is_none_or(is_far_from);
        if is_alone {
            notes.gap(Gap {
                resource: "log".to_owned(),
                reason: GapReason::Malformed,
                message: format!(
                    "the last line of the log of {} is of {}, more than a day after the line before it and all objects",
                    end.whose, end.last
                ),
                effect: "it does not count for now".to_owned(),
            });
        } else {
            notes.passed(Some(end.last));
        }
    }
}

/// Returns "now" as given, else the newest time that has passed in the input.
pub(super) fn now(given: Option<(Timestamp, NowFrom)>, notes: &mut Notes) -> (Timestamp, NowFrom) {
    if let Some(given) = given {
        return given;
    }
    count_log_ends(notes);
    let newest = notes.newest().unwrap_or_else(|| {
        notes.gap(Gap {
            resource: "input".to_owned(),
            reason: GapReason::NotInInput,
            message: "no object has a time, and --now is not given".to_owned(),
            effect: "how long anything lasts is not known; 1970-01-01 stands for now".to_owned(),
        });
        Timestamp::UNIX_EPOCH
    });
    (newest, NowFrom::NewestObject)
}
