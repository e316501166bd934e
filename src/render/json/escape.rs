//! The one place that keeps terminal controls out of JSON and YAML.
//!
//! Both formats are read by people too: `-o yaml` in a terminal must not be able to move the cursor or
//! to turn a line around. serde escapes the ASCII controls; the others are escaped here, on the way to
//! the writer, as `\uXXXX`, which both formats read back.

use std::io::{self, Write};

/// Returns whether a character must not reach a terminal as it is, although it may stand in a JSON
/// string: DEL, the C1 controls, marks that change the direction or are not visible, line separators.
pub(crate) const fn must_escape(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
    )
}

/// Escapes what [`must_escape`] names, and passes everything else on.
pub(super) struct Escaping<'w> {
    inner: &'w mut dyn Write,
}

impl<'w> Escaping<'w> {
    /// Wraps a writer.
    pub(super) fn new(inner: &'w mut dyn Write) -> Self {
        Self { inner }
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(must_escape) {
            let (clean, tail) = rest.split_at(at);
            self.inner.write_all(clean.as_bytes())?;
            let mut chars = tail.chars();
            if let Some(c) = chars.next() {
                write!(self.inner, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        self.inner.write_all(rest.as_bytes())
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

    fn escaped(text: &str) -> String {
        let mut out = Vec::new();
        Escaping::new(&mut out).write_all(text.as_bytes()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn direction_marks_and_c1_controls_are_escaped() {
        assert_eq!(escaped("a\u{202e}b\u{9b}c"), r"a\u202eb\u009bc");
    }

    #[test]
    fn letters_of_every_script_pass() {
        assert_eq!(escaped("Käse 日本 ✗"), "Käse 日本 ✗");
    }

    #[test]
    fn a_character_cut_in_two_is_passed_on_whole() {
        let mut out = Vec::new();
        let mut writer = Escaping::new(&mut out);
        let bytes = "aé".as_bytes();
        writer.write_all(&bytes[..2]).unwrap();
        writer.write_all(&bytes[2..]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "aé");
    }
}
