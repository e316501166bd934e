//! Every form of input that is read.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{
    SECRET, data_upload, from_bytes, from_paths, from_text, items_of, name_of, pod, problems, told,
    words,
};
use crate::capture::{Cut, NowFrom, Previous, ResourceKind, SourceType, format};
use crate::collect::files::Limits;
use crate::velero::TaskKind;

fn list(items: &[String]) -> String {
    format!(
        r#"{{"apiVersion":"v1","items":[{}],"kind":"List","metadata":{{"resourceVersion":""}}}}"#,
        items.join(",\n")
    )
}

#[test]
fn a_json_list_of_several_kinds_is_told_apart_by_resource() {
    let text = list(&[
        data_upload("a", 1),
        pod("p"),
        data_upload("b", 2),
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"}}"#.to_owned(),
    ]);
    let capture = from_text(&text).unwrap();
    assert_eq!(
        told(&capture),
        ["datauploads list whole: a b", "pods list whole: p"]
    );
    assert_eq!(capture.texts.len(), 1);
    let last = text.find(r#","metadata":{"name":"x"}}"#).unwrap();
    assert!(capture.texts[0].body.len() < last);
    assert_eq!(problems(&capture), [""; 0]);
    assert_eq!(capture.manifest.source, SourceType::Files);
    assert_eq!(capture.manifest.paths, ["-"]);
    assert_eq!(capture.manifest.now_from, NowFrom::NewestObject);
}

#[test]
fn items_of_a_typed_list_need_no_kind() {
    let capture = from_text(
        r#"{"kind":"DataUploadList","apiVersion":"velero.io/v2alpha1","metadata":{},
            "items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"kind":"DataUpload"}]}"#,
    )
    .unwrap();
    assert_eq!(told(&capture), ["datauploads list whole: a b"]);
}

#[test]
fn an_empty_typed_list_is_an_answer_and_an_empty_mixed_one_is_none() {
    for items in ["[]", "null"] {
        let text = format!(
            r#"{{"kind":"DataUploadList","apiVersion":"velero.io/v2alpha1","items":{items}}}"#
        );
        assert_eq!(
            told(&from_text(&text).unwrap()),
            ["datauploads list whole: "]
        );
    }
    let capture = from_text(&list(&[])).unwrap();
    assert_eq!(told(&capture), [""; 0]);
    assert_eq!(problems(&capture), [""; 0]);
}

#[test]
fn a_list_that_says_it_continues_is_cut() {
    let text = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"abc"},"items":[]}"#;
    assert_eq!(told(&from_text(text).unwrap()), ["pods list cut partial: "]);
    let text = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"continue":""},"items":[]}"#;
    assert_eq!(told(&from_text(text).unwrap()), ["pods list whole: "]);
}

#[test]
fn a_stream_of_json_documents_is_read_to_its_end() {
    let text = format!(
        "{}\n{}{}\n---\n{}\nnull\n",
        data_upload("a", 1),
        pod("p"),
        list(&[data_upload("b", 1)]),
        data_upload("c", 1)
    );
    let capture = from_text(&text).unwrap();
    assert_eq!(
        told(&capture),
        [
            "datauploads objects whole: a c",
            "pods objects whole: p",
            "datauploads list whole: b"
        ]
    );
    assert_eq!(problems(&capture), [""; 0]);
}

#[test]
fn an_array_of_objects_claims_not_to_be_all() {
    let text = format!("[{},{}]", data_upload("a", 1), pod("p"));
    assert_eq!(
        told(&from_text(&text).unwrap()),
        ["datauploads objects whole: a", "pods objects whole: p"]
    );
}

#[test]
fn documents_that_are_no_kubernetes_objects_are_problems_with_a_place() {
    let text = format!("{}\n{{\"a\":1}}\n\"text\"\n", data_upload("a", 1));
    let capture = from_text(&text).unwrap();
    assert_eq!(told(&capture), ["datauploads objects whole: a"]);
    assert_eq!(
        problems(&capture),
        [
            "standard input document 2, line 2, column 1: is not a Kubernetes object: it has no apiVersion and kind",
            "standard input document 3, line 3, column 1: is not a Kubernetes object",
        ]
    );
}

#[test]
fn an_odd_item_makes_its_list_incomplete() {
    let text = list(&[data_upload("a", 1), "7".to_owned(), "null".to_owned()]);
    let capture = from_text(&text).unwrap();
    assert_eq!(told(&capture), ["datauploads list cut malformed: a"]);
    assert_eq!(
        problems(&capture),
        ["standard input, line 1, column 1: item 2 is not an object: 7 (and 1 more)"]
    );
}

