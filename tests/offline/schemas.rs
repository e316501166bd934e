//! Every document of every case, held to its JSON Schema.
//!
//! The validator knows the few keywords that our schemas use and refuses a schema with any other, so that it
//! cannot pass over one in silence. It is stricter than JSON Schema: a field that the schema does not name is
//! an error, since it would be a promise that nobody wrote down.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has found something"
)]

use std::collections::BTreeSet;

use serde_json::Value;

use crate::plugin::{call, inputs, shown};

const KNOWN: [&str; 14] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "anyOf",
    "format",
    "minimum",
];

fn schema(name: &str) -> Value {
    let path = crate::root()
        .join("docs/schemas")
        .join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).expect("the schema is there");
    serde_json::from_str(&text).expect("the schema is JSON")
}

struct Validator<'s> {
    root: &'s Value,
    complaints: BTreeSet<String>,
}

impl Validator<'_> {
    fn check(&mut self, schema: &Value, value: &Value, at: &str) {
        let fields = schema.as_object().expect("a schema is an object");
        for keyword in fields.keys() {
            assert!(
                KNOWN.contains(&keyword.as_str()),
                "keyword {keyword} at {at}"
            );
        }
        if let Some(name) = schema["$ref"].as_str() {
            let name = name
                .strip_prefix("#/$defs/")
                .expect("a reference into $defs");
            let root = self.root;
            self.check(&root["$defs"][name], value, at);
        }
        if let Some(choices) = schema["anyOf"].as_array()
            && !choices.iter().any(|choice| self.fits(choice, value, at))
        {
            self.complain(at, &format!("{value} fits none of the alternatives"));
        }
        if !schema["type"].is_null() && !has_type(&schema["type"], value) {
            self.complain(at, &format!("{value} is not {}", schema["type"]));
        }
        if let Some(values) = schema["enum"].as_array()
            && !values.contains(value)
        {
            self.complain(at, &format!("{value} is not one of {}", schema["enum"]));
        }
        if fields.contains_key("const") && &schema["const"] != value {
            self.complain(at, &format!("{value} is not {}", schema["const"]));
        }
        if let (Some(minimum), Some(number)) = (schema["minimum"].as_i64(), value.as_i64())
            && number < minimum
        {
            self.complain(at, &format!("{number} is below {minimum}"));
        }
        if schema["format"] == "date-time"
            && let Some(text) = value.as_str()
            && !is_time(text)
        {
            self.complain(at, &format!("{text} is not a time"));
        }
        self.check_children(schema, value, at);
    }

    fn check_children(&mut self, schema: &Value, value: &Value, at: &str) {
        if let Some(items) = value.as_array()
            && !schema["items"].is_null()
        {
            for (index, item) in items.iter().enumerate() {
                self.check(&schema["items"], item, &format!("{at}[{index}]"));
            }
        }
        let Some(fields) = value.as_object() else {
            return;
        };
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().expect("a name is text");
            if !fields.contains_key(name) {
                self.complain(at, &format!("{name} is missing"));
            }
        }
        if let Some(properties) = schema["properties"].as_object() {
            for (name, field) in fields {
                match properties.get(name) {
                    Some(schema) => self.check(schema, field, &format!("{at}.{name}")),
                    None => self.complain(at, &format!("{name} is not in the schema")),
                }
            }
        }
    }

    fn fits(&self, schema: &Value, value: &Value, at: &str) -> bool {
        let mut inner = Validator {
            root: self.root,
            complaints: BTreeSet::new(),
        };
        inner.check(schema, value, at);
        inner.complaints.is_empty()
    }

    fn complain(&mut self, at: &str, what: &str) {
        self.complaints.insert(format!("{at}: {what}"));
    }
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("a type is text") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("type {other} is not used"),
    };
    match wanted.as_array() {
        Some(several) => several.iter().any(is),
        None => is(wanted),
    }
}

/// Times are written to the second, in UTC.
fn is_time(text: &str) -> bool {
    text.len() == "2026-01-02T03:04:05Z".len()
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            19 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        })
}

