//! Locales that are not UTF-8 get ASCII.

use crate::plugin::{NOW, calls, on_terminal, plugin, rewritten, words};

const STORY: &str = "scenarios/seed-465/objects";
const OTHERS: [&str; 4] = ["C", "POSIX", "en_US.ISO-8859-1", "de_DE@euro"];

#[test]
fn without_utf8_only_ascii_reaches_the_terminal() {
    for call in calls(STORY) {
        for locale in OTHERS
            .iter()
            .take(if call.first().is_some_and(|word| word == "diagnose") {
                4
            } else {
                1
            })
        {
            let mut there = plugin(&words(&call));
            there.env("LC_ALL", locale).env("NO_COLOR", "1");
            let shown = on_terminal(there, 60);
            assert!(
                shown.bytes.is_ascii(),
                "{locale} {call:?}: {}",
                shown.text()
            );
            assert!(shown.text().lines().count() > 1, "{}", shown.text());
        }
    }
}

#[test]
fn the_first_of_the_variables_that_is_set_decides() {
    let call = ["status", "--from", STORY, "--now", NOW];
    for (variables, utf8) in [
        (&[("LC_ALL", "C"), ("LC_CTYPE", "C.UTF-8")][..], false),
        (
            &[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")],
            true,
        ),
        (&[("LC_CTYPE", "de_DE.utf8"), ("LANG", "C")], true),
        (&[("LANG", "")], false),
    ] {
        let mut there = plugin(&call);
        there.envs(variables.iter().copied());
        let shown = on_terminal(there, 80);
        assert_eq!(
            !shown.bytes.is_ascii(),
            utf8,
            "{variables:?}: {}",
            shown.text()
        );
    }
}

#[test]
fn without_utf8_messages_and_help_are_ascii_too() {
    for call in [
        &["status", "--from", "/nonexistent/Käse"][..],
        &["explain", "Käse", "--from", STORY],
        &["status", "--käse"],
        &["diagnose", "--from", STORY, "--node", "Käse"],
        &["--help"],
        &["explain", "--help"],
        &["replay", "--help"],
        &["explain", "prepared-stuck"],
        &["version"],
    ] {
        let mut there = plugin(call);
        there.env("LC_ALL", "C");
        let shown = on_terminal(there, 80);
        assert!(shown.bytes.is_ascii(), "{call:?}: {}", shown.text());
    }
}

#[test]
fn without_utf8_letters_of_a_name_are_written_out_and_lines_still_fit() {
    let story = rewritten(STORY, &[("\"node-a\"", "\"knoten-ä-日本-a\"")]);
    let from = story.path().to_str().unwrap_or_default();
    for format in ["table", "wide"] {
        let call = ["status", "--from", from, "--now", NOW, "-o", format];
        let mut there = plugin(&call);
        there.env("LC_ALL", "C").env("NO_COLOR", "1");
        let shown = on_terminal(there, 60);
        assert!(shown.bytes.is_ascii(), "{}", shown.text());
        assert!(
            shown.text().contains(r"knoten-\u{e4}-\u{65e5}\u{672c}-a"),
            "{}",
            shown.text()
        );
        for line in shown.text().lines() {
            let whole = line.starts_with("kubectl ") || !line.trim().contains(' ');
            assert!(line.len() <= 60 || whole, "{line}");
        }
    }
}

#[test]
fn machine_formats_are_the_same_in_every_locale() {
    let story = rewritten(STORY, &[("\"node-a\"", "\"knoten-ä\"")]);
    let from = story.path().to_str().unwrap_or_default();
    for format in ["json", "yaml"] {
        let call = ["diagnose", "--from", from, "--now", NOW, "-o", format];
        let mut there = plugin(&call);
        there.env("LC_ALL", "C");
        assert_eq!(
            on_terminal(there, 80).text(),
            on_terminal(plugin(&call), 80).text()
        );
    }
}
