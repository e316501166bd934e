//! Why tasks wait beside a free slot, by what the agent's own traces prove: its log, and its metrics.
//!
//! The objects show a free slot. A task that is refused one all the same comes back every few seconds, and
//! leaves lines and counts each time: the agent thinks that the slot is taken. A task that does not come back
//! waits behind a worker that does not go on, or nobody thinks of it any more.

use jiff::Timestamp;

use super::words;
use crate::diagnose::case::Case;
use crate::diagnose::finding::{Confidence, Evidence};
use crate::replay::{LimitBasis, NodeReplay, Pool, SlotEntry};
use crate::snapshot::log_evidence::{
    BlockingStep, Entered, LogEvidence, LogStart, LoggedEntry, WaitLoop,
};
use crate::snapshot::{AgentMetrics, NodeAgent, Task};
use crate::velero::profile::Worker;
use crate::velero::{ObjectRef, TaskKind, TaskRef};

/// For how long, in seconds, something must be so against the objects: the log is read after them, or
/// before, and a callback ends within moments of the write that it makes.
const SETTLED_SECONDS: i64 = 30;

/// How long a step of a worker must last, in seconds, to count as blocked: each is done within a few.
const BLOCKED_SECONDS: i64 = 60;

/// How many pauses may pass without a try before a loop counts as ended.
const PAUSES: i64 = 6;

/// How many tries make a loop that cannot be anything else.
const MANY_TRIES: usize = 3;

/// Entries of a log that are named as what stands in the way: a log may have tens of thousands without an end, and
/// a limit is far smaller. The evidence counts the rest.
const CULPRITS: usize = 20;

/// A cause that the traces support.
#[derive(Debug)]
pub(super) struct SlotCause {
    /// One of the causes of `prepared-stuck` and `slots-leaked`.
    pub(super) cause: &'static str,
    /// How sure, as far as the traces go.
    pub(super) confidence: Confidence,
    /// What stands in the way, as far as it has a name.
    pub(super) culprits: Vec<ObjectRef>,
    /// The reason, for the end of a sentence.
    pub(super) why: String,
    /// The lines and counts.
    pub(super) evidence: Vec<Evidence>,
}

/// Whether the limit in force is known, so that a refusal contradicts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitKnown {
    /// It is.
    Yes,
    /// It is assumed or unknown: a smaller limit explains a refusal as well.
    No,
}

/// Returns the first cause that the traces support.
pub(super) fn of(
    case: &Case<'_, '_>,
    node: &NodeReplay<'_>,
    pools: &[&Pool<'_>],
    limit_known: LimitKnown,
) -> Option<SlotCause> {
    let agent = node.agent?;
    let traces = Traces {
        case,
        node,
        pools,
        agent,
        since: words::earliest(pools.iter().map(|pool| pool.spare_since))?,
    };
    let found = traces
        .not_marked()
        .or_else(|| traces.named_ghosts())
        .or_else(|| match limit_known {
            LimitKnown::Yes => traces.unnamed_ghost(),
            LimitKnown::No => None,
        })
        .or_else(|| traces.blocked_worker())
        .or_else(|| traces.no_try())?;
    Some(limits::within(case, agent, traces.beside(found)))
}

/// Returns the step that a worker of an agent is in for longer than any takes, by its log.
pub(super) fn blocked_step(agent: &NodeAgent, kind: TaskKind) -> Option<&BlockingStep> {
    let log = agent.evidence.as_ref()?;
    let step = log.workers.get(&kind)?.step.as_ref()?;
    let patience = BLOCKED_SECONDS.max(PAUSES * agent.profile.requeue_seconds);
    (log.before_end(step.since?)? >= patience).then_some(step)
}

/// An entry whose task holds no slot by the objects: who, what the log says, and the task if it is there.
type LoggedGhost<'l, 's> = (ObjectRef, &'l LoggedEntry, Option<&'s Task>);

struct Traces<'t, 'a, 's> {
    case: &'t Case<'a, 's>,
    node: &'t NodeReplay<'s>,
    pools: &'t [&'t Pool<'s>],
    agent: &'s NodeAgent,
    /// Since when a slot is spare by the objects.
    since: Timestamp,
}

