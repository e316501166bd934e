use super::super::example::*;
use super::check;
use crate::diagnose::finding::Severity;

#[test]
fn agents_of_two_versions_are_told_once() {
    let objects = [
        agent_of("node-a", "v1.16.2"),
        agent_of("node-b", "v1.17.1"),
        agent_of("node-c", "v1.17.1"),
    ];
    let found = propose(check, objects).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Info);
    assert!(
        found[0]
            .summary
            .contains("1.16.2 on 1 node and 1.17.1 on 2 nodes")
    );
}

#[test]
fn a_pod_that_is_being_deleted_does_not_count() {
    let leaving = with(
        agent_of("node-a", "v1.16.2"),
        "metadata.deletionTimestamp",
        ago(5),
    );
    let objects = [leaving, agent_of("node-b", "v1.17.1")];
    assert!(propose(check, objects).findings.is_empty());
}
