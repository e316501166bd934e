//! What may not get through, and what must.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::markers::markers;
use super::{Again, NameKind, Redactor, redact};
use crate::capture::{
    Capture, Cut, GapReason, Listing, LogFile, MetricsPage, Outcome, Previous, Problem,
    ResourceKind, Scope, format,
};
use crate::testing::{agent, now};
use crate::velero::VeleroVersion;

fn prose(text: &str) -> String {
    let mut redactor = Redactor::new(Again::No);
    for (kind, name) in [
        (NameKind::Node, "du-1"),
        (NameKind::Node, "du-10"),
        (NameKind::Namespace, "payroll"),
        (NameKind::Claim, "a.b*c"),
    ] {
        redactor.names.note(kind, name);
    }
    redactor.names.number();
    redactor.prose(text)
}

fn written(capture: &Capture) -> String {
    let mut bytes = Vec::new();
    format::write(capture, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn log(body: &str) -> LogFile {
    LogFile {
        namespace: "velero".to_owned(),
        pod: "node-agent-xyz12".to_owned(),
        container: "node-agent".to_owned(),
        previous: Previous::No,
        cut: Cut::Whole,
        body: body.to_owned(),
    }
}

#[test]
fn a_name_does_not_eat_into_a_longer_one() {
    assert_eq!(
        prose("du-1, du-10 and du-100."),
        "node-1, node-2 and word-1."
    );
    assert_eq!(prose("payroll/du-1:payroll"), "ns-1/node-1:ns-1");
}

#[test]
fn everything_that_something_is_concluded_from_stays() {
    for marker in markers() {
        assert_eq!(prose(marker), marker);
    }
}

#[test]
fn everything_that_something_is_concluded_from_stays_beside_names_that_are_its_words() {
    let mut redactor = Redactor::new(Again::No);
    let words: Vec<&str> = markers()
        .flat_map(|marker| marker.split(|c: char| !c.is_ascii_alphanumeric()))
        .collect();
    for (index, word) in words.iter().enumerate() {
        let kind = if index % 2 == 0 {
            NameKind::Node
        } else {
            NameKind::Namespace
        };
        redactor.names.note(kind, word);
    }
    redactor.names.number();
    redactor.ordinary_names = true;
    for marker in markers() {
        assert_eq!(redactor.prose(marker), marker);
    }
    assert!(
        redactor
            .prose("Reconcile node")
            .starts_with("Reconcile node-")
    );
}

#[test]
fn secrets_are_cut_and_unknown_words_replaced() {
    let cases = [
        ("password=backup", "password=[cut]"),
        ("AWS_SECRET_ACCESS_KEY: abc/def+x==", "word-1: [cut]"),
        ("\"token\": \"failed\"", "\"token\": \"[cut]\""),
        ("Authorization: Bearer backup", "Authorization: [cut] [cut]"),
        ("with Bearer eyJhbGciOi.J9.x", "with Bearer [cut]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nback\n-----END RSA PRIVATE KEY-----\nfailed",
            "[cut]\nfailed",
        ),
        ("-----BEGIN CERTIFICATE-----\nMIIE", "[cut]"),
        (
            "Get \"https://me:pw@minio.acme.example:9000/bucket?x=1\": timeout",
            "Get \"url-1\": timeout",
        ),
        (
            "dial tcp 10.1.2.3:443: timeout",
            "dial tcp ip-1:443: timeout",
        ),
        ("dial tcp [fd00::12:3]:443", "dial tcp [ip-1]:443"),
        ("ask alice@acme.example now", "ask email-1 now"),
        (
            "bucket acme-backups in s3.acme.example",
            "bucket word-1 in host-1",
        ),
        (
            "User \"system:serviceaccount:velero:x\" cannot list",
            "User \"user-1\" cannot list",
        ),
        ("account 123456789012", "account word-1"),
        ("AKIAIOSFODNN7EXAMPLE", "word-1"),
        ("caf\u{e9} \u{1f600} \u{1b}[2J", "word-1 ?  [word-2"),
    ];
    for (text, expected) in cases {
        assert_eq!(prose(text), expected, "{text}");
    }
}

#[test]
fn numbers_times_versions_and_words_of_kubernetes_stay() {
    for text in [
        "0/3 nodes are available: 1 node(s) had untolerated taint, 2 Insufficient memory.",
        "timeout 30m0s after 1.5s, 12.5Gi of 20Gi, 63%",
        "at 2026-01-02T03:04:05Z in v1.17.1",
        "FailedAttachVolume: Multi-Attach error for volume",
        "pod has unbound immediate PersistentVolumeClaims",
    ] {
        assert_eq!(prose(text), text);
    }
}

#[test]
fn fields_that_nothing_reads_are_not_there() {
    let mut pod = agent(
        "node-a",
        "v1.17.1",
        100,
        &["--features=EnableCSI", "--token=hush"],
    );
    pod["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": "{\"hush\":1}", "hush": "x"});
    pod["metadata"]["labels"]["team"] = "hush".into();
    pod["metadata"]["managedFields"] = json!([{"manager": "hush-tool", "time": "2026-01-01T00:00:00Z",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:hush": {}}}}}]);
    pod["spec"]["containers"][0]["env"] = json!([{"name": "HUSH", "value": "hush"}]);
    pod["spec"]["containers"][0]["image"] =
        "hush.example:5000/hush/velero:v1.17.1-hush@sha256:00".into();
    pod["spec"]["volumes"] = json!([{"name": "hush", "hostPath": {"path": "/hush"}}]);
    let text = written(&redact(&Capture::from_objects([pod])).capture).to_ascii_lowercase();
    assert!(!text.contains("hush"), "{text}");
    // What the tag says beside the version is also the name of the volume.
    assert!(
        text.contains("registry-1/velero:v1.17.1-volume-1"),
        "{text}"
    );
}

#[test]
fn the_version_of_an_image_reads_as_before() {
    let mut redactor = Redactor::new(Again::No);
    for image in [
        "velero/velero:v1.17.1",
        "r:5000/a/velero:v1.17.1-rc.1",
        "r/velero:1.16.2-OADP",
        "r/velero:v1.17",
        "r/velero:release-1.17-dev",
        "r/velero:main",
        "r/velero:main-1234",
        "r/velero:v1.17.1-acme.3",
        "r/velero:v1.17.1+acme",
        "velero",
        "r/velero:latest",
        "r/velero@sha256:abc",
        "r/velero:2025.08.21",
        "",
    ] {
        let before = VeleroVersion::from_image(image);
        let redacted = super::image::image(&mut redactor, image);
        let after = VeleroVersion::from_image(&redacted);
        assert_eq!(before.is_some(), after.is_some(), "{image} {redacted}");
        if let (Some(before), Some(after)) = (before, after) {
            assert_eq!(
                before.is_plain_release(),
                after.is_plain_release(),
                "{image}"
            );
            let (before, after) = (
                crate::velero::Profile::of(&before),
                crate::velero::Profile::of(&after),
            );
            assert_eq!(before.is_ok(), after.is_ok(), "{image}");
            if let (Ok((before, _)), Ok((after, _))) = (before, after) {
                assert_eq!(before.since, after.since, "{image} {redacted}");
            }
        }
    }
}

#[test]
fn refusals_scopes_problems_logs_metrics_and_the_server_lose_their_names() {
    let mut capture = Capture::from_objects([agent("hush-node", "v1.17.1", 100, &[])]);
    capture.manifest.server = Some("https://hush.example:6443".to_owned());
    capture.manifest.namespace = Some("hush-ns".to_owned());
    capture.manifest.tool_version = "hush".to_owned();
    capture.listings.push(Listing {
        resource: ResourceKind::Node,
        scope: Scope::Namespace("hush-ns".to_owned()),
        outcome: Outcome::Refused {
            reason: GapReason::Forbidden,
            message: "nodes is forbidden: User \"hush\" cannot list resource".to_owned(),
        },
    });
    capture.listings.push(Listing {
        resource: ResourceKind::Pod,
        scope: Scope::Selected {
            label_selector: "velero.io/restore-name in (hush-r)".to_owned(),
        },
        outcome: Outcome::Listed(Vec::new()),
    });
    capture.problems.push(Problem {
        resource: "input".to_owned(),
        reason: GapReason::Malformed,
        message: "/home/hush/x.yaml: not read".to_owned(),
    });
    capture.logs.push(log(
        "[pod/hush/x] time=\"2026-01-02T03:04:05Z\" level=info msg=\"Reconcile hush-du\" dataupload=hush-ns/hush-du \
         bucket=hush logSource=\"hush.go:1\" error=\"rpc to hush failed\"\npanic: hush\n",
    ));
    capture.metrics.push(MetricsPage {
        namespace: "velero".to_owned(),
        pod: "hush-pod".to_owned(),
        port: 8080,
        taken_at: now(),
        body: "# HELP hush\nhush 1\ncontroller_runtime_active_workers{controller=\"dataupload\",x=\"hush\"} 1\n\
               process_start_time_seconds 1.7672e+09\npodVolume_data_upload_success_total{node=\"hush\"} 3\nhu"
            .to_owned(),
    });
    let redacted = redact(&capture).capture;
    let text = written(&redacted);
    assert!(!text.contains("hush"), "{text}");
    assert_eq!(
        redacted.metrics[0].body,
        "controller_runtime_active_workers{controller=\"dataupload\"} 1\nprocess_start_time_seconds 1767200000\npodVolume_data_upload_success_total 3\n"
    );
    assert_eq!(
        redacted.logs[0].body,
        "time=\"2026-01-02T03:04:05Z\" level=info msg=\"Reconcile task-1\" dataupload=\"ns-1/task-1\" \
         error=\"rpc to user-1 failed\"\npanic: user-1\n"
    );
}

#[test]
fn selectors_and_the_labels_that_they_look_at_agree() {
    let objects = [
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n",
            "labels": {"acme.example/pool": "gold", "kubernetes.io/hostname": "n", "other": "x"}}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "node-agent-config", "namespace": "velero"},
            "data": {"acme": "{\"LOADCONCURRENCY\":{\"globalConfig\":2,\"typo\":1,\"perNodeConfig\":[{\"nodeSelector\":\
                {\"matchLabels\":{\"acme.example/pool\":\"gold\",\"kubernetes.io/hostname\":\"n\",\"bad key\":\"bad value!\"}},\"number\":3}]}}"}}),
    ];
    let redacted = redact(&Capture::from_objects(objects)).capture;
    let text = written(&redacted);
    for name in ["acme", "gold", "other", "typo", "bad key", "bad value"] {
        assert!(!text.contains(name), "{name} {text}");
    }
    let node = redacted
        .listings
        .iter()
        .find(|listing| listing.resource == ResourceKind::Node)
        .unwrap();
    let node: Value = serde_json::from_str(redacted.json(&node.outcome.items()[0])).unwrap();
    assert_eq!(
        node["metadata"]["labels"],
        json!({"label-1": "value-1", "kubernetes.io/hostname": "node-1"})
    );
    assert!(text.contains(r#"\"label-1\":\"value-1\""#), "{text}");
    assert!(text.contains(r#"\"label!-1\":\"value!-1\""#), "{text}");
}

#[test]
fn a_value_of_another_type_keeps_its_type_and_nothing_else() {
    let objects = [
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ["hush"], "namespace": {"hush": 1},
        "labels": "hush"}, "spec": {"nodeName": 7, "containers": "hush"}, "status": ["hush"]}),
    ];
    let redacted = redact(&Capture::from_objects(objects)).capture;
    assert_eq!(
        redacted.json(&redacted.listings[0].outcome.items()[0]),
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"labels":"redacted","name":[],"namespace":{}},"spec":{"containers":"redacted","nodeName":7},"status":[]}"#
    );
}

