//! Reads a [`Snapshot`] from a [`Capture`].
//!
//! Total: whatever the capture holds, a snapshot comes out. An object that cannot be decoded is a gap that
//! names it and the field, and makes its resource partial, so that its absence proves nothing. The order of
//! the objects in the capture does not matter.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    Coverage, Gap, GapReason, IsNodeAgent, NowFrom, ObjectKey, Observed, ParentKind, ResourceKind,
    Snapshot, SourceHead, SourceType,
};
use crate::capture::{Capture, Item, Listing, LogFile};
use crate::velero::{
    DEFAULT_FS_BACKUP_TIMEOUT_SECONDS, DEFAULT_ITEM_OPERATION_TIMEOUT_SECONDS, VeleroVersion,
};
use agents::Candidate;
use coverage::Coverages;
use notes::{ManagedTimes, Notes};
use wire::Wire as _;
use workloads::{ConfigMapWire, WorkloadWire};

mod agents;
mod coverage;
mod events;
mod namespace;
mod nodes;
mod notes;
mod parents;
mod pods;
mod start_log;
mod storage;
mod tasks;
mod wire;
mod workloads;

#[cfg(test)]
mod tests;

pub(crate) use agents::rules_from_fields;
pub use namespace::{NamespaceSearch, find_namespace};

/// The ConfigMap that v1.13 and v1.14 read without a flag (v1.13.2 `pkg/nodeagent/node_agent.go`).
const FIXED_CONFIG_MAP: &str = "node-agent-config";

/// What a reading needs beside the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Velero's namespace.
    pub namespace: String,
    /// `--now`: counts for files only, a cluster has a clock of its own.
    pub now: Option<Timestamp>,
}

/// Reads a snapshot. What cannot be read is in [`Snapshot::gaps`].
#[must_use]
pub fn read(capture: &Capture, options: &ReadOptions) -> Snapshot {
    let given = given_now(capture, options);
    let mut notes = Notes::new(match given {
        Some(_) => ManagedTimes::Skip,
        None => ManagedTimes::Count,
    });
    let mut found = Found::default();
    let mut coverages = Coverages::default();
    for listing in &capture.listings {
        coverages.listing(listing);
        for item in listing.outcome.items() {
            let reader = &mut Reader {
                capture,
                velero: &options.namespace,
                notes: &mut notes,
                coverages: &mut coverages,
            };
            found.take(reader, listing, item);
        }
    }
    found.into_snapshot(capture, options, given, notes, coverages)
}

/// "Now", where it is given: a server's clock, `--now`, or the time of a capture file.
fn given_now(capture: &Capture, options: &ReadOptions) -> Option<(Timestamp, NowFrom)> {
    let manifest = &capture.manifest;
    let flag = match manifest.source {
        SourceType::Files => options.now.map(|now| (now, NowFrom::Flag)),
        SourceType::Cluster => None,
    };
    flag.or_else(|| manifest.taken_at.map(|now| (now, manifest.now_from)))
}

/// What is at hand while one object is read.
struct Reader<'r, 'a> {
    capture: &'a Capture,
    velero: &'r str,
    notes: &'r mut Notes,
    coverages: &'r mut Coverages,
}

impl<'a> Reader<'_, 'a> {
    fn decode<T>(&mut self, listing: &Listing, item: &Item) -> Option<T>
    where
        T: wire::Wire + Default + serde::Deserialize<'a>,
    {
        let object: T = self.notes.decode(self.capture, item, listing.resource)?;
        let namespace = &object.meta().namespace;
        self.coverages.object(listing, namespace);
        Some(object)
    }

    /// Decodes an object of a resource that only matters in Velero's namespace.
    fn decode_own<T>(&mut self, listing: &Listing, item: &Item) -> Option<T>
    where
        T: wire::Wire + Default + serde::Deserialize<'a>,
    {
        self.decode(listing, item)
            .filter(|object: &T| *object.meta().namespace == *self.velero)
    }

    fn candidate(&mut self, wire: &pods::PodWire<'a>) -> Candidate<'a> {
        let pod = self.notes.pod(wire);
        // Only Velero's own namespace has node-agents; of other pods the spec is not needed again.
        let containers = if pod.key.namespace == self.velero && !agents::is_mover(&pod) {
            wire.containers().to_vec()
        } else {
            Vec::new()
        };
        Candidate { pod, containers }
    }
}

