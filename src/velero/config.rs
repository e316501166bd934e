//! The node-agent ConfigMap, decoded as the node-agent decodes it.
//!
//! The value must be JSON. Velero reads it with Go's `encoding/json`: unknown keys are ignored, key
//! case is ignored, and one value of a wrong type fails the whole document
//! (v1.17.2 pkg/nodeagent/node_agent.go, pkg/types/node_agent.go).

use super::selector::LabelSelector;

/// What a node-agent takes from its ConfigMap, as far as slots are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeAgentConfig {
    /// `loadConcurrency`, or `None` when the key is absent or null.
    pub load_concurrency: Option<LoadConcurrency>,
    /// Settings in the document that have no effect, each with its place.
    pub issues: Vec<ConfigIssue>,
}

/// `loadConcurrency` of the node-agent configuration (since v1.13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadConcurrency {
    /// `globalConfig`: absent reads as 0, which Velero calls invalid and replaces by 1.
    pub global_config: i64,
    /// `perNodeConfig[]`, in the order written.
    pub per_node_config: Vec<RuledConfig>,
    /// `prepareQueueLength` (since v1.17); 0 or less means that no prepare queue is in force.
    pub prepare_queue_length: i64,
}

/// One rule of `perNodeConfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuledConfig {
    /// `nodeSelector`; an empty or missing one matches every node.
    pub node_selector: LabelSelector,
    /// `number`; 0 or less makes the node-agent skip the rule.
    pub number: i64,
}

/// A setting that is written down and has no effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigIssue {
    /// `prepareQueueLength` at the top level of the document: silently ignored by every release.
    TopLevelPrepareQueueLength {
        /// The value written.
        value: String,
    },
    /// A key that no release of this profile reads, such as a misspelt one.
    UnknownKey {
        /// Where, such as `loadConcurrency.globalconfigs`.
        path: String,
    },
    /// A concurrency number that is 0 or less.
    InvalidNumber {
        /// Where, such as `loadConcurrency.perNodeConfig[0].number`.
        path: String,
        /// The value written.
        value: i64,
    },
    /// A `nodeSelector` that Kubernetes cannot turn into a selector; the rule is skipped.
    InvalidSelector {
        /// Where, such as `loadConcurrency.perNodeConfig[0].nodeSelector`.
        path: String,
        /// Why.
        why: String,
    },
}
