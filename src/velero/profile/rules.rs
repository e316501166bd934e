//! Questions about a profile that the other layers ask.

use super::{
    AgentLabel, CancelHandling, ConfigSource, LimitScope, LimitedWhen, OnRestart, Owner, Periodic,
    PrepareQueue, PrepareTimeoutBase, Profile, ResticRestore, Worker,
};
use crate::velero::task::{Phase, TaskKind};

/// The name of the ConfigMap before the flag existed (v1.13.2, v1.14.1 `pkg/nodeagent/node_agent.go`).
const FIXED_CONFIG_MAP: &str = "node-agent-config";

/// `spec.uploaderType` of tasks moved by restic.
const RESTIC: &str = "restic";

/// Seconds until a cancel that the controller handles at once counts as overdue: twice the periodic look.
const CANCEL_AT_ONCE_OVERDUE_SECONDS: i64 = 2 * 60;

/// Seconds until a forced cancel counts as overdue: the delay of 5 minutes
/// (main `pkg/controller/data_upload_controller.go`), the periodic look, and one minute to spare.
const CANCEL_FORCED_OVERDUE_SECONDS: i64 = 7 * 60;

/// Which ConfigMap a node-agent reads when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigMapRead<'a> {
    /// None: the release has no configuration.
    NoSuchFeature,
    /// None: `--node-agent-configmap` is not given.
    FlagMissing,
    /// This one, in Velero's namespace.
    Named(&'a str),
}

/// When a requested cancel that had no effect counts as stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOverdue {
    /// Never: the phase is final or unknown, or the kind has no cancel in this release.
    Never,
    /// After this many seconds.
    AfterSeconds(i64),
    /// After the threshold of the user: nothing in this release ends it, but the work may take its time.
    AfterThreshold,
}

impl LimitedWhen {
    /// Returns whether a task is refused a slot beside this many entries.
    #[must_use]
    pub const fn refuses(self, entries: i64, limit: i64) -> bool {
        match self {
            Self::Equal => entries == limit,
            Self::AtLeast => entries >= limit,
        }
    }
}

impl AgentLabel {
    /// Returns the label, as key and value.
    #[must_use]
    pub const fn key_value(self) -> (&'static str, &'static str) {
        match self {
            Self::Name => ("name", "node-agent"),
            Self::Role => ("role", "node-agent"),
        }
    }
}

impl Profile {
    /// Returns whether each kind has a pool of slots of its own on every node (v1.12).
    #[must_use]
    pub const fn has_slots_per_kind(&self) -> bool {
        match self.limit_scope {
            LimitScope::PerNodeAndKind => true,
            LimitScope::PerNode => false,
        }
    }

    /// Returns where the work of a task is done, or `None` if this release handles it nowhere.
    ///
    /// `uploader_type` is `spec.uploaderType`; it matters to a PodVolumeRestore only.
    #[must_use]
    pub fn worker(&self, kind: TaskKind, uploader_type: &str) -> Option<Worker> {
        match kind {
            TaskKind::DataUpload | TaskKind::DataDownload => Some(self.data_movement),
            TaskKind::PodVolumeRestore if uploader_type == RESTIC => match self.restic_restore {
                ResticRestore::Same => Some(self.pod_volume),
                ResticRestore::Legacy => Some(Worker::InProcess),
                ResticRestore::Ignored => None,
            },
            TaskKind::PodVolumeBackup | TaskKind::PodVolumeRestore => Some(self.pod_volume),
        }
    }

    /// Returns whether the task has a mover pod that does the work: DataUpload and DataDownload from
    /// v1.15, PodVolumeBackup and PodVolumeRestore from v1.17 except restic restores.
    ///
    /// Before v1.15 a DataUpload or DataDownload has a pause pod, whose end says nothing about the work.
    #[must_use]
    pub fn is_mover_kind(&self, kind: TaskKind, uploader_type: &str) -> bool {
        match self.worker(kind, uploader_type) {
            Some(Worker::MoverPod) => true,
            Some(Worker::InProcessWithPausePod | Worker::InProcess) | None => false,
        }
    }

    /// Returns whether the task passes through Accepted and Prepared and so has a pod, be it a mover pod
    /// or a pause pod. Other tasks wait for their slot in New.
    #[must_use]
    pub fn prepares(&self, kind: TaskKind, uploader_type: &str) -> bool {
        match self.worker(kind, uploader_type) {
            Some(Worker::MoverPod | Worker::InProcessWithPausePod) => true,
            Some(Worker::InProcess) | None => false,
        }
    }

    /// Returns whether `spec.cancel` of the task is looked at: only of kinds that have a pod.
    #[must_use]
    pub fn can_cancel(&self, kind: TaskKind, uploader_type: &str) -> bool {
        self.prepares(kind, uploader_type)
    }

    /// Returns whether Velero moves the data of a DataUpload or DataDownload with this `spec.datamover`
    /// itself. Tasks of any other data mover are passed over in silence and use no slot.
    #[must_use]
    pub fn handles_data_mover(&self, data_mover: &str) -> bool {
        self.data_movers.contains(&data_mover)
    }

