//! What findings suggest, the planner takes; and what it refuses, no finding suggests. Unlike the other tests
//! here this one asks the library: a plan from files is refused for being offline, whatever else it says.

#![expect(clippy::panic, reason = "a case that cannot be read must end the test")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use velero_slots::collect::files::{self, Limits};
use velero_slots::diagnose::{Diagnosis, diagnose};
use velero_slots::plan::{
    Force, Known, NudgeTargets, Override, Plan, RestartTargets, Verdict, Wishes, plan_nudge,
    plan_restart,
};
use velero_slots::replay::{ReplayOptions, replay};
use velero_slots::snapshot::{
    NamespaceSearch, ReadOptions, Snapshot, SourceType, find_namespace, read,
};

use crate::cases::{Case, discover};

/// Reads a case as if a cluster had given it: with the UIDs and resource versions that every object there has.
fn live(case: &Case) -> Option<Snapshot> {
    let objects = case.folder.join("objects");
    let capture = files::read(&[objects], &mut std::io::empty(), &Limits::default()).ok()?;
    let NamespaceSearch::Found(namespace) = find_namespace(&capture) else {
        return None;
    };
    let now = case.expect.get("now")?.as_str()?.parse().ok();
    let mut snapshot = read(&capture, &ReadOptions { namespace, now });
    snapshot.source.source = SourceType::Cluster;
    let guard = |uid: &mut String, version: &mut Option<String>, name: &str| {
        if uid.is_empty() {
            *uid = format!("uid-of-{name}");
        }
        version.get_or_insert_with(|| "1".to_owned());
    };
    for task in snapshot.tasks.values_mut() {
        guard(
            &mut task.uid,
            &mut task.resource_version,
            &task.reference.name,
        );
    }
    for pod in snapshot.pods.values_mut() {
        guard(&mut pod.uid, &mut pod.resource_version, &pod.key.name);
    }
    for agent in &mut snapshot.agents {
        guard(
            &mut agent.pod.uid,
            &mut agent.pod.resource_version,
            &agent.pod.key.name,
        );
    }
    Some(snapshot)
}

/// The actions of this tool that a diagnosis suggests, as words.
fn suggested(diagnosis: &Diagnosis) -> BTreeSet<Vec<String>> {
    diagnosis
        .findings
        .iter()
        .flat_map(|finding| &finding.actions)
        .filter_map(|action| action.command.strip_prefix("kubectl velero-slots "))
        .filter(|command| command.starts_with("nudge ") || command.starts_with("restart "))
        .map(|command| {
            command
                .split(' ')
                .filter(|word| *word != "{ns}")
                .map(str::to_owned)
                .collect()
        })
        .collect()
}

fn planned(known: Known<'_, '_>, words: &[String]) -> Option<Plan> {
    let (action, rest) = words.split_first()?;
    let force = if rest.iter().any(|word| word == "--force") {
        Force::Yes
    } else {
        Force::No
    };
    let wishes = Wishes {
        force,
        ..Wishes::default()
    };
    let names: Vec<String> = rest
        .iter()
        .filter(|word| !word.starts_with("--"))
        .cloned()
        .collect();
    if action == "nudge" {
        plan_nudge(known, &NudgeTargets::Tasks(names), &wishes).ok()
    } else {
        plan_restart(known, &RestartTargets::Nodes(names), &wishes).ok()
    }
}

