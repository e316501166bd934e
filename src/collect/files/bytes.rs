//! Bytes from somewhere, to text, within limits.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::dump::is_dump;
use super::log_text::{is_log, readable};

/// How many bytes tell what an input is: a tar header is this long.
const HEAD: u64 = 512;

/// What an input is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Empty,
    Gzip,
    Tar,
    /// Packed in a way that is not read, and its name.
    Foreign(&'static str),
    /// A log.
    Log,
    /// Text, as far as can be told.
    Text,
}

/// Looks at the first bytes of an input and gives the input back whole.
pub(super) fn look<'a>(
    mut reader: Box<dyn Read + 'a>,
) -> io::Result<(Content, Box<dyn Read + 'a>)> {
    let mut head = Vec::new();
    let failure = reader.by_ref().take(HEAD).read_to_end(&mut head).err();
    if let Some(error) = failure
        && head.is_empty()
    {
        return Err(error);
    }
    let content = content_of(&head);
    Ok((content, Box::new(io::Cursor::new(head).chain(reader))))
}

pub(super) fn content_of(head: &[u8]) -> Content {
    const FOREIGN: [(&[u8], &str); 5] = [
        (b"PK\x03\x04", "a zip archive"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
        (b"\xfd7zXZ\x00", "compressed with xz"),
        (b"BZh", "compressed with bzip2"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    ];
    if head.is_empty() {
        return Content::Empty;
    }
    if head.starts_with(&[0x1f, 0x8b]) {
        return Content::Gzip;
    }
    if head.get(257..262) == Some(b"ustar".as_slice()) {
        return Content::Tar;
    }
    if let Some((_, name)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Content::Foreign(name);
    }
    if is_log(head) {
        Content::Log
    } else {
        Content::Text
    }
}

/// How many bytes a whole run may still read and unpack, whatever the number of files and archives: what
/// makes a gzip bomb harmless, and a hundred of them.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<AtomicU64>);

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Takes some of it; fails, and leaves nothing, where there is not so much left.
    fn take(&self, bytes: u64) -> io::Result<()> {
        let left = self.0.load(Ordering::Relaxed);
        let rest = left.checked_sub(bytes);
        self.0.store(rest.unwrap_or(0), Ordering::Relaxed);
        match rest {
            Some(_) => Ok(()),
            None => Err(io::Error::from(io::ErrorKind::FileTooLarge)),
        }
    }
}

/// A reader that fails once the budget of the run is spent, also where its content is only skipped.
pub(super) struct Bounded<R> {
    inner: R,
    budget: Budget,
}

impl<R> Bounded<R> {
    pub(super) fn new(inner: R, budget: &Budget) -> Self {
        Self {
            inner,
            budget: budget.clone(),
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.budget.take(u64::try_from(count).unwrap_or(u64::MAX))?;
        Ok(count)
    }
}

/// Text as it was read.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) text: String,
    /// Why it ends early, if it does.
    pub(super) cut: Option<String>,
    /// Whether logs lie between the objects.
    pub(super) is_dump: IsDump,
}

/// Whether a text is one of `kubectl cluster-info dump`, with logs between the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IsDump {
    Yes,
    No,
}

/// Why there is no text.
#[derive(Debug)]
pub(super) enum NoText {
    Io(io::Error),
    TooLarge,
    /// The budget of the run is spent.
    AllTooLarge,
    Not(String),
}

/// Reads text of at most `limit` bytes. `expected` is its size, as far as it is known.
pub(super) fn text(reader: &mut dyn Read, expected: u64, limit: u64) -> Result<Body, NoText> {
    let capacity = usize::try_from(expected.min(limit)).unwrap_or(0);
    // One more than expected: a full buffer would be doubled only to find the end of the file.
    let mut bytes = Vec::with_capacity(capacity.saturating_add(1));
    let failure = reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .err();
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(NoText::TooLarge);
    }
    let cut = match failure {
        None => None,
        Some(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(NoText::AllTooLarge);
        }
        Some(error) if bytes.is_empty() => return Err(NoText::Io(error)),
        Some(error) => Some(error.to_string()),
    };
    if is_dump(&bytes) {
        // Between the objects are logs, which may hold anything.
        let (bytes, _) = readable(bytes);
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let is_dump = IsDump::Yes;
        return Ok(Body { text, cut, is_dump });
    }
    let text = decode(bytes, cut.is_some()).map_err(NoText::Not)?;
    let is_dump = IsDump::No;
    Ok(Body { text, cut, is_dump })
}

/// What is said of a file whose byte order mark is that of UTF-16.
pub(super) const SAVE_AS_UTF8: &str = "it is UTF-16; save it as UTF-8";

/// Whether bytes begin with a byte order mark of UTF-16.
pub(super) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// UTF-8, with or without a byte order mark, and without a NUL byte, which neither JSON nor YAML allows.
fn decode(mut bytes: Vec<u8>, ends_early: bool) -> Result<String, String> {
    if is_utf16(&bytes) {
        return Err(SAVE_AS_UTF8.to_owned());
    }
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        bytes.drain(..3);
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let cut_in_character = error.utf8_error().error_len().is_none();
            if !(ends_early && cut_in_character) {
                return Err(format!("byte {valid} is not UTF-8"));
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).map_err(|_| format!("byte {valid} is not UTF-8"))?
        }
    };
    match text.find('\0') {
        Some(at) => Err(format!("byte {at} is NUL, so it is a binary file")),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::{Bounded, Budget, Content, content_of, decode};

    #[test]
    fn a_byte_order_mark_is_dropped_and_utf_16_is_named() {
        assert_eq!(decode(b"\xef\xbb\xbf{}".to_vec(), false).unwrap(), "{}");
        assert!(
            decode(b"\xff\xfe{\0".to_vec(), false)
                .unwrap_err()
                .contains("UTF-16")
        );
        assert!(
            decode(b"a\0b".to_vec(), false)
                .unwrap_err()
                .contains("binary")
        );
        assert_eq!(
            decode(b"a\xff".to_vec(), false).unwrap_err(),
            "byte 1 is not UTF-8"
        );
        assert_eq!(decode(b"a\xe2\x80".to_vec(), true).unwrap(), "a");
    }

    #[test]
    fn the_first_bytes_tell_what_an_input_is() {
        assert_eq!(content_of(b""), Content::Empty);
        assert_eq!(content_of(b"\x1f\x8b\x08"), Content::Gzip);
        assert_eq!(content_of(b"PK\x03\x04"), Content::Foreign("a zip archive"));
        assert_eq!(content_of(b"{}"), Content::Text);
    }

    #[test]
    fn a_bounded_reader_stops_at_its_limit() {
        let mut out = Vec::new();
        let mut reader = Bounded::new(std::io::repeat(b'x'), &Budget::new(1000));
        reader.read_to_end(&mut out).unwrap_err();
        assert!(out.len() <= 1000);
    }

    #[test]
    fn a_budget_is_shared_by_all_readers_of_a_run() {
        let budget = Budget::new(1000);
        for expected in [true, true, false, false] {
            let mut reader = Bounded::new(&[0_u8; 450][..], &budget);
            assert_eq!(reader.read_to_end(&mut Vec::new()).is_ok(), expected);
            assert_eq!(budget.is_spent(), !expected);
        }
    }
}
