//! `diagnose`.

use std::collections::BTreeMap;

use clap::ValueEnum;

use super::super::answer::{Answer, Reached, warnings};
use super::super::args::{FilterArgs, OutputArgs, OutputFormat, SourceArgs, parse_threshold};
use super::super::error::Error;
use super::super::exit::Exit;
use super::super::source::{self, TraceArgs};
use super::super::ui::Ui;
use super::super::watch::{self, Call, Said, WatchArgs};
use crate::collect::cluster::Traces;
use crate::diagnose::diagnose;
use crate::render;
use crate::replay::{ReplayOptions, replay};
use crate::report::{DiagnosisReport, FailOn, Pins, StatusReport, Verdict, is_idle};
use crate::snapshot::Snapshot;

/// Say what is wrong, how sure, on what evidence, and what to type next
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    watch: WatchArgs,
    /// How long a task may wait beside a free slot
    #[arg(long, value_name = "DURATION", value_parser = parse_threshold, default_value = "10m", help_heading = "Analysis")]
    threshold: i64,
    /// From which severity on the exit code is 3
    #[arg(
        long,
        value_enum,
        value_name = "SEVERITY",
        default_value_t,
        help_heading = "Analysis"
    )]
    fail_on: FailOnChoice,
    /// Whether logs of node-agents are read from a cluster where they would decide something
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Analysis"
    )]
    logs: TracesChoice,
    /// Whether metrics of node-agents are read from a cluster where they would decide something
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Analysis"
    )]
    metrics: TracesChoice,
}

/// `--logs` and `--metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TracesChoice {
    /// Where they help
    #[default]
    Auto,
    /// Never
    Never,
}

impl From<TracesChoice> for Traces {
    fn from(choice: TracesChoice) -> Self {
        match choice {
            TracesChoice::Auto => Self::Auto,
            TracesChoice::Never => Self::Never,
        }
    }
}

/// `--fail-on`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnChoice {
    /// Only critical findings
    #[default]
    Critical,
    /// Warnings too
    Warning,
    /// Every finding
    Info,
    /// Never
    Never,
}

impl From<FailOnChoice> for FailOn {
    fn from(choice: FailOnChoice) -> Self {
        match choice {
            FailOnChoice::Critical => Self::Critical,
            FailOnChoice::Warning => Self::Warning,
            FailOnChoice::Info => Self::Info,
            FailOnChoice::Never => Self::Never,
        }
    }
}

/// Answers.
pub(crate) fn run(args: &Args, ui: &mut Ui<'_>) -> Result<Exit, Error> {
    let traces = TraceArgs {
        logs: args.logs.into(),
        metrics: args.metrics.into(),
        threshold: args.threshold,
    };
    if args.watch.is_on() {
        let call = Call {
            source: &args.source,
            output: args.output,
            watch: args.watch,
            traces: Some(traces),
        };
        return watch::run(call, ui, &|snapshot, pins| {
            Said::Answer(answer(args, snapshot, pins))
        });
    }
    let read = source::read_with_traces(&args.source, traces)?;
    let exit = answer(args, &read.snapshot, &read.pins).say(args.output, ui)?;
    Ok(read.end.exit(exit))
}

fn answer(args: &Args, snapshot: &Snapshot, pins: &Pins) -> Answer {
    let options = ReplayOptions {
        threshold_seconds: args.threshold,
    };
    let replayed = replay(snapshot, options);
    let diagnosis = diagnose(snapshot, &replayed);
    let filters = args.filters.filters();
    let report = DiagnosisReport::new(snapshot, &replayed, &diagnosis, &filters, pins);
    // Both answers in one text: two texts with the same metrics cannot be collected side by side.
    let report = match args.output.output {
        OutputFormat::OpenMetrics => report.with_status(StatusReport::new(
            snapshot, &replayed, &diagnosis, &filters, pins,
        )),
        OutputFormat::Table
        | OutputFormat::Wide
        | OutputFormat::Json
        | OutputFormat::Yaml
        | OutputFormat::Name
        | OutputFormat::Markdown => report,
    };
    Answer {
        warnings: warnings(&report.head),
        exit: exit(&report, args.fail_on.into()),
        marks: marks(&report),
        idle: Reached::when(is_idle(snapshot, &replayed, &filters)),
        unstuck: Reached::when(report.is_unstuck()),
        render: Box::new(move |out, format, terminal| {
            render::diagnosis(out, &report, format, terminal)
        }),
    }
}

