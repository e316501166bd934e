//! The flags of `replay --simulate`, and the scenarios that they ask for.

use std::collections::BTreeMap;

use clap::ValueEnum;

use super::super::error::Error;
use crate::replay::{Replay, restart_rules};
use crate::simulate::{Concurrency, Design, GhostSlots, LARGEST_LIMIT, RequeuePrepared, Scenario};
use crate::snapshot::Snapshot;
use crate::velero::profile::ConfigSource;

/// How the queue drains from here.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Simulation")]
pub(crate) struct SimulateArgs {
    /// Show how the queue drains from here instead
    #[arg(long)]
    pub(crate) simulate: bool,

    /// The order in which a node-agent asks its gates
    #[arg(
        long,
        value_name = "DESIGN",
        default_value = "upstream",
        requires = "simulate"
    )]
    design: DesignChoice,

    /// What if the limit were N after a restart, everywhere or on the nodes named; repeatable, side by side
    #[arg(long, value_name = "N|NODE=N,...", value_parser = parse_concurrency, requires = "simulate")]
    concurrency: Vec<Concurrency>,

    /// What if prepareQueueLength were N after a restart
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=LARGEST_LIMIT), requires = "simulate")]
    prepare_queue: Option<i64>,

    /// What if each kind had N workers on each node
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), requires = "simulate")]
    workers: Option<u32>,

    /// What if Prepared tasks were also looked at every minute
    #[arg(long, requires = "simulate")]
    requeue_prepared: bool,

    /// What if the node-agents with ghost slots restarted: what it would buy, and end
    #[arg(long, requires = "simulate")]
    without_ghost_slots: bool,

    /// The seed of the timers and durations
    #[arg(long, value_name = "N", default_value_t = 0, requires = "simulate")]
    pub(crate) seed: u64,
}

/// `--design`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DesignChoice {
    /// As Velero does: GetExposed, then the slot
    #[default]
    Upstream,
    /// A check for a free slot before GetExposed
    EarlyCheck,
    /// The slot reserved before GetExposed
    ReserveSlot,
    /// All three
    All,
}

impl SimulateArgs {
    /// Returns the scenarios to compare: the present, each change alone, and all changes together.
    ///
    /// # Errors
    ///
    /// A usage error where a node that is named is not there, and where the release of none of the nodes concerned
    /// has the number that is to be changed.
    pub(crate) fn scenarios(
        &self,
        snapshot: &Snapshot,
        replay: &Replay<'_>,
    ) -> Result<Vec<Scenario>, Error> {
        for limits in &self.concurrency {
            if let Concurrency::OfNodes(nodes) = limits {
                let stranger = nodes.keys().find(|node| !replay.nodes.contains_key(*node));
                if let Some(node) = stranger {
                    return Err(Error::usage(anyhow::anyhow!(
                        "--concurrency: node {node} has no node-agent and no unfinished task"
                    )));
                }
            }
        }
        self.refuse_what_no_release_has(snapshot, replay)?;
        let designs: &[Design] = match self.design {
            DesignChoice::Upstream => &[Design::Upstream],
            DesignChoice::EarlyCheck => &[Design::EarlyCheck],
            DesignChoice::ReserveSlot => &[Design::ReserveSlot],
            DesignChoice::All => &Design::ALL,
        };
        let changes = self.changes();
        Ok(designs
            .iter()
            .flat_map(|design| {
                changes.iter().map(|change| Scenario {
                    design: *design,
                    ..change.clone()
                })
            })
            .collect())
    }

    /// Where some nodes have the number the others are told among the assumptions.
    fn refuse_what_no_release_has(
        &self,
        snapshot: &Snapshot,
        replay: &Replay<'_>,
    ) -> Result<(), Error> {
        let rules = |node: &String| restart_rules(snapshot, replay, node);
        for limits in &self.concurrency {
            let mut nodes = replay.nodes.keys().filter(|node| match limits {
                Concurrency::Present => false,
                Concurrency::Everywhere(_) => true,
                Concurrency::OfNodes(named) => named.contains_key(*node),
            });
            let fixed = |node| rules(node).config_source == ConfigSource::None;
            if nodes.clone().next().is_some() && nodes.all(fixed) {
                return Err(Error::usage(anyhow::anyhow!(
                    "--concurrency: Velero v1.12 has no concurrency number to set, its limit is always 1 for each kind; v1.13 has one"
                )));
            }
        }
        let mut nodes = replay.nodes.keys();
        if self.prepare_queue.is_some()
            && !replay.nodes.is_empty()
            && !nodes.any(|node| rules(node).labels_accepted_tasks())
        {
            return Err(Error::usage(anyhow::anyhow!(
                "--prepare-queue: the release of the node-agents has no prepare queue; v1.17 has one"
            )));
        }
        Ok(())
    }