impl<'s> Traces<'_, '_, 's> {
    fn log(&self) -> Option<&'s LogEvidence> {
        self.agent.evidence.as_ref()
    }

    fn metrics(&self) -> Option<&'s AgentMetrics> {
        self.agent.metrics.as_ref()
    }

    fn waiting(&self) -> impl Iterator<Item = &'s TaskRef> + '_ {
        self.pools
            .iter()
            .flat_map(|pool| pool.waiting.iter().copied())
    }

    /// The kinds that wait, each once.
    fn kinds(&self) -> Vec<TaskKind> {
        let mut kinds: Vec<TaskKind> = self.waiting().map(|task| task.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    fn pool_has(&self, kind: TaskKind) -> bool {
        self.pools.iter().any(|pool| pool.kinds.contains(&kind))
    }

    /// Whether the log still speaks long after the slot became spare: what is open at its end was not
    /// merely about to be closed.
    fn settled(&self, log: &LogEvidence, after: Timestamp) -> bool {
        // A line of the future proves nothing of what is now.
        log.before_end(after).is_some_and(|seconds| {
            seconds >= SETTLED_SECONDS && self.case.age(after) >= SETTLED_SECONDS
        })
    }

    /// Whether something was still so at the end of the log, or now where the log was read to its end.
    fn lasts(&self, log: &LogEvidence, at: Timestamp) -> bool {
        let patience = SETTLED_SECONDS.max(PAUSES * self.node.profile.requeue_seconds);
        let to_the_end = log.before_end(at).is_some_and(|past| past <= patience);
        to_the_end
            && (!limits::is_read_to_the_end(self.case)
                || self.case.age(at) <= patience.saturating_add(BLOCKED_SECONDS))
    }

    /// A task is let in, and the write that says so fails: it gives the slot back and asks again.
    fn not_marked(&self) -> Option<SlotCause> {
        let log = self.log()?;
        let note = self
            .waiting()
            .filter_map(|task| log.unmarked.get(&task.name))
            .find(|note| note.at.is_some_and(|at| self.lasts(log, at)))?;
        Some(SlotCause {
            cause: "undetermined",
            confidence: Confidence::Likely,
            culprits: Vec::new(),
            why: "the node-agent looks at the task and lets it in, the write to InProgress fails, and it gives the slot back and begins anew"
                .to_owned(),
            evidence: vec![words::log_line(self.agent, note)],
        })
    }

    /// Entries of tasks that hold no slot by the objects.
    fn named_ghosts(&self) -> Option<SlotCause> {
        let log = self.log()?;
        if !self.settled(log, self.since) {
            return None;
        }
        let ghosts = self.logged_ghosts(log);
        let first = ghosts.first()?;
        let loops = self.loops(log);
        let all_seen_to_enter = ghosts
            .iter()
            .all(|(_, entry, _)| entry.how != Entered::BeforeTheLog);
        if self.leave_a_slot_free(log, &ghosts) {
            return None;
        }
        // The default of 1 proves that a slot is free, and not that one entry fills the map.
        let limit_in_force = match self.node.limit.basis {
            LimitBasis::Proven | LimitBasis::Logged => true,
            LimitBasis::AssumedUnchanged(_)
            | LimitBasis::Drifted(_)
            | LimitBasis::Unreadable(_) => false,
        };
        let is_full = self.fill_the_map(&ghosts) && (limit_in_force || !loops.is_empty());
        let confidence = if is_full && all_seen_to_enter && log.is_whole() {
            Confidence::Certain
        } else {
            Confidence::Likely
        };
        let mut evidence = vec![self.speaks(log)];
        evidence.extend(self.ghost_lines(log, &ghosts));
        if ghosts.len() > CULPRITS {
            evidence.push(Evidence::derived(
                "entries without an end in the log".to_owned(),
                ghosts.len().to_string(),
            ));
        }
        if let Some((_, wait)) = loops.first() {
            evidence.push(self.loop_line(wait));
        }
        let names = words::names(ghosts.iter().map(|(culprit, _, _)| culprit.name.as_str()));
        let fate = match first.2 {
            Some(task) if ghosts.len() == 1 => format!("it is {}", task.phase.as_str()),
            Some(_) => "they hold none any more".to_owned(),
            None => "it does not exist any more".to_owned(),
        };
        Some(SlotCause {
            cause: "ghost-slot",
            confidence,
            why: format!(
                "a ghost slot: the node-agent's log shows that {names} took a slot and never gave it back, and {fate}"
            ),
            culprits: ghosts
                .into_iter()
                .take(CULPRITS)
                .map(|(culprit, _, _)| culprit)
                .collect(),
            evidence,
        })
    }

    /// The entries of tasks that hold no slot by the objects.
    fn logged_ghosts<'l>(&self, log: &'l LogEvidence) -> Vec<LoggedGhost<'l, 's>> {
        log.entries
            .iter()
            .filter_map(|(name, entry)| {
                let (culprit, task) = self.ghost(log, name, entry)?;
                Some((culprit, entry, task))
            })
            .collect()
    }

    /// Whether holders and ghosts together are as many as there are slots.
    fn fill_the_map(&self, ghosts: &[LoggedGhost<'_, '_>]) -> bool {
        let held: usize = self.pools.iter().map(|pool| pool.holders.len()).sum();
        let limit: i64 = self.pools.iter().filter_map(|pool| pool.limit).sum();
        i64::try_from(held.saturating_add(ghosts.len())).is_ok_and(|taken| taken >= limit)
    }

    /// Whether a log that shows the whole map, and nobody who is refused, leaves a slot free beside these ghosts:
    /// then it is not for them that nobody moves.
    fn leave_a_slot_free(&self, log: &LogEvidence, ghosts: &[LoggedGhost<'_, '_>]) -> bool {
        !self.fill_the_map(ghosts)
            && self.loops(log).is_empty()
            && self.counted_waiting().is_none()
            && self.shows_room(log)
    }

    /// Ghosts that leave a slot free, as evidence beside another cause.
    fn beside(&self, mut found: SlotCause) -> SlotCause {
        if let Some(log) = self.log().filter(|log| self.settled(log, self.since)) {
            let ghosts = self.logged_ghosts(log);
            if !ghosts.is_empty() && self.leave_a_slot_free(log, &ghosts) {
                found.evidence.extend(self.ghost_lines(log, &ghosts));
            }
        }
        found
    }

    fn ghost_lines(&self, log: &LogEvidence, ghosts: &[LoggedGhost<'_, '_>]) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        for (culprit, entry, task) in ghosts.iter().take(words::EVIDENCE_SHOWN) {
            let name = &culprit.name;
            evidence.push(words::log_line(self.agent, &entry.last));
            evidence.push(Evidence::derived(
                format!("slot of {name}"),
                format!(
                    "{}; the log shows no end of it",
                    match entry.since {
                        Some(since) => format!("taken at {since}, {}", entry.stage.as_str()),
                        None => format!("taken before the log begins, {}", entry.stage.as_str()),
                    }
                ),
            ));
            if let Some(forced) = log.forced_cancels.get(name) {
                evidence.push(words::log_line(self.agent, forced));
            }
            if let Some(task) = task {
                evidence.push(words::task_field(
                    task,
                    ".status.phase",
                    task.phase.as_str(),
                ));
            }
        }
        evidence
    }

    /// Names the task of an entry, if the objects say that it holds no slot.
    fn ghost(
        &self,
        log: &LogEvidence,
        name: &str,
        entry: &LoggedEntry,
    ) -> Option<(ObjectRef, Option<&'s Task>)> {
        if entry.kind.is_some_and(|kind| !self.pool_has(kind)) {
            return None;
        }
        // One that was made after the objects were read is not in them yet.
        if entry
            .since
            .is_some_and(|since| self.case.age(since) < SETTLED_SECONDS)
        {
            return None;
        }
        let kinds = TaskKind::ALL
            .into_iter()
            .filter(|kind| entry.kind.is_none_or(|known| known == *kind));
        let namespace = &self.case.snapshot.namespace;
        let mut all_listed = true;
        for kind in kinds {
            let reference = TaskRef {
                kind,
                namespace: namespace.clone(),
                name: name.to_owned(),
            };
            all_listed &= self.case.lists(kind);
            let Some(task) = self.case.snapshot.tasks.get(&reference) else {
                continue;
            };
            if self.is_let_in_itself(log, &reference) {
                return None;
            }
            let holds = self
                .case
                .replay
                .tasks
                .get(&reference)
                .is_some_and(|replay| replay.entry == SlotEntry::Holds);
            let ended_lately = task
                .completed
                .or(task.writes.node_agent)
                .is_some_and(|end| !self.settled(log, end));
            let is_ghost = !(holds || (task.phase.is_final() && ended_lately));
            return is_ghost.then(|| (ObjectRef::from(&reference), Some(task)));
        }
        // Gone only where its kind was really listed.
        all_listed.then(|| {
            let kind = entry.kind.map_or("Task", TaskKind::as_str);
            (ObjectRef::namespaced(kind, namespace, name), None)
        })
    }

    /// Whether an entry is that of a task which itself waits: it holds the slot that it waits for, and nobody else
    /// does. Up to v1.14 such a task is passed over at each look, and never begins.
    fn is_let_in_itself(&self, log: &LogEvidence, reference: &TaskRef) -> bool {
        let is_passed_over = !self.entries_are_logged()
            && log.task(reference).is_some_and(|logged| {
                logged
                    .looked
                    .zip(logged.admitted)
                    .is_some_and(|(looked, at)| {
                        looked.duration_since(at).as_secs() >= BLOCKED_SECONDS
                    })
            });
        !is_passed_over && self.waiting().any(|task| task == reference)
    }

    /// The waiting tasks that still ask, and are not let in.
    fn loops<'l>(&self, log: &'l LogEvidence) -> Vec<(&'s TaskRef, &'l WaitLoop)> {
        self.waiting()
            .filter_map(|task| {
                let wait = log.waits.get(&task.name)?;
                let at = wait.line.at?;
                let same_kind = wait.kind.is_none_or(|kind| kind == task.kind);
                let after_spare = at.duration_since(self.since).as_secs() >= SETTLED_SECONDS;
                let is_loop = same_kind && after_spare && self.came_back(wait);
                (is_loop && self.lasts(log, at)).then_some((task, wait))
            })
            .collect()
    }

    /// Whether a task was refused: in so many words, or it asked again after the pause. The last line of a log
    /// may be that of the one try that succeeds.
    fn came_back(&self, wait: &WaitLoop) -> bool {
        let span = || Some(wait.last?.duration_since(wait.first?).as_secs());
        wait.refused > 0
            || (wait.at_slot >= 2
                && span().is_some_and(|seconds| seconds >= self.node.profile.requeue_seconds))
    }

    /// Whether every entry of the map leaves a line: those of L7 and L8, up to v1.14, leave none.
    fn entries_are_logged(&self) -> bool {
        match self.node.profile.data_movement {
            Worker::MoverPod => true,
            Worker::InProcess | Worker::InProcessWithPausePod => false,
        }
    }

    /// Whether the log rebuilds the whole map of slots, and has room in it as the objects have.
    fn shows_room(&self, log: &LogEvidence) -> bool {
        let entries = log
            .entries
            .values()
            .filter(|entry| entry.kind.is_none_or(|kind| self.pool_has(kind)))
            .count();
        let limit: i64 = self.pools.iter().filter_map(|pool| pool.limit).sum();
        log.is_whole()
            && self.entries_are_logged()
            && i64::try_from(entries).is_ok_and(|entries| entries < limit.max(1))
    }

    /// Tasks ask for a slot and are refused beside a free one: somebody holds it whom nothing names.
    fn unnamed_ghost(&self) -> Option<SlotCause> {
        let looping = self.log().map(|log| (log, self.loops(log)));
        let counted = self.counted_waiting();
        let (confidence, mut evidence, tries) = match looping {
            Some((log, loops)) if !loops.is_empty() => {
                let (_, wait) = loops.first()?;
                if self.shows_room(log) {
                    return Some(self.contradiction(log, wait));
                }
                let long = wait.tries >= MANY_TRIES || wait.refused > 0;
                let nothing_hides = self.entries_are_logged() && log.torn == 0;
                (
                    if long && nothing_hides {
                        Confidence::Certain
                    } else {
                        Confidence::Likely
                    },
                    vec![self.speaks(log), self.loop_line(wait)],
                    Some(wait.tries),
                )
            }
            Some((log, _)) if self.shows_room(log) => return None,
            Some(_) | None => {
                counted?;
                (Confidence::Likely, Vec::new(), None)
            }
        };
        if let Some((kind, number)) = counted {
            evidence.push(self.requeues(kind, number));
        }
        let asked = tries.map_or_else(
            || "asks again and again".to_owned(),
            |tries| format!("asked {}", words::count(tries, "time")),
        );
        Some(SlotCause {
            cause: "ghost-slot",
            confidence,
            culprits: Vec::new(),
            why: format!(
                "a ghost slot: the node-agent looks at the task, which {asked} for a slot and is refused, so an entry that no object shows holds it"
            ),
            evidence,
        })
    }

    /// Tasks ask and are not let in, and neither the objects nor the log from the start of the process show
    /// who holds the slot.
    fn contradiction(&self, log: &LogEvidence, wait: &WaitLoop) -> SlotCause {
        SlotCause {
            cause: "undetermined",
            confidence: Confidence::Likely,
            culprits: Vec::new(),
            why: format!(
                "the node-agent looks at the task, which asked {} for a slot and is not let in, though its log from the start of the process shows no entry that holds one",
                words::count(wait.tries, "time")
            ),
            evidence: vec![
                self.speaks(log),
                self.loop_line(wait),
                Evidence::derived(
                    "candidates".to_owned(),
                    "ghost-slot of an entry without a line, a lower limit in force, a step that fails after the try"
                        .to_owned(),
                ),
            ],
        }
    }

    /// How many tasks ask for a slot by the metrics, if any do.
    fn counted_waiting(&self) -> Option<(TaskKind, i64)> {
        let metrics = self.metrics()?;
        self.kinds().into_iter().find_map(|kind| {
            // With a prepare queue, New tasks come back in the same way.
            if self.case.replay.prepare_queue.is_full() != Some(false) {
                return None;
            }
            let number = metrics.waiting(kind, self.node.profile.requeue_seconds)?;
            (number > 0).then_some((kind, number))
        })
    }

    fn speaks(&self, log: &LogEvidence) -> Evidence {
        let time = |time: Option<Timestamp>| {
            time.map_or_else(|| "an unknown time".to_owned(), |time| time.to_string())
        };
        let from = match log.start {
            LogStart::Logged => "the start of the process".to_owned(),
            LogStart::Missing | LogStart::BeforeAGap => {
                format!("{}, after the start of the process", time(log.speaks_from))
            }
        };
        Evidence::log(
            words::log_of(self.agent),
            format!("speaks from {from} to {}", time(log.speaks_to)),
        )
    }

    fn loop_line(&self, wait: &WaitLoop) -> Evidence {
        let span = match (wait.first, wait.last) {
            (Some(first), Some(last)) => format!(" from {first} to {last}"),
            (Some(_) | None, Some(_) | None) => String::new(),
        };
        Evidence::log(
            words::log_of(self.agent),
            format!(
                "{} {}{span}, and no admission; the last: {}",
                wait.tries,
                words::verb(wait.tries, "try", "tries"),
                wait.line.text
            ),
        )
    }

    fn requeues(&self, kind: TaskKind, number: i64) -> Evidence {
        Evidence::metric(
            words::metrics_of(self.agent),
            format!("by the rate of requeues {number} of {kind} ask for a slot"),
        )
    }
}

pub(super) mod limits;
pub(super) mod objects;
mod worker;

#[cfg(test)]
mod tests;
