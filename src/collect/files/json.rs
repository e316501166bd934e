//! JSON: one or many documents, of which only the outside is parsed.
//!
//! A list of many megabytes is never turned into values. Its items are borrowed pieces of the text, and
//! only their places are kept.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::place::Place;

/// The outside of one JSON document.
#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    pub(super) shape: Shape,
    pub(super) api_version: Option<Cow<'a, str>>,
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) metadata: Option<&'a RawValue>,
    pub(super) items: Items<'a>,
}

/// What a document is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    #[default]
    Object,
    Array,
    Scalar,
    Null,
}

/// The field `items` of a document, or the elements of an array.
#[derive(Debug, Default)]
pub(super) enum Items<'a> {
    #[default]
    Missing,
    /// `null`: what Go writes for an empty list.
    Null,
    Listed(Vec<&'a RawValue>),
    /// Some other thing than a list.
    Odd,
}

/// One document of a JSON text.
pub(super) struct Found<'a> {
    /// Where the document lies in the text; to the end of the text if it is broken.
    pub(super) span: Range<usize>,
    pub(super) outline: Outline<'a>,
    /// Why the document ends early, if it does. Nothing follows it then.
    pub(super) broken: Option<Broken>,
    /// Objects that are left out of it because they could not be read.
    pub(super) lost: Vec<Broken>,
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) place: Place,
    pub(super) message: String,
}

/// Walks through the documents of a text. `---` between them is skipped.
pub(super) fn documents(text: &str) -> Documents<'_> {
    Documents { text, at: 0 }
}

/// The documents of a JSON text.
pub(super) struct Documents<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Documents<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        let rest = self.text.get(self.at..)?;
        let trimmed = rest.trim_start_matches(is_between_documents);
        // A separator is only one when it stands before a document, so `-1` is still a number.
        let trimmed = trimmed.strip_prefix("---").map_or(trimmed, |after| {
            after.trim_start_matches(is_between_documents)
        });
        if trimmed.is_empty() {
            self.at = self.text.len();
            return None;
        }
        let start = self.text.len().saturating_sub(trimmed.len());
        let mut stream = serde_json::Deserializer::from_str(trimmed).into_iter::<Outline<'a>>();
        match stream.next()? {
            Ok(outline) => {
                let end = start.saturating_add(stream.byte_offset());
                self.at = end;
                Some(Found {
                    span: start..end,
                    outline,
                    broken: None,
                    lost: Vec::new(),
                })
            }
            Err(error) => {
                self.at = self.text.len();
                Some(Found {
                    span: start..self.text.len(),
                    outline: salvage(trimmed),
                    broken: Some(Broken {
                        place: Place::after(self.text.get(..start).unwrap_or_default())
                            .then(error.line(), error.column()),
                        message: without_place(&error),
                    }),
                    lost: Vec::new(),
                })
            }
        }
    }
}

const fn is_between_documents(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// Reads a broken document again and returns what lies before the break. A second pass, so that the
/// whole documents, which are nearly all, need none of it.
fn salvage(text: &str) -> Outline<'_> {
    let mut outline = Outline::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // Its error is the one that led here.
    let _broken = Fill(&mut outline).deserialize(&mut deserializer);
    outline
}

/// The words of an error without the place, which counts from the document and not from the file.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.as_str(), |(words, _)| words)
        .to_owned()
}

impl<'de> Deserialize<'de> for Outline<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut outline = Self::default();
        Fill(&mut outline).deserialize(deserializer)?;
        Ok(outline)
    }
}

/// Fills an outline as far as the text goes.
struct Fill<'o, 'a>(&'o mut Outline<'a>);

impl<'de> DeserializeSeed<'de> for Fill<'_, 'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The fields that the outside is made of.
enum Field {
    ApiVersion,
    Kind,
    Metadata,
    Items,
    Other,
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Field;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Field, E> {
                Ok(match name {
                    "apiVersion" => Field::ApiVersion,
                    "kind" => Field::Kind,
                    "metadata" => Field::Metadata,
                    "items" => Field::Items,
                    _ => Field::Other,
                })
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

impl<'de> Visitor<'de> for Fill<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key::<Field>()? {
            match field {
                Field::ApiVersion => self.0.api_version = text_of(map.next_value()?),
                Field::Kind => self.0.kind = text_of(map.next_value()?),
                Field::Metadata => self.0.metadata = Some(map.next_value()?),
                Field::Items => map.next_value_seed(FillItems(&mut self.0.items))?,
                Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        self.0.shape = Shape::Array;
        FillItems(&mut self.0.items).visit_seq(seq)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.shape = Shape::Null;
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.0.shape = Shape::Scalar;
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.0.shape = Shape::Scalar;
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.0.shape = Shape::Scalar;
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.0.shape = Shape::Scalar;
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.0.shape = Shape::Scalar;
        Ok(())
    }
}

/// Returns a raw value's text if it is a string. Anything else reads as missing.
pub(super) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(raw.get())
        .ok()
        .map(|text| text.0)
}

/// Fills the list of items as far as the text goes.
struct FillItems<'o, 'a>(&'o mut Items<'a>);

impl<'de> DeserializeSeed<'de> for FillItems<'_, 'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FillItems<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        // In place from the start, so that what was read stays when the text breaks off.
        *self.0 = Items::Listed(Vec::new());
        let Items::Listed(items) = self.0 else {
            return Ok(());
        };
        while let Some(item) = seq.next_element::<&RawValue>()? {
            items.push(item);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        *self.0 = Items::Odd;
        IgnoredAny.visit_map(map).map(drop)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        *self.0 = Items::Null;
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        *self.0 = Items::Odd;
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        *self.0 = Items::Odd;
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        *self.0 = Items::Odd;
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        *self.0 = Items::Odd;
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        *self.0 = Items::Odd;
        Ok(())
    }
}
