//! Whatever comes as a page of metrics, whole or cut: it is read or says nothing.
//!
//! `cargo +nightly fuzz run metrics` in this repository. The corpus and seeded mutations of it also run on
//! stable, as tests of `snapshot::metrics`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use velero_slots::capture::MetricsPage;
use velero_slots::snapshot::metrics;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (first, second) = text.split_once("\n---\n").unwrap_or((&text, &text));
    let page = |second: i64, body: &str| MetricsPage {
        namespace: "velero".to_owned(),
        pod: "node-agent-x".to_owned(),
        port: 8080,
        taken_at: jiff::Timestamp::from_second(1_767_323_045 + second).expect("a time"),
        body: body.to_owned(),
    };
    let pages = [page(0, first), page(12, second)];
    if let Some(found) = metrics::read(&pages.iter().collect::<Vec<_>>()) {
        assert!(found.workers.len() <= 4);
    }
});
