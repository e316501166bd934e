//! Reads small files of the user, and gives up on one that does not end, such as `/dev/zero`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Bytes of a kubeconfig, a certificate or a token at most. The largest kubeconfigs, of hundreds of clusters with
/// certificates inside, have some megabytes.
pub(super) const MOST_BYTES: u64 = 16 << 20;

/// Reads a file as a whole.
///
/// # Errors
///
/// Those of the system, and [`io::ErrorKind::FileTooLarge`] beyond [`MOST_BYTES`].
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST_BYTES) {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", MOST_BYTES >> 20),
        ));
    }
    Ok(bytes)
}

/// Reads a file as text.
///
/// # Errors
///
/// Those of [`read`], and [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub(super) fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_given_up_with_a_reason() {
        let error = read_to_string(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 16 MiB");
    }
}
