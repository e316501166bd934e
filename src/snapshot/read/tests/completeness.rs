//! What is known to be all, what is not, and which gaps follow.

use super::objects::*;
use super::*;
use crate::capture::{Cut, Listing, Manifest, Outcome, Problem, Scope};

/// A capture of a cluster: each listing has the objects of its resource.
fn cluster(listings: Vec<(ResourceKind, Scope, Result<Vec<Value>, GapReason>)>) -> Capture {
    let objects: Vec<Value> = listings
        .iter()
        .flat_map(|(_, _, objects)| objects.iter().flatten().cloned())
        .collect();
    let mut capture = Capture::from_objects(objects);
    let mut items: Vec<_> = capture
        .listings
        .drain(..)
        .flat_map(|listing| listing.outcome.items().to_vec())
        .collect();
    items.sort_by_key(|item| item.span.start);
    let mut items = items.into_iter();
    capture.listings = listings
        .into_iter()
        .map(|(resource, scope, objects)| Listing {
            resource,
            scope,
            outcome: match objects {
                Ok(objects) => Outcome::Listed(items.by_ref().take(objects.len()).collect()),
                Err(reason) => Outcome::Refused {
                    reason,
                    message: format!("{resource} is refused"),
                },
            },
        })
        .collect();
    capture.manifest = Manifest {
        source: SourceType::Cluster,
        taken_at: Some(time("2026-01-01T12:00:00Z")),
        now_from: NowFrom::Server,
        ..capture.manifest
    };
    capture
}

fn velero() -> Scope {
    Scope::Namespace("velero".to_owned())
}

fn selected() -> Scope {
    Scope::Selected {
        label_selector: "velero.io/restore-name".to_owned(),
    }
}

fn pods_and_targets(targets: Result<Vec<Value>, GapReason>) -> Snapshot {
    let capture = cluster(vec![
        (ResourceKind::Pod, velero(), Ok(vec![agent_pod()])),
        (ResourceKind::Pod, selected(), targets),
    ]);
    read(&capture, &options())
}

#[test]
fn a_selected_list_proves_nothing_about_other_pods() {
    let snapshot = pods_and_targets(Ok(vec![]));
    assert_eq!(snapshot.pod("velero", "x"), Observed::Absent);
    assert_eq!(
        snapshot.pod("app", "x"),
        Observed::Unknown(GapReason::Partial)
    );
    assert_eq!(
        snapshot.restored_pod("app", "x"),
        Observed::Unknown(GapReason::Partial)
    );
    assert_eq!(
        snapshot.restored_claim("app", "x"),
        Observed::Unknown(GapReason::NotInInput)
    );
    assert_eq!(gaps(&snapshot, "pods"), "");
}

fn app() -> Scope {
    Scope::Namespace("app".to_owned())
}

/// What is known of the claim that a DataDownload writes to, after these lists of claims.
fn target_claim(
    lists: impl IntoIterator<Item = (Scope, Result<Vec<Value>, GapReason>)>,
) -> Snapshot {
    let downloads = ResourceKind::Task(TaskKind::DataDownload);
    let lists = lists
        .into_iter()
        .map(|(scope, claims)| (ResourceKind::PersistentVolumeClaim, scope, claims));
    let capture = cluster(
        [(downloads, velero(), Ok(vec![data_download_v1_15_1()]))]
            .into_iter()
            .chain(lists)
            .collect(),
    );
    read(&capture, &options())
}

#[test]
fn a_target_without_its_label_is_missing_only_where_its_namespace_was_listed() {
    let snapshot = target_claim([(selected(), Ok(vec![])), (app(), Ok(vec![]))]);
    assert_eq!(snapshot.restored_claim("app", "restored"), Observed::Absent);
    assert_eq!(gaps(&snapshot, "persistentvolumeclaims"), "");

    let mut there = claim();
    there["metadata"]["name"] = json!("restored");
    let snapshot = target_claim([(selected(), Ok(vec![])), (app(), Ok(vec![there]))]);
    assert!(snapshot.restored_claim("app", "restored").seen().is_some());

    let snapshot = target_claim([(selected(), Ok(vec![]))]);
    assert_eq!(
        snapshot.restored_claim("app", "restored"),
        Observed::Unknown(GapReason::Partial)
    );
    assert_eq!(
        gaps(&snapshot, "persistentvolumeclaims"),
        "partial app/restored without the label velero.io/restore-name of its restore, and the namespace was not listed | \
         whether the claims that DataDownloads write to exist is not known\n"
    );
}

