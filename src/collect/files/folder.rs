//! A folder of objects and logs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::bytes::Bounded;
use super::logs::Whose;
use super::names::{Role, form, role};
use super::printable::printable;
use super::reading::{Reading, problem};
use crate::capture::GapReason;

/// How deep folders may lie in each other. Bundles are about ten deep.
const DEEPEST: usize = 64;

/// Reads all files of a folder and the folders below it, sorted by path.
///
/// A link is followed to a file within the folder only; mounted ConfigMaps consist of such links. A link to
/// a folder is never followed: what lies in the folder is found anyway.
pub(super) fn read(reading: &mut Reading<'_>, folder: &Path, name: &str) -> io::Result<()> {
    let root = fs::canonicalize(folder)?;
    let mut walk = Walk {
        root: &root,
        files: Vec::new(),
        left: reading.limits.entries,
    };
    walk.folder(reading, folder, &mut Vec::new())?;
    let files = walk.files;
    reading
        .intake
        .forms(files.iter().filter_map(|(_, components)| form(components)));
    let count = files.len();
    for (number, (path, components)) in files.into_iter().enumerate() {
        if reading.budget.is_spent() {
            let limit = reading.limits.total_bytes;
            let message = format!(
                "{name}: {} of {count} files were not read: all inputs together hold more than {limit} bytes",
                count.saturating_sub(number)
            );
            reading.say(GapReason::Partial, message);
            break;
        }
        let shown = format!("{name}/{}", printable(&components.join("/")));
        if let Err(error) = one(reading, &path, &components, &shown) {
            reading.intake.problem(problem(&error));
        }
    }
    Ok(())
}

fn one(
    reading: &mut Reading<'_>,
    path: &Path,
    components: &[String],
    shown: &str,
) -> Result<(), super::FilesError> {
    let open = || {
        fs::File::open(path).map_err(|source| super::FilesError::Read {
            path: shown.to_owned(),
            source,
        })
    };
    match role(components) {
        Role::Objects | Role::Logs => {
            let file = open()?;
            let size = file.metadata().map_or(0, |metadata| metadata.len());
            let bounded = Bounded::new(file, &reading.budget);
            reading.objects(shown, Box::new(bounded), size)
        }
        Role::Log(log) => reading.named_file(Whose::Known(log), shown, &mut open()?),
        Role::LooseLog => {
            let whose = Whose::ByName(components.to_vec());
            reading.named_file(whose, shown, &mut open()?)
        }
        Role::Packed => {
            reading.passed_over.packed.add(shown);
            Ok(())
        }
        Role::RotatedLog => {
            reading.passed_over.rotated.add(shown);
            Ok(())
        }
        Role::Other => Ok(()),
    }
}

struct Walk<'a> {
    root: &'a Path,
    files: Vec<(PathBuf, Vec<String>)>,
    left: usize,
}

impl Walk<'_> {
    /// Fails only if the folder itself cannot be listed.
    fn folder(
        &mut self,
        reading: &mut Reading<'_>,
        folder: &Path,
        components: &mut Vec<String>,
    ) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            entries.push(entry?.path());
        }
        entries.sort();
        for path in entries {
            let Some(left) = self.left.checked_sub(1) else {
                let message = format!(
                    "{}: more than {} entries; the rest was not read",
                    printable(&folder.to_string_lossy()),
                    reading.limits.entries
                );
                reading.say(GapReason::Partial, message);
                return Ok(());
            };
            self.left = left;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            components.push(name.into_owned());
            if let Err(error) = self.entry(reading, &path, components) {
                let shown = printable(&path.to_string_lossy());
                reading.say(GapReason::Malformed, format!("read {shown}: {error}"));
            }
            components.pop();
        }
        Ok(())
    }

    fn entry(
        &mut self,
        reading: &mut Reading<'_>,
        path: &Path,
        components: &mut Vec<String>,
    ) -> io::Result<()> {
        let kind = fs::symlink_metadata(path)?.file_type();
        if kind.is_dir() {
            let is_hidden = components.last().is_some_and(|name| name.starts_with('.'));
            if components.len() > DEEPEST {
                return Err(io::Error::other("folders lie too deep in each other"));
            }
            return if is_hidden {
                Ok(())
            } else {
                self.folder(reading, path, components)
            };
        }
        if role(components) == Role::Other {
            return Ok(());
        }
        let is_file = if kind.is_symlink() {
            let target = fs::canonicalize(path)?;
            if !target.starts_with(self.root) {
                return Err(io::Error::other("the link leads out of the folder"));
            }
            target.is_file()
        } else {
            kind.is_file()
        };
        if is_file {
            self.files.push((path.to_owned(), components.clone()));
        }
        Ok(())
    }
}
