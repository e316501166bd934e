//! What the v1.12 releases do: the base of everything, and two patch releases.

use super::{
    AcceptedBy, AgentLabel, BadConfig, BadRestoreTarget, CancelHandling, ConfigSource,
    FsBackupTimeout, LimitScope, LimitedWhen, MissingPod, OnRestart, Owner, PeekExposed, Periodic,
    PrepareQueue, PrepareTimeoutBase, Profile, RestartRules, ResticRestore, SeveralKeys,
    StartTimestamp, Unschedulable, Worker,
};

pub(super) const V1_12_0: Profile = Profile {
    since: "v1.12.0",
    // v1.12.4 pkg/controller/data_upload_controller.go and its three siblings: each `NewManager(1)`.
    limit_scope: LimitScope::PerNodeAndKind,
    // v1.12.4 pkg/datapath/manager.go.
    limited_when: LimitedWhen::Equal,
    // v1.12.4 pkg/controller/data_upload_controller.go: RequeueAfter one minute.
    requeue_seconds: 60,
    // v1.12 has no node-agent configuration at all.
    config_source: ConfigSource::None,
    config_missing: BadConfig::NotRead,
    config_broken: BadConfig::NotRead,
    config_several_keys: SeveralKeys::NotRead,
    repository_config_missing: BadConfig::NotRead,
    config_keys: &[],
    prepare_queue: PrepareQueue::Absent,
    // v1.12.4 pkg/controller/data_upload_controller.go: label velero.io/accepted-by, and accept writes startTimestamp.
    accepted_by: AcceptedBy::Label,
    prepare_timeout_base: PrepareTimeoutBase::StartTimestamp,
    start_timestamp: StartTimestamp::AcceptTime,
    // v1.12.4 pkg/exposer/csi_snapshot.go, generic_restore.go: the pod from the node-filtered cache, none is no error.
    owner: Owner::PodCache,
    missing_pod_when_prepared: MissingPod::SilentReturn,
    // v1.12.4 pkg/exposer: the pod runs `/velero-helper pause`.
    data_movement: Worker::InProcessWithPausePod,
    // v1.12.4 pkg/controller/pod_volume_backup_controller.go, pod_volume_restore_controller.go.
    pod_volume: Worker::InProcess,
    restic_restore: ResticRestore::Same,
    // v1.12.4 pkg/datamover/util.go.
    data_movers: &["", "velero"],
    peek_exposed: PeekExposed::Absent,
    unschedulable: Unschedulable::MayRecover,
    // v1.12.1 pkg/controller/data_upload_controller.go: without the data path nothing is done in InProgress.
    cancel: CancelHandling::AtOnceOwnerHolds,
    // v1.12.4 pkg/controller/data_upload_controller.go: preparing tasks only.
    periodic: Periodic::AcceptedDataMovement,
    // v1.12.2 pkg/controller/data_upload_controller.go: whatever has its pod on this node is cancelled;
    // v1.12.4 pkg/cmd/cli/nodeagent/server.go: InProgress pod volumes are marked Failed.
    restart: RestartRules {
        accepted: OnRestart::CanceledOnThisNode,
        prepared: OnRestart::CanceledOnThisNode,
        in_progress: OnRestart::CanceledOnThisNode,
        pod_volume_in_progress: OnRestart::Failed,
    },
    // v1.15.2 pkg/install/daemonset.go and all before: label name=node-agent.
    agent_label: AgentLabel::Name,
    bad_restore_target: BadRestoreTarget::Waits,
    fs_backup_timeout: FsBackupTimeout::StopsWaiting,
};

pub(super) const V1_12_2: Profile = Profile {
    since: "v1.12.2",
    // pkg/controller/data_upload_controller.go: any node-agent ends an InProgress task that it does not hold.
    cancel: CancelHandling::AtOnceByAny,
    ..V1_12_0
};

pub(super) const V1_12_3: Profile = Profile {
    since: "v1.12.3",
    // pkg/controller/data_upload_controller.go (PR 7130): only Accepted tasks that this node accepted are
    // cancelled, Prepared ones start again.
    restart: RestartRules {
        accepted: OnRestart::CanceledIfAcceptor,
        prepared: OnRestart::Left,
        ..V1_12_2.restart
    },
    ..V1_12_2
};
