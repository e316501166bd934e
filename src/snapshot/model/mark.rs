//! What an action of this tool leaves on the object that it touched, so that the next one can tell what was tried.

use jiff::Timestamp;

/// The annotation with the time of the last nudge, on a task or its mover pod.
pub const NUDGED_AT: &str = "velero-slots/nudged-at";

/// The annotation with the time of the restart, on the node-agent pod that replaced the deleted one.
pub const RESTARTED_AT: &str = "velero-slots/restarted-at";

/// The annotation with the `--reason` of the action.
pub const REASON: &str = "velero-slots/reason";

/// One action, as an annotation tells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// When.
    pub at: Timestamp,
    /// Which action.
    pub kind: MarkKind,
    /// The `--reason` that was given.
    pub reason: Option<String>,
}

/// Which action left a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// A nudge.
    Nudge,
    /// A restart.
    Restart,
}

impl MarkKind {
    /// Returns the name of the command.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nudge => "nudge",
            Self::Restart => "restart",
        }
    }
}
