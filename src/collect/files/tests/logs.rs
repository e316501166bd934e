//! Logs, dumps and bundles that are broken, endless, or made to harm.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};

use super::forms::gzip;
use super::{data_upload, from_bytes, from_paths, problems, told, words};
use crate::capture::{Cut, LINES_LEFT_OUT, Previous};
use crate::collect::files::{Limits, read};

const AGENT: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"node-agent-x7k2p","namespace":"velero"},
    "spec":{"nodeName":"node-a","containers":[{"name":"node-agent"}]}}"#;

const LINE: &str = "time=\"2026-01-02T03:04:05Z\" level=info msg=\"Reconcile du-1\"\n";

fn small() -> Limits {
    Limits {
        log_bytes: 1 << 20,
        all_log_bytes: 3 << 20,
        total_bytes: 64 << 20,
        ..Limits::default()
    }
}

#[test]
fn of_a_log_of_two_gigabytes_only_the_ends_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node-agent-x7k2p.log");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(b"first line\n").unwrap();
    // A hole: no disk is taken, and a read gives zeros.
    file.seek(SeekFrom::Start(2 << 30)).unwrap();
    file.write_all(b"\nlast line\n").unwrap();
    drop(file);
    fs::write(folder.path().join("pod.json"), AGENT).unwrap();
    let limits = small();
    let pod = folder.path().join("pod.json");
    for paths in [vec![folder.path().to_owned()], vec![pod, path.clone()]] {
        let capture = read(&paths, &mut std::io::empty(), &limits).unwrap();
        let [log] = capture.logs.as_slice() else {
            panic!("{:?}", problems(&capture));
        };
        assert_eq!(
            log.body,
            format!("first line\n{LINES_LEFT_OUT}\nlast line\n")
        );
        assert_eq!(log.cut, Cut::BeginningLeftOut);
        let problems = problems(&capture);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("only its end and its first lines were read"));
    }
}

#[test]
fn logs_are_kept_up_to_a_limit_for_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let line = "x".repeat(99);
    for number in 0..6 {
        let name = format!("logs/velero/pod-{number}/c.log");
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{line}\n").repeat(10_000)).unwrap();
    }
    let capture = read(&[folder.path().to_owned()], &mut std::io::empty(), &small()).unwrap();
    let kept: usize = capture.logs.iter().map(|log| log.body.len()).sum();
    assert!(kept <= (3 << 20) + 1000, "{kept}");
    assert_eq!(capture.logs.len(), 4);
    let problems = problems(&capture);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(
        problems
            .iter()
            .any(|one| one.contains("only its end and its first lines"))
    );
    assert!(problems.iter().any(|one| {
        one.ends_with("pod-5/c.log was not read: the logs before it hold more than 3145728 bytes")
    }));
}

#[test]
fn compressed_files_share_one_limit() {
    let folder = tempfile::tempdir().unwrap();
    let large = data_upload("a", 1).replace("Prepared", &"x".repeat(3 << 20));
    for number in 0..6 {
        let text = large.replace("\"a\"", &format!("\"du-{number}\""));
        fs::write(
            folder.path().join(format!("{number}.json.gz")),
            gzip(text.as_bytes()),
        )
        .unwrap();
    }
    let limits = Limits {
        total_bytes: 10 << 20,
        ..small()
    };
    let capture = read(&[folder.path().to_owned()], &mut std::io::empty(), &limits).unwrap();
    assert_eq!(
        told(&capture),
        ["datauploads objects whole: du-0 du-1 du-2"]
    );
    let problems = problems(&capture);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0]
            .contains("3.json.gz was not read: all inputs together hold more than 10485760 bytes")
    );
    assert!(
        problems[1].contains("2 of 6 files were not read"),
        "{problems:?}"
    );
    // Named one by one, the first that does not fit is an error.
    let paths: Vec<_> = (0..6)
        .map(|number| folder.path().join(format!("{number}.json.gz")))
        .collect();
    let error = words(&read(&paths, &mut std::io::empty(), &limits).unwrap_err());
    assert!(error.contains("3.json.gz was not read"), "{error}");
}

