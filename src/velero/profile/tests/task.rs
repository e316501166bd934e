//! The rules of a task.

use super::super::releases::RELEASES;
use super::*;
use crate::velero::task::{Phase, TaskKind};

#[test]
fn only_tasks_whose_work_is_done_in_a_pod_are_mover_kinds() {
    for (kind, uploader, movers) in [
        (
            TaskKind::DataUpload,
            "",
            [false, false, false, true, true, true, true, true],
        ),
        (
            TaskKind::DataDownload,
            "",
            [false, false, false, true, true, true, true, true],
        ),
        (
            TaskKind::PodVolumeBackup,
            "kopia",
            [false, false, false, false, false, true, true, true],
        ),
        (
            TaskKind::PodVolumeRestore,
            "kopia",
            [false, false, false, false, false, true, true, true],
        ),
        (TaskKind::PodVolumeRestore, "restic", [false; 8]),
    ] {
        by_line(|p| p.is_mover_kind(kind, uploader), movers);
        // DataUpload and DataDownload have a pause pod before, and so prepare in every release.
        let prepares = if kind.is_data_movement() {
            [true; 8]
        } else {
            movers
        };
        by_line(|p| p.prepares(kind, uploader), prepares);
    }
    assert_eq!(
        profile("main").worker(TaskKind::PodVolumeRestore, "restic"),
        None
    );
    assert_eq!(
        profile("v1.18.2").worker(TaskKind::PodVolumeRestore, "restic"),
        Some(Worker::InProcess)
    );
}

#[test]
fn other_data_movers_are_passed_over() {
    for (data_mover, want) in [
        ("", [true; 8]),
        ("velero", [true; 8]),
        (
            "velero-fs",
            [false, false, false, false, false, false, false, true],
        ),
        (
            "velero-block",
            [false, false, false, false, false, false, false, true],
        ),
        ("someone-elses", [false; 8]),
        ("Velero", [false; 8]),
    ] {
        by_line(|p| p.handles_data_mover(data_mover), want);
    }
}

#[test]
fn the_prepare_timeout_was_lost_from_1_14_0_to_1_15_0() {
    for (version, want) in [
        ("v1.12.4", true),
        ("v1.13.2", true),
        ("v1.14.0", false),
        ("v1.14.1", false),
        ("v1.15.0", false),
        ("v1.15.1", true),
        ("v1.16.2", true),
        ("v1.17.2", true),
        ("main", true),
    ] {
        let has = profile(version).has_prepare_timeout(TaskKind::DataUpload, "");
        assert_eq!(has, want, "{version}");
    }
    assert!(!profile("v1.16.2").has_prepare_timeout(TaskKind::PodVolumeBackup, "kopia"));
    assert!(profile("v1.17.0").has_prepare_timeout(TaskKind::PodVolumeBackup, "kopia"));
}

#[test]
fn a_cancel_is_overdue_when_the_release_should_have_acted() {
    use CancelOverdue::{AfterSeconds, AfterThreshold, Never};
    let overdue =
        |version: &str, kind, phase| profile(version).cancel_overdue(kind, "kopia", &phase);
    let upload = TaskKind::DataUpload;
    for version in ["v1.12.0", "v1.14.1", "v1.16.2", "v1.17.0", "main"] {
        for phase in [Phase::New, Phase::Prepared, Phase::InProgress] {
            assert_eq!(
                overdue(version, upload, phase),
                AfterSeconds(120),
                "{version}"
            );
        }
        assert_eq!(overdue(version, upload, Phase::Canceled), Never);
        assert_eq!(
            overdue(version, upload, Phase::Other("X".to_owned())),
            Never
        );
    }
    assert_eq!(
        overdue("v1.16.2", upload, Phase::Accepted),
        AfterSeconds(120)
    );
    assert_eq!(
        overdue("v1.17.0", upload, Phase::Accepted),
        AfterSeconds(420)
    );
    assert_eq!(overdue("v1.16.2", upload, Phase::Canceling), AfterThreshold);
    assert_eq!(
        overdue("v1.17.0", upload, Phase::Canceling),
        AfterSeconds(420)
    );
    let backup = TaskKind::PodVolumeBackup;
    assert_eq!(overdue("v1.16.2", backup, Phase::InProgress), Never);
    assert_eq!(
        overdue("v1.17.0", backup, Phase::InProgress),
        AfterSeconds(120)
    );
}

#[test]
fn a_restart_does_to_a_task_what_the_release_does() {
    use OnRestart::{
        CanceledEverywhere, CanceledIfAcceptor, CanceledOnThisNode, Failed, Left, Resumed,
    };
    for (version, accepted, prepared, in_progress) in [
        (
            "v1.12.2",
            CanceledOnThisNode,
            CanceledOnThisNode,
            CanceledOnThisNode,
        ),
        ("v1.12.3", CanceledIfAcceptor, Left, CanceledOnThisNode),
        ("v1.13.0", CanceledIfAcceptor, Left, CanceledOnThisNode),
        ("v1.14.1", CanceledIfAcceptor, Left, CanceledOnThisNode),
        ("v1.15.0", CanceledEverywhere, Left, Resumed),
        ("v1.16.2", CanceledEverywhere, Left, Resumed),
        ("v1.17.0", Left, Left, Resumed),
        ("main", Left, Left, Resumed),
    ] {
        let profile = profile(version);
        let does = |phase| profile.on_restart(TaskKind::DataDownload, "", &phase);
        assert_eq!(does(Phase::Accepted), accepted, "{version}");
        assert_eq!(does(Phase::Prepared), prepared, "{version}");
        assert_eq!(does(Phase::InProgress), in_progress, "{version}");
        assert_eq!(does(Phase::New), Left, "{version}");
        assert_eq!(does(Phase::Canceling), Left, "{version}");
    }
    let backup = |p: &Profile| p.on_restart(TaskKind::PodVolumeBackup, "kopia", &Phase::InProgress);
    by_line(
        backup,
        [
            Failed, Failed, Failed, Failed, Failed, Resumed, Resumed, Resumed,
        ],
    );
    let restic =
        |p: &Profile| p.on_restart(TaskKind::PodVolumeRestore, "restic", &Phase::InProgress);
    by_line(
        restic,
        [Failed, Failed, Failed, Failed, Failed, Failed, Failed, Left],
    );
}

