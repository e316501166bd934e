//! What the outside of a document says it holds.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{Broken, Found, Items, Outline, Shape, text_of};
use super::place::Place;
use super::printable::printable;
use crate::capture::spans::span_of;
use crate::capture::{GapReason, ResourceKind, Scope};

/// What was found in one document.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) lists: Vec<List>,
    /// What could not be understood.
    pub(super) losses: Vec<Broken>,
    /// What the API server refused when the document was written.
    pub(super) refusals: Vec<Refusal>,
}

/// A `Status` of the API server that was saved in place of objects.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The plural resource name, or `input` where it is not told.
    pub(super) resource: String,
    pub(super) reason: GapReason,
    pub(super) message: String,
}

/// The objects of one resource in one document.
#[derive(Debug)]
pub(super) struct List {
    pub(super) resource: ResourceKind,
    pub(super) scope: Scope,
    pub(super) objects: Vec<Object>,
    /// Why there are fewer objects than there should be.
    pub(super) cut: Option<(GapReason, String)>,
}

/// One object and what tells it from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) span: Range<usize>,
    /// Namespace and name; `None` for an object without a name.
    pub(super) key: Option<(String, String)>,
    /// `metadata.resourceVersion`, if it is a number.
    pub(super) version: Option<u64>,
}

/// The fields that tell what an object is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header<'a> {
    #[serde(borrow)]
    api_version: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// The fields that tell objects apart.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resource_version: Option<Cow<'a, str>>,
}

/// The metadata of a list.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta<'a> {
    #[serde(borrow, rename = "continue")]
    continue_token: Option<Cow<'a, str>>,
}

/// The fields of `kind: Status`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status<'a> {
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
}

/// The details of a `Status`; `kind` is a plural resource name there.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusDetails<'a> {
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
}

/// What an object turned out to be.
#[derive(Debug)]
pub(super) enum Sorted {
    /// One that is read.
    Kept(ResourceKind, Object),
    /// A Secret.
    Secret,
    /// A kind that nothing is read from.
    OfNoUse,
    /// Not a Kubernetes object, and why.
    Odd(String),
}

/// Tells what an object is; `expected` is the kind that its list gives to items without one.
pub(super) fn sort(text: &str, raw: &str, expected: Option<(&str, &str)>) -> Sorted {
    let Ok(header) = serde_json::from_str::<Header<'_>>(raw) else {
        return Sorted::Odd("is not an object".to_owned());
    };
    let own_kind = header.kind.and_then(text_of);
    let own_version = header.api_version.and_then(text_of);
    let api_version = own_version
        .as_deref()
        .or(expected.map(|(version, _)| version));
    let kind = own_kind.as_deref().or(expected.map(|(_, kind)| kind));
    let (Some(api_version), Some(kind)) = (api_version, kind) else {
        return Sorted::Odd("has no apiVersion and kind".to_owned());
    };
    if kind == "Secret" {
        return Sorted::Secret;
    }
    let Some(resource) = ResourceKind::of_object(api_version, kind) else {
        return Sorted::OfNoUse;
    };
    match span_of(text, raw) {
        Some(span) => Sorted::Kept(resource, object(span, header.metadata)),
        None => Sorted::Odd("is not in the text".to_owned()),
    }
}

fn object(span: Range<usize>, metadata: Option<&RawValue>) -> Object {
    let meta: Meta<'_> = metadata
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    Object {
        span,
        key: meta.name.filter(|name| !name.is_empty()).map(|name| {
            let namespace = meta.namespace.unwrap_or_default();
            (namespace.into_owned(), name.into_owned())
        }),
        version: meta
            .resource_version
            .and_then(|version| version.parse().ok()),
    }
}

/// Returns what one document of `text` holds. `base` is where the text starts in its file.
pub(super) fn contents(text: &str, found: &Found<'_>, base: Place) -> Contents {
    let outline = &found.outline;
    let start = Place::after(text.get(..found.span.start).unwrap_or_default()).within(base);
    match (outline.shape, &outline.items) {
        (Shape::Null, _) => Contents::default(),
        (Shape::Scalar, _) => Contents::lost(start, "is not a Kubernetes object"),
        (Shape::Array, items) => from_list(text, found, items, ListKind::Array, start),
        (Shape::Object, items) => match list_kind(outline, found.broken.as_ref()) {
            Some(kind) => from_list(text, found, items, kind, start),
            None => from_object(text, found, start),
        },
    }
}

