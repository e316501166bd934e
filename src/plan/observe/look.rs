//! Whether a controller looked at a task since a step, by the log of its node-agent.
//!
//! A line of a log has the clock of its node, and a step that of the API server. The two may be seconds apart, and
//! a look follows its step within a second. So what is new in a log is told by what the log ended with just before
//! the step, and by its own clock; by the other clock only where nothing else tells.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::super::common::not_whole;
use super::super::model::{Plan, PlanAction};
use super::{Look, Reached};
use crate::replay::Replay;
use crate::snapshot::log_line::LogLine;
use crate::snapshot::{LogFile, NodeAgent, Previous, ResourceKind, Snapshot, log_evidence};
use crate::velero::TaskRef;

/// How many lines the end of a log is known by: one alone may be written twice within its second.
const MARK_LINES: usize = 5;

/// How far the clock of a node may be from that of the API server, in seconds, before it would be noticed otherwise.
const CLOCK_DOUBT_SECONDS: i64 = 10;

/// What looks count from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The time of the step, by the API server's clock.
    pub at: Timestamp,
    /// What the logs ended with just before it.
    pub logs: LogMarks,
}

impl Since {
    /// Begins at a time, without knowing what the logs ended with.
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        Self {
            at,
            logs: LogMarks::default(),
        }
    }
}

/// What the logs of node-agents ended with, by namespace, pod and container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogMarks(BTreeMap<(String, String, String), LogMark>);

/// What one log ended with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LogMark {
    /// Its last lines, as they stand there.
    end: String,
    /// The newest time in it, by the clock of the node.
    newest: Option<Timestamp>,
}

impl LogMarks {
    /// Notes what the logs of a reading end with.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let logs = snapshot
            .logs
            .iter()
            .filter(|log| log.previous == Previous::No);
        Self(logs.map(|log| (key(log), LogMark::of(&log.body))).collect())
    }
}

fn key(log: &LogFile) -> (String, String, String) {
    (
        log.namespace.clone(),
        log.pod.clone(),
        log.container.clone(),
    )
}

impl LogMark {
    fn of(body: &str) -> Self {
        let from = body
            .trim_end_matches('\n')
            .rmatch_indices('\n')
            .nth(MARK_LINES - 1)
            .map_or(0, |(at, _)| at + 1);
        Self {
            end: body
                .get(from..)
                .unwrap_or(body)
                .trim_end_matches('\n')
                .to_owned(),
            newest: body
                .lines()
                .filter_map(|line| LogLine::parse(line)?.time)
                .max(),
        }
    }
}

/// Whether the process of an agent came after the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Before,
    After,
}

/// Whether an agent's pod came after the step: the server's clock tells, or the plan, which knew another one.
fn age(plan: &Plan, agent: &NodeAgent, since: &Since) -> Age {
    let replaced = plan.action == PlanAction::Restart
        && agent
            .node()
            .and_then(|node| plan.node(node)?.agent.as_ref())
            .is_some_and(|planned| planned.uid != agent.pod.uid);
    if replaced || agent.pod.created.is_some_and(|created| created > since.at) {
        Age::After
    } else {
        Age::Before
    }
}

/// Whether a line of a log came after the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Before,
    After,
    /// The clocks are too close to tell.
    Perhaps,
}

/// How the new lines of a log are told from the old ones.
#[derive(Clone, Copy, Debug)]
enum Border {
    /// All are new.
    None,
    /// By their place.
    Place(usize),
    /// By the log's own clock: what it ended with is not in it any more.
    OwnClock(Timestamp),
    /// By the API server's clock.
    OtherClock(Timestamp),
}

impl Border {
    fn of(log: &LogFile, age: Age, since: &Since) -> Self {
        if age == Age::After {
            return Self::None;
        }
        let Some(mark) = since.logs.0.get(&key(log)) else {
            return Self::OtherClock(since.at);
        };
        if mark.end.is_empty() {
            return Self::None;
        }
        match (log.body.rfind(&mark.end), mark.newest) {
            (Some(at), _) => Self::Place(at + mark.end.len()),
            (None, Some(newest)) => Self::OwnClock(newest),
            (None, None) => Self::OtherClock(since.at),
        }
    }

    fn came(self, place: usize, at: Timestamp) -> Came {
        match self {
            Self::None => Came::After,
            Self::Place(border) if place >= border => Came::After,
            Self::OwnClock(border) if at > border => Came::After,
            Self::Place(_) | Self::OwnClock(_) => Came::Before,
            Self::OtherClock(border) => {
                let doubt = SignedDuration::from_secs(CLOCK_DOUBT_SECONDS);
                let apart = at.duration_since(border);
                if apart > doubt {
                    Came::After
                } else if apart < -doubt {
                    Came::Before
                } else {
                    Came::Perhaps
                }
            }
        }
    }
}

