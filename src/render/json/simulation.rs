//! `kind: Simulation`, version 1.

use serde::Serialize;

use super::text::Text;
use super::v1::{API_VERSION, Deadline, Gap, Source, Task, each, time};
use crate::report;

#[cfg(test)]
use schemars::JsonSchema;

/// The answer of `replay --simulate`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Simulation<'a> {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Simulation`.
    #[cfg_attr(test, schemars(extend("const" = "Simulation")))]
    kind: &'static str,
    /// "Now": the time that every duration counts from.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    taken_at: String,
    /// Where the answer comes from.
    source: Source<'a>,
    /// Velero's namespace.
    namespace: Text<'a>,
    /// The versions of server and agents, oldest first.
    velero_versions: Vec<Text<'a>>,
    /// What could not be read or known.
    gaps: Vec<Gap<'a>>,
    /// The seed: the same gives the same answer.
    seed: u64,
    /// How many runs each scenario had; 0 where nothing could be simulated, which a gap explains.
    runs: u32,
    /// How many tasks were simulated.
    tasks: usize,
    /// What the model takes for given, what matters most first.
    assumptions: Vec<Assumption<'a>>,
    /// Unfinished tasks that were not simulated.
    left_out: Vec<Left<'a>>,
    /// The scenarios, in the order asked for.
    scenarios: Vec<Scenario<'a>>,
}

/// What the model takes for given.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Assumption<'a> {
    /// What it is about.
    about: &'a str,
    /// What is assumed, in one sentence.
    text: Text<'a>,
    /// From how many samples it was learned; null where it was not.
    samples: Option<usize>,
}

/// A task that was not simulated.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Left<'a> {
    /// The task.
    task: Task<'a>,
    /// Why.
    reason: &'static str,
}

/// A number over all runs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Range {
    /// Half of the runs stay within it; null: it never happens in so many.
    p50: Option<i64>,
    /// Nine of ten do.
    p90: Option<i64>,
}

/// What one scenario comes to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scenario<'a> {
    /// The design.
    #[cfg_attr(test, schemars(extend("enum" = ["upstream", "early-check", "reserve-slot"])))]
    design: &'static str,
    /// What differs from the present, in words; empty for the present.
    what_if: String,
    /// When the last task that ends at all has ended, in seconds from takenAt.
    drain_seconds: Range,
    /// Whether the higher limits drain later than the present ones, run by run; null where no limit is raised,
    /// or another thing differs too.
    later_than_present: Option<Later>,
    /// The restart of node-agents that the scenario takes, which is played as one now; null where it takes none.
    restart: Option<Restart<'a>>,
    /// `GetExposed` calls.
    get_exposed: Calls,
    /// Slot-seconds that were free while a task waited in the same pool.
    slot_idle_seconds: Range,
    /// Tasks that miss their deadline.
    missed_deadlines: Range,
    /// Tasks that never end.
    stuck: Range,
    /// Tasks of the busiest node that never get a slot when all its slots are leaked.
    stuck_by_leaked_slots: Option<i64>,
    /// Tasks of the busiest node that never get a slot when their timers are lost.
    stuck_by_lost_events: Option<i64>,
    /// How the tasks end.
    endings: Vec<Ending>,
    /// The nodes that have unfinished tasks, by name.
    nodes: Vec<Node<'a>>,
    /// The tasks, in order.
    tasks: Vec<TaskRow<'a>>,
}

/// A restart of node-agents: a number is read when one starts, and only its end frees ghost slots.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Restart<'a> {
    /// The nodes, by name.
    nodes: Vec<Text<'a>>,
    /// How many tasks it cancels or marks Failed.
    ended: usize,
    /// How many tasks stay, and nobody works on them any more.
    stranded: usize,
    /// Nodes whose node-agent would have to restart and cannot: they are played as they are.
    cannot: Vec<Text<'a>>,
}

/// How often and by how much a scenario drains later, with the same timers and durations.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Later {
    /// In how many runs.
    runs: usize,
    /// Of how many.
    of_runs: usize,
    /// By how many seconds, in those runs; null where there are none.
    by_seconds: Range,
    /// By how many seconds at most.
    most_seconds: i64,
}

/// `GetExposed` calls.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Calls {
    /// Made.
    made: Range,
    /// Made, and the slot was refused afterwards.
    wasted: Range,
    /// Of the wasted: a task of the same kind took the slot during the call.
    raced_same_kind: Range,
    /// Of the wasted: a task of another kind took it.
    raced_other_kind: Range,
}

/// How many tasks end in one way.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ending {
    /// How.
    #[cfg_attr(test, schemars(extend("enum" = ENDINGS)))]
    how: &'static str,
    /// How many tasks.
    tasks: Range,
}

/// Every way in which a task can end or not.
#[cfg(test)]
pub(super) const ENDINGS: [&str; 13] = [
    "completed",
    "deadline-waiting",
    "deadline-running",
    "prepare-timeout",
    "ended-by-a-look",
    "ended-by-restart",
    "no-slot-left",
    "nobody-looks",
    "missing-owner",
    "target",
    "never-ends",
    "no-room-in-queue",
    "not-known",
];

/// A node.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node<'a> {
    /// Its name.
    name: Text<'a>,
    /// How many unfinished tasks are bound to it now.
    tasks: usize,
    /// When its last task has ended, in seconds from takenAt; of those whose end is known.
    idle_in_seconds: Range,
    /// How many of its tasks end at a time that is not known, or not at all.
    not_known: usize,
    /// The smallest limit under which, in half of the runs, none of its tasks misses a deadline that some limit
    /// would meet; null where none does, or no limit helps. A limit takes effect by a restart, which frees ghost
    /// slots too: where that alone is enough, this is the limit in force.
    smallest_limit: Option<i64>,
}

