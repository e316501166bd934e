//! The command line and nothing else: flags, exit codes, messages, and where the answer goes.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

mod answer;
mod args;
mod commands;
mod completion;
mod confirm;
mod error;
mod exit;
mod source;
mod ui;
mod watch;

use commands::{
    auth, capture, completion as complete, diagnose, explain, nudge, replay, restart, status,
    version,
};
use error::{Error, ErrorKind};
use exit::Exit;
use ui::{Ui, shown};

/// Show who holds and who waits for the slots of Velero's node-agents, and say what is wrong
///
/// Reads the cluster that kubectl would, or files (--from). Only nudge and restart change something, and only after
/// showing what.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-velero_slots",
    bin_name = "kubectl velero-slots",
    display_name = "kubectl velero-slots",
    version,
    args_override_self = true,
    after_help = "Exit codes: 0 answered; 1 could not answer, or verdict unknown; 2 usage; \
                  3 a finding at or above --fail-on; 4 an action was refused and changed nothing; 5 an action did \
                  not come about in time; 124 time limit; 130 interrupted."
)]
struct App {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Status(status::Args),
    Diagnose(diagnose::Args),
    Explain(explain::Args),
    Replay(replay::Args),
    Nudge(nudge::Args),
    Restart(restart::Args),
    Capture(capture::Args),
    Auth(auth::Args),
    Completion(complete::Args),
    Version(version::Args),
}

/// Returns the definition of the command line: manual pages and completions are made from it.
#[must_use]
pub fn command() -> clap::Command {
    completion::hinted(App::command())
}

/// Returns the script by which a shell completes the program under its own name.
#[must_use]
pub fn completion_script(shell: clap_complete::Shell) -> String {
    completion::script(shell)
}

/// Runs the program with the arguments and streams of the process.
#[must_use]
pub fn run() -> ExitCode {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    // Standard error is not locked: a credential plugin may write to it meanwhile.
    let mut err = io::stderr();
    let mut args = std::env::args_os().peekable();
    if args
        .peek()
        .is_some_and(|program| completion::is_called_by(program))
    {
        let words = args.skip(1).map(|word| word.to_string_lossy().into_owned());
        return completion::run_alone(words.collect(), &mut out).into();
    }
    run_with(args, &mut out, &mut err).into()
}

fn run_with(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Exit {
    let app = match App::try_parse_from(args) {
        Ok(app) => app,
        Err(error) => return clap_answer(&error, out, err),
    };
    let mut ui = Ui::new(out, err);
    let result = match app.command {
        Command::Status(args) => status::run(&args, &mut ui),
        Command::Diagnose(args) => diagnose::run(&args, &mut ui),
        Command::Explain(args) => explain::run(&args, &mut ui),
        Command::Replay(args) => replay::run(&args, &mut ui),
        Command::Nudge(args) => nudge::run(&args, &mut ui),
        Command::Restart(args) => restart::run(&args, &mut ui),
        Command::Capture(args) => capture::run(&args, &mut ui),
        Command::Auth(args) => auth::run(&args, &mut ui),
        Command::Completion(args) => complete::run(&args, &mut ui),
        Command::Version(args) => version::run(args, &mut ui),
    };
    match result.and_then(|exit| ui.finish().map(|()| exit)) {
        Ok(exit) => exit,
        Err(error) => {
            let exit = error.exit();
            if error.kind != ErrorKind::BrokenPipe {
                ui.error(&error);
            }
            exit
        }
    }
}

/// Writes what clap has to say: help and the version are answers, everything else is a usage error.
fn clap_answer(error: &clap::Error, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let text = error.render();
    if error.use_stderr() {
        // With standard error gone there is nobody left to tell.
        let text: Vec<String> = text.to_string().lines().map(shown).collect();
        let _told = writeln!(err, "{}", text.join("\n")).and_then(|()| err.flush());
        Exit::Usage
    } else {
        match write!(out, "{text}").and_then(|()| out.flush()) {
            Ok(()) => Exit::Answered,
            Err(error) => Error::output(error).exit(),
        }
    }
}

#[cfg(test)]
mod tests;
