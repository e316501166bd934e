//! Reads a [`Snapshot`] from a [`Capture`].
//!
//! Total: whatever the capture holds, a snapshot comes out. An object that cannot be decoded is a gap that
//! names it and the field, and makes its resource partial, so that its absence proves nothing. The order of
//! the objects in the capture does not matter.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    Coverage, EarlierLook, Gap, GapReason, IsNodeAgent, NowFrom, ObjectKey, Observed, ParentKind,
    ResourceKind, Snapshot, SourceHead,
};
use crate::capture::{Capture, Item, Listing, LogFile, Redacted};
use crate::velero::{
    DEFAULT_FS_BACKUP_TIMEOUT_SECONDS, DEFAULT_ITEM_OPERATION_TIMEOUT_SECONDS, VeleroVersion,
};
use agents::Candidate;
use coverage::Coverages;
use newest::Newest;
use notes::{ManagedTimes, Notes};
use wire::Wire as _;
use workloads::{ConfigMapWire, WorkloadWire};

mod agents;
mod bundles;
mod coverage;
mod decode_error;
mod events;
mod log_faults;
mod marks;
mod namespace;
mod newest;
mod nodes;
mod notes;
mod now;
mod parents;
mod pods;
mod start_log;
mod storage;
mod tasks;
mod wire;
mod workloads;

#[cfg(test)]
mod tests;

pub(crate) use agents::{flag as argument, rules_from_fields};
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
    gather(capture, options).into_snapshot(capture, options)
}

/// Reads a snapshot as [`read`] does, and lets go of the texts as soon as their objects are read: a large input
/// is never in memory twice.
#[must_use]
pub fn read_owned(mut capture: Capture, options: &ReadOptions) -> Snapshot {
    let gathered = gather(&capture, options);
    capture.texts = Vec::new();
    gathered.into_snapshot(&capture, options)
}

/// What was read of the texts.
struct Gathered {
    given: Option<(Timestamp, NowFrom)>,
    found: Found,
    notes: Notes,
    coverages: Coverages,
    earlier: BTreeMap<crate::velero::TaskRef, Vec<EarlierLook>>,
}

impl Gathered {
    fn into_snapshot(self, capture: &Capture, options: &ReadOptions) -> Snapshot {
        let found = self.found;
        Snapshot {
            earlier: self.earlier,
            ..found.into_snapshot(capture, options, self.given, self.notes, &self.coverages)
        }
    }
}

fn gather(capture: &Capture, options: &ReadOptions) -> Gathered {
    let given = now::given_now(capture, options);
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
    Gathered {
        given,
        found,
        notes,
        coverages,
        earlier: earlier(capture, &options.namespace),
    }
}

/// Reads what earlier captures say of the tasks. An object of theirs that cannot be read is no gap: nothing but
/// a comparison is lost.
fn earlier(capture: &Capture, velero: &str) -> BTreeMap<crate::velero::TaskRef, Vec<EarlierLook>> {
    let mut notes = Notes::new(ManagedTimes::Skip);
    let mut looks: BTreeMap<crate::velero::TaskRef, Vec<EarlierLook>> = BTreeMap::new();
    for look in &capture.earlier {
        let resource = ResourceKind::Task(look.kind);
        let Some(wire) = notes.decode::<tasks::TaskWire<'_>>(capture, &look.item, resource) else {
            continue;
        };
        if *wire.meta().namespace != *velero {
            continue;
        }
        let task = notes.task(look.kind, &wire);
        looks.entry(task.reference).or_default().push(EarlierLook {
            at: look.taken_at,
            uid: task.uid,
            phase: task.phase,
            progress: task.progress,
        });
    }
    for looks in looks.values_mut() {
        looks.sort_by_key(|look| look.at);
    }
    looks
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

    fn candidate(&mut self, wire: &pods::PodWire<'a>) -> Candidate {
        let pod = self.notes.pod(wire);
        // Only Velero's own namespace has node-agents; of other pods the spec is not needed again.
        let containers = if pod.key.namespace == self.velero && !agents::is_mover(&pod) {
            wire.containers().iter().map(|spec| spec.kept()).collect()
        } else {
            Vec::new()
        };
        Candidate { pod, containers }
    }
}

