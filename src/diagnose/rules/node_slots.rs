//! Rows N1 to N6: somebody waits for a slot of a node with a working agent.
//!
//! Who holds, who waits and since when a slot is spare comes from the replay; here it becomes the normal
//! queue, a stuck node, a leak, or nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::slot_cause::{self, LimitKnown, SlotCause};
use super::{overtaken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Action, Confidence, Evidence, Finding, FindingId, Severity};
use crate::replay::{
    LimitBasis, NodeReplay, Pool, Situation, SlotEntry, TaskReplay, TimeFrom, Verb, Working,
    is_healthy, target_pod,
};
use crate::snapshot::log_evidence::LogEvidence;
use crate::snapshot::{Cancel, NodeAgent, Pod, Task};
use crate::velero::{ObjectRef, TaskKind, TaskRef};

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let refused = case.refused_kinds();
    let unplaced = unplaced_holders(case);
    let by_node = ByNode::of(case);
    for node in case.replay.nodes.values() {
        if node.working != Working::Yes {
            continue;
        }
        let rows: Vec<(Row, &Pool<'_>)> = node
            .pools
            .iter()
            .filter_map(|pool| Some((row(case, pool)?, pool)))
            .collect();
        let of = |wanted: Row| -> Vec<&Pool<'_>> {
            rows.iter()
                .filter(|(row, _)| *row == wanted)
                .map(|(_, pool)| *pool)
                .collect()
        };
        if !of(Row::Undecidable).is_empty() {
            words::undecided(
                out,
                FindingId::PreparedStuck,
                CouldBe::Critical,
                format!(
                    "the limit of {} is not known, and nobody there moves",
                    node.node
                ),
            );
        }
        let queued = of(Row::Queue);
        if !queued.is_empty() {
            out.findings.push(queue(case, node, &queued));
        }
        for (row, id) in [
            (Row::Stuck, FindingId::PreparedStuck),
            (Row::Leaked, FindingId::SlotsLeaked),
        ] {
            let pools = of(row);
            if pools.is_empty() {
                continue;
            }
            if let Some(what) = slot_cause::limits::let_in_since(case, node, &pools) {
                overtaken::tell(out, id, CouldBe::Critical, &what);
                continue;
            }
            if let Some(gap) = node
                .agent
                .and_then(|agent| slot_cause::limits::old_log(case, agent))
            {
                out.gaps.push(gap);
            }
            // A kind that could not be listed, or a running task whose node is not known, may hold the
            // slot that seems free.
            let kinds: Vec<&str> = refused
                .iter()
                .filter(|kind| shares(&pools, **kind))
                .map(|kind| kind.plural())
                .collect();
            let strays: Vec<TaskRef> = unplaced
                .iter()
                .filter(|(task, at)| {
                    shares(&pools, task.kind) && at.is_none_or(|at| at == node.node)
                })
                .map(|(task, _)| (*task).clone())
                .collect();
            let why = if !kinds.is_empty() {
                format!("{} could not be read", kinds.join(", "))
            } else if !strays.is_empty() {
                format!(
                    "whether and where {} holds a slot is not known",
                    words::tasks(&strays)
                )
            } else {
                out.findings.push(stuck(case, node, &pools, id, &by_node));
                continue;
            };
            let name = &node.node;
            words::undecided(
                out,
                id,
                CouldBe::Critical,
                format!("{why}: a slot of {name} that seems free may be held"),
            );
        }
    }
}

/// Velero's pods and the tasks that may keep a worker busy, by node: sorted once, however many nodes are stuck.
struct ByNode<'a, 's> {
    pods: BTreeMap<&'s str, Vec<&'s Pod>>,
    tasks: BTreeMap<&'a str, Vec<&'a TaskReplay<'s>>>,
}

