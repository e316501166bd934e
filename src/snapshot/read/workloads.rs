//! DaemonSets, the server's Deployment, and the ConfigMaps that agents read.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::{
    ConfigMap, DaemonSet, GapReason, HostNetwork, IsNodeAgent, ManagedFields, ResourceKind,
    Toleration,
};
use super::agents::{flag, has_agent_label, is_agent_name};
use super::notes::{Notes, Who};
use super::wire::{ContainerSpec, Labels, List, Meta, Obj, Text, Wire};
use crate::velero::{
    DEFAULT_FS_BACKUP_TIMEOUT_SECONDS, DEFAULT_ITEM_OPERATION_TIMEOUT_SECONDS, NodeAgentConfig,
    Profile, VeleroVersion, parse_go_duration,
};

/// A DaemonSet or a Deployment.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WorkloadWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    spec: Obj<Spec<'a>>,
    status: Obj<Status>,
}

impl Wire for WorkloadWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec<'a> {
    #[serde(borrow)]
    template: Obj<Template<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Template<'a> {
    #[serde(borrow)]
    metadata: Obj<TemplateMeta<'a>>,
    #[serde(borrow)]
    spec: Obj<TemplateSpec<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TemplateMeta<'a> {
    #[serde(borrow)]
    labels: Labels<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TemplateSpec<'a> {
    #[serde(borrow)]
    containers: List<Obj<ContainerSpec<'a>>>,
    #[serde(borrow)]
    tolerations: List<Obj<TolerationWire<'a>>>,
    #[serde(rename = "hostNetwork")]
    host_network: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TolerationWire<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    operator: Text<'a>,
    #[serde(borrow)]
    value: Text<'a>,
    #[serde(borrow)]
    effect: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    desired_number_scheduled: Option<i64>,
    number_ready: Option<i64>,
}

/// What the velero server's Deployment says.
#[derive(Debug)]
pub(super) struct Server {
    /// The version of its image.
    pub(super) version: Option<VeleroVersion>,
    /// Its image.
    pub(super) image: String,
    /// `--fs-backup-timeout`, or its default.
    pub(super) fs_backup_timeout_seconds: i64,
    /// `--default-item-operation-timeout`, or its default.
    pub(super) default_item_operation_timeout_seconds: i64,
}

impl WorkloadWire<'_> {
    /// Returns whether it is the velero server: by name, or by the labels of Velero's own installer
    /// (v1.17.2 pkg/install/deployment.go).
    pub(super) fn is_server(&self) -> bool {
        let label = |key: &str, value: &str| {
            self.metadata.labels.get(key) == Some(value)
                || self.spec.template.metadata.labels.get(key) == Some(value)
        };
        &*self.metadata.name == "velero"
            || (label("component", "velero") && label("deploy", "velero"))
    }

    /// Returns whether it is the node-agent's DaemonSet: by name, or by the labels of its pods.
    pub(super) fn is_node_agent(&self) -> bool {
        is_agent_name(&self.metadata.name)
            || has_agent_label(&|key| self.spec.template.metadata.labels.get(key))
    }

    fn first_container(&self, name: &str) -> Option<&ContainerSpec<'_>> {
        let containers = &self.spec.template.spec.containers;
        containers
            .iter()
            .find(|container| &*container.name == name)
            .or_else(|| containers.first())
            .map(|container| &**container)
    }
}

impl Notes {
    /// Makes a DaemonSet of what was decoded.
    pub(super) fn daemon_set(&mut self, wire: &WorkloadWire<'_>) -> DaemonSet {
        let meta = &wire.metadata;
        let who = Who {
            resource: ResourceKind::DaemonSet,
            namespace: &meta.namespace,
            name: &meta.name,
        };
        self.managed_times(who, meta);
        let template_labels = wire.spec.template.metadata.labels.owned();
        let container = wire
            .spec
            .template
            .spec
            .containers
            .first()
            .map(|first| &**first);
        DaemonSet {
            name: meta.name.owned(),
            created: self.created(who, meta),
            desired: wire.status.desired_number_scheduled.unwrap_or(0),
            ready: wire.status.number_ready.unwrap_or(0),
            args: container.map(ContainerSpec::words).unwrap_or_default(),
            image: container.map_or_else(String::new, |container| container.image.owned()),
            is_node_agent: if wire.is_node_agent() {
                IsNodeAgent::Yes
            } else {
                IsNodeAgent::No
            },
            template_labels,
            tolerations: wire
                .spec
                .template
                .spec
                .tolerations
                .iter()
                .map(|toleration| Toleration {
                    key: toleration.key.owned(),
                    operator: toleration.operator.owned(),
                    value: toleration.value.owned(),
                    effect: toleration.effect.owned(),
                })
                .collect(),
            host_network: match wire.spec.template.spec.host_network {
                Some(true) => HostNetwork::Yes,
                Some(false) | None => HostNetwork::No,
            },
        }
    }

