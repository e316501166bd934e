//! A report as bytes: words and places, no decisions.
//!
//! ```text
//! Report ─┬─► table, wide ─► Screen (cleans every text, adds colour) ─┐
//!         ├─► name ───────────────────────────────────────────────────┼─► writer
//!         ├─► markdown (escapes in Inline), openmetrics ──────────────┤
//!         └─► json::v1 ─► JSON or YAML (escapes on the way) ──────────┘
//! ```

use std::io::{self, Write};

use crate::report::{
    AuthReport, DiagnosisReport, ExplanationReport, OutcomeReport, PlanReport, ReplayReport,
    Runbook, SimulationReport, StatusReport, VersionReport,
};

mod auth;
mod columns;
mod context;
mod diagnosis;
mod eta;
mod explain;
mod frame;
mod json;
mod markdown;
mod marks;
mod name;
mod openmetrics;
mod outcome;
mod plan;
mod replay;
mod screen;
mod simulation;
mod status;
mod words;

pub use frame::{Window, frame, last_frame, make_room, one_line, timeless};
pub use screen::printable;

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people, the first screen.
    #[default]
    Table,
    /// For people, everything.
    Wide,
    /// JSON.
    Json,
    /// The same document in YAML.
    Yaml,
    /// Names that can be pasted into kubectl.
    Name,
    /// Markdown, for an incident channel.
    Markdown,
    /// `OpenMetrics`, of `status` and `diagnose` alone.
    OpenMetrics,
}

/// What the writer at the other end can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Its width in columns.
    pub width: usize,
    /// Whether colours are written.
    pub color: Color,
    /// Which marks can be shown.
    pub marks: Marks,
    /// Whether tables have a header line.
    pub headers: Headers,
    /// What becomes of a line that is wider.
    pub lines: Lines,
}

impl Default for Terminal {
    /// 80 columns, no colour, Unicode marks, headers, whole lines.
    fn default() -> Self {
        Self {
            width: 80,
            color: Color::Off,
            marks: Marks::Unicode,
            headers: Headers::Shown,
            lines: Lines::Whole,
        }
    }
}

/// What becomes of a row of a table, or of a command and its label, that is wider than the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// It stays one line: what reads it goes by lines, as `grep` does.
    Whole,
    /// It is folded between its cells, and a command stands on a line of its own.
    Folded,
}

/// Whether colours are written. No meaning is carried by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Never an escape sequence.
    Off,
    /// ANSI colours.
    On,
}

/// Which marks can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// The locale is UTF-8.
    Unicode,
    /// It is not.
    Ascii,
}

/// Whether tables have a header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    /// They have.
    Shown,
    /// They have not (`--no-headers`).
    Hidden,
}

/// Writes the answer of `status`.
///
/// # Errors
///
/// Only those of the writer.
pub fn status(
    out: &mut dyn Write,
    report: &StatusReport,
    format: Format,
    terminal: &Terminal,
) -> io::Result<()> {
    match format {
        Format::Table => status::table(out, report, terminal),
        Format::Wide => status::wide(out, report, terminal),
        Format::Json => json::write_json(out, &json::v1::Status::from(report)),
        Format::Yaml => json::write_yaml(out, &json::v1::Status::from(report)),
        Format::Name => name::status(out, report),
        Format::Markdown => markdown::status(out, report),
        Format::OpenMetrics => openmetrics::status(out, report),
    }
}

/// Writes the answer of `diagnose`.
///
/// # Errors
///
/// Only those of the writer.
pub fn diagnosis(
    out: &mut dyn Write,
    report: &DiagnosisReport,
    format: Format,
    terminal: &Terminal,
) -> io::Result<()> {
    match format {
        Format::Table => diagnosis::table(out, report, terminal),
        Format::Wide => diagnosis::wide(out, report, terminal),
        Format::Json => json::write_json(out, &json::v1::Diagnosis::from(report)),
        Format::Yaml => json::write_yaml(out, &json::v1::Diagnosis::from(report)),
        Format::Name => name::diagnosis(out, report),
        Format::Markdown => markdown::diagnosis(out, report),
        Format::OpenMetrics => openmetrics::diagnosis(out, report),
    }
}

/// Writes the answer of `replay`.
///
/// # Errors
///
/// Those of the writer, and `Unsupported` for [`Format::OpenMetrics`].
pub fn replay(
    out: &mut dyn Write,
    report: &ReplayReport,
    format: Format,
    terminal: &Terminal,
) -> io::Result<()> {
    match format {
        Format::Table => replay::table(out, report, terminal),
        Format::Wide => replay::wide(out, report, terminal),
        Format::Json => json::write_json(out, &json::v1::Replay::from(report)),
        Format::Yaml => json::write_yaml(out, &json::v1::Replay::from(report)),
        Format::Name => name::replay(out, report),
        Format::Markdown => markdown::replay(out, report),
        Format::OpenMetrics => no_metrics(),
    }
}

