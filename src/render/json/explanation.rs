//! The documents of `explain`, version 1: the same promise as those of `v1`.

use serde::Serialize;

use super::eta::Eta;
use super::text::Text;
use super::v1::{
    API_VERSION, Competing, Deadline, Decision, Finding, Gap, Object, Source, Task, each, time,
};
use crate::report;

#[cfg(test)]
use schemars::JsonSchema;

/// The answer of `explain KIND/NAME`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation<'a> {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Explanation`.
    #[cfg_attr(test, schemars(extend("const" = "Explanation")))]
    kind: &'static str,
    /// "Now": the time that every age counts from.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    taken_at: String,
    /// Where the answer comes from.
    source: Source<'a>,
    /// Velero's namespace.
    namespace: Text<'a>,
    /// The versions of server and agents, oldest first.
    velero_versions: Vec<Text<'a>>,
    /// What could not be read or known.
    gaps: Vec<Gap<'a>>,
    /// What was asked about. Its kind is `Task` where the name means tasks of any kind.
    subject: Object<'a>,
    /// The phase of a Backup, Restore or PVC that was read.
    subject_phase: Option<Text<'a>>,
    /// The worst verdict of the unfinished tasks; `finished` where there are none.
    #[cfg_attr(test, schemars(extend("enum" = ["stuck", "unknown", "attention", "waiting", "running", "finished"])))]
    verdict: &'static str,
    /// The unfinished tasks that are meant, those that matter most first.
    unfinished: Vec<TaskLine<'a>>,
    /// How many of the tasks that are meant are final.
    finished: usize,
    /// The tasks told in full: all that a name means, or of a Backup, Restore or PVC the one that matters most.
    tasks: Vec<TaskExplanation<'a>>,
}

/// One unfinished task in a list.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskLine<'a> {
    /// The task.
    task: Task<'a>,
    /// Its phase, as Velero writes it.
    phase: Text<'a>,
    /// Its node; null where none is known.
    node: Option<Text<'a>>,
    /// How it stands.
    #[cfg_attr(test, schemars(extend("enum" = ["stuck", "unknown", "attention", "waiting", "running", "finished"])))]
    verdict: &'static str,
    /// The gate that is closed; null where none is.
    #[cfg_attr(test, schemars(extend("enum" = ["agent", "target", "prepare-queue", "expose", "slot", null])))]
    closed_gate: Option<&'static str>,
    /// Why it does not move on, in one sentence.
    reason: Text<'a>,
    /// When it ends by itself at the latest.
    deadline: Option<Deadline>,
    /// When it is expected to end; null where nothing says how long a task takes.
    eta: Option<Eta>,
}

/// One task, told in full.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskExplanation<'a> {
    /// The task.
    task: Task<'a>,
    /// Its phase, as Velero writes it.
    phase: Text<'a>,
    /// For how long it is in that phase; null where that is not known.
    phase_seconds: Option<i64>,
    /// Its node; null where none is known.
    node: Option<Text<'a>>,
    /// How it stands.
    #[cfg_attr(test, schemars(extend("enum" = ["stuck", "unknown", "attention", "waiting", "running", "finished"])))]
    verdict: &'static str,
    /// The Backup or Restore that it belongs to.
    parent: Option<Object<'a>>,
    /// The first release with the rules that apply.
    rules: &'static str,
    /// The gate that is closed; null where none is.
    #[cfg_attr(test, schemars(extend("enum" = ["agent", "target", "prepare-queue", "expose", "slot", null])))]
    closed_gate: Option<&'static str>,
    /// Why it stands where it does, in one sentence.
    reason: Text<'a>,
    /// What would let it move on, the nearest way first.
    frees: Vec<Text<'a>>,
    /// When it ends by itself at the latest.
    deadline: Option<Deadline>,
    /// When it is expected to end; null for a final task, and where nothing says how long a task takes.
    eta: Option<Eta>,
    /// The gates in Velero's order; empty for a final task and for one that the agents pass over.
    gates: Vec<Gate<'a>>,
    /// What a look now would decide; null for a final task.
    decision: Option<Decision<'a>>,
    /// The slots of its node; null where it has no node or is final.
    slots: Option<NodeSlots<'a>>,
    /// What fills the prepare queue, while that is what it waits for: the first twenty.
    prepare_queue: Vec<Holder<'a>>,
    /// Who may take the next slot or place first; null where there is no race.
    competing: Option<Competing<'a>>,
    /// The findings that concern it, worst first.
    findings: Vec<Concern<'a>>,
    /// What happened, in time order.
    story: Vec<StoryLine<'a>>,
}

