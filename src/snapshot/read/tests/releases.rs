//! What is read from objects of several releases.

use super::objects::*;
use super::*;
use crate::capture::Cut;

#[test]
fn a_prepared_data_upload_of_v1_17_is_read_whole() {
    let snapshot = snapshot_of(all());
    let du = task(&snapshot, TaskKind::DataUpload, "du-17");
    assert_eq!(du.uid, "uid-du-17");
    assert_eq!(du.phase, Phase::Prepared);
    assert_eq!(du.cancel, Cancel::Requested);
    assert_eq!(du.exposing, Exposing::Yes);
    assert_eq!(du.status_node.as_deref(), Some("node-a"));
    assert_eq!(du.accepted_by.as_deref(), Some("node-b"));
    assert_eq!(du.accepted, Some(time("2026-01-01T10:01:00Z")));
    assert_eq!(du.started, None);
    assert_eq!(
        du.progress,
        Some(Progress {
            bytes_done: 0,
            total_bytes: 0
        })
    );
    assert_eq!(du.message, "waits");
    assert_eq!(du.operation_timeout_seconds, Some(600));
    assert_eq!(du.claim, Some(ObjectKey::new("app", "data")));
    assert_eq!(du.snapshot_name.as_deref(), Some("vs-1"));
    assert_eq!(du.storage_class.as_deref(), Some("fast"));
    assert_eq!(
        du.parent,
        Some(ParentRef {
            kind: ParentKind::Backup,
            name: "backup-one".to_owned()
        }),
        "the owner reference goes before the label"
    );
}

#[test]
fn managed_fields_tell_who_wrote_what_when() {
    let snapshot = snapshot_of([data_upload_v1_17(), data_upload_v1_12()]);
    let writes = &task(&snapshot, TaskKind::DataUpload, "du-17").writes;
    assert_eq!(writes.managed_fields, ManagedFields::Present);
    assert_eq!(writes.node_agent, Some(time("2026-01-01T10:01:30Z")));
    assert_eq!(writes.progress, Some(time("2026-01-01T10:01:30Z")));
    assert_eq!(
        writes.cancel,
        Some((time("2026-01-01T10:05:00Z"), "kubectl-patch".to_owned()))
    );
    assert_eq!(
        task(&snapshot, TaskKind::DataUpload, "du-12").writes,
        Writes::default()
    );
}

#[test]
fn the_acceptor_is_read_from_the_place_of_each_release() {
    let snapshot = snapshot_of(all());
    let old = task(&snapshot, TaskKind::DataUpload, "du-12");
    assert_eq!(old.accepted_by.as_deref(), Some("node-c"));
    assert_eq!(old.accepted, None);
    assert_eq!(old.started, Some(time("2026-01-01T10:00:10Z")));
    let annotated = task(&snapshot, TaskKind::DataDownload, "dd-15");
    assert_eq!(annotated.accepted_by.as_deref(), Some("node-d"));
    assert_eq!(
        annotated.accepted_annotation,
        Some(time("2026-01-01T09:00:05Z"))
    );
}

#[test]
fn a_data_download_belongs_to_its_restore_and_writes_to_its_target() {
    let snapshot = snapshot_of([data_download_v1_15_1()]);
    let dd = task(&snapshot, TaskKind::DataDownload, "dd-15");
    assert_eq!(
        dd.parent,
        Some(ParentRef {
            kind: ParentKind::Restore,
            name: "r1".to_owned()
        })
    );
    assert_eq!(dd.claim, Some(ObjectKey::new("app", "restored")));
    assert_eq!(dd.operation_timeout_seconds, Some(5405));
    assert_eq!(dd.deletion, Some(time("2030-01-01T00:00:00Z")));
}

#[test]
fn pod_volume_tasks_name_their_pod_volume_and_node() {
    let snapshot = snapshot_of(all());
    let pvb = task(&snapshot, TaskKind::PodVolumeBackup, "pvb-17");
    let target = TargetPod {
        namespace: "app".to_owned(),
        name: "web-0".to_owned(),
        uid: "uid-web".to_owned(),
    };
    assert_eq!(pvb.pod, Some(target.clone()));
    assert_eq!(pvb.spec_node.as_deref(), Some("node-a"));
    assert_eq!(pvb.status_node, None);
    assert_eq!(pvb.volume, "data");
    let pvr = task(&snapshot, TaskKind::PodVolumeRestore, "pvr-18");
    assert_eq!(pvr.pod, Some(target));
    assert_eq!(pvr.phase, Phase::New, "an empty phase is New");
    assert_eq!(pvr.uploader_type, "restic");
    assert_eq!(pvr.progress, None);
}

