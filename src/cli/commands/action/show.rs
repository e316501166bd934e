//! The plan and the outcome, as the user sees them.

use super::super::super::args::OutputFormat;
use super::super::super::error::Error;
use super::super::super::ui::{TerminalEnvironment, Ui, terminal};
use super::ActionArgs;
use crate::plan::{Known, Outcome, Plan};
use crate::render::{self, Format};
use crate::report::{Pins, PlanReport};

/// A plan with what is shown of it.
#[derive(Clone)]
pub(super) struct Shown {
    /// The plan.
    pub(super) plan: Plan,
    report: PlanReport,
    pins: Pins,
}

impl Shown {
    pub(super) fn new(plan: Plan, known: Known<'_, '_>, pins: &Pins) -> Self {
        Self {
            report: PlanReport::new(known, plan.clone(), pins),
            plan,
            pins: pins.clone(),
        }
    }

    /// Returns the same with what is left of the plan.
    pub(super) fn left(self, plan: &Plan) -> Self {
        Self {
            plan: plan.clone(),
            ..self
        }
    }

    /// Writes the plan as the answer.
    pub(super) fn answer_plan(&self, args: &ActionArgs, ui: &mut Ui<'_>) -> Result<(), Error> {
        let terminal = terminal(args.output, &TerminalEnvironment::of_process());
        ui.answer(|out| render::plan(out, &self.report, args.output.output.into(), &terminal))
    }

    /// Returns the plan for a person who is asked, whatever the format of the answer.
    pub(super) fn screen(&self, args: &ActionArgs) -> Vec<u8> {
        let format = match args.output.output {
            OutputFormat::Wide => Format::Wide,
            OutputFormat::Table
            | OutputFormat::Json
            | OutputFormat::Yaml
            | OutputFormat::Name
            | OutputFormat::Markdown
            | OutputFormat::OpenMetrics => Format::Table,
        };
        let terminal = terminal(args.output, &TerminalEnvironment::of_process());
        let mut screen = Vec::new();
        // A Vec takes everything.
        let _infallible = render::plan(&mut screen, &self.report, format, &terminal);
        screen
    }

    /// Writes the outcome as the answer.
    pub(super) fn answer_outcome(
        &self,
        args: &ActionArgs,
        outcome: Outcome,
        ui: &mut Ui<'_>,
    ) -> Result<(), Error> {
        let report = self.report.clone().outcome(outcome, &self.pins);
        let terminal = terminal(args.output, &TerminalEnvironment::of_process());
        ui.answer(|out| render::outcome(out, &report, args.output.output.into(), &terminal))
    }
}