#[test]
fn a_folder_of_thousands_of_broken_files_makes_few_gaps() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..3000 {
        fs::write(folder.path().join(format!("{number}.json")), "{\"a\":").unwrap();
    }
    fs::write(folder.path().join("x.json"), data_upload("a", 1)).unwrap();
    let capture = from_paths(&[folder.path()]).unwrap();
    assert_eq!(told(&capture), ["datauploads objects whole: a"]);
    let problems = problems(&capture);
    assert_eq!(problems.len(), 21);
    assert_eq!(problems[20], "2980 more like these");
}

#[test]
fn a_bundle_of_thousands_of_files_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("kubecapture/core_v1/velero");
    for number in 0..3000 {
        let pod = base.join(format!("pod-{number}/c"));
        fs::create_dir_all(&pod).unwrap();
        fs::write(pod.join("c.log"), LINE).unwrap();
    }
    let capture = from_paths(&[folder.path()]).unwrap();
    assert_eq!(capture.logs.len(), 3000);
    assert_eq!(problems(&capture), [""; 0]);
}

#[test]
fn a_binary_log_is_left_out_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pod.json"), AGENT).unwrap();
    let mut bytes = b"\x7fELF\x02\x01\0\0\n".repeat(100);
    bytes.extend(LINE.as_bytes());
    fs::write(folder.path().join("node-agent-x7k2p.log"), &bytes).unwrap();
    let capture = from_paths(&[folder.path()]).unwrap();
    assert_eq!(capture.logs[0].body, format!("{LINES_LEFT_OUT}\n{LINE}"));
    assert!(problems(&capture)[0].contains("100 lines are left out"));
}

#[test]
fn a_packed_log_is_read_in_a_folder_and_alone() {
    let folder = tempfile::tempdir().unwrap();
    let pod = folder.path().join("pod.json");
    let log = folder.path().join("node-agent-x7k2p.previous.log.gz");
    fs::write(&pod, AGENT).unwrap();
    fs::write(&log, gzip(LINE.as_bytes())).unwrap();
    for paths in [vec![folder.path()], vec![pod.as_path(), log.as_path()]] {
        let capture = from_paths(&paths).unwrap();
        assert_eq!(capture.logs[0].body, LINE, "{:?}", problems(&capture));
        assert_eq!(capture.logs[0].previous, Previous::Yes);
    }
}

#[test]
fn a_log_on_standard_input_is_joined_by_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let pod = folder.path().join("pod.json");
    fs::write(&pod, AGENT).unwrap();
    let line = "time=\"2026-01-02T03:04:05Z\" level=info msg=\"Data upload is prepared and should be \
                processed by node-a (node-a)\"\n";
    let paths = [pod, "-".into()];
    let capture = read(&paths, &mut line.as_bytes(), &small()).unwrap();
    assert_eq!(capture.logs[0].pod, "node-agent-x7k2p");
    let capture = read(&paths, &mut LINE.as_bytes(), &small()).unwrap();
    assert_eq!(
        problems(&capture),
        [
            "standard input belongs to no pod of the input: its name holds no name of a pod of the input, and none of its lines names the node"
        ]
    );
}

#[test]
fn a_dump_that_breaks_off_in_a_log_keeps_what_came_before() {
    let text = format!(
        "{AGENT}\n==== START logs for container c of pod velero/p ====\n{LINE}==== END logs for container c of pod velero/p ====\n\
         ==== START logs for container c of pod velero/q ====\nRequest log error: the server timed out\n\
         ==== END logs for container c of pod velero/q ====\n\
         ==== START logs for container c of pod velero/r ====\n\0\0\n\u{1b}[2Jcut of"
    );
    let capture = from_bytes(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(told(&capture), ["pods objects whole: node-agent-x7k2p"]);
    let logs: Vec<_> = capture
        .logs
        .iter()
        .map(|log| (log.pod.as_str(), log.body.as_str()))
        .collect();
    let cut = format!("{LINES_LEFT_OUT}\n\u{1b}[2Jcut of");
    assert_eq!(logs, [("p", LINE), ("r", cut.as_str())]);
    assert_eq!(
        problems(&capture),
        [
            "standard input: log of velero/q c: kubectl could not read it: the server timed out",
            "standard input: log of velero/r c: it breaks off",
        ]
    );
    assert_eq!(capture.manifest.bundles.len(), 1);
}

#[test]
fn what_a_log_is_called_is_safe_to_print() {
    let text = "==== START logs for container c of pod \u{1b}[2J/\u{202e}p ====\nx";
    let capture = from_bytes(text.as_bytes(), &Limits::default()).unwrap();
    for problem in problems(&capture) {
        assert!(
            problem.chars().all(|c| !c.is_control() && c != '\u{202e}'),
            "{problem:?}"
        );
    }
}

#[test]
fn what_kubectl_said_in_place_of_objects_is_a_gap_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pod.json"), AGENT).unwrap();
    fs::write(
        folder.path().join("none.yaml"),
        "No resources found in velero namespace.\n",
    )
    .unwrap();
    fs::write(
        folder.path().join("nodes.yaml"),
        "Error from server (Forbidden): nodes is forbidden: User \"x\" cannot list resource \"nodes\"\n",
    )
    .unwrap();
    let capture = from_paths(&[folder.path()]).unwrap();
    let [problem] = capture.problems.as_slice() else {
        panic!("{:?}", capture.problems);
    };
    assert_eq!(problem.resource, "nodes");
    assert_eq!(problem.reason, crate::capture::GapReason::Forbidden);
}

