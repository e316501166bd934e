//! Logs, line by line: a line of Velero is written anew with the fields that are read; of any other line the
//! prose is kept.

use super::Redactor;
use super::image::tag;
use super::names::NameKind;
use super::text::is_number;
use crate::capture::{LINES_LEFT_OUT, LogFile};
use crate::snapshot::log_line::LogLine;
use crate::velero::TaskKind;

/// The longest name of an object in Kubernetes; what is longer is not read as one.
const NAME_LENGTH: usize = 253;

/// Fields beside the controllers' own that name a task or its pod.
const NAMING: [&str; 5] = ["taskName", "jobName", "user", "owner", "pod"];

const LEVELS: [&str; 7] = [
    "trace", "debug", "info", "warning", "error", "fatal", "panic",
];

/// Texts that a task's name follows to the end of the message.
const BEFORE_NAME: [&str; 2] = ["Reconcile ", "Starting to collect data mover pod log for "];

/// What becomes of a field.
enum Field {
    /// It names a task, behind its namespace or not.
    Task,
    /// It names something by a bare name.
    Naming,
    /// Prose.
    Prose,
    /// One of Velero's controllers.
    Controller,
    /// Nothing reads it.
    Dropped,
}

fn field(key: &str) -> Field {
    let last = key.rsplit(' ').next().unwrap_or(key);
    if kind_of(key).is_some() {
        Field::Task
    } else if NAMING.contains(&last) {
        Field::Naming
    } else if key == "error" {
        Field::Prose
    } else if key == "controller" {
        Field::Controller
    } else {
        Field::Dropped
    }
}

/// As the reader of logs does it: keys of 2 to 22 characters, in any spelling, also those of restic restores.
fn kind_of(key: &str) -> Option<TaskKind> {
    if !(2..=22).contains(&key.len()) {
        return None;
    }
    let key = key.to_ascii_lowercase();
    TaskKind::parse(key.trim_end_matches("legacy"))
}

impl Redactor {
    /// Notes the names that only a log holds, such as those of tasks that are gone.
    pub(super) fn note_log(&mut self, log: &LogFile) {
        self.names.note(NameKind::Namespace, &log.namespace);
        self.note_own(NameKind::Pod, &log.pod);
        self.names.note(NameKind::Container, &log.container);
        for line in log.body.lines() {
            let Some(line) = LogLine::parse(line) else {
                continue;
            };
            for (key, value) in &line.fields {
                match field(key) {
                    Field::Task => {
                        if let Some((namespace, name)) = task_of(value) {
                            self.names.note(NameKind::Namespace, &namespace);
                            self.names.note(NameKind::Task, &name);
                        }
                    }
                    Field::Naming if !value.contains(['/', ' ']) => {
                        self.note_own(NameKind::Pod, value);
                    }
                    Field::Naming | Field::Prose | Field::Controller | Field::Dropped => {}
                }
            }
            if let Some(name) = name_in(&line.message) {
                self.names.note(NameKind::Task, name);
            }
        }
    }

