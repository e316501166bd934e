//! What is planned for every release, kind and phase; every refusal; and what holds for every plan.

mod judging;
mod properties;
mod refusals;
mod sight;
mod table;

use serde_json::{Value, json};

use super::*;
use crate::diagnose::diagnose;
use crate::replay::{ReplayOptions, replay};
use crate::snapshot::{Snapshot, SourceType};
use crate::testing::{agent, ago, in_progress, mover, node, prepared, snapshot, task};

/// Gives every object what an API server gives it, and reads it as of a cluster.
pub(super) fn live(mut objects: Vec<Value>) -> Snapshot {
    for (place, object) in objects.iter_mut().enumerate() {
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let meta = &mut object["metadata"];
        if meta["uid"].is_null() {
            meta["uid"] = json!(format!("uid-of-{name}"));
        }
        meta["resourceVersion"] = json!(format!("{}", 1000 + place));
    }
    let mut snapshot = snapshot(&objects);
    snapshot.source.source = SourceType::Cluster;
    snapshot
}

/// The DaemonSet of the agents, of a release.
pub(super) fn daemon_set(tag: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "node-agent", "namespace": "velero", "creationTimestamp": ago(8_640_000)},
        "spec": {"template": {
            "metadata": {"labels": {"component": "velero", "name": "node-agent", "role": "node-agent"}},
            "spec": {"containers": [{
                "name": "node-agent", "image": format!("velero/velero:{tag}"),
                "command": ["/velero"], "args": ["node-agent", "server"]
            }]}
        }},
        "status": {"desiredNumberScheduled": 1, "numberReady": 1}
    })
}

/// One node with its working agent, started ten days ago.
pub(super) fn cluster(tag: &str) -> Vec<Value> {
    vec![
        node("node-a", &json!({})),
        daemon_set(tag),
        agent("node-a", tag, 864_000, &[]),
    ]
}

/// The PVC of a task, bound.
pub(super) fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "velero", "creationTimestamp": ago(7200)},
        "spec": {"volumeName": format!("pv-{name}")},
        "status": {"phase": "Bound"}
    })
}

/// One task that waits beside a free slot for an hour.
pub(super) fn stuck(tag: &str) -> Vec<Value> {
    let mut objects = cluster(tag);
    objects.extend([
        prepared("du-1", "node-a", 3600),
        mover("du-1", "node-a", 3650),
        claim("du-1"),
    ]);
    objects
}

pub(super) fn with_known<T>(snapshot: &Snapshot, then: impl FnOnce(Known<'_, '_>) -> T) -> T {
    let replay = replay(snapshot, ReplayOptions::default());
    let diagnosis = diagnose(snapshot, &replay);
    then(Known {
        snapshot,
        replay: &replay,
        diagnosis: &diagnosis,
    })
}

pub(super) fn nudged(snapshot: &Snapshot, names: &[&str], force: Force) -> Plan {
    let wishes = Wishes {
        force,
        ..Wishes::default()
    };
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    with_known(snapshot, |known| {
        plan_nudge(known, &NudgeTargets::Tasks(names), &wishes).unwrap()
    })
}

pub(super) fn restarted(snapshot: &Snapshot, nodes: &[&str], force: Force) -> Plan {
    let wishes = Wishes {
        force,
        ..Wishes::default()
    };
    let nodes = nodes.iter().map(|name| (*name).to_owned()).collect();
    with_known(snapshot, |known| {
        plan_restart(known, &RestartTargets::Nodes(nodes), &wishes).unwrap()
    })
}

pub(super) fn codes(plan: &Plan) -> Vec<RefusalCode> {
    plan.refusals.iter().map(|refusal| refusal.code).collect()
}

#[test]
fn a_task_beside_a_free_slot_is_nudged_by_its_own_annotation_as_a_probe() {
    let plan = nudged(&live(stuck("v1.17.1")), &["du/du-1"], Force::No);
    assert_eq!(plan.verdict(), Verdict::Allowed, "{:?}", plan.refusals);
    assert!(matches!(
        plan.executable(),
        [Step {
            kind: StepKind::AnnotateTask { .. },
            ..
        }]
    ));
    let Probe::Yes { risk } = &plan.probe else {
        panic!("the cause is not determined: {plan:?}");
    };
    assert!(risk.contains("expose check") && risk.contains("Failed"));
    assert_eq!(plan.expected[0].at_least, 1);
}

