//! `version`.

use clap::ValueEnum;

use super::super::error::Error;
use super::super::exit::Exit;
use super::super::ui::Ui;
use crate::render::{self, Format};
use crate::report::VersionReport;

/// Show the version of this program and the Velero releases whose rules it knows
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Args {
    /// The format of the answer
    #[arg(
        short,
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t,
        help_heading = "Output"
    )]
    output: VersionFormat,
}

/// `-o` of `version`, which has no names and no more to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum VersionFormat {
    /// For people
    #[default]
    Table,
    /// JSON
    Json,
    /// The same in YAML
    Yaml,
}

/// Answers, without reading anything.
pub(crate) fn run(args: Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    let report = VersionReport::new();
    let format = match args.output {
        VersionFormat::Table => Format::Table,
        VersionFormat::Json => Format::Json,
        VersionFormat::Yaml => Format::Yaml,
    };
    ui.answer(|out| render::version(out, &report, format))?;
    Ok(Exit::Answered)
}
