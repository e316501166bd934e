use proptest::prelude::*;

use super::{AgentMetrics, WorkerMetrics, read};
use crate::capture::MetricsPage;
use crate::velero::TaskKind;

fn page(second: i64, body: &str) -> MetricsPage {
    MetricsPage {
        namespace: "velero".to_owned(),
        pod: "node-agent-x".to_owned(),
        port: 8080,
        taken_at: jiff::Timestamp::from_second(1_767_323_045 + second).unwrap(),
        body: body.to_owned(),
    }
}

fn body(requeued: i64, errors: i64, active: i64, longest: &str) -> String {
    format!(
        "# HELP controller_runtime_active_workers Number of currently used workers per controller\n\
         # TYPE controller_runtime_active_workers gauge\n\
         controller_runtime_active_workers{{controller=\"dataupload\"}} {active}\n\
         controller_runtime_reconcile_total{{controller=\"dataupload\",result=\"error\"}} {errors}\n\
         controller_runtime_reconcile_total{{controller=\"dataupload\",result=\"requeue_after\"}} {requeued}\n\
         controller_runtime_reconcile_total_more{{controller=\"dataupload\"}} 7\n\
         process_start_time_seconds 1.7673e+09\n\
         workqueue_longest_running_processor_seconds{{controller=\"dataupload\",name=\"dataupload\"}} {longest}\n"
    )
}

fn of(pages: &[MetricsPage]) -> Option<AgentMetrics> {
    read(&pages.iter().collect::<Vec<_>>())
}

#[test]
fn the_rate_of_requeues_tells_how_many_tasks_wait() {
    let found = of(&[
        page(12, &body(104, 2, 0, "0")),
        page(0, &body(100, 1, 0, "0")),
    ])
    .unwrap();
    assert_eq!(found.span_seconds(), Some(12));
    assert_eq!(found.process_start.unwrap().as_second(), 1_767_300_000);
    assert_eq!(
        found.workers[&TaskKind::DataUpload],
        WorkerMetrics {
            active: Some(0),
            longest_running_seconds: Some(0),
            requeued: Some(4),
            reconciled: Some(5),
        }
    );
    assert_eq!(found.waiting(TaskKind::DataUpload, 5), Some(2));
    assert_eq!(found.waiting(TaskKind::DataUpload, 60), None);
    assert_eq!(found.waiting(TaskKind::DataDownload, 5), None);
}

#[test]
fn one_page_tells_a_busy_worker_and_no_rate() {
    let found = of(&[page(0, &body(100, 1, 1, "612.25"))]).unwrap();
    let worker = found.workers[&TaskKind::DataUpload];
    assert_eq!(
        (
            worker.active,
            worker.longest_running_seconds,
            worker.requeued
        ),
        (Some(1), Some(612), None)
    );
    assert_eq!(found.span_seconds(), None);
}

#[test]
fn pages_of_two_processes_have_no_rate() {
    let other = body(1, 0, 0, "0").replace("1.7673e+09", "1.7674e+09");
    let found = of(&[page(0, &body(100, 1, 0, "0")), page(12, &other)]).unwrap();
    assert_eq!(found.workers[&TaskKind::DataUpload].requeued, None);
}

#[test]
fn the_line_in_which_a_page_was_cut_does_not_count() {
    let whole = body(100, 1, 1, "612.25");
    let cut = &whole[..whole.len() - 3];
    let found = of(&[page(0, cut)]).unwrap();
    assert_eq!(
        found.workers[&TaskKind::DataUpload].longest_running_seconds,
        None
    );
}

