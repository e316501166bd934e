//! The logs of several containers in one text, as `kubectl cluster-info dump` writes them: each between a
//! line that starts it and one that ends it, on standard output between the JSON of the objects
//! (kubectl v1.35, `pkg/cmd/clusterinfo/clusterinfo_dump.go`).

use std::ops::Range;

use super::names::LogName;
use crate::capture::Previous;

const START: &str = "==== START logs for container ";
const END: &str = "==== END logs for container ";

/// What kubectl writes in place of a log that it could not read.
const NO_LOG: [&str; 2] = ["Create log request error: ", "Request log error: "];

/// What kubectl says of itself after the dump.
const FAREWELL: &str = "Cluster info dumped to ";

/// One log of a dump.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) whose: LogName,
    /// Where its text lies.
    pub(super) span: Range<usize>,
    pub(super) end: End,
}

/// How a log of a dump ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With the line that ends it.
    Marked,
    /// With the text, or with the start of another.
    Missing,
}

/// Whether bytes hold such a log.
pub(super) fn is_dump(bytes: &[u8]) -> bool {
    bytes
        .split(|byte| *byte == b'\n')
        .any(|line| line.starts_with(START.as_bytes()))
}

/// Finds the logs of a dump.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut found = Vec::new();
    let mut open: Option<(LogName, &str, usize)> = None;
    for (at, _) in text.match_indices("==== ") {
        let rest = text.get(at..).unwrap_or_default();
        if let Some((_, name, from)) = &open
            && rest
                .strip_prefix(END)
                .is_some_and(|rest| rest.starts_with(*name))
        {
            // What follows the name on this line is four more of these.
            let span = *from..at;
            if let Some((whose, _, _)) = open.take() {
                found.push(Part {
                    whose,
                    span,
                    end: End::Marked,
                });
            }
            continue;
        }
        let starts_line = at == 0 || text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\n');
        let Some((whose, name, length)) = starts_line.then(|| start(rest)).flatten() else {
            continue;
        };
        if let Some((whose, _, from)) = open.take() {
            found.push(Part {
                whose,
                span: from..at,
                end: End::Missing,
            });
        }
        open = Some((whose, name, at.saturating_add(length)));
    }
    if let Some((whose, _, from)) = open {
        found.push(Part {
            whose,
            span: from..text.len(),
            end: End::Missing,
        });
    }
    found
}

/// Reads the line that starts a log: whose it is, the words that its end repeats, and how long the line is.
fn start(rest: &str) -> Option<(LogName, &str, usize)> {
    let line = rest.split('\n').next()?;
    let name = line.strip_prefix(START)?;
    let words = name.trim_end_matches('\r').strip_suffix(" ====")?;
    let (container, pod) = words.split_once(" of pod ")?;
    let (namespace, pod) = pod.split_once('/')?;
    let whose = LogName {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        container: container.to_owned(),
        previous: Previous::No,
    };
    let length = rest.len().min(line.len().saturating_add(1));
    Some((whose, words, length))
}

/// Returns why there is no log, if that is what stands in its place.
pub(super) fn refusal(log: &str) -> Option<&str> {
    let line = log.trim();
    NO_LOG
        .iter()
        .find_map(|words| line.strip_prefix(words))
        .filter(|rest| !rest.contains('\n'))
}

/// Returns a dump without its logs; the lines that are left stay where they are.
pub(super) fn without_logs(text: String, parts: &[Part]) -> String {
    let mut bytes = text.into_bytes();
    let mut blank = |range: Range<usize>| {
        if let Some(bytes) = bytes.get_mut(range) {
            for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
                *byte = b' ';
            }
        }
    };
    for part in parts {
        blank(part.span.clone());
    }
    // The lines around the logs, and kubectl's last word.
    let mut at: usize = 0;
    let mut lines: Vec<Range<usize>> = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let end = at.saturating_add(line.len());
        let trimmed = line.trim_ascii_start();
        let is_said = [START, END, FAREWELL]
            .iter()
            .any(|words| trimmed.starts_with(words.as_bytes()));
        if is_said {
            lines.push(at..end);
        }
        at = end.saturating_add(1);
    }
    for line in lines {
        if let Some(bytes) = bytes.get_mut(line) {
            bytes.fill(b' ');
        }
    }
    // Whole characters were overwritten with spaces.
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{End, is_dump, parts, refusal, without_logs};

    fn told(text: &str) -> Vec<(String, &str, End)> {
        parts(text)
            .into_iter()
            .map(|part| {
                let whose = &part.whose;
                (
                    format!("{} {} {}", whose.namespace, whose.pod, whose.container),
                    &text[part.span],
                    part.end,
                )
            })
            .collect()
    }

    const DUMP: &str = "{\n  \"kind\": \"PodList\"\n}\n\
        ==== START logs for container a of pod ns/p ====\none\n==== two\n\
        ==== END logs for container a of pod ns/p ====\n\
        ==== START logs for container b of pod ns/p ====\nno newline at the end\
        ==== END logs for container b of pod ns/p ====\n{\"kind\": 1}\n\
        Cluster info dumped to standard output\n";

    #[test]
    fn logs_are_taken_out_and_objects_stay_where_they_are() {
        assert!(is_dump(DUMP.as_bytes()));
        assert_eq!(
            told(DUMP),
            [
                ("ns p a".to_owned(), "one\n==== two\n", End::Marked),
                ("ns p b".to_owned(), "no newline at the end", End::Marked),
            ]
        );
        let rest = without_logs(DUMP.to_owned(), &parts(DUMP));
        assert_eq!(rest.len(), DUMP.len());
        let lines: Vec<&str> = rest
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty())
            .collect();
        assert_eq!(lines, ["{", "\"kind\": \"PodList\"", "}", "{\"kind\": 1}"]);
        assert_eq!(rest.find("{\"kind\""), DUMP.find("{\"kind\""));
    }

    #[test]
    fn a_dump_that_breaks_off_keeps_the_log_that_it_breaks_off_in() {
        let cut = &DUMP[..DUMP.find("==== two").unwrap()];
        assert_eq!(told(cut), [("ns p a".to_owned(), "one\n", End::Missing)]);
    }

    #[test]
    fn a_start_without_an_end_ends_at_the_next_start() {
        let text = "==== START logs for container a of pod n/p ====\nx\n\
            ==== START logs for container b of pod n/q ====\ny é\n";
        assert_eq!(
            told(text),
            [
                ("n p a".to_owned(), "x\n", End::Missing),
                ("n q b".to_owned(), "y é\n", End::Missing)
            ]
        );
        assert_eq!(without_logs(text.to_owned(), &parts(text)).trim(), "");
    }

    #[test]
    fn an_error_in_place_of_a_log_is_not_a_log() {
        assert_eq!(
            refusal("Request log error: the server timed out\n"),
            Some("the server timed out")
        );
        assert_eq!(refusal("Request log error: x\nmore\n"), None);
        assert_eq!(refusal("time=1 msg=x"), None);
    }
}
