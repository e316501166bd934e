//! Label selectors with the meaning that Kubernetes gives them.
//!
//! The rules are those of `metav1.LabelSelectorAsSelector` and `labels.NewRequirement`
//! (k8s.io/apimachinery pkg/apis/meta/v1/helpers.go, pkg/labels/selector.go): one invalid requirement
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
/// (k8s.io/apimachinery pkg/util/validation/validation.go).
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_labels: BTreeMap::new(),
            match_expressions: vec![Requirement {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values: values.iter().map(|value| (*value).to_owned()).collect(),
            }],
        }
    }

    #[test]
    fn an_empty_selector_matches_everything() {
        assert_eq!(LabelSelector::default().matches(&labels(&[])), Ok(true));
        assert_eq!(
            LabelSelector::default().matches(&labels(&[("a", "b")])),
            Ok(true)
        );
    }

    #[test]
    fn each_operator_answers_as_kubernetes_does() {
        let node = labels(&[("zone", "a"), ("empty", "")]);
        for (key, operator, values, want) in [
            ("zone", "In", &["a", "b"][..], true),
            ("zone", "In", &["b"], false),
            ("disk", "In", &["ssd"], false),
            ("zone", "NotIn", &["b"], true),
            ("zone", "NotIn", &["a"], false),
            ("disk", "NotIn", &["ssd"], true),
            ("zone", "Exists", &[], true),
            ("disk", "Exists", &[], false),
            ("zone", "DoesNotExist", &[], false),
            ("disk", "DoesNotExist", &[], true),
            ("empty", "In", &[""], true),
            ("disk", "In", &[""], false),
        ] {
            let selector = expression(key, operator, values);
            assert_eq!(
                selector.matches(&node),
                Ok(want),
                "{key} {operator} {values:?}"
            );
        }
    }

    #[test]
    fn every_requirement_must_hold() {
        let mut selector = expression("zone", "In", &["a"]);
        selector.match_labels = labels(&[("disk", "ssd")]);
        assert_eq!(
            selector.matches(&labels(&[("zone", "a"), ("disk", "ssd")])),
            Ok(true)
        );
        assert_eq!(selector.matches(&labels(&[("zone", "a")])), Ok(false));
        assert_eq!(selector.matches(&labels(&[("disk", "ssd")])), Ok(false));
        assert_eq!(selector.label_keys(), BTreeSet::from(["disk", "zone"]));
    }

    #[test]
    fn an_invalid_selector_is_refused_whatever_the_labels_are() {
        let long = "x".repeat(64);
        for (key, operator, values) in [
            ("zone", "in", &["a"][..]),
            ("zone", "", &["a"]),
            ("zone", "Gt", &["1"]),
            ("zone", "In", &[]),
            ("zone", "NotIn", &[]),
            ("zone", "Exists", &["a"]),
            ("zone", "DoesNotExist", &[""]),
            ("", "Exists", &[]),
            ("a/b/c", "Exists", &[]),
            ("/zone", "Exists", &[]),
            ("zone/", "Exists", &[]),
            ("Upper.Case/zone", "Exists", &[]),
            ("a..b/zone", "Exists", &[]),
            ("-zone", "Exists", &[]),
            ("zone ", "Exists", &[]),
            (&long, "Exists", &[]),
            ("zone", "In", &["a", "not a value"]),
            ("zone", "In", &["-a"]),
            ("zone", "NotIn", &[&long]),
        ] {
            let selector = expression(key, operator, values);
            let refused = selector.matches(&labels(&[("other", "x")]));
            assert!(refused.is_err(), "{key} {operator} {values:?}");
            assert_eq!(refused.err(), selector.validate().err());
        }
        let mut selector = LabelSelector {
            match_labels: labels(&[("zone", "not a value")]),
            ..LabelSelector::default()
        };
        assert!(selector.validate().is_err());
        selector.match_labels = labels(&[("not a key", "a")]);
        assert!(selector.validate().is_err());
    }

    #[test]
    fn keys_and_values_at_their_limits_are_taken() {
        let name = "x".repeat(63);
        for key in [
            "zone",
            "topology.kubernetes.io/zone",
            "a/B",
            "1/2",
            "a_b.c-d",
            &name,
        ] {
            assert_eq!(expression(key, "Exists", &[]).validate(), Ok(()), "{key}");
        }
        for value in ["", "a", "A_b.c-9", &name] {
            let selector = expression("zone", "In", &[value]);
            assert_eq!(selector.validate(), Ok(()), "{value}");
        }
    }

    #[test]
    fn one_bad_requirement_refuses_a_selector_that_would_not_match_anyway() {
        let mut selector = expression("zone", "In", &["a"]);
        selector.match_expressions.push(Requirement {
            key: "zone".to_owned(),
            operator: "Near".to_owned(),
            values: Vec::new(),
        });
        assert!(selector.matches(&labels(&[("zone", "b")])).is_err());
    }

    /// The same answer by counting: for each requirement the set of values that satisfy it.
    fn oracle(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
        let exact = selector
            .match_labels
            .iter()
            .filter(|(key, value)| labels.get(*key).is_none_or(|has| has != *value))
            .count();
        let set_based = selector
            .match_expressions
            .iter()
            .filter(|r| {
                let has = labels.get(&r.key).cloned();
                let satisfying: Vec<Option<String>> = [None, Some("0"), Some("1"), Some("2")]
                    .into_iter()
                    .map(|value| value.map(str::to_owned))
                    .filter(|value| {
                        let is_listed = value.as_ref().is_some_and(|v| r.values.contains(v));
                        match r.operator.as_str() {
                            "In" => is_listed,
                            "NotIn" => !is_listed,
                            "Exists" => value.is_some(),
                            _ => value.is_none(),
                        }
                    })
                    .collect();
                !satisfying.contains(&has)
            })
            .count();
        exact + set_based == 0
    }

    fn any_requirement() -> impl Strategy<Value = Requirement> {
        ("[a-c]", 0usize..4, prop::collection::vec("[0-2]", 1..3)).prop_map(
            |(key, operator, values)| {
                let operator = ["In", "NotIn", "Exists", "DoesNotExist"][operator];
                Requirement {
                    key,
                    operator: operator.to_owned(),
                    values: if operator.ends_with("In") {
                        values
                    } else {
                        Vec::new()
                    },
                }
            },
        )
    }

    proptest! {
        #[test]
        fn the_answer_is_that_of_a_naive_oracle(
            match_labels in prop::collection::btree_map("[a-c]", "[0-2]", 0..2),
            match_expressions in prop::collection::vec(any_requirement(), 0..4),
            labels in prop::collection::btree_map("[a-c]", "[0-2]", 0..4),
        ) {
            let selector = LabelSelector { match_labels, match_expressions };
            prop_assert_eq!(selector.matches(&labels), Ok(oracle(&selector, &labels)));
        }

        #[test]
        fn labels_outside_the_selectors_keys_never_change_the_answer(
            match_expressions in prop::collection::vec(any_requirement(), 0..4),
            labels in prop::collection::btree_map("[a-c]", "[0-2]", 0..4),
        ) {
            let selector = LabelSelector { match_labels: BTreeMap::new(), match_expressions };
            let keys = selector.label_keys();
            let relevant = labels.iter()
                .filter(|(key, _)| keys.contains(key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            prop_assert_eq!(selector.matches(&labels), selector.matches(&relevant));
        }
    }
}
