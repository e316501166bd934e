//! What a restart costs, and what should come of it.

use super::super::Known;
use super::super::common::named;
use super::super::model::{
    AgentBill, Concern, Effect, Expectation, Expected, NodePlan, SaveLog, TaskEffect,
};
use super::{concern, reasons};
use crate::diagnose::{FindingId, paste};
use crate::replay::{
    AfterRestart, LimitBasis, RestartBill, RestartedTask, RulesFrom, Situation, Worth,
};
use crate::snapshot::{Cancel, Coverage, GapReason, NodeAgent, ProfileBasis, ResourceKind};
use crate::velero::{DEFAULT_RESOURCE_TIMEOUT_SECONDS, Phase, TaskRef};

/// How long, in seconds, a new agent may take to do what it does when it starts: its caches, its first list,
/// and one pause of its timers.
const STARTED_SECONDS: i64 = 120;

pub(in crate::plan) fn node_plan(known: Known<'_, '_>, bill: &RestartBill<'_>) -> NodePlan {
    let replay = known.replay.nodes.get(&bill.node);
    let owned = |tasks: Vec<&TaskRef>| tasks.into_iter().cloned().collect();
    NodePlan {
        node: bill.node.clone(),
        agent: bill.agent.map(agent_bill),
        rules: bill.rules.since,
        rules_doubt: doubt(known, bill),
        holders: replay.map_or_else(Vec::new, |node| owned(node.holders())),
        limit: replay.and_then(|node| node.limit.in_force),
        waiting: replay.map_or_else(Vec::new, |node| owned(node.waiting())),
        save_log: bill.agent.map(save_log),
    }
}

fn agent_bill(agent: &NodeAgent) -> AgentBill {
    AgentBill {
        pod: agent.pod.key.name.clone(),
        uid: agent.pod.uid.clone(),
        created: agent.pod.created,
        started: agent.started_at,
        version: agent
            .version
            .clone()
            .seen()
            .map(|version| version.to_string()),
        restarts: agent
            .container_status()
            .map_or(0, |container| container.restarts),
        container: agent.container.clone(),
        daemon_set: agent
            .pod
            .owner
            .as_ref()
            .filter(|(kind, _)| kind == "DaemonSet")
            .map(|(_, name)| name.clone()),
    }
}

fn save_log(agent: &NodeAgent) -> SaveLog {
    let pod = paste::name(&agent.pod.key.name);
    SaveLog {
        pod: agent.pod.key.name.clone(),
        container: agent.container.clone(),
        command: format!(
            "kubectl logs {{ns}} {pod} -c {} > {pod}.log",
            paste::name(&agent.container)
        ),
    }
}

fn doubt(known: Known<'_, '_>, bill: &RestartBill<'_>) -> Option<String> {
    if let RulesFrom::Template(version) = &bill.rules_from {
        return Some(format!(
            "the DaemonSet would start version {version}, which is not the one that runs"
        ));
    }
    let basis = known
        .replay
        .nodes
        .get(&bill.node)
        .map(|node| node.profile_basis)?;
    match basis {
        ProfileBasis::Release => None,
        ProfileBasis::NewerThanKnown => Some(
            "the version is newer than every release that the rules were read from".to_owned(),
        ),
        ProfileBasis::GuessedFromFields => Some(
            "the version could not be read: these are the newest rules that the tasks' fields allow"
                .to_owned(),
        ),
    }
}

pub(super) fn effect(task: &RestartedTask<'_>, targets: &[TaskRef]) -> TaskEffect {
    let reference = &task.task.reference;
    TaskEffect {
        task: reference.clone(),
        node: task.node.clone(),
        phase: task.task.phase.clone(),
        progress: task
            .task
            .progress
            .filter(|_| task.task.phase == Phase::InProgress)
            .map(|progress| (progress.bytes_done, progress.total_bytes)),
        effect: Effect::from(task.then),
        concern: concern(task.worth, targets.binary_search(reference).is_ok()),
        why: task.why.clone(),
        source: task.source,
    }
}

