//! The shapes that JSON fields may have, as small borrowing types.
//!
//! Kubernetes writes `null` in many places where it means "not set", so every type here reads it as
//! absent. Serde's derive would take a list for a struct; [`Obj`] does not, because `status: []` must not
//! read as "no status". A strict type ([`Text`], [`Obj`], [`List`], [`Labels`]) costs the whole object when
//! the JSON has another type; a [`Loose`] one costs only itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A string; absent and null are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    pub(super) fn owned(&self) -> String {
        self.0.clone().into_owned()
    }

    fn kept(&self) -> Text<'static> {
        Text(Cow::Owned(self.owned()))
    }

    /// Returns the text unless it is empty: Go leaves empty strings out, so both mean "not set".
    pub(super) fn set(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.owned())
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_any(TextVisitor)
    }
}

/// A string whose loss does not spoil its object: anything else than a string is kept as "odd".
#[derive(Clone, Debug, Default)]
pub(super) enum Loose<'a> {
    /// Not there, or null.
    #[default]
    Absent,
    /// A string.
    Text(Cow<'a, str>),
    /// What it was instead of a string.
    Odd(&'static str),
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LooseVisitor;

        impl<'de> Visitor<'de> for LooseVisitor {
            type Value = Loose<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Loose::Absent)
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Loose::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Loose::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Loose::Odd("a boolean"))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Loose::Odd("a number"))
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Loose::Odd("a number"))
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Loose::Odd("a number"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Loose::Odd("a list"))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Loose::Odd("an object"))
            }
        }

        deserializer.deserialize_any(LooseVisitor)
    }
}

/// A JSON object; absent and null are the default of `T`.
#[derive(Clone, Debug, Default)]
pub(super) struct Obj<T>(T);

impl<T> Obj<T> {
    pub(super) fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Obj<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Obj<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for ObjVisitor<T> {
            type Value = Obj<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Obj::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Obj)
            }
        }

        deserializer.deserialize_any(ObjVisitor(PhantomData))
    }
}

/// A list; absent and null are empty.
#[derive(Clone, Debug)]
pub(super) struct List<T>(Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<Vec<T>>::deserialize(deserializer).map(|list| Self(list.unwrap_or_default()))
    }
}

/// A map of strings; absent and null are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels<'a>(Vec<(Text<'a>, Text<'a>)>);

impl Labels<'_> {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.iter()
            .find_map(|(name, value)| (name == key).then_some(value))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    pub(super) fn compact(&self) -> super::super::Labels {
        self.0
            .iter()
            .map(|(key, value)| (key.owned(), value.owned()))
            .collect()
    }

    pub(super) fn owned(&self) -> BTreeMap<String, String> {
        self.0
            .iter()
            .map(|(key, value)| (key.owned(), value.owned()))
            .collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;

        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Labels::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::with_capacity(map.size_hint().unwrap_or(0));
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Labels(entries))
            }
        }

        deserializer.deserialize_any(LabelsVisitor)
    }
}

/// An integer whose loss does not spoil its object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Number {
    /// Not there, or null.
    #[default]
    Absent,
    /// An integer.
    Value(i64),
    /// Something else.
    Odd,
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Option::<&RawValue>::deserialize(deserializer)?;
        Ok(raw.map_or(Self::Absent, |raw| {
            raw.get().parse().map_or(Self::Odd, Self::Value)
        }))
    }
}

/// `metadata`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) namespace: Text<'a>,
    #[serde(borrow)]
    pub(super) uid: Text<'a>,
    #[serde(borrow)]
    pub(super) resource_version: Loose<'a>,
    #[serde(borrow)]
    pub(super) labels: Labels<'a>,
    #[serde(borrow)]
    pub(super) annotations: Obj<Annotations<'a>>,
    #[serde(borrow)]
    pub(super) creation_timestamp: Loose<'a>,
    #[serde(borrow)]
    pub(super) deletion_timestamp: Loose<'a>,
    pub(super) deletion_grace_period_seconds: Number,
    #[serde(borrow)]
    pub(super) owner_references: List<Obj<OwnerReference<'a>>>,
    /// Most of an object's bytes; looked into only where it matters.
    #[serde(borrow)]
    pub(super) managed_fields: Option<&'a RawValue>,
}

impl Meta<'_> {
    /// Returns the resource version as a number. Kubernetes calls it opaque; where two copies of one
    /// object are in the input, the larger number is the newer copy with every API server there is.
    pub(super) fn version(&self) -> Option<u64> {
        match &self.resource_version {
            Loose::Text(text) => text.parse().ok(),
            Loose::Absent | Loose::Odd(_) => None,
        }
    }
}

/// The annotations that are read; the others, such as kubectl's copy of the whole object, are skipped.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Annotations<'a> {
    #[serde(borrow, rename = "velero.io/accepted-by")]
    pub(super) accepted_by: Text<'a>,
    #[serde(borrow, rename = "velero.io/accepted-at")]
    pub(super) accepted_at: Loose<'a>,
    #[serde(borrow, rename = "volume.kubernetes.io/selected-node")]
    pub(super) selected_node: Text<'a>,
    #[serde(borrow, rename = "velero-slots/nudged-at")]
    pub(super) nudged_at: Loose<'a>,
    #[serde(borrow, rename = "velero-slots/restarted-at")]
    pub(super) restarted_at: Loose<'a>,
    #[serde(borrow, rename = "velero-slots/reason")]
    pub(super) reason: Loose<'a>,
}

/// An entry of `metadata.ownerReferences`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OwnerReference<'a> {
    #[serde(borrow)]
    pub(super) api_version: Text<'a>,
    #[serde(borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    pub(super) controller: Option<bool>,
}

/// Something with `metadata`.
pub(super) trait Wire {
    fn meta(&self) -> &Meta<'_>;
}

/// A condition of a pod, a node or another object.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConditionWire<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Loose<'a>,
    #[serde(borrow)]
    pub(super) last_transition_time: Loose<'a>,
    #[serde(borrow)]
    pub(super) last_heartbeat_time: Loose<'a>,
}

/// A container of a pod template or of a pod.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct ContainerSpec<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) image: Text<'a>,
    #[serde(borrow)]
    pub(super) command: List<Text<'a>>,
    #[serde(borrow)]
    pub(super) args: List<Text<'a>>,
}

impl ContainerSpec<'_> {
    /// Returns a copy that outlives the text it was read from.
    pub(super) fn kept(&self) -> ContainerSpec<'static> {
        let all = |texts: &[Text<'_>]| List(texts.iter().map(Text::kept).collect());
        ContainerSpec {
            name: self.name.kept(),
            image: self.image.kept(),
            command: all(&self.command),
            args: all(&self.args),
        }
    }

    /// Returns command and arguments, in order.
    pub(super) fn words(&self) -> Vec<String> {
        self.command
            .iter()
            .chain(self.args.iter())
            .map(Text::owned)
            .collect()
    }
}
