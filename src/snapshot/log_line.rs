//! One line of a Velero log, taken apart.
//!
//! Velero logs with logrus: text (`time="…" level=info msg="…" key=value`) or JSON, as `--log-format`
//! says. What `kubectl logs --timestamps` and `--prefix` put in front is skipped.

use std::borrow::Cow;

use jiff::Timestamp;

/// The parts of a log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// `time`.
    pub time: Option<Timestamp>,
    /// `level`, such as `info` or `warning`; empty if there is none.
    pub level: Cow<'a, str>,
    /// `msg`.
    pub message: Cow<'a, str>,
    /// All other fields, in the order written.
    pub fields: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> LogLine<'a> {
    /// Takes a line apart; `None` if it has no `msg`, such as a line of a Go panic or of client-go, or is JSON
    /// without a `level`, which logrus always writes.
    ///
    /// ```
    /// use velero_slots::snapshot::log_line::LogLine;
    /// let line = LogLine::parse(r#"time="2026-01-02T03:04:05Z" level=info msg="Reconcile du-1" node=n1"#);
    /// assert_eq!(line.unwrap().message, "Reconcile du-1");
    /// ```
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let line = after_prefix(line);
        let pairs = if line.starts_with('{') {
            json_pairs(line).filter(|pairs| pairs.iter().any(|(key, _)| key == "level"))?
        } else {
            text_pairs(line)
        };
        let mut parsed = Self {
            time: None,
            level: Cow::default(),
            message: Cow::default(),
            fields: Vec::new(),
        };
        let mut has_message = HasMessage::No;
        for (key, value) in pairs {
            match &*key {
                "time" => parsed.time = value.parse().ok(),
                "level" => parsed.level = value,
                "msg" => {
                    parsed.message = value;
                    has_message = HasMessage::Yes;
                }
                // Every other key is one of Velero's own fields.
                _ => parsed.fields.push((key, value)),
            }
        }
        match has_message {
            HasMessage::Yes => Some(parsed),
            HasMessage::No => None,
        }
    }

    /// Looks for a field by its key.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| &**value)
    }
}

#[derive(Clone, Copy)]
enum HasMessage {
    No,
    Yes,
}

/// Skips `[pod/name/container] ` and the timestamp that the kubelet adds.
fn after_prefix(line: &str) -> &str {
    let line = line.trim_start();
    let line = match line.strip_prefix("[pod/").and_then(|l| l.split_once("] ")) {
        Some((_, rest)) => rest,
        None => line,
    };
    match line.split_once(' ') {
        Some((word, rest))
            if word.starts_with(|first: char| first.is_ascii_digit())
                && word.parse::<Timestamp>().is_ok() =>
        {
            rest
        }
        Some(_) | None => line,
    }
}

type Pairs<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

fn json_pairs(line: &str) -> Option<Pairs<'_>> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).ok()?;
    let pairs = object.into_iter().map(|(key, value)| {
        let text = match value {
            serde_json::Value::String(text) => text,
            other @ (serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_)) => other.to_string(),
        };
        (Cow::Owned(key), Cow::Owned(text))
    });
    Some(pairs.collect())
}

fn text_pairs(line: &str) -> Pairs<'_> {
    let mut pairs = Vec::new();
    let mut rest = line;
    while let Some((key, after)) = rest.split_once('=') {
        // A blank in the key: what stands before it is no pair, as in `panic: x=y`.
        let key = key.rsplit(' ').next().unwrap_or(key);
        let (value, after) = if let Some(quoted) = after.strip_prefix('"') {
            unquote(quoted)
        } else {
            let end = after.find(' ').unwrap_or(after.len());
            let (word, after) = after.split_at_checked(end).unwrap_or((after, ""));
            (Cow::Borrowed(word), after)
        };
        pairs.push((Cow::Borrowed(key), value));
        rest = after.trim_start();
    }
    pairs
}

/// Reads up to the closing quote, with the escapes of Go's `%q`. A line cut before it ends there.
fn unquote(text: &str) -> (Cow<'_, str>, &str) {
    let Some(end) = text.find(['"', '\\']) else {
        return (Cow::Borrowed(text), "");
    };
    if text.as_bytes().get(end) == Some(&b'"') {
        let (value, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        return (Cow::Borrowed(value), rest.get(1..).unwrap_or_default());
    }
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (Cow::Owned(value), text.get(at + 1..).unwrap_or_default()),
            '\\' => {
                if let Some((_, escape)) = characters.next() {
                    push_escape(&mut value, escape, &mut characters);
                }
            }
            other => value.push(other),
        }
    }
    (Cow::Owned(value), "")
}

