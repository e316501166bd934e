//! What the value of each argument names: the one place that says what can be completed, and from where.

use std::time::Duration;

use clap::{Arg, Command, ValueHint};

use super::answer::{Answer, Candidate, Directive};
use super::seen::{Seen, TaskWords};
use super::source::{Readings, Typed};
use super::words::{Line, is_repeatable};
use super::{fixed, kubeconfig};

/// What a value names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// One of the values that clap knows.
    Fixed,
    /// `true` or `false`.
    Bool,
    /// A file, or a folder where one is taken.
    File,
    /// A folder.
    Folder,
    /// A kind of tasks.
    Kind,
    /// A node.
    Node,
    /// A node, and a number behind a sign.
    NodeAndNumber,
    /// Unfinished tasks.
    Task,
    /// All that `explain` explains.
    Subject,
    /// A Backup.
    Backup,
    /// A Restore.
    Restore,
    /// A context of the kubeconfig.
    Context,
    /// A cluster of the kubeconfig.
    Cluster,
    /// A user of the kubeconfig.
    User,
    /// A namespace, of those Velero's first.
    Namespace,
    /// A number, a time, a text: what only the user knows.
    Free,
}

impl What {
    /// Finds what an argument names: by what clap knows of it, else by its name.
    pub(super) fn of(arg: &Arg) -> Self {
        if arg.get_action().takes_values() && !arg.get_possible_values().is_empty() {
            return Self::Fixed;
        }
        let is_bool = arg
            .get_value_names()
            .is_some_and(|names| names.iter().any(|name| name.as_str() == "BOOL"));
        if is_bool {
            return Self::Bool;
        }
        match arg.get_id().as_str() {
            "from"
            | "kubeconfig"
            | "certificate_authority"
            | "client_certificate"
            | "client_key"
            | "file"
            | "save_names"
            | "save_log" => Self::File,
            "path" => Self::Folder,
            "kinds" => Self::Kind,
            "nodes" => Self::Node,
            "concurrency" => Self::NodeAndNumber,
            "tasks" => Self::Task,
            "what" => Self::Subject,
            "backup" => Self::Backup,
            "restore" => Self::Restore,
            "context" => Self::Context,
            "cluster" => Self::Cluster,
            "user" => Self::User,
            "namespace" => Self::Namespace,
            _ => Self::Free,
        }
    }
}

/// Tells clap which arguments name files, for the scripts that it writes.
pub(crate) fn hinted(command: Command) -> Command {
    let command = command.mut_args(|arg| match What::of(&arg) {
        What::File => arg.value_hint(ValueHint::AnyPath),
        What::Folder => arg.value_hint(ValueHint::DirPath),
        What::Fixed
        | What::Bool
        | What::Kind
        | What::Node
        | What::NodeAndNumber
        | What::Task
        | What::Subject
        | What::Backup
        | What::Restore
        | What::Context
        | What::Cluster
        | What::User
        | What::Namespace
        | What::Free => arg,
    });
    command.mut_subcommands(hinted)
}

/// A value under the cursor.
pub(super) struct Place<'l> {
    pub(super) line: &'l Line<'l>,
    pub(super) arg: &'l Arg,
    /// What stands before it in the same word.
    pub(super) before: &'l str,
    /// What was typed of it.
    pub(super) word: &'l str,
}

impl Place<'_> {
    /// Tells what can stand here: first what is known at once, then what a source says.
    pub(super) fn complete(&self, limit: Duration, tell: &dyn Fn(Answer)) {
        let typed = || Typed::of(self.line);
        let words = |candidates| self.answer(candidates, Directive::Words);
        match What::of(self.arg) {
            What::Fixed => tell(words(fixed::possible_values(self.arg))),
            What::Bool => tell(words(fixed::booleans())),
            What::Kind => tell(words(fixed::kinds(self.item()))),
            What::File => tell(Answer::left_to_the_shell(Directive::Files)),
            What::Folder => tell(Answer::left_to_the_shell(Directive::Folders)),
            What::Context => tell(words(kubeconfig::contexts(&typed()))),
            What::Cluster => tell(words(kubeconfig::clusters(&typed()))),
            What::User => tell(words(kubeconfig::users(&typed()))),
            What::Namespace => tell(words(typed().namespaces(limit))),
            What::Node => self.look(limit, tell, Readings::All, |seen| seen.nodes("")),
            What::NodeAndNumber => {
                let seen = typed().read(limit, Readings::All);
                let nodes = seen.map(|seen| seen.nodes("=")).unwrap_or_default();
                tell(self.answer(nodes, Directive::OpenWords));
            }
            What::Backup => {
                self.look(limit, tell, Readings::Backups, Seen::backups);
            }
            What::Restore => {
                self.look(limit, tell, Readings::Restores, Seen::restores);
            }
            What::Task => self.look(limit, tell, Readings::All, |seen| {
                seen.tasks(&TaskWords::begun(self.item()))
            }),
            What::Subject => self.subjects(limit, tell),
            What::Free => {}
        }
    }

    fn look(
        &self,
        limit: Duration,
        tell: &dyn Fn(Answer),
        readings: Readings,
        candidates: impl FnOnce(&Seen) -> Vec<Candidate>,
    ) {
        if let Some(seen) = Typed::of(self.line).read(limit, readings) {
            tell(self.answer(candidates(&seen), Directive::Words));
        }
    }

    /// Finding ids are known at once. What is wrong now comes before them when a source has told it.
    fn subjects(&self, limit: Duration, tell: &dyn Fn(Answer)) {
        let ids = fixed::finding_ids();
        tell(self.answer(ids.clone(), Directive::Words));
        if let Some(seen) = Typed::of(self.line).read(limit, Readings::All) {
            let mut all = seen.subjects(self.item());
            all.extend(ids);
            tell(self.answer(all, Directive::Words));
        }
    }

    /// Returns the part behind the last comma, where an argument takes several values in one word.
    fn item(&self) -> &str {
        self.split().1
    }

    fn split(&self) -> (&str, &str) {
        let end = self.arg.get_value_delimiter().and_then(|delimiter| {
            self.word
                .rfind(delimiter)
                .map(|at| at + delimiter.len_utf8())
        });
        self.word.split_at(end.unwrap_or(0))
    }

    /// Keeps what begins as the word does and was not given yet, and puts back what stands before it.
    fn answer(&self, candidates: Vec<Candidate>, directive: Directive) -> Answer {
        let (earlier, item) = self.split();
        let delimiter = self.arg.get_value_delimiter();
        let given: Vec<&str> = if is_repeatable(self.arg) {
            self.line
                .values_of(self.arg)
                .chain([earlier])
                .flat_map(|value| match delimiter {
                    Some(delimiter) => value.split(delimiter).collect(),
                    None => vec![value],
                })
                .collect()
        } else {
            Vec::new()
        };
        let candidates = candidates
            .into_iter()
            .filter(|candidate| candidate.value.starts_with(item))
            .filter(|candidate| !given.contains(&candidate.value.as_str()))
            .map(|candidate| {
                let value = format!("{}{earlier}{}", self.before, candidate.value);
                Candidate::new(value, candidate.about)
            })
            .collect();
        Answer::with(candidates, directive)
    }
}
