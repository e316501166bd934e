//! How the queue drains from here: a discrete-event simulation over the replay's own rules.
//!
//! ```text
//! Snapshot + Replay ─► build ─► Model ─┬─► run 1 ─┐
//!                                      ├─► run 2 ─┼─► Outcome (p50, p90)
//!                                      └─► …      ┘
//! ```
//!
//! A run is one possible future: the phases of the timers and the durations of the tasks are drawn from a
//! seed. The same seed gives the same bytes. What nobody can know is an [`Assumption`] of the answer.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::replay::{Deadline, Replay};
use crate::snapshot::Snapshot;
use crate::velero::TaskRef;

mod assumptions;
mod build;
mod durations;
mod engine;
mod later;
mod limits;
mod model;
mod outcome;
mod probe;
mod random;
mod risk;
mod scenario;
mod stage;
mod table;
#[cfg(test)]
mod tests;
mod trouble;

pub use assumptions::Assumption;
pub use durations::Basis;
pub use later::Later;
pub use model::Ending;
pub use outcome::{NodeOutcome, Outcome, Probes, Range, TaskOutcome};
pub use risk::{AtRisk, at_risk};
pub use scenario::{
    Concurrency, Design, GhostSlots, LARGEST_LIMIT, Order, RequeuePrepared, Scenario,
};
pub use stage::Restart;
pub use trouble::{Fault, Kinds, Trouble};

/// How long `GetExposed` of a DataUpload or DataDownload takes: two reads at the API server; assumed.
pub(crate) const GET_EXPOSED_DATA_MOVEMENT_MILLIS: i64 = 50;

/// How long `GetExposed` of a PodVolumeBackup or PodVolumeRestore takes: a read from the cache; assumed.
pub(crate) const GET_EXPOSED_POD_VOLUME_MILLIS: i64 = 2;

/// How long a look at the data-path manager takes; assumed.
pub(crate) const CHECK_MILLIS: i64 = 1;

/// How long Expose of a DataUpload or DataDownload blocks its worker; assumed.
pub(crate) const EXPOSE_DATA_MOVEMENT_MILLIS: i64 = 3000;

/// How long Expose of a PodVolumeBackup or PodVolumeRestore blocks its worker; assumed.
pub(crate) const EXPOSE_POD_VOLUME_MILLIS: i64 = 200;

/// From Accepted to Prepared where no task tells; assumed.
pub(crate) const ASSUMED_PREPARE_SECONDS: i64 = 30;

/// From which age on an Accepted task is an exception, if no other took so long: until then it is taken to need
/// as long again; assumed.
pub(crate) const EXCEPTION_SECONDS: i64 = 5 * 60;

/// Runs, where nothing else is asked for and the input is not huge.
pub const RUNS: u32 = 20;

/// What to simulate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The scenarios, side by side.
    pub scenarios: Vec<Scenario>,
    /// The seed.
    pub seed: u64,
    /// How many runs; `None`: [`RUNS`], fewer for a huge input.
    pub runs: Option<u32>,
    /// What is supposed to be wrong, by node.
    pub troubles: BTreeMap<String, Trouble>,
    /// Whether to look for the smallest limits and at the faults of the designs.
    pub depth: Depth,
}

/// How much is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// When each task starts and ends.
    #[default]
    TimesOnly,
    /// Also under which smallest limit each deadline is met, and what a leaked slot or a lost event does.
    Everything,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            scenarios: vec![Scenario::default()],
            seed: 0,
            runs: None,
            troubles: BTreeMap::new(),
            depth: Depth::TimesOnly,
        }
    }
}

/// A task that is not simulated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// The task.
    pub task: TaskRef,
    /// Why.
    pub why: &'static str,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// "Now": every time counts from here.
    pub taken_at: Timestamp,
    /// The seed.
    pub seed: u64,
    /// How many runs each scenario had; 0 where nothing could be simulated.
    pub runs: u32,
    /// How many tasks were simulated.
    pub tasks: usize,
    /// Why nothing could be simulated.
    pub refused: Option<String>,
    /// What the model assumes, and from how many samples.
    pub assumptions: Vec<Assumption>,
    /// Tasks that were left out.
    pub left: Vec<Left>,
    /// One for each scenario, in the order asked for.
    pub outcomes: Vec<Outcome>,
}