fn push_escape(value: &mut String, escape: char, rest: &mut std::str::CharIndices<'_>) {
    let digits = match escape {
        'n' => return value.push('\n'),
        't' => return value.push('\t'),
        'r' => return value.push('\r'),
        'a' => return value.push('\u{7}'),
        'b' => return value.push('\u{8}'),
        'f' => return value.push('\u{c}'),
        'v' => return value.push('\u{b}'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        // `\"` and `\\` stand for themselves.
        other => return value.push(other),
    };
    let code = rest
        .take(digits)
        .try_fold(0_u32, |code, (_, digit)| {
            digit
                .to_digit(16)
                .map(|digit| code.wrapping_mul(16).wrapping_add(digit))
        })
        .and_then(char::from_u32);
    value.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: &str = r#"time="2026-01-02T03:04:05Z" level=info msg="Starting Velero node-agent server v1.17.1 (94f64639cee09c5caaa65b65ab5f42175f41c101)" logSource="pkg/cmd/cli/nodeagent/server.go:107""#;

    fn assert_start(line: &str) {
        let parsed = LogLine::parse(line).unwrap();
        assert_eq!(parsed.time, "2026-01-02T03:04:05Z".parse().ok());
        assert_eq!(parsed.level, "info");
        assert!(parsed.message.starts_with("Starting Velero node-agent"));
        assert_eq!(
            parsed.field("logSource"),
            Some("pkg/cmd/cli/nodeagent/server.go:107")
        );
    }

    #[test]
    fn a_text_line_is_taken_apart() {
        assert_start(START);
    }

    #[test]
    fn a_json_line_is_taken_apart() {
        assert_start(
            r#"{"level":"info","logSource":"pkg/cmd/cli/nodeagent/server.go:107","msg":"Starting Velero node-agent server v1.17.1 (94f6)","time":"2026-01-02T03:04:05Z"}"#,
        );
    }

    #[test]
    fn what_kubectl_puts_in_front_is_skipped() {
        assert_start(&format!("2026-01-02T03:04:05.123456789Z {START}"));
        assert_start(&format!("[pod/node-agent-x/node-agent] {START}"));
        assert_start(&format!(
            "[pod/node-agent-x/node-agent] 2026-01-02T03:04:05.1Z {START}"
        ));
    }

    #[test]
    fn escapes_and_bare_words_are_read() {
        let line = LogLine::parse(
            r#"level=error msg="say \"hi\"\n\u00e9\x41 a=b" error="x\\y" node=n1 empty= last="#,
        )
        .unwrap();
        assert_eq!(line.message, "say \"hi\"\n\u{e9}A a=b");
        assert_eq!(line.field("error"), Some("x\\y"));
        assert_eq!(line.field("node"), Some("n1"));
        assert_eq!(line.field("empty"), Some(""));
        assert_eq!(line.field("last"), Some(""));
        assert_eq!(line.field("a"), None);
    }

    #[test]
    fn lines_of_others_are_no_log_lines() {
        for line in [
            "",
            "goroutine 1 [running]:",
            "I0102 03:04:05.000000 1 leaderelection.go:250] x=y",
            "{not json",
            "[1,2]",
            "panic: a=b",
        ] {
            assert_eq!(LogLine::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_that_was_cut_keeps_what_is_there() {
        let line = LogLine::parse(r#"level=info msg="Preparing dataupl"#).unwrap();
        assert_eq!(line.message, "Preparing dataupl");
    }

    proptest! {
        #[test]
        fn what_go_would_quote_comes_back(message in "[ -~\n\t]{0,60}") {
            let quoted = message.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n").replace('\t', r"\t");
            let line = format!("level=info msg=\"{quoted}\" node=n1");
            let parsed = LogLine::parse(&line).unwrap();
            prop_assert_eq!(&*parsed.message, message);
            prop_assert_eq!(parsed.field("node"), Some("n1"));
        }

        #[test]
        fn any_line_is_read_or_refused(line in ".{0,80}") {
            let parsed = LogLine::parse(&line);
            prop_assert!(parsed.is_none() || line.contains("msg"));
        }
    }
}
