//! Every reason to refuse, each with the smallest input that gives it.

use std::collections::BTreeSet;

use super::*;

fn accepted(name: &str) -> Value {
    task(
        "DataUpload",
        name,
        "Accepted",
        "",
        &json!({"acceptedTimestamp": ago(600), "acceptedByNode": "node-a"}),
    )
}

/// An agent whose log shows a slot that was taken and never given back.
fn stuck_and(change: impl FnOnce(&mut Vec<Value>)) -> Snapshot {
    let mut objects = stuck("v1.17.1");
    change(&mut objects);
    live(objects)
}

/// Every refusal, with the plan that shows it.
fn cases() -> Vec<(RefusalCode, Plan)> {
    let nudge = |snapshot: &Snapshot, name: &str| nudged(snapshot, &[name], Force::No);
    let restart = |snapshot: &Snapshot| restarted(snapshot, &["node-a"], Force::No);
    let mut offline = live(stuck("v1.17.1"));
    offline.source.source = SourceType::Files;
    let mut all = vec![
        (RefusalCode::Offline, restart(&offline)),
        (
            RefusalCode::NothingStuck,
            restart(&live(cluster("v1.17.1"))),
        ),
        (
            RefusalCode::TaskFinal,
            nudge(
                &stuck_and(|objects| {
                    objects.push(crate::testing::completed("du-2", "node-a", 900, 800));
                }),
                "du/du-2",
            ),
        ),
        (
            RefusalCode::ForeignDataMover,
            nudge(
                &stuck_and(|objects| objects[3]["spec"]["datamover"] = json!("other")),
                "du/du-1",
            ),
        ),
        (
            RefusalCode::NormalQueue,
            nudge(
                &stuck_and(|objects| {
                    objects.extend([
                        in_progress("du-2", "node-a", 600),
                        mover("du-2", "node-a", 660),
                        claim("du-2"),
                    ]);
                }),
                "du/du-1",
            ),
        ),
        (
            RefusalCode::MoverPodLost,
            nudge(
                &stuck_and(|objects| {
                    let mut lost = in_progress("du-2", "node-a", 7200);
                    lost["metadata"]["managedFields"][0]["time"] = json!(ago(3600));
                    objects.push(lost);
                }),
                "du/du-2",
            ),
        ),
        (
            RefusalCode::NoWorkingAgent,
            nudge(
                &stuck_and(|objects| {
                    objects[2]["status"]["containerStatuses"][0]["ready"] = json!(false);
                }),
                "du/du-1",
            ),
        ),
        (
            RefusalCode::NoTouchHelps,
            nudge(
                &stuck_and(|objects| {
                    objects.extend([
                        in_progress("du-2", "node-a", 600),
                        mover("du-2", "node-a", 660),
                        claim("du-2"),
                    ]);
                }),
                "du/du-2",
            ),
        ),
        (
            RefusalCode::ExposeBlocked,
            nudge(
                &stuck_and(|objects| {
                    let mut pod = mover("du-2", "node-a", 60);
                    pod["status"] = json!({"phase": "Pending"});
                    objects.extend([accepted("du-2"), pod]);
                }),
                "du/du-2",
            ),
        ),
        (
            RefusalCode::RestoreTarget,
            nudge(
                &stuck_and(|objects| {
                    let mut download = task("DataDownload", "dd-1", "", "", &json!({}));
                    download["spec"] =
                        json!({"targetVolume": {"namespace": "velero", "pvc": "absent"}});
                    objects.push(download);
                }),
                "dd/dd-1",
            ),
        ),
        (
            RefusalCode::TaskDoomed,
            nudge(&stuck_and(|objects| drop(objects.remove(4))), "du/du-1"),
        ),
        (
            RefusalCode::NodeGone,
            restart(&stuck_and(|objects| {
                objects[0] = node("node-z", &json!({}));
                objects[2]["status"]["containerStatuses"][0]["ready"] = json!(false);
            })),
        ),
        (
            RefusalCode::NoAgentPod,
            restart(&stuck_and(|objects| {
                objects[2] = agent("node-b", "v1.17.1", 864_000, &[]);
            })),
        ),
        (
            RefusalCode::AlreadyRestarting,
            restart(&stuck_and(|objects| {
                objects[2]["metadata"]["deletionTimestamp"] = json!(ago(10));
            })),
        ),
        (
            RefusalCode::ConfigWouldCrash,
            restart(&stuck_and(|objects| {
                objects[1]["spec"]["template"]["spec"]["containers"][0]["args"] =
                    json!(["node-agent", "server", "--node-agent-configmap=na"]);
                objects.push(crate::testing::config_map("na", "{ not json", 60));
            })),
        ),
        (
            RefusalCode::NotRecreated,
            restart(&stuck_and(|objects| {
                objects[2]["metadata"]["ownerReferences"] = json!([]);
            })),
        ),
        (
            RefusalCode::OtherFindingFirst,
            restart(&stuck_and(|objects| {
                objects[0]["status"]["conditions"][0]["status"] = json!("False");
                objects[0]["status"]["conditions"][0]["lastTransitionTime"] = json!(ago(900));
            })),
        ),
        (
            RefusalCode::TasksWouldBeLost,
            restart(&{
                let mut objects = stuck("v1.16.2");
                objects.push(accepted("du-2"));
                live(objects)
            }),
        ),
        (
            RefusalCode::PrepareQueueFull,
            nudge(&queue_full(), "du/du-2"),
        ),
    ];
    let mut without_uid = live(stuck("v1.17.1"));
    for agent in &mut without_uid.agents {
        agent.pod.resource_version = None;
    }
    all.push((RefusalCode::NoPrecondition, restart(&without_uid)));
    all.push((RefusalCode::NotKnown, nudge(&odd_phase(), "du/du-1")));
    all.push((RefusalCode::GhostSlot, nudge(&ghost(), "du/du-1")));
    all
}

