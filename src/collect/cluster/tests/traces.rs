//! Logs and metrics of node-agents: bounded, optional, and never an error.

use std::time::Duration;

use super::{cluster, flags, hurried, quiet};
use crate::capture::{
    AgentPod, Capture, Cut, GapReason, LINES_LEFT_OUT, NowFrom, Previous, Restarted,
};
use crate::collect::cluster::CollectOptions;
use crate::collect::test_server::{Asked, Reply, Server};

const LOG: &str = "/api/v1/namespaces/velero/pods/node-agent-x/log";
const METRICS: &str = "/api/v1/namespaces/velero/pods/node-agent-x:8080/proxy/metrics";

fn agent(restarted: Restarted) -> AgentPod {
    AgentPod {
        namespace: "velero".to_owned(),
        pod: "node-agent-x".to_owned(),
        container: "node-agent".to_owned(),
        restarted,
        started_at: "2026-01-02T02:04:05Z".parse().ok(),
    }
}

async fn logs(server: &Server, restarted: Restarted, options: &CollectOptions) -> Capture {
    let mut capture = Capture::from_objects([]);
    capture.manifest.taken_at = "2026-01-02T03:04:05Z".parse().ok();
    cluster(&flags(server, "velero"))
        .await
        .add_logs(
            &mut capture,
            &[agent(restarted)],
            options,
            Duration::ZERO,
            &quiet,
        )
        .await;
    capture
}

#[tokio::test]
async fn a_short_log_is_read_whole_and_with_limits() {
    let server = Server::http(|asked| match asked.path.as_str() {
        LOG => Reply::json(200, "one\ntwo \u{fffd}\n"),
        _ => Reply::empty(),
    });
    let capture = logs(&server, Restarted::No, &CollectOptions::default()).await;
    assert_eq!(capture.logs.len(), 1);
    assert_eq!(
        (capture.logs[0].body.as_str(), capture.logs[0].cut),
        ("one\ntwo \u{fffd}\n", Cut::Whole)
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].method, "GET");
    assert_eq!(asked[0].query("container"), "node-agent");
    assert_eq!(asked[0].query("tailLines"), "20000");
    assert_eq!(asked[0].query("limitBytes"), "16777216");
}

#[tokio::test]
async fn of_a_long_log_the_beginning_and_the_end_are_read_with_a_mark_between() {
    let server = Server::http(|asked: &Asked| {
        if asked.query("tailLines").is_empty() {
            Reply::json(200, "start\ncut in the mid")
        } else {
            Reply::json(200, "line\n".repeat(20_000))
        }
    });
    let capture = logs(&server, Restarted::No, &CollectOptions::default()).await;
    let log = &capture.logs[0];
    assert_eq!(log.cut, Cut::BeginningLeftOut);
    assert!(
        log.body
            .starts_with(&format!("start\n{LINES_LEFT_OUT}\nline\n"))
    );
}

#[tokio::test]
async fn the_log_of_the_container_before_is_read_after_a_restart_and_may_be_gone() {
    let server = Server::http(|asked: &Asked| match asked.query("previous") {
        "true" => Reply::status(400, "BadRequest", "previous terminated container not found"),
        _ => Reply::json(200, "now\n"),
    });
    let capture = logs(&server, Restarted::Yes, &CollectOptions::default()).await;
    assert_eq!((capture.logs.len(), capture.problems.len()), (1, 0));
    let server = Server::http(|asked: &Asked| match asked.query("previous") {
        "true" => Reply::json(200, "before\n"),
        _ => Reply::json(200, "now\n"),
    });
    let capture = logs(&server, Restarted::Yes, &CollectOptions::default()).await;
    let previous = capture
        .logs
        .iter()
        .find(|log| log.previous == Previous::Yes)
        .unwrap();
    assert_eq!(previous.body, "before\n");
}

#[tokio::test]
async fn a_refused_or_late_log_is_a_gap() {
    let server = Server::http(|_| Reply::forbidden());
    let capture = logs(&server, Restarted::No, &CollectOptions::default()).await;
    assert!(capture.logs.is_empty());
    assert_eq!(capture.problems[0].resource, "log");
    assert_eq!(capture.problems[0].reason, GapReason::Forbidden);
    let server = Server::http(|_| Reply::silence());
    let capture = logs(&server, Restarted::No, &hurried()).await;
    assert_eq!(capture.problems[0].reason, GapReason::Partial);
}

