//! What v1.15 changed: mover pods for DataUpload and DataDownload, and a flag that names the ConfigMap.

use super::v1_14::V1_14_1;
use super::{
    AcceptedBy, ConfigSource, LimitedWhen, OnRestart, PrepareTimeoutBase, Profile, RestartRules,
    Worker,
};

pub(super) const V1_15_0: Profile = Profile {
    since: "v1.15.0",
    // v1.15.2 pkg/datapath/manager.go: needed since resumed tasks may exceed the limit.
    limited_when: LimitedWhen::AtLeast,
    // v1.15.2 pkg/cmd/cli/nodeagent/server.go: --node-agent-configmap.
    config_source: ConfigSource::Flag,
    // v1.15.2 pkg/nodeagent/node_agent.go.
    config_keys: &[
        "loadConcurrency",
        "loadAffinity",
        "backupPVC",
        "podResources",
    ],
    // v1.15.2 pkg/datapath/micro_service_watcher.go, pkg/datamover.
    data_movement: Worker::MoverPod,
    // v1.15.2 pkg/controller/data_upload_controller.go: InProgress is resumed by its node; every Accepted
    // task of the namespace is cancelled by whichever node-agent starts.
    restart: RestartRules {
        accepted: OnRestart::CanceledEverywhere,
        in_progress: OnRestart::Resumed,
        ..V1_14_1.restart
    },
    ..V1_14_1
};

pub(super) const V1_15_1: Profile = Profile {
    since: "v1.15.1",
    // v1.15.2 pkg/controller/data_upload_controller.go (PR 8496, issue 8485): annotations
    // velero.io/accepted-by and velero.io/accepted-at, and the timeout counts again.
    accepted_by: AcceptedBy::Annotations,
    prepare_timeout_base: PrepareTimeoutBase::AcceptedAtAnnotation,
    ..V1_15_0
};
