//! Reading a capture file back. Objects stay where they are: only their places are kept.

use std::borrow::Cow;
use std::ops::Range;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{API_VERSION, FORMAT_VERSION, FormatError, KIND};
use crate::capture::spans::span_of;
use crate::capture::{
    BundleForm, Capture, Cut, GapReason, Item, Listing, LogFile, Manifest, MetricsPage, NowFrom,
    Outcome, Previous, Problem, Redacted, ResourceKind, Scope, SourceType, Text,
};

/// A capture file whose text is still the caller's: the items are in text 0, which is the text that was
/// parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// When, where and by what the capture was taken. Its source is [`SourceType::Files`], and its time
    /// comes from the capture.
    pub manifest: Manifest,
    /// The answers. A resource that this version does not know is left out.
    pub listings: Vec<Listing>,
    /// Logs.
    pub logs: Vec<LogFile>,
    /// Pages of metrics.
    pub metrics: Vec<MetricsPage>,
    /// What the capture says could not be read.
    pub problems: Vec<Problem>,
}

/// Reads a capture file. `origin` names it in messages.
///
/// # Errors
///
/// [`FormatError`] if the text is not a capture, or one of a newer format.
pub fn read(text: String, origin: &str) -> Result<Capture, FormatError> {
    let parsed = parse(&text)?;
    let mut manifest = parsed.manifest;
    manifest.paths = vec![origin.to_owned()];
    Ok(Capture {
        manifest,
        texts: vec![Text {
            origin: origin.to_owned(),
            body: text,
        }],
        listings: parsed.listings,
        earlier: Vec::new(),
        logs: parsed.logs,
        metrics: parsed.metrics,
        problems: parsed.problems,
    })
}

/// Parses a capture file in place.
///
/// # Errors
///
/// [`FormatError`] if the text is not a capture, or one of a newer format.
pub fn parse(text: &str) -> Result<Parsed, FormatError> {
    check_version(text)?;
    let file: File<'_> = serde_json::from_str(text).map_err(FormatError::Malformed)?;
    let listings = file
        .listings
        .into_iter()
        .filter_map(|listing| listing.into_listing(text))
        .collect();
    Ok(Parsed {
        manifest: file.manifest.into_manifest(),
        listings,
        logs: file.logs.into_iter().map(LogIn::into_log).collect(),
        metrics: file
            .metrics
            .into_iter()
            .filter_map(MetricsIn::into_page)
            .collect(),
        problems: file
            .problems
            .into_iter()
            .map(ProblemIn::into_problem)
            .collect(),
    })
}

