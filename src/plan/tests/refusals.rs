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
    let spared = all_stuck(&live(two_beside_a_free_slot()));
    seen.extend(spared.left_out.iter().map(|left| left.refusal.code));
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

fn all_stuck(snapshot: &Snapshot) -> Plan {
    with_known(snapshot, |known| {
        plan_nudge(known, &NudgeTargets::AllStuck, &Wishes::default()).unwrap()
    })
}

/// Two tasks of one node wait beside a free slot, and one of another node.
fn two_beside_a_free_slot() -> Vec<Value> {
    let mut objects = stuck("v1.17.1");
    objects.extend([
        prepared("du-2", "node-a", 3600),
        mover("du-2", "node-a", 3650),
        claim("du-2"),
        node("node-b", &json!({})),
        agent("node-b", "v1.17.1", 864_000, &[]),
        prepared("du-3", "node-b", 3600),
        mover("du-3", "node-b", 3650),
        claim("du-3"),
    ]);
    objects
}

#[test]
fn while_the_cause_is_open_one_task_of_each_node_and_pool_is_probed() {
    let plan = all_stuck(&live(two_beside_a_free_slot()));
    let touched: Vec<&str> = plan
        .executable()
        .iter()
        .filter_map(|step| step.task())
        .map(|task| task.name.as_str())
        .collect();
    assert_eq!(touched, ["du-1", "du-3"]);
    let left: Vec<_> = plan
        .left_out
        .iter()
        .map(|left| (left.task.as_ref().unwrap().name.as_str(), left.refusal.code))
        .collect();
    assert_eq!(left, [("du-2", RefusalCode::ProbedByAnother)]);
    assert!(plan.left_out[0].refusal.reason.contains("du-1"));
}

#[test]
fn a_plan_from_files_that_is_only_shown_is_not_refused_for_being_offline() {
    let mut offline = live(stuck("v1.17.1"));
    offline.source.source = SourceType::Files;
    let plan = |intent| {
        let wishes = Wishes {
            intent,
            ..Wishes::default()
        };
        let nodes = RestartTargets::Nodes(vec!["node-a".to_owned()]);
        with_known(&offline, |known| {
            plan_restart(known, &nodes, &wishes).unwrap()
        })
    };
    assert_eq!(plan(Intent::Show).verdict(), Verdict::Allowed);
    assert_eq!(plan(Intent::CarryOut).verdict(), Verdict::Refused);
}

fn instead(plan: &Plan) -> Vec<&str> {
    plan.refusals
        .iter()
        .flat_map(|refusal| &refusal.instead)
        .filter_map(|instead| instead.command.as_deref())
        .collect()
}

/// A task with its mover pod gone for an hour, its cancel requested.
fn lost(phase: &str) -> Snapshot {
    let mut lost = in_progress("du-2", "node-a", 7200);
    lost["metadata"]["managedFields"][0]["time"] = json!(ago(3600));
    lost["status"]["phase"] = json!(phase);
    lost["spec"]["cancel"] = json!(true);
    let mut objects = cluster("v1.17.1");
    objects.push(lost);
    live(objects)
}

#[test]
fn a_task_without_its_mover_pod_is_not_nudged_whatever_its_cancel() {
    for phase in ["InProgress", "Canceling"] {
        let plan = nudged(&lost(phase), &["du/du-2"], Force::No);
        assert_eq!(codes(&plan), [RefusalCode::MoverPodLost], "{phase}");
        assert!(
            instead(&plan)
                .iter()
                .any(|command| command.contains("restart --node node-a")),
            "{phase}: {:?}",
            plan.refusals
        );
    }
}

