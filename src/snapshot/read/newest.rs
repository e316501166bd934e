//! Objects by key, each once.

use std::collections::BTreeMap;

/// Objects by key; of two copies of one object the newer stays.
pub(super) struct Newest<K, T>(BTreeMap<K, (Option<u64>, T)>);

impl<K, T> Default for Newest<K, T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, T> Newest<K, T> {
    pub(super) fn put(&mut self, key: K, version: Option<u64>, value: T) {
        let is_older = |(there, _): &(Option<u64>, T)| match (there, version) {
            (Some(there), Some(version)) => *there > version,
            (Some(_) | None, Some(_) | None) => false,
        };
        if !self.0.get(&key).is_some_and(is_older) {
            self.0.insert(key, (version, value));
        }
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_values().map(|(_, value)| value)
    }

    pub(super) fn into_map(self) -> BTreeMap<K, T> {
        self.0
            .into_iter()
            .map(|(key, (_, value))| (key, value))
            .collect()
    }
}
