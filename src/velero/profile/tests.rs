use std::fmt;

use super::*;

mod node;
mod releases;
mod task;

fn profile(version: &str) -> Profile {
    Profile::of(&VeleroVersion::parse(version).unwrap())
        .unwrap()
        .0
}

/// The newest patch of each line, and main.
const LINES: [&str; 8] = [
    "v1.12.4", "v1.13.2", "v1.14.1", "v1.15.2", "v1.16.2", "v1.17.2", "v1.18.2", "main",
];

/// Checks one fact for each of [`LINES`].
fn by_line<T: PartialEq + fmt::Debug>(fact: impl Fn(&Profile) -> T, want: [T; 8]) {
    for (version, want) in LINES.into_iter().zip(want) {
        assert_eq!(fact(&profile(version)), want, "{version}");
    }
}
