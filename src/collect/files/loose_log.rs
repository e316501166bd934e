//! Logs that lie beside objects without a folder that tells whose they are: what people save with
//! `kubectl logs`. They are joined to a pod of the input by the name of the file, or by the node that their
//! lines name; what cannot be joined is told.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::capture::{Cut, LogFile, Previous};

/// A log and what its file is called.
#[derive(Debug)]
pub(super) struct LooseLog {
    /// The file, as messages name it.
    pub(super) shown: String,
    /// Its folders and its name.
    pub(super) path: Vec<String>,
    pub(super) cut: Cut,
    pub(super) body: String,
}

/// What a log is joined by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KnownPod {
    namespace: String,
    name: String,
    node: String,
    containers: Vec<String>,
    /// The container that `kubectl logs` takes where none is named.
    default_container: String,
}

#[derive(Deserialize)]
struct PodWire {
    metadata: MetaWire,
    #[serde(default)]
    spec: SpecWire,
}

#[derive(Deserialize)]
struct MetaWire {
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpecWire {
    node_name: Option<String>,
    containers: Vec<ContainerWire>,
    init_containers: Option<Vec<ContainerWire>>,
}

#[derive(Deserialize)]
struct ContainerWire {
    name: String,
}

impl KnownPod {
    /// Reads what is needed of a pod; `None` if it is not there.
    pub(super) fn of_json(json: &str) -> Option<Self> {
        let pod: PodWire = serde_json::from_str(json).ok()?;
        let containers: Vec<String> = pod
            .spec
            .containers
            .into_iter()
            .chain(pod.spec.init_containers.into_iter().flatten())
            .map(|container| container.name)
            .collect();
        let default_container = pod
            .metadata
            .annotations
            .and_then(|mut all| all.remove("kubectl.kubernetes.io/default-container"))
            .filter(|name| containers.contains(name))
            .or_else(|| containers.first().cloned())
            .unwrap_or_default();
        Some(Self {
            namespace: pod.metadata.namespace,
            name: pod.metadata.name,
            node: pod.spec.node_name.unwrap_or_default(),
            containers,
            default_container,
        })
    }

    /// Velero's names for the agent's container (v1.18.2 `pkg/nodeagent/node_agent.go`).
    fn is_agent(&self) -> bool {
        self.containers
            .iter()
            .any(|name| name == "node-agent" || name == "node-agent-windows")
    }
}

/// The pods of the input, by name.
pub(super) struct KnownPods {
    by_name: BTreeMap<String, Vec<KnownPod>>,
}

impl KnownPods {
    pub(super) fn new(pods: impl IntoIterator<Item = KnownPod>) -> Self {
        let mut by_name: BTreeMap<String, Vec<KnownPod>> = BTreeMap::new();
        for pod in pods {
            by_name.entry(pod.name.clone()).or_default().push(pod);
        }
        Self { by_name }
    }

    fn all(&self) -> impl Iterator<Item = &KnownPod> {
        self.by_name.values().flatten()
    }
}

/// Joins a log to the pod, or the pods, that wrote it.
///
/// # Errors
///
/// Why it cannot be joined, as a sentence.
pub(super) fn join(log: LooseLog, pods: &KnownPods) -> Result<Vec<LogFile>, String> {
    if log.body.lines().any(|line| prefix(line).is_some()) {
        return by_prefix(&log, pods);
    }
    let previous = if is_previous(&log.path) {
        Previous::Yes
    } else {
        Previous::No
    };
    let (pod, container) = match by_name(&log.path, pods)? {
        Some((pod, container)) => {
            another_node(&log, pod)?;
            (pod, container)
        }
        None => by_node(&log, pods)?,
    };
    Ok(vec![LogFile {
        namespace: pod.namespace.clone(),
        pod: pod.name.clone(),
        container,
        previous,
        cut: log.cut,
        body: log.body,
    }])
}

fn is_previous(path: &[String]) -> bool {
    path.last().is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        words(&name).any(|word| word == "previous")
    })
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', '_', '-', ' '])
}

