//! How much of each resource was read, and the gaps that follow from it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Coverage, Gap, GapReason, Observed, ParentKind, ResourceKind, Snapshot};
use super::bundles;
use super::notes::Notes;
use crate::capture::{Capture, Listing, Outcome, Scope};
use crate::velero::profile::ConfigMapRead;
use crate::velero::{Phase, RESTORE_NAME_LABEL, TaskKind};

/// What the listings say about completeness.
#[derive(Debug, Default)]
pub(super) struct Coverages {
    /// The best that is known, by resource and namespace; `""` is every namespace not named.
    best: BTreeMap<(ResourceKind, String), Coverage>,
    /// Resources of which the input holds an object.
    with_objects: BTreeSet<ResourceKind>,
    /// Resources of which the input holds a `List` without items.
    empty_lists: BTreeSet<ResourceKind>,
    /// What was refused or cut.
    failures: Vec<Failure>,
    /// What was selected by the label of Restores; the collector asks in portions.
    restore_targets: BTreeMap<ResourceKind, Coverage>,
}

/// A listing that did not give all of its scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Failure {
    resource: ResourceKind,
    scope: Scope,
    extent: Extent,
    reason: GapReason,
    message: String,
}

/// How much a listing did not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    /// Nothing came.
    All,
    /// The rest is missing.
    Rest,
}

impl Coverages {
    /// Notes what a listing says about its scope.
    pub(super) fn listing(&mut self, listing: &Listing) {
        let resource = listing.resource;
        let reached = match &listing.outcome {
            Outcome::Listed(_) => Coverage::Listed,
            Outcome::Cut {
                items: _,
                reason,
                message,
            } => {
                self.failed(listing, Extent::Rest, *reason, message);
                Coverage::Partial
            }
            Outcome::Refused { reason, message } => {
                self.failed(listing, Extent::All, *reason, message);
                Coverage::Unreadable(*reason)
            }
        };
        match &listing.scope {
            Scope::Namespace(namespace) => self.reach(resource, namespace, reached),
            Scope::Cluster => self.reach(resource, "", reached),
            Scope::Selected { label_selector } => {
                if label_selector.contains(RESTORE_NAME_LABEL) {
                    let all = self.restore_targets.entry(resource).or_insert(reached);
                    *all = worse(*all, reached);
                }
                let of_all = match reached {
                    // What a selector leaves out is not known.
                    Coverage::Listed | Coverage::Present | Coverage::Partial => Coverage::Partial,
                    Coverage::Unreadable(reason) => Coverage::Unreadable(reason),
                };
                self.reach(resource, "", of_all);
            }
            Scope::FileList => {
                if listing.outcome == Outcome::Listed(Vec::new()) {
                    self.empty_lists.insert(resource);
                }
            }
            Scope::FileObjects => {}
        }
    }

    fn failed(&mut self, listing: &Listing, extent: Extent, reason: GapReason, message: &str) {
        self.failures.push(Failure {
            resource: listing.resource,
            scope: listing.scope.clone(),
            extent,
            reason,
            message: message.to_owned(),
        });
    }

    /// Notes an object: in files, it is the objects that say which namespaces a list was for.
    pub(super) fn object(&mut self, listing: &Listing, namespace: &str) {
        self.with_objects.insert(listing.resource);
        let reached = match (&listing.scope, &listing.outcome) {
            (Scope::FileList, Outcome::Listed(_)) => Coverage::Listed,
            (Scope::FileList, Outcome::Cut { .. } | Outcome::Refused { .. }) => Coverage::Partial,
            (Scope::FileObjects, _) => Coverage::Present,
            // The listing itself has said it.
            (Scope::Namespace(_) | Scope::Cluster | Scope::Selected { .. }, _) => return,
        };
        let known = self
            .best
            .get(&(listing.resource, namespace.to_owned()))
            .copied();
        if known.is_none_or(|known| rank(known) < rank(reached)) {
            self.reach(listing.resource, namespace, reached);
        }
    }

    fn reach(&mut self, resource: ResourceKind, namespace: &str, reached: Coverage) {
        let best = self
            .best
            .entry((resource, namespace.to_owned()))
            .or_insert(reached);
        *best = better(*best, reached);
    }

    /// Returns whether all targets of Restores were read, by resource.
    pub(super) fn restore_targets(&self, notes: &Notes) -> BTreeMap<ResourceKind, Observed<()>> {
        let is_damaged = |resource| notes.damaged().iter().any(|(of, _)| *of == resource);
        let observed = |resource, coverage| match coverage {
            Coverage::Listed if is_damaged(resource) => Observed::Unknown(GapReason::Partial),
            Coverage::Listed => Observed::Seen(()),
            Coverage::Present | Coverage::Partial => Observed::Unknown(GapReason::Partial),
            Coverage::Unreadable(reason) => Observed::Unknown(reason),
        };
        self.restore_targets
            .iter()
            .map(|(resource, coverage)| (*resource, observed(*resource, *coverage)))
            .collect()
    }