#[test]
fn of_the_same_object_written_twice_the_one_in_a_list_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let list = format!(
        r#"{{"kind":"DataUploadList","apiVersion":"velero.io/v2alpha1","items":[{}]}}"#,
        data_upload("a", 7)
    );
    fs::write(folder.path().join("list.json"), list).unwrap();
    fs::write(folder.path().join("single.json"), data_upload("a", 7)).unwrap();
    let capture = from_paths(&[folder.path()]).unwrap();
    assert_eq!(told(&capture)[0], "datauploads list whole: a");
}

#[test]
fn what_is_packed_in_another_form_than_gzip_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pod.json"), AGENT).unwrap();
    for name in [
        "a.log.zip",
        "b.log.xz",
        "c.yaml.zst",
        "node-agent-x.log.bz2",
    ] {
        fs::write(folder.path().join(name), b"PK\x03\x04").unwrap();
    }
    let capture = read(
        &[folder.path().to_owned()],
        &mut std::io::empty(),
        &Limits::default(),
    )
    .unwrap();
    let problems = problems(&capture);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("and 1 more: packed in a form other than gzip"));
}

#[test]
fn a_log_that_oc_asked_for_again_is_read_and_not_replaced_by_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let base = "namespaces/velero/pods/node-agent-x7k2p";
    let logs = folder
        .path()
        .join(format!("{base}/node-agent/node-agent/logs"));
    fs::create_dir_all(logs.join("rotated")).unwrap();
    fs::write(folder.path().join(base).join("pod.json"), AGENT).unwrap();
    fs::write(logs.join("current.insecure.log"), LINE).unwrap();
    fs::write(logs.join("current.log"), "").unwrap();
    fs::write(logs.join("rotated/0.log.20260101-000000"), LINE).unwrap();
    let capture = read(
        &[folder.path().to_owned()],
        &mut std::io::empty(),
        &Limits::default(),
    )
    .unwrap();
    let [log] = capture.logs.as_slice() else {
        panic!("{:?}", problems(&capture));
    };
    assert_eq!(log.body, LINE);
    let problems = problems(&capture);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("that was rotated away"));
}

#[test]
fn a_log_in_utf_16_is_a_gap_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder
        .path()
        .join("logs/velero/node-agent-x7k2p/node-agent.log");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let bytes: Vec<u8> = format!("\u{feff}{LINE}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    fs::write(&path, bytes).unwrap();
    let capture = read(&[folder.path().to_owned()], &mut std::io::empty(), &small()).unwrap();
    let problems = problems(&capture);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].ends_with("node-agent.log was not read: it is UTF-16; save it as UTF-8"),
        "{problems:?}"
    );
}

#[test]
fn of_two_logs_of_a_container_the_one_that_ends_later_is_kept_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let write = |bundle: &str, body: &str| {
        let path = folder
            .path()
            .join(bundle)
            .join("logs/velero/node-agent-x7k2p/node-agent.log");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, body).unwrap();
        folder.path().join(bundle)
    };
    let early = write("early", &LINE.repeat(5));
    let later = LINE.replace("03:04:05", "03:04:06");
    let late = write("late", &later);
    for paths in [[early.clone(), late.clone()], [late, early]] {
        let capture = read(&paths, &mut std::io::empty(), &small()).unwrap();
        assert_eq!(capture.logs.len(), 1);
        assert_eq!(capture.logs[0].body, later);
    }
}
