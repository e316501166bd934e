//! What the metrics of a node-agent say: whether a worker is busy, and how many tasks ask for a slot.
//!
//! controller-runtime's registry is served on port 8080 of every release, Velero's own on 8085; neither shows
//! the map of slots or the limit; Velero's own counts the tasks that ended. A task that is refused a slot comes back after a fixed pause, and each time
//! counts in `controller_runtime_reconcile_total{result="requeue_after"}`: its rate between two looks, times
//! the pause, is the number of tasks that wait. That works at every log level.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::capture::MetricsPage;
use crate::velero::TaskKind;

/// What the metrics of one agent say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentMetrics {
    /// When the first page was read.
    pub first: Timestamp,
    /// When the last page was read; the same as `first` if there is one only.
    pub last: Timestamp,
    /// `process_start_time_seconds`.
    pub process_start: Option<Timestamp>,
    /// The workers, by kind.
    pub workers: BTreeMap<TaskKind, WorkerMetrics>,
    /// How many tasks of a kind have ended since the process started, by Velero's own counters: DataUploads and
    /// DataDownloads that succeeded, failed or were cancelled, and pod volume backups.
    pub ended: BTreeMap<TaskKind, i64>,
    /// How many pages end before all that is read of them: what they lack is not known, and no zero.
    pub cut: usize,
}

/// What the metrics say of the one worker of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerMetrics {
    /// `controller_runtime_active_workers` on the last page.
    pub active: Option<i64>,
    /// `workqueue_longest_running_processor_seconds` on the last page.
    pub longest_running_seconds: Option<i64>,
    /// How many reconciles ended with `requeue_after` between the pages; `None` without two of them.
    pub requeued: Option<i64>,
    /// How many reconciles ended at all between the pages; `None` without two of them.
    pub reconciled: Option<i64>,
}

impl AgentMetrics {
    /// Returns how many seconds lie between the two pages; `None` if there is one only.
    #[must_use]
    pub fn span_seconds(&self) -> Option<i64> {
        let seconds = self.last.duration_since(self.first).as_secs();
        (seconds > 0).then_some(seconds)
    }

    /// Returns how many tasks of a kind ask for a slot (or for room in the prepare queue), if two pages that
    /// lie far enough apart tell.
    #[must_use]
    pub fn waiting(&self, kind: TaskKind, requeue_seconds: i64) -> Option<i64> {
        let span = self
            .span_seconds()
            .filter(|span| *span >= requeue_seconds)?;
        let requeued = self.workers.get(&kind)?.requeued?;
        // Rounded to the nearest: a task whose timer fires at the edge counts once more or once less.
        let twice = requeued
            .saturating_mul(requeue_seconds)
            .saturating_mul(2)
            .checked_div(span)?;
        Some(twice.saturating_add(1) / 2)
    }
}

/// Reads the pages of one agent, in any order. `None` if none of them holds anything that is known.
#[must_use]
pub fn read(pages: &[&MetricsPage]) -> Option<AgentMetrics> {
    let (of_velero, of_runtime): (Vec<&MetricsPage>, Vec<&MetricsPage>) =
        pages.iter().partition(|page| page.port == VELERO_PORT);
    let velero = of_registry(&of_velero);
    let runtime = of_registry(&of_runtime);
    // Each registry has its own pages. One of an earlier process says nothing about the later.
    match (runtime, velero) {
        (Some(runtime), Some(velero))
            if runtime.process_start.is_some() && runtime.process_start == velero.process_start =>
        {
            Some(AgentMetrics {
                ended: velero.ended,
                cut: runtime.cut.saturating_add(velero.cut),
                ..runtime
            })
        }
        (Some(runtime), other) => Some(AgentMetrics {
            cut: runtime
                .cut
                .saturating_add(other.map_or(0, |velero| velero.cut)),
            ..runtime
        }),
        (None, velero) => velero,
    }
}

/// Reads the pages of one registry.
fn of_registry(pages: &[&MetricsPage]) -> Option<AgentMetrics> {
    let mut pages: Vec<(Timestamp, Page)> = pages
        .iter()
        .map(|page| (page.taken_at, Page::parse(&page.body)))
        .filter(|(_, page)| {
            page.process_start.is_some() || !page.values.is_empty() || !page.ended.is_empty()
        })
        .collect();
    pages.sort_by_key(|(time, _)| *time);
    let (last_at, last) = pages.last().map(|(time, page)| (time, page))?;
    // Counters of another process say nothing, nor do those of a page that does not tell whose they are.
    let (first_at, first) = pages
        .iter()
        .map(|(time, page)| (time, page))
        .find(|(_, page)| page.process_start.is_some() && page.process_start == last.process_start)
        .unwrap_or((last_at, last));
    let counts = first.has_all_counts && last.has_all_counts;
    let mut workers: BTreeMap<TaskKind, WorkerMetrics> = BTreeMap::new();
    for kind in TaskKind::ALL {
        let difference = |series: Series| {
            let after = last.values.get(&(kind, series))?;
            // A series appears with its first count.
            let before = first.values.get(&(kind, series)).copied().unwrap_or(0.0);
            (counts && first_at < last_at)
                .then(|| whole(after - before))
                .flatten()
                .filter(|count| *count >= 0)
        };
        let now = |series: Series| last.values.get(&(kind, series)).and_then(|v| whole(*v));
        let is_there = [Series::Active, Series::LongestRunning, Series::Reconciled]
            .iter()
            .any(|series| last.values.contains_key(&(kind, *series)));
        if !is_there {
            continue;
        }
        let reconciled = difference(Series::Reconciled);
        workers.insert(
            kind,
            WorkerMetrics {
                active: now(Series::Active),
                longest_running_seconds: now(Series::LongestRunning),
                // Nothing came back that was never counted.
                requeued: difference(Series::Requeued).or(reconciled.map(|_| 0)),
                reconciled,
            },
        );
    }
    Some(AgentMetrics {
        first: *first_at,
        last: *last_at,
        process_start: last.process_start,
        workers,
        cut: pages.iter().filter(|(_, page)| page.is_cut()).count(),
        ended: last
            .ended
            .iter()
            // The last families of a page tell that those before are whole.
            .filter(|_| last.process_start.is_some())
            .filter_map(|(kind, count)| Some((*kind, whole(*count)?)))
            .collect(),
    })
}

