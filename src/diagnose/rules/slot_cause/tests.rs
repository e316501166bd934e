use crate::capture::{Capture, Cut, LogFile, MetricsPage, NowFrom, Previous, SourceType};
use crate::diagnose::{Confidence, Diagnosis, EvidenceKind, Finding, FindingId, Verdict, diagnose};
use crate::replay::{ReplayOptions, replay};
use crate::snapshot::{ReadOptions, read};
use crate::testing::{NS, agent, ago, completed, mover, node, now, prepared};

const STARTED: i64 = 86_400;

fn line(seconds_ago: i64, message: &str, task: &str) -> String {
    format!(
        "time=\"{}\" level=info msg=\"{message}\" controller=dataupload dataupload=velero/{task}\n",
        ago(seconds_ago)
    )
}

fn start() -> String {
    line(
        STARTED,
        "Starting Velero node-agent server v1.17.2 (0123)",
        "",
    )
}

fn enters(seconds_ago: i64, task: &str) -> String {
    line(seconds_ago, "MicroServiceBR is initialized", task)
}

fn metrics(seconds_ago: i64, active: i64, longest: i64, requeued: i64) -> MetricsPage {
    let start: jiff::Timestamp = ago(STARTED).parse().unwrap();
    let start = start.as_second();
    MetricsPage {
        namespace: NS.to_owned(),
        pod: "node-agent-node-a".to_owned(),
        port: 8080,
        taken_at: ago(seconds_ago).parse().unwrap(),
        body: format!(
            "controller_runtime_active_workers{{controller=\"dataupload\"}} {active}\n\
             controller_runtime_reconcile_total{{controller=\"dataupload\",result=\"requeue_after\"}} {requeued}\n\
             process_start_time_seconds {start}\n\
             workqueue_longest_running_processor_seconds{{name=\"dataupload\"}} {longest}\n"
        ),
    }
}

/// A DataUpload that has been Prepared for an hour beside a free slot; another ended two hours ago.
fn found(log: Option<String>, metrics: Vec<MetricsPage>) -> Finding {
    let diagnosis = diagnosed(log, metrics, NowFrom::Server, &[]);
    stuck(&diagnosis).unwrap().clone()
}

fn stuck(diagnosis: &Diagnosis) -> Option<&Finding> {
    let mut findings = diagnosis.findings.iter();
    findings.find(|finding| finding.id == FindingId::PreparedStuck)
}

fn diagnosed(
    log: Option<String>,
    metrics: Vec<MetricsPage>,
    now_from: NowFrom,
    more: &[serde_json::Value],
) -> Diagnosis {
    let objects = [
        node("node-a", &serde_json::json!({})),
        agent("node-a", "v1.17.2", STARTED, &[]),
        prepared("du-1", "node-a", 3600),
        mover("du-1", "node-a", 3610),
        completed("du-old", "node-a", 9000, 7200),
    ];
    let mut capture = Capture::from_objects(objects.into_iter().chain(more.iter().cloned()));
    capture.manifest.source = SourceType::Cluster;
    capture.manifest.taken_at = Some(now());
    capture.manifest.now_from = now_from;
    capture.metrics = metrics;
    capture.logs = log
        .map(|body| LogFile {
            namespace: NS.to_owned(),
            pod: "node-agent-node-a".to_owned(),
            container: "node-agent".to_owned(),
            previous: Previous::No,
            cut: Cut::Whole,
            body,
        })
        .into_iter()
        .collect();
    let snapshot = read(
        &capture,
        &ReadOptions {
            namespace: NS.to_owned(),
            now: None,
        },
    );
    let replay = replay(&snapshot, ReplayOptions::default());
    diagnose(&snapshot, &replay)
}

fn blockers(finding: &Finding) -> Vec<&str> {
    finding
        .blocked_by
        .iter()
        .map(|object| object.name.as_str())
        .collect()
}

