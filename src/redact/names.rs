//! Pseudonyms: one for each name, the same wherever the name stands.
//!
//! Those of a kind are numbered in the order of the names and padded to one width, so that whatever is sorted
//! by name stays in its order. Only what turns up in messages alone is numbered as it is met.

use std::collections::BTreeMap;

/// What a name names; the order is that in which a name with several meanings gets its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameKind {
    /// A task, and whatever is named after it: its mover pod, its volume, its snapshot.
    Task,
    /// A Node.
    Node,
    /// A namespace.
    Namespace,
    /// A Backup.
    Backup,
    /// A Restore.
    Restore,
    /// A pod that is called `node-agent-…`, by which it may be known as one.
    AgentPod,
    /// Any other pod.
    Pod,
    /// A PersistentVolumeClaim.
    Claim,
    /// A `PersistentVolume`.
    Volume,
    /// A VolumeSnapshot.
    Snapshot,
    /// A `StorageClass`.
    StorageClass,
    /// A DaemonSet that is called `node-agent…`.
    AgentSet,
    /// Any other DaemonSet.
    DaemonSet,
    /// A Deployment.
    Deployment,
    /// A ConfigMap.
    ConfigMap,
    /// An Event.
    Event,
    /// A user or service account that a refusal names.
    User,
    /// A `spec.datamover` that is not Velero's.
    DataMover,
    /// A UID.
    Uid,
    /// An object of a kind that is not read.
    Owner,
    /// A field manager.
    Manager,
    /// A container.
    Container,
    /// A volume of a pod.
    PodVolume,
    /// A label key.
    LabelKey,
    /// A label key that Kubernetes refuses; its pseudonym is refused, too.
    OddLabelKey,
    /// A label value.
    LabelValue,
    /// A label value that Kubernetes refuses; its pseudonym is refused, too.
    OddLabelValue,
    /// A key of a ConfigMap, or an unknown one of the configuration.
    DataKey,
    /// Where an image comes from.
    Registry,
    /// The name of an image.
    Image,
    /// What a tag says beside a version.
    Tag,
    /// An address.
    Ip,
    /// A host.
    Host,
    /// A URL.
    Url,
    /// An e-mail address.
    Email,
    /// A word of a message or log that is not known to be harmless.
    Word,
}

impl NameKind {
    const ALL: [Self; 36] = [
        Self::Task,
        Self::Node,
        Self::Namespace,
        Self::Backup,
        Self::Restore,
        Self::AgentPod,
        Self::Pod,
        Self::Claim,
        Self::Volume,
        Self::Snapshot,
        Self::StorageClass,
        Self::AgentSet,
        Self::DaemonSet,
        Self::Deployment,
        Self::ConfigMap,
        Self::Event,
        Self::User,
        Self::DataMover,
        Self::Uid,
        Self::Owner,
        Self::Manager,
        Self::Container,
        Self::PodVolume,
        Self::LabelKey,
        Self::OddLabelKey,
        Self::LabelValue,
        Self::OddLabelValue,
        Self::DataKey,
        Self::Registry,
        Self::Image,
        Self::Tag,
        Self::Ip,
        Self::Host,
        Self::Url,
        Self::Email,
        Self::Word,
    ];

