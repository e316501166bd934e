use std::fmt::Write as _;

use jiff::Timestamp;
use proptest::prelude::*;

use super::{EndFailure, Entered, EntryStage, LogEvidence, LogStart, WorkerStep, read as read_log};
use crate::capture::{Cut, LINES_LEFT_OUT, LogFile, Previous};
use crate::velero::TaskKind;

/// One line: minutes and seconds after 03:00:00, level, message, fields.
type Line = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

#[derive(Clone, Copy)]
enum Format {
    Text,
    Json,
}

const FORMATS: [Format; 2] = [Format::Text, Format::Json];

/// Writes lines as logrus does: keys sorted, values quoted where needed; in JSON `types.NamespacedName` is
/// an object.
fn write(lines: &[Line], format: Format) -> String {
    let mut text = String::new();
    for (time, level, message, fields) in lines {
        let time = format!("2026-01-02T03:{time}Z");
        match format {
            Format::Text => {
                let quoted = serde_json::json!(message);
                write!(text, "time=\"{time}\" level={level} msg={quoted}").unwrap();
                for (key, value) in *fields {
                    write!(text, " {key}={value}").unwrap();
                }
            }
            Format::Json => {
                let mut object = serde_json::json!({"time": time, "level": level, "msg": message});
                for (key, value) in *fields {
                    object[*key] = match value.split_once('/') {
                        Some((namespace, name)) if key.starts_with("data") => {
                            serde_json::json!({"Namespace": namespace, "Name": name})
                        }
                        Some(_) | None => serde_json::json!(value),
                    };
                }
                text.push_str(&object.to_string());
            }
        }
        text.push('\n');
    }
    text
}

fn file(body: String) -> LogFile {
    LogFile {
        namespace: "velero".to_owned(),
        pod: "node-agent-x".to_owned(),
        container: "node-agent".to_owned(),
        previous: Previous::No,
        cut: Cut::Whole,
        body,
    }
}

fn at(time: &str) -> Timestamp {
    format!("2026-01-02T03:{time}Z").parse().unwrap()
}

fn evidence(lines: &[Line], format: Format) -> LogEvidence {
    read_log(&file(write(lines, format)), None).unwrap()
}

const START_1_17: Line = (
    "00:00",
    "info",
    "Starting Velero node-agent server v1.17.2 (0123)",
    &[],
);
const DU: &[(&str, &str)] = &[("controller", "dataupload"), ("dataupload", "velero/du-1")];
const INITIALIZED: Line = (
    "01:00",
    "info",
    "MicroServiceBR is initialized",
    &[
        ("controller", "dataupload"),
        ("dataupload", "velero/du-1"),
        ("taskName", "du-1"),
        ("taskType", "backup"),
        ("thisPod", "du-1"),
    ],
);
const ENDED: &[(&str, &str)] = &[
    ("controller", "dataupload"),
    ("data path pod", "du-1"),
    ("dataupload", "velero/du-1"),
];

#[test]
fn an_entry_begins_with_its_watcher_and_ends_with_its_callback() {
    for format in FORMATS {
        let open = evidence(&[START_1_17, INITIALIZED], format);
        let entry = &open.entries["du-1"];
        assert_eq!(entry.kind, Some(TaskKind::DataUpload));
        assert_eq!(entry.since, Some(at("01:00")));
        assert_eq!(
            (entry.how, entry.stage),
            (Entered::Watcher, EntryStage::Running)
        );
        let ended = evidence(
            &[
                START_1_17,
                INITIALIZED,
                (
                    "05:00",
                    "info",
                    "Calling callback on data path pod termination",
                    ENDED,
                ),
                (
                    "05:01",
                    "info",
                    "Complete callback on data path pod termination",
                    ENDED,
                ),
            ],
            format,
        );
        assert!(ended.entries.is_empty(), "{ended:?}");
        assert_eq!(ended.start, LogStart::Logged);
        assert_eq!(ended.speaks_from, Some(at("00:00")));
        assert_eq!(ended.speaks_to, Some(at("05:01")));
    }
}

