//! Which task a line is about. Each controller, the exposers and the data paths name it in their own way.

use std::borrow::Cow;

use crate::snapshot::log_line::LogLine;
use crate::velero::TaskKind;

/// The longest name of an object in Kubernetes.
const NAME_LENGTH: usize = 253;

/// The task that a line is about.
pub(super) struct Subject<'l> {
    pub(super) kind: Option<TaskKind>,
    name: Option<Cow<'l, str>>,
}

impl<'l> Subject<'l> {
    pub(super) fn of(line: &'l LogLine<'_>, only_kind: Option<TaskKind>) -> Self {
        let named = line.fields.iter().find_map(|(key, value)| {
            let kind = kind_of_key(key)?;
            Some((kind, name_in(value)?))
        });
        let controller = || line.field("controller").and_then(kind_of_key);
        let (said_kind, said_name) = in_message(&line.message);
        let (kind, name) = match named {
            Some((kind, name)) => (Some(kind), Some(name)),
            None => (
                None,
                said_name
                    .map(Cow::Borrowed)
                    .or_else(|| by_other_fields(line)),
            ),
        };
        Self {
            kind: only_kind.or(kind).or(said_kind).or_else(controller),
            name: name.filter(|name| !name.is_empty() && name.len() <= NAME_LENGTH),
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// Keys by which the controllers name their task: `dataupload`, `PVB`, `PodVolumeRestore`, … and, as value of
/// `controller`, also the one of restic restores.
fn kind_of_key(key: &str) -> Option<TaskKind> {
    if !(2..=22).contains(&key.len()) {
        return None;
    }
    let key = key.to_ascii_lowercase();
    TaskKind::parse(key.trim_end_matches("legacy"))
}

/// Reads a name: bare, behind its namespace, or as the object that JSON makes of `types.NamespacedName`.
fn name_in(value: &str) -> Option<Cow<'_, str>> {
    if value.starts_with('{') {
        let object: serde_json::Value = serde_json::from_str(value).ok()?;
        return Some(Cow::Owned(object.get("Name")?.as_str()?.to_owned()));
    }
    let name = value.rsplit('/').next().unwrap_or(value);
    (!name.is_empty()).then_some(Cow::Borrowed(name))
}

/// Texts that carry the name of the task themselves.
fn in_message(message: &str) -> (Option<TaskKind>, Option<&str>) {
    if let Some((before, _)) = message.split_once(" is canceled in Phase ") {
        let name = before.rsplit([' ', '/']).next();
        let kind = before.split(' ').next().and_then(|first| match first {
            // "Data upload X", "Data download X".
            "Data" if before.starts_with("Data upload") => Some(TaskKind::DataUpload),
            "Data" => Some(TaskKind::DataDownload),
            other => kind_of_key(other),
        });
        return (kind, name);
    }
    if let Some(rest) = message.strip_prefix("asyncBR is resumed for ") {
        return match rest.split_once(' ') {
            Some((kind, name)) => (kind_of_key(kind), Some(name)),
            None => (None, None),
        };
    }
    let name = ["Starting to collect data mover pod log for ", "Reconcile "]
        .iter()
        .find_map(|before| message.strip_prefix(before));
    (None, name)
}

fn by_other_fields<'l>(line: &'l LogLine<'_>) -> Option<Cow<'l, str>> {
    // A key with blanks keeps its last word in the text format: `data path pod` reads as `pod`.
    [
        "taskName",
        "data path pod",
        "jobName",
        "user",
        "owner",
        "pod",
    ]
    .iter()
    .find_map(|key| line.field(key))
    .filter(|name| !name.contains(['/', ' ']))
    .map(Cow::Borrowed)
}