#[test]
fn what_is_no_page_says_nothing() {
    for text in [
        "",
        "<html>login</html>\n",
        "process_start_time_seconds NaN\n",
        "controller_runtime_active_workers{controller=\"dataupload\" 1\n",
        "controller_runtime_active_workers{controller=\"velero\"} 1\n",
        "process_start_time_seconds 1e300\n",
        "\u{0}\u{1}\n",
    ] {
        assert_eq!(of(&[page(0, text)]), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_page_is_read_or_refused(text in "(controller_runtime_active_workers|\\{controller=\"|dataupload|\"\\}| 1e9|\n|\\PC){0,40}") {
        let found = of(&[page(0, &text)]);
        prop_assert!(found.is_none_or(|found| found.workers.len() <= 4));
    }
}

const SEEDS: [&str; 2] = [
    include_str!("../../../fuzz/corpus/metrics/v1.14.txt"),
    include_str!("../../../fuzz/corpus/metrics/v1.17.txt"),
];

#[test]
fn seeded_mutations_of_pages_are_read_or_refused() {
    for seed in SEEDS {
        assert!(of(&[page(0, seed)]).is_some(), "{seed}");
    }
    let pieces = [
        "\n", "\"", "\\", "{", "}", ",", "NaN", "-1e308", " ", "\u{0}", "=\"",
    ];
    let all = crate::testing::mutate::mutations(&SEEDS, &pieces, 400);
    let read = all
        .iter()
        .zip(all.iter().skip(1))
        .filter(|(first, second)| {
            let found = of(&[page(0, first), page(12, second)]);
            found.is_some_and(|found| {
                assert!(found.workers.len() <= 4);
                found
                    .workers
                    .values()
                    .all(|worker| worker.requeued.is_none_or(|count| count >= 0))
            })
        })
        .count();
    assert!(read > all.len() / 4, "{read} of {}", all.len());
}

#[test]
fn the_two_registries_of_an_agent_are_read_apart() {
    let mut velero = page(
        6,
        "podVolume_data_upload_success_total{node=\"a\"} 4\npodVolume_data_upload_failure_total{node=\"a\"} 1\n\
         podVolume_pod_volume_backup_dequeue_count{node=\"a\"} 7\nprocess_start_time_seconds 1.7673e+09\n",
    );
    velero.port = 8085;
    let found = of(&[
        page(0, &body(100, 1, 0, "0")),
        velero.clone(),
        page(12, &body(104, 2, 0, "0")),
    ])
    .unwrap();
    assert_eq!(found.workers[&TaskKind::DataUpload].requeued, Some(4));
    assert_eq!(found.ended[&TaskKind::DataUpload], 5);
    assert_eq!(found.ended[&TaskKind::PodVolumeBackup], 7);
    // Alone it gives the start of the process all the same.
    let alone = of(&[velero.clone()]).unwrap();
    assert_eq!(alone.process_start.unwrap().as_second(), 1_767_300_000);
    assert!(alone.workers.is_empty());
    // Of another process it says nothing about this one.
    velero.body = velero.body.replace("1.7673e+09", "1.7674e+09");
    let other = of(&[page(0, &body(100, 1, 0, "0")), velero]).unwrap();
    assert!(other.ended.is_empty());
}

#[test]
fn what_a_cut_page_does_not_show_is_not_known_and_no_zero() {
    let whole = |requeued| {
        body(requeued, 1, 0, "0").replace(
            "controller_runtime_reconcile_total_more{controller=\"dataupload\"} 7\n",
            "go_goroutines 12\n",
        )
    };
    let cut_after = |text: &str, last: &str| {
        let end = text.find(last).unwrap();
        let line_end = text[end..].find('\n').unwrap();
        text[..=end + line_end].to_owned()
    };
    let counts = |first: &str, last: &str| {
        let found = of(&[page(0, first), page(12, last)]).unwrap();
        let worker = found.workers[&TaskKind::DataUpload];
        (worker.active, worker.requeued, worker.reconciled, found.cut)
    };
    let (first, last) = (whole(100), whole(104));
    assert_eq!(counts(&first, &last), (Some(0), Some(4), Some(4), 0));
    // Before the line that counts the requeues, and before the start of the process.
    for at in [
        "result=\"error\"",
        "result=\"requeue_after\"",
        "go_goroutines",
    ] {
        let (short, shorter) = (cut_after(&first, at), cut_after(&last, at));
        assert_eq!(counts(&short, &shorter), (Some(0), None, None, 2), "{at}");
        assert_eq!(counts(&short, &last), (Some(0), None, None, 1), "{at}");
        assert_eq!(counts(&first, &shorter), (Some(0), None, None, 1), "{at}");
    }
    // One whose controller never had to come back counts none.
    let never = |errors| {
        body(0, errors, 0, "0").replace("result=\"requeue_after\"} 0\n", "result=\"success\"} 0\n")
    };
    assert_eq!(counts(&never(1), &never(3)), (Some(0), Some(0), Some(2), 0));
}

#[test]
fn counters_of_a_page_of_velero_that_is_cut_are_not_told() {
    let mut velero = page(6, "podVolume_data_upload_success_total{node=\"a\"} 4\n");
    velero.port = 8085;
    let found = of(&[page(0, &body(100, 1, 0, "0")), velero]).unwrap();
    assert!(found.ended.is_empty());
    assert_eq!(found.cut, 1);
}
