//! Names and messages that try to steer the terminal.

use serde_json::json;

use crate::plugin::{NOW, on_terminal, plugin, rewritten};

/// What a name or a message may bring: cursor movements in both forms, a title, a bell, marks that turn text
/// around, characters that are drawn as nothing, tags, fonts of one's own.
const HOSTILE: [&str; 12] = [
    "\u{1b}[2J\u{1b}[H",
    "\u{9b}2J",
    "\u{1b}]0;title\u{7}",
    "\u{8}\u{8}\u{7f}",
    "\u{202e}edoc\u{202c}",
    "\u{2066}\u{2069}\u{61c}\u{200f}",
    "\u{200b}\u{200d}\u{2060}\u{feff}",
    "\u{e0041}\u{e007f}\u{e0001}",
    "\u{ad}\u{34f}\u{115f}\u{3164}",
    "\u{fe0f}\u{e0100}\u{180b}",
    "\u{e000}\u{f8ff}\u{10fffd}",
    "a\r\nb\u{85}\u{2028}c",
];

/// Whether a terminal shows a character where it stands, one by one from the left.
fn is_seen(c: char) -> bool {
    let nothing_or_steering = c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{180b}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{10ffff}'
        );
    !nothing_or_steering
}

#[test]
fn no_name_or_message_steers_the_terminal() {
    // A node and a task; the words of the first task of the node go with it.
    let hostile = HOSTILE.concat();
    let quoted = json!(format!("x{hostile}y")).to_string();
    let story = rewritten(
        "scenarios/seed-465/objects",
        &[("\"node-a\"", &quoted), ("\"backup-1-003\"", &quoted)],
    );
    let from = story.path().to_str().unwrap_or_default();
    for call in [
        &["status"][..],
        &["diagnose"],
        &["replay"],
        &["replay", "--simulate"],
        &["explain", "backup/backup-1"],
        &["status", "--node", &hostile],
        &["explain", &format!("du/{hostile}")],
        &["restart", "--node", "node-b", "--dry-run=client"],
    ] {
        for format in ["table", "wide", "json", "yaml", "name"] {
            let more = ["--from", from, "--now", NOW, "-o", format, "--color=never"];
            let shown = on_terminal(plugin(&[call, &more].concat()), 80);
            let text = shown.text();
            let raw: Vec<char> = text
                .chars()
                .filter(|c| *c != '\n' && !is_seen(*c))
                .collect();
            assert!(raw.is_empty(), "{call:?} {format}: {raw:?} in {text:?}");
        }
    }
}

#[test]
fn what_a_name_brings_is_shown_by_its_number() {
    let name = json!("x\u{1b}[2J\u{202e}\u{e0041}").to_string();
    let story = rewritten("scenarios/seed-465/objects", &[("\"node-a\"", &name)]);
    let from = story.path().to_str().unwrap_or_default();
    let call = |format| {
        let more = ["status", "--from", from, "--now", NOW, "-o", format];
        on_terminal(plugin(&more), 80).text()
    };
    let shown = call("table");
    assert!(shown.contains(r"x\u{1b}[2J\u{202e}\u{e0041}"), "{shown}");
    let shown = call("json");
    assert!(shown.contains(r"x\u001b[2J\u202e\udb40\udc41"), "{shown}");
}
