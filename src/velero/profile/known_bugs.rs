//! Published faults of Velero releases that make data movement look stuck.

use super::VeleroVersion;
use super::releases::is_newer_than_known;
use super::version::Release;

/// A published fault, with the releases that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownBug {
    /// A data path that is cancelled is not recognised as cancelled (v1.15.0).
    Velero8391,
    /// A PodVolumeBackup or PodVolumeRestore that fails deadlocks and keeps its slot (v1.15.0
    /// `pkg/datapath/file_system.go`).
    Velero8394,
    /// The prepare timeout never fires (v1.14.0 to v1.15.0).
    Velero8485,
    /// The progress of a task freezes for minutes while it moves (v1.15).
    Velero8579,
    /// A mover pod that is cancelled before its data path exists crashes or hangs (v1.15.0 to v1.18.0).
    Velero9659,
    /// A PodVolumeRestore is updated several times (v1.17.0).
    Velero9365,
    /// Node-agents are looked up in every namespace (up to v1.18.0).
    Velero9666,
    /// A PodVolumeBackup that ends Canceled is never counted as done by its Backup (v1.17.0 to v1.18.2
    /// `pkg/podvolume/backupper.go`).
    Velero10007,
}

/// What there is to tell of one bug. The range is from `first` up to, and without, `fixed`.
struct Facts {
    id: &'static str,
    reference: &'static str,
    first: &'static str,
    fixed: &'static str,
    fixed_in: &'static str,
}

impl KnownBug {
    /// Every bug, in the order of its id.
    pub const ALL: [Self; 8] = [
        Self::Velero10007,
        Self::Velero8391,
        Self::Velero8394,
        Self::Velero8485,
        Self::Velero8579,
        Self::Velero9365,
        Self::Velero9659,
        Self::Velero9666,
    ];

    const fn facts(self) -> Facts {
        let (id, reference, first, fixed, fixed_in) = match self {
            Self::Velero8391 => (
                "velero-8391",
                "velero-io/velero#8391",
                "v1.15.0",
                "v1.15.1",
                "v1.15.1",
            ),
            Self::Velero8394 => (
                "velero-8394",
                "velero-io/velero#8394",
                "v1.15.0",
                "v1.15.1",
                "v1.15.1",
            ),
            Self::Velero8485 => (
                "velero-8485",
                "velero-io/velero#8485",
                "v1.14.0",
                "v1.15.1",
                "v1.15.1",
            ),
            Self::Velero8579 => (
                "velero-8579",
                "velero-io/velero#8579",
                "v1.15.0",
                "v1.16.0",
                "v1.16.0",
            ),
            Self::Velero9659 => (
                "velero-9659",
                "velero-io/velero#9659",
                "v1.15.0",
                "v1.18.1",
                "v1.18.1",
            ),
            Self::Velero9365 => (
                "velero-9365",
                "velero-io/velero#9365",
                "v1.17.0",
                "v1.17.1",
                "v1.17.1",
            ),
            Self::Velero9666 => (
                "velero-9666",
                "velero-io/velero#9666",
                "v1.12.0",
                "v1.18.1",
                "v1.18.1",
            ),
            // Fixed on release-1.18 after v1.18.2 (PR 10039) and on main (PR 10007); not yet tagged on 2026-08-21.
            Self::Velero10007 => (
                "velero-10007",
                "velero-io/velero#10007",
                "v1.17.0",
                "v1.18.3",
                "the first v1.18 patch after v1.18.2",
            ),
        };
        Facts {
            id,
            reference,
            first,
            fixed,
            fixed_in,
        }
    }

    /// Returns the cause under which the finding `known-bug` names it, such as `velero-8394`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.facts().id
    }

    /// Returns the public thread, such as `velero-io/velero#8394`.
    #[must_use]
    pub const fn reference(self) -> &'static str {
        self.facts().reference
    }

    /// Returns the first release with the fix, in words.
    #[must_use]
    pub const fn fixed_in(self) -> &'static str {
        self.facts().fixed_in
    }

    /// Returns whether a version is known to have the bug.
    ///
    /// A release newer than those the facts were read from is not: the fix may have been brought there.
    /// Somebody else's build counts by its numbers (see [`VeleroVersion::is_plain_release`]).
    #[must_use]
    pub fn affects(self, version: &VeleroVersion) -> bool {
        let facts = self.facts();
        let at = |text: &str| VeleroVersion::parse(text).map(|version| version.release());
        let release = version.release();
        match release {
            Release::Main => false,
            Release::Numbered { .. } => {
                !is_newer_than_known(release)
                    && at(facts.first).is_some_and(|first| first <= release)
                    && at(facts.fixed).is_some_and(|fixed| release < fixed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bug_is_named_for_the_releases_that_have_it_and_no_other() {
        for (bug, has, has_not) in [
            (
                KnownBug::Velero8391,
                &["v1.15.0"][..],
                &["v1.14.1", "v1.15.1"][..],
            ),
            (KnownBug::Velero8394, &["v1.15.0"], &["v1.14.1", "v1.15.1"]),
            (
                KnownBug::Velero8485,
                &["v1.14.0", "v1.14.1", "v1.15.0"],
                &["v1.13.2", "v1.15.1"],
            ),
            (
                KnownBug::Velero8579,
                &["v1.15.0", "v1.15.2"],
                &["v1.14.1", "v1.16.0"],
            ),
            (
                KnownBug::Velero9659,
                &["v1.15.0", "v1.17.2", "v1.18.0"],
                &["v1.14.1", "v1.18.1", "main"],
            ),
            (KnownBug::Velero9365, &["v1.17.0"], &["v1.16.2", "v1.17.1"]),
            (
                KnownBug::Velero9666,
                &["v1.12.0", "v1.17.2", "v1.18.0"],
                &["v1.18.1", "main"],
            ),
            (
                KnownBug::Velero10007,
                &["v1.17.0", "v1.17.2", "v1.18.0", "v1.18.2", "v1.18.2-OADP"],
                &["v1.16.2", "v1.17.3", "v1.17", "v1.18.3", "v1.19.0", "main"],
            ),
        ] {
            for text in has {
                let version = VeleroVersion::parse(text).unwrap();
                assert!(bug.affects(&version), "{} has {}", text, bug.id());
            }
            for text in has_not {
                let version = VeleroVersion::parse(text).unwrap();
                assert!(!bug.affects(&version), "{} has not {}", text, bug.id());
            }
        }
    }

    #[test]
    fn bugs_are_listed_once_and_in_the_order_of_their_ids() {
        let ids: Vec<_> = KnownBug::ALL.map(KnownBug::id).to_vec();
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        for bug in KnownBug::ALL {
            let number = bug.id().strip_prefix("velero-").unwrap();
            assert!(bug.reference().ends_with(&format!("#{number}")));
        }
    }
}
