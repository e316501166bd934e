//! Reports, built by hand.

use jiff::Timestamp;

use crate::diagnose::Finding;
use crate::report::{
    Action, AgentRow, Competing, Confidence, Deadline, DeadlineWhat, DecisionRow, DiagnosisReport,
    Evidence, FindingId, FindingRow, Gap, GapReason, Gate, Head, LimitRow, LimitSource, NodeRow,
    NodeVerdict, NothingRead, NowFrom, Pins, PrepareQueueRow, Progress, ReplayReport, Severity,
    SlotLimits, SlotsRow, SourceType, StatusReport, TaskCounts, TaskRow, Trigger, Unassigned,
    UnreadTasks, VeleroSeen, Verb, Verdict,
};
use crate::velero::{ObjectRef, Phase, TaskKind, TaskRef};

pub(in crate::render) fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

pub(in crate::render) fn head() -> Head {
    Head {
        taken_at: now(),
        source: SourceType::Cluster,
        now_from: NowFrom::Server,
        server: Some("https://cluster.example:6443".to_owned()),
        paths: Vec::new(),
        namespace: "velero".to_owned(),
        velero_versions: vec!["1.17.1".to_owned()],
        gaps: Vec::new(),
        unread_tasks: Vec::new(),
        limits: SlotLimits {
            known: vec![2],
            unknown: 0,
            per_kind: false,
        },
        pins: Pins {
            context: Some("prod-eu-1".to_owned()),
            ..Pins::default()
        },
    }
}

pub(in crate::render) fn refused(resource: &str) -> Gap {
    Gap {
        resource: resource.to_owned(),
        reason: GapReason::Forbidden,
        message: format!("{resource} is forbidden: User \"jane\" cannot list resource"),
        effect: "nothing is known of them".to_owned(),
    }
}

pub(in crate::render) fn unread(kind: TaskKind) -> UnreadTasks {
    UnreadTasks {
        kind,
        reason: GapReason::Forbidden,
        nothing_read: NothingRead::Yes,
    }
}

pub(in crate::render) fn du(name: &str) -> TaskRef {
    TaskRef {
        kind: TaskKind::DataUpload,
        namespace: "velero".to_owned(),
        name: name.to_owned(),
    }
}

fn task_row(name: &str, phase: Phase, done: i64) -> TaskRow {
    TaskRow {
        task: du(name),
        phase,
        progress: Some(Progress {
            bytes_done: done,
            total_bytes: 100,
        }),
        since: Some("2026-01-02T02:17:05Z".parse().unwrap()),
        deadline: None,
        eta: None,
    }
}

/// A node with so many holders and waiting tasks, and a limit of 2.
pub(in crate::render) fn node(
    name: &str,
    verdict: NodeVerdict,
    holders: usize,
    waiting: usize,
) -> NodeRow {
    NodeRow {
        name: name.to_owned(),
        agent: Some(AgentRow {
            pod: "node-agent-x".to_owned(),
            ready: true,
            started_at: Some("2026-01-01T00:00:00Z".parse().unwrap()),
            version: Some("1.17.1".to_owned()),
            restarts: Some(0),
        }),
        limit: LimitRow {
            value: Some(2),
            source: LimitSource::Global,
            configured_now: Some(2),
        },
        slots: SlotsRow {
            limit: Some(2),
            held: holders,
            free: Some(2 - i64::try_from(holders).unwrap()),
            leaked_at_least: 0,
        },
        tasks: TaskCounts {
            prepared: waiting,
            in_progress: holders,
            ..TaskCounts::default()
        },
        oldest_wait_seconds: (waiting > 0).then_some(2820),
        holders: (0..holders)
            .map(|index| task_row(&format!("du-h{index}"), Phase::InProgress, 63))
            .collect(),
        waiting: (0..waiting)
            .map(|index| task_row(&format!("du-w{index}"), Phase::Prepared, 0))
            .collect(),
        waiting_count: waiting,
        verdict,
    }
}

