//! What changed while it was watched.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// How many changes are told.
const MOST: usize = 3;

/// What changed lately.
#[derive(Default)]
pub(super) struct History {
    known: Option<BTreeMap<String, String>>,
    lines: Vec<String>,
}

impl History {
    /// Compares what an answer says with what the one before said.
    pub(super) fn take(&mut self, marks: &BTreeMap<String, String>, now: Option<Timestamp>) {
        if let Some(known) = &self.known {
            let gone = known
                .iter()
                .filter(|(name, _)| !marks.contains_key(*name))
                .map(|(name, was)| format!("{name}: no longer {was}"));
            let new = marks.iter().filter_map(|(name, is)| match known.get(name) {
                Some(was) if was == is => None,
                Some(was) => Some(format!("{name}: {is}, was {was}")),
                None => Some(format!("{name}: {is}")),
            });
            let time =
                now.map_or_else(String::new, |now| format!("{} ", now.strftime("%H:%M:%SZ")));
            let all: Vec<String> = gone
                .chain(new)
                .map(|line| format!("{time}{line}"))
                .collect();
            let more = all.len().saturating_sub(MOST);
            self.lines.extend(all.into_iter().take(MOST));
            if let (Some(last), 1..) = (self.lines.last_mut(), more) {
                last.push_str(&format_more(more));
            }
            let too_many = self.lines.len().saturating_sub(MOST);
            self.lines.drain(..too_many);
        }
        self.known = Some(marks.clone());
    }

    /// Returns a line for each, the newest last.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }
}

fn format_more(more: usize) -> String {
    format!(", and {more} more")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        of.iter()
            .map(|(name, is)| ((*name).to_owned(), (*is).to_owned()))
            .collect()
    }

    fn at(time: &str) -> Option<Timestamp> {
        Some(format!("2026-01-02T{time}Z").parse().unwrap())
    }

    #[test]
    fn what_is_new_what_changed_and_what_is_gone_is_told_with_its_time() {
        let mut history = History::default();
        history.take(
            &marks(&[("node-a", "stuck"), ("du-1", "Prepared")]),
            at("03:04:05"),
        );
        assert!(history.lines().is_empty(), "the first answer is no change");
        history.take(
            &marks(&[("node-a", "busy"), ("du-2", "Prepared")]),
            at("03:04:06"),
        );
        assert_eq!(
            history.lines(),
            [
                "03:04:06Z du-1: no longer Prepared",
                "03:04:06Z du-2: Prepared",
                "03:04:06Z node-a: busy, was stuck",
            ]
        );
        history.take(
            &marks(&[("node-a", "busy"), ("du-2", "Prepared")]),
            at("03:04:07"),
        );
        assert_eq!(history.lines().len(), 3);
        history.take(
            &marks(&[("node-a", "idle"), ("du-2", "Prepared")]),
            at("03:04:08"),
        );
        assert_eq!(
            history.lines().last().map(String::as_str),
            Some("03:04:08Z node-a: idle, was busy")
        );
        assert_eq!(history.lines().len(), 3);
    }

    #[test]
    fn many_changes_at_once_are_counted() {
        let mut history = History::default();
        history.take(&BTreeMap::new(), None);
        history.take(
            &marks(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1"), ("e", "1")]),
            None,
        );
        assert_eq!(history.lines(), ["a: 1", "b: 1", "c: 1, and 2 more"]);
    }
}
