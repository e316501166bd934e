//! One line's worth of Markdown, safe by construction.
//!
//! A name, message or log line of a cluster comes from whoever may write to it. [`Inline`] has no way in for
//! such a text but [`Inline::code`] and [`Inline::words`], and what these make cannot end its line or its
//! cell, begin a block, a link, HTML, an emoji or a mention. A mention needs a code span: GitHub looks for
//! them in the page that it has made, where a backslash is gone.

use super::super::Marks;
use super::super::screen::{cut, printable};

/// Columns of the longest text that is shown whole: longer than any name, and most lines of a log.
const LONGEST: usize = 4096;

/// A piece of one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inline(String);

impl Inline {
    /// Takes words of this program, Markdown included.
    pub(super) fn own(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Writes a text as a code span, with a fence that it does not contain.
    pub(super) fn code(text: &str) -> Self {
        let text = cut(&printable(text), LONGEST, Marks::Unicode);
        if text.trim().is_empty() {
            return Self::own("(empty)");
        }
        let fence = "`".repeat(longest_run(&text) + 1);
        // One blank at each end is not part of the text, where there is one at both.
        let is_padded = text.starts_with('`')
            || text.ends_with('`')
            || (text.starts_with(' ') && text.ends_with(' '));
        let pad = if is_padded { " " } else { "" };
        Self(format!("{fence}{pad}{text}{pad}{fence}"))
    }

    /// Writes a sentence: plain words as they are, every other one as a code span, and what stands between
    /// backticks as one code span.
    pub(super) fn words(text: &str) -> Self {
        let text = printable(text);
        if text.matches('`').count().is_multiple_of(2) {
            return text
                .split('`')
                .enumerate()
                .filter(|(_, part)| !part.is_empty())
                .fold(Self::default(), |line, (index, part)| {
                    if index.is_multiple_of(2) {
                        line.then(Self::sentence(part))
                    } else {
                        line.then(Self::code(part))
                    }
                });
        }
        Self::sentence(&text)
    }

    fn sentence(text: &str) -> Self {
        let blank = |at_end: bool| if at_end { " " } else { "" };
        let mut line = blank(text.starts_with(char::is_whitespace)).to_owned();
        for (index, whole) in text.split_whitespace().enumerate() {
            if index > 0 {
                line.push(' ');
            }
            if index == 0 && begins_a_block(whole) {
                line.push_str(&Self::code(whole).0);
            } else {
                push_word(&mut line, whole);
            }
        }
        if !text.trim().is_empty() {
            line.push_str(blank(text.ends_with(char::is_whitespace)));
        }
        Self(line)
    }

    /// Adds a piece.
    pub(super) fn then(mut self, next: Self) -> Self {
        let Self(next) = next;
        // Two fences in a row would be one.
        if self.0.ends_with('`') && next.starts_with('`') {
            self.0.push(' ');
        }
        self.0.push_str(&next);
        self
    }

    /// Adds words of this program.
    pub(super) fn and(self, text: &'static str) -> Self {
        self.then(Self::own(text))
    }

    /// Puts a separator of this program between pieces.
    pub(super) fn join(parts: impl IntoIterator<Item = Self>, separator: &'static str) -> Self {
        parts
            .into_iter()
            .reduce(|line, part| line.and(separator).then(part))
            .unwrap_or_default()
    }

    /// Returns whether there is nothing in it.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the Markdown.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the Markdown for a cell of a table. Pipes stand in code spans alone; a backslash before one
    /// would take the meaning from the backslash that keeps it in its cell.
    pub(super) fn cell(&self) -> String {
        let mut cell = String::with_capacity(self.0.len());
        for c in self.0.chars() {
            if c != '|' {
                cell.push(c);
            } else if cell.ends_with('\\') {
                cell.push_str("u{7c}");
            } else {
                cell.push_str("\\|");
            }
        }
        cell
    }
}

/// Returns the length of the longest run of backticks.
pub(super) fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Returns whether a word at the start of a line would begin a list, a rule or a heading.
fn begins_a_block(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_digit());
    word.chars().all(|c| matches!(c, '-' | '+' | '='))
        || (digits.len() < word.len() && matches!(digits, "." | ")"))
}