/// Objects by key; of two copies of one object the newer stays.
struct Newest<K, T>(BTreeMap<K, (Option<u64>, T)>);

impl<K, T> Default for Newest<K, T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, T> Newest<K, T> {
    fn put(&mut self, key: K, version: Option<u64>, value: T) {
        let is_older = |(there, _): &(Option<u64>, T)| match (there, version) {
            (Some(there), Some(version)) => *there > version,
            (Some(_) | None, Some(_) | None) => false,
        };
        if !self.0.get(&key).is_some_and(is_older) {
            self.0.insert(key, (version, value));
        }
    }

    fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_values().map(|(_, value)| value)
    }

    fn into_map(self) -> BTreeMap<K, T> {
        self.0
            .into_iter()
            .map(|(key, (_, value))| (key, value))
            .collect()
    }
}

/// The objects found so far.
#[derive(Default)]
struct Found<'a> {
    tasks: Newest<crate::velero::TaskRef, super::Task>,
    pods: Newest<ObjectKey, Candidate<'a>>,
    nodes: Newest<String, super::Node>,
    daemon_sets: Newest<String, super::DaemonSet>,
    servers: Newest<String, workloads::Server>,
    config_maps: Newest<String, workloads::ConfigMapWire<'a>>,
    backups: Newest<String, super::Parent>,
    restores: Newest<String, super::Parent>,
    claims: Newest<ObjectKey, super::Claim>,
    volume_snapshots: Newest<ObjectKey, super::VolumeSnapshot>,
    events: Newest<ObjectKey, super::Event>,
}

