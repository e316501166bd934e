//! How one line of Velero releases admits tasks.
//!
//! A [`Profile`] belongs to a node-agent, not to a cluster: during a rollout agents of two releases run
//! side by side, and the rules are those of the agent that acts. Each constant states only what its
//! release changed. Nobody outside this module compares versions: [`VeleroVersion`] has no order.

mod known_bugs;
mod main;
mod releases;
mod rules;
mod v1_12;
mod v1_13;
mod v1_14;
mod v1_15;
mod v1_16;
mod v1_17;
mod v1_18;
mod version;

pub use known_bugs::KnownBug;
pub use releases::{FieldEvidence, Known, TooOld};
pub use rules::{CancelOverdue, ConfigMapRead};
pub use version::VeleroVersion;

/// How one line of releases admits tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The first release with these rules, such as `v1.17.1`; `main` for the development branch.
    pub since: &'static str,
    /// Which tasks share a limit.
    pub limit_scope: LimitScope,
    /// The comparison that refuses a slot.
    pub limited_when: LimitedWhen,
    /// Seconds after which a refused task asks again.
    pub requeue_seconds: i64,
    /// Where the concurrency number comes from.
    pub config_source: ConfigSource,
    /// What a node-agent that starts does when its ConfigMap is not there.
    pub config_missing: BadConfig,
    /// What it does when the ConfigMap has no `data`, or the value is not the JSON expected.
    pub config_broken: BadConfig,
    /// What it does when the ConfigMap has more than one key.
    pub config_several_keys: SeveralKeys,
    /// Whether a missing or empty `--backup-repository-configmap` ends a starting node-agent.
    pub repository_config_missing: BadConfig,
    /// The keys read at the top level of the configuration document.
    pub config_keys: &'static [&'static str],
    /// Whether `loadConcurrency.prepareQueueLength` exists.
    pub prepare_queue: PrepareQueue,
    /// Where the acceptor of a DataUpload or DataDownload is written.
    pub accepted_by: AcceptedBy,
    /// From when the prepare timeout of an Accepted task counts.
    pub prepare_timeout_base: PrepareTimeoutBase,
    /// Which node-agent may run a Prepared DataUpload or DataDownload.
    pub owner: Owner,
    /// Where the work of a DataUpload or DataDownload is done.
    pub data_movement: Worker,
    /// Where the work of a PodVolumeBackup or PodVolumeRestore is done, and which phases they have.
    pub pod_volume: Worker,
    /// Who handles a PodVolumeRestore whose `spec.uploaderType` is `restic`.
    pub restic_restore: ResticRestore,
    /// `spec.datamover` values that Velero handles itself.
    pub data_movers: &'static [&'static str],
    /// Whether a periodic look at an Accepted task also checks the mover pod.
    pub peek_exposed: PeekExposed,
    /// Whether a pod that is `Unschedulable` counts as unrecoverable.
    pub unschedulable: Unschedulable,
    /// What a Prepared task without a mover pod on its node comes to.
    pub missing_pod_when_prepared: MissingPod,
    /// How `spec.cancel` is handled.
    pub cancel: CancelHandling,
    /// What the periodic source looks at every minute.
    pub periodic: Periodic,
    /// What a starting node-agent does to the tasks it finds.
    pub restart: RestartRules,
    /// What `status.startTimestamp` of a DataUpload or DataDownload says.
    pub start_timestamp: StartTimestamp,
    /// The label by which Velero finds its own node-agents.
    pub agent_label: AgentLabel,
    /// What a PodVolumeRestore does when its target pod can never be ready.
    pub bad_restore_target: BadRestoreTarget,
    /// What the server does to each PodVolumeBackup of a Backup whose `--fs-backup-timeout` has passed.
    pub fs_backup_timeout: FsBackupTimeout,
}

/// Which tasks share one concurrency limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// Each kind has a pool of its own, of one slot (v1.12.4 pkg/controller, `NewManager(1)` four times).
    PerNodeAndKind,
    /// The four kinds of a node share one number (v1.13.0 on, `pkg/cmd/cli/nodeagent/server.go`).
    PerNode,
}

