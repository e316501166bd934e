//! The flags that `nudge` and `restart` share.

use crate::render::printable;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use super::super::super::args::{
    ClusterArgs, Limit, OutputArgs, SourceArgs, parse_bool, parse_threshold, parse_time,
    parse_timeout,
};
use super::super::diagnose::TracesChoice;

/// The flags that `nudge` and `restart` share.
#[derive(Args, Clone, Debug)]
pub(crate) struct ActionArgs {
    /// Whether something is changed: client shows the plan alone, server asks the API server whether it would do it
    #[arg(
        long,
        value_enum,
        value_name = "WHERE",
        default_value_t,
        help_heading = "Action"
    )]
    pub(super) dry_run: DryRun,

    /// Do not ask for confirmation
    #[arg(
        short, long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set, help_heading = "Action"
    )]
    pub(super) yes: bool,

    /// Go on where the plan says that it can be forced, at the price that it names
    #[arg(
        long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set, help_heading = "Action"
    )]
    pub(super) force: bool,

    /// Why; it is written into the Event and the annotation that the action leaves
    #[arg(long, value_name = "TEXT", value_parser = parse_reason, help_heading = "Action")]
    pub(super) reason: Option<String>,

    /// How long to watch after a nudge, or after the restart of one node [default: 2m for nudge, 10m for restart; 0
    /// means without limit]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout, help_heading = "Action")]
    pub(super) timeout: Option<Limit>,

    /// Show the plan for a file, a folder, a .tar.gz or standard input (-); nothing is done then; repeatable
    #[arg(long, value_name = "PATH", help_heading = "Source")]
    from: Vec<PathBuf>,

    /// With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
    #[arg(long, value_name = "RFC3339", value_parser = parse_time, help_heading = "Source")]
    now: Option<Timestamp>,

    // A doc comment would want the variable in backticks, which a terminal shows.
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        help_heading = "Source",
        help = "Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]"
    )]
    namespace: Option<String>,

    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    pub(super) output: OutputArgs,

    /// How long a task may wait beside a free slot
    #[arg(long, value_name = "DURATION", value_parser = parse_threshold, default_value = "10m", help_heading = "Analysis")]
    pub(super) threshold: i64,

    /// Whether logs of node-agents are read where they would decide something, and while watching
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Analysis"
    )]
    pub(super) logs: TracesChoice,

    /// Whether metrics of node-agents are read where they would decide something
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Analysis"
    )]
    pub(super) metrics: TracesChoice,
}

impl ActionArgs {
    /// Returns where the plan is read from, as reading commands take it: with their time limit.
    pub(super) fn source(&self) -> SourceArgs {
        SourceArgs {
            from: self.from.clone(),
            now: self.now,
            namespace: self.namespace.clone(),
            timeout: None,
            cluster: self.cluster.clone(),
        }
    }

    /// Returns how long the watching may take.
    pub(super) fn limit(&self, default: Duration) -> Duration {
        /// Longer than anyone waits, and no overflow.
        const WITHOUT_LIMIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        match self.timeout {
            None => default,
            Some(limit) => limit.duration().unwrap_or(WITHOUT_LIMIT),
        }
    }
}

/// `--dry-run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// The action is carried out
    #[default]
    None,
    /// The plan is shown, and nothing is sent
    Client,
    /// Each write is sent as a dry run
    Server,
}

/// An Event's message may hold 1024 bytes, and ours holds more than the reason.
const LONGEST_REASON: usize = 512;

fn parse_reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("expected a text".to_owned())
    } else if text.len() > LONGEST_REASON {
        Err(format!("expected at most {LONGEST_REASON} bytes"))
    } else if printable(text) != text {
        // It goes into an Event and an annotation, which other programs show as they are.
        Err("expected one line of text without control characters".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_fits_into_an_event() {
        assert!(parse_reason("ticket 4711").is_ok());
        assert!(parse_reason(" ").is_err());
        assert!(parse_reason(&"x".repeat(LONGEST_REASON + 1)).is_err());
    }

    #[test]
    fn a_reason_is_one_line_that_moves_no_cursor() {
        for text in ["two\nlines", "\u{1b}[2Jred", "tab\tbed", "\u{202e}desrever"] {
            assert!(parse_reason(text).is_err(), "{text:?}");
        }
        assert!(parse_reason("Größe prüfen – ticket 7").is_ok());
    }
}
