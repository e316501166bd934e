//! Puts together what the inputs hold.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use jiff::Timestamp;

use super::loose_log::LooseLog;
use super::objects::{Contents, Object, Sorted, sort};
use super::said::Said;
use crate::capture::format::Parsed;
use crate::capture::{
    BundleForm, Capture, Earlier, GapReason, Item, Listing, LogFile, Manifest, MetricsPage,
    NowFrom, Outcome, Previous, Problem, Redacted, ResourceKind, Scope, SourceType, Text,
};

mod ages;
mod looks;

/// What was read so far.
#[derive(Default)]
pub(super) struct Intake {
    texts: Vec<Text>,
    listings: Vec<Building>,
    /// The listing that gathers the single objects of a resource.
    singles: BTreeMap<ResourceKind, usize>,
    seen: BTreeMap<Key, Seen>,
    /// Tasks as captures of an earlier time hold them.
    earlier: Vec<Earlier>,
    logs: BTreeMap<(String, String, String, Previous), LogFile>,
    /// When the captures were taken that the logs are of.
    log_times: BTreeMap<(String, String, String, Previous), Timestamp>,
    /// Logs whose pod is still to be found.
    loose_logs: Vec<LooseLog>,
    /// Bytes of all logs that were taken in.
    log_bytes: u64,
    metrics: Vec<MetricsPage>,
    problems: Vec<Problem>,
    captures: Vec<Manifest>,
    bundles: BTreeSet<BundleForm>,
    /// How many documents and logs were understood, whatever they held.
    understood: usize,
}

/// What one document of a text holds.
pub(super) enum Part {
    /// Objects.
    Objects(Contents),
    /// A capture of ours.
    Capture {
        /// The byte of the text that it starts at.
        at: usize,
        /// What it holds; places count from its start.
        parsed: Parsed,
    },
}

/// What makes two objects the same.
type Key = (ResourceKind, String, String);

/// A listing whose objects may still be replaced by newer ones.
struct Building {
    resource: ResourceKind,
    scope: Scope,
    items: Vec<Option<Item>>,
    missing: Missing,
    /// When the capture was taken that it is of.
    taken_at: Option<Timestamp>,
}

/// What a listing lacks.
enum Missing {
    Nothing,
    Rest(GapReason, String),
    All(GapReason, String),
}

/// Where an object is kept.
#[derive(Clone, Copy)]
struct Seen {
    listing: usize,
    item: usize,
    version: Option<u64>,
}

impl Intake {
    /// Says that a document or log was understood.
    pub(super) fn understand(&mut self) {
        self.understood = self.understood.saturating_add(1);
    }

