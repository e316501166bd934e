//! The machine view, version 1: `apiVersion: velero-slots/v1`.
//!
//! These structs are the promise to scripts. Fields are added, never renamed or removed within the
//! version, and their order is the order of the document. Absent is `null`, unknown is `null` with a gap.

use jiff::Timestamp;
use serde::Serialize;

use super::eta::TaskOfNode;
use super::text::Text;
use crate::report;
use crate::velero;

#[cfg(test)]
use schemars::JsonSchema;

/// The version of all documents.
pub(crate) const API_VERSION: &str = "velero-slots/v1";

/// The answer of `status`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status<'a> {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Status`.
    #[cfg_attr(test, schemars(extend("const" = "Status")))]
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
    /// The gate before Accepted; null where none is in force or that is not known.
    prepare_queue: Option<PrepareQueue>,
    /// Tasks that no node owns yet.
    unassigned: Unassigned,
    /// The nodes, by name.
    nodes: Vec<Node<'a>>,
}

/// The answer of `diagnose`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Diagnosis<'a> {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Diagnosis`.
    #[cfg_attr(test, schemars(extend("const" = "Diagnosis")))]
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
    /// The verdict; with filters, that of the findings shown.
    #[cfg_attr(test, schemars(extend("enum" = ["stuck", "unknown", "attention", "healthy"])))]
    verdict: &'static str,
    /// By severity, id, node, first task.
    findings: Vec<Finding<'a>>,
}

/// The answer of `replay`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Replay<'a> {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Replay`.
    #[cfg_attr(test, schemars(extend("const" = "Replay")))]
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
    /// One for each unfinished task, by task.
    decisions: Vec<Decision<'a>>,
}

/// The answer of `version`. It reads no source, so that part of the head is null.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Version<'a> {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Version`.
    #[cfg_attr(test, schemars(extend("const" = "Version")))]
    kind: &'static str,
    /// Always null.
    taken_at: Option<String>,
    /// Always null.
    source: Option<Source<'a>>,
    /// Always null.
    namespace: Option<Text<'a>>,
    /// Always empty.
    velero_versions: Vec<Text<'a>>,
    /// Always empty.
    gaps: Vec<Gap<'a>>,
    /// The version of this program.
    client_version: &'static str,
    /// The commit it was built from; null where the build does not say.
    commit: Option<&'static str>,
    /// The first release of every set of admission rules, oldest first.
    rule_sets: Vec<&'static str>,
}

/// Where an answer comes from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Source<'a> {
    /// A live cluster, or files.
    #[serde(rename = "type")]
    #[cfg_attr(test, schemars(extend("enum" = ["cluster", "files"])))]
    source_type: &'static str,
    /// Where "now" comes from.
    #[cfg_attr(test, schemars(extend("enum" = ["server", "flag", "capture", "newest-object"])))]
    now_from: &'static str,
    /// The API server; null with files that do not name one.
    server: Option<Text<'a>>,
    /// The files; empty with a cluster.
    paths: Vec<Text<'a>>,
}

/// Something that could not be read or known.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Gap<'a> {
    /// The plural resource name, or what else was looked for.
    resource: Text<'a>,
    /// Why.
    #[cfg_attr(test, schemars(extend("enum" = ["forbidden", "not-found", "malformed", "not-in-input", "partial", "timeout", "unsupported"])))]
    reason: &'static str,
    /// What exactly, in the words of the server or file.
    message: Text<'a>,
    /// What the answer lacks because of it.
    effect: Text<'a>,
}

/// The prepare queue.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrepareQueue {
    /// How many tasks fill it.
    length: usize,
    /// `prepareQueueLength`.
    limit: i64,
}

/// Tasks that no node owns yet.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unassigned {
    /// New.
    new: usize,
    /// Accepted, without a scheduled mover pod.
    accepted: usize,
}

/// One node.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node<'a> {
    /// Its name.
    name: Text<'a>,
    /// Its agent; null where none is on it, or pods could not be read (a gap says so).
    agent: Option<Agent<'a>>,
    /// Its concurrency number.
    limit: Limit,
    /// Its slots: derived, never observed.
    slots: Slots,
    /// Its unfinished tasks by phase; those of another data mover are left out.
    tasks: TaskCounts,
    /// How long the oldest waiting task waits.
    oldest_wait_seconds: Option<i64>,
    /// Tasks that hold a slot, by the evidence of the objects.
    holders: Vec<TaskOfNode<'a>>,
    /// Tasks that would take one.
    waiting: Vec<TaskOfNode<'a>>,
    /// The verdict of the node.
    #[cfg_attr(test, schemars(extend("enum" = ["unknown", "no-agent", "stuck", "degraded", "queued", "busy", "idle"])))]
    verdict: &'static str,
}

