//! What bundles of other programs leave out, in their words; and logs that are none.

use super::objects::*;
use super::*;
use crate::capture::{BundleForm, Cut};

fn seen(forms: &[BundleForm], objects: Vec<Value>, logs: &[(&str, Previous)]) -> Snapshot {
    let mut capture = Capture::from_objects(objects);
    capture.manifest.bundles = forms.to_vec();
    capture.logs = logs
        .iter()
        .map(|(body, previous)| LogFile {
            namespace: "velero".to_owned(),
            pod: "node-agent-x1".to_owned(),
            container: "node-agent".to_owned(),
            previous: *previous,
            cut: Cut::Whole,
            body: (*body).to_owned(),
        })
        .collect();
    read(&capture, &options())
}

const LINE: &str = "\
time=\"2026-01-01T07:00:04Z\" level=info msg=\"Starting Velero node-agent server v1.17.1 (0)\"
time=\"2026-01-01T08:00:00Z\" level=info msg=\"Reconcile du-1\"
";

fn prepared() -> Value {
    json!({
        "apiVersion": "velero.io/v2alpha1", "kind": "DataUpload",
        "metadata": {"name": "du-1", "namespace": "velero", "creationTimestamp": "2026-01-01T07:30:00Z"},
        "spec": {}, "status": {"phase": "Prepared", "node": "node-a"}
    })
}

#[test]
fn what_a_bundle_never_contains_is_told_in_its_words_with_the_command_that_adds_it() {
    let objects = || vec![agent_pod(), prepared()];
    let forms = [
        (
            BundleForm::VeleroDebug,
            "a `velero debug` bundle never contains Nodes",
        ),
        (
            BundleForm::MustGather,
            "an OADP must-gather never contains Nodes",
        ),
        (
            BundleForm::OcInspect,
            "an `oc adm inspect` tree holds Nodes only if it was told to collect them",
        ),
    ];
    for (form, words) in forms {
        assert_eq!(
            gaps(&seen(&[form], objects(), &[(LINE, Previous::No)]), "nodes"),
            format!(
                "not-in-input the input holds no Node: {words} | whether nodes are Ready is not known, nor which \
                 rule of perNodeConfig they match; to add them: kubectl get nodes -o yaml --show-managed-fields > \
                 nodes.yaml, and --from nodes.yaml beside this input\n"
            )
        );
    }
    let told = gaps(
        &seen(&[BundleForm::VeleroDebug], objects(), &[]),
        "configmaps",
    );
    assert!(
        told.contains("a `velero debug` bundle never contains ConfigMaps")
            && told.contains("kubectl get configmaps -n velero -o yaml"),
        "{told}"
    );
    let told = gaps(
        &seen(&[BundleForm::VeleroDebug], objects(), &[]),
        "datadownloads",
    );
    assert!(
        told.contains(
            "no file for a kind of which there was no object or which could not be listed"
        ) && told.contains("kubectl get datadownloads.velero.io -n velero"),
        "{told}"
    );
    let told = gaps(
        &seen(&[BundleForm::ClusterInfoDump], vec![agent_pod()], &[]),
        "datauploads",
    );
    assert!(
        told.contains("a `kubectl cluster-info dump` never contains DataUploads"),
        "{told}"
    );
}

#[test]
fn without_a_bundle_the_gaps_say_no_more_than_before() {
    let told = gaps(&seen(&[], vec![agent_pod(), prepared()], &[]), "nodes");
    assert!(
        told.starts_with("not-in-input the input holds no Node | "),
        "{told}"
    );
    assert_eq!(
        gaps(&seen(&[], vec![agent_pod(), prepared()], &[]), "log"),
        ""
    );
}

#[test]
fn logs_that_a_bundle_lacks_are_told_where_they_would_tell_something() {
    let told = gaps(
        &seen(
            &[BundleForm::VeleroDebug],
            vec![agent_pod(), prepared()],
            &[],
        ),
        "log",
    );
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(
        lines[0].starts_with(
            "not-in-input node-agent-x1 restarted, and a `velero debug` bundle never contains the log of the \
             container before | why the process before ended"
        ) && lines[0].contains(
            "kubectl logs -n velero node-agent-x1 -c node-agent --previous > node-agent-x1.previous.log"
        ),
        "{told}"
    );
    assert!(
        lines[1].starts_with(
            "not-in-input the input holds no log of node-agent-x1: a `velero debug` bundle leaves out a log that \
             could not be fetched | "
        ),
        "{told}"
    );
    // Both are there, or nothing waits for the agent.
    let both = [(LINE, Previous::No), (LINE, Previous::Yes)];
    for (objects, logs) in [
        (vec![agent_pod(), prepared()], &both[..]),
        (vec![agent_pod()], &both[1..]),
    ] {
        assert_eq!(
            gaps(&seen(&[BundleForm::VeleroDebug], objects, logs), "log"),
            ""
        );
    }
    // A must-gather has a place for it: that it is not there is no fault of the form.
    assert_eq!(
        gaps(
            &seen(
                &[BundleForm::MustGather],
                vec![agent_pod(), prepared()],
                &both[..1]
            ),
            "log"
        ),
        ""
    );
}

