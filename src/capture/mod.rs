//! What an API server or a file said, word for word.
//!
//! A [`Capture`] is the only thing that is ever written to disk: raw JSON objects, refusals and a
//! manifest. It outlives our own types, so a newer tool reads an old capture with better eyes. It must
//! not interpret what it holds; [`crate::snapshot`] does. [`ResourceKind`] is a closed list without
//! Secrets.

use std::collections::BTreeMap;
pub mod bundle;
mod contents;
pub mod format;
mod relevant;
pub(crate) mod spans;

use std::fmt;
use std::ops::Range;

use jiff::Timestamp;

pub use bundle::BundleForm;

use crate::velero::TaskKind;

pub use contents::{Contents, Lacking, LogContents, MOST_LOG_BYTES, MetricsContents, Taken};

/// Every resource that is ever asked for or taken from a file. There is no Secret here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// One of the four task kinds.
    Task(TaskKind),
    /// `velero.io/v1` Backup.
    Backup,
    /// `velero.io/v1` Restore.
    Restore,
    /// `v1` Pod.
    Pod,
    /// `v1` Node.
    Node,
    /// `apps/v1` DaemonSet.
    DaemonSet,
    /// `apps/v1` Deployment.
    Deployment,
    /// `v1` ConfigMap.
    ConfigMap,
    /// `v1` PersistentVolumeClaim.
    PersistentVolumeClaim,
    /// `snapshot.storage.k8s.io/v1` VolumeSnapshot.
    VolumeSnapshot,
    /// `v1` Event.
    Event,
}

impl ResourceKind {
    /// Every resource.
    pub const ALL: [Self; 14] = [
        Self::Task(TaskKind::DataUpload),
        Self::Task(TaskKind::DataDownload),
        Self::Task(TaskKind::PodVolumeBackup),
        Self::Task(TaskKind::PodVolumeRestore),
        Self::Backup,
        Self::Restore,
        Self::Pod,
        Self::Node,
        Self::DaemonSet,
        Self::Deployment,
        Self::ConfigMap,
        Self::PersistentVolumeClaim,
        Self::VolumeSnapshot,
        Self::Event,
    ];

    /// Returns which kind of task it is, if it is one.
    #[must_use]
    pub const fn task(self) -> Option<TaskKind> {
        match self {
            Self::Task(kind) => Some(kind),
            Self::Backup
            | Self::Restore
            | Self::Pod
            | Self::Node
            | Self::DaemonSet
            | Self::Deployment
            | Self::ConfigMap
            | Self::PersistentVolumeClaim
            | Self::VolumeSnapshot
            | Self::Event => None,
        }
    }

    /// Returns the `kind` of an object.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Task(kind) => kind.as_str(),
            Self::Backup => "Backup",
            Self::Restore => "Restore",
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::DaemonSet => "DaemonSet",
            Self::Deployment => "Deployment",
            Self::ConfigMap => "ConfigMap",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::VolumeSnapshot => "VolumeSnapshot",
            Self::Event => "Event",
        }
    }

    /// Returns the plural resource name, as in API paths and RBAC rules.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Task(kind) => kind.plural(),
            Self::Backup => "backups",
            Self::Restore => "restores",
            Self::Pod => "pods",
            Self::Node => "nodes",
            Self::DaemonSet => "daemonsets",
            Self::Deployment => "deployments",
            Self::ConfigMap => "configmaps",
            Self::PersistentVolumeClaim => "persistentvolumeclaims",
            Self::VolumeSnapshot => "volumesnapshots",
            Self::Event => "events",
        }
    }

    /// Returns the API group; empty for the core group.
    #[must_use]
    pub const fn group(self) -> &'static str {
        match self {
            Self::Task(_) | Self::Backup | Self::Restore => "velero.io",
            Self::DaemonSet | Self::Deployment => "apps",
            Self::VolumeSnapshot => "snapshot.storage.k8s.io",
            Self::Pod
            | Self::Node
            | Self::ConfigMap
            | Self::PersistentVolumeClaim
            | Self::Event => "",
        }
    }

    /// Returns the API version that is asked for.
    #[must_use]
    pub const fn version(self) -> &'static str {
        match self {
            Self::Task(kind) => kind.version(),
            Self::Backup
            | Self::Restore
            | Self::Pod
            | Self::Node
            | Self::DaemonSet
            | Self::Deployment
            | Self::ConfigMap
            | Self::PersistentVolumeClaim
            | Self::VolumeSnapshot
            | Self::Event => "v1",
        }
    }

    /// Returns the resource whose objects say `apiVersion` and `kind`. Any version of the group fits,
    /// so that a file written for another version is still read.
    #[must_use]
    pub fn of_object(api_version: &str, kind: &str) -> Option<Self> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        // Events are served under two groups; `kubectl get events -o yaml` prints either.
        let group = if group == "events.k8s.io" { "" } else { group };
        Self::ALL
            .into_iter()
            .find(|resource| resource.kind() == kind && resource.group() == group)
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural())
    }
}

