//! Each write is sent once, with its precondition, and told as what it came to.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::plan::{Ending, NeededRight, RightNeed};

fn deletes(answer: Reply) -> Server {
    server(move |asked| match asked.method.as_str() {
        "DELETE" => answer.clone(),
        _ => Reply::json(201, "{}"),
    })
}

#[tokio::test]
async fn a_pod_that_has_changed_is_left_alone_and_nothing_else_is_written() {
    for answer in [
        Reply::status(
            409,
            "Conflict",
            "the UID in the precondition does not match",
        ),
        Reply::status(404, "NotFound", "not found"),
    ] {
        let server = deletes(answer);
        let plan = plan(PlanAction::Restart, restart("a"));
        let ran = run(&server, &plan, &settings(), &Rights::default()).await;
        assert_eq!(ran.writes(), [format!("DELETE {PODS}/agent-a")]);
        assert!(
            matches!(ran.results()[0], StepResult::Changed(_) | StepResult::Gone),
            "{:?}",
            ran.results()
        );
        assert_eq!(ran.seen.looks.len(), 0);
    }
}

#[tokio::test]
async fn a_delete_carries_both_preconditions() {
    let server = deletes(Reply::status(409, "Conflict", "changed"));
    let plan = plan(PlanAction::Restart, restart("a"));
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    let delete = ran.asked.iter().find(|asked| asked.method == "DELETE");
    assert_eq!(
        delete.unwrap().json()["preconditions"],
        serde_json::json!({"uid": "uid-a", "resourceVersion": "7"})
    );
}

#[tokio::test]
async fn a_lost_race_for_one_task_leaves_the_others_to_be_nudged() {
    let server = server(|asked| match asked.path.strip_prefix(UPLOADS) {
        Some("/du-1") => Reply::status(409, "Conflict", "the object has been modified"),
        Some(_) => Reply::json(200, "{}"),
        None => Reply::json(201, "{}"),
    });
    let plan = plan(PlanAction::Nudge, vec![nudge("du-1"), nudge("du-2")]);
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    assert!(matches!(ran.results()[0], StepResult::Changed(_)));
    assert_eq!(ran.results()[1], &StepResult::Done);
    assert_eq!(
        ran.writes(),
        [
            format!("PATCH {UPLOADS}/du-1"),
            format!("PATCH {UPLOADS}/du-2"),
            format!("POST {EVENTS}"),
        ]
    );
}

#[tokio::test]
async fn what_is_forbidden_ends_the_writing() {
    let server = server(|_| Reply::forbidden());
    let plan = plan(PlanAction::Nudge, vec![nudge("du-1"), nudge("du-2")]);
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    assert_eq!(ran.writes(), [format!("PATCH {UPLOADS}/du-1")]);
    assert!(matches!(ran.results()[0], StepResult::Forbidden(_)));
    assert_eq!(ran.results()[1], &StepResult::NotTried);
}

