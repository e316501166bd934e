//! Bundles of other programs: files of any path and content, as an archive, and the first of them as a
//! stream of `kubectl cluster-info dump`. Reading them must end in a capture or an error, and the capture in
//! a snapshot; what is told of them must be safe to print.
//!
//! `cargo +nightly fuzz run bundles` in this repository. The corpus and seeded mutations of it also run on
//! stable, as tests of `collect::files`. Files of a seed are parted by U+001E; the first line is the path.

#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use velero_slots::collect::files::{Limits, read};
use velero_slots::snapshot::{self, ReadOptions};

fn archive(files: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for file in files {
        let end = file.iter().position(|byte| *byte == b'\n');
        let (path, body) = file.split_at(end.unwrap_or(file.len()));
        let body = body.strip_prefix(b"\n").unwrap_or(body);
        // A header of tar as it was before names could be long, with the mark of ustar.
        let mut header = [0_u8; 512];
        let length = path.len().min(100);
        header[..length].copy_from_slice(&path[..length]);
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", body.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(body);
        out.resize(out.len().div_ceil(512) * 512, 0);
    }
    out
}

fuzz_target!(|bytes: &[u8]| {
    let mut limits = Limits::default();
    limits.file_bytes = 1 << 20;
    limits.log_bytes = 64 << 10;
    limits.all_log_bytes = 256 << 10;
    limits.total_bytes = 4 << 20;
    limits.entries = 100;
    let files: Vec<&[u8]> = bytes.split(|byte| *byte == 0x1e).collect();
    let packed = archive(&files);
    let stream = files
        .first()
        .and_then(|file| file.splitn(2, |byte| *byte == b'\n').nth(1))
        .unwrap_or_default();
    for input in [packed.as_slice(), stream] {
        let mut input = input;
        let Ok(capture) = read(&[PathBuf::from("-")], &mut input, &limits) else {
            continue;
        };
        for problem in &capture.problems {
            assert!(!problem.message.contains(char::is_control), "{problem:?}");
        }
        let options = ReadOptions {
            namespace: "velero".to_owned(),
            now: None,
        };
        let seen = snapshot::read(&capture, &options);
        assert!(seen.gaps.len() < 10_000);
    }
});
