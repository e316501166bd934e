//! The words that every rule uses: counts and names for sentences, evidence that names object and
//! field, and the commands that are typed next. It decides nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::diagnose::case::{Case, CouldBe, Inconclusive, Proposals};
use crate::diagnose::finding::{Action, Evidence, FindingId};
use crate::diagnose::paste;
use crate::replay::restart_bill;
use crate::snapshot::log_evidence::{LogEvidence, Note};
use crate::snapshot::{Gap, GapReason, NodeAgent, Pod, Task};
use crate::velero::profile::{OnRestart, Profile};
use crate::velero::{ObjectRef, TaskKind, TaskRef};

/// Names shown in one sentence; the finding itself lists all.
const NAMES_SHOWN: usize = 3;

/// Objects for which evidence is given in full; the finding itself lists all.
pub(in crate::diagnose) const EVIDENCE_SHOWN: usize = 3;

/// Characters of a foreign message that a summary repeats; the evidence has all of it.
const MESSAGE_SHOWN: usize = 160;

/// Joins names for a sentence: at most three, "and N more".
pub(in crate::diagnose) fn names<'n>(all: impl IntoIterator<Item = &'n str>) -> String {
    let all: Vec<&str> = all.into_iter().collect();
    let shown: Vec<&str> = all.iter().copied().take(NAMES_SHOWN).collect();
    let more = all.len().saturating_sub(NAMES_SHOWN);
    match (more, shown.as_slice()) {
        (0, [before @ .., last]) if !before.is_empty() => {
            format!("{} and {last}", before.join(", "))
        }
        (0, _) => shown.join(", "),
        (more, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Names tasks for a sentence: `DataUpload du-a1`, `3 DataUploads (du-a1, du-a2 and du-a3)`,
/// `5 tasks (du-a1, …)` for several kinds.
pub(in crate::diagnose) fn tasks(all: &[TaskRef]) -> String {
    let kinds: BTreeSet<_> = all.iter().map(|task| task.kind).collect();
    let noun = match kinds.first() {
        Some(kind) if kinds.len() == 1 => kind.as_str(),
        Some(_) | None => "task",
    };
    match all {
        [] => "no task".to_owned(),
        [one] => format!("{noun} {}", one.name),
        several => format!(
            "{} {noun}s ({})",
            several.len(),
            names(several.iter().map(|task| task.name.as_str()))
        ),
    }
}

/// Counts a noun: `1 node`, `3 nodes`.
pub(in crate::diagnose) fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

/// Picks the form of a verb that fits a number.
pub(in crate::diagnose) const fn verb<'v>(
    number: usize,
    one: &'v str,
    several: &'v str,
) -> &'v str {
    if number == 1 { one } else { several }
}

/// Writes a span of seconds as kubectl does: `45s`, `12m`, `18h`, `3d`.
pub(in crate::diagnose) fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    if seconds < 120 {
        format!("{seconds}s")
    } else if seconds < 3 * 3600 {
        format!("{}m", seconds / 60)
    } else if seconds < 48 * 3600 {
        format!("{}h", seconds / 3600)
    } else {
        format!("{}d", seconds / 86400)
    }
}

/// Cuts a message of somebody else to what a summary can carry, on one line.
pub(in crate::diagnose) fn short(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches('.');
    if line.chars().count() <= MESSAGE_SHOWN {
        return line.to_owned();
    }
    let cut: String = line.chars().take(MESSAGE_SHOWN).collect();
    format!("{}…", cut.trim_end())
}

/// A field of a task.
pub(in crate::diagnose) fn task_field(task: &Task, path: &str, value: &str) -> Evidence {
    Evidence::field(format!("{} {path}", task.reference), value.to_owned())
}

/// A field of a pod.
pub(in crate::diagnose) fn pod_field(pod: &Pod, path: &str, value: &str) -> Evidence {
    Evidence::field(format!("{} {path}", pod_ref(pod)), value.to_owned())
}

/// Names a pod.
pub(in crate::diagnose) fn pod_ref(pod: &Pod) -> ObjectRef {
    ObjectRef::namespaced("Pod", &pod.key.namespace, &pod.key.name)
}

/// Names the log of an agent, and says from when on it speaks.
pub(in crate::diagnose) fn log_of(agent: &NodeAgent) -> String {
    log_from(agent, "", agent.evidence.as_ref())
}

/// Names the log of an agent's container before, and says from when on it speaks.
pub(in crate::diagnose) fn previous_log_of(agent: &NodeAgent) -> String {
    log_from(agent, " --previous", agent.previous_evidence.as_ref())
}

