//! What the program itself knows: its commands, flags, fixed values and finding ids.

use clap::builder::PossibleValue;
use clap::{Arg, Command};

use super::answer::Candidate;
use super::words::{Line, is_repeatable};
use crate::report::{FindingId, runbook};
use crate::velero::TaskKind;

/// Returns the commands that begin with a word, as help lists them.
pub(super) fn commands(line: &Line<'_>, word: &str) -> Vec<Candidate> {
    line.command
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name().starts_with(word))
        .map(|command| Candidate::new(command.get_name(), about(command)))
        .collect()
}

/// Returns the flags that begin with a word and can still be given, as help lists them.
pub(super) fn flags(line: &Line<'_>, word: &str) -> Vec<Candidate> {
    let open: Vec<&Arg> = line
        .command
        .get_arguments()
        .filter(|arg| !arg.is_positional() && !arg.is_hide_set())
        .filter(|arg| is_repeatable(arg) || !line.has(arg))
        .collect();
    let mut found = Vec::new();
    for arg in &open {
        if let Some(long) = arg.get_long() {
            found.push((format!("--{long}"), *arg));
        }
    }
    // Two dashes are on the way to a long name, and without any the long names say more.
    if !word.is_empty() {
        for arg in &open {
            if let Some(short) = arg.get_short() {
                found.push((format!("-{short}"), *arg));
            }
        }
    }
    found
        .into_iter()
        .filter(|(flag, _)| flag.starts_with(word))
        .map(|(flag, arg)| Candidate::new(flag, help(arg)))
        .collect()
}

/// Returns the values that an argument is limited to; none if it is not.
pub(super) fn possible_values(arg: &Arg) -> Vec<Candidate> {
    let about = |value: &PossibleValue| {
        value
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    arg.get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| Candidate::new(value.get_name(), about(value)))
        .collect()
}

/// Returns the kinds of tasks, by their short names, and by their full ones if that is what was begun.
pub(super) fn kinds(word: &str) -> Vec<Candidate> {
    let short = TaskKind::ALL.map(|kind| Candidate::new(kind.short_name(), kind.as_str()));
    let full = TaskKind::ALL.map(|kind| Candidate::new(kind.as_str(), kind.short_name()));
    if word.is_empty() {
        short.to_vec()
    } else {
        short.into_iter().chain(full).collect()
    }
}

/// Returns `true` and `false`.
pub(super) fn booleans() -> Vec<Candidate> {
    ["true", "false"]
        .map(|value| Candidate::new(value, ""))
        .to_vec()
}

/// Returns the ids of all findings with what each means: the first sentence of its runbook.
pub(super) fn finding_ids() -> Vec<Candidate> {
    FindingId::ALL
        .iter()
        .map(|id| {
            let code = id.as_str();
            let meaning = runbook(code).map(|page| first_sentence(page.text));
            Candidate::new(code, meaning.unwrap_or_default())
        })
        .collect()
}

fn first_sentence(page: &str) -> String {
    let paragraph: Vec<&str> = page
        .lines()
        .skip_while(|line| line.is_empty() || line.starts_with('#'))
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ").replace('`', "");
    match paragraph.split_once(". ") {
        Some((first, _)) => first.to_owned(),
        None => paragraph.trim_end_matches('.').to_owned(),
    }
}

fn about(command: &Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}
