//! YAML to JSON, event by event, without a tree in between.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::json::Broken;
use super::place::Place;
use super::printable::printable;

/// How often an alias may be followed in one document, in parser events. kubectl never writes an
/// alias; a file written by hand may hold a few.
const REPLAYED_EVENTS: usize = 100_000;

/// JSON may be this many times longer than its YAML, plus [`GROWTH_FLOOR`]: quotes and escapes make it
/// grow about sixfold at worst, so what grows more is an alias bomb.
const GROWTH: usize = 8;

/// See [`GROWTH`]: for documents so small that their braces weigh more than they do.
const GROWTH_FLOOR: usize = 64 * 1024;

/// Turns one YAML document into JSON; call it [`super::deep_stack::on_deep_stack`]. On failure `json` holds what came before it, cut off.
pub(super) fn transcode(yaml: &str, depth: usize, json: &mut String) -> Result<(), Broken> {
    let mut out = Json {
        limit: json
            .len()
            .saturating_add(yaml.len().saturating_mul(GROWTH))
            .saturating_add(GROWTH_FLOOR),
        text: json,
    };
    let read =
        serde_saphyr::with_deserializer_from_str_with_options(yaml, options(yaml, depth), |de| {
            Value(&mut out).deserialize(de)
        });
    read.map_err(|error| {
        let place = error.location().map_or(Place::START, |at| {
            Place::START.then(count(at.line()), count(at.column()))
        });
        Broken {
            place,
            message: words(&error, depth),
        }
    })
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What is wrong, as a whole sentence without the place, which counts from the document and not from the file.
fn words(error: &serde_saphyr::Error, depth: usize) -> String {
    let error = error.without_snippet();
    match breach(error) {
        Some(Breach::Depth) => return format!("it is nested more than {depth} levels deep"),
        Some(Breach::Aliases) => return ALIASES_GROW.to_owned(),
        None => {}
    }
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    // An error behind an alias names two places.
    let line = line
        .split_once(" (defined at line ")
        .map_or(line, |(words, _)| words);
    let line = line
        .rsplit_once(" at line ")
        .map_or(line, |(words, _)| words);
    // What follows the comma tells a programmer which option to set.
    printable(line.split_once(", set ").map_or(line, |(words, _)| words))
}

/// What is said of a document that only aliases can make so large.
const ALIASES_GROW: &str = "aliases make the document many times larger, so it is not read";

/// Which of the limits of [`options`] a document breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breach {
    Depth,
    /// Every other limit is in proportion to the document, so only aliases break it.
    Aliases,
}

fn breach(error: &serde_saphyr::Error) -> Option<Breach> {
    use serde_saphyr::Error;
    use serde_saphyr::budget::BudgetBreach;

    if let Error::Budget { breach, .. } = error {
        return Some(if matches!(breach, BudgetBreach::Depth { .. }) {
            Breach::Depth
        } else {
            Breach::Aliases
        });
    }
    let by_alias = matches!(
        error,
        Error::AliasReplayCounterOverflow { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. }
    );
    if by_alias {
        return Some(Breach::Aliases);
    }
    // An error behind an alias is kept as text only.
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    if line.contains("budget breached: Depth") || line.contains("recursion limit exceeded") {
        Some(Breach::Depth)
    } else if line.contains("budget breached") {
        Some(Breach::Aliases)
    } else {
        None
    }
}

/// A budget in proportion to the document, so that a large list passes; what an alias can multiply stays
/// bounded by absolute numbers.
fn options(yaml: &str, depth: usize) -> serde_saphyr::Options {
    // Each event takes a byte of the document at least, empty values and the ends of collections aside.
    let events = yaml.len().saturating_mul(3).saturating_add(1_000);
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: None,
            max_events: events.saturating_add(REPLAYED_EVENTS),
            max_nodes: events.saturating_add(REPLAYED_EVENTS),
            max_total_scalar_bytes: yaml.len().saturating_mul(GROWTH).saturating_add(GROWTH_FLOOR),
            max_total_comment_bytes: yaml.len(),
            max_depth: depth,
            flow_nesting_limit: depth,
            max_recorded_anchor_events: REPLAYED_EVENTS,
        },
        emit_comments: false,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: REPLAYED_EVENTS,
        },
        // kubectl quotes what YAML 1.1 would take for a bool or a number; other writers do not, and
        // then the text is meant. `true` and `false` are bools to both.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        null_as_string: true,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

