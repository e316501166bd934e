//! What of each resource is taken into a redacted capture: the fields that [`crate::snapshot`] reads, and no
//! other. A field without a rule is dropped.

use super::names::NameKind;
use crate::capture::ResourceKind;

/// What becomes of a value.
pub(super) enum Rule {
    /// Numbers and booleans, which stay.
    Fixed,
    /// A word of Kubernetes such as a reason.
    Word,
    /// The phase of a task.
    TaskPhase,
    /// A time.
    Time,
    /// A duration.
    Duration,
    /// Digits in a text.
    Digits,
    /// `apiVersion`.
    ApiVersion,
    /// The object's own name.
    OwnName,
    /// A name.
    Name(NameKind),
    /// Prose.
    Message,
    /// An image.
    Image,
    /// Command or arguments.
    Arguments,
    /// An object of which some fields are taken.
    Object(&'static [(&'static str, Self)]),
    /// A list.
    List(&'static Self),
    /// Labels: those that are read, and on Nodes those that selectors look at.
    Labels,
    /// `metadata.managedFields`.
    ManagedFields,
    /// What an object refers to: kind and name belong together.
    Reference(&'static [(&'static str, Self)]),
    /// A volume of a pod.
    Volume,
    /// The data of a ConfigMap.
    Data,
}

use NameKind::{
    Claim, Container, DataMover, Namespace, Node, PodVolume, Snapshot, StorageClass, Uid,
};
use Rule::{
    ApiVersion, Arguments, Data, Digits, Duration, Fixed, Image, Labels, List, ManagedFields,
    Message, Name, Object, OwnName, Reference, TaskPhase, Time, Word,
};

const META: Rule = Object(&[
    ("name", OwnName),
    ("namespace", Name(Namespace)),
    ("uid", Name(Uid)),
    ("resourceVersion", Digits),
    ("labels", Labels),
    (
        "annotations",
        Object(&[
            ("velero.io/accepted-by", Name(Node)),
            ("velero.io/accepted-at", Time),
            ("volume.kubernetes.io/selected-node", Name(Node)),
            ("velero-slots/nudged-at", Time),
            ("velero-slots/restarted-at", Time),
            ("velero-slots/reason", Message),
        ]),
    ),
    ("creationTimestamp", Time),
    ("deletionTimestamp", Time),
    ("deletionGracePeriodSeconds", Fixed),
    (
        "ownerReferences",
        List(&Reference(&[
            ("apiVersion", ApiVersion),
            ("kind", Word),
            ("controller", Fixed),
        ])),
    ),
    ("managedFields", ManagedFields),
]);

const CONDITIONS: Rule = List(&Object(&[
    ("type", Word),
    ("status", Word),
    ("reason", Word),
    ("message", Message),
    ("lastTransitionTime", Time),
    ("lastHeartbeatTime", Time),
]));

const TASK: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    (
        "spec",
        Object(&[
            ("cancel", Fixed),
            ("datamover", Name(DataMover)),
            ("uploaderType", Word),
            ("node", Name(Node)),
            ("operationTimeout", Duration),
            ("sourceNamespace", Name(Namespace)),
            ("sourcePVC", Name(Claim)),
            (
                "targetVolume",
                Object(&[("namespace", Name(Namespace)), ("pvc", Name(Claim))]),
            ),
            (
                "csiSnapshot",
                Object(&[
                    ("volumeSnapshot", Name(Snapshot)),
                    ("storageClass", Name(StorageClass)),
                ]),
            ),
            (
                "pod",
                Object(&[
                    ("namespace", Name(Namespace)),
                    ("name", Name(NameKind::Pod)),
                    ("uid", Name(Uid)),
                ]),
            ),
            ("volume", Name(PodVolume)),
        ]),
    ),
    (
        "status",
        Object(&[
            ("phase", TaskPhase),
            ("node", Name(Node)),
            ("acceptedByNode", Name(Node)),
            ("acceptedTimestamp", Time),
            ("startTimestamp", Time),
            ("completionTimestamp", Time),
            (
                "progress",
                Object(&[("bytesDone", Fixed), ("totalBytes", Fixed)]),
            ),
            ("message", Message),
        ]),
    ),
]);

const PARENT: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    ("spec", Object(&[("itemOperationTimeout", Duration)])),
    (
        "status",
        Object(&[
            ("phase", Word),
            ("startTimestamp", Time),
            ("completionTimestamp", Time),
        ]),
    ),
]);

const END: Rule = Object(&[
    ("reason", Word),
    ("exitCode", Fixed),
    ("message", Message),
    ("startedAt", Time),
    ("finishedAt", Time),
]);

const STATE: Rule = Object(&[
    ("running", Object(&[("startedAt", Time)])),
    ("waiting", Object(&[("reason", Word), ("message", Message)])),
    ("terminated", END),
]);

const CONTAINER_STATUSES: Rule = List(&Object(&[
    ("name", Name(Container)),
    ("image", Image),
    ("ready", Fixed),
    ("restartCount", Fixed),
    ("state", STATE),
    ("lastState", STATE),
]));

