//! What a reading command has to say, before it is written anywhere.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::args::OutputArgs;
use super::error::Error;
use super::exit::Exit;
use super::ui::{TerminalEnvironment, Ui, terminal};
use crate::render::{Format, Terminal};
use crate::report::Head;

/// Writes an answer in a format.
type Render = dyn Fn(&mut dyn Write, Format, &Terminal) -> io::Result<()>;

/// What a reading command has to say.
pub(crate) struct Answer {
    /// Writes it.
    pub(crate) render: Box<Render>,
    /// How the command ends with it, if nothing else ends it.
    pub(crate) exit: Exit,
    /// Sentences for standard error.
    pub(crate) warnings: Vec<String>,
    /// What it says of each thing, in a word, for whoever watches it change; empty for a single answer.
    pub(crate) marks: BTreeMap<String, String>,
    /// Whether nothing that is shown waits or runs.
    pub(crate) idle: Reached,
    /// Whether nothing that is shown is stuck, and that is known.
    pub(crate) unstuck: Reached,
}

/// Whether what a user waits for has come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// It has.
    Yes,
    /// It has not, or that is not known.
    No,
}

impl Reached {
    /// Makes one of a condition.
    pub(crate) const fn when(condition: bool) -> Self {
        if condition { Self::Yes } else { Self::No }
    }

    /// Returns whether both are reached.
    pub(crate) const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, Self::Yes) => Self::Yes,
            (Self::Yes | Self::No, Self::Yes | Self::No) => Self::No,
        }
    }
}

impl Answer {
    /// Says it, once. Returns how the command ends with it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn say(&self, output: OutputArgs, ui: &mut Ui<'_>) -> Result<Exit, Error> {
        for warning in &self.warnings {
            ui.say(warning);
        }
        let terminal = terminal(output, &TerminalEnvironment::of_process());
        ui.answer(|out| (self.render)(out, output.output.into(), &terminal))?;
        Ok(self.exit)
    }
}

/// Returns which filters name what occurs nowhere.
pub(crate) fn warnings(head: &Head) -> Vec<String> {
    head.unmatched_filters()
        .map(|sentence| format!("warning: {sentence}: nothing is shown for it"))
        .collect()
}
