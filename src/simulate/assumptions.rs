//! What the model assumes, said in the answer.

use std::collections::{BTreeMap, BTreeSet};

use super::build::{Built, queue_is_unknown};
use super::durations::Basis;
use super::model::{NONE, Remaining, Start};
use super::outcome::Outcome;
use super::scenario::GhostSlots;
use super::{
    ASSUMED_PREPARE_SECONDS, EXCEPTION_SECONDS, EXPOSE_DATA_MOVEMENT_MILLIS, Fault,
    GET_EXPOSED_DATA_MOVEMENT_MILLIS, Request,
};
use crate::replay::Replay;

/// One thing that the model takes for given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// What it is about.
    pub about: &'static str,
    /// What is assumed.
    pub text: String,
    /// From how many samples, where it was learned.
    pub samples: Option<usize>,
}

impl Assumption {
    const fn given(about: &'static str, text: String) -> Self {
        Self {
            about,
            text,
            samples: None,
        }
    }
}

/// Lists what is assumed, what matters most first.
pub(super) fn of(built: &Built<'_>, replay: &Replay<'_>, request: &Request) -> Vec<Assumption> {
    let mut all = durations(built);
    all.extend(bad_input(built));
    all.extend(troubles(request));
    if !built.unknown_limits.is_empty() {
        all.push(Assumption::given(
            "limit",
            format!(
                "the limit of {} is not known: taken as the number of slots held there, at least 1",
                some_of(&built.unknown_limits.iter().map(String::as_str).collect())
            ),
        ));
    }
    if queue_is_unknown(replay) && request.scenarios.iter().any(|s| s.prepare_queue.is_none()) {
        all.push(Assumption::given(
            "prepare queue",
            "whether a prepare queue is in force could not be read: taken as none".to_owned(),
        ));
    }
    let beyond = format!(
        "a task that takes longer needs as long again, and from {} min on it is not known whether it becomes Prepared before its prepare timeout",
        EXCEPTION_SECONDS / 60
    );
    all.push(if built.learned.prepare == 0 {
        Assumption::given(
            "preparing",
            format!("from Accepted to Prepared {ASSUMED_PREPARE_SECONDS} s; {beyond}"),
        )
    } else {
        Assumption {
            about: "preparing",
            text: format!(
                "from Accepted to Prepared as long as the tasks took that are Prepared now; {beyond}"
            ),
            samples: Some(built.learned.prepare),
        }
    });
    if built.unchecked > 0 {
        all.push(Assumption::given(
            "deadline",
            format!(
                "the operation timeout of {} counts as in force, but nobody checks it while their Backup or Restore is InProgress: they may end later",
                tasks(built.unchecked)
            ),
        ));
    }
    if built.without_node > 0 {
        all.push(Assumption::given(
            "node",
            format!(
                "{} no node yet: any node with a working agent, with the same chance",
                if built.without_node == 1 {
                    "1 task has".to_owned()
                } else {
                    format!("{} tasks have", built.without_node)
                }
            ),
        ));
    }
    all.push(Assumption::given(
        "looks",
        format!(
            "GetExposed of a DataUpload or DataDownload takes {GET_EXPOSED_DATA_MOVEMENT_MILLIS} ms, Expose holds the worker for {} s",
            EXPOSE_DATA_MOVEMENT_MILLIS / 1000
        ),
    ));
    all.push(Assumption::given(
        "load",
        "how long a task takes does not depend on how many run beside it; no task arrives, fails or is cancelled from outside"
            .to_owned(),
    ));
    all
}

/// Says what takes a restart, and what a release has no setting for.
pub(super) fn of_changes(built: &Built<'_>, outcomes: &[Outcome]) -> Vec<Assumption> {
    let mut all = Vec::new();
    let restarts = || {
        outcomes
            .iter()
            .filter_map(|outcome| outcome.restart.as_ref())
    };
    if restarts().any(|restart| !restart.nodes.is_empty()) {
        all.push(Assumption::given(
            "restart",
            "a limit or a prepare queue is read, and a ghost slot ends, only when a node-agent starts: played as a restart of the node-agents concerned now, with what the release that starts does to each task"
                .to_owned(),
        ));
    }
    let cannot: BTreeSet<&str> = restarts()
        .flat_map(|restart| &restart.cannot)
        .map(String::as_str)
        .collect();
    if !cannot.is_empty() {
        all.push(Assumption::given(
            "restart",
            format!(
                "the node-agent of {} does not work or cannot restart: played without a restart there",
                some_of(&cannot)
            ),
        ));
    }
    let idle = |outcome: &&Outcome| {
        outcome.scenario.ghost_slots == GhostSlots::Gone && outcome.restart.is_none()
    };
    if outcomes.iter().any(|outcome| idle(&outcome)) {
        all.push(Assumption::given(
            "restart",
            "no ghost slot, no broken holder and no newer configuration is known: without ghost slots nothing restarts"
                .to_owned(),
        ));
    }
    let names = &built.model.names;
    let nodes = || names.iter().zip(built.model.nodes.iter());
    let fixed: BTreeSet<&str> = nodes()
        .filter(|(name, node)| {
            !node.settings.limit
                && outcomes
                    .iter()
                    .any(|outcome| outcome.scenario.names_limit_of(name))
        })
        .map(|(name, _)| name.as_str())
        .collect();
    if !fixed.is_empty() {
        all.push(Assumption::given(
            "limit",
            format!(
                "the release of {} has no concurrency number to set: the limit stays 1 for each kind there",
                some_of(&fixed)
            ),
        ));
    }
    let unqueued: BTreeSet<&str> = nodes()
        .filter(|(_, node)| !node.settings.queue)
        .map(|(name, _)| name.as_str())
        .collect();
    let asks = outcomes
        .iter()
        .any(|outcome| outcome.scenario.prepare_queue.is_some());
    if asks && !unqueued.is_empty() {
        all.push(Assumption::given(
            "prepare queue",
            format!(
                "the release of {} has no prepare queue (it came with v1.17): none is played there",
                some_of(&unqueued)
            ),
        ));
    }
    all
}

