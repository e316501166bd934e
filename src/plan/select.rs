//! Which tasks and nodes are meant.

/// What `nudge` is asked to nudge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NudgeTargets {
    /// These tasks, as `KIND/NAME`.
    Tasks(Vec<String>),
    /// The stuck tasks of these nodes (`--node`).
    Nodes(Vec<String>),
    /// Every stuck task (`--all-stuck`).
    AllStuck,
}

/// What `restart` is asked to restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestartTargets {
    /// The node-agents of these nodes (`--node`).
    Nodes(Vec<String>),
    /// Those of every node that a restart would mend (`--all-stuck`), in the order of their names.
    AllStuck,
}

/// A name that names nothing that was read: an error of usage, unless it could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSelected {
    /// What was written.
    pub text: String,
    /// What is wrong with it, one sentence.
    pub why: String,
    /// Names like it that exist, the nearest first.
    pub near: Vec<String>,
    /// Whether it is known that there is no such thing.
    pub sure: Sure,
}

/// Whether it is known that a name names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// It is.
    Yes,
    /// It is not: what could show it was not read, so the name may be right.
    NotRead,
}
