//! Row 3: a task that runs, and whose phase was written back to Prepared: the pod handler writes
//! Prepared with no other guard than "not final" (v1.17.2 `pkg/controller/data_upload_controller.go`).
//! The node-agent then answers each look with "already started"; the mover pod may wait for InProgress
//! for ever.

use super::overtaken::Overtaken;
use super::{broken, words};
use crate::diagnose::case::{Case, CouldBe, Proposals};
use crate::diagnose::finding::{Confidence, FindingId, Severity};
use crate::replay::{Situation, TaskReplay};

pub(in crate::diagnose) fn check(case: &Case<'_, '_>, out: &mut Proposals) {
    let mut overtaken = Overtaken::of(case, FindingId::PhaseRewound, CouldBe::Critical);
    let rewound: Vec<_> = case
        .tasks()
        .filter(|task| matches!(task.situation, Situation::Rewound { .. }))
        .filter(|task| overtaken.still_holds(task))
        .collect();
    overtaken.tell(out);
    for (node, tasks) in broken::by_node(rewound.into_iter()) {
        let frozen = tasks.iter().any(|task| is_frozen(task));
        let severity = if frozen {
            Severity::Critical
        } else {
            Severity::Warning
        };
        let names = broken::references(&tasks);
        let waiting = broken::waiting(case, node, &tasks);
        let mut finding = broken::finding(
            case,
            FindingId::PhaseRewound,
            severity,
            Confidence::Likely,
            node,
            &tasks,
            format!(
                "{} {} Prepared again although {} had started: {} a slot{}",
                words::tasks(&names),
                words::verb(names.len(), "is", "are"),
                words::verb(names.len(), "it", "they"),
                words::verb(names.len(), "it holds", "each holds"),
                broken::behind(&waiting),
            ),
        );
        finding.affects = waiting;
        finding.since = words::earliest(tasks.iter().map(|task| task.last_write));
        for task in tasks.iter().take(words::EVIDENCE_SHOWN) {
            finding
                .evidence
                .push(words::task_field(task.task, ".status.phase", "Prepared"));
            if let Some(started) = task.task.started {
                finding.evidence.push(words::task_field(
                    task.task,
                    ".status.startTimestamp",
                    &started.to_string(),
                ));
            }
            finding.evidence.push(words::task_field(
                task.task,
                ".metadata.labels[velero.io/expose-on-going]",
                "not set: it is removed on InProgress",
            ));
        }
        let agent = node
            .and_then(|node| case.node(node))
            .and_then(|node| node.agent);
        finding.actions.extend(agent.and_then(|agent| {
            words::restart(case, &[agent], "empties the node-agent's memory: the task is looked at anew and runs again from Prepared")
        }));
        out.findings.push(finding);
    }
}

fn is_frozen(task: &TaskReplay<'_>) -> bool {
    matches!(task.situation, Situation::Rewound { frozen: true })
}
