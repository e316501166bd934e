use proptest::prelude::*;

use super::*;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
    LabelSelector {
        match_labels: BTreeMap::new(),
        match_expressions: vec![Requirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }],
    }
}

#[test]
fn an_empty_selector_matches_everything() {
    assert_eq!(LabelSelector::default().matches(&labels(&[])), Ok(true));
    assert_eq!(
        LabelSelector::default().matches(&labels(&[("a", "b")])),
        Ok(true)
    );
}

#[test]
fn each_operator_answers_as_kubernetes_does() {
    let node = labels(&[("zone", "a"), ("empty", "")]);
    for (key, operator, values, want) in [
        ("zone", "In", &["a", "b"][..], true),
        ("zone", "In", &["b"], false),
        ("disk", "In", &["ssd"], false),
        ("zone", "NotIn", &["b"], true),
        ("zone", "NotIn", &["a"], false),
        ("disk", "NotIn", &["ssd"], true),
        ("zone", "Exists", &[], true),
        ("disk", "Exists", &[], false),
        ("zone", "DoesNotExist", &[], false),
        ("disk", "DoesNotExist", &[], true),
        ("empty", "In", &[""], true),
        ("disk", "In", &[""], false),
    ] {
        let selector = expression(key, operator, values);
        assert_eq!(
            selector.matches(&node),
            Ok(want),
            "{key} {operator} {values:?}"
        );
    }
}

#[test]
fn every_requirement_must_hold() {
    let mut selector = expression("zone", "In", &["a"]);
    selector.match_labels = labels(&[("disk", "ssd")]);
    assert_eq!(
        selector.matches(&labels(&[("zone", "a"), ("disk", "ssd")])),
        Ok(true)
    );
    assert_eq!(selector.matches(&labels(&[("zone", "a")])), Ok(false));
    assert_eq!(selector.matches(&labels(&[("disk", "ssd")])), Ok(false));
    assert_eq!(selector.label_keys(), BTreeSet::from(["disk", "zone"]));
}

#[test]
fn an_invalid_selector_is_refused_whatever_the_labels_are() {
    let long = "x".repeat(64);
    for (key, operator, values) in [
        ("zone", "in", &["a"][..]),
        ("zone", "", &["a"]),
        ("zone", "Gt", &["1"]),
        ("zone", "In", &[]),
        ("zone", "NotIn", &[]),
        ("zone", "Exists", &["a"]),
        ("zone", "DoesNotExist", &[""]),
        ("", "Exists", &[]),
        ("a/b/c", "Exists", &[]),
        ("/zone", "Exists", &[]),
        ("zone/", "Exists", &[]),
        ("Upper.Case/zone", "Exists", &[]),
        ("a..b/zone", "Exists", &[]),
        ("-zone", "Exists", &[]),
        ("zone ", "Exists", &[]),
        (&long, "Exists", &[]),
        ("zone", "In", &["a", "not a value"]),
        ("zone", "In", &["-a"]),
        ("zone", "NotIn", &[&long]),
    ] {
        let selector = expression(key, operator, values);
        let refused = selector.matches(&labels(&[("other", "x")]));
        assert!(refused.is_err(), "{key} {operator} {values:?}");
        assert_eq!(refused.err(), selector.validate().err());
    }
    let mut selector = LabelSelector {
        match_labels: labels(&[("zone", "not a value")]),
        ..LabelSelector::default()
    };
    assert!(selector.validate().is_err());
    selector.match_labels = labels(&[("not a key", "a")]);
    assert!(selector.validate().is_err());
}

#[test]
fn keys_and_values_at_their_limits_are_taken() {
    let name = "x".repeat(63);
    for key in [
        "zone",
        "topology.kubernetes.io/zone",
        "a/B",
        "1/2",
        "a_b.c-d",
        &name,
    ] {
        assert_eq!(expression(key, "Exists", &[]).validate(), Ok(()), "{key}");
    }
    for value in ["", "a", "A_b.c-9", &name] {
        let selector = expression("zone", "In", &[value]);
        assert_eq!(selector.validate(), Ok(()), "{value}");
    }
}

#[test]
fn one_bad_requirement_refuses_a_selector_that_would_not_match_anyway() {
    let mut selector = expression("zone", "In", &["a"]);
    selector.match_expressions.push(Requirement {
        key: "zone".to_owned(),
        operator: "Near".to_owned(),
        values: Vec::new(),
    });
    assert!(selector.matches(&labels(&[("zone", "b")])).is_err());
}

/// The same answer by counting: for each requirement the set of values that satisfy it.
fn oracle(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let exact = selector
        .match_labels
        .iter()
        .filter(|(key, value)| labels.get(*key).is_none_or(|has| has != *value))
        .count();
    let set_based = selector
        .match_expressions
        .iter()
        .filter(|r| {
            let has = labels.get(&r.key).cloned();
            let satisfying: Vec<Option<String>> = [None, Some("0"), Some("1"), Some("2")]
                .into_iter()
                .map(|value| value.map(str::to_owned))
                .filter(|value| {
                    let is_listed = value.as_ref().is_some_and(|v| r.values.contains(v));
                    match r.operator.as_str() {
                        "In" => is_listed,
                        "NotIn" => !is_listed,
                        "Exists" => value.is_some(),
                        _ => value.is_none(),
                    }
                })
                .collect();
            !satisfying.contains(&has)
        })
        .count();
    exact + set_based == 0
}

fn any_requirement() -> impl Strategy<Value = Requirement> {
    ("[a-c]", 0usize..4, prop::collection::vec("[0-2]", 1..3)).prop_map(
        |(key, operator, values)| {
            let operator = ["In", "NotIn", "Exists", "DoesNotExist"][operator];
            Requirement {
                key,
                operator: operator.to_owned(),
                values: if operator.ends_with("In") {
                    values
                } else {
                    Vec::new()
                },
            }
        },
    )
}

proptest! {
    #[test]
    fn the_answer_is_that_of_a_naive_oracle(
        match_labels in prop::collection::btree_map("[a-c]", "[0-2]", 0..2),
        match_expressions in prop::collection::vec(any_requirement(), 0..4),
        labels in prop::collection::btree_map("[a-c]", "[0-2]", 0..4),
    ) {
        let selector = LabelSelector { match_labels, match_expressions };
        prop_assert_eq!(selector.matches(&labels), Ok(oracle(&selector, &labels)));
    }

    #[test]
    fn labels_outside_the_selectors_keys_never_change_the_answer(
        match_expressions in prop::collection::vec(any_requirement(), 0..4),
        labels in prop::collection::btree_map("[a-c]", "[0-2]", 0..4),
    ) {
        let selector = LabelSelector { match_labels: BTreeMap::new(), match_expressions };
        let keys = selector.label_keys();
        let relevant = labels.iter()
            .filter(|(key, _)| keys.contains(key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        prop_assert_eq!(selector.matches(&labels), selector.matches(&relevant));
    }
}