/// One gate.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Gate<'a> {
    /// Which.
    #[cfg_attr(test, schemars(extend("enum" = ["agent", "target", "prepare-queue", "expose", "slot"])))]
    gate: &'static str,
    /// How it stands.
    #[cfg_attr(test, schemars(extend("enum" = ["pass", "closed", "unknown", "not-reached"])))]
    state: &'static str,
    /// Why, in one sentence.
    reason: Text<'a>,
}

/// The slots of a node: derived, never observed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeSlots<'a> {
    /// The node.
    node: Text<'a>,
    /// The limit; null where it is not known.
    limit: Option<i64>,
    /// Where the limit comes from.
    #[cfg_attr(test, schemars(extend("enum" = ["default", "global", "per-node", "agent-log", "unknown"])))]
    limit_source: &'static str,
    /// Who holds a slot, by the status of the tasks.
    holders: Vec<Holder<'a>>,
    /// Who else took one and did not give it back, by the node-agent's log; empty without a log.
    logged: Vec<LoggedSlot<'a>>,
}

/// An entry of the node-agent's memory that only its log shows.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoggedSlot<'a> {
    /// The kind of the task; null where the log does not tell.
    kind: Option<&'static str>,
    /// The name of the task.
    name: Text<'a>,
    /// When it took the slot; null if that was before the log speaks.
    since: Option<String>,
    /// How far its data path has come.
    stage: &'static str,
    /// From when on the log speaks.
    log_speaks_from: Option<String>,
}

/// A task that holds a slot or a place.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holder<'a> {
    /// The task.
    task: Task<'a>,
    /// Its phase, as Velero writes it.
    phase: Text<'a>,
    /// Its progress; null where it has none.
    progress: Option<Bytes>,
    /// When it started; null where it has not, or that is not known.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    started_at: Option<String>,
}

/// How far a transfer is.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bytes {
    /// Bytes done.
    bytes_done: i64,
    /// Bytes in all; 0 while that is not known.
    total_bytes: i64,
}

/// A finding, and how it concerns the task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Concern<'a> {
    /// The finding is about the task; the task waits because of it; the task stands in the way of others; or it is
    /// about the task's node and names no task.
    #[cfg_attr(test, schemars(extend("enum" = ["about", "affected", "in-the-way", "node"])))]
    role: &'static str,
    /// The finding.
    finding: Finding<'a>,
}

/// One line of a story.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoryLine<'a> {
    /// When; null where that is written nowhere: such a line keeps its place behind what must have been before it.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    at: Option<String>,
    /// What happened.
    what: Text<'a>,
    /// What kind of reading it is.
    #[cfg_attr(test, schemars(extend("enum" = ["field", "managedFields", "pod-condition", "event", "log"])))]
    from: &'static str,
    /// Where it is written.
    source: Text<'a>,
}

/// The answer of `explain FINDING-ID`. It reads no source, so the head is null.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunbookPage {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Runbook`.
    #[cfg_attr(test, schemars(extend("const" = "Runbook")))]
    kind: &'static str,
    /// The finding id.
    #[cfg_attr(test, schemars(extend("enum" = super::schema::finding_ids())))]
    id: &'static str,
    /// The causes that the id can have.
    causes: &'static [&'static str],
    /// The runbook, in Markdown.
    text: &'static str,
}

impl<'a> From<&'a report::ExplanationReport> for Explanation<'a> {
    fn from(report: &'a report::ExplanationReport) -> Self {
        let head = &report.head;
        Self {
            api_version: API_VERSION,
            kind: "Explanation",
            taken_at: time(head.taken_at),
            source: Source::from(head),
            namespace: Text(&head.namespace),
            velero_versions: head.velero_versions.iter().map(|text| Text(text)).collect(),
            gaps: each(&head.gaps),
            subject: Object::from(&report.subject),
            subject_phase: report.subject_phase.as_deref().map(Text),
            verdict: report.verdict.as_str(),
            unfinished: each(&report.unfinished),
            finished: report.finished,
            tasks: each(&report.tasks),
        }
    }
}