/// Says of each finding its severity.
fn marks(report: &DiagnosisReport) -> BTreeMap<String, String> {
    let findings = report.findings.iter().map(|row| {
        let finding = &row.finding;
        let first = finding.tasks.first().map(ToString::to_string);
        let place = finding.node.clone().or(first).unwrap_or_default();
        let name = format!("{} {place}", finding.id.as_str());
        (
            name.trim_end().to_owned(),
            finding.severity.as_str().to_owned(),
        )
    });
    let verdict = ("verdict".to_owned(), report.verdict.as_str().to_owned());
    findings.chain([verdict]).collect()
}

/// The first that applies.
fn exit(report: &DiagnosisReport, fail_on: FailOn) -> Exit {
    if report.fails(fail_on) {
        Exit::Findings
    } else if report.head.timed_out() {
        Exit::TimedOut
    } else {
        match report.verdict {
            Verdict::Unknown => Exit::CouldNotAnswer,
            Verdict::Stuck | Verdict::Attention | Verdict::Healthy => Exit::Answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Finding;
    use crate::report::{
        Confidence, FindingId, FindingRow, Gap, GapReason, Head, NowFrom, Severity, SlotLimits,
        SourceType,
    };

    fn report(verdict: Verdict, severities: &[Severity], gaps: &[GapReason]) -> DiagnosisReport {
        let finding = |severity: &Severity| FindingRow {
            finding: Finding::new(
                FindingId::SlotQueue,
                *severity,
                Confidence::Certain,
                String::new(),
            ),
            for_seconds: None,
        };
        let gap = |reason: &GapReason| Gap {
            resource: "pods".to_owned(),
            reason: *reason,
            message: String::new(),
            effect: String::new(),
        };
        DiagnosisReport {
            head: Head {
                taken_at: "2026-01-02T03:04:05Z".parse().unwrap(),
                source: SourceType::Files,
                now_from: NowFrom::Flag,
                server: None,
                paths: Vec::new(),
                namespace: "velero".to_owned(),
                velero_versions: Vec::new(),
                gaps: gaps.iter().map(gap).collect(),
                unread_tasks: Vec::new(),
                limits: SlotLimits::default(),
                pins: Pins::default(),
            },
            verdict,
            inconclusive: Vec::new(),
            findings: severities.iter().map(finding).collect(),
            findings_not_shown: 0,
            unfinished: 0,
            status: None,
        }
    }

    #[test]
    fn a_finding_at_the_threshold_comes_before_a_time_limit_and_that_before_unknown() {
        let all = report(
            Verdict::Unknown,
            &[Severity::Critical],
            &[GapReason::Timeout],
        );
        assert_eq!(exit(&all, FailOn::Critical), Exit::Findings);
        assert_eq!(exit(&all, FailOn::Never), Exit::TimedOut);
        let unknown = report(
            Verdict::Unknown,
            &[Severity::Warning],
            &[GapReason::Forbidden],
        );
        assert_eq!(exit(&unknown, FailOn::Critical), Exit::CouldNotAnswer);
        assert_eq!(exit(&unknown, FailOn::Warning), Exit::Findings);
    }

    #[test]
    fn fail_on_decides_from_which_severity_on() {
        let note = report(Verdict::Healthy, &[Severity::Info], &[]);
        assert_eq!(exit(&note, FailOn::Warning), Exit::Answered);
        assert_eq!(exit(&note, FailOn::Info), Exit::Findings);
        let stuck = report(Verdict::Stuck, &[Severity::Critical], &[]);
        assert_eq!(exit(&stuck, FailOn::Never), Exit::Answered);
    }
}
