//! Colours: where they are written, and that they only repeat what the words say.

use crate::plugin::{NOW, calls, on_terminal, piped, plugin, words};

const STORY: &str = "scenarios/seed-465/objects";
const ESCAPE: char = '\u{1b}';

/// The call that has something in every colour that is common.
const DIAGNOSE: [&str; 5] = ["diagnose", "--from", STORY, "--now", NOW];

/// Leaves the colours out: each is ESC, `[`, numbers, `m`.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (numbers, rest) = part.split_once('m').unwrap_or((part, ""));
        assert!(
            numbers.chars().all(|c| c.is_ascii_digit() || c == ';'),
            "not a colour: {part:?}"
        );
        plain.push_str(rest);
    }
    assert!(!plain.contains(ESCAPE), "{plain:?}");
    plain
}

#[test]
fn a_terminal_gets_colours_and_they_change_no_word() {
    for call in calls(STORY) {
        let coloured = on_terminal(plugin(&words(&call)), 100);
        let without = on_terminal(
            plugin(&[&words(&call)[..], &["--color=never"]].concat()),
            100,
        );
        assert!(coloured.text().contains(ESCAPE), "{call:?}");
        assert!(!without.text().contains(ESCAPE), "{call:?}");
        assert_eq!(plain(&coloured.text()), without.text(), "{call:?}");
        assert_eq!(coloured.code, without.code, "{call:?}");
    }
}

#[test]
fn who_wants_no_colours_gets_no_escape() {
    for (name, value) in [("NO_COLOR", "1"), ("NO_COLOR", "0"), ("TERM", "dumb")] {
        let mut call = plugin(&DIAGNOSE);
        call.env(name, value);
        let shown = on_terminal(call, 80);
        assert!(shown.text().contains("STUCK"), "{name}: {}", shown.text());
        assert!(!shown.text().contains(ESCAPE), "{name}: {}", shown.text());
    }
    // An empty value is none (https://no-color.org).
    let mut call = plugin(&DIAGNOSE);
    call.env("NO_COLOR", "");
    assert!(on_terminal(call, 80).text().contains(ESCAPE));
}

#[test]
fn off_a_terminal_colours_are_written_only_where_they_are_asked_for() {
    assert!(!piped(plugin(&DIAGNOSE)).contains(ESCAPE));
    let always = piped(plugin(&[&DIAGNOSE[..], &["--color=always"]].concat()));
    assert!(always.contains(ESCAPE));
    assert_eq!(plain(&always), piped(plugin(&DIAGNOSE)));
    let mut forced = plugin(&DIAGNOSE);
    forced.env("CLICOLOR_FORCE", "1");
    assert_eq!(piped(forced), always);
    let mut not_forced = plugin(&DIAGNOSE);
    not_forced.env("CLICOLOR_FORCE", "0");
    assert!(!piped(not_forced).contains(ESCAPE));
    let mut both = plugin(&DIAGNOSE);
    both.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    assert!(!piped(both).contains(ESCAPE));
}

#[test]
fn machine_formats_have_no_colour_even_where_it_is_asked_for() {
    for format in ["json", "yaml", "name"] {
        let call = [&DIAGNOSE[..], &["--color=always", "-o", format]].concat();
        let shown = on_terminal(plugin(&call), 80);
        assert!(!shown.text().contains(ESCAPE), "{format}");
        assert!(shown.text().contains("backup-1-002"), "{format}");
    }
}
