//! The plan of a nudge: which touch makes a controller look at each task again.

mod touch;

use std::collections::{BTreeMap, BTreeSet};

use super::common::{
    begin, earlier, listed, named, not_read, not_whole, pod_precondition, pod_ref, precondition,
    refusal, rights, tasks_alone, unguarded, unread,
};
use super::model::{
    Concern, Expectation, Expected, LeftOut, NodePlan, Plan, PlanAction, Probe, Refusal,
    RefusalCode, TaskEffect,
};
use super::select::{NotSelected, NudgeTargets, Sure};
use super::step::{Step, StepKind};
use super::{Force, Known, Override, Wishes};
use crate::diagnose::FindingId;
use crate::diagnose::near::nearest;
use crate::replay::{Situation, TaskReplay};
use crate::snapshot::{ResourceKind, Task};
use crate::velero::{ObjectRef, Phase, TaskKind, TaskRef};
use touch::{Touch, Way};

/// How long, in seconds, a look that a touch brings about may take to show in the task.
const LOOK_SECONDS: i64 = 60;

/// Plans a nudge: the touch that makes a controller look again at some tasks.
///
/// # Errors
///
/// A name that names no task or node: an error of usage.
pub fn plan_nudge(
    known: Known<'_, '_>,
    targets: &NudgeTargets,
    wishes: &Wishes,
) -> Result<Plan, NotSelected> {
    let mut plan = begin(known, PlanAction::Nudge, wishes);
    let (chosen, how) = match targets {
        NudgeTargets::Tasks(names) => (tasks_named(known, names)?, Chosen::ByName),
        NudgeTargets::Nodes(names) => {
            let nodes = known.chosen_nodes(names)?;
            (stuck_on(known, Some(&nodes)), Chosen::ByState)
        }
        NudgeTargets::AllStuck => (stuck_on(known, None), Chosen::ByState),
    };
    let mut ways: Vec<(&TaskReplay<'_>, Way<'_>)> = Vec::new();
    for task in chosen {
        let (reference, replay) = (&task.reference, known.replay.tasks.get(&task.reference));
        let decided = replay.map_or_else(
            || Err(touch::final_task(task)),
            |replay| touch::way(known, replay).map(|way| (replay, way)),
        );
        let refusal = match decided {
            Ok(way) => {
                ways.push(way);
                continue;
            }
            Err(refusal) => refusal
                .on(replay.and_then(|task| task.node.as_deref()))
                .about([reference]),
        };
        match how {
            Chosen::ByName => {
                // A forced nudge is the touch that does the least: that of the task itself.
                if refusal.by == Override::Force
                    && let Some(replay) = replay
                {
                    ways.push((replay, touch::forced(replay)));
                }
                plan.refusals.push(refusal);
            }
            Chosen::ByState => plan.left_out.push(LeftOut {
                task: Some(reference.clone()),
                node: replay.and_then(|task| task.node.clone()),
                refusal,
            }),
        }
    }
    if how == Chosen::ByState {
        plan.left_out.extend(spare_probes(known, &mut ways));
    }
    if how == Chosen::ByState {
        let unread = unread(known.snapshot, tasks_alone());
        if !unread.is_empty() && !ways.is_empty() {
            plan.warnings.push(format!(
                "{} could not be read: stuck tasks among them are left out",
                listed(&unread)
            ));
        }
        if ways.is_empty() {
            plan.refusals
                .push(nothing_left(known, targets, &plan, &unread));
        }
    }
    for (task, way) in &ways {
        add(task, way, &mut plan);
    }
    finish(known, wishes, &ways, &mut plan);
    Ok(plan)
}

/// Leaves one probe for each node and pool: while the cause is open one look shows as much as many, and each
/// of them can end a doomed task.
fn spare_probes(known: Known<'_, '_>, ways: &mut Vec<(&TaskReplay<'_>, Way<'_>)>) -> Vec<LeftOut> {
    let mut probed: BTreeMap<(Option<String>, &[TaskKind]), TaskRef> = BTreeMap::new();
    let mut spared = Vec::new();
    ways.retain(|(task, way)| {
        if way.probe.is_none() {
            return true;
        }
        let reference = &task.task.reference;
        // What has no slots to share is looked at by the worker of its kind.
        let kinds = if way.for_slot {
            pool_kinds(known, task)
        } else {
            std::slice::from_ref(&reference.kind)
        };
        let key = (task.node.clone(), kinds);
        let Some(probe) = probed.get(&key) else {
            probed.insert(key, reference.clone());
            return true;
        };
        spared.push(LeftOut {
            task: Some(reference.clone()),
            node: task.node.clone(),
            refusal: refusal(
                RefusalCode::ProbedByAnother,
                Override::Never,
                format!("the look at {} shows the cause for it too", named([probe])),
            )
            .on(task.node.as_deref())
            .about([reference]),
        });
        false
    });
    spared
}

