//! What a finding is. The words and ids are the contract's; an id or a cause is never renamed.

use jiff::Timestamp;

use crate::replay::Deadline;
use crate::velero::{ObjectRef, TaskRef};

macro_rules! finding_ids {
    ($($(#[$doc:meta])* $variant:ident => $code:literal [$($cause:literal),*];)+) => {
        /// The id of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FindingId {
            $($(#[$doc])* $variant,)+
        }

        impl FindingId {
            /// Every id.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the id as it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// Returns the causes that the id can have; empty if it has none.
            #[must_use]
            pub const fn causes(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($cause),*],)+ }
            }
        }
    };
}

finding_ids! {
    /// The normal queue: every slot is held by a healthy task.
    SlotQueue => "slot-queue" [];
    /// Tasks wait beside a free slot beyond the threshold, and nothing moves on the node.
    PreparedStuck => "prepared-stuck" ["ghost-slot", "worker-blocked", "lost-reconcile", "undetermined"];
    /// The same, but the node still moves other tasks.
    SlotsLeaked => "slots-leaked" ["ghost-slot", "worker-blocked", "lost-reconcile", "undetermined"];
    /// Prepared again although the task had started.
    PhaseRewound => "phase-rewound" [];
    /// Prepared, and its pod or volume is gone or ended.
    PreparedDoomed => "prepared-doomed" ["pod-missing", "pod-terminal", "volume-missing"];
    /// It runs and its bytes stand still.
    TransferStalled => "transfer-stalled" [];
    /// Running, and its mover pod is gone.
    MoverPodLost => "mover-pod-lost" [];
    /// The data path ended, the task did not.
    CompletionStuck => "completion-stuck" ["log-collection-hung", "rebind-failed", "status-write-failed", "undetermined"];
    /// Nobody works for the node that owns the task.
    OwnerGone => "owner-gone" ["node-gone", "node-not-ready", "agent-missing", "agent-not-ready"];
    /// Cancel was requested and is overdue.
    CancelStuck => "cancel-stuck" [];
    /// Accepted, and the mover pod or its volume does not come up.
    ExposeBlocked => "expose-blocked" ["unschedulable", "volume-not-bound", "snapshot-not-ready", "mount-failed", "image-pull", "pod-rejected", "undetermined"];
    /// Accepted though the mover pod runs: the event was lost.
    PrepareMissed => "prepare-missed" [];
    /// Accepted, no pod, and nobody makes one.
    ExposeLost => "expose-lost" [];
    /// New though nothing holds it back.
    AcceptBlocked => "accept-blocked" ["worker-blocked", "undetermined"];
    /// New tasks are held by `prepareQueueLength`.
    PrepareQueueFull => "prepare-queue-full" [];
    /// A prepare queue has room and New tasks wait all the same.
    PrepareQueueStale => "prepare-queue-stale" ["stale-count", "undetermined"];
    /// No agent works anywhere.
    NoNodeAgent => "no-node-agent" ["daemonset-missing", "none-scheduled", "none-ready"];
    /// Agents crash.
    AgentCrashloop => "agent-crashloop" ["config-missing", "config-invalid", "config-multiple-keys", "oom-killed", "evicted", "undetermined"];
    /// Tasks of another data mover.
    ForeignDataMover => "foreign-data-mover" [];
    /// The restore's target pod or PVC does not exist.
    RestoreTargetMissing => "restore-target-missing" [];
    /// It exists and is not ready.
    RestoreTargetNotReady => "restore-target-not-ready" ["pod-pending", "init-not-running", "image-pull", "no-consumer"];
    /// An agent restarted and a task was harmed by it.
    AgentRestarted => "agent-restarted" ["oom-killed", "evicted", "node-restart", "undetermined"];
    /// The configuration changed after the agent started.
    ConfigDrift => "config-drift" [];
    /// A setting that has no effect.
    ConfigIgnored => "config-ignored" ["flag-missing", "top-level-prepare-queue-length", "unknown-key", "invalid-number", "invalid-selector", "several-keys"];
    /// Agent pods without `role=node-agent`.
    AgentLabelMissing => "agent-label-missing" [];
    /// Agents of several versions.
    VersionSkew => "version-skew" [];
    /// Tasks that ended badly in the last 24 hours.
    RecentFailures => "recent-failures" ["prepare-timeout", "operation-timeout", "agent-start", "server-start", "pod-rejected", "data-path", "other"];
    /// Every task of a Backup is final, the Backup is not.
    BackupWaitsFinishedTasks => "backup-waits-finished-tasks" ["canceled-not-counted", "undetermined"];
    /// Tasks will be cancelled by their operation timeout before they get a slot.
    DeadlineAtRisk => "deadline-at-risk" [];
    /// A published fault of this version fits what is seen.
    KnownBug => "known-bug" ["velero-8391", "velero-8394", "velero-8485", "velero-8579", "velero-9365", "velero-9659", "velero-9666", "velero-10007"];
    /// Unfinished tasks of a Backup or Restore that is final or gone.
    OrphanedTasks => "orphaned-tasks" [];
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Somebody has to act.
    Critical,
    /// Somebody should look.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Other causes remain.
    Possible,
    /// The best explanation.
    Likely,
    /// A single reading excludes the other causes.
    Certain,
}

