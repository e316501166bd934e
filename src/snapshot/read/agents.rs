//! Node-agent pods: which pods they are, their version, their arguments, and their log.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::log_evidence::{self, LogStart};
use super::super::{AgentMetrics, LogEvidence, metrics};
use super::super::{
    Container, ContainerState, DaemonSet, Exposing, Gap, GapReason, IsNodeAgent, NodeAgent,
    Observed, Pod, ProfileBasis, ResourceKind, StartLog, Task,
};
use super::log_faults;
use super::notes::{Notes, Who};
use super::start_log::start_log;
use super::wire::ContainerSpec;
use crate::capture::{LogFile, MetricsPage, Previous};
use crate::velero::{
    DEFAULT_PREPARE_TIMEOUT_SECONDS, FieldEvidence, Known, Phase, Profile, TaskKind, TaskRef,
    VeleroVersion,
};

/// DaemonSet, container and label value of the agent (v1.18.2 `pkg/nodeagent/node_agent.go`).
const NAMES: [&str; 2] = ["node-agent", "node-agent-windows"];

/// A pod of Velero's namespace that may be a node-agent, with what only agents need of its spec.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) pod: Pod,
    pub(super) containers: Vec<ContainerSpec<'static>>,
}

impl Candidate {
    /// Returns whether the pod is a node-agent: by Velero's labels, by its DaemonSet, or by the names
    /// that every chart and operator gives pod and container.
    pub(super) fn is_agent(&self, daemon_sets: &BTreeMap<String, DaemonSet>) -> bool {
        let pod = &self.pod;
        if is_mover(pod) {
            return false;
        }
        let owner = pod
            .owner
            .as_ref()
            .filter(|(kind, _)| kind == "DaemonSet")
            .map(|(_, name)| name.as_str());
        has_agent_label(&|key| pod.labels.get(key).map(String::as_str))
            || owner.is_some_and(|name| {
                is_agent_name(name)
                    || daemon_sets
                        .get(name)
                        .is_some_and(|set| set.is_node_agent == IsNodeAgent::Yes)
            })
            || (pod.key.name.starts_with("node-agent-")
                && self
                    .containers
                    .iter()
                    .any(|container| NAMES.contains(&&*container.name)))
    }

    /// The agent's container: the one that carries its name, else the one that runs `node-agent`, else
    /// the first.
    fn container(&self) -> Option<&ContainerSpec<'static>> {
        let runs_agent = |container: &&ContainerSpec<'static>| {
            let words = container.words();
            words.iter().any(|word| word.contains("node-agent"))
                && words.iter().any(|word| word.contains("server"))
        };
        self.containers
            .iter()
            .find(|container| NAMES.contains(&&*container.name))
            .or_else(|| self.containers.iter().find(runs_agent))
            .or_else(|| self.containers.first())
    }
}

/// Returns whether a pod is a mover pod: it carries the label of one of the task kinds.
pub(super) fn is_mover(pod: &Pod) -> bool {
    TaskKind::ALL
        .iter()
        .any(|kind| pod.labels.contains_key(kind.mover_label()))
}

/// Returns whether labels are those of the node-agent (v1.16.0 pkg/install/daemonset.go: `role` beside
/// `name`; `role` alone is a word that others use too).
pub(super) fn has_agent_label<'l>(value: &dyn Fn(&str) -> Option<&'l str>) -> bool {
    value("name").is_some_and(|name| NAMES.contains(&name))
        || (value("role") == Some("node-agent") && value("component") == Some("velero"))
}

/// Returns whether the name of a DaemonSet is the node-agent's.
pub(super) fn is_agent_name(name: &str) -> bool {
    name.starts_with("node-agent")
}

/// Returns the value of a flag, written `--flag=value` or `--flag value`; the last one counts.
pub(crate) fn flag<'w>(words: &'w [String], name: &str) -> Option<&'w str> {
    // `sh -c "velero node-agent server --flag=value"` is one word for Kubernetes.
    let mut words = words.iter().flat_map(|word| word.split_whitespace());
    let mut found = None;
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix(name) else {
            continue;
        };
        if rest.is_empty() {
            found = words.next();
        } else if let Some(value) = rest.strip_prefix('=') {
            found = Some(value);
        }
    }
    found.map(|value| value.trim_matches(['"', '\'']))
}

