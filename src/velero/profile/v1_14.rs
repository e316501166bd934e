//! What v1.14 changed: Accepted tasks are looked at, and the prepare timeout was lost.

use super::v1_13::V1_13_1;
use super::{
    CancelHandling, PeekExposed, PrepareTimeoutBase, Profile, StartTimestamp, Unschedulable,
};

pub(super) const V1_14_0: Profile = Profile {
    since: "v1.14.0",
    // pkg/nodeagent/node_agent.go.
    config_keys: &["loadConcurrency", "loadAffinity"],
    // pkg/exposer/csi_snapshot.go, generic_restore.go: PeekExposed.
    peek_exposed: PeekExposed::CancelsTask,
    // pkg/util/kube/pod.go: the condition PodScheduled with reason Unschedulable.
    unschedulable: Unschedulable::Unrecoverable,
    // pkg/controller/data_upload_controller.go: InProgress is ended by status.node alone.
    cancel: CancelHandling::AtOnceOwnerRuns,
    // v1.14.1 pkg/controller/data_upload_controller.go: accept writes no startTimestamp any more, and
    // the timeout still reads it.
    start_timestamp: StartTimestamp::InProgressTime,
    prepare_timeout_base: PrepareTimeoutBase::Never,
    ..V1_13_1
};

pub(super) const V1_14_1: Profile = Profile {
    since: "v1.14.1",
    // pkg/util/kube/pod.go (d21d41382): taken back.
    unschedulable: Unschedulable::MayRecover,
    ..V1_14_0
};
