//! What would let a task move on, in sentences.

use crate::replay::{Gate, Replay, Situation, TaskReplay, Trigger, Verb};
use crate::snapshot::{Observed, Snapshot, TargetPod};
use crate::velero::{Phase, TaskKind, TaskRef};

/// Tasks named in one sentence.
const NAMES_SHOWN: usize = 3;

/// Returns what would let an unfinished task move on, the nearest way first.
pub(super) fn of(snapshot: &Snapshot, replay: &Replay<'_>, task: &TaskReplay<'_>) -> Vec<String> {
    let decision = &task.decision;
    match (decision.gate, decision.verb) {
        (Gate::Slot, Verb::Wait | Verb::Unknown) => slot(replay, task),
        (Gate::Slot, Verb::Admit) => admit(task),
        (Gate::PrepareQueue, Verb::Wait | Verb::Unknown) => queue(replay),
        (Gate::Target, Verb::Wait | Verb::Unknown) => target(snapshot, task),
        (Gate::Expose, Verb::Wait | Verb::Unknown) => expose(snapshot, task),
        (Gate::Expose, Verb::Prepare) => vec![
            "an update of its mover pod, such as any annotation: the node-agent takes up only updates of pods"
                .to_owned(),
        ],
        (_, Verb::Accept) => vec![format!(
            "the next look of a node-agent ({})",
            next(decision.next_trigger)
        )],
        (_, Verb::Fail) => vec![format!(
            "nothing: the next look ends it as Failed ({})",
            next(decision.next_trigger)
        )],
        (_, Verb::Cancel) => vec![format!(
            "nothing: the next look cancels it ({})",
            next(decision.next_trigger)
        )],
        (_, Verb::Skip) => vec!["nothing that Velero's node-agents do".to_owned()],
        (Gate::None, Verb::None | Verb::Wait | Verb::Unknown) => unasked(task),
        (
            Gate::Target | Gate::PrepareQueue | Gate::Expose | Gate::Slot,
            Verb::Admit | Verb::Prepare | Verb::None,
        )
        | (Gate::None, Verb::Admit | Verb::Prepare) => {
            vec![format!("the next look ({})", next(decision.next_trigger))]
        }
    }
}

const fn next(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Requeue5s => "every 5 seconds",
        Trigger::Requeue1m | Trigger::Periodic1m => "every minute",
        Trigger::Backoff => "a retry that can be up to about 17 minutes away",
        Trigger::PodUpdate => "at an update of the mover pod",
        Trigger::TargetPodUpdate => "at an update of the target pod",
        Trigger::ObjectUpdate => "at an update of the task",
        Trigger::AgentStart => "when a node-agent starts",
        Trigger::None => "nothing brings it",
    }
}