/// Writes the answer of `explain KIND/NAME`.
///
/// # Errors
///
/// Those of the writer, and `Unsupported` for [`Format::OpenMetrics`].
pub fn explanation(
    out: &mut dyn Write,
    report: &ExplanationReport,
    format: Format,
    terminal: &Terminal,
) -> io::Result<()> {
    match format {
        Format::Table => explain::table(out, report, terminal),
        Format::Wide => explain::wide(out, report, terminal),
        Format::Json => json::write_json(out, &json::explanation::Explanation::from(report)),
        Format::Yaml => json::write_yaml(out, &json::explanation::Explanation::from(report)),
        Format::Name => name::explanation(out, report),
        Format::Markdown => markdown::explanation(out, report),
        Format::OpenMetrics => no_metrics(),
    }
}

/// Writes a runbook: the answer of `explain FINDING-ID`.
///
/// # Errors
///
/// Those of the writer, and `Unsupported` for [`Format::OpenMetrics`].
pub fn runbook(out: &mut dyn Write, page: &Runbook, format: Format) -> io::Result<()> {
    match format {
        Format::Table | Format::Wide | Format::Markdown => explain::runbook(out, page),
        Format::Json => json::write_json(out, &json::explanation::RunbookPage::from(page)),
        Format::Yaml => json::write_yaml(out, &json::explanation::RunbookPage::from(page)),
        Format::Name => writeln!(out, "{}", page.id.as_str()),
        Format::OpenMetrics => no_metrics(),
    }
}

/// Writes the answer of `auth`.
///
/// # Errors
///
/// Only those of the writer.
pub fn auth(out: &mut dyn Write, report: &AuthReport, terminal: &Terminal) -> io::Result<()> {
    auth::table(out, report, terminal)
}

/// Writes the answer of `replay --simulate`.
///
/// # Errors
///
/// Those of the writer, and `Unsupported` for [`Format::OpenMetrics`].
pub fn simulation(
    out: &mut dyn Write,
    report: &SimulationReport,
    format: Format,
    terminal: &Terminal,
) -> io::Result<()> {
    match format {
        Format::Table => simulation::table(out, report, terminal),
        Format::Wide => simulation::wide(out, report, terminal),
        Format::Json => json::write_json(out, &json::simulation::Simulation::from(report)),
        Format::Yaml => json::write_yaml(out, &json::simulation::Simulation::from(report)),
        Format::Name => name::simulation(out, report),
        Format::Markdown => markdown::simulation(out, report),
        Format::OpenMetrics => no_metrics(),
    }
}

/// Writes what `nudge` or `restart` would do.
///
/// # Errors
///
/// Those of the writer, and `Unsupported` for [`Format::OpenMetrics`].
pub fn plan(
    out: &mut dyn Write,
    report: &PlanReport,
    format: Format,
    terminal: &Terminal,
) -> io::Result<()> {
    match format {
        Format::Table => plan::table(out, report, terminal),
        Format::Wide => plan::wide(out, report, terminal),
        Format::Json => json::write_json(out, &json::action::Plan::from(report)),
        Format::Yaml => json::write_yaml(out, &json::action::Plan::from(report)),
        Format::Name => name::plan(out, &report.plan),
        Format::Markdown => markdown::plan(out, report),
        Format::OpenMetrics => no_metrics(),
    }
}

/// Writes what came of `nudge` or `restart`.
///
/// # Errors
///
/// Those of the writer, and `Unsupported` for [`Format::OpenMetrics`].
pub fn outcome(
    out: &mut dyn Write,
    report: &OutcomeReport,
    format: Format,
    terminal: &Terminal,
) -> io::Result<()> {
    match format {
        Format::Table => outcome::table(out, report, terminal),
        Format::Wide => outcome::wide(out, report, terminal),
        Format::Json => json::write_json(out, &json::action::Outcome::from(report)),
        Format::Yaml => json::write_yaml(out, &json::action::Outcome::from(report)),
        Format::Name => name::outcome(out, report),
        Format::Markdown => markdown::outcome(out, report),
        Format::OpenMetrics => no_metrics(),
    }
}

/// Writes the answer of `version`.
///
/// # Errors
///
/// Those of the writer, and `Unsupported` for [`Format::OpenMetrics`].
pub fn version(out: &mut dyn Write, report: &VersionReport, format: Format) -> io::Result<()> {
    match format {
        Format::Table | Format::Wide | Format::Markdown => replay::version(out, report),
        Format::Json => json::write_json(out, &json::v1::Version::from(report)),
        Format::Yaml => json::write_yaml(out, &json::v1::Version::from(report)),
        Format::Name => writeln!(out, "kubectl-velero-slots/{}", report.client_version),
        Format::OpenMetrics => no_metrics(),
    }
}

/// Refuses the format that a document has not; the command line has refused it before.
fn no_metrics() -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "only status and diagnose have metrics",
    ))
}

#[cfg(test)]
mod tests;
