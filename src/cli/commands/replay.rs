//! `replay`.

use super::super::args::{FilterArgs, OutputArgs, SourceArgs, parse_threshold};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::source::{self, Read};
use super::super::ui::{TerminalEnvironment, Ui, terminal};
use super::simulate::SimulateArgs;
use crate::diagnose::{Diagnosis, diagnose};
use crate::render;
use crate::replay::{Replay, ReplayOptions, replay};
use crate::report::{ReplayReport, SimulationReport, troubles};
use crate::simulate::{Depth, Request, simulate};

/// Show what each node-agent would decide for each unfinished task if it looked now
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// How long a task may wait beside a free slot
    #[arg(long, value_name = "DURATION", value_parser = parse_threshold, default_value = "10m", help_heading = "Analysis")]
    threshold: i64,
    #[command(flatten)]
    simulate: SimulateArgs,
}

/// Answers.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    args.output.without_metrics()?;
    let read = source::read(&args.source)?;
    let options = ReplayOptions {
        threshold_seconds: args.threshold,
    };
    let replayed = replay(&read.snapshot, options);
    let diagnosis = diagnose(&read.snapshot, &replayed);
    if args.simulate.simulate {
        return run_simulation(args, ui, &read, &replayed, &diagnosis);
    }
    let report = ReplayReport::new(
        &read.snapshot,
        &replayed,
        &diagnosis,
        &args.filters.filters(),
        &read.pins,
    );
    ui.say_unmatched(&report.head);
    let terminal = terminal(args.output, &TerminalEnvironment::of_process());
    ui.answer(|out| render::replay(out, &report, args.output.output.into(), &terminal))?;
    let exit = if report.head.timed_out() {
        Exit::TimedOut
    } else if report.nothing_answered() {
        Exit::CouldNotAnswer
    } else {
        Exit::Answered
    };
    Ok(read.end.exit(exit))
}

/// Answers how the queue drains from here.
fn run_simulation(
    args: &Args,
    ui: &mut Ui<'_>,
    read: &Read,
    replayed: &Replay<'_>,
    diagnosis: &Diagnosis,
) -> Result<Exit, Error> {
    let request = Request {
        scenarios: args.simulate.scenarios(&read.snapshot, replayed)?,
        seed: args.simulate.seed,
        runs: None,
        troubles: troubles(replayed, diagnosis),
        depth: Depth::Everything,
    };
    let report = SimulationReport::new(
        &read.snapshot,
        replayed,
        diagnosis,
        simulate(&read.snapshot, replayed, &request),
        &args.filters.filters(),
        &read.pins,
    );
    ui.say_unmatched(&report.head);
    let terminal = terminal(args.output, &TerminalEnvironment::of_process());
    ui.answer(|out| render::simulation(out, &report, args.output.output.into(), &terminal))?;
    let exit = if report.head.timed_out() {
        Exit::TimedOut
    } else if report.nothing_answered() {
        Exit::CouldNotAnswer
    } else {
        Exit::Answered
    };
    Ok(read.end.exit(exit))
}
