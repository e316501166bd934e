//! The fuzz corpus and seeded mutations of it, on stable and always the same.

use std::fs;
use std::path::Path;

use super::from_bytes;
use crate::capture::format;
use crate::collect::files::Limits;

/// Mutations of each seed. Enough to reach each parser's error paths, few enough for a second or two.
const MUTATIONS: usize = 300;

/// Marsaglia's xorshift64: small, and the same everywhere.
struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap()
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/capture");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 9, "{paths:?}");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Changes a few places: what parsers stumble over, a piece of another seed, or a cut.
fn mutate(seed: &[u8], other: &[u8], random: &mut XorShift) -> Vec<u8> {
    const PIECES: [&[u8]; 16] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b":",
        b",",
        b"\n---\n",
        b"\n- ",
        b"&a ",
        b"*a",
        b"\\u",
        b"\xff",
        b"\0",
        b"\n  ",
        b"items:\n",
    ];
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            2 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            3 => {
                let end = bytes.len().min(at + random.below(20));
                bytes.drain(at..end);
            }
            4 => {
                let from = random.below(other.len());
                let to = other.len().min(from + random.below(60));
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                let end = bytes.len().min(at + random.below(60));
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes
}

/// As in the fuzz target: what can be read can be written and read again. Returns whether it was read.
fn run(bytes: &[u8]) -> bool {
    let limits = Limits {
        file_bytes: 1 << 20,
        total_bytes: 4 << 20,
        entries: 100,
        ..Limits::default()
    };
    let Ok(capture) = from_bytes(bytes, &limits) else {
        return false;
    };
    for item in capture
        .listings
        .iter()
        .flat_map(|listing| listing.outcome.items())
    {
        assert!(!is_secret(capture.json(item)), "{}", capture.json(item));
    }
    let mut written = Vec::new();
    format::write(&capture, &mut written).unwrap();
    format::read(String::from_utf8(written).unwrap(), "again").unwrap();
    true
}

fn is_secret(json: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind {
        kind: Option<String>,
    }
    serde_json::from_str::<Kind>(json).is_ok_and(|object| object.kind.as_deref() == Some("Secret"))
}

#[test]
fn every_seed_is_read() {
    for seed in seeds() {
        assert!(run(&seed), "{}", String::from_utf8_lossy(&seed));
    }
}

#[test]
fn seeded_mutations_are_read_or_refused() {
    let seeds = seeds();
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    let mut read = 0;
    for seed in &seeds {
        for _ in 0..MUTATIONS {
            let other = &seeds[random.below(seeds.len())];
            read += usize::from(run(&mutate(seed, other, &mut random)));
        }
    }
    // Both ends are reached: some are still captures, some are nothing.
    let all = seeds.len() * MUTATIONS;
    assert!(read > all / 20 && read < all, "{read} of {all}");
}
