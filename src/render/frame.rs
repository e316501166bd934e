//! One frame of an answer that is drawn again and again: bytes for a terminal, from a text and a size.
//!
//! A frame is drawn from the top left corner over the one before, in one write and without clearing the screen
//! first, so that nothing flickers. The cursor is hidden within the write alone: however the program ends, it is
//! there. There is no second screen: what was there before has moved up, and the last answer stays.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use super::Marks;

/// The size of a window, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its height.
    pub rows: usize,
    /// Its width.
    pub columns: usize,
}

impl Window {
    /// Below this there is nothing to read, and a size of 0 means that it is not known.
    const LEAST: Self = Self {
        rows: 4,
        columns: 8,
    };

    fn at_least(self) -> Self {
        Self {
            rows: self.rows.max(Self::LEAST.rows),
            columns: self.columns.max(Self::LEAST.columns),
        }
    }

    /// Returns how many rows a line takes.
    fn rows_of(self, line: &str) -> usize {
        width(line).div_ceil(self.columns).max(1)
    }
}

/// Draw all at once, if the terminal knows how (others take no notice).
const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?25h\u{1b}[?2026l";

/// Returns what moves everything in a window up, out of the way of the first frame.
#[must_use]
pub fn make_room(window: Window) -> String {
    "\n".repeat(window.at_least().rows)
}

/// Returns a frame: as much of a text as fits, from its beginning, and below it the lines of its foot.
#[must_use]
pub fn frame(text: &str, foot: &[String], window: Window, marks: Marks) -> String {
    let window = window.at_least();
    let mut drawn = String::from(BEGIN);
    let mut row = 1;
    for line in clipped(text, foot, window, marks) {
        let rows = window.rows_of(&line);
        if rows == 1 && width(&line) < window.columns {
            // Writing to a String cannot fail.
            let _infallible = write!(drawn, "\u{1b}[{row};1H{line}\u{1b}[K");
        } else {
            // At the right edge of a window, what clears the rest of a row may take the last cell with it.
            for each in row..row + rows {
                let _infallible = write!(drawn, "\u{1b}[{each};1H\u{1b}[K");
            }
            let _infallible = write!(drawn, "\u{1b}[{row};1H{line}");
        }
        row += rows;
    }
    if row <= window.rows {
        // The cursor is to stand below the foot.
        let _infallible = write!(drawn, "\u{1b}[{row};1H\u{1b}[J");
    }
    drawn.push_str(END);
    drawn
}

/// Returns what the screen is left with: the whole text, of which the beginning may move out of the window.
#[must_use]
pub fn last_frame(text: &str, foot: &[String]) -> String {
    let mut drawn = format!("{BEGIN}\u{1b}[1;1H\u{1b}[J{}", text.trim_end_matches('\n'));
    for line in foot {
        drawn.push('\n');
        drawn.push_str(line);
    }
    drawn.push('\n');
    drawn.push_str(END);
    drawn
}

fn clipped(text: &str, foot: &[String], window: Window, marks: Marks) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let foot = end_of(foot, window);
    let of_foot: usize = foot.iter().map(|line| window.rows_of(line)).sum();
    // The last row is for the cursor.
    let room = window.rows.saturating_sub(of_foot + 1);
    let needed: usize = lines.iter().map(|line| window.rows_of(line)).sum();
    let mut shown: Vec<String> = Vec::new();
    if needed <= room {
        shown.extend(lines.iter().map(|line| (*line).to_owned()));
    } else {
        let mut taken = 0;
        for line in &lines {
            taken += window.rows_of(line);
            if taken >= room {
                break;
            }
            shown.push((*line).to_owned());
        }
        let ellipsis = match marks {
            Marks::Unicode => "…",
            Marks::Ascii => "...",
        };
        let more = match lines.len() - shown.len() {
            1 => "1 more line".to_owned(),
            more => format!("{more} more lines"),
        };
        shown.push(format!("{ellipsis} {more}"));
    }
    shown.extend(foot.iter().cloned());
    shown
}

/// Returns as much of a foot as leaves room for a line of the text, the last lines first.
fn end_of(foot: &[String], window: Window) -> &[String] {
    let mut room = window.rows.saturating_sub(2);
    let mut from = foot.len();
    for (place, line) in foot.iter().enumerate().rev() {
        let Some(left) = room.checked_sub(window.rows_of(line)) else {
            break;
        };
        room = left;
        from = place;
    }
    foot.get(from..).unwrap_or_default()
}

/// Returns the width of a line, the colours in it left out.
fn width(line: &str) -> usize {
    let mut width = 0;
    let mut rest = line;
    while let Some((text, sequence)) = rest.split_once('\u{1b}') {
        width += text.width();
        // What ends a sequence is a letter.
        rest = sequence
            .find(|c: char| c.is_ascii_alphabetic())
            .and_then(|end| sequence.get(end + 1..))
            .unwrap_or_default();
    }
    width + rest.width()
}

/// Returns a JSON document on one line: what stands between its tokens is left out.
#[must_use]
pub fn one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    let mut is_text = false;
    let mut is_escaped = false;
    for c in json.chars() {
        if is_text {
            match c {
                '\\' if !is_escaped => is_escaped = true,
                '"' if !is_escaped => is_text = false,
                _ => is_escaped = false,
            }
            line.push(c);
        } else if !c.is_ascii_whitespace() {
            is_text = c == '"';
            line.push(c);
        }
    }
    line.push('\n');
    line
}

