//! What holds for every state.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ask, backup, cluster, with_mover};
use crate::simulate::engine::run;
use crate::simulate::outcome::limits;
use crate::simulate::random::Chance;
use crate::simulate::*;
use crate::testing::{agent, ago, completed, in_progress, node, prepared, snapshot, task};

/// One state of one or two nodes, from numbers that proptest can shrink.
#[derive(Clone, Debug)]
struct State {
    limit: i64,
    two_nodes: bool,
    durations: Vec<i64>,
    holders: usize,
    waiting: Vec<(bool, u8)>,
    new: usize,
    accepted: usize,
    timeout: Option<i64>,
}

fn states() -> impl Strategy<Value = State> {
    (
        1_i64..4,
        any::<bool>(),
        prop::collection::vec(1_i64..4000, 1..6),
        0_usize..3,
        prop::collection::vec((any::<bool>(), 0_u8..3), 0..12),
        0_usize..4,
        0_usize..3,
        prop::option::of(121_i64..600),
    )
        .prop_map(
            |(limit, two_nodes, durations, holders, waiting, new, accepted, timeout)| State {
                limit,
                two_nodes,
                durations,
                holders,
                waiting,
                new,
                accepted,
                timeout,
            },
        )
}

fn objects(state: &State) -> Vec<Value> {
    let mut objects = cluster(state.limit);
    if state.two_nodes {
        objects.push(node("node-b", &json!({})));
        objects.push(agent(
            "node-b",
            "v1.17.2",
            864_000,
            &["--node-agent-configmap=config"],
        ));
    }
    let other = if state.two_nodes { "node-b" } else { "node-a" };
    for (number, duration) in state.durations.iter().enumerate() {
        objects.push(completed(
            &format!("done-{number}"),
            "node-a",
            5000 + duration,
            5000,
        ));
    }
    let holders = state.holders.min(usize::try_from(state.limit).unwrap());
    for number in 0..holders {
        with_mover(
            &mut objects,
            in_progress(&format!("runs-{number}"), "node-a", 300),
        );
    }
    for (number, (elsewhere, kind)) in state.waiting.iter().enumerate() {
        let at = if *elsewhere { other } else { "node-a" };
        let name = format!("wait-{number:02}");
        let mut waiting = prepared(&name, at, 30);
        if *kind == 1 {
            waiting = task(
                "PodVolumeBackup",
                &name,
                "Prepared",
                at,
                &json!({"acceptedTimestamp": ago(90)}),
            );
            waiting["metadata"]["labels"]["velero.io/expose-on-going"] = json!("true");
            waiting["status"]["node"] = json!(at);
        }
        with_mover(&mut objects, waiting);
        if *kind == 1 {
            let pod = objects
                .iter_mut()
                .rev()
                .find(|object| object["kind"] == "Pod")
                .unwrap();
            pod["metadata"]["labels"] = json!({"velero.io/pod-volume-backup": name});
        }
    }
    for number in 0..state.new {
        objects.push(task(
            "DataUpload",
            &format!("new-{number}"),
            "New",
            "",
            &json!({}),
        ));
    }
    for number in 0..state.accepted {
        let accepted = task(
            "DataUpload",
            &format!("accepted-{number}"),
            "Accepted",
            "",
            &json!({"acceptedTimestamp": ago(20), "acceptedByNode": "node-a"}),
        );
        objects.push(accepted);
    }
    if let Some(minutes) = state.timeout {
        objects.push(backup(&format!("{minutes}m")));
    }
    objects
}

