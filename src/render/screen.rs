//! Lines for people: the one place where a text becomes printable and where colour is added.
//!
//! Every human view builds [`Line`]s of [`Span`]s. A span cleans its text when it is made, so that no
//! name, message or log line of a cluster can send a control sequence to a terminal.

use std::fmt::Write as _;
use std::io::{self, Write};

use owo_colors::{OwoColorize as _, Style as Ansi};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::json::must_escape;
use super::{Color, Marks, Terminal};

/// Makes a text safe for a terminal: line breaks and tabs become blanks, control characters, marks of
/// direction and invisible ones are written as `\u{…}`.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\n' | '\r' | '\t') {
            clean.push(' ');
        } else if c.is_control() || must_escape(c) {
            // Writing to a String cannot fail.
            let _written = write!(clean, "\\u{{{:x}}}", u32::from(c));
        } else {
            clean.push(c);
        }
    }
    clean
}

/// What a piece of text means; colour only repeats what the words say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Somebody has to act.
    Bad,
    /// Somebody should look.
    Warn,
    /// All is well.
    Good,
    /// Not known.
    Unknown,
    /// What can be typed, and headings.
    Strong,
    /// What can be skipped.
    Dim,
}

impl Style {
    fn ansi(self) -> Option<Ansi> {
        match self {
            Self::Plain => None,
            Self::Bad => Some(Ansi::new().red().bold()),
            Self::Warn => Some(Ansi::new().yellow()),
            Self::Good => Some(Ansi::new().green()),
            Self::Unknown => Some(Ansi::new().magenta()),
            Self::Strong => Some(Ansi::new().bold()),
            Self::Dim => Some(Ansi::new().dimmed()),
        }
    }
}

/// A printable piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    text: String,
    style: Style,
}

impl Span {
    /// Makes a text printable.
    pub(super) fn new(text: &str, style: Style) -> Self {
        Self {
            text: printable(text),
            style,
        }
    }

    /// Cuts a text that is longer than any name can be.
    pub(super) fn cut(self, width: usize, marks: Marks) -> Self {
        Self {
            text: cut(&self.text, width, marks),
            style: self.style,
        }
    }

    /// Returns the printable text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns its style.
    pub(super) const fn style(&self) -> Style {
        self.style
    }

    /// Returns its width in columns.
    pub(super) fn width(&self) -> usize {
        self.text.width()
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    spans: Vec<Span>,
}

impl Line {
    /// Begins a line with a text.
    pub(super) fn new(text: &str, style: Style) -> Self {
        Self::default().then(text, style)
    }

    /// Adds a text.
    pub(super) fn then(mut self, text: &str, style: Style) -> Self {
        self.spans.push(Span::new(text, style));
        self
    }

    /// Adds a span.
    pub(super) fn push(&mut self, span: Span) {
        self.spans.push(span);
    }

    /// Returns its width in columns.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// Returns how many rows of a terminal it takes.
    pub(super) fn rows(&self, terminal: &Terminal) -> usize {
        self.width().div_ceil(terminal.width.max(1)).max(1)
    }

    /// Cuts it to a width, and marks the cut.
    fn cut(self, width: usize, marks: Marks) -> Self {
        let mut room = width;
        let mut kept = Self::default();
        for span in self.spans {
            if room == 0 {
                break;
            }
            let text = cut(&span.text, room, marks);
            room = if text == span.text {
                room.saturating_sub(text.width())
            } else {
                0
            };
            kept.push(Span {
                text,
                style: span.style,
            });
        }
        kept
    }

    fn write(&self, out: &mut dyn Write, color: Color) -> io::Result<()> {
        for span in &self.spans {
            match (color, span.style.ansi()) {
                (Color::On, Some(ansi)) => write!(out, "{}", span.text.style(ansi))?,
                (Color::On, None) | (Color::Off, _) => out.write_all(span.text.as_bytes())?,
            }
        }
        out.write_all(b"\n")
    }
}

/// Returns how many rows of a terminal some lines take.
pub(super) fn rows(lines: &[Line], terminal: &Terminal) -> usize {
    lines.iter().map(|line| line.rows(terminal)).sum()
}

/// Writes lines.
pub(super) fn write_lines(
    out: &mut dyn Write,
    lines: &[Line],
    terminal: &Terminal,
) -> io::Result<()> {
    lines
        .iter()
        .try_for_each(|line| line.write(out, terminal.color))
}

/// Breaks a text between words so that each line fits. The first line begins with `first`, the others with
/// as many blanks. A word that is longer than a line is not cut: it may have to be pasted. One that is
/// longer than any name can be is.
pub(super) fn wrap(first: &Line, text: &str, style: Style, terminal: &Terminal) -> Vec<Line> {
    let indent = first.width();
    let room = terminal.width.saturating_sub(indent).max(20);
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut taken = 0;
    for word in printable(text).split_whitespace() {
        let word = cut(word, LONGEST, terminal.marks);
        let width = word.width();
        if !current.is_empty() && taken + 1 + width > room {
            lines.push(std::mem::take(&mut current));
            taken = 0;
        }
        if !current.is_empty() {
            current.push(' ');
            taken += 1;
        }
        current.push_str(&word);
        taken += width;
    }
    lines.push(current);
    lines
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let start = if index == 0 {
                first.clone()
            } else {
                Line::new(&" ".repeat(indent), Style::Plain)
            };
            start.then(text, style)
        })
        .collect()
}

