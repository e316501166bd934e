//! What is supposed to be wrong with a node.

use crate::velero::TaskKind;

/// What is wrong with a node, and which of its tasks it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trouble {
    /// What.
    pub fault: Fault,
    /// The kinds whose tasks wait because of it. On v1.12 each has a pool of slots of its own.
    pub kinds: Kinds,
}

impl Trouble {
    /// A fault that concerns all tasks of a node.
    #[must_use]
    pub const fn of_all_kinds(fault: Fault) -> Self {
        Self {
            fault,
            kinds: Kinds::ALL,
        }
    }
}

/// What can be wrong. An end of the process mends each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// So many slots of a pool are taken by nothing that exists.
    LeakedSlots(i64),
    /// Nothing brings the tasks back that wait now; one that becomes Prepared later is looked at.
    LostTimers,
    /// The worker does not go on: it looks at no task, now or later.
    BlockedWorker,
    /// So many slots leaked, or timers lost: half of the runs each, so that a range holds both.
    Undetermined(i64),
}

impl Fault {
    /// Returns what a run supposes.
    pub(super) const fn in_run(self, run: u32) -> Self {
        match self {
            Self::Undetermined(entries) if run.is_multiple_of(2) => Self::LeakedSlots(entries),
            Self::Undetermined(_) => Self::LostTimers,
            Self::LeakedSlots(_) | Self::LostTimers | Self::BlockedWorker => self,
        }
    }
}

/// Some of the four kinds of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kinds(u8);

impl Kinds {
    /// All four.
    pub const ALL: Self = Self(0b1111);

    /// Returns whether the kind with this lane is among them.
    pub(super) const fn has_lane(self, lane: u32) -> bool {
        self.0 >> lane & 1 == 1
    }
}

impl FromIterator<TaskKind> for Kinds {
    fn from_iter<I: IntoIterator<Item = TaskKind>>(kinds: I) -> Self {
        Self(
            kinds
                .into_iter()
                .fold(0, |all, kind| all | 1 << super::model::lane_of_kind(kind)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_what_they_were_made_of() {
        let some: Kinds = [TaskKind::DataUpload, TaskKind::PodVolumeRestore]
            .into_iter()
            .collect();
        let lanes: Vec<bool> = (0..4).map(|lane| some.has_lane(lane)).collect();
        assert_eq!(lanes, [true, false, false, true]);
        assert_eq!(TaskKind::ALL.into_iter().collect::<Kinds>(), Kinds::ALL);
    }

    #[test]
    fn what_is_not_determined_is_each_of_two_in_half_of_the_runs() {
        let fault = Fault::Undetermined(2);
        assert_eq!(fault.in_run(0), Fault::LeakedSlots(2));
        assert_eq!(fault.in_run(1), Fault::LostTimers);
        assert_eq!(Fault::BlockedWorker.in_run(1), Fault::BlockedWorker);
    }
}
