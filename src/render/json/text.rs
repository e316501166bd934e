//! A text that comes from an API server or a file.

use serde::{Serialize, Serializer};

use super::escape::must_escape;

/// A text that comes from an API server or a file. In YAML it is double-quoted where it holds a character
/// that must be escaped, since only that style has escapes; in JSON every string has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.chars().any(must_escape) {
            serde_saphyr::DoubleQuoted(self.0).serialize(serializer)
        } else {
            serializer.serialize_str(self.0)
        }
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Text<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}