#[test]
fn an_entry_of_an_ended_task_is_certain_in_a_whole_log_and_likely_in_a_rotated_one() {
    let rest = enters(9000, "du-old") + &line(10, "Reconcile du-9", "du-9");
    let whole = found(Some(start() + &rest), Vec::new());
    assert_eq!(
        (whole.cause, whole.confidence),
        (Some("ghost-slot"), Confidence::Certain)
    );
    assert_eq!(blockers(&whole), ["du-old"]);
    assert!(
        whole
            .evidence
            .iter()
            .any(|one| one.kind == EvidenceKind::Log)
    );
    // From when on the log speaks is said wherever one is evidence.
    let lines = whole.evidence.iter();
    for line in lines.filter(|one| one.kind == EvidenceKind::Log) {
        assert!(line.source.contains(", from "), "{}", line.source);
        assert!(line.source.ends_with(" on"), "{}", line.source);
    }
    let rotated = found(Some(rest), Vec::new());
    assert_eq!(
        (rotated.cause, rotated.confidence),
        (Some("ghost-slot"), Confidence::Likely)
    );
}

#[test]
fn an_entry_that_was_closed_or_whose_log_ends_too_early_is_no_ghost() {
    let closed = start()
        + &enters(9000, "du-old")
        + &line(7200, "MicroServiceBR is closed", "du-old")
        + &line(10, "some other line", "du-9");
    assert_eq!(found(Some(closed), Vec::new()).cause, Some("undetermined"));
    let early = start() + &enters(9000, "du-old") + &line(7300, "some other line", "du-9");
    assert_eq!(found(Some(early), Vec::new()).cause, Some("undetermined"));
}

#[test]
fn a_loop_that_ended_long_before_the_log_does_is_no_sign_of_a_ghost() {
    let looped = |seconds: i64| {
        line(
            seconds,
            "Data upload is prepared and should be processed by node-a (node-a)",
            "du-1",
        ) + &line(
            seconds,
            "Exposed snapshot is ready and creating data path routine",
            "du-1",
        )
    };
    // Of a rotated log: what it does not show may have been before.
    let alive = looped(60) + &looped(20) + &looped(15);
    let finding = found(Some(alive), Vec::new());
    assert_eq!(
        (finding.cause, finding.confidence),
        (Some("ghost-slot"), Confidence::Certain)
    );
    assert!(finding.blocked_by.is_empty());
    let ended = start() + &looped(3000) + &line(10, "Preparing dataupload", "du-2");
    assert_ne!(found(Some(ended), Vec::new()).cause, Some("ghost-slot"));
}

#[test]
fn metrics_tell_a_busy_worker_a_waiting_task_and_one_that_nobody_knows_of() {
    let busy = found(None, vec![metrics(12, 1, 900, 5), metrics(0, 1, 912, 5)]);
    assert_eq!(
        (busy.cause, busy.confidence),
        (Some("worker-blocked"), Confidence::Certain)
    );
    let idle = found(None, vec![metrics(12, 0, 0, 5), metrics(0, 0, 0, 5)]);
    assert_eq!(
        (idle.cause, idle.confidence),
        (Some("lost-reconcile"), Confidence::Likely)
    );
    assert!(
        idle.evidence
            .iter()
            .any(|one| one.kind == EvidenceKind::Metric)
    );
    let one_page = found(None, vec![metrics(0, 0, 0, 5)]);
    assert_eq!(one_page.cause, Some("undetermined"));
}

#[test]
fn a_worker_that_never_left_a_step_is_blocked_and_names_its_task() {
    let log = start()
        + &line(4000, "Exposing CSI snapshot", "du-2")
        + &line(10, "some other line", "du-9");
    let finding = found(Some(log), Vec::new());
    assert_eq!(finding.cause, Some("worker-blocked"));
    assert_eq!(blockers(&finding), ["du-2"]);
    assert!(
        finding
            .summary
            .contains("waits for the VolumeSnapshot of du-2")
    );
}

