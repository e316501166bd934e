//! One answer: from what is known of the cluster now, and the logs and metrics that were read lately.

use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::super::source::TraceArgs;
use super::{Call, REST, Said, Say};
use crate::capture::{AgentPod, Capture, LogFile, Manifest, MetricsPage, Problem};
use crate::collect::cluster::{Cluster, CollectOptions, Following, Traces};
use crate::diagnose::nodes_that_need_logs;
use crate::replay::{ReplayOptions, replay};
use crate::report::Pins;
use crate::snapshot::{self, ReadOptions};

/// Between two readings of the same logs. A task that waits for hours writes the same lines over and over, and each
/// reading may be some megabytes that a kubelet has to send.
const EACH: Duration = Duration::from_secs(60);
/// Between two readings of any logs, for agents that need them only now.
const AT_LEAST: Duration = Duration::from_secs(10);

/// Makes answers.
pub(super) struct Looker<'s> {
    call: Call<'s>,
    options: CollectOptions,
    pins: Pins,
    /// Agents whose logs and metrics would decide something, by the last look.
    wanted: Vec<AgentPod>,
    read: Option<Read>,
    reading: Option<Pin<Box<dyn Future<Output = Read>>>>,
    /// How often something was read.
    times: u64,
    started: Option<Instant>,
}

/// What was read of some agents.
struct Read {
    of: Vec<AgentPod>,
    logs: Vec<LogFile>,
    metrics: Vec<MetricsPage>,
    problems: Vec<Problem>,
    at: Instant,
    took: Duration,
}

/// Whether all logs and metrics that would decide something were read, or cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traced {
    /// They were, or none would.
    Settled,
    /// They are being read, or will be.
    Awaited,
}

impl<'s> Looker<'s> {
    /// Makes one that has not read anything.
    pub(super) fn new(call: Call<'s>, options: CollectOptions, pins: Pins) -> Self {
        Self {
            call,
            options,
            pins,
            wanted: Vec::new(),
            read: None,
            reading: None,
            times: 0,
            started: None,
        }
    }

    /// Answers from what is known now, or as if it had been known at a time.
    pub(super) fn look(
        &mut self,
        following: &Following<'_>,
        at: Option<Timestamp>,
        say: Say<'_>,
    ) -> Said {
        let mut capture = following.capture();
        if at.is_some() {
            capture.manifest.taken_at = at;
        }
        let options = ReadOptions {
            namespace: following.namespace().namespace.clone(),
            now: None,
        };
        let Some(traces) = self.traces_args() else {
            return say(&snapshot::read_owned(capture, &options), &self.pins);
        };
        let seen = snapshot::read(&capture, &options);
        let replayed = replay(
            &seen,
            ReplayOptions {
                threshold_seconds: traces.threshold,
            },
        );
        self.wanted = nodes_that_need_logs(&seen, &replayed);
        if self.wanted.is_empty() || self.read.is_none() {
            return say(&seen, &self.pins);
        }
        drop(replayed);
        drop(seen);
        self.add_traces(&mut capture);
        say(&snapshot::read_owned(capture, &options), &self.pins)
    }

    /// Returns a number that grows whenever logs or metrics were read.
    pub(super) const fn times(&self) -> u64 {
        self.times
    }

    /// Returns whether more is to be read before an answer is as good as a single one.
    pub(super) fn traced(&self) -> Traced {
        let is_read = |agent: &AgentPod| {
            self.read
                .as_ref()
                .is_some_and(|read| read.of.contains(agent))
        };
        if self.wanted.iter().all(is_read) {
            Traced::Settled
        } else {
            Traced::Awaited
        }
    }

    /// Begins to read the logs and metrics that would decide something, if that is due.
    pub(super) fn start_traces(&mut self, following: &Following<'_>) {
        let Some(args) = self.traces_args() else {
            return;
        };
        if self.reading.is_some() || self.wanted.is_empty() {
            return;
        }
        if self
            .started
            .is_some_and(|started| started.elapsed() < AT_LEAST)
        {
            return;
        }
        let is_old = self
            .read
            .as_ref()
            .is_none_or(|read| read.at.elapsed() > EACH.max(read.took * REST));
        if self.traced() == Traced::Settled && !is_old {
            return;
        }
        self.started = Some(Instant::now());
        self.reading = Some(Box::pin(read(
            following.cluster(),
            following.manifest(),
            self.wanted.clone(),
            self.options.clone(),
            args,
        )));
    }

    /// Goes on reading, if that was begun, and ends when it is done.
    pub(super) async fn traces(&mut self) {
        let Some(reading) = &mut self.reading else {
            return std::future::pending().await;
        };
        let read = reading.await;
        self.reading = None;
        self.times += 1;
        self.read = Some(read);
    }

    fn traces_args(&self) -> Option<TraceArgs> {
        self.call
            .traces
            .filter(|traces| traces.logs == Traces::Auto || traces.metrics == Traces::Auto)
    }

    /// Adds what was read of the agents that still need it. A process that has started since has another log.
    fn add_traces(&self, capture: &mut Capture) {
        let Some(read) = &self.read else {
            return;
        };
        let is_wanted = |namespace: &str, pod: &str| {
            read.of.iter().any(|agent| {
                agent.namespace == namespace && agent.pod == pod && self.wanted.contains(agent)
            })
        };
        let logs = read.logs.iter();
        capture.logs.extend(
            logs.filter(|log| is_wanted(&log.namespace, &log.pod))
                .cloned(),
        );
        let pages = read.metrics.iter();
        capture.metrics.extend(
            pages
                .filter(|page| is_wanted(&page.namespace, &page.pod))
                .cloned(),
        );
        capture.problems.extend(read.problems.iter().cloned());
    }
}

async fn read(
    cluster: Rc<Cluster>,
    manifest: Manifest,
    wanted: Vec<AgentPod>,
    options: CollectOptions,
    args: TraceArgs,
) -> Read {
    let began = Instant::now();
    let quiet = |_: &str| {};
    let mut capture = Capture::of_lists(manifest, Vec::new(), Vec::new());
    // First the metrics, as for a single answer.
    if args.metrics == Traces::Auto {
        cluster
            .add_metrics(&mut capture, &wanted, &options, Duration::ZERO, &quiet)
            .await;
    }
    if args.logs == Traces::Auto {
        cluster
            .add_logs(&mut capture, &wanted, &options, Duration::ZERO, &quiet)
            .await;
    }
    Read {
        of: wanted,
        logs: capture.logs,
        metrics: capture.metrics,
        problems: capture.problems,
        at: Instant::now(),
        took: began.elapsed(),
    }
}
