//! The text of a log: its end, and of a long one also its first lines, which tell of the start of the process.

use std::io::{self, Read, Seek, SeekFrom};

use super::bytes::{Content, content_of, is_utf16};
use crate::capture::{Cut, LINES_LEFT_OUT};

/// How much of the beginning of a long log is kept: an agent writes some forty lines when it starts.
const HEAD: usize = 256 * 1024;

/// Lines that are longer are left out: the longest that Velero writes is an error with a stack, a few
/// thousand bytes long.
const LONGEST_LINE: usize = 1 << 20;

/// A log as it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogText {
    pub(super) body: String,
    pub(super) cut: Cut,
    /// Why it ends early, if it does.
    pub(super) failure: Option<String>,
    /// Lines that are left out because they are no text.
    pub(super) left_out: usize,
    /// How its characters are written.
    pub(super) encoding: Encoding,
}

/// How the characters of a log are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As every program in a cluster writes them.
    Utf8,
    /// As the redirection of older shells of Windows writes them: each line has NUL bytes, and none is read.
    Utf16,
}

/// Reads a log that comes through a pipe or out of an archive. At most `limit` bytes are kept, and half as
/// many more are held while it is read.
pub(super) fn stream(reader: &mut dyn Read, limit: u64) -> io::Result<LogText> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let (head_limit, tail_limit) = shares(limit);
    let chunk = u64::try_from(tail_limit / 2).unwrap_or(u64::MAX).max(1);
    let mut head = Vec::new();
    let mut tail: Vec<u8> = Vec::new();
    let mut cut = Cut::Whole;
    let mut failure = None;
    let wanted = u64::try_from(head_limit).unwrap_or(u64::MAX);
    if let Err(error) = (&mut *reader).take(wanted).read_to_end(&mut head) {
        if head.is_empty() {
            return Err(error);
        }
        failure = Some(error.to_string());
    }
    while failure.is_none() {
        match (&mut *reader).take(chunk).read_to_end(&mut tail) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => failure = Some(error.to_string()),
        }
        if let Some(surplus) = tail.len().checked_sub(tail_limit).filter(|over| *over > 0) {
            tail.drain(..surplus);
            cut = Cut::BeginningLeftOut;
        }
    }
    Ok(put_together(head, tail, cut, failure))
}

/// Reads a log that lies in a file: what is left out of a long one is not even read.
pub(super) fn file(file: &mut (impl Read + Seek), size: u64, limit: u64) -> io::Result<LogText> {
    if size <= limit {
        return stream(file, limit);
    }
    let (head_limit, tail_limit) = shares(usize::try_from(limit).unwrap_or(usize::MAX));
    let (head_limit, tail_limit) = (
        u64::try_from(head_limit).unwrap_or(u64::MAX),
        u64::try_from(tail_limit).unwrap_or(u64::MAX),
    );
    let mut head = Vec::new();
    file.take(head_limit).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(size.saturating_sub(tail_limit)))?;
    let mut tail = Vec::new();
    let failure = file
        .take(tail_limit)
        .read_to_end(&mut tail)
        .err()
        .map(|error| error.to_string());
    Ok(put_together(head, tail, Cut::BeginningLeftOut, failure))
}

/// How much of a limit goes to the beginning, and how much to the end.
fn shares(limit: usize) -> (usize, usize) {
    let head = HEAD.min(limit / 4);
    (head, limit.saturating_sub(head))
}

fn put_together(head: Vec<u8>, tail: Vec<u8>, cut: Cut, failure: Option<String>) -> LogText {
    let mut bytes = head;
    let encoding = if is_utf16(&bytes) {
        Encoding::Utf16
    } else {
        Encoding::Utf8
    };
    match cut {
        Cut::Whole => bytes.extend(tail),
        Cut::BeginningLeftOut => {
            // The last line of the one and the first of the other are parts of lines.
            let whole = bytes.iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(whole.map_or(0, |at| at.saturating_add(1)));
            if !bytes.is_empty() {
                bytes.extend(LINES_LEFT_OUT.as_bytes());
                bytes.push(b'\n');
            }
            let first = tail.iter().position(|byte| *byte == b'\n');
            let rest = first.map_or(tail.len(), |at| at.saturating_add(1));
            bytes.extend(tail.get(rest..).unwrap_or_default());
        }
    }
    let (bytes, left_out) = readable(bytes);
    let body = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    LogText {
        body,
        cut,
        failure,
        left_out,
        encoding,
    }
}

/// Leaves out the lines that no program writes: those with a NUL, such as the holes of a sparse file, and
/// those without an end in sight. A mark stands where they were.
pub(super) fn readable(bytes: Vec<u8>) -> (Vec<u8>, usize) {
    let is_text = |line: &[u8]| line.len() <= LONGEST_LINE && !line.contains(&0);
    if bytes.split(|byte| *byte == b'\n').all(is_text) {
        return (bytes, 0);
    }
    let mut kept = Vec::new();
    let mut left_out: usize = 0;
    let mut after_text = true;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if is_text(line) {
            kept.extend_from_slice(line);
            after_text = true;
            continue;
        }
        left_out = left_out.saturating_add(1);
        if after_text {
            kept.extend_from_slice(LINES_LEFT_OUT.as_bytes());
            kept.push(b'\n');
        }
        after_text = false;
    }
    (kept, left_out)
}

