//! Captures without names and secrets, which lead to the same findings.
//!
//! A redacted capture holds the fields that [`crate::snapshot`] reads and no other: what no rule of
//! `rules` names is dropped, so that a field of a later Kubernetes is out until somebody has thought about
//! it. Names are replaced by pseudonyms, the same ones in objects, logs, events and refusals; words, times,
//! numbers and versions that the diagnosis rests on stay. It must not know what the diagnosis concludes,
//! and nothing above it may look into it for more than [`redact`] returns.

mod config;
mod image;
mod json;
mod log;
mod markers;
mod metrics;
mod names;
mod rules;
mod text;
mod vocabulary;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use names::{Again, Names};
pub use names::{NameKind, Pseudonym};

use crate::capture::{
    Capture, Earlier, Item, Listing, Manifest, MetricsPage, Outcome, Problem, Redacted,
    ResourceKind, Scope, Text,
};
use crate::velero::{RESTORE_NAME_LABEL, TaskKind};

/// What a redaction made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// The capture, without names and secrets.
    pub capture: Capture,
    /// What stands for what, sorted; this is not part of the capture.
    pub pseudonyms: Vec<Pseudonym>,
    /// How many secrets were recognized as such and cut. Others were replaced like any unknown word.
    pub secrets_cut: usize,
}

impl Redaction {
    /// Returns how many names of each kind were replaced.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<NameKind, usize> {
        let mut counts = BTreeMap::new();
        for pseudonym in &self.pseudonyms {
            *counts.entry(pseudonym.kind).or_insert(0) += 1;
        }
        counts
    }
}

/// Returns a capture without names and secrets. The same capture always gives the same result, and a
/// redacted capture gives itself.
///
/// ```
/// use velero_slots::{capture::Capture, redact::redact};
/// let node = serde_json::json!({"apiVersion": "v1", "kind": "Node",
///     "metadata": {"name": "ip-10-0-0-7.acme.example", "annotations": {"contact": "alice"}}});
/// let redacted = redact(&Capture::from_objects([node])).capture;
/// let json = redacted.json(&redacted.listings[0].outcome.items()[0]);
/// assert_eq!(json, r#"{"apiVersion":"v1","kind":"Node","metadata":{"annotations":{},"name":"node-1"}}"#);
/// ```
#[must_use]
pub fn redact(capture: &Capture) -> Redaction {
    let mut redactor = Redactor::new(match capture.manifest.redacted {
        Redacted::No => Again::No,
        Redacted::Yes => Again::Yes,
    });
    redactor.collect(capture);
    let capture = redactor.write(capture);
    Redaction {
        capture,
        secrets_cut: redactor.secrets_cut,
        pseudonyms: redactor.names.into_pseudonyms(),
    }
}

/// Whether names are being gathered or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Collect,
    Write,
}

struct Redactor {
    pass: Pass,
    names: Names,
    /// The labels of Nodes that selectors look at.
    selector_keys: BTreeSet<String>,
    /// Whether a name is also an ordinary word, so that texts that something is concluded from need care.
    ordinary_names: bool,
    secrets_cut: usize,
    /// The name of the pod that is gone through.
    pod: String,
}

impl Redactor {
    const fn new(again: Again) -> Self {
        Self {
            pass: Pass::Collect,
            names: Names::new(again),
            selector_keys: BTreeSet::new(),
            ordinary_names: false,
            secrets_cut: 0,
            pod: String::new(),
        }
    }

    /// Gathers the names. Selectors come first, since they say which labels of Nodes are read.
    fn collect(&mut self, capture: &Capture) {
        if let Some(namespace) = &capture.manifest.namespace {
            self.names.note(NameKind::Namespace, namespace);
        }
        let is_config = |listing: &&Listing| listing.resource == ResourceKind::ConfigMap;
        let first = capture.listings.iter().filter(is_config);
        let rest = capture
            .listings
            .iter()
            .filter(|listing| !is_config(listing));
        for listing in first.chain(rest) {
            if let Scope::Namespace(namespace) = &listing.scope {
                self.names.note(NameKind::Namespace, namespace);
            }
            for item in listing.outcome.items() {
                self.object(listing.resource, capture.json(item), &mut String::new());
            }
        }
        for look in &capture.earlier {
            let resource = ResourceKind::Task(look.kind);
            self.object(resource, capture.json(&look.item), &mut String::new());
        }
        for log in &capture.logs {
            self.note_log(log);
        }
        for page in &capture.metrics {
            self.names.note(NameKind::Namespace, &page.namespace);
            self.note_own(NameKind::Pod, &page.pod);
        }
        self.names.number();
        self.ordinary_names = self.names.any_in_prose(vocabulary::contains);
        self.pass = Pass::Write;
    }

