//! The story of a task: what happened to it, in time order, each line with where it is written.

use jiff::Timestamp;

use crate::replay::{TaskReplay, TimeFrom};
use crate::snapshot::{
    Cancel, ContainerState, LogEvidence, ManagedFields, NodeAgent, Observed, Pod, Snapshot, Task,
};
use crate::velero::profile::StartTimestamp;
use crate::velero::{ObjectRef, Phase, Profile};

/// Events and log lines told at most, the newest of them.
const TOLD: usize = 12;

/// Where a line of a story comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StorySource {
    /// A field of an object.
    Field,
    /// The managedFields of an object.
    ManagedFields,
    /// A condition or container state of a pod.
    PodCondition,
    /// An Event.
    Event,
    /// A log of a node-agent.
    Log,
}

impl StorySource {
    /// Returns the word used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::ManagedFields => "managedFields",
            Self::PodCondition => "pod-condition",
            Self::Event => "event",
            Self::Log => "log",
        }
    }
}

/// One line of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryLine {
    /// When; `None` where that is written nowhere.
    pub at: Option<Timestamp>,
    /// What happened.
    pub what: String,
    /// What kind of reading it is.
    pub from: StorySource,
    /// Where it is written, such as `DataUpload velero/du-1 .status.startTimestamp`.
    pub source: String,
}

/// Lines in the making, in the order in which things happen where times are alike or missing.
struct Story<'a> {
    task: &'a Task,
    lines: Vec<StoryLine>,
}

impl Story<'_> {
    fn add(&mut self, at: Option<Timestamp>, what: String, from: StorySource, source: String) {
        self.lines.push(StoryLine {
            at,
            what,
            from,
            source,
        });
    }

    fn field(&mut self, at: Option<Timestamp>, what: impl Into<String>, path: &str) {
        let source = format!("{} {path}", self.task.reference);
        self.add(at, what.into(), StorySource::Field, source);
    }

    fn managed(&mut self, at: Option<Timestamp>, what: impl Into<String>, path: &str) {
        let source = format!("{} managedFields of {path}", self.task.reference);
        self.add(at, what.into(), StorySource::ManagedFields, source);
    }
}

/// Tells the story of a task.
pub(super) fn of(
    snapshot: &Snapshot,
    task: &Task,
    replay: Option<&TaskReplay<'_>>,
    profile: &Profile,
) -> Vec<StoryLine> {
    let mut story = Story {
        task,
        lines: Vec::new(),
    };
    beginning(&mut story, replay, profile);
    let pod = snapshot.pod(&task.reference.namespace, &task.reference.name);
    mover_pod(&mut story, pod, replay);
    middle(&mut story, replay, profile);
    agent(&mut story, snapshot, replay);
    volume(&mut story, snapshot);
    events(&mut story, snapshot);
    ending(&mut story);
    let mut lines = story.lines;
    // A line without a time keeps its place behind the line before it.
    let mut last = None;
    let mut keyed: Vec<(Option<Timestamp>, StoryLine)> = lines
        .drain(..)
        .map(|line| {
            let key = line.at.or(last);
            last = key;
            (key, line)
        })
        .collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, line)| line).collect()
}

fn start_is_accept(task: &Task, profile: &Profile) -> bool {
    task.reference.kind.is_data_movement() && profile.start_timestamp == StartTimestamp::AcceptTime
}

fn beginning(story: &mut Story<'_>, replay: Option<&TaskReplay<'_>>, profile: &Profile) {
    let task = story.task;
    story.field(task.created, "created", ".metadata.creationTimestamp");
    let by = task
        .accepted_by
        .as_ref()
        .map(|node| format!(" by the node-agent of {node}"))
        .unwrap_or_default();
    let what = format!("accepted{by}");
    if let Some(at) = task.accepted {
        story.field(Some(at), what, ".status.acceptedTimestamp");
    } else if let Some(at) = task.accepted_annotation {
        story.field(
            Some(at),
            what,
            ".metadata.annotations[velero.io/accepted-at]",
        );
    } else if start_is_accept(task, profile) && task.started.is_some() {
        story.field(
            task.started,
            what,
            ".status.startTimestamp (this release writes it at the accept)",
        );
    } else if let Some(at) = replay.and_then(|replay| replay.accepted_at) {
        story.managed(Some(at), what, "node-agent-server");
    } else if task.accepted_by.is_some() {
        story.field(None, what, ".status.acceptedByNode");
    }
}

