//! "Now": never the clock of the machine that reads.

use jiff::Timestamp;

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

/// Returns "now" as given, else the newest time that has passed in the input.
pub(super) fn now(given: Option<(Timestamp, NowFrom)>, notes: &mut Notes) -> (Timestamp, NowFrom) {
    if let Some(given) = given {
        return given;
    }
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
