//! New tasks: the prepare queue, and which worker exposes them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// New tasks that ask at the prepare queue, by the number that holds them back. The first gate is that of
/// the DataUploads and DataDownloads: each is looked at by every agent, each with its own timer, so its
/// looks come as many times more often. The others are those of pod volumes, whose own agent looks.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    gates: Vec<Gate>,
    pub(super) period: i64,
}

#[derive(Clone, Debug)]
struct Gate {
    period: i64,
    tasks: BTreeSet<(i64, u32)>,
}

impl Asking {
    /// Makes so many gates in a cluster with so many agents, each of which looks once in a period.
    pub(super) fn every(period: i64, agents: i64, gates: usize) -> Self {
        let period = period.max(1);
        let gate = |period| Gate {
            period,
            tasks: BTreeSet::new(),
        };
        let first = gate((period / agents.max(1)).max(1));
        let others = std::iter::repeat_with(|| gate(period));
        Self {
            gates: std::iter::once(first).chain(others).take(gates).collect(),
            period,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.gates.iter().all(|gate| gate.tasks.is_empty())
    }

    pub(super) fn join(&mut self, gate: usize, phase: i64, task: u32) {
        if let Some(gate) = self.gates.get_mut(gate) {
            gate.tasks.insert((phase % gate.period, task));
        }
    }

    pub(super) fn leave(&mut self, gate: usize, phase: i64, task: u32) {
        if let Some(gate) = self.gates.get_mut(gate) {
            gate.tasks.remove(&(phase % gate.period, task));
        }
    }

    /// Returns when the next of them asks, and which; of those before an open gate.
    pub(super) fn next(&self, now: i64, is_open: &dyn Fn(usize) -> bool) -> Option<(i64, u32)> {
        self.gates
            .iter()
            .enumerate()
            .filter(|(number, gate)| !gate.tasks.is_empty() && is_open(*number))
            .filter_map(|(_, gate)| {
                let here = now.rem_euclid(gate.period);
                let next = gate.tasks.range((here, 0)..).next();
                let (phase, task) = next.or_else(|| gate.tasks.first())?;
                Some((now + (phase - here).rem_euclid(gate.period), *task))
            })
            .min()
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

    /// Takes the node whose worker is free first, of those that would accept a task; returns it and when
    /// its worker begins.
    pub(super) fn take(
        &mut self,
        now: i64,
        expose: i64,
        accepts: &dyn Fn(u32) -> bool,
    ) -> Option<(u32, i64)> {
        let mut passed = Vec::new();
        let mut taken = None;
        while let Some(Reverse((free, rank, node))) = self.0.pop() {
            if accepts(node) {
                let begin = free.max(now);
                passed.push(Reverse((begin + expose, rank, node)));
                taken = Some((node, begin));
                break;
            }
            passed.push(Reverse((free, rank, node)));
        }
        self.0.extend(passed);
        taken
    }
}
