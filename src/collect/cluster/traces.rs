//! The second step of a reading: logs and metrics of the few node-agents that need them.
//!
//! Everything here is optional. What is refused or late becomes a gap, never an error, and each request is
//! bounded in lines, bytes and time.

use std::time::Duration;

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};

use super::answer::{Failure, FailureKind};
use super::list::encode;
use super::request::Asker;
use super::{Cluster, CollectOptions, with_progress};
use crate::capture::{
    AgentPod, Capture, Cut, GapReason, LINES_LEFT_OUT, LogFile, MetricsPage, Previous, Problem,
    Restarted,
};
use crate::collect::kubectl_compat::Progress;

/// Lines of a log that are read from its end: at five lines each five seconds for each of a few waiting tasks,
/// some hours.
const TAIL_LINES: usize = 20_000;
/// Lines that are read when those are too long.
const SHORT_TAIL_LINES: usize = 2_000;
/// Lines of the log of the container before.
const PREVIOUS_LINES: usize = 2_000;
/// Bytes of a log at most. The API server ends a longer answer there, and so cuts its end off.
const LOG_BYTES: usize = 16 << 20;
/// Bytes of a log's beginning, for the lines that a process writes when it starts.
const HEAD_BYTES: usize = 128 << 10;
/// Bytes of a page of metrics at most; a large one has some hundred thousand.
const METRICS_BYTES: usize = 8 << 20;
/// How old the lines of a log may be, in seconds: a task is cancelled after hours, a slot is held for days.
const OLDEST_SECONDS: i64 = 7 * 24 * 3600;
/// How much before its container a process may have begun to log, in seconds.
const START_TOLERANCE_SECONDS: i64 = 60;
/// Where controller-runtime serves its registry: no release overrides the default.
const RUNTIME_PORT: u16 = 8080;
/// Where Velero serves its own registry (`--metrics-address`, which no chart changes).
const VELERO_PORT: u16 = 8085;
/// Between two looks at the metrics: two pauses of a refused task, and a little.
const BETWEEN_METRICS: Duration = Duration::from_secs(12);
/// What logs and metrics may take of the time limit.
const TIME_LIMIT: Duration = Duration::from_secs(25);

/// Whether something is read where it helps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traces {
    /// It is.
    #[default]
    Auto,
    /// It is not.
    Never,
}

impl Cluster {
    /// Reads logs of some node-agents into a capture, within what is left of the time limit after `took`.
    pub async fn add_logs(
        &self,
        capture: &mut Capture,
        wanted: &[AgentPod],
        options: &CollectOptions,
        took: Duration,
        progress: Progress<'_>,
    ) {
        let rest = rest_of(options, took);
        let asker = self.asker(&rest.options, progress);
        let now = capture.manifest.taken_at;
        let read = join_all(wanted.iter().flat_map(|agent| {
            let before = match agent.restarted {
                Restarted::Yes => Some(Previous::Yes),
                Restarted::No => None,
            };
            [Some(Previous::No), before]
                .into_iter()
                .flatten()
                .map(|previous| log(&asker, agent, previous, now, rest.limit))
        }));
        for answer in with_progress(&asker, read).await {
            match answer {
                Ok(Some(log)) => capture.logs.push(log),
                Ok(None) => {}
                Err(problem) => capture.problems.push(problem),
            }
        }
    }

