//! The exit codes. Runbooks rely on them; docs/output.md lists the same table.

use std::process::ExitCode;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Answered; nothing at or above `--fail-on`.
    Answered,
    /// Could not answer, or the verdict is `unknown`.
    CouldNotAnswer,
    /// The call was wrong.
    Usage,
    /// `diagnose`: a finding at or above `--fail-on`.
    Findings,
    /// The time limit ended first.
    TimedOut,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// Every exit, in the order of its code.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 6] = [
        Self::Answered,
        Self::CouldNotAnswer,
        Self::Usage,
        Self::Findings,
        Self::TimedOut,
        Self::Interrupted,
    ];

    /// Returns the code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Answered => 0,
            Self::CouldNotAnswer => 1,
            Self::Usage => 2,
            Self::Findings => 3,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
        }
    }

    /// Returns the meaning, as docs/output.md has it.
    #[cfg(test)]
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Answered => "answered; nothing at or above `--fail-on` (a broken pipe is 0 too)",
            Self::CouldNotAnswer => {
                "could not answer: no cluster, unreadable input, Velero not found, or verdict `unknown` (the document is printed all the same)"
            }
            Self::Usage => "usage (two Velero namespaces and no `-n` included)",
            Self::Findings => "`diagnose`: a finding at or above `--fail-on`",
            Self::TimedOut => {
                "a reading command hit its time limit; what is known is printed, the rest is a gap"
            }
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