#[test]
fn an_accepted_task_is_nudged_by_its_mover_pod() {
    let mut objects = cluster("v1.17.1");
    objects.extend([
        task(
            "DataUpload",
            "du-1",
            "Accepted",
            "",
            &json!({"acceptedTimestamp": ago(600), "acceptedByNode": "node-a"}),
        ),
        mover("du-1", "node-a", 300),
    ]);
    let plan = nudged(&live(objects), &["DataUpload/du-1"], Force::No);
    let [
        Step {
            kind:
                StepKind::AnnotatePod {
                    pod,
                    precondition,
                    task,
                },
            ..
        },
    ] = plan.executable()
    else {
        panic!("{plan:?}");
    };
    assert_eq!((pod.kind.as_str(), pod.name.as_str()), ("Pod", "du-1"));
    assert_eq!(precondition.uid, "pod-du-1");
    assert!(!precondition.resource_version.is_empty());
    assert_eq!(task.name, "du-1");
    assert_eq!(plan.probe, Probe::No);
}

#[test]
fn a_restart_deletes_the_pod_that_was_read_and_nothing_else() {
    let plan = restarted(&live(stuck("v1.17.1")), &["node-a"], Force::No);
    assert_eq!(plan.verdict(), Verdict::Allowed, "{:?}", plan.refusals);
    let [delete, mark] = plan.executable() else {
        panic!("{plan:?}");
    };
    let StepKind::DeletePod {
        pod, precondition, ..
    } = &delete.kind
    else {
        panic!("{delete:?}");
    };
    assert_eq!(pod.name, "node-agent-node-a");
    assert_eq!(precondition.uid, "agent-node-a");
    assert!(
        matches!(&mark.kind, StepKind::MarkReplacement { replaces, .. } if replaces == "agent-node-a")
    );
    assert_eq!(plan.confirmation.by, ConfirmBy::YesNo);
    assert_eq!(
        plan.nodes[0].save_log.as_ref().unwrap().container,
        "node-agent"
    );
    assert!(
        plan.expected
            .iter()
            .any(|expected| expected.what == Expected::Move && expected.at_least == 1)
    );
    assert!(plan.rights.iter().any(|right| {
        (right.verb, right.resource, right.need) == ("delete", "pods", RightNeed::Essential)
    }));
}

#[test]
fn a_restart_on_1_16_counts_every_accepted_task_of_the_namespace_as_lost() {
    let mut objects = stuck("v1.16.2");
    objects.extend([
        node("node-b", &json!({})),
        agent("node-b", "v1.16.2", 864_000, &[]),
        task(
            "DataDownload",
            "dd-far",
            "Accepted",
            "",
            &json!({"acceptedTimestamp": ago(60), "acceptedByNode": "node-b"}),
        ),
    ]);
    let snapshot = live(objects);
    let plan = restarted(&snapshot, &["node-a"], Force::No);
    assert_eq!(plan.verdict(), Verdict::RefusedUnlessForced);
    assert!(plan.executable().is_empty());
    assert_eq!(
        plan.losses()
            .map(|effect| effect.task.name.as_str())
            .collect::<Vec<_>>(),
        ["dd-far"]
    );
    let forced = restarted(&snapshot, &["node-a"], Force::Yes);
    assert_eq!(forced.verdict(), Verdict::Forced);
    assert_eq!(
        forced.confirmation.by,
        ConfirmBy::TypeNodeNames(vec!["node-a".to_owned()])
    );
}

#[test]
fn a_restart_on_1_14_loses_what_runs_and_on_1_17_takes_it_up_again() {
    let of = |tag: &str| {
        let mut objects = stuck(tag);
        objects.push(in_progress("du-2", "node-a", 600));
        objects.extend([mover("du-2", "node-a", 660), claim("du-2")]);
        restarted(&live(objects), &["node-a"], Force::No)
    };
    let effect = |plan: &Plan| {
        plan.effects
            .iter()
            .find(|effect| effect.task.name == "du-2")
            .map(|effect| (effect.effect, effect.is_loss()))
    };
    assert_eq!(effect(&of("v1.14.1")), Some((Effect::Canceled, true)));
    assert_eq!(effect(&of("v1.17.2")), Some((Effect::Resumed, false)));
}

