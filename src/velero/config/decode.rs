//! The decoder behind [`super::NodeAgentConfig::decode`].
//!
//! It follows `encoding/json` into a struct that already holds values: `null` keeps or clears, a key
//! that comes twice is assigned twice, and lists and maps that are assigned twice are merged.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::fields::{boolean, integer, list, object, text, text_map};
use super::go_json::{check_depth, field, is_key};
use super::{ConfigIssue, LoadConcurrency, NodeAgentConfig, PREPARE_QUEUE_PATH, RuledConfig};
use crate::velero::selector::{LabelSelector, Requirement};

pub(super) fn decode(document: &str, known_keys: &[&str]) -> Result<NodeAgentConfig, String> {
    // Velero decodes with encoding/json, so YAML that is not JSON ends here, as it does there.
    let raw: &RawValue =
        serde_json::from_str(document).map_err(|error| format!("not JSON: {error}"))?;
    check_depth(document)?;
    let mut reader = Reader::default();
    let mut config = NodeAgentConfig::default();
    for (key, value) in object("", raw)?.unwrap_or_default() {
        reader.top_level(&mut config, known_keys, &key, value)?;
    }
    if let Some(load) = &config.load_concurrency {
        reader.check(load);
    }
    reader.issues.sort();
    reader.issues.dedup();
    config.issues = reader.issues;
    Ok(config)
}

/// What is gathered beside the values.
#[derive(Default)]
struct Reader {
    issues: Vec<ConfigIssue>,
    global_config_is_written: bool,
}