impl<'a, 's> ByNode<'a, 's> {
    fn of(case: &Case<'a, 's>) -> Self {
        let mut pods: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in case.snapshot.pods.values() {
            if pod.key.namespace == case.snapshot.namespace
                && let Some(node) = pod.node.as_deref()
            {
                pods.entry(node).or_default().push(pod);
            }
        }
        let mut tasks: BTreeMap<&str, Vec<&TaskReplay<'s>>> = BTreeMap::new();
        for task in case.tasks() {
            let acceptor = task.task.accepted_by.as_deref();
            for node in [
                acceptor,
                task.node.as_deref().filter(|node| acceptor != Some(*node)),
            ]
            .into_iter()
            .flatten()
            {
                tasks.entry(node).or_default().push(task);
            }
        }
        Self { pods, tasks }
    }

    fn pods_at(&self, node: &str) -> &[&'s Pod] {
        self.pods.get(node).map_or(&[], Vec::as_slice)
    }

    /// The tasks that an agent accepted or that are on its node, in order.
    fn tasks_at(&self, node: &str) -> &[&'a TaskReplay<'s>] {
        self.tasks.get(node).map_or(&[], Vec::as_slice)
    }
}

/// Returns whether tasks of a kind take slots of these pools.
fn shares(pools: &[&Pool<'_>], kind: TaskKind) -> bool {
    pools.iter().any(|pool| pool.kinds.contains(&kind))
}

/// Returns the tasks that hold a slot nobody knows where, or held one within the threshold, and those in
/// a phase that nobody knows, each with its node: up to v1.16 a PodVolumeRestore is on the node of its
/// target pod, which is in the application's namespace.
fn unplaced_holders<'a>(case: &Case<'a, '_>) -> Vec<(&'a TaskRef, Option<&'a str>)> {
    let unfinished = case
        .tasks()
        .filter(|task| {
            task.situation == Situation::UnknownPhase
                || (task.node.is_none() && task.entry == SlotEntry::Holds)
        })
        .map(|task| (&task.task.reference, task.node.as_deref()));
    let just_ended = case
        .snapshot
        .tasks
        .values()
        .filter(|task| {
            task.phase.is_final() && task.status_node.is_none() && task.spec_node.is_none()
        })
        .filter(|task| task.reference.kind == TaskKind::PodVolumeRestore)
        .filter(
            |task| matches!((task.started, task.completed), (Some(from), Some(to)) if from < to),
        )
        .filter(|task| !case.older_than(task.completed, case.threshold()))
        .filter(|task| target_pod(case.snapshot, task).seen().is_none())
        .map(|task| (&task.reference, None));
    unfinished.chain(just_ended).collect()
}

/// The rows of the table that say something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    /// N2.
    Queue,
    /// N5.
    Stuck,
    /// N6.
    Leaked,
    /// N1 without a healthy holder.
    Undecidable,
}

fn row(case: &Case<'_, '_>, pool: &Pool<'_>) -> Option<Row> {
    if pool.waiting.is_empty() {
        return None;
    }
    let Some(limit) = pool.limit else {
        // N1: undecidable beside a healthy holder, the worst it could hide is a leak, and the limit is a
        // gap already. With no holder that is sound it could hide a stuck node.
        let any_healthy = pool
            .holders
            .iter()
            .any(|holder| case.replay.tasks.get(holder).is_some_and(is_healthy));
        return (!any_healthy).then_some(Row::Undecidable);
    };
    let held = i64::try_from(pool.holders.len()).unwrap_or(i64::MAX);
    if held >= limit {
        let all_healthy = pool
            .holders
            .iter()
            .all(|holder| case.replay.tasks.get(holder).is_some_and(is_healthy));
        // N3: the finding of the broken holder says it all.
        return all_healthy.then_some(Row::Queue);
    }
    match (pool.idle, pool.moving) {
        // N4: not long enough.
        (false, _) => None,
        (true, false) => Some(Row::Stuck),
        (true, true) => Some(Row::Leaked),
    }
}

