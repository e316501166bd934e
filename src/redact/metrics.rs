//! Metrics: the series that are read, with the labels that are read.

use crate::velero::TaskKind;

/// The series that [`crate::snapshot`] reads.
const SERIES: [&str; 11] = [
    "podVolume_data_upload_success_total",
    "podVolume_data_upload_failure_total",
    "podVolume_data_upload_cancel_total",
    "podVolume_data_download_success_total",
    "podVolume_data_download_failure_total",
    "podVolume_data_download_cancel_total",
    "podVolume_pod_volume_backup_dequeue_count",
    "process_start_time_seconds",
    "controller_runtime_active_workers",
    "controller_runtime_reconcile_total",
    "workqueue_longest_running_processor_seconds",
];

/// How a reconcile can end (controller-runtime `pkg/internal/controller`).
const RESULTS: [&str; 4] = ["success", "error", "requeue", "requeue_after"];

/// Returns a page with nothing else than what is read of it.
pub(super) fn metrics(body: &str) -> String {
    // A line without an end was cut, and is not read.
    let whole = body
        .rfind('\n')
        .and_then(|end| body.get(..=end))
        .unwrap_or_default();
    whole.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<String> {
    let line = line.trim();
    let name = SERIES.into_iter().find(|name| line.starts_with(name))?;
    let rest = line.get(name.len()..)?;
    let (labels, value) = match rest.strip_prefix('{') {
        Some(inside) => inside.rsplit_once('}')?,
        None if rest.starts_with([' ', '\t']) => ("", rest),
        // A longer name that begins alike.
        None => return None,
    };
    let value: f64 = value.split_whitespace().next()?.parse().ok()?;
    let label = |key: &str| {
        labels.split(',').find_map(|pair| {
            let value = pair.trim().strip_prefix(key)?.strip_prefix("=\"")?;
            value.strip_suffix('"')
        })
    };
    let mut kept = Vec::new();
    for key in ["controller", "name"] {
        if let Some(kind) = label(key).and_then(TaskKind::parse) {
            kept.push(format!("{key}=\"{}\"", kind.as_str().to_ascii_lowercase()));
        }
    }
    if let Some(result) = label("result").filter(|result| RESULTS.contains(result)) {
        kept.push(format!("result=\"{result}\""));
    }
    let needs_a_kind = !name.starts_with("podVolume_") && name != "process_start_time_seconds";
    if kept.is_empty() && needs_a_kind {
        return None;
    }
    let labels = if kept.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", kept.join(","))
    };
    Some(format!("{name}{labels} {value}\n"))
}