impl Confidence {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Possible => "possible",
        }
    }
}

/// What kind of reading a piece of evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceKind {
    /// A field of an object.
    Field,
    /// A condition of an object.
    Condition,
    /// A log line.
    Log,
    /// An Event.
    Event,
    /// A metric.
    Metric,
    /// A conclusion of the replay.
    Derived,
}

impl EvidenceKind {
    /// Returns the text of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Condition => "condition",
            Self::Log => "log",
            Self::Event => "event",
            Self::Metric => "metric",
            Self::Derived => "derived",
        }
    }
}

/// One reading that a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What kind of reading.
    pub kind: EvidenceKind,
    /// Where, such as `DataUpload velero/du-a1 .status.phase`.
    pub source: String,
    /// What it said.
    pub value: String,
}

impl Evidence {
    /// A field of an object.
    #[must_use]
    pub fn field(source: String, value: String) -> Self {
        Self {
            kind: EvidenceKind::Field,
            source,
            value,
        }
    }

    /// A conclusion of the replay.
    #[must_use]
    pub fn derived(source: String, value: String) -> Self {
        Self {
            kind: EvidenceKind::Derived,
            source,
            value,
        }
    }

    /// A line of a log.
    #[must_use]
    pub fn log(source: String, value: String) -> Self {
        Self {
            kind: EvidenceKind::Log,
            source,
            value,
        }
    }

    /// A metric.
    #[must_use]
    pub fn metric(source: String, value: String) -> Self {
        Self {
            kind: EvidenceKind::Metric,
            source,
            value,
        }
    }

    /// A condition of an object.
    #[must_use]
    pub fn condition(source: String, value: String) -> Self {
        Self {
            kind: EvidenceKind::Condition,
            source,
            value,
        }
    }
}

/// What to type next. The command carries no `--context` or `-n`; the edge pins them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The command, such as `kubectl get pod du-a1 -o yaml`. `{ns}` stands for `-n <Velero's namespace>`
    /// plus the pinned context, and is filled in by the report.
    pub command: String,
    /// What it does.
    pub effect: String,
    /// What it may cost.
    pub risk: String,
}

/// One thing worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its id.
    pub id: FindingId,
    /// Its cause, one of [`FindingId::causes`].
    pub cause: Option<&'static str>,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// The node, if it is about one.
    pub node: Option<String>,
    /// The tasks that it is about, ordered.
    pub tasks: Vec<TaskRef>,
    /// What stands in their way, ordered.
    pub blocked_by: Vec<ObjectRef>,
    /// Tasks that wait because of it and are not faulty themselves, ordered.
    pub affects: Vec<TaskRef>,
    /// Since when it provably holds.
    pub since: Option<Timestamp>,
    /// The earliest deadline over `tasks`.
    pub deadline: Option<Deadline>,
    /// One sentence that a tired person understands.
    pub summary: String,
    /// What happened to each of its tasks, without their names, where the finding knows more of it than the replay.
    pub why: Option<String>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What to type next.
    pub actions: Vec<Action>,
    /// Upstream threads.
    pub references: Vec<&'static str>,
}

impl Finding {
    /// Begins a finding without anything optional.
    #[must_use]
    pub fn new(id: FindingId, severity: Severity, confidence: Confidence, summary: String) -> Self {
        Self {
            id,
            cause: None,
            severity,
            confidence,
            node: None,
            tasks: Vec::new(),
            blocked_by: Vec::new(),
            affects: Vec::new(),
            since: None,
            deadline: None,
            summary,
            why: None,
            evidence: Vec::new(),
            actions: Vec::new(),
            references: Vec::new(),
        }
    }
}