/// Finds the pod that a file or one of its folders is named after, nearest first.
fn by_name<'p>(
    path: &[String],
    pods: &'p KnownPods,
) -> Result<Option<(&'p KnownPod, String)>, String> {
    for name in path.iter().rev() {
        let Some((candidates, before, after)) = named_in(name, pods) else {
            continue;
        };
        let is_told = |pod: &&KnownPod| {
            let names_namespace =
                |text: &str| text == pod.namespace || words(text).any(|word| word == pod.namespace);
            names_namespace(before.trim_matches(['_', '.', '-'])) || path.contains(&pod.namespace)
        };
        let pod = match candidates {
            [only] => only,
            several => {
                let mut told = several.iter().filter(is_told);
                match (told.next(), told.next()) {
                    (Some(only), None) => only,
                    (Some(_) | None, Some(_) | None) => {
                        return Err(format!(
                            "pods of several namespaces are called {}, and its name does not tell which",
                            several.first().map_or("", |pod| pod.name.as_str())
                        ));
                    }
                }
            }
        };
        let container = pod
            .containers
            .iter()
            .find(|container| {
                after
                    .trim_start_matches(['_', '.', '-', '/'])
                    .strip_prefix(container.as_str())
                    .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
            })
            .unwrap_or(&pod.default_container);
        return Ok(Some((pod, container.clone())));
    }
    Ok(None)
}

/// How many places in a name are tried for a pod's: names have at most 253 characters, and few of them are
/// separators.
const MOST_PLACES: usize = 40;

