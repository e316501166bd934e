use proptest::prelude::*;

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

/// Decodes `loadConcurrency` alone.
fn load(document: &str) -> LoadConcurrency {
    decode(&format!(r#"{{"loadConcurrency": {document}}}"#))
        .unwrap()
        .load_concurrency
        .unwrap()
}

fn global(document: &str) -> i64 {
    load(document).global_config
}

#[test]
fn a_document_without_load_concurrency_has_none() {
    for document in [
        "{}",
        "null",
        r#"{"loadConcurrency": null}"#,
        r#"{"loadAffinity": []}"#,
        r#"{"loadConcurrency": {"globalConfig": 2}, "loadConcurrency": null}"#,
    ] {
        assert_eq!(
            decode(document).unwrap().load_concurrency,
            None,
            "{document}"
        );
    }
    assert_eq!(load("{}"), LoadConcurrency::default());
}

#[test]
fn anything_that_is_not_one_json_object_is_an_error() {
    for document in [
        "",
        "   ",
        "loadConcurrency:\n  globalConfig: 2\n",
        "{",
        "{} {}",
        "{} # a comment",
        r#"{"loadConcurrency": {"globalConfig": 2,}}"#,
        "{'loadConcurrency': {}}",
        r#"{"loadConcurrency": {"globalConfig": 02}}"#,
        r#"{"loadConcurrency": {"globalConfig": +2}}"#,
        "\u{feff}{}",
        "[]",
        "2",
        "\"{}\"",
        "true",
    ] {
        assert!(decode(document).is_err(), "{document}");
    }
}

#[test]
fn a_wrong_type_anywhere_fails_the_whole_document() {
    for document in [
        r#"{"loadConcurrency": []}"#,
        r#"{"loadConcurrency": 2}"#,
        r#"{"loadConcurrency": {"globalConfig": "2"}}"#,
        r#"{"loadConcurrency": {"globalConfig": 1.5}}"#,
        r#"{"loadConcurrency": {"globalConfig": 2.0}}"#,
        r#"{"loadConcurrency": {"globalConfig": 2e0}}"#,
        r#"{"loadConcurrency": {"globalConfig": true}}"#,
        r#"{"loadConcurrency": {"globalConfig": 9223372036854775808}}"#,
        r#"{"loadConcurrency": {"globalConfig": {}}}"#,
        r#"{"loadConcurrency": {"prepareQueueLength": "10"}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": {}}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [2]}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [{"number": "2"}]}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": "a=b"}]}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": {"matchLabels": []}}]}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": {"matchLabels": {"a": 1}}}]}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": {"matchLabels": {"a": true}}}]}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": {"matchExpressions": {}}}]}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": {"matchExpressions": [{"values": "a"}]}}]}}"#,
        r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": {"matchExpressions": [{"values": [1]}]}}]}}"#,
        r#"{"loadConcurrency": {"globalConfig": 2}, "loadAffinity": {}}"#,
        r#"{"loadAffinity": [{"nodeSelector": {"matchLabels": {"a": 1}}}]}"#,
        r#"{"backupPVC": {"fast": {"readOnly": "true"}}}"#,
        r#"{"backupPVC": {"fast": {"storageClass": 1}}}"#,
        r#"{"backupPVC": []}"#,
        r#"{"podResources": {"cpuLimit": 2}}"#,
        r#"{"restorePVC": {"ignoreDelayBinding": 1}}"#,
        r#"{"priorityClassName": 1}"#,
        r#"{"privilegedFsBackup": "true"}"#,
        r#"{"cachePVC": {"residentThresholdInMB": "1"}}"#,
        r#"{"podAnnotations": {"a": 1}}"#,
        r#"{"podLabels": []}"#,
        r#"{"csiSnapshotMetadataServiceConfigs": {"saName": 1}}"#,
        // The first of two values is looked at, too.
        r#"{"loadConcurrency": {"globalConfig": "2", "globalConfig": 2}}"#,
        r#"{"LOADCONCURRENCY": {"GLOBALCONFIG": "2"}}"#,
    ] {
        assert!(decode(document).is_err(), "{document}");
    }
}

#[test]
fn a_wrong_type_under_a_key_that_is_not_read_does_no_harm() {
    let config = decode(r#"{"loadConcurrency": {"globalConfig": 2, "x": []}, "y": {"z": 1.5}}"#);
    assert_eq!(config.unwrap().load_concurrency.unwrap().global_config, 2);
    let document = r#"{"loadConcurrency": {"globalConfig": 2}, "cachePVC": "none"}"#;
    assert!(decode(document).is_err());
    // v1.17 does not know cachePVC.
    let v1_17 = Profile::of(&crate::velero::VeleroVersion::parse("v1.17.2").unwrap());
    assert!(NodeAgentConfig::decode(document, v1_17.unwrap().0.config_keys).is_ok());
}

#[test]
fn null_keeps_what_was_there() {
    assert_eq!(global(r#"{"globalConfig": null}"#), 0);
    assert_eq!(global(r#"{"globalConfig": 3, "globalConfig": null}"#), 3);
    let load = load(
        r#"{"perNodeConfig": [null, {"nodeSelector": null, "number": null},
            {"nodeSelector": {"matchLabels": {"a": null}, "matchExpressions": null}, "number": 2}]}"#,
    );
    let [first, second, third] = load.per_node_config.as_slice() else {
        panic!("{load:?}");
    };
    assert_eq!(
        (first, second),
        (&RuledConfig::default(), &RuledConfig::default())
    );
    assert_eq!(
        third
            .node_selector
            .match_labels
            .get("a")
            .map(String::as_str),
        Some("")
    );
    for document in [
        r#"{"loadAffinity": null, "backupPVC": {"fast": null}, "podResources": null}"#,
        r#"{"privilegedFsBackup": null, "priorityClassName": null, "podLabels": null}"#,
    ] {
        assert_eq!(
            decode(document).map(|config| config.issues),
            Ok(vec![]),
            "{document}"
        );
    }
}

#[test]
fn integers_are_read_as_go_reads_them() {
    assert_eq!(global(r#"{"globalConfig": -0}"#), 0);
    assert_eq!(global(r#"{"globalConfig": -3}"#), -3);
    assert_eq!(global(r#"{"globalConfig": 9223372036854775807}"#), i64::MAX);
}

#[test]
fn key_case_is_ignored_and_the_last_key_wins() {
    assert_eq!(global(r#"{"GlobalConfig": 2}"#), 2);
    assert_eq!(global(r#"{"globalConfig": 2, "GLOBALCONFIG": 3}"#), 3);
    assert_eq!(global(r#"{"GLOBALCONFIG": 3, "globalConfig": 2}"#), 2);
    // Go folds the long s to an s.
    let load =
        load(r#"{"PERNODECONFIG": [{"nodeſelector": {"MATCHLABELS": {"A": "b"}}, "Number": 2}]}"#);
    assert_eq!(load.per_node_config[0].number, 2);
    // Keys of a map are data: their case counts.
    let labels = &load.per_node_config[0].node_selector.match_labels;
    assert_eq!(labels.keys().collect::<Vec<_>>(), ["A"]);
    let config = decode(r#"{"LoadConcurrency": {"globalConfig": 2}}"#).unwrap();
    assert_eq!(config.issues, []);
}

#[test]
fn a_key_that_comes_twice_is_decoded_into_what_the_first_left() {
    let config = decode(
        r#"{"loadConcurrency": {"globalConfig": 2}, "loadConcurrency": {"prepareQueueLength": 4}}"#,
    );
    let load = config.unwrap().load_concurrency.unwrap();
    assert_eq!((load.global_config, load.prepare_queue_length), (2, 4));
    let config = decode(
        r#"{"loadConcurrency": {
            "perNodeConfig": [{"number": 2, "nodeSelector": {"matchLabels": {"a": "b"}}}, {"number": 3}],
            "perNodeConfig": [{"nodeSelector": {"matchLabels": {"c": "d"}}}]}}"#,
    );
    let load = config.unwrap().load_concurrency.unwrap();
    let [rule] = load.per_node_config.as_slice() else {
        panic!("{load:?}");
    };
    assert_eq!(rule.number, 2);
    assert_eq!(rule.node_selector.match_labels.len(), 2);
}

fn unknown(path: &str) -> ConfigIssue {
    ConfigIssue::UnknownKey {
        path: path.to_owned(),
    }
}

fn invalid_number(path: &str, value: i64) -> ConfigIssue {
    ConfigIssue::InvalidNumber {
        path: path.to_owned(),
        value,
    }
}

#[test]
fn settings_without_effect_are_named() {
    let rule = "loadConcurrency.perNodeConfig[0]";
    for (document, want) in [
        (r#"{"loadConcurrency": {"globalConfig": 1}}"#, vec![]),
        // Absent: reads as 0 and is replaced by 1, but nobody wrote it.
        (r#"{"loadConcurrency": {}}"#, vec![]),
        (r#"{"loadConcurrency": {"globalConfig": null}}"#, vec![]),
        (
            r#"{"loadConcurrency": {"globalConfig": 0}}"#,
            vec![invalid_number("loadConcurrency.globalConfig", 0)],
        ),
        (
            r#"{"loadConcurrency": {"globalConfig": -1}}"#,
            vec![invalid_number("loadConcurrency.globalConfig", -1)],
        ),
        // 0 is how the prepare queue is left out.
        (r#"{"loadConcurrency": {"prepareQueueLength": 0}}"#, vec![]),
        (
            r#"{"prepareQueueLength": 10}"#,
            vec![ConfigIssue::TopLevelPrepareQueueLength {
                value: "10".to_owned(),
            }],
        ),
        (
            r#"{"loadConcurency": {"globalConfig": 2}}"#,
            vec![unknown("loadConcurency")],
        ),
        (
            r#"{"loadConcurrency": {"globalconfigs": 2, "number": 1}}"#,
            vec![
                unknown("loadConcurrency.globalconfigs"),
                unknown("loadConcurrency.number"),
            ],
        ),
        (
            r#"{"loadConcurrency": {"perNodeConfig": [{"nodeselectors": {}, "number": 2}]}}"#,
            vec![unknown(&format!("{rule}.nodeselectors"))],
        ),
        (
            r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": {"zone": "a"}, "number": 2}]}}"#,
            vec![unknown(&format!("{rule}.nodeSelector.zone"))],
        ),
        (
            r#"{"loadConcurrency": {"perNodeConfig": [{"nodeSelector": {}}]}}"#,
            vec![invalid_number(&format!("{rule}.number"), 0)],
        ),
        (
            r#"{"loadConcurrency": {"perNodeConfig": [{"number": 2, "nodeSelector":
                {"matchExpressions": [{"key": "zone", "operator": "Is", "values": ["a"]}]}}]}}"#,
            vec![ConfigIssue::InvalidSelector {
                path: format!("{rule}.nodeSelector"),
                why: "\"Is\" is not an operator: In, NotIn, Exists or DoesNotExist".to_owned(),
            }],
        ),
    ] {
        assert_eq!(decode(document).unwrap().issues, want, "{document}");
    }
}

#[test]
fn keys_newer_than_the_agent_have_no_effect_on_it() {
    let config = decode(
        r#"{"loadConcurrency": {"globalConfig": 2, "prepareQueueLength": 10}, "cachePVC": {}, "Podlabels": {}, "x": 1}"#,
    )
    .unwrap();
    let queue = unknown("loadConcurrency.prepareQueueLength");
    for (version, want, length) in [
        (
            "v1.16.2",
            vec![
                unknown("cachePVC"),
                queue,
                unknown("podLabels"),
                unknown("x"),
            ],
            None,
        ),
        (
            "v1.17.2",
            vec![unknown("cachePVC"), unknown("podLabels"), unknown("x")],
            Some(10),
        ),
        ("v1.18.2", vec![unknown("x")], Some(10)),
        ("main", vec![unknown("x")], Some(10)),
    ] {
        let version = crate::velero::VeleroVersion::parse(version).unwrap();
        let profile = Profile::of(&version).unwrap().0;
        assert_eq!(config.issues_for(&profile), want, "{version}");
        assert_eq!(config.prepare_queue_length(&profile), length, "{version}");
    }
}

#[test]
fn a_prepare_queue_of_zero_or_less_is_not_in_force() {
    for length in [0, -1] {
        let document = format!(r#"{{"loadConcurrency": {{"prepareQueueLength": {length}}}}}"#);
        let config = decode(&document).unwrap();
        assert_eq!(config.prepare_queue_length(&Profile::newest()), None);
    }
}

#[test]
fn hostile_documents_end_in_an_answer() {
    let nested = |levels: usize| format!("{{\"x\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
    // The object itself is the first of Go's ten thousand levels.
    assert!(decode(&nested(9_999)).is_ok());
    assert!(decode(&nested(10_000)).is_err());
    assert!(decode(&nested(1_000_000)).is_err());
    let brackets = format!(r#"{{"x": "\"{}"}}"#, "[".repeat(20_000));
    assert!(decode(&brackets).is_ok());
    let digits = "9".repeat(100_000);
    let error = decode(&format!(
        r#"{{"loadConcurrency": {{"globalConfig": {digits}}}}}"#
    ));
    assert!(error.unwrap_err().len() < 300);
    let value = "x".repeat(100_000);
    let config = decode(&format!(r#"{{"prepareQueueLength": "{value}"}}"#)).unwrap();
    let [ConfigIssue::TopLevelPrepareQueueLength { value }] = config.issues.as_slice() else {
        panic!("{config:?}");
    };
    assert!(value.len() < 100);
}

proptest! {
    #[test]
    fn any_text_is_decoded_without_a_panic(text in ".{0,200}") {
        let decoded = decode(&text);
        prop_assert!(decoded.is_ok() || decoded.is_err_and(|why| !why.is_empty()));
    }

    #[test]
    fn what_serde_json_writes_is_read_back(
        global in any::<i64>(), queue in any::<i64>(),
        numbers in prop::collection::vec(any::<i64>(), 0..4),
    ) {
        let rules: Vec<_> = numbers.iter().map(|n| serde_json::json!({"number": n})).collect();
        let document = serde_json::json!({"loadConcurrency": {
            "globalConfig": global, "prepareQueueLength": queue, "perNodeConfig": rules}});
        let load = decode(&document.to_string()).unwrap().load_concurrency.unwrap();
        prop_assert_eq!(load.global_config, global);
        prop_assert_eq!(load.prepare_queue_length, queue);
        let read: Vec<_> = load.per_node_config.iter().map(|rule| rule.number).collect();
        prop_assert_eq!(read, numbers);
    }
}
