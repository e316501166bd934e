use serde_json::{Value, json};

use super::super::example::*;
use super::check;

fn without_role(version: &str) -> Value {
    with(
        agent_of("node-a", version),
        "metadata.labels",
        json!({"component": "velero", "name": "node-agent"}),
    )
}

#[test]
fn an_agent_of_v1_16_needs_the_role() {
    let found = propose(check, [node("node-a"), without_role("v1.16.0")]).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].node.as_deref(), Some("node-a"));
    assert_eq!(blocker_names(&found[0]), ["node-agent-node-a"]);
}

#[test]
fn an_older_agent_and_one_with_the_role_are_found() {
    assert!(
        propose(check, [without_role("v1.15.2")])
            .findings
            .is_empty()
    );
    assert!(propose(check, [agent("node-a")]).findings.is_empty());
}

#[test]
fn a_guessed_version_needs_a_field_of_v1_16_to_bear_it_out() {
    let unknown = || without_role("sha256-of-something");
    assert!(propose(check, [unknown()]).findings.is_empty());
    let objects = [unknown(), accepted("du-1", 60)];
    assert_eq!(propose(check, objects).findings.len(), 1);
}
