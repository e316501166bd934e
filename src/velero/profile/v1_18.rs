//! What v1.18 changed: configurations that cannot be used end a starting node-agent.

use super::v1_17::V1_17_0;
use super::{BadConfig, Profile, SeveralKeys};

pub(super) const V1_18_0: Profile = Profile {
    since: "v1.18.0",
    // v1.18.2 pkg/nodeagent/node_agent.go: "only expect one".
    config_several_keys: SeveralKeys::Exits,
    // v1.18.2 pkg/cmd/cli/nodeagent/server.go: the ConfigMap of --backup-repository-configmap.
    repository_config_missing: BadConfig::Exits,
    // v1.18.2 pkg/types/node_agent.go.
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
    ],
    ..V1_17_0
};