    /// Returns a log without names and secrets.
    pub(super) fn log(&mut self, log: &LogFile) -> LogFile {
        let mut body = String::with_capacity(log.body.len());
        let mut rest = log.body.as_str();
        while !rest.is_empty() {
            // A PEM block goes over lines.
            if rest.starts_with("-----BEGIN ") {
                let end = rest.find("-----END ").unwrap_or(rest.len());
                let (block, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                let (tail, after) = after.split_once('\n').unwrap_or((after, ""));
                body.push_str(&self.prose(&format!("{block}{tail}")));
                body.push('\n');
                rest = after;
                continue;
            }
            let (line, after, end) = match rest.split_once('\n') {
                Some((line, after)) => (line, after, "\n"),
                None => (rest, "", ""),
            };
            body.push_str(&self.log_line(line));
            body.push_str(end);
            rest = after;
        }
        LogFile {
            namespace: self.names.of(NameKind::Namespace, &log.namespace),
            pod: self.own(NameKind::Pod, &log.pod),
            container: self.names.of(NameKind::Container, &log.container),
            previous: log.previous,
            cut: log.cut,
            body,
        }
    }

    fn log_line(&mut self, line: &str) -> String {
        if line.starts_with(LINES_LEFT_OUT) {
            return LINES_LEFT_OUT.to_owned();
        }
        let Some(parsed) = LogLine::parse(line) else {
            return self.prose(line);
        };
        let mut out = String::with_capacity(line.len());
        if let Some(time) = parsed.time {
            push_parts(&mut out, &["time=\"", &time.to_string(), "\" "]);
        }
        if LEVELS.contains(&&*parsed.level) {
            push_parts(&mut out, &["level=", &parsed.level, " "]);
        }
        out.push_str("msg=");
        let message = self.log_message(&parsed.message);
        push_quoted(&mut out, &message);
        for (key, value) in &parsed.fields {
            let (key, value) = match field(key) {
                Field::Task => (key.to_ascii_lowercase(), self.task_field(value)),
                Field::Naming => {
                    let value = if value.len() > NAME_LENGTH {
                        Some("x".repeat(NAME_LENGTH + 1))
                    } else if value.contains(['/', ' ']) {
                        Some("a/b".to_owned())
                    } else {
                        Some(self.own(NameKind::Pod, value))
                    };
                    let last = key.rsplit(' ').next().unwrap_or(key);
                    (last.to_owned(), value)
                }
                Field::Prose => (key.to_string(), Some(self.prose(value))),
                Field::Controller => (key.to_string(), kind_of(value).map(|_| value.to_string())),
                Field::Dropped => continue,
            };
            if let Some(value) = value {
                out.push(' ');
                out.push_str(&key);
                out.push('=');
                push_quoted(&mut out, &value);
            }
        }
        out
    }

    /// A message of Velero: the name that it ends with is a name whatever it looks like.
    fn log_message(&mut self, message: &str) -> String {
        if let Some(name) = name_in(message)
            && let Some(before) = message.strip_suffix(name)
        {
            let before = self.prose(before);
            return format!("{before}{}", self.names.of(NameKind::Task, name));
        }
        if let Some(rest) = message.strip_prefix("Starting Velero node-agent server ") {
            let (version, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let version = if is_number(version) {
                version.to_owned()
            } else {
                tag(self, version)
            };
            let rest = self.prose(rest);
            return format!("Starting Velero node-agent server {version} {rest}")
                .trim_end()
                .to_owned();
        }
        self.prose(message)
    }

    fn task_field(&mut self, value: &str) -> Option<String> {
        let (namespace, name) = task_of(value)?;
        if name.len() > NAME_LENGTH {
            return Some("x".repeat(NAME_LENGTH + 1));
        }
        let name = self.names.of(NameKind::Task, &name);
        if namespace.is_empty() {
            return Some(name);
        }
        Some(format!(
            "{}/{name}",
            self.names.of(NameKind::Namespace, &namespace)
        ))
    }
}

/// Reads namespace and name: bare, behind its namespace, or as the object that JSON makes of
/// `types.NamespacedName`.
fn task_of(value: &str) -> Option<(String, String)> {
    if value.starts_with('{') {
        let object: serde_json::Value = serde_json::from_str(value).ok()?;
        let text = |key: &str| object.get(key).and_then(serde_json::Value::as_str);
        return Some((
            text("Namespace").unwrap_or_default().to_owned(),
            text("Name")?.to_owned(),
        ));
    }
    let (before, name) = value.rsplit_once('/').unwrap_or(("", value));
    let namespace = before.rsplit('/').next().unwrap_or_default();
    (!name.is_empty()).then(|| (namespace.to_owned(), name.to_owned()))
}

/// The name that a message ends with.
fn name_in(message: &str) -> Option<&str> {
    let name = BEFORE_NAME
        .iter()
        .find_map(|before| message.strip_prefix(before))
        .or_else(|| {
            let rest = message.strip_prefix("asyncBR is resumed for ")?;
            rest.split_once(' ').map(|(_, name)| name)
        })?;
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

fn push_parts(out: &mut String, parts: &[&str]) {
    for part in parts {
        out.push_str(part);
    }
}

/// Appends a value as Go's `%q` writes it.
fn push_quoted(out: &mut String, value: &str) {
    out.push('"');
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            other => out.push(other),
        }
    }
    out.push('"');
}
