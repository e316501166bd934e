//! The values of the fields, each decoded as `encoding/json` decodes it into a field that may hold a value.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::go_json::Node;

/// How much of a value is quoted in an answer: enough for any number a person would write.
pub(super) const QUOTED_CHARS: usize = 64;

/// Reads an object, in the order written; `None` for null.
pub(super) fn object<'d>(
    path: &str,
    raw: &'d RawValue,
) -> Result<Option<Vec<(String, &'d RawValue)>>, String> {
    match Node::read(raw)? {
        Node::Object(pairs) => Ok(Some(pairs)),
        Node::Null => Ok(None),
        found @ (Node::Bool | Node::Number(_) | Node::Text(_) | Node::List(_)) => {
            Err(wrong(path, "an object", &found))
        }
    }
}

/// Checks that a value is a boolean or null.
pub(super) fn boolean(path: &str, raw: &RawValue) -> Result<(), String> {
    match Node::read(raw)? {
        Node::Null | Node::Bool => Ok(()),
        found @ (Node::Number(_) | Node::Text(_) | Node::List(_) | Node::Object(_)) => {
            Err(wrong(path, "a boolean", &found))
        }
    }
}

/// Reads an integer; null keeps the value. Returns whether a number was written.
pub(super) fn integer(path: &str, raw: &RawValue, value: &mut i64) -> Result<bool, String> {
    match Node::read(raw)? {
        Node::Null => Ok(false),
        // Go: strconv.ParseInt of the digits as written.
        Node::Number(digits) => {
            *value = digits.parse().map_err(|_| {
                let digits: String = digits.chars().take(QUOTED_CHARS).collect();
                format!("{path}: must be an integer, is {digits}")
            })?;
            Ok(true)
        }
        found @ (Node::Bool | Node::Text(_) | Node::List(_) | Node::Object(_)) => {
            Err(wrong(path, "an integer", &found))
        }
    }
}

/// Reads a string; null keeps the value.
pub(super) fn text(path: &str, raw: &RawValue, value: &mut String) -> Result<(), String> {
    match Node::read(raw)? {
        Node::Null => Ok(()),
        Node::Text(text) => {
            *value = text;
            Ok(())
        }
        found @ (Node::Bool | Node::Number(_) | Node::List(_) | Node::Object(_)) => {
            Err(wrong(path, "a string", &found))
        }
    }
}

/// Reads a map of strings into one that may hold values; null clears it.
pub(super) fn text_map(
    path: &str,
    raw: &RawValue,
    map: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    match Node::read(raw)? {
        Node::Null => {
            map.clear();
            Ok(())
        }
        Node::Object(pairs) => {
            for (key, value) in pairs {
                // Go decodes each value into a fresh element, so null reads as "".
                let mut element = String::new();
                text(&format!("{path}.{key}"), value, &mut element)?;
                map.insert(key, element);
            }
            Ok(())
        }
        found @ (Node::Bool | Node::Number(_) | Node::Text(_) | Node::List(_)) => {
            Err(wrong(path, "an object", &found))
        }
    }
}

/// Reads a list over one that may hold elements, which Go decodes into again; null clears it.
pub(super) fn list<T: Default>(
    path: &str,
    raw: &RawValue,
    elements: &mut Vec<T>,
    mut read: impl FnMut(&str, &RawValue, &mut T) -> Result<(), String>,
) -> Result<(), String> {
    let items = match Node::read(raw)? {
        Node::Null => Vec::new(),
        Node::List(items) => items,
        found @ (Node::Bool | Node::Number(_) | Node::Text(_) | Node::Object(_)) => {
            return Err(wrong(path, "a list", &found));
        }
    };
    elements.resize_with(items.len(), T::default);
    for (index, (element, item)) in elements.iter_mut().zip(items).enumerate() {
        read(&format!("{path}[{index}]"), item, element)?;
    }
    Ok(())
}

fn wrong(path: &str, want: &str, found: &Node<'_>) -> String {
    let path = if path.is_empty() {
        "the document"
    } else {
        path
    };
    format!("{path}: must be {want}, is {}", found.kind())
}
