//! What holds for every plan, whatever the state.

use super::*;
use crate::velero::ObjectRef;
use proptest::prelude::*;

const TAGS: [&str; 8] = [
    "v1.12.0", "v1.13.2", "v1.14.1", "v1.15.2", "v1.16.2", "v1.17.2", "v1.18.2", "main",
];
const KINDS: [&str; 4] = [
    "DataUpload",
    "DataDownload",
    "PodVolumeBackup",
    "PodVolumeRestore",
];
const PHASES: [&str; 8] = [
    "",
    "Accepted",
    "Prepared",
    "InProgress",
    "Canceling",
    "Completed",
    "Failed",
    "Odd",
];

type Numbers = (usize, usize, u8, bool, bool);

/// A cluster of two nodes with tasks of any kind in any phase, with and without pods.
fn objects(tag: usize, tasks: &[Numbers], second_works: bool) -> Vec<Value> {
    let tag = TAGS[tag % TAGS.len()];
    let mut all = cluster(tag);
    all.push(node("node-b", &json!({})));
    if second_works {
        all.push(agent("node-b", tag, 864_000, &[]));
    }
    for (number, (kind, phase, pod, cancel, far)) in tasks.iter().enumerate() {
        let name = format!("t-{number}");
        let on = if *far { "node-b" } else { "node-a" };
        let kind = KINDS[kind % KINDS.len()];
        let mut object = task(
            kind,
            &name,
            PHASES[phase % PHASES.len()],
            on,
            &json!({"acceptedTimestamp": ago(1200), "acceptedByNode": on}),
        );
        if *cancel {
            object["spec"]["cancel"] = json!(true);
        }
        if pod % 3 > 0 {
            let mut pod_object = mover(&name, on, 1100);
            if pod % 3 == 2 {
                pod_object["status"]["phase"] = json!("Pending");
            }
            all.push(pod_object);
            all.push(claim(&name));
        }
        all.push(object);
    }
    all
}

fn plans(snapshot: &Snapshot, force: Force) -> Vec<Plan> {
    let wishes = Wishes {
        force,
        ..Wishes::default()
    };
    let names: Vec<String> = snapshot
        .tasks
        .keys()
        .map(|task| format!("{}/{}", task.kind, task.name))
        .collect();
    with_known(snapshot, |known| {
        let mut all = vec![
            plan_nudge(known, &NudgeTargets::AllStuck, &wishes).unwrap(),
            plan_restart(known, &RestartTargets::AllStuck, &wishes).unwrap(),
        ];
        for node in ["node-a", "node-b"] {
            let node = vec![node.to_owned()];
            all.push(plan_restart(known, &RestartTargets::Nodes(node.clone()), &wishes).unwrap());
            all.push(plan_nudge(known, &NudgeTargets::Nodes(node), &wishes).unwrap());
        }
        for name in &names {
            all.push(plan_nudge(known, &NudgeTargets::Tasks(vec![name.clone()]), &wishes).unwrap());
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_plan_writes_only_what_it_shows_and_what_is_there(
        tag in 0_usize..8,
        tasks in prop::collection::vec((0_usize..4, 0_usize..8, 0_u8..3, any::<bool>(), any::<bool>()), 0..6),
        second in any::<bool>(),
        force in any::<bool>(),
    ) {
        let objects = objects(tag, &tasks, second);
        let snapshot = live(objects.clone());
        let force = if force { Force::Yes } else { Force::No };
        let all = plans(&snapshot, force);
        for plan in &all {
            if plan.refusals.iter().any(|refusal| refusal.by == Override::Never) {
                prop_assert!(plan.executable().is_empty(), "{plan:?}");
            }
            if force == Force::No && !plan.refusals.is_empty() {
                prop_assert!(plan.executable().is_empty(), "{plan:?}");
            }
            for step in &plan.steps {
                if let Some(object) = step.object() {
                    let there = objects.iter().any(|other| {
                        other["kind"] == object.kind.as_str() && other["metadata"]["name"] == object.name.as_str()
                    });
                    prop_assert!(there, "{object} is not in the input");
                    let guard = step.precondition().unwrap();
                    prop_assert!(!guard.uid.is_empty() && !guard.resource_version.is_empty());
                }
                if let Some(task) = step.task() {
                    prop_assert!(plan.effects.iter().any(|effect| effect.task == *task));
                }
            }
            for follow_up in &plan.follow_ups {
                prop_assert!(plan.effects.iter().any(|effect| effect.task == follow_up.task));
                prop_assert_eq!(&follow_up.pod, &ObjectRef::namespaced("Pod", "velero", &follow_up.task.name));
            }
            if plan.verdict() == Verdict::Forced && plan.losses().next().is_some() {
                prop_assert!(matches!(plan.confirmation.by, ConfirmBy::TypeNodeNames(_)));
            }
            for expected in &plan.expected {
                prop_assert!(expected.at_least >= 1 && expected.at_least <= expected.tasks.len());
            }
        }
        let mut shuffled = objects;
        // The resource versions are given by place: they stay with their objects.
        for (place, object) in shuffled.iter_mut().enumerate() {
            object["metadata"]["resourceVersion"] = json!(format!("{}", 1000 + place));
        }
        shuffled.reverse();
        let mut reversed = crate::testing::snapshot(&{
            let mut all = shuffled;
            for object in &mut all {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                if object["metadata"]["uid"].is_null() {
                    object["metadata"]["uid"] = json!(format!("uid-of-{name}"));
                }
            }
            all
        });
        reversed.source.source = SourceType::Cluster;
        prop_assert_eq!(all, plans(&reversed, force));
    }
}
