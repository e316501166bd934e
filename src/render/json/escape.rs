//! The one place that keeps terminal controls out of JSON and YAML.
//!
//! Both formats are read by people too: `-o yaml` in a terminal must not be able to move the cursor or
//! to turn a line around. serde escapes the ASCII controls; the others are escaped here, on the way to
//! the writer, as each format reads them back.

use std::io::{self, Write};

/// Returns whether a character must not reach a terminal as it is, although it may stand in a JSON
/// string: DEL and the C1 controls, line separators, every format character (general category Cf: marks of
/// direction, joiners, tags), every other one that is drawn as nothing (`Default_Ignorable_Code_Point`, such as
/// variation selectors and the fillers of Hangul), and what has no agreed look: private use and noncharacters.
///
/// What is not assigned yet stays: a later Unicode may make letters of it, and a terminal shows a box. By
/// Unicode 17.0, `UnicodeData.txt` and `DerivedCoreProperties.txt`.
pub(crate) const fn must_escape(c: char) -> bool {
    is_control_or_format(c) || is_invisible(c) || is_nobodys(c)
}

/// DEL, C1, line and paragraph separators, and the general category Cf.
const fn is_control_or_format(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}'
    )
}

/// What is left of `Default_Ignorable_Code_Point`.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Private use, and noncharacters: the last two of each plane and a block of the first.
const fn is_nobodys(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'..)
        || c as u32 & 0xfffe == 0xfffe
}

/// How a format writes a character outside the first 65,536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    /// As a pair of surrogates (RFC 8259, section 7).
    Json,
    /// By eight digits (YAML 1.2.2, section 5.7).
    Yaml,
}

/// Escapes what [`must_escape`] names, and passes everything else on.
pub(super) struct Escaping<'w> {
    inner: &'w mut dyn Write,
    escapes: Escapes,
}

impl<'w> Escaping<'w> {
    /// Wraps a writer.
    pub(super) fn new(inner: &'w mut dyn Write, escapes: Escapes) -> Self {
        Self { inner, escapes }
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(must_escape) {
            let (clean, tail) = rest.split_at(at);
            self.inner.write_all(clean.as_bytes())?;
            let mut chars = tail.chars();
            if let Some(c) = chars.next() {
                self.escape(c)?;
            }
            rest = chars.as_str();
        }
        self.inner.write_all(rest.as_bytes())
    }

    fn escape(&mut self, c: char) -> io::Result<()> {
        let mut units = [0; 2];
        match (c.encode_utf16(&mut units), self.escapes) {
            ([_, _], Escapes::Yaml) => write!(self.inner, "\\U{:08x}", u32::from(c)),
            (units, Escapes::Json | Escapes::Yaml) => units
                .iter()
                .try_for_each(|unit| write!(self.inner, "\\u{unit:04x}")),
        }
    }
}

impl Write for Escaping<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Serializers hand over whole strings. Should one ever cut a character in two, what comes
        // before the cut is written first, and the bytes of the character pass as they are.
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                self.write_text(text)?;
                Ok(bytes.len())
            }
            Err(error) if error.valid_up_to() == 0 => self.inner.write(bytes),
            Err(error) => {
                let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                self.write_text(std::str::from_utf8(valid).unwrap_or_default())?;
                Ok(valid.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::json::text::Text;
    use crate::render::json::{write_json, write_yaml};

    fn escaped(text: &str, escapes: Escapes) -> String {
        let mut out = Vec::new();
        Escaping::new(&mut out, escapes)
            .write_all(text.as_bytes())
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn direction_marks_and_c1_controls_are_escaped() {
        for escapes in [Escapes::Json, Escapes::Yaml] {
            assert_eq!(escaped("a\u{202e}b\u{9b}c", escapes), r"a\u202eb\u009bc");
        }
    }

    #[test]
    fn a_tag_character_is_escaped_as_each_format_reads_it() {
        assert_eq!(escaped("\u{e0041}", Escapes::Json), r"\udb40\udc41");
        assert_eq!(escaped("\u{e0041}", Escapes::Yaml), r"\U000e0041");
    }

    #[test]
    fn letters_of_every_script_pass() {
        assert_eq!(
            escaped("Käse 日本 ✗ 𝒳 🧀", Escapes::Json),
            "Käse 日本 ✗ 𝒳 🧀"
        );
    }

    #[test]
    fn what_was_escaped_reads_back_in_both_formats() {
        let escapes = |code: u32| char::from_u32(code).is_some_and(must_escape);
        // The ends of every range, and some between: private use alone has more than is worth a test.
        let chars = (0..=0x10_ffff_u32).filter(|&code| {
            let inside = escapes(code.wrapping_sub(1)) && escapes(code + 1);
            escapes(code) && (!inside || code % 997 == 0)
        });
        for c in chars.filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let mut json = Vec::new();
            write_json(&mut json, &[Text(&text)]).unwrap();
            let mut yaml = Vec::new();
            write_yaml(&mut yaml, &[Text(&text)]).unwrap();
            assert!(json.is_ascii() && yaml.is_ascii(), "{}", c.escape_unicode());
            let read: Vec<String> = serde_json::from_slice(&json).unwrap();
            assert_eq!(read, [text.as_str()]);
            let read: Vec<String> = serde_saphyr::from_slice(&yaml).unwrap();
            assert_eq!(read, [text.as_str()]);
        }
    }

    #[test]
    fn what_is_drawn_as_nothing_or_turns_text_around_is_escaped() {
        for c in [
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{180b}',
            '\u{200b}',
            '\u{200d}',
            '\u{202e}',
            '\u{2066}',
            '\u{3164}',
            '\u{e000}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffff}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{f0000}',
            '\u{10ffff}',
        ] {
            assert!(must_escape(c), "{}", c.escape_unicode());
        }
        for c in ['a', 'é', '\u{301}', 'ب', '日', '\u{fffd}', '🧀'] {
            assert!(!must_escape(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn a_character_cut_in_two_is_passed_on_whole() {
        let mut out = Vec::new();
        let mut writer = Escaping::new(&mut out, Escapes::Json);
        let bytes = "aé".as_bytes();
        writer.write_all(&bytes[..2]).unwrap();
        writer.write_all(&bytes[2..]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "aé");
    }
}
