//! The version of one node-agent.

use std::fmt;

/// A Velero version, read from an image tag or from the agent's log. It has no order outside this module.
///
/// Two versions are equal when they were written alike, apart from a leading `v`: `v1.17.1` in a log and
/// `1.17.1` in an image tag are the same version, `1.17.1` and `1.17.1-rc.1` are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VeleroVersion {
    text: String,
    release: Release,
}

/// What a version says about the rules. The order is the order of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Release {
    /// A release, a pre-release of it, or a build of it by somebody else.
    Numbered { line: Line, patch: Patch },
    /// The development branch.
    Main,
}

/// The first two numbers of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    pub(super) major: u32,
    pub(super) minor: u32,
}

/// The third number of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Patch {
    /// A release.
    Number(u32),
    /// A tag that moves with the newest patch of its line, such as `v1.17` or `release-1.17-dev`.
    Newest,
}

/// The first number that cannot be Velero's: a tag such as `2025.08.21` is a date.
const FIRST_IMPOSSIBLE_MAJOR: u32 = 100;

impl VeleroVersion {
    /// Reads the tag of an image reference.
    ///
    /// Returns `None` for a reference with only a digest or without a tag, and for a tag that names no
    /// version, such as `latest`: such an agent's version is not known from its image.
    ///
    /// ```
    /// use velero_slots::velero::VeleroVersion;
    ///
    /// let version = VeleroVersion::from_image("registry.local:5000/velero/velero:v1.17.1@sha256:00");
    /// assert_eq!(version.map(|v| v.to_string()).as_deref(), Some("1.17.1"));
    /// assert_eq!(VeleroVersion::from_image("registry.local:5000/velero/velero"), None);
    /// ```
    #[must_use]
    pub fn from_image(image: &str) -> Option<Self> {
        let without_digest = image.split('@').next().unwrap_or_default();
        // The registry may have a port, so only the last path segment can hold the tag.
        let name = without_digest.rsplit('/').next().unwrap_or_default();
        let (_, tag) = name.split_once(':')?;
        Self::parse(tag)
    }

    /// Reads a version as written in an image tag or in the log line "Starting Velero node-agent server
    /// VERSION (SHA)": with or without a leading `v`, and whatever follows a space is left out.
    ///
    /// A pre-release (`v1.17.1-rc.1`) and a vendor's build (`v1.16.2-OADP`) have the rules of the release
    /// whose numbers they carry. `main` and `main-…` are the development branch.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.split_whitespace().next()?;
        let text = word
            .strip_prefix('v')
            .filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
            .unwrap_or(word);
        let release = read_release(text)?;
        Some(Self {
            text: text.to_owned(),
            release,
        })
    }

    /// Returns whether this is a release of Velero itself, as opposed to a pre-release, a branch, a tag
    /// that moves, or somebody else's build, which may hold fixes that its numbers do not tell.
    #[must_use]
    pub fn is_plain_release(&self) -> bool {
        self.text.chars().all(|c| c.is_ascii_digit() || c == '.')
            && match self.release {
                Release::Numbered { patch, .. } => patch != Patch::Newest,
                Release::Main => false,
            }
    }

    pub(super) const fn release(&self) -> Release {
        self.release
    }
}

impl fmt::Display for VeleroVersion {
    /// Writes the version as it was written, without the leading `v`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn read_release(text: &str) -> Option<Release> {
    if text == "main" || text.starts_with("main-") {
        return Some(Release::Main);
    }
    // Velero's own tags of a release branch: release-1.17-dev.
    let (numbers, is_branch) = text
        .strip_prefix("release-")
        .map_or((text, false), |rest| (rest, true));
    let (major, rest) = take_number(numbers)?;
    let (minor, rest) = take_number(rest.strip_prefix('.')?)?;
    if major >= FIRST_IMPOSSIBLE_MAJOR {
        return None;
    }
    let line = Line { major, minor };
    let patch = match rest.strip_prefix('.').map(take_number) {
        Some(Some((patch, _suffix))) if !is_branch => Patch::Number(patch),
        None if rest.is_empty() || rest.starts_with('-') => Patch::Newest,
        // `1.17.x` names no version that could be compared.
        Some(_) | None => return None,
    };
    Some(Release::Numbered { line, patch })
}

