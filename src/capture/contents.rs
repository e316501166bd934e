//! What a capture holds, told without opening it: kinds, numbers and bytes, what was refused, what was cut.

use jiff::Timestamp;
use serde::Serialize;

use super::{Capture, Cut, LINES_LEFT_OUT, Outcome, Previous, ResourceKind, Scope};

/// How many bytes of one log are kept: as many as are read of one from a cluster.
pub const MOST_LOG_BYTES: usize = 16 << 20;

/// How many bytes of the beginning of a longer log are kept, where an agent tells its version and its limit.
const HEAD_BYTES: usize = 128 << 10;

/// What a capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// What was read, one entry for each answer.
    pub taken: Vec<Taken>,
    /// What was refused.
    pub refused: Vec<Lacking>,
    /// What was read only in part.
    pub cut: Vec<Lacking>,
    /// The logs.
    pub logs: Vec<LogContents>,
    /// The pages of metrics.
    pub metrics: Vec<MetricsContents>,
}

/// The objects of one answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    /// The plural resource name.
    pub resource: &'static str,
    /// Whose: a namespace, `cluster`, `selected`, or `files`.
    pub of: String,
    /// How many.
    pub objects: usize,
    /// Their size as JSON.
    pub bytes: usize,
}

/// Something that is not there, or not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lacking {
    /// The plural resource name, or what else it concerns.
    pub resource: String,
    /// Why.
    pub reason: &'static str,
}

/// One log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogContents {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container's name.
    pub container: String,
    /// Whether it is the log of the container before the present one.
    pub previous: bool,
    /// How many lines.
    pub lines: usize,
    /// Its size.
    pub bytes: usize,
    /// The time of the first line that has one.
    pub from: Option<Timestamp>,
    /// The time of the last line that has one.
    pub to: Option<Timestamp>,
    /// Whether lines were left out.
    pub cut: bool,
}

/// One page of metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricsContents {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// Its size.
    pub bytes: usize,
}

impl Capture {
    /// Tells what the capture holds.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let mut contents = Contents::default();
        for listing in &self.listings {
            let lacking = |reason: super::GapReason| Lacking {
                resource: listing.resource.plural().to_owned(),
                reason: reason.as_str(),
            };
            match &listing.outcome {
                Outcome::Listed(_) => {}
                Outcome::Cut { reason, .. } => contents.cut.push(lacking(*reason)),
                Outcome::Refused { reason, .. } => {
                    contents.refused.push(lacking(*reason));
                    continue;
                }
            }
            contents
                .taken
                .push(self.taken(listing.resource, &listing.scope, &listing.outcome));
        }
        contents
            .cut
            .extend(self.problems.iter().map(|problem| Lacking {
                resource: problem.resource.clone(),
                reason: problem.reason.as_str(),
            }));
        contents.logs = self
            .logs
            .iter()
            .map(|log| LogContents {
                namespace: log.namespace.clone(),
                pod: log.pod.clone(),
                container: log.container.clone(),
                previous: log.previous == Previous::Yes,
                lines: log.body.lines().count(),
                bytes: log.body.len(),
                from: log.body.lines().find_map(time_of),
                to: log.body.lines().rev().find_map(time_of),
                cut: log.cut == Cut::BeginningLeftOut || log.body.contains(LINES_LEFT_OUT),
            })
            .collect();
        contents.metrics = self
            .metrics
            .iter()
            .map(|page| MetricsContents {
                namespace: page.namespace.clone(),
                pod: page.pod.clone(),
                bytes: page.body.len(),
            })
            .collect();
        contents
    }

    fn taken(&self, resource: ResourceKind, scope: &Scope, outcome: &Outcome) -> Taken {
        let items = outcome.items();
        Taken {
            resource: resource.plural(),
            of: match scope {
                Scope::Namespace(namespace) => namespace.clone(),
                Scope::Cluster => "cluster".to_owned(),
                Scope::Selected { .. } => "selected".to_owned(),
                Scope::FileList | Scope::FileObjects => "files".to_owned(),
            },
            objects: items.len(),
            bytes: items.iter().map(|item| self.json(item).len()).sum(),
        }
    }

    /// Cuts the middle out of logs that are longer than `most` bytes; the place is marked in the log.
    pub fn bound_logs(&mut self, most: usize) {
        for log in &mut self.logs {
            if log.body.len() <= most {
                continue;
            }
            let head_end = log
                .body
                .get(..boundary(&log.body, HEAD_BYTES.min(most / 4)))
                .and_then(|head| head.rfind('\n'))
                .unwrap_or(0);
            let from = boundary(&log.body, log.body.len().saturating_sub(most - most / 4));
            let tail = log.body.get(from..).unwrap_or_default();
            // The first line of the rest is most likely cut.
            let tail = tail.split_once('\n').map_or("", |(_, tail)| tail);
            let head = log.body.get(..head_end).unwrap_or_default();
            log.body = format!("{head}\n{LINES_LEFT_OUT}\n{tail}");
        }
    }
}

/// The last place not behind `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// The time of a line of Velero, in either format.
fn time_of(line: &str) -> Option<Timestamp> {
    ["time=\"", "\"time\":\""].iter().find_map(|before| {
        let (_, rest) = line.split_once(before)?;
        rest.split_once('"')?.0.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use crate::capture::{Capture, Cut, LINES_LEFT_OUT, LogFile, Previous};

    fn with_log(body: String) -> Capture {
        let mut capture = Capture::from_objects([serde_json::json!(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
        )]);
        capture.logs.push(LogFile {
            namespace: "velero".to_owned(),
            pod: "p".to_owned(),
            container: "c".to_owned(),
            previous: Previous::No,
            cut: Cut::Whole,
            body,
        });
        capture
    }

    #[test]
    fn contents_name_numbers_bytes_and_the_time_that_a_log_covers() {
        let capture = with_log(
            "time=\"2026-01-02T03:00:00Z\" msg=a\nx\n{\"time\":\"2026-01-02T03:04:05Z\"}\n"
                .to_owned(),
        );
        let contents = capture.contents();
        let node = contents.taken.first().unwrap();
        assert_eq!(
            (node.resource, node.objects, node.of.as_str()),
            ("nodes", 1, "files")
        );
        assert!(node.bytes > 0);
        let log = contents.logs.first().unwrap();
        assert_eq!(log.lines, 3);
        assert_eq!(log.from, "2026-01-02T03:00:00Z".parse().ok());
        assert_eq!(log.to, "2026-01-02T03:04:05Z".parse().ok());
        assert!(!log.cut);
    }

    #[test]
    fn a_long_log_keeps_its_beginning_and_its_end_and_says_so() {
        let lines: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let mut capture = with_log(lines);
        capture.bound_logs(1000);
        let body = &capture.logs.first().unwrap().body;
        assert!(body.len() < 1100, "{}", body.len());
        assert!(body.starts_with("line 0\n"));
        assert!(body.ends_with("line 999\n"));
        assert!(body.contains(LINES_LEFT_OUT));
        assert!(capture.contents().logs.first().unwrap().cut);
        let before = capture.clone();
        capture.bound_logs(1 << 20);
        assert_eq!(capture, before);
    }
}