impl<'a> Found<'a> {
    /// Takes one object in; one of another namespace than it matters in, and one that is a gap by now, leaves no trace.
    fn take(&mut self, reader: &mut Reader<'_, 'a>, listing: &Listing, item: &Item) {
        match listing.resource {
            ResourceKind::Task(kind) => {
                if let Some(wire) = reader.decode_own::<tasks::TaskWire<'_>>(listing, item) {
                    let task = reader.notes.task(kind, &wire);
                    let version = wire.meta().version();
                    self.tasks.put(task.reference.clone(), version, task);
                }
            }
            ResourceKind::Pod => {
                if let Some(wire) = reader.decode::<pods::PodWire<'a>>(listing, item) {
                    let candidate = reader.candidate(&wire);
                    self.pods
                        .put(key(wire.meta()), wire.meta().version(), candidate);
                }
            }
            ResourceKind::Backup => {
                self.take_parent(reader, listing, item, ParentKind::Backup);
            }
            ResourceKind::Restore => {
                self.take_parent(reader, listing, item, ParentKind::Restore);
            }
            ResourceKind::DaemonSet => {
                if let Some(wire) = reader.decode_own::<WorkloadWire<'_>>(listing, item) {
                    let set = reader.notes.daemon_set(&wire);
                    self.daemon_sets
                        .put(set.name.clone(), wire.meta().version(), set);
                }
            }
            ResourceKind::Deployment => {
                if let Some(wire) = reader
                    .decode_own::<WorkloadWire<'_>>(listing, item)
                    .filter(WorkloadWire::is_server)
                {
                    let server = reader.notes.server(&wire);
                    self.servers
                        .put(wire.meta().name.owned(), wire.meta().version(), server);
                }
            }
            ResourceKind::Node
            | ResourceKind::ConfigMap
            | ResourceKind::PersistentVolumeClaim
            | ResourceKind::VolumeSnapshot
            | ResourceKind::Event => self.take_other(reader, listing, item),
        }
    }

    fn take_parent(
        &mut self,
        reader: &mut Reader<'_, 'a>,
        listing: &Listing,
        item: &Item,
        kind: ParentKind,
    ) {
        let Some(wire) = reader.decode_own::<parents::ParentWire<'_>>(listing, item) else {
            return;
        };
        let parent = reader.notes.parent(kind, &wire);
        let map = match kind {
            ParentKind::Backup => &mut self.backups,
            ParentKind::Restore => &mut self.restores,
        };
        map.put(parent.reference.name.clone(), wire.meta().version(), parent);
    }

    fn take_other(&mut self, reader: &mut Reader<'_, 'a>, listing: &Listing, item: &Item) {
        if listing.resource == ResourceKind::Node {
            if let Some(wire) = reader.decode::<nodes::NodeWire<'_>>(listing, item) {
                let node = reader.notes.node(&wire);
                self.nodes
                    .put(node.name.clone(), wire.meta().version(), node);
            }
        } else if listing.resource == ResourceKind::ConfigMap {
            if let Some(wire) = reader.decode_own::<ConfigMapWire<'a>>(listing, item) {
                let (name, version) = (wire.meta().name.owned(), wire.meta().version());
                self.config_maps.put(name, version, wire);
            }
        } else if listing.resource == ResourceKind::PersistentVolumeClaim {
            if let Some(wire) = reader.decode::<storage::ClaimWire<'_>>(listing, item) {
                let claim = reader.notes.claim(&wire);
                self.claims
                    .put(key(wire.meta()), wire.meta().version(), claim);
            }
        } else if listing.resource == ResourceKind::VolumeSnapshot {
            if let Some(wire) = reader.decode::<storage::VolumeSnapshotWire<'_>>(listing, item) {
                let snapshot = reader.notes.volume_snapshot(&wire);
                self.volume_snapshots
                    .put(key(wire.meta()), wire.meta().version(), snapshot);
            }
        } else if let Some(wire) = reader.decode::<events::EventWire<'_>>(listing, item) {
            let event = reader.notes.event(&wire);
            self.events
                .put(key(wire.meta()), wire.meta().version(), event);
        }
    }

    fn into_snapshot(
        self,
        capture: &Capture,
        options: &ReadOptions,
        given: Option<(Timestamp, NowFrom)>,
        mut notes: Notes,
        coverages: Coverages,
    ) -> Snapshot {
        let tasks = self.tasks.into_map();
        let daemon_sets = self.daemon_sets.into_map();
        let logs = sorted_logs(&capture.logs, &mut notes);
        let (candidates, others): (Vec<_>, Vec<_>) =
            self.pods.into_values().partition(|candidate| {
                candidate.pod.key.namespace == options.namespace && candidate.is_agent(&daemon_sets)
            });
        let agents = agents::agents(&mut notes, candidates, &logs, &tasks);
        let names = config_map_names(&agents, &daemon_sets);
        let config_maps = self
            .config_maps
            .into_values()
            .filter(|wire| names.contains(&*wire.meta().name) || wire.holds_load_concurrency())
            .map(|wire| {
                let config_map = notes.config_map(&wire);
                (config_map.name.clone(), config_map)
            })
            .collect();
        let server = self.servers.into_map();
        // Velero's own name first; a second server in one namespace is not supported by Velero.
        let server = server.get("velero").or_else(|| server.values().next());
        let mut events: Vec<super::Event> = self.events.into_values().collect();
        events.sort_by(|a, b| {
            (a.last_seen, &a.about, &a.reason, &a.message).cmp(&(
                b.last_seen,
                &b.about,
                &b.reason,
                &b.message,
            ))
        });
        let mut snapshot = Snapshot {
            taken_at: Timestamp::UNIX_EPOCH,
            source: SourceHead {
                source: capture.manifest.source,
                now_from: NowFrom::NewestObject,
                server: capture.manifest.server.clone(),
                paths: capture.manifest.paths.clone(),
            },
            namespace: options.namespace.clone(),
            agents,
            pods: others
                .into_iter()
                .map(|other| (other.pod.key.clone(), other.pod))
                .collect(),
            nodes: self.nodes.into_map(),
            daemon_sets,
            config_maps,
            backups: self.backups.into_map(),
            restores: self.restores.into_map(),
            claims: self.claims.into_map(),
            volume_snapshots: self.volume_snapshots.into_map(),
            events,
            logs,
            tasks,
            server_version: Observed::Absent,
            fs_backup_timeout_seconds: server.map_or(DEFAULT_FS_BACKUP_TIMEOUT_SECONDS, |server| {
                server.fs_backup_timeout_seconds
            }),
            default_item_operation_timeout_seconds: server
                .map_or(DEFAULT_ITEM_OPERATION_TIMEOUT_SECONDS, |server| {
                    server.default_item_operation_timeout_seconds
                }),
            restore_targets: coverages.restore_targets(),
            coverage: coverages.merged(capture, &notes),
            gaps: Vec::new(),
        };
        snapshot.server_version = server_version(server, &snapshot, &mut notes);
        (snapshot.taken_at, snapshot.source.now_from) = now(given, &mut notes);
        coverages.gaps(capture, &snapshot, &mut notes);
        snapshot.gaps = notes.into_gaps();
        snapshot
    }
}