#[test]
fn what_came_with_1_17_is_asked_of_1_17_only() {
    let from_1_17 = [false, false, false, false, false, true, true, true];
    by_line(Profile::labels_accepted_tasks, from_1_17);
    by_line(Profile::can_rewind, from_1_17);
    by_line(
        |p| p.looks_every_minute_at_cancel(TaskKind::DataUpload, ""),
        from_1_17,
    );
    by_line(
        |p| p.looks_every_minute(TaskKind::PodVolumeBackup, "kopia", &Phase::Accepted),
        from_1_17,
    );
    by_line(
        |p| p.looks_every_minute(TaskKind::DataUpload, "", &Phase::Accepted),
        [true; 8],
    );
    by_line(
        |p| p.looks_every_minute(TaskKind::DataUpload, "", &Phase::Prepared),
        [false; 8],
    );
    by_line(
        |p| p.missing_pod_when_prepared == MissingPod::Fails,
        from_1_17,
    );
}

#[test]
fn agents_are_found_by_the_label_of_their_release() {
    let name = ("name", "node-agent");
    let role = ("role", "node-agent");
    by_line(
        |p| p.agent_label.key_value(),
        [name, name, name, name, role, role, role, role],
    );
}

#[test]
fn the_acceptor_the_owner_and_the_start_time_follow_the_release() {
    use PrepareTimeoutBase::{
        AcceptedAtAnnotation, AcceptedTimestamp, Never, StartTimestamp as Start,
    };
    for (version, accepted_by, base, start) in [
        (
            "v1.12.0",
            AcceptedBy::Label,
            Start,
            StartTimestamp::AcceptTime,
        ),
        (
            "v1.13.2",
            AcceptedBy::Label,
            Start,
            StartTimestamp::AcceptTime,
        ),
        (
            "v1.14.0",
            AcceptedBy::Label,
            Never,
            StartTimestamp::InProgressTime,
        ),
        (
            "v1.15.0",
            AcceptedBy::Label,
            Never,
            StartTimestamp::InProgressTime,
        ),
        (
            "v1.15.1",
            AcceptedBy::Annotations,
            AcceptedAtAnnotation,
            StartTimestamp::InProgressTime,
        ),
        (
            "v1.16.0",
            AcceptedBy::Status,
            AcceptedTimestamp,
            StartTimestamp::InProgressTime,
        ),
        (
            "main",
            AcceptedBy::Status,
            AcceptedTimestamp,
            StartTimestamp::InProgressTime,
        ),
    ] {
        let profile = profile(version);
        assert_eq!(profile.accepted_by, accepted_by, "{version}");
        assert_eq!(profile.prepare_timeout_base, base, "{version}");
        assert_eq!(profile.start_timestamp, start, "{version}");
    }
    assert_eq!(profile("v1.16.2").owner, Owner::PodCache);
    assert_eq!(profile("v1.17.0").owner, Owner::StatusNode);
}

#[test]
fn a_bad_pod_ends_an_accepted_task_where_the_release_looks_at_it() {
    use PeekExposed::{Absent, CancelsTask as Cancels};
    by_line(
        |p| p.peek_exposed,
        [
            Absent, Absent, Cancels, Cancels, Cancels, Cancels, Cancels, Cancels,
        ],
    );
    // Unschedulable ended tasks in one release alone.
    for release in &RELEASES {
        let is_unrecoverable = release.unschedulable == Unschedulable::Unrecoverable;
        assert_eq!(
            is_unrecoverable,
            release.since == "v1.14.0",
            "{}",
            release.since
        );
    }
    for release in &RELEASES {
        let fails = release.bad_restore_target == BadRestoreTarget::Fails;
        assert_eq!(fails, release.since == "main", "{}", release.since);
    }
}

#[test]
fn cancel_is_handled_as_each_release_handles_it() {
    use CancelHandling::{AtOnceByAny, AtOnceOwnerHolds, AtOnceOwnerRuns, ForcedAfterDelay};
    for (version, want) in [
        ("v1.12.0", AtOnceOwnerHolds),
        ("v1.12.1", AtOnceOwnerHolds),
        ("v1.12.2", AtOnceByAny),
        ("v1.13.2", AtOnceByAny),
        ("v1.14.0", AtOnceOwnerRuns),
        ("v1.16.2", AtOnceOwnerRuns),
        ("v1.17.0", ForcedAfterDelay),
        ("main", ForcedAfterDelay),
    ] {
        assert_eq!(profile(version).cancel, want, "{version}");
    }
}
