//! From flags to what was seen: files or a cluster, and Velero's namespace in it.

use std::io::{self, Write as _};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use anyhow::anyhow;

use super::args::{ClusterArgs, Limit, SourceArgs};
use super::error::{Error, ErrorKind};
use super::exit::Exit;
use super::ui::shown;
use crate::capture::{Capture, Redacted};
use crate::collect::cluster::{
    self, Cluster, CollectError, CollectOptions, Collected, Interrupt, Traces,
};
use crate::collect::files::{self, FilesError, Limits};
use crate::collect::kubectl_compat::{
    ClusterFlags, Environment, Progress, TlsVerify, velero_namespace_hint,
};
use crate::diagnose::nodes_that_need_logs;
use crate::replay::{ReplayOptions, replay};
use crate::report::Pins;
use crate::snapshot::{self, NamespaceSearch, ReadOptions, Snapshot};

/// What no `--timeout` means to a reading: longer than anyone waits, and no overflow.
const WITHOUT_LIMIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How long a command may take to come to an end after Ctrl-C. What waits for an answer ends at once, and a
/// login that hangs does not.
const AFTER_INTERRUPT: Duration = Duration::from_millis(200);

/// What was read.
pub(crate) struct Read {
    /// What was seen.
    pub(crate) snapshot: Snapshot,
    /// What follow-up commands name.
    pub(crate) pins: Pins,
    /// How the reading ended.
    pub(crate) end: End,
}

/// How a reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Own,
    /// By Ctrl-C, with what was known by then.
    Interrupted,
}

impl End {
    /// Returns the exit of a command that otherwise ended with `exit`.
    pub(crate) const fn exit(self, exit: Exit) -> Exit {
        match self {
            Self::Own => exit,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

/// What was collected, not yet read.
pub(crate) struct Source {
    /// Word for word.
    pub(crate) capture: Capture,
    /// Velero's namespace in it.
    pub(crate) namespace: String,
    /// What follow-up commands name.
    pub(crate) pins: Pins,
    /// How the reading ended.
    pub(crate) end: End,
}

/// Reads what the flags name.
///
/// # Errors
///
/// When the flags contradict each other, the source cannot be used, or Velero is not in it.
pub(crate) fn read(args: &SourceArgs) -> Result<Read, Error> {
    to_read(args, collect(args)?)
}

/// Which traces of node-agents are read from a cluster, and by which threshold the agents are chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceArgs {
    /// `--logs`.
    pub(crate) logs: Traces,
    /// `--metrics`.
    pub(crate) metrics: Traces,
    /// `--threshold`, in seconds.
    pub(crate) threshold: i64,
}

/// Reads what the flags name, and from a cluster also the logs and metrics that would decide something.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_with_traces(args: &SourceArgs, traces: TraceArgs) -> Result<Read, Error> {
    to_read(args, collect_with(args, Some(traces))?)
}

fn to_read(args: &SourceArgs, source: Source) -> Result<Read, Error> {
    let options = ReadOptions {
        namespace: source.namespace,
        now: args.now,
    };
    Ok(Read {
        snapshot: snapshot::read_owned(source.capture, &options),
        pins: source.pins,
        end: source.end,
    })
}

/// Collects what the flags name.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn collect(args: &SourceArgs) -> Result<Source, Error> {
    collect_with(args, None)
}

/// Collects what the flags name, and from a cluster also the logs and metrics that would decide something: a
/// capture that is read elsewhere cannot ask for them any more.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn collect_with_traces(args: &SourceArgs) -> Result<Source, Error> {
    let traces = TraceArgs {
        logs: Traces::Auto,
        metrics: Traces::Auto,
        threshold: ReplayOptions::default().threshold_seconds,
    };
    collect_with(args, Some(traces))
}

fn collect_with(args: &SourceArgs, traces: Option<TraceArgs>) -> Result<Source, Error> {
    if args.from.is_empty() {
        if args.now.is_some() {
            return Err(Error::usage(anyhow!(
                "--now needs --from: with a cluster, now is the API server's time"
            )));
        }
        from_cluster(args, traces)
    } else {
        check_no_cluster(&args.cluster)?;
        from_files(args)
    }
}