#[test]
fn the_bill_follows_the_release_that_the_daemon_set_would_start() {
    let mut objects = stuck("v1.17.1");
    objects[1] = daemon_set("v1.16.2");
    objects.push(task(
        "DataUpload",
        "du-3",
        "Accepted",
        "",
        &json!({"acceptedTimestamp": ago(60), "acceptedByNode": "node-a"}),
    ));
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    assert_eq!(plan.nodes[0].rules, "v1.16.0");
    assert!(
        plan.nodes[0]
            .rules_doubt
            .as_ref()
            .unwrap()
            .contains("1.16.2")
    );
    assert!(plan.losses().any(|effect| effect.task.name == "du-3"));
}

#[test]
fn what_was_tried_before_is_told_from_annotations_and_events() {
    let mut objects = stuck("v1.17.1");
    objects[3]["metadata"]["annotations"] = json!({
        "velero-slots/nudged-at": ago(900), "velero-slots/reason": "first try"
    });
    objects.push(json!({
        "apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": EVENT_RESTART,
        "metadata": {"name": "e1", "namespace": "velero", "creationTimestamp": ago(1200)},
        "involvedObject": {"kind": "Pod", "namespace": "velero", "name": "node-agent-old", "uid": "old"},
        "message": "node-agent of node node-a restarted: ticket 7", "lastTimestamp": ago(1200)
    }));
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    let told: Vec<_> = plan
        .earlier
        .iter()
        .map(|earlier| {
            (
                earlier.action.as_str(),
                earlier.reason.as_deref(),
                earlier.told_by,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("nudge", Some("first try"), "annotation"),
            ("restart", Some("ticket 7"), "event"),
        ]
    );
    assert!(
        plan.warnings
            .iter()
            .any(|warning| warning.contains("stuck again"))
    );
}

#[test]
fn what_a_step_leaves_behind_is_what_a_later_plan_reads() {
    let plan = restarted(&live(stuck("v1.17.1")), &["node-a"], Force::No);
    let at = plan.taken_at;
    let left = trail(&plan.steps[0], at, Some("ticket 7"));
    assert_eq!(left.note, "node-agent of node node-a restarted: ticket 7");
    assert!(left.annotations.is_empty());
    let marked = trail(&plan.steps[1], at, None);
    assert_eq!(
        marked.annotations[0],
        (crate::snapshot::RESTARTED_AT, at.to_string())
    );
    assert!(marked.about.is_none());
}

#[test]
fn a_name_that_names_nothing_is_told_with_names_like_it() {
    let snapshot = live(stuck("v1.17.1"));
    let wrong = |names: &str| {
        let targets = NudgeTargets::Tasks(vec![names.to_owned()]);
        with_known(&snapshot, |known| {
            plan_nudge(known, &targets, &Wishes::default()).unwrap_err()
        })
    };
    assert_eq!(wrong("du/du-2").near, ["du/du-1"]);
    assert!(wrong("du-1").why.contains("KIND/NAME"));
    assert!(wrong("pvc/du-1").why.contains("kind"));
    let node = with_known(&snapshot, |known| {
        plan_restart(
            known,
            &RestartTargets::Nodes(vec!["node-x".to_owned()]),
            &Wishes::default(),
        )
        .unwrap_err()
    });
    assert_eq!(node.near, ["node-a"]);
}

#[test]
fn all_stuck_takes_the_stuck_nodes_in_order_and_leaves_the_others_alone() {
    let mut objects = stuck("v1.17.1");
    objects.extend([
        node("node-b", &json!({})),
        agent("node-b", "v1.17.1", 864_000, &[]),
        node("node-0", &json!({})),
        agent("node-0", "v1.17.1", 864_000, &[]),
        prepared("du-0", "node-0", 3600),
        mover("du-0", "node-0", 3650),
        claim("du-0"),
    ]);
    let plan = with_known(&live(objects), |known| {
        plan_restart(known, &RestartTargets::AllStuck, &Wishes::default()).unwrap()
    });
    let nodes: Vec<&str> = plan.nodes.iter().map(|node| node.node.as_str()).collect();
    assert_eq!(nodes, ["node-0", "node-a"]);
    let deleted: Vec<_> = plan
        .executable()
        .iter()
        .filter(|step| matches!(step.kind, StepKind::DeletePod { .. }))
        .map(|step| step.node.as_deref().unwrap())
        .collect();
    assert_eq!(deleted, ["node-0", "node-a"]);
}

#[test]
fn a_restart_that_leaves_an_accepted_task_unobserved_is_followed_up_by_its_pod() {
    let accepted = task(
        "DataUpload",
        "du-9",
        "Accepted",
        "",
        &json!({"acceptedTimestamp": ago(100), "acceptedByNode": "node-b"}),
    );
    let mut before = stuck("v1.17.1");
    before.extend([accepted.clone(), mover("du-9", "node-a", 20)]);
    before.extend([
        node("node-b", &json!({})),
        agent("node-b", "v1.17.1", 864_000, &[]),
    ]);
    let plan = restarted(&live(before.clone()), &["node-a"], Force::No);
    assert_eq!(plan.follow_ups.len(), 1, "{:?}", plan.effects);
    // The new agent started after the pod: it will never hear of it.
    let mut after = before;
    after[2] = agent("node-a", "v1.17.1", 5, &[]);
    let steps = with_known(&live(after.clone()), |known| follow_up(&plan, known));
    assert!(
        matches!(&steps[..], [Step { kind: StepKind::AnnotatePod { pod, .. }, .. }] if pod.name == "du-9")
    );
    // Another pod of the same name is not the one that the plan showed.
    let last = after
        .iter()
        .position(|object| object["metadata"]["uid"] == "pod-du-9")
        .unwrap();
    after[last]["metadata"]["uid"] = json!("another");
    assert!(with_known(&live(after), |known| follow_up(&plan, known)).is_empty());
}

#[test]
fn a_pod_that_has_only_just_begun_to_run_is_waited_for() {
    let mut objects = stuck("v1.17.1");
    objects.extend([
        task(
            "DataUpload",
            "du-9",
            "Accepted",
            "",
            &json!({"acceptedTimestamp": ago(100), "acceptedByNode": "node-a"}),
        ),
        mover("du-9", "node-a", 5),
    ]);
    let plan = restarted(&live(objects.clone()), &["node-a"], Force::Yes);
    // The new agent was there when the pod began to run: it may have noticed it.
    objects[2] = agent("node-a", "v1.17.1", 20, &[]);
    with_known(&live(objects), |known| {
        assert!(follow_up(&plan, known).is_empty());
        let open = follow_up_open(&plan, known);
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].task.name, "du-9");
    });
}