fn complaints(schema: &Value, document: &Value) -> Vec<String> {
    let mut validator = Validator {
        root: schema,
        complaints: BTreeSet::new(),
    };
    validator.check(schema, document, "$");
    validator.complaints.into_iter().collect()
}

/// Returns the document of an answer; a call that does not say which Velero it means has none.
fn document(args: &[&str]) -> Option<Value> {
    let answer = call(args);
    if answer.code == 2 {
        assert_eq!(answer.out, "", "{args:?}");
        return None;
    }
    match serde_json::from_str(&answer.out) {
        Ok(document) => Some(document),
        Err(error) => panic!("{args:?}: {error}\n{}{}", answer.out, answer.err),
    }
}

#[test]
fn every_document_of_every_case_keeps_its_schema() {
    let schemas = [
        ("status", schema("status")),
        ("diagnose", schema("diagnosis")),
        ("replay", schema("replay")),
    ];
    for objects in inputs() {
        let from = shown(&objects);
        for (command, schema) in &schemas {
            let Some(answer) = document(&[command, "--from", &from, "-o", "json"]) else {
                continue;
            };
            let wrong = complaints(schema, &answer);
            assert!(wrong.is_empty(), "{command} {from}:\n{}", wrong.join("\n"));
        }
    }
}

#[test]
fn an_explanation_of_every_case_keeps_its_schema() {
    let schema = schema("explanation");
    let mut told = 0;
    for objects in inputs() {
        let from = shown(&objects);
        let names = call(&["replay", "--from", &from, "-o", "name"]);
        let Some(task) = names.out.lines().next() else {
            continue;
        };
        let answer = document(&["explain", task, "--from", &from, "-o", "json"]);
        let answer = answer.expect("the replay has told which Velero is meant");
        let wrong = complaints(&schema, &answer);
        assert!(
            wrong.is_empty(),
            "explain {task} {from}:\n{}",
            wrong.join("\n")
        );
        told += 1;
    }
    assert!(told > 0, "some case has an unfinished task");
}

#[test]
fn a_runbook_keeps_its_schema() {
    let answer = document(&["explain", "prepared-stuck", "-o", "json"]).expect("it is there");
    assert_eq!(
        complaints(&schema("runbook"), &answer),
        Vec::<String>::new()
    );
}

#[test]
fn the_version_keeps_its_schema() {
    let answer = document(&["version", "-o", "json"]).expect("there is always a version");
    assert_eq!(
        complaints(&schema("version"), &answer),
        Vec::<String>::new()
    );
}

#[test]
fn a_capture_keeps_its_schema() {
    let schema = schema("capture");
    for objects in inputs() {
        let from = shown(&objects);
        let Some(answer) = document(&["capture", "--no-redact", "--from", &from, "-f", "-"]) else {
            continue;
        };
        let wrong = complaints(&schema, &answer);
        assert!(wrong.is_empty(), "{from}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn the_validator_finds_what_is_wrong() {
    let schema = schema("status");
    let from = inputs().first().map(|objects| shown(objects));
    let from = from.expect("there are cases");
    let good = document(&["status", "--from", &from, "-o", "json"]).expect("it has one Velero");
    assert_eq!(complaints(&schema, &good), Vec::<String>::new());
    let wrong = |change: fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        complaints(&schema, &document)
    };
    assert_eq!(
        wrong(|document| document["kind"] = "Diagnosis".into()),
        [r#"$.kind: "Diagnosis" is not "Status""#]
    );
    assert_eq!(
        wrong(|document| document["more"] = 1.into()),
        ["$: more is not in the schema"]
    );
    assert_eq!(
        wrong(|document| document["takenAt"] = "yesterday".into()),
        ["$.takenAt: yesterday is not a time"]
    );
    assert_eq!(
        wrong(|document| {
            document
                .as_object_mut()
                .expect("the document is an object")
                .remove("nodes");
        }),
        ["$: nodes is missing"]
    );
}
