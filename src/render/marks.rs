//! What a terminal can show: marks, and every other character in a locale that is not UTF-8.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::Marks;
use super::screen::printable;

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

    /// Makes a text safe for a terminal as [`printable`] does, and writes it in ASCII where the locale is not
    /// UTF-8: signs that stand for something plain become that, every other character is written as `\u{…}`.
    #[must_use]
    pub fn printable(self, text: &str) -> String {
        let text = printable(text);
        match self {
            Self::Unicode => text,
            Self::Ascii => ascii(&text).into_owned(),
        }
    }
}

fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            plain.push(c);
        } else if let Some(sign) = sign(c) {
            plain.push_str(sign);
        } else {
            // Writing to a String cannot fail.
            let _written = write!(plain, "\\u{{{:x}}}", u32::from(c));
        }
    }
    Cow::Owned(plain)
}

/// Returns what a sign stands for. These occur in words of this program, of Velero and of Kubernetes, and in no
/// name of an object.
const fn sign(c: char) -> Option<&'static str> {
    Some(match c {
        '…' => "...",
        '·' | '–' | '—' | '‐' | '‑' | '−' | '•' => "-",
        '✗' | '×' => "x",
        '✓' => "ok",
        '≥' => ">=",
        '≤' => "<=",
        '→' => "->",
        '“' | '”' | '„' | '«' | '»' => "\"",
        '‘' | '’' | '‚' => "'",
        'µ' | 'μ' => "u",
        '\u{a0}' => " ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_utf8_signs_become_plain_and_letters_are_written_out() {
        assert_eq!(
            Marks::Ascii.printable("v1.12.4 … main · ≥ 5 ✗ “Käse”\u{1b}"),
            r#"v1.12.4 ... main - >= 5 x "K\u{e4}se"\u{1b}"#
        );
        assert_eq!(Marks::Unicode.printable("Käse …"), "Käse …");
    }

    #[test]
    fn without_utf8_nothing_but_ascii_is_left_of_any_character() {
        let all: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        assert!(
            Marks::Ascii
                .printable(&all)
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~'))
        );
    }

    #[test]
    fn every_mark_can_be_shown_without_utf8() {
        let marks = Marks::Ascii;
        for mark in [
            marks.bad(),
            marks.warn(),
            marks.good(),
            marks.note(),
            marks.unknown(),
            marks.more(),
            marks.dot(),
        ] {
            assert!(mark.is_ascii(), "{mark}");
        }
    }
}