#[test]
fn an_agent_tells_its_version_start_and_arguments() {
    let snapshot = snapshot_of(all());
    assert_eq!(snapshot.agents.len(), 1);
    let agent = &snapshot.agents[0];
    assert_eq!(agent.container, "node-agent");
    assert_eq!(agent.version.clone().seen().unwrap().to_string(), "1.17.1");
    assert_eq!(agent.profile_basis, ProfileBasis::Release);
    assert_eq!(agent.started_at, Some(time("2026-01-01T07:00:05Z")));
    assert_eq!(agent.config_map_flag.as_deref(), Some("na-config"));
    assert_eq!(
        agent.repository_config_map_flag.as_deref(),
        Some("repo-config")
    );
    assert_eq!(agent.prepare_timeout_seconds, 45 * 60);
    assert!(agent.pod_works());
    let container = agent.container_status().unwrap();
    assert_eq!(container.image, "velero/velero:v1.17.1");
    assert_eq!(container.restarts, 2);
    assert_eq!(container.last_end.as_ref().unwrap().reason, "OOMKilled");
}

#[test]
fn a_mover_pod_is_no_agent_whatever_labels_it_copied() {
    let snapshot = snapshot_of(all());
    let pod = snapshot.pod("velero", "du-17").seen().unwrap();
    assert_eq!(pod.init_container_names, ["restore-wait"]);
    assert_eq!(pod.volumes, ["uid-du-17", "scratch"]);
    assert_eq!(pod.claims, ["du-17", "du-17-scratch"]);
    assert_eq!(
        pod.owner,
        Some(("DataUpload".to_owned(), "du-17".to_owned()))
    );
    assert_eq!(pod.init_containers[0].image, "wait:1");
    assert!(matches!(
        &pod.containers[0].state,
        ContainerState::Waiting { reason, message } if reason == "ErrImagePull" && message == "no such image"
    ));
    assert!(matches!(
        &pod.init_containers[0].state,
        ContainerState::Terminated(end) if end.exit_code == 1
    ));
}

#[test]
fn agents_of_charts_and_operators_are_found() {
    let label = |labels: Value, name: &str, container: &str, owner: &str| {
        let mut pod = agent_pod();
        pod["metadata"]["labels"] = labels;
        pod["metadata"]["name"] = json!(name);
        pod["spec"]["containers"][0]["name"] = json!(container);
        pod["metadata"]["ownerReferences"][0]["name"] = json!(owner);
        snapshot_of([pod, daemon_set()]).agents.len()
    };
    let nothing = || json!({});
    assert_eq!(
        label(json!({"name": "node-agent-windows"}), "w", "w", "w"),
        1
    );
    assert_eq!(
        label(
            json!({"role": "node-agent", "component": "velero"}),
            "x",
            "x",
            "x"
        ),
        1
    );
    assert_eq!(
        label(json!({"role": "node-agent"}), "x", "x", "x"),
        0,
        "a word that others use too"
    );
    assert_eq!(label(nothing(), "x", "x", "node-agent-custom"), 1);
    assert_eq!(label(nothing(), "node-agent-abcde", "node-agent", "x"), 1);
    assert_eq!(label(nothing(), "node-agent-abcde", "other", "x"), 0);
    assert_eq!(label(nothing(), "restic-abcde", "restic", "restic"), 0);
}

#[test]
fn an_agent_without_a_readable_version_gets_what_the_fields_allow() {
    let unnamed = || {
        let mut pod = agent_pod();
        pod["spec"]["containers"][0]["image"] = json!("registry/velero@sha256:00");
        pod
    };
    let since = |tasks: Vec<Value>| {
        let snapshot = snapshot_of(tasks.into_iter().chain([unnamed()]));
        assert!(gaps(&snapshot, "version").contains("velero/node-agent-x1"));
        assert_eq!(
            snapshot.agents[0].version,
            Observed::Unknown(GapReason::Unsupported)
        );
        assert_eq!(
            snapshot.agents[0].profile_basis,
            ProfileBasis::GuessedFromFields
        );
        snapshot.agents[0].profile.since
    };
    assert_eq!(since(vec![data_upload_v1_17()]), "main");
    assert_eq!(since(vec![data_download_v1_15_1()]), "v1.15.1");
    assert_eq!(since(vec![data_upload_v1_12()]), "v1.15.0");
    assert_eq!(since(vec![]), "main");
    let mut of_1_16 = data_upload_v1_17();
    of_1_16["metadata"]["labels"] = Value::Null;
    of_1_16["status"]["phase"] = json!("Accepted");
    assert_eq!(since(vec![of_1_16, data_upload_v1_12()]), "v1.16.0");
}

