//! Archives that are broken, or made to harm.

use super::forms::gzip;
use super::hostile::{error_of, small_limits};
use super::{data_upload, from_bytes, problems, told};
use crate::collect::files::Limits;

fn add(builder: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8]) {
    add_kind(builder, path, bytes, tar::EntryType::Regular, "");
}

/// Writes an entry whose path the tar crate itself would refuse to write.
fn add_kind(
    builder: &mut tar::Builder<Vec<u8>>,
    path: &str,
    bytes: &[u8],
    kind: tar::EntryType,
    link: &str,
) {
    let mut header = tar::Header::new_ustar();
    let old = header.as_old_mut();
    old.name[..path.len()].copy_from_slice(path.as_bytes());
    old.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append(&header, bytes).unwrap();
}

#[test]
fn an_archive_that_breaks_off_keeps_its_first_files() {
    let mut builder = tar::Builder::new(Vec::new());
    add(&mut builder, "a.json", data_upload("a", 1).as_bytes());
    add(&mut builder, "b.json", "x".repeat(5000).as_bytes());
    let bytes = builder.into_inner().unwrap();
    let capture = from_bytes(&bytes[..2000], &Limits::default()).unwrap();
    assert_eq!(told(&capture), ["datauploads objects whole: a"]);
    assert!(!problems(&capture).is_empty());
}

#[test]
fn entries_that_would_leave_an_archive_are_refused_by_name() {
    let mut builder = tar::Builder::new(Vec::new());
    let upload = data_upload("evil", 1);
    let evil = upload.as_bytes();
    add(&mut builder, "../up.json", evil);
    add(&mut builder, "a/../../up.json", evil);
    add(&mut builder, "/abs.json", evil);
    add(&mut builder, "back\\slash.json", evil);
    add(&mut builder, "\u{1b}[2Jesc/../x.json", evil);
    add_kind(
        &mut builder,
        "sym.json",
        b"",
        tar::EntryType::Symlink,
        "/etc/passwd",
    );
    add_kind(
        &mut builder,
        "hard.json",
        b"",
        tar::EntryType::Link,
        "/etc/passwd",
    );
    add_kind(&mut builder, "dev.json", b"", tar::EntryType::Char, "");
    add_kind(&mut builder, "fifo.json", b"", tar::EntryType::Fifo, "");
    add_kind(
        &mut builder,
        "sparse.json",
        b"",
        tar::EntryType::GNUSparse,
        "",
    );
    add(&mut builder, "good.json", data_upload("good", 1).as_bytes());
    let capture = from_bytes(&builder.into_inner().unwrap(), &Limits::default()).unwrap();
    assert_eq!(told(&capture), ["datauploads objects whole: good"]);
    assert_eq!(
        problems(&capture),
        [
            "standard input: ../up.json: refused: its path leads out of the archive",
            "standard input: a/../../up.json: refused: its path leads out of the archive",
            "standard input: /abs.json: refused: its path leads out of the archive",
            "standard input: back\\slash.json: refused: its name has a character that file names do not have",
            "standard input: \\u{1b}[2Jesc/../x.json: refused: its path leads out of the archive",
            "standard input: sym.json: refused: it is a link",
            "standard input: hard.json: refused: it is a link",
            "standard input: dev.json: refused: it is neither a file nor a folder",
            "standard input: fifo.json: refused: it is neither a file nor a folder",
            "standard input: sparse.json: refused: it is neither a file nor a folder",
        ]
    );
}

#[test]
fn an_extended_header_cannot_grow_without_bounds() {
    for kind in [tar::EntryType::XHeader, tar::EntryType::GNULongName] {
        let mut builder = tar::Builder::new(Vec::new());
        add_kind(&mut builder, "x", &vec![b'a'; 1 << 20], kind, "");
        add(&mut builder, "a.json", data_upload("a", 1).as_bytes());
        let error = error_of(&builder.into_inner().unwrap());
        assert!(error.contains("an extended header is too long"), "{error}");
    }
}

#[test]
fn an_archive_that_unpacks_to_too_much_keeps_what_came_before() {
    let mut builder = tar::Builder::new(Vec::new());
    add(&mut builder, "a.json", data_upload("a", 1).as_bytes());
    // Skipped by name, and counted all the same.
    add(&mut builder, "big.bin", &vec![0; 16 << 20]);
    add(&mut builder, "b.json", data_upload("b", 1).as_bytes());
    let packed = gzip(&builder.into_inner().unwrap());
    let capture = from_bytes(&packed, &small_limits()).unwrap();
    assert_eq!(told(&capture), ["datauploads objects whole: a"]);
    assert_eq!(
        problems(&capture),
        [
            "standard input: the archive was not read to its end: all inputs together hold more than 4194304 bytes"
        ]
    );
}

#[test]
fn an_archive_of_too_many_entries_is_read_up_to_the_limit() {
    let mut builder = tar::Builder::new(Vec::new());
    for number in 0..12 {
        let name = format!("{number}.json");
        add(
            &mut builder,
            &name,
            data_upload(&format!("du-{number}"), 1).as_bytes(),
        );
    }
    let capture = from_bytes(&builder.into_inner().unwrap(), &small_limits()).unwrap();
    assert_eq!(capture.texts.len(), 10);
    assert_eq!(
        problems(&capture),
        ["standard input: more than 10 entries; the rest was not read"]
    );
}
