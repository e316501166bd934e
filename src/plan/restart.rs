//! The plan of a restart: the bill, the reasons for it and against it, and what should come of it.

mod bill;
mod reasons;

pub(super) use bill::node_plan;
pub(super) use reasons::first_of;

use std::collections::BTreeSet;

use super::common::{
    begin, earlier, listed, named, not_read, not_whole, pod_precondition, pod_ref, refusal, rights,
    unguarded, unread, with_pods,
};
use super::model::{
    Concern, ConfirmBy, Effect, FollowUp, LeftOut, Plan, PlanAction, Refusal, RefusalCode,
};
use super::select::{NotSelected, RestartTargets};
use super::step::{Step, StepKind};
use super::{Known, Override, Wishes};
use crate::replay::{AfterRestart, RestartBill, restart_bill};
use crate::snapshot::{MarkKind, Observed, Pod, ResourceKind};
use crate::velero::{Phase, TaskKind, TaskRef};

/// A restart within so many seconds that did not help is worth a warning.
const LATELY_SECONDS: i64 = 60 * 60;

/// How long, in seconds, a mover pod must run under the eyes of a new agent before its event counts as lost.
const UNOBSERVED_SECONDS: i64 = 30;

/// Plans the restart of the node-agents of some nodes, one after the other.
///
/// # Errors
///
/// A name that names no node: an error of usage.
pub fn plan_restart(
    known: Known<'_, '_>,
    targets: &RestartTargets,
    wishes: &Wishes,
) -> Result<Plan, NotSelected> {
    let mut plan = begin(known, PlanAction::Restart, wishes);
    let nodes = match targets {
        RestartTargets::Nodes(names) => known.chosen_nodes(names)?,
        RestartTargets::AllStuck => known
            .replay
            .nodes
            .keys()
            .filter(|node| reasons::is_stuck(known, node))
            .cloned()
            .collect(),
    };
    let mut taken: BTreeSet<TaskRef> = BTreeSet::new();
    for node in &nodes {
        let bill = restart_bill(known.snapshot, known.replay, node);
        let refusals = reasons::against(known, &bill, &taken);
        let holds =
            |refusal: &Refusal| refusal.by == Override::Never || wishes.force == super::Force::No;
        match targets {
            RestartTargets::AllStuck if refusals.iter().any(holds) => {
                plan.left_out
                    .extend(
                        refusals
                            .into_iter()
                            .filter(holds)
                            .take(1)
                            .map(|refusal| LeftOut {
                                task: None,
                                node: Some(node.clone()),
                                refusal,
                            }),
                    );
                continue;
            }
            RestartTargets::AllStuck | RestartTargets::Nodes(_) => plan.refusals.extend(refusals),
        }
        add_node(known, &bill, &mut taken, &mut plan);
    }
    if plan.nodes.is_empty() {
        plan.refusals.push(nothing_left(known, &plan));
    }
    finish(known, wishes, &mut plan);
    Ok(plan)
}

/// The refusal of `--all-stuck` where no node is left.
fn nothing_left(known: Known<'_, '_>, plan: &Plan) -> Refusal {
    let left: Vec<(&String, &Refusal)> = plan
        .left_out
        .iter()
        .filter_map(|left| Some((left.node.as_ref()?, &left.refusal)))
        .collect();
    let Some((_, first)) = left.first() else {
        let unread = unread(known.snapshot, with_pods());
        if !unread.is_empty() {
            return not_read(&unread, "a node is stuck in a way that a restart mends");
        }
        return refusal(
            RefusalCode::NothingStuck,
            Override::Never,
            "no node is stuck in a way that a restart mends".to_owned(),
        )
        .or(
            Some("kubectl velero-slots diagnose {ns}".to_owned()),
            "says what is wrong, if anything is",
        );
    };
    // Where all are left out for one reason, that is the reason; else one that can be overridden, if any can.
    let forceable = left
        .iter()
        .find(|(_, refusal)| refusal.by == Override::Force);
    let told = forceable.map_or(*first, |(_, refusal)| *refusal);
    let each: Vec<String> = left
        .iter()
        .map(|(node, refusal)| format!("{node}: {}", refusal.reason))
        .collect();
    Refusal {
        node: None,
        reason: format!("every node that is stuck is left out: {}", each.join("; ")),
        ..told.clone()
    }
    .about(left.iter().flat_map(|(_, refusal)| &refusal.tasks))
}