fn mover_pod(story: &mut Story<'_>, pod: Observed<&Pod>, replay: Option<&TaskReplay<'_>>) {
    let task = story.task;
    let pod = match pod {
        Observed::Seen(pod) => pod,
        Observed::Absent => {
            let expected = replay.is_some()
                && matches!(
                    task.phase,
                    Phase::Accepted | Phase::Prepared | Phase::InProgress | Phase::Canceling
                )
                && replay.is_some_and(|replay| replay.mover != crate::replay::Mover::InProcess);
            if expected {
                story.add(
                    None,
                    "there is no mover pod now".to_owned(),
                    StorySource::Field,
                    format!(
                        "pods of {}, none named {}",
                        task.reference.namespace, task.reference.name
                    ),
                );
            }
            return;
        }
        Observed::Unknown(_) => return,
    };
    let name = ObjectRef::namespaced("Pod", &pod.key.namespace, &pod.key.name).to_string();
    story.add(
        pod.created,
        "mover pod created".to_owned(),
        StorySource::Field,
        format!("{name} .metadata.creationTimestamp"),
    );
    if let Some(condition) = pod.condition("PodScheduled") {
        let what = if condition.status == "True" {
            format!(
                "mover pod scheduled to {}",
                pod.node.as_deref().unwrap_or("a node")
            )
        } else {
            format!(
                "mover pod not scheduled: {} {}",
                condition.reason, condition.message
            )
        };
        story.add(
            condition.changed,
            what,
            StorySource::PodCondition,
            format!("{name} condition PodScheduled={}", condition.status),
        );
    } else if let Some(node) = &pod.node {
        story.add(
            pod.start_time,
            format!("mover pod taken up by the kubelet of {node}"),
            StorySource::Field,
            format!("{name} .status.startTime"),
        );
    }
    containers(story, pod, &name);
    if pod.has_ended() {
        let why = [pod.reason.as_str(), pod.message.as_str()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(" ({why})")
        };
        story.add(
            pod.ended_at(),
            format!("mover pod ended: {}{why}", pod.phase),
            StorySource::PodCondition,
            format!("{name} .status.phase, container state"),
        );
    }
    if !pod.has_ended() && !pod.message.is_empty() {
        story.add(
            None,
            format!("the mover pod says: {}", pod.message),
            StorySource::Field,
            format!("{name} .status.message"),
        );
    }
    if pod.deletion.is_some() {
        story.add(
            pod.deletion,
            "deletion of the mover pod requested".to_owned(),
            StorySource::Field,
            format!("{name} .metadata.deletionTimestamp"),
        );
    }
}

fn containers(story: &mut Story<'_>, pod: &Pod, name: &str) {
    for container in &pod.containers {
        let path = format!("{name} .status.containerStatuses[{}]", container.name);
        match &container.state {
            ContainerState::Running { started_at } => story.add(
                *started_at,
                "mover pod running".to_owned(),
                StorySource::PodCondition,
                format!("{path}.state.running"),
            ),
            ContainerState::Waiting { reason, message } => {
                let words = if message.is_empty() {
                    reason.clone()
                } else {
                    format!("{reason}: {message}")
                };
                story.add(
                    None,
                    format!("the mover pod's container waits: {words}"),
                    StorySource::PodCondition,
                    format!("{path}.state.waiting"),
                );
            }
            ContainerState::Terminated(end) => story.add(
                end.started_at,
                "mover pod running".to_owned(),
                StorySource::PodCondition,
                format!("{path}.state.terminated.startedAt"),
            ),
            ContainerState::None => {}
        }
    }
}