/// Whoever names a cluster beside files may take the answer for that of the cluster.
fn check_no_cluster(args: &ClusterArgs) -> Result<(), Error> {
    let given = args.names_of_given();
    if given.is_empty() {
        return Ok(());
    }
    let say = if given.len() == 1 { "says" } else { "say" };
    Err(Error::usage(anyhow!(
        "{} {say} which cluster to read, and as whom; --from reads none",
        given.join(", ")
    ))
    .hint("leave out --from to read the cluster, or the others to read the files"))
}

fn from_files(args: &SourceArgs) -> Result<Source, Error> {
    let capture = files::read(&args.from, &mut io::stdin().lock(), &Limits::default())
        .map_err(files_error)?;
    // In a redacted capture the environment's name of the namespace means nothing; the capture tells its own.
    let told = match capture.manifest.redacted {
        Redacted::No => told_namespace(args),
        Redacted::Yes => args.namespace.clone().filter(|name| !name.is_empty()),
    };
    let namespace = match told {
        Some(namespace) => namespace,
        None => match snapshot::find_namespace(&capture) {
            NamespaceSearch::Found(namespace) => namespace,
            NamespaceSearch::Several(namespaces) => {
                return Err(Error::usage(anyhow!(
                    "several namespaces of the input look like Velero's: {}",
                    namespaces.join(", ")
                ))
                .hint("choose one with -n"));
            }
            NamespaceSearch::None { looked_for } => {
                return Err(Error::could_not_answer(anyhow!(
                    "Velero not found: the input holds no sign of it ({looked_for})"
                ))
                .hint(
                    "read more into the input, such as: kubectl get \
                     datauploads,datadownloads,podvolumebackups,podvolumerestores,pods,daemonsets,configmaps \
                     -n velero -o yaml",
                )
                .hint("or name Velero's namespace with -n"));
            }
        },
    };
    let mut source_flags = Vec::new();
    for path in &args.from {
        // What came through a pipe is gone and cannot be named again.
        if path != Path::new("-") {
            source_flags.push("--from".to_owned());
            source_flags.push(path.to_string_lossy().into_owned());
        }
    }
    if let Some(now) = args.now {
        // The same "now" is needed to see the same picture again.
        source_flags.push("--now".to_owned());
        source_flags.push(now.to_string());
    }
    Ok(Source {
        capture,
        namespace,
        pins: Pins {
            source_flags,
            ..Pins::default()
        },
        end: End::Own,
    })
}

/// Returns the namespace that the user names, in Velero's own order (v1.17.2 pkg/client/factory.go).
pub(crate) fn told_namespace(args: &SourceArgs) -> Option<String> {
    let environment = Environment::of_process();
    args.namespace
        .clone()
        .filter(|namespace| !namespace.is_empty())
        .or_else(|| velero_namespace_hint(&environment))
        .or_else(|| environment.velero_namespace.clone())
        .filter(|namespace| !namespace.is_empty())
}

fn files_error(error: FilesError) -> Error {
    Error::could_not_answer(error)
        .hint("--from takes a file, a folder or a .tar.gz of YAML or JSON objects, or - for standard input")
}

fn from_cluster(args: &SourceArgs, traces: Option<TraceArgs>) -> Result<Source, Error> {
    let (collected, pins, end) = with_cluster(args, async |cluster, options, progress| {
        let collected = match traces {
            Some(traces) => collect_traced(cluster, options, traces, progress).await?,
            None => cluster
                .collect(options, progress)
                .await
                .map_err(cluster_error)?,
        };
        let end = if cluster.interrupt().is_raised() {
            progress("interrupted; the answer holds what was known by then");
            End::Interrupted
        } else {
            End::Own
        };
        Ok((collected, pins_of_cluster(args, cluster), end))
    })?;
    Ok(Source {
        capture: collected.capture,
        namespace: collected.namespace.namespace,
        pins,
        end,
    })
}