    /// Returns the coverage of every resource and namespace.
    pub(super) fn merged(
        &self,
        capture: &Capture,
        notes: &Notes,
    ) -> BTreeMap<(ResourceKind, String), Coverage> {
        let mut merged = self.best.clone();
        for resource in &self.empty_lists {
            // An empty list does not say for which namespace it was asked; objects of another list would.
            if !self.with_objects.contains(resource) {
                merged
                    .entry((*resource, String::new()))
                    .and_modify(|best| *best = better(*best, Coverage::Listed))
                    .or_insert(Coverage::Listed);
            }
        }
        // A list of the whole cluster covers the namespaces that were also asked for one by one.
        let everywhere: BTreeMap<ResourceKind, Coverage> = merged
            .iter()
            .filter(|((_, namespace), _)| namespace.is_empty())
            .map(|((resource, _), coverage)| (*resource, *coverage))
            .collect();
        for ((resource, _), coverage) in &mut merged {
            if let Some(all) = everywhere.get(resource)
                && rank(*all) > rank(*coverage)
            {
                *coverage = *all;
            }
        }
        for (resource, namespace) in notes.damaged() {
            damage(&mut merged, *resource, namespace.as_deref());
        }
        for problem in &capture.problems {
            let resource = ResourceKind::ALL
                .into_iter()
                .find(|resource| resource.plural() == problem.resource);
            if let Some(resource) = resource {
                damage(&mut merged, resource, None);
            }
        }
        merged
    }

    /// Notes the gaps that follow from what was not read.
    pub(super) fn gaps(&self, capture: &Capture, snapshot: &Snapshot, notes: &mut Notes) {
        let bundles = &capture.manifest.bundles;
        for problem in &capture.problems {
            notes.gap(Gap::new(
                &problem.resource,
                problem.reason,
                &problem.message,
                match problem.resource.as_str() {
                    // Nobody has to have them: the objects are enough for everything but some causes.
                    "log" | "metrics" => {
                        "nothing but a cause can depend on it: one may stay undetermined"
                    }
                    _ => "what it holds is missing from the answer",
                },
            ));
        }
        for resource in ResourceKind::ALL {
            let read_badly = self
                .failure_gap(resource, snapshot)
                .or_else(|| self.unproven_targets(resource, snapshot));
            if let Some(gap) = read_badly {
                notes.gap(gap);
            } else if let Some(mut gap) = not_in_input(resource, snapshot) {
                bundles::explain(&mut gap, resource, bundles, &snapshot.namespace);
                notes.gap(gap);
            }
        }
        for gap in bundles::gaps(bundles, snapshot) {
            notes.gap(gap);
        }
    }

    /// The gap of restore targets that no label shows, in namespaces that were not listed.
    fn unproven_targets(&self, resource: ResourceKind, snapshot: &Snapshot) -> Option<Gap> {
        if self.restore_targets.get(&resource) != Some(&Coverage::Listed) {
            return None;
        }
        let unproven: BTreeSet<String> = targets(resource, snapshot)
            .into_iter()
            .filter(|target| !target.is_known)
            .map(|target| format!("{}/{}", target.namespace, target.name))
            .collect();
        let first = unproven.first()?;
        let others = match unproven.len() {
            1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        Some(Gap::new(
            resource.plural(),
            GapReason::Partial,
            &format!(
                "{first}{others} without the label {RESTORE_NAME_LABEL} of its restore, and the namespace was not listed"
            ),
            elsewhere(resource),
        ))
    }

    /// One gap for a resource, whatever went wrong with it how often.
    fn failure_gap(&self, resource: ResourceKind, snapshot: &Snapshot) -> Option<Gap> {
        let mut failures: Vec<&Failure> = self
            .failures
            .iter()
            .filter(|failure| failure.resource == resource)
            .filter(|failure| !is_made_good(failure, snapshot))
            .collect();
        // What is missing in Velero's own namespace matters most.
        failures.sort_by_key(|failure| (is_elsewhere(&failure.scope, snapshot), *failure));
        let first = failures.first()?;
        let messages: BTreeSet<&str> = failures
            .iter()
            .map(|failure| failure.message.as_str())
            .collect();
        let messages: Vec<&str> = messages.into_iter().collect();
        let effect = if is_elsewhere(&first.scope, snapshot) {
            elsewhere(resource)
        } else {
            effect(resource)
        };
        let mut effect = effect.to_owned();
        if failures
            .iter()
            .all(|failure| failure.extent == Extent::Rest)
        {
            effect = format!("only a part was read: {effect}");
        }
        Some(Gap::new(
            resource.plural(),
            first.reason,
            &messages.join("; "),
            &effect,
        ))
    }
}

/// Whether other listings gave what this one did not.
fn is_made_good(failure: &Failure, snapshot: &Snapshot) -> bool {
    let resource = failure.resource;
    let is_listed = |namespace: &str| snapshot.coverage_of(resource, namespace) == Coverage::Listed;
    match &failure.scope {
        Scope::Namespace(namespace) => is_listed(namespace),
        Scope::Cluster if resource == ResourceKind::VolumeSnapshot => {
            let mut namespaces = snapshot_namespaces(snapshot).peekable();
            is_listed("")
                || namespaces.peek().is_some()
                    && is_listed(&snapshot.namespace)
                    && namespaces.all(is_listed)
        }
        Scope::Selected { .. } => {
            let targets = targets(resource, snapshot);
            is_listed("") || !targets.is_empty() && targets.iter().all(|target| target.is_known)
        }
        Scope::Cluster | Scope::FileList | Scope::FileObjects => is_listed(""),
    }
}

/// The namespaces of the snapshots that DataUploads wait for.
fn snapshot_namespaces(snapshot: &Snapshot) -> impl Iterator<Item = &str> {
    snapshot
        .unfinished()
        .filter(|task| task.reference.kind == TaskKind::DataUpload && task.phase == Phase::Accepted)
        .filter_map(|task| task.claim.as_ref())
        .map(|claim| claim.namespace.as_str())
}

/// What an unfinished restore task writes into.
struct Target<'s> {
    namespace: &'s str,
    name: &'s str,
    /// Whether it was seen, or is provably not there.
    is_known: bool,
}