    /// Returns how many documents and logs were understood so far.
    pub(super) const fn understood(&self) -> usize {
        self.understood
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Returns what was wrong since there were `before` problems.
    pub(super) fn first_problem_since(&self, before: usize) -> Option<&str> {
        self.problems
            .get(before)
            .map(|problem| problem.message.as_str())
    }

    pub(super) fn forget_problems_since(&mut self, before: usize) {
        self.problems.truncate(before);
    }

    pub(super) const fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// Keeps a log; of two of the same container, the one that ends later.
    pub(super) fn log(&mut self, log: LogFile) {
        let key = (
            log.namespace.clone(),
            log.pod.clone(),
            log.container.clone(),
            log.previous,
        );
        let is_older = self
            .logs
            .get(&key)
            .is_some_and(|kept| ages::ends_before(&log.body, &kept.body));
        self.count(&log.body);
        if !is_older {
            self.logs.insert(key, log);
        }
    }

    /// Keeps a log until the pods are known.
    pub(super) fn loose_log(&mut self, log: LooseLog) {
        self.count(&log.body);
        self.loose_logs.push(log);
    }

    fn count(&mut self, body: &str) {
        let bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
        self.log_bytes = self.log_bytes.saturating_add(bytes);
    }

    /// Returns how many bytes of logs were taken in so far.
    pub(super) const fn log_bytes(&self) -> u64 {
        self.log_bytes
    }

    pub(super) fn take_loose_logs(&mut self) -> Vec<LooseLog> {
        std::mem::take(&mut self.loose_logs)
    }

    /// Notes which bundles were met.
    pub(super) fn forms(&mut self, forms: impl IntoIterator<Item = BundleForm>) {
        self.bundles.extend(forms);
    }

    /// Takes in what kubectl said in place of objects.
    pub(super) fn said(&mut self, name: &str, said: Said) {
        match said {
            Said::NoneFound => {}
            Said::Refused {
                resource,
                reason,
                words,
            } => self.problem(Problem {
                resource,
                reason,
                message: format!("{name}: an error of the API server was saved here: {words}"),
            }),
        }
    }

    /// Returns the JSON of the pods that were kept.
    pub(super) fn pods(&self) -> impl Iterator<Item = &str> {
        self.listings
            .iter()
            .filter(|listing| listing.resource == ResourceKind::Pod)
            .flat_map(|listing| listing.items.iter().flatten())
            .filter_map(|item| self.texts.get(item.text)?.body.get(item.span.clone()))
    }

    /// Takes over what one text holds. Of the text, only the objects that are read are kept.
    pub(super) fn text(&mut self, origin: String, body: String, parts: Vec<Part>) {
        let index = self.texts.len();
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Part::Objects(contents) => self.contents(index, &body, contents, &mut kept),
                Part::Capture { at, parsed } => self.capture(index, &body, at, parsed, &mut kept),
            }
        }
        if !kept.is_empty() {
            let body = only(body, kept);
            self.texts.push(Text { origin, body });
        }
    }

    fn contents(
        &mut self,
        text: usize,
        body: &str,
        contents: Contents,
        kept: &mut Vec<Range<usize>>,
    ) {
        for list in contents.lists {
            let listing = self.listing_for(list.resource, list.scope, list.cut);
            for object in list.objects {
                kept.push(object.span.clone());
                self.object(list.resource, listing, (text, body), object);
            }
        }
    }

    /// Takes over a capture of ours that starts at byte `at` of `body`.
    fn capture(
        &mut self,
        text: usize,
        body: &str,
        at: usize,
        parsed: Parsed,
        kept: &mut Vec<Range<usize>>,
    ) {
        for listing in parsed.listings {
            let (items, missing) = match listing.outcome {
                Outcome::Listed(items) => (items, Missing::Nothing),
                Outcome::Cut {
                    items,
                    reason,
                    message,
                } => (items, Missing::Rest(reason, message)),
                Outcome::Refused { reason, message } => (Vec::new(), Missing::All(reason, message)),
            };
            let resource = listing.resource;
            let building = self.push(resource, listing.scope, missing);
            if let Some(building) = self.listings.get_mut(building) {
                building.taken_at = parsed.manifest.taken_at;
            }
            let api_version = match resource.group() {
                "" => resource.version().to_owned(),
                group => format!("{group}/{}", resource.version()),
            };
            let expected = Some((api_version.as_str(), resource.kind()));
            for item in items {
                let span = item.span.start.saturating_add(at)..item.span.end.saturating_add(at);
                let raw = body.get(span.clone()).unwrap_or_default();
                match sort(body, raw, expected) {
                    Sorted::Kept(_, object) => {
                        self.object(resource, building, (text, body), object);
                    }
                    Sorted::Secret => continue,
                    // What the capture says stands, odd or not: the snapshot tells what is wrong with it.
                    Sorted::OfNoUse | Sorted::Odd(_) => {
                        let span = span.clone();
                        self.keep(building, Item { text, span });
                    }
                }
                kept.push(span);
            }
        }
        for log in parsed.logs {
            self.log_of_capture(log, parsed.manifest.taken_at);
        }
        self.metrics.extend(parsed.metrics);
        self.problems.extend(parsed.problems);
        self.bundles.extend(&parsed.manifest.bundles);
        self.captures.push(parsed.manifest);
    }

    fn listing_for(
        &mut self,
        resource: ResourceKind,
        scope: Scope,
        cut: Option<(GapReason, String)>,
    ) -> usize {
        let missing = match cut {
            Some((reason, message)) => Missing::Rest(reason, message),
            None => Missing::Nothing,
        };
        let is_single = scope == Scope::FileObjects && matches!(missing, Missing::Nothing);
        if !is_single {
            return self.push(resource, scope, missing);
        }
        if let Some(index) = self.singles.get(&resource) {
            return *index;
        }
        let index = self.push(resource, scope, missing);
        self.singles.insert(resource, index);
        index
    }

    fn push(&mut self, resource: ResourceKind, scope: Scope, missing: Missing) -> usize {
        self.listings.push(Building {
            resource,
            scope,
            items: Vec::new(),
            missing,
            taken_at: None,
        });
        self.listings.len().saturating_sub(1)
    }

    fn keep(&mut self, listing: usize, item: Item) {
        if let Some(building) = self.listings.get_mut(listing) {
            building.items.push(Some(item));
        }
    }

    /// Keeps an object, unless a newer one of the same name is kept. Of two, the newer is the one with the
    /// higher `metadata.resourceVersion`; where one has none, the one that tells of the later time. `text` is the
    /// number of the text that the object is in, which is not kept yet, and its body.
    fn object(
        &mut self,
        resource: ResourceKind,
        listing: usize,
        text: (usize, &str),
        object: Object,
    ) {
        let (text, body) = text;
        let item = Item {
            text,
            span: object.span,
        };
        if let Some((namespace, name)) = object.key {
            let key = (resource, namespace, name);
            if let Some(old) = self.seen.get(&key).copied() {
                let older_than_kept = match self.taken_at(old.listing).cmp(&self.taken_at(listing))
                {
                    // Of two captures the one that was taken later tells how things stand.
                    _ if self.is_one_look(old.listing, listing) => {
                        let age = match (old.version, object.version) {
                            (Some(kept), Some(new)) => kept.cmp(&new),
                            (Some(_) | None, Some(_) | None) => {
                                self.compare_by_time(&key, old, &item, body)
                            }
                        };
                        match age {
                            Ordering::Greater => true,
                            Ordering::Less => false,
                            // The same object, written twice: what a list holds proves more.
                            Ordering::Equal => {
                                self.is_of_list(old.listing) && !self.is_of_list(listing)
                            }
                        }
                    }
                    Ordering::Greater => true,
                    Ordering::Less | Ordering::Equal => false,
                };
                if older_than_kept {
                    self.look_back(resource, listing, item);
                    return;
                }
                let slot = self
                    .listings
                    .get_mut(old.listing)
                    .and_then(|building| building.items.get_mut(old.item));
                let replaced = slot.and_then(Option::take);
                let old_listing = old.listing;
                if let Some(replaced) = replaced {
                    self.look_back(resource, old_listing, replaced);
                }
            }
            let position = self
                .listings
                .get(listing)
                .map_or(0, |building| building.items.len());
            self.seen.insert(
                key,
                Seen {
                    listing,
                    item: position,
                    version: object.version,
                },
            );
        }
        self.keep(listing, item);
    }

    fn is_of_list(&self, listing: usize) -> bool {
        self.listings
            .get(listing)
            .is_some_and(|listing| listing.scope == Scope::FileList)
    }

    /// Whether there is more than one capture, and one of them is redacted: two redacted ones call different
    /// things alike.
    pub(super) fn mixes_pseudonyms(&self, inputs: usize) -> bool {
        (self.captures.len() > 1 || inputs > 1)
            && self
                .captures
                .iter()
                .any(|manifest| manifest.redacted == Redacted::Yes)
    }

    /// Returns the capture. `paths` are the inputs as the user named them.
    pub(super) fn into_capture(mut self, paths: Vec<String>) -> Capture {
        self.keep_the_newest_look();
        let mut manifest = manifest(&self.captures, paths);
        manifest.bundles = self.bundles.into_iter().collect();
        // A must-gather runs `oc adm inspect` for a part of itself.
        if manifest.bundles.contains(&BundleForm::MustGather) {
            manifest
                .bundles
                .retain(|form| *form != BundleForm::OcInspect);
        }
        Capture {
            manifest,
            texts: self.texts,
            listings: self
                .listings
                .into_iter()
                .map(Building::into_listing)
                .collect(),
            earlier: self.earlier,
            logs: self.logs.into_values().collect(),
            metrics: self.metrics,
            problems: few(self.problems),
        }
    }
}

