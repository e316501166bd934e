//! The objects of one list, kept as they come.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::answer::Failure;
use super::super::list::{Answer, Question};
use super::stream::Change;
use crate::capture::{GapReason, Item, Listing, Outcome, Text};

/// Which object of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Its namespace; empty where it is in none.
    pub(super) namespace: String,
    /// Its name.
    pub(super) name: String,
}

/// The objects of one list.
pub(super) struct Store {
    pub(super) question: Question,
    objects: BTreeMap<Key, String>,
    bytes: usize,
    /// From where on the list can be watched; `None` until it was read to its end.
    version: Option<String>,
    /// Why the last reading of the list gave nothing, or not all.
    failure: Option<Failure>,
    /// Whether anything was ever read.
    read: Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Nothing,
    Something,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    namespace: String,
    name: String,
}

impl Store {
    /// Makes a store that was not filled yet.
    pub(super) const fn new(question: Question) -> Self {
        Self {
            question,
            objects: BTreeMap::new(),
            bytes: 0,
            version: None,
            failure: None,
            read: Read::Nothing,
        }
    }

    /// Takes the answer to the list. A reading that failed leaves what was known: old objects are told as such,
    /// and never as none.
    pub(super) fn take(&mut self, answer: &Answer) {
        self.failure.clone_from(&answer.failure);
        self.version = match &answer.failure {
            None => answer.version().map(str::to_owned),
            Some(_) => None,
        };
        let read_before = self.read == Read::Something;
        if answer.pages.is_empty() || (answer.failure.is_some() && read_before) {
            return;
        }
        self.read = Read::Something;
        self.objects.clear();
        self.bytes = 0;
        for (place, json) in answer.objects().enumerate() {
            // An object without a name is kept, for whoever reads the capture to complain about.
            let key = serde_json::from_str::<Object>(json).map_or_else(
                |_| Key {
                    namespace: String::new(),
                    name: format!("#{place}"),
                },
                |object| Key {
                    namespace: object.metadata.namespace,
                    name: object.metadata.name,
                },
            );
            self.put(key, json.to_owned());
        }
    }

    /// Takes a change. Returns whether an object changed.
    pub(super) fn apply(&mut self, change: Change) -> Changed {
        if !change.version().is_empty() {
            self.version = Some(change.version().to_owned());
        }
        match change {
            Change::There { key, json, .. } => {
                self.put(key, json);
                Changed::Yes
            }
            Change::Gone { key, .. } => {
                if let Some(old) = self.objects.remove(&key) {
                    self.bytes -= old.len();
                }
                Changed::Yes
            }
            Change::Bookmark { .. } => Changed::No,
        }
    }

    fn put(&mut self, key: Key, json: String) {
        self.bytes += json.len();
        if let Some(old) = self.objects.insert(key, json) {
            self.bytes -= old.len();
        }
    }

    /// Returns from where on the list can be watched, if it was read to its end.
    pub(super) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Forgets from where on the list could be watched, so that it is read again.
    pub(super) fn expire(&mut self) {
        self.version = None;
    }

    /// Returns why the last reading of the list failed.
    pub(super) const fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Returns how many bytes of JSON it holds.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the JSON of each object.
    pub(super) fn objects(&self) -> impl Iterator<Item = &str> + Clone {
        self.objects.values().map(String::as_str)
    }

    /// Copies the objects into a capture. `behind` says why they are not what the server has now, if so.
    pub(super) fn listing(&self, behind: Option<String>, texts: &mut Vec<Text>) -> Listing {
        let text = texts.len();
        let mut body = String::with_capacity(self.bytes + self.objects.len());
        let mut items = Vec::with_capacity(self.objects.len());
        for json in self.objects.values() {
            let start = body.len();
            body.push_str(json);
            items.push(Item {
                text,
                span: start..body.len(),
            });
            body.push('\n');
        }
        texts.push(Text {
            origin: format!("the list of {}", self.question.resource),
            body,
        });
        let outcome = match (&self.failure, behind) {
            (Some(failure), _) if self.read == Read::Nothing => Outcome::Refused {
                reason: failure.reason(),
                message: failure.message.clone(),
            },
            (Some(failure), behind) => Outcome::Cut {
                items,
                reason: failure.reason(),
                message: match behind {
                    Some(behind) => format!("{}; {behind}", failure.message),
                    None => failure.message.clone(),
                },
            },
            (None, Some(behind)) => Outcome::Cut {
                items,
                reason: GapReason::Partial,
                message: behind,
            },
            (None, None) => Outcome::Listed(items),
        };
        Listing {
            resource: self.question.resource,
            scope: self.question.scope.clone(),
            outcome,
        }
    }
}

/// Whether an object changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    Yes,
    No,
}
