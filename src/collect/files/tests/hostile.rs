//! Inputs that are broken, or made to harm.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use super::forms::gzip;
use super::{SECRET, data_upload, from_bytes, from_paths, from_text, pod, problems, told, words};
use crate::capture::GapReason;
use crate::collect::files::{FilesError, Limits, read};

pub(super) fn error_of(bytes: &[u8]) -> String {
    words(&from_bytes(bytes, &Limits::default()).unwrap_err())
}

#[test]
fn a_json_list_that_breaks_off_keeps_what_came_before() {
    let whole = format!(
        r#"{{"apiVersion":"v1","items":[{},{},{}],"kind":"List"}}"#,
        data_upload("a", 1),
        data_upload("b", 2),
        pod("p")
    );
    let cut = whole.find("\"p\"").unwrap();
    let capture = from_text(&whole[..cut]).unwrap();
    assert_eq!(told(&capture), ["datauploads list cut malformed: a b"]);
    let problems = problems(&capture);
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("standard input, line 1, column ") && problems[0].contains("EOF"),
        "{problems:?}"
    );
}

#[test]
fn a_typed_json_list_that_breaks_off_says_so_itself() {
    let text = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","items":[{},"#,
        pod("p")
    );
    let capture = from_text(&text).unwrap();
    assert_eq!(told(&capture), ["pods list cut malformed: p"]);
}

#[test]
fn a_list_that_breaks_off_before_its_first_object_is_an_error_with_its_place() {
    let text = "{\"kind\":\"PodList\",\n\"apiVersion\":\"v1\",\"items\":[\n{\"a\":";
    assert_eq!(
        error_of(text.as_bytes()),
        "standard input, line 3, column 5: EOF while parsing a value"
    );
}

#[test]
fn every_prefix_of_a_list_is_read_or_refused_and_never_whole() {
    let item =
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a, namespace: 'b'}\n  spec: {x: [1]}\n";
    let yaml = format!(
        "apiVersion: v1\nitems:\n{item}{}kind: List\n",
        item.replace("name: a", "name: b")
    );
    let json = format!(
        r#"{{"items":[{},{}],"kind":"List","apiVersion":"v1"}}"#,
        pod("a"),
        pod("b")
    );
    for text in [yaml.trim_end(), json.as_str()] {
        for end in 0..text.len() {
            let Ok(capture) = from_text(&text[..end]) else {
                continue;
            };
            // `kind: L` to `kind: Lis` is an object of another kind; nothing is read from it.
            for line in told(&capture) {
                assert!(line.contains("cut malformed"), "{line} of {}", &text[..end]);
            }
        }
    }
}

#[test]
fn a_yaml_list_that_breaks_off_leaves_out_its_last_object() {
    let text = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n\
                - apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b-with-half-a-na";
    let capture = from_text(text).unwrap();
    assert_eq!(told(&capture), ["pods list cut malformed: a"]);
    assert_eq!(problems(&capture).len(), 1);
}

#[test]
fn a_compressed_file_that_breaks_off_is_read_as_far_as_it_goes() {
    let items: Vec<String> = (0..2000)
        .map(|number| data_upload(&format!("du-{number}"), number))
        .collect();
    let text = format!(
        r#"{{"apiVersion":"v1","items":[{}],"kind":"List"}}"#,
        items.join(",")
    );
    let packed = gzip(text.as_bytes());
    let capture = from_bytes(&packed[..packed.len() / 2], &Limits::default()).unwrap();
    let told = told(&capture);
    assert!(
        told[0].starts_with("datauploads list cut malformed: du-0 "),
        "{told:?}"
    );
    assert!(problems(&capture)[0].contains("was not read to its end"));
    assert!(error_of(&packed[..12]).starts_with("read standard input: "));
}

