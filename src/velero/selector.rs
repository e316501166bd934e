//! Label selectors with the meaning that Kubernetes gives them.

use std::collections::BTreeMap;

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
#[derive(Clone, Debug, PartialEq, Eq)]
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
