//! The rules of a node: its slots and its configuration.

use super::super::releases::RELEASES;
use super::*;

#[test]
fn the_slot_limit_follows_the_release() {
    let per_kind = |p: &Profile| p.has_slots_per_kind();
    by_line(
        per_kind,
        [true, false, false, false, false, false, false, false],
    );
    // With `==` a node above its limit admits everything; with `>=` it admits nothing.
    let above = |p: &Profile| p.limited_when.refuses(3, 2);
    by_line(above, [false, false, false, true, true, true, true, true]);
    for version in LINES {
        let limited = profile(version).limited_when;
        assert!(limited.refuses(2, 2) && !limited.refuses(1, 2), "{version}");
    }
    by_line(|p| p.requeue_seconds, [60, 5, 5, 5, 5, 5, 5, 5]);
    assert_eq!(profile("v1.13.0").requeue_seconds, 60);
}

#[test]
fn the_source_of_the_configuration_follows_the_release() {
    use ConfigMapRead::{FlagMissing, Named, NoSuchFeature};
    let fixed = Named("node-agent-config");
    by_line(
        |p| p.config_map(Some("mine")),
        [
            NoSuchFeature,
            fixed,
            fixed,
            Named("mine"),
            Named("mine"),
            Named("mine"),
            Named("mine"),
            Named("mine"),
        ],
    );
    for flag in [None, Some("")] {
        assert_eq!(profile("v1.14.1").config_map(flag), fixed);
        assert_eq!(profile("v1.15.0").config_map(flag), FlagMissing);
        assert_eq!(profile("main").config_map(flag), FlagMissing);
    }
}

#[test]
fn what_a_bad_configuration_does_follows_the_release() {
    use BadConfig::{Exits, NotRead, UsesDefault};
    let bad = [
        NotRead,
        UsesDefault,
        UsesDefault,
        UsesDefault,
        UsesDefault,
        Exits,
        Exits,
        Exits,
    ];
    by_line(|p| p.config_missing, bad);
    by_line(|p| p.config_broken, bad);
    let not_read = [NotRead; 6];
    for (version, want) in LINES
        .into_iter()
        .zip(not_read.into_iter().chain([Exits, Exits]))
    {
        assert_eq!(
            profile(version).repository_config_missing,
            want,
            "{version}"
        );
    }
    let random = SeveralKeys::PicksOneAtRandom;
    by_line(
        |p| p.config_several_keys,
        [
            SeveralKeys::NotRead,
            random,
            random,
            random,
            random,
            random,
            SeveralKeys::Exits,
            SeveralKeys::Exits,
        ],
    );
    by_line(|p| p.config_keys.len(), [0, 1, 2, 4, 5, 7, 10, 11]);
}

#[test]
fn keys_of_the_configuration_are_never_dropped() {
    for pair in RELEASES.windows(2) {
        assert!(
            pair[1].config_keys.starts_with(pair[0].config_keys),
            "{}",
            pair[1].since
        );
    }
}