    /// Returns what its pseudonyms begin with.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Node => "node",
            Self::Namespace => "ns",
            Self::Backup => "backup",
            Self::Restore => "restore",
            Self::AgentPod => "node-agent",
            Self::Pod => "pod",
            Self::Claim => "pvc",
            Self::Volume => "pv",
            Self::Snapshot => "snapshot",
            Self::StorageClass => "class",
            Self::AgentSet => "node-agent-set",
            Self::DaemonSet => "daemonset",
            Self::Deployment => "deployment",
            Self::ConfigMap => "configmap",
            Self::Event => "event",
            Self::User => "user",
            Self::DataMover => "mover",
            Self::Uid => "uid",
            Self::Owner => "owner",
            Self::Manager => "manager",
            Self::Container => "container",
            Self::PodVolume => "volume",
            Self::LabelKey => "label",
            Self::OddLabelKey => "label!",
            Self::LabelValue => "value",
            Self::OddLabelValue => "value!",
            Self::DataKey => "key",
            Self::Registry => "registry",
            Self::Image => "image",
            Self::Tag => "tag",
            Self::Ip => "ip",
            Self::Host => "host",
            Self::Url => "url",
            Self::Email => "email",
            Self::Word => "word",
        }
    }

    /// Returns whether a name of this kind that is also an ordinary word is left in prose: a volume called
    /// `data` is not what "data path" is about.
    const fn is_weak(self) -> bool {
        match self {
            Self::Manager
            | Self::Container
            | Self::PodVolume
            | Self::LabelKey
            | Self::OddLabelKey
            | Self::LabelValue
            | Self::OddLabelValue
            | Self::DataKey
            | Self::Registry
            | Self::Image
            | Self::Tag
            | Self::Word => true,
            Self::Task
            | Self::Node
            | Self::Namespace
            | Self::Backup
            | Self::Restore
            | Self::AgentPod
            | Self::Pod
            | Self::Claim
            | Self::Volume
            | Self::Snapshot
            | Self::StorageClass
            | Self::AgentSet
            | Self::DaemonSet
            | Self::Deployment
            | Self::ConfigMap
            | Self::Event
            | Self::User
            | Self::DataMover
            | Self::Uid
            | Self::Owner
            | Self::Ip
            | Self::Host
            | Self::Url
            | Self::Email => false,
        }
    }

    /// Names that every installation has; they tell nothing, and some of them are looked for.
    const fn well_known(self) -> &'static [&'static str] {
        match self {
            Self::Namespace => &[
                "velero",
                "openshift-adp",
                "default",
                "kube-system",
                "kube-public",
            ],
            Self::DaemonSet | Self::AgentSet => &["node-agent", "node-agent-windows"],
            Self::Deployment | Self::DataMover | Self::Registry | Self::Image => &["velero"],
            Self::ConfigMap => &["node-agent-config"],
            Self::Container => &[
                "node-agent",
                "node-agent-windows",
                "velero",
                "restore-wait",
                "restic-wait",
            ],
            Self::Manager => &[
                "node-agent-server",
                "velero-server",
                "kubelet",
                "kube-controller-manager",
                "kube-scheduler",
                "kubectl",
                "kubectl-client-side-apply",
                "kubectl-create",
                "kubectl-edit",
                "kubectl-label",
                "kubectl-patch",
                "kubectl-velero-slots",
                "helm",
            ],
            Self::LabelKey => &[
                "kubernetes.io/hostname",
                "kubernetes.io/os",
                "kubernetes.io/arch",
                "node.kubernetes.io/instance-type",
                "topology.kubernetes.io/zone",
                "topology.kubernetes.io/region",
                "node-role.kubernetes.io/control-plane",
                "node-role.kubernetes.io/worker",
                "node-role.kubernetes.io/infra",
            ],
            Self::LabelValue => &[
                "true",
                "false",
                "linux",
                "windows",
                "amd64",
                "arm64",
                "velero",
                "node-agent",
                "node-agent-windows",
            ],
            Self::Tag => &["latest", "dev", "main"],
            Self::Task
            | Self::Node
            | Self::Backup
            | Self::Restore
            | Self::AgentPod
            | Self::Pod
            | Self::Claim
            | Self::Volume
            | Self::Snapshot
            | Self::StorageClass
            | Self::Event
            | Self::User
            | Self::Uid
            | Self::Owner
            | Self::PodVolume
            | Self::OddLabelKey
            | Self::OddLabelValue
            | Self::DataKey
            | Self::Ip
            | Self::Host
            | Self::Url
            | Self::Email
            | Self::Word => &[],
        }
    }
}

/// A pseudonym with what it stands for. Never part of a capture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pseudonym {
    /// What it names.
    pub kind: NameKind,
    /// What stands in the redacted capture.
    pub pseudonym: String,
    /// What stood in the original.
    pub name: String,
}

/// Whether a capture is a redacted one already, whose pseudonyms stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It holds names.
    No,
    /// It holds pseudonyms.
    Yes,
}

/// The names of a capture, and their pseudonyms.
pub(super) struct Names {
    again: Again,
    found: BTreeMap<String, NameKind>,
    given: BTreeMap<String, (NameKind, String)>,
    next: BTreeMap<&'static str, u64>,
}

/// How a name is to be read where it stands in prose.
pub(super) enum InProse {
    /// It is a name: this stands for it.
    Name(String),
    /// It is a name of something minor; an ordinary word stays.
    Weak(String),
    /// It is no name that is known.
    No,
}

impl Names {
    pub(super) const fn new(again: Again) -> Self {
        Self {
            again,
            found: BTreeMap::new(),
            given: BTreeMap::new(),
            next: BTreeMap::new(),
        }
    }

    /// Notes a name.
    pub(super) fn note(&mut self, kind: NameKind, name: &str) {
        if name.is_empty() {
            return;
        }
        match self.found.get_mut(name) {
            Some(known) => *known = kind.min(*known),
            None => {
                self.found.insert(name.to_owned(), kind);
            }
        }
    }

    /// Gives the names that were noted their pseudonyms.
    pub(super) fn number(&mut self) {
        let found = std::mem::take(&mut self.found);
        let mut by_kind: BTreeMap<NameKind, Vec<String>> = BTreeMap::new();
        for (name, kind) in found {
            if kind.well_known().contains(&name.as_str()) || self.stays(&name) {
                self.given.insert(name.clone(), (kind, name));
            } else {
                by_kind.entry(kind).or_default().push(name);
            }
        }
        for (kind, names) in by_kind {
            let width = names.len().to_string().len();
            for name in names {
                let pseudonym = self.next_of(kind, width);
                self.given.insert(name, (kind, pseudonym));
            }
        }
    }

