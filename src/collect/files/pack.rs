//! Packing what is written.

use std::io::{self, Write};

/// Writes through gzip. The result depends on nothing but what is written.
///
/// # Errors
///
/// Those of `out` and of `write`.
pub fn gzip(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    write(&mut packed)?;
    packed.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::gzip;

    #[test]
    fn what_is_packed_comes_back() {
        let mut packed = Vec::new();
        gzip(&mut packed, |out| out.write_all(b"text")).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "text");
    }
}