#[test]
fn a_watch_that_fails_supports_a_lost_event_and_excludes_no_blocked_worker() {
    let klog = "W0102 11:00:00.000000       1 reflector.go:535] pkg/mod: failed to list *v2alpha1.DataUpload: timeout\n";
    let quiet =
        start() + &line(3500, "Reconcile du-9", "du-9") + &line(10, "some other line", "du-9");
    let looked_at_another = found(Some(quiet), Vec::new());
    assert_eq!(
        (looked_at_another.cause, looked_at_another.confidence),
        (Some("lost-reconcile"), Confidence::Likely)
    );
    let blind = (start()
        + &line(3700, "Reconcile du-9", "du-9")
        + &line(3400, "Exposing PVR", "pvr-1")
        + &line(3399, "PVR is exposed", "pvr-1"))
        .replace(
            "controller=dataupload dataupload=velero/pvr-1",
            "PVR=velero/pvr-1",
        );
    let end = line(10, "some other line", "du-9");
    let without = found(Some(blind.clone() + &end), Vec::new());
    let with = found(Some(blind + klog + &end), Vec::new());
    assert_ne!(without.cause, Some("lost-reconcile"));
    assert_eq!(
        (with.cause, with.confidence),
        (Some("lost-reconcile"), Confidence::Possible)
    );
    assert!(
        with.evidence
            .iter()
            .any(|one| one.value.contains("reflector.go"))
    );
}

#[test]
fn a_worker_that_is_blocked_for_less_than_the_threshold_is_not_the_whole_cause() {
    let log = start()
        + &line(120, "Exposing CSI snapshot", "du-2")
        + &line(10, "some other line", "du-9");
    let finding = found(Some(log), Vec::new());
    assert_eq!(
        (finding.cause, finding.confidence),
        (Some("worker-blocked"), Confidence::Likely)
    );
}

fn tries(seconds: impl IntoIterator<Item = i64>) -> String {
    seconds
        .into_iter()
        .map(|seconds| {
            line(
                seconds,
                "Data upload is prepared and should be processed by node-a (node-a)",
                "du-1",
            ) + &line(
                seconds,
                "Exposed snapshot is ready and creating data path routine",
                "du-1",
            )
        })
        .collect()
}

#[test]
fn a_task_that_the_log_lets_in_after_the_objects_were_read_is_no_finding() {
    let admitted = start()
        + &tries([60, 55, 50, 20, 15])
        + &line(2, "MicroServiceBR is initialized", "du-1")
        + &line(2, "Init cancelable dataUpload", "du-1");
    let finished =
        admitted.clone() + &line(1, "Complete callback on data path pod termination", "du-1");
    for log in [admitted, finished] {
        let diagnosis = diagnosed(Some(log), Vec::new(), NowFrom::Server, &[]);
        assert_eq!(stuck(&diagnosis), None);
        assert_eq!(diagnosis.verdict, Verdict::Unknown);
        let why = diagnosis.inconclusive.join("; ");
        assert!(why.contains("newer than the objects"), "{why}");
    }
}

#[test]
fn a_task_that_was_let_in_and_asked_before_is_not_one_that_nobody_looks_at() {
    // Let in half an hour ago, after the slot became spare, and not heard of since.
    let log = start()
        + &tries([1830, 1825])
        + &line(1820, "MicroServiceBR is initialized", "du-1")
        + &line(1800, "MicroServiceBR is closed", "du-1")
        + &line(10, "Reconcile du-9", "du-9");
    assert_eq!(found(Some(log), Vec::new()).cause, Some("undetermined"));
}

#[test]
fn a_write_to_in_progress_that_fails_is_named_and_is_no_lost_event() {
    let write = |seconds: i64| {
        tries([seconds])
            + &line(seconds, "MicroServiceBR is initialized", "du-1")
            + &line(seconds, "Init cancelable dataUpload du-1", "du-1")
            + &line(
                seconds,
                "Failed to update dataupload du-1 to InProgress, will data path close and retry",
                "du-1",
            )
            + &line(seconds, "MicroServiceBR is closed", "du-1")
    };
    let finding = found(
        Some(start() + &write(20) + &write(15) + &write(10)),
        Vec::new(),
    );
    assert_eq!(finding.cause, Some("undetermined"));
    assert!(
        finding.summary.contains("the write to InProgress fails"),
        "{}",
        finding.summary
    );
    // It was once so, and the task was marked.
    let mended = start()
        + &write(3000)
        + &tries([2995])
        + &line(2995, "Data upload is marked as in progress", "du-1")
        + &line(10, "Reconcile du-9", "du-9");
    let finding = found(Some(mended), Vec::new());
    assert!(!finding.summary.contains("the write to InProgress fails"));
}