#[test]
fn what_an_old_agent_runs_itself_is_lost_to_the_restart_that_upgrades_it() {
    let mut objects = stuck("v1.14.1");
    objects[1] = daemon_set("v1.17.2");
    objects.extend([
        in_progress("du-2", "node-a", 600),
        mover("du-2", "node-a", 660),
        claim("du-2"),
    ]);
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    let effect = plan
        .effects
        .iter()
        .find(|effect| effect.task.name == "du-2")
        .map(|effect| (effect.effect, effect.is_loss()));
    assert_eq!(effect, Some((Effect::Stranded, true)));
    assert!(codes(&plan).contains(&RefusalCode::TasksWouldBeLost));

    let mut objects = stuck("v1.16.2");
    objects[1] = daemon_set("v1.17.2");
    let mut backup = in_progress("pvb-1", "node-a", 600);
    backup["kind"] = json!("PodVolumeBackup");
    backup["apiVersion"] = json!("velero.io/v1");
    backup["spec"] = json!({"node": "node-a", "uploaderType": "kopia"});
    objects.push(backup);
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    let effect = plan
        .effects
        .iter()
        .find(|effect| effect.task.name == "pvb-1")
        .map(|effect| (effect.effect, effect.is_loss()));
    assert_eq!(effect, Some((Effect::Canceled, true)));
}

/// What a restart does to one task, and whether that is a loss.
fn effect_on(plan: &Plan, name: &str) -> Option<(Effect, bool)> {
    let effect = plan.effects.iter().find(|effect| effect.task.name == name);
    effect.map(|effect| (effect.effect, effect.is_loss()))
}

