//! What a kubeconfig names.

use super::answer::Candidate;
use super::source::Typed;

/// Returns the contexts, the current one first.
pub(super) fn contexts(typed: &Typed) -> Vec<Candidate> {
    let Some(names) = typed.kubeconfig() else {
        return Vec::new();
    };
    let current = names.current_context;
    let (mut first, others): (Vec<_>, Vec<_>) = names
        .contexts
        .into_iter()
        .partition(|context| Some(&context.name) == current.as_ref());
    let current = first.len();
    first.extend(others);
    first
        .into_iter()
        .enumerate()
        .map(|(at, context)| {
            let cluster = context.about;
            let about = match (at < current, cluster.is_empty()) {
                (true, true) => "the current one".to_owned(),
                (true, false) => format!("the current one, cluster {cluster}"),
                (false, true) => String::new(),
                (false, false) => format!("cluster {cluster}"),
            };
            Candidate::new(context.name, about)
        })
        .collect()
}

/// Returns the clusters with their servers.
pub(super) fn clusters(typed: &Typed) -> Vec<Candidate> {
    let names = typed.kubeconfig();
    let clusters = names.map(|names| names.clusters).unwrap_or_default();
    clusters
        .into_iter()
        .map(|cluster| Candidate::new(cluster.name, cluster.about))
        .collect()
}

/// Returns the users. There is nothing about them that would not be a secret.
pub(super) fn users(typed: &Typed) -> Vec<Candidate> {
    let names = typed.kubeconfig();
    let users = names.map(|names| names.users).unwrap_or_default();
    users
        .into_iter()
        .map(|name| Candidate::new(name, ""))
        .collect()
}
