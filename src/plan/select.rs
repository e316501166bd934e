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

/// A name that names nothing: an error of usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSelected {
    /// What was written.
    pub text: String,
    /// What is wrong with it, one sentence.
    pub why: String,
    /// Names like it that exist, the nearest first.
    pub near: Vec<String>,
}