#[test]
fn a_callback_line_that_names_only_the_pod_ends_the_entry_too() {
    for format in FORMATS {
        let found = evidence(
            &[
                INITIALIZED,
                (
                    "05:01",
                    "info",
                    "Complete callback on data path pod termination",
                    &[("data path pod", "du-1")],
                ),
            ],
            format,
        );
        assert!(found.entries.is_empty(), "{found:?}");
    }
}

#[test]
fn a_process_start_empties_the_map() {
    let found = evidence(
        &[
            INITIALIZED,
            (
                "02:00",
                "info",
                "Starting Velero node-agent server v1.17.2 (0123)",
                &[],
            ),
            (
                "02:01",
                "info",
                "asyncBR is resumed for PVB pvb-1",
                &[("PVB", "pvb-1")],
            ),
        ],
        Format::Text,
    );
    assert_eq!(found.entries.len(), 1);
    let entry = &found.entries["pvb-1"];
    assert_eq!(
        (entry.kind, entry.how),
        (Some(TaskKind::PodVolumeBackup), Entered::Resumed)
    );
    assert_eq!(found.speaks_from, Some(at("02:00")));
}

#[test]
fn a_hung_log_collection_is_the_stage_of_its_entry() {
    for format in FORMATS {
        let found = evidence(
            &[
                (
                    "05:00",
                    "info",
                    "Finish waiting data path pod, phase Succeeded, message {}",
                    ENDED,
                ),
                ("05:00", "info", "Recording data path pod logs", ENDED),
                (
                    "05:00",
                    "info",
                    "Starting to collect data mover pod log for du-1",
                    DU,
                ),
                ("05:00", "info", "Created log file /tmp/1", DU),
                (
                    "09:00",
                    "info",
                    "Reconcile du-2",
                    &[("dataupload", "velero/du-2")],
                ),
            ],
            format,
        );
        let entry = &found.entries["du-1"];
        assert_eq!(entry.stage, EntryStage::CollectingLog);
        assert_eq!((entry.how, entry.since), (Entered::BeforeTheLog, None));
        assert_eq!(entry.last.text, "Created log file /tmp/1");
        assert_eq!(found.start, LogStart::Missing);
        assert!(!found.speaks_since(at("04:00")));
        assert!(found.speaks_since(at("05:00")));
    }
}

#[test]
fn the_lines_of_a_mover_that_the_agent_copies_are_not_its_own() {
    let found = evidence(
        &[
            INITIALIZED,
            (
                "05:00",
                "info",
                "Starting to collect data mover pod log for du-1",
                DU,
            ),
            ("05:00", "info", "Redirecting to log file /tmp/1", DU),
            (
                "01:02",
                "info",
                "FileSystemBR is initialized",
                &[("jobName", "du-1")],
            ),
            (
                "04:59",
                "info",
                "FileSystemBR is closed",
                &[("user", "du-1")],
            ),
        ],
        Format::Text,
    );
    assert_eq!(found.entries["du-1"].stage, EntryStage::CollectingLog);
    assert_eq!(found.entries["du-1"].how, Entered::Watcher);
}

#[test]
fn in_process_data_paths_of_older_releases_make_entries() {
    let lines: &[Line] = &[
        (
            "00:00",
            "info",
            "Starting Velero node-agent server v1.14.1 (0123)",
            &[],
        ),
        ("01:00", "info", "Data upload is prepared", DU),
        (
            "01:00",
            "info",
            "Exposed snapshot is ready and creating data path routine",
            DU,
        ),
        ("01:01", "info", "Run cancelable dataUpload", DU),
        (
            "01:02",
            "info",
            "FileSystemBR is initialized",
            &[("jobName", "du-1"), ("dataupload", "velero/du-1")],
        ),
        (
            "01:10",
            "info",
            "FileSystemBR is initialized",
            &[("jobName", "pvb-1"), ("podvolumebackup", "velero/pvb-1")],
        ),
        (
            "03:00",
            "info",
            "FileSystemBR is closed",
            &[("user", "pvb-1")],
        ),
    ];
    for format in FORMATS {
        let found = evidence(lines, format);
        assert_eq!(found.entries.keys().collect::<Vec<_>>(), ["du-1"]);
        assert_eq!(found.entries["du-1"].how, Entered::InProcess);
        assert!(found.waits.is_empty());
    }
}

