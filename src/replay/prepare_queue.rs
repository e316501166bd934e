//! The cluster-wide gate before Accepted (v1.17.0 `pkg/exposer/vgdp_counter.go`).

use std::collections::BTreeMap;

use super::PrepareQueue;
use super::agents::Agents;
use super::limits::NodeLimit;
use crate::snapshot::{Exposing, GapReason, Observed, Snapshot};

/// Reads the gate. Each agent has its own counter with its own number; the agents differ during a
/// rollout, or when the ConfigMap changed in between.
pub(super) fn of(
    snapshot: &Snapshot,
    agents: &Agents<'_>,
    limits: &BTreeMap<String, NodeLimit>,
) -> PrepareQueue {
    let labelled = snapshot
        .tasks
        .values()
        .filter(|task| task.exposing == Exposing::Yes)
        .map(|task| task.reference.clone())
        .collect();
    let all: BTreeMap<String, Observed<i64>> = limits
        .iter()
        .map(|(node, limit)| (node.clone(), limit.prepare_queue))
        .collect();
    let working: Vec<Observed<i64>> = all
        .iter()
        .filter(|(node, _)| agents.working(node).is_yes())
        .map(|(_, queue)| *queue)
        .collect();
    // Without a working agent nobody accepts; the numbers of the broken ones are what there is to show.
    let asked = if working.is_empty() {
        all.values().copied().collect()
    } else {
        working
    };
    PrepareQueue {
        limit: largest(&asked, Lets::NobodyPass),
        labelled,
        data_movement: largest(&asked, Lets::EverybodyPass),
        by_node: all,
    }
}

/// What an agent without a prepare queue means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lets {
    /// It has no number to show.
    NobodyPass,
    /// It accepts whatever it sees.
    EverybodyPass,
}

fn largest(numbers: &[Observed<i64>], without: Lets) -> Observed<i64> {
    if numbers.is_empty() {
        return Observed::Unknown(GapReason::NotInInput);
    }
    let absent = numbers.iter().any(Observed::is_absent);
    if absent && without == Lets::EverybodyPass {
        return Observed::Absent;
    }
    let seen = numbers.iter().filter_map(|number| number.seen()).max();
    let unknown = numbers.iter().find(|number| number.is_unknown()).copied();
    match (seen, unknown) {
        (Some(number), _) => Observed::Seen(number),
        (None, Some(unknown)) => unknown,
        (None, None) => Observed::Absent,
    }
}
