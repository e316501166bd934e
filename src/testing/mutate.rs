//! Seeded mutations of a text, always the same: what a fuzzer does, on stable and in a second.

/// Marsaglia's xorshift64: small, and the same everywhere.
struct XorShift(u64);

impl XorShift {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (limit.max(1) as u64)).unwrap()
    }
}

/// Returns mutations of each seed: cut, with bits turned, with pieces put in, taken out or repeated. Bytes that
/// are not UTF-8 are replaced, as whoever reads a log does.
pub(crate) fn mutations(seeds: &[&str], pieces: &[&str], of_each: usize) -> Vec<String> {
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    let mut all = Vec::new();
    for seed in seeds {
        for _ in 0..of_each {
            let mut bytes = seed.as_bytes().to_vec();
            for _ in 0..=random.below(5) {
                let at = random.below(bytes.len());
                let end = bytes.len().min(at + random.below(80));
                match random.below(6) {
                    0 => bytes.truncate(at),
                    1 => {
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte ^= 1 << random.below(8);
                        }
                    }
                    2 => {
                        let piece = pieces[random.below(pieces.len())];
                        bytes.splice(at..at, piece.bytes());
                    }
                    3 => {
                        bytes.drain(at..end);
                    }
                    4 => {
                        let other = seeds[random.below(seeds.len())].as_bytes();
                        let from = random.below(other.len());
                        let to = other.len().min(from + random.below(300));
                        bytes.splice(at..at, other[from..to].iter().copied());
                    }
                    _ => {
                        let copy = bytes[at..end].to_vec();
                        bytes.splice(at..at, copy);
                    }
                }
            }
            all.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    all
}