/// The kinds that share slots with a task.
fn pool_kinds<'k>(known: Known<'k, '_>, task: &'k TaskReplay<'_>) -> &'k [TaskKind] {
    let kind = &task.task.reference.kind;
    task.node
        .as_deref()
        .and_then(|node| known.replay.nodes.get(node))
        .and_then(|node| node.pools.iter().find(|pool| pool.kinds.contains(kind)))
        .map_or(std::slice::from_ref(kind), |pool| &pool.kinds)
}

/// How tasks were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chosen {
    /// By their names: one that cannot be nudged refuses all.
    ByName,
    /// Because they are stuck: those that cannot be nudged are left out.
    ByState,
}

fn tasks_named<'s>(known: Known<'_, 's>, names: &[String]) -> Result<Vec<&'s Task>, NotSelected> {
    let mut chosen = BTreeMap::new();
    for text in names {
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) if !name.is_empty() && !name.contains('/') => (kind, name),
            Some(_) | None => {
                return Err(not_selected(known, text, "a task is named KIND/NAME"));
            }
        };
        let Some(kind) = TaskKind::parse(kind) else {
            return Err(not_selected(
                known,
                text,
                "the kind must be du, dd, pvb or pvr, or a full name of those",
            ));
        };
        let reference = TaskRef {
            kind,
            namespace: known.snapshot.namespace.clone(),
            name: name.to_owned(),
        };
        let Some(task) = known.snapshot.tasks.get(&reference) else {
            return Err(no_such_task(known, text, &reference));
        };
        chosen.insert(&task.reference, task);
    }
    Ok(chosen.into_values().collect())
}

/// Says that there is no such task, where its kind was read.
fn no_such_task(known: Known<'_, '_>, text: &str, task: &TaskRef) -> NotSelected {
    let TaskRef {
        kind,
        namespace,
        name,
    } = task;
    match not_whole(known.snapshot, ResourceKind::Task(*kind)) {
        None => not_selected(
            known,
            text,
            &format!("there is no {kind} {name:?} in namespace {namespace}"),
        ),
        Some(reason) => NotSelected {
            sure: Sure::NotRead,
            ..not_selected(
                known,
                text,
                &format!(
                    "whether it is there is not known: {} could not be read ({})",
                    kind.plural(),
                    reason.as_str()
                ),
            )
        },
    }
}

fn not_selected(known: Known<'_, '_>, text: &str, why: &str) -> NotSelected {
    let asked = text.split_once('/').map_or(text, |(_, name)| name);
    NotSelected {
        text: text.to_owned(),
        why: why.to_owned(),
        sure: Sure::Yes,
        near: nearest(
            asked,
            known.snapshot.unfinished().map(|task| {
                let reference = &task.reference;
                (
                    reference.name.clone(),
                    format!("{}/{}", reference.kind.short_name(), reference.name),
                )
            }),
        ),
    }
}

/// Returns the tasks that are stuck in a way that a look could mend: those that should have moved on by
/// themselves, and those of a finding that says so.
fn stuck_on<'s>(known: Known<'_, 's>, nodes: Option<&[String]>) -> Vec<&'s Task> {
    let named: BTreeSet<&TaskRef> = known
        .diagnosis
        .findings
        .iter()
        .filter(|finding| is_about_looks(finding.id))
        .flat_map(|finding| &finding.tasks)
        .collect();
    known
        .replay
        .tasks
        .values()
        .filter(|task| match (nodes, &task.node) {
            (None, _) => true,
            (Some(nodes), Some(node)) => nodes.contains(node),
            (Some(_), None) => false,
        })
        .filter(|task| task.decision.diverges || named.contains(&task.task.reference))
        .filter(|task| task.situation != Situation::Foreign)
        .map(|task| task.task)
        .collect()
}