const CONTAINERS: Rule = List(&Object(&[
    ("name", Name(Container)),
    ("image", Image),
    ("command", Arguments),
    ("args", Arguments),
]));

const POD: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    (
        "spec",
        Object(&[
            ("nodeName", Name(Node)),
            (
                "initContainers",
                List(&Object(&[("name", Name(Container)), ("image", Image)])),
            ),
            ("containers", CONTAINERS),
            ("volumes", List(&Rule::Volume)),
        ]),
    ),
    (
        "status",
        Object(&[
            ("phase", Word),
            ("reason", Word),
            ("message", Message),
            ("startTime", Time),
            ("conditions", CONDITIONS),
            ("initContainerStatuses", CONTAINER_STATUSES),
            ("containerStatuses", CONTAINER_STATUSES),
        ]),
    ),
]);

const NODE: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    (
        "spec",
        Object(&[
            ("unschedulable", Fixed),
            (
                "taints",
                List(&Object(&[("key", Word), ("value", Word), ("effect", Word)])),
            ),
        ]),
    ),
    ("status", Object(&[("conditions", CONDITIONS)])),
]);

const TOLERATIONS: Rule = List(&Object(&[
    ("key", Word),
    ("operator", Word),
    ("value", Word),
    ("effect", Word),
]));

const WORKLOAD: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    (
        "spec",
        Object(&[(
            "template",
            Object(&[
                ("metadata", Object(&[("labels", Labels)])),
                (
                    "spec",
                    Object(&[
                        ("containers", CONTAINERS),
                        ("tolerations", TOLERATIONS),
                        ("hostNetwork", Fixed),
                    ]),
                ),
            ]),
        )]),
    ),
    (
        "status",
        Object(&[("desiredNumberScheduled", Fixed), ("numberReady", Fixed)]),
    ),
]);

const CONFIG_MAP: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    ("data", Data),
]);

const CLAIM: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    (
        "spec",
        Object(&[
            ("volumeName", Name(NameKind::Volume)),
            ("storageClassName", Name(StorageClass)),
        ]),
    ),
    ("status", Object(&[("phase", Word)])),
]);

const VOLUME_SNAPSHOT: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    (
        "status",
        Object(&[
            ("readyToUse", Fixed),
            ("error", Object(&[("message", Message)])),
        ]),
    ),
]);

const ABOUT: Rule = Reference(&[
    ("kind", Word),
    ("namespace", Name(Namespace)),
    ("uid", Name(Uid)),
]);

const EVENT: Rule = Object(&[
    ("apiVersion", ApiVersion),
    ("kind", Word),
    ("metadata", META),
    ("involvedObject", ABOUT),
    ("regarding", ABOUT),
    ("type", Word),
    ("reason", Word),
    ("message", Message),
    ("note", Message),
    ("firstTimestamp", Time),
    ("lastTimestamp", Time),
    ("deprecatedFirstTimestamp", Time),
    ("deprecatedLastTimestamp", Time),
    ("eventTime", Time),
    ("count", Fixed),
    ("deprecatedCount", Fixed),
    (
        "series",
        Object(&[("count", Fixed), ("lastObservedTime", Time)]),
    ),
]);

/// Returns what is taken of an object of a resource, and what its name names.
pub(super) const fn of(resource: ResourceKind) -> (&'static Rule, NameKind) {
    match resource {
        ResourceKind::Task(_) => (&TASK, NameKind::Task),
        ResourceKind::Backup => (&PARENT, NameKind::Backup),
        ResourceKind::Restore => (&PARENT, NameKind::Restore),
        ResourceKind::Pod => (&POD, NameKind::Pod),
        ResourceKind::Node => (&NODE, NameKind::Node),
        ResourceKind::DaemonSet => (&WORKLOAD, NameKind::DaemonSet),
        ResourceKind::Deployment => (&WORKLOAD, NameKind::Deployment),
        ResourceKind::ConfigMap => (&CONFIG_MAP, NameKind::ConfigMap),
        ResourceKind::PersistentVolumeClaim => (&CLAIM, NameKind::Claim),
        ResourceKind::VolumeSnapshot => (&VOLUME_SNAPSHOT, NameKind::Snapshot),
        ResourceKind::Event => (&EVENT, NameKind::Event),
    }
}

/// Returns what the name of an object of some kind names.
pub(super) fn name_of_kind(kind: &str) -> NameKind {
    match kind {
        "DataUpload" | "DataDownload" | "PodVolumeBackup" | "PodVolumeRestore" => NameKind::Task,
        "Backup" => NameKind::Backup,
        "Restore" => NameKind::Restore,
        "Pod" => NameKind::Pod,
        "Node" => NameKind::Node,
        "DaemonSet" => NameKind::DaemonSet,
        "Deployment" => NameKind::Deployment,
        "ConfigMap" => NameKind::ConfigMap,
        "PersistentVolumeClaim" => NameKind::Claim,
        "PersistentVolume" => NameKind::Volume,
        "VolumeSnapshot" => NameKind::Snapshot,
        "StorageClass" => NameKind::StorageClass,
        // Kinds are text of the cluster; there is no end of them.
        _ => NameKind::Owner,
    }
}