#[test]
fn what_a_finding_suggests_is_not_refused_and_what_is_refused_is_not_suggested() {
    let cases = match discover(crate::root()) {
        Ok(cases) => cases,
        Err(complaints) => panic!("{}", complaints.join("\n")),
    };
    let mut wrong = String::new();
    let mut taken = 0;
    for case in &cases {
        let Some(snapshot) = live(case) else {
            continue;
        };
        let replayed = replay(&snapshot, ReplayOptions::default());
        let diagnosis = diagnose(&snapshot, &replayed);
        let known = Known {
            snapshot: &snapshot,
            replay: &replayed,
            diagnosis: &diagnosis,
        };
        let suggested = suggested(&diagnosis);
        for words in &suggested {
            let command = words.join(" ");
            match planned(known, words) {
                None => {
                    let _ = writeln!(wrong, "{}: {command} is an error of usage", case.name);
                }
                Some(plan) => match plan.verdict() {
                    Verdict::Allowed | Verdict::Forced => taken += 1,
                    Verdict::Refused | Verdict::RefusedUnlessForced => {
                        let why: Vec<&str> = plan
                            .refusals
                            .iter()
                            .map(|refusal| refusal.reason.as_str())
                            .collect();
                        let _ = writeln!(
                            wrong,
                            "{}: {command} is refused: {}",
                            case.name,
                            why.join("; ")
                        );
                    }
                },
            }
        }
        for node in replayed.nodes.keys() {
            let words = ["restart", "--node", node].map(str::to_owned);
            let never = planned(known, &words).is_some_and(|plan| {
                plan.refusals
                    .iter()
                    .any(|refusal| refusal.by == Override::Never)
            });
            let named = suggested.iter().any(|words| {
                words.first().is_some_and(|word| word == "restart") && words.contains(node)
            });
            if never && named {
                let _ = writeln!(
                    wrong,
                    "{}: restart of {node} is refused, and suggested",
                    case.name
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(taken > 0, "no case suggests an action");
}

/// Plans an action on a case.
fn plan_of(name: &str, words: &[&str]) -> Plan {
    let Ok(cases) = discover(crate::root()) else {
        panic!("the cases cannot be read");
    };
    let Some(case) = cases.iter().find(|case| case.name.ends_with(name)) else {
        panic!("there is no case {name}");
    };
    let Some(snapshot) = live(case) else {
        panic!("case {name} cannot be read");
    };
    let replayed = replay(&snapshot, ReplayOptions::default());
    let diagnosis = diagnose(&snapshot, &replayed);
    let known = Known {
        snapshot: &snapshot,
        replay: &replayed,
        diagnosis: &diagnosis,
    };
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    match planned(known, &words) {
        Some(plan) => plan,
        None => panic!("{words:?} is an error of usage in case {name}"),
    }
}

/// What the refusals of a plan say to do instead.
fn instead(plan: &Plan) -> Vec<&str> {
    plan.refusals
        .iter()
        .flat_map(|refusal| &refusal.instead)
        .filter_map(|instead| instead.command.as_deref())
        .collect()
}

#[test]
fn a_restart_that_is_refused_because_a_nudge_is_enough_names_the_nudge() {
    let plan = plan_of(
        "cancel-stuck/fires-prepared",
        &["restart", "--node", "node-a"],
    );
    let instead = instead(&plan);
    let named = instead
        .iter()
        .any(|command| command.starts_with("kubectl velero-slots nudge "));
    assert!(named, "{:?}", plan.refusals);
}

#[test]
fn an_agent_that_hangs_on_a_node_that_works_may_be_restarted() {
    let plan = plan_of(
        "owner-gone/fires-agent-not-ready",
        &["restart", "--node", "node-b"],
    );
    assert_eq!(plan.verdict(), Verdict::Allowed, "{:?}", plan.refusals);
}

#[test]
fn a_task_that_a_start_did_not_resume_may_be_resumed_by_another() {
    let plan = plan_of(
        "agent-restarted/fires-in-progress-not-resumed",
        &["restart", "--node", "node-a"],
    );
    assert_eq!(plan.verdict(), Verdict::Allowed, "{:?}", plan.refusals);
}

#[test]
fn a_refused_nudge_recommends_no_restart_that_is_refused_in_turn() {
    let plan = plan_of(
        "completion-stuck/fires-all-bytes-and-no-pod",
        &["nudge", "du/du-a1"],
    );
    let instead = instead(&plan);
    assert!(
        instead.iter().all(|command| !command.contains("restart")),
        "{:?}",
        plan.refusals
    );
    assert!(!instead.is_empty());
}

#[test]
fn a_task_whose_mover_pod_is_lost_is_not_nudged_while_it_is_canceling() {
    let plan = plan_of("mover-pod-lost/fires-canceling", &["nudge", "du/du-a1"]);
    assert_eq!(plan.verdict(), Verdict::Refused, "{plan:?}");
}