pub(in crate::render) fn status(nodes: Vec<NodeRow>) -> StatusReport {
    StatusReport {
        head: head(),
        prepare_queue: Some(PrepareQueueRow {
            length: 3,
            limit: 10,
        }),
        unassigned: Unassigned {
            new: 4,
            accepted: 2,
        },
        nodes,
        nodes_not_shown: 0,
        velero_seen: VeleroSeen::Yes,
        task_counts: Vec::new(),
    }
}

/// A cluster of any size: one stuck node, one without an agent, then queued, busy and idle ones.
pub(in crate::render) fn cluster(size: usize) -> StatusReport {
    let mut nodes = vec![
        node("worker-b", NodeVerdict::Stuck, 1, 5),
        node("worker-a", NodeVerdict::NoAgent, 0, 0),
    ];
    nodes.extend((0..size).map(|index| {
        let name = format!("worker-{index:04}");
        match index % 3 {
            0 => node(&name, NodeVerdict::Queued, 2, 2),
            1 => node(&name, NodeVerdict::Busy, 1, 0),
            _ => node(&name, NodeVerdict::Idle, 0, 0),
        }
    }));
    status(nodes)
}

pub(in crate::render) fn finding(id: FindingId, severity: Severity, node: &str) -> FindingRow {
    let mut finding = Finding::new(
        id,
        severity,
        Confidence::Likely,
        format!(
            "3 tasks wait on {node} beside a free slot for 18h, and nothing moves there: an entry of a task that \
             ended was never taken out of the agent's memory."
        ),
    );
    finding.cause = id.causes().first().copied();
    finding.node = Some(node.to_owned());
    finding.tasks = vec![du("du-a1"), du("du-a2")];
    finding.blocked_by = vec![ObjectRef::namespaced("Pod", "velero", "du-old")];
    finding.affects = vec![du("du-a3")];
    finding.since = Some("2026-01-01T09:04:05Z".parse().unwrap());
    finding.deadline = Some(Deadline {
        at: "2026-01-02T05:04:05Z".parse().unwrap(),
        what: DeadlineWhat::ItemOperationTimeout,
        approximate: true,
    });
    finding.evidence = (1..=4)
        .map(|number| {
            Evidence::field(
                format!("DataUpload velero/du-a{number} .status.phase"),
                "Prepared".to_owned(),
            )
        })
        .collect();
    finding.actions = vec![Action {
        command: format!(
            "kubectl velero-slots restart --node {node} -n velero --context prod-eu-1"
        ),
        effect: "starts the agent again: its slots are free then".to_owned(),
        risk: "running tasks of the node are resumed".to_owned(),
    }];
    finding.references = vec!["velero-io/velero#9334"];
    FindingRow {
        finding,
        for_seconds: Some(64_800),
    }
}

pub(in crate::render) fn diagnosis(verdict: Verdict, findings: Vec<FindingRow>) -> DiagnosisReport {
    DiagnosisReport {
        head: head(),
        verdict,
        inconclusive: Vec::new(),
        findings,
        findings_not_shown: 0,
        unfinished: 12,
        status: None,
    }
}

pub(in crate::render) fn replay() -> ReplayReport {
    ReplayReport {
        head: head(),
        decisions: vec![
            DecisionRow {
                task: du("du-a1"),
                phase: Phase::Prepared,
                node: Some("worker-b".to_owned()),
                gate: Gate::Slot,
                decision: Verb::Admit,
                reason: "1 of 2 slots is held".to_owned(),
                holders: vec![du("du-h0")],
                competing: Some(Competing {
                    count: 1,
                    tasks: vec![du("du-a2")],
                }),
                next_trigger: Trigger::Requeue5s,
                deadline: Some(Deadline {
                    at: "2026-01-02T05:04:05Z".parse().unwrap(),
                    what: DeadlineWhat::ItemOperationTimeout,
                    approximate: true,
                }),
                diverges: true,
            },
            DecisionRow {
                task: du("du-b1"),
                phase: Phase::New,
                node: None,
                gate: Gate::None,
                decision: Verb::Accept,
                reason: "no prepare queue is in force".to_owned(),
                holders: Vec::new(),
                competing: None,
                next_trigger: Trigger::ObjectUpdate,
                deadline: None,
                diverges: false,
            },
        ],
        decisions_not_shown: 0,
    }
}
