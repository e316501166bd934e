//! The views, from hand-built reports.

mod formats;
pub(super) mod samples;
mod screens;

use super::{Format, Terminal, diagnosis, replay, status};
use crate::report::{DiagnosisReport, ReplayReport, StatusReport};

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn shown_status(report: &StatusReport, format: Format, terminal: &Terminal) -> String {
    text(|out| status(out, report, format, terminal))
}

fn shown_diagnosis(report: &DiagnosisReport, format: Format, terminal: &Terminal) -> String {
    text(|out| diagnosis(out, report, format, terminal))
}

fn shown_replay(report: &ReplayReport, format: Format, terminal: &Terminal) -> String {
    text(|out| replay(out, report, format, terminal))
}