/// The type of a field whose value has no bearing on slots, but whose wrong type fails the document.
enum Shape {
    Text,
    Bool,
    Integer,
    TextMap,
    Selector,
    Struct(&'static [(&'static str, Self)]),
    List(&'static Self),
    Map(&'static Self),
}

/// The fields that every release with the top-level key reads inside it (v1.18.2 `pkg/types/node_agent.go`,
/// `pkg/util/kube/pod.go`). Fields added to them later on main are not checked.
fn shape(key: &str) -> Option<Shape> {
    match key {
        "loadAffinity" => Some(Shape::List(&Shape::Struct(&[(
            "nodeSelector",
            Shape::Selector,
        )]))),
        "backupPVC" => Some(Shape::Map(&Shape::Struct(&[
            ("storageClass", Shape::Text),
            ("readOnly", Shape::Bool),
            ("spcNoRelabeling", Shape::Bool),
        ]))),
        "podResources" => Some(Shape::Struct(&[
            ("cpuRequest", Shape::Text),
            ("cpuLimit", Shape::Text),
            ("memoryRequest", Shape::Text),
            ("memoryLimit", Shape::Text),
        ])),
        "restorePVC" => Some(Shape::Struct(&[("ignoreDelayBinding", Shape::Bool)])),
        "priorityClassName" => Some(Shape::Text),
        "privilegedFsBackup" => Some(Shape::Bool),
        "cachePVC" => Some(Shape::Struct(&[
            ("storageClass", Shape::Text),
            ("residentThresholdInMB", Shape::Integer),
        ])),
        "podAnnotations" | "podLabels" => Some(Shape::TextMap),
        "csiSnapshotMetadataServiceConfigs" => Some(Shape::Struct(&[("saName", Shape::Text)])),
        _ => None,
    }
}

impl Reader {
    fn top_level(
        &mut self,
        config: &mut NodeAgentConfig,
        known_keys: &[&str],
        key: &str,
        value: &RawValue,
    ) -> Result<(), String> {
        match field(key, known_keys) {
            Some("loadConcurrency") => {
                self.load_concurrency(&mut config.load_concurrency, value)?;
                config.keys.insert("loadConcurrency".to_owned());
                if Self::has_prepare_queue(value)? {
                    config.keys.insert(PREPARE_QUEUE_PATH.to_owned());
                }
            }
            Some(known) => {
                if let Some(shape) = shape(known) {
                    self.check_shape(known, value, &shape)?;
                }
                config.keys.insert(known.to_owned());
            }
            None if is_key(key, "prepareQueueLength") => {
                let value = value
                    .get()
                    .chars()
                    .take(super::fields::QUOTED_CHARS)
                    .collect();
                self.issues
                    .push(ConfigIssue::TopLevelPrepareQueueLength { value });
            }
            None => self.unknown("", key),
        }
        Ok(())
    }

    fn has_prepare_queue(load: &RawValue) -> Result<bool, String> {
        let pairs = object("loadConcurrency", load)?.unwrap_or_default();
        Ok(pairs
            .iter()
            .any(|(key, _)| is_key(key, "prepareQueueLength")))
    }

    fn load_concurrency(
        &mut self,
        load: &mut Option<LoadConcurrency>,
        raw: &RawValue,
    ) -> Result<(), String> {
        const PATH: &str = "loadConcurrency";
        let Some(pairs) = object(PATH, raw)? else {
            *load = None;
            self.global_config_is_written = false;
            return Ok(());
        };
        let load = load.get_or_insert_default();
        for (key, value) in pairs {
            match field(
                &key,
                &["globalConfig", "perNodeConfig", "prepareQueueLength"],
            ) {
                Some("globalConfig") => {
                    if integer(
                        "loadConcurrency.globalConfig",
                        value,
                        &mut load.global_config,
                    )? {
                        self.global_config_is_written = true;
                    }
                }
                Some("perNodeConfig") => self.per_node_config(&mut load.per_node_config, value)?,
                Some(_) => {
                    integer(PREPARE_QUEUE_PATH, value, &mut load.prepare_queue_length)?;
                }
                None => self.unknown(PATH, &key),
            }
        }
        Ok(())
    }

    fn per_node_config(
        &mut self,
        rules: &mut Vec<RuledConfig>,
        raw: &RawValue,
    ) -> Result<(), String> {
        const PATH: &str = "loadConcurrency.perNodeConfig";
        list(PATH, raw, rules, |path, value, rule| {
            for (key, value) in object(path, value)?.unwrap_or_default() {
                match field(&key, &["nodeSelector", "number"]) {
                    Some("nodeSelector") => {
                        let path = format!("{path}.nodeSelector");
                        self.selector(&path, value, &mut rule.node_selector)?;
                    }
                    Some(_) => {
                        integer(&format!("{path}.number"), value, &mut rule.number)?;
                    }
                    None => self.unknown(path, &key),
                }
            }
            Ok(())
        })
    }

    fn selector(
        &mut self,
        path: &str,
        raw: &RawValue,
        selector: &mut LabelSelector,
    ) -> Result<(), String> {
        for (key, value) in object(path, raw)?.unwrap_or_default() {
            match field(&key, &["matchLabels", "matchExpressions"]) {
                Some("matchLabels") => text_map(
                    &format!("{path}.matchLabels"),
                    value,
                    &mut selector.match_labels,
                )?,
                Some(_) => {
                    let path = format!("{path}.matchExpressions");
                    list(
                        &path,
                        value,
                        &mut selector.match_expressions,
                        |path, value, requirement| self.requirement(path, value, requirement),
                    )?;
                }
                None => self.unknown(path, &key),
            }
        }
        Ok(())
    }

    fn requirement(
        &mut self,
        path: &str,
        raw: &RawValue,
        requirement: &mut Requirement,
    ) -> Result<(), String> {
        for (key, value) in object(path, raw)?.unwrap_or_default() {
            match field(&key, &["key", "operator", "values"]) {
                Some("key") => text(&format!("{path}.key"), value, &mut requirement.key)?,
                Some("operator") => {
                    text(
                        &format!("{path}.operator"),
                        value,
                        &mut requirement.operator,
                    )?;
                }
                Some(_) => list(
                    &format!("{path}.values"),
                    value,
                    &mut requirement.values,
                    text,
                )?,
                None => self.unknown(path, &key),
            }
        }
        Ok(())
    }

    /// Checks the type of a value that has no bearing on slots.
    fn check_shape(&mut self, path: &str, raw: &RawValue, shape: &Shape) -> Result<(), String> {
        match shape {
            Shape::Text => text(path, raw, &mut String::new()),
            Shape::Bool => boolean(path, raw),
            Shape::Integer => integer(path, raw, &mut 0).map(drop),
            Shape::TextMap => text_map(path, raw, &mut BTreeMap::new()),
            // Its unknown keys have no bearing on slots: they are not reported.
            Shape::Selector => Self::default().selector(path, raw, &mut LabelSelector::default()),
            Shape::Struct(fields) => {
                for (key, value) in object(path, raw)?.unwrap_or_default() {
                    let known = fields.iter().find(|(name, _)| is_key(&key, name));
                    if let Some((name, shape)) = known {
                        self.check_shape(&format!("{path}.{name}"), value, shape)?;
                    }
                }
                Ok(())
            }
            Shape::Map(shape) => {
                for (key, value) in object(path, raw)?.unwrap_or_default() {
                    self.check_shape(&format!("{path}.{key}"), value, shape)?;
                }
                Ok(())
            }
            Shape::List(shape) => list(path, raw, &mut Vec::new(), |path, value, (): &mut ()| {
                self.check_shape(path, value, shape)
            }),
        }
    }

    fn unknown(&mut self, path: &str, key: &str) {
        let path = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        self.issues.push(ConfigIssue::UnknownKey { path });
    }

    /// Notes the numbers and selectors that Velero would warn about and pass over.
    fn check(&mut self, load: &LoadConcurrency) {
        // An absent globalConfig reads as 0, too, but nobody wrote it down.
        if self.global_config_is_written && load.global_config <= 0 {
            self.issues.push(ConfigIssue::InvalidNumber {
                path: "loadConcurrency.globalConfig".to_owned(),
                value: load.global_config,
            });
        }
        for (index, rule) in load.per_node_config.iter().enumerate() {
            let path = format!("loadConcurrency.perNodeConfig[{index}]");
            if rule.number <= 0 {
                self.issues.push(ConfigIssue::InvalidNumber {
                    path: format!("{path}.number"),
                    value: rule.number,
                });
            }
            if let Err(error) = rule.node_selector.validate() {
                self.issues.push(ConfigIssue::InvalidSelector {
                    path: format!("{path}.nodeSelector"),
                    why: error.to_string(),
                });
            }
        }
    }
}