fn waiting_of(pools: &[&Pool<'_>]) -> Vec<TaskRef> {
    let mut all: Vec<TaskRef> = pools
        .iter()
        .flat_map(|pool| pool.waiting.iter().map(|task| (*task).clone()))
        .collect();
    all.sort();
    all
}

fn holders_of(pools: &[&Pool<'_>]) -> Vec<TaskRef> {
    let mut all: Vec<TaskRef> = pools
        .iter()
        .flat_map(|pool| pool.holders.iter().map(|task| (*task).clone()))
        .collect();
    all.sort();
    all
}

fn queue(case: &Case<'_, '_>, node: &NodeReplay<'_>, pools: &[&Pool<'_>]) -> Finding {
    let waiting = waiting_of(pools);
    let holders = holders_of(pools);
    let limit: i64 = pools.iter().filter_map(|pool| pool.limit).sum();
    let confidence = match node.limit.basis {
        LimitBasis::Proven | LimitBasis::Logged => Confidence::Certain,
        LimitBasis::AssumedUnchanged(_) | LimitBasis::Drifted(_) | LimitBasis::Unreadable(_) => {
            Confidence::Likely
        }
    };
    // A data path that was not resumed holds no slot of the present process.
    let not_resumed: Vec<Evidence> = node
        .agent
        .and_then(|agent| Some((agent, agent.evidence.as_ref()?)))
        .into_iter()
        .flat_map(|(agent, log)| {
            let notes = holders
                .iter()
                .filter_map(|holder| log.failed_resumes.get(&holder.name));
            notes.map(move |note| words::log_line(agent, note))
        })
        .take(words::EVIDENCE_SHOWN)
        .collect();
    let confidence = if not_resumed.is_empty() {
        confidence
    } else {
        Confidence::Possible
    };
    let mut finding = Finding::new(
        FindingId::SlotQueue,
        Severity::Info,
        case.cap(confidence),
        format!(
            "{} {} for a slot of {}: in progress {} of {limit}, the normal queue",
            words::tasks(&waiting),
            words::verb(waiting.len(), "waits", "wait"),
            node.node,
            holders.len(),
        ),
    );
    finding.node = Some(node.node.clone());
    finding.blocked_by = holders.iter().map(ObjectRef::from).collect();
    finding.since = words::earliest(
        pools
            .iter()
            .map(|pool| pool.oldest_wait.map(|(time, _)| time)),
    );
    finding.deadline = case.earliest_deadline(&waiting);
    finding.evidence = evidence(node, pools);
    finding.evidence.extend(not_resumed);
    finding.tasks = waiting;
    finding
}

fn stuck(
    case: &Case<'_, '_>,
    node: &NodeReplay<'_>,
    pools: &[&Pool<'_>],
    id: FindingId,
    by_node: &ByNode<'_, '_>,
) -> Finding {
    let waiting = waiting_of(pools);
    let holders = holders_of(pools);
    let limit: i64 = pools.iter().filter_map(|pool| pool.limit).sum();
    let since = words::earliest(pools.iter().map(|pool| pool.spare_since));
    let ghosts = ghosts(case, node, by_node);
    let limit_known = limit_known(node, pools);
    let traced = slot_cause::of(case, node, pools, limit_known).or_else(|| {
        slot_cause::objects::busy_worker(case, node, pools, by_node.tasks_at(&node.node))
    });
    let severity = if id == FindingId::PreparedStuck {
        Severity::Critical
    } else {
        Severity::Warning
    };
    let span = since.map_or_else(String::new, |since| {
        format!(" for {}", words::span(case.age(since)))
    });
    let what = if id == FindingId::PreparedStuck {
        "nothing moves"
    } else {
        "other tasks still move"
    };
    // Pods of ended tasks that leave a slot free are evidence beside what the traces tell of the others.
    let fill = fills(node, &holders, &ghosts, limit);
    let (ghosts, orphans) = match &traced {
        Some(traced) if fill == Fill::Room && traced.cause != "ghost-slot" => (Vec::new(), ghosts),
        Some(_) | None => (ghosts, Vec::new()),
    };
    let why = if ghosts.is_empty() {
        traced.as_ref().map_or_else(
            || {
                "the objects do not tell a ghost slot, a lost event and a blocked worker apart"
                    .to_owned()
            },
            |traced| traced.why.clone(),
        )
    } else {
        let names: Vec<&str> = ghosts
            .iter()
            .map(|ghost| ghost.pod.key.name.as_str())
            .collect();
        format!(
            "a ghost slot: {} ended or is gone and its mover pod still runs",
            words::names(names)
        )
    };
    let mut finding = Finding::new(
        id,
        severity,
        case.cap(confidence(
            limit_known,
            pools,
            (&ghosts, fill),
            traced.as_ref(),
        )),
        format!(
            "{} {} on {} beside a free slot{span} (in progress {} of {limit}) and {what}: {why}",
            words::tasks(&waiting),
            words::verb(waiting.len(), "waits", "wait"),
            node.node,
            holders.len(),
        ),
    );
    finding.cause = Some(if ghosts.is_empty() {
        traced
            .as_ref()
            .map_or("undetermined", |traced| traced.cause)
    } else {
        "ghost-slot"
    });
    finding.node = Some(node.node.clone());
    finding.since = since;
    finding.deadline = case.earliest_deadline(&waiting);
    finding.blocked_by = ghosts.iter().map(Ghost::culprit).collect();
    finding.evidence = evidence(node, pools);
    for ghost in ghosts.iter().chain(&orphans) {
        finding.evidence.push(words::pod_field(
            ghost.pod,
            ".status.phase",
            &ghost.pod.phase,
        ));
        if let Some(task) = ghost.task {
            finding.evidence.push(words::task_field(
                task,
                ".status.phase",
                task.phase.as_str(),
            ));
        }
    }
    match traced {
        // Beside a pod that proves a ghost slot, the traces add what agrees with it.
        Some(traced) if ghosts.is_empty() || traced.cause == "ghost-slot" => {
            finding.blocked_by.extend(traced.culprits);
            finding.evidence.extend(traced.evidence);
        }
        None if ghosts.is_empty() => finding.evidence.push(Evidence::derived(
            "candidates".to_owned(),
            "ghost-slot, worker-blocked, lost-reconcile".to_owned(),
        )),
        Some(_) | None => {}
    }
    finding.actions = actions(case, node, finding.cause, &waiting);
    finding.references = vec![
        "velero-io/velero#9334",
        "velero-io/velero#9447",
        "velero-io/velero#10207",
    ];
    finding.tasks = waiting;
    finding
}

fn limit_known(node: &NodeReplay<'_>, pools: &[&Pool<'_>]) -> LimitKnown {
    let nobody_holds = pools.iter().all(|pool| pool.holders.is_empty());
    match node.limit.basis {
        LimitBasis::Proven | LimitBasis::Logged => LimitKnown::Yes,
        // Every limit is at least 1: with no holder a slot is free whatever the limit.
        LimitBasis::AssumedUnchanged(_) | LimitBasis::Drifted(_) | LimitBasis::Unreadable(_)
            if nobody_holds =>
        {
            LimitKnown::Yes
        }
        LimitBasis::AssumedUnchanged(_) | LimitBasis::Drifted(_) | LimitBasis::Unreadable(_) => {
            LimitKnown::No
        }
    }
}

fn confidence(
    limit_known: LimitKnown,
    pools: &[&Pool<'_>],
    (ghosts, fill): (&[Ghost<'_>], Fill),
    traced: Option<&SlotCause>,
) -> Confidence {
    let wait_known = pools.iter().all(|pool| {
        pool.oldest_wait.is_some_and(|(_, from)| match from {
            TimeFrom::ManagedFields | TimeFrom::MoverPod | TimeFrom::Field => true,
            TimeFrom::Accepted | TimeFrom::Created => false,
        })
    });
    if limit_known == LimitKnown::No || !wait_known {
        return Confidence::Possible;
    }
    let by_traces = traced.map_or(Confidence::Likely, |traced| traced.confidence);
    match fill {
        // Mover pods that still run for tasks that ended, one for each slot, exclude the other causes.
        Fill::Full if !ghosts.is_empty() => Confidence::Certain,
        Fill::Full | Fill::Room | Fill::NotKnown => by_traces,
    }
}

/// Whether holders and ghosts together fill the map of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// They do.
    Full,
    /// A slot is free beside them.
    Room,
    /// They are as many as the least limit that is possible; the one in force is not known.
    NotKnown,
}

fn fills(node: &NodeReplay<'_>, holders: &[TaskRef], ghosts: &[Ghost<'_>], limit: i64) -> Fill {
    let taken = holders.len().saturating_add(ghosts.len());
    if i64::try_from(taken).is_ok_and(|taken| taken < limit) {
        return Fill::Room;
    }
    match node.limit.basis {
        LimitBasis::Proven | LimitBasis::Logged => Fill::Full,
        LimitBasis::AssumedUnchanged(_) | LimitBasis::Drifted(_) | LimitBasis::Unreadable(_) => {
            Fill::NotKnown
        }
    }
}

fn evidence(node: &NodeReplay<'_>, pools: &[&Pool<'_>]) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let limit = match node.limit.in_force {
        Some(limit) => format!("{limit} ({})", node.limit.source.as_str()),
        None => "not known; every limit is at least 1".to_owned(),
    };
    evidence.push(Evidence::derived(format!("limit of {}", node.node), limit));
    for pool in pools {
        if let Some((time, from)) = pool.oldest_wait {
            evidence.push(Evidence::derived(
                format!("oldest Prepared task, by {}", from.as_str()),
                time.to_string(),
            ));
        }
    }
    if let Some(agent) = node.agent {
        evidence.push(words::agent_start(agent));
        evidence.extend(ended_by_metrics(agent, pools));
    }
    evidence
}

