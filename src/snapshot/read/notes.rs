//! What a reading collects beside the objects: gaps, the newest time, and whose absence proves nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{Condition, Gap, GapReason, ResourceKind};
use super::decode_error::{best_effort_identity, field_of, path_of_error, words_of};
use super::now::LogEnd;
use super::wire::{ConditionWire, List, Loose, Meta, Obj, Text, Wire};
use crate::capture::{Capture, Item};
use crate::velero::parse_go_duration;

/// How many objects a gap names before it only counts.
const NAMED: usize = 3;

const FIELD_LOST: &str = "the field is read as absent";
const OBJECT_LOST: &str = "the object is left out, and its absence proves nothing";

/// Names an object in a gap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who<'a> {
    pub(super) resource: ResourceKind,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl fmt::Display for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// What several objects have in common, so that a thousand of them make one gap.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    resource: ResourceKind,
    reason: GapReason,
    what: String,
    effect: &'static str,
}

/// An entry of `metadata.managedFields`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ManagedEntryWire<'a> {
    #[serde(borrow)]
    manager: Text<'a>,
    #[serde(borrow)]
    time: Loose<'a>,
    #[serde(borrow, rename = "fieldsV1")]
    fields: Option<&'a RawValue>,
}

/// An entry of `metadata.managedFields` with its time.
#[derive(Debug)]
pub(super) struct ManagedEntry<'a> {
    pub(super) manager: Text<'a>,
    pub(super) time: Option<Timestamp>,
    /// `fieldsV1`, unread; empty if it is left out.
    pub(super) fields: &'a str,
}

/// Whether the times of managedFields are needed for "now" where nothing else is read from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ManagedTimes {
    /// "Now" is given.
    Skip,
    /// "Now" is the newest time of the input.
    Count,
}

/// Collects what a reading finds beside the objects.
#[derive(Debug)]
pub(super) struct Notes {
    managed_times: ManagedTimes,
    faults: BTreeMap<Fault, BTreeMap<String, String>>,
    gaps: BTreeSet<Gap>,
    newest: Option<Timestamp>,
    log_ends: Vec<LogEnd>,
    damaged: BTreeSet<(ResourceKind, Option<String>)>,
}

impl Notes {
    pub(super) const fn new(managed_times: ManagedTimes) -> Self {
        Self {
            managed_times,
            faults: BTreeMap::new(),
            gaps: BTreeSet::new(),
            newest: None,
            log_ends: Vec::new(),
            damaged: BTreeSet::new(),
        }
    }