/// Whether the tasks of a finding wait for a look.
const fn is_about_looks(id: FindingId) -> bool {
    match id {
        FindingId::PreparedStuck
        | FindingId::SlotsLeaked
        | FindingId::PrepareMissed
        | FindingId::AcceptBlocked
        | FindingId::PrepareQueueStale
        | FindingId::CancelStuck => true,
        FindingId::SlotQueue
        | FindingId::PhaseRewound
        | FindingId::PreparedDoomed
        | FindingId::TransferStalled
        | FindingId::MoverPodLost
        | FindingId::CompletionStuck
        | FindingId::OwnerGone
        | FindingId::ExposeBlocked
        | FindingId::ExposeLost
        | FindingId::PrepareQueueFull
        | FindingId::NoNodeAgent
        | FindingId::AgentCrashloop
        | FindingId::ForeignDataMover
        | FindingId::RestoreTargetMissing
        | FindingId::RestoreTargetNotReady
        | FindingId::AgentRestarted
        | FindingId::ConfigDrift
        | FindingId::ConfigIgnored
        | FindingId::AgentLabelMissing
        | FindingId::VersionSkew
        | FindingId::RecentFailures
        | FindingId::BackupWaitsFinishedTasks
        | FindingId::DeadlineAtRisk
        | FindingId::KnownBug
        | FindingId::OrphanedTasks => false,
    }
}

/// The refusal of a selection by state in which nothing is left to nudge.
fn nothing_left(
    known: Known<'_, '_>,
    targets: &NudgeTargets,
    plan: &Plan,
    unread: &[String],
) -> Refusal {
    if let Some(left) = plan.left_out.first() {
        // Where all are left out for one reason, that is the reason.
        let same = plan
            .left_out
            .iter()
            .all(|other| other.refusal.code == left.refusal.code);
        let tasks: Vec<&TaskRef> = plan
            .left_out
            .iter()
            .filter_map(|left| left.task.as_ref())
            .collect();
        if same {
            return Refusal {
                by: Override::Never,
                ..left.refusal.clone()
            }
            .about(tasks);
        }
        return refusal(
            RefusalCode::NoTouchHelps,
            Override::Never,
            format!("no look helps any of {}", named(tasks.iter().copied())),
        )
        .about(tasks)
        .or(
            Some("kubectl velero-slots diagnose {ns}".to_owned()),
            "says what is wrong with each",
        );
    }
    let where_ = match targets {
        NudgeTargets::Nodes(nodes) => format!(" on {}", listed(nodes)),
        NudgeTargets::Tasks(_) | NudgeTargets::AllStuck => String::new(),
    };
    if !unread.is_empty() {
        return not_read(unread, &format!("a task{where_} waits for a look"));
    }
    let queue = match targets {
        NudgeTargets::Nodes(nodes) => known.diagnosis.findings.iter().find(|finding| {
            finding.id == FindingId::SlotQueue
                && finding
                    .node
                    .as_ref()
                    .is_some_and(|node| nodes.contains(node))
        }),
        NudgeTargets::Tasks(_) | NudgeTargets::AllStuck => None,
    };
    if let Some(queue) = queue {
        return refusal(
            RefusalCode::NormalQueue,
            Override::Never,
            format!("the queue is a normal one: {}", queue.summary),
        )
        .on(queue.node.as_deref())
        .about(&queue.tasks)
        .or(
            Some("kubectl velero-slots replay --simulate {ns}".to_owned()),
            "says when the queue is empty",
        );
    }
    refusal(
        RefusalCode::NothingStuck,
        Override::Never,
        format!("no task{where_} waits for a look"),
    )
    .or(
        Some("kubectl velero-slots diagnose {ns}".to_owned()),
        "says what is wrong, if anything is",
    )
}

fn add(task: &TaskReplay<'_>, way: &Way<'_>, plan: &mut Plan) {
    let reference = &task.task.reference;
    let kind = match way.touch {
        Touch::Task => {
            let guard = precondition(
                &task.task.uid,
                task.task.resource_version.as_ref(),
                plan.source,
            );
            let Some(precondition) = guard else {
                plan.refusals
                    .push(unguarded(&ObjectRef::from(reference)).about([reference]));
                return;
            };
            StepKind::AnnotateTask {
                task: reference.clone(),
                precondition,
            }
        }
        Touch::Pod(pod) => {
            let Some(precondition) = pod_precondition(pod, plan.source) else {
                plan.refusals
                    .push(unguarded(&pod_ref(pod)).about([reference]));
                return;
            };
            StepKind::AnnotatePod {
                pod: pod_ref(pod),
                precondition,
                task: reference.clone(),
            }
        }
    };
    plan.targets.push(reference.clone());
    plan.steps.push(Step {
        node: task.node.clone(),
        kind,
    });
    plan.effects.push(TaskEffect {
        task: reference.clone(),
        node: task.node.clone(),
        phase: task.task.phase.clone(),
        progress: task
            .task
            .progress
            .filter(|_| task.task.phase == Phase::InProgress)
            .map(|progress| (progress.bytes_done, progress.total_bytes)),
        effect: super::Effect::LookedAt,
        concern: Concern::Target,
        why: way.why.clone(),
        source: way.source,
    });
}