impl Contents {
    fn lost(place: Place, message: &str) -> Self {
        Self {
            losses: vec![Broken {
                place,
                message: message.to_owned(),
            }],
            ..Self::default()
        }
    }

    /// Returns how many objects are read from the document.
    pub(super) fn len(&self) -> usize {
        self.lists.iter().map(|list| list.objects.len()).sum()
    }

    fn push(&mut self, resource: ResourceKind, scope: Scope, object: Option<Object>) {
        match self.lists.iter_mut().find(|list| list.resource == resource) {
            Some(list) => list.objects.extend(object),
            None => self.lists.push(List {
                resource,
                scope,
                objects: Vec::from_iter(object),
                cut: None,
            }),
        }
    }
}

/// How the items of a list say what they are.
#[derive(Clone, Copy)]
enum ListKind<'a> {
    /// A JSON array of objects: what `jq` makes of a list. No claim to be all.
    Array,
    /// `kind: List`, or a list whose kind was cut off: each item says what it is.
    Mixed,
    /// `kind: PodList` and the like: items may lack apiVersion and kind.
    Typed(&'a str, &'a str),
}

fn list_kind<'a>(outline: &'a Outline<'_>, broken: Option<&Broken>) -> Option<ListKind<'a>> {
    let has_items = match outline.items {
        Items::Missing => false,
        // A list whose items are something else is broken, and no object of another kind.
        Items::Null | Items::Listed(_) | Items::Odd => true,
    };
    let api_version = outline.api_version.as_deref().unwrap_or_default();
    match outline.kind.as_deref() {
        Some("List") => Some(ListKind::Mixed),
        Some(kind) if has_items => kind
            .strip_suffix("List")
            .map(|kind| ListKind::Typed(api_version, kind)),
        // kubectl writes the kind after the items, so a list that breaks off has none.
        None if has_items => Some(ListKind::Mixed),
        // A typed list that breaks off before its items is still a list.
        Some(kind) if broken.is_some() => kind
            .strip_suffix("List")
            .map(|kind| ListKind::Typed(api_version, kind)),
        Some(_) | None => None,
    }
}

fn from_list(
    text: &str,
    found: &Found<'_>,
    items: &Items<'_>,
    kind: ListKind<'_>,
    start: Place,
) -> Contents {
    let mut contents = Contents::default();
    let (scope, expected) = match kind {
        ListKind::Array => (Scope::FileObjects, None),
        ListKind::Mixed => (Scope::FileList, None),
        ListKind::Typed(api_version, kind) => (Scope::FileList, Some((api_version, kind))),
    };
    let listed = expected.and_then(|(version, kind)| ResourceKind::of_object(version, kind));
    if let Some(resource) = listed {
        contents.push(resource, scope.clone(), None);
    }
    let items: &[&RawValue] = match items {
        Items::Listed(items) => items,
        Items::Missing | Items::Null | Items::Odd => &[],
    };
    let mut odd = OddItems::default();
    for (index, raw) in items.iter().enumerate() {
        match sort(text, raw.get(), expected) {
            Sorted::Kept(resource, object) => contents.push(resource, scope.clone(), Some(object)),
            Sorted::Secret | Sorted::OfNoUse => {}
            Sorted::Odd(why) => odd.add(index, raw, &why),
        }
    }
    if let Some(loss) = loss_of(found, &odd, start) {
        let Broken { place, message } = &loss;
        let cut = (GapReason::Malformed, format!("{place}: {message}"));
        for list in &mut contents.lists {
            list.cut = Some(cut.clone());
        }
        // A typed list that was cut says so itself. What else a mixed one would have held is not known.
        if listed.is_none() {
            contents.losses.push(loss);
        }
    } else if continues(&found.outline) {
        let message = "the list says that it continues (metadata.continue is set)";
        for list in &mut contents.lists {
            list.cut = Some((GapReason::Partial, message.to_owned()));
        }
    }
    contents
}

/// Items that are no objects: the first is named, the others are counted.
#[derive(Default)]
struct OddItems {
    first: Option<String>,
    count: usize,
}