    /// Returns the pseudonym of a name; one that was not noted gets the next.
    pub(super) fn of(&mut self, kind: NameKind, name: &str) -> String {
        if name.is_empty() || kind.well_known().contains(&name) || self.stays(name) {
            return name.to_owned();
        }
        if let Some((_, pseudonym)) = self.given.get(name) {
            return pseudonym.clone();
        }
        let pseudonym = self.next_of(kind, 1);
        self.given
            .insert(name.to_owned(), (kind, pseudonym.clone()));
        pseudonym
    }

    /// Looks for a name in prose.
    pub(super) fn in_prose(&self, word: &str) -> InProse {
        match self.given.get(word) {
            Some((kind, pseudonym)) if kind.is_weak() => InProse::Weak(pseudonym.clone()),
            Some((_, pseudonym)) => InProse::Name(pseudonym.clone()),
            None if self.stays(word) => InProse::Name(word.to_owned()),
            None => InProse::No,
        }
    }

    /// Returns whether one of the names that stand in prose is an ordinary word.
    pub(super) fn any_in_prose(&self, is_ordinary: impl Fn(&str) -> bool) -> bool {
        self.given.iter().any(|(name, (kind, pseudonym))| {
            !kind.is_weak() && name != pseudonym && is_ordinary(name)
        })
    }

    /// Returns every pseudonym that stands for something else than itself, sorted.
    pub(super) fn into_pseudonyms(self) -> Vec<Pseudonym> {
        let mut all: Vec<Pseudonym> = self
            .given
            .into_iter()
            .filter(|(name, (_, pseudonym))| name != pseudonym)
            .map(|(name, (kind, pseudonym))| Pseudonym {
                kind,
                pseudonym,
                name,
            })
            .collect();
        all.sort();
        all
    }

    /// Whether a word is a pseudonym of an earlier redaction. It tells nothing but a number.
    fn stays(&self, name: &str) -> bool {
        self.again == Again::Yes && is_pseudonym(name)
    }

    fn next_of(&mut self, kind: NameKind, width: usize) -> String {
        let number = self.next.entry(kind.prefix()).or_insert(0);
        *number += 1;
        let prefix = kind.prefix();
        match self.again {
            Again::No => format!("{prefix}-{number:0width$}"),
            // Beside the pseudonyms that stay, whatever their numbers are.
            Again::Yes => format!("{prefix}-{}", number.saturating_add(1_000_000_000)),
        }
    }
}

/// Returns whether a word has the form of a pseudonym.
fn is_pseudonym(word: &str) -> bool {
    word.rsplit_once('-').is_some_and(|(prefix, number)| {
        (1..=10).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && NameKind::ALL.iter().any(|kind| kind.prefix() == prefix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudonyms_keep_the_order_of_the_names_of_a_kind() {
        let mut names = Names::new(Again::No);
        let originals: Vec<String> = (0..12)
            .map(|n| format!("{}-x", char::from(b'a' + n)))
            .collect();
        for name in originals.iter().rev() {
            names.note(NameKind::Node, name);
        }
        names.number();
        let given: Vec<String> = originals
            .iter()
            .map(|name| names.of(NameKind::Node, name))
            .collect();
        assert_eq!(given.first().unwrap(), "node-01");
        assert!(given.is_sorted());
    }

    #[test]
    fn a_name_of_several_kinds_has_one_pseudonym() {
        let mut names = Names::new(Again::No);
        names.note(NameKind::Pod, "du-1");
        names.note(NameKind::Task, "du-1");
        names.note(NameKind::Claim, "du-1");
        names.number();
        assert_eq!(names.of(NameKind::Claim, "du-1"), "task-1");
    }

    #[test]
    fn well_known_names_stay() {
        let mut names = Names::new(Again::No);
        for (kind, name) in [
            (NameKind::Namespace, "velero"),
            (NameKind::DaemonSet, "node-agent"),
            (NameKind::ConfigMap, "node-agent-config"),
        ] {
            names.note(kind, name);
            assert_eq!(names.of(kind, name), name);
        }
        names.number();
        assert_eq!(names.into_pseudonyms(), []);
    }

    #[test]
    fn only_a_redacted_capture_keeps_what_looks_like_a_pseudonym() {
        let mut fresh = Names::new(Again::No);
        fresh.note(NameKind::Node, "node-7");
        fresh.number();
        assert_eq!(fresh.of(NameKind::Node, "node-7"), "node-1");
        let mut again = Names::new(Again::Yes);
        again.note(NameKind::Node, "node-7");
        again.note(NameKind::Node, "planted");
        again.number();
        assert_eq!(again.of(NameKind::Node, "node-7"), "node-7");
        assert_eq!(again.of(NameKind::Node, "planted"), "node-1000000001");
    }
}
