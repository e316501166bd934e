//! Puts the objects of a case into a cluster whose time is not the case's.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use velero_slots::capture::Capture;
use velero_slots::collect::files::{self, Limits};

use crate::control_plane::ControlPlane;

/// The objects and logs of a moment.
pub(crate) struct Moment {
    objects: Vec<Value>,
    logs: Vec<String>,
}

impl Moment {
    /// Reads a folder of objects as `--from` does.
    pub(crate) fn read(folder: &Path) -> Self {
        let capture = files::read(
            &[folder.to_owned()],
            &mut std::io::empty(),
            &Limits::default(),
        )
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        Self::of_capture(&capture)
    }

    fn of_capture(capture: &Capture) -> Self {
        let objects = capture
            .listings
            .iter()
            .flat_map(|listing| listing.outcome.items())
            .map(|item| {
                serde_json::from_str(capture.json(item)).unwrap_or_else(|error| {
                    panic!("{}: {error}", capture.origin(item));
                })
            })
            .collect();
        Self {
            objects,
            logs: capture.logs.iter().map(|log| log.body.clone()).collect(),
        }
    }

    /// Moves every time in every object and log.
    pub(crate) fn later(mut self, by: SignedDuration) -> Self {
        for object in &mut self.objects {
            shift(object, by);
        }
        for log in &mut self.logs {
            *log = shifted(log, by);
        }
        self
    }

    /// Lays the objects under the API server. Pod logs come from KWOK, to which the nodes point then; it
    /// serves one log for all pods.
    pub(crate) fn lay(mut self, plane: &ControlPlane) {
        for object in &mut self.objects {
            if object["kind"] == "Node" {
                object["status"]["addresses"] =
                    json!([{"type": "InternalIP", "address": "127.0.0.1"}]);
                object["status"]["daemonEndpoints"] =
                    json!({"kubeletEndpoint": {"Port": plane.kubelet_port()}});
            }
        }
        plane.etcd().put(&self.objects);
        // The time of the container runtime, by which the API server leaves out what is older than was asked for.
        let written = plane.api().now();
        let lines: String = self
            .logs
            .iter()
            .flat_map(|log| log.lines())
            .map(|line| format!("{written:.9} stdout F {line}\n"))
            .collect();
        std::fs::write(plane.pod_log(), lines).expect("the file is ours");
    }
}

/// Moves every time in the strings of a value.
pub(crate) fn shift(value: &mut Value, by: SignedDuration) {
    match value {
        Value::String(text) => *text = shifted(text, by),
        Value::Array(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shift(field, by)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Moves every time in a text, to the second: whatever stands behind the seconds stays.
fn shifted(text: &str, by: SignedDuration) -> String {
    const SHAPE: &str = "0000-00-00T00:00:00";
    let fits = |bytes: &[u8]| {
        bytes.len() == SHAPE.len()
            && bytes
                .iter()
                .zip(SHAPE.bytes())
                .all(|(&byte, shape)| match shape {
                    b'0' => byte.is_ascii_digit(),
                    _ => byte == shape,
                })
    };
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let head = rest.get(..SHAPE.len());
        let moved = head
            .filter(|head| fits(head.as_bytes()))
            .and_then(|head| format!("{head}Z").parse::<Timestamp>().ok())
            .and_then(|time| time.checked_add(by).ok());
        let taken = if let Some(time) = moved {
            let time = time.to_string();
            result.push_str(time.trim_end_matches('Z'));
            SHAPE.len()
        } else {
            let first = rest.chars().next().map_or(1, char::len_utf8);
            result.push_str(&rest[..first]);
            first
        };
        rest = &rest[taken..];
    }
    result
}

#[test]
fn times_move_and_nothing_else_does() {
    let day = SignedDuration::from_hours(24);
    assert_eq!(
        shifted(
            "time=\"2026-01-31T03:04:05Z\" ü 2026-01-31 2026-01-31T03:04:05.123456Z",
            day
        ),
        "time=\"2026-02-01T03:04:05Z\" ü 2026-01-31 2026-02-01T03:04:05.123456Z"
    );
}