impl OddItems {
    fn add(&mut self, index: usize, raw: &RawValue, why: &str) {
        self.count = self.count.saturating_add(1);
        if self.first.is_none() {
            let start: String = raw.get().chars().take(40).collect();
            let number = index.saturating_add(1);
            self.first = Some(format!("item {number} {why}: {}", printable(&start)));
        }
    }

    fn message(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(match self.count {
            0 | 1 => first.clone(),
            more => format!("{first} (and {} more)", more.saturating_sub(1)),
        })
    }
}

/// Returns what a list lacks of what it should hold.
fn loss_of(found: &Found<'_>, odd: &OddItems, start: Place) -> Option<Broken> {
    if let Some(broken) = &found.broken {
        let message = printable(&broken.message);
        return Some(Broken {
            place: broken.place,
            message: format!("{message}; the list was not read beyond this"),
        });
    }
    if let Some(first) = found.lost.first() {
        let message = printable(&first.message);
        let others = match found.lost.len() {
            0 | 1 => String::new(),
            count => format!(" ({count} objects in all)"),
        };
        return Some(Broken {
            place: first.place,
            message: format!("an object of the list cannot be read: {message}{others}"),
        });
    }
    if let Some(message) = odd.message() {
        return Some(Broken {
            place: start,
            message,
        });
    }
    let what = match found.outline.items {
        Items::Missing => Some("the list has no items, not even none"),
        Items::Odd => Some("the items of the list are no list"),
        Items::Null | Items::Listed(_) => None,
    };
    if let Some(what) = what {
        return Some(Broken {
            place: start,
            message: what.to_owned(),
        });
    }
    let has_no_kind = found.outline.shape == Shape::Object && found.outline.kind.is_none();
    has_no_kind.then(|| Broken {
        place: start,
        message: "the list has no kind".to_owned(),
    })
}

fn continues(outline: &Outline<'_>) -> bool {
    let meta: ListMeta<'_> = outline
        .metadata
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    meta.continue_token.is_some_and(|token| !token.is_empty())
}

fn from_object(text: &str, found: &Found<'_>, start: Place) -> Contents {
    if let Some(broken) = &found.broken {
        return Contents::lost(broken.place, &printable(&broken.message));
    }
    let outline = &found.outline;
    let (Some(api_version), Some(kind)) = (&outline.api_version, &outline.kind) else {
        return Contents::lost(
            start,
            "is not a Kubernetes object: it has no apiVersion and kind",
        );
    };
    let mut contents = Contents::default();
    if kind == "Status" && api_version == "v1" {
        let raw = text.get(found.span.clone()).unwrap_or_default();
        contents.refusals.extend(refusal(raw));
    }
    if let Some(resource) = ResourceKind::of_object(api_version, kind) {
        // None of the resources has such a field, and what hides in it would be kept with the object.
        if matches!(outline.items, Items::Listed(_)) {
            return Contents::lost(start, "has items, but its kind is no list");
        }
        let object = object(found.span.clone(), outline.metadata);
        contents.push(resource, Scope::FileObjects, Some(object));
    }
    contents
}

/// Reads a saved `Status`. `None` for one of success, which is what the server says after a deletion.
fn refusal(raw: &str) -> Option<Refusal> {
    let status: Status<'_> = serde_json::from_str(raw).unwrap_or_default();
    let word = |raw: Option<&RawValue>| {
        let text = raw.and_then(text_of).unwrap_or_default();
        printable(&text)
    };
    if word(status.status) == "Success" {
        return None;
    }
    let reason = word(status.reason);
    let code = status.code.map_or("", RawValue::get);
    let details: StatusDetails<'_> = status
        .details
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let named = word(details.kind);
    let gap = match (reason.as_str(), code) {
        ("Forbidden" | "Unauthorized", _) | ("", "401" | "403") => GapReason::Forbidden,
        ("NotFound", _) | ("", "404") => GapReason::NotFound,
        _ => GapReason::Partial,
    };
    let what = match reason.as_str() {
        "" => gap.as_str(),
        reason => reason,
    };
    let message = match word(status.message) {
        words if words.is_empty() => format!("an error of the API server ({what}) was saved here"),
        words => format!("an error of the API server ({what}) was saved here: {words}"),
    };
    Some(Refusal {
        resource: ResourceKind::ALL
            .into_iter()
            .find(|resource| resource.plural() == named)
            .map_or_else(
                || "input".to_owned(),
                |resource| resource.plural().to_owned(),
            ),
        reason: gap,
        message,
    })
}
