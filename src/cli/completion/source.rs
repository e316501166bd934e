//! What the line says so far about where to read from, and a glance at it.

use std::path::Path;
use std::time::Duration;

use clap::{CommandFactory as _, Parser};

use super::super::args::SourceArgs;
use super::super::source::{self, cluster_flags};
use super::answer::Candidate;
use super::seen::Seen;
use super::words::Line;
use crate::capture::{Capture, ResourceKind};
use crate::collect::cluster::{self, Cluster, CollectOptions, SizeLimits};
use crate::collect::kubectl_compat::{Environment, KubeconfigNames, kubeconfig_names};
use crate::snapshot::{self, ReadOptions};
use crate::velero::TaskKind;

/// The source flags of a line that is being typed.
#[derive(Debug, Default, Parser)]
#[command(no_binary_name = true, args_override_self = true)]
pub(super) struct Typed {
    #[command(flatten)]
    source: SourceArgs,
}

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readings {
    /// All that says how nodes and tasks stand.
    All,
    /// The tasks of Backups.
    Backups,
    /// The tasks of Restores.
    Restores,
}

impl Readings {
    /// Returns the lists that are asked for. Eight at most, where a diagnosis asks for twelve and more: what says how
    /// slots are held, and nothing of what the tasks name elsewhere.
    const fn resources(self) -> &'static [ResourceKind] {
        match self {
            Self::All => &[
                ResourceKind::Task(TaskKind::DataUpload),
                ResourceKind::Task(TaskKind::PodVolumeBackup),
                ResourceKind::Task(TaskKind::DataDownload),
                ResourceKind::Task(TaskKind::PodVolumeRestore),
                ResourceKind::Pod,
                ResourceKind::Node,
                ResourceKind::DaemonSet,
                ResourceKind::ConfigMap,
            ],
            Self::Backups => &[
                ResourceKind::Task(TaskKind::DataUpload),
                ResourceKind::Task(TaskKind::PodVolumeBackup),
            ],
            Self::Restores => &[
                ResourceKind::Task(TaskKind::DataDownload),
                ResourceKind::Task(TaskKind::PodVolumeRestore),
            ],
        }
    }
}

impl Typed {
    /// Reads the flags of a line. A flag whose value is wrong is left out: it will be told when the line is run.
    pub(super) fn of(line: &Line<'_>) -> Self {
        let known = Self::command();
        let mut words: Vec<String> = Vec::new();
        for typed in &line.typed {
            // How long a command may take says nothing about how long a shell may.
            let is_source = known.get_arguments().any(|arg| {
                arg.get_id() == typed.arg.get_id()
                    && !matches!(arg.get_id().as_str(), "timeout" | "request_timeout")
            });
            let Some(long) = typed.arg.get_long().filter(|_| is_source) else {
                continue;
            };
            let word = match typed.value {
                Some(value) => format!("--{long}={value}"),
                None => format!("--{long}"),
            };
            if Self::try_parse_from([&word]).is_ok() {
                words.push(word);
            }
        }
        Self::try_parse_from(&words).unwrap_or_default()
    }

    /// Returns what the kubeconfig names.
    pub(super) fn kubeconfig(&self) -> Option<KubeconfigNames> {
        let flags = cluster_flags(&self.source.cluster, None);
        kubeconfig_names(&flags, &Environment::of_process()).ok()
    }

    /// Returns the namespaces, those that hold Velero first. In files there is one, and it is found without being
    /// named.
    pub(super) fn namespaces(&self, limit: Duration) -> Vec<Candidate> {
        if !self.source.from.is_empty() {
            return Vec::new();
        }
        let found = self.with_cluster(async |cluster| cluster.namespaces(&options(limit)).await);
        let found = found.unwrap_or_default();
        let of_velero = found
            .of_velero
            .iter()
            .map(|name| Candidate::new(name.clone(), "a node-agent runs here"));
        let others = found
            .all
            .difference(&found.of_velero)
            .map(|name| Candidate::new(name.clone(), ""));
        of_velero.chain(others).collect()
    }

    /// Looks at the source: files, else the cluster.
    pub(super) fn read(&self, limit: Duration, readings: Readings) -> Option<Seen> {
        if self.source.from.is_empty() {
            let (capture, namespace) = self.with_cluster(async |cluster| {
                cluster.glance(readings.resources(), &options(limit)).await
            })?;
            return Some(see(capture, namespace));
        }
        // Standard input is the terminal's here.
        if (self.source.from.iter()).any(|path| path == Path::new("-")) {
            return None;
        }
        let read = source::read(&self.source).ok()?;
        Some(Seen::of(&read.snapshot))
    }

    fn with_cluster<T>(&self, work: impl AsyncFnOnce(&Cluster) -> T) -> Option<T> {
        let flags = cluster_flags(&self.source.cluster, self.source.namespace.as_ref());
        let environment = Environment::of_process();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        let done = runtime.block_on(async {
            let cluster = cluster::connect_without_login(&flags, &environment)
                .await
                .ok()?;
            Some(work(&cluster).await)
        });
        // A name server that hangs must not keep the answer.
        runtime.shutdown_background();
        done
    }
}

fn see(capture: Capture, namespace: String) -> Seen {
    let options = ReadOptions {
        namespace,
        now: None,
    };
    Seen::of(&snapshot::read_owned(capture, &options))
}

/// Leaves a quarter of the time for what comes before and after the reading, and takes no more than can be told of.
fn options(limit: Duration) -> CollectOptions {
    let time_limit = limit.mul_f32(0.75);
    // A page holds 500 objects.
    let sizes = SizeLimits {
        page_bytes: 16 << 20,
        total_bytes: 32 << 20,
        pages: 2,
    };
    CollectOptions {
        time_limit,
        request_timeout: time_limit,
        sizes,
        ..CollectOptions::default()
    }
}
