//! The labels of a pod. A map of one label takes as much room as one of eleven, and a large input has a
//! hundred thousand pods with one or two.

/// Labels, each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Box<[(String, String)]>);

impl Labels {
    /// Returns the value of a label.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&String> {
        let place = self.0.binary_search_by(|(name, _)| name.as_str().cmp(key));
        self.0.get(place.ok()?).map(|(_, value)| value)
    }

    /// Returns whether there is such a label.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns the labels by key.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl FromIterator<(String, String)> for Labels {
    /// Of a key that comes twice, the last value stays.
    fn from_iter<I: IntoIterator<Item = (String, String)>>(labels: I) -> Self {
        let mut all: Vec<(String, String)> = labels.into_iter().collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                std::mem::swap(later, kept);
            }
            is_same
        });
        Self(all.into_boxed_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_found_by_its_key_and_the_last_value_counts() {
        let labels: Labels = [("role", "a"), ("app", "b"), ("role", "c")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into_iter()
            .collect();
        assert_eq!(labels.get("role").map(String::as_str), Some("c"));
        assert!(labels.contains_key("app") && !labels.contains_key("ap"));
        assert_eq!(labels.iter().count(), 2);
    }
}