fn add_node(
    known: Known<'_, '_>,
    bill: &RestartBill<'_>,
    taken: &mut BTreeSet<TaskRef>,
    plan: &mut Plan,
) {
    let targets = reasons::targets(known, &bill.node);
    plan.targets.extend(targets.iter().cloned());
    plan.nodes.push(bill::node_plan(known, bill));
    // A task that the restart of a node before ends already is that node's.
    let effects: Vec<_> = bill
        .tasks
        .iter()
        .filter(|task| !taken.contains(&task.task.reference))
        .map(|task| bill::effect(task, &targets))
        .collect();
    plan.effects
        .extend(bill::elsewhere(known, bill, &targets, &plan.effects));
    plan.follow_ups.extend(
        effects
            .iter()
            .filter(|effect| effect.effect == Effect::Unobserved)
            .filter_map(|effect| follow_up_of(known, &bill.node, &effect.task)),
    );
    taken.extend(
        effects
            .iter()
            .filter(|effect| matches!(effect.effect, Effect::Canceled | Effect::Failed))
            .map(|effect| effect.task.clone()),
    );
    plan.expected.extend(bill::expected(known, bill, &targets));
    plan.effects.extend(effects);
    plan.warnings.extend(bill::warnings(known, bill));
    if let Some(agent) = bill.agent {
        match pod_precondition(&agent.pod, plan.source) {
            Some(precondition) => {
                let owner = agent.pod.owner.as_ref().map(|(_, name)| name.clone());
                plan.steps.push(Step {
                    node: Some(bill.node.clone()),
                    kind: StepKind::DeletePod {
                        pod: pod_ref(&agent.pod),
                        precondition,
                        created: agent.pod.created,
                    },
                });
                plan.steps.push(Step {
                    node: Some(bill.node.clone()),
                    kind: StepKind::MarkReplacement {
                        replaces: agent.pod.uid.clone(),
                        owner,
                    },
                });
            }
            None => plan
                .refusals
                .push(unguarded(&pod_ref(&agent.pod)).on(Some(&bill.node))),
        }
    }
}

fn follow_up_of(known: Known<'_, '_>, node: &str, task: &TaskRef) -> Option<FollowUp> {
    let pod = known.snapshot.pod(&task.namespace, &task.name).seen()?;
    Some(FollowUp {
        task: task.clone(),
        node: node.to_owned(),
        pod: pod_ref(pod),
        pod_uid: pod.uid.clone(),
    })
}

fn finish(known: Known<'_, '_>, wishes: &Wishes, plan: &mut Plan) {
    plan.targets.sort();
    plan.targets.dedup();
    plan.effects
        .sort_by(|a, b| (&a.node, &a.task).cmp(&(&b.node, &b.task)));
    plan.follow_ups
        .sort_by(|a, b| (&a.node, &a.task).cmp(&(&b.node, &b.task)));
    plan.refusals.extend(unread_tasks(known, plan));
    plan.earlier = earlier(known, plan);
    plan.warnings.extend(tried_lately(known, plan));
    dedup(&mut plan.warnings);
    plan.confirmation.question = question(plan);
    let lost: BTreeSet<&str> = plan
        .losses()
        .filter_map(|effect| losing_node(plan, effect.node.as_deref()))
        .collect();
    if !lost.is_empty() {
        plan.confirmation.by =
            ConfirmBy::TypeNodeNames(lost.into_iter().map(str::to_owned).collect());
    }
    if plan
        .refusals
        .iter()
        .any(|refusal| refusal.by == Override::Never && refusal.code != RefusalCode::Offline)
    {
        // What is refused for good shows its bill, and no step that somebody might make by hand; nothing comes
        // of it.
        plan.steps.clear();
        plan.follow_ups.clear();
        plan.expected.clear();
    }
    plan.rights = rights(plan, wishes);
}

/// The node whose restart loses a task: its own where that is restarted, else the first one (v1.15 and v1.16
/// cancel what is Accepted anywhere).
fn losing_node<'p>(plan: &'p Plan, node: Option<&str>) -> Option<&'p str> {
    plan.nodes
        .iter()
        .find(|of| Some(of.node.as_str()) == node)
        .or_else(|| plan.nodes.first())
        .map(|of| of.node.as_str())
}

fn dedup(texts: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
}

/// Tasks that could not be listed may run on the nodes all the same.
fn unread_tasks(known: Known<'_, '_>, plan: &Plan) -> Option<Refusal> {
    if plan.nodes.is_empty() {
        return None;
    }
    let unread: Vec<String> = TaskKind::ALL
        .into_iter()
        .filter(|kind| not_whole(known.snapshot, ResourceKind::Task(*kind)).is_some())
        .map(|kind| kind.plural().to_owned())
        .collect();
    (!unread.is_empty()).then(|| {
        refusal(
            RefusalCode::NotKnown,
            Override::Force,
            format!(
                "{} could not be read: what a restart does to them is not known",
                listed(&unread)
            ),
        )
        .or(
            Some("kubectl velero-slots auth {ns}".to_owned()),
            "says which rights are missing",
        )
    })
}

