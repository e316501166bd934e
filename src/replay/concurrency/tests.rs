use super::*;
use crate::velero::VeleroVersion;

fn profile(version: &str) -> Profile {
    Profile::of(&VeleroVersion::parse(version).unwrap())
        .unwrap()
        .0
}

#[test]
fn without_a_configuration_every_release_uses_one() {
    for version in [
        "v1.12.4", "v1.13.2", "v1.14.1", "v1.15.2", "v1.16.2", "v1.17.2", "main",
    ] {
        let limit = configured_limit(
            &profile(version),
            &ConfigState::NotNamed,
            LabelState::Unreadable,
        );
        assert_eq!(
            (limit.value(), limit.source()),
            (Some(1), LimitSource::Default),
            "{version}"
        );
    }
}