#[test]
fn a_log_of_files_that_ends_long_before_now_makes_nothing_certain_and_is_told() {
    let log = start() + &enters(9000, "du-old") + &line(2300, "Reconcile du-9", "du-9");
    let of_files = diagnosed(Some(log.clone()), Vec::new(), NowFrom::Flag, &[]);
    let finding = stuck(&of_files).unwrap();
    assert_eq!(
        (finding.cause, finding.confidence),
        (Some("ghost-slot"), Confidence::Likely)
    );
    assert!(
        finding.summary.contains("as of the end of its log, 38m"),
        "{}",
        finding.summary
    );
    assert!(
        of_files
            .gaps
            .iter()
            .any(|gap| gap.message.contains("38m20s before now")
                || gap.message.contains("38m before now"))
    );
    // Of a cluster it was read to its end: the agent wrote nothing.
    let live = diagnosed(Some(log), Vec::new(), NowFrom::Server, &[]);
    assert_eq!(stuck(&live).unwrap().confidence, Confidence::Certain);
    assert!(
        !live
            .gaps
            .iter()
            .any(|gap| gap.message.contains("before now"))
    );
}

#[test]
fn a_refusal_that_a_whole_log_without_any_entry_contradicts_is_undetermined() {
    let ended = start()
        + &enters(9000, "du-old")
        + &line(
            7200,
            "Complete callback on data path pod termination",
            "du-old",
        )
        + &tries([60, 55, 50, 20, 15]);
    let finding = found(Some(ended), Vec::new());
    assert_eq!(finding.cause, Some("undetermined"));
    assert!(
        finding.summary.contains("shows no entry that holds one"),
        "{}",
        finding.summary
    );
}

#[test]
fn one_try_at_the_very_end_is_not_refused() {
    let one = line(4000, "Reconcile du-9", "du-9") + &tries([4]);
    assert_eq!(found(Some(one), Vec::new()).cause, Some("undetermined"));
    let two = line(4000, "Reconcile du-9", "du-9") + &tries([9, 4]);
    assert_eq!(found(Some(two), Vec::new()).cause, Some("ghost-slot"));
}

#[test]
fn a_mover_pod_whose_entry_the_log_shows_removed_or_never_made_is_no_ghost() {
    let orphan = [mover("du-old", "node-a", 9010)];
    let of = |log: String| {
        let diagnosis = diagnosed(Some(log), Vec::new(), NowFrom::Server, &orphan);
        let finding = stuck(&diagnosis).unwrap();
        (finding.cause, finding.confidence)
    };
    let tail = line(4000, "Exposing CSI snapshot", "du-2") + &line(10, "some other line", "du-9");
    let open = of(start() + &enters(9000, "du-old") + &tail);
    assert_eq!(open, (Some("ghost-slot"), Confidence::Certain));
    let removed = line(
        7200,
        "Complete callback on data path pod termination",
        "du-old",
    );
    let ended = of(start() + &enters(9000, "du-old") + &removed + &tail);
    assert_eq!(ended, (Some("worker-blocked"), Confidence::Certain));
    let never = of(start() + &tail);
    assert_eq!(never, (Some("worker-blocked"), Confidence::Certain));
}

#[test]
fn lines_that_run_into_each_other_leave_nothing_certain() {
    let glued = enters(9000, "du-old").trim_end().to_owned()
        + &line(
            7200,
            "Complete callback on data path pod termination",
            "du-old",
        );
    let log = start() + &glued + &line(10, "Reconcile du-9", "du-9");
    let finding = found(Some(log), Vec::new());
    assert_ne!(finding.confidence, Confidence::Certain);
}

#[test]
fn a_worker_of_which_the_log_shows_no_line_is_at_most_possibly_blocked() {
    let others: String = [3500, 1800, 10]
        .into_iter()
        .map(|seconds| line(seconds, "Reconcile dd-9", "dd-9"))
        .collect::<String>()
        .replace(
            "controller=dataupload dataupload=",
            "controller=datadownload datadownload=",
        );
    let finding = found(Some(start() + &others), Vec::new());
    assert_ne!(finding.cause, Some("lost-reconcile"));
    assert!(
        finding.confidence <= Confidence::Possible,
        "{:?}",
        finding.confidence
    );
}

