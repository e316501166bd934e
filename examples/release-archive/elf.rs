//! What a Linux executable asks of the machine that starts it: libraries, and releases of glibc.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Context as _;
use object_file::Endianness;
use object_file::elf::{DT_NEEDED, FileHeader64};
use object_file::read::elf::{Dyn as _, FileHeader as _};

/// The newest glibc that the program may ask for: of 2012, and in every distribution since 2014.
pub(crate) const GLIBC: Version = Version(2, 17);

/// A release of glibc, by its two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// What the dynamic linker has to find before the program starts.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Libraries, by file name.
    pub(crate) libraries: BTreeSet<String>,
    /// Releases of glibc whose symbols it uses.
    pub(crate) glibc: BTreeSet<Version>,
    /// Versions of symbols that are not a release of glibc.
    pub(crate) other: BTreeSet<String>,
}

impl Needs {
    /// Reads a 64-bit executable.
    ///
    /// # Errors
    ///
    /// If the bytes are no such executable.
    pub(crate) fn of(bytes: &[u8]) -> anyhow::Result<Self> {
        let header =
            FileHeader64::<Endianness>::parse(bytes).context("not an ELF file of 64 bits")?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let mut needs = Self::default();
        if let Some((entries, link)) = sections.dynamic(endian, bytes)? {
            let strings = sections.strings(endian, bytes, link)?;
            for entry in entries {
                if entry.tag(endian) == DT_NEEDED {
                    needs.libraries.insert(text(entry.string(endian, strings)?));
                }
            }
        }
        // The table that the dynamic linker itself checks: a version that is missing there is "version
        // `GLIBC_2.34' not found", whichever symbol wants it.
        if let Some((libraries, link)) = sections.gnu_verneed(endian, bytes)? {
            let strings = sections.strings(endian, bytes, link)?;
            for library in libraries {
                let (_, versions) = library?;
                for version in versions {
                    needs.add(&text(version?.name(endian, strings)?));
                }
            }
        }
        Ok(needs)
    }

    fn add(&mut self, name: &str) {
        let release = name.strip_prefix("GLIBC_").and_then(|numbers| {
            let mut numbers = numbers.split('.').map(str::parse);
            Some(Version(numbers.next()?.ok()?, numbers.next()?.ok()?))
        });
        if let Some(release) = release {
            self.glibc.insert(release);
        } else {
            self.other.insert(name.to_owned());
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