fn key(meta: &wire::Meta<'_>) -> ObjectKey {
    ObjectKey::new(&meta.namespace, &meta.name)
}

fn sorted_logs(logs: &[LogFile], notes: &mut Notes) -> Vec<LogFile> {
    let mut logs = logs.to_vec();
    logs.sort_by(|a, b| {
        (&a.namespace, &a.pod, &a.container, a.previous).cmp(&(
            &b.namespace,
            &b.pod,
            &b.container,
            b.previous,
        ))
    });
    for log in &logs {
        notes.passed(start_log::last_time(&log.body));
    }
    logs
}

/// The ConfigMaps that agents read, or would read once a changed DaemonSet is rolled out.
fn config_map_names(
    agents: &[super::NodeAgent],
    daemon_sets: &BTreeMap<String, super::DaemonSet>,
) -> BTreeSet<String> {
    let flags = ["--node-agent-configmap", "--backup-repository-configmap"];
    let of_sets = daemon_sets
        .values()
        .filter(|set| set.is_node_agent == IsNodeAgent::Yes)
        .flat_map(|set| flags.map(|name| agents::flag(&set.args, name)))
        .flatten();
    let of_agents = agents.iter().flat_map(|agent| {
        [
            agent.config_map_flag.as_deref(),
            agent.repository_config_map_flag.as_deref(),
        ]
        .into_iter()
        .flatten()
    });
    of_sets
        .chain(of_agents)
        .chain([FIXED_CONFIG_MAP])
        .map(str::to_owned)
        .collect()
}

fn server_version(
    server: Option<&workloads::Server>,
    snapshot: &Snapshot,
    notes: &mut Notes,
) -> Observed<VeleroVersion> {
    let Some(server) = server else {
        return match snapshot.coverage_of(ResourceKind::Deployment, &snapshot.namespace) {
            Coverage::Listed => Observed::Absent,
            Coverage::Present | Coverage::Partial => Observed::Unknown(GapReason::Partial),
            Coverage::Unreadable(reason) => Observed::Unknown(reason),
        };
    };
    let Some(version) = &server.version else {
        notes.gap(Gap {
            resource: "version".to_owned(),
            reason: GapReason::Unsupported,
            message: format!("velero server: image {:?} names no version", server.image),
            effect: "faults of the server's version are not looked for".to_owned(),
        });
        return Observed::Unknown(GapReason::Unsupported);
    };
    Observed::Seen(version.clone())
}

fn now(given: Option<(Timestamp, NowFrom)>, notes: &mut Notes) -> (Timestamp, NowFrom) {
    if let Some(given) = given {
        return given;
    }
    let newest = notes.newest().unwrap_or_else(|| {
        notes.gap(Gap {
            resource: "input".to_owned(),
            reason: GapReason::NotInInput,
            message: "no object has a time, and --now is not given".to_owned(),
            effect: "how long anything lasts is not known; 1970-01-01 stands for now".to_owned(),
        });
        Timestamp::UNIX_EPOCH
    });
    (newest, NowFrom::NewestObject)
}
