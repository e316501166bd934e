//! What this program is.

use crate::velero::Profile;

/// The version of the plugin, and the Velero releases whose rules it knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionReport {
    /// The version of this program.
    pub client_version: &'static str,
    /// The commit it was built from, where the build says so.
    pub commit: Option<&'static str>,
    /// The first release of every rule set, oldest first.
    pub rule_sets: Vec<&'static str>,
}

impl VersionReport {
    /// Describes this build.
    #[must_use]
    pub fn new() -> Self {
        Self {
            client_version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("VELERO_SLOTS_COMMIT"),
            rule_sets: Profile::rule_sets().collect(),
        }
    }
}

impl Default for VersionReport {
    fn default() -> Self {
        Self::new()
    }
}
