//! Pods, whatever they are for.

use jiff::SignedDuration;
use serde::Deserialize;

use super::super::{Container, ContainerEnd, ContainerState, ObjectKey, Pod, Ready, ResourceKind};
use super::marks::marks;
use super::notes::{Notes, Who};
use super::wire::{ConditionWire, ContainerSpec, List, Loose, Meta, Number, Obj, Text, Wire};

/// A Pod, as far as it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    spec: Obj<Spec<'a>>,
    #[serde(borrow)]
    status: Obj<Status<'a>>,
}

impl Wire for PodWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

impl<'a> PodWire<'a> {
    /// Returns the containers of the pod's spec.
    pub(super) fn containers(&self) -> &[Obj<ContainerSpec<'a>>] {
        &self.spec.containers
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    node_name: Text<'a>,
    #[serde(borrow)]
    init_containers: List<Obj<InitContainer<'a>>>,
    #[serde(borrow)]
    containers: List<Obj<ContainerSpec<'a>>>,
    #[serde(borrow)]
    volumes: List<Obj<Volume<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InitContainer<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    image: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Volume<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    persistent_volume_claim: Option<Obj<ClaimSource<'a>>>,
    ephemeral: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClaimSource<'a> {
    #[serde(borrow)]
    claim_name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    phase: Text<'a>,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Loose<'a>,
    #[serde(borrow)]
    start_time: Loose<'a>,
    #[serde(borrow)]
    conditions: List<Obj<ConditionWire<'a>>>,
    #[serde(borrow)]
    init_container_statuses: List<Obj<ContainerStatus<'a>>>,
    #[serde(borrow)]
    container_statuses: List<Obj<ContainerStatus<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContainerStatus<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    image: Text<'a>,
    ready: Option<bool>,
    restart_count: Option<i64>,
    #[serde(borrow)]
    state: Obj<State<'a>>,
    #[serde(borrow)]
    last_state: Obj<State<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    running: Option<Obj<Running<'a>>>,
    #[serde(borrow)]
    waiting: Option<Obj<Waiting<'a>>>,
    #[serde(borrow)]
    terminated: Option<Obj<Terminated<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Running<'a> {
    #[serde(borrow)]
    started_at: Loose<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Waiting<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Loose<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Terminated<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
    exit_code: Option<i64>,
    #[serde(borrow)]
    message: Loose<'a>,
    #[serde(borrow)]
    started_at: Loose<'a>,
    #[serde(borrow)]
    finished_at: Loose<'a>,
}

impl Notes {
    /// Makes a pod of what was decoded.
    pub(super) fn pod(&mut self, wire: &PodWire<'_>) -> Pod {
        let (meta, spec, status) = (&wire.metadata, &wire.spec, &wire.status);
        let who = Who {
            resource: ResourceKind::Pod,
            namespace: &meta.namespace,
            name: &meta.name,
        };
        self.managed_times(who, meta);
        let deletion = self.other_time(who, "metadata.deletionTimestamp", &meta.deletion_timestamp);
        let grace = match meta.deletion_grace_period_seconds {
            Number::Value(seconds) => Some(SignedDuration::from_secs(seconds)),
            Number::Absent | Number::Odd => None,
        };
        Pod {
            key: ObjectKey::new(&meta.namespace, &meta.name),
            uid: meta.uid.owned(),
            resource_version: self.resource_version(who, meta),
            marks: marks(meta),
            labels: meta.labels.compact(),
            created: self.created(who, meta),
            deletion,
            deletion_asked: deletion
                .zip(grace)
                .and_then(|(deletion, grace)| deletion.checked_sub(grace).ok()),
            node: spec.node_name.set(),
            phase: status.phase.owned(),
            reason: status.reason.owned(),
            message: self.text(who, "status.message", &status.message),
            start_time: self.time(who, "status.startTime", &status.start_time),
            conditions: self.conditions(who, &status.conditions),
            init_containers: self.containers(
                who,
                "status.initContainerStatuses[]",
                &status.init_container_statuses,
                &|name| {
                    let container = spec.init_containers.iter().find(|c| *c.name == *name);
                    container.map(|container| container.image.owned())
                },
            ),
            containers: self.containers(
                who,
                "status.containerStatuses[]",
                &status.container_statuses,
                &|name| {
                    let container = spec.containers.iter().find(|c| *c.name == *name);
                    container.map(|container| container.image.owned())
                },
            ),
            init_container_names: spec
                .init_containers
                .iter()
                .map(|container| container.name.owned())
                .collect(),
            volumes: spec
                .volumes
                .iter()
                .map(|volume| volume.name.owned())
                .collect(),
            claims: claims(&meta.name, &spec.volumes),
            owner: meta
                .owner_references
                .iter()
                .find(|owner| owner.controller == Some(true))
                .map(|owner| (owner.kind.owned(), owner.name.owned())),
        }
    }

    fn containers(
        &mut self,
        who: Who<'_>,
        place: &str,
        statuses: &[Obj<ContainerStatus<'_>>],
        image_of: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<Container> {
        statuses
            .iter()
            .map(|wire| Container {
                name: wire.name.owned(),
                image: image_of(&wire.name).unwrap_or_else(|| wire.image.owned()),
                ready: match wire.ready {
                    Some(true) => Ready::Yes,
                    Some(false) | None => Ready::No,
                },
                restarts: wire.restart_count.unwrap_or(0),
                state: self.state(who, place, &wire.state),
                last_end: wire
                    .last_state
                    .terminated
                    .as_ref()
                    .map(|end| self.end(who, &format!("{place}.lastState"), end)),
            })
            .collect()
    }

    fn state(&mut self, who: Who<'_>, place: &str, state: &State<'_>) -> ContainerState {
        if let Some(end) = &state.terminated {
            return ContainerState::Terminated(self.end(who, &format!("{place}.state"), end));
        }
        if let Some(running) = &state.running {
            let field = format!("{place}.state.running.startedAt");
            return ContainerState::Running {
                started_at: self.time(who, &field, &running.started_at),
            };
        }
        let Some(waiting) = &state.waiting else {
            return ContainerState::None;
        };
        let field = format!("{place}.state.waiting.message");
        ContainerState::Waiting {
            reason: waiting.reason.owned(),
            message: self.text(who, &field, &waiting.message),
        }
    }

    fn end(&mut self, who: Who<'_>, place: &str, end: &Terminated<'_>) -> ContainerEnd {
        let field = |name: &str| format!("{place}.terminated.{name}");
        ContainerEnd {
            reason: end.reason.owned(),
            exit_code: end.exit_code.unwrap_or(0),
            message: self.text(who, &field("message"), &end.message),
            started_at: self.time(who, &field("startedAt"), &end.started_at),
            finished_at: self.time(who, &field("finishedAt"), &end.finished_at),
        }
    }
}

/// A generic ephemeral volume uses the PVC that Kubernetes names after pod and volume.
fn claims(pod: &str, volumes: &[Obj<Volume<'_>>]) -> Vec<String> {
    volumes
        .iter()
        .filter_map(|volume| match &volume.persistent_volume_claim {
            Some(claim) => claim.claim_name.set(),
            None => volume
                .ephemeral
                .is_some()
                .then(|| format!("{pod}-{}", &*volume.name)),
        })
        .collect()
}