/// A task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskRow<'a> {
    /// The task.
    task: Task<'a>,
    /// Its phase now.
    phase: Text<'a>,
    /// Its node now; null where none is known.
    node: Option<Text<'a>>,
    /// When it gets its slot, in seconds from takenAt; 0 for one that has it; null with ending `not-known`.
    start_seconds: Range,
    /// When it ends, in seconds from takenAt.
    end_seconds: Range,
    /// How it ends in most runs.
    #[cfg_attr(test, schemars(extend("enum" = ENDINGS)))]
    ending: &'static str,
    /// Its deadline.
    deadline: Option<Deadline>,
    /// In how many runs it misses its deadline.
    missed_runs: u32,
    /// The same of its node; null where this one meets its own deadline in half of the runs, or no limit saves
    /// it.
    smallest_limit: Option<i64>,
    /// From what its duration is drawn; null where nothing is known of it.
    duration_from: Option<&'static str>,
    /// From how many samples.
    samples: Option<usize>,
}

impl<'a> From<&'a report::SimulationReport> for Simulation<'a> {
    fn from(report: &'a report::SimulationReport) -> Self {
        let head = &report.head;
        let simulation = &report.simulation;
        Self {
            api_version: API_VERSION,
            kind: "Simulation",
            taken_at: time(head.taken_at),
            source: Source::from(head),
            namespace: Text(&head.namespace),
            velero_versions: head.velero_versions.iter().map(|text| Text(text)).collect(),
            gaps: each(&head.gaps),
            seed: simulation.seed,
            runs: simulation.runs,
            tasks: simulation.tasks,
            assumptions: each(&simulation.assumptions),
            left_out: simulation
                .left
                .iter()
                .map(|left| Left {
                    task: Task::from(&left.task),
                    reason: left.why,
                })
                .collect(),
            scenarios: each(&simulation.outcomes),
        }
    }
}

impl<'a> From<&'a report::Assumption> for Assumption<'a> {
    fn from(assumption: &'a report::Assumption) -> Self {
        Self {
            about: assumption.about,
            text: Text(&assumption.text),
            samples: assumption.samples,
        }
    }
}

impl From<report::Range> for Range {
    fn from(range: report::Range) -> Self {
        Self {
            p50: range.p50,
            p90: range.p90,
        }
    }
}

/// Milliseconds as seconds.
fn seconds(millis: report::Range) -> Range {
    Range {
        p50: millis.p50.map(|millis| millis / 1000),
        p90: millis.p90.map(|millis| millis / 1000),
    }
}

impl<'a> From<&'a report::Outcome> for Scenario<'a> {
    fn from(outcome: &'a report::Outcome) -> Self {
        Self {
            design: outcome.scenario.design.as_str(),
            what_if: outcome.scenario.changes(),
            drain_seconds: seconds(outcome.drained),
            later_than_present: outcome.later.map(|later| Later {
                runs: later.runs,
                of_runs: later.of,
                by_seconds: seconds(later.by),
                most_seconds: later.most / 1000,
            }),
            restart: outcome.restart.as_ref().map(|restart| Restart {
                nodes: restart.nodes.iter().map(|name| Text(name)).collect(),
                ended: restart.ended,
                stranded: restart.stranded,
                cannot: restart.cannot.iter().map(|name| Text(name)).collect(),
            }),
            get_exposed: Calls {
                made: outcome.calls.into(),
                wasted: outcome.wasted.into(),
                raced_same_kind: outcome.raced_same_kind.into(),
                raced_other_kind: outcome.raced_other_kind.into(),
            },
            slot_idle_seconds: seconds(outcome.idle),
            missed_deadlines: outcome.missed.into(),
            stuck: outcome.stuck.into(),
            stuck_by_leaked_slots: outcome.probes.map(|probes| probes.stuck_by_leaked_slots),
            stuck_by_lost_events: outcome.probes.map(|probes| probes.stuck_by_lost_events),
            endings: outcome
                .endings
                .iter()
                .map(|(ending, tasks)| Ending {
                    how: ending.as_str(),
                    tasks: (*tasks).into(),
                })
                .collect(),
            nodes: each(&outcome.nodes),
            tasks: each(&outcome.tasks),
        }
    }
}

impl<'a> From<&'a report::NodeOutcome> for Node<'a> {
    fn from(node: &'a report::NodeOutcome) -> Self {
        Self {
            name: Text(&node.name),
            tasks: node.tasks,
            idle_in_seconds: seconds(node.idle_at),
            not_known: node.not_known,
            smallest_limit: node.smallest_limit,
        }
    }
}

impl<'a> From<&'a report::TaskOutcome> for TaskRow<'a> {
    fn from(task: &'a report::TaskOutcome) -> Self {
        Self {
            task: Task::from(&task.task),
            phase: Text(task.phase.as_str()),
            node: task.node.as_deref().map(Text),
            start_seconds: seconds(task.start),
            end_seconds: seconds(task.end),
            ending: task.ending.as_str(),
            deadline: task.deadline.as_ref().map(Deadline::from),
            missed_runs: task.missed_runs,
            smallest_limit: task.smallest_limit,
            duration_from: task.basis.map(|(basis, _)| basis.as_str()),
            samples: task.basis.map(|(_, samples)| samples),
        }
    }
}