/// Reads a cluster, with the logs and metrics that would decide something.
///
/// # Errors
///
/// When it cannot be read at all.
pub(crate) async fn collect_traced(
    cluster: &Cluster,
    options: &CollectOptions,
    traces: TraceArgs,
    progress: Progress<'_>,
) -> Result<Collected, Error> {
    let mut collected = cluster
        .collect(options, progress)
        .await
        .map_err(cluster_error)?;
    add_traces(cluster, &mut collected, options, traces, progress).await;
    Ok(collected)
}

/// Returns what follow-up commands name.
pub(crate) fn pins_of_cluster(args: &SourceArgs, cluster: &Cluster) -> Pins {
    Pins {
        context: cluster.resolved().context.clone(),
        kubeconfig: (args.cluster.kubeconfig.clone()).filter(|file| !file.is_empty()),
        cluster_flags: pinned_flags(&args.cluster),
        source_flags: Vec::new(),
    }
}

/// Returns the flags that say which cluster and as whom, beside those that have a place of their own in
/// [`Pins`]. The token stays out: follow-up commands are shown, logged and sent around.
fn pinned_flags(args: &ClusterArgs) -> Vec<String> {
    let server = args.server.as_deref().map(without_credentials);
    let groups = args.as_groups.iter().map(|group| ("--as-group", group));
    let extras = args
        .as_user_extra
        .iter()
        .map(|extra| ("--as-user-extra", extra));
    let mut flags: Vec<String> = [
        ("--cluster", args.cluster.as_ref()),
        ("--user", args.user.as_ref()),
        ("--server", server.as_ref()),
        ("--as", args.as_user.as_ref()),
        ("--as-uid", args.as_uid.as_ref()),
        (
            "--certificate-authority",
            args.certificate_authority.as_ref(),
        ),
        ("--client-certificate", args.client_certificate.as_ref()),
        ("--client-key", args.client_key.as_ref()),
        ("--tls-server-name", args.tls_server_name.as_ref()),
    ]
    .into_iter()
    .filter_map(|(flag, value)| Some((flag, value?)))
    .chain(groups)
    .chain(extras)
    .flat_map(|(flag, value)| [flag.to_owned(), value.clone()])
    .collect();
    if let Some(skip) = args.insecure_skip_tls_verify {
        flags.push(format!("--insecure-skip-tls-verify={skip}"));
    }
    flags
}

/// Leaves a user and a password out of an address.
fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address
        .split_once("://")
        .map_or(("", address), |(scheme, rest)| (scheme, rest));
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if scheme.is_empty() {
        format!("{host}{path}")
    } else {
        format!("{scheme}://{host}{path}")
    }
}

/// Connects to the cluster that the flags name and does some work there. After Ctrl-C readings end with what
/// they have, and [`Cluster::interrupt`] says so; other work ends without an answer.
///
/// # Errors
///
/// When there is no connection, and those of the work.
pub(crate) fn with_cluster<T>(
    args: &SourceArgs,
    work: impl AsyncFnOnce(&Cluster, &CollectOptions, &dyn Fn(&str)) -> Result<T, Error>,
) -> Result<T, Error> {
    // Made here and not earlier: nothing that works offline should pay for it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Error::could_not_answer(anyhow::Error::new(error).context("start the runtime"))
        })?;
    let interrupt = Interrupt::default();
    let done = runtime.block_on(async {
        let mut work = pin!(connected(args, &interrupt, work));
        // The work comes first: while it does not wait for anything, such as when a kubeconfig is a pipe to
        // which nobody writes, Ctrl-C must end the process as it does by itself.
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = tokio::signal::ctrl_c() => interrupt.raise(),
        }
        tokio::select! {
            biased;
            done = &mut work => done,
            _ = tokio::signal::ctrl_c() => Err(interrupted()),
            () = tokio::time::sleep(AFTER_INTERRUPT) => Err(interrupted()),
        }
    });
    // A credential plugin that hangs must not keep the program.
    runtime.shutdown_background();
    done
}

pub(crate) fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, anyhow!("interrupted"))
}