fn log(body: &str) -> LogFile {
    LogFile {
        namespace: "velero".to_owned(),
        pod: "node-agent-x1".to_owned(),
        container: "node-agent".to_owned(),
        previous: Previous::No,
        cut: Cut::Whole,
        body: body.to_owned(),
    }
}

fn start_log_of(body: &str) -> (Snapshot, Option<StartLog>) {
    let mut capture = Capture::from_objects([agent_pod()]);
    capture.logs.push(log(body));
    let snapshot = read(&capture, &options());
    let start = snapshot.agents[0].log.clone();
    (snapshot, start)
}

const START: &str = r#"time="2026-01-01T07:00:04Z" level=info msg="Starting Velero node-agent server v1.17.1 (94f6)" logSource="x.go:1""#;

#[test]
fn the_log_states_start_limit_and_prepare_queue() {
    let body = format!(
        "{}\n{START}\n{}\n{}\n{}\n",
        r#"time="2026-01-01T06:00:00Z" level=info msg="Use the per node number 9 over global number 2 for node node-a""#,
        r#"time="2026-01-01T07:00:05Z" level=info msg="Use the per node number 3 over global number 2 for node node-a""#,
        r#"time="2026-01-01T07:00:05Z" level=info msg="VGDP loads are constrained with 10""#,
        r#"time="2026-01-01T11:00:00Z" level=info msg="Reconcile du-17""#,
    );
    let (snapshot, start) = start_log_of(&body);
    assert_eq!(
        start,
        Some(StartLog {
            process_start: Some(time("2026-01-01T07:00:04Z")),
            version: Some("v1.17.1".to_owned()),
            limit: Some(3),
            prepare_queue: Some(10),
        })
    );
    assert_eq!(snapshot.taken_at, time("2026-01-01T11:00:00Z"));
}

#[test]
fn each_marker_states_its_limit_and_global_config_alone_states_none() {
    for (message, limit) in [
        (
            "Use the per node number 3 over global number 2 for node n",
            Some(3),
        ),
        (
            "Per node number for node n is not found, use the global number 4",
            Some(4),
        ),
        (
            "Failed to get node info for n, use the global number 5",
            Some(5),
        ),
        (
            "Concurrency configs are not found, use the default number 1",
            Some(1),
        ),
        (
            "Global number 0 is invalid, use the default value 1",
            Some(1),
        ),
        ("No node-agent configMap is specified", Some(1)),
        ("Node agent configs are not found", Some(1)),
        (
            "Rule with label selector a=b is with an invalid number 0, skip it",
            None,
        ),
        ("Setting log-level to INFO", None),
    ] {
        let body = format!("{START}\ntime=\"2026-01-01T07:00:05Z\" level=info msg=\"{message}\"\n");
        assert_eq!(start_log_of(&body).1.unwrap().limit, limit, "{message}");
        let json = json!({"level": "info", "msg": message, "time": "2026-01-01T07:00:05Z"});
        assert_eq!(
            start_log_of(&json.to_string()).1.unwrap().limit,
            limit,
            "{message}"
        );
    }
}

#[test]
fn the_log_of_an_earlier_process_says_nothing_about_the_present_one() {
    let (snapshot, start) = start_log_of(&START.replace("07:00:04", "06:00:00"));
    assert_eq!(start, None);
    assert!(gaps(&snapshot, "log").contains("velero/node-agent-x1"));
}

#[test]
fn the_log_names_the_version_that_the_image_does_not() {
    let mut pod = agent_pod();
    pod["spec"]["containers"][0]["image"] = json!("velero:latest");
    let mut capture = Capture::from_objects([pod]);
    capture.logs.push(log(START));
    let agent = read(&capture, &options()).agents.remove(0);
    assert_eq!(agent.version.seen().unwrap().to_string(), "1.17.1");
    assert_eq!(agent.profile_basis, ProfileBasis::Release);
}

