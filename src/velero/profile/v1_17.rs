//! What v1.17 changed: the prepare queue, mover pods for pod volumes, and forced cancels.

use super::v1_16::V1_16_0;
use super::{
    BadConfig, CancelHandling, MissingPod, OnRestart, Owner, Periodic, PrepareQueue, Profile,
    RestartRules, ResticRestore, Worker,
};

pub(super) const V1_17_0: Profile = Profile {
    since: "v1.17.0",
    // v1.17.2 pkg/cmd/cli/nodeagent/server.go: the error is returned, the process ends.
    config_missing: BadConfig::Exits,
    config_broken: BadConfig::Exits,
    // v1.17.2 pkg/types/node_agent.go.
    config_keys: &[
        "loadConcurrency",
        "loadAffinity",
        "backupPVC",
        "podResources",
        "restorePVC",
        "priorityClassName",
        "privilegedFsBackup",
    ],
    // pkg/exposer/vgdp_counter.go (PR 9064, issue 8344).
    prepare_queue: PrepareQueue::Present,
    // v1.17.2 pkg/controller/data_upload_controller.go: status.node must be this node; no pod there is an error.
    owner: Owner::StatusNode,
    missing_pod_when_prepared: MissingPod::Fails,
    // v1.17.2 pkg/exposer/pod_volume.go, pkg/podvolume.
    pod_volume: Worker::MoverPod,
    // v1.17.2 pkg/controller/pod_volume_restore_controller_legacy.go.
    restic_restore: ResticRestore::Legacy,
    // v1.17.2 pkg/controller/data_upload_controller.go (PR 8952): 5 minutes, 1 hour in InProgress.
    cancel: CancelHandling::ForcedAfterDelay,
    periodic: Periodic::AcceptedAndCancelRequested,
    // v1.17.2 pkg/cmd/cli/nodeagent/server.go: Accepted is left, all four kinds are resumed.
    restart: RestartRules {
        accepted: OnRestart::Left,
        pod_volume_in_progress: OnRestart::Resumed,
        ..V1_16_0.restart
    },
    ..V1_16_0
};