#[test]
fn the_deadlock_of_1_15_0_shows_as_a_data_path_that_is_being_closed() {
    let found = evidence(
        &[
            (
                "00:00",
                "info",
                "Starting Velero node-agent server v1.15.0 (0123)",
                &[],
            ),
            (
                "01:00",
                "info",
                "FileSystemBR is initialized",
                &[("jobName", "pvb-1")],
            ),
            (
                "02:00",
                "info",
                "Closing FileSystemBR",
                &[("user", "pvb-1")],
            ),
        ],
        Format::Text,
    );
    assert_eq!(found.entries["pvb-1"].stage, EntryStage::Closing);
}

#[test]
fn the_loop_of_a_waiting_task_is_counted_until_it_is_admitted() {
    const PREPARED: &str = "Data upload is prepared and should be processed by node-a (node-a)";
    const READY: &str = "Exposed snapshot is ready and creating data path routine";
    let waiting: &[Line] = &[
        START_1_17,
        ("01:00", "info", PREPARED, DU),
        ("01:00", "info", READY, DU),
        ("01:05", "info", PREPARED, DU),
        ("01:05", "info", READY, DU),
        (
            "01:06",
            "info",
            "Data upload is prepared and should be processed by node-b (node-a)",
            &[("dataupload", "velero/du-2")],
        ),
    ];
    for format in FORMATS {
        let found = evidence(waiting, format);
        assert_eq!(found.waits.len(), 1, "{:?}", found.waits);
        let wait = &found.waits["du-1"];
        assert_eq!((wait.tries, wait.at_slot, wait.refused), (2, 2, 0));
        assert_eq!(
            (wait.first, wait.line.at),
            (Some(at("01:00")), Some(at("01:05")))
        );
        assert_eq!(found.workers[&TaskKind::DataUpload].step, None);
        let mut admitted = waiting.to_vec();
        admitted.push(("01:10", "info", "Init cancelable dataUpload", DU));
        assert!(evidence(&admitted, format).waits.is_empty());
    }
}

#[test]
fn releases_before_1_17_say_that_a_task_was_refused() {
    for version in ["v1.12.4", "v1.13.2", "v1.14.1", "v1.15.2", "v1.16.2"] {
        let start = format!(
            "time=\"2026-01-02T03:00:00Z\" level=info msg=\"Starting Velero node-agent server {version} (1)\"\n"
        );
        let lines = write(
            &[
                (
                    "01:00",
                    "info",
                    "Data download is prepared",
                    &[("datadownload", "velero/dd-1")],
                ),
                (
                    "01:00",
                    "info",
                    "Restore PVC is ready and creating data path routine",
                    &[("datadownload", "velero/dd-1")],
                ),
                (
                    "01:00",
                    "info",
                    "Data path instance is concurrent limited requeue later",
                    &[("datadownload", "velero/dd-1")],
                ),
                (
                    "01:02",
                    "info",
                    "PodVolumeBackup starting",
                    &[("podvolumebackup", "velero/pvb-1")],
                ),
            ],
            Format::Text,
        );
        let found = read_log(&file(start + &lines), None).unwrap();
        assert_eq!(found.waits["dd-1"].refused, 1, "{version}");
        assert_eq!(found.waits["dd-1"].kind, Some(TaskKind::DataDownload));
        assert_eq!(found.waits["pvb-1"].at_slot, 1);
        assert_eq!(found.workers[&TaskKind::DataDownload].step, None);
        let step = found.workers[&TaskKind::PodVolumeBackup]
            .step
            .as_ref()
            .unwrap();
        assert_eq!(step.what, WorkerStep::OpensRepository);
    }
}