#[tokio::test]
async fn one_page_of_metrics_is_kept_where_there_is_no_time_for_two() {
    let server = Server::http(|asked| match asked.path.as_str() {
        METRICS => Reply::json(200, "process_start_time_seconds 1\n"),
        _ => Reply::status(404, "NotFound", "no"),
    });
    let mut capture = Capture::from_objects([]);
    capture.manifest.taken_at = "2026-01-02T03:04:05Z".parse().ok();
    capture.manifest.now_from = NowFrom::Server;
    cluster(&flags(&server, "velero"))
        .await
        .add_metrics(
            &mut capture,
            &[agent(Restarted::No)],
            &hurried(),
            Duration::ZERO,
            &quiet,
        )
        .await;
    let ports: Vec<bool> = server
        .asked()
        .iter()
        .map(|asked| asked.path == METRICS)
        .collect();
    assert_eq!(ports.len(), 2, "{:?}", server.asked());
    assert!(ports.contains(&true) && ports.contains(&false));
    assert_eq!(capture.metrics.len(), 1, "{:?}", capture.problems);
    assert_eq!(capture.metrics[0].port, 8080);
}

#[tokio::test]
async fn refused_metrics_are_one_gap_for_all_agents() {
    let server = Server::http(|_| Reply::forbidden());
    let mut capture = Capture::from_objects([]);
    capture.manifest.taken_at = "2026-01-02T03:04:05Z".parse().ok();
    let agents = [agent(Restarted::No), agent(Restarted::Yes)];
    cluster(&flags(&server, "velero"))
        .await
        .add_metrics(
            &mut capture,
            &agents,
            &CollectOptions::default(),
            Duration::ZERO,
            &quiet,
        )
        .await;
    assert!(capture.metrics.is_empty());
    assert_eq!(capture.problems.len(), 1);
    assert_eq!(capture.problems[0].resource, "metrics");
}

#[tokio::test]
async fn no_line_is_asked_for_that_is_older_than_the_process_or_than_a_week() {
    for (started, now, since) in [
        ("2026-01-02T02:04:05Z", "2026-01-02T03:04:05Z", "3660"),
        ("2025-12-20T02:04:05Z", "2026-01-02T03:04:05Z", "604800"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:00:00Z", "60"),
    ] {
        let server = Server::http(|_| Reply::json(200, "line\n"));
        let mut capture = Capture::from_objects([]);
        capture.manifest.taken_at = now.parse().ok();
        let agent = AgentPod {
            started_at: started.parse().ok(),
            ..agent(Restarted::Yes)
        };
        cluster(&flags(&server, "velero"))
            .await
            .add_logs(
                &mut capture,
                &[agent],
                &CollectOptions::default(),
                Duration::ZERO,
                &quiet,
            )
            .await;
        let asked = server.asked();
        let mut tails: Vec<(String, String)> = asked
            .iter()
            .filter(|asked| !asked.query("tailLines").is_empty())
            .map(|asked| {
                (
                    asked.query("previous").to_owned(),
                    asked.query("sinceSeconds").to_owned(),
                )
            })
            .collect();
        tails.sort();
        assert_eq!(
            tails,
            [
                (String::new(), since.to_owned()),
                ("true".to_owned(), "604800".to_owned())
            ]
        );
        // Of a process that is older, the beginning is asked for apart.
        assert_eq!(asked.len(), if since == "604800" { 3 } else { 2 });
    }
}

#[tokio::test]
async fn what_velero_itself_counts_is_kept_beside_controller_runtime_and_alone() {
    let server = Server::http(|asked| {
        if asked.path.contains(":8085/") {
            Reply::json(200, "process_start_time_seconds 1\n")
        } else {
            Reply::status(503, "ServiceUnavailable", "no")
        }
    });
    let mut capture = Capture::from_objects([]);
    capture.manifest.taken_at = "2026-01-02T03:04:05Z".parse().ok();
    cluster(&flags(&server, "velero"))
        .await
        .add_metrics(
            &mut capture,
            &[agent(Restarted::No)],
            &hurried(),
            Duration::ZERO,
            &quiet,
        )
        .await;
    assert_eq!(capture.metrics.len(), 1);
    assert_eq!(capture.metrics[0].port, 8085);
    assert_eq!(capture.problems.len(), 1);
}

#[tokio::test]
async fn a_log_that_does_not_come_before_the_command_has_to_end_is_a_timeout() {
    let server = Server::http(|_| Reply::silence());
    let options = CollectOptions {
        request_timeout: Duration::ZERO,
        time_limit: Duration::from_millis(400),
        ..CollectOptions::default()
    };
    let capture = logs(&server, Restarted::No, &options).await;
    assert_eq!(capture.problems[0].reason, GapReason::Timeout);
}

#[tokio::test]
async fn metrics_of_an_address_that_the_server_does_not_proxy_to_are_merely_missing() {
    let server = Server::http(|_| Reply::status(400, "BadRequest", "address not allowed"));
    let mut capture = Capture::from_objects([]);
    capture.manifest.taken_at = "2026-01-02T03:04:05Z".parse().ok();
    cluster(&flags(&server, "velero"))
        .await
        .add_metrics(
            &mut capture,
            &[agent(Restarted::No)],
            &CollectOptions::default(),
            Duration::ZERO,
            &quiet,
        )
        .await;
    assert_eq!(capture.problems[0].reason, GapReason::Partial);
    assert!(
        capture.problems[0].message.ends_with("address not allowed"),
        "{}",
        capture.problems[0].message
    );
}
