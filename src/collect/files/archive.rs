//! A tar archive of objects and logs. Nothing is ever unpacked to disk.

use std::io::{self, Read};
use std::path::{Component, Path};

use super::FilesError;
use super::logs::Whose;
use super::names::{Role, form, role};
use super::printable::printable;
use super::reading::{Reading, problem};
use crate::capture::GapReason;

/// How long the name of an entry may be. File systems stop at 4096 bytes.
const LONGEST_NAME: u64 = 8 * 1024;

/// How long the extended header of an entry may be.
const LONGEST_HEADER: u64 = 256 * 1024;

/// Reads all entries of an archive. Entries that a hostile archive would use are refused by name: links,
/// devices, absolute paths and paths with `..`.
pub(super) fn read(reading: &mut Reading<'_>, name: &str, reader: &mut dyn Read) {
    if let Err(error) = entries(reading, name, reader) {
        let (reason, what) = if error.kind() == io::ErrorKind::FileTooLarge {
            let limit = reading.limits.total_bytes;
            (
                GapReason::Partial,
                format!("all inputs together hold more than {limit} bytes"),
            )
        } else {
            (GapReason::Malformed, printable(&error.to_string()))
        };
        reading.say(
            reason,
            format!("{name}: the archive was not read to its end: {what}"),
        );
    }
}

fn entries(reading: &mut Reading<'_>, name: &str, reader: &mut dyn Read) -> io::Result<()> {
    let mut archive = tar::Archive::new(reader);
    let mut long_name: Option<String> = None;
    // Raw: the extension headers come as entries, so that their size is bounded here.
    for (index, entry) in archive.entries()?.raw(true).enumerate() {
        let mut entry = entry?;
        if index >= reading.limits.entries {
            let limit = reading.limits.entries;
            let message = format!("{name}: more than {limit} entries; the rest was not read");
            reading.say(GapReason::Partial, message);
            return Ok(());
        }
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() {
            let text = bounded(&mut entry, LONGEST_NAME)?;
            long_name = Some(text.trim_end_matches('\0').to_owned());
            continue;
        }
        if kind.is_pax_local_extensions() {
            let text = bounded(&mut entry, LONGEST_HEADER)?;
            long_name = pax_path(&text).or(long_name);
            continue;
        }
        if kind.is_pax_global_extensions() || kind.is_gnu_longlink() {
            continue;
        }
        let path = long_name
            .take()
            .unwrap_or_else(|| String::from_utf8_lossy(&entry.path_bytes()).into_owned());
        if kind.is_dir() {
            continue;
        }
        let shown = format!("{name}: {}", printable(&path));
        let size = entry.size();
        if let Err(why) = admissible(kind, &path) {
            reading.say(GapReason::Unsupported, format!("{shown}: refused: {why}"));
            continue;
        }
        // An error of the archive itself shows at the next entry; what this one holds is read as far as
        // it goes.
        if let Err(error) = one(reading, &path, &shown, size, &mut entry) {
            reading.intake.problem(problem(&error));
        }
    }
    Ok(())
}

fn one(
    reading: &mut Reading<'_>,
    path: &str,
    shown: &str,
    size: u64,
    entry: &mut dyn Read,
) -> Result<(), FilesError> {
    let components: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .map(str::to_owned)
        .collect();
    reading.intake.forms(form(&components));
    match role(&components) {
        Role::Objects | Role::Logs => reading.objects(shown, Box::new(entry), size),
        Role::Log(log) => reading.named_log(Whose::Known(log), shown, Box::new(entry)),
        Role::LooseLog => reading.named_log(Whose::ByName(components), shown, Box::new(entry)),
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

fn admissible(kind: tar::EntryType, path: &str) -> Result<(), &'static str> {
    if kind.is_symlink() || kind.is_hard_link() {
        return Err("it is a link");
    }
    if !(kind.is_file() || kind.is_contiguous()) {
        return Err("it is neither a file nor a folder");
    }
    // A backslash is a separator where this runs on Windows; no bundle has one in a name.
    if path.contains('\\') || path.contains('\0') {
        return Err("its name has a character that file names do not have");
    }
    let is_plain = |component: Component<'_>| match component {
        Component::Normal(_) | Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    };
    if path.is_empty() || path.starts_with('/') || !Path::new(path).components().all(is_plain) {
        return Err("its path leads out of the archive");
    }
    Ok(())
}

fn bounded(entry: &mut dyn Read, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    entry
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(io::Error::other("an extended header is too long"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn pax_path(text: &str) -> Option<String> {
    tar::PaxExtensions::new(text.as_bytes())
        .filter_map(Result::ok)
        .filter(|extension| extension.key() == Ok("path"))
        .find_map(|extension| extension.value().ok().map(str::to_owned))
}
