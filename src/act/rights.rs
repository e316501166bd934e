//! Which rights of a plan the user lacks, asked before anything is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::collect::cluster::{Cluster, Review};
use crate::plan::{NeededRight, RightNeed};

/// The answers about the rights of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Those that are denied, in the order of the plan.
    pub denied: Vec<NeededRight>,
    /// Those about which the server did not answer.
    pub unanswered: Vec<NeededRight>,
}

impl Rights {
    /// Returns the denied rights without which nothing can be done.
    pub fn essential(&self) -> impl Iterator<Item = &NeededRight> {
        self.denied
            .iter()
            .filter(|right| right.need == RightNeed::Essential)
    }

    /// Returns whether a right that is not essential is denied.
    #[must_use]
    pub fn denies(&self, need: RightNeed, verb: &str, resource: &str) -> bool {
        self.denied
            .iter()
            .any(|right| right.need == need && right.verb == verb && right.resource == resource)
    }
}

/// Asks the server which rights of a plan the user has, by `SelfSubjectAccessReview`. A right for many objects is
/// first asked for all of them at once.
pub async fn ask_rights(cluster: &Cluster, rights: &[NeededRight], limit: Duration) -> Rights {
    let mut of_all: BTreeMap<NeededRight, usize> = BTreeMap::new();
    for right in rights {
        *of_all.entry(for_all(right)).or_default() += 1;
    }
    let shared: Vec<NeededRight> = of_all
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|(right, _)| right)
        .collect();
    let answers = review(cluster, &shared, limit).await;
    let granted: BTreeSet<&NeededRight> = shared
        .iter()
        .zip(answers)
        .filter(|(_, answer)| *answer == Ok(true))
        .map(|(right, _)| right)
        .collect();
    let single: Vec<NeededRight> = rights
        .iter()
        .filter(|right| !granted.contains(&for_all(right)))
        .cloned()
        .collect();
    let mut result = Rights::default();
    let answers = review(cluster, &single, limit).await;
    for (right, granted) in single.into_iter().zip(answers) {
        match granted {
            Ok(true) => {}
            Ok(false) => result.denied.push(right),
            Err(_) => result.unanswered.push(right),
        }
    }
    result
}

/// Returns the same right for every object.
fn for_all(right: &NeededRight) -> NeededRight {
    NeededRight {
        name: None,
        ..right.clone()
    }
}

async fn review(
    cluster: &Cluster,
    rights: &[NeededRight],
    limit: Duration,
) -> Vec<Result<bool, String>> {
    let questions: Vec<Review<'_>> = rights
        .iter()
        .map(|right| Review {
            verb: right.verb,
            group: right.group,
            resource: right.resource,
            subresource: right.subresource,
            namespace: Some(&right.namespace),
            name: right.name.as_deref(),
        })
        .collect();
    cluster.review(&questions, limit).await
}

/// Writes a right as kubectl asks for it: `delete pods/node-agent-x in namespace velero`.
#[must_use]
pub fn right_words(right: &NeededRight) -> String {
    let group = if right.group.is_empty() {
        String::new()
    } else {
        format!(".{}", right.group)
    };
    let subresource = if right.subresource.is_empty() {
        String::new()
    } else {
        format!("/{}", right.subresource)
    };
    let name = right
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!(" {name}"));
    format!(
        "{} {}{group}{subresource}{name} in namespace {}",
        right.verb, right.resource, right.namespace
    )
}