/// Finds the longest name of a pod in a text, whole words only; with it what stands before and after.
fn named_in<'n, 'p>(
    text: &'n str,
    pods: &'p KnownPods,
) -> Option<(&'p [KnownPod], &'n str, &'n str)> {
    let separators: Vec<usize> = text
        .match_indices(['.', '_', '-', ' '])
        .map(|(at, _)| at)
        .take(MOST_PLACES)
        .collect();
    let starts = [0]
        .into_iter()
        .chain(separators.iter().map(|at| at.saturating_add(1)));
    let mut best: Option<(&'p [KnownPod], &'n str, &'n str, usize)> = None;
    for start in starts {
        for end in separators.iter().copied().chain([text.len()]) {
            let Some(name) = text.get(start..end).filter(|name| !name.is_empty()) else {
                continue;
            };
            if best.is_some_and(|(.., length)| length >= name.len()) {
                continue;
            }
            if let Some(found) = pods.by_name.get(name) {
                let before = text.get(..start).unwrap_or_default();
                let after = text.get(end..).unwrap_or_default();
                best = Some((found.as_slice(), before, after, name.len()));
            }
        }
    }
    best.map(|(found, before, after, _)| (found, before, after))
}

/// Refuses a log of an agent whose lines name a node that is not the agent's: the file has a wrong name, or holds
/// the logs of several agents.
fn another_node(log: &LooseLog, pod: &KnownPod) -> Result<(), String> {
    if !pod.is_agent() || pod.node.is_empty() {
        return Ok(());
    }
    match log
        .body
        .lines()
        .filter_map(node_of)
        .find(|node| *node != pod.node)
    {
        Some(node) => Err(format!(
            "it is named after {}, which is on {}, and its lines name {node}",
            pod.name, pod.node
        )),
        None => Ok(()),
    }
}

/// Finds the one node-agent of the node that the lines of a log name.
fn by_node<'p>(log: &LooseLog, pods: &'p KnownPods) -> Result<(&'p KnownPod, String), String> {
    let nodes: BTreeSet<&str> = log.body.lines().filter_map(node_of).collect();
    if nodes.len() > 1 {
        return Err(format!(
            "its name is no pod's, and its lines are those of agents of several nodes ({})",
            nodes.into_iter().take(3).collect::<Vec<_>>().join(", ")
        ));
    }
    let mut agents = pods
        .all()
        .filter(|pod| pod.is_agent() && nodes.contains(pod.node.as_str()));
    match (agents.next(), agents.next()) {
        (Some(agent), None) => {
            let container = agent
                .containers
                .iter()
                .find(|name| name.starts_with("node-agent"))
                .unwrap_or(&agent.default_container);
            Ok((agent, container.clone()))
        }
        (Some(_), Some(_)) => Err(format!(
            "its name is no pod's, and node-agents of several pods are on the nodes that its lines name ({})",
            nodes.into_iter().take(3).collect::<Vec<_>>().join(", ")
        )),
        (None, _) if nodes.is_empty() => Err(
            "its name holds no name of a pod of the input, and none of its lines names the node"
                .to_owned(),
        ),
        (None, _) => Err(format!(
            "its name holds no name of a pod of the input, and the input has no node-agent on {}",
            nodes.into_iter().take(3).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// Returns the node of the agent that wrote a line, where it says so: "… should be processed by A (NODE)"
/// (v1.17 on, `pkg/controller`), "… for node NODE" when it reads its limit (v1.13 on,
/// `pkg/cmd/cli/nodeagent/server.go`).
fn node_of(line: &str) -> Option<&str> {
    const PROCESSED: &str = " and should be processed by ";
    let end = |text: &'_ str| {
        text.find(|at: char| !(at.is_alphanumeric() || at == '-' || at == '.'))
            .unwrap_or(text.len())
    };
    let found = if let Some(at) = line.find(PROCESSED) {
        let rest = line.get(at.saturating_add(PROCESSED.len())..)?;
        let (_, rest) = rest.split_once('(')?;
        rest.get(..end(rest))?
    } else if line.contains("number ") {
        let (_, rest) = line.rsplit_once(" for node ")?;
        rest.get(..end(rest))?
    } else {
        return None;
    };
    (!found.is_empty()).then_some(found)
}

/// Takes `[pod/NAME/CONTAINER] ` off a line, which `kubectl logs --prefix` puts before it.
fn prefix(line: &str) -> Option<(&str, &str, &str)> {
    let (names, rest) = line.strip_prefix("[pod/")?.split_once("] ")?;
    let (pod, container) = names.split_once('/')?;
    Some((pod, container, rest))
}

/// Takes apart the logs of several pods whose lines say whose they are. A line without such words belongs to
/// the one before it.
fn by_prefix(log: &LooseLog, pods: &KnownPods) -> Result<Vec<LogFile>, String> {
    let mut bodies: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let mut current = None;
    for line in log.body.lines() {
        let text = match prefix(line) {
            Some((pod, container, text)) => {
                current = Some((pod, container));
                text
            }
            None => line,
        };
        if let Some(whose) = current {
            let body = bodies.entry(whose).or_default();
            body.push_str(text);
            body.push('\n');
        }
    }
    let mut logs = Vec::new();
    let mut unknown = BTreeSet::new();
    for ((name, container), body) in bodies {
        match pods.by_name.get(name).map(Vec::as_slice) {
            Some([pod]) => logs.push(LogFile {
                namespace: pod.namespace.clone(),
                pod: name.to_owned(),
                container: container.to_owned(),
                previous: Previous::No,
                cut: log.cut,
                body,
            }),
            Some(_) | None => {
                unknown.insert(name);
            }
        }
    }
    if logs.is_empty() {
        return Err(format!(
            "the pods that its lines name are not in the input ({})",
            unknown.into_iter().take(3).collect::<Vec<_>>().join(", ")
        ));
    }
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::{KnownPod, KnownPods, LooseLog, join};
    use crate::capture::{Cut, Previous};

    fn pods() -> KnownPods {
        let pod = |namespace: &str, name: &str, node: &str, containers: &str| {
            KnownPod::of_json(&format!(
                r#"{{"metadata":{{"namespace":"{namespace}","name":"{name}"}},
                "spec":{{"nodeName":"{node}","containers":[{containers}]}}}}"#
            ))
            .unwrap()
        };
        KnownPods::new([
            pod(
                "velero",
                "node-agent-x7k2p",
                "node-a",
                r#"{"name":"node-agent"},{"name":"sidecar"}"#,
            ),
            pod(
                "velero",
                "node-agent-b2b2b",
                "node-b",
                r#"{"name":"node-agent"}"#,
            ),
            pod("velero", "db-0", "node-a", r#"{"name":"db"}"#),
            pod("shop", "db-0", "node-b", r#"{"name":"db"}"#),
            pod("shop", "db", "node-b", r#"{"name":"x"}"#),
        ])
    }

    fn joined(path: &str, body: &str) -> Result<Vec<String>, String> {
        let log = LooseLog {
            shown: path.to_owned(),
            path: path.split('/').map(str::to_owned).collect(),
            cut: Cut::Whole,
            body: body.to_owned(),
        };
        let logs = join(log, &pods())?;
        Ok(logs
            .into_iter()
            .map(|log| {
                let previous = match log.previous {
                    Previous::Yes => " previous",
                    Previous::No => "",
                };
                format!("{}/{}/{}{previous}", log.namespace, log.pod, log.container)
            })
            .collect())
    }

    #[test]
    fn a_log_is_joined_to_the_pod_that_its_file_is_named_after() {
        for (path, whose) in [
            ("node-agent-x7k2p.log", "velero/node-agent-x7k2p/node-agent"),
            (
                "a/node-agent-x7k2p_node-agent.log",
                "velero/node-agent-x7k2p/node-agent",
            ),
            (
                "node-agent-x7k2p_sidecar.log.gz",
                "velero/node-agent-x7k2p/sidecar",
            ),
            (
                "velero_node-agent-x7k2p-node-agent.log",
                "velero/node-agent-x7k2p/node-agent",
            ),
            (
                "node-agent-x7k2p.previous.log",
                "velero/node-agent-x7k2p/node-agent previous",
            ),
            (
                "node-agent-x7k2p-previous.log",
                "velero/node-agent-x7k2p/node-agent previous",
            ),
            (
                "namespaces/velero/logs/node-agent-x7k2p/previous.log",
                "velero/node-agent-x7k2p/node-agent previous",
            ),
            ("shop_db-0.log", "shop/db-0/db"),
            ("shop/db-0.log", "shop/db-0/db"),
            (
                "logs of node-agent-x7k2p.log",
                "velero/node-agent-x7k2p/node-agent",
            ),
        ] {
            assert_eq!(joined(path, "x\n"), Ok(vec![whose.to_owned()]), "{path}");
        }
    }

    #[test]
    fn a_name_that_several_pods_have_is_told_and_joined_to_none() {
        assert_eq!(
            joined("db-0.log", "x\n").unwrap_err(),
            "pods of several namespaces are called db-0, and its name does not tell which"
        );
    }

    #[test]
    fn a_log_without_a_name_is_joined_by_the_node_that_its_lines_name() {
        for line in [
            "level=info msg=\"Data upload is prepared and should be processed by node-c (node-a)\" x=y",
            "level=info msg=\"Use the per node number 1 over global number 3 for node node-a\"",
        ] {
            assert_eq!(
                joined("agent.log", line),
                Ok(vec!["velero/node-agent-x7k2p/node-agent".to_owned()]),
                "{line}"
            );
        }
        assert_eq!(
            joined("agent.log", "msg=\"… number 1 for node node-z\"").unwrap_err(),
            "its name holds no name of a pod of the input, and the input has no node-agent on node-z"
        );
        assert_eq!(
            joined("agent.log", "nothing").unwrap_err(),
            "its name holds no name of a pod of the input, and none of its lines names the node"
        );
        let both = "number 1 for node node-a\nnumber 1 for node node-b";
        assert!(
            joined("x.log", both)
                .unwrap_err()
                .contains("node-a, node-b")
        );
    }

    #[test]
    fn a_log_that_names_another_node_than_its_pods_is_refused() {
        let wrong = "msg=\"Data upload is prepared and should be processed by node-b (node-b)\"";
        assert_eq!(
            joined("node-agent-x7k2p.log", wrong).unwrap_err(),
            "it is named after node-agent-x7k2p, which is on node-a, and its lines name node-b"
        );
        let right = "msg=\"Data upload is prepared and should be processed by node-b (node-a)\"";
        assert!(joined("node-agent-x7k2p.log", right).is_ok());
        let gone = "number 1 for node node-a\nnumber 1 for node node-z";
        assert_eq!(
            joined("x.log", gone).unwrap_err(),
            "its name is no pod's, and its lines are those of agents of several nodes (node-a, node-z)"
        );
    }

    #[test]
    fn lines_that_say_whose_they_are_are_taken_apart() {
        let body = "[pod/node-agent-x7k2p/node-agent] one\n[pod/node-agent-b2b2b/node-agent] two\ngoroutine 1\n\
            [pod/gone/node-agent] three\n";
        assert_eq!(
            joined("all.log", body).unwrap(),
            [
                "velero/node-agent-b2b2b/node-agent",
                "velero/node-agent-x7k2p/node-agent"
            ]
        );
        assert_eq!(
            joined("all.log", "[pod/gone/node-agent] three\n").unwrap_err(),
            "the pods that its lines name are not in the input (gone)"
        );
    }
}
