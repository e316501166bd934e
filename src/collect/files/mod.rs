//! Reads a [`Capture`] from files: our own captures, what kubectl prints, folders and archives of both,
//! and container logs.
//!
//! ```text
//! path ─┬─ folder ──► names ─┐
//!       ├─ archive ─► names ─┼─► bytes ─► json | yaml ─► objects ─► intake ─► Capture
//!       └─ file, stdin ──────┘
//! ```
//!
//! A broken document or object costs that document or object and becomes a problem of the capture. An input
//! that the user named and that yields nothing at all is an error. Of two objects of the same kind,
//! namespace and name the newer one is kept: the one with the higher `metadata.resourceVersion`, or, where
//! one has none, the one that is read later. Secrets are never kept.

mod archive;
mod bytes;
mod folder;
mod intake;
mod json;
mod names;
mod objects;
mod place;
mod printable;
mod private;
mod transcode;
mod yaml;

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

pub use super::error::FilesError;
use crate::capture::format::{self, FormatError};
use crate::capture::{Capture, GapReason, LogFile, Problem};
use bytes::{Body, Bounded, Content, NoText};
use intake::{Intake, Part};
use json::{Broken, Found, Shape};
use names::LogName;
use objects::Contents;
pub use place::Place;
use printable::printable;
pub use private::write_private;

/// What one reading may take. The defaults fit clusters with hundreds of thousands of tasks and stop what
/// only a hostile input would hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one file of objects, unpacked.
    pub file_bytes: u64,
    /// Bytes kept of one log; of a longer one, the end is kept.
    pub log_bytes: u64,
    /// Bytes that one archive or compressed file may unpack to, skipped entries included.
    pub total_bytes: u64,
    /// Entries of one archive or folder.
    pub entries: usize,
    /// How deep YAML may be nested. Kubernetes itself stops at far less.
    pub yaml_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 1 << 30,
            log_bytes: 64 << 20,
            total_bytes: 4 << 30,
            entries: 100_000,
            yaml_depth: 100,
        }
    }
}

/// Reads everything that `paths` name. `-` is `stdin`; a folder is read with all folders below it.
///
/// # Errors
///
/// [`FilesError`] if a path yields nothing at all. What a path yields in part is kept, and the rest is told
/// in [`Capture::problems`] and in the outcome of the listings.
pub fn read(
    paths: &[PathBuf],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Capture, FilesError> {
    if paths.is_empty() {
        return Err(FilesError::NoInput);
    }
    let mut reading = Reading {
        intake: Intake::default(),
        limits,
    };
    let mut names = Vec::new();
    for path in paths {
        let name = printable(&path.to_string_lossy());
        reading.path(path, &name, stdin)?;
        names.push(name);
    }
    Ok(reading.intake.into_capture(names))
}

/// A reading under way.
struct Reading<'a> {
    intake: Intake,
    limits: &'a Limits,
}