/// How many tasks of the waiting kinds have ended since the agent started, by its own counters.
fn ended_by_metrics(agent: &NodeAgent, pools: &[&Pool<'_>]) -> Vec<Evidence> {
    let kinds: BTreeSet<TaskKind> = pools
        .iter()
        .flat_map(|pool| pool.waiting.iter().map(|task| task.kind))
        .collect();
    kinds
        .into_iter()
        .filter_map(|kind| {
            let ended = *agent.metrics.as_ref()?.ended.get(&kind)?;
            let ended = usize::try_from(ended).ok()?;
            Some(Evidence::metric(
                words::metrics_of(agent),
                format!(
                    "{} ended since the process started",
                    words::count(ended, kind.as_str())
                ),
            ))
        })
        .collect()
}

fn actions(
    case: &Case<'_, '_>,
    node: &NodeReplay<'_>,
    cause: Option<&str>,
    waiting: &[TaskRef],
) -> Vec<Action> {
    let Some(agent) = node.agent else {
        return Vec::new();
    };
    let pod = words::quoted(&agent.pod.key.name);
    let mut actions = Vec::new();
    // What is proven needs no proof, and behind a blocked worker no look comes.
    let probed = waiting.iter().find(|task| {
        matches!(cause, Some("undetermined" | "lost-reconcile"))
            && case.replay.tasks.get(task).is_some_and(|task| {
                task.situation == Situation::Ordinary
                    && task.task.cancel == Cancel::NotRequested
                    && matches!(task.decision.verb, Verb::Admit | Verb::Unknown)
            })
    });
    let nudge = probed.map(|task| {
        words::nudge(
            [task],
            "makes the node-agent look at one task again: it moves, or the look shows what holds it",
        )
    });
    let save = Action {
        command: format!(
            "kubectl logs {{ns}} {pod} -c {} > {pod}.log",
            words::quoted(&agent.container)
        ),
        effect: "saves the node-agent's log first: a restart destroys the evidence".to_owned(),
        risk: "none".to_owned(),
    };
    // A lost event is mended by the nudge. Of the rest, first what changes nothing: the log also tells the
    // causes apart.
    if cause == Some("lost-reconcile") {
        actions.extend(nudge);
        actions.push(save);
    } else {
        actions.push(save);
        actions.extend(nudge);
    }
    actions.extend(words::restart(
        case,
        &[agent],
        "empties the node-agent's memory: every slot is free again",
    ));
    actions
}

/// A mover pod that still runs although its task has ended: the watcher waits for the pod, and keeps the slot.
struct Ghost<'s> {
    pod: &'s Pod,
    task: Option<&'s Task>,
    kind: TaskKind,
}

