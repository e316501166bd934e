//! Whatever a log holds: each line is read or refused, and the log as a whole proves something or nothing.
//!
//! `cargo +nightly fuzz run log_line` in this repository. The corpus and seeded mutations of it also run on
//! stable, as tests of `snapshot::log_evidence`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use velero_slots::capture::{Cut, LogFile, Previous};
use velero_slots::snapshot::log_evidence;

fuzz_target!(|bytes: &[u8]| {
    let log = LogFile {
        namespace: "velero".to_owned(),
        pod: "node-agent-x".to_owned(),
        container: "node-agent".to_owned(),
        previous: Previous::No,
        cut: Cut::Whole,
        body: String::from_utf8_lossy(bytes).into_owned(),
    };
    let started = "2026-01-02T03:00:00Z".parse().ok();
    for start in [None, started] {
        if let Some(found) = log_evidence::read(&log, start) {
            assert!(found.lines + found.skipped <= log.body.lines().count());
        }
    }
});