    /// Reads the metrics of some node-agents into a capture, twice, so that rates can be told. Returns how long
    /// it took.
    pub async fn add_metrics(
        &self,
        capture: &mut Capture,
        wanted: &[AgentPod],
        options: &CollectOptions,
        took: Duration,
        progress: Progress<'_>,
    ) -> Duration {
        let Rest { options, limit } = rest_of(options, took);
        let asker = self.asker(&options, progress);
        // Without the server's clock the two looks have no time.
        let Some(base) = capture.manifest.taken_at else {
            return asker.elapsed();
        };
        let mut remaining: Vec<&AgentPod> = wanted.iter().collect();
        for round in 0..2 {
            if remaining.is_empty() || asker.elapsed() >= options.time_limit {
                break;
            }
            let pages = join_all(remaining.iter().map(async |agent| {
                tokio::join!(
                    metrics(&asker, agent, RUNTIME_PORT),
                    metrics(&asker, agent, VELERO_PORT)
                )
            }));
            let pages = with_progress(&asker, pages).await;
            let since_lists = SignedDuration::try_from(took + asker.elapsed()).unwrap_or_default();
            let taken_at = base.checked_add(since_lists).unwrap_or(base);
            let mut answered = Vec::new();
            for (agent, (of_runtime, of_velero)) in remaining.into_iter().zip(pages) {
                let mut keep = |port: u16, body: String| {
                    capture.metrics.push(MetricsPage {
                        namespace: agent.namespace.clone(),
                        pod: agent.pod.clone(),
                        port,
                        taken_at,
                        body,
                    });
                };
                if of_runtime.is_ok() || of_velero.is_ok() {
                    answered.push(agent);
                }
                // What Velero's registry adds is little: without it nothing is said.
                if let Ok(body) = of_velero {
                    keep(VELERO_PORT, body);
                }
                match of_runtime {
                    Ok(body) => keep(RUNTIME_PORT, body),
                    Err(failure) => {
                        let problem = Problem {
                            resource: "metrics".to_owned(),
                            reason: optional(&failure, limit),
                            message: format!("metrics of {}: {}", agent.pod, failure.message),
                        };
                        // One word about rights is enough, for however many agents.
                        let said = capture.problems.iter().any(|other| {
                            other.resource == problem.resource && other.reason == problem.reason
                        });
                        if !said {
                            capture.problems.push(problem);
                        }
                    }
                }
            }
            remaining = answered;
            let fits = asker.elapsed() + BETWEEN_METRICS < options.time_limit;
            if round == 0 && !remaining.is_empty() {
                if !fits {
                    break;
                }
                asker.say("looking at the metrics of node-agents twice, 12 s apart; --metrics never leaves it out");
                asker.pause(BETWEEN_METRICS).await;
            }
        }
        asker.elapsed()
    }
}

/// What is left for traces.
struct Rest {
    options: CollectOptions,
    limit: Limit,
}

/// Whose time limit is the first to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// The command's: its exit code speaks of it.
    Command,
    /// That of the traces, which are optional.
    Traces,
}

fn rest_of(options: &CollectOptions, took: Duration) -> Rest {
    let rest = options
        .time_limit
        .saturating_sub(options.spent)
        .saturating_sub(took);
    Rest {
        options: CollectOptions {
            time_limit: rest.min(TIME_LIMIT),
            spent: Duration::ZERO,
            ..options.clone()
        },
        limit: if rest <= TIME_LIMIT {
            Limit::Command
        } else {
            Limit::Traces
        },
    }
}

async fn metrics(asker: &Asker<'_>, agent: &AgentPod, port: u16) -> Result<String, Failure> {
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}:{port}/proxy/metrics",
        encode(&agent.namespace),
        encode(&agent.pod)
    );
    asker.get_text(&path, "metrics", METRICS_BYTES).await
}

/// Reads one log: its end, and, where that is not all, its beginning.
async fn log(
    asker: &Asker<'_>,
    agent: &AgentPod,
    previous: Previous,
    now: Option<Timestamp>,
    limit: Limit,
) -> Result<Option<LogFile>, Problem> {
    let lines = match previous {
        Previous::No => TAIL_LINES,
        Previous::Yes => PREVIOUS_LINES,
    };
    let since = since_seconds(agent, previous, now);
    let tail = match tail(asker, agent, previous, lines, since).await {
        Ok(tail) => tail,
        // The kubelet has removed the container before, or its log: as if there had been none.
        Err(failure) if previous == Previous::Yes && failure.kind != FailureKind::Forbidden => {
            return Ok(None);
        }
        Err(failure) => return Err(problem(agent, &failure, limit)),
    };
    let (cut, body) = if tail.whole {
        (Cut::Whole, tail.body)
    } else {
        (
            Cut::BeginningLeftOut,
            with_head(asker, agent, previous, tail.body).await,
        )
    };
    Ok(Some(LogFile {
        namespace: agent.namespace.clone(),
        pod: agent.pod.clone(),
        container: agent.container.clone(),
        previous,
        cut,
        body,
    }))
}