const YAML: &str = "\
# from a cluster
apiVersion: velero.io/v2alpha1
kind: DataUpload
metadata:
  name: a
  namespace: velero
  creationTimestamp: \"2026-01-02T03:04:05Z\"
  labels:
    velero.io/backup-name: \"1234\"
spec:
  cancel: true
---
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: p
- apiVersion: velero.io/v2alpha1
  kind: DataUpload
  metadata:
    name: b
kind: List
metadata:
  resourceVersion: \"\"
---
---
apiVersion: v1
kind: Secret
metadata:
  name: hush
...
";

#[test]
fn yaml_documents_are_read_like_json() {
    let capture = from_text(YAML).unwrap();
    assert_eq!(
        told(&capture),
        [
            "datauploads objects whole: a",
            "pods list whole: p",
            "datauploads list whole: b"
        ]
    );
    assert_eq!(problems(&capture), [""; 0]);
    let uploads = items_of(&capture, ResourceKind::Task(TaskKind::DataUpload));
    assert_eq!(
        uploads[0],
        "{\"apiVersion\":\"velero.io/v2alpha1\",\"kind\":\"DataUpload\",\"metadata\":{\"name\":\"a\",\
         \"namespace\":\"velero\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\
         \"labels\":{\"velero.io/backup-name\":\"1234\"}},\"spec\":{\"cancel\":true}}"
    );
    let origins: Vec<&str> = capture
        .texts
        .iter()
        .map(|text| text.origin.as_str())
        .collect();
    assert_eq!(
        origins,
        ["standard input document 1", "standard input document 2"]
    );
}

#[test]
fn a_broken_yaml_document_costs_only_itself() {
    let text = format!(
        "{YAML}---\na: [1\n---\n{}\n---\na: 1\na: 2\n",
        data_upload("z", 1)
    );
    let capture = from_text(&text).unwrap();
    assert_eq!(told(&capture)[0], "datauploads objects whole: a z");
    let problems = problems(&capture);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].starts_with("standard input document 4, line 34, column 4: unclosed"),
        "{problems:?}"
    );
    assert!(
        problems[1]
            .starts_with("standard input document 6, line 39, column 1: duplicate mapping key: a"),
        "{problems:?}"
    );
}

#[test]
fn a_broken_object_of_a_yaml_list_costs_only_itself() {
    let text = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n\
                - apiVersion: v1\n  kind: Pod\n  metadata: {name: b\n\
                - apiVersion: v1\n  kind: Pod\n  metadata: {name: c}\nkind: List\n";
    let capture = from_text(text).unwrap();
    assert_eq!(told(&capture), ["pods list cut malformed: a c"]);
    assert_eq!(problems(&capture).len(), 1);
    assert!(problems(&capture)[0].contains("an object of the list cannot be read"));
}

#[test]
fn secrets_are_not_kept_even_in_memory() {
    let json = list(&[data_upload("a", 1), SECRET.to_owned(), data_upload("b", 1)]);
    let yaml = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Secret\n  data: {key: aHVzaA==}\n\
                - apiVersion: velero.io/v2alpha1\n  kind: DataUpload\n  metadata: {name: a}\nkind: List\n";
    let hidden = format!(
        r#"{{"kind":"DataUploadList","apiVersion":"velero.io/v2alpha1","items":[{{"kind":"Secret","data":"aHVzaA=="}},{}]}}"#,
        data_upload("a", 1)
    );
    let stream = format!("{SECRET}{}", data_upload("a", 1));
    for text in [json.as_str(), yaml, &hidden, &stream] {
        let capture = from_text(text).unwrap();
        assert!(!capture.texts.is_empty());
        for text in &capture.texts {
            assert!(!text.body.contains("aHVzaA"), "{}", text.body);
        }
        let names = items_of(&capture, ResourceKind::Task(TaskKind::DataUpload));
        assert_eq!(name_of(names[0]), "a");
    }
}

#[test]
fn of_two_objects_of_one_name_the_newer_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first.json");
    let second = folder.path().join("second.json");
    let version_of = |first_text: &str, second_text: &str| {
        fs::write(&first, first_text).unwrap();
        fs::write(&second, second_text).unwrap();
        let capture = from_paths(&[&first, &second]).unwrap();
        let kept = items_of(&capture, ResourceKind::Task(TaskKind::DataUpload));
        assert_eq!(kept.len(), 1);
        let value: serde_json::Value = serde_json::from_str(kept[0]).unwrap();
        value["metadata"]["resourceVersion"]
            .as_str()
            .map(str::to_owned)
    };
    let old = data_upload("a", 9);
    let new = data_upload("a", 10);
    let unknown = new.replace("\"10\"", "\"x\"");
    assert_eq!(version_of(&old, &new).as_deref(), Some("10"));
    assert_eq!(
        version_of(&new, &list(std::slice::from_ref(&old))).as_deref(),
        Some("10")
    );
    // Where a version does not tell, a time does, in any order of the inputs.
    let at = |text: &str, time: &str| {
        text.replace(
            "\"phase\"",
            &format!("\"startTimestamp\":\"{time}\",\"phase\""),
        )
    };
    let early = at(&unknown, "2026-01-02T03:00:00Z");
    let late = at(&old, "2026-01-02T03:00:01Z");
    assert_eq!(version_of(&early, &late).as_deref(), Some("9"));
    assert_eq!(version_of(&late, &early).as_deref(), Some("9"));
}