/// The objects found so far.
#[derive(Default)]
struct Found {
    tasks: Newest<crate::velero::TaskRef, super::Task>,
    pods: Newest<ObjectKey, Candidate>,
    nodes: Newest<String, super::Node>,
    daemon_sets: Newest<String, super::DaemonSet>,
    servers: Newest<String, workloads::Server>,
    config_maps: Newest<String, KeptConfigMap>,
    backups: Newest<String, super::Parent>,
    restores: Newest<String, super::Parent>,
    claims: Newest<ObjectKey, super::Claim>,
    volume_snapshots: Newest<ObjectKey, super::VolumeSnapshot>,
    events: Newest<ObjectKey, super::Event>,
}

/// A ConfigMap until it is known whether an agent reads it.
struct KeptConfigMap {
    json: Box<str>,
    holds_load_concurrency: bool,
}

impl Found {
    /// Takes one object in; one of another namespace than it matters in, and one that is a gap by now, leaves no trace.
    fn take(&mut self, reader: &mut Reader<'_, '_>, listing: &Listing, item: &Item) {
        match listing.resource {
            ResourceKind::Task(kind) => {
                if let Some(wire) = reader.decode_own::<tasks::TaskWire<'_>>(listing, item) {
                    let task = reader.notes.task(kind, &wire);
                    let version = wire.meta().version();
                    self.tasks.put(task.reference.clone(), version, task);
                }
            }
            ResourceKind::Pod => {
                if let Some(wire) = reader.decode::<pods::PodWire<'_>>(listing, item) {
                    let candidate = reader.candidate(&wire);
                    let key = candidate.pod.key.clone();
                    self.pods.put(key, wire.meta().version(), candidate);
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
            ResourceKind::Node => {
                if let Some(wire) = reader.decode::<nodes::NodeWire<'_>>(listing, item) {
                    let node = reader.notes.node(&wire);
                    self.nodes
                        .put(node.name.clone(), wire.meta().version(), node);
                }
            }
            ResourceKind::ConfigMap => {
                if let Some(wire) = reader.decode_own::<ConfigMapWire<'_>>(listing, item) {
                    let (name, version) = (wire.meta().name.owned(), wire.meta().version());
                    let kept = KeptConfigMap {
                        json: reader.capture.json(item).into(),
                        holds_load_concurrency: wire.holds_load_concurrency(),
                    };
                    self.config_maps.put(name, version, kept);
                }
            }
            ResourceKind::PersistentVolumeClaim => {
                if let Some(wire) = reader.decode::<storage::ClaimWire<'_>>(listing, item) {
                    let claim = reader.notes.claim(&wire);
                    self.claims
                        .put(claim.key.clone(), wire.meta().version(), claim);
                }
            }
            ResourceKind::VolumeSnapshot => {
                if let Some(wire) = reader.decode::<storage::VolumeSnapshotWire<'_>>(listing, item)
                {
                    let snapshot = reader.notes.volume_snapshot(&wire);
                    self.volume_snapshots.put(
                        snapshot.key.clone(),
                        wire.meta().version(),
                        snapshot,
                    );
                }
            }
            ResourceKind::Event => {
                if let Some(wire) = reader.decode::<events::EventWire<'_>>(listing, item) {
                    let meta = wire.meta();
                    let key = ObjectKey::new(&meta.namespace, &meta.name);
                    let event = reader.notes.event(&wire);
                    self.events.put(key, meta.version(), event);
                }
            }
        }
    }

    fn take_parent(
        &mut self,
        reader: &mut Reader<'_, '_>,
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

    fn into_snapshot(
        self,
        capture: &Capture,
        options: &ReadOptions,
        given: Option<(Timestamp, NowFrom)>,
        mut notes: Notes,
        coverages: &Coverages,
    ) -> Snapshot {
        let tasks = self.tasks.into_map();
        let daemon_sets = self.daemon_sets.into_map();
        let logs = sorted_logs(&capture.logs, &mut notes);
        let mut candidates = Vec::new();
        let pods = self
            .pods
            .into_sorted()
            .filter_map(|(key, candidate)| {
                if key.namespace == options.namespace && candidate.is_agent(&daemon_sets) {
                    candidates.push(candidate);
                    return None;
                }
                Some((key, candidate.pod))
            })
            .collect();
        let agents = agents::agents(&mut notes, candidates, (&logs, &capture.metrics), &tasks);
        let config_maps = relevant(self.config_maps, &agents, &daemon_sets, &mut notes);
        let server = self.servers.into_map();
        // Velero's own name first; a second server in one namespace is not supported by Velero.
        let server = server.get("velero").or_else(|| server.values().next());
        let mut snapshot = Snapshot {
            taken_at: Timestamp::UNIX_EPOCH,
            newest_object: None,
            source: SourceHead {
                source: capture.manifest.source,
                now_from: NowFrom::NewestObject,
                server: capture.manifest.server.clone(),
                paths: capture.manifest.paths.clone(),
            },
            namespace: options.namespace.clone(),
            agents,
            pods,
            nodes: self.nodes.into_map(),
            daemon_sets,
            config_maps,
            backups: self.backups.into_map(),
            restores: self.restores.into_map(),
            claims: self.claims.into_map(),
            volume_snapshots: self.volume_snapshots.into_map(),
            events: oldest_first(self.events.into_values().collect()),
            earlier: BTreeMap::new(),
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
            restore_targets: coverages.restore_targets(&notes),
            coverage: coverages.merged(capture, &notes),
            gaps: Vec::new(),
        };
        snapshot.server_version = server_version(server, &snapshot, &mut notes);
        snapshot.newest_object = notes.newest();
        (snapshot.taken_at, snapshot.source.now_from) = now::now(given, &mut notes);
        coverages.gaps(capture, &snapshot, &mut notes);
        if capture.manifest.redacted == Redacted::Yes {
            notes.gap(Gap::new(
                "names",
                GapReason::Unsupported,
                "the capture is redacted: names are pseudonyms",
                "commands name pseudonyms; the names are in the file that --save-names wrote when it was taken",
            ));
        }
        snapshot.gaps = notes.into_gaps();
        snapshot
    }
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
        if let (Some(last), before) = start_log::last_times(&log.body) {
            let whose = format!("{}/{}", log.namespace, log.pod);
            notes.log_ends(now::LogEnd {
                last,
                before,
                whose,
            });
        }
    }
    logs
}

fn oldest_first(mut events: Vec<super::Event>) -> Vec<super::Event> {
    events.sort_by(|a, b| {
        (a.last_seen, &a.about, &a.reason, &a.message).cmp(&(
            b.last_seen,
            &b.about,
            &b.reason,
            &b.message,
        ))
    });
    events
}

/// Keeps the ConfigMaps that agents read or that could be meant for them.
fn relevant(
    config_maps: Newest<String, KeptConfigMap>,
    agents: &[super::NodeAgent],
    daemon_sets: &BTreeMap<String, super::DaemonSet>,
    notes: &mut Notes,
) -> BTreeMap<String, super::ConfigMap> {
    let names = config_map_names(agents, daemon_sets);
    config_maps
        .into_sorted()
        .filter(|(name, map)| names.contains(name) || map.holds_load_concurrency)
        .filter_map(|(name, map)| {
            // It was decoded before.
            let wire = serde_json::from_str::<wire::Obj<ConfigMapWire<'_>>>(&map.json).ok()?;
            Some((name, notes.config_map(&wire)))
        })
        .collect()
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