fn finish(
    known: Known<'_, '_>,
    wishes: &Wishes,
    ways: &[(&TaskReplay<'_>, Way<'_>)],
    plan: &mut Plan,
) {
    plan.steps
        .sort_by(|a, b| (&a.node, a.task()).cmp(&(&b.node, b.task())));
    plan.effects
        .sort_by(|a, b| (&a.node, &a.task).cmp(&(&b.node, &b.task)));
    plan.targets.sort();
    plan.nodes = nodes(known, plan);
    plan.expected = expected(known, ways);
    plan.earlier = earlier(known, plan);
    if let Some(risk) = ways.iter().find_map(|(_, way)| way.probe) {
        plan.probe = Probe::Yes {
            risk: risk.to_owned(),
        };
    }
    let mut warnings: BTreeSet<&str> = ways.iter().filter_map(|(_, way)| way.warning).collect();
    if wishes.force == Force::Yes && !plan.refusals.is_empty() {
        warnings.insert("--force: a look that is not expected to help is made all the same");
    }
    plan.warnings
        .extend(warnings.into_iter().map(str::to_owned));
    plan.confirmation.question = match plan.targets.as_slice() {
        [] => String::new(),
        tasks => format!("nudge {}", named(tasks)),
    };
    if plan
        .refusals
        .iter()
        .any(|refusal| refusal.by == Override::Never && refusal.code != RefusalCode::Offline)
    {
        plan.steps.clear();
        plan.expected.clear();
    }
    plan.rights = rights(plan, wishes);
}

fn nodes(known: Known<'_, '_>, plan: &Plan) -> Vec<NodePlan> {
    let names: BTreeSet<&String> = plan
        .effects
        .iter()
        .filter_map(|effect| effect.node.as_ref())
        .collect();
    names
        .into_iter()
        .map(|node| {
            let bill = crate::replay::restart_bill(known.snapshot, known.replay, node);
            NodePlan {
                rules: known
                    .replay
                    .nodes
                    .get(node)
                    .map_or(bill.rules.since, |node| node.profile.since),
                rules_doubt: None,
                // A nudge destroys no log.
                save_log: None,
                ..super::restart::node_plan(known, &bill)
            }
        })
        .collect()
}

/// What is expected together: the node, what should happen, and the pool's place there with its free slots.
type Together<'a> = (Option<&'a str>, Expected, Option<(usize, usize)>);

/// What should come of the looks: of the tasks that wait for slots of one pool as many as are free, of all
/// others each.
fn expected(known: Known<'_, '_>, ways: &[(&TaskReplay<'_>, Way<'_>)]) -> Vec<Expectation> {
    // By its place too: two pools of one node may have as many free slots (v1.12 has one for each kind).
    let mut groups: BTreeMap<Together<'_>, Vec<TaskRef>> = BTreeMap::new();
    for (task, way) in ways {
        let pool = way.for_slot.then(|| pool_of(known, task)).flatten();
        groups
            .entry((task.node.as_deref(), way.expected, pool))
            .or_default()
            .push(task.task.reference.clone());
    }
    groups
        .into_iter()
        .map(|((node, what, pool), mut tasks)| {
            tasks.sort();
            let free = pool.map_or(tasks.len(), |(_, free)| free);
            Expectation {
                node: node.map(str::to_owned),
                at_least: tasks.len().min(free.max(1)),
                tasks,
                what,
                within_seconds: LOOK_SECONDS,
            }
        })
        .collect()
}

/// The pool of a task, by its place, and how many slots of it are free by status.
fn pool_of(known: Known<'_, '_>, task: &TaskReplay<'_>) -> Option<(usize, usize)> {
    let node = known.replay.nodes.get(task.node.as_deref()?)?;
    let (place, pool) = node
        .pools
        .iter()
        .enumerate()
        .find(|(_, pool)| pool.kinds.contains(&task.task.reference.kind))?;
    let limit = usize::try_from(pool.limit?).ok()?;
    Some((place, limit.saturating_sub(pool.holders.len())))
}
