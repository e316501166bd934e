//! `-w` and `--until`.

use anyhow::anyhow;
use clap::ValueEnum;

use super::super::answer::{Answer, Reached};
use super::super::args::{SourceArgs, parse_bool};
use super::super::error::Error;

/// Whether the answer is given again and again.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Watching")]
pub(crate) struct WatchArgs {
    /// Show the answer again whenever it changes, until Ctrl-C
    ///
    /// In a terminal the answer is drawn again in its place. Elsewhere, and with -o json, yaml or name, an answer is
    /// printed when something other than the time has changed: with -o json as one document on one line. There is no
    /// time limit unless --timeout is given.
    #[arg(
        short, long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set
    )]
    watch: bool,

    /// Wait until nothing that is shown waits or runs (idle), or nothing is stuck (unstuck)
    ///
    /// The exit code is then 0, and 124 if --timeout ends first (3 of diagnose with findings, as always); there is no
    /// time limit unless it is given. What is not known is not unstuck. Without --watch only the last answer is printed.
    #[arg(long, value_enum, value_name = "STATE")]
    until: Option<Until>,
}

/// `--until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Until {
    /// Nothing waits and nothing runs
    Idle,
    /// Nothing is stuck, and that is known
    Unstuck,
}

impl Until {
    /// Returns the word of the flag.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Unstuck => "unstuck",
        }
    }

    /// Returns whether an answer is what is waited for.
    pub(super) const fn is_reached(self, answer: &Answer) -> Reached {
        match self {
            Self::Idle => answer.idle,
            Self::Unstuck => answer.unstuck,
        }
    }
}

/// What is shown while the answer changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Each answer.
    Each,
    /// The last one.
    Last,
}

impl WatchArgs {
    /// Returns whether the cluster is followed.
    pub(crate) const fn is_on(self) -> bool {
        self.watch || self.until.is_some()
    }

    /// Returns what is waited for.
    pub(super) const fn until(self) -> Option<Until> {
        self.until
    }

    /// Returns what is shown meanwhile.
    pub(super) const fn shown(self) -> Shown {
        if self.watch { Shown::Each } else { Shown::Last }
    }

    fn flag(self) -> &'static str {
        if self.watch { "--watch" } else { "--until" }
    }

    /// Fails where there is nothing to watch.
    ///
    /// # Errors
    ///
    /// Files do not change.
    pub(super) fn check(self, source: &SourceArgs) -> Result<(), Error> {
        if source.from.is_empty() {
            return Ok(());
        }
        Err(Error::usage(anyhow!(
            "{} needs a cluster: what --from names is read once and does not change",
            self.flag()
        ))
        .hint("leave --from out, or take the flag away"))
    }

    /// Fails for an answer that comes from the program itself.
    ///
    /// # Errors
    ///
    /// A runbook does not change.
    pub(crate) fn refuse_for_runbook(self) -> Result<(), Error> {
        if !self.is_on() {
            return Ok(());
        }
        Err(Error::usage(anyhow!(
            "{} needs something that changes: a runbook is part of this program",
            self.flag()
        ))
        .hint("name what to watch with its kind, such as du/NAME"))
    }
}