async fn connected<T>(
    args: &SourceArgs,
    interrupt: &Interrupt,
    work: impl AsyncFnOnce(&Cluster, &CollectOptions, &dyn Fn(&str)) -> Result<T, Error>,
) -> Result<T, Error> {
    let flags = cluster_flags(&args.cluster, args.namespace.as_ref());
    let environment = Environment::of_process();
    let progress = |line: &str| {
        // With standard error gone there is nobody left to tell.
        let _told = writeln!(io::stderr(), "{}", shown(line));
    };
    let limit = args
        .timeout
        .map(|limit| limit.duration().unwrap_or(WITHOUT_LIMIT));
    let began = tokio::time::Instant::now();
    let connecting = cluster::connect(&flags, &environment, &progress);
    // Logging in belongs to the whole command. Without --timeout a person may take their time.
    let connected = match limit {
        Some(limit) => tokio::time::timeout(limit, connecting)
            .await
            .map_err(|_elapsed| not_logged_in(limit))?,
        None => connecting.await,
    };
    let cluster = connected.map_err(cluster_error)?.with_interrupt(interrupt);
    let mut options = CollectOptions::of_flags(&flags);
    if let Some(limit) = limit {
        options.time_limit = limit;
        options.spent = began.elapsed();
    }
    work(&cluster, &options, &progress).await
}

fn not_logged_in(limit: std::time::Duration) -> Error {
    let limit = limit.as_secs_f64();
    Error::new(
        ErrorKind::TimedOut,
        anyhow!("the login of the kubeconfig did not end within the --timeout of {limit} s"),
    )
}

/// The second step: what the lists leave open decides whose log and metrics are read.
async fn add_traces(
    cluster: &Cluster,
    collected: &mut Collected,
    options: &CollectOptions,
    traces: TraceArgs,
    progress: Progress<'_>,
) {
    let none = traces.logs == Traces::Never && traces.metrics == Traces::Never;
    if none || cluster.interrupt().is_raised() {
        return;
    }
    let seen = snapshot::read(
        &collected.capture,
        &ReadOptions {
            namespace: collected.namespace.namespace.clone(),
            now: None,
        },
    );
    let replayed = replay(
        &seen,
        ReplayOptions {
            threshold_seconds: traces.threshold,
        },
    );
    let wanted = nodes_that_need_logs(&seen, &replayed);
    let took = collected.took;
    let capture = &mut collected.capture;
    // First the metrics: the log is then the newer reading, and shows what the pause between them brought.
    let took = match traces.metrics {
        Traces::Auto => {
            took + cluster
                .add_metrics(capture, &wanted, options, took, progress)
                .await
        }
        Traces::Never => took,
    };
    match traces.logs {
        Traces::Auto => {
            cluster
                .add_logs(capture, &wanted, options, took, progress)
                .await;
        }
        Traces::Never => {}
    }
}

/// Returns the flags as the connection takes them.
pub(crate) fn cluster_flags(args: &ClusterArgs, namespace: Option<&String>) -> ClusterFlags {
    ClusterFlags {
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
        cluster: args.cluster.clone(),
        user: args.user.clone(),
        namespace: namespace.cloned(),
        as_user: args.as_user.clone(),
        as_groups: args.as_groups.clone(),
        as_uid: args.as_uid.clone(),
        as_user_extra: args.as_user_extra.clone(),
        token: args.token.clone(),
        server: args.server.clone(),
        request_timeout: args.request_timeout.map(|limit| match limit {
            Limit::AtMost(duration) => duration,
            Limit::None => Duration::ZERO,
        }),
        insecure_skip_tls_verify: args.insecure_skip_tls_verify.map(|skip| {
            if skip {
                TlsVerify::Skip
            } else {
                TlsVerify::Check
            }
        }),
        certificate_authority: args.certificate_authority.clone(),
        client_certificate: args.client_certificate.clone(),
        client_key: args.client_key.clone(),
        tls_server_name: args.tls_server_name.clone(),
    }
}