/// Makes node-agents of their pods.
pub(super) fn agents(
    notes: &mut Notes,
    candidates: Vec<Candidate>,
    traces: (&[LogFile], &[MetricsPage]),
    tasks: &BTreeMap<TaskRef, Task>,
) -> Vec<NodeAgent> {
    let evidence = evidence(tasks);
    let mut agents: Vec<NodeAgent> = candidates
        .into_iter()
        .map(|candidate| notes.agent(candidate, traces, evidence))
        .collect();
    agents.sort_by(|a, b| (a.node(), &a.pod.key.name).cmp(&(b.node(), &b.pod.key.name)));
    agents
}

impl Notes {
    fn agent(
        &mut self,
        candidate: Candidate,
        (logs, metrics): (&[LogFile], &[MetricsPage]),
        evidence: FieldEvidence,
    ) -> NodeAgent {
        let spec = candidate.container();
        let container = spec.map_or_else(|| "node-agent".to_owned(), |spec| spec.name.owned());
        let words = spec.map(ContainerSpec::words).unwrap_or_default();
        let image = spec.map_or_else(String::new, |spec| spec.image.owned());
        let pod = candidate.pod;
        let who = Who {
            resource: ResourceKind::Pod,
            namespace: &pod.key.namespace,
            name: &pod.key.name,
        };
        let started_at = pod
            .containers
            .iter()
            .find(|status| status.name == container)
            .and_then(running_since);
        let log = self.log_of(&pod, &container, logs, started_at);
        let log_evidence = self.evidence_of(&pod, &container, logs, started_at);
        let previous_evidence = find_log(&pod, &container, logs, Previous::Yes)
            .and_then(|log| log_evidence::read(log, None));
        let metrics = metrics_of(&pod, metrics, started_at);
        if metrics.as_ref().is_some_and(|metrics| metrics.cut > 0) {
            self.gap(Gap::new(
                "metrics",
                GapReason::Partial,
                &format!(
                    "a page of metrics of {who} is cut: it ends before all that is read of it"
                ),
                "what the rest would count is not known, and who asks for a slot is not told by it",
            ));
        }
        let version = VeleroVersion::from_image(&image).or_else(|| {
            let said = log.as_ref()?.version.as_deref()?;
            VeleroVersion::parse(said)
        });
        let (profile, profile_basis) = self.profile(who, version.as_ref(), &image, evidence);
        let prepare_timeout_seconds = self.timeout(
            who,
            &words,
            "--data-mover-prepare-timeout",
            DEFAULT_PREPARE_TIMEOUT_SECONDS,
        );
        let owned_flag = |name| flag(&words, name).filter(|value| !value.is_empty());
        NodeAgent {
            version: version.map_or(Observed::Unknown(GapReason::Unsupported), Observed::Seen),
            profile,
            profile_basis,
            started_at,
            config_map_flag: owned_flag("--node-agent-configmap").map(str::to_owned),
            repository_config_map_flag: owned_flag("--backup-repository-configmap")
                .map(str::to_owned),
            prepare_timeout_seconds,
            container,
            log,
            evidence: log_evidence,
            previous_evidence,
            metrics,
            pod,
        }
    }

    fn profile(
        &mut self,
        who: Who<'_>,
        version: Option<&VeleroVersion>,
        image: &str,
        evidence: FieldEvidence,
    ) -> (Profile, ProfileBasis) {
        let why = match version.map(|version| (version, Profile::of(version))) {
            Some((_, Ok((profile, Known::Release)))) => return (profile, ProfileBasis::Release),
            Some((_, Ok((profile, Known::NewerThanKnown)))) => {
                return (profile, ProfileBasis::NewerThanKnown);
            }
            Some((version, Err(too_old))) => format!("{version}: {too_old}"),
            None => format!("image {image:?} names no version, and no log does"),
        };
        let profile = Profile::newest_allowed_by_fields(evidence);
        self.gap(Gap {
            resource: "version".to_owned(),
            reason: GapReason::Unsupported,
            message: format!("node-agent pod {who}: {why}"),
            effect: format!(
                "the rules of {} are assumed, the newest that the fields of the tasks allow; nothing is more than likely",
                profile.since
            ),
        });
        (profile, ProfileBasis::GuessedFromFields)
    }

