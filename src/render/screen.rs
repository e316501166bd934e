//! Lines for people: the one place where a text becomes printable and where colour is added.
//!
//! Every human view builds [`Line`]s of [`Span`]s. A span cleans its text when it is made, so that no
//! name, message or log line of a cluster can send a control sequence to a terminal.

use std::borrow::Cow;
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
            text: cut(&self.shown(marks), width, marks),
            style: self.style,
        }
    }

    /// Returns the printable text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text in the characters that the terminal can show.
    fn shown(&self, marks: Marks) -> Cow<'_, str> {
        match marks {
            Marks::Unicode => Cow::Borrowed(&self.text),
            Marks::Ascii => Cow::Owned(marks.printable(&self.text)),
        }
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

    /// Adds the spans of another line.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.spans.extend(other.spans);
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

    /// Returns its width in columns in the characters that the terminal can show.
    pub(super) fn shown_width(&self, terminal: &Terminal) -> usize {
        match terminal.marks {
            Marks::Unicode => self.width(),
            Marks::Ascii => (self.spans.iter())
                .map(|span| span.shown(terminal.marks).width())
                .sum(),
        }
    }

    /// Returns how many rows of a terminal it takes.
    pub(super) fn rows(&self, terminal: &Terminal) -> usize {
        self.shown_width(terminal)
            .div_ceil(terminal.width.max(1))
            .max(1)
    }

    /// Cuts it to a width, and marks the cut.
    fn cut(self, width: usize, marks: Marks) -> Self {
        let mut room = width;
        let mut kept = Self::default();
        for span in self.spans {
            if room == 0 {
                break;
            }
            let shown = span.shown(marks);
            let text = cut(&shown, room, marks);
            room = if text == shown {
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

    fn write(&self, out: &mut dyn Write, terminal: &Terminal) -> io::Result<()> {
        for span in &self.spans {
            let text = span.shown(terminal.marks);
            match (terminal.color, span.style.ansi()) {
                (Color::On, Some(ansi)) if !text.is_empty() => write!(out, "{}", text.style(ansi))?,
                (Color::On, Some(_) | None) | (Color::Off, _) => out.write_all(text.as_bytes())?,
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
    lines.iter().try_for_each(|line| line.write(out, terminal))
}

/// Breaks a text between words so that each line fits. The first line begins with `first`, the others with
/// as many blanks. A word that is longer than a line is not cut, since it may have to be pasted: it gets a line
/// of its own. One that is longer than any name can be is cut.
pub(super) fn wrap(first: &Line, text: &str, style: Style, terminal: &Terminal) -> Vec<Line> {
    let indent = first.shown_width(terminal);
    let room = terminal.width.saturating_sub(indent).max(20);
    let mut wrapped = Wrapped {
        first: Some(first.clone()),
        indent,
        style,
        current: String::new(),
        lines: Vec::new(),
    };
    let mut taken = 0;
    for word in terminal.marks.printable(text).split_whitespace() {
        let word = cut(word, LONGEST, terminal.marks);
        let width = word.width();
        if width > room {
            wrapped.alone(&word, terminal.width.saturating_sub(width));
            taken = 0;
            continue;
        }
        if taken > 0 && taken + 1 + width > room {
            wrapped.line();
            taken = 0;
        }
        if taken > 0 {
            wrapped.current.push(' ');
            taken += 1;
        }
        wrapped.current.push_str(&word);
        taken += width;
    }
    if taken > 0 || wrapped.lines.is_empty() {
        wrapped.line();
    }
    wrapped.lines
}

/// Lines under construction.
struct Wrapped {
    /// What the first line begins with; none once it was used.
    first: Option<Line>,
    indent: usize,
    style: Style,
    current: String,
    lines: Vec<Line>,
}

impl Wrapped {
    /// Ends the current line.
    fn line(&mut self) {
        let text = std::mem::take(&mut self.current);
        let start = self
            .first
            .take()
            .unwrap_or_else(|| Line::new(&" ".repeat(self.indent), Style::Plain));
        self.lines.push(start.then(&text, self.style));
    }

    /// Gives a word a line, with no more blanks before it than there is room for.
    fn alone(&mut self, word: &str, room: usize) {
        let has_words = |line: &Line| line.spans.iter().any(|span| !span.text.trim().is_empty());
        if !self.current.is_empty() || self.first.as_ref().is_some_and(has_words) {
            self.line();
        }
        self.first = None;
        let blanks = " ".repeat(self.indent.min(room));
        self.lines
            .push(Line::new(&blanks, Style::Plain).then(word, self.style));
    }
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
        // Blanks before it would make a line that is too long already longer.
        assert_eq!(lines[1].width(), 90);
        assert_eq!(lines[1].rows(&Terminal::default()), 2);
    }

    #[test]
    fn colour_is_off_unless_asked_for() {
        let line = Line::new("stuck", Style::Bad);
        let mut out = Vec::new();
        line.write(&mut out, &Terminal::default()).unwrap();
        assert_eq!(out, b"stuck\n");
        out.clear();
        let coloured = Terminal {
            color: Color::On,
            ..Terminal::default()
        };
        line.write(&mut out, &coloured).unwrap();
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
        assert_eq!(lines[0].width(), LONGEST);
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
