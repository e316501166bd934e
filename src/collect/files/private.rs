//! Files that only their owner may read.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a file that only its owner may read and write (mode 0600 on Unix; elsewhere the folder's rights
/// hold). A capture has no Secrets but names, labels and addresses that are not for everyone.
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

#[cfg(test)]
mod tests {
    use super::write_private;

    #[test]
    fn nothing_is_overwritten_and_nobody_else_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture.json");
        let file = write_private(&path).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        drop(file);
        assert_eq!(
            write_private(&path).unwrap_err().kind(),
            std::io::ErrorKind::AlreadyExists
        );
    }
}
