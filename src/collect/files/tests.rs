//! Whole readings: every form of input, and every hostile one.

mod archives;
mod bundles;
mod forms;
mod fuzz;
mod hostile;
mod logs;
mod looks;

use std::path::{Path, PathBuf};

use super::{FilesError, Limits, read};
use crate::capture::{Capture, Outcome, ResourceKind, Scope};

/// Reads text from standard input.
fn from_text(text: &str) -> Result<Capture, FilesError> {
    from_bytes(text.as_bytes(), &Limits::default())
}

fn from_bytes(mut bytes: &[u8], limits: &Limits) -> Result<Capture, FilesError> {
    read(&[PathBuf::from("-")], &mut bytes, limits)
}

fn from_paths(paths: &[&Path]) -> Result<Capture, FilesError> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    read(&paths, &mut std::io::empty(), &Limits::default())
}

/// The listings, one a line: resource, scope, outcome, names.
fn told(capture: &Capture) -> Vec<String> {
    capture
        .listings
        .iter()
        .map(|listing| {
            let scope = match &listing.scope {
                Scope::FileList => "list",
                Scope::FileObjects => "objects",
                Scope::Cluster => "cluster",
                Scope::Namespace(_) => "namespace",
                Scope::Selected { .. } => "selected",
            };
            let outcome = match &listing.outcome {
                Outcome::Listed(_) => "whole".to_owned(),
                Outcome::Cut { reason, .. } => format!("cut {}", reason.as_str()),
                Outcome::Refused { reason, .. } => format!("refused {}", reason.as_str()),
            };
            let names: Vec<String> = listing
                .outcome
                .items()
                .iter()
                .map(|item| name_of(capture.json(item)))
                .collect();
            format!(
                "{} {scope} {outcome}: {}",
                listing.resource,
                names.join(" ")
            )
        })
        .collect()
}

/// The name only: other fields may be nested too deep for a tree of values.
fn name_of(json: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Named {
        metadata: Option<serde_json::Value>,
    }
    let named: Option<Named> = serde_json::from_str(json).ok();
    named
        .and_then(|named| named.metadata)
        .and_then(|metadata| metadata["name"].as_str().map(str::to_owned))
        .unwrap_or_else(|| "?".to_owned())
}

fn problems(capture: &Capture) -> Vec<&str> {
    capture
        .problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect()
}

/// An error with its causes, as the command line prints it.
fn words(error: &FilesError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A DataUpload in one line of JSON.
fn data_upload(name: &str, resource_version: u64) -> String {
    format!(
        r#"{{"apiVersion":"velero.io/v2alpha1","kind":"DataUpload","metadata":{{"name":"{name}","namespace":"velero","resourceVersion":"{resource_version}"}},"status":{{"phase":"Prepared"}}}}"#
    )
}

fn pod(name: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"velero"}}}}"#
    )
}

const SECRET: &str =
    r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"key":"aHVzaA=="}}"#;

fn items_of(capture: &Capture, resource: ResourceKind) -> Vec<&str> {
    capture
        .listings
        .iter()
        .filter(|listing| listing.resource == resource)
        .flat_map(|listing| listing.outcome.items())
        .map(|item| capture.json(item))
        .collect()
}