#[test]
fn of_two_objects_that_nothing_tells_apart_in_time_always_the_same_is_kept_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one.json");
    let other = folder.path().join("other.json");
    let prepared = data_upload("a", 9).replace("\"9\"", "\"x\"");
    fs::write(&one, &prepared).unwrap();
    fs::write(&other, prepared.replace("Prepared", "InProgress")).unwrap();
    let mut kept = Vec::new();
    for paths in [[&one, &other], [&other, &one]] {
        let capture = from_paths(&paths.map(PathBuf::as_path)).unwrap();
        let all = items_of(&capture, ResourceKind::Task(TaskKind::DataUpload));
        assert_eq!(all.len(), 1);
        kept.push(all[0].to_owned());
        assert_eq!(
            problems(&capture),
            [
                "DataUpload velero/a is in the input twice and differs, and nothing tells which is newer: one of them is read"
            ]
        );
    }
    assert_eq!(kept[0], kept[1]);
    // The same twice is no problem, however it is written.
    fs::write(&other, prepared.replace(':', " : ")).unwrap();
    let capture = from_paths(&[&one, &other]).unwrap();
    assert_eq!(problems(&capture), Vec::<&str>::new());
    // In one file the later one is the newer.
    let both = format!("{prepared}\n{}", prepared.replace("Prepared", "InProgress"));
    fs::write(&one, both).unwrap();
    let capture = from_paths(&[&one]).unwrap();
    let all = items_of(&capture, ResourceKind::Task(TaskKind::DataUpload));
    assert!(all.len() == 1 && all[0].contains("InProgress"), "{all:?}");
}

fn fill(folder: &Path) {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("objects/du.yaml", YAML);
    write("objects/pods.json", &list(&[pod("q")]));
    write("README.md", "# not read {");
    write("logs/velero/node-agent-x/node-agent.log", "one\n");
    write("logs/velero/node-agent-x/node-agent.previous.log", "zero\n");
    write("broken.yaml", "a: [");
    write(".hidden/x.yaml", "a: [");
}

fn check_filled(capture: &crate::capture::Capture, shown: &str) {
    let mut told = told(capture);
    told.sort();
    assert_eq!(
        told,
        [
            "datauploads list whole: b",
            "datauploads objects whole: a",
            "pods list whole: p",
            "pods list whole: q"
        ]
    );
    let logs: Vec<_> = capture
        .logs
        .iter()
        .map(|log| (log.pod.as_str(), log.previous, log.cut, log.body.as_str()))
        .collect();
    assert_eq!(
        logs,
        [
            ("node-agent-x", Previous::No, Cut::Whole, "one\n"),
            ("node-agent-x", Previous::Yes, Cut::Whole, "zero\n")
        ]
    );
    let problems = problems(capture);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with(shown), "{problems:?}");
}

#[test]
fn a_folder_is_read_with_all_folders_below_it() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let capture = from_paths(&[folder.path()]).unwrap();
    let shown = format!("{}/broken.yaml, line 1", folder.path().display());
    check_filled(&capture, &shown);
}

#[test]
fn an_archive_is_read_like_a_folder_with_or_without_a_leading_folder() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    for (prefix, compressed) in [(".", true), ("bundle", true), ("bundle", false)] {
        let mut builder = tar::Builder::new(Vec::new());
        builder.append_dir_all(prefix, folder.path()).unwrap();
        let bytes = builder.into_inner().unwrap();
        let bytes = if compressed { gzip(&bytes) } else { bytes };
        let capture = from_bytes(&bytes, &Limits::default()).unwrap();
        check_filled(&capture, "standard input: ");
    }
}

