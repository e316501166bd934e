//! What the user is told when a command cannot go on, and what to type then.

use std::io;

use super::exit::Exit;

/// An error at the edge: its kind decides the exit code.
#[derive(Debug)]
pub(crate) struct Error {
    /// What kind.
    pub(crate) kind: ErrorKind,
    /// What happened; its chain is printed.
    pub(crate) source: anyhow::Error,
    /// What to type or look at.
    pub(crate) hints: Vec<String>,
}

/// What kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The call was wrong.
    Usage,
    /// The source cannot be used, or Velero is not there.
    CouldNotAnswer,
    /// An action was refused, forbidden or not confirmed.
    Refused,
    /// The time limit ended before anything was known.
    TimedOut,
    /// Ctrl-C.
    Interrupted,
    /// The reader of the answer is gone: not an error of ours.
    BrokenPipe,
}

impl Error {
    /// The call was wrong.
    pub(crate) fn usage(source: impl Into<anyhow::Error>) -> Self {
        Self::new(ErrorKind::Usage, source)
    }

    /// The source cannot be used, or Velero is not there.
    pub(crate) fn could_not_answer(source: impl Into<anyhow::Error>) -> Self {
        Self::new(ErrorKind::CouldNotAnswer, source)
    }

    /// Nothing was changed.
    pub(crate) fn refused(source: impl Into<anyhow::Error>) -> Self {
        Self::new(ErrorKind::Refused, source)
    }

    /// The answer could not be written.
    pub(crate) fn output(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe {
            ErrorKind::BrokenPipe
        } else {
            ErrorKind::CouldNotAnswer
        };
        Self::new(kind, anyhow::Error::new(error).context("write the answer"))
    }

    /// An error of a kind.
    pub(crate) fn new(kind: ErrorKind, source: impl Into<anyhow::Error>) -> Self {
        Self {
            kind,
            source: source.into(),
            hints: Vec::new(),
        }
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the exit code of the kind.
    pub(crate) const fn exit(&self) -> Exit {
        match self.kind {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::CouldNotAnswer => Exit::CouldNotAnswer,
            ErrorKind::Refused => Exit::Refused,
            ErrorKind::TimedOut => Exit::TimedOut,
            ErrorKind::Interrupted => Exit::Interrupted,
            ErrorKind::BrokenPipe => Exit::Answered,
        }
    }

    /// Returns the lines for standard error, not yet made printable.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("error: {:#}", self.source)];
        lines.extend(self.hints.iter().map(|hint| format!("hint: {hint}")));
        lines
    }
}
