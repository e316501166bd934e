//! Which ConfigMaps are worth keeping.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Capture, Item, Outcome, ResourceKind};

/// The flags of the node-agent and the server that name a ConfigMap
/// (Velero v1.17.2, `pkg/cmd/cli/nodeagent/server.go`).
const FLAGS: [&str; 2] = ["node-agent-configmap", "backup-repository-configmap"];

/// The fixed name that Velero 1.13 and 1.14 look for (v1.13.2, `pkg/nodeagent/node_agent.go`).
const FIXED_NAME: &str = "node-agent-config";

/// The key that tells a node-agent configuration, whatever the ConfigMap is called.
const TELLING_KEY: &str = "loadConcurrency";

impl Capture {
    /// Drops the ConfigMaps that no agent reads, so that they are not written to disk. Kept are those
    /// that a flag of a pod or DaemonSet names, those called `node-agent-config`, and those whose data
    /// holds the text `loadConcurrency`. The listings stay: what they tell about completeness holds for
    /// the ConfigMaps that matter.
    pub fn retain_relevant_config_maps(&mut self) {
        let named = self.named_by_flags();
        let mut listings = std::mem::take(&mut self.listings);
        for listing in &mut listings {
            if listing.resource == ResourceKind::ConfigMap {
                match &mut listing.outcome {
                    Outcome::Listed(items) | Outcome::Cut { items, .. } => {
                        items.retain(|item| is_relevant(self.json(item), &named));
                    }
                    Outcome::Refused { .. } => {}
                }
            }
        }
        self.listings = listings;
    }

    /// Returns namespace and name of each ConfigMap that a flag names.
    fn named_by_flags(&self) -> BTreeSet<(String, String)> {
        self.items_of(ResourceKind::Pod)
            .map(|item| pod_flags(self.json(item)))
            .chain(
                self.items_of(ResourceKind::DaemonSet)
                    .map(|item| daemon_set_flags(self.json(item))),
            )
            .flatten()
            .collect()
    }

    fn items_of(&self, resource: ResourceKind) -> impl Iterator<Item = &Item> {
        self.listings
            .iter()
            .filter(move |listing| listing.resource == resource)
            .flat_map(|listing| listing.outcome.items())
    }
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ConfigMap<'a> {
    #[serde(borrow, default)]
    metadata: Meta<'a>,
    #[serde(borrow, default)]
    data: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
}

fn is_relevant(json: &str, named: &BTreeSet<(String, String)>) -> bool {
    // One that cannot be decoded may be the one that matters: the reader will say what is wrong with it.
    let Ok(map) = serde_json::from_str::<ConfigMap<'_>>(json) else {
        return json.contains(TELLING_KEY) || json.contains(FIXED_NAME);
    };
    let key = (
        map.metadata.namespace.into_owned(),
        map.metadata.name.into_owned(),
    );
    key.1 == FIXED_NAME
        || named.contains(&key)
        || map
            .data
            .is_some_and(|data| data.values().any(|value| value.contains(TELLING_KEY)))
}

#[derive(Default, Deserialize)]
struct PodSpec {
    #[serde(default)]
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    #[serde(default)]
    command: Option<Vec<String>>,
    #[serde(default)]
    args: Option<Vec<String>>,
}

fn pod_flags(json: &str) -> Vec<(String, String)> {
    #[derive(Deserialize)]
    struct Pod<'a> {
        #[serde(borrow, default)]
        metadata: Meta<'a>,
        #[serde(default)]
        spec: PodSpec,
    }
    serde_json::from_str::<Pod<'_>>(json)
        .map(|pod| flags(&pod.metadata.namespace, &pod.spec))
        .unwrap_or_default()
}

