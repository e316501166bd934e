//! Events, in the shape of the core group and of `events.k8s.io`.

use serde::Deserialize;

use super::super::{Event, ResourceKind};
use super::notes::{Notes, Who};
use super::wire::{Loose, Meta, Obj, Text, Wire};
use crate::velero::ObjectRef;

/// An Event of either group.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct EventWire<'a> {
    #[serde(borrow)]
    metadata: Obj<Meta<'a>>,
    #[serde(borrow)]
    involved_object: Option<Obj<Reference<'a>>>,
    #[serde(borrow)]
    regarding: Obj<Reference<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Loose<'a>,
    #[serde(borrow)]
    note: Loose<'a>,
    #[serde(borrow)]
    first_timestamp: Loose<'a>,
    #[serde(borrow)]
    last_timestamp: Loose<'a>,
    #[serde(borrow)]
    deprecated_first_timestamp: Loose<'a>,
    #[serde(borrow)]
    deprecated_last_timestamp: Loose<'a>,
    #[serde(borrow)]
    event_time: Loose<'a>,
    count: Option<i64>,
    deprecated_count: Option<i64>,
    #[serde(borrow)]
    series: Option<Obj<Series<'a>>>,
}

impl Wire for EventWire<'_> {
    fn meta(&self) -> &Meta<'_> {
        &self.metadata
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reference<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    namespace: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    uid: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Series<'a> {
    count: Option<i64>,
    #[serde(borrow)]
    last_observed_time: Loose<'a>,
}

impl Notes {
    /// Makes an Event of what was decoded.
    pub(super) fn event(&mut self, wire: &EventWire<'_>) -> Event {
        let meta = &wire.metadata;
        let who = Who {
            resource: ResourceKind::Event,
            namespace: &meta.namespace,
            name: &meta.name,
        };
        self.managed_times(who, meta);
        let about = wire.involved_object.as_ref().unwrap_or(&wire.regarding);
        let created = self.created(who, meta);
        let event_time = self.time(who, "eventTime", &wire.event_time);
        let first = self
            .time(who, "firstTimestamp", &wire.first_timestamp)
            .or(self.time(
                who,
                "deprecatedFirstTimestamp",
                &wire.deprecated_first_timestamp,
            ));
        let last = self
            .time(who, "lastTimestamp", &wire.last_timestamp)
            .or(self.time(
                who,
                "deprecatedLastTimestamp",
                &wire.deprecated_last_timestamp,
            ));
        let series = wire.series.as_deref();
        let observed = series.and_then(|series| {
            self.time(who, "series.lastObservedTime", &series.last_observed_time)
        });
        let message = self.text(who, "message", &wire.message);
        let note = self.text(who, "note", &wire.note);
        Event {
            about: ObjectRef {
                kind: about.kind.owned(),
                namespace: about.namespace.set(),
                name: about.name.owned(),
            },
            about_uid: about.uid.owned(),
            kind: wire.kind.owned(),
            reason: wire.reason.owned(),
            message: if message.is_empty() { note } else { message },
            last_seen: last.max(observed).or(event_time).or(created),
            first_seen: first.or(event_time).or(created),
            count: wire
                .count
                .or(wire.deprecated_count)
                .or(series.and_then(|series| series.count))
                .unwrap_or(1),
        }
    }
}