#[test]
fn a_refused_list_by_label_is_made_good_by_the_namespaces_of_the_targets() {
    let refused = || (selected(), Err(GapReason::Forbidden));
    let snapshot = target_claim([refused(), (app(), Ok(vec![]))]);
    assert_eq!(snapshot.restored_claim("app", "restored"), Observed::Absent);
    assert_eq!(gaps(&snapshot, "persistentvolumeclaims"), "");

    let snapshot = target_claim([refused(), (app(), Err(GapReason::Forbidden))]);
    assert_eq!(
        snapshot.restored_claim("app", "restored"),
        Observed::Unknown(GapReason::Forbidden)
    );
    assert_eq!(
        gaps(&snapshot, "persistentvolumeclaims"),
        "forbidden persistentvolumeclaims is refused | \
         whether the claims that DataDownloads write to exist is not known\n"
    );
}

#[test]
fn refused_snapshots_of_all_namespaces_are_made_good_by_those_that_uploads_wait_for() {
    let mut upload = data_upload_v1_17();
    upload["status"]["phase"] = json!("Accepted");
    let of = |in_app| {
        let snapshots = ResourceKind::VolumeSnapshot;
        let capture = cluster(vec![
            (
                ResourceKind::Task(TaskKind::DataUpload),
                velero(),
                Ok(vec![upload.clone()]),
            ),
            (snapshots, Scope::Cluster, Err(GapReason::Forbidden)),
            (snapshots, velero(), Ok(vec![])),
            (snapshots, app(), in_app),
        ]);
        gaps(&read(&capture, &options()), "volumesnapshots")
    };
    assert_eq!(of(Ok(vec![])), "");
    assert_eq!(
        of(Err(GapReason::Forbidden)),
        "forbidden volumesnapshots is refused | whether snapshots are ready is not known\n"
    );
}

#[test]
fn a_restored_pod_that_is_there_is_seen_and_a_broken_one_proves_nothing() {
    let mut target = mover_pod();
    target["metadata"]["namespace"] = json!("app");
    let snapshot = pods_and_targets(Ok(vec![target.clone()]));
    assert!(snapshot.restored_pod("app", "du-17").seen().is_some());
    target["spec"] = json!(5);
    let snapshot = pods_and_targets(Ok(vec![target]));
    assert_eq!(
        snapshot.restored_pod("app", "du-17"),
        Observed::Unknown(GapReason::Partial)
    );
}

#[test]
fn of_targets_asked_in_portions_one_refusal_spoils_the_proof() {
    for portions in [
        [Ok(vec![]), Err(GapReason::Timeout)],
        [Err(GapReason::Timeout), Ok(vec![])],
    ] {
        let listings = portions
            .into_iter()
            .map(|portion| (ResourceKind::Pod, selected(), portion));
        let snapshot = read(&cluster(listings.collect()), &options());
        assert_eq!(
            snapshot.restored_pod("app", "x"),
            Observed::Unknown(GapReason::Timeout)
        );
    }
}

#[test]
fn a_refused_selected_list_is_a_gap_about_restore_targets() {
    let snapshot = pods_and_targets(Err(GapReason::Forbidden));
    assert_eq!(snapshot.pod("velero", "x"), Observed::Absent);
    assert_eq!(
        snapshot.pod("app", "x"),
        Observed::Unknown(GapReason::Forbidden)
    );
    assert_eq!(
        snapshot.restored_pod("app", "x"),
        Observed::Unknown(GapReason::Forbidden)
    );
    assert_eq!(
        gaps(&snapshot, "pods"),
        "forbidden pods is refused | whether the pods that PodVolumeRestores restore into exist is not known\n"
    );
}

#[test]
fn a_refused_resource_is_unknown_and_one_gap() {
    let snapshots = ResourceKind::VolumeSnapshot;
    let capture = cluster(vec![
        (
            ResourceKind::Node,
            Scope::Cluster,
            Err(GapReason::Forbidden),
        ),
        (snapshots, Scope::Cluster, Err(GapReason::NotFound)),
        (snapshots, velero(), Err(GapReason::NotFound)),
    ]);
    let snapshot = read(&capture, &options());
    assert_eq!(
        snapshot.node("node-a"),
        Observed::Unknown(GapReason::Forbidden)
    );
    assert_eq!(
        snapshot.volume_snapshot("app", "x"),
        Observed::Unknown(GapReason::NotFound)
    );
    assert_eq!(gaps(&snapshot, "nodes").lines().count(), 1);
    assert_eq!(gaps(&snapshot, "volumesnapshots").lines().count(), 1);
}

#[test]
fn what_another_listing_makes_good_is_no_gap() {
    let capture = cluster(vec![
        (ResourceKind::Pod, velero(), Err(GapReason::Timeout)),
        (ResourceKind::Pod, selected(), Err(GapReason::Forbidden)),
        (ResourceKind::Pod, Scope::Cluster, Ok(vec![agent_pod()])),
    ]);
    let snapshot = read(&capture, &options());
    assert_eq!(snapshot.pod("velero", "x"), Observed::Absent);
    assert_eq!(snapshot.pod("app", "x"), Observed::Absent);
    assert_eq!(snapshot.restored_pod("app", "x"), Observed::Absent);
    assert_eq!(gaps(&snapshot, "pods"), "");
}