#[test]
fn a_large_log_and_many_names_take_a_time_that_grows_with_their_size() {
    let capture = |nodes: usize| {
        let objects = (0..nodes).map(|n| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("host-{n}.acme")}}));
        let mut capture = Capture::from_objects(objects);
        let line = |n: usize| format!("level=info msg=\"backup on host-{n}.acme took {n}s\"\n");
        capture
            .logs
            .push(log(&(0..nodes).map(line).collect::<String>()));
        capture
    };
    let redacted = redact(&capture(5_000));
    assert_eq!(redacted.counts().get(&NameKind::Node), Some(&5_000));
    assert!(redacted.capture.logs[0].body.contains("node-0001"));
    assert!(!written(&redacted.capture).contains("acme"));
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9.*+?()\\[\\]{}|^$-]{0,12}",
        any::<String>(),
        Just("node".to_owned()),
        Just("backup".to_owned()),
        Just("Reconcile ".to_owned()),
        Just("node-1".to_owned()),
        Just("x".repeat(10_000)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_names_redaction_is_one_to_one_and_a_fixed_point(
        names in prop::collection::vec(name(), 0..8),
        message in any::<String>(),
    ) {
        let objects = names.iter().enumerate().map(|(index, name)| json!({
            "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
            "metadata": {"name": format!("{name}{index}"), "namespace": name, "uid": name, "labels": {"velero.io/backup-name": name}},
            "status": {"node": name, "phase": name, "message": format!("{message} {name} {message}")},
        }));
        let mut capture = Capture::from_objects(objects);
        for name in &names {
            capture.logs.push(log(&format!("level=info msg=\"Reconcile {name}\" dataupload={name}\n{name}\n{message}")));
        }
        let once = redact(&capture);
        prop_assert_eq!(&once, &redact(&capture));
        let pseudonyms: std::collections::BTreeSet<&str> =
            once.pseudonyms.iter().map(|one| one.pseudonym.as_str()).collect();
        prop_assert_eq!(pseudonyms.len(), once.pseudonyms.len());
        let again = redact(&once.capture);
        prop_assert_eq!(written(&again.capture), written(&once.capture));
    }
}
