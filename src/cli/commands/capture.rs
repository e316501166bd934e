//! `capture`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::super::args::{SourceArgs, parse_bool};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::source;
use super::super::ui::{Ui, shown};
use crate::capture::{Capture, Contents, GapReason, MOST_LOG_BYTES, Outcome, Redacted, format};
use crate::collect::files::{Overwrite, gzip, write_whole};
use crate::redact::{Pseudonym, redact};

/// Write what was read into one file that every reading command takes, without names and secrets
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// The file to write, readable by its owner only; packed if its name ends in .gz; - for standard output
    /// [default: velero-slots-capture-<time>.json.gz]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    file: Option<PathBuf>,
    /// Replace the file if there is one
    #[arg(
        long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set, help_heading = "Output"
    )]
    overwrite: bool,
    /// Write objects and logs as they are, with names, labels, annotations, messages, arguments and environment
    #[arg(
        long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set, help_heading = "Output"
    )]
    no_redact: bool,
    /// Write which pseudonym stands for which name to a file of its own, to keep and not to send
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "no_redact",
        help_heading = "Output"
    )]
    save_names: Option<PathBuf>,
    /// Tell what would be written, and write nothing
    #[arg(
        long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set, help_heading = "Output"
    )]
    dry_run: bool,
}

/// Writes the file.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    let overwrite = if args.overwrite {
        Overwrite::Yes
    } else {
        Overwrite::No
    };
    if let Some(path) = args.file.as_deref().filter(|path| *path != Path::new("-"))
        && args.save_names.as_deref() == Some(path)
    {
        return Err(Error::usage(anyhow!(
            "--file and --save-names name the same file"
        )));
    }
    let mut source = source::collect_with_traces(&args.source)?;
    source.capture.manifest.namespace = Some(source.namespace);
    if args.source.now.is_some() {
        source.capture.manifest.taken_at = args.source.now;
        source.capture.manifest.now_from = crate::capture::NowFrom::Flag;
    }
    source.capture.bound_logs(MOST_LOG_BYTES);
    let was_redacted = source.capture.manifest.redacted;
    let mut pseudonyms = Vec::new();
    let capture = if args.no_redact {
        // What no agent reads may hold anything, passwords included. A redaction leaves nothing of it but that
        // it is there, by which files tell of which namespaces they hold all.
        source.capture.retain_relevant_config_maps();
        source.capture
    } else {
        let redaction = redact(&source.capture);
        pseudonyms = redaction.pseudonyms;
        redaction.capture
    };
    let exit = source.end.exit(if timed_out(&capture) {
        Exit::TimedOut
    } else {
        Exit::Answered
    });
    let path = args.file.clone().unwrap_or_else(|| default_name(&capture));
    if args.dry_run {
        let text = plan(&capture.contents(), &path, &capture);
        ui.answer(|out| out.write_all(text.as_bytes()))?;
        return Ok(exit);
    }
    if let Some(names) = &args.save_names {
        write_whole(names, overwrite, |out| write_names(&pseudonyms, out))
            .map_err(|error| write_error(error, names))?;
    }
    if path == Path::new("-") {
        ui.answer(|out| format::write(&capture, out))?;
        say_lacks(&capture, ui);
        return Ok(exit);
    }
    write_whole(&path, overwrite, |out| {
        if path.extension().is_some_and(|end| end == "gz") {
            gzip(out, |out| format::write(&capture, out))
        } else {
            format::write(&capture, out)
        }
    })
    .map_err(|error| write_error(error, &path))?;
    let holds = match (capture.manifest.redacted, was_redacted) {
        (Redacted::Yes, Redacted::No) => {
            "Names are pseudonyms, secrets are cut, and what no rule reads is left out."
        }
        (Redacted::Yes, Redacted::Yes) => "It was redacted before: pseudonyms stay as they are.",
        (Redacted::No, _) => {
            "It holds objects as they are: names, labels, annotations, messages, and the arguments and environment of pods."
        }
    };
    ui.say(&format!("Wrote {}. {holds}", path.display()));
    say_lacks(&capture, ui);
    ui.say(&format!(
        "Look at it with: kubectl velero-slots diagnose --from {}",
        path.display()
    ));
    Ok(exit)
}

/// A name that tells when, and whether it may be sent around.
fn default_name(capture: &Capture) -> PathBuf {
    let time = capture.manifest.taken_at.map_or_else(String::new, |time| {
        let digits: String = time
            .to_string()
            .chars()
            .filter(|c| c.is_ascii_alphanumeric())
            .collect();
        let seconds = digits.get(..15).unwrap_or(&digits).to_owned();
        format!("-{seconds}Z")
    });
    let redacted = match capture.manifest.redacted {
        Redacted::Yes => "",
        Redacted::No => "-unredacted",
    };
    PathBuf::from(format!("velero-slots-capture{redacted}{time}.json.gz"))
}

fn write_names(pseudonyms: &[Pseudonym], out: &mut dyn Write) -> std::io::Result<()> {
    let map: serde_json::Map<String, serde_json::Value> = pseudonyms
        .iter()
        .map(|one| (one.pseudonym.clone(), one.name.as_str().into()))
        .collect();
    serde_json::to_writer_pretty(&mut *out, &map)?;
    out.write_all(b"\n")
}

fn write_error(error: std::io::Error, path: &Path) -> Error {
    let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
    let error = Error::could_not_answer(
        anyhow::Error::new(error).context(format!("write {}", path.display())),
    );
    if exists {
        error.hint("nothing is overwritten; choose another name, or add --overwrite")
    } else {
        error
    }
}

/// What would be written, for people.
fn plan(contents: &Contents, path: &Path, capture: &Capture) -> String {
    let mut text = String::new();
    let redacted = match capture.manifest.redacted {
        Redacted::Yes => "names as pseudonyms",
        Redacted::No => "names and messages as they are",
    };
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.push_str(&shown(&line.to_string()));
        text.push('\n');
    };
    line(format_args!("Would write {} ({redacted}):", path.display()));
    for taken in &contents.taken {
        line(format_args!(
            "  {:<24} {:>6} objects {:>10} bytes  of {}",
            taken.resource, taken.objects, taken.bytes, taken.of
        ));
    }
    for log in &contents.logs {
        line(format_args!(
            "  log {}/{} {}{} {} lines {} bytes",
            log.namespace,
            log.pod,
            log.container,
            if log.previous { " (previous)" } else { "" },
            log.lines,
            log.bytes
        ));
    }
    for page in &contents.metrics {
        line(format_args!(
            "  metrics {}/{} {} bytes",
            page.namespace, page.pod, page.bytes
        ));
    }
    for lack in lacks(contents) {
        line(format_args!("  {lack}"));
    }
    line(format_args!("Nothing was written."));
    text
}

/// Whoever sends a capture around has to know what the other will not see in it.
fn say_lacks(capture: &Capture, ui: &mut Ui<'_>) {
    for lack in lacks(&capture.contents()) {
        ui.say(&format!("It lacks {lack}"));
    }
}

/// What the capture should hold and does not, or not whole.
fn lacks(contents: &Contents) -> impl Iterator<Item = String> {
    let refused = contents
        .refused
        .iter()
        .map(|lacking| format!("{}: refused, {}", lacking.resource, lacking.reason));
    let cut = contents
        .cut
        .iter()
        .map(|lacking| format!("{}: in part, {}", lacking.resource, lacking.reason));
    refused.chain(cut)
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
}
