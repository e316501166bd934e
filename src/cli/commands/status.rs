//! `status`.

use std::collections::BTreeMap;

use super::super::answer::{Answer, Reached, warnings};
use super::super::args::{FilterArgs, OutputArgs, OutputFormat, SourceArgs, parse_threshold};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::source;
use super::super::ui::Ui;
use super::super::watch::{self, Call, Said, WatchArgs};
use crate::diagnose::{NodeVerdict, diagnose};
use crate::render;
use crate::replay::{ReplayOptions, replay};
use crate::report::{DiagnosisReport, Pins, StatusReport, is_idle, troubles};
use crate::simulate::forecast;
use crate::snapshot::Snapshot;

/// Show which node has how many slots, who holds them and who waits
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    watch: WatchArgs,
    /// How long a task may wait beside a free slot
    #[arg(long, value_name = "DURATION", value_parser = parse_threshold, default_value = "10m", help_heading = "Analysis")]
    threshold: i64,
}

/// Answers.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    if args.watch.is_on() {
        let call = Call {
            source: &args.source,
            output: args.output,
            watch: args.watch,
            traces: None,
        };
        return watch::run(call, ui, &|snapshot, pins| {
            Said::Answer(answer(args, snapshot, pins))
        });
    }
    let read = source::read(&args.source)?;
    let exit = answer(args, &read.snapshot, &read.pins).say(args.output, ui)?;
    Ok(read.end.exit(exit))
}

fn answer(args: &Args, snapshot: &Snapshot, pins: &Pins) -> Answer {
    let options = ReplayOptions {
        threshold_seconds: args.threshold,
    };
    let replayed = replay(snapshot, options);
    let diagnosis = diagnose(snapshot, &replayed);
    let filters = args.filters.filters();
    let mut report = StatusReport::new(snapshot, &replayed, &diagnosis, &filters, pins);
    // The only views that show it.
    if matches!(
        args.output.output,
        OutputFormat::Wide | OutputFormat::Json | OutputFormat::Yaml
    ) {
        let troubles = troubles(&replayed, &diagnosis);
        report = report.with_forecast(&forecast(snapshot, &replayed, &troubles));
    }
    let exit = if report.head.timed_out() {
        Exit::TimedOut
    } else if report.nothing_answered() {
        Exit::CouldNotAnswer
    } else {
        Exit::Answered
    };
    let (idle, unstuck, marks) = if args.watch.is_on() {
        let findings = DiagnosisReport::new(snapshot, &replayed, &diagnosis, &filters, pins);
        let nodes = report.nodes.iter().all(|node| match node.verdict {
            NodeVerdict::Unknown | NodeVerdict::NoAgent | NodeVerdict::Stuck => false,
            NodeVerdict::Degraded | NodeVerdict::Queued | NodeVerdict::Busy | NodeVerdict::Idle => {
                true
            }
        });
        (
            Reached::when(is_idle(snapshot, &replayed, &filters)),
            Reached::when(nodes && findings.is_unstuck() && !report.nothing_answered()),
            marks(&report),
        )
    } else {
        (Reached::No, Reached::No, BTreeMap::new())
    };
    Answer {
        warnings: warnings(&report.head),
        render: Box::new(move |out, format, terminal| {
            render::status(out, &report, format, terminal)
        }),
        exit,
        marks,
        idle,
        unstuck,
    }
}

/// Says of each node its verdict, and of each task that holds or waits its phase.
fn marks(report: &StatusReport) -> BTreeMap<String, String> {
    let nodes = report
        .nodes
        .iter()
        .map(|node| (node.name.clone(), node.verdict.as_str().to_owned()));
    let tasks = report
        .nodes
        .iter()
        .flat_map(|node| node.holders.iter().chain(&node.waiting))
        .map(|row| (row.task.to_string(), row.phase.as_str().to_owned()));
    nodes.chain(tasks).collect()
}