impl Reading<'_> {
    fn path(&mut self, path: &Path, name: &str, stdin: &mut dyn Read) -> Result<(), FilesError> {
        if path == Path::new("-") {
            return self.stream("standard input", Box::new(stdin), 0);
        }
        let unreadable = |source| FilesError::Read {
            path: name.to_owned(),
            source,
        };
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            let name = name.trim_end_matches('/');
            return self.unless_nothing(name, |reading| {
                folder::read(reading, path, name).map_err(unreadable)
            });
        }
        let file = fs::File::open(path).map_err(unreadable)?;
        self.stream(name, Box::new(file), metadata.len())
    }

    /// Reads a file that the user named: objects, an archive, either one compressed.
    fn stream(
        &mut self,
        name: &str,
        reader: Box<dyn Read + '_>,
        size: u64,
    ) -> Result<(), FilesError> {
        let (content, reader, size) = self.unpacked(name, reader, size)?;
        match content {
            Content::Tar => self.archive(name, reader),
            Content::Empty | Content::Gzip | Content::Foreign(_) | Content::Text => {
                self.content(name, content, reader, size)
            }
        }
    }

    /// Reads a file of objects in a folder or archive; an archive in an archive is not read.
    fn objects(
        &mut self,
        name: &str,
        reader: Box<dyn Read + '_>,
        size: u64,
    ) -> Result<(), FilesError> {
        let (content, reader, size) = self.unpacked(name, reader, size)?;
        self.content(name, content, reader, size)
    }

    /// Looks at what a file is, behind compression if there is one.
    fn unpacked<'r>(
        &self,
        name: &str,
        reader: Box<dyn Read + 'r>,
        size: u64,
    ) -> Result<(Content, Box<dyn Read + 'r>, u64), FilesError> {
        let unreadable = |source: io::Error| match source.kind() {
            io::ErrorKind::FileTooLarge => self.too_large(name, self.limits.total_bytes),
            _ => FilesError::Read {
                path: name.to_owned(),
                source,
            },
        };
        let (content, reader) = bytes::look(reader).map_err(unreadable)?;
        if content != Content::Gzip {
            return Ok((content, reader, size));
        }
        let decoder = MultiGzDecoder::new(io::BufReader::new(reader));
        let bounded = Bounded::new(decoder, self.limits.total_bytes);
        let (content, reader) = bytes::look(Box::new(bounded)).map_err(unreadable)?;
        Ok((content, reader, 0))
    }

    fn archive(&mut self, name: &str, mut reader: Box<dyn Read + '_>) -> Result<(), FilesError> {
        self.unless_nothing(name, |reading| {
            archive::read(reading, name, &mut reader);
            Ok(())
        })
    }

    fn content(
        &mut self,
        name: &str,
        content: Content,
        mut reader: Box<dyn Read + '_>,
        size: u64,
    ) -> Result<(), FilesError> {
        let not_text = |what: &str| FilesError::NotText {
            path: name.to_owned(),
            what: what.to_owned(),
        };
        match content {
            Content::Empty => Err(FilesError::Empty {
                path: name.to_owned(),
            }),
            Content::Gzip => Err(not_text("it is compressed twice")),
            Content::Tar => Err(not_text("it is an archive within an archive or folder")),
            Content::Foreign(what) => Err(not_text(&format!("it is {what}; unpack it first"))),
            Content::Text => {
                let limit = self.limits.file_bytes;
                let body = bytes::text(&mut reader, size, limit).map_err(|error| match error {
                    NoText::Io(source) => FilesError::Read {
                        path: name.to_owned(),
                        source,
                    },
                    NoText::TooLarge => self.too_large(name, limit),
                    NoText::Not(what) => not_text(&what),
                })?;
                drop(reader);
                self.body(name, body)
            }
        }
    }

    fn too_large(&self, name: &str, limit: u64) -> FilesError {
        FilesError::TooLarge {
            path: name.to_owned(),
            limit: limit.min(self.limits.total_bytes),
        }
    }

    fn log(&mut self, log: LogName, name: &str, reader: &mut dyn Read) -> Result<(), FilesError> {
        let (body, cut, failure) =
            bytes::log(reader, self.limits.log_bytes).map_err(|source| FilesError::Read {
                path: name.to_owned(),
                source,
            })?;
        if let Some(failure) = failure {
            let failure = printable(&failure);
            self.say(
                GapReason::Partial,
                format!("{name} was not read to its end: {failure}"),
            );
        }
        self.intake.understand();
        self.intake.log(LogFile {
            namespace: log.namespace,
            pod: log.pod,
            container: log.container,
            previous: log.previous,
            cut,
            body,
        });
        Ok(())
    }

    /// Reads a folder or archive: it is an error only if nothing in it was understood.
    fn unless_nothing(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<(), FilesError>,
    ) -> Result<(), FilesError> {
        let understood = self.intake.understood();
        let problems = self.intake.problem_count();
        read(self)?;
        if self.intake.understood() > understood {
            return Ok(());
        }
        let first = self.intake.first_problem_since(problems);
        Err(FilesError::Nothing {
            path: name.to_owned(),
            first: first
                .unwrap_or("no file in it has a name that is read (.yaml, .yml, .json, logs/…)")
                .to_owned(),
        })
    }

    fn say(&mut self, reason: GapReason, message: String) {
        self.intake.problem(Problem {
            resource: "input".to_owned(),
            reason,
            message,
        });
    }

    /// Reads the documents of a text.
    fn body(&mut self, name: &str, body: Body) -> Result<(), FilesError> {
        let understood = self.intake.understood();
        let problems = self.intake.problem_count();
        if let Some(why) = &body.cut {
            let why = printable(why);
            self.say(
                GapReason::Malformed,
                format!("{name} was not read to its end: {why}"),
            );
        }
        let is_json = body.text.trim_start().starts_with(['{', '[']);
        let first = if is_json {
            self.json(name, body.text)?
        } else {
            transcode::on_deep_stack(|| self.yaml(name, &body)).map_err(|source| {
                let path = name.to_owned();
                FilesError::Read { path, source }
            })?
        };
        if self.intake.understood() > understood {
            return Ok(());
        }
        // The error says it all.
        self.intake.forget_problems_since(problems);
        Err(first.map_or_else(
            || FilesError::Empty {
                path: name.to_owned(),
            },
            |broken| FilesError::Unusable {
                path: name.to_owned(),
                place: broken.place,
                message: broken.message,
            },
        ))
    }

    /// Reads JSON documents. Returns the first thing that is wrong with them.
    fn json(&mut self, name: &str, text: String) -> Result<Option<Broken>, FilesError> {
        let mut first = None;
        let mut parts = Vec::new();
        let end = text.trim_end().len();
        for (number, found) in (1_usize..).zip(json::documents(&text)) {
            let shown = match number {
                1 if found.span.end >= end => name.to_owned(),
                _ => format!("{name} document {number}"),
            };
            if is_capture(&found.outline) {
                let at = found.span.start;
                let whole = text.get(found.span).unwrap_or_default();
                let parsed = format::parse(whole).map_err(|source| FilesError::Format {
                    path: shown,
                    source,
                })?;
                self.intake.understand();
                parts.push(Part::Capture { at, parsed });
                continue;
            }
            let contents = objects::contents(&text, &found, Place::START);
            first = first.or(self.judge(&shown, &contents, &found));
            parts.push(Part::Objects(contents));
        }
        self.intake.text(name.to_owned(), text, parts);
        Ok(first)
    }

    /// Reads YAML documents. Returns the first thing that is wrong with them.
    fn yaml(&mut self, name: &str, body: &Body) -> Option<Broken> {
        let documents = yaml::documents(&body.text);
        let count = documents.len();
        let mut first = None;
        for (number, document) in (1_usize..).zip(&documents) {
            let shown = match count {
                1 => name.to_owned(),
                _ => format!("{name} document {number}"),
            };
            let converted = yaml::convert(document, self.limits.yaml_depth);
            let ends_early = body.cut.is_some() && number == count;
            let Some(found) = json::documents(&converted.json).next() else {
                continue;
            };
            let found = yaml::found(found, document, &converted, ends_early);
            let contents = objects::contents(&converted.json, &found, document.place);
            first = first.or(self.judge(&shown, &contents, &found));
            drop(found);
            self.intake
                .text(shown, converted.json, vec![Part::Objects(contents)]);
        }
        first
    }

    /// Tells what is wrong with a document, and counts it if it was understood at least in part.
    fn judge(&mut self, shown: &str, contents: &Contents, found: &Found<'_>) -> Option<Broken> {
        let is_whole = contents.losses.is_empty() && found.broken.is_none();
        if (is_whole && found.outline.shape != Shape::Null) || contents.len() > 0 {
            self.intake.understand();
        }
        for Broken { place, message } in &contents.losses {
            self.say(GapReason::Malformed, format!("{shown}, {place}: {message}"));
        }
        contents.losses.first().or(found.broken.as_ref()).cloned()
    }
}

fn is_capture(outline: &json::Outline<'_>) -> bool {
    outline.kind.as_deref() == Some(format::KIND)
        && outline
            .api_version
            .as_deref()
            .is_some_and(|version| version.starts_with("velero-slots/"))
}

/// An input of a folder or archive that cannot be used is a problem, not an error.
fn problem(error: &FilesError) -> Problem {
    let reason = match error {
        FilesError::Read { source, .. } => match source.kind() {
            io::ErrorKind::PermissionDenied => GapReason::Forbidden,
            io::ErrorKind::NotFound => GapReason::NotFound,
            _ => GapReason::Malformed,
        },
        FilesError::TooLarge { .. } => GapReason::Partial,
        FilesError::Format {
            source: FormatError::Newer { .. },
            ..
        } => GapReason::Unsupported,
        FilesError::Empty { .. }
        | FilesError::NotText { .. }
        | FilesError::Unusable { .. }
        | FilesError::Format { .. }
        | FilesError::Nothing { .. }
        | FilesError::NoInput => GapReason::Malformed,
    };
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&printable(&error.to_string()));
        cause = error.source();
    }
    Problem {
        resource: "input".to_owned(),
        reason,
        message,
    }
}
