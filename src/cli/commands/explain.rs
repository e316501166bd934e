//! `explain`.

use std::collections::BTreeMap;

use anyhow::anyhow;

use super::super::answer::{Answer, Reached};
use super::super::args::{OutputArgs, SourceArgs, parse_threshold};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::source::{self, TraceArgs};
use super::super::ui::Ui;
use super::super::watch::{self, Call, Said, WatchArgs};
use super::diagnose::TracesChoice;
use crate::diagnose::diagnose;
use crate::render;
use crate::replay::{ReplayOptions, replay};
use crate::report::{
    ExplanationReport, NotFound, Pins, Standing, Subject, near_ids, runbook, troubles,
};
use crate::simulate::forecast;
use crate::snapshot::Snapshot;

/// Tell the story of one task, which gate is closed, and what would free it; or print a finding's runbook
///
/// KIND/NAME is a task: du, dd, pvb or pvr, or a full name. backup/NAME, restore/NAME and pvc/NAMESPACE/NAME list
/// the unfinished tasks and tell of the one that matters most. task/NAME takes tasks of every kind.
///
/// FINDING-ID, without a slash, prints the runbook of a finding that `diagnose` reports; nothing is read for it.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    /// What to explain: du/NAME, backup/NAME, pvc/NAMESPACE/NAME, prepared-stuck, ...
    #[arg(value_name = "KIND/NAME|FINDING-ID")]
    what: String,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    watch: WatchArgs,
    /// How long a task may wait beside a free slot
    #[arg(long, value_name = "DURATION", value_parser = parse_threshold, default_value = "10m", help_heading = "Analysis")]
    threshold: i64,
    /// Whether logs of node-agents are read from a cluster where they would decide something
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Analysis"
    )]
    logs: TracesChoice,
    /// Whether metrics of node-agents are read from a cluster where they would decide something
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Analysis"
    )]
    metrics: TracesChoice,
}

/// Answers.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    args.output.without_metrics()?;
    if !args.what.contains('/') {
        return page(args, ui);
    }
    let subject = Subject::parse(&args.what).map_err(|why| {
        Error::usage(anyhow!("{:?} names nothing: {why}", args.what)).hint(
            "expected du/NAME, dd/NAME, pvb/NAME, pvr/NAME, backup/NAME, restore/NAME or pvc/NAMESPACE/NAME",
        )
    })?;
    let traces = TraceArgs {
        logs: args.logs.into(),
        metrics: args.metrics.into(),
        threshold: args.threshold,
    };
    if args.watch.is_on() {
        let call = Call {
            source: &args.source,
            output: args.output,
            watch: args.watch,
            traces: Some(traces),
        };
        return watch::run(
            call,
            ui,
            &|snapshot, pins| match answer(args, &subject, snapshot, pins) {
                Ok(answer) => Said::Answer(answer),
                Err(missing) => Said::Missing {
                    error: not_found(&missing),
                    proven: Reached::when(missing.unread.is_empty()),
                },
            },
        );
    }
    let read = source::read_with_traces(&args.source, traces)?;
    let answer = answer(args, &subject, &read.snapshot, &read.pins)
        .map_err(|missing| not_found(&missing))?;
    let exit = answer.say(args.output, ui)?;
    Ok(read.end.exit(exit))
}

fn answer(
    args: &Args,
    subject: &Subject,
    snapshot: &Snapshot,
    pins: &Pins,
) -> Result<Answer, NotFound> {
    let options = ReplayOptions {
        threshold_seconds: args.threshold,
    };
    let replayed = replay(snapshot, options);
    let diagnosis = diagnose(snapshot, &replayed);
    let report = ExplanationReport::new(snapshot, &replayed, &diagnosis, subject, pins)?;
    let troubles = troubles(&replayed, &diagnosis);
    let report = report.with_forecast(&forecast(snapshot, &replayed, &troubles));
    let exit = if report.head.timed_out() {
        Exit::TimedOut
    } else if report.verdict == Standing::Unknown {
        Exit::CouldNotAnswer
    } else {
        Exit::Answered
    };
    Ok(Answer {
        warnings: Vec::new(),
        marks: marks(&report),
        exit,
        idle: Reached::when(report.is_idle(subject, snapshot)),
        unstuck: Reached::when(match report.verdict {
            Standing::Stuck | Standing::Unknown => false,
            Standing::Attention | Standing::Waiting | Standing::Running | Standing::Finished => {
                true
            }
        }),
        render: Box::new(move |out, format, terminal| {
            render::explanation(out, &report, format, terminal)
        }),
    })
}

/// Says of each task its phase and how it stands.
fn marks(report: &ExplanationReport) -> BTreeMap<String, String> {
    let lines = report
        .unfinished
        .iter()
        .map(|line| (&line.task, &line.phase, line.verdict));
    let told = report
        .tasks
        .iter()
        .map(|told| (&told.task, &told.phase, told.verdict));
    lines
        .chain(told)
        .map(|(task, phase, verdict)| {
            let state = format!("{}, {}", phase.as_str(), verdict.as_str());
            (task.to_string(), state)
        })
        .collect()
}

fn page(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    args.watch.refuse_for_runbook()?;
    let Some(page) = runbook(&args.what) else {
        let error = Error::usage(anyhow!("there is no finding {:?}", args.what));
        let near = near_ids(&args.what);
        let error = if near.is_empty() {
            error.hint("`kubectl velero-slots diagnose` prints the ids of what it finds")
        } else {
            error.hint(format!("did you mean {}?", near.join(", ")))
        };
        return Err(error.hint("a task is named with its kind, such as du/NAME"));
    };
    ui.answer(|out| render::runbook(out, &page, args.output.output.into()))?;
    Ok(Exit::Answered)
}

fn not_found(missing: &NotFound) -> Error {
    let mut error = Error::could_not_answer(anyhow!("{} was not found", missing.subject));
    if !missing.unread.is_empty() {
        let kinds: Vec<&str> = missing.unread.iter().map(|kind| kind.plural()).collect();
        error = error.hint(format!(
            "it may be among what was not read, or only in part: {}",
            kinds.join(", ")
        ));
    }
    if !missing.near.is_empty() {
        error = error.hint(format!("did you mean {}?", missing.near.join(", ")));
    }
    error
}
