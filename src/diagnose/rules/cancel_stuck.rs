//! Row 7: cancel was requested, an agent works, and nothing came of it in time.

use super::overtaken::Overtaken;
use super::{broken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, Evidence, FindingId, Severity};
use crate::replay::{CancelState, RequestTime, Situation, TaskReplay, Verb};

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut overtaken = Overtaken::of(case, FindingId::CancelStuck, CouldBe::Warning);
    let overdue: Vec<_> = case
        .tasks()
        .filter(|task| task.situation != Situation::Foreign)
        .filter(|task| matches!(task.cancel, CancelState::Overdue { .. }))
        .filter(|task| overtaken.still_holds(task))
        .collect();
    overtaken.tell(out);
    for (node, tasks) in broken::by_node(overdue.into_iter()) {
        let names = broken::references(&tasks);
        let known = tasks
            .iter()
            .all(|task| request(task) == Some(RequestTime::Known));
        let waiting = if broken::any_holds(&tasks) {
            broken::waiting(case, node, &tasks)
        } else {
            Vec::new()
        };
        let mut finding = broken::finding(
            case,
            FindingId::CancelStuck,
            Severity::Warning,
            if known {
                Confidence::Likely
            } else {
                Confidence::Possible
            },
            node,
            &tasks,
            format!(
                "cancel was requested for {} and is overdue{}",
                words::tasks(&names),
                broken::behind(&waiting),
            ),
        );
        finding.affects = waiting;
        finding.since = words::earliest(tasks.iter().map(|task| match task.cancel {
            CancelState::Overdue { since, .. } => Some(since),
            CancelState::NotRequested | CancelState::Pending { .. } => None,
        }));
        for task in tasks.iter().take(words::EVIDENCE_SHOWN) {
            finding.evidence.push(words::task_field(
                task.task,
                ".status.phase",
                task.task.phase.as_str(),
            ));
            if let CancelState::Overdue { since, requested } = task.cancel {
                let source = match requested {
                    RequestTime::Known => "managedFields entry of f:cancel",
                    RequestTime::CancelingSince => "last write",
                };
                finding.evidence.push(Evidence::derived(
                    format!("{} {source}", task.task.reference),
                    since.to_string(),
                ));
            }
        }
        let agent = node
            .and_then(|node| case.node(node))
            .and_then(|node| node.agent);
        // A restart frees a slot; where none is held it only makes the delay of a forced cancel begin again.
        finding.actions.extend(
            agent
                .filter(|_| broken::any_holds(&tasks))
                .and_then(|agent| {
                    words::restart(
                        case,
                        &[agent],
                        "empties the node-agent's memory: the cancel is looked at anew",
                    )
                }),
        );
        if finding.actions.is_empty() {
            let looked_at = tasks.iter().find(|task| task.decision.verb == Verb::Cancel);
            finding.actions.extend(looked_at.map(|task| {
                words::nudge(
                    [&task.task.reference],
                    "makes the node-agents look at the cancel again",
                )
            }));
        }
        out.findings.push(finding);
    }
}

fn request(task: &TaskReplay<'_>) -> Option<RequestTime> {
    match task.cancel {
        CancelState::Overdue { requested, .. } => Some(requested),
        CancelState::NotRequested | CancelState::Pending { .. } => None,
    }
}