    /// Decodes one object; what cannot be decoded is a gap and `None`.
    pub(super) fn decode<'a, T>(
        &mut self,
        capture: &'a Capture,
        item: &Item,
        resource: ResourceKind,
    ) -> Option<T>
    where
        T: Wire + Default + Deserialize<'a>,
    {
        let json = capture.json(item);
        let problem = match serde_json::from_str::<Obj<T>>(json) {
            Ok(object) => match missing_identity(object.meta(), resource) {
                None => return Some(object.into_inner()),
                Some(field) => (field.to_owned(), "is not set".to_owned()),
            },
            Err(error) => (field_of(&error, json), words_of(&error)),
        };
        self.object_lost(json, capture.origin(item), resource, problem);
        None
    }

    fn object_lost(
        &mut self,
        json: &str,
        origin: &str,
        resource: ResourceKind,
        (field, why): (String, String),
    ) {
        let (namespace, name) = best_effort_identity(json);
        let who = name.as_deref().map_or_else(
            || format!("without a name in {origin}"),
            |name| {
                Who {
                    resource,
                    namespace: namespace.as_deref().unwrap_or_default(),
                    name,
                }
                .to_string()
            },
        );
        self.damaged.insert((resource, namespace));
        let fault = Fault {
            resource,
            reason: GapReason::Malformed,
            what: field,
            effect: OBJECT_LOST,
        };
        self.fault(fault, who, why);
    }

    /// Notes that one field of an object is read as absent.
    pub(super) fn field_lost(&mut self, who: Who<'_>, field: &str, why: &str) {
        self.common(
            who,
            GapReason::Malformed,
            format!(".{field}"),
            why,
            FIELD_LOST,
        );
    }

    /// Notes something that several objects may have in common; they make one gap.
    pub(super) fn common(
        &mut self,
        who: Who<'_>,
        reason: GapReason,
        what: String,
        why: &str,
        effect: &'static str,
    ) {
        let fault = Fault {
            resource: who.resource,
            reason,
            what,
            effect,
        };
        self.fault(fault, who.to_string(), why.to_owned());
    }

    /// Two objects may go by one name: those without any, and one that came twice. Which of the two is read
    /// first must not decide what is said.
    fn fault(&mut self, fault: Fault, who: String, why: String) {
        let objects = self.faults.entry(fault).or_default();
        if objects.get(&who).is_none_or(|said| why < *said) {
            objects.insert(who, why);
        }
    }

    /// Notes a gap as it is.
    pub(super) fn gap(&mut self, gap: Gap) {
        self.gaps.insert(gap);
    }

    /// Returns the resources of which an object was lost, with its namespace if that is known.
    pub(super) const fn damaged(&self) -> &BTreeSet<(ResourceKind, Option<String>)> {
        &self.damaged
    }

    /// Returns the newest time that counts for "now".
    pub(super) const fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    /// Keeps how a log ends, for "now".
    pub(super) fn log_ends(&mut self, end: LogEnd) {
        self.log_ends.push(end);
    }

    /// Takes the ends of the logs.
    pub(super) fn take_log_ends(&mut self) -> Vec<LogEnd> {
        std::mem::take(&mut self.log_ends)
    }

    /// Counts a time for "now".
    pub(super) fn passed(&mut self, time: Option<Timestamp>) {
        self.newest = self.newest.max(time);
    }

    /// Reads a time that lies in the past when it is written, so that it counts for "now".
    pub(super) fn time(
        &mut self,
        who: Who<'_>,
        field: &str,
        value: &Loose<'_>,
    ) -> Option<Timestamp> {
        let time = self.other_time(who, field, value);
        self.passed(time);
        time
    }

    /// Reads a time that says nothing about "now": deletionTimestamp may lie in the future.
    pub(super) fn other_time(
        &mut self,
        who: Who<'_>,
        field: &str,
        value: &Loose<'_>,
    ) -> Option<Timestamp> {
        let text = self.loose(who, field, value)?;
        match text.parse() {
            Ok(time) => Some(time),
            Err(_) => {
                self.field_lost(who, field, &format!("{text:?} is not an RFC 3339 time"));
                None
            }
        }
    }

    /// Reads a duration, in seconds.
    pub(super) fn duration(&mut self, who: Who<'_>, field: &str, value: &Loose<'_>) -> Option<i64> {
        let text = self.loose(who, field, value)?;
        let duration = parse_go_duration(text);
        if duration.is_none() {
            self.field_lost(who, field, &format!("{text:?} is not a duration"));
        }
        duration.map(|duration| duration.as_secs())
    }

    /// Reads a text that may be lost without losing its object.
    pub(super) fn loose<'t>(
        &mut self,
        who: Who<'_>,
        field: &str,
        value: &'t Loose<'_>,
    ) -> Option<&'t str> {
        match value {
            Loose::Absent => None,
            Loose::Text(text) => Some(text),
            Loose::Odd(what) => {
                self.field_lost(who, field, &format!("{what} where a string belongs"));
                None
            }
        }
    }

    /// Reads a text that may be lost without losing its object; absent and lost are empty.
    pub(super) fn text(&mut self, who: Who<'_>, field: &str, value: &Loose<'_>) -> String {
        self.loose(who, field, value).unwrap_or_default().to_owned()
    }

    /// Counts the times of managedFields for "now", if that is still open. Half of an object's bytes are
    /// managedFields, so they are not looked at for nothing.
    pub(super) fn managed_times(&mut self, who: Who<'_>, meta: &Meta<'_>) {
        match self.managed_times {
            ManagedTimes::Skip => {}
            ManagedTimes::Count => drop(self.managed(who, meta)),
        }
    }

    /// Reads `metadata.creationTimestamp`.
    pub(super) fn created(&mut self, who: Who<'_>, meta: &Meta<'_>) -> Option<Timestamp> {
        self.time(who, "metadata.creationTimestamp", &meta.creation_timestamp)
    }

    /// Reads `metadata.resourceVersion` as it came; `None` where there is none.
    pub(super) fn resource_version(&mut self, who: Who<'_>, meta: &Meta<'_>) -> Option<String> {
        self.loose(who, "metadata.resourceVersion", &meta.resource_version)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    }

    /// Reads `metadata.managedFields`; `None` when they are left out or unreadable.
    pub(super) fn managed<'a>(
        &mut self,
        who: Who<'_>,
        meta: &Meta<'a>,
    ) -> Option<Vec<ManagedEntry<'a>>> {
        let raw = meta.managed_fields?;
        let entries = match serde_json::from_str::<List<Obj<ManagedEntryWire<'a>>>>(raw.get()) {
            Ok(entries) => entries,
            Err(error) => {
                let field = format!("metadata.managedFields{}", path_of_error(&error, raw.get()));
                self.field_lost(who, &field, &words_of(&error));
                return None;
            }
        };
        if entries.is_empty() {
            return None;
        }
        let entries = entries.iter().map(|entry| ManagedEntry {
            time: self.time(who, "metadata.managedFields[].time", &entry.time),
            manager: entry.manager.clone(),
            fields: entry.fields.map_or("", RawValue::get),
        });
        Some(entries.collect())
    }

    /// Reads `status.conditions`.
    pub(super) fn conditions(
        &mut self,
        who: Who<'_>,
        conditions: &[Obj<ConditionWire<'_>>],
    ) -> Vec<Condition> {
        conditions
            .iter()
            .map(|wire| {
                // A Node's heartbeat is of no other use than to say how late it is: on a cluster where
                // nothing moves, it is the only thing that does.
                self.time(
                    who,
                    "status.conditions[].lastHeartbeatTime",
                    &wire.last_heartbeat_time,
                );
                Condition {
                    kind: wire.kind.owned(),
                    status: wire.status.owned(),
                    reason: wire.reason.owned(),
                    message: self.text(who, "status.conditions[].message", &wire.message),
                    changed: self.time(
                        who,
                        "status.conditions[].lastTransitionTime",
                        &wire.last_transition_time,
                    ),
                }
            })
            .collect()
    }

    /// Returns all gaps, in order.
    pub(super) fn into_gaps(self) -> Vec<Gap> {
        let mut gaps: Vec<Gap> = self
            .faults
            .into_iter()
            .map(|(fault, objects)| fault.into_gap(&objects))
            .chain(self.gaps)
            .collect();
        gaps.sort();
        gaps.dedup();
        gaps
    }
}

impl Fault {
    fn into_gap(self, objects: &BTreeMap<String, String>) -> Gap {
        let names: Vec<&str> = objects.keys().take(NAMED).map(String::as_str).collect();
        let mut who = names.join(", ");
        if objects.len() > NAMED {
            who = format!("{who} and {} more", objects.len() - NAMED);
        }
        let why = objects.values().next().map_or("", String::as_str);
        let colon = if why.is_empty() { "" } else { ": " };
        Gap {
            resource: self.resource.plural().to_owned(),
            reason: self.reason,
            message: format!("{} {who}: {}{colon}{why}", self.resource.kind(), self.what),
            effect: self.effect.to_owned(),
        }
    }
}

fn missing_identity(meta: &Meta<'_>, resource: ResourceKind) -> Option<&'static str> {
    if meta.name.is_empty() {
        Some(".metadata.name")
    } else if meta.namespace.is_empty() && resource != ResourceKind::Node {
        Some(".metadata.namespace")
    } else {
        None
    }
}