fn daemon_set_flags(json: &str) -> Vec<(String, String)> {
    #[derive(Deserialize)]
    struct DaemonSet<'a> {
        #[serde(borrow, default)]
        metadata: Meta<'a>,
        #[serde(default)]
        spec: DaemonSetSpec,
    }
    #[derive(Default, Deserialize)]
    struct DaemonSetSpec {
        #[serde(default)]
        template: Template,
    }
    #[derive(Default, Deserialize)]
    struct Template {
        #[serde(default)]
        spec: PodSpec,
    }
    serde_json::from_str::<DaemonSet<'_>>(json)
        .map(|set| flags(&set.metadata.namespace, &set.spec.template.spec))
        .unwrap_or_default()
}

/// Returns what the flags of a pod name. A shell's `-c "velero … --flag x"` is taken apart as well.
fn flags(namespace: &str, spec: &PodSpec) -> Vec<(String, String)> {
    let mut named = Vec::new();
    for container in &spec.containers {
        let mut words = [&container.command, &container.args]
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|text| text.split_whitespace());
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--") else {
                continue;
            };
            let (flag, value) = flag
                .split_once('=')
                .map_or((flag, None), |(flag, value)| (flag, Some(value)));
            if FLAGS.contains(&flag)
                && let Some(name) = value.or_else(|| words.next())
            {
                named.push((namespace.to_owned(), name.to_owned()));
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use crate::capture::format;

    fn names_kept(agent: &str, config_maps: &str) -> Vec<String> {
        let text = format!(
            r#"{{"apiVersion":"velero-slots/v1","kind":"Capture","formatVersion":1,"manifest":{{}},"listings":[
            {agent},
            {{"resource":"configmaps","scope":{{"type":"cluster"}},"items":[{config_maps}]}}]}}"#
        );
        let mut capture = format::read(text, "test").unwrap();
        capture.retain_relevant_config_maps();
        let listing = &capture.listings[1];
        listing
            .outcome
            .items()
            .iter()
            .map(|item| {
                let value: serde_json::Value = serde_json::from_str(capture.json(item)).unwrap();
                value["metadata"]["name"].as_str().unwrap().to_owned()
            })
            .collect()
    }

    const MAPS: &str = r#"
        {"metadata":{"name":"node-agent-config","namespace":"velero"},"data":{}},
        {"metadata":{"name":"named","namespace":"velero"},"data":{"a":"b"}},
        {"metadata":{"name":"named","namespace":"elsewhere"},"data":{"a":"b"}},
        {"metadata":{"name":"repo","namespace":"velero"}},
        {"metadata":{"name":"dpa","namespace":"velero"},"data":{"x":"{\"loadConcurrency\":{}}"}},
        {"metadata":{"name":"kube-root-ca.crt","namespace":"velero"},"data":{"ca.crt":"x"}}"#;

    #[test]
    fn only_config_maps_that_an_agent_reads_are_kept() {
        let pods = r#"{"resource":"pods","scope":{"type":"cluster"},"items":[{"metadata":{"namespace":"velero"},
            "spec":{"containers":[{"command":["/velero"],"args":["node-agent","server",
            "--node-agent-configmap=named","--backup-repository-configmap","repo"]}]}}]}"#;
        assert_eq!(
            names_kept(pods, MAPS),
            ["node-agent-config", "named", "repo", "dpa"]
        );
    }

    #[test]
    fn flags_of_a_daemon_set_count_also_within_a_shell_command() {
        let sets = r#"{"resource":"daemonsets","group":"apps","scope":{"type":"cluster"},"items":[
            {"metadata":{"namespace":"velero"},"spec":{"template":{"spec":{"containers":[
            {"command":["sh","-c","velero node-agent server --node-agent-configmap named"],"args":null}]}}}}]}"#;
        assert_eq!(
            names_kept(sets, MAPS),
            ["node-agent-config", "named", "dpa"]
        );
    }

    #[test]
    fn an_undecodable_config_map_is_kept_if_it_looks_like_the_one() {
        let none = r#"{"resource":"pods","scope":{"type":"cluster"},"items":[]}"#;
        let maps = r#"{"metadata":{"name":"odd"},"data":{"loadConcurrency":5}},{"metadata":{"name":"other"},"data":7}"#;
        assert_eq!(names_kept(none, maps), ["odd"]);
    }
}