fn tried_lately(known: Known<'_, '_>, plan: &Plan) -> Option<String> {
    let last = plan
        .earlier
        .iter()
        .find(|earlier| earlier.action == MarkKind::Restart)?;
    let age = known.snapshot.taken_at.duration_since(last.at).as_secs();
    (age < LATELY_SECONDS).then(|| {
        format!(
            "the node-agent of {} was restarted at {} and is stuck again: another restart may not last",
            last.node.as_deref().unwrap_or("this node"),
            last.at
        )
    })
}

fn question(plan: &Plan) -> String {
    let nodes: Vec<String> = plan.nodes.iter().map(|node| node.node.clone()).collect();
    let lost: Vec<&TaskRef> = plan.losses().map(|effect| &effect.task).collect();
    let price = if lost.is_empty() {
        String::new()
    } else {
        format!(", which ends {}", named(lost))
    };
    match nodes.as_slice() {
        [] => String::new(),
        [node] => format!("restart the node-agent of node {node}{price}"),
        _ => format!(
            "restart the node-agents of {} nodes ({}), one after the other{price}",
            nodes.len(),
            listed(&nodes)
        ),
    }
}

/// Returns the nudges that a restart makes necessary: of the plan's follow-ups, those whose task is still
/// Accepted although its mover pod runs, so that no event will come any more (v1.12.4 … main pkg/controller:
/// the pod handlers ignore the Create events of a first list).
///
/// `after` is a reading made when the new agent works. To be asked again with later readings: a pod that
/// begins to run under the eyes of the new agent needs no nudge, and half a minute shows that.
#[must_use]
pub fn follow_up(plan: &Plan, after: Known<'_, '_>) -> Vec<Step> {
    running_unprepared(plan, after)
        .into_iter()
        .filter(|(.., due)| *due == Due::Now)
        .filter_map(|(follow_up, pod, _)| {
            Some(Step {
                node: Some(follow_up.node.clone()),
                kind: StepKind::AnnotatePod {
                    pod: follow_up.pod.clone(),
                    precondition: pod_precondition(pod, after.snapshot.source.source)?,
                    task: follow_up.task.clone(),
                },
            })
        })
        .collect()
}

/// Returns the tasks of a plan's follow-ups of which a later reading must tell whether they need a nudge: their
/// mover pods have begun to run under the eyes of the new agent only just now.
#[must_use]
pub fn follow_up_open<'p>(plan: &'p Plan, after: Known<'_, '_>) -> Vec<&'p FollowUp> {
    running_unprepared(plan, after)
        .into_iter()
        .filter(|(.., due)| *due == Due::Perhaps)
        .map(|(follow_up, ..)| follow_up)
        .collect()
}

/// Whether a task needs its nudge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Now,
    Perhaps,
}

/// The follow-ups whose task is still Accepted although its pod runs and the new agent works.
fn running_unprepared<'p, 's>(
    plan: &'p Plan,
    after: Known<'_, 's>,
) -> Vec<(&'p FollowUp, &'s Pod, Due)> {
    let open = |follow_up: &'p FollowUp| {
        let task = after.replay.tasks.get(&follow_up.task)?;
        let node = after.replay.nodes.get(&follow_up.node)?;
        let started = node.agent.filter(|_| node.working.is_yes())?.started_at?;
        let Observed::Seen(pod) = task.pod else {
            return None;
        };
        let since = pod.running_since()?;
        let age = after.snapshot.taken_at.duration_since(since).as_secs();
        let same = pod.uid == follow_up.pod_uid && task.task.phase == Phase::Accepted;
        let due = if since <= started || age >= UNOBSERVED_SECONDS {
            Due::Now
        } else {
            Due::Perhaps
        };
        (same && pod.phase == "Running").then_some((follow_up, pod, due))
    };
    plan.follow_ups.iter().filter_map(open).collect()
}

impl From<AfterRestart> for Effect {
    fn from(then: AfterRestart) -> Self {
        match then {
            AfterRestart::Resumed => Self::Resumed,
            AfterRestart::Canceled => Self::Canceled,
            AfterRestart::Failed => Self::Failed,
            AfterRestart::Stranded => Self::Stranded,
            AfterRestart::StartsAgain => Self::StartsAgain,
            AfterRestart::Unobserved => Self::Unobserved,
            AfterRestart::Released => Self::Released,
        }
    }
}

/// How a task stands before a restart.
fn concern(works: crate::replay::Worth, is_target: bool) -> Concern {
    match (works, is_target) {
        (crate::replay::Worth::Broken, _) => Concern::Broken,
        (crate::replay::Worth::Works, true) => Concern::Target,
        (crate::replay::Worth::Works, false) => Concern::Works,
    }
}
