//! Label selectors with the meaning that Kubernetes gives them.
//!
//! The rules are those of `metav1.LabelSelectorAsSelector` and `labels.NewRequirement`
//! (k8s.io/apimachinery `pkg/apis/meta/v1/helpers.go`, `pkg/labels/selector.go`): one invalid requirement
//! makes the whole selector invalid, whatever the labels are.

use std::collections::{BTreeMap, BTreeSet};

/// `metav1.LabelSelector`: all of `matchLabels` and `matchExpressions` must hold; an empty selector
/// matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// Exact values.
    pub match_labels: BTreeMap<String, String>,
    /// Set-based requirements.
    pub match_expressions: Vec<Requirement>,
}

/// One entry of `matchExpressions`, unchecked: the operator is the text that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// The label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`; anything else is a [`SelectorError`].
    pub operator: String,
    /// The values; must be empty for `Exists` and `DoesNotExist`, and must not be for the others.
    pub values: Vec<String>,
}

/// Why Kubernetes refuses a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

/// The operators of `matchExpressions`; they are case-sensitive.
#[derive(Clone, Copy)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl LabelSelector {
    /// Returns whether the selector has no requirement, and so matches everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Returns the label keys that the selector looks at, sorted: a change of any other label cannot
    /// change its answer.
    #[must_use]
    pub fn label_keys(&self) -> BTreeSet<&str> {
        let exact = self.match_labels.keys().map(String::as_str);
        let set_based = self.match_expressions.iter().map(|r| r.key.as_str());
        exact.chain(set_based).collect()
    }

    /// Checks keys, values and operators.
    ///
    /// # Errors
    ///
    /// The first reason why Kubernetes refuses the selector.
    pub fn validate(&self) -> Result<(), SelectorError> {
        for (key, value) in &self.match_labels {
            check_key(key)?;
            check_value(key, value)?;
        }
        for requirement in &self.match_expressions {
            requirement.operator()?;
        }
        Ok(())
    }

    /// Returns whether an object with these labels is selected.
    ///
    /// `NotIn` and `DoesNotExist` also select objects without the key.
    ///
    /// # Errors
    ///
    /// The reason why Kubernetes refuses the selector; it does not depend on the labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> Result<bool, SelectorError> {
        self.validate()?;
        if !self
            .match_labels
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
        {
            return Ok(false);
        }
        for requirement in &self.match_expressions {
            if !requirement.matches(labels)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Requirement {
    fn operator(&self) -> Result<Operator, SelectorError> {
        let operator = match self.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                return Err(SelectorError(format!(
                    "\"{other}\" is not an operator: In, NotIn, Exists or DoesNotExist"
                )));
            }
        };
        check_key(&self.key)?;
        match operator {
            Operator::In | Operator::NotIn if self.values.is_empty() => Err(SelectorError(
                format!("{}: {} needs at least one value", self.key, self.operator),
            )),
            Operator::Exists | Operator::DoesNotExist if !self.values.is_empty() => Err(
                SelectorError(format!("{}: {} takes no values", self.key, self.operator)),
            ),
            Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => {
                for value in &self.values {
                    check_value(&self.key, value)?;
                }
                Ok(operator)
            }
        }
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> Result<bool, SelectorError> {
        let value = labels.get(&self.key);
        let listed = value.is_some_and(|value| self.values.contains(value));
        Ok(match self.operator()? {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        })
    }
}

/// The longest name part of a label key, and the longest label value
/// (k8s.io/apimachinery `pkg/util/validation/validation.go`).
const MAX_NAME: usize = 63;

/// The longest prefix of a label key.
const MAX_PREFIX: usize = 253;

/// Checks a label key: a name, optionally behind a DNS subdomain and one slash.
fn check_key(key: &str) -> Result<(), SelectorError> {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_fits = prefix.is_none_or(is_dns_subdomain);
    // A second slash stays in `name`, where it is not allowed.
    if prefix_fits && !name.is_empty() && is_name(name) {
        return Ok(());
    }
    Err(SelectorError(format!("\"{key}\" is not a label key")))
}

/// Checks a label value: empty, or a name.
fn check_value(key: &str, value: &str) -> Result<(), SelectorError> {
    if value.is_empty() || is_name(value) {
        return Ok(());
    }
    Err(SelectorError(format!(
        "{key}: \"{value}\" is not a label value"
    )))
}

/// At most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let end = |c: char| c.is_ascii_alphanumeric();
    text.len() <= MAX_NAME
        && text.chars().all(inner)
        && text.starts_with(end)
        && text.ends_with(end)
}

fn is_dns_subdomain(text: &str) -> bool {
    let end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inner = |c: char| end(c) || c == '-';
    text.len() <= MAX_PREFIX
        && text
            .split('.')
            .all(|part| part.chars().all(inner) && part.starts_with(end) && part.ends_with(end))
}

#[cfg(test)]
mod tests;
