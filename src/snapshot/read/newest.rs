//! Objects by key, each once.

use std::collections::BTreeMap;

/// Objects by key; of two copies of one object the newer stays. A list until all are there: a map that grows in
/// the order of its keys is half empty, and a large input has hundreds of thousands of objects.
pub(super) struct Newest<K, T>(Vec<Entry<K, T>>);

struct Entry<K, T> {
    key: K,
    /// How many came before it.
    place: u32,
    version: Option<u64>,
    value: T,
}

impl<K, T> Default for Newest<K, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, T> Newest<K, T> {
    pub(super) fn put(&mut self, key: K, version: Option<u64>, value: T) {
        let place = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.push(Entry {
            key,
            place,
            version,
            value,
        });
    }

    /// Returns the objects by key.
    pub(super) fn into_sorted(self) -> impl Iterator<Item = (K, T)> {
        let mut all = self.0;
        all.sort_unstable_by(|a, b| (&a.key, a.place).cmp(&(&b.key, b.place)));
        all.dedup_by(|later, kept| {
            let is_same = later.key == kept.key;
            let is_older = match (later.version, kept.version) {
                (Some(later), Some(kept)) => later < kept,
                (Some(_) | None, Some(_) | None) => false,
            };
            if is_same && !is_older {
                std::mem::swap(later, kept);
            }
            is_same
        });
        all.into_iter().map(|entry| (entry.key, entry.value))
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.into_sorted().map(|(_, value)| value)
    }

    pub(super) fn into_map(self) -> BTreeMap<K, T> {
        self.into_sorted().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_copies_the_newer_stays_and_of_two_that_do_not_tell_the_later_one() {
        let mut all = Newest::default();
        for (key, version, value) in [
            ("b", Some(2), 1),
            ("a", Some(5), 2),
            ("a", Some(4), 3),
            ("b", None, 4),
            ("b", Some(1), 5),
            ("c", Some(1), 6),
            ("c", Some(1), 7),
        ] {
            all.put(key, version, value);
        }
        let map = all.into_map();
        assert_eq!(map, BTreeMap::from([("a", 2), ("b", 5), ("c", 7)]));
    }
}