    /// Returns whether an Accepted task ends when its prepare timeout has passed
    /// (v1.14.0 to v1.15.0: it does not).
    #[must_use]
    pub fn has_prepare_timeout(&self, kind: TaskKind, uploader_type: &str) -> bool {
        let counts = match self.prepare_timeout_base {
            PrepareTimeoutBase::Never => false,
            PrepareTimeoutBase::StartTimestamp
            | PrepareTimeoutBase::AcceptedAtAnnotation
            | PrepareTimeoutBase::AcceptedTimestamp => true,
        };
        counts && self.prepares(kind, uploader_type)
    }

    /// Returns whether accepted tasks carry the label that the prepare queue counts (v1.17 on).
    #[must_use]
    pub const fn labels_accepted_tasks(&self) -> bool {
        match self.prepare_queue {
            PrepareQueue::Present => true,
            PrepareQueue::Absent => false,
        }
    }

    /// Returns whether a late pod event can put an InProgress task back to Prepared: the write has no
    /// guard but "not final" (v1.17 on, `pkg/controller/data_upload_controller.go`).
    #[must_use]
    pub const fn can_rewind(&self) -> bool {
        match self.owner {
            Owner::StatusNode => true,
            Owner::PodCache => false,
        }
    }

    /// Returns whether the periodic source brings a task in this phase back every minute although no
    /// cancel is requested.
    #[must_use]
    pub fn looks_every_minute(&self, kind: TaskKind, uploader_type: &str, phase: &Phase) -> bool {
        *phase == Phase::Accepted && self.prepares(kind, uploader_type)
    }

    /// Returns whether the periodic source brings a task with `spec.cancel` back every minute in any
    /// phase that is not final (v1.17 on); before, only the write of the flag itself does.
    #[must_use]
    pub fn looks_every_minute_at_cancel(&self, kind: TaskKind, uploader_type: &str) -> bool {
        match self.periodic {
            Periodic::AcceptedDataMovement => false,
            Periodic::AcceptedAndCancelRequested => self.can_cancel(kind, uploader_type),
        }
    }

    /// Returns when a requested cancel counts as stuck in this phase, on a node whose agent works.
    #[must_use]
    pub fn cancel_overdue(
        &self,
        kind: TaskKind,
        uploader_type: &str,
        phase: &Phase,
    ) -> CancelOverdue {
        if !self.can_cancel(kind, uploader_type) {
            return CancelOverdue::Never;
        }
        let is_forced = match self.cancel {
            CancelHandling::ForcedAfterDelay => true,
            CancelHandling::AtOnceByAny
            | CancelHandling::AtOnceOwnerHolds
            | CancelHandling::AtOnceOwnerRuns => false,
        };
        match phase {
            Phase::Accepted | Phase::Canceling if is_forced => {
                CancelOverdue::AfterSeconds(CANCEL_FORCED_OVERDUE_SECONDS)
            }
            Phase::New | Phase::Accepted | Phase::Prepared | Phase::InProgress => {
                CancelOverdue::AfterSeconds(CANCEL_AT_ONCE_OVERDUE_SECONDS)
            }
            Phase::Canceling => CancelOverdue::AfterThreshold,
            Phase::Canceled | Phase::Completed | Phase::Failed | Phase::Other(_) => {
                CancelOverdue::Never
            }
        }
    }

    /// Returns what a starting node-agent does to a task in this phase.
    ///
    /// No release resumes Canceling: the task stays as it is, and its slot is gone with the old process.
    #[must_use]
    pub fn on_restart(&self, kind: TaskKind, uploader_type: &str, phase: &Phase) -> OnRestart {
        let Some(worker) = self.worker(kind, uploader_type) else {
            return OnRestart::Left;
        };
        match (phase, worker) {
            (Phase::Accepted, Worker::MoverPod | Worker::InProcessWithPausePod) => {
                self.restart.accepted
            }
            (Phase::Prepared, Worker::MoverPod | Worker::InProcessWithPausePod) => {
                self.restart.prepared
            }
            (Phase::InProgress, _) if kind.is_data_movement() => self.restart.in_progress,
            // v1.18.2 pkg/cmd/cli/nodeagent/server.go: "get a legacy podvolumerestore with status …".
            (Phase::InProgress, Worker::InProcess) => OnRestart::Failed,
            (Phase::InProgress, Worker::MoverPod | Worker::InProcessWithPausePod) => {
                self.restart.pod_volume_in_progress
            }
            (
                Phase::New
                | Phase::Accepted
                | Phase::Prepared
                | Phase::Canceling
                | Phase::Canceled
                | Phase::Completed
                | Phase::Failed
                | Phase::Other(_),
                _,
            ) => OnRestart::Left,
        }
    }

    /// Returns which ConfigMap a node-agent reads when it starts with this `--node-agent-configmap`
    /// (`None` or empty: not given).
    #[must_use]
    pub fn config_map<'a>(&self, flag: Option<&'a str>) -> ConfigMapRead<'a> {
        match self.config_source {
            ConfigSource::None => ConfigMapRead::NoSuchFeature,
            ConfigSource::FixedName => ConfigMapRead::Named(FIXED_CONFIG_MAP),
            ConfigSource::Flag => flag
                .filter(|name| !name.is_empty())
                .map_or(ConfigMapRead::FlagMissing, ConfigMapRead::Named),
        }
    }
}