fn odd_phase() -> Snapshot {
    stuck_and(|objects| objects[3]["status"]["phase"] = json!("Odd"))
}

/// The mover pod of a task that ended still runs.
fn ghost() -> Snapshot {
    stuck_and(|objects| {
        objects.extend([
            crate::testing::completed("du-0", "node-a", 9000, 5000),
            mover("du-0", "node-a", 9000),
        ]);
    })
}

fn queue_full() -> Snapshot {
    let mut objects = stuck("v1.17.1");
    objects[2] = agent("node-a", "v1.17.1", 864_000, &["--node-agent-configmap=na"]);
    objects.push(crate::testing::config_map(
        "na",
        r#"{"loadConcurrency": {"globalConfig": 1, "prepareQueueLength": 1}}"#,
        8_000_000,
    ));
    objects.push(task("DataUpload", "du-2", "", "", &json!({})));
    live(objects)
}

#[test]
fn every_refusal_has_a_case_and_says_what_to_do_instead() {
    let mut seen = BTreeSet::new();
    for (code, plan) in cases() {
        assert!(
            codes(&plan).contains(&code),
            "{} is not among {:?}",
            code.as_str(),
            plan.refusals
        );
        assert!(plan.executable().is_empty(), "{}", code.as_str());
        for refusal in &plan.refusals {
            assert!(!refusal.reason.is_empty() && !refusal.reason.ends_with('.'));
            let says = matches!(
                refusal.code,
                RefusalCode::Offline | RefusalCode::NoPrecondition | RefusalCode::TaskDoomed
            ) || !refusal.instead.is_empty();
            assert!(says || refusal.code == RefusalCode::NotKnown, "{refusal:?}");
            seen.insert(refusal.code);
        }
    }
    let missing: Vec<_> = RefusalCode::ALL
        .iter()
        .filter(|code| !seen.contains(code))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn force_makes_the_touch_that_is_not_expected_to_help_and_never_what_cannot_be_done() {
    for (code, plan) in cases() {
        let never = plan
            .refusals
            .iter()
            .any(|refusal| refusal.by == Override::Never);
        let forced = Plan {
            force: Force::Yes,
            ..plan
        };
        assert_eq!(
            forced.executable().is_empty(),
            never || forced.steps.is_empty(),
            "{}",
            code.as_str()
        );
    }
    let forced = nudged(&ghost(), &["du/du-1"], Force::Yes);
    assert_eq!(forced.verdict(), Verdict::Forced);
    assert_eq!(forced.executable().len(), 1);
}
