//! `status`.

use super::super::args::{FilterArgs, OutputArgs, OutputFormat, SourceArgs, parse_threshold};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::source;
use super::super::ui::{TerminalEnvironment, Ui, terminal};
use crate::diagnose::diagnose;
use crate::render;
use crate::replay::{ReplayOptions, replay};
use crate::report::{StatusReport, troubles};
use crate::simulate::forecast;

/// Show which node has how many slots, who holds them and who waits
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
}

/// Answers.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    let read = source::read(&args.source)?;
    let options = ReplayOptions {
        threshold_seconds: args.threshold,
    };
    let replayed = replay(&read.snapshot, options);
    let diagnosis = diagnose(&read.snapshot, &replayed);
    let mut report = StatusReport::new(
        &read.snapshot,
        &replayed,
        &diagnosis,
        &args.filters.filters(),
        &read.pins,
    );
    ui.say_unmatched(&report.head);
    // The only views that show it.
    if matches!(
        args.output.output,
        OutputFormat::Wide | OutputFormat::Json | OutputFormat::Yaml
    ) {
        let troubles = troubles(&replayed, &diagnosis);
        report = report.with_forecast(&forecast(&read.snapshot, &replayed, &troubles));
    }
    let terminal = terminal(args.output, &TerminalEnvironment::of_process());
    ui.answer(|out| render::status(out, &report, args.output.output.into(), &terminal))?;
    let exit = if report.head.timed_out() {
        Exit::TimedOut
    } else if report.nothing_answered() {
        Exit::CouldNotAnswer
    } else {
        Exit::Answered
    };
    Ok(read.end.exit(exit))
}
