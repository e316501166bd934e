//! The groups of flags that commands share, in kubectl's own spelling.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use super::error::Error;
use crate::render::Format;
use crate::report::Filters;
use crate::velero::{TaskKind, parse_go_duration};

/// Where to read from.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SourceArgs {
    /// Read a file, a folder, a .tar.gz or standard input (-) instead of a cluster; repeatable
    #[arg(long, value_name = "PATH", help_heading = "Source")]
    pub(crate) from: Vec<PathBuf>,

    /// With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
    #[arg(long, value_name = "RFC3339", value_parser = parse_time, help_heading = "Source")]
    pub(crate) now: Option<Timestamp>,

    // A doc comment would want the variable in backticks, which a terminal shows.
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        help_heading = "Source",
        help = "Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]"
    )]
    pub(crate) namespace: Option<String>,

    /// How long the whole command may read a cluster; --from is read to its end [default: 30s; 0 means without limit]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout, help_heading = "Source")]
    pub(crate) timeout: Option<Limit>,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Which cluster, and as whom: kubectl's flags. Beside `--from` they are a usage error, apart from the time limit.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cluster, as in kubectl")]
pub(crate) struct ClusterArgs {
    /// The kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<String>,

    /// The kubeconfig context
    #[arg(long, alias = "kubecontext", value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// The kubeconfig cluster
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,

    /// The kubeconfig user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// The user to impersonate
    #[arg(long = "as", value_name = "USER")]
    pub(crate) as_user: Option<String>,

    /// A group to impersonate; repeatable
    #[arg(long = "as-group", value_name = "GROUP")]
    pub(crate) as_groups: Vec<String>,

    /// The UID to impersonate
    #[arg(long, value_name = "UID")]
    pub(crate) as_uid: Option<String>,

    /// An extra attribute to impersonate; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) as_user_extra: Vec<String>,

    /// The bearer token
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,

    /// The address of the API server
    #[arg(short, long, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// How long one request may take [default: 10s; 0 means without limit]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub(crate) request_timeout: Option<Limit>,

    /// Take any certificate of the server
    #[arg(
        long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true"
    )]
    pub(crate) insecure_skip_tls_verify: Option<bool>,

    /// The file of the certificate authority
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate_authority: Option<String>,

    /// The file of the client certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) client_certificate: Option<String>,

    /// The file of the client key
    #[arg(long, value_name = "FILE")]
    pub(crate) client_key: Option<String>,

    /// The name to expect in the server's certificate
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_server_name: Option<String>,
}

impl ClusterArgs {
    /// Returns the flags that were given and say which cluster is read, or as whom.
    pub(crate) fn names_of_given(&self) -> Vec<&'static str> {
        let Self {
            kubeconfig,
            context,
            cluster,
            user,
            as_user,
            as_groups,
            as_uid,
            as_user_extra,
            token,
            server,
            request_timeout: _,
            insecure_skip_tls_verify,
            certificate_authority,
            client_certificate,
            client_key,
            tls_server_name,
        } = self;
        let flags = [
            ("--kubeconfig", kubeconfig.is_some()),
            ("--context", context.is_some()),
            ("--cluster", cluster.is_some()),
            ("--user", user.is_some()),
            ("--as", as_user.is_some()),
            ("--as-group", !as_groups.is_empty()),
            ("--as-uid", as_uid.is_some()),
            ("--as-user-extra", !as_user_extra.is_empty()),
            ("--token", token.is_some()),
            ("--server", server.is_some()),
            (
                "--insecure-skip-tls-verify",
                insecure_skip_tls_verify.is_some(),
            ),
            ("--certificate-authority", certificate_authority.is_some()),
            ("--client-certificate", client_certificate.is_some()),
            ("--client-key", client_key.is_some()),
            ("--tls-server-name", tls_server_name.is_some()),
        ];
        flags
            .into_iter()
            .filter_map(|(flag, given)| given.then_some(flag))
            .collect()
    }
}

/// What to show. Filters act after the analysis: on what is shown and on the exit code, never on what is
/// counted.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Show only this node; repeatable
    #[arg(long = "node", value_name = "NAME", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) nodes: Vec<String>,

    /// Show only tasks of this kind: du, dd, pvb, pvr, or a full name; repeatable
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',', value_parser = parse_kind)]
    pub(crate) kinds: Vec<TaskKind>,

    /// Show only tasks of this Backup
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) backup: Option<String>,

    /// Show only tasks of this Restore
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) restore: Option<String>,
}

impl FilterArgs {
    /// Returns the filters as the report knows them.
    pub(crate) fn filters(&self) -> Filters {
        Filters {
            nodes: self.nodes.iter().cloned().collect(),
            kinds: self.kinds.iter().copied().collect::<BTreeSet<_>>(),
            backup: self.backup.clone(),
            restore: self.restore.clone(),
        }
    }
}

