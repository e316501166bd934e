//! One task, or the tasks of a Backup, Restore or PVC: the answer first, then gates, slots, findings and story.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::diagnosis::{FindingRow, row as finding_row};
use super::filters::is_under_way;
use super::replay::{Competing, DecisionRow, row as decision_row};
use super::{Head, Pins};
use crate::diagnose::{Diagnosis, Finding, Severity};
use crate::replay::{Deadline, LimitSource, Replay, SlotEntry, TaskReplay, Verb};
use crate::simulate::Eta;
use crate::snapshot::{NodeAgent, Progress, Snapshot, Task};
use crate::velero::{ObjectRef, Phase, Profile, TaskKind, TaskRef};

mod frees;
mod gates;
mod held_up;
mod story;
mod subject;
#[cfg(test)]
mod tests;

pub use gates::{GateName, GateRow, GateState};
pub use story::{StoryLine, StorySource};
pub use subject::Subject;

/// The answer of `explain KIND/NAME`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplanationReport {
    /// The head.
    pub head: Head,
    /// What was asked about.
    pub subject: ObjectRef,
    /// Its phase, for a Backup, Restore or PVC that was read.
    pub subject_phase: Option<String>,
    /// The worst verdict of the tasks that are unfinished, or of the one explained.
    pub verdict: Standing,
    /// Why nothing better than `unknown` can be said, one sentence each.
    pub inconclusive: Vec<String>,
    /// Its unfinished tasks, those that matter most first.
    pub unfinished: Vec<TaskLine>,
    /// How many of its tasks are final.
    pub finished: usize,
    /// The tasks told in full: all that a name means, or of a Backup, Restore or PVC the one that matters most.
    pub tasks: Vec<TaskExplanation>,
}

/// How a task stands, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// A critical finding concerns it.
    Stuck,
    /// What was read does not tell.
    Unknown,
    /// A warning concerns it.
    Attention,
    /// It waits, and nothing is wrong.
    Waiting,
    /// It runs, and nothing is wrong.
    Running,
    /// It is final.
    Finished,
}

impl Standing {
    /// Returns the word used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Unknown => "unknown",
            Self::Attention => "attention",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Finished => "finished",
        }
    }
}

/// One unfinished task in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLine {
    /// The task.
    pub task: TaskRef,
    /// Its phase.
    pub phase: Phase,
    /// Its node.
    pub node: Option<String>,
    /// How it stands.
    pub verdict: Standing,
    /// The gate that is closed.
    pub closed_gate: Option<GateName>,
    /// Why it does not move on.
    pub reason: String,
    /// When it ends by itself at the latest.
    pub deadline: Option<Deadline>,
    /// When it is expected to end; only after [`ExplanationReport::with_forecast`].
    pub eta: Option<Eta>,
}

/// One task, told in full.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskExplanation {
    /// The task.
    pub task: TaskRef,
    /// Its phase.
    pub phase: Phase,
    /// For how long it is in that phase, where that is known.
    pub phase_seconds: Option<i64>,
    /// Its node.
    pub node: Option<String>,
    /// How it stands.
    pub verdict: Standing,
    /// The Backup or Restore that it belongs to.
    pub parent: Option<ObjectRef>,
    /// The first release with the rules that apply.
    pub rules: &'static str,
    /// The gate that is closed.
    pub closed_gate: Option<GateName>,
    /// Why it stands where it does, in one sentence.
    pub reason: String,
    /// What would let it move on, the nearest way first.
    pub frees: Vec<String>,
    /// When it ends by itself at the latest.
    pub deadline: Option<Deadline>,
    /// When it is expected to end; only after [`ExplanationReport::with_forecast`].
    pub eta: Option<Eta>,
    /// The gates in Velero's order; empty for a final task and for one that the agents pass over.
    pub gates: Vec<GateRow>,
    /// What a look now would decide; `None` for a final task.
    pub decision: Option<DecisionRow>,
    /// The slots of its node, and who holds them; `None` where it has no node.
    pub slots: Option<NodeSlots>,
    /// What fills the prepare queue, while that is what it waits for.
    pub queue: Vec<Holder>,
    /// Who may take the next slot or place first.
    pub competing: Option<Competing>,
    /// The findings that concern it, worst first.
    pub findings: Vec<Concern>,
    /// What happened, in time order.
    pub story: Vec<StoryLine>,
}

