//! Which releases there are, and that the page about them tells the same.

use std::collections::BTreeSet;

use super::super::releases::{RELEASES, since};
use super::*;

/// The fields of a profile but `since`, as text. Names every field, so that a new one is told of here.
fn fields(profile: &Profile) -> Vec<(&'static str, String)> {
    let Profile {
        since: _,
        limit_scope,
        limited_when,
        requeue_seconds,
        config_source,
        config_missing,
        config_broken,
        config_several_keys,
        repository_config_missing,
        config_keys,
        prepare_queue,
        accepted_by,
        prepare_timeout_base,
        owner,
        data_movement,
        pod_volume,
        restic_restore,
        data_movers,
        peek_exposed,
        unschedulable,
        missing_pod_when_prepared,
        cancel,
        periodic,
        restart,
        start_timestamp,
        agent_label,
        bad_restore_target,
        fs_backup_timeout,
    } = profile;
    vec![
        ("limit_scope", format!("{limit_scope:?}")),
        ("limited_when", format!("{limited_when:?}")),
        ("requeue_seconds", format!("{requeue_seconds:?}")),
        ("config_source", format!("{config_source:?}")),
        ("config_missing", format!("{config_missing:?}")),
        ("config_broken", format!("{config_broken:?}")),
        ("config_several_keys", format!("{config_several_keys:?}")),
        (
            "repository_config_missing",
            format!("{repository_config_missing:?}"),
        ),
        ("config_keys", format!("{config_keys:?}")),
        ("prepare_queue", format!("{prepare_queue:?}")),
        ("accepted_by", format!("{accepted_by:?}")),
        ("prepare_timeout_base", format!("{prepare_timeout_base:?}")),
        ("owner", format!("{owner:?}")),
        ("data_movement", format!("{data_movement:?}")),
        ("pod_volume", format!("{pod_volume:?}")),
        ("restic_restore", format!("{restic_restore:?}")),
        ("data_movers", format!("{data_movers:?}")),
        ("peek_exposed", format!("{peek_exposed:?}")),
        ("unschedulable", format!("{unschedulable:?}")),
        (
            "missing_pod_when_prepared",
            format!("{missing_pod_when_prepared:?}"),
        ),
        ("cancel", format!("{cancel:?}")),
        ("periodic", format!("{periodic:?}")),
        ("restart", format!("{restart:?}")),
        ("start_timestamp", format!("{start_timestamp:?}")),
        ("agent_label", format!("{agent_label:?}")),
        ("bad_restore_target", format!("{bad_restore_target:?}")),
        ("fs_backup_timeout", format!("{fs_backup_timeout:?}")),
    ]
}

/// The rows of docs/velero-versions.md, as release and field.
fn documented() -> BTreeSet<(String, String)> {
    include_str!("../../../../docs/velero-versions.md")
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let since = cells.next()?.trim_matches('`');
            let field = cells.next()?.trim_matches('`');
            Some((since.to_owned(), field.to_owned()))
        })
        .collect()
}

#[test]
fn the_page_has_one_row_for_each_field_that_a_release_changed_and_no_other() {
    let mut want = BTreeSet::new();
    let mut last: Option<&Profile> = None;
    for release in &RELEASES {
        let before = last.map(fields);
        for (index, (field, value)) in fields(release).into_iter().enumerate() {
            let is_same = before
                .as_ref()
                .is_some_and(|before| before[index].1 == value);
            if !is_same {
                want.insert((release.since.to_owned(), field.to_owned()));
            }
        }
        last = Some(release);
    }
    assert_eq!(documented(), want);
}

#[test]
fn the_page_names_every_release_that_has_a_profile_and_no_other() {
    let pages: BTreeSet<_> = documented().into_iter().map(|(since, _)| since).collect();
    let releases = RELEASES.iter().map(|release| release.since.to_owned());
    assert_eq!(pages, releases.collect());
}

