//! Which of two readings of the same thing is the older one, whatever the order of the inputs.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::Value;

use super::super::printable::printable;
use super::{Intake, Key, Seen};
use crate::capture::{GapReason, Item, Problem};

/// Lines at the end of a log that are searched for a time: some have none, such as those of a panic.
const LAST_LINES: usize = 400;

impl Intake {
    /// Compares the object that is kept under a name with one that was just read, where their resource versions do
    /// not tell: which one tells of the later time. In one text the later one is the newer. Of two texts that tell
    /// of no different times one is kept, always the same, and a problem says so.
    pub(super) fn compare_by_time(
        &mut self,
        key: &Key,
        old: Seen,
        new: &Item,
        body: &str,
    ) -> Ordering {
        let kept = self
            .listings
            .get(old.listing)
            .and_then(|building| building.items.get(old.item)?.as_ref());
        let Some(kept) = kept.filter(|kept| kept.text != new.text) else {
            return Ordering::Less;
        };
        let kept = self
            .texts
            .get(kept.text)
            .and_then(|text| text.body.get(kept.span.clone()))
            .unwrap_or_default();
        let read = body.get(new.span.clone()).unwrap_or_default();
        let of = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let values = (of(kept), of(read));
        if values.0 == values.1 {
            return Ordering::Equal;
        }
        if let (Some(kept), Some(read)) = (newest_time(&values.0), newest_time(&values.1))
            && kept != read
        {
            return kept.cmp(&read);
        }
        let always_the_same = kept.cmp(read);
        let (resource, namespace, name) = key;
        let what = printable(&format!("{namespace}/{name}"));
        self.problem(Problem {
            resource: resource.plural().to_owned(),
            reason: GapReason::Partial,
            message: format!(
                "{} {} is in the input twice and differs, and nothing tells which is newer: one of them is read",
                resource.kind(),
                what.trim_start_matches('/')
            ),
        });
        always_the_same
    }
}

/// Returns the newest time at which an object tells that something happened to it: of its managedFields, its
/// creation and its status. What is to come, such as an expiration, is none of them.
fn newest_time(object: &Value) -> Option<Timestamp> {
    let metadata = object.get("metadata");
    let managed = metadata
        .and_then(|metadata| metadata.get("managedFields")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.get("time"));
    let created = metadata.and_then(|metadata| metadata.get("creationTimestamp"));
    let status = object.get("status").map(newest_inside);
    managed
        .chain(created)
        .filter_map(time)
        .chain(status.flatten())
        .max()
}

fn newest_inside(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(_) => time(value),
        Value::Array(items) => items.iter().filter_map(newest_inside).max(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "expiration")
            .filter_map(|(_, field)| newest_inside(field))
            .max(),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// Whether a log ends before another of the same container. Of two that end at the same time the longer one is
/// the later; of two alike in that, always the same one.
pub(super) fn ends_before(log: &str, other: &str) -> bool {
    let end = |log: &str| log.lines().rev().take(LAST_LINES).find_map(line_time);
    match (end(log), end(other)) {
        (Some(log), Some(other)) if log != other => log < other,
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (Some(_) | None, Some(_) | None) => (log.len(), log) < (other.len(), other),
    }
}

/// Returns the time of a line of logrus, as text or JSON, or of one that kubectl put a time before.
fn line_time(line: &str) -> Option<Timestamp> {
    let quoted = |before: &str| {
        let (_, rest) = line.split_once(before)?;
        rest.split_once('"')?.0.parse().ok()
    };
    quoted("time=\"")
        .or_else(|| quoted("\"time\":\""))
        .or_else(|| line.split_once(' ')?.0.parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ends_before, newest_time};

    #[test]
    fn the_newest_time_of_an_object_is_of_what_happened() {
        let object = json!({
            "metadata": {
                "creationTimestamp": "2026-01-02T01:00:00Z",
                "managedFields": [{"time": "2026-01-02T02:00:00Z"}],
                "deletionTimestamp": "2027-01-01T00:00:00Z",
            },
            "spec": {"at": "2028-01-01T00:00:00Z"},
            "status": {
                "expiration": "2029-01-01T00:00:00Z",
                "conditions": [{"lastTransitionTime": "2026-01-02T03:00:00Z"}],
            },
        });
        assert_eq!(
            newest_time(&object).map(|time| time.to_string()).as_deref(),
            Some("2026-01-02T03:00:00Z")
        );
        assert_eq!(newest_time(&json!({"metadata": {"name": "x"}})), None);
    }

    #[test]
    fn of_two_logs_the_one_that_ends_later_is_the_later_one() {
        let early = "time=\"2026-01-02T03:00:00Z\" level=info msg=a\n".repeat(3);
        let late = "{\"msg\":\"b\",\"time\":\"2026-01-02T03:00:01Z\"}\ngoroutine 1\n";
        assert!(ends_before(&early, late));
        assert!(!ends_before(late, &early));
        assert!(ends_before("", late) && !ends_before(late, ""));
        assert!(!ends_before("a", "a"));
        assert!(ends_before(
            "2026-01-02T03:00:00Z a\n",
            "2026-01-02T03:00:00Z a\nb\n"
        ));
    }
}