fn targets(resource: ResourceKind, snapshot: &Snapshot) -> Vec<Target<'_>> {
    snapshot
        .unfinished()
        .filter_map(|task| match (task.reference.kind, resource) {
            (TaskKind::PodVolumeRestore, ResourceKind::Pod) => {
                let pod = task.pod.as_ref()?;
                Some(Target {
                    namespace: &pod.namespace,
                    name: &pod.name,
                    is_known: !snapshot
                        .restored_pod(&pod.namespace, &pod.name)
                        .is_unknown(),
                })
            }
            (TaskKind::DataDownload, ResourceKind::PersistentVolumeClaim) => {
                let claim = task.claim.as_ref()?;
                let seen = snapshot.restored_claim(&claim.namespace, &claim.name);
                Some(Target {
                    namespace: &claim.namespace,
                    name: &claim.name,
                    is_known: !seen.is_unknown(),
                })
            }
            _ => None,
        })
        .collect()
}

/// Whether a listing was for objects outside Velero's namespace.
fn is_elsewhere(scope: &Scope, snapshot: &Snapshot) -> bool {
    match scope {
        Scope::Namespace(namespace) => *namespace != snapshot.namespace,
        Scope::Selected { .. } => true,
        Scope::Cluster | Scope::FileList | Scope::FileObjects => false,
    }
}

const fn rank(coverage: Coverage) -> u8 {
    match coverage {
        Coverage::Listed => 3,
        Coverage::Present => 2,
        Coverage::Partial => 1,
        Coverage::Unreadable(_) => 0,
    }
}

fn better(one: Coverage, other: Coverage) -> Coverage {
    if rank(other) > rank(one) {
        other
    } else {
        told_first(one, other)
    }
}

fn worse(one: Coverage, other: Coverage) -> Coverage {
    if rank(other) < rank(one) {
        other
    } else {
        told_first(one, other)
    }
}

/// Which of two reasons is told must not depend on the order of the listings.
fn told_first(one: Coverage, other: Coverage) -> Coverage {
    if let (Coverage::Unreadable(a), Coverage::Unreadable(b)) = (one, other) {
        Coverage::Unreadable(a.min(b))
    } else {
        one
    }
}

/// An object was lost: what is not there may be it.
fn damage(
    merged: &mut BTreeMap<(ResourceKind, String), Coverage>,
    resource: ResourceKind,
    namespace: Option<&str>,
) {
    let mut everywhere = Coverage::Unreadable(GapReason::NotInInput);
    for ((of, there), coverage) in merged.iter_mut() {
        if *of != resource {
            continue;
        }
        if there.is_empty() {
            everywhere = *coverage;
        }
        if namespace.is_none_or(|namespace| namespace == there)
            && rank(*coverage) > rank(Coverage::Partial)
        {
            *coverage = Coverage::Partial;
        }
    }
    if let Some(namespace) = namespace
        && rank(everywhere) > rank(Coverage::Partial)
    {
        merged
            .entry((resource, namespace.to_owned()))
            .or_insert(Coverage::Partial);
    }
}