fn designs() -> impl Strategy<Value = Design> {
    prop::sample::select(Design::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_task_ends_by_itself_or_by_a_named_deadline_where_no_slot_is_a_ghost(
        state in states(), design in designs(), workers in 1_u32..4
    ) {
        let scenario = Scenario { workers, ..Scenario::of(design) };
        let answer = ask(&objects(&state), &Request { scenarios: vec![scenario], runs: Some(3), ..Request::default() });
        for task in &answer.outcomes[0].tasks {
            prop_assert!(!task.ending.is_stuck(), "{task:?}");
            prop_assert!(task.end.p90.is_some(), "{task:?}");
            if matches!(task.ending, Ending::DeadlineRunning | Ending::DeadlineWaiting) {
                prop_assert!(task.deadline.is_some());
            }
        }
    }

    #[test]
    fn no_admission_goes_above_the_limit(
        state in states(), design in designs(), workers in 1_u32..5, limit in 1_i64..5, seed in any::<u64>()
    ) {
        let scenario = Scenario { workers, concurrency: Concurrency::Everywhere(limit), ..Scenario::of(design) };
        let snapshot = snapshot(&objects(&state));
        let replay = crate::replay::replay(&snapshot, crate::replay::ReplayOptions::default());
        let troubles = BTreeMap::new();
        let built = build::build(&build::Input { snapshot: &snapshot, replay: &replay, troubles: &troubles }, &|_| true);
        let tally = run(&built.model, &scenario, &limits(&built, &scenario), Chance::of(seed, 0));
        prop_assert_eq!(tally.over_limit, 0);
        // The same, counted from the times alone, for those that started in the run.
        for start in tally.started.iter().filter(|start| **start > 0 && **start < i64::MAX) {
            for node in 0..2 {
                let running = built.model.tasks.iter().zip(tally.started.iter().zip(&tally.ended));
                let running = running.filter(|(spec, (from, to))| {
                    spec.lane != u32::MAX && spec.lane / 4 == node && *from <= start && *to > start
                }).count();
                let holders = i64::try_from(state.holders).unwrap();
                prop_assert!(i64::try_from(running).unwrap() <= limit.max(holders));
            }
        }
    }

    #[test]
    fn reserving_the_slot_never_wastes_more_calls_than_upstream(state in states(), seed in any::<u64>()) {
        let first_come = |design| Scenario { order: Order::FirstComeFirstServed, ..Scenario::of(design) };
        for (upstream, reserve) in [
            (Scenario::of(Design::Upstream), Scenario::of(Design::ReserveSlot)),
            (first_come(Design::Upstream), first_come(Design::ReserveSlot)),
        ] {
            let answer = ask(&objects(&state), &Request {
                scenarios: vec![upstream, reserve], seed, runs: Some(3), ..Request::default()
            });
            prop_assert!(answer.outcomes[1].wasted <= answer.outcomes[0].wasted);
            prop_assert_eq!(answer.outcomes[1].wasted.p90, Some(0));
        }
    }

    #[test]
    fn one_worker_for_each_kind_leaves_no_race_within_a_kind(state in states(), seed in any::<u64>()) {
        let answer = ask(&objects(&state), &Request {
            scenarios: Design::ALL.map(Scenario::of).to_vec(), seed, runs: Some(3), ..Request::default()
        });
        for outcome in &answer.outcomes {
            prop_assert_eq!(outcome.raced_same_kind.p90, Some(0));
        }
    }

    #[test]
    fn with_the_order_held_equal_a_higher_limit_never_drains_later(
        mut state in states(), design in designs(), seed in any::<u64>()
    ) {
        // A deadline ends tasks, and those that it ends sooner under the lower limit make room for others.
        // A task without a node gets one by chance, and a New one is prepared when there is room.
        state.timeout = None;
        state.new = 0;
        state.accepted = 0;
        let at = |limit| Scenario {
            order: Order::FirstComeFirstServed,
            concurrency: Concurrency::Everywhere(limit),
            ..Scenario::of(design)
        };
        let answer = ask(&objects(&state), &Request {
            scenarios: (3..8).map(at).collect(), seed, runs: Some(1), ..Request::default()
        });
        for pair in answer.outcomes.windows(2) {
            prop_assert!(pair[1].drained <= pair[0].drained, "{:?} then {:?}", pair[0].drained, pair[1].drained);
            for (low, high) in pair[0].tasks.iter().zip(&pair[1].tasks) {
                prop_assert!(high.start <= low.start, "{} {:?} {:?}", low.task, low.start, high.start);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes(state in states(), seed in any::<u64>()) {
        let request = Request {
            scenarios: Design::ALL.map(Scenario::of).to_vec(), seed, depth: Depth::Everything, runs: Some(2), ..Request::default()
        };
        let mut objects = objects(&state);
        let first = ask(&objects, &request);
        objects.reverse();
        let second = ask(&objects, &request);
        prop_assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }
}
