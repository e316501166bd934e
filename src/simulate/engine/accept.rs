//! New tasks: the prepare queue, and which worker exposes them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// New tasks that ask at the prepare queue. A DataUpload or DataDownload is looked at by every agent, each
/// with its own timer, so its looks come as many times more often.
#[derive(Clone, Debug, Default)]
pub(super) struct Asking {
    any: BTreeSet<(i64, u32)>,
    own: BTreeSet<(i64, u32)>,
    any_period: i64,
    pub(super) own_period: i64,
}

impl Asking {
    /// Makes the gate of a cluster with so many agents, each of which looks once in a period.
    pub(super) fn every(period: i64, agents: i64) -> Self {
        Self {
            any: BTreeSet::new(),
            own: BTreeSet::new(),
            any_period: (period / agents.max(1)).max(1),
            own_period: period.max(1),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.any.is_empty() && self.own.is_empty()
    }

    pub(super) fn join(&mut self, any_agent: bool, phase: i64, task: u32) {
        if any_agent {
            self.any.insert((phase % self.any_period, task));
        } else {
            self.own.insert((phase % self.own_period, task));
        }
    }

    pub(super) fn leave(&mut self, any_agent: bool, phase: i64, task: u32) {
        if any_agent {
            self.any.remove(&(phase % self.any_period, task));
        } else {
            self.own.remove(&(phase % self.own_period, task));
        }
    }

    /// Returns when the next of them asks, and which; of those before an open gate.
    pub(super) fn next(&self, now: i64, [any, own]: [bool; 2]) -> Option<(i64, u32)> {
        let first = |ring: &BTreeSet<(i64, u32)>, period: i64| {
            let here = now.rem_euclid(period);
            let (phase, task) = ring.range((here, 0)..).next().or_else(|| ring.first())?;
            Some((now + (phase - here).rem_euclid(period), *task))
        };
        let any = first(&self.any, self.any_period).filter(|_| any);
        let own = first(&self.own, self.own_period).filter(|_| own);
        match (any, own) {
            (Some(any), Some(own)) => Some(any.min(own)),
            (any, own) => any.or(own),
        }
    }
}

/// When the worker of each node is free to expose another task of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Exposers(BinaryHeap<Reverse<(i64, i64, u32)>>);

impl Exposers {
    /// `nodes` in the order in which they win the race for a task.
    pub(super) fn new(nodes: impl Iterator<Item = (i64, u32)>) -> Self {
        Self(nodes.map(|(rank, node)| Reverse((0, rank, node))).collect())
    }

    /// Takes the node whose worker is free first; returns it and when its worker begins.
    pub(super) fn take(&mut self, now: i64, expose: i64) -> Option<(u32, i64)> {
        let Reverse((free, rank, node)) = self.0.pop()?;
        let begin = free.max(now);
        self.0.push(Reverse((begin + expose, rank, node)));
        Some((node, begin))
    }
}