/// What an answer lacks without a resource.
const fn effect(resource: ResourceKind) -> &'static str {
    match resource {
        ResourceKind::Task(TaskKind::DataUpload) => "DataUploads are missing from the answer",
        ResourceKind::Task(TaskKind::DataDownload) => "DataDownloads are missing from the answer",
        ResourceKind::Task(TaskKind::PodVolumeBackup) => {
            "PodVolumeBackups are missing from the answer"
        }
        ResourceKind::Task(TaskKind::PodVolumeRestore) => {
            "PodVolumeRestores are missing from the answer"
        }
        ResourceKind::Backup => {
            "deadlines of the tasks of Backups are not known, nor whether their Backup is final or gone"
        }
        ResourceKind::Restore => {
            "deadlines of the tasks of Restores are not known, nor whether their Restore is final or gone"
        }
        ResourceKind::Pod => {
            "node-agents and mover pods are not known, so what they hold and wait for is left open"
        }
        ResourceKind::Node => {
            "whether nodes are Ready is not known, nor which rule of perNodeConfig they match"
        }
        ResourceKind::DaemonSet => "why node-agents are missing cannot be said",
        ResourceKind::Deployment => {
            "the server's version is not known, and its default timeouts are assumed for deadlines"
        }
        ResourceKind::ConfigMap => "the configured limits and the prepare queue are not known",
        ResourceKind::PersistentVolumeClaim => {
            "whether volumes are bound and restore targets exist is not known"
        }
        ResourceKind::VolumeSnapshot => "whether snapshots are ready is not known",
        ResourceKind::Event => "findings lack the words of events; none depends on them alone",
    }
}

/// What an answer lacks without the objects of a resource outside Velero's namespace.
const fn elsewhere(resource: ResourceKind) -> &'static str {
    match resource {
        ResourceKind::Pod => {
            "whether the pods that PodVolumeRestores restore into exist is not known"
        }
        ResourceKind::PersistentVolumeClaim => {
            "whether the claims that DataDownloads write to exist is not known"
        }
        ResourceKind::Task(_)
        | ResourceKind::Backup
        | ResourceKind::Restore
        | ResourceKind::Node
        | ResourceKind::DaemonSet
        | ResourceKind::Deployment
        | ResourceKind::ConfigMap
        | ResourceKind::VolumeSnapshot
        | ResourceKind::Event => effect(resource),
    }
}

/// The gap of a resource of which the input holds nothing where it is needed.
fn not_in_input(resource: ResourceKind, snapshot: &Snapshot) -> Option<Gap> {
    let namespace = if resource == ResourceKind::Node {
        ""
    } else {
        &snapshot.namespace
    };
    let is_missing =
        snapshot.coverage_of(resource, namespace) == Coverage::Unreadable(GapReason::NotInInput);
    if !is_missing || !is_needed(resource, snapshot) {
        return None;
    }
    let mut message = format!("the input holds no {}", resource.kind());
    if resource != ResourceKind::Node {
        message = format!("{message} of namespace {}", snapshot.namespace);
    }
    let mut effect = effect(resource).to_owned();
    if let ResourceKind::Task(_) = resource {
        effect = format!("{effect}; nothing is more than likely");
    }
    Some(Gap::new(
        resource.plural(),
        GapReason::NotInInput,
        &message,
        &effect,
    ))
}

/// Whether the absence of a resource takes something from the answer: a list of gaps is read only while
/// it is short.
fn is_needed(resource: ResourceKind, snapshot: &Snapshot) -> bool {
    let any_task = |test: &dyn Fn(&super::super::Task) -> bool| snapshot.unfinished().any(test);
    let has_parent = |kind: ParentKind| {
        any_task(&|task| {
            task.parent
                .as_ref()
                .is_some_and(|parent| parent.kind == kind)
        })
    };
    match resource {
        ResourceKind::Task(_) | ResourceKind::Pod | ResourceKind::Node => true,
        ResourceKind::Backup => has_parent(ParentKind::Backup),
        ResourceKind::Restore => has_parent(ParentKind::Restore),
        ResourceKind::DaemonSet => snapshot.agents.is_empty(),
        ResourceKind::Deployment => any_task(&|_| true),
        // An agent that names none has the default, whatever ConfigMaps there are.
        ResourceKind::ConfigMap => snapshot.agents.iter().any(|agent| {
            matches!(
                agent.profile.config_map(agent.config_map_flag.as_deref()),
                ConfigMapRead::Named(_)
            )
        }),
        ResourceKind::PersistentVolumeClaim => any_task(&|task| {
            task.reference.kind == TaskKind::DataDownload || task.phase == Phase::Accepted
        }),
        ResourceKind::VolumeSnapshot => any_task(&|task| {
            task.reference.kind == TaskKind::DataUpload && task.phase == Phase::Accepted
        }),
        ResourceKind::Event => any_task(&|task| task.phase == Phase::Accepted),
    }
}
