//! `capture`.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::super::args::{SourceArgs, parse_bool};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::source;
use super::super::ui::Ui;
use crate::capture::{Capture, GapReason, Outcome, format};
use crate::collect::files::write_private;

/// Write what was read into one file that every reading command takes
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// The file to write, readable by its owner only; - for standard output. Nothing is overwritten
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    file: PathBuf,
    /// Write names, labels and messages as they are; required, since redaction is not there yet
    #[arg(
        long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set, help_heading = "Output"
    )]
    no_redact: bool,
}

/// Writes the file.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    if !args.no_redact {
        return Err(Error::usage(anyhow!(
            "redaction is not there yet: the file would hold objects as they are, with names, labels, \
             annotations, messages, and the arguments and environment of pods"
        ))
        .hint("if that is fine, add --no-redact. Secrets are never read"));
    }
    let mut source = source::collect_with_traces(&args.source)?;
    source.capture.manifest.namespace = Some(source.namespace);
    if args.source.now.is_some() {
        source.capture.manifest.taken_at = args.source.now;
        source.capture.manifest.now_from = crate::capture::NowFrom::Flag;
    }
    // What no agent reads may hold anything, passwords included.
    source.capture.retain_relevant_config_maps();
    if args.file == Path::new("-") {
        ui.answer(|out| format::write(&source.capture, out))?;
    } else {
        write_file(&source.capture, &args.file)?;
        ui.say(&format!(
            "Wrote {}. It holds objects as they are: names, labels, annotations, messages, and the arguments \
             and environment of pods.",
            args.file.display()
        ));
    }
    let exit = if timed_out(&source.capture) {
        Exit::TimedOut
    } else {
        Exit::Answered
    };
    Ok(source.end.exit(exit))
}

fn write_file(capture: &Capture, path: &Path) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
        let error = Error::could_not_answer(
            anyhow::Error::new(error).context(format!("write {}", path.display())),
        );
        if exists {
            error.hint("nothing is overwritten; choose another name")
        } else {
            error
        }
    };
    let mut file = BufWriter::new(write_private(path).map_err(failed)?);
    format::write(capture, &mut file)
        .and_then(|()| file.flush())
        .map_err(failed)
}

fn timed_out(capture: &Capture) -> bool {
    capture
        .listings
        .iter()
        .any(|listing| match &listing.outcome {
            Outcome::Cut { reason, .. } | Outcome::Refused { reason, .. } => {
                *reason == GapReason::Timeout
            }
            Outcome::Listed(_) => false,
        })
        || capture
            .problems
            .iter()
            .any(|problem| problem.reason == GapReason::Timeout)
}