#[test]
fn the_server_tells_its_version_and_timeouts() {
    let snapshot = snapshot_of(all());
    assert_eq!(
        snapshot.server_version.seen().unwrap().to_string(),
        "1.17.1"
    );
    assert_eq!(snapshot.fs_backup_timeout_seconds, 7200);
    assert_eq!(snapshot.default_item_operation_timeout_seconds, 6 * 3600);
    let without = snapshot_of([node()]);
    assert_eq!(without.fs_backup_timeout_seconds, 4 * 3600);
    assert_eq!(
        without.server_version,
        Observed::Unknown(GapReason::NotInInput)
    );
}

#[test]
fn config_maps_that_agents_read_are_kept_and_others_are_not() {
    let mut repository = config_map("repo-config");
    repository["data"] = json!({"kopia": "{}"});
    let mut next = config_map("next-config");
    next["data"] = json!({"a": "{}", "b": "not json"});
    let mut foreign = config_map("change-storage-class");
    foreign["data"] = json!({"gp2": "gp3"});
    let mut elsewhere = config_map("na-config");
    elsewhere["metadata"]["namespace"] = json!("app");
    let snapshot = snapshot_of(all().into_iter().chain([
        repository,
        next,
        foreign,
        elsewhere,
        config_map("stray"),
    ]));
    let names: Vec<&str> = snapshot.config_maps.keys().map(String::as_str).collect();
    assert_eq!(names, ["na-config", "next-config", "repo-config", "stray"]);
    let used = &snapshot.config_maps["na-config"];
    assert_eq!(used.data_written, Some(time("2026-01-01T05:30:00Z")));
    assert_eq!(used.managed_fields, ManagedFields::Present);
    assert_eq!(used.keys, ["node-agent-config.json"]);
    let load = used.config.clone().unwrap().load_concurrency.unwrap();
    assert_eq!((load.global_config, load.prepare_queue_length), (2, 4));
    let next = &snapshot.config_maps["next-config"];
    assert_eq!(next.all.len(), 2);
    assert!(next.all["a"].is_ok());
    assert!(next.all["b"].is_err());
}

#[test]
fn a_config_map_without_data_configures_nothing() {
    let mut empty = config_map("node-agent-config");
    empty["data"] = Value::Null;
    let snapshot = snapshot_of([empty]);
    let config_map = snapshot.config_map("node-agent-config").seen().unwrap();
    assert!(config_map.config.is_err());
    assert!(config_map.keys.is_empty());
}

#[test]
fn a_node_tells_when_each_label_was_written() {
    let snapshot = snapshot_of(all());
    let node = snapshot.node("node-a").seen().unwrap();
    assert_eq!(node.cordoned, Cordoned::Yes);
    assert_eq!(node.ready.as_ref().unwrap().status, "True");
    assert_eq!(node.label_writes["disk"], time("2026-01-01T04:00:00Z"));
    assert_eq!(node.label_writes["zone"], time("2026-01-01T01:00:00Z"));
    assert_eq!(node.label_writes.len(), 2);
}

#[test]
fn the_other_objects_are_read() {
    let snapshot = snapshot_of(all());
    let set = &snapshot.daemon_sets["node-agent"];
    assert_eq!((set.desired, set.ready), (3, 2));
    assert_eq!(set.is_node_agent, IsNodeAgent::Yes);
    let backup = &snapshot.backups["backup-one"];
    assert_eq!(backup.item_operation_timeout_seconds, Some(14400));
    assert!(!backup.is_final());
    assert!(snapshot.restores["r1"].is_final());
    let claim = snapshot.claim("app", "data").seen().unwrap();
    assert_eq!(claim.selected_node.as_deref(), Some("node-a"));
    assert_eq!(claim.storage_class.as_deref(), Some("fast"));
    let volume_snapshot = snapshot.volume_snapshot("app", "vs-1").seen().unwrap();
    assert_eq!(volume_snapshot.ready_to_use, Some(false));
    assert_eq!(volume_snapshot.error.as_deref(), Some("no space"));
}

#[test]
fn events_of_both_shapes_are_read_oldest_first() {
    let events = snapshot_of(all()).events;
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].about.to_string(), "Node node-a");
    assert_eq!(events[0].message, "is ready");
    assert_eq!(events[0].count, 2);
    assert_eq!(
        events[0].last_seen,
        Some(time("2026-01-01T03:30:00.123456Z"))
    );
    assert_eq!(events[1].about.to_string(), "Pod velero/du-17");
    assert_eq!(events[1].about_uid, "uid-mover");
    assert_eq!(events[1].count, 3);
    assert_eq!(events[1].first_seen, Some(time("2026-01-01T10:02:00Z")));
    assert_eq!(events[1].last_seen, Some(time("2026-01-01T10:04:00Z")));
}