#[test]
fn a_list_that_was_cut_is_partial() {
    let mut capture = cluster(vec![(
        ResourceKind::Task(TaskKind::DataUpload),
        velero(),
        Ok(vec![data_upload_v1_17()]),
    )]);
    let items = capture.listings[0].outcome.items().to_vec();
    capture.listings[0].outcome = Outcome::Cut {
        items,
        reason: GapReason::Timeout,
        message: "page 2 took too long".to_owned(),
    };
    let snapshot = read(&capture, &options());
    assert_eq!(snapshot.tasks.len(), 1);
    assert_eq!(
        snapshot.coverage_of(ResourceKind::Task(TaskKind::DataUpload), "velero"),
        Coverage::Partial
    );
    assert_eq!(
        gaps(&snapshot, "datauploads"),
        "timeout page 2 took too long | only a part was read: DataUploads are missing from the answer\n"
    );
}

#[test]
fn a_list_in_a_file_is_all_of_its_namespaces_and_single_objects_are_not() {
    let mut capture = Capture::from_objects([claim(), backup()]);
    let pvcs = ResourceKind::PersistentVolumeClaim;
    let snapshot = read(&capture, &options());
    assert_eq!(snapshot.claim("app", "x"), Observed::Absent);
    assert_eq!(
        snapshot.claim("other", "x"),
        Observed::Unknown(GapReason::NotInInput)
    );
    let gone = ParentRef {
        kind: ParentKind::Backup,
        name: "gone".to_owned(),
    };
    assert_eq!(snapshot.parent(&gone), Observed::Absent);
    for listing in &mut capture.listings {
        listing.scope = Scope::FileObjects;
    }
    let snapshot = read(&capture, &options());
    assert_eq!(snapshot.coverage_of(pvcs, "app"), Coverage::Present);
    assert_eq!(
        snapshot.parent(&gone),
        Observed::Unknown(GapReason::Partial)
    );
}

#[test]
fn an_empty_list_in_a_file_is_a_list() {
    let mut capture = Capture::from_objects([node()]);
    for kind in TaskKind::ALL {
        capture.listings.push(Listing {
            resource: ResourceKind::Task(kind),
            scope: Scope::FileList,
            outcome: Outcome::Listed(Vec::new()),
        });
    }
    let snapshot = read(&capture, &options());
    for kind in TaskKind::ALL {
        assert_eq!(
            snapshot.coverage_of(ResourceKind::Task(kind), "velero"),
            Coverage::Listed
        );
        assert_eq!(gaps(&snapshot, kind.plural()), "");
    }
}

#[test]
fn files_without_some_resources_make_a_short_list_of_gaps() {
    let snapshot = snapshot_of([data_upload_v1_17(), agent_pod(), config_map("na-config")]);
    let resources: Vec<&str> = snapshot
        .gaps
        .iter()
        .map(|gap| gap.resource.as_str())
        .collect();
    assert_eq!(
        resources,
        [
            "backups",
            "datadownloads",
            "deployments",
            "nodes",
            "podvolumebackups",
            "podvolumerestores"
        ]
    );
    assert!(
        snapshot
            .gaps
            .iter()
            .all(|gap| gap.reason == GapReason::NotInInput)
    );
    assert_eq!(
        gaps(&snapshot, "datadownloads"),
        "not-in-input the input holds no DataDownload of namespace velero \
         | DataDownloads are missing from the answer; nothing is more than likely\n"
    );
}

#[test]
fn a_problem_is_a_gap_and_weakens_its_resource() {
    let mut capture = Capture::from_objects([agent_pod()]);
    capture.problems.push(Problem {
        resource: "pods".to_owned(),
        reason: GapReason::Malformed,
        message: "pods.yaml document 3: not a mapping".to_owned(),
    });
    let snapshot = read(&capture, &options());
    assert_eq!(
        snapshot.pod("velero", "x"),
        Observed::Unknown(GapReason::Partial)
    );
    assert!(gaps(&snapshot, "pods").contains("pods.yaml document 3"));
}

#[test]
fn of_two_copies_the_newer_stays_in_either_order() {
    let mut newer = data_upload_v1_17();
    newer["metadata"]["resourceVersion"] = json!("10000");
    newer["status"]["phase"] = json!("InProgress");
    for objects in [
        [newer.clone(), data_upload_v1_17()],
        [data_upload_v1_17(), newer],
    ] {
        let snapshot = snapshot_of(objects);
        assert_eq!(
            task(&snapshot, TaskKind::DataUpload, "du-17").phase,
            Phase::InProgress
        );
    }
}