#[test]
fn a_queue_behind_a_holder_that_was_not_resumed_is_only_possible() {
    let mut holder = crate::testing::in_progress("du-run", "node-a", 7200);
    holder["status"]["progress"] = serde_json::json!({"totalBytes": 100, "bytesDone": 50});
    let more = [holder, mover("du-run", "node-a", 7210)];
    let of = |log: String| {
        let diagnosis = diagnosed(Some(log), Vec::new(), NowFrom::Server, &more);
        let mut findings = diagnosis.findings.iter();
        let queue = findings.find(|finding| finding.id == FindingId::SlotQueue);
        queue.map(|queue| queue.confidence)
    };
    let sound = of(start());
    assert!(sound.is_some_and(|confidence| confidence > Confidence::Possible));
    let failed = line(
        90,
        "Failed to resume data path for du-run, have to cancel it",
        "du-run",
    );
    let failed = of(start() + &failed);
    assert!(failed.is_none_or(|confidence| confidence == Confidence::Possible));
}

#[test]
fn a_waiting_task_is_no_ghost_of_its_own_entry() {
    let log = start()
        + &tries([900, 895, 890])
        + &line(885, "MicroServiceBR is initialized", "du-1")
        + &line(885, "Init cancelable dataUpload", "du-1")
        + &line(10, "Reconcile du-9", "du-9");
    // Objects beside a log in files may be older than the log, whatever `--now` says.
    let of_files = diagnosed(Some(log.clone()), Vec::new(), NowFrom::Flag, &[]);
    assert_eq!(stuck(&of_files), None);
    assert!(
        of_files
            .inconclusive
            .join("; ")
            .contains("it let DataUpload")
    );
    let live = diagnosed(Some(log), Vec::new(), NowFrom::Server, &[]);
    let finding = stuck(&live).unwrap();
    assert_eq!(finding.cause, Some("undetermined"));
    assert_eq!(blockers(finding), Vec::<&str>::new());
}

#[test]
fn an_entry_of_a_task_that_is_newer_than_the_objects_is_no_ghost() {
    let log = start() + &tries([900]) + &enters(600, "du-new") + &tries([60, 55, 50, 20, 15]);
    let mut accepted = crate::testing::task(
        "DataUpload",
        "du-new",
        "Accepted",
        "",
        &serde_json::json!({"acceptedByNode": "node-a", "acceptedTimestamp": ago(1200)}),
    );
    accepted["metadata"]["creationTimestamp"] = serde_json::json!(ago(1300));
    for more in [vec![accepted], Vec::new()] {
        let diagnosis = diagnosed(Some(log.clone()), Vec::new(), NowFrom::Flag, &more);
        assert_eq!(stuck(&diagnosis), None, "{more:?}");
        let why = diagnosis.inconclusive.join("; ");
        assert!(why.contains("it let"), "{why}");
    }
}

/// An agent with three slots, or with a number that was written after it started.
fn three_slots(written_ago: i64) -> [serde_json::Value; 2] {
    [
        agent("node-a", "v1.17.2", STARTED, &["--node-agent-configmap=na"]),
        crate::testing::config_map(
            "na",
            r#"{"loadConcurrency": {"globalConfig": 3}}"#,
            written_ago,
        ),
    ]
}

#[test]
fn a_ghost_that_leaves_slots_free_is_evidence_beside_the_cause() {
    let ghost = start() + &enters(9000, "du-old");
    let blocked = line(4000, "Exposing CSI snapshot", "du-2") + &line(10, "some other line", "x");
    let diagnosis = diagnosed(
        Some(ghost.clone() + &blocked),
        Vec::new(),
        NowFrom::Server,
        &three_slots(STARTED + 100),
    );
    let finding = stuck(&diagnosis).unwrap();
    assert_eq!(finding.cause, Some("worker-blocked"));
    assert_eq!(blockers(finding), ["du-2"]);
    assert!(
        finding
            .evidence
            .iter()
            .any(|one| one.source == "slot of du-old")
    );
    // One that asks and is refused shows that the other slots are taken too.
    let refused = diagnosed(
        Some(ghost + &tries([60, 55, 50, 20, 15])),
        Vec::new(),
        NowFrom::Server,
        &three_slots(STARTED + 100),
    );
    assert_eq!(stuck(&refused).unwrap().cause, Some("ghost-slot"));
}