/// Columns of the longest cell or word that is shown whole: more than a namespace and a name can have.
pub(super) const LONGEST: usize = 1024;
/// Characters for each column of a cut text. Marks that take no column of their own would else never
/// fill the room.
const CHARS_PER_COLUMN: usize = 4;

/// Cuts a text to a width, and marks the cut. The work is linear in the text.
pub(super) fn cut(text: &str, width: usize, marks: Marks) -> String {
    let text = printable(text);
    let most = width.saturating_mul(CHARS_PER_COLUMN);
    if text.width() <= width && text.chars().count() <= most {
        return text;
    }
    let more = marks.more();
    let room = width.saturating_sub(more.width());
    let mut kept = String::new();
    let mut taken = 0;
    for c in text.chars().take(most) {
        taken += c.width().unwrap_or(0);
        if taken > room {
            break;
        }
        kept.push(c);
    }
    // A few sequences are wider than their characters; what is kept is short by now.
    while kept.width() > room && kept.pop().is_some() {}
    kept + more
}

/// Keeps as many lines as take at most some rows of a terminal, and says where the rest is. Where not even
/// the first line fits, it is cut: these are words to read and not to paste.
pub(super) fn within(lines: Vec<Line>, most: usize, terminal: &Terminal) -> Vec<Line> {
    if rows(&lines, terminal) <= most {
        return lines;
    }
    let mut room = most.saturating_sub(1);
    let mut kept = Vec::new();
    for line in lines {
        let taken = line.rows(terminal);
        if taken <= room {
            room -= taken;
            kept.push(line);
            continue;
        }
        if kept.is_empty() && room > 0 {
            kept.push(line.cut(room * terminal.width, terminal.marks));
        }
        break;
    }
    if most > 0 {
        kept.push(Line::new(
            &format!("  {} (use -o wide)", terminal.marks.more()),
            Style::Dim,
        ));
    }
    kept
}

impl Marks {
    /// Somebody has to act.
    pub(super) const fn bad(self) -> &'static str {
        match self {
            Self::Unicode => "✗",
            Self::Ascii => "x",
        }
    }

    /// Somebody should look.
    pub(super) const fn warn(self) -> &'static str {
        match self {
            Self::Unicode | Self::Ascii => "!",
        }
    }

    /// All is well.
    pub(super) const fn good(self) -> &'static str {
        match self {
            Self::Unicode => "✓",
            Self::Ascii => "ok",
        }
    }

    /// Worth knowing.
    pub(super) const fn note(self) -> &'static str {
        match self {
            Self::Unicode | Self::Ascii => "i",
        }
    }

    /// Not known.
    pub(super) const fn unknown(self) -> &'static str {
        match self {
            Self::Unicode | Self::Ascii => "?",
        }
    }

    /// Something was left out.
    pub(super) const fn more(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "...",
        }
    }

    /// Between the parts of the context line.
    pub(super) const fn dot(self) -> &'static str {
        match self {
            Self::Unicode => " · ",
            Self::Ascii => " - ",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_direction_marks_are_written_out() {
        assert_eq!(
            printable("a\u{1b}[31mb\u{202e}c\u{9b}d\ne"),
            r"a\u{1b}[31mb\u{202e}c\u{9b}d e"
        );
    }

    #[test]
    fn letters_of_every_script_stay() {
        assert_eq!(printable("Käse 日本 ✗"), "Käse 日本 ✗");
    }

    #[test]
    fn a_long_word_is_not_cut() {
        let word = "x".repeat(90);
        let lines = wrap(
            &Line::new("  ", Style::Plain),
            &format!("see {word} there"),
            Style::Plain,
            &Terminal::default(),
        );
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1].width(), 92);
        assert_eq!(lines[1].rows(&Terminal::default()), 2);
    }

    #[test]
    fn colour_is_off_unless_asked_for() {
        let line = Line::new("stuck", Style::Bad);
        let mut out = Vec::new();
        line.write(&mut out, Color::Off).unwrap();
        assert_eq!(out, b"stuck\n");
        out.clear();
        line.write(&mut out, Color::On).unwrap();
        assert!(out.starts_with(b"\x1b["));
    }

    #[test]
    fn a_cut_counts_wide_characters_as_two_columns() {
        assert_eq!(cut("日本日本", 5, Marks::Unicode), "日本…");
        assert_eq!(cut("abc", 3, Marks::Ascii), "abc");
    }

    #[test]
    fn marks_without_a_width_do_not_make_a_cut_text_long() {
        // Work that is more than linear would not end.
        let text = format!("a{}", "\u{301}".repeat(300_000));
        let cut = cut(&text, 80, Marks::Unicode);
        assert!(cut.chars().count() <= 321, "{}", cut.chars().count());
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn a_word_that_can_be_no_name_is_cut() {
        let lines = wrap(
            &Line::new("  ", Style::Plain),
            &"x".repeat(1_000_000),
            Style::Plain,
            &Terminal::default(),
        );
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].width(), 2 + LONGEST);
    }

    #[test]
    fn lines_are_kept_by_rows_and_not_by_their_number() {
        let terminal = Terminal::default();
        let long = Line::new(&"x".repeat(400), Style::Plain);
        for most in 0..8 {
            let kept = within(vec![long.clone(), long.clone()], most, &terminal);
            assert!(rows(&kept, &terminal) <= most, "{most}: {kept:?}");
        }
    }
}