    fn changes(&self) -> Vec<Scenario> {
        let present = Scenario::default();
        let mut alone = Vec::new();
        let mut together = present.clone();
        for limits in &self.concurrency {
            together.concurrency = limits.clone();
            alone.push(Scenario {
                concurrency: limits.clone(),
                ..present.clone()
            });
        }
        if let Some(length) = self.prepare_queue {
            together.prepare_queue = Some(length);
            alone.push(Scenario {
                prepare_queue: Some(length),
                ..present.clone()
            });
        }
        if let Some(workers) = self.workers {
            together.workers = workers;
            alone.push(Scenario {
                workers,
                ..present.clone()
            });
        }
        if self.requeue_prepared {
            together.requeue_prepared = RequeuePrepared::EveryMinute;
            alone.push(Scenario {
                requeue_prepared: RequeuePrepared::EveryMinute,
                ..present.clone()
            });
        }
        if self.without_ghost_slots {
            together.ghost_slots = GhostSlots::Gone;
            alone.push(Scenario {
                ghost_slots: GhostSlots::Gone,
                ..present.clone()
            });
        }
        let mut all = vec![present];
        for scenario in alone.into_iter().chain([together]) {
            if !all.contains(&scenario) {
                all.push(scenario);
            }
        }
        all
    }
}

/// Reads `3` or `node-a=3,node-b=2`.
fn parse_concurrency(text: &str) -> Result<Concurrency, String> {
    if !text.contains('=') {
        return parse_limit(text).map(Concurrency::Everywhere);
    }
    let mut nodes = BTreeMap::new();
    for part in text.split(',') {
        let (node, limit) = part
            .split_once('=')
            .ok_or_else(|| format!("expected NODE=N, found {part:?}"))?;
        if node.is_empty() || nodes.insert(node.to_owned(), parse_limit(limit)?).is_some() {
            return Err(format!("expected each node once, found {node:?}"));
        }
    }
    Ok(Concurrency::OfNodes(nodes))
}

fn parse_limit(text: &str) -> Result<i64, String> {
    match text.parse::<i64>() {
        Ok(limit) if (1..=LARGEST_LIMIT).contains(&limit) => Ok(limit),
        Ok(_) | Err(_) => Err(format!(
            "expected a limit from 1 to {LARGEST_LIMIT}: Velero takes 0 and less as 1"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_a_number_for_each_node() {
        assert_eq!(parse_concurrency("3"), Ok(Concurrency::Everywhere(3)));
        assert_eq!(
            parse_concurrency("node-a=3,node-b=1"),
            Ok(Concurrency::OfNodes(BTreeMap::from([
                ("node-a".to_owned(), 3),
                ("node-b".to_owned(), 1)
            ])))
        );
        for refused in [
            "0",
            "-1",
            "2147483648",
            "",
            "x",
            "a=0",
            "a=1,b",
            "=1",
            "a=1,a=2",
        ] {
            assert!(parse_concurrency(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn changes_are_compared_alone_and_together() {
        let args = SimulateArgs {
            concurrency: vec![Concurrency::Everywhere(2), Concurrency::Everywhere(3)],
            without_ghost_slots: true,
            ..SimulateArgs::default()
        };
        let words: Vec<String> = args.changes().iter().map(Scenario::changes).collect();
        assert_eq!(
            words,
            [
                "",
                "concurrency 2",
                "concurrency 3",
                "no ghost slots",
                "concurrency 3, no ghost slots"
            ]
        );
        assert_eq!(SimulateArgs::default().changes(), vec![Scenario::default()]);
        let twice = SimulateArgs {
            concurrency: vec![Concurrency::Everywhere(2), Concurrency::Everywhere(2)],
            ..SimulateArgs::default()
        };
        assert_eq!(twice.changes().len(), 2);
    }
}
