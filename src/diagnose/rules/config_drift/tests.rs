use serde_json::{Value, json};

use super::super::example::*;
use super::check;
use crate::diagnose::finding::Severity;

const THREE: &str = "{\"loadConcurrency\":{\"globalConfig\":3}}";

fn written(seconds: i64) -> Value {
    let mut map = config(THREE);
    map["metadata"]["managedFields"] = json!([
        {"manager": "kubectl-edit", "operation": "Update", "time": ago(seconds), "fieldsV1": {"f:data": {"f:config.json": {}}}}
    ]);
    map
}

fn prepared(name: &str, node: &str) -> Value {
    let pod_task = with(accepted(name, 7200), "status.phase", "Prepared");
    with(pod_task, "status.node", node)
}

#[test]
fn a_config_map_written_after_the_agents_started_is_one_finding_for_all_of_them() {
    let objects = [
        node("node-a"),
        node("node-b"),
        agent_started("node-a", 7200),
        agent_started("node-b", 7000),
        written(3600),
        prepared("du-1", "node-b"),
        running_mover("du-1", 7100),
    ];
    let found = propose(check, objects).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(found[0].node, None);
    assert_eq!(found[0].since, Some(ago(3600).parse().unwrap()));
    assert!(found[0].summary.contains("node-a and node-b"));
    assert!(found[0].tasks.is_empty());
}

#[test]
fn only_the_agents_that_are_older_than_the_change_are_named() {
    let objects = [
        node("node-a"),
        node("node-b"),
        agent_started("node-a", 7200),
        agent_started("node-b", 600),
        written(3600),
        prepared("du-1", "node-a"),
        running_mover("du-1", 7100),
    ];
    let found = propose(check, objects).findings;
    assert_eq!(found[0].node.as_deref(), Some("node-a"));
    let affected: Vec<&str> = found[0]
        .affects
        .iter()
        .map(|task| task.name.as_str())
        .collect();
    assert_eq!(affected, ["du-1"]);
    assert!(
        found[0].actions[0]
            .command
            .contains("velero-slots restart --node node-a {ns}")
    );
}

#[test]
fn a_config_map_older_than_the_agent_is_in_force() {
    let objects = [node("node-a"), agent_started("node-a", 3600), written(3601)];
    assert!(propose(check, objects).findings.is_empty());
}

#[test]
fn a_log_that_states_another_number_shows_a_change_that_no_managed_fields_tell_of() {
    let found = |number: i64| {
        let line = format!(
            "time=\"{}\" level=info msg=\"Starting Velero node-agent server v1.17.1 (0)\"\n\
             time=\"{}\" level=info msg=\"Per node number for node node-a is not found, use the global number {number}\"\n",
            ago(7200),
            ago(7199)
        );
        let objects = [node("node-a"), agent_started("node-a", 7200), config(THREE)];
        propose_on(check, &snapshot(objects, vec![log("node-a", &line)])).findings
    };
    let changed = found(1);
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].confidence, crate::diagnose::Confidence::Likely);
    assert!(
        changed[0].evidence[0]
            .value
            .contains("states another number")
    );
    assert!(found(3).is_empty());
}
