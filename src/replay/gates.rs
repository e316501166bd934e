//! The gates themselves, without the objects: whether a number of entries or labels lets one more
//! through. The look at a task now and the simulation of the next hours both ask here.

use super::Gate;
use crate::velero::profile::LimitedWhen;

/// Whether a gate lets a task through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It does.
    Open,
    /// It does not; the task asks again when its timer fires.
    Closed,
}

/// The order in which a Prepared task meets its gates (v1.17.2 `pkg/controller/data_upload_controller.go`:
/// `GetExposed`, then the data-path manager).
pub const PREPARED: [Gate; 2] = [Gate::Expose, Gate::Slot];

/// Returns whether a pool with this many entries takes one more.
#[must_use]
pub const fn slot(when: LimitedWhen, entries: i64, limit: i64) -> Passage {
    if when.refuses(entries, limit) {
        Passage::Closed
    } else {
        Passage::Open
    }
}

/// Returns whether a prepare queue of this length takes one more (v1.17.0 `pkg/exposer/vgdp_counter.go`).
#[must_use]
pub const fn prepare_queue(length: i64, limit: i64) -> Passage {
    if length >= limit {
        Passage::Closed
    } else {
        Passage::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_v1_15_a_pool_above_its_limit_takes_everything() {
        assert_eq!(slot(LimitedWhen::Equal, 2, 2), Passage::Closed);
        assert_eq!(slot(LimitedWhen::Equal, 3, 2), Passage::Open);
        assert_eq!(slot(LimitedWhen::AtLeast, 3, 2), Passage::Closed);
    }

    #[test]
    fn a_prepare_queue_closes_at_its_limit() {
        assert_eq!(prepare_queue(1, 2), Passage::Open);
        assert_eq!(prepare_queue(2, 2), Passage::Closed);
    }
}
