//! What the development branch changed, as of 2026-08-21.

use super::v1_18::V1_18_0;
use super::{BadRestoreTarget, FsBackupTimeout, Profile, ResticRestore};

pub(super) const MAIN: Profile = Profile {
    since: "main",
    // pkg/types/node_agent.go.
    config_keys: &[
        "loadConcurrency",
        "loadAffinity",
        "backupPVC",
        "podResources",
        "restorePVC",
        "priorityClassName",
        "privilegedFsBackup",
        "cachePVC",
        "podAnnotations",
        "podLabels",
        "csiSnapshotMetadataServiceConfigs",
    ],
    // The legacy controller is gone (PR 9732).
    restic_restore: ResticRestore::Ignored,
    // pkg/util/datamover/datamover.go.
    data_movers: &["", "velero", "velero-fs", "velero-block"],
    // pkg/controller/pod_volume_restore_controller.go (PR 10005).
    bad_restore_target: BadRestoreTarget::Fails,
    // pkg/podvolume/backupper.go (PR 10007).
    fs_backup_timeout: FsBackupTimeout::CancelsBackups,
    ..V1_18_0
};
