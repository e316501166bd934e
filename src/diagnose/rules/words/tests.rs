use super::{cancel, describe_pod, names, short, span, tasks};
use crate::diagnose::paste::NO_NAME;
use crate::velero::{TaskKind, TaskRef};

fn task(kind: TaskKind, name: &str) -> TaskRef {
    TaskRef {
        kind,
        namespace: "velero".to_owned(),
        name: name.to_owned(),
    }
}

#[test]
fn a_sentence_names_three_and_counts_the_rest() {
    assert_eq!(names(["a"]), "a");
    assert_eq!(names(["a", "b"]), "a and b");
    assert_eq!(names(["a", "b", "c"]), "a, b and c");
    assert_eq!(names(["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
}

#[test]
fn tasks_of_one_kind_are_called_by_it() {
    let one = task(TaskKind::DataUpload, "du-1");
    let two = task(TaskKind::DataUpload, "du-2");
    let other = task(TaskKind::PodVolumeBackup, "pvb-1");
    assert_eq!(tasks(std::slice::from_ref(&one)), "DataUpload du-1");
    assert_eq!(tasks(&[one.clone(), two]), "2 DataUploads (du-1 and du-2)");
    assert_eq!(tasks(&[one, other]), "2 tasks (du-1 and pvb-1)");
}

#[test]
fn spans_read_as_kubectl_writes_them() {
    assert_eq!(span(-5), "0s");
    assert_eq!(span(119), "119s");
    assert_eq!(span(120), "2m");
    assert_eq!(span(3 * 3600), "3h");
    assert_eq!(span(48 * 3600), "2d");
}

#[test]
fn a_long_message_is_cut_between_characters() {
    assert_eq!(short("one\n  two."), "one two");
    let long = "ü".repeat(500);
    assert_eq!(short(&long).chars().count(), 161);
}

#[test]
fn a_command_names_only_what_kubernetes_would_take_as_a_name() {
    let good = task(TaskKind::DataUpload, "du-1");
    for hostile in ["x'; touch /tmp/y; echo '", "$(id)", "--all", "a\nb"] {
        let bad = task(TaskKind::DataUpload, hostile);
        for action in cancel(&[good.clone(), bad], "", "") {
            assert!(action.command.contains(NO_NAME), "{}", action.command);
            assert!(!action.command.contains(hostile), "{}", action.command);
        }
        assert_eq!(
            describe_pod(hostile).command,
            format!("kubectl describe pod {{ns}} {NO_NAME}")
        );
    }
    assert_eq!(
        describe_pod("du-1").command,
        "kubectl describe pod {ns} du-1"
    );
}