fn tasks(number: usize) -> String {
    if number == 1 {
        "1 task".to_owned()
    } else {
        format!("{number} tasks")
    }
}

fn finished(number: usize) -> String {
    if number == 1 {
        "1 finished task is".to_owned()
    } else {
        format!("{number} finished tasks are")
    }
}

/// Names three, and counts the others.
fn some_of(names: &BTreeSet<&str>) -> String {
    let named: Vec<&str> = names.iter().take(3).copied().collect();
    let more = match names.len().saturating_sub(3) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!("{}{more}", named.join(", "))
}

/// From what durations are drawn, by the number of tasks.
fn durations(built: &Built<'_>) -> Vec<Assumption> {
    let mut tasks: BTreeMap<Basis, (usize, usize)> = BTreeMap::new();
    for spec in built.model.tasks.iter() {
        let (basis, samples) = match spec.start {
            Start::Holds(Remaining::Known(_)) => (Basis::OwnRate, 1),
            Start::HoldsForEver | Start::Ends(..) | Start::Stays(_) => continue,
            Start::Holds(Remaining::Beyond(_))
            | Start::Waits
            | Start::Exposes { .. }
            | Start::BecomesPrepared
            | Start::New => {
                let group = Some(spec.group)
                    .filter(|group| *group != NONE)
                    .and_then(|group| built.model.groups.get(usize::try_from(group).ok()?));
                let Some(group) = group else {
                    continue;
                };
                (group.basis, group.samples.len())
            }
        };
        let entry = tasks.entry(basis).or_default();
        entry.0 += 1;
        entry.1 = if basis == Basis::OwnRate {
            entry.0
        } else {
            entry.1.max(samples)
        };
    }
    tasks
        .into_iter()
        .map(|(basis, (count, samples))| Assumption {
            about: "duration",
            text: format!(
                "{count} {} as long as {} {}",
                if count == 1 {
                    "task takes"
                } else {
                    "tasks take"
                },
                basis.as_str(),
                if basis == Basis::OwnRate {
                    "say"
                } else {
                    "took"
                }
            ),
            samples: Some(samples),
        })
        .collect()
}

fn bad_input(built: &Built<'_>) -> Vec<Assumption> {
    let facts = &built.learned;
    let mut all = Vec::new();
    if facts.left_out > 0 {
        all.push(Assumption::given(
            "clock",
            format!(
                "{} left out: times run backwards, lie in the future, or are more than 30 days apart",
                finished(facts.left_out)
            ),
        ));
    }
    if facts.start_is_accept > 0 {
        all.push(Assumption::given(
            "duration",
            format!(
                "{} left out: the release writes the time of the accept as the start",
                finished(facts.start_is_accept)
            ),
        ));
    }
    if facts.absurd_bytes > 0 {
        all.push(Assumption::given(
            "bytes",
            format!(
                "the bytes of {} cannot be, and are not used",
                if facts.absurd_bytes == 1 {
                    "1 running task".to_owned()
                } else {
                    format!("{} running tasks", facts.absurd_bytes)
                }
            ),
        ));
    }
    all
}

fn troubles(request: &Request) -> Vec<Assumption> {
    let nodes = |wanted: &dyn Fn(Fault) -> bool| {
        let count = request
            .troubles
            .values()
            .filter(|trouble| wanted(trouble.fault))
            .count();
        match count {
            0 => None,
            1 => Some("1 node".to_owned()),
            count => Some(format!("{count} nodes")),
        }
    };
    let leaked = nodes(&|fault| matches!(fault, Fault::LeakedSlots(_)));
    let lost = nodes(&|fault| fault == Fault::LostTimers);
    let blocked = nodes(&|fault| fault == Fault::BlockedWorker);
    let undetermined = nodes(&|fault| matches!(fault, Fault::Undetermined(_)));
    [
        leaked.map(|nodes| {
            Assumption::given(
                "ghost slots",
                format!("on {nodes} the slots that nothing moves into stay taken, as diagnose concludes"),
            )
        }),
        lost.map(|nodes| {
            Assumption::given(
                "lost events",
                format!("on {nodes} nothing brings the waiting tasks back, as diagnose concludes"),
            )
        }),
        blocked.map(|nodes| {
            Assumption::given(
                "blocked worker",
                format!(
                    "on {nodes} the worker of the waiting tasks does not go on before the node-agent restarts, as diagnose concludes"
                ),
            )
        }),
        undetermined.map(|nodes| {
            Assumption::given(
                "cause",
                format!(
                    "why tasks wait beside a free slot on {nodes} is not determined: leaked slots in half of the runs, lost events in the others"
                ),
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}
