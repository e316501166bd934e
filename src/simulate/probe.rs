//! What a fault would do under a scenario: every slot of one node leaked, or the timers of its waiting
//! tasks lost.

use std::collections::BTreeMap;

use super::build::{Input, build};
use super::engine::run;
use super::model::{Ending, LANES, NONE, Start};
use super::outcome::{Probes, Setting, limits};
use super::random::Chance;
use super::scenario::Scenario;
use super::{Fault, Trouble};

/// Plays one run for each fault. The fault is put on the node with the most waiting tasks.
pub(super) fn of(setting: &Setting<'_, '_>, scenario: &Scenario) -> Probes {
    let model = &setting.built.model;
    let mut waiting: BTreeMap<u32, usize> = BTreeMap::new();
    for spec in model.tasks.iter() {
        if spec.lane != NONE && spec.start == Start::Waits {
            *waiting.entry(spec.lane / LANES).or_default() += 1;
        }
    }
    let busiest = waiting
        .into_iter()
        .max_by_key(|(node, count)| (*count, std::cmp::Reverse(*node)))
        .map(|(node, _)| node);
    let Some(node) = busiest else {
        return Probes {
            stuck_by_leaked_slots: 0,
            stuck_by_lost_events: 0,
        };
    };
    let limit = usize::try_from(node)
        .ok()
        .and_then(|node| limits(setting.built, scenario).get(node).copied())
        .unwrap_or(1);
    Probes {
        stuck_by_leaked_slots: stuck(setting, scenario, node, Fault::LeakedSlots(limit)),
        stuck_by_lost_events: stuck(setting, scenario, node, Fault::LostTimers),
    }
}

/// Counts the tasks of a node that wait for ever, or until their deadline, because of a fault.
fn stuck(setting: &Setting<'_, '_>, scenario: &Scenario, node: u32, fault: Fault) -> i64 {
    let model = &setting.built.model;
    let Some(name) = usize::try_from(node)
        .ok()
        .and_then(|node| model.names.get(node))
    else {
        return 0;
    };
    let troubles = BTreeMap::from([(name.clone(), Trouble::of_all_kinds(fault))]);
    let input = Input {
        snapshot: setting.snapshot,
        replay: setting.replay,
        troubles: &troubles,
    };
    // Only that node, and without deadlines: the question is whether anything else ends the wait.
    let mut faulty = build(&input, &|task| task.node.as_deref() == Some(name.as_str()));
    faulty.model.forget_deadlines();
    faulty.model.forget_prepare_queues();
    if matches!(fault, Fault::LeakedSlots(_)) {
        // Every slot of the node is leaked, those of its holders with their ends.
        faulty.model.forget_holders();
    }
    let tally = run(
        &faulty.model,
        scenario,
        &limits(&faulty, scenario),
        Chance::of(setting.seed, 0),
    );
    let waits = faulty
        .model
        .tasks
        .iter()
        .zip(&tally.ending)
        .filter(|(spec, ending)| {
            spec.start == Start::Waits && matches!(ending, Ending::NoSlotLeft | Ending::NobodyLooks)
        });
    i64::try_from(waits.count()).unwrap_or(i64::MAX)
}
