//! What the model assumes, said in the answer.

use std::collections::BTreeMap;

use super::build::{Built, queue_is_unknown};
use super::durations::Basis;
use super::model::{NONE, Remaining, Start};
use super::{
    ASSUMED_PREPARE_SECONDS, EXPOSE_DATA_MOVEMENT_MILLIS, Fault, GET_EXPOSED_DATA_MOVEMENT_MILLIS,
    Request,
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
        let named: Vec<&str> = built
            .unknown_limits
            .iter()
            .take(3)
            .map(String::as_str)
            .collect();
        let more = match built.unknown_limits.len().saturating_sub(3) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        all.push(Assumption::given(
            "limit",
            format!(
                "the limit of {}{more} is not known: taken as the number of slots held there, at least 1",
                named.join(", ")
            ),
        ));
    }
    if queue_is_unknown(replay) && request.scenarios.iter().any(|s| s.prepare_queue.is_none()) {
        all.push(Assumption::given(
            "prepare queue",
            "whether a prepare queue is in force could not be read: taken as none".to_owned(),
        ));
    }
    all.push(if built.learned.prepare == 0 {
        Assumption::given(
            "preparing",
            format!("from Accepted to Prepared {ASSUMED_PREPARE_SECONDS} s"),
        )
    } else {
        Assumption {
            about: "preparing",
            text: "from Accepted to Prepared as long as the tasks took that are Prepared now"
                .to_owned(),
            samples: Some(built.learned.prepare),
        }
    });
    if built.without_node > 0 {
        all.push(Assumption::given(
            "node",
            format!(
                "{} tasks have no node yet: any node with a working agent, with the same chance",
                built.without_node
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
                "{} finished tasks are left out: their times run backwards, lie in the future, or are more than 30 days apart",
                facts.left_out
            ),
        ));
    }
    if facts.start_is_accept > 0 {
        all.push(Assumption::given(
            "duration",
            format!(
                "{} finished tasks are left out: their release writes the time of the accept as their start",
                facts.start_is_accept
            ),
        ));
    }
    if facts.absurd_bytes > 0 {
        all.push(Assumption::given(
            "bytes",
            format!(
                "the bytes of {} running tasks cannot be, and are not used",
                facts.absurd_bytes
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