/// Why something could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapReason {
    /// The server refused: RBAC.
    Forbidden,
    /// The resource type or the object does not exist there.
    NotFound,
    /// It was there and could not be understood.
    Malformed,
    /// The input holds no object of this kind.
    NotInInput,
    /// Only a part of it was read.
    Partial,
    /// The time limit ended first.
    Timeout,
    /// Known not to be readable this way, such as an unknown phase or version.
    Unsupported,
}

impl GapReason {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::Malformed => "malformed",
            Self::NotInInput => "not-in-input",
            Self::Partial => "partial",
            Self::Timeout => "timeout",
            Self::Unsupported => "unsupported",
        }
    }

    /// Reads the text of the contract back, as captures hold it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Forbidden,
            Self::NotFound,
            Self::Malformed,
            Self::NotInInput,
            Self::Partial,
            Self::Timeout,
            Self::Unsupported,
        ]
        .into_iter()
        .find(|reason| reason.as_str() == text)
    }
}

/// Where a capture comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceType {
    /// A live cluster.
    Cluster,
    /// Files, standard input or an archive.
    Files,
}

/// Where "now" comes from. Never a laptop's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NowFrom {
    /// The API server's `Date` header.
    Server,
    /// `--now`.
    Flag,
    /// The time that a capture of ours carries.
    Capture,
    /// The newest time found on any object.
    NewestObject,
}

impl NowFrom {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Flag => "flag",
            Self::Capture => "capture",
            Self::NewestObject => "newest-object",
        }
    }
}

/// When, where and by what a capture was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Cluster or files.
    pub source: SourceType,
    /// The server's time, `--now`, or the time of a capture file; `None` when only the objects can tell.
    pub taken_at: Option<Timestamp>,
    /// Where `taken_at` comes from; [`NowFrom::NewestObject`] when it is `None`.
    pub now_from: NowFrom,
    /// The API server's URL, without credentials.
    pub server: Option<String>,
    /// The files that were read, as the user named them.
    pub paths: Vec<String>,
    /// Velero's namespace, when the capture was taken for one.
    pub namespace: Option<String>,
    /// The version of the tool that took the capture.
    pub tool_version: String,
    /// The bundles of other programs among the inputs, by form.
    pub bundles: Vec<BundleForm>,
    /// Whether names are pseudonyms.
    pub redacted: Redacted,
}

/// Whether the names of a capture were replaced by pseudonyms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redacted {
    /// They are the cluster's.
    #[default]
    No,
    /// They are pseudonyms; secrets were cut, and fields that are not read dropped.
    Yes,
}

/// Which objects of its kind a listing was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// All objects of one namespace.
    Namespace(String),
    /// All objects of the cluster.
    Cluster,
    /// All objects of the cluster that a label selector matches.
    Selected {
        /// The selector, as sent.
        label_selector: String,
    },
    /// What a file held in a `List`: all that the command asked for, whatever that was.
    FileList,
    /// What a file held as single objects: some objects, no claim to be all.
    FileObjects,
}

/// One answer to one question for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The resource asked for.
    pub resource: ResourceKind,
    /// Which objects were asked for.
    pub scope: Scope,
    /// What came back.
    pub outcome: Outcome,
}

/// What came back for a [`Listing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every object of the scope.
    Listed(Vec<Item>),
    /// The objects of the first pages; the rest could not be read.
    Cut {
        /// What was read.
        items: Vec<Item>,
        /// Why the rest was not.
        reason: GapReason,
        /// The server's words.
        message: String,
    },
    /// Nothing.
    Refused {
        /// Why.
        reason: GapReason,
        /// The server's words.
        message: String,
    },
}

impl Outcome {
    /// Returns what was read, however little.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        match self {
            Self::Listed(items) | Self::Cut { items, .. } => items,
            Self::Refused { .. } => &[],
        }
    }
}

/// One object: a span of JSON in one of the capture's texts. Kept as a span so that a page of 500
/// objects is held once, as it came, and each object is decoded once, into the fields that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Index into [`Capture::texts`].
    pub text: usize,
    /// The bytes of the object's JSON in that text.
    pub span: Range<usize>,
}

/// A task as an earlier capture holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// When that capture was taken.
    pub taken_at: Timestamp,
    /// The kind of the task.
    pub kind: TaskKind,
    /// The object.
    pub item: Item,
}

/// A piece of JSON as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Where it came from, for messages: `dus.yaml document 3`, `GET /api/v1/…`.
    pub origin: String,
    /// JSON. YAML is turned into JSON when it is read.
    pub body: String,
}

/// One container's log, or the part of it that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container's name.
    pub container: String,
    /// Whether it is the log of the container before the present one.
    pub previous: Previous,
    /// Whether the beginning was left out.
    pub cut: Cut,
    /// The text.
    pub body: String,
}

/// A line of a log's text that stands for lines that were left out. No program writes it.
pub const LINES_LEFT_OUT: &str = "[velero-slots: lines left out]";

