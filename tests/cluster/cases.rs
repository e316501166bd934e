//! The cases of `fixtures/`, found by the code of the offline tests.

#[path = "../offline/cases/discover.rs"]
mod discover;

use std::path::PathBuf;

use serde_json::Value;

pub(crate) use discover::discover;

/// One case, as it stands on disk.
pub(crate) struct Case {
    /// Its folder below `fixtures/`, which is its name.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// Its `expect.yaml`.
    pub(crate) expect: Value,
}

/// Returns a field that holds a string; empty if it does not.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a field that holds a list; empty if it does not.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value
        .get(field)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the strings of a field that holds a list.
pub(crate) fn strings<'a>(value: &'a Value, field: &str) -> Vec<&'a str> {
    list(value, field)
        .iter()
        .filter_map(Value::as_str)
        .collect()
}