fn log_from(agent: &NodeAgent, previous: &str, log: Option<&LogEvidence>) -> String {
    let from = log
        .and_then(|log| log.speaks_from)
        .map_or_else(String::new, |from| format!(", from {from} on"));
    format!(
        "log of {} -c {}{previous}{from}",
        pod_ref(&agent.pod),
        agent.container
    )
}

/// Names the metrics of an agent.
pub(in crate::diagnose) fn metrics_of(agent: &NodeAgent) -> String {
    format!("metrics of {}", pod_ref(&agent.pod))
}

/// A line of an agent's log, with its time.
pub(in crate::diagnose) fn log_line(agent: &NodeAgent, note: &Note) -> Evidence {
    let text = match note.at {
        Some(at) => format!("{at} {}", note.text),
        None => note.text.clone(),
    };
    Evidence::log(log_of(agent), text)
}

/// The start of an agent process, where it is known.
pub(in crate::diagnose) fn agent_start(agent: &NodeAgent) -> Evidence {
    pod_field(
        &agent.pod,
        &format!(
            ".status.containerStatuses[{}].state.running.startedAt",
            agent.container
        ),
        &agent
            .started_at
            .map_or_else(|| "not known".to_owned(), |time| time.to_string()),
    )
}

/// A name as a command has it. One that is no Kubernetes name makes the diagnosis leave the command out.
pub(in crate::diagnose) fn quoted(name: &str) -> String {
    paste::name(name)
}

/// The command that shows a task.
pub(in crate::diagnose) fn show_task(task: &TaskRef) -> Action {
    Action {
        command: format!(
            "kubectl get {}.velero.io {{ns}} {} -o yaml",
            task.kind.plural(),
            quoted(&task.name)
        ),
        effect: "shows the task".to_owned(),
        risk: "none".to_owned(),
    }
}

/// The command that makes the node-agents look at some tasks again, by the touch that works for each.
pub(in crate::diagnose) fn nudge<'t>(
    tasks: impl IntoIterator<Item = &'t TaskRef>,
    effect: &str,
) -> Action {
    let names: Vec<String> = tasks
        .into_iter()
        .map(|task| format!("{}/{}", task.kind, quoted(&task.name)))
        .collect();
    Action {
        command: format!("kubectl velero-slots nudge {} {{ns}}", names.join(" ")),
        effect: effect.to_owned(),
        risk: "a look runs the expose check again, and can end a task whose pod or volume is gone as Failed"
            .to_owned(),
    }
}

/// The command that describes a pod with its events.
pub(in crate::diagnose) fn describe_pod(name: &str) -> Action {
    Action {
        command: format!("kubectl describe pod {{ns}} {}", quoted(name)),
        effect: "shows the pod, its conditions and its events".to_owned(),
        risk: "none".to_owned(),
    }
}

/// The command that requests the cancel of some tasks of one kind.
pub(in crate::diagnose) fn cancel(all: &[TaskRef], effect: &str, risk: &str) -> Vec<Action> {
    let kinds: BTreeSet<_> = all.iter().map(|task| task.kind).collect();
    kinds
        .into_iter()
        .map(|kind| {
            let of_kind: Vec<String> = all
                .iter()
                .filter(|task| task.kind == kind)
                .map(|task| quoted(&task.name))
                .collect();
            Action {
                command: format!(
                    "kubectl patch {}.velero.io {{ns}} {} --type merge -p '{{\"spec\":{{\"cancel\":true}}}}'",
                    kind.plural(),
                    of_kind.join(" ")
                ),
                effect: effect.to_owned(),
                risk: risk.to_owned(),
            }
        })
        .collect()
}

/// The command that restarts the agents of some nodes; `None` where that cannot be done: nothing would make a
/// new pod, or the new one would end at its configuration. Where it would end tasks that could succeed, the
/// command has `--force`, without which it is refused, and the risk names them.
pub(in crate::diagnose) fn restart(
    case: &Case<'_, '_>,
    agents: &[&NodeAgent],
    effect: &str,
) -> Option<Action> {
    let bills: Vec<_> = agents
        .iter()
        .filter_map(|agent| agent.node())
        .map(|node| restart_bill(case.snapshot, case.replay, node))
        .filter(|bill| bill.obstacles.is_empty())
        .collect();
    let first = bills.first()?;
    let nodes: Vec<String> = bills
        .iter()
        .map(|bill| format!("--node {}", quoted(&bill.node)))
        .collect();
    let lost: BTreeSet<&TaskRef> = bills
        .iter()
        .flat_map(|bill| bill.losses().map(|task| &task.task.reference))
        .collect();
    let unread: Vec<&str> = case
        .refused_kinds()
        .into_iter()
        .map(TaskKind::plural)
        .collect();
    let mut risk = restart_risk(&first.rules);
    let mut force = "";
    if !lost.is_empty() {
        let lost: Vec<TaskRef> = lost.into_iter().cloned().collect();
        risk = format!(
            "ends {}, so it is better to wait for {}; {risk}",
            tasks(&lost),
            verb(lost.len(), "it", "them")
        );
        force = " --force";
    }
    if !unread.is_empty() {
        risk = format!(
            "{} could not be read, and what it does to them is not known; {risk}",
            names(unread.iter().copied())
        );
        force = " --force";
    }
    Some(Action {
        command: format!(
            "kubectl velero-slots restart {}{force} {{ns}}",
            nodes.join(" ")
        ),
        effect: effect.to_owned(),
        risk,
    })
}

