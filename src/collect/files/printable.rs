//! Names and words of the input, made safe to print in a message.

use std::fmt::Write as _;

/// How much of a foreign text goes into a message.
const LONGEST: usize = 200;

/// Returns `text` with control characters and invisible direction marks written as escapes, so that
/// a file name or a key cannot move the cursor or turn a line around. Long texts are cut.
pub(super) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST));
    for character in text.chars() {
        if out.len() >= LONGEST {
            out.push('…');
            break;
        }
        if character.is_control() || turns_text_around(character) {
            // Writing to a String cannot fail.
            let _written = write!(out, "{}", character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// The marks of Unicode that change the direction of what follows, and the line separators.
const fn turns_text_around(character: char) -> bool {
    matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn escapes_and_direction_marks_become_visible() {
        assert_eq!(
            printable("a\u{1b}[31mb\n\u{202e}c"),
            "a\\u{1b}[31mb\\u{a}\\u{202e}c"
        );
    }

    #[test]
    fn a_long_text_is_cut() {
        let cut = printable(&"x".repeat(10_000));
        assert!(cut.len() < 300);
        assert!(cut.ends_with('…'));
    }
}