/// JSON text under construction.
struct Json<'a> {
    text: &'a mut String,
    limit: usize,
}

impl Json<'_> {
    fn push<E: serde::de::Error>(&mut self, piece: &str) -> Result<(), E> {
        if self.text.len().saturating_add(piece.len()) > self.limit {
            return Err(E::custom(ALIASES_GROW));
        }
        self.text.push_str(piece);
        Ok(())
    }

    fn push_string<E: serde::de::Error>(&mut self, string: &str) -> Result<(), E> {
        self.push("\"")?;
        let mut plain = string;
        while let Some(at) = plain.find(needs_escape) {
            let (before, rest) = plain.split_at(at);
            self.push(before)?;
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                self.push_escape(character)?;
            }
            plain = characters.as_str();
        }
        self.push(plain)?;
        self.push("\"")
    }

    fn push_escape<E: serde::de::Error>(&mut self, character: char) -> Result<(), E> {
        match character {
            '"' => self.push("\\\""),
            '\\' => self.push("\\\\"),
            '\n' => self.push("\\n"),
            '\r' => self.push("\\r"),
            '\t' => self.push("\\t"),
            control => self.push(&format!("\\u{:04x}", u32::from(control))),
        }
    }
}

const fn needs_escape(character: char) -> bool {
    matches!(character, '"' | '\\' | '\0'..='\u{1f}')
}

/// Writes whatever comes next.
struct Value<'j, 'a>(&'j mut Json<'a>);

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can hold")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.0.push(if value { "true" } else { "false" })
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.0.push(&value.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.0.push(&value.to_string())
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<(), E> {
        self.0.push(&value.to_string())
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<(), E> {
        self.0.push(&value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        let number = serde_json::Number::from_f64(value)
            .ok_or_else(|| E::custom("a number that JSON cannot hold"))?;
        self.0.push(&number.to_string())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.0.push_string(value)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.0.push("null")
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.0.push("null")
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.push("[")?;
        let mut separator = "";
        loop {
            let element = Element {
                json: &mut *self.0,
                separator,
            };
            if seq.next_element_seed(element)?.is_none() {
                break;
            }
            separator = ",";
        }
        self.0.push("]")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.push("{")?;
        let mut separator = "";
        loop {
            let key = Key {
                json: &mut *self.0,
                separator,
            };
            if map.next_key_seed(key)?.is_none() {
                break;
            }
            self.0.push(":")?;
            map.next_value_seed(Value(&mut *self.0))?;
            separator = ",";
        }
        self.0.push("}")
    }
}

/// Writes an element of a list, its separator first.
struct Element<'j, 'a> {
    json: &'j mut Json<'a>,
    separator: &'static str,
}

impl<'de> DeserializeSeed<'de> for Element<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.json.push::<D::Error>(self.separator)?;
        Value(self.json).deserialize(deserializer)
    }
}

