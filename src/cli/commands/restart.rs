//! `restart`.

use std::path::{Path, PathBuf};

use clap::ArgGroup;
use clap::builder::NonEmptyStringValueParser;

use super::super::args::parse_bool;
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::ui::Ui;
use super::action::{self, ActionArgs, Goal};
use crate::act::SaveTo;
use crate::plan::{FollowUps, RestartTargets};

/// Restart the stuck node-agent of a node, and watch whether the queue moves
///
/// Shows the bill first: what runs there and what the restart does to each task under this release of Velero. Asks,
/// deletes the pod unless it has changed meanwhile, and watches until the new one works and the stuck tasks move.
/// Refuses where a restart cannot help. --dry-run=client shows the plan alone.
#[derive(clap::Args, Clone, Debug)]
#[command(group = ArgGroup::new("targets").args(["nodes", "all_stuck"]).required(true))]
pub(crate) struct Args {
    /// The node; repeatable: one after the other, until one does not recover
    #[arg(long = "node", value_name = "NAME", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "Action")]
    nodes: Vec<String>,
    /// Every node that a restart would mend, one after the other, until one does not recover
    #[arg(long, help_heading = "Action")]
    all_stuck: bool,
    /// Save the agent's log (and that of its container before) first, to a new file, or below a folder; a restart
    /// destroys it
    #[arg(long, value_name = "PATH", help_heading = "Action")]
    save_log: Option<PathBuf>,
    /// Only name the Accepted tasks that need a nudge after the restart
    #[arg(
        long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set, help_heading = "Action"
    )]
    no_follow_up: bool,
    #[command(flatten)]
    action: ActionArgs,
}

/// Acts.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    let targets = if args.all_stuck {
        RestartTargets::AllStuck
    } else {
        RestartTargets::Nodes(args.nodes.clone())
    };
    let goal = Goal::Restart {
        save: args.save_log.as_deref().map(|path| save_to(path, &targets)),
        targets,
        follow_ups: if args.no_follow_up {
            FollowUps::NameOnly
        } else {
            FollowUps::Nudge
        },
    };
    action::run(&args.action, &goal, ui)
}

/// Logs of several agents need a folder; one goes to a file, unless the path is that of a folder.
fn save_to(path: &Path, targets: &RestartTargets) -> SaveTo {
    let is_several = match targets {
        RestartTargets::AllStuck => true,
        RestartTargets::Nodes(nodes) => nodes.len() > 1,
    };
    let ends_as_folder = path.to_string_lossy().ends_with(std::path::MAIN_SEPARATOR);
    if is_several || ends_as_folder || path.is_dir() {
        SaveTo::Folder(path.to_owned())
    } else {
        SaveTo::File(path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_log_goes_to_a_file_and_several_below_a_folder() {
        let one = RestartTargets::Nodes(vec!["node-a".to_owned()]);
        let path = Path::new("agent.log");
        assert_eq!(save_to(path, &one), SaveTo::File(path.to_owned()));
        let several = RestartTargets::AllStuck;
        assert_eq!(save_to(path, &several), SaveTo::Folder(path.to_owned()));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            save_to(folder.path(), &one),
            SaveTo::Folder(folder.path().to_owned())
        );
    }
}