#[test]
fn what_is_not_text_is_named() {
    for (bytes, expected) in [
        (&b""[..], "standard input is empty"),
        (b" \n\n", "standard input is empty"),
        (b"# only a comment\n", "standard input is empty"),
        (b"---\n", "standard input is empty"),
        (b"null", "standard input is empty"),
        (
            b"\x7fELF\x02\x01\x01\0\0\0",
            "standard input is not text: byte 7 is NUL, so it is a binary file",
        ),
        (
            b"\xff\xfe{\0}\0",
            "standard input is not text: it is UTF-16; save it as UTF-8",
        ),
        (
            b"abc\xff\xff",
            "standard input is not text: byte 3 is not UTF-8",
        ),
        (
            b"PK\x03\x04....",
            "standard input is not text: it is a zip archive; unpack it first",
        ),
        (
            b"hello world",
            "standard input, line 1, column 1: is not a Kubernetes object",
        ),
    ] {
        assert_eq!(error_of(bytes), expected);
    }
    let twice = gzip(&gzip(b"{}"));
    assert_eq!(
        error_of(&twice),
        "standard input is not text: it is compressed twice"
    );
}

#[test]
fn a_byte_order_mark_is_no_obstacle() {
    let text = format!("\u{feff}{}", data_upload("a", 1));
    assert_eq!(
        told(&from_text(&text).unwrap()),
        ["datauploads objects whole: a"]
    );
}

#[test]
fn a_file_that_is_not_there_is_an_error_that_names_it() {
    let path = PathBuf::from("/nonexistent/\u{1b}[31mred.yaml");
    let error = from_paths(&[&path]).unwrap_err();
    assert!(matches!(error, FilesError::Read { .. }));
    assert_eq!(error.to_string(), "read /nonexistent/\\u{1b}[31mred.yaml");
}

#[test]
fn a_folder_without_anything_to_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("README.md"), "x").unwrap();
    let error = words(&from_paths(&[folder.path()]).unwrap_err());
    assert!(
        error.contains("no file in it has a name that is read"),
        "{error}"
    );
    fs::write(folder.path().join("a.yaml"), "a: [").unwrap();
    let error = words(&from_paths(&[folder.path()]).unwrap_err());
    assert!(error.contains("a.yaml, line 1"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_are_followed_only_within_the_folder() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    fs::write(
        outside.path().join("secret.yaml"),
        data_upload("outside", 1),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("..data")).unwrap();
    fs::write(at("..data/du.json"), data_upload("inside", 1)).unwrap();
    symlink("..data/du.json", at("du.json")).unwrap();
    symlink(outside.path().join("secret.yaml"), at("out.yaml")).unwrap();
    symlink(outside.path(), at("folder")).unwrap();
    symlink(".", at("loop")).unwrap();
    symlink("nowhere.json", at("dangling.json")).unwrap();
    let capture = from_paths(&[folder.path()]).unwrap();
    assert_eq!(told(&capture), ["datauploads objects whole: inside"]);
    let problems = problems(&capture).join("\n");
    assert!(
        problems.contains("out.yaml: the link leads out of the folder"),
        "{problems}"
    );
    assert!(problems.contains("dangling.json"), "{problems}");
}

/// A reader of `count` equal bytes.
fn many(count: u64) -> impl Read {
    io::repeat(b'x').take(count)
}

pub(super) fn small_limits() -> Limits {
    Limits {
        file_bytes: 1 << 20,
        total_bytes: 4 << 20,
        entries: 10,
        ..Limits::default()
    }
}

#[test]
fn a_gzip_bomb_is_stopped_at_the_limit() {
    let mut packed = Vec::new();
    let mut encoder = flate2::read::GzEncoder::new(many(64 << 20), flate2::Compression::fast());
    encoder.read_to_end(&mut packed).unwrap();
    let error = words(&from_bytes(&packed, &small_limits()).unwrap_err());
    assert_eq!(error, "standard input holds more than 1048576 bytes");
}

#[test]
fn a_file_beyond_the_limit_is_an_error_alone_and_a_problem_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("big.json"), vec![b' '; 2 << 20]).unwrap();
    fs::write(folder.path().join("a.json"), data_upload("a", 1)).unwrap();
    let alone = read(
        &[folder.path().join("big.json")],
        &mut io::empty(),
        &small_limits(),
    );
    assert!(matches!(alone.unwrap_err(), FilesError::TooLarge { .. }));
    let capture = read(
        &[folder.path().to_owned()],
        &mut io::empty(),
        &small_limits(),
    )
    .unwrap();
    assert_eq!(told(&capture), ["datauploads objects whole: a"]);
    assert!(problems(&capture)[0].contains("holds more than 1048576 bytes"));
}

