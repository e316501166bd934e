//! What is simulated: a design, and what is supposed to be different from the present.

use std::collections::BTreeMap;

use crate::replay::{Gate, gates};

/// In which order a node-agent asks its gates for a Prepared task (velero-io/velero#9447, #9449, #9453,
/// #10179).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Design {
    /// As Velero does: `GetExposed` first, then the slot.
    Upstream,
    /// A look whether a slot is free, then `GetExposed`, then the slot: not atomic.
    EarlyCheck,
    /// The slot is reserved, then `GetExposed`; an error gives the slot back.
    ReserveSlot,
}

impl Design {
    /// Every design.
    pub const ALL: [Self; 3] = [Self::Upstream, Self::EarlyCheck, Self::ReserveSlot];

    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::EarlyCheck => "early-check",
            Self::ReserveSlot => "reserve-slot",
        }
    }

    /// Returns the gates in the order in which the design asks them. The present order is the replay's.
    #[must_use]
    pub const fn gates(self) -> &'static [Gate] {
        match self {
            Self::Upstream => &gates::PREPARED,
            Self::EarlyCheck => &[Gate::Slot, Gate::Expose, Gate::Slot],
            Self::ReserveSlot => &[Gate::Slot, Gate::Expose],
        }
    }

    /// Returns whether a task that finds the pool full is refused before `GetExposed`.
    pub(super) fn asks_the_slot_first(self) -> bool {
        self.gates().first() == Some(&Gate::Slot)
    }

    /// Returns whether the slot is requested after `GetExposed`: somebody may have taken it meanwhile.
    pub(super) fn asks_the_slot_last(self) -> bool {
        self.gates().last() == Some(&Gate::Slot)
    }
}

/// The largest limit that is taken: Velero reads the number into a Go `int`, and no node has more.
pub const LARGEST_LIMIT: i64 = 2_147_483_647;

/// The concurrency numbers of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concurrency {
    /// Those in force.
    #[default]
    Present,
    /// This one on every node.
    Everywhere(i64),
    /// These on the nodes named, the present one on the others.
    OfNodes(BTreeMap<String, i64>),
}

/// Whether Prepared tasks are also looked at every minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequeuePrepared {
    /// No: as Velero does.
    #[default]
    Never,
    /// Yes (`--requeue-prepared`).
    EveryMinute,
}

/// What becomes of slots that nothing holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GhostSlots {
    /// They stay taken.
    #[default]
    Stay,
    /// The node-agents that have some restart, with all that a restart does; so does one whose configuration
    /// names another number than it runs with.
    Gone,
}

/// Who takes a slot that became free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// The task whose own timer fires first: Velero keeps no queue.
    #[default]
    OwnTimers,
    /// The task that has waited longest, at once. No release does this: it holds the order of admission
    /// equal, so that scenarios can be compared without the luck of the timers.
    FirstComeFirstServed,
}

/// One thing to simulate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scenario {
    /// The design.
    pub design: Design,
    /// The concurrency numbers.
    pub concurrency: Concurrency,
    /// Another `prepareQueueLength`, or the present one.
    pub prepare_queue: Option<i64>,
    /// Workers of each kind on each node; Velero has one.
    pub workers: u32,
    /// Whether Prepared tasks are looked at every minute too.
    pub requeue_prepared: RequeuePrepared,
    /// What becomes of ghost slots.
    pub ghost_slots: GhostSlots,
    /// Who takes a free slot.
    pub order: Order,
}

impl Default for Scenario {
    fn default() -> Self {
        Self::of(Design::Upstream)
    }
}

impl Scenario {
    /// The present state under a design.
    #[must_use]
    pub const fn of(design: Design) -> Self {
        Self {
            design,
            concurrency: Concurrency::Present,
            prepare_queue: None,
            workers: 1,
            requeue_prepared: RequeuePrepared::Never,
            ghost_slots: GhostSlots::Stay,
            order: Order::OwnTimers,
        }
    }

    /// Returns whether it names a limit for a node.
    pub(super) fn names_limit_of(&self, node: &str) -> bool {
        match &self.concurrency {
            Concurrency::Present => false,
            Concurrency::Everywhere(_) => true,
            Concurrency::OfNodes(nodes) => nodes.contains_key(node),
        }
    }

    /// Returns what differs from the present, in words of the flags; empty for the present.
    #[must_use]
    pub fn changes(&self) -> String {
        let mut parts = Vec::new();
        match &self.concurrency {
            Concurrency::Present => {}
            Concurrency::Everywhere(limit) => parts.push(format!("concurrency {limit}")),
            Concurrency::OfNodes(nodes) => {
                let named: Vec<String> = nodes
                    .iter()
                    .take(2)
                    .map(|(node, limit)| format!("{node}={limit}"))
                    .collect();
                let more = if nodes.len() > 2 { ",…" } else { "" };
                parts.push(format!("concurrency {}{more}", named.join(",")));
            }
        }
        if let Some(length) = self.prepare_queue {
            parts.push(format!("prepare queue {length}"));
        }
        if self.workers != 1 {
            parts.push(format!("{} workers", self.workers));
        }
        match self.requeue_prepared {
            RequeuePrepared::Never => {}
            RequeuePrepared::EveryMinute => parts.push("requeue Prepared".to_owned()),
        }
        match self.ghost_slots {
            GhostSlots::Stay => {}
            GhostSlots::Gone => parts.push("no ghost slots".to_owned()),
        }
        parts.join(", ")
    }
}
