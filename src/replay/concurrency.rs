//! The limit of a node, by Velero's own algorithm.
//!
//! It answers what a node-agent that starts *now* would use: the logic is the same in every release
//! since v1.13 (v1.13.2, v1.14.1, v1.15.2, v1.16.2, v1.17.2, v1.18.2, main
//! `pkg/cmd/cli/nodeagent/server.go`), only what comes of a missing or broken ConfigMap differs. Whether
//! the running agent read the same input when it started is not asked here.

use std::collections::BTreeMap;
use std::fmt;

use super::LimitSource;
use crate::velero::profile::{BadConfig, ConfigSource, SeveralKeys};
use crate::velero::{LoadConcurrency, NodeAgentConfig, Profile, RuledConfig};

/// The number that Velero uses where no other is configured (every release: defaultDataPathConcurrentNum).
pub const DEFAULT_NUMBER: i64 = 1;

/// What is known of the ConfigMap that the agent reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigState<'c> {
    /// The agent was given no `--node-agent-configmap`.
    NotNamed,
    /// The ConfigMap does not exist.
    Missing,
    /// The ConfigMap has no `data`.
    NoData,
    /// It has these keys, each with its configuration or why it holds none.
    Keys(Vec<(&'c str, Result<&'c NodeAgentConfig, &'c str>)>),
    /// It could not be read; and why.
    Unreadable(&'c str),
}

impl<'c> ConfigState<'c> {
    /// Takes the decoded keys of a ConfigMap.
    #[must_use]
    pub fn of_keys(keys: &'c BTreeMap<String, Result<NodeAgentConfig, String>>) -> Self {
        if keys.is_empty() {
            return Self::NoData;
        }
        let decoded = keys.iter().map(|(key, config)| {
            let config = config.as_ref().map_err(String::as_str);
            (key.as_str(), config)
        });
        Self::Keys(decoded.collect())
    }
}

/// What is known of the labels of the agent's Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelState<'c> {
    /// They were read.
    Seen(&'c BTreeMap<String, String>),
    /// They were not; the agent itself can read them.
    Unreadable,
}

/// What an agent that starts now would come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOutcome {
    /// This number.
    Number {
        /// The number of tasks that may run at once; on v1.12 for each kind.
        value: i64,
        /// Where it comes from.
        source: LimitSource,
    },
    /// The process ends: it cannot use its configuration.
    AgentExits,
}

/// One step of Velero's algorithm, for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitStep {
    /// The release has no configuration.
    NoSuchFeature,
    /// No ConfigMap is named.
    NotNamed,
    /// The ConfigMap is not usable for this reason; and what the agent makes of it.
    Unusable {
        /// What is wrong.
        what: String,
        /// What a starting agent does.
        then: BadConfig,
    },
    /// More than one key, and one of them is used at random.
    PicksOneOf(Vec<String>),
    /// More than one key, and the agent ends.
    TooManyKeys(Vec<String>),
    /// The steps that follow are of this key.
    Key(String),
    /// There is no `loadConcurrency`.
    NoLoadConcurrency,
    /// `globalConfig` is absent or 0 or less: 1 is used.
    InvalidGlobal(i64),
    /// `globalConfig` is this.
    Global(i64),
    /// A rule whose selector cannot be parsed is skipped.
    SkippedSelector {
        /// Its place in `perNodeConfig`.
        index: usize,
        /// Why.
        why: String,
    },
    /// A rule whose number is 0 or less is skipped.
    SkippedNumber {
        /// Its place in `perNodeConfig`.
        index: usize,
        /// The number.
        number: i64,
    },
    /// A rule matches.
    Matches {
        /// Its place in `perNodeConfig`.
        index: usize,
        /// Its number.
        number: i64,
    },
    /// A rule may match: the labels of the Node are not known.
    MayMatch {
        /// Its place in `perNodeConfig`.
        index: usize,
        /// Its number.
        number: i64,
    },
    /// No rule matches.
    NoMatch,
    /// The ConfigMap could not be read.
    Unreadable(String),
}

/// What the configuration comes to on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredLimit {
    /// Everything a starting agent may come to, by number; empty when the ConfigMap could not be read.
    pub outcomes: Vec<LimitOutcome>,
    /// How that came about, in Velero's own order.
    pub steps: Vec<LimitStep>,
}

