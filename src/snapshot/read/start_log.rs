//! What a node-agent's log says of its start.

use jiff::{SignedDuration, Timestamp};

use super::super::StartLog;
use super::super::log_line::LogLine;

/// How much earlier than the container a process may seem to start: the kubelet notes the start of the
/// container after the process has begun to log, and cuts the time to the second.
const START_TOLERANCE: SignedDuration = SignedDuration::from_secs(10);

/// Reads the markers of the last process that the log shows. Returns `None` when the log is that of an
/// earlier process than the one that started at `started_at`.
///
/// Only a line that names the number sets the limit: with `globalConfig` alone, Velero logs none
/// (v1.17.2 pkg/cmd/cli/nodeagent/server.go, `getDataPathConcurrentNum`).
pub(super) fn start_log(body: &str, started_at: Option<Timestamp>) -> Option<StartLog> {
    let mut start = StartLog::default();
    for line in body.lines().filter(|line| may_be_marker(line)) {
        let Some(line) = LogLine::parse(line) else {
            continue;
        };
        if let Some(version) = line
            .message
            .strip_prefix("Starting Velero node-agent server")
        {
            start = StartLog {
                process_start: line.time,
                version: version.split_whitespace().next().map(str::to_owned),
                ..StartLog::default()
            };
        } else if let Some(limit) = limit_of(&line.message) {
            start.limit = Some(limit);
        } else if let Some(queue) = number_after(&line.message, "VGDP loads are constrained with ")
        {
            start.prepare_queue = Some(queue);
        } else if line.message.starts_with("Failed to start VGDP counter") {
            // v1.17.0 server.go: the loads are not constrained in spite of the line before.
            start.prepare_queue = Some(0);
        }
    }
    let is_earlier = |process: Timestamp, container: Timestamp| {
        container.duration_since(process) > START_TOLERANCE
    };
    match (start.process_start, started_at) {
        (Some(process), Some(container)) if is_earlier(process, container) => None,
        (Some(_) | None, Some(_) | None) => Some(start),
    }
}

/// A search before the parse: logs are long, and the markers stand in a few lines of them.
fn may_be_marker(line: &str) -> bool {
    [
        "Starting Velero node-agent server",
        " number ",
        "VGDP ",
        "No node-agent configMap is specified",
        "configMap",
        "onfigs are not found",
    ]
    .iter()
    .any(|marker| line.contains(marker))
}

/// Reads the limit that a line states. Later lines of one start overrule earlier ones: "Global number 0 is
/// invalid" is followed by another line if a rule of `perNodeConfig` may apply.
fn limit_of(message: &str) -> Option<i64> {
    let states_default = [
        // v1.15 on: no flag.
        "No node-agent configMap is specified",
        // v1.15, v1.16: the ConfigMap is unusable. From v1.17 the process ends after this line.
        "Failed to get node agent configs",
        // v1.14 and v1.13: the ConfigMap is not there.
        "Node agent configs are not found",
        "Concurrency configs are not found",
    ];
    if states_default
        .iter()
        .any(|marker| message.starts_with(marker))
    {
        return Some(1);
    }
    [
        "Use the per node number ",
        "use the global number ",
        "use the default number ",
        "use the default value ",
    ]
    .iter()
    .find_map(|marker| number_after(message, marker))
}

fn number_after(message: &str, marker: &str) -> Option<i64> {
    let at = message.find(marker)? + marker.len();
    let rest = message.get(at..)?;
    let end = rest
        .find(|character: char| !character.is_ascii_digit() && character != '-')
        .unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// Returns the time of the last line that has one, and that of the one before it.
pub(super) fn last_times(body: &str) -> (Option<Timestamp>, Option<Timestamp>) {
    let mut times = body
        .lines()
        .rev()
        .filter_map(|line| LogLine::parse(line).and_then(|line| line.time));
    (times.next(), times.next())
}
