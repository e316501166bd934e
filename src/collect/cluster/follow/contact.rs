//! How the following of a cluster goes, and what time it is there.

use std::cell::Cell;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::capture::ResourceKind;

/// How the following of a cluster goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// The server as a whole does not answer.
    pub lost: Option<Lost>,
    /// How many lists are watched.
    pub watched: usize,
    /// Lists that may not be watched and are read again every few seconds.
    pub polled: Vec<ResourceKind>,
    /// Lists that cannot be followed at the moment.
    pub behind: Vec<Behind>,
}

impl Contact {
    /// Returns whether what is known is what is there: nothing is waited for.
    #[must_use]
    pub const fn is_current(&self) -> bool {
        self.lost.is_none() && self.behind.is_empty()
    }
}

/// The server does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The last moment at which it did, by its own clock.
    pub since: Option<Timestamp>,
    /// Why, in a few words.
    pub why: String,
}

/// A list that cannot be followed at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The resource.
    pub resource: ResourceKind,
    /// Since when, by the server's clock.
    pub since: Option<Timestamp>,
    /// Why, in a few words.
    pub why: String,
}

/// How a list is kept up to date.
#[derive(Clone, Debug, Default)]
pub(super) enum Link {
    /// By a watch.
    #[default]
    Watching,
    /// By being read again: it may not be watched.
    Polling,
    /// Not at all: it may not be read.
    Refused,
    /// Not at the moment.
    Behind {
        since: Option<Timestamp>,
        from: Instant,
        why: String,
    },
}

impl Link {
    /// Returns whether a reader would be told the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Watching, Self::Watching)
            | (Self::Polling, Self::Polling)
            | (Self::Refused, Self::Refused) => true,
            (Self::Behind { why, .. }, Self::Behind { why: other, .. }) => why == other,
            (Self::Watching | Self::Polling | Self::Refused | Self::Behind { .. }, _) => false,
        }
    }

    /// The server was away: what looked alive has to prove it, and what is behind is so from now on.
    pub(super) fn doubt(&mut self, now: Option<Timestamp>) {
        let why = match self {
            Self::Watching => "the API server was away",
            Self::Behind { why, .. } => why,
            Self::Polling | Self::Refused => return,
        };
        *self = Self::Behind {
            since: now,
            from: Instant::now(),
            why: why.to_owned(),
        };
    }
}

/// The server's clock, between two of its answers.
#[derive(Default)]
pub(super) struct Clock {
    told: Cell<Option<(Timestamp, Instant)>>,
}

impl Clock {
    /// Headers tell whole seconds, so that each is up to a second late. A server that is further behind than this
    /// has had its clock set back.
    const LATE: SignedDuration = SignedDuration::from_secs(2);

    /// Takes what an answer says that has just come.
    pub(super) fn tell(&self, date: Option<Timestamp>) {
        self.tell_at(date, Instant::now());
    }

    fn tell_at(&self, date: Option<Timestamp>, at: Instant) {
        let Some(date) = date else {
            return;
        };
        let told = match self.time_at(at) {
            Some(now) if date < now && now.duration_since(date) <= Self::LATE => now,
            Some(_) | None => date,
        };
        self.told.set(Some((told, at)));
    }

    /// Returns the time, to the second.
    pub(super) fn now(&self) -> Option<Timestamp> {
        whole_second(self.time_at(Instant::now())?)
    }

    /// Returns when the server last told the time.
    pub(super) fn last_told(&self) -> Option<Timestamp> {
        let (told, _) = self.told.get()?;
        whole_second(told)
    }

    fn time_at(&self, at: Instant) -> Option<Timestamp> {
        let (told, since) = self.told.get()?;
        let by = SignedDuration::try_from(at.duration_since(since)).ok()?;
        told.checked_add(by).ok()
    }
}

fn whole_second(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(time.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn time(text: &str) -> Option<Timestamp> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn the_clock_goes_on_between_answers_and_never_back_by_a_rounding() {
        let clock = Clock::default();
        assert_eq!(clock.now(), None);
        let start = Instant::now();
        let later = start + Duration::from_millis(1900);
        clock.tell_at(time("2026-01-02T03:04:05Z"), start);
        assert_eq!(clock.time_at(later), time("2026-01-02T03:04:06.9Z"));
        clock.tell_at(time("2026-01-02T03:04:05Z"), later);
        assert_eq!(clock.time_at(later), time("2026-01-02T03:04:06.9Z"));
        clock.tell_at(time("2026-01-02T03:04:08Z"), later);
        assert_eq!(clock.time_at(later), time("2026-01-02T03:04:08Z"));
        clock.tell_at(None, later);
        assert_eq!(clock.last_told(), time("2026-01-02T03:04:08Z"));
    }

    #[test]
    fn a_clock_that_was_set_back_is_followed() {
        let clock = Clock::default();
        let start = Instant::now();
        clock.tell_at(time("2026-01-02T03:04:05Z"), start);
        clock.tell_at(time("2026-01-02T03:00:00Z"), start);
        assert_eq!(clock.time_at(start), time("2026-01-02T03:00:00Z"));
    }
}