impl ConfiguredLimit {
    /// Returns the one number that every agent that starts with this configuration, and runs on, uses;
    /// `None` when there are several or none.
    #[must_use]
    pub fn value(&self) -> Option<i64> {
        let numbers = self.numbers();
        match numbers.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Returns the numbers that are possible, ascending; empty when nothing is known, or when an agent
    /// that starts always ends.
    #[must_use]
    pub fn numbers(&self) -> Vec<i64> {
        let mut numbers: Vec<_> = self
            .outcomes
            .iter()
            .filter_map(|outcome| match outcome {
                LimitOutcome::Number { value, .. } => Some(*value),
                LimitOutcome::AgentExits => None,
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns where the number comes from: [`LimitSource::Unknown`] when it may come from several places.
    #[must_use]
    pub fn source(&self) -> LimitSource {
        let mut sources = self.outcomes.iter().filter_map(|outcome| match outcome {
            LimitOutcome::Number { source, .. } => Some(*source),
            LimitOutcome::AgentExits => None,
        });
        let Some(first) = sources.next() else {
            return LimitSource::Unknown;
        };
        if sources.all(|source| source == first) {
            first
        } else {
            LimitSource::Unknown
        }
    }

    /// Returns whether an agent that starts now with this configuration ends, or may end.
    #[must_use]
    pub fn may_exit(&self) -> bool {
        self.outcomes.contains(&LimitOutcome::AgentExits)
    }

    fn add(&mut self, value: i64, source: LimitSource) {
        self.outcomes.push(LimitOutcome::Number { value, source });
    }

    fn unusable(&mut self, what: String, then: BadConfig) {
        self.steps.push(LimitStep::Unusable { what, then });
        match then {
            BadConfig::NotRead | BadConfig::UsesDefault => {
                self.add(DEFAULT_NUMBER, LimitSource::Default);
            }
            BadConfig::Exits => self.outcomes.push(LimitOutcome::AgentExits),
        }
    }
}

/// Returns the limit that the configuration gives to one node.
#[must_use]
pub fn configured_limit(
    profile: &Profile,
    config: &ConfigState<'_>,
    labels: LabelState<'_>,
) -> ConfiguredLimit {
    let mut limit = ConfiguredLimit::default();
    match (profile.config_source, config) {
        (ConfigSource::None, _) => {
            limit.steps.push(LimitStep::NoSuchFeature);
            limit.add(DEFAULT_NUMBER, LimitSource::Default);
        }
        (ConfigSource::FixedName | ConfigSource::Flag, ConfigState::NotNamed) => {
            limit.steps.push(LimitStep::NotNamed);
            limit.add(DEFAULT_NUMBER, LimitSource::Default);
        }
        (ConfigSource::FixedName | ConfigSource::Flag, ConfigState::Missing) => {
            limit.unusable("it does not exist".to_owned(), profile.config_missing);
        }
        (ConfigSource::FixedName | ConfigSource::Flag, ConfigState::NoData) => {
            limit.unusable("it has no data".to_owned(), profile.config_broken);
        }
        (ConfigSource::FixedName | ConfigSource::Flag, ConfigState::Unreadable(why)) => {
            limit.steps.push(LimitStep::Unreadable((*why).to_owned()));
        }
        (ConfigSource::FixedName | ConfigSource::Flag, ConfigState::Keys(keys)) => {
            of_keys(&mut limit, profile, keys, labels);
        }
    }
    sort(&mut limit.outcomes);
    limit
}

fn of_keys(
    limit: &mut ConfiguredLimit,
    profile: &Profile,
    keys: &[(&str, Result<&NodeAgentConfig, &str>)],
    labels: LabelState<'_>,
) {
    if let [(_, config)] = keys {
        return of_document(limit, profile, *config, labels);
    }
    if keys.is_empty() {
        return limit.unusable("it has no data".to_owned(), profile.config_broken);
    }
    let names = keys.iter().map(|(name, _)| (*name).to_owned()).collect();
    match profile.config_several_keys {
        SeveralKeys::Exits => {
            limit.steps.push(LimitStep::TooManyKeys(names));
            limit.outcomes.push(LimitOutcome::AgentExits);
        }
        // v1.17.2 pkg/nodeagent/node_agent.go: Go's map order decides which value is left.
        SeveralKeys::PicksOneAtRandom | SeveralKeys::NotRead => {
            limit.steps.push(LimitStep::PicksOneOf(names));
            for (name, config) in keys {
                limit.steps.push(LimitStep::Key((*name).to_owned()));
                of_document(limit, profile, *config, labels);
            }
        }
    }
}

fn of_document(
    limit: &mut ConfiguredLimit,
    profile: &Profile,
    config: Result<&NodeAgentConfig, &str>,
    labels: LabelState<'_>,
) {
    match config {
        Err(why) => limit.unusable(why.to_owned(), profile.config_broken),
        Ok(config) => match &config.load_concurrency {
            Some(load) => of_load_concurrency(limit, load, labels),
            None => {
                limit.steps.push(LimitStep::NoLoadConcurrency);
                limit.add(DEFAULT_NUMBER, LimitSource::Default);
            }
        },
    }
}

fn of_load_concurrency(
    limit: &mut ConfiguredLimit,
    load: &LoadConcurrency,
    labels: LabelState<'_>,
) {
    let (global, source) = if load.global_config > 0 {
        limit.steps.push(LimitStep::Global(load.global_config));
        (load.global_config, LimitSource::Global)
    } else {
        limit
            .steps
            .push(LimitStep::InvalidGlobal(load.global_config));
        (DEFAULT_NUMBER, LimitSource::Default)
    };
    let mut smallest = None::<i64>;
    let mut uncertain = Vec::new();
    for (index, rule) in load.per_node_config.iter().enumerate() {
        let number = rule.number;
        // Velero's order of the two checks: the selector first.
        let step = match matches(rule, labels) {
            Err(why) => LimitStep::SkippedSelector { index, why },
            Ok(_) if number <= 0 => LimitStep::SkippedNumber { index, number },
            Ok(Match::No) => continue,
            Ok(Match::Yes) => {
                smallest = Some(smallest.map_or(number, |least| least.min(number)));
                LimitStep::Matches { index, number }
            }
            Ok(Match::Unknown) => {
                uncertain.push(number);
                LimitStep::MayMatch { index, number }
            }
        };
        limit.steps.push(step);
    }
    if smallest.is_none() && uncertain.is_empty() && !load.per_node_config.is_empty() {
        limit.steps.push(LimitStep::NoMatch);
    }
    // A rule that may match takes effect only below the smallest that surely does.
    for number in uncertain {
        if smallest.is_none_or(|least| number < least) {
            limit.add(number, LimitSource::PerNode);
        }
    }
    match smallest {
        Some(number) => limit.add(number, LimitSource::PerNode),
        None => limit.add(global, source),
    }
}

/// Whether a rule matches a node.
enum Match {
    Yes,
    No,
    Unknown,
}

fn matches(rule: &RuledConfig, labels: LabelState<'_>) -> Result<Match, String> {
    let selector = &rule.node_selector;
    selector.validate().map_err(|error| error.to_string())?;
    match labels {
        // An empty selector matches every node, whatever its labels.
        LabelState::Seen(_) | LabelState::Unreadable if selector.is_empty() => Ok(Match::Yes),
        LabelState::Unreadable => Ok(Match::Unknown),
        LabelState::Seen(labels) => selector
            .matches(labels)
            .map(|is_match| if is_match { Match::Yes } else { Match::No })
            .map_err(|error| error.to_string()),
    }
}

/// Orders the outcomes by number, each once, the end of the agent last.
fn sort(outcomes: &mut Vec<LimitOutcome>) {
    outcomes.sort_by_key(|outcome| match outcome {
        LimitOutcome::Number { value, source } => (0, *value, source.as_str()),
        LimitOutcome::AgentExits => (1, 0, ""),
    });
    outcomes.dedup();
}

impl fmt::Display for LimitStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = "loadConcurrency.perNodeConfig";
        match self {
            Self::NoSuchFeature => {
                f.write_str("this release has no configuration: 1 for each kind")
            }
            Self::NotNamed => f.write_str("no --node-agent-configmap is given: 1"),
            Self::Unusable { what, then } => match then {
                BadConfig::NotRead | BadConfig::UsesDefault => {
                    write!(f, "the ConfigMap cannot be used ({what}): 1")
                }
                BadConfig::Exits => {
                    write!(
                        f,
                        "the ConfigMap cannot be used ({what}): an agent that starts exits"
                    )
                }
            },
            Self::PicksOneOf(keys) => write!(
                f,
                "the ConfigMap has {} keys, and one is used at random: {}",
                keys.len(),
                keys.join(", ")
            ),
            Self::TooManyKeys(keys) => write!(
                f,
                "the ConfigMap has {} keys, and an agent that starts exits: {}",
                keys.len(),
                keys.join(", ")
            ),
            Self::Key(key) => write!(f, "if key {key} is used"),
            Self::NoLoadConcurrency => f.write_str("there is no loadConcurrency: 1"),
            Self::InvalidGlobal(number) => write!(
                f,
                "loadConcurrency.globalConfig is absent or not above 0 ({number}): 1"
            ),
            Self::Global(number) => write!(f, "loadConcurrency.globalConfig: {number}"),
            Self::SkippedSelector { index, why } => {
                write!(
                    f,
                    "{rule}[{index}] is skipped, its nodeSelector is invalid: {why}"
                )
            }
            Self::SkippedNumber { index, number } => {
                write!(
                    f,
                    "{rule}[{index}] is skipped, its number is not above 0: {number}"
                )
            }
            Self::Matches { index, number } => {
                write!(f, "{rule}[{index}] matches the node: {number}")
            }
            Self::MayMatch { index, number } => write!(
                f,
                "{rule}[{index}] may match the node, whose labels are not known: {number}"
            ),
            Self::NoMatch => write!(f, "{rule} has no rule for the node"),
            Self::Unreadable(why) => write!(f, "the ConfigMap could not be read: {why}"),
        }
    }
}

#[cfg(test)]
mod tests;
