//! One list, page by page, kept word for word.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::{Failure, FailureKind};
use super::request::Asker;
use crate::capture::{Item, Listing, Outcome, ResourceKind, Scope, Text};

/// Objects per page: what kubectl asks for.
const PAGE_SIZE: usize = 500;

/// Whole objects.
const FULL: &str = "application/json";
/// Names and labels only, for objects that are counted and not kept.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) resource: ResourceKind,
    pub(super) scope: Scope,
}

/// Selectors that narrow a list and are not part of its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Narrowed {
    pub(super) labels: Option<String>,
    pub(super) fields: Option<String>,
}

/// How much of each object is asked for, and how far the list is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Every object, whole.
    Everything,
    /// Every object's metadata.
    AllMetadata,
    /// The metadata of one object: does any exist?
    AnyMetadata,
}

/// A page as it came.
pub(super) struct Page {
    origin: String,
    body: String,
    items: Vec<Range<usize>>,
    /// The version of the whole list, from which on it can be watched.
    version: String,
}

impl Page {
    /// Returns the JSON of each object.
    pub(super) fn objects(&self) -> impl Iterator<Item = &str> + Clone {
        self.items
            .iter()
            .filter_map(|span| self.body.get(span.clone()))
    }
}

/// What came back for a question.
pub(super) struct Answer {
    pub(super) question: Question,
    pub(super) pages: Vec<Page>,
    /// Why the list is not complete.
    pub(super) failure: Option<Failure>,
}

impl Answer {
    /// Returns the JSON of each object that was read.
    pub(super) fn objects(&self) -> impl Iterator<Item = &str> + Clone {
        self.pages.iter().flat_map(Page::objects)
    }

    /// Returns the version from which on the list can be watched; the same on every page.
    pub(super) fn version(&self) -> Option<&str> {
        let first = self.pages.first()?;
        Some(first.version.as_str()).filter(|version| !version.is_empty())
    }

    /// Moves the pages into a capture.
    pub(super) fn into_listing(self, texts: &mut Vec<Text>) -> Listing {
        let mut items = Vec::new();
        let nothing_read = self.pages.is_empty();
        for page in self.pages {
            let text = texts.len();
            items.extend(page.items.into_iter().map(|span| Item { text, span }));
            texts.push(Text {
                origin: page.origin,
                body: page.body,
            });
        }
        let outcome = match self.failure {
            None => Outcome::Listed(items),
            Some(failure) if nothing_read => Outcome::Refused {
                reason: failure.reason(),
                message: failure.message,
            },
            Some(failure) => Outcome::Cut {
                items,
                reason: failure.reason(),
                message: failure.message,
            },
        };
        Listing {
            resource: self.question.resource,
            scope: self.question.scope,
            outcome,
        }
    }
}

/// Reads a list to its end. When its continue token expires, it is read once more from the beginning.
pub(super) async fn list(
    asker: &Asker<'_>,
    question: Question,
    narrowed: &Narrowed,
    depth: Depth,
) -> Answer {
    let what = question.resource.plural();
    let mut pages = Vec::new();
    let mut token: Option<String> = None;
    let mut restarted = Restarted::No;
    let failure = loop {
        let path = path(&question, narrowed, depth, token.as_deref());
        match get_page(asker, &path, depth, what).await {
            Ok((page, next)) => {
                pages.push(page);
                match next {
                    None => break None,
                    Some(_) if depth == Depth::AnyMetadata => break None,
                    // Tokens name the last object of a page. One that comes back would never end.
                    Some(next) if token.as_ref() == Some(&next) => {
                        break Some(Failure::malformed(
                            "the list does not go on: its continue token repeats",
                        ));
                    }
                    Some(_) if pages.len() >= asker.most_pages() => {
                        break Some(Failure::new(
                            FailureKind::TooLarge,
                            format!(
                                "the list has more than {} pages, which is more than is read",
                                asker.most_pages()
                            ),
                        ));
                    }
                    Some(next) => token = Some(next),
                }
            }
            Err(failure)
                if failure.kind == FailureKind::Gone
                    && token.is_some()
                    && restarted == Restarted::No =>
            {
                asker.say(&format!(
                    "the list of {what} changed too much while it was read; reading it again from the beginning"
                ));
                restarted = Restarted::Yes;
                pages.clear();
                token = None;
            }
            Err(failure) => break Some(failure),
        }
    };
    Answer {
        question,
        pages,
        failure,
    }
}

