use proptest::prelude::*;

use super::*;
use crate::velero::{LabelSelector, VeleroVersion};

const LINES: [&str; 8] = [
    "v1.12.4", "v1.13.2", "v1.14.1", "v1.15.2", "v1.16.2", "v1.17.2", "v1.18.2", "main",
];

fn profile(version: &str) -> Profile {
    Profile::of(&VeleroVersion::parse(version).unwrap())
        .unwrap()
        .0
}

fn config(load_concurrency: &str) -> NodeAgentConfig {
    let document = format!(r#"{{"loadConcurrency": {load_concurrency}}}"#);
    NodeAgentConfig::decode(&document, Profile::newest().config_keys).unwrap()
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// The limit on main, with one key.
fn on_main(config: &NodeAgentConfig, labels: LabelState<'_>) -> ConfiguredLimit {
    let keys = ConfigState::Keys(vec![("config", Ok(config))]);
    configured_limit(&Profile::newest(), &keys, labels)
}

fn number(value: i64, source: LimitSource) -> LimitOutcome {
    LimitOutcome::Number { value, source }
}

#[test]
fn without_a_configuration_every_release_uses_one() {
    let no_load = NodeAgentConfig::default();
    for version in LINES {
        for state in [
            ConfigState::NotNamed,
            ConfigState::Keys(vec![("config", Ok(&no_load))]),
        ] {
            let limit = configured_limit(&profile(version), &state, LabelState::Unreadable);
            assert_eq!(limit.value(), Some(1), "{version}");
            assert_eq!(limit.source(), LimitSource::Default, "{version}");
            assert!(!limit.may_exit(), "{version}");
        }
    }
}

#[test]
fn v1_12_has_one_slot_for_each_kind_whatever_is_configured() {
    let five = config(r#"{"globalConfig": 5}"#);
    for state in [
        ConfigState::Keys(vec![("config", Ok(&five))]),
        ConfigState::Keys(vec![("config", Err("not JSON"))]),
        ConfigState::Missing,
        ConfigState::Unreadable("forbidden"),
    ] {
        let limit = configured_limit(&profile("v1.12.4"), &state, LabelState::Unreadable);
        assert_eq!(limit.value(), Some(1));
        assert_eq!(limit.steps, [LimitStep::NoSuchFeature]);
    }
}

#[test]
fn a_config_map_that_cannot_be_used_means_one_or_an_exit_by_release() {
    let broken = ConfigState::Keys(vec![("config", Err("not JSON"))]);
    for (version, exits) in LINES
        .into_iter()
        .zip([false, false, false, false, false, true, true, true])
    {
        for state in [&ConfigState::Missing, &ConfigState::NoData, &broken] {
            let limit = configured_limit(&profile(version), state, LabelState::Unreadable);
            let want = if exits {
                vec![LimitOutcome::AgentExits]
            } else {
                vec![number(1, LimitSource::Default)]
            };
            assert_eq!(limit.outcomes, want, "{version} {state:?}");
            assert_eq!(limit.value(), (!exits).then_some(1), "{version} {state:?}");
        }
    }
}

#[test]
fn a_config_map_that_could_not_be_read_leaves_the_limit_unknown() {
    let state = ConfigState::Unreadable("forbidden");
    let limit = configured_limit(&profile("v1.17.2"), &state, LabelState::Unreadable);
    assert_eq!(limit.outcomes, []);
    assert_eq!(
        (limit.value(), limit.source()),
        (None, LimitSource::Unknown)
    );
    assert!(!limit.may_exit());
}

#[test]
fn several_keys_mean_any_of_them_or_an_exit_by_release() {
    let two = config(r#"{"globalConfig": 2}"#);
    let four = config(r#"{"globalConfig": 4}"#);
    let state = ConfigState::Keys(vec![
        ("a", Ok(&four)),
        ("b", Ok(&two)),
        ("c", Err("not JSON")),
    ]);
    let two_or_four = [
        number(2, LimitSource::Global),
        number(4, LimitSource::Global),
    ];
    let one = number(1, LimitSource::Default);
    for version in ["v1.13.2", "v1.14.1", "v1.15.2", "v1.16.2"] {
        let limit = configured_limit(&profile(version), &state, LabelState::Unreadable);
        assert_eq!(
            limit.outcomes,
            [one, two_or_four[0], two_or_four[1]],
            "{version}"
        );
        assert_eq!(
            (limit.value(), limit.source()),
            (None, LimitSource::Unknown)
        );
    }
    let limit = configured_limit(&profile("v1.17.2"), &state, LabelState::Unreadable);
    assert_eq!(limit.numbers(), [2, 4]);
    assert!(limit.may_exit());
    for version in ["v1.18.2", "main"] {
        let limit = configured_limit(&profile(version), &state, LabelState::Unreadable);
        assert_eq!(limit.outcomes, [LimitOutcome::AgentExits], "{version}");
    }
}

#[test]
fn several_keys_that_agree_give_one_number() {
    let two = config(r#"{"globalConfig": 2}"#);
    let state = ConfigState::Keys(vec![("a", Ok(&two)), ("b", Ok(&two))]);
    let limit = configured_limit(&profile("v1.17.2"), &state, LabelState::Unreadable);
    assert_eq!(
        (limit.value(), limit.source()),
        (Some(2), LimitSource::Global)
    );
}

#[test]
fn decoded_keys_of_a_config_map_become_its_state() {
    let mut keys = BTreeMap::new();
    assert_eq!(ConfigState::of_keys(&keys), ConfigState::NoData);
    keys.insert("b".to_owned(), Err("not JSON".to_owned()));
    keys.insert("a".to_owned(), Ok(NodeAgentConfig::default()));
    let default = NodeAgentConfig::default();
    assert_eq!(
        ConfigState::of_keys(&keys),
        ConfigState::Keys(vec![("a", Ok(&default)), ("b", Err("not JSON"))])
    );
}

#[test]
fn a_global_number_that_is_absent_or_not_above_zero_is_one() {
    for (load, value, source) in [
        (r#"{"globalConfig": 3}"#, 3, LimitSource::Global),
        (r#"{"globalConfig": 1}"#, 1, LimitSource::Global),
        (r#"{"globalConfig": 0}"#, 1, LimitSource::Default),
        (r#"{"globalConfig": -3}"#, 1, LimitSource::Default),
        ("{}", 1, LimitSource::Default),
        (
            r#"{"globalConfig": 1000000}"#,
            1_000_000,
            LimitSource::Global,
        ),
    ] {
        let config = config(load);
        // Without rules the labels do not matter.
        let limit = on_main(&config, LabelState::Unreadable);
        assert_eq!(
            (limit.value(), limit.source()),
            (Some(value), source),
            "{load}"
        );
    }
}

#[test]
fn the_smallest_matching_rule_replaces_the_global_number() {
    let rule = |selector: &str, number: i64| {
        format!(r#"{{"nodeSelector": {selector}, "number": {number}}}"#)
    };
    let zone_a = r#"{"matchLabels": {"zone": "a"}}"#;
    let zone_b = r#"{"matchLabels": {"zone": "b"}}"#;
    let bad = r#"{"matchLabels": {"not a key": "b"}}"#;
    let node = labels(&[("zone", "a")]);
    for (rules, value, source) in [
        (vec![rule(zone_a, 5)], 5, LimitSource::PerNode),
        (vec![rule(zone_b, 5)], 3, LimitSource::Global),
        (vec![rule(zone_a, 1)], 1, LimitSource::PerNode),
        (vec![rule(zone_a, 3)], 3, LimitSource::PerNode),
        (
            vec![rule(zone_a, 9), rule("{}", 7)],
            7,
            LimitSource::PerNode,
        ),
        (
            vec![rule("{}", 7), rule(zone_a, 9)],
            7,
            LimitSource::PerNode,
        ),
        (vec![rule("null", 8)], 8, LimitSource::PerNode),
        (vec![rule(zone_a, 0)], 3, LimitSource::Global),
        (
            vec![rule(zone_a, -2), rule(zone_a, 6)],
            6,
            LimitSource::PerNode,
        ),
        (vec![rule(bad, 1)], 3, LimitSource::Global),
        (vec![rule(bad, 1), rule(zone_a, 6)], 6, LimitSource::PerNode),
    ] {
        let load = format!(
            r#"{{"globalConfig": 3, "perNodeConfig": [{}]}}"#,
            rules.join(",")
        );
        let config = config(&load);
        for version in LINES.into_iter().skip(1) {
            let keys = ConfigState::Keys(vec![("config", Ok(&config))]);
            let limit = configured_limit(&profile(version), &keys, LabelState::Seen(&node));
            assert_eq!(
                (limit.value(), limit.source()),
                (Some(value), source),
                "{load}"
            );
        }
    }
}

#[test]
fn a_rule_matches_also_where_the_global_number_is_invalid() {
    let config = config(r#"{"perNodeConfig": [{"number": 4}]}"#);
    let limit = on_main(&config, LabelState::Unreadable);
    assert_eq!(
        (limit.value(), limit.source()),
        (Some(4), LimitSource::PerNode)
    );
    assert_eq!(limit.steps.first(), Some(&LimitStep::InvalidGlobal(0)));
}

#[test]
fn unknown_labels_leave_every_number_possible_that_they_could_decide() {
    let rules = r#"[{"nodeSelector": {"matchLabels": {"zone": "a"}}, "number": 2},
                    {"nodeSelector": {"matchLabels": {"zone": "b"}}, "number": 9},
                    {"nodeSelector": {"matchLabels": {"zone": "c"}}, "number": 0}]"#;
    let open = config(&format!(
        r#"{{"globalConfig": 5, "perNodeConfig": {rules}}}"#
    ));
    let limit = on_main(&open, LabelState::Unreadable);
    assert_eq!(limit.numbers(), [2, 5, 9]);
    assert_eq!(
        (limit.value(), limit.source()),
        (None, LimitSource::Unknown)
    );

    // A rule for every node caps them.
    let capped = rules.replacen('[', r#"[{"number": 4}, "#, 1);
    let capped = config(&format!(
        r#"{{"globalConfig": 5, "perNodeConfig": {capped}}}"#
    ));
    let limit = on_main(&capped, LabelState::Unreadable);
    assert_eq!(limit.numbers(), [2, 4]);
    assert_eq!(limit.source(), LimitSource::PerNode);

    // Where all agree the number is known, although its source is not.
    let same = config(
        r#"{"globalConfig": 2, "perNodeConfig": [{"nodeSelector": {"matchLabels": {"a": "b"}}, "number": 2}]}"#,
    );
    let limit = on_main(&same, LabelState::Unreadable);
    assert_eq!(
        (limit.value(), limit.source()),
        (Some(2), LimitSource::Unknown)
    );
}

#[test]
fn the_steps_say_why_a_rule_did_not_count() {
    let config = config(
        r#"{"globalConfig": 3, "perNodeConfig": [
            {"nodeSelector": {"matchExpressions": [{"key": "zone", "operator": "Is"}]}, "number": 0},
            {"nodeSelector": {"matchLabels": {"zone": "a"}}, "number": 0},
            {"nodeSelector": {"matchLabels": {"zone": "b"}}, "number": -1},
            {"nodeSelector": {"matchLabels": {"zone": "b"}}, "number": 4}]}"#,
    );
    let node = labels(&[("zone", "a")]);
    let steps: Vec<_> = on_main(&config, LabelState::Seen(&node))
        .steps
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        steps,
        [
            "loadConcurrency.globalConfig: 3",
            "loadConcurrency.perNodeConfig[0] is skipped, its nodeSelector is invalid: \"Is\" is not an operator: In, NotIn, Exists or DoesNotExist",
            "loadConcurrency.perNodeConfig[1] is skipped, its number is not above 0: 0",
            "loadConcurrency.perNodeConfig[2] is skipped, its number is not above 0: -1",
            "loadConcurrency.perNodeConfig has no rule for the node",
        ]
    );
}

/// Velero's algorithm once more, as one expression over the rules.
fn oracle(load: &LoadConcurrency, labels: &BTreeMap<String, String>) -> i64 {
    let matching = load.per_node_config.iter().filter(|rule| {
        let wants = &rule.node_selector.match_labels;
        rule.number > 0
            && wants
                .iter()
                .all(|pair| labels.iter().any(|has| has == pair))
    });
    let global = if load.global_config < 1 {
        1
    } else {
        load.global_config
    };
    matching.map(|rule| rule.number).min().unwrap_or(global)
}

fn any_labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map("[a-c]", "[0-1]", 0..3)
}

fn any_load() -> impl Strategy<Value = LoadConcurrency> {
    let rule = (any_labels(), -2i64..6).prop_map(|(match_labels, number)| RuledConfig {
        node_selector: LabelSelector {
            match_labels,
            match_expressions: Vec::new(),
        },
        number,
    });
    (-2i64..6, prop::collection::vec(rule, 0..5)).prop_map(|(global_config, per_node_config)| {
        LoadConcurrency {
            global_config,
            per_node_config,
            prepare_queue_length: 0,
        }
    })
}

proptest! {
    #[test]
    fn the_number_is_that_of_a_naive_oracle(load in any_load(), labels in any_labels()) {
        let want = oracle(&load, &labels);
        let config = NodeAgentConfig { load_concurrency: Some(load), ..NodeAgentConfig::default() };
        let limit = on_main(&config, LabelState::Seen(&labels));
        prop_assert_eq!(limit.value(), Some(want));
        prop_assert_ne!(limit.source(), LimitSource::Unknown);
    }

    #[test]
    fn whatever_the_labels_are_the_number_is_among_the_possible_ones(
        load in any_load(), labels in any_labels(),
    ) {
        let want = oracle(&load, &labels);
        let config = NodeAgentConfig { load_concurrency: Some(load), ..NodeAgentConfig::default() };
        let limit = on_main(&config, LabelState::Unreadable);
        prop_assert!(limit.numbers().contains(&want), "{:?} without {}", limit.numbers(), want);
    }

    #[test]
    fn every_limit_is_at_least_one(load in any_load(), labels in any_labels()) {
        let config = NodeAgentConfig { load_concurrency: Some(load), ..NodeAgentConfig::default() };
        for labels in [LabelState::Seen(&labels), LabelState::Unreadable] {
            let numbers = on_main(&config, labels).numbers();
            prop_assert!(!numbers.is_empty() && numbers.iter().all(|number| *number >= 1));
        }
    }

    #[test]
    fn the_order_of_rules_does_not_matter(load in any_load(), labels in any_labels()) {
        let mut reversed = load.clone();
        reversed.per_node_config.reverse();
        let limits = [load, reversed].map(|load| {
            let config = NodeAgentConfig { load_concurrency: Some(load), ..NodeAgentConfig::default() };
            [LabelState::Seen(&labels), LabelState::Unreadable]
                .map(|labels| on_main(&config, labels).outcomes)
        });
        prop_assert_eq!(&limits[0], &limits[1]);
    }
}