/// The tasks that a restart is for and does nothing to: those that any agent may accept.
pub(super) fn elsewhere(
    known: Known<'_, '_>,
    bill: &RestartBill<'_>,
    targets: &[TaskRef],
    told: &[TaskEffect],
) -> Vec<TaskEffect> {
    targets
        .iter()
        .filter(|target| {
            !bill
                .tasks
                .iter()
                .any(|task| task.task.reference == **target)
        })
        .filter(|target| !told.iter().any(|effect| effect.task == **target))
        .filter_map(|target| known.replay.tasks.get(target))
        .map(|task| TaskEffect {
            task: task.task.reference.clone(),
            node: task.node.clone(),
            phase: task.task.phase.clone(),
            progress: None,
            effect: Effect::Untouched,
            concern: Concern::Target,
            why: "it stays as it is, and any node-agent may take it up".to_owned(),
            source: "v1.12.4 … main pkg/controller: New tasks are left as they are at a restart",
        })
        .collect()
}

/// What should happen after the restart of a node.
pub(super) fn expected(
    known: Known<'_, '_>,
    bill: &RestartBill<'_>,
    targets: &[TaskRef],
) -> Vec<Expectation> {
    let mut expected = Vec::new();
    let mut add = |tasks: Vec<TaskRef>, at_least: usize, what, within_seconds| {
        if at_least > 0 && !tasks.is_empty() {
            expected.push(Expectation {
                node: Some(bill.node.clone()),
                tasks,
                at_least,
                what,
                within_seconds,
            });
        }
    };
    let with = |then: AfterRestart, worth: Worth| {
        bill.tasks
            .iter()
            .filter(move |task| task.then == then && task.worth == worth)
    };
    let resumed: Vec<TaskRef> = with(AfterRestart::Resumed, Worth::Works)
        .map(|task| task.task.reference.clone())
        .collect();
    add(
        resumed.clone(),
        resumed.len(),
        Expected::Resume,
        STARTED_SECONDS,
    );
    let ending: Vec<TaskRef> = bill
        .tasks
        .iter()
        .filter(|task| task.worth == Worth::Broken && targets.contains(&task.task.reference))
        .filter(|task| {
            task.then == AfterRestart::Canceled
                || (task.then == AfterRestart::Resumed && task.task.phase == Phase::InProgress)
        })
        .map(|task| task.task.reference.clone())
        .collect();
    // The resume of a pod volume whose pod has ended waits for the pod first.
    add(
        ending.clone(),
        ending.len(),
        Expected::End,
        STARTED_SECONDS + DEFAULT_RESOURCE_TIMEOUT_SECONDS,
    );
    let Some(node) = known.replay.nodes.get(&bill.node) else {
        return expected;
    };
    for pool in &node.pools {
        let limit = node
            .limit
            .configured_now
            .or(pool.limit)
            .map_or(1, |limit| usize::try_from(limit).unwrap_or(1).max(1));
        let in_pool = |task: &&RestartedTask<'_>| pool.kinds.contains(&task.task.reference.kind);
        let held = bill
            .tasks
            .iter()
            .filter(in_pool)
            .filter(|task| task.then == AfterRestart::Resumed)
            .count();
        let waiting: Vec<TaskRef> = bill
            .tasks
            .iter()
            .filter(in_pool)
            .filter(|task| task.then == AfterRestart::StartsAgain && task.worth == Worth::Works)
            .filter(|task| {
                let rewound = known
                    .replay
                    .tasks
                    .get(&task.task.reference)
                    .is_some_and(|task| matches!(task.situation, Situation::Rewound { .. }));
                rewound || pool.waiting.contains(&&task.task.reference)
            })
            .map(|task| task.task.reference.clone())
            .collect();
        let free = limit.saturating_sub(held).min(waiting.len());
        add(waiting, free, Expected::Move, STARTED_SECONDS);
    }
    let accepting: Vec<TaskRef> = reasons::mended(known, &bill.node)
        .into_iter()
        .filter(|finding| {
            matches!(
                finding.id,
                FindingId::AcceptBlocked | FindingId::PrepareQueueStale
            )
        })
        .flat_map(|finding| finding.tasks.iter().cloned())
        .collect();
    add(accepting, 1, Expected::Move, STARTED_SECONDS);
    expected
}