/// The slots of a task's node: derived, never observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSlots {
    /// The node.
    pub node: String,
    /// The limit; `None` where it is not known.
    pub limit: Option<i64>,
    /// Where the limit comes from.
    pub limit_source: LimitSource,
    /// Who holds a slot, by the status of the tasks.
    pub holders: Vec<Holder>,
    /// Who else took one and did not give it back, by the node-agent's log; empty without a log.
    pub logged: Vec<LoggedSlot>,
}

/// An entry of the node-agent's memory that only its log shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedSlot {
    /// The kind of the task, where the log tells.
    pub kind: Option<TaskKind>,
    /// The name of the task.
    pub name: String,
    /// When it took the slot; `None` if that was before the log speaks.
    pub since: Option<Timestamp>,
    /// How far its data path has come.
    pub stage: &'static str,
    /// From when on the log speaks.
    pub speaks_from: Option<Timestamp>,
}

/// A task that holds a slot or a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The task.
    pub task: TaskRef,
    /// Its phase.
    pub phase: Phase,
    /// Its progress.
    pub progress: Option<Progress>,
    /// When it started.
    pub started: Option<Timestamp>,
}

/// A finding that concerns a task, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// The finding.
    pub row: FindingRow,
    /// How it concerns the task.
    pub role: Role,
}

/// How a finding concerns a task, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It is about the task.
    About,
    /// The task waits because of it.
    Affected,
    /// The task stands in the way of others.
    InTheWay,
    /// It is about the task's node, and names no task.
    Node,
}

impl Role {
    /// Returns the word used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::About => "about",
            Self::Affected => "affected",
            Self::InTheWay => "in-the-way",
            Self::Node => "node",
        }
    }
}

/// Nothing of that name is in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// What was asked about.
    pub subject: ObjectRef,
    /// What may have been meant, nearest first, as it can be typed.
    pub near: Vec<String>,
    /// Kinds that could not be read, or only in part: it may be among them.
    pub unread: Vec<TaskKind>,
}

/// What is looked at, and what is looked up for each task.
struct Explainer<'a, 's> {
    snapshot: &'s Snapshot,
    replay: &'a Replay<'s>,
    diagnosis: &'a Diagnosis,
    pins: &'a Pins,
    concerns: BTreeMap<TaskRef, Vec<(Role, &'a Finding)>>,
}

impl ExplanationReport {
    /// Returns whether nothing that is meant waits or runs, the Backup or Restore itself included, and that is known:
    /// no kind of task may hide one.
    #[must_use]
    pub fn is_idle(&self, subject: &Subject, snapshot: &Snapshot) -> bool {
        let is_under_way = match subject {
            Subject::Parent(parent) => is_under_way(snapshot, parent),
            Subject::Task(..) | Subject::AnyKind(_) | Subject::Claim(_) => false,
        };
        self.unfinished.is_empty()
            && self.verdict == Standing::Finished
            && !is_under_way
            && self.head.hidden_tasks().next().is_none()
    }