impl Simulation {
    /// Returns an instant so many milliseconds from "now".
    #[must_use]
    pub fn at(&self, millis: i64) -> Option<Timestamp> {
        after(self.taken_at, millis)
    }
}

/// Simulates.
#[must_use]
pub fn simulate(snapshot: &Snapshot, replay: &Replay<'_>, request: &Request) -> Simulation {
    let input = build::Input {
        snapshot,
        replay,
        troubles: &request.troubles,
    };
    let built = build::build(&input, &|_| true);
    let runs = request.runs.unwrap_or_else(|| runs_for(built.tasks.len()));
    let mut simulation = Simulation {
        taken_at: snapshot.taken_at,
        seed: request.seed,
        runs: 0,
        tasks: built.tasks.len(),
        refused: None,
        assumptions: assumptions::of(&built, replay, request),
        left: built.left.clone(),
        outcomes: Vec::new(),
    };
    if !built.tasks.is_empty() && built.model.knows_no_duration() {
        let finished = match built.learned.left_out + built.learned.start_is_accept {
            0 => "no task has finished".to_owned(),
            1 => "the task that has finished does not tell how long it ran".to_owned(),
            left => format!("none of the {left} tasks that have finished tells how long it ran"),
        };
        simulation.refused = Some(format!(
            "{finished}, and none that runs tells its rate: nothing says how long a task takes"
        ));
        return simulation;
    }
    simulation.runs = runs;
    let setting = outcome::Setting {
        built: &built,
        snapshot,
        replay,
        seed: request.seed,
        runs,
    };
    simulation.outcomes = request
        .scenarios
        .iter()
        .map(|scenario| {
            let mut outcome = outcome::of(&setting, scenario);
            if request.depth == Depth::Everything {
                let _hopeless = limits::find(&setting, scenario, &mut outcome);
                outcome.probes = Some(probe::of(&setting, scenario));
            }
            outcome
        })
        .collect();
    let changes = assumptions::of_changes(&built, &simulation.outcomes);
    simulation.assumptions.extend(changes);
    later::compare(&built, &mut simulation.outcomes);
    simulation
}

/// Fewer runs where each is long.
fn runs_for(tasks: usize) -> u32 {
    let tasks = u32::try_from(tasks).unwrap_or(u32::MAX).max(1);
    (400_000 / tasks).clamp(3, RUNS)
}

/// When a waiting or running task is expected to start and to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eta {
    /// When it gets its slot; `None` where it never does in most runs.
    pub start: Option<Timestamp>,
    /// How it ends in most runs.
    pub ending: Ending,
    /// When it ends, in half of the runs.
    pub end: Option<Timestamp>,
    /// When it ends, in nine of ten runs.
    pub end_p90: Option<Timestamp>,
    /// Its deadline.
    pub deadline: Option<Deadline>,
}

/// Returns the expectation for each unfinished task under the present state; empty where nothing says how
/// long a task takes.
#[must_use]
pub fn forecast(
    snapshot: &Snapshot,
    replay: &Replay<'_>,
    troubles: &BTreeMap<String, Trouble>,
) -> BTreeMap<TaskRef, Eta> {
    let request = Request {
        troubles: troubles.clone(),
        ..Request::default()
    };
    let simulation = simulate(snapshot, replay, &request);
    let Some(outcome) = simulation.outcomes.first() else {
        return BTreeMap::new();
    };
    let at = |millis: Option<i64>| millis.and_then(|millis| simulation.at(millis));
    outcome
        .tasks
        .iter()
        .map(|task| {
            let eta = Eta {
                start: at(task.start.p50),
                ending: task.ending,
                end: at(task.end.p50),
                end_p90: at(task.end.p90),
                deadline: task.deadline.clone(),
            };
            (task.task.clone(), eta)
        })
        .collect()
}

fn after(time: Timestamp, millis: i64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_millis(millis)).ok()
}