/// How old the lines may be that are asked for, in seconds: since the process started, and at most
/// [`OLDEST_SECONDS`].
fn since_seconds(agent: &AgentPod, previous: Previous, now: Option<Timestamp>) -> i64 {
    match (previous, now.zip(agent.started_at)) {
        (Previous::No, Some((now, start))) => now
            .duration_since(start)
            .as_secs()
            .saturating_add(START_TOLERANCE_SECONDS)
            .clamp(START_TOLERANCE_SECONDS, OLDEST_SECONDS),
        (Previous::No, None) | (Previous::Yes, _) => OLDEST_SECONDS,
    }
}

struct Tail {
    body: String,
    whole: bool,
}

async fn tail(
    asker: &Asker<'_>,
    agent: &AgentPod,
    previous: Previous,
    lines: usize,
    since: i64,
) -> Result<Tail, Failure> {
    let ask = |lines: usize| {
        let path = log_path(
            agent,
            previous,
            &format!("&tailLines={lines}&sinceSeconds={since}&limitBytes={LOG_BYTES}"),
        );
        async move { asker.get_text(&path, "logs", LOG_BYTES).await }
    };
    let mut lines = lines;
    let mut body = ask(lines).await?;
    if body.len() >= LOG_BYTES && lines > SHORT_TAIL_LINES {
        lines = SHORT_TAIL_LINES;
        body = ask(lines).await?;
    }
    if body.len() >= LOG_BYTES {
        return Err(Failure::new(
            FailureKind::TooLarge,
            format!("its last {lines} lines are longer than {LOG_BYTES} bytes"),
        ));
    }
    // Of a process that is older than the oldest lines asked for, the beginning is missing as well.
    let reaches_back =
        previous == Previous::Yes || agent.started_at.is_none() || since < OLDEST_SECONDS;
    let whole = reaches_back && body.lines().count() < lines;
    Ok(Tail { body, whole })
}

/// Puts the first lines of a log before its last ones, with a mark between. Without them the log is what it is.
async fn with_head(
    asker: &Asker<'_>,
    agent: &AgentPod,
    previous: Previous,
    tail: String,
) -> String {
    let path = log_path(agent, previous, &format!("&limitBytes={HEAD_BYTES}"));
    let Ok(head) = asker.get_text(&path, "logs", HEAD_BYTES).await else {
        return tail;
    };
    // The last line was cut by the limit.
    let Some((whole_lines, _)) = head.rsplit_once('\n') else {
        return tail;
    };
    format!("{whole_lines}\n{LINES_LEFT_OUT}\n{tail}")
}

fn log_path(agent: &AgentPod, previous: Previous, limits: &str) -> String {
    format!(
        "/api/v1/namespaces/{}/pods/{}/log?container={}{}{limits}",
        encode(&agent.namespace),
        encode(&agent.pod),
        encode(&agent.container),
        match previous {
            Previous::No => "",
            Previous::Yes => "&previous=true",
        }
    )
}

fn problem(agent: &AgentPod, failure: &Failure, limit: Limit) -> Problem {
    Problem {
        resource: "log".to_owned(),
        reason: optional(failure, limit),
        message: format!("log of {}: {}", agent.pod, failure.message),
    }
}

/// Why a trace was not read. A late one is not the command's own time limit, which the exit code speaks of,
/// unless it is, and a pod that is gone by now is no missing kind of resource.
fn optional(failure: &Failure, limit: Limit) -> GapReason {
    if failure.kind == FailureKind::OutOfTime && limit == Limit::Command {
        return GapReason::Timeout;
    }
    match failure.reason() {
        GapReason::NotFound | GapReason::Timeout | GapReason::Partial => GapReason::Partial,
        GapReason::Forbidden => GapReason::Forbidden,
        GapReason::Malformed => GapReason::Malformed,
        GapReason::NotInInput => GapReason::NotInInput,
        GapReason::Unsupported => GapReason::Unsupported,
    }
}