/// The comparison between the number of entries and the limit that refuses a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedWhen {
    /// `len == limit` (v1.12.4, v1.14.1 `pkg/datapath/manager.go`): above the limit everything is admitted.
    Equal,
    /// `len >= limit` (v1.15.2 on).
    AtLeast,
}

/// Where the concurrency number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// Nowhere: always 1 (v1.12).
    None,
    /// The ConfigMap `node-agent-config` (v1.13, v1.14 `pkg/nodeagent/node_agent.go`).
    FixedName,
    /// The ConfigMap that `--node-agent-configmap` names; without the flag none (v1.15 on).
    Flag,
}

/// What a starting node-agent makes of a configuration that it cannot use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadConfig {
    /// It does not look at all.
    NotRead,
    /// It warns and uses the default number 1.
    UsesDefault,
    /// The process ends: every agent pod that starts after the change is in CrashLoopBackOff.
    Exits,
}

/// What more than one key in the ConfigMap means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeveralKeys {
    /// No ConfigMap is read.
    NotRead,
    /// Go's map order decides: one of them, at random (v1.17.2 `pkg/nodeagent/node_agent.go`).
    PicksOneAtRandom,
    /// The process ends (v1.18.2 `pkg/nodeagent/node_agent.go`).
    Exits,
}

/// Whether the cluster-wide gate before Accepted exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrepareQueue {
    /// It does not (before v1.17).
    Absent,
    /// `loadConcurrency.prepareQueueLength` is read (v1.17.0 `pkg/exposer/vgdp_counter.go`).
    Present,
}

/// Where the acceptor of a DataUpload or DataDownload is written, and the time of the accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedBy {
    /// The label `velero.io/accepted-by`, without a time (v1.12 to v1.15.0).
    Label,
    /// The annotations `velero.io/accepted-by` and `velero.io/accepted-at` (v1.15.1, v1.15.2).
    Annotations,
    /// `status.acceptedByNode` and `status.acceptedTimestamp` (v1.16 on).
    Status,
}

/// From when the prepare timeout of an Accepted task counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrepareTimeoutBase {
    /// `status.startTimestamp`, written at accept (v1.12, v1.13).
    StartTimestamp,
    /// Never: the code still reads startTimestamp, but accept no longer writes it (v1.14.0 to v1.15.0).
    Never,
    /// The annotation `velero.io/accepted-at` (v1.15.1, v1.15.2).
    AcceptedAtAnnotation,
    /// `status.acceptedTimestamp` (v1.16 on).
    AcceptedTimestamp,
}

/// Which node-agent may run a Prepared DataUpload or DataDownload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The one that has the mover pod in its node-filtered cache (up to v1.16).
    PodCache,
    /// The one whose node is `status.node` (v1.17 on).
    StatusNode,
}

/// Where the work of a task is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    /// In the node-agent, with a pause pod that only mounts the volume (DataUpload and DataDownload up to v1.14).
    InProcessWithPausePod,
    /// In the node-agent, without a pod and without Accepted, Prepared or cancel (pod volumes up to v1.16).
    InProcess,
    /// In a mover pod (DataUpload and DataDownload from v1.15, pod volumes from v1.17).
    MoverPod,
}

/// Who handles a PodVolumeRestore whose `spec.uploaderType` is `restic`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResticRestore {
    /// The same controller as every other PodVolumeRestore (up to v1.16).
    Same,
    /// A legacy controller, in process, that shares the slots (v1.17, v1.18 `pod_volume_restore_controller_legacy.go`).
    Legacy,
    /// Nobody (main).
    Ignored,
}

/// Whether a look at an Accepted task checks the mover pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeekExposed {
    /// It does not (v1.12, v1.13).
    Absent,
    /// An unrecoverable mover pod ends the task as Canceled (v1.14 on).
    CancelsTask,
}