    /// Makes the answer from what was seen and concluded.
    ///
    /// # Errors
    ///
    /// When nothing of that name is in the input.
    pub fn new(
        snapshot: &Snapshot,
        replay: &Replay<'_>,
        diagnosis: &Diagnosis,
        subject: &Subject,
        pins: &Pins,
    ) -> Result<Self, NotFound> {
        let (tasks, mut gaps) = subject.tasks(snapshot);
        if tasks.is_empty() && !subject.is_seen(snapshot) {
            let head = Head::new(snapshot, replay, &gaps, pins);
            return Err(NotFound {
                subject: subject.reference(&snapshot.namespace),
                near: subject.near(snapshot),
                unread: head.unread_tasks.iter().map(|unread| unread.kind).collect(),
            });
        }
        let explainer = Explainer {
            snapshot,
            replay,
            diagnosis,
            pins,
            concerns: concerns(diagnosis),
        };
        let mut unfinished: Vec<(&Task, TaskLine)> = tasks
            .iter()
            .filter_map(|task| Some((*task, explainer.line(task)?)))
            .collect();
        unfinished.sort_by(|(_, one), (_, other)| {
            weight(one)
                .cmp(&weight(other))
                .then_with(|| one.task.cmp(&other.task))
        });
        let in_full: Vec<&Task> = match subject {
            Subject::Task(..) | Subject::AnyKind(_) => tasks.clone(),
            Subject::Parent(_) | Subject::Claim(_) => unfinished
                .first()
                .map(|(task, _)| *task)
                .or_else(|| worst_end(&tasks))
                .into_iter()
                .collect(),
        };
        let told: Vec<TaskExplanation> = in_full
            .into_iter()
            .map(|task| explainer.in_full(task))
            .collect();
        gaps.extend(
            told.iter()
                .filter(|told| told.deadline.is_none())
                .filter_map(|told| replay.tasks.get(&told.task)?.deadline_gap.clone()),
        );
        gaps.extend(replay.gaps.iter().chain(&diagnosis.gaps).cloned());
        let finished = tasks.len().saturating_sub(unfinished.len());
        let verdict = unfinished
            .iter()
            .map(|(_, line)| line.verdict)
            .min()
            .unwrap_or(Standing::Finished);
        Ok(Self {
            head: Head::new(snapshot, replay, &gaps, pins),
            subject: subject.reference(&snapshot.namespace),
            subject_phase: subject_phase(snapshot, subject),
            verdict,
            inconclusive: diagnosis.inconclusive.clone(),
            unfinished: unfinished.into_iter().map(|(_, line)| line).collect(),
            finished,
            tasks: told,
        })
    }

    /// Adds when each unfinished task is expected to end.
    #[must_use]
    pub fn with_forecast(mut self, forecast: &BTreeMap<TaskRef, Eta>) -> Self {
        for line in &mut self.unfinished {
            line.eta = forecast.get(&line.task).cloned();
        }
        for told in &mut self.tasks {
            told.eta = forecast.get(&told.task).cloned();
        }
        self
    }
}

/// Orders unfinished tasks: the worst first, then the one that ends by itself first.
fn weight(line: &TaskLine) -> (Standing, bool, Option<Timestamp>) {
    let at = line.deadline.as_ref().map(|deadline| deadline.at);
    (line.verdict, at.is_none(), at)
}

/// Returns the final task that matters most: one that ended badly, the newest.
fn worst_end<'t>(tasks: &[&'t Task]) -> Option<&'t Task> {
    tasks.iter().copied().max_by_key(|task| {
        let badly = matches!(task.phase, Phase::Failed | Phase::Canceled);
        (badly, task.completed)
    })
}

fn subject_phase(snapshot: &Snapshot, subject: &Subject) -> Option<String> {
    match subject {
        Subject::Task(..) | Subject::AnyKind(_) => None,
        Subject::Parent(parent) => snapshot
            .parent(parent)
            .seen()
            .map(|parent| parent.phase.clone()),
        Subject::Claim(claim) => snapshot.claims.get(claim).map(|claim| claim.phase.clone()),
    }
}

/// Returns the findings that concern each task; each finding once, in its nearest role.
fn concerns(diagnosis: &Diagnosis) -> BTreeMap<TaskRef, Vec<(Role, &Finding)>> {
    let mut all: BTreeMap<TaskRef, BTreeMap<usize, Role>> = BTreeMap::new();
    for (index, finding) in diagnosis.findings.iter().enumerate() {
        let mut note = |task: TaskRef, role: Role| {
            let known = all.entry(task).or_default().entry(index).or_insert(role);
            *known = role.min(*known);
        };
        for task in &finding.tasks {
            note(task.clone(), Role::About);
        }
        for task in &finding.affects {
            note(task.clone(), Role::Affected);
        }
        for object in &finding.blocked_by {
            let kind = TaskKind::ALL
                .into_iter()
                .find(|kind| kind.as_str() == object.kind);
            if let (Some(kind), Some(namespace)) = (kind, &object.namespace) {
                let task = TaskRef {
                    kind,
                    namespace: namespace.clone(),
                    name: object.name.clone(),
                };
                note(task, Role::InTheWay);
            }
        }
    }
    all.into_iter()
        .map(|(task, found)| {
            let found = found
                .into_iter()
                .filter_map(|(index, role)| Some((role, diagnosis.findings.get(index)?)))
                .collect();
            (task, found)
        })
        .collect()
}