/// What the user should know before a restart, one sentence each.
pub(super) fn warnings(known: Known<'_, '_>, bill: &RestartBill<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mended = reasons::mended(known, &bill.node);
    let undetermined = mended.iter().any(|finding| {
        matches!(
            finding.id,
            FindingId::PreparedStuck | FindingId::SlotsLeaked
        ) && matches!(finding.cause, Some("undetermined" | "lost-reconcile"))
    });
    if undetermined {
        warnings.push(format!(
            "the cause on node {} is not proven: a nudge of one waiting task costs less and shows more",
            bill.node
        ));
    }
    if let Some(node) = known.replay.nodes.get(&bill.node)
        && let Some(now) = node.limit.configured_now
        && !node.limit.drift.is_empty()
    {
        let before = node
            .limit
            .in_force
            .map_or_else(|| "an unknown number".to_owned(), |limit| limit.to_string());
        warnings.push(format!(
            "the configuration has changed since the node-agent of {} started: its limit becomes {now}, from {before}",
            bill.node
        ));
    }
    if bill.agent.is_some() {
        warnings.extend(unknown_replacement(known, &bill.node));
    }
    if let Some(node) = known.replay.nodes.get(&bill.node)
        && let LimitBasis::Unreadable(why) = &node.limit.basis
    {
        warnings.push(why.clone());
    }
    let resumed: Vec<&TaskRef> = bill
        .tasks
        .iter()
        .filter(|task| task.then == AfterRestart::Resumed && task.worth == Worth::Works)
        .map(|task| &task.task.reference)
        .collect();
    if !resumed.is_empty() {
        warnings.push(format!(
            "if their resume fails, these are cancelled: {}",
            named(resumed)
        ));
    }
    let misread: Vec<&TaskRef> = bill
        .tasks
        .iter()
        .filter(|task| {
            task.then == AfterRestart::Resumed
                && task.task.reference.kind == crate::velero::TaskKind::DataDownload
                && !bill.rules.labels_accepted_tasks()
        })
        .map(|task| &task.task.reference)
        .collect();
    if !misread.is_empty() {
        warnings.push(format!(
            "v1.15 and v1.16 read the result of a resumed DataDownload as that of a backup: check {}",
            named(misread)
        ));
    }
    let given_up: Vec<&TaskRef> = bill
        .tasks
        .iter()
        .filter(|task| task.worth == Worth::Broken && task.task.cancel != Cancel::Requested)
        .filter(|task| match task.then {
            AfterRestart::Canceled | AfterRestart::Failed => true,
            AfterRestart::Resumed
            | AfterRestart::Stranded
            | AfterRestart::StartsAgain
            | AfterRestart::Unobserved
            | AfterRestart::Released => false,
        })
        .map(|task| &task.task.reference)
        .collect();
    if !given_up.is_empty() {
        warnings.push(format!(
            "the restart ends what is broken too, and its volumes must be backed up or restored again: {}",
            named(given_up)
        ));
    }
    warnings
}

/// What was not read of what decides whether a new pod is made at all.
fn unknown_replacement(known: Known<'_, '_>, node: &str) -> Option<String> {
    let unread = |resource: ResourceKind, namespace: &str| match known
        .snapshot
        .coverage_of(resource, namespace)
    {
        // Files say what they lack.
        Coverage::Unreadable(reason) => (reason != GapReason::NotInInput).then_some(reason),
        Coverage::Listed | Coverage::Present | Coverage::Partial => None,
    };
    let (what, reason) = unread(ResourceKind::Node, "")
        .map(|reason| (format!("the taints of node {node}"), reason))
        .or_else(|| {
            unread(ResourceKind::DaemonSet, &known.snapshot.namespace)
                .map(|reason| ("the DaemonSet of the node-agents".to_owned(), reason))
        })?;
    Some(format!(
        "{what} could not be read ({}): whether a new node-agent pod is made there is not known",
        reason.as_str()
    ))
}