/// Writes a key of a map as a string, its separator first.
struct Key<'j, 'a> {
    json: &'j mut Json<'a>,
    separator: &'static str,
}

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a string")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<(), E> {
        self.json.push(self.separator)?;
        self.json.push_string(key)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::ALIASES_GROW;
    use super::{Broken, transcode as transcode_here};
    use crate::collect::files::deep_stack::on_deep_stack;

    fn transcode(yaml: &str, depth: usize, json: &mut String) -> Result<(), Broken> {
        on_deep_stack(|| transcode_here(yaml, depth, json)).unwrap()
    }

    fn json(yaml: &str) -> String {
        let mut out = String::new();
        transcode(yaml, 64, &mut out).expect(yaml);
        out
    }

    #[test]
    fn scalars_keep_the_types_that_kubectl_meant() {
        assert_eq!(
            json(
                "a: 1\nb: \"1\"\nc: true\nd: yes\ne: 0755\nf: null\ng: ~\nh:\ni: 1.5\nj: 1_000\n\
                 k: 2026-01-02T03:04:05Z\nl: \"2026-01-02T03:04:05Z\"\nm: 18446744073709551615\nn: -3\n\
                 o: .inf\n"
            ),
            "{\"a\":1,\"b\":\"1\",\"c\":true,\"d\":\"yes\",\"e\":\"0755\",\"f\":null,\"g\":null,\"h\":null,\
             \"i\":1.5,\"j\":\"1_000\",\"k\":\"2026-01-02T03:04:05Z\",\"l\":\"2026-01-02T03:04:05Z\",\
             \"m\":18446744073709551615,\"n\":-3,\"o\":\".inf\"}"
        );
    }

    #[test]
    fn keys_are_strings_whatever_they_look_like() {
        assert_eq!(
            json("1: a\ntrue: b\n'x': {f:name: {}, '.': []}\nnull: c\n"),
            "{\"1\":\"a\",\"true\":\"b\",\"x\":{\"f:name\":{},\".\":[]},\"null\":\"c\"}"
        );
    }

    #[test]
    fn every_control_character_is_escaped_as_json_asks() {
        let text = json("a: \"q\\\" b\\\\ n\\n t\\t e\\e z\\0\"\nb: |\n  one\n  two\n");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["a"], "q\" b\\ n\n t\t e\u{1b} z\0");
        assert_eq!(value["b"], "one\ntwo\n");
    }

    #[test]
    fn an_alias_bomb_is_stopped() {
        let mut bomb = String::from("a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n");
        for level in 1..12 {
            let below = level - 1;
            let list = vec![format!("*a{below}"); 9].join(",");
            writeln!(bomb, "a{level}: &a{level} [{list}]").unwrap();
        }
        let mut out = String::new();
        let broken = transcode(&bomb, 64, &mut out).unwrap_err();
        assert!(out.len() < 1_000_000, "{}", out.len());
        assert_eq!(broken.message, ALIASES_GROW);
    }

    #[test]
    fn a_big_scalar_behind_many_aliases_is_stopped() {
        let mut bomb = format!("a: &a \"{}\"\nb:\n", "x".repeat(100_000));
        for _ in 0..90 {
            bomb.push_str("- *a\n");
        }
        let mut out = String::new();
        let broken = transcode(&bomb, 64, &mut out).unwrap_err();
        assert!(out.len() < 1_000_000, "{} {broken:?}", out.len());
        assert_eq!(broken.message, ALIASES_GROW);
        // One whose sum is too large before it is written.
        let mut many = format!("a: &a \"{}\"\nb:\n", "x".repeat(1_000_000));
        for _ in 0..8 {
            many.push_str("- *a\n");
        }
        let broken = transcode(&many, 64, &mut String::new()).unwrap_err();
        assert_eq!(broken.message, ALIASES_GROW);
    }

    #[test]
    fn what_is_nested_too_deep_is_told_in_a_whole_sentence() {
        for yaml in ["[".repeat(200), "- ".repeat(200)] {
            let broken = transcode(&yaml, 100, &mut String::new()).unwrap_err();
            assert_eq!(
                broken.message, "it is nested more than 100 levels deep",
                "{yaml:.20}"
            );
        }
    }

    #[test]
    fn a_duplicate_key_names_its_place() {
        let mut out = String::new();
        let broken = transcode("a: 1\nb:\n  c: 2\n  c: 3\n", 64, &mut out).unwrap_err();
        assert_eq!(broken.place.to_string(), "line 4, column 3");
        assert!(broken.message.contains("duplicate"), "{}", broken.message);
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        for yaml in [
            "[".repeat(100_000),
            "- ".repeat(100_000),
            "{a: ".repeat(100_000),
            "? ".repeat(100_000),
            format!("a: &a {}", "[".repeat(100_000)),
        ] {
            let mut out = String::new();
            transcode(&yaml, 100, &mut out).unwrap_err();
        }
    }

    #[test]
    fn nesting_within_the_limit_is_read() {
        let deep = format!("{}{}", "[".repeat(99), "]".repeat(99));
        assert_eq!(json_at(&deep, 100), deep);
    }

    fn json_at(yaml: &str, depth: usize) -> String {
        let mut out = String::new();
        transcode(yaml, depth, &mut out).expect("within the depth");
        out
    }
}