pub(crate) fn cluster_error(error: CollectError) -> Error {
    let kind = match error.kind() {
        cluster::ErrorKind::Usage => ErrorKind::Usage,
        cluster::ErrorKind::Timeout => ErrorKind::TimedOut,
        cluster::ErrorKind::Interrupted => ErrorKind::Interrupted,
        cluster::ErrorKind::Config
        | cluster::ErrorKind::Login
        | cluster::ErrorKind::Unreachable
        | cluster::ErrorKind::VeleroNotFound => ErrorKind::CouldNotAnswer,
    };
    let hint = match error.kind() {
        cluster::ErrorKind::Config => Some("look at: kubectl config view --minify"),
        cluster::ErrorKind::Login => Some("try the same login with: kubectl auth whoami"),
        cluster::ErrorKind::Unreachable => {
            Some("try the same connection with: kubectl version; or read files with --from")
        }
        cluster::ErrorKind::Timeout => {
            Some("give it more time with --timeout and --request-timeout")
        }
        // Their messages say what to type.
        cluster::ErrorKind::Usage
        | cluster::ErrorKind::VeleroNotFound
        | cluster::ErrorKind::Interrupted => None,
    };
    let error = Error::new(kind, error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_with_a_cluster_is_a_usage_error() {
        let args = SourceArgs {
            now: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            ..SourceArgs::default()
        };
        let Err(error) = collect(&args) else {
            panic!("--now with a cluster was accepted");
        };
        assert_eq!(error.kind, ErrorKind::Usage);
        assert_eq!(
            error.lines(),
            ["error: --now needs --from: with a cluster, now is the API server's time"]
        );
    }

    #[test]
    fn a_cluster_beside_files_is_a_usage_error() {
        let mut args = SourceArgs {
            from: vec!["/nonexistent/velero.yaml".into()],
            cluster: ClusterArgs {
                context: Some("prod".to_owned()),
                as_groups: vec!["g".to_owned()],
                ..ClusterArgs::default()
            },
            ..SourceArgs::default()
        };
        let Err(error) = collect(&args) else {
            panic!("a context was accepted beside files");
        };
        assert_eq!(error.kind, ErrorKind::Usage);
        assert_eq!(
            error.lines().first().map(String::as_str),
            Some(
                "error: --context, --as-group say which cluster to read, and as whom; --from reads none"
            )
        );
        // A time limit misleads nobody: it has nothing to limit.
        args.cluster = ClusterArgs {
            request_timeout: Some(Limit::None),
            ..ClusterArgs::default()
        };
        assert!(check_no_cluster(&args.cluster).is_ok());
    }

    #[test]
    fn follow_ups_name_the_server_and_the_user_and_no_credential() {
        let args = ClusterArgs {
            server: Some("https://me:secret@10.0.0.1:6443/k8s".to_owned()),
            cluster: Some("c".to_owned()),
            user: Some("u".to_owned()),
            as_user: Some("alice".to_owned()),
            as_groups: vec!["g1".to_owned(), "g2".to_owned()],
            token: Some("secret".to_owned()),
            insecure_skip_tls_verify: Some(true),
            ..ClusterArgs::default()
        };
        assert_eq!(
            pinned_flags(&args).join(" "),
            "--cluster c --user u --server https://10.0.0.1:6443/k8s --as alice --as-group g1 \
             --as-group g2 --insecure-skip-tls-verify=true"
        );
    }

    #[test]
    fn a_path_that_is_not_there_is_told_with_what_can_be_read() {
        let args = SourceArgs {
            from: vec!["/nonexistent/velero.yaml".into()],
            ..SourceArgs::default()
        };
        let Err(error) = collect(&args) else {
            panic!("a path that is not there was read");
        };
        assert_eq!(error.kind, ErrorKind::CouldNotAnswer);
        insta::assert_snapshot!(error.lines().join("\n"), @r"
        error: read /nonexistent/velero.yaml: No such file or directory (os error 2)
        hint: --from takes a file, a folder or a .tar.gz of YAML or JSON objects, or - for standard input
        ");
    }
}
