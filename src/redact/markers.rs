//! The texts that Velero and Kubernetes write and that something is concluded from: they stay as they are, even
//! where a node is called `node` and a namespace `backup`.

use crate::snapshot::log_evidence::marker_texts;

/// The texts that the reader of logs and the rules of the diagnosis look for, beside those of
/// [`crate::snapshot::log_evidence`]. A rule that looks for another one belongs in here.
const TEXTS: [&str; 53] = [
    "Starting Velero node-agent server",
    "VGDP loads are constrained with ",
    "No node-agent configMap is specified",
    "Node agent configs are not found",
    "Concurrency configs are not found",
    "Use the per node number ",
    "use the global number ",
    "use the default number ",
    "use the default value ",
    "should be processed by ",
    " is canceled in Phase ",
    "begin diagnose",
    "end diagnose",
    "into canceling status",
    "MicroServiceBR",
    "FileSystemBR",
    "reflector.go",
    "failed to ",
    "Failed to ",
    "during the node-agent starting",
    "during the server starting, mark it as",
    "during the velero server starting",
    "InProgress dataupload failed with error",
    "failed with error",
    "legacy podvolumerestore with status",
    "Resume InProgress",
    "because it is being deleted",
    "is being deleted, mark",
    "timeout on preparing",
    "with expose error",
    "in abnormal status",
    "on pod volume timeout",
    "data path is canceled",
    "in Accepted status",
    "Query queue length for ",
    "node agent configs",
    "node-agent configs",
    "config map",
    "configMap",
    "configmap",
    "ConfigMap",
    "more than one keys",
    "not found",
    "error to unmarshall configs",
    "data is not available in config map",
    "error getting node agent configs",
    "unbound immediate PersistentVolumeClaims",
    "persistentvolumeclaim",
    "Pod was rejected",
    "Predicate ",
    "mount",
    "attach",
    "Velero not found",
];

/// Returns every text that must stay.
pub(super) fn markers() -> impl Iterator<Item = &'static str> {
    TEXTS.into_iter().chain(marker_texts())
}
