//! `-o openmetrics`: the answers of `status` and `diagnose` as metrics, for an alert.
//!
//! What is not known has no series, and never a 0: the gap that explains it is a series of its own. No
//! series names a task, so that their number depends on nodes and findings alone. The order is fixed.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::report::{
    DiagnosisReport, FindingRow, Head, NodeRow, NodeVerdict, NothingRead, Severity, StatusReport,
    Verdict,
};
use crate::velero::TaskKind;

use text::{Exposition, Sample};

mod families;
#[cfg(test)]
mod tests;
mod text;

const VERDICTS: [&str; 4] = [
    Verdict::Stuck.as_str(),
    Verdict::Unknown.as_str(),
    Verdict::Attention.as_str(),
    Verdict::Healthy.as_str(),
];

const NODE_VERDICTS: [&str; 7] = [
    NodeVerdict::Stuck.as_str(),
    NodeVerdict::NoAgent.as_str(),
    NodeVerdict::Degraded.as_str(),
    NodeVerdict::Unknown.as_str(),
    NodeVerdict::Queued.as_str(),
    NodeVerdict::Busy.as_str(),
    NodeVerdict::Idle.as_str(),
];

/// Writes the answer of `status`.
pub(super) fn status(out: &mut dyn Write, report: &StatusReport) -> io::Result<()> {
    let mut text = Exposition::default();
    head(&mut text, &report.head);
    nodes(&mut text, report);
    text.write(out)
}

/// Writes the answer of `diagnose`, and that of `status` where the report has it.
pub(super) fn diagnosis(out: &mut dyn Write, report: &DiagnosisReport) -> io::Result<()> {
    let mut text = Exposition::default();
    head(&mut text, &report.head);
    text.states(
        families::VERDICT,
        &VERDICTS,
        [(None, report.verdict.as_str())],
    );
    text.family(
        families::INCONCLUSIVE,
        [Sample::count([], report.inconclusive.len())],
    );
    let counts = report.severities();
    text.family(
        families::SEVERITY,
        [
            (Severity::Critical, counts.critical),
            (Severity::Warning, counts.warning),
            (Severity::Info, counts.info),
        ]
        .map(|(severity, number)| Sample::count([("severity", severity.as_str())], number)),
    );
    findings(&mut text, &report.findings);
    if let Some(status) = &report.status {
        nodes(&mut text, status);
    }
    text.write(out)
}

/// Writes what every answer begins with.
fn head(text: &mut Exposition, head: &Head) {
    text.family(
        families::BUILD,
        [Sample::new([("version", env!("CARGO_PKG_VERSION"))], 1)],
    );
    text.family(
        families::TAKEN_AT,
        [Sample::new([], head.taken_at.as_second())],
    );
    let versions = head.velero_versions.iter();
    text.family(
        families::VELERO,
        versions.map(|version| Sample::new([("version", version)], 1)),
    );
    // Several gaps may be of one resource and reason; their messages would be a series each.
    let mut gaps: Vec<Sample> = head
        .gaps
        .iter()
        .map(|gap| {
            let labels = [
                ("resource", gap.resource.as_str()),
                ("reason", gap.reason.as_str()),
            ];
            Sample::new(labels, 1)
        })
        .collect();
    gaps.sort();
    gaps.dedup();
    text.family(families::GAP, gaps);
    text.family(
        families::UNREAD,
        head.unread_tasks.iter().map(|unread| {
            let labels = [
                ("kind", unread.kind.as_str()),
                ("reason", unread.reason.as_str()),
            ];
            Sample::new(labels, 1)
        }),
    );
}

/// What tells one finding's series from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    severity: Severity,
    id: &'static str,
    cause: &'static str,
    confidence: &'static str,
    node: &'a str,
}

/// Findings that differ in their tasks alone.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    findings: i64,
    tasks: i64,
    affected: i64,
    oldest: Option<i64>,
    deadline: Option<i64>,
}

/// One number of them; `None` where it is not known.
type Part = fn(&Sum) -> Option<i64>;

