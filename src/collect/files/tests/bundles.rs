//! Bundles: the fuzz corpus and seeded mutations of it, on stable and always the same.

use std::fs;
use std::path::Path;

use super::from_bytes;
use crate::capture::Capture;
use crate::collect::files::Limits;
use crate::testing::mutate::mutations;

/// What stands between the files of a seed; the first line of each is its path.
const BETWEEN: char = '\u{1e}';

/// Makes an archive of the files of a seed, with paths that no tar program would write.
fn archive(seed: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for file in seed.split(BETWEEN) {
        let (path, body) = file.split_once('\n').unwrap_or((file, ""));
        let mut header = tar::Header::new_gnu();
        header.set_size(body.len() as u64);
        header.set_mode(0o644);
        let name = header.as_old_mut().name.as_mut();
        if path.len() <= name.len() {
            name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            builder.append(&header, body.as_bytes()).unwrap();
        } else {
            let extension = [("path", path.as_bytes())];
            builder.append_pax_extensions(extension).unwrap();
            header.set_cksum();
            builder.append(&header, body.as_bytes()).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

/// As in the fuzz target: what is told is safe to print, and what is kept is bounded.
fn run(seed: &str) -> Option<Capture> {
    let limits = Limits {
        file_bytes: 1 << 20,
        log_bytes: 64 << 10,
        all_log_bytes: 256 << 10,
        total_bytes: 4 << 20,
        entries: 100,
        ..Limits::default()
    };
    let capture = from_bytes(&archive(seed), &limits).ok()?;
    let kept: usize = capture.logs.iter().map(|log| log.body.len()).sum();
    assert!(kept < 1 << 20, "{kept}");
    for problem in &capture.problems {
        let is_safe = |c: char| !c.is_control() && c != '\u{202e}';
        assert!(problem.message.chars().all(is_safe), "{}", problem.message);
    }
    Some(capture)
}

fn seeds() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/bundles");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn every_bundle_of_the_corpus_is_read_and_told() {
    let seeds = seeds();
    assert!(seeds.len() >= 6, "{}", seeds.len());
    let mut forms = std::collections::BTreeSet::new();
    for seed in seeds {
        let capture = run(&seed).unwrap();
        assert!(!capture.listings.is_empty() && !capture.logs.is_empty());
        forms.extend(capture.manifest.bundles);
    }
    assert_eq!(forms.len(), 4);
}

#[test]
fn seeded_mutations_of_bundles_are_read_or_refused() {
    let seeds = seeds();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let pieces = [
        "\u{1e}",
        "\n",
        "../",
        "/",
        "\\",
        "==== START logs for container c of pod n/p ====\n",
        "==== END logs for container ",
        "[pod/a/b] ",
        "{",
        "]",
        "\u{0}",
        "\u{1b}[2J",
        "namespaces/",
        ".log",
        "items:\n- ",
    ];
    let all = mutations(&seeds, &pieces, 60);
    let read = all.iter().filter(|seed| run(seed).is_some()).count();
    assert!(read > all.len() / 2, "{read} of {}", all.len());
}