#[test]
fn deep_nesting_is_read_over_or_refused() {
    const DEEP: usize = 100_000;
    let open = "[".repeat(DEEP);
    let close = "]".repeat(DEEP);
    let upload = data_upload("a", 1);
    let within = upload.replace("\"status\"", &format!("\"x\":{open}{close},\"status\""));
    assert_eq!(
        told(&from_text(&within).unwrap()),
        ["datauploads objects whole: a"]
    );
    let in_list =
        format!(r#"{{"kind":"List","apiVersion":"v1","items":[{within},{open}{close}]}}"#);
    assert_eq!(
        told(&from_text(&in_list).unwrap()),
        ["datauploads list cut malformed: a"]
    );
    let in_metadata = upload.replace("\"name\"", &format!("\"x\":{open}{close},\"name\""));
    assert_eq!(from_text(&in_metadata).unwrap().listings.len(), 1);
    for broken in [
        open.clone(),
        "{\"a\":".repeat(DEEP),
        "{\"items\":".repeat(DEEP),
        "- ".repeat(DEEP),
        "? ".repeat(DEEP),
        format!("a: {open}"),
        format!("kind: {}", "{a: ".repeat(DEEP)),
    ] {
        from_text(&broken).unwrap_err();
    }
}

#[test]
fn a_single_line_of_fifty_megabytes_is_read() {
    let long = "x".repeat(50 << 20);
    let json = data_upload("a", 1).replace("Prepared", &long);
    let capture = from_text(&json).unwrap();
    assert_eq!(told(&capture).len(), 1);
    assert_eq!(capture.texts[0].body.len(), json.len());
    let error = error_of(long.as_bytes());
    assert!(
        error.starts_with("standard input, line 1, column 1: "),
        "{}",
        &error[..80]
    );
}

#[test]
fn an_alias_bomb_costs_its_document_only() {
    let mut bomb = String::from("a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n");
    for level in 1..20 {
        let list = vec![format!("*a{}", level - 1); 9].join(",");
        writeln!(bomb, "a{level}: &a{level} [{list}]").unwrap();
    }
    let text = format!(
        "{}\n---\n{bomb}---\n{}",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}",
        pod("b")
    );
    let capture = from_text(&text).unwrap();
    assert_eq!(told(&capture), ["pods objects whole: a b"]);
    assert!(problems(&capture)[0].starts_with("standard input document 2, line "));
}

#[test]
fn wrong_types_in_the_outside_are_problems_or_read_over() {
    for text in [
        r#"{"apiVersion":7,"kind":"Pod","metadata":{"name":"a"}}"#,
        r#"{"apiVersion":"v1","kind":["Pod"],"metadata":{"name":"a"}}"#,
        r#"{"apiVersion":null,"kind":null}"#,
        "{}",
        "[]7",
        "1",
    ] {
        let outcome = from_text(text);
        assert!(
            outcome.is_err() || !outcome.unwrap().problems.is_empty(),
            "{text}"
        );
    }
    for text in [
        r#"{"apiVersion":"v1","kind":"Pod","metadata":7,"items":{"a":1}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":7,"namespace":[],"resourceVersion":{}}}"#,
        r#"{"apiVersion":"v1","kind":"PodList","metadata":{"continue":7},"items":[{"kind":"Pod"}]}"#,
    ] {
        let told = told(&from_text(text).unwrap());
        assert_eq!(told.len(), 1, "{text}");
    }
}

#[test]
fn messages_about_hostile_texts_are_safe_to_print() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a\u{1b}[2J.json"), "{\"\u{9b}31m\": }").unwrap();
    fs::write(
        folder.path().join("b.yaml"),
        "\"k\\e[31m\": 1\n\"k\\e[31m\": 2\n",
    )
    .unwrap();
    fs::write(
        folder.path().join("c.json"),
        "[\"\u{202e}\\u001b\u{9b}\", {}]",
    )
    .unwrap();
    fs::write(folder.path().join("d.json"), SECRET).unwrap();
    let capture = from_paths(&[folder.path()]).unwrap();
    let problems = problems(&capture);
    assert_eq!(problems.len(), 3, "{problems:?}");
    for problem in problems {
        let is_safe = |c: char| !c.is_control() && c != '\u{202e}';
        assert!(problem.chars().all(is_safe), "{problem:?}");
    }
}