/// How to write the answer.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// The format of the answer
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: OutputFormat,

    /// When to write colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorChoice,

    /// Leave the header line of tables out
    #[arg(
        long, num_args = 0..=1, require_equals = true, value_name = "BOOL", value_parser = parse_bool,
        default_missing_value = "true", default_value = "false", hide_default_value = true,
        action = clap::ArgAction::Set
    )]
    pub(crate) no_headers: bool,
}

impl OutputArgs {
    /// Refuses the format that only `status` and `diagnose` have, before anything is read.
    ///
    /// # Errors
    ///
    /// A usage error for it.
    pub(crate) fn without_metrics(self) -> Result<(), Error> {
        match self.output {
            OutputFormat::OpenMetrics => Err(Error::usage(anyhow!(
                "-o openmetrics is for status and diagnose alone"
            ))
            .hint("-o json has all of this answer for a program")),
            OutputFormat::Table
            | OutputFormat::Wide
            | OutputFormat::Json
            | OutputFormat::Yaml
            | OutputFormat::Name
            | OutputFormat::Markdown => Ok(()),
        }
    }
}

/// `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people, the first screen
    #[default]
    Table,
    /// For people, everything
    Wide,
    /// JSON
    Json,
    /// The same in YAML
    Yaml,
    /// Names that can be pasted into kubectl
    Name,
    /// Markdown, for an incident channel
    Markdown,
    /// Metrics, for an alert: status and diagnose
    #[value(name = "openmetrics")]
    OpenMetrics,
}

impl From<OutputFormat> for Format {
    fn from(format: OutputFormat) -> Self {
        match format {
            OutputFormat::Table => Self::Table,
            OutputFormat::Wide => Self::Wide,
            OutputFormat::Json => Self::Json,
            OutputFormat::Yaml => Self::Yaml,
            OutputFormat::Name => Self::Name,
            OutputFormat::Markdown => Self::Markdown,
            OutputFormat::OpenMetrics => Self::OpenMetrics,
        }
    }
}

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// In a terminal, unless the environment asks for none
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How long something may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// At most this long.
    AtMost(Duration),
    /// As long as it takes.
    None,
}

impl Limit {
    /// Returns the duration, if there is a limit.
    pub(crate) const fn duration(self) -> Option<Duration> {
        match self {
            Self::AtMost(duration) => Some(duration),
            Self::None => None,
        }
    }
}

pub(crate) fn parse_time(text: &str) -> Result<Timestamp, String> {
    text.parse::<Timestamp>()
        .map_err(|_| "expected a time such as 2026-01-02T03:04:05Z".to_owned())
}

fn parse_kind(text: &str) -> Result<TaskKind, String> {
    TaskKind::parse(text).ok_or_else(|| {
        "expected du, dd, pvb, pvr, or DataUpload, DataDownload, PodVolumeBackup, PodVolumeRestore"
            .to_owned()
    })
}

/// Reads a boolean as pflag does (Go's strconv.ParseBool).
pub(crate) fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// Reads a Go duration of whole seconds or more.
pub(crate) fn parse_threshold(text: &str) -> Result<i64, String> {
    match parse_go_duration(text) {
        Some(duration) if !duration.is_negative() => Ok(duration.as_secs()),
        Some(_) | None => Err("expected a duration such as 90s, 10m or 1h30m".to_owned()),
    }
}

/// Reads a Go duration; a bare integer means seconds, 0 means without limit, as with kubectl's
/// `--request-timeout`.
pub(crate) fn parse_timeout(text: &str) -> Result<Limit, String> {
    let duration = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => parse_go_duration(text)
            .and_then(|duration| Duration::try_from(duration).ok())
            .ok_or_else(|| "expected seconds, or a duration such as 90s or 5m".to_owned())?,
    };
    if duration.is_zero() {
        Ok(Limit::None)
    } else {
        Ok(Limit::AtMost(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_timeout_is_in_seconds_and_zero_is_none() {
        assert_eq!(
            parse_timeout("5"),
            Ok(Limit::AtMost(Duration::from_secs(5)))
        );
        assert_eq!(
            parse_timeout("1m30s"),
            Ok(Limit::AtMost(Duration::from_secs(90)))
        );
        assert_eq!(parse_timeout("0"), Ok(Limit::None));
        assert!(parse_timeout("-5s").is_err());
    }

    #[test]
    fn a_threshold_is_a_go_duration_with_a_unit() {
        assert_eq!(parse_threshold("1h30m"), Ok(5400));
        assert_eq!(parse_threshold("90s"), Ok(90));
        assert_eq!(parse_threshold("0"), Ok(0));
        assert!(parse_threshold("10").is_err());
        assert!(parse_threshold("-1m").is_err());
    }

    #[test]
    fn booleans_are_those_of_pflag() {
        assert_eq!(parse_bool("T"), Ok(true));
        assert_eq!(parse_bool("0"), Ok(false));
        assert!(parse_bool("yes").is_err());
    }
}
