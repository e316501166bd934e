//! The machine views: JSON and YAML of the same document.

use std::io::{self, Write};

use serde::Serialize;

pub(crate) mod action;
mod escape;
mod eta;
pub(crate) mod explanation;
pub(crate) mod simulation;
mod text;
pub(crate) mod v1;

#[cfg(test)]
mod schema;

pub(crate) use escape::must_escape;
use escape::{Escapes, Escaping};

/// Streams a document as JSON, indented as kubectl does.
pub(crate) fn write_json(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    let mut out = Escaping::new(out, Escapes::Json);
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    // A serializer error of ours can only be the writer's.
    document
        .serialize(&mut serializer)
        .map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// Streams a document as YAML.
pub(crate) fn write_yaml(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    let mut out = Escaping::new(out, Escapes::Yaml);
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_io_writer_with_options(&mut out, document, options).map_err(|error| {
        if let serde_saphyr::ser_error::Error::IO { error } = error {
            error
        } else {
            io::Error::other(error.to_string())
        }
    })
}