fn findings(text: &mut Exposition, rows: &[FindingRow]) {
    let mut sums: BTreeMap<Key<'_>, Sum> = BTreeMap::new();
    for row in rows {
        let finding = &row.finding;
        let key = Key {
            severity: finding.severity,
            id: finding.id.as_str(),
            cause: finding.cause.unwrap_or_default(),
            confidence: finding.confidence.as_str(),
            node: finding.node.as_deref().unwrap_or_default(),
        };
        let sum = sums.entry(key).or_default();
        sum.findings += 1;
        sum.tasks += counted(finding.tasks.len());
        sum.affected += counted(finding.affects.len());
        sum.oldest = sum.oldest.max(row.for_seconds);
        let deadline = finding.deadline.as_ref().map(|at| at.at.as_second());
        sum.deadline = sum.deadline.into_iter().chain(deadline).min();
    }
    let sample = |key: &Key<'_>, value: i64| {
        let labels = [
            ("id", key.id),
            ("cause", key.cause),
            ("severity", key.severity.as_str()),
            ("confidence", key.confidence),
            ("node", key.node),
        ];
        Sample::new(labels, value)
    };
    let parts: [(text::Family, Part); 5] = [
        (families::FINDINGS, |sum| Some(sum.findings)),
        (families::FINDING_TASKS, |sum| Some(sum.tasks)),
        (families::FINDING_AFFECTED, |sum| Some(sum.affected)),
        (families::FINDING_OLDEST, |sum| sum.oldest),
        (families::FINDING_DEADLINE, |sum| sum.deadline),
    ];
    for (family, of) in parts {
        let samples = sums
            .iter()
            .filter_map(|(key, sum)| Some(sample(key, of(sum)?)));
        text.family(family, samples);
    }
}

fn counted(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Writes tasks, prepare queue and nodes.
fn nodes(text: &mut Exposition, report: &StatusReport) {
    tasks(text, report);
    let queue = report.prepare_queue;
    text.family(
        families::QUEUE_LENGTH,
        queue.map(|queue| Sample::count([], queue.length)),
    );
    text.family(
        families::QUEUE_LIMIT,
        queue.map(|queue| Sample::new([], queue.limit)),
    );
    let nodes = &report.nodes;
    text.states(
        families::NODE_VERDICT,
        &NODE_VERDICTS,
        nodes
            .iter()
            .map(|node| (Some(("node", node.name.as_str())), node.verdict.as_str())),
    );
    of_nodes(text, nodes, families::AGENT_READY, |node| {
        Some(i64::from(node.agent.as_ref()?.ready))
    });
    of_nodes(text, nodes, families::AGENT_RESTARTS, |node| {
        node.agent.as_ref()?.restarts
    });
    of_nodes(text, nodes, families::AGENT_START, |node| {
        Some(node.agent.as_ref()?.started_at?.as_second())
    });
    text.family(
        families::LIMIT,
        nodes.iter().filter_map(|node| {
            let labels = [
                ("node", node.name.as_str()),
                ("source", node.limit.source.as_str()),
            ];
            Some(Sample::new(labels, node.limit.value?))
        }),
    );
    of_nodes(text, nodes, families::CONFIGURED, |node| {
        node.limit.configured_now
    });
    of_nodes(text, nodes, families::SLOTS, |node| node.slots.limit);
    // Where a kind of task is hidden, what was counted is less than what is there.
    if report.head.hidden_tasks().next().is_some() || report.head.no_task_kind_was_read() {
        return;
    }
    of_nodes(text, nodes, families::IN_PROGRESS, |node| {
        Some(counted(node.slots.held))
    });
    of_nodes(text, nodes, families::FREE, |node| node.slots.free);
    of_nodes(text, nodes, families::LEAKED, |node| {
        Some(node.slots.leaked_at_least)
    });
    of_nodes(text, nodes, families::WAITING, |node| {
        Some(counted(node.waiting_count))
    });
    of_nodes(text, nodes, families::OLDEST, |node| {
        node.oldest_wait_seconds
    });
}

fn of_nodes(
    text: &mut Exposition,
    nodes: &[NodeRow],
    family: text::Family,
    of: fn(&NodeRow) -> Option<i64>,
) {
    let samples = nodes
        .iter()
        .filter_map(|node| Some(Sample::new([("node", &node.name)], of(node)?)));
    text.family(family, samples);
}

fn tasks(text: &mut Exposition, report: &StatusReport) {
    let is_read = |kind: TaskKind| {
        !report
            .head
            .unread_tasks
            .iter()
            .any(|unread| unread.kind == kind)
    };
    // A kind of which a part was read has no sum, and the series of what was read.
    let is_seen = |kind: TaskKind| {
        !report
            .head
            .unread_tasks
            .iter()
            .any(|unread| unread.kind == kind && unread.nothing_read == NothingRead::Yes)
    };
    let of_kind = |kind: TaskKind| -> usize {
        report
            .task_counts
            .iter()
            .filter(|count| count.kind == kind)
            .map(|count| count.number)
            .sum()
    };
    text.family(
        families::UNFINISHED,
        TaskKind::ALL
            .into_iter()
            .filter(|kind| is_read(*kind))
            .map(|kind| Sample::count([("kind", kind.as_str())], of_kind(kind))),
    );
    text.family(
        families::TASKS,
        report
            .task_counts
            .iter()
            .filter(|count| is_seen(count.kind))
            .map(|count| {
                let labels = [
                    ("node", count.node.as_deref().unwrap_or_default()),
                    ("kind", count.kind.as_str()),
                    ("phase", count.phase),
                ];
                Sample::count(labels, count.number)
            }),
    );
}