fn middle(story: &mut Story<'_>, replay: Option<&TaskReplay<'_>>, profile: &Profile) {
    let task = story.task;
    if task.phase == Phase::Prepared
        && let Some((at, from)) = replay.and_then(|replay| replay.phase_since)
    {
        match from {
            TimeFrom::ManagedFields => {
                story.managed(Some(at), "prepared", "node-agent-server");
            }
            TimeFrom::MoverPod | TimeFrom::Accepted | TimeFrom::Created | TimeFrom::Field => {
                story.field(
                    Some(at),
                    format!("prepared at this time or later ({})", from.as_str()),
                    ".status.phase",
                );
            }
        }
    }
    if !start_is_accept(task, profile)
        && let Some(at) = task.started
    {
        story.field(Some(at), "started", ".status.startTimestamp");
    }
    if let Some(progress) = task.progress {
        let what = match (progress.bytes_done, progress.total_bytes) {
            (done, 0) => format!("progress: {done} bytes, the total is not known yet"),
            (done, total) => format!("progress: {done} of {total} bytes"),
        };
        match task.writes.progress {
            Some(at) => story.managed(Some(at), what, ".status.progress"),
            None => story.field(None, what, ".status.progress"),
        }
    } else if task.writes.managed_fields == ManagedFields::Present
        && task.phase == Phase::InProgress
        && let Some(at) = task.writes.node_agent
    {
        story.managed(
            Some(at),
            "last write of a node-agent, no progress yet",
            "node-agent-server",
        );
    }
    if task.cancel == Cancel::Requested {
        match &task.writes.cancel {
            Some((at, manager)) => story.managed(
                Some(*at),
                format!("cancel requested by {manager}"),
                ".spec.cancel",
            ),
            None => story.field(None, "cancel requested", ".spec.cancel"),
        }
    }
    if task.deletion.is_some() {
        story.field(
            task.deletion,
            "deletion requested",
            ".metadata.deletionTimestamp",
        );
    }
}

fn ending(story: &mut Story<'_>) {
    let task = story.task;
    if task.phase.is_final() || task.completed.is_some() {
        story.field(
            task.completed,
            format!("ended: {}", task.phase),
            ".status.completionTimestamp",
        );
    }
    if !task.message.is_empty() {
        story.field(
            task.completed,
            format!("message: {}", task.message),
            ".status.message",
        );
    }
}

/// Adds what the agents of the task's node, and of its acceptor, have to say.
fn agent(story: &mut Story<'_>, snapshot: &Snapshot, replay: Option<&TaskReplay<'_>>) {
    let task = story.task;
    let node = replay
        .and_then(|replay| replay.node.as_deref())
        .or(task.status_node.as_deref())
        .or(task.spec_node.as_deref());
    let concerned = |agent: &&NodeAgent| {
        agent.node().is_some()
            && (agent.node() == node || agent.node() == task.accepted_by.as_deref())
    };
    for agent in snapshot.agents.iter().filter(concerned) {
        let within = task
            .created
            .zip(agent.started_at)
            .is_some_and(|(created, start)| {
                start > created && task.completed.is_none_or(|end| start < end)
            });
        if within {
            story.add(
                agent.started_at,
                format!(
                    "the node-agent of {} started: it knows nothing of what was before",
                    agent.node().unwrap_or_default()
                ),
                StorySource::PodCondition,
                format!(
                    "Pod {}/{} .status.containerStatuses[{}].state.running",
                    agent.pod.key.namespace, agent.pod.key.name, agent.container
                ),
            );
        }
        let logs = [&agent.previous_evidence, &agent.evidence];
        let mut told = Vec::new();
        for (evidence, previous) in logs.into_iter().zip([" --previous", ""]) {
            let Some(evidence) = evidence else {
                continue;
            };
            let speaks = evidence
                .speaks_from
                .map_or_else(String::new, |from| format!(", from {from} on"));
            let from = format!(
                "log of Pod {}/{} -c {}{previous}{speaks}",
                agent.pod.key.namespace, agent.pod.key.name, agent.container
            );
            told.extend(
                logged(&task.reference.name, evidence)
                    .into_iter()
                    .map(|(at, what)| (at, what, from.clone())),
            );
        }
        let more = told.len().saturating_sub(TOLD);
        for (at, what, from) in told.into_iter().skip(more) {
            story.add(at, what, StorySource::Log, from);
        }
    }
}