/// Takes the digits in front; a number with a leading zero is part of a date, not of a version.
fn take_number(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    digits.parse().ok().map(|number| (number, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn image(reference: &str) -> Option<String> {
        VeleroVersion::from_image(reference).map(|version| version.to_string())
    }

    #[test]
    fn an_image_tag_gives_the_version() {
        for (reference, want) in [
            ("velero/velero:v1.17.1", "1.17.1"),
            ("docker.io/velero/velero:1.17.1", "1.17.1"),
            ("registry.local:5000/velero/velero:v1.17.1", "1.17.1"),
            (
                "registry.local:5000/a/b/velero:v1.12.4@sha256:0123",
                "1.12.4",
            ),
            ("velero:v1.17.1-rc.1", "1.17.1-rc.1"),
            ("mirror/velero:v1.16.2-OADP", "1.16.2-OADP"),
            ("mirror/velero:1.16.2-debian-12-r3", "1.16.2-debian-12-r3"),
            ("velero/velero:main", "main"),
            ("velero/velero:main-debian", "main-debian"),
            ("velero/velero:v1.17", "1.17"),
            ("velero/velero:release-1.17-dev", "release-1.17-dev"),
        ] {
            assert_eq!(image(reference).as_deref(), Some(want), "{reference}");
        }
    }

    #[test]
    fn an_image_without_a_readable_version_gives_none() {
        for reference in [
            "",
            "velero/velero",
            "registry.local:5000/velero/velero",
            "velero/velero:latest",
            "velero/velero@sha256:0123456789",
            "registry.local:5000/velero@sha256:0123456789",
            "velero/velero:",
            "velero/velero:v",
            "velero/velero:1",
            "velero/velero:v1.x",
            "velero/velero:v1.17.x",
            "velero/velero:2025.08.21",
            "velero/velero:2025.8.21",
            "velero/velero:20250821",
            "velero/velero:mainline",
            "velero/velero:99999999999.1.2",
            "oadp/oadp-velero-rhel9:oadp-1.4",
        ] {
            assert_eq!(image(reference), None, "{reference}");
        }
    }

    #[test]
    fn a_log_line_and_a_tag_of_one_release_are_the_same_version() {
        assert_eq!(
            VeleroVersion::parse("v1.17.1 (0123abc)"),
            VeleroVersion::from_image("velero/velero:1.17.1")
        );
        assert_ne!(
            VeleroVersion::parse("v1.17.1"),
            VeleroVersion::parse("v1.17.1-rc.1")
        );
    }

    #[test]
    fn releases_are_ordered_by_number_and_main_is_the_newest() {
        let order = [
            "1.2.0", "1.12.4", "1.13.0", "1.17.2", "1.17", "1.18.0", "2.0.0", "main",
        ];
        let releases: Vec<_> = order
            .iter()
            .map(|text| VeleroVersion::parse(text).unwrap().release())
            .collect();
        assert!(releases.is_sorted(), "{releases:?}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,60}") {
            let by_image = VeleroVersion::from_image(&text);
            let by_text = VeleroVersion::parse(&text);
            // What was read can be read again from what is shown.
            for version in by_image.into_iter().chain(by_text) {
                prop_assert_eq!(VeleroVersion::parse(&version.to_string()), Some(version));
            }
        }

        #[test]
        fn any_release_is_read_whatever_the_registry(
            minor in 0u32..40, patch in 0u32..40, port in 1u16..,
            suffix in "|-rc\\.[1-9]|-OADP|_fips",
        ) {
            let text = format!("1.{minor}.{patch}{suffix}");
            let read = VeleroVersion::from_image(&format!("reg.local:{port}/velero/velero:v{text}"));
            let read = read.unwrap();
            prop_assert_eq!(read.to_string(), text);
            let want = Release::Numbered { line: Line { major: 1, minor }, patch: Patch::Number(patch) };
            prop_assert_eq!(read.release(), want);
        }
    }
}