/// Whether a node-agent that may act on the task looked at it, by its log.
pub(super) fn look(
    plan: &Plan,
    snapshot: &Snapshot,
    replay: &Replay<'_>,
    task: &TaskRef,
    since: &Since,
) -> Look {
    let node = replay
        .tasks
        .get(task)
        .and_then(|task| task.node.as_deref())
        .or_else(|| {
            plan.effects
                .iter()
                .find(|effect| effect.task == *task)
                .and_then(|effect| effect.node.as_deref())
        });
    // Without a node any agent may look at it, and all of their logs count.
    let agents: Vec<&NodeAgent> = snapshot
        .agents
        .iter()
        .filter(|agent| agent.pod_works())
        .filter(|agent| node.is_none() || agent.node() == node)
        .collect();
    if agents.is_empty() {
        let why = match not_whole(snapshot, ResourceKind::Pod) {
            Some(reason) => format!("the node-agent pods could not be read: {}", reason.as_str()),
            None => "no node-agent works there".to_owned(),
        };
        return Look::NotWatched(why);
    }
    let mut unseen: Option<String> = None;
    for agent in agents {
        match look_of(snapshot, agent, task, since, age(plan, agent, since)) {
            seen @ Look::Seen { .. } => return seen,
            Look::NotSeen { .. } => {}
            Look::NotWatched(why) => unseen = unseen.or(Some(why)),
        }
    }
    unseen.map_or(
        Look::NotSeen {
            through: snapshot.taken_at,
        },
        Look::NotWatched,
    )
}

fn look_of(
    snapshot: &Snapshot,
    agent: &NodeAgent,
    task: &TaskRef,
    since: &Since,
    age: Age,
) -> Look {
    let name = &agent.pod.key.name;
    let log = snapshot.logs.iter().find(|log| {
        log.namespace == agent.pod.key.namespace
            && log.pod == *name
            && log.container == agent.container
            && log.previous == Previous::No
    });
    let Some(log) = log else {
        return Look::NotWatched(format!("the log of {name} was not read"));
    };
    let border = Border::of(log, age, since);
    let asked = agent
        .evidence
        .as_ref()
        .and_then(|evidence| evidence.waits.get(&task.name))
        .filter(|wait| wait.kind.is_none_or(|kind| kind == task.kind))
        .map(|wait| &wait.line);
    let mut speaks = Speaks::No;
    let mut newest: Option<Look> = None;
    let mut doubtful: Option<Timestamp> = None;
    for (place, text) in lines_from_the_end(&log.body) {
        let Some(line) = LogLine::parse(text) else {
            continue;
        };
        let Some(at) = line.time else {
            continue;
        };
        let came = border.came(place, at);
        // What an earlier process wrote, at a level of its own, tells nothing of this one.
        if came == Came::Before
            && (speaks == Speaks::Yes || agent.started_at.is_some_and(|start| at < start))
        {
            break;
        }
        // A look is told at info: at a higher level silence means nothing.
        if matches!(line.level.as_ref(), "info" | "debug" | "trace") {
            speaks = Speaks::Yes;
        }
        let is_about = log_evidence::is_about(&line, task);
        let asked = asked.filter(|asked| {
            asked.at == Some(at) && (is_about || asked.text.starts_with(&*line.message))
        });
        if came == Came::Before || !(is_about || asked.is_some()) {
            continue;
        }
        if came == Came::Perhaps {
            doubtful = doubtful.or(Some(at));
            continue;
        }
        if let Some(asked) = asked {
            return Look::Seen {
                at: Some(at),
                line: asked.text.clone(),
                reached: Reached::Slot,
            };
        }
        if is_resume(&line.message) {
            return Look::Seen {
                at: Some(at),
                line: line.message.into_owned(),
                reached: Reached::Resumed,
            };
        }
        newest.get_or_insert_with(|| Look::Seen {
            at: Some(at),
            line: line.message.into_owned(),
            reached: Reached::Elsewhere,
        });
    }
    if let Some(seen) = newest {
        return seen;
    }
    match (doubtful, speaks) {
        (Some(at), _) => Look::NotWatched(format!(
            "the log of {name} has a line about it of {at} by the clock of its node, which may be before or after the step"
        )),
        (None, Speaks::Yes) => Look::NotSeen {
            through: snapshot.taken_at,
        },
        (None, Speaks::No) => Look::NotWatched(format!(
            "the log of {name} has no line at level info, so its silence tells nothing"
        )),
    }
}

/// The lines of a text with their places, the last one first.
fn lines_from_the_end(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = Some(text.trim_end_matches('\n'));
    std::iter::from_fn(move || {
        let text = rest?;
        let at = text.rfind('\n').map_or(0, |at| at + 1);
        rest = text.get(..at.saturating_sub(1)).filter(|_| at > 0);
        Some((at, text.get(at..).unwrap_or(text)))
    })
}

/// Whether a line says that the data path of a task runs again after a restart (v1.15.2 … main
/// `pkg/controller`). That a resume was begun does not say so, and one that failed says the contrary.
fn is_resume(message: &str) -> bool {
    message.starts_with("asyncBR is resumed for ")
        || message.starts_with("Completed to resume in progress ")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaks {
    No,
    Yes,
}
