//! Captures of several times: the newest tells how things stand, the earlier ones what the tasks were like.
//!
//! Two captures are two looks if they were taken at least [`ONE_LOOK`] apart. Of an earlier look the tasks are
//! kept for comparison; what a newer list of the same objects does not hold is gone, whatever the earlier one
//! says; and a list that has no newer one proves nothing about what is missing in it now.

use jiff::{SignedDuration, Timestamp};

use super::{Intake, Missing};
use crate::capture::{Earlier, GapReason, Item, LogFile, ResourceKind, Scope};

/// Captures closer than this are parts of one look, such as one of Velero's namespace and one of the
/// application's, taken one after the other.
const ONE_LOOK: SignedDuration = SignedDuration::from_secs(60);

impl Intake {
    /// Returns when the capture was taken that a listing is of.
    pub(super) fn taken_at(&self, listing: usize) -> Option<Timestamp> {
        self.listings.get(listing)?.taken_at
    }

    /// Returns whether two listings are of one look: then, and where nobody knows, the objects themselves tell
    /// which is newer.
    pub(super) fn is_one_look(&self, one: usize, other: usize) -> bool {
        match (self.taken_at(one), self.taken_at(other)) {
            (Some(one), Some(other)) => one.duration_since(other).abs() < ONE_LOOK,
            (Some(_) | None, Some(_) | None) => true,
        }
    }

    /// Keeps a task of an earlier look.
    pub(super) fn look_back(&mut self, resource: ResourceKind, listing: usize, item: Item) {
        if let (ResourceKind::Task(kind), Some(taken_at)) = (resource, self.taken_at(listing)) {
            self.earlier.push(Earlier {
                taken_at,
                kind,
                item,
            });
        }
    }

    /// Keeps a log of a capture, unless that of a later one is kept.
    pub(super) fn log_of_capture(&mut self, log: LogFile, taken_at: Option<Timestamp>) {
        let key = (
            log.namespace.clone(),
            log.pod.clone(),
            log.container.clone(),
            log.previous,
        );
        if let Some(taken_at) = taken_at {
            let kept = self.log_times.entry(key.clone()).or_insert(taken_at);
            if *kept > taken_at {
                return;
            }
            *kept = taken_at;
            // The time of the capture tells more than the last line.
            self.logs.remove(&key);
        }
        self.log(log);
    }

    /// Drops from earlier looks what newer lists speak of.
    pub(super) fn keep_the_newest_look(&mut self) {
        let newest = self.listings.iter().filter_map(|one| one.taken_at).max();
        let Some(newest) = newest else { return };
        let whole: Vec<(ResourceKind, Scope, Timestamp)> = self
            .listings
            .iter()
            .filter(|one| matches!(one.missing, Missing::Nothing))
            .filter_map(|one| Some((one.resource, one.scope.clone(), one.taken_at?)))
            .collect();
        let newer = |resource: ResourceKind, than: Timestamp| {
            whole.iter().filter(move |(other, _, at)| {
                *other == resource && at.duration_since(than) >= ONE_LOOK
            })
        };
        let mut gone: Vec<(usize, usize)> = Vec::new();
        for ((resource, namespace, _), seen) in &self.seen {
            let listing = self.listings.get(seen.listing);
            let Some((taken_at, scope)) = listing.and_then(|one| Some((one.taken_at?, &one.scope)))
            else {
                continue;
            };
            let spoken_of = newer(*resource, taken_at).any(|(_, newer, _)| {
                newer == scope
                    || match newer {
                        Scope::Cluster => true,
                        Scope::Namespace(name) => name == namespace,
                        Scope::Selected { .. } | Scope::FileList | Scope::FileObjects => false,
                    }
            });
            if spoken_of {
                gone.push((seen.listing, seen.item));
            }
        }
        for (listing, item) in gone {
            let Some(building) = self.listings.get_mut(listing) else {
                continue;
            };
            let resource = building.resource;
            if let Some(item) = building.items.get_mut(item).and_then(Option::take) {
                self.look_back(resource, listing, item);
            }
        }
        self.listings.retain_mut(|one| {
            let Some(taken_at) = one.taken_at else {
                return true;
            };
            if newest.duration_since(taken_at) < ONE_LOOK {
                return true;
            }
            let replaced = newer(one.resource, taken_at)
                .any(|(_, scope, _)| *scope == one.scope || *scope == Scope::Cluster);
            if !replaced && matches!(one.missing, Missing::Nothing) {
                one.missing = Missing::Rest(
                    GapReason::Partial,
                    format!("read at {taken_at}, and not again at {newest}"),
                );
            }
            !replaced
        });
    }
}
