//! What has changed between the plan that was shown and the writes.

use super::*;
use crate::act::still_valid;
use crate::plan::{
    Concern, Effect as OnTask, Expectation, Expected, Override, Refusal, RefusalCode, TaskEffect,
};
use crate::velero::Phase;

fn effect(name: &str, then: OnTask) -> TaskEffect {
    TaskEffect {
        task: upload(name),
        node: Some("b".to_owned()),
        phase: Phase::Accepted,
        progress: None,
        effect: then,
        concern: Concern::Works,
        why: "it is Accepted".to_owned(),
        source: "v1.16.2",
    }
}

fn of_two_nodes() -> Plan {
    let mut steps = restart("a");
    steps.extend(restart("b"));
    plan(PlanAction::Restart, steps)
}

/// Answers as if the pods of both nodes were replaced at once.
fn replaces_both() -> Server {
    let deleted = std::sync::Mutex::new(std::collections::BTreeSet::new());
    Server::http(move |asked| {
        let mut deleted = deleted.lock().unwrap();
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", PODS) => {
                let pods: Vec<String> = ["a", "b"]
                    .into_iter()
                    .map(|node| {
                        let path = format!("{PODS}/agent-{node}");
                        let uid = if deleted.contains(&path) {
                            "new"
                        } else {
                            "uid"
                        };
                        agent(node, &format!("{uid}-{node}"))
                    })
                    .collect();
                let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
                Reply::list(&pods, "")
            }
            ("GET", path) if !path.ends_with("/log") => Reply::empty(),
            ("DELETE", path) => {
                deleted.insert(path.to_owned());
                Reply::json(200, "{}")
            }
            _ => Reply::json(201, "{}"),
        }
    })
}

fn deletes(ran: &Ran) -> Vec<String> {
    ran.writes()
        .into_iter()
        .filter(|write| write.starts_with("DELETE"))
        .collect()
}

#[tokio::test]
async fn each_node_after_the_first_is_planned_anew_and_a_changed_bill_ends_the_restart() {
    let shown = of_two_nodes();
    let server = replaces_both();
    let asked_for = RefCell::new(Vec::new());
    let same = |_: &Snapshot, node: &str| {
        asked_for.borrow_mut().push(node.to_owned());
        Ok(shown.clone())
    };
    let ran = run_with(&server, &shown, &settings(), &Rights::default(), &same).await;
    assert_eq!(
        deletes(&ran),
        [
            format!("DELETE {PODS}/agent-a"),
            format!("DELETE {PODS}/agent-b")
        ],
        "{:?}",
        ran.lines
    );
    assert_eq!(asked_for.into_inner(), ["b"]);

    let server = replaces_both();
    let dearer = |_: &Snapshot, _: &str| {
        let mut fresh = shown.clone();
        fresh.effects.push(effect("du-new", OnTask::Canceled));
        Ok(fresh)
    };
    let ran = run_with(&server, &shown, &settings(), &Rights::default(), &dearer).await;
    assert_eq!(deletes(&ran), [format!("DELETE {PODS}/agent-a")]);
    assert!(
        ran.seen
            .warnings
            .iter()
            .any(|warning| warning.contains("before b") && warning.contains("du-new")),
        "{:?}",
        ran.seen.warnings
    );
    assert_eq!(ran.results().last(), Some(&&StepResult::NotTried));
}

fn of_two_tasks() -> Plan {
    Plan {
        targets: vec![upload("du-1"), upload("du-2")],
        effects: vec![
            effect("du-1", OnTask::LookedAt),
            effect("du-2", OnTask::LookedAt),
        ],
        expected: vec![Expectation {
            node: Some("a".to_owned()),
            tasks: vec![upload("du-1"), upload("du-2")],
            at_least: 2,
            what: Expected::Move,
            within_seconds: 60,
        }],
        ..plan(PlanAction::Nudge, vec![nudge("du-1"), nudge("du-2")])
    }
}