#[test]
fn a_worker_that_began_to_wait_and_never_went_on_is_named_with_its_task() {
    for format in FORMATS {
        let found = evidence(
            &[
                START_1_17,
                (
                    "01:00",
                    "info",
                    "Reconcile du-2",
                    &[("controller", "dataupload"), ("dataupload", "velero/du-2")],
                ),
                (
                    "01:00",
                    "info",
                    "Data upload is accepted",
                    &[("controller", "dataupload"), ("dataupload", "velero/du-2")],
                ),
                (
                    "01:00",
                    "info",
                    "Exposing CSI snapshot",
                    &[("owner", "du-2")],
                ),
                (
                    "02:00",
                    "info",
                    "update data upload status to Failed",
                    &[("dataupload", "du-9")],
                ),
                (
                    "09:00",
                    "info",
                    "Reconcile dd-1",
                    &[
                        ("controller", "datadownload"),
                        ("datadownload", "velero/dd-1"),
                    ],
                ),
            ],
            format,
        );
        let step = found.workers[&TaskKind::DataUpload].step.as_ref().unwrap();
        assert_eq!(
            (step.what, step.task.as_str(), step.since),
            (WorkerStep::WaitsForSnapshot, "du-2", Some(at("01:00")))
        );
        assert_eq!(found.workers[&TaskKind::DataDownload].step, None);
        assert_eq!(
            found.workers[&TaskKind::DataDownload].last_taken,
            Some(at("09:00"))
        );
    }
}

#[test]
fn a_worker_that_goes_on_is_not_busy() {
    for next in ["Snapshot is exposed", "Reconcile du-3"] {
        let found = evidence(
            &[
                (
                    "01:00",
                    "info",
                    "Exposing CSI snapshot",
                    &[("owner", "du-2")],
                ),
                ("02:00", "info", next, &[("dataupload", "velero/du-2")]),
            ],
            Format::Text,
        );
        assert_eq!(found.workers[&TaskKind::DataUpload].step, None, "{next}");
    }
}

#[test]
fn failed_ends_forced_cancels_and_halts_are_kept_with_their_errors() {
    for format in FORMATS {
        let found = evidence(
            &[
                (
                    "01:00",
                    "error",
                    "Failed to rebind PV to target PVC on completion",
                    &[("datadownload", "dd-1"), ("error", "timeout")],
                ),
                (
                    "01:01",
                    "error",
                    "error updating DataUpload status",
                    &[("dataupload", "du-1"), ("error", "refused")],
                ),
                (
                    "01:02",
                    "error",
                    "error updating data upload into canceling status",
                    &[("dataupload", "du-2")],
                ),
                (
                    "01:03",
                    "warning",
                    "Failed to get PVB on completion",
                    &[("PVB", "pvb-1")],
                ),
                (
                    "01:04",
                    "info",
                    "Data upload du-3 is canceled in Phase Canceling but not handled in reasonable time",
                    DU,
                ),
                (
                    "01:05",
                    "info",
                    "Data download velero/dd-4 is canceled in Phase Canceling but not handled in rasonable time",
                    &[],
                ),
                (
                    "01:06",
                    "warning",
                    "failed to update dataupload, prepare will halt for this dataupload",
                    &[("dataupload", "du-5")],
                ),
                (
                    "01:07",
                    "warning",
                    "Failed to resume data path for du, have to cancel it",
                    &[("dataupload", "du-6")],
                ),
                (
                    "01:08",
                    "warning",
                    "Global number -1 is invalid, use the default value 1",
                    &[],
                ),
            ],
            format,
        );
        let what: Vec<_> = found
            .failed_ends
            .iter()
            .map(|(name, end)| (name.as_str(), end.what, end.note.text.as_str()))
            .collect();
        assert_eq!(
            what,
            [
                (
                    "dd-1",
                    EndFailure::Rebind,
                    "Failed to rebind PV to target PVC on completion: timeout"
                ),
                (
                    "du-1",
                    EndFailure::Write,
                    "error updating DataUpload status: refused"
                ),
                ("pvb-1", EndFailure::Get, "Failed to get PVB on completion"),
            ]
        );
        // The field says which task, where there is one; the message where there is none.
        assert!(found.forced_cancels.contains_key("dd-4"));
        assert!(found.forced_cancels.contains_key("du-1"));
        assert!(found.halted_prepares.contains_key("du-5"));
        assert!(found.failed_resumes.contains_key("du-6"));
        assert_eq!(found.config_warnings.len(), 1);
    }
}

