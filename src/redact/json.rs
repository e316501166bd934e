//! JSON as it was written: the pairs of an object in their order, duplicates included, and values unread.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The type of a value, by its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Object,
    List,
    Text,
    Null,
    /// A number or a boolean.
    Bare,
}

pub(super) fn type_of(raw: &RawValue) -> Type {
    match raw.get().as_bytes().first() {
        Some(b'{') => Type::Object,
        Some(b'[') => Type::List,
        Some(b'"') => Type::Text,
        Some(b'n') => Type::Null,
        Some(_) | None => Type::Bare,
    }
}

/// The pairs of an object, in the order written.
pub(super) struct Pairs<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    pairs.push((key.0, value));
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the pairs of an object; none if a key cannot be read.
pub(super) fn pairs(raw: &RawValue) -> Vec<(Cow<'_, str>, &RawValue)> {
    serde_json::from_str::<Pairs<'_>>(raw.get()).map_or_else(|_| Vec::new(), |pairs| pairs.0)
}

/// Returns the elements of a list.
pub(super) fn elements(raw: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// Returns a text; `None` for another type, and for escapes that are no text.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Key<'_>>(raw.get())
        .ok()
        .map(|text| text.0)
}

/// Appends a text as JSON.
pub(super) fn push_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