#[test]
fn a_task_that_needs_no_nudge_any_more_is_left_alone_and_the_others_are_nudged() {
    let shown = of_two_tasks();
    let fresh = Plan {
        steps: vec![nudge("du-2")],
        ..of_two_tasks()
    };
    let valid = still_valid(&shown, &fresh).unwrap();
    assert_eq!(valid.plan.steps, [nudge("du-2")]);
    assert_eq!(valid.plan.targets, [upload("du-2")]);
    assert_eq!(valid.plan.expected[0].tasks, [upload("du-2")]);
    assert_eq!(valid.plan.expected[0].at_least, 1);
    assert_eq!(valid.left_alone.len(), 1);
    assert!(
        valid.left_alone[0].contains("du-1"),
        "{:?}",
        valid.left_alone
    );
}

#[test]
fn a_nudge_of_which_nothing_is_left_is_refused() {
    let fresh = plan(PlanAction::Nudge, Vec::new());
    assert!(still_valid(&of_two_tasks(), &fresh).is_err());
}

#[test]
fn a_restart_of_which_one_node_has_changed_is_refused_as_a_whole() {
    let fresh = plan(PlanAction::Restart, restart("a"));
    assert!(still_valid(&of_two_nodes(), &fresh).is_err());
}

#[test]
fn a_task_that_only_wrote_its_progress_is_nudged_all_the_same() {
    let shown = of_two_tasks();
    let mut fresh = shown.clone();
    for step in &mut fresh.steps {
        if let StepKind::AnnotateTask { precondition, .. } = &mut step.kind {
            precondition.resource_version = "later".to_owned();
        }
    }
    let valid = still_valid(&shown, &fresh).unwrap();
    assert_eq!(valid.plan.steps, fresh.steps);
    assert!(valid.left_alone.is_empty());

    let mut other = fresh.clone();
    other.effects[0].phase = Phase::Prepared;
    let valid = still_valid(&shown, &other).unwrap();
    assert_eq!(valid.plan.steps, fresh.steps[1..]);

    for step in &mut fresh.steps {
        if let StepKind::AnnotateTask { precondition, .. } = &mut step.kind {
            precondition.uid = "another".to_owned();
        }
    }
    assert!(still_valid(&shown, &fresh).is_err());
}

#[test]
fn what_was_not_read_this_time_is_not_the_bill_that_was_agreed_to() {
    let refusal = |code, reason: &str| Refusal {
        code,
        node: None,
        tasks: Vec::new(),
        reason: reason.to_owned(),
        instead: Vec::new(),
        by: Override::Force,
    };
    let lost = refusal(RefusalCode::TasksWouldBeLost, "du-1");
    let shown = Plan {
        force: Force::Yes,
        refusals: vec![lost.clone()],
        ..of_two_nodes()
    };
    assert!(still_valid(&shown, &shown).is_ok());
    let mut fresh = shown.clone();
    fresh.refusals.push(refusal(
        RefusalCode::NotKnown,
        "datauploads could not be read",
    ));
    assert_eq!(
        still_valid(&shown, &fresh).unwrap_err(),
        "datauploads could not be read"
    );
}

#[test]
fn what_was_forced_and_is_allowed_by_now_goes_on_and_the_other_way_round_does_not() {
    let allowed = Plan {
        force: Force::Yes,
        ..of_two_nodes()
    };
    let forced = Plan {
        refusals: vec![Refusal {
            code: RefusalCode::NothingStuck,
            node: Some("a".to_owned()),
            tasks: Vec::new(),
            reason: "nothing waits long enough".to_owned(),
            instead: Vec::new(),
            by: Override::Force,
        }],
        ..allowed.clone()
    };
    assert!(still_valid(&forced, &allowed).is_ok());
    assert_eq!(
        still_valid(&allowed, &forced).unwrap_err(),
        "nothing waits long enough"
    );
}
