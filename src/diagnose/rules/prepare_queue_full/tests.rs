use serde_json::Value;

use super::super::example::*;
use super::check;
use crate::diagnose::finding::{Confidence, Finding, Severity};

const TWO: &str = "{\"loadConcurrency\":{\"globalConfig\":1,\"prepareQueueLength\":2}}";

fn fresh(name: &str, seconds: i64) -> Value {
    with(
        task("DataUpload", name, ""),
        "metadata.creationTimestamp",
        ago(seconds),
    )
}

fn found(objects: Vec<Value>) -> Vec<Finding> {
    let all = [vec![node("node-a"), agent("node-a"), config(TWO)], objects].concat();
    propose(check, all).findings
}

#[test]
fn a_full_queue_is_worth_a_word_and_beyond_the_threshold_a_warning() {
    let with_new = |seconds| {
        found(vec![
            accepted("du-1", 900),
            accepted("du-2", 800),
            fresh("du-3", seconds),
        ])
    };
    let short = with_new(599);
    assert_eq!(short[0].severity, Severity::Info);
    assert_eq!(task_names(&short[0]), ["du-3"]);
    assert_eq!(blocker_names(&short[0]), ["du-1", "du-2"]);
    assert_eq!(short[0].node, None);
    assert_eq!(short[0].confidence, Confidence::Likely);
    assert_eq!(short[0].since, Some(ago(599).parse().unwrap()));
    let long = with_new(900);
    assert_eq!(long[0].severity, Severity::Warning);
    assert_eq!(long[0].since, Some(ago(800).parse().unwrap()));
}

#[test]
fn a_queue_with_room_or_without_new_tasks_is_none() {
    assert!(found(vec![accepted("du-1", 900), fresh("du-3", 900)]).is_empty());
    assert!(found(vec![accepted("du-1", 900), accepted("du-2", 900)]).is_empty());
}
