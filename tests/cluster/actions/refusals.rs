//! Every reason to refuse, each on the case that shows it: exit 4, the code in the plan, and not one write.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use velero_slots::plan::RefusalCode;

use super::writes::writes;
use crate::cases::{list, text};
use crate::control_plane::Plane;
use crate::player::Moment;

/// A case below `fixtures/`, what is typed, and the codes for which it is refused.
type Refused = (
    &'static str,
    &'static [&'static str],
    &'static [RefusalCode],
);

const REFUSED: &[Refused] = &[
    (
        "scenarios/everything-healthy",
        &["restart", "--node", "node-a"],
        &[RefusalCode::NothingStuck],
    ),
    (
        "rules/slot-queue/fires",
        &["restart", "--node", "node-a"],
        &[RefusalCode::NormalQueue],
    ),
    (
        "rules/slot-queue/fires",
        &["nudge", "du/du-a2"],
        &[RefusalCode::NormalQueue],
    ),
    (
        "rules/owner-gone/fires-agent-terminating",
        &["restart", "--node", "node-b"],
        &[RefusalCode::AlreadyRestarting],
    ),
    (
        "rules/agent-crashloop/fires-config-invalid",
        &["restart", "--node", "node-a"],
        &[RefusalCode::ConfigWouldCrash],
    ),
    (
        "rules/agent-crashloop/fires-config-invalid",
        &["nudge", "du/du-a1"],
        &[RefusalCode::NoWorkingAgent],
    ),
    (
        "rules/agent-crashloop/fires-oom-killed",
        &["restart", "--node", "node-a"],
        &[RefusalCode::OtherFindingFirst],
    ),
    (
        "rules/expose-blocked/fires-image-pull",
        &["restart", "--node", "node-a"],
        &[RefusalCode::ExposeBlocked, RefusalCode::TasksWouldBeLost],
    ),
    (
        "rules/expose-blocked/fires-image-pull",
        &["nudge", "du/du-a1"],
        &[RefusalCode::ExposeBlocked],
    ),
    (
        "rules/foreign-data-mover/fires",
        &["nudge", "du/du-x1"],
        &[RefusalCode::ForeignDataMover],
    ),
    (
        "rules/prepared-stuck/fires-ghost-slot-canceled-task",
        &["nudge", "du/du-a1"],
        &[RefusalCode::GhostSlot],
    ),
    (
        "rules/mover-pod-lost/fires",
        &["nudge", "du/du-a1"],
        &[RefusalCode::MoverPodLost],
    ),
    (
        "rules/owner-gone/fires-agent-missing",
        &["restart", "--node", "node-b"],
        &[RefusalCode::NoAgentPod],
    ),
    (
        "rules/owner-gone/fires-node-gone",
        &["restart", "--node", "node-b"],
        &[RefusalCode::NodeGone],
    ),
    (
        "rules/cancel-stuck/fires-canceling-1.16",
        &["nudge", "du/du-a1"],
        &[RefusalCode::NoTouchHelps],
    ),
    (
        "rules/restore-target-missing/fires-target-pvc-missing",
        &["nudge", "dd/dd-a1"],
        &[RefusalCode::RestoreTarget],
    ),
    (
        "rules/prepared-doomed/fires-pod-missing",
        &["nudge", "du/du-a2"],
        &[RefusalCode::TaskDoomed],
    ),
    (
        "rules/prepare-queue-full/fires-info",
        &["nudge", "du/du-a4"],
        &[RefusalCode::PrepareQueueFull],
    ),
    (
        "rules/deadline-at-risk/fires",
        &["nudge", "du/du-a01"],
        &[RefusalCode::TaskFinal],
    ),
    (
        "rules/precedence/windows-agent-works",
        &["restart", "--node", "node-w"],
        &[RefusalCode::NotRecreated],
    ),
];

/// Codes that no object of a cluster can show: files are no cluster, what may not be read is a matter of rights, and
/// an API server names UID and resource version of every object. That another task is the probe refuses no plan: it is
/// said of a task that is left out, and the planner's own tests show it.
const ELSEWHERE: [RefusalCode; 4] = [
    RefusalCode::Offline,
    RefusalCode::NotKnown,
    RefusalCode::NoPrecondition,
    RefusalCode::ProbedByAnother,
];

#[test]
fn every_refusal_is_told_and_nothing_is_written() {
    let plane = Plane::Still.lock();
    let (proxy, user) = plane.behind_proxy(SignedDuration::ZERO);
    let mut shown: BTreeSet<&str> = BTreeSet::new();
    for (case, words, codes) in REFUSED {
        plane.etcd().clear();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures")
            .join(case);
        let expect = std::fs::read_to_string(folder.join("expect.yaml")).expect("it is a case");
        let expect: Value = serde_saphyr::from_str(&expect).expect("it is YAML");
        let now: Timestamp = text(&expect, "now").parse().expect("it is a time");
        let by = plane.api().now().as_second() - now.as_second();
        Moment::read(&folder.join("objects"))
            .later(SignedDuration::from_secs(by))
            .lay(&plane);
        proxy.take();
        let mut arguments = words.to_vec();
        arguments.extend(["--yes", "--metrics", "never", "-n", "velero", "-o", "json"]);
        let run = user.plugin(&arguments).expect_code(4);
        let plan = run.json();
        assert_eq!(plan["kind"], "Plan", "{case}: {run}");
        let found: BTreeSet<&str> = list(&plan, "refusals")
            .iter()
            .map(|refusal| text(refusal, "code"))
            .collect();
        for code in *codes {
            assert!(found.contains(code.as_str()), "{case}: {code:?}\n{run}");
            shown.insert(code.as_str());
        }
        assert!(run.stderr.contains("refused"), "{case}: {run}");
        assert!(writes(&proxy.take()).is_empty(), "{case}: {run}");
    }
    let missing: Vec<&str> = RefusalCode::ALL
        .iter()
        .filter(|code| !ELSEWHERE.contains(code))
        .map(|code| code.as_str())
        .filter(|code| !shown.contains(code))
        .collect();
    assert_eq!(missing, [] as [&str; 0]);
}

#[test]
fn files_show_a_plan_and_are_not_acted_on() {
    let plane = Plane::Still.lock();
    let (proxy, user) = plane.behind_proxy(SignedDuration::ZERO);
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules/slot-queue/fires/objects");
    let folder = folder.to_string_lossy();
    let run = user
        .plugin(&[
            "restart", "--node", "node-a", "--yes", "--from", &folder, "-o", "json",
        ])
        .expect_code(4);
    let plan = run.json();
    assert_eq!(plan["kind"], "Plan", "{run}");
    assert!(
        list(&plan, "refusals")
            .iter()
            .any(|refusal| text(refusal, "code") == RefusalCode::Offline.as_str()),
        "{run}"
    );
    assert!(proxy.take().is_empty(), "{run}");
}
