//! Captures of several times.

use super::*;
use crate::capture::GapReason;

/// A capture of a time with one DataUpload at so many bytes, and pods.
fn at(time: &str, bytes: u64, pods: &[&str], scope: &str) -> String {
    let namespace = if scope == APP { "app" } else { "velero" };
    let pods: Vec<String> = pods
        .iter()
        .map(|name| pod(name).replace("velero", namespace))
        .collect();
    format!(
        r#"{{"apiVersion":"velero-slots/v1","kind":"Capture","formatVersion":1,
        "manifest":{{"takenAt":"2026-01-02T{time}Z","nowFrom":"server","namespace":"velero","toolVersion":"0.1.0"}},
        "listings":[{{"resource":"datauploads","group":"velero.io","version":"v2alpha1",
            "scope":{{"type":"namespace","namespace":"velero"}},"items":[
            {{"apiVersion":"velero.io/v2alpha1","kind":"DataUpload","metadata":{{"name":"du","namespace":"velero","resourceVersion":"7"}},
              "status":{{"phase":"InProgress","progress":{{"bytesDone":{bytes}}}}}}}]}},
          {{"resource":"pods","group":"","version":"v1","scope":{scope},"items":[{}]}}],
        "logs":[{{"namespace":"velero","pod":"p","container":"c","previous":false,"cut":true,"body":"{time}"}}],
        "problems":[]}}"#,
        pods.join(",")
    )
}

const VELERO: &str = r#"{"type":"namespace","namespace":"velero"}"#;
const APP: &str = r#"{"type":"namespace","namespace":"app"}"#;

fn looks(capture: &Capture) -> Vec<(String, bool)> {
    capture
        .earlier
        .iter()
        .map(|look| {
            let json = capture.json(&look.item);
            (look.taken_at.to_string(), json.contains("\"bytesDone\":5"))
        })
        .collect()
}

#[test]
fn the_newest_capture_tells_how_things_stand_and_earlier_ones_what_tasks_were_like() {
    let before = at("03:00:00", 5, &["gone", "stays"], VELERO);
    let after = at("03:20:00", 9, &["stays"], VELERO);
    for text in [format!("{before}\n{after}"), format!("{after}\n{before}")] {
        let capture = from_text(&text).unwrap();
        assert_eq!(
            told(&capture),
            [
                "datauploads namespace whole: du",
                "pods namespace whole: stays"
            ]
        );
        assert!(items_of(&capture, capture.listings[0].resource)[0].contains("\"bytesDone\":9"));
        assert_eq!(looks(&capture), [("2026-01-02T03:00:00Z".to_owned(), true)]);
        assert_eq!(capture.logs[0].body, "03:20:00");
        assert_eq!(
            capture.manifest.taken_at,
            Some("2026-01-02T03:20:00Z".parse().unwrap())
        );
    }
}

#[test]
fn an_old_list_without_a_newer_one_proves_nothing_about_what_is_missing_now() {
    let before = at("03:00:00", 5, &["a"], APP);
    let after = at("03:20:00", 5, &["b"], VELERO);
    let capture = from_text(&format!("{before}\n{after}")).unwrap();
    assert_eq!(
        told(&capture),
        [
            "pods namespace cut partial: a",
            "datauploads namespace whole: du",
            "pods namespace whole: b"
        ]
    );
    let Outcome::Cut {
        reason, message, ..
    } = &capture.listings[0].outcome
    else {
        panic!("the old list still claims to be whole");
    };
    assert_eq!(*reason, GapReason::Partial);
    assert!(message.contains("2026-01-02T03:00:00Z"), "{message}");
}

#[test]
fn captures_taken_within_a_minute_are_one_look() {
    let text = format!(
        "{}\n{}",
        at("03:00:00", 5, &["a"], APP),
        at("03:00:59", 5, &["b"], VELERO)
    );
    let capture = from_text(&text).unwrap();
    assert_eq!(
        told(&capture),
        [
            "datauploads namespace whole: ",
            "pods namespace whole: a",
            "datauploads namespace whole: du",
            "pods namespace whole: b"
        ]
    );
}