/// Whether a log is that of the container before the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Previous {
    /// The present container.
    No,
    /// The container before.
    Yes,
}

/// Whether the beginning of a log was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The log is whole, as far as the kubelet kept it.
    Whole,
    /// Only the end was read.
    BeginningLeftOut,
}

/// A node-agent whose log and metrics are worth reading.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentPod {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container that runs the agent.
    pub container: String,
    /// Whether the container has restarted, so that there may be a log of the one before.
    pub restarted: Restarted,
    /// When the process started, where that is known: no line of its log is older.
    pub started_at: Option<Timestamp>,
}

/// Whether a container has restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Restarted {
    /// It runs for the first time.
    No,
    /// It has.
    Yes,
}

/// One page of metrics of a node-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsPage {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The port that it was read from: 8080 for controller-runtime's registry, 8085 for Velero's.
    pub port: u16,
    /// When it was read, by the API server's clock.
    pub taken_at: Timestamp,
    /// The text, in Prometheus' format.
    pub body: String,
}

/// Something that could not be read and belongs to no single listing: a document that is not an
/// object, a file that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it concerns: a resource name, or `input`.
    pub resource: String,
    /// Why.
    pub reason: GapReason,
    /// What and where.
    pub message: String,
}

/// Everything that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// When, where and by what.
    pub manifest: Manifest,
    /// The texts that the items point into.
    pub texts: Vec<Text>,
    /// The answers. A resource that was never asked for has none.
    pub listings: Vec<Listing>,
    /// Tasks as captures of an earlier time hold them, where several were read. They are not among the listings,
    /// which tell of the newest, and are not written out again.
    pub earlier: Vec<Earlier>,
    /// Logs.
    pub logs: Vec<LogFile>,
    /// Pages of metrics.
    pub metrics: Vec<MetricsPage>,
    /// What could not be read and belongs to no listing.
    pub problems: Vec<Problem>,
}

impl Capture {
    /// Makes a capture of objects, as one file with a `List` of each resource would: complete for the
    /// namespaces that its objects are in. For tests, benches and whoever has objects at hand. What is not
    /// one of [`ResourceKind`] becomes a [`Problem`].
    ///
    /// ```
    /// use velero_slots::capture::Capture;
    /// let node = serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}});
    /// assert_eq!(Capture::from_objects([node]).listings.len(), 1);
    /// ```
    #[must_use]
    pub fn from_objects(objects: impl IntoIterator<Item = serde_json::Value>) -> Self {
        let origin = "objects";
        let mut body = String::new();
        let mut by_resource: BTreeMap<ResourceKind, Vec<Item>> = BTreeMap::new();
        let mut problems = Vec::new();
        for object in objects {
            let text = |key: &str| object.get(key).and_then(serde_json::Value::as_str);
            let (version, kind) = (
                text("apiVersion").unwrap_or_default(),
                text("kind").unwrap_or_default(),
            );
            let Some(resource) = ResourceKind::of_object(version, kind) else {
                problems.push(Problem {
                    resource: "input".to_owned(),
                    reason: GapReason::Unsupported,
                    message: format!("{origin}: not a resource that is read: {version} {kind}"),
                });
                continue;
            };
            let start = body.len();
            body.push_str(&object.to_string());
            let span = start..body.len();
            body.push('\n');
            by_resource
                .entry(resource)
                .or_default()
                .push(Item { text: 0, span });
        }
        let listings = by_resource
            .into_iter()
            .map(|(resource, items)| Listing {
                resource,
                scope: Scope::FileList,
                outcome: Outcome::Listed(items),
            })
            .collect();
        let manifest = Manifest {
            source: SourceType::Files,
            taken_at: None,
            now_from: NowFrom::NewestObject,
            server: None,
            paths: vec![origin.to_owned()],
            namespace: None,
            tool_version: String::new(),
            bundles: Vec::new(),
            redacted: Redacted::No,
        };
        let texts = vec![Text {
            origin: origin.to_owned(),
            body,
        }];
        Self {
            problems,
            ..Self::of_lists(manifest, texts, listings)
        }
    }

    /// Makes a capture of lists alone: without logs, metrics, problems and earlier looks.
    #[must_use]
    pub const fn of_lists(manifest: Manifest, texts: Vec<Text>, listings: Vec<Listing>) -> Self {
        Self {
            manifest,
            texts,
            listings,
            earlier: Vec::new(),
            logs: Vec::new(),
            metrics: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Returns the JSON of one object; empty if the item is not of this capture.
    #[must_use]
    pub fn json(&self, item: &Item) -> &str {
        self.texts
            .get(item.text)
            .and_then(|text| text.body.get(item.span.clone()))
            .unwrap_or_default()
    }

    /// Returns where an object came from, for messages.
    #[must_use]
    pub fn origin(&self, item: &Item) -> &str {
        self.texts
            .get(item.text)
            .map_or("", |text| text.origin.as_str())
    }
}
