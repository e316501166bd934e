//! What v1.16 changed: the acceptor is in the status, and node-agents have a label of their own.

use super::v1_15::V1_15_1;
use super::{AcceptedBy, AgentLabel, PrepareTimeoutBase, Profile};

pub(super) const V1_16_0: Profile = Profile {
    since: "v1.16.0",
    // v1.16.2 pkg/nodeagent/node_agent.go.
    config_keys: &[
        "loadConcurrency",
        "loadAffinity",
        "backupPVC",
        "podResources",
        "restorePVC",
    ],
    // v1.16.2 pkg/controller/data_upload_controller.go (PR 8498): status.acceptedByNode, status.acceptedTimestamp.
    accepted_by: AcceptedBy::Status,
    prepare_timeout_base: PrepareTimeoutBase::AcceptedTimestamp,
    // v1.16.0 pkg/install/daemonset.go, v1.16.2 pkg/nodeagent/node_agent.go: role=node-agent.
    agent_label: AgentLabel::Role,
    ..V1_15_1
};
