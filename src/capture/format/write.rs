//! Writing a capture, object by object, so that no second copy of it is made.

use std::io;

use serde::Serialize;

use super::{API_VERSION, FORMAT_VERSION, KIND};
use crate::capture::{
    Capture, Cut, GapReason, Item, Listing, LogFile, Manifest, MetricsPage, Outcome, Previous,
    Problem, Redacted, Scope,
};

/// Writes a capture as one JSON document, an object a line as far as it came as one line.
///
/// Only the objects of the listings are written, not the texts that they lie in: what was dropped from
/// the listings does not reach the disk.
///
/// # Errors
///
/// Those of `out`.
pub fn write(capture: &Capture, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(b"{\"apiVersion\":")?;
    value(out, API_VERSION)?;
    out.write_all(b",\"kind\":")?;
    value(out, KIND)?;
    write!(out, ",\"formatVersion\":{FORMAT_VERSION},\n\"manifest\":")?;
    value(out, &manifest(&capture.manifest))?;
    out.write_all(b",\n\"contents\":")?;
    value(out, &capture.contents())?;
    out.write_all(b",\n\"listings\":[")?;
    for (index, listing) in capture.listings.iter().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write_listing(capture, listing, out)?;
    }
    out.write_all(b"],\n\"logs\":[")?;
    for (index, file) in capture.logs.iter().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        value(out, &log(file))?;
    }
    if !capture.metrics.is_empty() {
        out.write_all(b"],\n\"metrics\":[")?;
        for (index, page) in capture.metrics.iter().enumerate() {
            out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
            value(out, &metrics(page))?;
        }
    }
    out.write_all(b"],\n\"problems\":[")?;
    for (index, one) in capture.problems.iter().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        value(out, &problem(one))?;
    }
    out.write_all(b"]}\n")
}

fn value<T: Serialize + ?Sized>(out: &mut dyn io::Write, value: &T) -> io::Result<()> {
    serde_json::to_writer(out, value).map_err(io::Error::from)
}

fn write_listing(capture: &Capture, listing: &Listing, out: &mut dyn io::Write) -> io::Result<()> {
    let resource = listing.resource;
    out.write_all(b"{\"resource\":")?;
    value(out, resource.plural())?;
    out.write_all(b",\"group\":")?;
    value(out, resource.group())?;
    out.write_all(b",\"version\":")?;
    value(out, resource.version())?;
    out.write_all(b",\"scope\":")?;
    value(out, &scope(&listing.scope))?;
    match &listing.outcome {
        Outcome::Listed(items) => write_items(capture, items, out)?,
        Outcome::Cut {
            items,
            reason,
            message,
        } => {
            write_items(capture, items, out)?;
            out.write_all(b",\"cut\":")?;
            value(out, &because(*reason, message))?;
        }
        Outcome::Refused { reason, message } => {
            out.write_all(b",\"refused\":")?;
            value(out, &because(*reason, message))?;
        }
    }
    out.write_all(b"}")
}

fn write_items(capture: &Capture, items: &[Item], out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(b",\"items\":[")?;
    let mut separator: &[u8] = b"\n";
    for item in items {
        let json = capture.json(item);
        // An item of another capture reads as empty; writing it would break the document.
        if json.is_empty() {
            continue;
        }
        out.write_all(separator)?;
        out.write_all(json.as_bytes())?;
        separator = b",\n";
    }
    out.write_all(b"]")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ManifestOut<'a> {
    taken_at: Option<String>,
    now_from: &'static str,
    server: Option<&'a str>,
    namespace: Option<&'a str>,
    tool_version: &'a str,
    redacted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bundles: Vec<&'static str>,
}

fn manifest(manifest: &Manifest) -> ManifestOut<'_> {
    ManifestOut {
        taken_at: manifest.taken_at.map(|time| time.to_string()),
        now_from: manifest.now_from.as_str(),
        server: manifest.server.as_deref(),
        namespace: manifest.namespace.as_deref(),
        tool_version: &manifest.tool_version,
        bundles: manifest.bundles.iter().map(|form| form.as_str()).collect(),
        redacted: match manifest.redacted {
            Redacted::No => false,
            Redacted::Yes => true,
        },
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeOut<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_selector: Option<&'a str>,
}

fn scope(scope: &Scope) -> ScopeOut<'_> {
    let (r#type, namespace, label_selector) = match scope {
        Scope::Namespace(namespace) => ("namespace", Some(namespace.as_str()), None),
        Scope::Cluster => ("cluster", None, None),
        Scope::Selected { label_selector } => ("selected", None, Some(label_selector.as_str())),
        Scope::FileList => ("file-list", None, None),
        Scope::FileObjects => ("file-objects", None, None),
    };
    ScopeOut {
        r#type,
        namespace,
        label_selector,
    }
}

#[derive(Serialize)]
struct BecauseOut<'a> {
    reason: &'static str,
    message: &'a str,
}

const fn because(reason: GapReason, message: &str) -> BecauseOut<'_> {
    BecauseOut {
        reason: reason.as_str(),
        message,
    }
}

#[derive(Serialize)]
struct LogOut<'a> {
    namespace: &'a str,
    pod: &'a str,
    container: &'a str,
    previous: bool,
    cut: bool,
    body: &'a str,
}

fn log(log: &LogFile) -> LogOut<'_> {
    LogOut {
        namespace: &log.namespace,
        pod: &log.pod,
        container: &log.container,
        previous: match log.previous {
            Previous::No => false,
            Previous::Yes => true,
        },
        cut: match log.cut {
            Cut::Whole => false,
            Cut::BeginningLeftOut => true,
        },
        body: &log.body,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MetricsOut<'a> {
    namespace: &'a str,
    pod: &'a str,
    port: u16,
    taken_at: String,
    body: &'a str,
}

fn metrics(page: &MetricsPage) -> MetricsOut<'_> {
    MetricsOut {
        namespace: &page.namespace,
        pod: &page.pod,
        port: page.port,
        taken_at: page.taken_at.to_string(),
        body: &page.body,
    }
}

#[derive(Serialize)]
struct ProblemOut<'a> {
    resource: &'a str,
    reason: &'static str,
    message: &'a str,
}

fn problem(problem: &Problem) -> ProblemOut<'_> {
    ProblemOut {
        resource: &problem.resource,
        reason: problem.reason.as_str(),
        message: &problem.message,
    }
}