    /// Reads the server's Deployment.
    pub(super) fn server(&mut self, wire: &WorkloadWire<'_>) -> Server {
        let meta = &wire.metadata;
        let who = Who {
            resource: ResourceKind::Deployment,
            namespace: &meta.namespace,
            name: &meta.name,
        };
        self.managed_times(who, meta);
        self.created(who, meta);
        let container = wire.first_container("velero");
        let words = container.map(ContainerSpec::words).unwrap_or_default();
        let image = container.map_or_else(String::new, |container| container.image.owned());
        Server {
            version: VeleroVersion::from_image(&image),
            image,
            fs_backup_timeout_seconds: self.timeout(
                who,
                &words,
                "--fs-backup-timeout",
                DEFAULT_FS_BACKUP_TIMEOUT_SECONDS,
            ),
            default_item_operation_timeout_seconds: self.timeout(
                who,
                &words,
                "--default-item-operation-timeout",
                DEFAULT_ITEM_OPERATION_TIMEOUT_SECONDS,
            ),
        }
    }

    /// Reads a duration from a flag; what is no duration is a gap, and the default is assumed.
    pub(super) fn timeout(
        &mut self,
        who: Who<'_>,
        words: &[String],
        name: &str,
        default: i64,
    ) -> i64 {
        let Some(text) = flag(words, name) else {
            return default;
        };
        let Some(duration) = parse_go_duration(text) else {
            self.common(
                who,
                GapReason::Malformed,
                format!("argument {name}"),
                &format!("{text:?} is not a duration"),
                "the default is assumed for deadlines",
            );
            return default;
        };
        duration.as_secs()
    }
}

/// A ConfigMap.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConfigMapWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    data: Labels<'a>,
}

impl Wire for ConfigMapWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

impl ConfigMapWire<'_> {
    /// Returns whether a value may configure node-agents, whoever reads it.
    pub(super) fn holds_load_concurrency(&self) -> bool {
        // Go ignores the case of keys.
        self.data
            .iter()
            .any(|(_, value)| value.to_ascii_lowercase().contains("loadconcurrency"))
    }
}

/// The part of a ConfigMap's `fieldsV1` that is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedData {
    #[serde(rename = "f:data")]
    data: Option<IgnoredAny>,
    #[serde(rename = "f:binaryData")]
    binary_data: Option<IgnoredAny>,
}

impl Notes {
    /// Makes a ConfigMap of what was decoded.
    pub(super) fn config_map(&mut self, wire: &ConfigMapWire<'_>) -> ConfigMap {
        let meta = &wire.metadata;
        let who = Who {
            resource: ResourceKind::ConfigMap,
            namespace: &meta.namespace,
            name: &meta.name,
        };
        let managed = self.managed(who, meta);
        let data_written = managed
            .iter()
            .flatten()
            .filter(|entry| {
                let owned: OwnedData = serde_json::from_str(entry.fields).unwrap_or_default();
                owned.data.is_some() || owned.binary_data.is_some()
            })
            .filter_map(|entry| entry.time)
            .max();
        let mut all: std::collections::BTreeMap<String, Result<NodeAgentConfig, String>> = wire
            .data
            .iter()
            .map(|(key, value)| (key.to_owned(), decode_config(value)))
            .collect();
        let config = all.first_key_value().map_or_else(
            || Err("it has no data".to_owned()),
            |(_, config)| config.clone(),
        );
        let keys: Vec<String> = all.keys().cloned().collect();
        if keys.len() < 2 {
            all.clear();
        }
        ConfigMap {
            name: meta.name.owned(),
            created: self.created(who, meta),
            data_written,
            managed_fields: managed.map_or(ManagedFields::LeftOut, |_| ManagedFields::Present),
            keys,
            config,
            all,
        }
    }
}

fn decode_config(value: &str) -> Result<NodeAgentConfig, String> {
    // Which agent reads it is not known here: `NodeAgentConfig::issues_for` tells later what is too new for one.
    NodeAgentConfig::decode(value, Profile::newest().config_keys)
}
