//! `-w` on a terminal: frames that are drawn over each other, and what is left of them.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::plugin::plugin;
use crate::pty::{Session, Size, Streams};
use crate::test_server::{Asked, Reply, Server};

const UPLOADS: &str = "/apis/velero.io/v2alpha1/namespaces/velero/datauploads";
const WINDOW: Size = Size {
    columns: 100,
    rows: 24,
};
const FRAME: &str = "\u{1b}[?2026h";

fn upload(node: usize, version: usize, phase: &str) -> String {
    format!(
        r#"{{"metadata":{{"namespace":"velero","name":"du-{node:02}","resourceVersion":"{version}","creationTimestamp":"2026-01-02T03:00:00Z"}},"status":{{"phase":"{phase}","node":"node-{node:02}","startTimestamp":"2026-01-02T03:01:00Z"}}}}"#
    )
}

/// A cluster with a task on each of some nodes. When it is told, the first task becomes another.
fn cluster(nodes: usize) -> (Server, Arc<AtomicBool>) {
    let is_changed = Arc::new(AtomicBool::new(false));
    let changed = Arc::clone(&is_changed);
    let uploads: Vec<String> = (1..=nodes)
        .map(|node| upload(node, 7, "InProgress"))
        .collect();
    let change = format!(
        r#"{{"type":"MODIFIED","object":{}}}"#,
        upload(1, 8, "Completed")
    );
    let server = Server::http(move |asked: &Asked| {
        let is_watch = asked.query("watch") == "true";
        if asked.path != UPLOADS {
            if is_watch {
                Reply::watch(&[])
            } else {
                Reply::empty()
            }
        } else if !is_watch {
            let uploads: Vec<&str> = uploads.iter().map(String::as_str).collect();
            Reply::list(&uploads, "")
        } else if asked.query("resourceVersion") == "7" && changed.load(Ordering::SeqCst) {
            Reply::watch(&[&change])
        } else if asked.query("resourceVersion") == "7" {
            // Asked again a moment later.
            Reply::ended_watch(&[]).after(Duration::from_millis(100))
        } else {
            Reply::watch(&[])
        }
    });
    (server, is_changed)
}

fn watch(server: &Server, more: &[&str]) -> Command {
    let url = server.url();
    let mut args = vec!["status", "-w", "-n", "velero", "--server", &url];
    args.extend(more);
    plugin(&args)
}

#[test]
fn a_screen_is_drawn_in_its_place_and_the_last_answer_stays() {
    let (server, is_changed) = cluster(1);
    let session = Session::start(watch(&server, &[]), WINDOW, Streams::All);
    session.wait_for("live");
    session.wait_for("du/du-01");
    is_changed.store(true, Ordering::SeqCst);
    session.wait_for("0 tasks in progress");
    session.interrupt();
    let shown = session.finish();
    assert_eq!(shown.code, Some(130));
    let text = shown.text();
    let frames: Vec<&str> = text.split(FRAME).collect();
    assert!(frames.len() > 3, "{text:?}");
    let (last, before) = frames.split_last().expect("there are frames");
    for frame in before.iter().skip(1) {
        assert!(!frame.contains('\n'), "a frame scrolls: {frame:?}");
        assert!(!frame.contains("\u{1b}[2J"), "a frame flickers: {frame:?}");
        assert!(frame.contains("\u{1b}[?25h"), "no cursor: {frame:?}");
    }
    assert!(!text.contains("\u{1b}[?1049h"), "a second screen: {text:?}");
    assert!(last.contains("0 tasks in progress"), "{last:?}");
    assert!(!last.contains("Ctrl-C"), "{last:?}");
    assert!(last.ends_with("\n\u{1b}[?25h\u{1b}[?2026l"), "{last:?}");
}

#[test]
fn a_window_that_is_too_low_shows_how_much_is_left_out_and_a_higher_one_shows_it() {
    let (server, _) = cluster(12);
    let low = Size {
        columns: 100,
        rows: 8,
    };
    let session = Session::start(watch(&server, &[]), low, Streams::All);
    session.wait_for("more lines");
    session.resize(Size {
        columns: 100,
        rows: 40,
    });
    session.wait_for("node-12");
    session.interrupt();
    let shown = session.finish();
    assert_eq!(shown.code, Some(130));
    let text = shown.text();
    let first = text.split(FRAME).nth(1).expect("there is a frame");
    assert!(first.contains("more lines"), "{first:?}");
    assert!(first.contains("live"), "the foot stays: {first:?}");
    assert!(!first.contains("\u{1b}[9;"), "below the window: {first:?}");
}

/// Watches on a terminal until the task becomes another and what is shown with it, and returns all that was written.
fn followed(command: Command, is_changed: &AtomicBool, before: &str, after: &str) -> String {
    let session = Session::start(command, WINDOW, Streams::All);
    session.wait_for(before);
    is_changed.store(true, Ordering::SeqCst);
    session.wait_for(after);
    session.interrupt();
    let shown = session.finish();
    assert_eq!(shown.code, Some(130));
    let text = shown.text();
    assert!(!text.contains('\u{1b}'), "{text:?}");
    text
}

#[test]
fn a_dumb_terminal_gets_one_answer_after_the_other_and_no_sequence() {
    let (server, is_changed) = cluster(1);
    let mut command = watch(&server, &[]);
    command.env("TERM", "dumb");
    let text = followed(command, &is_changed, "du/du-01", "0 tasks in progress");
    assert!(text.contains("\n---\n"), "{text:?}");
}

#[test]
fn documents_are_no_frames_on_a_terminal_either() {
    let (server, is_changed) = cluster(1);
    let text = followed(
        watch(&server, &["-o", "json"]),
        &is_changed,
        "\"name\":\"du-01\"",
        "\"nodes\":[]",
    );
    let documents: Vec<serde_json::Value> = text
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("each line is a document"))
        .collect();
    assert_eq!(documents.len(), 2, "{text}");
}