#[test]
fn tasks_of_another_namespace_are_not_of_this_velero() {
    let mut other = data_upload_v1_17();
    other["metadata"]["namespace"] = json!("velero-2");
    other["status"]["phase"] = json!("Pondering");
    let snapshot = snapshot_of([other]);
    assert!(snapshot.tasks.is_empty());
    assert!(gaps(&snapshot, "datauploads").starts_with("not-in-input"));
}

#[test]
fn now_is_the_flag_then_the_capture_then_the_newest_time_that_has_passed() {
    let snapshot = snapshot_of(all());
    // Neither the Backup's expiration nor the deletionTimestamp of 2030.
    assert_eq!(snapshot.taken_at, time("2026-01-01T10:05:00Z"));
    assert_eq!(snapshot.source.now_from, NowFrom::NewestObject);

    let mut capture = Capture::from_objects(all());
    capture.manifest.taken_at = Some(time("2026-01-01T11:00:00Z"));
    capture.manifest.now_from = NowFrom::Capture;
    let snapshot = read(&capture, &options());
    assert_eq!(snapshot.taken_at, time("2026-01-01T11:00:00Z"));
    assert_eq!(snapshot.source.now_from, NowFrom::Capture);

    let flag = ReadOptions {
        now: Some(time("2026-01-03T00:00:00Z")),
        ..options()
    };
    let snapshot = read(&capture, &flag);
    assert_eq!(snapshot.taken_at, time("2026-01-03T00:00:00Z"));
    assert_eq!(snapshot.source.now_from, NowFrom::Flag);

    let snapshot = read(&cluster(vec![]), &flag);
    assert_eq!(snapshot.source.now_from, NowFrom::Server);
}

#[test]
fn one_line_of_a_log_far_ahead_of_all_else_does_not_count_for_now() {
    let of = |body: &str| {
        let mut capture = Capture::from_objects(all());
        capture.logs = vec![LogFile {
            namespace: "velero".to_owned(),
            pod: "node-agent-x".to_owned(),
            container: "node-agent".to_owned(),
            previous: Previous::No,
            cut: Cut::Whole,
            body: body.to_owned(),
        }];
        read(&capture, &options())
    };
    let line = |at: &str| format!("time=\"{at}\" level=info msg=\"hello\"\n");
    let sound = line("2026-01-01T10:06:00Z");
    assert_eq!(of(&sound).taken_at, time("2026-01-01T10:06:00Z"));
    let future = of(&(sound.clone() + &line("2099-01-01T00:00:00Z")));
    assert_eq!(future.taken_at, time("2026-01-01T10:05:00Z"));
    assert!(gaps(&future, "log").contains("more than a day after"));
    // JSON without a level is another program's.
    let foreign = of(&(sound + "{\"time\":\"2026-01-01T10:30:00Z\",\"msg\":\"other\"}\n"));
    assert_eq!(foreign.taken_at, time("2026-01-01T10:06:00Z"));
}

#[test]
fn without_any_time_now_is_a_gap() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    let snapshot = snapshot_of([node]);
    assert_eq!(snapshot.taken_at, Timestamp::UNIX_EPOCH);
    assert!(gaps(&snapshot, "input").contains("no object has a time"));
}

fn search(objects: impl IntoIterator<Item = Value>) -> NamespaceSearch {
    find_namespace(&Capture::from_objects(objects))
}

fn moved(mut object: Value, namespace: &str) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

#[test]
fn each_sign_of_velero_finds_its_namespace() {
    for sign in [
        data_upload_v1_12(),
        pod_volume_restore_v1_18(),
        agent_pod(),
        daemon_set(),
        deployment(),
    ] {
        let found = search([moved(sign, "openshift-adp"), claim(), node()]);
        assert_eq!(found, NamespaceSearch::Found("openshift-adp".to_owned()));
    }
    assert!(matches!(
        search([backup(), config_map("node-agent-config"), claim()]),
        NamespaceSearch::None { .. }
    ));
}

#[test]
fn several_namespaces_are_listed_unless_one_is_velero() {
    let signs = || [moved(agent_pod(), "b"), moved(data_upload_v1_12(), "a")];
    assert_eq!(
        search(signs()),
        NamespaceSearch::Several(vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(
        search(signs().into_iter().chain([deployment()])),
        NamespaceSearch::Found("velero".to_owned())
    );
}

#[test]
fn a_capture_taken_for_one_namespace_is_searched_no_further() {
    let mut capture = Capture::from_objects([agent_pod()]);
    capture.manifest.namespace = Some("mine".to_owned());
    assert_eq!(
        find_namespace(&capture),
        NamespaceSearch::Found("mine".to_owned())
    );
}