#[test]
fn a_cancel_that_is_forced_warns_of_the_slot_that_it_leaves_held() {
    let mut running = in_progress("du-2", "node-a", 7200);
    running["metadata"]["managedFields"][0]["time"] = json!(ago(3600));
    running["status"]["phase"] = json!("Canceling");
    running["spec"]["cancel"] = json!(true);
    let mut objects = cluster("v1.17.1");
    objects.extend([running, mover("du-2", "node-a", 7300), claim("du-2")]);
    let plan = nudged(&live(objects), &["du/du-2"], Force::No);
    assert!(!plan.executable().is_empty(), "{plan:?}");
    assert!(
        plan.warnings
            .iter()
            .any(|warning| warning.contains("its slot stays held")),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn a_cancel_on_1_13_warns_that_any_agent_may_carry_it_out() {
    let of = |tag: &str| {
        let mut running = in_progress("du-2", "node-a", 7200);
        running["spec"]["cancel"] = json!(true);
        let mut objects = cluster(tag);
        objects.extend([running, mover("du-2", "node-a", 7300), claim("du-2")]);
        let plan = nudged(&live(objects), &["du/du-2"], Force::No);
        assert!(!plan.executable().is_empty(), "{tag}: {plan:?}");
        plan.warnings
            .iter()
            .any(|warning| warning.contains("any node-agent may mark"))
    };
    assert!(of("v1.13.2"));
    assert!(!of("v1.17.1"));
}

#[test]
fn a_pod_volume_without_a_mover_pod_is_nudged_without_a_word_of_the_expose_check() {
    let backup = |name: &str| {
        let mut backup = task("PodVolumeBackup", name, "", "", &json!({}));
        backup["spec"] = json!({"node": "node-a", "uploaderType": "kopia"});
        backup
    };
    let mut objects = cluster("v1.16.2");
    objects.push(backup("pvb-1"));
    let plan = nudged(&live(objects), &["pvb/pvb-1"], Force::No);
    assert!(!plan.executable().is_empty(), "{plan:?}");
    let Probe::Yes { risk } = &plan.probe else {
        panic!("{plan:?}");
    };
    assert!(!risk.contains("expose"), "{risk}");
    assert!(
        plan.warnings
            .iter()
            .all(|warning| !warning.contains("expose")),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn the_pools_of_1_12_are_expected_to_move_each_on_its_own() {
    let mut download = prepared("dd-1", "node-a", 3600);
    download["kind"] = json!("DataDownload");
    let mut pod = mover("dd-1", "node-a", 3650);
    pod["metadata"]["labels"] = json!({"velero.io/data-download": "dd-1"});
    let mut objects = stuck("v1.12.4");
    objects.extend([download, pod, claim("dd-1")]);
    let plan = nudged(&live(objects), &["du/du-1", "dd/dd-1"], Force::No);
    let expected: Vec<_> = plan
        .expected
        .iter()
        .map(|expected| (expected.tasks.len(), expected.at_least))
        .collect();
    assert_eq!(expected, [(1, 1), (1, 1)], "{plan:?}");
}

#[test]
fn a_config_map_that_does_not_exist_is_not_to_be_edited() {
    let plan = restarted(
        &stuck_and(|objects| {
            objects[1]["spec"]["template"]["spec"]["containers"][0]["args"] =
                json!(["node-agent", "server", "--node-agent-configmap=na"]);
            objects.push(crate::testing::config_map("other", "{}", 60));
        }),
        &["node-a"],
        Force::No,
    );
    assert_eq!(codes(&plan), [RefusalCode::ConfigWouldCrash], "{plan:?}");
    let instead = instead(&plan);
    assert_eq!(instead, ["kubectl get configmap {ns}"]);
}

#[test]
fn what_keeps_every_stuck_node_back_is_told_with_its_own_code_and_what_overrides_it() {
    let mut objects = stuck("v1.16.2");
    objects.push(task(
        "DataUpload",
        "du-3",
        "Accepted",
        "",
        &json!({"acceptedTimestamp": ago(60), "acceptedByNode": "node-b"}),
    ));
    let snapshot = live(objects);
    let of = |force| {
        let wishes = Wishes {
            force,
            ..Wishes::default()
        };
        with_known(&snapshot, |known| {
            plan_restart(known, &RestartTargets::AllStuck, &wishes).unwrap()
        })
    };
    let plan = of(Force::No);
    let [refusal] = plan.refusals.as_slice() else {
        panic!("one refusal, got {:?}", plan.refusals);
    };
    assert_eq!(
        (refusal.code, refusal.by),
        (RefusalCode::TasksWouldBeLost, Override::Force)
    );
    assert!(refusal.reason.contains("node-a: "), "{}", refusal.reason);
    let instead: Vec<&str> = refusal
        .instead
        .iter()
        .map(|one| one.effect.as_str())
        .collect();
    assert!(
        instead.iter().any(|effect| effect.starts_with("--force")),
        "{instead:?}"
    );
    assert_eq!(of(Force::Yes).nodes.len(), 1);
}

#[test]
fn a_restart_that_is_refused_for_good_promises_nothing() {
    let mut objects = stuck("v1.17.1");
    objects[1] = daemon_set("v1.17.1");
    let good = restarted(&live(objects.clone()), &["node-a"], Force::No);
    assert!(!good.expected.is_empty());
    objects.retain(|object| {
        object["kind"] != "Pod" || object["metadata"]["labels"]["name"] != "node-agent"
    });
    let plan = restarted(&live(objects), &["node-a"], Force::Yes);
    assert!(
        plan.refusals
            .iter()
            .any(|refusal| refusal.by == Override::Never),
        "{:?}",
        plan.refusals
    );
    assert_eq!(plan.expected, Vec::new());
}

#[test]
fn on_v1_12_another_kinds_broken_holder_is_not_what_a_task_waits_for() {
    let volume = |name: &str, phase: &str, status: &Value| {
        let mut backup = task("PodVolumeBackup", name, phase, "node-a", status);
        backup["spec"] = json!({"node": "node-a", "uploaderType": "kopia"});
        backup
    };
    // Its pod is gone for an hour: it is broken, and holds the slot of the DataUploads.
    let mut lost = in_progress("du-2", "node-a", 7200);
    lost["metadata"]["managedFields"][0]["time"] = json!(ago(3600));
    let of = |tag: &str| {
        let mut objects = cluster(tag);
        let two = r#"{"loadConcurrency":{"globalConfig":2}}"#;
        objects.push(crate::testing::config_map(
            "node-agent-config",
            two,
            8_640_000,
        ));
        objects.extend([
            lost.clone(),
            volume("pvb-1", "InProgress", &json!({"startTimestamp": ago(60)})),
            volume("pvb-2", "New", &json!({})),
        ]);
        let plan = nudged(&live(objects), &["pvb/pvb-2"], Force::Yes);
        assert_eq!(
            plan.probe,
            Probe::Yes {
                risk: "the cause is not determined: the look shows it".to_owned()
            }
        );
        codes(&plan)
    };
    assert_eq!(of("v1.12.4"), [RefusalCode::NormalQueue]);
    assert_eq!(of("v1.14.1"), [RefusalCode::OtherFindingFirst]);
}

#[test]
fn a_restart_is_refused_where_a_taint_keeps_the_new_pod_off() {
    let taint = |effect: &str| {
        let mut objects = stuck("v1.17.1");
        objects[0]["spec"] = json!({"taints": [{"key": "gpu", "value": "yes", "effect": effect}]});
        objects
    };
    let plan = restarted(&live(taint("NoSchedule")), &["node-a"], Force::Yes);
    assert_eq!(plan.verdict(), Verdict::Refused);
    assert!(plan.executable().is_empty());
    let refusal = &plan.refusals[0];
    assert_eq!(refusal.code, RefusalCode::NotRecreated);
    assert!(
        refusal.reason.contains("gpu=yes:NoSchedule"),
        "{}",
        refusal.reason
    );
    let soft = restarted(&live(taint("PreferNoSchedule")), &["node-a"], Force::No);
    assert_eq!(soft.verdict(), Verdict::Allowed, "{:?}", soft.refusals);
    let mut tolerated = taint("NoSchedule");
    tolerated[1]["spec"]["template"]["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    let plan = restarted(&live(tolerated), &["node-a"], Force::No);
    assert_eq!(plan.verdict(), Verdict::Allowed, "{:?}", plan.refusals);
}

#[test]
fn taints_that_could_not_be_read_are_a_warning() {
    let mut snapshot = live(stuck("v1.17.1"));
    snapshot.nodes.clear();
    snapshot.coverage.insert(
        (crate::snapshot::ResourceKind::Node, String::new()),
        crate::snapshot::Coverage::Unreadable(crate::capture::GapReason::Forbidden),
    );
    let plan = restarted(&snapshot, &["node-a"], Force::No);
    assert!(
        plan.warnings
            .iter()
            .any(|warning| warning.contains("the taints of node node-a could not be read")),
        "{:?}",
        plan.warnings
    );
}