/// The series that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Series {
    Active,
    LongestRunning,
    Requeued,
    Reconciled,
}

/// One page: the few values of it that are read.
#[derive(Clone, Debug, Default, PartialEq)]
struct Page {
    process_start: Option<Timestamp>,
    values: BTreeMap<(TaskKind, Series), f64>,
    /// Whether a family comes after that of the reconciles: families are sorted by their names.
    has_all_counts: bool,
    ended: BTreeMap<TaskKind, f64>,
}

impl Page {
    /// Whether it ends before all that is read of it: the start of the process stands near the end.
    fn is_cut(&self) -> bool {
        self.process_start.is_none()
            || (!self.has_all_counts
                && self
                    .values
                    .keys()
                    .any(|(_, series)| *series == Series::Reconciled))
    }

    /// Reads a page in Prometheus' text format. A page that was cut loses the line that it was cut in; lines
    /// that are not understood are passed over.
    fn parse(body: &str) -> Self {
        let mut page = Self::default();
        let whole_lines = body
            .rfind('\n')
            .map_or("", |end| body.get(..end).unwrap_or_default());
        for line in whole_lines.lines() {
            page.line(line);
        }
        page
    }

    fn line(&mut self, line: &str) {
        let line = line.trim();
        self.has_all_counts |= family(line) > COUNTS;
        if let Some((kind, rest)) = ENDED_SERIES
            .iter()
            .find_map(|(name, kind)| Some((*kind, line.strip_prefix(name)?)))
        {
            if let Some((_, value)) = sample(rest) {
                *self.ended.entry(kind).or_insert(0.0) += value;
            }
            return;
        }
        let wanted = [
            "process_start_time_seconds",
            "controller_runtime_active_workers",
            COUNTS,
            "workqueue_longest_running_processor_seconds",
        ]
        .into_iter()
        .find(|name| line.starts_with(name));
        let Some(name) = wanted else { return };
        let Some((labels, value)) = line.get(name.len()..).and_then(sample) else {
            return;
        };
        let label = |wanted: &str| {
            labels
                .iter()
                .find(|(key, _)| key == wanted)
                .map(|(_, value)| value.as_str())
        };
        let kind = ["controller", "name"]
            .iter()
            .find_map(|key| TaskKind::parse(label(key)?));
        let mut add = |series: Series| {
            if let Some(kind) = kind {
                *self.values.entry((kind, series)).or_insert(0.0) += value;
            }
        };
        match name {
            "process_start_time_seconds" => {
                self.process_start = SignedDuration::try_from_secs_f64(value)
                    .ok()
                    .and_then(|since| Timestamp::UNIX_EPOCH.checked_add(since).ok());
            }
            "controller_runtime_active_workers" => add(Series::Active),
            COUNTS => {
                add(Series::Reconciled);
                if label("result") == Some("requeue_after") {
                    add(Series::Requeued);
                }
            }
            _ => add(Series::LongestRunning),
        }
    }
}

/// The family that counts reconciles.
const COUNTS: &str = "controller_runtime_reconcile_total";

/// Returns the name of the family that a line is about; empty for other lines.
fn family(line: &str) -> &str {
    let line = ["# HELP ", "# TYPE "]
        .iter()
        .find_map(|before| line.strip_prefix(before))
        .unwrap_or(line);
    let end = line.find([' ', '\t', '{']).unwrap_or(line.len());
    line.get(..end)
        .filter(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))
        .unwrap_or_default()
}

/// Where Velero serves its own registry.
const VELERO_PORT: u16 = 8085;

/// Velero's counters of tasks that ended on a node (v1.12.4 … main `pkg/metrics/metrics.go`).
const ENDED_SERIES: [(&str, TaskKind); 7] = [
    ("podVolume_data_upload_success_total", TaskKind::DataUpload),
    ("podVolume_data_upload_failure_total", TaskKind::DataUpload),
    ("podVolume_data_upload_cancel_total", TaskKind::DataUpload),
    (
        "podVolume_data_download_success_total",
        TaskKind::DataDownload,
    ),
    (
        "podVolume_data_download_failure_total",
        TaskKind::DataDownload,
    ),
    (
        "podVolume_data_download_cancel_total",
        TaskKind::DataDownload,
    ),
    (
        "podVolume_pod_volume_backup_dequeue_count",
        TaskKind::PodVolumeBackup,
    ),
];

type Labels = Vec<(String, String)>;

/// Reads what follows a series' name: labels in braces or none, a value, perhaps a time.
fn sample(rest: &str) -> Option<(Labels, f64)> {
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None if rest.starts_with([' ', '\t']) => (Vec::new(), rest),
        // A longer name that begins alike.
        None => return None,
    };
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some((labels, value))
}

fn labels(text: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        labels.push((key.trim().to_owned(), value));
        rest = after;
    }
}

/// Reads up to the closing quote, with the three escapes of the format.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

/// Rounds down to whole numbers; `None` for what is out of range.
fn whole(value: f64) -> Option<i64> {
    SignedDuration::try_from_secs_f64(value)
        .ok()
        .map(|duration| duration.as_secs())
}

#[cfg(test)]
mod tests;