/// Reads the first page of a list that is no part of a capture, metadata only.
pub(super) async fn first_page(asker: &Asker<'_>, path: &str, what: &str) -> Result<Page, Failure> {
    let path = format!("{path}?limit={PAGE_SIZE}");
    let (page, _next) = get_page(asker, &path, Depth::AllMetadata, what).await?;
    Ok(page)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Restarted {
    No,
    Yes,
}

async fn get_page(
    asker: &Asker<'_>,
    path: &str,
    depth: Depth,
    what: &str,
) -> Result<(Page, Option<String>), Failure> {
    let accept = match depth {
        Depth::Everything => FULL,
        Depth::AllMetadata | Depth::AnyMetadata => METADATA,
    };
    let body = asker.get(path, accept, what).await?;
    let Split {
        items,
        next,
        version,
    } = split(&body)?;
    Ok((
        Page {
            origin: format!("GET {path}"),
            body,
            items,
            version,
        },
        next,
    ))
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
struct ListMeta {
    #[serde(rename = "continue", default)]
    next: String,
    #[serde(rename = "resourceVersion", default)]
    version: String,
}

/// A page, taken apart.
struct Split {
    items: Vec<Range<usize>>,
    next: Option<String>,
    version: String,
}

/// Finds the objects of a page without decoding them, the token of the next page, and the version of the list.
fn split(body: &str) -> Result<Split, Failure> {
    let list: List<'_> = serde_json::from_str(body).map_err(|error| {
        Failure::malformed(format!("the answer is not a list in JSON: {error}"))
    })?;
    if !list.kind.ends_with("List") {
        return Err(Failure::malformed(format!(
            "the answer is not a list but {}",
            if list.kind.is_empty() {
                "an object without a kind"
            } else {
                &list.kind
            }
        )));
    }
    let start = body.as_ptr().addr();
    let items = list
        .items
        .unwrap_or_default()
        .into_iter()
        .map(|raw| {
            // A borrowed RawValue is a part of the body.
            let begin = raw.get().as_ptr().addr() - start;
            begin..begin + raw.get().len()
        })
        .collect();
    Ok(Split {
        items,
        next: Some(list.metadata.next).filter(|token| !token.is_empty()),
        version: list.metadata.version,
    })
}

fn path(question: &Question, narrowed: &Narrowed, depth: Depth, token: Option<&str>) -> String {
    let mut query = vec![(
        "limit",
        match depth {
            Depth::Everything | Depth::AllMetadata => PAGE_SIZE.to_string(),
            Depth::AnyMetadata => "1".to_owned(),
        },
    )];
    if let Scope::Selected { label_selector } = &question.scope {
        query.push(("labelSelector", label_selector.clone()));
    }
    if let Some(labels) = &narrowed.labels {
        query.push(("labelSelector", labels.clone()));
    }
    if let Some(fields) = &narrowed.fields {
        query.push(("fieldSelector", fields.clone()));
    }
    if let Some(token) = token {
        query.push(("continue", token.to_owned()));
    }
    address(question, &query)
}

/// Returns the path by which the changes of a list after a version are told. Bookmarks name newer versions
/// while nothing changes, so that a watch can be taken up again where it broke off.
pub(super) fn watch_path(question: &Question, version: &str, timeout_seconds: u64) -> String {
    address(
        question,
        &[
            ("watch", "true".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("timeoutSeconds", timeout_seconds.to_string()),
            ("resourceVersion", version.to_owned()),
        ],
    )
}

fn address(question: &Question, query: &[(&str, String)]) -> String {
    let resource = question.resource;
    let mut path = if resource.group().is_empty() {
        format!("/api/{}", resource.version())
    } else {
        format!("/apis/{}/{}", resource.group(), resource.version())
    };
    match &question.scope {
        Scope::Namespace(namespace) => {
            path.push_str("/namespaces/");
            path.push_str(&encode(namespace));
        }
        // Files are not asked for over HTTP.
        Scope::Selected { .. } | Scope::Cluster | Scope::FileList | Scope::FileObjects => {}
    }
    path.push('/');
    path.push_str(resource.plural());
    for (index, (name, value)) in query.iter().enumerate() {
        path.push(if index == 0 { '?' } else { '&' });
        path.push_str(name);
        path.push('=');
        path.push_str(&encode(value));
    }
    path
}

/// Percent-encodes everything that is not unreserved (RFC 3986).
pub(crate) fn encode(text: &str) -> String {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            for half in [byte >> 4, byte & 15] {
                encoded.extend(HEX.get(usize::from(half)));
            }
        }
    }
    encoded
}