fn names(tasks: &[&TaskRef]) -> String {
    let shown: Vec<&str> = tasks
        .iter()
        .take(NAMES_SHOWN)
        .map(|task| task.name.as_str())
        .collect();
    match tasks.len().saturating_sub(NAMES_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn slot(replay: &Replay<'_>, task: &TaskReplay<'_>) -> Vec<String> {
    let decision = &task.decision;
    let mut ways = Vec::new();
    if !decision.holders.is_empty() {
        let one_of = if decision.holders.len() == 1 {
            "the end of"
        } else {
            "the end of one of"
        };
        let race = match decision.competing_count {
            0 => String::new(),
            1 => "; 1 other task may take the slot first".to_owned(),
            others => format!("; {others} other tasks may take the slot first"),
        };
        ways.push(format!("{one_of} {}{race}", names(&decision.holders)));
    }
    if let Some(node) = task.node.as_deref() {
        let held = decision.holders.len();
        let known = replay
            .nodes
            .get(node)
            .is_some_and(|node| node.limit.in_force.is_some());
        ways.push(if known {
            format!(
                "a limit above {held} for {node} in loadConcurrency, in force once its node-agent has restarted"
            )
        } else {
            format!("the limit in force on {node} is not known: the start of the node-agent's log states it")
        });
    }
    ways
}

fn admit(task: &TaskReplay<'_>) -> Vec<String> {
    let decision = &task.decision;
    let look = next(decision.next_trigger);
    let race = match decision.competing_count {
        0 => String::new(),
        1 => ", or 1 other task gets it first".to_owned(),
        others => format!(", or one of {others} other tasks gets it first"),
    };
    if decision.diverges {
        vec![format!(
            "by status a slot is free and its next look ({look}) would take it{race}; that has not happened, so the slot is held in memory, or nobody looks"
        )]
    } else {
        vec![format!("its next look ({look}) takes the free slot{race}")]
    }
}

fn queue(replay: &Replay<'_>) -> Vec<String> {
    let length = replay.prepare_queue.labelled.len();
    match replay.prepare_queue.limit {
        Observed::Seen(limit) => {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let leave = length.saturating_sub(limit).saturating_add(1);
            let tasks = if leave == 1 { "task" } else { "tasks" };
            vec![
                format!(
                    "{leave} {tasks} of the {length} that are Accepted or Prepared have to start or end; which New task comes next is not fixed"
                ),
                "a larger prepareQueueLength, in force once the node-agents have restarted"
                    .to_owned(),
            ]
        }
        Observed::Absent | Observed::Unknown(_) => {
            vec!["whether a prepare queue is in force is not known".to_owned()]
        }
    }
}

fn target(snapshot: &Snapshot, task: &TaskReplay<'_>) -> Vec<String> {
    match task.task.reference.kind {
        TaskKind::DataDownload => {
            let name = task.task.claim.as_ref().map_or_else(
                || "its target PVC".to_owned(),
                |claim| format!("PVC {}/{}", claim.namespace, claim.name),
            );
            vec![format!("{name} has to exist")]
        }
        TaskKind::PodVolumeRestore => {
            let Some(TargetPod {
                namespace, name, ..
            }) = &task.task.pod
            else {
                return vec!["its target pod has to run".to_owned()];
            };
            if snapshot.restored_pod(namespace, name).is_absent() {
                return vec![format!(
                    "nothing: the restore names the pod {namespace}/{name} by its UID, and that pod is gone; only the end of the Restore ends it"
                )];
            }
            vec![format!(
                "the init container restore-wait of pod {namespace}/{name} has to run"
            )]
        }
        TaskKind::DataUpload | TaskKind::PodVolumeBackup => {
            vec!["its target has to be there".to_owned()]
        }
    }
}

fn expose(snapshot: &Snapshot, task: &TaskReplay<'_>) -> Vec<String> {
    let name = &task.task.reference.name;
    let mut ways = Vec::new();
    match task.pod {
        Observed::Seen(_) => {
            let unbound = task.task.reference.kind.is_data_movement()
                && snapshot
                    .claim(&snapshot.namespace, name)
                    .seen()
                    .is_some_and(|claim| claim.phase != "Bound");
            if unbound {
                ways.push(format!(
                    "PVC {}/{name} has to be bound; then the mover pod has to run",
                    snapshot.namespace
                ));
            } else {
                ways.push(format!("the mover pod {name} has to run"));
            }
        }
        Observed::Absent if waits_for_a_consumer(snapshot, task) => {
            let target = task.task.claim.as_ref().map_or_else(String::new, |claim| {
                format!("PVC {}/{}", claim.namespace, claim.name)
            });
            ways.push(format!(
                "a pod that uses {target}: it is bound only then, and then the node-agent makes the mover pod"
            ));
        }
        Observed::Absent => {
            let waits = snapshot
                .volume_snapshot(&snapshot.namespace, name)
                .seen()
                .or_else(|| {
                    let claim = task.task.claim.as_ref()?;
                    let snapshot_name = task.task.snapshot_name.as_ref()?;
                    snapshot
                        .volume_snapshot(&claim.namespace, snapshot_name)
                        .seen()
                })
                .is_some_and(|found| found.ready_to_use != Some(true));
            ways.push(if waits {
                "its VolumeSnapshot has to become ready to use; then the node-agent makes the mover pod"
                    .to_owned()
            } else {
                "its acceptor has to make the mover pod".to_owned()
            });
        }
        Observed::Unknown(_) => ways.push("its mover pod could not be read".to_owned()),
    }
    ways
}

/// Whether a DataDownload waits for a pod to use its target PVC.
fn waits_for_a_consumer(snapshot: &Snapshot, task: &TaskReplay<'_>) -> bool {
    task.task.reference.kind == TaskKind::DataDownload
        && task.task.claim.as_ref().is_some_and(|claim| {
            snapshot
                .restored_claim(&claim.namespace, &claim.name)
                .seen()
                .is_some_and(|claim| claim.phase != "Bound" && claim.selected_node.is_none())
        })
}

fn unasked(task: &TaskReplay<'_>) -> Vec<String> {
    if task.decision.next_trigger == Trigger::AgentStart {
        return vec![match &task.node {
            Some(node) => format!("a node-agent that works on {node}"),
            None => "a node-agent that works".to_owned(),
        }];
    }
    let goes_on = match task.situation {
        Situation::PodEnding
        | Situation::Finishing
        | Situation::PodJustGone
        | Situation::PodUnreadable
        | Situation::Stalled
        | Situation::Ordinary => true,
        Situation::Foreign
        | Situation::UnknownPhase
        | Situation::Rewound { .. }
        | Situation::PodEnded
        | Situation::DoneButPodGone { .. }
        | Situation::PodLost
        | Situation::Doomed(_) => false,
    };
    let look = next(task.decision.next_trigger);
    match task.task.phase {
        Phase::InProgress if goes_on => vec!["the end of its data path".to_owned()],
        Phase::Canceling if goes_on && task.decision.next_trigger == Trigger::None => {
            vec!["the end of its data path".to_owned()]
        }
        Phase::Canceling if goes_on => {
            vec![format!(
                "the end of its data path, or the forced cancel ({look})"
            )]
        }
        Phase::InProgress | Phase::Canceling | Phase::Prepared => {
            vec!["nothing by itself: see the findings".to_owned()]
        }
        Phase::New
        | Phase::Accepted
        | Phase::Canceled
        | Phase::Completed
        | Phase::Failed
        | Phase::Other(_) => vec![format!("its next look ({look})")],
    }
}