impl Explainer<'_, '_> {
    /// Returns the findings that concern a task, in the order of the diagnosis: worst first.
    fn concerns_of(&self, task: &TaskRef, node: Option<&str>) -> Vec<(Role, &Finding)> {
        let mut found = self.concerns.get(task).cloned().unwrap_or_default();
        let unfinished = self.replay.tasks.contains_key(task);
        let of_node = self.diagnosis.findings.iter().filter(|finding| {
            unfinished
                && finding.tasks.is_empty()
                && finding.affects.is_empty()
                && node.is_some()
                && finding.node.as_deref() == node
        });
        found.extend(of_node.map(|finding| (Role::Node, finding)));
        found.sort_by_key(|(role, finding)| (finding.severity, *role));
        found
    }

    fn standing(&self, task: &TaskReplay<'_>) -> Standing {
        let node = task.node.as_deref();
        let worst = self
            .concerns_of(&task.task.reference, node)
            .iter()
            // Standing in the way of others is not a fault of this task's own.
            .filter(|(role, _)| matches!(role, Role::About | Role::Affected))
            .map(|(_, finding)| finding.severity)
            .min();
        let undecided =
            task.decision.verb == Verb::Unknown || !self.diagnosis.inconclusive.is_empty();
        match worst {
            Some(Severity::Critical) => Standing::Stuck,
            Some(Severity::Warning | Severity::Info) | None if undecided => Standing::Unknown,
            Some(Severity::Warning) => Standing::Attention,
            Some(Severity::Info) | None => match task.task.phase {
                Phase::InProgress | Phase::Canceling => Standing::Running,
                Phase::New
                | Phase::Accepted
                | Phase::Prepared
                | Phase::Canceled
                | Phase::Completed
                | Phase::Failed
                | Phase::Other(_) => Standing::Waiting,
            },
        }
    }

    /// Returns the line of an unfinished task.
    fn line(&self, task: &Task) -> Option<TaskLine> {
        let replay = self.replay.tasks.get(&task.reference)?;
        let mut gates = gates::of(self.replay, replay);
        let concerns = self.concerns_of(&task.reference, replay.node.as_deref());
        let why = held_up::why(concerns.iter().copied());
        let held_up = held_up::by(concerns);
        if let Some(finding) = held_up {
            held_up::mark(&mut gates, finding);
        }
        Some(TaskLine {
            task: task.reference.clone(),
            phase: task.phase.clone(),
            node: replay.node.clone(),
            verdict: self.standing(replay),
            closed_gate: closed(&gates),
            reason: reason(&gates, held_up, why.unwrap_or(&replay.decision.reason)),
            deadline: replay.deadline.clone(),
            eta: None,
        })
    }

