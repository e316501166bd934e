//! The data of a ConfigMap: the configuration of node-agents, with the types, numbers and faults that decide how
//! Velero reads it. What is no such configuration is not kept, only that it is none.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::Redactor;
use super::json::{Type, elements, pairs, push_text, text, type_of};
use super::names::NameKind;
use crate::velero::LabelSelector;

/// A document that is not JSON, for Velero as little as for us.
const NOT_JSON: &str = "not JSON";

/// Deeper than any configuration; Go refuses what is nested more than ten thousand times.
const DEEPEST: usize = 1000;

/// What is known of the fields of the configuration (v1.18.2 `pkg/types/node_agent.go`).
pub(super) enum Field {
    /// A number or a boolean.
    Bare,
    /// A name.
    Name(NameKind),
    /// `operator` of a requirement.
    Operator,
    /// An amount of memory or CPU; it decides nothing.
    Amount,
    Struct(&'static [(&'static str, Self)]),
    List(&'static Self),
    /// Labels, annotations: names on both sides.
    Labels,
    /// A map whose keys are names.
    Map(NameKind, &'static Self),
}

use Field::{Amount, Bare, Labels, List, Map, Name, Operator, Struct};

const SELECTOR: Field = Struct(&[
    ("matchLabels", Labels),
    (
        "matchExpressions",
        List(&Struct(&[
            ("key", Name(NameKind::LabelKey)),
            ("operator", Operator),
            ("values", List(&Name(NameKind::LabelValue))),
        ])),
    ),
]);

const CONFIG: Field = Struct(&[
    (
        "loadConcurrency",
        Struct(&[
            ("globalConfig", Bare),
            (
                "perNodeConfig",
                List(&Struct(&[("nodeSelector", SELECTOR), ("number", Bare)])),
            ),
            ("prepareQueueLength", Bare),
        ]),
    ),
    ("prepareQueueLength", Bare),
    ("loadAffinity", List(&Struct(&[("nodeSelector", SELECTOR)]))),
    (
        "backupPVC",
        Map(
            NameKind::StorageClass,
            &Struct(&[
                ("storageClass", Name(NameKind::StorageClass)),
                ("readOnly", Bare),
                ("spcNoRelabeling", Bare),
            ]),
        ),
    ),
    (
        "podResources",
        Struct(&[
            ("cpuRequest", Amount),
            ("cpuLimit", Amount),
            ("memoryRequest", Amount),
            ("memoryLimit", Amount),
        ]),
    ),
    ("restorePVC", Struct(&[("ignoreDelayBinding", Bare)])),
    ("priorityClassName", Name(NameKind::Owner)),
    ("privilegedFsBackup", Bare),
    (
        "cachePVC",
        Struct(&[
            ("storageClass", Name(NameKind::StorageClass)),
            ("residentThresholdInMB", Bare),
        ]),
    ),
    ("podAnnotations", Labels),
    ("podLabels", Labels),
    (
        "csiSnapshotMetadataServiceConfigs",
        Struct(&[("saName", Name(NameKind::Owner))]),
    ),
]);

/// The kind of a label key: one that Kubernetes refuses must stay refused.
pub(super) fn key_kind(key: &str) -> NameKind {
    let selector = LabelSelector {
        match_labels: BTreeMap::from([(key.to_owned(), String::new())]),
        ..LabelSelector::default()
    };
    match selector.validate() {
        Ok(()) => NameKind::LabelKey,
        Err(_) => NameKind::OddLabelKey,
    }
}

/// The kind of a label value.
pub(super) fn value_kind(value: &str) -> NameKind {
    let selector = LabelSelector {
        match_labels: BTreeMap::from([("key".to_owned(), value.to_owned())]),
        ..LabelSelector::default()
    };
    match selector.validate() {
        Ok(()) => NameKind::LabelValue,
        Err(_) => NameKind::OddLabelValue,
    }
}

impl Redactor {
    /// Notes the names of a ConfigMap's value, and the label keys that selectors look at.
    pub(super) fn note_config(&mut self, value: &str) {
        if let Some(raw) = document(value) {
            self.config_field(&CONFIG, raw, &mut String::new());
        }
    }

    /// Returns a ConfigMap's value.
    pub(super) fn config(&mut self, value: &str) -> String {
        match document(value) {
            Some(raw) => {
                let mut out = String::with_capacity(value.len());
                self.config_field(&CONFIG, raw, &mut out);
                out
            }
            // Whether it could be meant for node-agents is read off this word.
            None if value.to_ascii_lowercase().contains("loadconcurrency") => {
                format!("{NOT_JSON}: loadConcurrency")
            }
            None => NOT_JSON.to_owned(),
        }
    }

    fn config_field(&mut self, field: &Field, raw: &RawValue, out: &mut String) {
        match (type_of(raw), field) {
            (Type::Null, _) => out.push_str("null"),
            (Type::Bare, _) => out.push_str(super::bare(raw)),
            (Type::Text, field) => {
                let Some(value) = text(raw) else {
                    // Escapes that are no text: they stay none.
                    out.push_str("\"\\ud800\"");
                    return;
                };
                let value = self.config_text(field, &value);
                push_text(out, &value);
            }
            (Type::Object, Struct(known)) => self.config_struct(known, raw, out),
            (Type::Object, Labels) => self.config_labels(raw, out),
            (Type::Object, Map(kind, inner)) => {
                self.config_pairs(raw, out, |redactor, key, value, out| {
                    let key = redactor.name(*kind, key);
                    push_text(out, &key);
                    out.push(':');
                    redactor.config_field(inner, value, out);
                });
            }
            (Type::Object, Bare | Name(_) | Operator | Amount | List(_)) => out.push_str("{}"),
            (Type::List, List(inner)) => {
                out.push('[');
                for (index, element) in elements(raw).into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    self.config_field(inner, element, out);
                }
                out.push(']');
            }
            (Type::List, Bare | Name(_) | Operator | Amount | Struct(_) | Labels | Map(..)) => {
                out.push_str("[]");
            }
        }
    }

    fn config_text(&mut self, field: &Field, value: &str) -> String {
        match field {
            Name(NameKind::LabelKey) => {
                self.selector_keys.insert(value.to_owned());
                self.label_key(value)
            }
            Name(NameKind::LabelValue) => self.label_value(value),
            Name(kind) => self.name(*kind, value),
            Operator if ["In", "NotIn", "Exists", "DoesNotExist"].contains(&value) => {
                value.to_owned()
            }
            // An empty operator is one that is not written.
            Operator if value.is_empty() => String::new(),
            Operator | Bare | Amount | Struct(_) | List(_) | Labels | Map(..) => {
                "redacted".to_owned()
            }
        }
    }

    fn config_struct(
        &mut self,
        known: &'static [(&'static str, Field)],
        raw: &RawValue,
        out: &mut String,
    ) {
        self.config_pairs(raw, out, |redactor, key, value, out| {
            // Go ignores the case of keys.
            let folded = fold(key);
            if let Some((name, field)) = known.iter().find(|(name, _)| fold(name) == folded) {
                push_text(out, name);
                out.push(':');
                redactor.config_field(field, value, out);
            } else {
                let key = redactor.name(NameKind::DataKey, key);
                push_text(out, &key);
                out.push_str(":null");
            }
        });
    }

    fn config_labels(&mut self, raw: &RawValue, out: &mut String) {
        self.config_pairs(raw, out, |redactor, key, value, out| {
            redactor.selector_keys.insert(key.to_owned());
            let key = redactor.label_key(key);
            push_text(out, &key);
            out.push(':');
            redactor.config_field(&Name(NameKind::LabelValue), value, out);
        });
    }

    fn config_pairs(
        &mut self,
        raw: &RawValue,
        out: &mut String,
        mut pair: impl FnMut(&mut Self, &str, &RawValue, &mut String),
    ) {
        out.push('{');
        for (index, (key, value)) in pairs(raw).into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            pair(self, &key, value, out);
        }
        out.push('}');
    }
}

/// Parses a value, unless it is nested deeper than any configuration.
fn document(value: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(value).ok()?;
    let mut depth: usize = 0;
    for byte in raw.get().bytes() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return None;
        }
    }
    Some(raw)
}

/// As Go folds the case of keys: two letters outside ASCII count as `s` and `k`.
fn fold(key: &str) -> String {
    key.chars()
        .map(|c| match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}
