//! `completion`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::ValueEnum;

use super::super::completion::{self, Done, Installation, Machine};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::ui::Ui;

/// Complete commands, flags, nodes and tasks at the TAB key
///
/// `completion kubectl` is for those who type `kubectl velero-slots`: it says how kubectl's own completion is made to
/// ask this plugin, and --install does it. It then also knows nodes, tasks, contexts and namespaces.
///
/// The other shells are for those who call kubectl-velero_slots by its own name: `completion bash` prints a script.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    /// For what to complete
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,

    /// With kubectl: make the link by which kubectl finds the completion
    #[arg(long)]
    install: bool,

    /// With --install: the folder for the link [default: the plugin's own]
    #[arg(long, value_name = "DIR", requires = "install")]
    path: Option<PathBuf>,
}

/// For what to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// kubectl velero-slots, in every shell that completes kubectl
    Kubectl,
    /// kubectl-velero_slots in bash
    Bash,
    /// kubectl-velero_slots in zsh
    Zsh,
    /// kubectl-velero_slots in fish
    Fish,
    /// kubectl-velero_slots in PowerShell
    Powershell,
}

impl Shell {
    const fn script(self) -> Option<clap_complete::Shell> {
        match self {
            Self::Kubectl => None,
            Self::Bash => Some(clap_complete::Shell::Bash),
            Self::Zsh => Some(clap_complete::Shell::Zsh),
            Self::Fish => Some(clap_complete::Shell::Fish),
            Self::Powershell => Some(clap_complete::Shell::PowerShell),
        }
    }
}

/// Answers.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    match (args.shell.script(), args.install) {
        (Some(shell), false) => {
            let script = completion::script(shell);
            ui.answer(|out| out.write_all(script.as_bytes()))?;
        }
        (Some(_), true) => {
            return Err(Error::usage(anyhow!(
                "--install is for kubectl: a shell reads its script from where its users keep such scripts"
            ))
            .hint("install by: kubectl velero-slots completion kubectl --install"));
        }
        (None, false) => ui.answer(|out| write!(out, "{}", completion::HOW))?,
        (None, true) => install(args, ui)?,
    }
    Ok(Exit::Answered)
}

fn install(args: &Args, ui: &mut Ui<'_>) -> Result<(), Error> {
    let machine = Machine::of_process();
    let installation = Installation::plan(&machine, args.path.as_deref())?;
    let done = installation.make()?;
    let link = installation.link.display();
    let target = installation.target.display();
    ui.answer(|out| match done {
        Done::Made => writeln!(out, "linked {link} -> {target}"),
        Done::WasThere => writeln!(out, "nothing to do: {link} is there already"),
    })?;
    for warning in installation.warnings(&machine) {
        ui.say(&format!("warning: {warning}"));
    }
    if done == Done::Made {
        ui.say("kubectl's own completion must be on in your shell: kubectl completion --help");
    }
    Ok(())
}
