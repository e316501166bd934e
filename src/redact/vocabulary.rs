//! Words that tell nothing about anybody: those of Velero's and Kubernetes' messages.

use std::collections::BTreeSet;
use std::sync::LazyLock;

const WORDS: &str = include_str!("vocabulary.txt");

static VOCABULARY: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| WORDS.lines().collect());

/// Names with dots that are everybody's.
const DOTTED: [&str; 12] = [
    "velero.io",
    "k8s.io",
    "kubernetes.io",
    "snapshot.storage.k8s.io",
    "storage.k8s.io",
    "rbac.authorization.k8s.io",
    "node.kubernetes.io",
    "node-role.kubernetes.io",
    "topology.kubernetes.io",
    "volume.kubernetes.io",
    "events.k8s.io",
    "metrics.k8s.io",
];

/// Keys of taints that Kubernetes itself sets; each DaemonSet tolerates some of them.
const TAINTS: [&str; 7] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/network-unavailable",
];

/// Whether a word tells nothing: a letter, a word of the list in any spelling, or a name made of them as Go and
/// Kubernetes make them, such as `FailedAttachVolume`. Words with dashes are on the list or are names.
pub(super) fn contains(word: &str) -> bool {
    if word.len() > 80 || !word.is_ascii() {
        return false;
    }
    if word.len() == 1 {
        return true;
    }
    let lower = word.to_ascii_lowercase();
    if VOCABULARY.contains(lower.as_str()) || DOTTED.contains(&word) || TAINTS.contains(&word) {
        return true;
    }
    word.bytes().all(|byte| byte.is_ascii_alphabetic())
        && word.bytes().any(|byte| byte.is_ascii_uppercase())
        && humps(word)
            .all(|hump| hump.len() > 1 && VOCABULARY.contains(hump.to_ascii_lowercase().as_str()))
}

/// The parts of a name in camel case; a row of capitals is one part, less the one that begins the next.
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let bytes = word.as_bytes();
    let is_upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let begins =
        move |at: usize| is_upper(at) && (is_lower(at.saturating_sub(1)) || is_lower(at + 1));
    let mut from = 0;
    std::iter::from_fn(move || {
        if from >= word.len() {
            return None;
        }
        let end = (from + 1..word.len())
            .find(|at| begins(*at))
            .unwrap_or(word.len());
        let hump = word.get(from..end);
        from = end;
        hump
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_go_and_kubernetes_are_taken_apart() {
        for word in [
            "FailedAttachVolume",
            "GetExposed",
            "OOMKilled",
            "PVC",
            "VolumeSnapshotContent",
            "asyncBR",
        ] {
            assert!(contains(word), "{word}");
        }
        for word in [
            "acme",
            "AcmePayments",
            "du-1",
            "deadbeef",
            "a-node",
            "p\u{e9}riode",
            "aGVsbG8",
        ] {
            assert!(!contains(word), "{word}");
        }
    }

    #[test]
    fn the_list_is_sorted_and_plain() {
        let words: Vec<&str> = WORDS.lines().collect();
        assert!(words.is_sorted());
        for word in words {
            assert!(
                !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
                "{word}"
            );
        }
    }
}