#[test]
fn the_last_diagnosis_of_a_task_is_kept() {
    let found = evidence(
        &[
            (
                "01:00",
                "warning",
                "[Diagnose DU expose]begin diagnose CSI exposer",
                &[("Dataupload", "du-1")],
            ),
            (
                "01:00",
                "warning",
                "[Diagnose DU expose]old",
                &[("Dataupload", "du-1")],
            ),
            (
                "02:00",
                "warning",
                "[Diagnose DU expose]begin diagnose CSI exposer",
                &[("Dataupload", "du-1")],
            ),
            (
                "02:00",
                "warning",
                "[Diagnose DU expose]Pod velero/du-1, phase Pending, node name ",
                &[("Dataupload", "du-1")],
            ),
            (
                "02:00",
                "warning",
                "[Diagnose DU expose]end diagnose CSI exposer",
                &[("Dataupload", "du-1")],
            ),
        ],
        Format::Text,
    );
    let diagnosis = &found.diagnoses["du-1"];
    assert_eq!(diagnosis.at, Some(at("02:00")));
    assert_eq!(
        diagnosis.lines,
        ["Pod velero/du-1, phase Pending, node name"]
    );
}

#[test]
fn complaints_of_reflectors_are_counted_and_other_lines_skipped() {
    let body = "W0102 03:01:00.000000       1 reflector.go:561] pkg/mod/x.go:243: failed to list *v1.Pod: timeout\n\
        goroutine 1 [running]:\n\u{0}\u{1}binary\ntime=\"2026-01-02T03:02:00Z\" level=info msg=x\n";
    let found = read_log(&file(body.to_owned()), None).unwrap();
    assert_eq!(found.watch_errors.as_ref().unwrap().0, 1);
    assert_eq!((found.lines, found.skipped), (1, 3));
}

#[test]
fn the_log_of_an_earlier_process_proves_nothing() {
    let body = write(&[START_1_17, INITIALIZED], Format::Text);
    assert_eq!(read_log(&file(body.clone()), Some(at("30:00"))), None);
    let found = read_log(&file(body), Some(at("00:03"))).unwrap();
    assert_eq!(found.entries.len(), 1);
    assert_eq!(read_log(&file("other program\n".to_owned()), None), None);
}

#[test]
fn lines_of_an_earlier_process_before_those_of_the_present_one_do_not_count() {
    let body = write(
        &[
            INITIALIZED,
            (
                "31:00",
                "info",
                "Reconcile du-2",
                &[("dataupload", "velero/du-2")],
            ),
            // A copied line of a mover that is older than the agent does not begin anything anew.
            (
                "31:01",
                "info",
                "MicroServiceBR is initialized",
                &[("taskName", "du-2")],
            ),
            ("02:00", "info", "some line of a mover", &[]),
            (
                "31:02",
                "info",
                "Reconcile du-2",
                &[("dataupload", "velero/du-2")],
            ),
        ],
        Format::Text,
    );
    let found = read_log(&file(body), Some(at("30:00"))).unwrap();
    assert_eq!(found.entries.keys().collect::<Vec<_>>(), ["du-2"]);
    assert_eq!(found.speaks_from, Some(at("31:00")));
    assert_eq!(found.start, LogStart::Missing);
}

