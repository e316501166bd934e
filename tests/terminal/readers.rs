//! Readers that take a line and go away.

use std::process::{Command, Stdio};

use crate::plugin::{calls, plugin, wide, words};
use crate::pty::{Session, Streams};

#[test]
fn a_reader_that_takes_one_line_is_no_error_and_nothing_is_said() {
    let story = "scenarios/seed-465/objects";
    let more = [
        "--help",
        "version",
        "capture --from scenarios/seed-465/objects -f -",
    ];
    let more = more.map(|call| call.split(' ').map(str::to_owned).collect());
    for call in calls(story).into_iter().chain(more) {
        let (reads, writes) = std::io::pipe().expect("a pipe");
        let mut head = Command::new("head")
            .arg("-1")
            .stdin(reads)
            .stdout(Stdio::null())
            .spawn()
            .expect("head starts");
        let mut command = plugin(&words(&call));
        command.stdout(writes);
        let shown = Session::start(command, wide(80), Streams::Error).finish();
        assert!(head.wait().expect("head ends").success());
        assert_eq!(shown.text(), "", "{call:?}");
        // A finding of diagnose is told by its code to whoever read enough of it.
        let all = matches!(call.first().map(String::as_str), Some("diagnose"));
        assert!(
            shown.code == Some(0) || all && shown.code == Some(3),
            "{call:?}: {:?}",
            shown.code
        );
    }
}