impl Building {
    fn into_listing(self) -> Listing {
        let items: Vec<Item> = self.items.into_iter().flatten().collect();
        Listing {
            resource: self.resource,
            scope: self.scope,
            outcome: match self.missing {
                Missing::Nothing => Outcome::Listed(items),
                Missing::Rest(reason, message) => Outcome::Cut {
                    items,
                    reason,
                    message,
                },
                Missing::All(reason, message) => Outcome::Refused { reason, message },
            },
        }
    }
}

/// The newest capture gives the time; server and namespace are told only if all captures agree.
fn manifest(captures: &[Manifest], paths: Vec<String>) -> Manifest {
    let newest = captures.iter().max_by_key(|manifest| manifest.taken_at);
    let taken_at = newest.and_then(|manifest| manifest.taken_at);
    let agreed = |of: fn(&Manifest) -> Option<&String>| {
        let first = captures.first().and_then(of)?;
        captures
            .iter()
            .all(|manifest| of(manifest) == Some(first))
            .then(|| first.clone())
    };
    Manifest {
        source: SourceType::Files,
        taken_at,
        now_from: match taken_at {
            Some(_) => NowFrom::Capture,
            None => NowFrom::NewestObject,
        },
        server: agreed(|manifest| manifest.server.as_ref()),
        paths,
        namespace: agreed(|manifest| manifest.namespace.as_ref()),
        tool_version: newest.map_or_else(
            || env!("CARGO_PKG_VERSION").to_owned(),
            |manifest| manifest.tool_version.clone(),
        ),
        bundles: Vec::new(),
        redacted: if captures
            .iter()
            .any(|manifest| manifest.redacted == Redacted::Yes)
        {
            Redacted::Yes
        } else {
            Redacted::No
        },
    }
}