#[test]
fn releases_are_in_order_and_each_changes_a_rule() {
    assert!(RELEASES.is_sorted_by(|a, b| since(a).unwrap() < since(b).unwrap()));
    for pair in RELEASES.windows(2) {
        assert_ne!(fields(&pair[0]), fields(&pair[1]), "{}", pair[1].since);
    }
    assert_eq!(RELEASES.last(), Some(&Profile::newest()));
}

#[test]
fn each_version_has_the_rules_of_the_last_release_that_changed_any() {
    use Known::{NewerThanKnown, Release};
    for (version, since, known) in [
        ("v1.12.0", "v1.12.0", Release),
        ("v1.12.1", "v1.12.0", Release),
        ("v1.12.2", "v1.12.2", Release),
        ("v1.12.3", "v1.12.3", Release),
        ("v1.12.4", "v1.12.3", Release),
        ("v1.12.5", "v1.12.3", NewerThanKnown),
        ("v1.13.0", "v1.13.0", Release),
        ("v1.13.1", "v1.13.1", Release),
        ("v1.13.2", "v1.13.1", Release),
        ("v1.14.0", "v1.14.0", Release),
        ("v1.14.1", "v1.14.1", Release),
        ("v1.15.0", "v1.15.0", Release),
        ("v1.15.1", "v1.15.1", Release),
        ("v1.15.2", "v1.15.1", Release),
        ("v1.16.0", "v1.16.0", Release),
        ("v1.16.2", "v1.16.0", Release),
        ("v1.16.2-OADP", "v1.16.0", Release),
        ("v1.17.0-rc.1", "v1.17.0", Release),
        ("v1.17.1", "v1.17.0", Release),
        ("v1.17.2", "v1.17.0", Release),
        ("v1.17.3", "v1.17.0", NewerThanKnown),
        ("v1.17", "v1.17.0", NewerThanKnown),
        ("release-1.15-dev", "v1.15.1", NewerThanKnown),
        ("v1.18.2", "v1.18.0", Release),
        ("v1.18.3", "v1.18.0", NewerThanKnown),
        ("main", "main", Release),
        ("main-debian", "main", Release),
        ("v1.19.0", "main", NewerThanKnown),
        ("v1.19", "main", NewerThanKnown),
        ("v2.0.0", "main", NewerThanKnown),
    ] {
        let (profile, got) = Profile::of(&VeleroVersion::parse(version).unwrap()).unwrap();
        assert_eq!((profile.since, got), (since, known), "{version}");
    }
}

#[test]
fn a_version_before_data_movement_is_too_old() {
    for version in ["v1.11.1", "v1.11", "v1.9.0", "v0.11.0"] {
        let version = VeleroVersion::parse(version).unwrap();
        assert_eq!(Profile::of(&version), Err(TooOld), "{version}");
    }
}

#[test]
fn the_fields_of_tasks_allow_the_newest_rules_that_write_them() {
    for (evidence, since) in [
        (FieldEvidence::None, "main"),
        (FieldEvidence::AcceptedByLabel, "v1.15.0"),
        (FieldEvidence::AcceptedAtAnnotation, "v1.15.1"),
        (FieldEvidence::AcceptedTimestamp, "main"),
        (FieldEvidence::AcceptedWithoutLabel, "v1.16.0"),
        (FieldEvidence::ExposeOnGoingLabel, "main"),
    ] {
        let profile = Profile::newest_allowed_by_fields(evidence);
        assert_eq!(profile.since, since, "{evidence:?}");
    }
    // An agent that was upgraded leaves older tasks behind: its newest sign counts.
    let seen = [
        FieldEvidence::ExposeOnGoingLabel,
        FieldEvidence::AcceptedByLabel,
        FieldEvidence::AcceptedTimestamp,
    ];
    assert_eq!(seen.iter().max(), Some(&FieldEvidence::ExposeOnGoingLabel));
}