#[test]
fn a_long_name_in_an_archive_is_read_whole() {
    let pod = "p".repeat(150);
    let path = format!("bundle/logs/velero/{pod}/c.log");
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(3);
    header.set_mode(0o644);
    builder
        .append_data(&mut header, &path, &b"log"[..])
        .unwrap();
    let capture = from_bytes(&builder.into_inner().unwrap(), &Limits::default()).unwrap();
    assert_eq!(capture.logs[0].pod, pod);

    let mut builder = tar::Builder::new(Vec::new());
    builder
        .append_pax_extensions([("path", path.as_bytes())])
        .unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_path("short").unwrap();
    header.set_size(3);
    header.set_cksum();
    builder.append(&header, &b"log"[..]).unwrap();
    let capture = from_bytes(&builder.into_inner().unwrap(), &Limits::default()).unwrap();
    assert_eq!(capture.logs[0].pod, pod);
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_file_is_read_alone_and_in_a_folder() {
    let text = gzip(data_upload("a", 1).as_bytes());
    let told_alone = told(&from_bytes(&text, &Limits::default()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("du.json.gz"), &text).unwrap();
    assert_eq!(told(&from_paths(&[folder.path()]).unwrap()), told_alone);
    assert_eq!(told_alone, ["datauploads objects whole: a"]);
}

fn our_capture(taken_at: &str, name: &str, version: u64) -> String {
    format!(
        r#"{{"apiVersion":"velero-slots/v1","kind":"Capture","formatVersion":1,
        "manifest":{{"takenAt":"{taken_at}","nowFrom":"server","server":"https://s","namespace":"velero","toolVersion":"0.1.0"}},
        "listings":[{{"resource":"datauploads","group":"velero.io","version":"v2alpha1",
            "scope":{{"type":"namespace","namespace":"velero"}},"items":[{}]}},
          {{"resource":"nodes","group":"","version":"v1","scope":{{"type":"cluster"}},
            "refused":{{"reason":"forbidden","message":"no"}}}}],
        "logs":[{{"namespace":"velero","pod":"p","container":"c","previous":false,"cut":true,"body":"x"}}],
        "problems":[{{"resource":"input","reason":"timeout","message":"slow"}}]}}"#,
        data_upload(name, version)
    )
}

#[test]
fn a_capture_of_ours_is_read_beside_other_inputs_and_gives_the_time() {
    let text = format!(
        "{}\n{}\n{}",
        data_upload("a", 1),
        our_capture("2026-01-02T03:04:05Z", "a", 2),
        our_capture("2026-01-02T03:04:04Z", "b", 3),
    );
    let capture = from_text(&text).unwrap();
    assert_eq!(
        told(&capture),
        [
            "datauploads objects whole: ",
            "datauploads namespace whole: a",
            "nodes cluster refused forbidden: ",
            "datauploads namespace whole: b",
            "nodes cluster refused forbidden: ",
        ]
    );
    let manifest = &capture.manifest;
    assert_eq!(manifest.now_from, NowFrom::Capture);
    assert_eq!(
        manifest.taken_at,
        Some("2026-01-02T03:04:05Z".parse().unwrap())
    );
    assert_eq!(manifest.server.as_deref(), Some("https://s"));
    assert_eq!(manifest.namespace.as_deref(), Some("velero"));
    assert_eq!(capture.logs.len(), 1);
    assert_eq!(problems(&capture), ["slow", "slow"]);
}

#[test]
fn what_is_written_is_read_back_from_a_compressed_file() {
    let capture = from_text(&our_capture("2026-01-02T03:04:05Z", "a", 2)).unwrap();
    let mut written = Vec::new();
    format::write(&capture, &mut written).unwrap();
    let again = from_bytes(&gzip(&written), &Limits::default()).unwrap();
    assert_eq!(told(&again), told(&capture));
    assert_eq!(again.manifest, capture.manifest);
    assert_eq!(again.logs, capture.logs);
    assert_eq!(again.problems, capture.problems);
}

#[test]
fn a_capture_of_a_newer_format_asks_for_the_version_that_wrote_it() {
    let text = our_capture("2026-01-02T03:04:05Z", "a", 2)
        .replace("\"formatVersion\":1", "\"formatVersion\":2")
        .replace("\"toolVersion\":\"0.1.0\"", "\"toolVersion\":\"9.0.0\"");
    let error = words(&from_text(&text).unwrap_err());
    assert!(
        error.contains("standard input: ") && error.contains("9.0.0"),
        "{error}"
    );
}