#[test]
fn targets_of_restores_in_other_namespaces_are_told() {
    let restore = json!({
        "apiVersion": "velero.io/v1", "kind": "PodVolumeRestore",
        "metadata": {"name": "pvr-1", "namespace": "velero", "creationTimestamp": "2026-01-01T07:30:00Z"},
        "spec": {"pod": {"namespace": "shop", "name": "db-0", "uid": "u"}}, "status": {}
    });
    let download = json!({
        "apiVersion": "velero.io/v2alpha1", "kind": "DataDownload",
        "metadata": {"name": "dd-1", "namespace": "velero", "creationTimestamp": "2026-01-01T07:30:00Z"},
        "spec": {"targetVolume": {"pvc": "data", "pv": "", "namespace": "shop"}}, "status": {"phase": "Accepted"}
    });
    let snapshot = seen(
        &[BundleForm::MustGather],
        vec![agent_pod(), restore, download],
        &[(LINE, Previous::No)],
    );
    assert_eq!(
        gaps(&snapshot, "pods"),
        "not-in-input the input holds no Pod of namespace shop: an OADP must-gather contains Pods of the operator's \
         namespaces only | whether the pods that PodVolumeRestores restore into exist is not known; to add them: \
         kubectl get pods -n shop -o yaml --show-managed-fields > pods.yaml, and --from pods.yaml beside this input\n"
    );
    assert!(gaps(&snapshot, "persistentvolumeclaims").contains("of namespace shop"));
}

#[test]
fn a_command_never_holds_a_name_that_is_none() {
    let mut agent = agent_pod();
    agent["metadata"]["name"] = json!("node-agent-$(reboot)");
    let told = gaps(
        &seen(&[BundleForm::VeleroDebug], vec![agent, prepared()], &[]),
        "log",
    );
    assert!(!told.contains("kubectl logs -n"), "{told}");
}

#[test]
fn no_form_makes_more_of_a_resource_unreadable_than_it_is() {
    for form in BundleForm::ALL {
        let with = seen(
            &[form],
            vec![agent_pod(), prepared()],
            &[(LINE, Previous::No)],
        );
        let without = seen(&[], vec![agent_pod(), prepared()], &[(LINE, Previous::No)]);
        for resource in ResourceKind::ALL {
            assert_eq!(
                with.coverage_of(resource, "velero"),
                without.coverage_of(resource, "velero")
            );
        }
    }
}

#[test]
fn a_log_of_another_program_says_nothing_and_a_gap_says_so() {
    let body = "I am a proxy\nI am a proxy, still\n";
    let snapshot = seen(&[], vec![agent_pod()], &[(body, Previous::No)]);
    assert_eq!(
        gaps(&snapshot, "log"),
        "malformed log of velero/node-agent-x1 holds no line of Velero: 2 lines of something else | nothing is read \
         from it\n"
    );
    assert_eq!(snapshot.agents[0].evidence, None);
}

#[test]
fn a_log_of_which_most_lines_are_torn_says_how_many_were_read_over() {
    let torn = format!(
        "{}{LINE}",
        "me=\"2026-01-01T07:59:59Z\" level=in\n\u{fffd}\u{fffd}\n".repeat(3)
    );
    let snapshot = seen(&[], vec![agent_pod()], &[(&torn, Previous::No)]);
    let told = gaps(&snapshot, "log");
    assert!(
        told.contains("6 of 8 lines of the log of velero/node-agent-x1 are torn or not Velero's"),
        "{told}"
    );
}

#[test]
fn a_clock_that_jumps_makes_no_entry_and_no_crash() {
    let body = "time=\"2026-01-01T07:00:04Z\" level=info msg=\"Starting Velero node-agent server v1.17.1 (0)\"\n\
        time=\"2039-01-01T00:00:00Z\" level=info msg=\"Data upload is prepared and should be processed by node-a (node-a)\" dataupload=velero/du-1\n\
        time=\"1970-01-01T00:00:00Z\" level=info msg=\"Exposed snapshot is ready and creating data path routine\" dataupload=velero/du-1\n\
        time=\"-9999-01-01T00:00:00Z\" level=info msg=\"Reconcile du-1\"\n\
        time=\"2026-01-01T08:00:00Z\" level=info msg=\"Reconcile du-1\"\n";
    let snapshot = seen(&[], vec![agent_pod(), prepared()], &[(body, Previous::No)]);
    assert_eq!(snapshot.taken_at, time("2026-01-01T08:00:00Z"));
    let evidence = snapshot.agents[0].evidence.as_ref().unwrap();
    assert!(evidence.entries.is_empty());
    assert_eq!(evidence.waits.len(), 1);
}