/// Looks at the version before anything else, since a newer format may break every other expectation.
fn check_version(text: &str) -> Result<(), FormatError> {
    let head: Head<'_> = serde_json::from_str(text).map_err(FormatError::Malformed)?;
    if head.api_version != API_VERSION || head.kind != KIND {
        return Err(FormatError::NotACapture);
    }
    if head.format_version > FORMAT_VERSION {
        return Err(FormatError::Newer {
            format: head.format_version,
            tool_version: head.manifest.tool_version.into_owned(),
        });
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    format_version: u64,
    #[serde(borrow, default)]
    manifest: HeadManifest<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadManifest<'a> {
    #[serde(borrow, default)]
    tool_version: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    manifest: ManifestIn,
    #[serde(borrow, default)]
    listings: Vec<ListingIn<'a>>,
    #[serde(default)]
    logs: Vec<LogIn>,
    #[serde(default)]
    metrics: Vec<MetricsIn>,
    #[serde(default)]
    problems: Vec<ProblemIn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestIn {
    taken_at: Option<Timestamp>,
    server: Option<String>,
    namespace: Option<String>,
    #[serde(default)]
    tool_version: String,
    #[serde(default)]
    bundles: Vec<String>,
    #[serde(default)]
    redacted: bool,
}

impl ManifestIn {
    fn into_manifest(self) -> Manifest {
        Manifest {
            source: SourceType::Files,
            taken_at: self.taken_at,
            now_from: match self.taken_at {
                Some(_) => NowFrom::Capture,
                None => NowFrom::NewestObject,
            },
            server: self.server,
            paths: Vec::new(),
            namespace: self.namespace,
            tool_version: self.tool_version,
            bundles: self
                .bundles
                .iter()
                .filter_map(|form| BundleForm::parse(form))
                .collect(),
            redacted: if self.redacted {
                Redacted::Yes
            } else {
                Redacted::No
            },
        }
    }
}

#[derive(Deserialize)]
struct ListingIn<'a> {
    resource: String,
    #[serde(default)]
    group: String,
    scope: ScopeIn,
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
    cut: Option<BecauseIn>,
    refused: Option<BecauseIn>,
}

impl ListingIn<'_> {
    fn into_listing(self, text: &str) -> Option<Listing> {
        let resource = ResourceKind::ALL.into_iter().find(|resource| {
            resource.plural() == self.resource && resource.group() == self.group
        })?;
        let items = self
            .items
            .into_iter()
            .filter_map(|raw| span_of(text, raw.get()))
            .map(|span: Range<usize>| Item { text: 0, span })
            .collect();
        let outcome = match (self.refused, self.cut) {
            (Some(because), _) => Outcome::Refused {
                reason: because.reason(),
                message: because.message,
            },
            (None, Some(because)) => Outcome::Cut {
                items,
                reason: because.reason(),
                message: because.message,
            },
            (None, None) => Outcome::Listed(items),
        };
        Some(Listing {
            resource,
            scope: self.scope.into_scope(),
            outcome,
        })
    }
}

#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
enum ScopeIn {
    Namespace { namespace: String },
    Cluster,
    Selected { label_selector: String },
    FileList,
    FileObjects,
}

impl ScopeIn {
    fn into_scope(self) -> Scope {
        match self {
            Self::Namespace { namespace } => Scope::Namespace(namespace),
            Self::Cluster => Scope::Cluster,
            Self::Selected { label_selector } => Scope::Selected { label_selector },
            Self::FileList => Scope::FileList,
            Self::FileObjects => Scope::FileObjects,
        }
    }
}

#[derive(Deserialize)]
struct BecauseIn {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

impl BecauseIn {
    fn reason(&self) -> GapReason {
        reason(&self.reason)
    }
}

/// A reason that this version does not know is still one: the thing was not read as it should be.
fn reason(text: &str) -> GapReason {
    GapReason::parse(text).unwrap_or(GapReason::Unsupported)
}

#[derive(Deserialize)]
struct LogIn {
    namespace: String,
    pod: String,
    container: String,
    #[serde(default)]
    previous: bool,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    body: String,
}

impl LogIn {
    fn into_log(self) -> LogFile {
        LogFile {
            namespace: self.namespace,
            pod: self.pod,
            container: self.container,
            previous: if self.previous {
                Previous::Yes
            } else {
                Previous::No
            },
            cut: if self.cut {
                Cut::BeginningLeftOut
            } else {
                Cut::Whole
            },
            body: self.body,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricsIn {
    namespace: String,
    pod: String,
    #[serde(default)]
    port: u16,
    taken_at: Option<Timestamp>,
    #[serde(default)]
    body: String,
}

impl MetricsIn {
    /// A page without a time is worth nothing: all that is read of it are rates and ages.
    fn into_page(self) -> Option<MetricsPage> {
        Some(MetricsPage {
            namespace: self.namespace,
            pod: self.pod,
            port: self.port,
            taken_at: self.taken_at?,
            body: self.body,
        })
    }
}

#[derive(Deserialize)]
struct ProblemIn {
    resource: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

impl ProblemIn {
    fn into_problem(self) -> Problem {
        Problem {
            reason: reason(&self.reason),
            resource: self.resource,
            message: self.message,
        }
    }
}