/// The agent of a node.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agent<'a> {
    /// Its pod.
    pod: Text<'a>,
    /// Whether it is Running, ready and not terminating.
    ready: bool,
    /// When its process started.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    started_at: Option<String>,
    /// Its version.
    version: Option<Text<'a>>,
    /// How often its container restarted.
    restarts: Option<i64>,
}

/// The concurrency number of a node.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Limit {
    /// The number that the running agent uses; null where it is not known.
    value: Option<i64>,
    /// Where it comes from.
    #[cfg_attr(test, schemars(extend("enum" = ["default", "global", "per-node", "agent-log", "unknown"])))]
    source: &'static str,
    /// The number that an agent that starts now would use.
    configured_now: Option<i64>,
}

/// The slots of a node.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Slots {
    /// How many there are; on v1.12 the sum over the four kinds.
    limit: Option<i64>,
    /// How many are held, by status.
    held: usize,
    /// How many are free, by status and not proven; null where the limit is not known.
    free: Option<i64>,
    /// Above 0 only where a ghost slot is the cause of a finding.
    leaked_at_least: i64,
}

/// Unfinished tasks by phase.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskCounts {
    /// Prepared.
    prepared: usize,
    /// InProgress.
    in_progress: usize,
    /// Canceling.
    canceling: usize,
    /// Accepted, the mover pod on this node.
    accepted: usize,
    /// New, bound to this node.
    new: usize,
}

/// Names a task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task<'a> {
    /// The kind.
    #[cfg_attr(test, schemars(extend("enum" = ["DataUpload", "DataDownload", "PodVolumeBackup", "PodVolumeRestore"])))]
    kind: &'static str,
    /// The namespace.
    namespace: Text<'a>,
    /// The name.
    name: Text<'a>,
}

/// Names any object.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Object<'a> {
    /// The kind.
    kind: Text<'a>,
    /// The namespace; null for objects of the cluster.
    namespace: Option<Text<'a>>,
    /// The name.
    name: Text<'a>,
}

/// One finding.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding<'a> {
    /// Its id.
    #[cfg_attr(test, schemars(extend("enum" = super::schema::finding_ids())))]
    id: &'static str,
    /// Its cause; null for ids that have none.
    cause: Option<&'static str>,
    /// How bad.
    #[cfg_attr(test, schemars(extend("enum" = ["critical", "warning", "info"])))]
    severity: &'static str,
    /// How sure.
    #[cfg_attr(test, schemars(extend("enum" = ["certain", "likely", "possible"])))]
    confidence: &'static str,
    /// The node, if it is about one.
    node: Option<Text<'a>>,
    /// The tasks that it is about.
    tasks: Vec<Task<'a>>,
    /// What stands in their way.
    blocked_by: Vec<Object<'a>>,
    /// Tasks that wait because of it and are not faulty themselves.
    affects: Vec<Task<'a>>,
    /// Since when it provably holds.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    since: Option<String>,
    /// `takenAt` minus `since`.
    for_seconds: Option<i64>,
    /// The earliest deadline of its tasks.
    deadline: Option<Deadline>,
    /// One sentence.
    summary: Text<'a>,
    /// What it rests on.
    evidence: Vec<Evidence<'a>>,
    /// What to type next.
    actions: Vec<Action<'a>>,
    /// Upstream threads.
    references: Vec<&'static str>,
}

/// When a task ends by itself at the latest.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Deadline {
    /// The time.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    at: String,
    /// Which timeout.
    #[cfg_attr(test, schemars(extend("enum" = ["prepareTimeout", "itemOperationTimeout", "fsBackupTimeout"])))]
    what: &'static str,
    /// Whether it is an estimate.
    approximate: bool,
}

/// One reading.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Evidence<'a> {
    /// What kind of reading.
    #[cfg_attr(test, schemars(extend("enum" = ["field", "condition", "log", "event", "metric", "derived"])))]
    kind: &'static str,
    /// Where.
    source: Text<'a>,
    /// What it said.
    value: Text<'a>,
}

/// What to type next.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Action<'a> {
    /// The command.
    command: Text<'a>,
    /// What it does.
    effect: Text<'a>,
    /// What it may cost.
    risk: Text<'a>,
}