#[test]
fn what_was_open_where_lines_are_left_out_is_not_known_after() {
    let body = format!(
        "{}{LINES_LEFT_OUT}\n{}",
        write(&[START_1_17, INITIALIZED], Format::Text),
        write(
            &[(
                "20:00",
                "info",
                "Reconcile du-2",
                &[("dataupload", "velero/du-2")]
            )],
            Format::Text
        )
    );
    let found = read_log(&file(body), None).unwrap();
    assert!(found.entries.is_empty());
    assert_eq!(found.start, LogStart::BeforeAGap);
    assert_eq!(found.speaks_from, Some(at("20:00")));
    assert!(!found.speaks_since(at("10:00")));
}

#[test]
fn names_without_end_are_bounded_and_said_to_be() {
    let body = (0..25_000).fold(String::new(), |mut body, number| {
        writeln!(
            body,
            "level=info msg=\"MicroServiceBR is initialized\" taskName=t{number}"
        )
        .unwrap();
        body
    });
    let found = read_log(&file(body), None).unwrap();
    assert_eq!(found.entries.len(), 20_000);
    assert!(!found.speaks_since(Timestamp::MAX));
}

#[test]
fn a_log_without_times_is_read_and_speaks_over_no_time() {
    let body = "level=info msg=\"MicroServiceBR is initialized\" taskName=du-1\n";
    let found = read_log(&file(body.to_owned()), Some(at("00:00"))).unwrap();
    assert_eq!(found.entries["du-1"].since, None);
    assert_eq!(found.speaks_from, None);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(body in "(time=\"2026-01-02T03:04:05Z\" |level=info |msg=\"|MicroServiceBR is initialized|\"|\n|taskName=a |\\PC){0,60}") {
        let found = read_log(&file(body.clone()), None);
        prop_assert!(found.is_none_or(|found| found.lines + found.skipped <= body.lines().count()));
    }
}

const SEEDS: [&str; 3] = [
    include_str!("../../../fuzz/corpus/log_line/v1.14-text.log"),
    include_str!("../../../fuzz/corpus/log_line/v1.17-text.log"),
    include_str!("../../../fuzz/corpus/log_line/v1.18-json.log"),
];

#[test]
fn every_seed_of_the_fuzz_corpus_is_read() {
    for seed in SEEDS {
        let found = read_log(&file(seed.to_owned()), None).unwrap();
        assert_eq!(found.start, LogStart::Logged);
        assert!(found.lines > 7 && found.skipped <= 1, "{found:?}");
        assert!(found.entries.is_empty(), "{:?}", found.entries);
        assert_eq!(found.waits.len(), 1, "{:?}", found.waits);
    }
}

#[test]
fn seeded_mutations_of_logs_are_read_or_refused() {
    let pieces = [
        "\n",
        "\"",
        "\\",
        "{",
        "}",
        "=",
        "level=info ",
        "time=\"",
        "\u{0}",
        LINES_LEFT_OUT,
        "[pod/a/b] ",
        "Starting Velero node-agent server",
        "2026-13-99T99:99:99Z",
        "taskName=",
        "\u{1b}[31m",
    ];
    let mut read = 0;
    let all = crate::testing::mutate::mutations(&SEEDS, &pieces, 400);
    for text in &all {
        let lines = text.lines().count();
        for start in [None, Some(at("00:00"))] {
            if let Some(found) = read_log(&file(text.clone()), start) {
                read += 1;
                assert!(found.lines + found.skipped <= lines);
                assert!(found.entries.keys().all(|name| name.len() <= 253));
            }
        }
    }
    assert!(read > all.len() / 4, "{read} of {}", all.len());
}
