//! One reading: tells what an input is, and takes it in.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::bytes::{self, Body, Bounded, Budget, Content, IsDump, NoText};
use super::deep_stack::on_deep_stack;
use super::intake::{Intake, Part};
use super::json::{self, Broken, Found, Shape};
use super::logs::Whose;
use super::names::is_log_name;
use super::objects::{self, Contents};
use super::passed_over::PassedOver;
use super::printable::printable;
use super::{FilesError, Limits, Place, archive, folder, log_text, said, yaml};
use crate::capture::format::{self, FormatError};
use crate::capture::{BundleForm, GapReason, Problem};

/// A reading under way.
pub(super) struct Reading<'a> {
    pub(super) intake: Intake,
    pub(super) limits: &'a Limits,
    /// What the run may still read and unpack.
    pub(super) budget: Budget,
    /// Files that it passes over, of which the names say that something is in them.
    pub(super) passed_over: PassedOver,
}

impl Reading<'_> {
    pub(super) fn path(
        &mut self,
        path: &Path,
        name: &str,
        stdin: &mut dyn Read,
    ) -> Result<(), FilesError> {
        if path == Path::new("-") {
            let bounded = Bounded::new(stdin, &self.budget);
            return self.stream("standard input", Box::new(bounded), 0);
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
        // Opening a named pipe waits for a writer, and a device has no end.
        if !metadata.is_file() && !is_open_already(path) {
            return Err(unreadable(io::Error::other(
                "it is neither a file nor a folder but a pipe, a socket or a device; pipe what it holds to --from -",
            )));
        }
        let mut file = fs::File::open(path).map_err(unreadable)?;
        if metadata.is_file() {
            let (content, _) = log_text::head_of(&mut file).map_err(unreadable)?;
            let is_log = match content {
                Content::Log => true,
                Content::Text => is_log_name(name) && !may_be_objects(&mut file),
                Content::Empty | Content::Gzip | Content::Tar | Content::Foreign(_) => false,
            };
            if is_log {
                let whose = Whose::ByName(path_of(path));
                return self.log_file(whose, name, &mut file, metadata.len());
            }
        }
        let bounded = Bounded::new(file, &self.budget);
        self.stream(name, Box::new(bounded), metadata.len())
    }

    /// Reads a file that the user named: objects, an archive, either one compressed.
    pub(super) fn stream(
        &mut self,
        name: &str,
        reader: Box<dyn Read + '_>,
        size: u64,
    ) -> Result<(), FilesError> {
        let (content, mut reader, size) = self.unpacked(name, reader, size)?;
        match content {
            Content::Tar => self.archive(name, reader),
            Content::Log => {
                let whose = Whose::ByName(path_of(Path::new(name)));
                self.log(whose, name, &mut reader)
            }
            Content::Text if is_log_name(name) && name.ends_with(".gz") => {
                let whose = Whose::ByName(path_of(Path::new(name)));
                self.log(whose, name, &mut reader)
            }
            Content::Empty | Content::Gzip | Content::Foreign(_) | Content::Text => {
                self.content(name, content, reader, size)
            }
        }
    }

    /// Reads a file of objects in a folder or archive; an archive in an archive is not read.
    pub(super) fn objects(
        &mut self,
        name: &str,
        reader: Box<dyn Read + '_>,
        size: u64,
    ) -> Result<(), FilesError> {
        let (content, reader, size) = self.unpacked(name, reader, size)?;
        self.content(name, content, reader, size)
    }

    /// Looks at what a file is, behind compression if there is one.
    pub(super) fn unpacked<'r>(
        &self,
        name: &str,
        reader: Box<dyn Read + 'r>,
        size: u64,
    ) -> Result<(Content, Box<dyn Read + 'r>, u64), FilesError> {
        let unreadable = |source: io::Error| {
            if source.kind() == io::ErrorKind::FileTooLarge {
                return self.all_too_large(name);
            }
            FilesError::Read {
                path: name.to_owned(),
                source,
            }
        };
        let (content, reader) = bytes::look(reader).map_err(unreadable)?;
        if content != Content::Gzip {
            return Ok((content, reader, size));
        }
        let decoder = MultiGzDecoder::new(io::BufReader::new(reader));
        let bounded = Bounded::new(decoder, &self.budget);
        let (content, reader) = bytes::look(Box::new(bounded)).map_err(unreadable)?;
        Ok((content, reader, 0))
    }

    pub(super) fn archive(
        &mut self,
        name: &str,
        mut reader: Box<dyn Read + '_>,
    ) -> Result<(), FilesError> {
        self.unless_nothing(name, |reading| {
            archive::read(reading, name, &mut reader);
            Ok(())
        })
    }

    pub(super) fn content(
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
            Content::Log => Err(not_text("it is a log; give it a name that ends in .log")),
            Content::Foreign(what) => Err(not_text(&format!("it is {what}; unpack it first"))),
            Content::Text => {
                let limit = self.limits.file_bytes;
                let body = bytes::text(&mut reader, size, limit).map_err(|error| match error {
                    NoText::Io(source) => FilesError::Read {
                        path: name.to_owned(),
                        source,
                    },
                    NoText::TooLarge => FilesError::TooLarge {
                        path: name.to_owned(),
                        limit,
                    },
                    NoText::AllTooLarge => self.all_too_large(name),
                    NoText::Not(what) => not_text(&what),
                })?;
                drop(reader);
                match body.is_dump {
                    IsDump::Yes => self.dump(name, body),
                    IsDump::No => self.body(name, body),
                }
            }
        }
    }

    pub(super) fn all_too_large(&self, name: &str) -> FilesError {
        FilesError::AllTooLarge {
            path: name.to_owned(),
            limit: self.limits.total_bytes,
        }
    }

    /// Reads a folder or archive: it is an error only if nothing in it was understood.
    pub(super) fn unless_nothing(
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
        if self.budget.is_spent() {
            return Err(self.all_too_large(name));
        }
        let first = self.intake.first_problem_since(problems);
        Err(FilesError::Nothing {
            path: name.to_owned(),
            first: first
                .unwrap_or("no file in it has a name that is read (.yaml, .yml, .json, .log)")
                .to_owned(),
        })
    }

    pub(super) fn say(&mut self, reason: GapReason, message: String) {
        self.intake.problem(Problem {
            resource: "input".to_owned(),
            reason,
            message,
        });
    }

    /// Reads the documents of a text.
    pub(super) fn body(&mut self, name: &str, body: Body) -> Result<(), FilesError> {
        let understood = self.intake.understood();
        let problems = self.intake.problem_count();
        if let Some(said) = said::instead_of_objects(&body.text) {
            self.intake.understand();
            self.intake.said(name, said);
            return Ok(());
        }
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
            on_deep_stack(|| self.yaml(name, &body)).map_err(|source| {
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
    pub(super) fn json(&mut self, name: &str, text: String) -> Result<Option<Broken>, FilesError> {
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
            // A typed list of these is printed by `kubectl cluster-info dump` only.
            if found.outline.kind.as_deref() == Some("ReplicationControllerList") {
                self.intake.forms([BundleForm::ClusterInfoDump]);
            }
            let contents = objects::contents(&text, &found, Place::START);
            first = first.or(self.judge(&shown, &contents, &found));
            parts.push(Part::Objects(contents));
        }
        self.intake.text(name.to_owned(), text, parts);
        Ok(first)
    }

    /// Reads YAML documents. Returns the first thing that is wrong with them.
    pub(super) fn yaml(&mut self, name: &str, body: &Body) -> Option<Broken> {
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
    pub(super) fn judge(
        &mut self,
        shown: &str,
        contents: &Contents,
        found: &Found<'_>,
    ) -> Option<Broken> {
        let is_whole = contents.losses.is_empty() && found.broken.is_none();
        if (is_whole && found.outline.shape != Shape::Null) || contents.len() > 0 {
            self.intake.understand();
        }
        for Broken { place, message } in &contents.losses {
            self.say(GapReason::Malformed, format!("{shown}, {place}: {message}"));
        }
        for refusal in &contents.refusals {
            self.intake.problem(Problem {
                resource: refusal.resource.clone(),
                reason: refusal.reason,
                message: format!("{shown}: {}", refusal.message),
            });
        }
        contents.losses.first().or(found.broken.as_ref()).cloned()
    }
}

/// Returns the folders and the name of a file, as far as they are text.
fn path_of(path: &Path) -> Vec<String> {
    path.iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect()
}

/// Whether a file that is called a log holds objects all the same, by its first word.
fn may_be_objects(file: &mut fs::File) -> bool {
    log_text::head_of(file).is_ok_and(|(_, head)| {
        let head = head.trim_ascii_start();
        ["{", "apiVersion:", "kind:", "items:", "---"]
            .iter()
            .any(|word| head.starts_with(word.as_bytes()))
    })
}

/// Whether a path stands for something that the shell has opened, such as the pipe of `<(…)`: it is read to its
/// end, as standard input is.
fn is_open_already(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

fn is_capture(outline: &json::Outline<'_>) -> bool {
    outline.kind.as_deref() == Some(format::KIND)
        && outline
            .api_version
            .as_deref()
            .is_some_and(|version| version.starts_with("velero-slots/"))
}

/// An input of a folder or archive that cannot be used is a problem, not an error.
pub(super) fn problem(error: &FilesError) -> Problem {
    let reason = match error {
        FilesError::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            GapReason::Forbidden
        }
        FilesError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            GapReason::NotFound
        }
        FilesError::TooLarge { .. } | FilesError::AllTooLarge { .. } => GapReason::Partial,
        FilesError::Format {
            source: FormatError::Newer { .. },
            ..
        } => GapReason::Unsupported,
        FilesError::Read { .. }
        | FilesError::Empty { .. }
        | FilesError::NotText { .. }
        | FilesError::Unusable { .. }
        | FilesError::Format { .. }
        | FilesError::Nothing { .. }
        | FilesError::RedactedBesideOthers
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
