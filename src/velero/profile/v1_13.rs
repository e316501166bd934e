//! What v1.13 changed: a limit for the node, and a ConfigMap for its number.

use super::v1_12::V1_12_3;
use super::{BadConfig, ConfigSource, LimitScope, Profile, SeveralKeys};

pub(super) const V1_13_0: Profile = Profile {
    since: "v1.13.0",
    // pkg/cmd/cli/nodeagent/server.go: one data-path manager for the four controllers.
    limit_scope: LimitScope::PerNode,
    // pkg/nodeagent/node_agent.go: the ConfigMap node-agent-config.
    config_source: ConfigSource::FixedName,
    // pkg/cmd/cli/nodeagent/server.go: every error ends in the default number.
    config_missing: BadConfig::UsesDefault,
    config_broken: BadConfig::UsesDefault,
    // pkg/nodeagent/node_agent.go: a loop over the Go map, the last one wins.
    config_several_keys: SeveralKeys::PicksOneAtRandom,
    // pkg/nodeagent/node_agent.go.
    config_keys: &["loadConcurrency"],
    ..V1_12_3
};

pub(super) const V1_13_1: Profile = Profile {
    since: "v1.13.1",
    // pkg/controller/data_upload_controller.go (issue 7308): RequeueAfter five seconds.
    requeue_seconds: 5,
    ..V1_13_0
};