/// Adds a word: its punctuation as it is, and the rest as a code span unless it is plain.
fn push_word(line: &mut String, word: &str) {
    let core = word.trim_start_matches(['(', '"', '\'']);
    let (before, _) = word.split_at(word.len() - core.len());
    let trimmed = core.trim_end_matches([')', ',', '.', ';', ':', '"', '\'', '!', '?']);
    let (core, after) = core.split_at(trimmed.len());
    line.push_str(before);
    if core.is_empty() || is_plain(core) {
        line.push_str(core);
    } else {
        line.push_str(&Inline::code(core).0);
    }
    line.push_str(after);
}

/// Returns whether nothing in a word means anything to Markdown, GitHub or Slack.
fn is_plain(word: &str) -> bool {
    let neighbours = word.chars().skip(1).map(Some).chain([None]);
    let mut before: Option<char> = None;
    for (c, after) in word.chars().zip(neighbours) {
        let between = |kind: fn(char) -> bool| before.is_some_and(kind) && after.is_some_and(kind);
        let is_plain = match c {
            // A host name would become a link.
            '.' => !between(char::is_alphabetic),
            // An emoji, or a link.
            ':' => between(|c| c.is_ascii_digit()),
            '-' | '/' | ',' | ';' | '(' | ')' | '\'' | '"' | '%' | '+' | '=' | '!' | '?' => true,
            c => c.is_ascii_alphanumeric() || !c.is_ascii(),
        };
        if !is_plain {
            return false;
        }
        before = Some(c);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        Inline::words(text).0
    }

    #[test]
    fn a_sentence_stays_one_and_its_odd_words_are_code() {
        assert_eq!(
            words("3 tasks wait (oldest 18h) on worker-b: 1.17.1, 50%."),
            "3 tasks wait (oldest 18h) on worker-b: 1.17.1, 50%."
        );
        assert_eq!(
            words("ping @here, see https://a.example/x or #12 :fire: <b>x</b> a|b"),
            "ping `@here`, see `https://a.example/x` or `#12` `:fire`: `<b>x</b>` `a|b`"
        );
        assert_eq!(
            words("since 2026-01-02T03:04:05Z of .status.phase"),
            "since 2026-01-02T03:04:05Z of `.status.phase`"
        );
    }

    #[test]
    fn what_stands_between_backticks_is_one_code_span() {
        assert_eq!(
            words("shows it; `velero install --x` makes it"),
            "shows it; `velero install --x` makes it"
        );
        assert_eq!(words("a ` b"), "a `` ` `` b");
    }

    #[test]
    fn a_sentence_cannot_begin_a_block() {
        assert_eq!(words("- a"), "`-` a");
        assert_eq!(words("1. a"), "`1.` a");
        assert_eq!(words("=== a"), "`===` a");
        assert_eq!(words("# a"), "`#` a");
        assert_eq!(words("a\n# b"), "a `#` b");
    }

    #[test]
    fn a_code_span_has_a_fence_that_its_text_does_not_have() {
        assert_eq!(Inline::code("a").as_str(), "`a`");
        assert_eq!(Inline::code("a`b").as_str(), "``a`b``");
        assert_eq!(Inline::code("``").as_str(), "``` `` ```");
        assert_eq!(Inline::code("a\nb").as_str(), "`a b`");
        assert_eq!(Inline::code(" ").as_str(), "(empty)");
        assert_eq!(Inline::code("\u{202e}").as_str(), r"`\u{202e}`");
    }

    #[test]
    fn two_code_spans_stay_two() {
        let both = Inline::code("a").then(Inline::code("b"));
        assert_eq!(both.as_str(), "`a` `b`");
    }

    #[test]
    fn a_pipe_stays_in_its_cell() {
        assert_eq!(Inline::code("a|b").cell(), r"`a\|b`");
        assert_eq!(Inline::code(r"a\|b").cell(), r"`a\u{7c}b`");
    }
}
