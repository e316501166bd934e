//! The runbook of each finding id: docs/runbooks, compiled in, so that it can be read on a machine without a
//! network.

use crate::diagnose::FindingId;
use crate::diagnose::near::nearest;

/// The runbook of one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runbook {
    /// The id.
    pub id: FindingId,
    /// The page, in Markdown.
    pub text: &'static str,
}

macro_rules! pages {
    ($($code:literal),+ $(,)?) => {
        /// Every page, by the id as it is written.
        const PAGES: &[(&str, &str)] = &[
            $(($code, include_str!(concat!("../../docs/runbooks/", $code, ".md"))),)+
        ];
    };
}

pages!(
    "accept-blocked",
    "agent-crashloop",
    "agent-label-missing",
    "agent-restarted",
    "backup-waits-finished-tasks",
    "cancel-stuck",
    "completion-stuck",
    "config-drift",
    "config-ignored",
    "deadline-at-risk",
    "expose-blocked",
    "expose-lost",
    "foreign-data-mover",
    "known-bug",
    "mover-pod-lost",
    "no-node-agent",
    "orphaned-tasks",
    "owner-gone",
    "phase-rewound",
    "prepare-missed",
    "prepare-queue-full",
    "prepare-queue-stale",
    "prepared-doomed",
    "prepared-stuck",
    "recent-failures",
    "restore-target-missing",
    "restore-target-not-ready",
    "slot-queue",
    "slots-leaked",
    "transfer-stalled",
    "version-skew",
);

/// Returns the runbook of an id as a user writes it, in any case.
#[must_use]
pub fn runbook(code: &str) -> Option<Runbook> {
    let code = code.to_ascii_lowercase();
    let id = FindingId::ALL
        .iter()
        .copied()
        .find(|id| id.as_str() == code)?;
    let (_, text) = PAGES.iter().find(|(page, _)| *page == code)?;
    Some(Runbook { id, text })
}

/// Returns the ids that may have been meant, nearest first.
#[must_use]
pub fn near_ids(code: &str) -> Vec<String> {
    let ids = FindingId::ALL
        .iter()
        .map(|id| (id.as_str().to_owned(), id.as_str().to_owned()));
    let near = nearest(code, ids);
    if !near.is_empty() {
        return near;
    }
    // A cause is printed beside the id, so it is typed as often.
    FindingId::ALL
        .iter()
        .filter(|id| id.causes().contains(&code))
        .map(|id| id.as_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The sections that every runbook has, in this order.
    const SECTIONS: [&str; 6] = [
        "## What it means",
        "## How sure",
        "## Look",
        "## Act",
        "## What it costs",
        "## Upstream",
    ];

    /// Ids of the contract whose rule is not part of this build.
    const AHEAD: [&str; 1] = ["deadline-at-risk"];

    fn files() -> BTreeSet<String> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runbooks");
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .collect()
    }

    #[test]
    fn every_id_has_a_runbook_and_every_runbook_an_id() {
        let ids: BTreeSet<String> = FindingId::ALL
            .iter()
            .map(|id| id.as_str())
            .chain(AHEAD)
            .map(str::to_owned)
            .collect();
        assert_eq!(files(), ids);
        let registered: Vec<&str> = PAGES.iter().map(|(code, _)| *code).collect();
        assert_eq!(
            registered,
            ids.iter().map(String::as_str).collect::<Vec<_>>()
        );
    }

    #[test]
    fn every_runbook_has_the_same_sections() {
        for (code, text) in PAGES {
            assert!(text.starts_with(&format!("# {code}\n")), "{code}");
            let found: Vec<&str> = text
                .lines()
                .filter(|line| line.starts_with("## "))
                .collect();
            assert_eq!(found, SECTIONS, "{code}");
        }
    }

    #[test]
    fn every_runbook_tells_its_causes() {
        for id in FindingId::ALL {
            let page = runbook(id.as_str()).unwrap();
            for cause in id.causes() {
                assert!(page.text.contains(&format!("`{cause}`")), "{cause}");
            }
        }
    }

    #[test]
    fn every_command_of_a_runbook_exists() {
        let ours = [
            "status", "diagnose", "explain", "replay", "nudge", "restart", "capture", "auth",
            "version",
        ];
        let kubectl = [
            "get", "describe", "logs", "patch", "annotate", "delete", "rollout", "label", "top",
            "edit", "uncordon", "auth",
        ];
        for (code, text) in PAGES {
            let mut inside = false;
            for line in text.lines() {
                if line.starts_with("```") {
                    inside = !inside;
                    continue;
                }
                if !inside || line.starts_with("  ") {
                    continue;
                }
                let words: Vec<&str> = line.split_whitespace().collect();
                let known = match words.as_slice() {
                    ["kubectl", "velero-slots", command, ..] => ours.contains(command),
                    ["kubectl", command, ..] => kubectl.contains(command),
                    _ => false,
                };
                assert!(known, "{code}: {line}");
            }
        }
    }

    #[test]
    fn an_id_is_found_in_any_case_and_a_near_one_is_suggested() {
        assert_eq!(
            runbook("Slot-Queue").map(|page| page.id),
            Some(FindingId::SlotQueue)
        );
        assert_eq!(runbook("slot-quue"), None);
        assert_eq!(near_ids("slot-quue"), ["slot-queue"]);
        assert_eq!(near_ids("ghost-slot"), ["prepared-stuck", "slots-leaked"]);
    }
}