/// How many problems of one kind are told one by one: of a folder with thousands of broken files, the first
/// are as good as all.
const TOLD: usize = 20;

/// Keeps the first problems of each kind, and counts the rest.
fn few(problems: Vec<Problem>) -> Vec<Problem> {
    let mut counts: BTreeMap<(String, GapReason), usize> = BTreeMap::new();
    let mut kept = Vec::new();
    for problem in problems {
        let key = (problem.resource.clone(), problem.reason);
        let count = counts.entry(key).or_default();
        *count = count.saturating_add(1);
        if *count <= TOLD {
            kept.push(problem);
        }
    }
    for ((resource, reason), count) in counts {
        if let Some(more) = count.checked_sub(TOLD).filter(|more| *more > 0) {
            kept.push(Problem {
                resource,
                reason,
                message: format!("{more} more like these"),
            });
        }
    }
    kept
}

/// Overwrites everything but the spans with spaces, and drops what follows the last: a Secret, or what may
/// be one, is not kept even in memory. What points into the text stays right.
fn only(text: String, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_by_key(|span| span.start);
    let mut bytes = text.into_bytes();
    let mut at = 0;
    for span in spans {
        if let Some(gap) = bytes.get_mut(at..span.start) {
            gap.fill(b' ');
        }
        at = at.max(span.end);
    }
    bytes.truncate(at);
    bytes.shrink_to_fit();
    // Whole values were overwritten, so no character was cut in two.
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
