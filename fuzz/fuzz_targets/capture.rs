//! Whatever bytes are given as `--from -`: captures, YAML, JSON, archives, compressed or not. Reading them
//! must end in a capture or an error.
//!
//! `cargo +nightly fuzz run capture` in this repository. The corpus and seeded mutations of it also run on
//! stable, as tests of `collect::files`.

#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use velero_slots::capture::format;
use velero_slots::collect::files::{Limits, read};

fuzz_target!(|bytes: &[u8]| {
    let mut limits = Limits::default();
    limits.file_bytes = 1 << 20;
    limits.total_bytes = 4 << 20;
    limits.entries = 100;
    let mut input = bytes;
    let Ok(capture) = read(&[PathBuf::from("-")], &mut input, &limits) else {
        return;
    };
    // What was read can be written, and is a capture again.
    let mut written = Vec::new();
    format::write(&capture, &mut written).expect("writing to memory");
    let written = String::from_utf8(written).expect("JSON is UTF-8");
    format::read(written, "again").expect("what was written can be read");
});
