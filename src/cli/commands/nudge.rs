//! `nudge`.

use clap::ArgGroup;
use clap::builder::NonEmptyStringValueParser;

use super::super::error::Error;
use super::super::exit::Exit;
use super::super::ui::Ui;
use super::action::{self, ActionArgs, Goal};
use crate::plan::NudgeTargets;

/// Make the controller look again at tasks that it may have missed, and watch what becomes of them
///
/// Shows what it would do and what that means first, asks, and then annotates the task, or the mover pod of an
/// Accepted task. Refuses where no look can help, and says what would. --dry-run=client shows the plan alone.
#[derive(clap::Args, Clone, Debug)]
#[command(group = ArgGroup::new("targets").args(["tasks", "nodes", "all_stuck"]).required(true))]
pub(crate) struct Args {
    /// The tasks: du/NAME, dd/NAME, pvb/NAME, pvr/NAME, or with full names of the kinds
    #[arg(value_name = "KIND/NAME", value_parser = NonEmptyStringValueParser::new())]
    tasks: Vec<String>,
    /// All stuck tasks of this node; repeatable
    #[arg(long = "node", value_name = "NAME", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "Action")]
    nodes: Vec<String>,
    /// Every stuck task
    #[arg(long, help_heading = "Action")]
    all_stuck: bool,
    #[command(flatten)]
    action: ActionArgs,
}

/// Acts.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    let targets = if args.all_stuck {
        NudgeTargets::AllStuck
    } else if args.nodes.is_empty() {
        NudgeTargets::Tasks(args.tasks.clone())
    } else {
        NudgeTargets::Nodes(args.nodes.clone())
    };
    action::run(&args.action, &Goal::Nudge(targets), ui)
}
