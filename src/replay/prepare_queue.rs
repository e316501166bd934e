//! The cluster-wide gate before Accepted (v1.17.0 `pkg/exposer/vgdp_counter.go`).

use std::collections::BTreeMap;

use super::PrepareQueue;
use super::limits::NodeLimit;
use crate::snapshot::{Exposing, GapReason, Observed, Snapshot};

/// Reads the gate. Each agent has its own counter with its own number; where the agents differ (a
/// rollout, or a ConfigMap changed in between) the largest number counts, since a New task is accepted
/// by whichever agent lets it pass.
pub(super) fn of(snapshot: &Snapshot, limits: &BTreeMap<String, NodeLimit>) -> PrepareQueue {
    let labelled = snapshot
        .tasks
        .values()
        .filter(|task| task.exposing == Exposing::Yes)
        .map(|task| task.reference.clone())
        .collect();
    let mut limit = if limits.is_empty() {
        Observed::Unknown(GapReason::NotInInput)
    } else {
        Observed::Absent
    };
    for node in limits.values() {
        limit = match (limit, node.prepare_queue) {
            (Observed::Seen(a), Observed::Seen(b)) => Observed::Seen(a.max(b)),
            (Observed::Seen(a), Observed::Absent | Observed::Unknown(_))
            | (Observed::Absent | Observed::Unknown(_), Observed::Seen(a)) => Observed::Seen(a),
            (Observed::Unknown(reason), Observed::Absent | Observed::Unknown(_))
            | (Observed::Absent, Observed::Unknown(reason)) => Observed::Unknown(reason),
            (Observed::Absent, Observed::Absent) => Observed::Absent,
        };
    }
    PrepareQueue { limit, labelled }
}
