//! JSON values as Go's `encoding/json` hands them to a struct.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// One JSON value, read one level deep. Objects keep their order and their duplicates: Go assigns them
/// one after the other.
pub(super) enum Node<'d> {
    Null,
    Bool,
    /// The digits as written: Go parses them as the field's type, so `2.0` is no integer.
    Number(&'d str),
    Text(String),
    List(Vec<&'d RawValue>),
    Object(Vec<(String, &'d RawValue)>),
}

impl<'d> Node<'d> {
    /// Reads one level.
    pub(super) fn read(raw: &'d RawValue) -> Result<Self, String> {
        let text = raw.get();
        let why = |error: serde_json::Error| error.to_string();
        match text.as_bytes().first() {
            Some(b'{') => serde_json::from_str(text)
                .map(|Pairs(pairs)| Self::Object(pairs))
                .map_err(why),
            Some(b'[') => serde_json::from_str(text).map(Self::List).map_err(why),
            Some(b'"') => serde_json::from_str(text).map(Self::Text).map_err(why),
            Some(b't' | b'f') => Ok(Self::Bool),
            Some(b'n') => Ok(Self::Null),
            _ => Ok(Self::Number(text)),
        }
    }

    /// Returns the kind of the value, for a message.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

struct Pairs<'d>(Vec<(String, &'d RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

/// Returns whether Go takes a written key for a field: equal, or equal under its case folding
/// (encoding/json fold.go: simple Unicode folding, in which `ſ` is an `s` and the Kelvin sign a `k`).
pub(super) fn is_key(written: &str, field: &str) -> bool {
    let folded = |text: &str| -> Vec<char> {
        text.chars()
            .map(|c| match c {
                '\u{17f}' => 's',
                '\u{212a}' => 'k',
                other => other.to_ascii_lowercase(),
            })
            .collect()
    };
    written == field || folded(written) == folded(field)
}

/// Finds the field that Go assigns a written key to.
pub(super) fn field<'f>(written: &str, fields: &[&'f str]) -> Option<&'f str> {
    fields.iter().copied().find(|field| is_key(written, field))
}

/// The deepest nesting that Go reads (encoding/json scanner.go: maxNestingDepth).
const MAX_DEPTH: usize = 10_000;

/// Refuses a valid document that is nested deeper than Go reads.
pub(super) fn check_depth(document: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    let mut is_text = false;
    let mut is_escaped = false;
    for byte in document.bytes() {
        if is_text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'[' | b'{' => depth = depth.saturating_add(1),
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
    }
    Ok(())
}
