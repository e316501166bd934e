//! Files that only their owner may read, and that are there whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Whether a file of that name may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// It stays, and nothing is written.
    No,
    /// It is replaced once the new one is whole.
    Yes,
}

/// Writes a file that only its owner may read and write (mode 0600 on Unix; elsewhere the folder's rights
/// hold). Until it is whole it has another name, so that what is interrupted never looks like a whole file.
///
/// # Errors
///
/// [`io::ErrorKind::AlreadyExists`] if there is anything of that name, a dangling link included, unless it may
/// be overwritten. Otherwise what the system and `write` say; nothing is left behind then.
pub fn write_whole(
    path: &Path,
    overwrite: Overwrite,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if overwrite == Overwrite::No {
        // Before the work, and once more in the end.
        must_be_absent(path)?;
    }
    let (part, file) = create_part(path)?;
    let written = fill(file, write).and_then(|()| put(&part, path, overwrite));
    if written.is_err() {
        // The first error is the one to tell.
        drop(std::fs::remove_file(&part));
    }
    written
}

fn fill(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()
}

fn must_be_absent(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates a file beside the one that it will become.
fn create_part(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path
        .file_name()
        .ok_or(io::ErrorKind::InvalidInput)?
        .to_string_lossy();
    let mut tries = 0_u32;
    loop {
        let part = path.with_file_name(format!(".{name}.{}-{tries}.part", std::process::id()));
        match write_private(&part) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            Err(error) => return Err(error),
            Ok(file) => return Ok((part, file)),
        }
    }
}

/// Creates a file that only its owner may read and write (mode 0600 on Unix; elsewhere the folder's rights
/// hold), to be written bit by bit.
///
/// # Errors
///
/// [`io::ErrorKind::AlreadyExists`] if there is anything of that name, a dangling link included: nothing is
/// ever overwritten. Otherwise what the system says.
pub fn write_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// Gives the whole file its name. A hard link fails where a rename would replace.
fn put(part: &Path, path: &Path, overwrite: Overwrite) -> io::Result<()> {
    match overwrite {
        Overwrite::Yes => std::fs::rename(part, path),
        Overwrite::No => match std::fs::hard_link(part, path) {
            Ok(()) => std::fs::remove_file(part),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // A file system without links.
            Err(_) => {
                must_be_absent(path)?;
                std::fs::rename(part, path)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn nothing_is_overwritten_unless_asked_and_nobody_else_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.json");
        write_whole(&path, Overwrite::No, |out| out.write_all(b"one")).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let error = write_whole(&path, Overwrite::No, |out| out.write_all(b"two")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        write_whole(&path, Overwrite::Yes, |out| out.write_all(b"two")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["capture.json"]);
    }

    #[test]
    fn a_write_that_fails_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.json");
        let failed = write_whole(&path, Overwrite::No, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn until_it_is_whole_a_file_has_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.json");
        write_whole(&path, Overwrite::No, |out| {
            assert!(!path.exists());
            out.write_all(b"whole")
        })
        .unwrap();
        assert!(path.exists());
    }
}
