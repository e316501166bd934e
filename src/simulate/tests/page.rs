//! docs/simulation.md, held to what the tool computes.

use super::traces::{objects, read_at, state_of, table};
use crate::replay::{ReplayOptions, replay};
use std::fmt::Write as _;

use crate::simulate::*;

/// The story that the page tells: what is wrong, in the order of the table.
const STORIES: [&str; 4] = [
    "every slot leaked",
    "timers lost",
    "timers lost, Prepared tasks requeued",
    "after a restart of the agents",
];

fn seed_story() -> String {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let snapshot = read_at(objects("scenarios/seed-465/objects"), now);
    let replay = replay(&snapshot, ReplayOptions::default());
    let mut text = "| what is wrong | design | drained in | calls | wasted | slot idle | miss their deadline | would wait for ever |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for story in STORIES {
        let trouble = match story {
            "every slot leaked" => Some(Fault::LeakedSlots(1)),
            "after a restart of the agents" => None,
            _ => Some(Fault::LostTimers),
        };
        let troubles: BTreeMap<String, Trouble> = trouble
            .map(|trouble| {
                replay
                    .nodes
                    .keys()
                    .map(|node| (node.clone(), Trouble::of_all_kinds(trouble)))
                    .collect()
            })
            .unwrap_or_default();
        let requeue_prepared = if story.ends_with("requeued") {
            RequeuePrepared::EveryMinute
        } else {
            RequeuePrepared::Never
        };
        let scenarios = Design::ALL
            .map(|design| Scenario {
                requeue_prepared,
                ..Scenario::of(design)
            })
            .to_vec();
        let outcomes = answer(&snapshot, &replay, scenarios, troubles);
        for outcome in &outcomes {
            let probes = outcome.probes.unwrap();
            let for_ever = match trouble {
                Some(Fault::LeakedSlots(_)) => probes.stuck_by_leaked_slots,
                Some(Fault::LostTimers | Fault::BlockedWorker | Fault::Undetermined(_)) => {
                    probes.stuck_by_lost_events
                }
                None => outcome.stuck.p50.unwrap(),
            };
            writeln!(
                text,
                "| {story} | {} | {} | {} | {} | {} | {} | {for_ever} of 84 a node |",
                outcome.scenario.design.as_str(),
                range(outcome.drained, minutes),
                range(outcome.calls, plain),
                range(outcome.wasted, plain),
                range(outcome.idle, minutes),
                range(outcome.missed, plain),
            )
            .unwrap();
        }
    }
    text
}

fn races() -> String {
    let (snapshot, _) = state_of("two-kinds", 10);
    let replay = replay(&snapshot, ReplayOptions::default());
    let mut text = "| workers | design | calls | wasted | lost to the same kind | lost to another kind |\n|---|---|---|---|---|---|\n".to_owned();
    for workers in [1, 4] {
        let scenarios = Design::ALL
            .map(|design| Scenario {
                workers,
                ..Scenario::of(design)
            })
            .to_vec();
        for outcome in answer(&snapshot, &replay, scenarios, BTreeMap::new()) {
            writeln!(
                text,
                "| {workers} | {} | {} | {} | {} | {} |",
                outcome.scenario.design.as_str(),
                range(outcome.calls, plain),
                range(outcome.wasted, plain),
                range(outcome.raced_same_kind, plain),
                range(outcome.raced_other_kind, plain),
            )
            .unwrap();
        }
    }
    text
}

/// How often and by how much a higher limit drains later, over many seeds.
fn later() -> String {
    let mut text = "| trace | ended | limit | drains later | by: median | by: p90 | at most | of a drain of |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for (trace, percent) in [
        ("every-night", 10),
        ("every-night", 80),
        ("first-night", 10),
        ("first-night", 80),
        ("two-kinds", 10),
        ("two-kinds", 80),
    ] {
        let (snapshot, _) = state_of(trace, percent);
        let replay = replay(&snapshot, ReplayOptions::default());
        let at = |limit| Scenario {
            concurrency: Concurrency::Everywhere(limit),
            ..Scenario::default()
        };
        let request = Request {
            scenarios: vec![Scenario::default(), at(3)],
            runs: Some(200),
            ..Request::default()
        };
        let outcomes = simulate(&snapshot, &replay, &request).outcomes;
        for outcome in &outcomes[1..] {
            let found = outcome.later.unwrap();
            let of = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), minutes);
            writeln!(
                text,
                "| {trace} | {percent} % | 2, {} | {} of {} seeds | {} | {} | {} | {} |",
                outcome.scenario.changes(),
                found.runs,
                found.of,
                of(found.by.p50),
                of(found.by.p90),
                of(Some(found.most).filter(|_| found.runs > 0)),
                of(outcomes[0].drained.p50),
            )
            .unwrap();
        }
    }
    text
}

fn answer(
    snapshot: &Snapshot,
    replay: &Replay<'_>,
    scenarios: Vec<Scenario>,
    troubles: BTreeMap<String, Trouble>,
) -> Vec<Outcome> {
    let request = Request {
        scenarios,
        troubles,
        depth: Depth::Everything,
        ..Request::default()
    };
    simulate(snapshot, replay, &request).outcomes
}

fn range(range: Range, write: fn(i64) -> String) -> String {
    let of = |number: Option<i64>| number.map_or_else(|| "never".to_owned(), write);
    if range.p50 == range.p90 {
        of(range.p50)
    } else {
        format!("{} to {}", of(range.p50), of(range.p90))
    }
}

fn plain(number: i64) -> String {
    number.to_string()
}

fn minutes(millis: i64) -> String {
    if millis < 600_000 {
        format!("{} s", millis / 1000)
    } else {
        format!("{} min", millis / 60_000)
    }
}

fn path() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/simulation.md")
}

/// Returns the page with every table made anew. A table stands between `<!-- NAME -->` and `<!-- end -->`.
fn renewed(page: &str) -> String {
    let mut page = page.to_owned();
    for (name, table) in [
        ("seed", seed_story()),
        ("races", races()),
        ("later", later()),
        ("traces", table()),
        ("reported", super::reported::table()),
    ] {
        let begin = format!("<!-- {name} -->\n");
        let from = page.find(&begin).unwrap() + begin.len();
        let to = from + page[from..].find("<!-- end -->").unwrap();
        page.replace_range(from..to, &format!("\n{table}\n"));
    }
    page
}

#[test]
fn the_page_shows_what_the_tool_computes() {
    let page = std::fs::read_to_string(path()).unwrap();
    assert!(
        page == renewed(&page),
        "docs/simulation.md is out of date; run: cargo test --lib writes_the_simulation_page -- --ignored"
    );
}

#[test]
#[ignore = "changes the repository: run it after a change of the model"]
fn writes_the_simulation_page() {
    let page = std::fs::read_to_string(path()).unwrap();
    std::fs::write(path(), renewed(&page)).unwrap();
    assert!(path().exists());
}