    fn in_full(&self, task: &Task) -> TaskExplanation {
        let replay = self.replay.tasks.get(&task.reference);
        let node = replay
            .and_then(|replay| replay.node.clone())
            .or_else(|| task.status_node.clone())
            .or_else(|| task.spec_node.clone());
        let profile =
            replay.map_or_else(|| self.profile_at(node.as_deref()), |replay| replay.profile);
        let mut gates = replay
            .map(|replay| gates::of(self.replay, replay))
            .unwrap_or_default();
        let now = self.snapshot.taken_at;
        let since = match replay {
            Some(replay) => replay.phase_since.map(|(at, _)| at),
            None => task.completed,
        };
        let findings: Vec<Concern> = self
            .concerns_of(&task.reference, node.as_deref())
            .into_iter()
            .map(|(role, finding)| Concern {
                row: finding_row(finding, self.snapshot, self.pins),
                role,
            })
            .collect();
        let held_up = held_up::of_rows(&findings);
        if let Some(finding) = held_up {
            held_up::mark(&mut gates, finding);
        }
        let ways = held_up.map(held_up::frees).unwrap_or_default();
        TaskExplanation {
            task: task.reference.clone(),
            phase: task.phase.clone(),
            phase_seconds: since.map(|since| now.duration_since(since).as_secs().max(0)),
            verdict: replay.map_or(Standing::Finished, |replay| self.standing(replay)),
            parent: task.parent.as_ref().map(|parent| {
                ObjectRef::namespaced(
                    parent.kind.as_str(),
                    &task.reference.namespace,
                    &parent.name,
                )
            }),
            rules: profile.since,
            closed_gate: closed(&gates),
            reason: replay.map_or_else(
                || ended(task),
                |replay| {
                    let why = held_up::why_of_rows(&findings);
                    reason(&gates, held_up, why.unwrap_or(&replay.decision.reason))
                },
            ),
            frees: match replay {
                Some(replay) if ways.is_empty() => frees::of(self.snapshot, self.replay, replay),
                Some(_) | None => ways,
            },
            deadline: replay.and_then(|replay| replay.deadline.clone()),
            eta: None,
            gates,
            decision: replay.map(decision_row),
            slots: replay
                .and_then(|replay| self.slots(task.reference.kind, replay.node.as_deref()?)),
            queue: replay.map(|replay| self.queue(replay)).unwrap_or_default(),
            competing: replay.and_then(|replay| decision_row(replay).competing),
            findings,
            story: story::of(self.snapshot, task, replay, &profile),
            node,
        }
    }

    /// Returns the rules of the agent that is on a node now, else of any agent, else the newest.
    fn profile_at(&self, node: Option<&str>) -> Profile {
        let agents = || self.snapshot.agents.iter();
        let there = |agent: &&NodeAgent| node.is_some() && agent.node() == node;
        agents()
            .find(there)
            .or_else(|| agents().next())
            .map_or_else(
                || crate::snapshot::rules_from_fields(&self.snapshot.tasks),
                |agent| agent.profile,
            )
    }

    fn slots(&self, kind: TaskKind, node: &str) -> Option<NodeSlots> {
        let replay = self.replay.nodes.get(node)?;
        let pool = replay
            .pools
            .iter()
            .find(|pool| pool.kinds.contains(&kind))?;
        let mut slots = NodeSlots {
            node: node.to_owned(),
            limit: pool.limit,
            limit_source: replay.limit.source,
            holders: pool.holders.iter().map(|task| self.holder(task)).collect(),
            logged: Vec::new(),
        };
        slots.logged = held_up::logged(self.snapshot, replay, &slots);
        Some(slots)
    }

    /// Returns what fills the prepare queue, where that is what a task waits for.
    fn queue(&self, task: &TaskReplay<'_>) -> Vec<Holder> {
        if task.decision.gate != crate::replay::Gate::PrepareQueue
            || task.decision.verb != Verb::Wait
        {
            return Vec::new();
        }
        task.decision
            .holders
            .iter()
            .map(|task| self.holder(task))
            .collect()
    }

    fn holder(&self, reference: &TaskRef) -> Holder {
        let task = self.snapshot.tasks.get(reference);
        let runs = self
            .replay
            .tasks
            .get(reference)
            .is_some_and(|replay| replay.entry == SlotEntry::Holds);
        Holder {
            task: reference.clone(),
            phase: task.map_or(Phase::New, |task| task.phase.clone()),
            progress: task.and_then(|task| task.progress),
            started: task.filter(|_| runs).and_then(|task| task.started),
        }
    }
}

/// Returns why a task stands where it does: what the diagnosis found out, else what the replay says.
fn reason(gates: &[GateRow], held_up: Option<&Finding>, decision: &str) -> String {
    let slot = gates.iter().find(|row| row.gate == GateName::Slot);
    match (held_up, slot) {
        (Some(_), Some(row)) => row.reason.clone(),
        (Some(_) | None, Some(_) | None) => decision.to_owned(),
    }
}

fn closed(gates: &[GateRow]) -> Option<GateName> {
    gates
        .iter()
        .find(|row| row.state == GateState::Closed)
        .map(|row| row.gate)
}

fn ended(task: &Task) -> String {
    let message = if task.message.is_empty() {
        String::new()
    } else {
        format!(": {}", task.message)
    };
    format!("it is final{message}")
}