impl Ghost<'_> {
    fn culprit(&self) -> ObjectRef {
        self.task.map_or_else(
            || words::pod_ref(self.pod),
            |task| ObjectRef::from(&task.reference),
        )
    }
}

/// Whether the agent's log excludes that a mover pod's task holds a slot: it shows that the entry was removed, or
/// it speaks since before the pod and never shows one.
fn excludes(log: &LogEvidence, ghost: &Ghost<'_>) -> bool {
    let name = ghost.pod.key.name.as_str();
    if log.torn > 0 || log.entries.contains_key(name) {
        return false;
    }
    let left = log.tasks.get(name).is_some_and(|task| task.left.is_some());
    let made = ghost.pod.created.or(ghost.pod.running_since());
    left || (log.is_whole() && made.is_some_and(|made| log.speaks_since(made)))
}

/// Finds the mover pods of a node that prove a ghost slot: not ended, of a task that had run (or is
/// gone) and ended after the agent started. Anything else is an orphan pod, which proves nothing.
fn ghosts<'s>(
    case: &Case<'_, 's>,
    node: &NodeReplay<'_>,
    by_node: &ByNode<'_, 's>,
) -> Vec<Ghost<'s>> {
    let Some(start) = node.agent.and_then(|agent| agent.started_at) else {
        return Vec::new();
    };
    let namespace = &case.snapshot.namespace;
    let mut found: Vec<Ghost<'s>> = by_node
        .pods_at(&node.node)
        .iter()
        .copied()
        // An entry is made after Prepared, and so after the pod ran: one that has not run has none.
        .filter(|pod| !pod.has_ended() && pod.phase != "Pending")
        .filter_map(|pod| {
            let kind = TaskKind::ALL.into_iter().find(|kind| pod.labels.contains_key(kind.mover_label()))?;
            let name = TaskRef { kind, namespace: namespace.clone(), name: pod.key.name.clone() };
            match case.snapshot.tasks.get(&name) {
                Some(task) if !task.phase.is_final() => None,
                Some(task) => {
                    let had_run = matches!((task.started, task.completed), (Some(from), Some(to)) if from < to);
                    let agent_saw_it = task.completed.is_some_and(|end| start < end);
                    (had_run && agent_saw_it).then_some(Ghost { pod, task: Some(task), kind })
                }
                None => {
                    let listed = case.lists(kind);
                    let agent_saw_it = pod.running_since().or(pod.created).is_some_and(|time| start < time);
                    (listed && agent_saw_it).then_some(Ghost { pod, task: None, kind })
                }
            }
        })
        .collect();
    let log = node.agent.and_then(|agent| agent.evidence.as_ref());
    found.retain(|ghost| log.is_none_or(|log| !excludes(log, ghost)));
    // Only a task that is done by a mover pod leaves its slot to the end of that pod.
    found.retain(|ghost| node.profile.is_mover_kind(ghost.kind, ""));
    found
}