impl<'a> From<&'a report::TaskLine> for TaskLine<'a> {
    fn from(line: &'a report::TaskLine) -> Self {
        Self {
            task: Task::from(&line.task),
            phase: Text(line.phase.as_str()),
            node: line.node.as_deref().map(Text),
            verdict: line.verdict.as_str(),
            closed_gate: line.closed_gate.map(report::GateName::as_str),
            reason: Text(&line.reason),
            deadline: line.deadline.as_ref().map(Deadline::from),
            eta: line.eta.as_ref().map(Eta::from),
        }
    }
}

impl<'a> From<&'a report::TaskExplanation> for TaskExplanation<'a> {
    fn from(told: &'a report::TaskExplanation) -> Self {
        Self {
            task: Task::from(&told.task),
            phase: Text(told.phase.as_str()),
            phase_seconds: told.phase_seconds,
            node: told.node.as_deref().map(Text),
            verdict: told.verdict.as_str(),
            parent: told.parent.as_ref().map(Object::from),
            rules: told.rules,
            closed_gate: told.closed_gate.map(report::GateName::as_str),
            reason: Text(&told.reason),
            frees: told.frees.iter().map(|text| Text(text)).collect(),
            deadline: told.deadline.as_ref().map(Deadline::from),
            eta: told.eta.as_ref().map(Eta::from),
            gates: each(&told.gates),
            decision: told.decision.as_ref().map(Decision::from),
            slots: told.slots.as_ref().map(NodeSlots::from),
            prepare_queue: each(&told.queue),
            competing: told.competing.as_ref().map(Competing::from),
            findings: each(&told.findings),
            story: each(&told.story),
        }
    }
}

impl<'a> From<&'a report::GateRow> for Gate<'a> {
    fn from(row: &'a report::GateRow) -> Self {
        Self {
            gate: row.gate.as_str(),
            state: row.state.as_str(),
            reason: Text(&row.reason),
        }
    }
}

impl<'a> From<&'a report::NodeSlots> for NodeSlots<'a> {
    fn from(slots: &'a report::NodeSlots) -> Self {
        Self {
            node: Text(&slots.node),
            limit: slots.limit,
            limit_source: slots.limit_source.as_str(),
            holders: each(&slots.holders),
            logged: each(&slots.logged),
        }
    }
}

impl<'a> From<&'a report::LoggedSlot> for LoggedSlot<'a> {
    fn from(slot: &'a report::LoggedSlot) -> Self {
        Self {
            kind: slot.kind.map(|kind| kind.as_str()),
            name: Text(&slot.name),
            since: slot.since.map(time),
            stage: slot.stage,
            log_speaks_from: slot.speaks_from.map(time),
        }
    }
}

impl<'a> From<&'a report::Holder> for Holder<'a> {
    fn from(holder: &'a report::Holder) -> Self {
        Self {
            task: Task::from(&holder.task),
            phase: Text(holder.phase.as_str()),
            progress: holder.progress.map(|progress| Bytes {
                bytes_done: progress.bytes_done,
                total_bytes: progress.total_bytes,
            }),
            started_at: holder.started.map(time),
        }
    }
}

impl<'a> From<&'a report::Concern> for Concern<'a> {
    fn from(concern: &'a report::Concern) -> Self {
        Self {
            role: concern.role.as_str(),
            finding: Finding::from(&concern.row),
        }
    }
}

impl<'a> From<&'a report::StoryLine> for StoryLine<'a> {
    fn from(line: &'a report::StoryLine) -> Self {
        Self {
            at: line.at.map(time),
            what: Text(&line.what),
            from: line.from.as_str(),
            source: Text(&line.source),
        }
    }
}

impl From<&report::Runbook> for RunbookPage {
    fn from(page: &report::Runbook) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "Runbook",
            id: page.id.as_str(),
            causes: page.id.causes(),
            text: page.text,
        }
    }
}
