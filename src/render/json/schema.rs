//! The JSON Schemas under docs/schemas are made from the structs, and this holds them to it.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::{action, explanation, simulation, v1};
use crate::report::FindingId;

/// Every finding id that a document can hold.
pub(super) fn finding_ids() -> Vec<&'static str> {
    FindingId::ALL.iter().map(|id| id.as_str()).collect()
}

fn schema_of<T: JsonSchema>() -> String {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let schema: Schema = generator.into_root_schema_for::<T>();
    let mut text = serde_json::to_string_pretty(&schema).unwrap();
    text.push('\n');
    text
}

fn schemas() -> [(&'static str, String); 9] {
    [
        ("status", schema_of::<v1::Status<'_>>()),
        ("diagnosis", schema_of::<v1::Diagnosis<'_>>()),
        ("explanation", schema_of::<explanation::Explanation<'_>>()),
        ("runbook", schema_of::<explanation::RunbookPage>()),
        ("replay", schema_of::<v1::Replay<'_>>()),
        ("simulation", schema_of::<simulation::Simulation<'_>>()),
        ("plan", schema_of::<action::Plan<'_>>()),
        ("outcome", schema_of::<action::Outcome<'_>>()),
        ("version", schema_of::<v1::Version<'_>>()),
    ]
}

fn path(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/schemas")
        .join(format!("{name}.json"))
}

#[test]
fn the_committed_schemas_are_those_of_the_structs() {
    for (name, schema) in schemas() {
        let committed = std::fs::read_to_string(path(name)).unwrap_or_default();
        assert!(
            committed == schema,
            "docs/schemas/{name}.json is out of date; run: cargo test --lib writes_the_schemas -- --ignored"
        );
    }
}

#[test]
#[ignore = "changes the repository: run it after a change of the documents"]
fn writes_the_schemas() {
    for (name, schema) in schemas() {
        std::fs::write(path(name), schema).unwrap();
        assert!(path(name).exists());
    }
}
