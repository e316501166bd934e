//! Which profile a version, or the fields of the objects, lead to.

use super::version::{Line, Patch, Release};
use super::{Profile, VeleroVersion, main, v1_12, v1_13, v1_14, v1_15, v1_16, v1_17, v1_18};

/// Every release that changed a rule, oldest first. Each line has an entry for its first release.
pub(super) const RELEASES: [Profile; 13] = [
    v1_12::V1_12_0,
    v1_12::V1_12_2,
    v1_12::V1_12_3,
    v1_13::V1_13_0,
    v1_13::V1_13_1,
    v1_14::V1_14_0,
    v1_14::V1_14_1,
    v1_15::V1_15_0,
    v1_15::V1_15_1,
    v1_16::V1_16_0,
    v1_17::V1_17_0,
    v1_18::V1_18_0,
    main::MAIN,
];

/// The newest patch of each line that the rules were read from (2026-08-21).
const NEWEST_PATCHES: [(u32, u32, u32); 7] = [
    (1, 12, 4),
    (1, 13, 2),
    (1, 14, 1),
    (1, 15, 2),
    (1, 16, 2),
    (1, 17, 2),
    (1, 18, 2),
];

/// Whether the rules of a version were read from its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// They were.
    Release,
    /// The version is newer than what was read: the newest rules of its line, or for a newer line the
    /// newest rules of all. Patch releases have changed rules before (v1.12.2, v1.13.1, v1.15.1).
    NewerThanKnown,
}

/// The version is older than v1.12.0: data movement of this design did not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Velero before v1.12 has no data movement of this design")]
pub struct TooOld;

/// The newest sign of a release that the fields of tasks show, for a node-agent whose version cannot be
/// read. The greatest of all signs seen is the one that counts: older ones are of an agent since replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldEvidence {
    /// No task shows anything.
    None,
    /// The label `velero.io/accepted-by` (v1.12 to v1.15.0).
    AcceptedByLabel,
    /// The annotation `velero.io/accepted-at` (v1.15.1, v1.15.2).
    AcceptedAtAnnotation,
    /// A DataUpload or DataDownload with `status.acceptedTimestamp` (v1.16 on).
    AcceptedTimestamp,
    /// A DataUpload or DataDownload that is Accepted, has `status.acceptedTimestamp`, and has no label
    /// `velero.io/expose-on-going` (v1.16 alone: later releases set both in one write).
    AcceptedWithoutLabel,
    /// The label `velero.io/expose-on-going`, or a PodVolumeBackup or PodVolumeRestore with
    /// `status.acceptedTimestamp` (v1.17 on).
    ExposeOnGoingLabel,
}

impl Profile {
    /// Returns the rules of a version, and whether they were read from its release.
    ///
    /// A pre-release and a vendor's build have the rules of the release whose numbers they carry.
    ///
    /// # Errors
    ///
    /// [`TooOld`] for a version before v1.12.0.
    ///
    /// ```
    /// use velero_slots::velero::{Known, Profile, VeleroVersion};
    ///
    /// let version = VeleroVersion::parse("v1.17.2").unwrap();
    /// let (profile, known) = Profile::of(&version).unwrap();
    /// assert_eq!((profile.since, known), ("v1.17.0", Known::Release));
    /// ```
    pub fn of(version: &VeleroVersion) -> Result<(Self, Known), TooOld> {
        let release = version.release();
        let profile = RELEASES
            .iter()
            .rfind(|profile| since(profile).is_some_and(|first| first <= release))
            .ok_or(TooOld)?;
        let known = if is_newer_than_known(release) {
            Known::NewerThanKnown
        } else {
            Known::Release
        };
        // A line that is not known yet has left main long ago: its rules are main's.
        let newest_line = NEWEST_PATCHES.iter().map(|patch| line(*patch)).max();
        match release {
            Release::Numbered { line, .. } if Some(line) > newest_line => {
                Ok((Self::newest(), known))
            }
            Release::Numbered { .. } | Release::Main => Ok((*profile, known)),
        }
    }

    /// Returns the first release of every set of rules, oldest first.
    pub fn rule_sets() -> impl Iterator<Item = &'static str> {
        RELEASES.iter().map(|profile| profile.since)
    }

    /// Returns the newest rules known: those of the development branch.
    #[must_use]
    pub const fn newest() -> Self {
        main::MAIN
    }

    /// Returns the newest rules that the fields of the objects allow, for a node-agent whose version
    /// cannot be read.
    #[must_use]
    pub const fn newest_allowed_by_fields(evidence: FieldEvidence) -> Self {
        match evidence {
            FieldEvidence::AcceptedByLabel => v1_15::V1_15_0,
            FieldEvidence::AcceptedAtAnnotation => v1_15::V1_15_1,
            FieldEvidence::AcceptedWithoutLabel => v1_16::V1_16_0,
            FieldEvidence::None
            | FieldEvidence::AcceptedTimestamp
            | FieldEvidence::ExposeOnGoingLabel => Self::newest(),
        }
    }
}

/// Returns the first release with these rules, as a position in the order of releases.
pub(super) fn since(profile: &Profile) -> Option<Release> {
    VeleroVersion::parse(profile.since).map(|version| version.release())
}

const fn line((major, minor, _): (u32, u32, u32)) -> Line {
    Line { major, minor }
}

/// Returns whether a release is none that the rules were read from, but newer.
pub(super) fn is_newer_than_known(release: Release) -> bool {
    let Release::Numbered { line: of, patch } = release else {
        return false;
    };
    let of_its_line = NEWEST_PATCHES.iter().find(|newest| line(**newest) == of);
    of_its_line.map_or_else(
        || NEWEST_PATCHES.iter().all(|newest| line(*newest) < of),
        |(_, _, newest)| patch > Patch::Number(*newest),
    )
}
