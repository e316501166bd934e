//! The node-agent ConfigMap, decoded as the node-agent decodes it.
//!
//! The value must be JSON. Velero reads it with Go's `encoding/json`: unknown keys are ignored, key
//! case is ignored, and one value of a wrong type fails the whole document
//! (v1.17.2 `pkg/nodeagent/node_agent.go`, `pkg/types/node_agent.go`).

mod decode;
mod fields;
mod go_json;

use std::collections::BTreeSet;

use super::profile::{PrepareQueue, Profile};
use super::selector::LabelSelector;

/// What a node-agent takes from its ConfigMap, as far as slots are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeAgentConfig {
    /// `loadConcurrency`, or `None` when the key is absent or null.
    pub load_concurrency: Option<LoadConcurrency>,
    /// Settings in the document that have no effect, each with its place; sorted.
    ///
    /// [`Self::issues_for`] adds what one release does not know.
    pub issues: Vec<ConfigIssue>,
    /// The keys written that some release reads: those of the top level, and
    /// `loadConcurrency.prepareQueueLength`.
    pub keys: BTreeSet<String>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// The path of the prepare queue's limit in the document.
const PREPARE_QUEUE_PATH: &str = "loadConcurrency.prepareQueueLength";

impl NodeAgentConfig {
    /// Decodes the value of the ConfigMap's key.
    ///
    /// `known_keys` are the top-level keys that the agent reads ([`Profile::config_keys`]); while the
    /// agent is not known yet, those of [`Profile::newest`], with [`Self::issues_for`] later.
    ///
    /// # Errors
    ///
    /// Why the node-agent cannot use the document: it is not JSON, or a key it reads has a value of a
    /// wrong type. What a node-agent does then is [`Profile::config_broken`].
    ///
    /// ```
    /// use velero_slots::velero::{NodeAgentConfig, Profile};
    ///
    /// let keys = Profile::newest().config_keys;
    /// let config = NodeAgentConfig::decode(r#"{"loadConcurrency":{"globalConfig":2}}"#, keys)?;
    /// assert_eq!(config.load_concurrency.map(|load| load.global_config), Some(2));
    /// assert!(NodeAgentConfig::decode(r#"{"loadConcurrency":{"globalConfig":"2"}}"#, keys).is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn decode(document: &str, known_keys: &[&str]) -> Result<Self, String> {
        decode::decode(document, known_keys)
    }

    /// Returns the settings that have no effect on a node-agent with these rules, sorted: [`Self::issues`]
    /// and the keys that are newer than the agent.
    #[must_use]
    pub fn issues_for(&self, profile: &Profile) -> Vec<ConfigIssue> {
        let is_read = |path: &str| match profile.prepare_queue {
            PrepareQueue::Absent if path == PREPARE_QUEUE_PATH => false,
            PrepareQueue::Absent | PrepareQueue::Present => {
                let top_level = path.split('.').next().unwrap_or_default();
                profile.config_keys.contains(&top_level)
            }
        };
        let newer = self
            .keys
            .iter()
            .filter(|path| !is_read(path))
            .map(|path| ConfigIssue::UnknownKey { path: path.clone() });
        let mut issues: Vec<_> = self.issues.iter().cloned().chain(newer).collect();
        issues.sort();
        issues.dedup();
        issues
    }

    /// Returns `prepareQueueLength` where it puts a prepare queue in force on a node-agent with these
    /// rules (v1.17.2 `pkg/cmd/cli/nodeagent/server.go`: above 0).
    #[must_use]
    pub fn prepare_queue_length(&self, profile: &Profile) -> Option<i64> {
        match profile.prepare_queue {
            PrepareQueue::Absent => None,
            PrepareQueue::Present => self
                .load_concurrency
                .as_ref()
                .map(|load| load.prepare_queue_length)
                .filter(|length| *length > 0),
        }
    }

    /// Returns the node labels that `perNodeConfig` looks at, sorted: a change of one of them after the
    /// agent's start is a drift.
    #[must_use]
    pub fn node_label_keys(&self) -> BTreeSet<&str> {
        self.load_concurrency
            .iter()
            .flat_map(|load| &load.per_node_config)
            .flat_map(|rule| rule.node_selector.label_keys())
            .collect()
    }
}

#[cfg(test)]
mod tests;
