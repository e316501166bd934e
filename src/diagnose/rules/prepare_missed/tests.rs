use super::super::example::*;
use super::check;
use crate::diagnose::case::CouldBe;
use crate::diagnose::finding::{Confidence, Severity};
use crate::replay::DeadlineWhat;

#[test]
fn a_pod_that_runs_for_over_a_minute_beside_an_accepted_task_was_missed() {
    let found = |seconds| {
        let objects = [
            node("node-a"),
            agent("node-a"),
            accepted("du-1", 600),
            running_mover("du-1", seconds),
        ];
        propose(check, objects).findings
    };
    assert!(found(60).is_empty());
    let found = found(61);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Critical);
    assert_eq!(found[0].node.as_deref(), Some("node-a"));
    assert_eq!(task_names(&found[0]), ["du-1"]);
    assert_eq!(found[0].since, Some(ago(61).parse().unwrap()));
    let deadline = found[0].deadline.clone().unwrap();
    assert_eq!(deadline.what, DeadlineWhat::PrepareTimeout);
    assert_eq!(deadline.at, ago(-1200).parse().unwrap());
    assert!(
        found[0].actions[0]
            .command
            .starts_with("kubectl velero-slots nudge DataUpload/du-1 {ns}")
    );
}

#[test]
fn tasks_of_one_node_are_one_finding() {
    let objects = [
        node("node-a"),
        agent("node-a"),
        accepted("du-1", 600),
        running_mover("du-1", 300),
        accepted("du-2", 600),
        running_mover("du-2", 200),
    ];
    let found = propose(check, objects).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(task_names(&found[0]), ["du-1", "du-2"]);
    assert!(
        found[0].actions[0]
            .command
            .contains("nudge DataUpload/du-1 DataUpload/du-2 {ns}")
    );
}

#[test]
fn all_kinds_listed_make_it_certain_and_a_missing_one_likely() {
    let mut objects = vec![
        node("node-a"),
        agent("node-a"),
        accepted("du-1", 600),
        running_mover("du-1", 300),
    ];
    let likely = propose(check, objects.clone()).findings;
    assert_eq!(likely[0].confidence, Confidence::Likely);
    objects.push(task("DataDownload", "dd-1", "Completed"));
    objects.push(task("PodVolumeBackup", "pvb-1", "Completed"));
    objects.push(task("PodVolumeRestore", "pvr-1", "Completed"));
    let certain = propose(check, objects).findings;
    assert_eq!(certain[0].confidence, Confidence::Certain);
}

#[test]
fn a_pending_pod_and_a_prepared_task_are_none() {
    let pending = with(mover("du-1", "Pending", 600), "spec.nodeName", "node-a");
    let prepared = with(accepted("du-2", 600), "status.phase", "Prepared");
    let objects = [
        node("node-a"),
        agent("node-a"),
        accepted("du-1", 600),
        pending,
        prepared,
        running_mover("du-2", 300),
    ];
    assert!(propose(check, objects).findings.is_empty());
}

#[test]
fn pods_that_cannot_be_read_leave_it_open() {
    let told = propose(check, [accepted("du-1", 600)]);
    assert!(told.findings.is_empty());
    assert_eq!(told.inconclusive[0].could_be, CouldBe::Critical);
}