/// Whether an input that a user named is a log, by its first bytes: a line of logrus or of client-go.
pub(super) fn is_log(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let line = text.trim_start().lines().next().unwrap_or_default();
    let line = match line.strip_prefix("[pod/") {
        Some(rest) => rest.split_once("] ").map_or(line, |(_, line)| line),
        None => line,
    };
    let line = match line.split_once(' ') {
        Some((time, rest)) if time.parse::<jiff::Timestamp>().is_ok() => rest,
        Some(_) | None => line,
    };
    let is_klog = |line: &str| {
        let mut bytes = line.bytes();
        matches!(bytes.next(), Some(b'I' | b'W' | b'E' | b'F'))
            && bytes.by_ref().take(4).all(|byte| byte.is_ascii_digit())
            && bytes.next() == Some(b' ')
    };
    if line.starts_with('{') {
        return line.contains("\"level\":\"")
            && line.contains("\"msg\":\"")
            && !line.contains("\"apiVersion\":");
    }
    line.starts_with("time=\"") && line.contains(" level=") || is_klog(line)
}

/// Whether a file is packed, by its first bytes, which are read and read again.
pub(super) fn head_of(file: &mut (impl Read + Seek)) -> io::Result<(Content, Vec<u8>)> {
    let mut head = Vec::new();
    file.take(512).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok((content_of(&head), head))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{Encoding, file, is_log, stream};
    use crate::capture::{Cut, LINES_LEFT_OUT};

    fn numbered(count: usize) -> String {
        (0..count)
            .map(|number| format!("line {number}\n"))
            .collect()
    }

    #[test]
    fn a_long_log_keeps_its_end_and_its_first_lines_and_says_so() {
        let text = numbered(1000);
        let size = text.len() as u64;
        let streamed = stream(&mut text.as_bytes(), 100).unwrap();
        let sought = file(&mut Cursor::new(&text), size, 100).unwrap();
        assert_eq!(streamed, sought);
        assert_eq!(streamed.cut, Cut::BeginningLeftOut);
        let body = &streamed.body;
        assert!(body.starts_with(&format!("line 0\nline 1\nline 2\n{LINES_LEFT_OUT}\nline ")));
        assert!(body.ends_with("line 999\n") && body.len() < 100 + LINES_LEFT_OUT.len() + 2);
    }

    #[test]
    fn a_log_within_the_limit_is_kept_as_it_is() {
        let text = numbered(10);
        for limit in [text.len() as u64, 1_000_000] {
            let log = stream(&mut text.as_bytes(), limit).unwrap();
            assert_eq!((log.body.as_str(), log.cut), (text.as_str(), Cut::Whole));
            let size = text.len() as u64;
            assert_eq!(file(&mut Cursor::new(&text), size, limit).unwrap(), log);
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced() {
        let log = stream(&mut &b"a\xffb\n"[..], 100).unwrap();
        assert_eq!((log.body.as_str(), log.left_out), ("a\u{fffd}b\n", 0));
        assert_eq!(log.encoding, Encoding::Utf8);
    }

    #[test]
    fn a_log_in_utf_16_is_known_as_one() {
        let units = "\u{feff}a\nb\n".encode_utf16();
        let little: Vec<u8> = units.clone().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units.flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            let log = stream(&mut bytes.as_slice(), 100).unwrap();
            assert_eq!(log.encoding, Encoding::Utf16);
            assert!(!log.body.contains('a'), "{}", log.body);
        }
    }

    #[test]
    fn lines_that_are_no_text_are_left_out_and_a_mark_stands_for_them() {
        let long = "x".repeat(2 << 20);
        let text = format!("a\n\0\0\0\nb\0\nc\n{long}\nd\0");
        let log = stream(&mut text.as_bytes(), 8 << 20).unwrap();
        assert_eq!(
            log.body,
            format!("a\n{LINES_LEFT_OUT}\nc\n{LINES_LEFT_OUT}\n")
        );
        assert_eq!(log.left_out, 4);
    }

    #[test]
    fn a_log_is_known_by_its_first_line() {
        for line in [
            "time=\"2026-01-02T03:04:05Z\" level=info msg=\"x\"",
            "{\"controller\":\"dataupload\",\"level\":\"info\",\"msg\":\"x\",\"time\":\"2026\"}",
            "2026-01-02T03:04:05.123456789Z time=\"2026-01-02T03:04:05Z\" level=info msg=x",
            "[pod/node-agent-x/node-agent] time=\"2026-01-02T03:04:05Z\" level=info msg=x",
            "W0102 03:08:00.000000       1 reflector.go:561] failed to list",
        ] {
            assert!(is_log(line.as_bytes()), "{line}");
        }
        for line in [
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"level\":\"x\",\"msg\":\"y\"}",
            "apiVersion: v1",
            "{",
            "",
            "[1, 2]",
            "Id: 3",
        ] {
            assert!(!is_log(line.as_bytes()), "{line}");
        }
    }
}