/// Returns what is left of a text when everything in it that goes on with time alone is left out: numbers, and the
/// units of durations. What differs otherwise has changed.
#[must_use]
pub fn timeless(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut of_number = false;
    for c in text.chars() {
        if c.is_ascii_digit() {
            if !of_number {
                left.push('#');
            }
            of_number = true;
        } else if of_number && matches!(c, 'd' | 'h' | 'm' | 's' | '.') {
            // `18h3m` is a longer `59m`.
        } else if !(c == ' ' && left.ends_with(' ')) {
            // A column may become narrower with what it holds.
            left.push(c);
            of_number = false;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Window = Window {
        rows: 6,
        columns: 10,
    };

    fn rows(text: &str, foot: &[&str], window: Window) -> Vec<String> {
        let foot: Vec<String> = foot.iter().map(|line| (*line).to_owned()).collect();
        clipped(text, &foot, window, Marks::Unicode)
    }

    #[test]
    fn a_frame_is_drawn_over_the_one_before_without_clearing_the_screen_first() {
        let frame = frame("one\ntwo\n", &["foot".to_owned()], SMALL, Marks::Unicode);
        assert_eq!(
            frame.replace('\u{1b}', "^"),
            "^[?2026h^[?25l^[1;1Hone^[K^[2;1Htwo^[K^[3;1Hfoot^[K^[4;1H^[J^[?25h^[?2026l"
        );
        assert!(!frame.contains('\n'), "a line break may scroll the window");
    }

    #[test]
    fn what_does_not_fit_is_counted_and_the_foot_stays() {
        assert_eq!(
            rows("1\n2\n3\n4\n5\n6\n", &["foot"], SMALL),
            ["1", "2", "3", "… 3 more lines", "foot"]
        );
        assert_eq!(
            rows("1\n2\n3\n4\n", &["foot"], SMALL),
            ["1", "2", "3", "4", "foot"]
        );
        assert_eq!(
            clipped("1\n2\n3\n4\n5\n6\n7", &[], SMALL, Marks::Ascii),
            ["1", "2", "3", "4", "... 3 more lines"]
        );
    }

    #[test]
    fn a_foot_that_is_too_high_loses_its_first_lines() {
        let shown = rows("1\n2\n3\n", &["a", "b", "c", "d", "e", "f"], SMALL);
        assert_eq!(shown, ["… 3 more lines", "c", "d", "e", "f"]);
    }

    #[test]
    fn a_line_that_is_wider_than_the_window_takes_several_rows_and_is_not_cut() {
        let shown = rows("0123456789abc\n2\n3\n4\n", &["foot"], SMALL);
        assert_eq!(shown, ["0123456789abc", "2", "… 2 more lines", "foot"]);
        let frame = frame("0123456789abc\n2", &[], SMALL, Marks::Unicode);
        assert!(
            frame.contains("\u{1b}[1;1H\u{1b}[K\u{1b}[2;1H\u{1b}[K\u{1b}[1;1H0123456789abc"),
            "{frame:?}"
        );
        assert!(frame.contains("\u{1b}[3;1H2\u{1b}[K"), "{frame:?}");
    }

    #[test]
    fn colours_take_no_room_and_wide_letters_take_two_cells() {
        assert_eq!(width("\u{1b}[31;1mred\u{1b}[0m"), 3);
        assert_eq!(width("漢字"), 4);
        assert_eq!(SMALL.rows_of("\u{1b}[2m0123456789\u{1b}[0m"), 1);
        assert_eq!(SMALL.rows_of("01234567890"), 2);
        assert_eq!(SMALL.rows_of(""), 1);
    }

    #[test]
    fn a_window_of_no_size_still_gets_a_frame() {
        let nothing = Window {
            rows: 0,
            columns: 0,
        };
        let frame = frame("1\n2\n3\n4\n5\n", &["f".to_owned()], nothing, Marks::Ascii);
        assert!(frame.contains("more"), "{frame:?}");
        assert_eq!(make_room(nothing), "\n\n\n\n");
    }

    #[test]
    fn the_last_frame_holds_the_whole_text() {
        let text: String = (0..50).map(|line| format!("{line}\n")).collect();
        let last = last_frame(&text, &["foot".to_owned()]);
        assert!(last.contains("\n49\nfoot\n"), "{last:?}");
        assert!(last.ends_with(END));
    }

    #[test]
    fn a_document_on_one_line_is_the_same_document() {
        let pretty =
            "{\n    \"a b\": [\n        1,\n        \"x \\\" \\\\\"\n    ],\n    \"c\": null\n}\n";
        let line = one_line(pretty);
        assert_eq!(line, "{\"a b\":[1,\"x \\\" \\\\\"],\"c\":null}\n");
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parse(&line), parse(pretty));
    }

    #[test]
    fn time_alone_changes_nothing_and_a_word_does() {
        assert_eq!(timeless("waits 59m"), timeless("waits 1h0m"));
        assert_eq!(timeless("a  9s  b"), timeless("a 10s b"));
        assert_eq!(
            timeless(r#""takenAt":"2026-01-02T03:04:05Z""#),
            timeless(r#""takenAt":"2026-01-02T03:04:06Z""#)
        );
        assert_ne!(timeless("queued"), timeless("stuck"));
        assert_ne!(timeless(r#""a":null"#), timeless(r#""a":5"#));
    }
}
