use serde_json::Value;

use super::super::example::*;
use super::check;
use crate::diagnose::finding::{Finding, Severity};

fn found(version: &str, map: Value) -> Vec<Finding> {
    propose(check, [node("node-a"), agent_of("node-a", version), map]).findings
}

fn causes(version: &str, document: &str) -> Vec<&'static str> {
    found(version, config(document))
        .iter()
        .filter_map(|finding| finding.cause)
        .collect()
}

#[test]
fn each_setting_without_effect_is_named_by_its_cause() {
    assert_eq!(
        causes("v1.17.1", "{\"prepareQueueLength\":3}"),
        ["top-level-prepare-queue-length"]
    );
    assert_eq!(
        causes("v1.17.1", "{\"loadConcurrency\":{\"globalConfigs\":3}}"),
        ["unknown-key"]
    );
    assert_eq!(
        causes(
            "v1.17.1",
            "{\"loadConcurrency\":{\"globalConfig\":2,\"perNodeConfig\":[{\"nodeSelector\":{},\"number\":0}]}}"
        ),
        ["invalid-number"]
    );
    assert_eq!(
        causes(
            "v1.17.1",
            "{\"loadConcurrency\":{\"globalConfig\":2,\"perNodeConfig\":[{\"nodeSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Maybe\"}]},\"number\":2}]}}"
        ),
        ["invalid-selector"]
    );
    assert!(causes("v1.17.1", "{\"loadConcurrency\":{\"globalConfig\":2}}").is_empty());
}

#[test]
fn a_key_that_is_newer_than_the_agent_has_no_effect_on_it() {
    let queue = "{\"loadConcurrency\":{\"globalConfig\":2,\"prepareQueueLength\":3}}";
    assert_eq!(causes("v1.16.2", queue), ["unknown-key"]);
    assert!(causes("v1.17.1", queue).is_empty());
}

#[test]
fn several_keys_are_a_lottery_up_to_v1_17() {
    let two = || with(config("{}"), "data.second", "{}");
    let old = found("v1.17.2", two());
    assert_eq!(old[0].cause, Some("several-keys"));
    assert_eq!(old[0].severity, Severity::Warning);
    assert!(found("v1.18.2", two()).is_empty());
}

#[test]
fn a_config_map_that_no_flag_names_has_no_effect() {
    let mut bare = agent("node-a");
    bare["spec"]["containers"][0]["args"] = serde_json::json!(["node-agent", "server"]);
    let map = config("{\"loadConcurrency\":{\"globalConfig\":3}}");
    let told = propose(check, [node("node-a"), bare.clone(), map]).findings;
    assert_eq!(told[0].cause, Some("flag-missing"));
    assert_eq!(told[0].node.as_deref(), Some("node-a"));
    let other = config("{\"podResources\":{}}");
    assert!(
        propose(check, [node("node-a"), bare, other])
            .findings
            .is_empty()
    );
}

#[test]
fn the_fixed_name_of_v1_14_needs_no_flag() {
    let fixed = with(
        config("{\"loadConcurrency\":{\"globalConfig\":3}}"),
        "metadata.name",
        "node-agent-config",
    );
    assert!(found("v1.14.1", fixed).is_empty());
}

#[test]
fn what_an_agent_said_of_its_configuration_is_told_where_that_cannot_be_read() {
    let found = |message: &str| {
        let line = format!("time=\"2026-01-01T10:00:01Z\" level=warning msg=\"{message}\"\n");
        let objects = [node("node-a"), agent("node-a")];
        propose_on(check, &snapshot(objects, vec![log("node-a", &line)])).findings
    };
    let invalid = found("Rule with label selector x is with an invalid number -1, skip it");
    assert_eq!(invalid.len(), 1);
    assert_eq!(invalid[0].cause, Some("invalid-number"));
    assert_eq!(
        invalid[0].evidence[0].kind,
        crate::diagnose::EvidenceKind::Log
    );
    let selector = found("Failed to parse rule with label selector x, skip it");
    assert_eq!(selector[0].cause, Some("invalid-selector"));
    // A global number that is not there reads as 0.
    assert!(found("Global number 0 is invalid, use the default value 1").is_empty());
    assert_eq!(
        found("Global number -1 is invalid, use the default value 1").len(),
        1
    );
}