#[tokio::test]
async fn a_busy_server_is_not_asked_again() {
    let server = deletes(
        Reply::status(429, "TooManyRequests", "try again later").header("Retry-After", "1"),
    );
    let plan = plan(PlanAction::Restart, restart("a"));
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    assert_eq!(ran.writes(), [format!("DELETE {PODS}/agent-a")]);
    assert!(matches!(ran.results()[0], StepResult::Refused(words) if words.contains("429")));
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_delete_leaves_it_unknown_and_watched() {
    let server = deletes(Reply::status(500, "InternalError", "something broke").cut());
    let plan = plan(PlanAction::Restart, restart("a"));
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    assert_eq!(ran.writes(), [format!("DELETE {PODS}/agent-a")]);
    assert!(matches!(ran.results()[0], StepResult::Unknown(_)));
    assert!(!ran.seen.looks.is_empty());
    assert_eq!(ran.seen.ending, Ending::TimeLimit);
}

#[tokio::test]
async fn no_answer_to_the_delete_is_not_taken_for_a_refusal() {
    let server = deletes(Reply::silence());
    let plan = plan(PlanAction::Restart, restart("a"));
    let mut settings = settings();
    settings.collect.request_timeout = Duration::from_millis(300);
    let ran = run(&server, &plan, &settings, &Rights::default()).await;
    assert!(matches!(ran.results()[0], StepResult::Unknown(words) if words.contains("no answer")));
    assert_eq!(ran.writes(), [format!("DELETE {PODS}/agent-a")]);
}

#[tokio::test]
async fn a_server_that_is_lost_after_the_delete_is_asked_until_the_time_is_over() {
    let gone = std::sync::Arc::new(AtomicBool::new(false));
    let is_gone = std::sync::Arc::clone(&gone);
    let server = Server::http(move |asked| match asked.method.as_str() {
        "DELETE" => {
            is_gone.store(true, Ordering::SeqCst);
            Reply::json(200, "{}")
        }
        "GET" if is_gone.load(Ordering::SeqCst) => {
            Reply::status(503, "ServiceUnavailable", "etcd has no leader")
        }
        "GET" => Reply::empty(),
        _ => Reply::json(201, "{}"),
    });
    let plan = plan(PlanAction::Restart, restart("a"));
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    assert_eq!(ran.results()[0], &StepResult::Done);
    assert!(
        matches!(&ran.seen.ending, Ending::ServerLost(words) if words.contains("etcd has no leader")),
        "{:?}",
        ran.seen.ending
    );
    let complaints = ran
        .lines
        .iter()
        .filter(|line| line.contains("cannot be asked"))
        .count();
    assert_eq!(complaints, 1, "{:?}", ran.lines);
}

#[tokio::test]
async fn a_second_node_is_left_alone_when_the_first_does_not_recover() {
    let server = deletes(Reply::json(200, "{}"));
    let steps = [restart("a"), restart("b")].concat();
    let plan = plan(PlanAction::Restart, steps);
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    let delete = format!("DELETE {PODS}/agent-a");
    assert!(ran.writes().contains(&delete));
    assert!(!ran.writes().iter().any(|write| write.contains("agent-b")));
    assert_eq!(ran.results().last(), Some(&&StepResult::NotTried));
}

#[tokio::test]
async fn a_server_dry_run_marks_every_write_and_watches_nothing() {
    let server = server(|_| Reply::json(200, "{}"));
    let plan = plan(PlanAction::Nudge, vec![nudge("du-1")]);
    let settings = Settings {
        effect: Effect::DryRun,
        ..settings()
    };
    let ran = run(&server, &plan, &settings, &Rights::default()).await;
    assert_eq!(ran.results(), [&StepResult::DryRun]);
    assert!(ran.lines.iter().any(|line| line.contains("server dry run")));
    for asked in &ran.asked {
        assert_eq!(asked.query("dryRun"), "All", "{asked:?}");
        assert_eq!(asked.query("fieldManager"), "kubectl-velero-slots");
    }
    assert_eq!(ran.writes().len(), 2);
    assert_eq!(ran.seen.looks.len(), 0);
}

#[tokio::test]
async fn without_the_right_for_events_none_is_tried() {
    let server = server(|_| Reply::json(200, "{}"));
    let plan = plan(PlanAction::Nudge, vec![nudge("du-1")]);
    let rights = Rights {
        denied: vec![NeededRight {
            need: RightNeed::Trail,
            group: "",
            resource: "events",
            subresource: "",
            verb: "create",
            namespace: "velero".to_owned(),
            name: None,
        }],
        unanswered: Vec::new(),
    };
    let ran = run(&server, &plan, &settings(), &rights).await;
    assert_eq!(ran.writes(), [format!("PATCH {UPLOADS}/du-1")]);
}

#[tokio::test]
async fn an_event_that_is_refused_is_a_warning() {
    let server = server(|asked| match asked.method.as_str() {
        "POST" => Reply::forbidden(),
        _ => Reply::json(200, "{}"),
    });
    let plan = plan(PlanAction::Nudge, vec![nudge("du-1")]);
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    assert_eq!(ran.results(), [&StepResult::Done]);
    assert!(
        ran.lines
            .iter()
            .any(|line| line.starts_with("warning: no Event"))
    );
}

#[tokio::test]
async fn the_tool_names_itself_in_every_write() {
    let server = server(|_| Reply::json(200, "{}"));
    let plan = plan(PlanAction::Nudge, vec![nudge("du-1")]);
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    for asked in ran.asked.iter().filter(|asked| asked.method != "GET") {
        let agent = asked.header("user-agent").unwrap();
        assert!(agent.starts_with("kubectl-velero-slots/"), "{agent}");
    }
}

#[tokio::test]
async fn a_delete_whose_answer_is_lost_is_marked_and_told_once_another_pod_is_there() {
    let deleted = AtomicBool::new(false);
    let server = Server::http(move |asked| match asked.method.as_str() {
        "DELETE" => {
            deleted.store(true, Ordering::SeqCst);
            Reply::status(500, "InternalError", "something broke").cut()
        }
        "GET" if asked.path == PODS => {
            let uid = if deleted.load(Ordering::SeqCst) {
                "new"
            } else {
                "uid-a"
            };
            Reply::list(&[&agent("a", uid)], "")
        }
        "GET" => Reply::empty(),
        _ => Reply::json(201, "{}"),
    });
    let plan = plan(PlanAction::Restart, restart("a"));
    let ran = run(&server, &plan, &settings(), &Rights::default()).await;
    assert_eq!(
        ran.writes(),
        [
            format!("DELETE {PODS}/agent-a"),
            format!("POST {EVENTS}"),
            format!("PATCH {PODS}/agent-a"),
        ]
    );
    assert!(matches!(ran.results()[0], StepResult::Unknown(_)));
    assert_eq!(ran.results()[1], &StepResult::Done);
}

#[tokio::test]
async fn what_may_have_happened_without_a_trail_is_said() {
    let told = |ran: &Ran, what: &str| {
        assert!(
            ran.seen
                .warnings
                .iter()
                .any(|warning| warning.contains(what)),
            "{:?}",
            ran.seen.warnings
        );
    };
    let lost = || Reply::status(500, "InternalError", "something broke").cut();
    let server = deletes(lost());
    let restarting = plan(PlanAction::Restart, restart("a"));
    let ran = run(&server, &restarting, &settings(), &Rights::default()).await;
    told(&ran, "neither a mark nor an Event");

    let server = self::server(move |_| lost());
    let nudging = plan(PlanAction::Nudge, vec![nudge("du-1")]);
    let ran = run(&server, &nudging, &settings(), &Rights::default()).await;
    told(&ran, "no Event tells of the nudge");
}