#[test]
fn every_truncation_and_every_flipped_byte_of_a_capture_is_read_or_refused() {
    let text = format!(
        r#"{{"apiVersion":"velero-slots/v1","kind":"Capture","formatVersion":1,"manifest":{{"takenAt":"2026-01-02T03:04:05Z"}},"listings":[{{"resource":"datauploads","group":"velero.io","scope":{{"type":"selected","labelSelector":"a"}},"items":[{}],"cut":{{"reason":"x","message":"y"}}}}]}}"#,
        data_upload("a", 1)
    );
    let mut read_whole = 0;
    for at in 0..text.len() {
        from_text(&text[..at]).unwrap_err();
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 0x15;
        read_whole += usize::from(from_bytes(&bytes, &Limits::default()).is_ok());
    }
    // A changed letter in a name or a message leaves a capture; a changed brace does not.
    assert!(read_whole > 10 && read_whole < text.len());
}

#[test]
fn a_saved_error_of_the_api_server_is_a_gap_with_its_reason() {
    let status = |reason: &str, code: u16, details: &str| {
        format!(
            r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"datauploads is refused","reason":"{reason}","code":{code},"details":{details}}}"#
        )
    };
    let by_resource = r#"{"group":"velero.io","kind":"datauploads"}"#;
    for (reason, code, details, resource, gap) in [
        ("Forbidden", 403, "{}", "input", GapReason::Forbidden),
        ("", 403, "null", "input", GapReason::Forbidden),
        (
            "Forbidden",
            403,
            by_resource,
            "datauploads",
            GapReason::Forbidden,
        ),
        (
            "NotFound",
            404,
            by_resource,
            "datauploads",
            GapReason::NotFound,
        ),
        ("", 404, "7", "input", GapReason::NotFound),
        ("InternalError", 500, "{}", "input", GapReason::Partial),
    ] {
        let text = format!("{}\n{}", data_upload("a", 1), status(reason, code, details));
        let capture = from_text(&text).unwrap();
        let [problem] = capture.problems.as_slice() else {
            panic!("{:?}", capture.problems);
        };
        assert_eq!((problem.resource.as_str(), problem.reason), (resource, gap));
        assert!(
            problem
                .message
                .starts_with("standard input document 2: an error of the API server (")
                && problem
                    .message
                    .ends_with("was saved here: datauploads is refused"),
            "{}",
            problem.message
        );
    }
    let yaml = "apiVersion: v1\nkind: Status\nstatus: Failure\nreason: Forbidden\nmessage: no\n";
    let capture = from_text(yaml).unwrap();
    assert_eq!(capture.problems[0].reason, GapReason::Forbidden);
    let success = r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#;
    assert_eq!(problems(&from_text(success).unwrap()), [""; 0]);
}

#[test]
fn a_list_whose_items_are_no_list_is_not_an_empty_one() {
    for items in [r#","items":"x""#, r#","items":{}"#, r#","items":7"#, ""] {
        let mixed = format!(r#"{{"kind":"List","apiVersion":"v1"{items}}}"#);
        let alone = from_text(&mixed).unwrap_err();
        assert!(words(&alone).contains("items"), "{}", words(&alone));
        let capture = from_text(&format!("{}\n{mixed}", data_upload("a", 1))).unwrap();
        assert_eq!(problems(&capture).len(), 1, "{mixed}");
        assert_eq!(capture.problems[0].reason, GapReason::Malformed);
    }
    let typed = r#"{"kind":"DataUploadList","apiVersion":"velero.io/v2alpha1","items":"x"}"#;
    let capture = from_text(typed).unwrap();
    assert_eq!(told(&capture), ["datauploads list cut malformed: "]);
}

#[cfg(unix)]
#[test]
fn a_pipe_socket_or_device_that_is_named_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [socket.as_path(), std::path::Path::new("/dev/zero")] {
        let error = from_paths(&[path]).unwrap_err();
        assert!(
            words(&error).contains("neither a file nor a folder"),
            "{}",
            words(&error)
        );
    }
}
