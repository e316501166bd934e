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
    /// An action was refused, forbidden or not confirmed; nothing was changed.
    Refused,
    /// An action was carried out, and what it was for did not happen in time.
    NotAchieved,
    /// The time limit ended first.
    TimedOut,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// Every exit, in the order of its code.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 8] = [
        Self::Answered,
        Self::CouldNotAnswer,
        Self::Usage,
        Self::Findings,
        Self::Refused,
        Self::NotAchieved,
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
            Self::Refused => 4,
            Self::NotAchieved => 5,
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
            Self::Refused => {
                "an action was refused, forbidden or not confirmed; nothing was changed"
            }
            Self::NotAchieved => {
                "an action was carried out (its first write happened), but what it was for did not happen within its `--timeout`"
            }
            Self::TimedOut => {
                "a reading command or `--until` hit its time limit; what is known is printed, the rest is a gap"
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