/// Whether a mover pod that is `Unschedulable` counts as unrecoverable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unschedulable {
    /// It may still be scheduled.
    MayRecover,
    /// It ends the task at once (v1.14.0 `pkg/util/kube/pod.go`, taken back in v1.14.1).
    Unrecoverable,
}

/// What a Prepared task without a mover pod on its node comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingPod {
    /// The reconcile returns without a word and without a retry (up to v1.16).
    SilentReturn,
    /// The task ends as Failed, "no expose result is available for the current node" (v1.17 on).
    Fails,
}

/// How `spec.cancel` is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelHandling {
    /// As soon as the Update event is seen; any node-agent ends an InProgress task whose data path it
    /// does not hold, although the owner still runs it (v1.12.2 to v1.13).
    AtOnceByAny,
    /// As [`Self::AtOnceByAny`], but an InProgress task is left to its owner (v1.12.0, v1.12.1: a
    /// node-agent without the data path returns without action).
    AtOnceOwnerHolds,
    /// At once in New, Accepted and Prepared by any node-agent; InProgress only by `status.node` (v1.14 to v1.16).
    AtOnceOwnerRuns,
    /// At once in New, Prepared (owner) and InProgress (owner); in any other case forced by any
    /// node-agent 5 minutes (InProgress: 1 hour) after it first saw the flag (v1.17 on).
    ForcedAfterDelay,
}

/// What the periodic source of the controllers enqueues every minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Periodic {
    /// Accepted DataUploads and DataDownloads (up to v1.16).
    AcceptedDataMovement,
    /// Accepted, cancel-requested, and deleted final tasks of all four kinds (v1.17 on).
    AcceptedAndCancelRequested,
}

/// What a starting node-agent does to the tasks it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartRules {
    /// Accepted DataUploads and DataDownloads.
    pub accepted: OnRestart,
    /// Prepared DataUploads and DataDownloads.
    pub prepared: OnRestart,
    /// InProgress DataUploads and DataDownloads of this node.
    pub in_progress: OnRestart,
    /// InProgress tasks of this node of the kinds PodVolumeBackup and PodVolumeRestore.
    pub pod_volume_in_progress: OnRestart,
}

/// What a starting node-agent does to a task in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRestart {
    /// The task is left as it is; Prepared tasks start again on the normal path.
    Left,
    /// Cancelled when its pod runs on this node (v1.12.0 to v1.12.2).
    CanceledOnThisNode,
    /// Cancelled when this node accepted it (v1.12.3 to v1.14).
    CanceledIfAcceptor,
    /// Every one in the namespace is cancelled, by any node-agent that starts (v1.15, v1.16).
    CanceledEverywhere,
    /// Resumed; cancelled if that fails (DataUpload, DataDownload from v1.15, pod volumes from v1.17).
    Resumed,
    /// Marked Failed (pod volumes up to v1.16).
    Failed,
}

/// What `status.startTimestamp` of a DataUpload or DataDownload says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartTimestamp {
    /// The time of the accept (v1.12, v1.13).
    AcceptTime,
    /// The time of the change to InProgress, or of the end if the task never ran (v1.14 on).
    InProgressTime,
}

/// The label by which Velero finds its own node-agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentLabel {
    /// `name=node-agent` (up to v1.15).
    Name,
    /// `role=node-agent` (v1.16 on).
    Role,
}

/// What a PodVolumeRestore does when its target pod can never be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRestoreTarget {
    /// It waits.
    Waits,
    /// It ends as Failed, "Pod for this PVR is not ready" (main `pod_volume_restore_controller.go`).
    Fails,
}

/// What the server does when `--fs-backup-timeout` has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsBackupTimeout {
    /// It stops waiting; the tasks go on (v1.12 to v1.18.2).
    StopsWaiting,
    /// It asks for the cancel of each unfinished PodVolumeBackup, "Cancel PVB on pod volume timeout" (main
    /// `pkg/podvolume/backupper.go`). A PodVolumeRestore goes on.
    CancelsBackups,
}

#[cfg(test)]
mod tests;