/// What the restart of a node-agent does to the tasks that it finds, by its release.
pub(in crate::diagnose) fn restart_risk(profile: &Profile) -> String {
    let moving = match profile.restart.in_progress {
        OnRestart::Resumed => "running DataUploads and DataDownloads of the node are resumed",
        OnRestart::CanceledOnThisNode
        | OnRestart::CanceledIfAcceptor
        | OnRestart::CanceledEverywhere => {
            "running DataUploads and DataDownloads of the node are cancelled"
        }
        OnRestart::Failed => "running DataUploads and DataDownloads of the node fail",
        OnRestart::Left => {
            "running DataUploads and DataDownloads of the node are left without an owner"
        }
    };
    let pod_volumes = match profile.restart.pod_volume_in_progress {
        OnRestart::Resumed => {
            "running PodVolumeBackups and PodVolumeRestores are resumed, and one whose pod ends meanwhile may be cancelled although its data is complete"
        }
        OnRestart::Failed => {
            "running PodVolumeBackups and PodVolumeRestores of the node are marked Failed"
        }
        OnRestart::CanceledOnThisNode
        | OnRestart::CanceledIfAcceptor
        | OnRestart::CanceledEverywhere => {
            "running PodVolumeBackups and PodVolumeRestores of the node are cancelled"
        }
        OnRestart::Left => {
            "running PodVolumeBackups and PodVolumeRestores of the node are left without an owner"
        }
    };
    let accepted = match profile.restart.accepted {
        OnRestart::CanceledEverywhere => {
            "; every Accepted DataUpload and DataDownload of the namespace is cancelled"
        }
        OnRestart::CanceledIfAcceptor => {
            "; Accepted DataUploads and DataDownloads that this agent accepted are cancelled"
        }
        OnRestart::CanceledOnThisNode => {
            "; Accepted and Prepared DataUploads and DataDownloads with a pod on the node are cancelled"
        }
        OnRestart::Left => {
            "; an Accepted task whose pod begins to run meanwhile stays Accepted until its pod is touched"
        }
        OnRestart::Resumed | OnRestart::Failed => "",
    };
    format!("{moving}; {pod_volumes}{accepted}")
}

/// Returns the one node of all, if there is exactly one.
pub(in crate::diagnose) fn only_node<'n>(
    nodes: impl IntoIterator<Item = Option<&'n str>>,
) -> Option<String> {
    let nodes: BTreeSet<Option<&str>> = nodes.into_iter().collect();
    match (nodes.len(), nodes.first()) {
        (1, Some(Some(node))) => Some((*node).to_owned()),
        _ => None,
    }
}

/// Says that a rule lacked an input for some unfinished tasks.
pub(in crate::diagnose) fn undecided(
    out: &mut Proposals,
    rule: FindingId,
    could_be: CouldBe,
    why: String,
) {
    out.inconclusive.push(Inconclusive {
        rule,
        could_be,
        why,
    });
}

/// Adds a gap unless the snapshot, the replay or another rule has one for the resource already.
pub(in crate::diagnose) fn gap_once(
    case: &Case<'_, '_>,
    out: &mut Proposals,
    resource: &str,
    reason: GapReason,
    effect: &str,
) {
    let known = case
        .snapshot
        .gaps
        .iter()
        .chain(&case.replay.gaps)
        .chain(&out.gaps)
        .any(|gap| gap.resource == resource);
    if !known {
        out.gaps.push(Gap {
            resource: resource.to_owned(),
            reason,
            message: format!("{resource} could not be read"),
            effect: effect.to_owned(),
        });
    }
}

/// Returns the earliest of some known times.
pub(in crate::diagnose) fn earliest(
    times: impl IntoIterator<Item = Option<Timestamp>>,
) -> Option<Timestamp> {
    times.into_iter().flatten().min()
}

#[cfg(test)]
mod tests;
