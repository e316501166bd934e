//! What to type after an action.

use super::super::common::{explain_command, nudge_command, restart_command};
use super::super::model::{Plan, PlanAction};
use super::super::observe::Ending;
use super::super::outcome::{
    Achieved, NextCommand, NodeResult, Outcome, RestartStage, TaskOutcome, TaskResult,
};
use crate::diagnose::paste;

/// How many commands are told: more is no next step.
const TOLD: usize = 3;

/// Returns the next commands, the most useful first.
pub(super) fn commands(plan: &Plan, outcome: &Outcome) -> Vec<NextCommand> {
    let mut next = Vec::new();
    for seen in outcome
        .steps
        .iter()
        .filter(|seen| super::is_left_to_the_user(plan, seen))
    {
        if let Some(task) = seen.step.task() {
            add(
                &mut next,
                nudge_command(task),
                "is left to you: the new node-agent has not noticed its mover pod",
            );
        }
    }
    match outcome.achieved {
        Achieved::Yes => add(
            &mut next,
            "kubectl velero-slots status -w --until idle {ns}".to_owned(),
            "shows the queue drain",
        ),
        Achieved::NothingChanged => {}
        Achieved::No => match plan.action {
            PlanAction::Nudge => outcome
                .tasks
                .iter()
                .for_each(|task| after_nudge(&mut next, task)),
            PlanAction::Restart => after_restart(plan, outcome, &mut next),
        },
    }
    match &outcome.ending {
        Ending::Decided => {}
        Ending::TimeLimit | Ending::Interrupted | Ending::ServerLost(_) => add(
            &mut next,
            "kubectl velero-slots diagnose {ns}".to_owned(),
            "shows how it stands by then",
        ),
    }
    next.truncate(TOLD);
    next
}

fn add(next: &mut Vec<NextCommand>, command: String, effect: &str) {
    let told = next.iter().any(|other| other.command == command);
    if !told && !command.contains(paste::NO_NAME) {
        next.push(NextCommand {
            command,
            effect: effect.to_owned(),
        });
    }
}

fn after_nudge(next: &mut Vec<NextCommand>, task: &TaskOutcome) {
    let restart = task.node.as_deref().map(restart_command);
    match task.result {
        TaskResult::RefusedSlot => {
            if let Some(restart) = restart {
                add(
                    next,
                    restart,
                    "the look proves a ghost slot: a restart frees it",
                );
            }
        }
        TaskResult::NotLookedAt => {
            add(
                next,
                "kubectl velero-slots diagnose {ns}".to_owned(),
                "shows what the node-agent's worker is busy with, where a trace tells",
            );
            if let Some(restart) = restart {
                add(next, restart, "gives the node-agent new workers");
            }
        }
        TaskResult::Queued => add(
            next,
            "kubectl velero-slots status -w {ns}".to_owned(),
            "shows when a slot becomes free",
        ),
        TaskResult::LookedAt | TaskResult::Ended | TaskResult::Unknown | TaskResult::Unchanged => {
            add(
                next,
                explain_command(&task.task),
                "tells what it waits for, or how it ended",
            );
        }
        TaskResult::Moved if task.is_canceling() => add(
            next,
            explain_command(&task.task),
            "tells when it ends, and by what",
        ),
        TaskResult::Moved | TaskResult::Gone => {}
    }
}

fn after_restart(plan: &Plan, outcome: &Outcome, next: &mut Vec<NextCommand>) {
    for node in &outcome.nodes {
        let agent = plan.node(&node.node).and_then(|node| node.agent.as_ref());
        let pod = agent.map(|agent| paste::name(&agent.pod));
        let set = agent
            .and_then(|agent| agent.daemon_set.as_deref())
            .map_or_else(|| "node-agent".to_owned(), paste::name);
        let on_node = format!("--field-selector spec.nodeName={}", paste::name(&node.node));
        let pods = format!("kubectl get pod {{ns}} -l component=velero {on_node} -o wide");
        match node.result {
            NodeResult::Recovered => {}
            NodeResult::NotTried => add(
                next,
                restart_command(&node.node),
                "restarts the node that was not tried",
            ),
            // What could not be seen is looked at, before anything is done once more.
            NodeResult::NotRecovered(_) if node.unseen.is_some() => add(
                next,
                pods,
                "shows whether the pod was deleted, and whether a new one is ready",
            ),
            NodeResult::NotRecovered(stage) => match stage {
                RestartStage::Planned => add(
                    next,
                    restart_command(&node.node),
                    "plans anew from how it stands now",
                ),
                RestartStage::Deleted => {
                    if let Some(pod) = pod {
                        add(
                            next,
                            format!("kubectl describe pod {{ns}} {pod}"),
                            "shows why the old pod does not end",
                        );
                    }
                }
                RestartStage::Gone => add(
                    next,
                    format!("kubectl describe daemonset {{ns}} {set}"),
                    "shows why no new pod is made",
                ),
                RestartStage::Replaced => add(next, pods, "shows why the new pod is not ready"),
                RestartStage::Ready | RestartStage::Started => {
                    add(next, pods, "shows the new pod, whose log tells its start");
                }
                RestartStage::Resumed | RestartStage::Moving => {
                    add(
                        next,
                        format!(
                            "kubectl velero-slots nudge --node {} {{ns}}",
                            paste::name(&node.node)
                        ),
                        "makes the node-agent look again at what does not move",
                    );
                    add(
                        next,
                        "kubectl velero-slots diagnose {ns}".to_owned(),
                        "says what is wrong now",
                    );
                }
            },
        }
    }
}