#[test]
fn one_entry_is_certain_only_under_a_limit_that_is_known_or_beside_a_refusal() {
    let ghost = start() + &enters(9000, "du-old");
    let of = |rest: String| {
        let diagnosis = diagnosed(
            Some(ghost.clone() + &rest),
            Vec::new(),
            NowFrom::Server,
            &three_slots(3600),
        );
        let finding = stuck(&diagnosis).unwrap();
        (finding.cause, finding.confidence)
    };
    assert_eq!(
        of(line(10, "Reconcile dd-9", "dd-9")),
        (Some("ghost-slot"), Confidence::Likely)
    );
    assert_eq!(
        of(tries([60, 55, 50, 20, 15])),
        (Some("ghost-slot"), Confidence::Certain)
    );
}

#[test]
fn a_mover_pod_that_never_ran_is_no_ghost() {
    let mut pending = mover("du-gone", "node-a", 9010);
    assert_eq!(
        stuck(&diagnosed(
            None,
            Vec::new(),
            NowFrom::Server,
            &[pending.clone()]
        ))
        .unwrap()
        .cause,
        Some("ghost-slot")
    );
    pending["status"] = serde_json::json!({"phase": "Pending"});
    assert_eq!(
        stuck(&diagnosed(None, Vec::new(), NowFrom::Server, &[pending]))
            .unwrap()
            .cause,
        Some("undetermined")
    );
}

#[test]
fn mover_pods_for_a_part_of_the_slots_are_likely_and_give_way_to_a_blocked_worker() {
    let mut more = three_slots(STARTED + 100).to_vec();
    more.push(mover("du-old", "node-a", 9010));
    let alone = diagnosed(None, Vec::new(), NowFrom::Server, &more);
    let finding = stuck(&alone).unwrap();
    assert_eq!(
        (finding.cause, finding.confidence),
        (Some("ghost-slot"), Confidence::Likely)
    );
    let log = start()
        + &enters(9000, "du-old")
        + &line(4000, "Exposing CSI snapshot", "du-2")
        + &line(10, "some other line", "x");
    let traced = diagnosed(Some(log), Vec::new(), NowFrom::Server, &more);
    let finding = stuck(&traced).unwrap();
    assert_eq!(finding.cause, Some("worker-blocked"));
    assert_eq!(blockers(finding), ["du-2"]);
}

#[test]
fn pages_that_are_cut_before_the_requeues_make_no_lost_event() {
    let cut = |page: MetricsPage| {
        let end = page
            .body
            .find("controller_runtime_reconcile_total")
            .unwrap();
        let counts =
            "controller_runtime_reconcile_total{controller=\"dataupload\",result=\"error\"} 3\n";
        MetricsPage {
            body: page.body[..end].to_owned() + counts,
            ..page
        }
    };
    let pages = [metrics(12, 0, 0, 5), metrics(0, 0, 0, 7)]
        .map(cut)
        .to_vec();
    let diagnosis = diagnosed(None, pages, NowFrom::Server, &[]);
    assert_eq!(stuck(&diagnosis).unwrap().cause, Some("undetermined"));
    assert!(diagnosis.gaps.iter().any(|gap| gap.resource == "metrics"));
}

#[test]
fn of_a_log_with_many_entries_without_an_end_a_few_are_named_and_all_are_counted() {
    let names: Vec<String> = (0..3000).map(|number| format!("du-old-{number}")).collect();
    let more: Vec<serde_json::Value> = names
        .iter()
        .map(|name| completed(name, "node-a", 9000, 7200))
        .collect();
    let entries: String = names.iter().map(|name| enters(9000, name)).collect();
    let log = start() + &entries + &line(10, "Reconcile du-9", "du-9");
    let diagnosis = diagnosed(Some(log), Vec::new(), NowFrom::Server, &more);
    let finding = stuck(&diagnosis).unwrap();
    assert_eq!(finding.cause, Some("ghost-slot"));
    assert_eq!(finding.blocked_by.len(), super::CULPRITS);
    assert!(
        finding.summary.contains("and 2997 more"),
        "{}",
        finding.summary
    );
    assert!(
        finding
            .evidence
            .iter()
            .any(|one| one.source == "entries without an end in the log" && one.value == "3000")
    );
}