    fn write(&mut self, capture: &Capture) -> Capture {
        let mut texts = Vec::with_capacity(capture.listings.len());
        let listings = capture
            .listings
            .iter()
            .map(|listing| self.listing(capture, listing, &mut texts))
            .collect();
        let earlier = capture
            .earlier
            .iter()
            .map(|look| {
                let mut body = String::new();
                self.object(
                    ResourceKind::Task(look.kind),
                    capture.json(&look.item),
                    &mut body,
                );
                let item = Item {
                    text: texts.len(),
                    span: 0..body.len(),
                };
                texts.push(Text {
                    origin: "redacted capture".to_owned(),
                    body,
                });
                Earlier {
                    taken_at: look.taken_at,
                    kind: look.kind,
                    item,
                }
            })
            .collect();
        let logs = capture.logs.iter().map(|log| self.log(log)).collect();
        let metrics = capture
            .metrics
            .iter()
            .map(|page| MetricsPage {
                namespace: self.names.of(NameKind::Namespace, &page.namespace),
                pod: self.own(NameKind::Pod, &page.pod),
                port: page.port,
                taken_at: page.taken_at,
                body: metrics::metrics(&page.body),
            })
            .collect();
        let problems = capture
            .problems
            .iter()
            .map(|problem| Problem {
                resource: self.prose(&problem.resource),
                reason: problem.reason,
                message: self.prose(&problem.message),
            })
            .collect();
        Capture {
            manifest: self.manifest(&capture.manifest),
            texts,
            listings,
            logs,
            metrics,
            earlier,
            problems,
        }
    }

    fn manifest(&mut self, manifest: &Manifest) -> Manifest {
        Manifest {
            source: manifest.source,
            taken_at: manifest.taken_at,
            now_from: manifest.now_from,
            server: manifest
                .server
                .as_deref()
                .map(|server| self.names.of(NameKind::Url, server)),
            paths: Vec::new(),
            namespace: manifest
                .namespace
                .as_deref()
                .map(|namespace| self.names.of(NameKind::Namespace, namespace)),
            tool_version: self.prose(&manifest.tool_version),
            redacted: Redacted::Yes,
            bundles: manifest.bundles.clone(),
        }
    }

    fn listing(&mut self, capture: &Capture, listing: &Listing, texts: &mut Vec<Text>) -> Listing {
        let mut body = String::new();
        let mut items = Vec::with_capacity(listing.outcome.items().len());
        for item in listing.outcome.items() {
            let start = body.len();
            self.object(listing.resource, capture.json(item), &mut body);
            items.push(Item {
                text: texts.len(),
                span: start..body.len(),
            });
            body.push('\n');
        }
        texts.push(Text {
            origin: "redacted capture".to_owned(),
            body,
        });
        let outcome = match &listing.outcome {
            Outcome::Listed(_) => Outcome::Listed(items),
            Outcome::Cut {
                items: _,
                reason,
                message,
            } => Outcome::Cut {
                items,
                reason: *reason,
                message: self.prose(message),
            },
            Outcome::Refused { reason, message } => Outcome::Refused {
                reason: *reason,
                message: self.prose(message),
            },
        };
        Listing {
            resource: listing.resource,
            scope: self.scope(&listing.scope),
            outcome,
        }
    }

    fn scope(&mut self, scope: &Scope) -> Scope {
        match scope {
            Scope::Namespace(namespace) => {
                Scope::Namespace(self.names.of(NameKind::Namespace, namespace))
            }
            Scope::Selected { label_selector } => Scope::Selected {
                label_selector: selector(label_selector),
            },
            Scope::Cluster => Scope::Cluster,
            Scope::FileList => Scope::FileList,
            Scope::FileObjects => Scope::FileObjects,
        }
    }

    /// Notes the name of an object, or replaces it.
    fn name(&mut self, kind: NameKind, name: &str) -> String {
        match self.pass {
            Pass::Collect => {
                self.names.note(kind, name);
                String::new()
            }
            Pass::Write => self.names.of(kind, name),
        }
    }

    /// As [`Self::name`]; an agent is known by its name, among other things, and stays one.
    fn own(&mut self, kind: NameKind, name: &str) -> String {
        self.name(own_kind(kind, name), name)
    }

    fn note_own(&mut self, kind: NameKind, name: &str) {
        self.names.note(own_kind(kind, name), name);
    }
}

fn own_kind(kind: NameKind, name: &str) -> NameKind {
    if kind == NameKind::Pod && name.starts_with("node-agent-") {
        NameKind::AgentPod
    } else if kind == NameKind::DaemonSet && name.starts_with("node-agent") {
        NameKind::AgentSet
    } else {
        kind
    }
}

/// Returns which labels a selector looks at: more is not read of it.
fn selector(label_selector: &str) -> String {
    let labels: Vec<&str> = TaskKind::ALL
        .iter()
        .map(|kind| kind.mover_label())
        .chain([RESTORE_NAME_LABEL])
        .filter(|label| label_selector.contains(label))
        .collect();
    labels.join(",")
}

/// Returns a number or boolean as it was written. A number of more than twenty digits is out of range for
/// whoever reads it, and so is what stands for it.
fn bare(raw: &RawValue) -> &str {
    if raw.get().len() > 20 {
        "99999999999999999999"
    } else {
        raw.get()
    }
}

#[cfg(test)]
mod tests;
