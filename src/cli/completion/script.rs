//! Scripts for those who call the plugin by its own name, from the same definition as `--help`.

use clap_complete::{Shell, generate};

use super::super::command;
use super::install::PLUGIN;

/// The last line of each script: a comment in every shell.
const ABOUT: &str = "\n# This completes kubectl-velero_slots by its own name. For kubectl velero-slots: \
                     kubectl velero-slots completion kubectl --install\n";

/// Returns the script of a shell.
pub(crate) fn script(shell: Shell) -> String {
    let mut bytes = Vec::new();
    // For a name with a dash clap_complete 4.6.12 writes a bash script whose cases never match: functions get one
    // substitute for the dash, cases another. So it gets a name without, and only the registration names ours.
    let name = if shell == Shell::Bash {
        PLUGIN.replace('-', "_")
    } else {
        PLUGIN.to_owned()
    };
    generate(shell, &mut command(), name.as_str(), &mut bytes);
    let script =
        String::from_utf8_lossy(&bytes).replace(&format!(" {name}\n"), &format!(" {PLUGIN}\n"));
    // At the end, since zsh looks at the first line. On standard error it would show in every new shell.
    script + ABOUT
}
