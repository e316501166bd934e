use super::*;

fn decode(document: &str) -> Result<NodeAgentConfig, String> {
    NodeAgentConfig::decode(document, Profile::newest().config_keys)
}

#[test]
fn the_document_of_the_velero_documentation_is_read() {
    let config = decode(
        r#"{"loadConcurrency": {"globalConfig": 2, "prepareQueueLength": 10, "perNodeConfig": [
            {"nodeSelector": {"matchLabels": {"kubernetes.io/hostname": "node1"}}, "number": 3},
            {"nodeSelector": {"matchExpressions": [
                {"key": "zone", "operator": "In", "values": ["a", "b"]}]}, "number": 5}]}}"#,
    )
    .unwrap();
    assert_eq!(config.issues, []);
    let load = config.load_concurrency.as_ref().unwrap();
    assert_eq!((load.global_config, load.prepare_queue_length), (2, 10));
    let numbers: Vec<_> = load.per_node_config.iter().map(|r| r.number).collect();
    assert_eq!(numbers, [3, 5]);
    assert_eq!(
        config.node_label_keys(),
        BTreeSet::from(["kubernetes.io/hostname", "zone"])
    );
}