/// Returns what one log says of a task.
fn logged(name: &str, log: &LogEvidence) -> Vec<(Option<Timestamp>, String)> {
    let mut told = Vec::new();
    if let Some(wait) = log.waits.get(name) {
        told.push((
            wait.first,
            format!(
                "asked for a slot for the first time that the log shows ({} {} up to {})",
                wait.tries,
                if wait.tries == 1 { "try" } else { "tries" },
                wait.last
                    .map_or_else(|| "an unknown time".to_owned(), |at| at.to_string())
            ),
        ));
    }
    if let Some(entry) = log.entries.get(name) {
        told.push((
            entry.since,
            format!(
                "took a slot and has not given it back: {}",
                entry.stage.as_str()
            ),
        ));
        told.push((entry.last.at, format!("last line: {}", entry.last.text)));
    } else if let Some(task) = log.tasks.get(name) {
        // What the object shows as well if it is not older than the log.
        let let_in = task.admitted.map(|at| (at, "was let in"));
        let left = task.left.map(|at| (at, "gave its slot back"));
        let steps = [let_in, left].into_iter().flatten();
        told.extend(steps.map(|(at, what)| (Some(at), what.to_owned())));
    }
    if let Some(at) = log.tasks.get(name).and_then(|task| task.canceled) {
        told.push((Some(at), "was marked Canceled".to_owned()));
    }
    let notes = [
        log.halted_prepares.get(name),
        log.failed_resumes.get(name),
        log.failed_ends.get(name).map(|end| &end.note),
        log.forced_cancels.get(name),
    ];
    told.extend(
        notes
            .into_iter()
            .flatten()
            .map(|note| (note.at, note.text.clone())),
    );
    if let Some(diagnosis) = log.diagnoses.get(name) {
        told.extend(
            diagnosis
                .lines
                .iter()
                .map(|line| (diagnosis.at, format!("expose diagnosis: {line}"))),
        );
    }
    told
}

/// Adds the mover pod's volume and the snapshot behind it, while the task waits for them.
fn volume(story: &mut Story<'_>, snapshot: &Snapshot) {
    let task = story.task;
    if !task.reference.kind.is_data_movement() || task.phase != Phase::Accepted {
        return;
    }
    let (namespace, name) = (&task.reference.namespace, &task.reference.name);
    let source = task
        .claim
        .as_ref()
        .zip(task.snapshot_name.as_ref())
        .map(|(claim, name)| (&claim.namespace, name));
    for (namespace, name) in source.into_iter().chain([(namespace, name)]) {
        let Some(found) = snapshot.volume_snapshot(namespace, name).seen() else {
            continue;
        };
        if found.ready_to_use == Some(true) {
            continue;
        }
        let why = found
            .error
            .as_ref()
            .map_or_else(String::new, |error| format!(": {error}"));
        story.add(
            found.created,
            format!("VolumeSnapshot {namespace}/{name} made, and not ready to use{why}"),
            StorySource::Field,
            format!("VolumeSnapshot {namespace}/{name} .status"),
        );
    }
    if let Some(claim) = snapshot.claim(namespace, name).seen() {
        story.add(
            claim.created,
            format!("PVC of the mover pod made; now {}", claim.phase),
            StorySource::Field,
            format!("PersistentVolumeClaim {namespace}/{name} .status.phase"),
        );
    }
}

/// Adds the Events about the task, its mover pod, its volume and its snapshot, and about a restore's target.
fn events(story: &mut Story<'_>, snapshot: &Snapshot) {
    let task = story.task;
    let about = |object: &ObjectRef| {
        let namespace = object.namespace.as_deref().unwrap_or_default();
        let own = namespace == task.reference.namespace && object.name == task.reference.name;
        let target =
            task.reference.kind.is_restore()
                && (task.claim.as_ref().is_some_and(|claim| {
                    namespace == claim.namespace && object.name == claim.name
                }) || task
                    .pod
                    .as_ref()
                    .is_some_and(|pod| namespace == pod.namespace && object.name == pod.name));
        // The snapshot that a DataUpload reads from is in the application's namespace.
        let source = object.kind == "VolumeSnapshot"
            && task.snapshot_name.as_ref() == Some(&object.name)
            && task
                .claim
                .as_ref()
                .is_some_and(|claim| namespace == claim.namespace);
        own || target || source
    };
    let found: Vec<_> = snapshot
        .events
        .iter()
        .filter(|event| about(&event.about))
        .collect();
    let more = found.len().saturating_sub(TOLD);
    for event in found.into_iter().skip(more) {
        let times = if event.count > 1 {
            format!(" ({} times)", event.count)
        } else {
            String::new()
        };
        story.add(
            event.last_seen,
            format!("{} {}: {}{times}", event.kind, event.reason, event.message),
            StorySource::Event,
            format!("Event about {}", event.about),
        );
    }
}