/// What would be decided for one task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Decision<'a> {
    /// The task.
    task: Task<'a>,
    /// Its phase, as Velero writes it.
    phase: Text<'a>,
    /// Its node; null where none is known.
    node: Option<Text<'a>>,
    /// The gate at which the look ends.
    #[cfg_attr(test, schemars(extend("enum" = ["target", "prepare-queue", "expose", "slot", "none"])))]
    gate: &'static str,
    /// What a look now would do.
    #[cfg_attr(test, schemars(extend("enum" = ["admit", "wait", "accept", "prepare", "fail", "cancel", "skip", "none", "unknown"])))]
    decision: &'static str,
    /// Why, in one sentence.
    reason: Text<'a>,
    /// Who holds what it waits for.
    holders: Vec<Task<'a>>,
    /// Who may take the next slot instead; null where there is no race.
    competing: Option<Competing<'a>>,
    /// What makes the agent look again.
    #[cfg_attr(test, schemars(extend("enum" = ["requeue-5s", "requeue-1m", "backoff", "periodic-1m", "pod-update", "target-pod-update", "object-update", "agent-start", "none"])))]
    next_trigger: &'static str,
    /// When the task ends by itself at the latest.
    deadline: Option<Deadline>,
    /// Whether what happens differs from what would be decided.
    diverges: bool,
}

/// Tasks that may take the next slot first.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Competing<'a> {
    /// How many.
    count: usize,
    /// The first hundred of them.
    tasks: Vec<Task<'a>>,
}

pub(super) fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn each<'a, T, U: From<&'a T>>(items: &'a [T]) -> Vec<U> {
    items.iter().map(U::from).collect()
}

impl<'a> From<&'a report::StatusReport> for Status<'a> {
    fn from(report: &'a report::StatusReport) -> Self {
        let head = &report.head;
        Self {
            api_version: API_VERSION,
            kind: "Status",
            taken_at: time(head.taken_at),
            source: Source::from(head),
            namespace: Text(&head.namespace),
            velero_versions: head.velero_versions.iter().map(|text| Text(text)).collect(),
            gaps: each(&head.gaps),
            prepare_queue: report.prepare_queue.map(|queue| PrepareQueue {
                length: queue.length,
                limit: queue.limit,
            }),
            unassigned: Unassigned {
                new: report.unassigned.new,
                accepted: report.unassigned.accepted,
            },
            nodes: each(&report.nodes),
        }
    }
}

impl<'a> From<&'a report::DiagnosisReport> for Diagnosis<'a> {
    fn from(report: &'a report::DiagnosisReport) -> Self {
        let head = &report.head;
        Self {
            api_version: API_VERSION,
            kind: "Diagnosis",
            taken_at: time(head.taken_at),
            source: Source::from(head),
            namespace: Text(&head.namespace),
            velero_versions: head.velero_versions.iter().map(|text| Text(text)).collect(),
            gaps: each(&head.gaps),
            verdict: report.verdict.as_str(),
            findings: each(&report.findings),
        }
    }
}

impl<'a> From<&'a report::ReplayReport> for Replay<'a> {
    fn from(report: &'a report::ReplayReport) -> Self {
        let head = &report.head;
        Self {
            api_version: API_VERSION,
            kind: "Replay",
            taken_at: time(head.taken_at),
            source: Source::from(head),
            namespace: Text(&head.namespace),
            velero_versions: head.velero_versions.iter().map(|text| Text(text)).collect(),
            gaps: each(&head.gaps),
            decisions: each(&report.decisions),
        }
    }
}

impl From<&report::VersionReport> for Version<'_> {
    fn from(report: &report::VersionReport) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "Version",
            taken_at: None,
            source: None,
            namespace: None,
            velero_versions: Vec::new(),
            gaps: Vec::new(),
            client_version: report.client_version,
            commit: report.commit,
            rule_sets: report.rule_sets.clone(),
        }
    }
}

impl<'a> From<&'a report::Head> for Source<'a> {
    fn from(head: &'a report::Head) -> Self {
        Self {
            source_type: match head.source {
                report::SourceType::Cluster => "cluster",
                report::SourceType::Files => "files",
            },
            now_from: head.now_from.as_str(),
            server: head.server.as_deref().map(Text),
            paths: head.paths.iter().map(|path| Text(path)).collect(),
        }
    }
}

impl<'a> From<&'a report::Gap> for Gap<'a> {
    fn from(gap: &'a report::Gap) -> Self {
        Self {
            resource: Text(&gap.resource),
            reason: gap.reason.as_str(),
            message: Text(&gap.message),
            effect: Text(&gap.effect),
        }
    }
}