#[test]
fn tasks_with_a_pod_that_only_pauses_are_lost_to_the_restart_that_upgrades_their_agent() {
    let accepted = || {
        let status = json!({"startTimestamp": ago(60)});
        let mut accepted = task("DataUpload", "du-3", "Accepted", "node-a", &status);
        accepted["metadata"]["labels"] = json!({"velero.io/accepted-by": "node-a"});
        accepted
    };
    let mut objects = stuck("v1.14.1");
    objects[1] = daemon_set("v1.17.2");
    objects.extend([accepted(), mover("du-3", "node-a", 50)]);
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    assert_eq!(effect_on(&plan, "du-1"), Some((Effect::Stranded, true)));
    assert_eq!(effect_on(&plan, "du-3"), Some((Effect::Stranded, true)));
    assert_eq!(plan.follow_ups, Vec::new());
    assert_eq!(plan.expected, Vec::new());
    assert!(codes(&plan).contains(&RefusalCode::TasksWouldBeLost));

    // v1.16 cancels what is Accepted before it can wait for such a pod.
    let mut objects = stuck("v1.14.1");
    objects[1] = daemon_set("v1.16.2");
    objects.extend([accepted(), mover("du-3", "node-a", 50)]);
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    assert_eq!(effect_on(&plan, "du-1"), Some((Effect::Stranded, true)));
    assert_eq!(effect_on(&plan, "du-3"), Some((Effect::Canceled, true)));
}

#[test]
fn pod_volumes_beyond_new_are_lost_to_the_restart_that_goes_back_before_v1_17() {
    let backup = |name: &str, phase: &str| {
        let mut backup = task(
            "PodVolumeBackup",
            name,
            phase,
            "node-a",
            &json!({"acceptedTimestamp": ago(120)}),
        );
        backup["spec"] = json!({"node": "node-a", "uploaderType": "kopia"});
        let mut pod = mover(name, "node-a", 100);
        pod["metadata"]["labels"] = json!({"velero.io/pod-volume-backup": name});
        [backup, pod]
    };
    let mut objects = stuck("v1.17.1");
    objects[1] = daemon_set("v1.16.2");
    objects.extend(backup("pvb-1", "Prepared"));
    objects.extend(backup("pvb-2", "Accepted"));
    objects.extend(backup("pvb-3", "New"));
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    assert_eq!(effect_on(&plan, "pvb-1"), Some((Effect::Stranded, true)));
    assert_eq!(effect_on(&plan, "pvb-2"), Some((Effect::Stranded, true)));
    assert_eq!(
        effect_on(&plan, "pvb-3"),
        Some((Effect::StartsAgain, false))
    );
    assert_eq!(plan.follow_ups, Vec::new());
    let expected: Vec<&str> = plan
        .expected
        .iter()
        .flat_map(|expected| &expected.tasks)
        .map(|task| task.name.as_str())
        .collect();
    assert!(!expected.contains(&"pvb-1"), "{expected:?}");
}

#[test]
fn v1_12_cancels_a_prepared_task_only_where_its_pod_is() {
    let mut objects = stuck("v1.12.1");
    let plan = restarted(&live(objects.clone()), &["node-a"], Force::No);
    assert_eq!(
        effect_on(&plan, "du-1").map(|(effect, _)| effect),
        Some(Effect::Canceled)
    );
    objects.retain(|object| object["kind"] != "Pod" || object["metadata"]["name"] != "du-1");
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    assert_eq!(effect_on(&plan, "du-1"), Some((Effect::StartsAgain, false)));
}

#[test]
fn what_is_broken_and_ended_by_a_restart_must_be_backed_up_again() {
    let mut lost = in_progress("du-2", "node-a", 7200);
    lost["metadata"]["managedFields"][0]["time"] = json!(ago(3600));
    lost["status"]["progress"] = json!({"bytesDone": 9, "totalBytes": 9});
    let mut objects = stuck("v1.17.1");
    objects.push(lost);
    let plan = restarted(&live(objects), &["node-a"], Force::No);
    assert!(
        plan.warnings
            .iter()
            .any(|warning| warning.contains("again: DataUpload/du-2")),
        "{:?} {:?}",
        plan.warnings,
        plan.effects
    );
}

#[test]
fn a_task_that_has_done_all_and_holds_no_slot_is_to_be_cancelled_and_not_restarted() {
    let mut lost = in_progress("du-2", "node-a", 7200);
    lost["metadata"]["managedFields"][0]["time"] = json!(ago(3600));
    lost["status"]["progress"] = json!({"bytesDone": 9, "totalBytes": 9});
    let mut objects = stuck("v1.17.1");
    objects.push(lost);
    let snapshot = live(objects);
    let plan = nudged(&snapshot, &["du/du-2"], Force::No);
    let first = plan.refusals[0].instead[0].command.as_deref().unwrap();
    assert!(first.starts_with("kubectl patch"), "{:?}", plan.refusals);
}