    fn log_of(
        &mut self,
        pod: &Pod,
        container: &str,
        logs: &[LogFile],
        started_at: Option<Timestamp>,
    ) -> Option<StartLog> {
        let log = find_log(pod, container, logs, Previous::No)?;
        let start = start_log(&log.body, started_at);
        if start.is_none() {
            self.gap(Gap {
                resource: "log".to_owned(),
                reason: GapReason::Partial,
                message: format!(
                    "log of {}/{} is that of a process before the present one",
                    pod.key.namespace, pod.key.name
                ),
                effect: "nothing is read from it about the present start".to_owned(),
            });
        }
        start
    }

    /// What the log of the present process proves; says from when on, where it does not begin with the process.
    fn evidence_of(
        &mut self,
        pod: &Pod,
        container: &str,
        logs: &[LogFile],
        started_at: Option<Timestamp>,
    ) -> Option<LogEvidence> {
        let log = find_log(pod, container, logs, Previous::No)?;
        let Some(evidence) = log_evidence::read(log, started_at) else {
            if let Some(gap) = log_faults::no_log_of_velero(log) {
                self.gap(gap);
            }
            return None;
        };
        for gap in [
            log_faults::mostly_read_over(log, &evidence),
            log_faults::torn(log, &evidence),
        ]
        .into_iter()
        .flatten()
        {
            self.gap(gap);
        }
        if let (LogStart::Missing | LogStart::BeforeAGap, Some(from)) =
            (evidence.start, evidence.speaks_from)
        {
            let started = started_at.map_or_else(
                || "the process started before".to_owned(),
                |start| format!("the process started at {start}"),
            );
            self.gap(Gap {
                resource: "log".to_owned(),
                reason: GapReason::Partial,
                message: format!(
                    "log of {}/{} speaks from {from} on, {started}",
                    pod.key.namespace, pod.key.name
                ),
                effect: "who took a slot before that, and who gave one back, is not known from it"
                    .to_owned(),
            });
        }
        Some(evidence)
    }
}

/// The metrics of the present process. A process seems to start before its container: see the log's start.
fn metrics_of(
    pod: &Pod,
    pages: &[MetricsPage],
    started_at: Option<Timestamp>,
) -> Option<AgentMetrics> {
    const TOLERANCE_SECONDS: i64 = 10;
    let mine: Vec<&MetricsPage> = pages
        .iter()
        .filter(|page| page.namespace == pod.key.namespace && page.pod == pod.key.name)
        .collect();
    metrics::read(&mine).filter(|metrics| match (metrics.process_start, started_at) {
        (Some(process), Some(container)) => {
            container.duration_since(process).as_secs() <= TOLERANCE_SECONDS
        }
        (Some(_) | None, Some(_) | None) => true,
    })
}

fn find_log<'l>(
    pod: &Pod,
    container: &str,
    logs: &'l [LogFile],
    previous: Previous,
) -> Option<&'l LogFile> {
    logs.iter().find(|log| {
        log.namespace == pod.key.namespace
            && log.pod == pod.key.name
            && log.container == container
            && log.previous == previous
    })
}

fn running_since(container: &Container) -> Option<Timestamp> {
    match container.state {
        ContainerState::Running { started_at } => started_at,
        ContainerState::Waiting { .. } | ContainerState::Terminated(_) | ContainerState::None => {
            None
        }
    }
}

/// Returns the newest rules that the fields of tasks allow, for tasks without an agent of a known version.
pub(crate) fn rules_from_fields(tasks: &BTreeMap<TaskRef, Task>) -> Profile {
    Profile::newest_allowed_by_fields(evidence(tasks))
}

/// Returns the newest sign of a release that the fields of tasks show.
fn evidence(tasks: &BTreeMap<TaskRef, Task>) -> FieldEvidence {
    tasks
        .values()
        .map(evidence_of)
        .max()
        .unwrap_or(FieldEvidence::None)
}

fn evidence_of(task: &Task) -> FieldEvidence {
    let has_timestamp = task.accepted.is_some();
    if task.exposing == Exposing::Yes {
        return FieldEvidence::ExposeOnGoingLabel;
    }
    if has_timestamp && !task.reference.kind.is_data_movement() {
        return FieldEvidence::ExposeOnGoingLabel;
    }
    if has_timestamp && task.phase == Phase::Accepted {
        return FieldEvidence::AcceptedWithoutLabel;
    }
    if has_timestamp {
        return FieldEvidence::AcceptedTimestamp;
    }
    if task.accepted_annotation.is_some() {
        return FieldEvidence::AcceptedAtAnnotation;
    }
    if task.accepted_by.is_some() {
        return FieldEvidence::AcceptedByLabel;
    }
    FieldEvidence::None
}