impl<'a> From<&'a report::NodeRow> for Node<'a> {
    fn from(node: &'a report::NodeRow) -> Self {
        Self {
            name: Text(&node.name),
            agent: node.agent.as_ref().map(Agent::from),
            limit: Limit {
                value: node.limit.value,
                source: node.limit.source.as_str(),
                configured_now: node.limit.configured_now,
            },
            slots: Slots {
                limit: node.slots.limit,
                held: node.slots.held,
                free: node.slots.free,
                leaked_at_least: node.slots.leaked_at_least,
            },
            tasks: TaskCounts {
                prepared: node.tasks.prepared,
                in_progress: node.tasks.in_progress,
                canceling: node.tasks.canceling,
                accepted: node.tasks.accepted,
                new: node.tasks.new,
            },
            oldest_wait_seconds: node.oldest_wait_seconds,
            holders: each(&node.holders),
            waiting: each(&node.waiting),
            verdict: node.verdict.as_str(),
        }
    }
}

impl<'a> From<&'a report::AgentRow> for Agent<'a> {
    fn from(agent: &'a report::AgentRow) -> Self {
        Self {
            pod: Text(&agent.pod),
            ready: agent.ready,
            started_at: agent.started_at.map(time),
            version: agent.version.as_deref().map(Text),
            restarts: agent.restarts,
        }
    }
}

impl<'a> From<&'a velero::TaskRef> for Task<'a> {
    fn from(task: &'a velero::TaskRef) -> Self {
        Self {
            kind: task.kind.as_str(),
            namespace: Text(&task.namespace),
            name: Text(&task.name),
        }
    }
}

impl<'a> From<&'a velero::ObjectRef> for Object<'a> {
    fn from(object: &'a velero::ObjectRef) -> Self {
        Self {
            kind: Text(&object.kind),
            namespace: object.namespace.as_deref().map(Text),
            name: Text(&object.name),
        }
    }
}

impl<'a> From<&'a report::FindingRow> for Finding<'a> {
    fn from(row: &'a report::FindingRow) -> Self {
        let finding = &row.finding;
        Self {
            id: finding.id.as_str(),
            cause: finding.cause,
            severity: finding.severity.as_str(),
            confidence: finding.confidence.as_str(),
            node: finding.node.as_deref().map(Text),
            tasks: each(&finding.tasks),
            blocked_by: each(&finding.blocked_by),
            affects: each(&finding.affects),
            since: finding.since.map(time),
            for_seconds: row.for_seconds,
            deadline: finding.deadline.as_ref().map(Deadline::from),
            summary: Text(&finding.summary),
            evidence: each(&finding.evidence),
            actions: each(&finding.actions),
            references: finding.references.clone(),
        }
    }
}

impl From<&report::Deadline> for Deadline {
    fn from(deadline: &report::Deadline) -> Self {
        Self {
            at: time(deadline.at),
            what: deadline.what.as_str(),
            approximate: deadline.approximate,
        }
    }
}

impl<'a> From<&'a report::Evidence> for Evidence<'a> {
    fn from(evidence: &'a report::Evidence) -> Self {
        Self {
            kind: evidence.kind.as_str(),
            source: Text(&evidence.source),
            value: Text(&evidence.value),
        }
    }
}

impl<'a> From<&'a report::Action> for Action<'a> {
    fn from(action: &'a report::Action) -> Self {
        Self {
            command: Text(&action.command),
            effect: Text(&action.effect),
            risk: Text(&action.risk),
        }
    }
}

impl<'a> From<&'a report::Competing> for Competing<'a> {
    fn from(competing: &'a report::Competing) -> Self {
        Self {
            count: competing.count,
            tasks: each(&competing.tasks),
        }
    }
}

impl<'a> From<&'a report::DecisionRow> for Decision<'a> {
    fn from(row: &'a report::DecisionRow) -> Self {
        Self {
            task: Task::from(&row.task),
            phase: Text(row.phase.as_str()),
            node: row.node.as_deref().map(Text),
            gate: row.gate.as_str(),
            decision: row.decision.as_str(),
            reason: Text(&row.reason),
            holders: each(&row.holders),
            competing: row.competing.as_ref().map(Competing::from),
            next_trigger: row.next_trigger.as_str(),
            deadline: row.deadline.as_ref().map(Deadline::from),
            diverges: row.diverges,
        }
    }
}
