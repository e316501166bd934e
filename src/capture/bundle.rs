//! The forms of bundles that other programs write, and what they leave out.

use super::ResourceKind;

/// Which program wrote a folder, archive or stream, as far as its layout tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BundleForm {
    /// `velero debug` (Velero's `pkg/cmd/cli/debug`, by crash-diagnostics v0.3.7 and v0.4.3).
    VeleroDebug,
    /// The must-gather image of OADP.
    MustGather,
    /// `oc adm inspect`.
    OcInspect,
    /// `kubectl cluster-info dump`.
    ClusterInfoDump,
}

/// Whether a form has a place for the objects of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It never has.
    Never,
    /// It has, and leaves no trace where there is no object or where the list was refused.
    IfAny,
    /// It has where the command asked for the resource by name.
    IfAsked,
    /// It has for the namespaces that the command asked for.
    OfSomeNamespaces,
}

/// Whether a form has a place for the log of the container before the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviousLogs {
    /// It never has.
    Never,
    /// It has.
    IfAny,
}

impl BundleForm {
    /// Every form.
    pub const ALL: [Self; 4] = [
        Self::VeleroDebug,
        Self::MustGather,
        Self::OcInspect,
        Self::ClusterInfoDump,
    ];

    /// Returns the word that captures use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VeleroDebug => "velero-debug",
            Self::MustGather => "oadp-must-gather",
            Self::OcInspect => "oc-adm-inspect",
            Self::ClusterInfoDump => "cluster-info-dump",
        }
    }

    /// Reads the word of a capture back; `None` for a form of a newer version.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == text)
    }

    /// Returns what a sentence calls one, with its article.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::VeleroDebug => "a `velero debug` bundle",
            Self::MustGather => "an OADP must-gather",
            Self::OcInspect => "an `oc adm inspect` tree",
            Self::ClusterInfoDump => "a `kubectl cluster-info dump`",
        }
    }

    /// Returns whether the form has a place for the objects of a resource.
    #[must_use]
    pub const fn place_of(self, resource: ResourceKind) -> Place {
        match resource {
            ResourceKind::Task(_) | ResourceKind::Backup | ResourceKind::Restore => match self {
                // crash-diagnostics passes over an empty list as it does over a refused one.
                Self::VeleroDebug | Self::MustGather => Place::IfAny,
                Self::OcInspect => Place::IfAsked,
                Self::ClusterInfoDump => Place::Never,
            },
            ResourceKind::Pod => match self {
                Self::VeleroDebug | Self::MustGather | Self::OcInspect | Self::ClusterInfoDump => {
                    Place::OfSomeNamespaces
                }
            },
            ResourceKind::Node => match self {
                // A must-gather tells of nodes in its summary, in words for people.
                Self::VeleroDebug | Self::MustGather => Place::Never,
                Self::OcInspect => Place::IfAsked,
                Self::ClusterInfoDump => Place::IfAny,
            },
            ResourceKind::DaemonSet | ResourceKind::Deployment | ResourceKind::Event => {
                match self {
                    Self::VeleroDebug => Place::Never,
                    Self::MustGather | Self::OcInspect | Self::ClusterInfoDump => {
                        Place::OfSomeNamespaces
                    }
                }
            }
            ResourceKind::ConfigMap | ResourceKind::PersistentVolumeClaim => match self {
                Self::VeleroDebug | Self::ClusterInfoDump => Place::Never,
                Self::MustGather | Self::OcInspect => Place::OfSomeNamespaces,
            },
            ResourceKind::VolumeSnapshot => match self {
                // A must-gather holds the classes only.
                Self::VeleroDebug | Self::MustGather | Self::ClusterInfoDump => Place::Never,
                Self::OcInspect => Place::IfAsked,
            },
        }
    }

    /// Returns whether the form has a place for the log of the container before.
    #[must_use]
    pub const fn previous_logs(self) -> PreviousLogs {
        match self {
            Self::VeleroDebug | Self::ClusterInfoDump => PreviousLogs::Never,
            Self::MustGather | Self::OcInspect => PreviousLogs::IfAny,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BundleForm, Place};
    use crate::capture::ResourceKind;

    #[test]
    fn a_form_is_read_back_from_its_word() {
        for form in BundleForm::ALL {
            assert_eq!(BundleForm::parse(form.as_str()), Some(form));
        }
        assert_eq!(BundleForm::parse("sosreport"), None);
    }

    #[test]
    fn a_velero_debug_bundle_holds_velero_s_objects_and_pods_only() {
        let held: Vec<&str> = ResourceKind::ALL
            .into_iter()
            .filter(|resource| BundleForm::VeleroDebug.place_of(*resource) != Place::Never)
            .map(ResourceKind::plural)
            .collect();
        assert_eq!(
            held,
            [
                "datauploads",
                "datadownloads",
                "podvolumebackups",
                "podvolumerestores",
                "backups",
                "restores",
                "pods"
            ]
        );
    }
}
