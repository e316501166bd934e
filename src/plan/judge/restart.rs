//! What came of each node of a restart, stage by stage.

use jiff::Timestamp;

use super::super::model::{Expected, NodePlan, Plan};
use super::super::observe::{AgentSeen, Ending, Observations, StepResult, StepSeen, Unread, Works};
use super::super::outcome::{NodeOutcome, NodeResult, RestartStage, StageSeen, TaskOutcome};
use super::super::step::StepKind;
use super::{is_met, tasks, until};

/// Returns what came of every node of a plan, in its order.
pub(super) fn nodes(plan: &Plan, observations: &Observations) -> Vec<NodeOutcome> {
    // What came of the tasks is asked once for each look: both nodes and stages need it.
    let by_look: Vec<Vec<TaskOutcome>> = (0..observations.looks.len())
        .map(|last| tasks::all(plan, observations, until(&observations.looks, last)))
        .collect();
    plan.nodes
        .iter()
        .map(|node| of_node(plan, node, observations, &by_look))
        .collect()
}

fn delete_of<'o>(node: &NodePlan, observations: &'o Observations) -> Option<&'o StepSeen> {
    observations.steps.iter().find(|seen| {
        seen.step.node.as_deref() == Some(&node.node)
            && matches!(seen.step.kind, StepKind::DeletePod { .. })
    })
}

fn of_node(
    plan: &Plan,
    node: &NodePlan,
    observations: &Observations,
    by_look: &[Vec<TaskOutcome>],
) -> NodeOutcome {
    let failed = |trouble: Option<String>| NodeOutcome {
        node: node.node.clone(),
        result: NodeResult::NotRecovered(RestartStage::Planned),
        stages: Vec::new(),
        trouble,
        unseen: None,
    };
    let not_tried = || NodeOutcome {
        result: NodeResult::NotTried,
        ..failed(None)
    };
    let Some(delete) = delete_of(node, observations) else {
        return not_tried();
    };
    let trouble = match &delete.result {
        StepResult::Done => None,
        StepResult::Unknown(why) => {
            Some(format!("whether the pod was deleted is not known: {why}"))
        }
        StepResult::DryRun | StepResult::NotTried => return not_tried(),
        StepResult::Changed(why) => {
            return failed(Some(format!("the pod changed since it was read: {why}")));
        }
        StepResult::Gone => return failed(Some("the pod was gone already".to_owned())),
        StepResult::Forbidden(why) | StepResult::Refused(why) => return failed(Some(why.clone())),
    };
    let mut stages = Vec::new();
    if delete.result == StepResult::Done {
        stages.push(StageSeen {
            stage: RestartStage::Deleted,
            at: delete.at,
            by: "accepted by the API server".to_owned(),
        });
    }
    let mut walk = Walk {
        old: node.agent.as_ref().map_or("", |agent| agent.uid.as_str()),
        deleted: delete.at,
        stages,
        trouble,
        unseen: Some("nothing was seen after it".to_owned()),
    };
    for (look, outcomes) in observations.looks.iter().zip(by_look) {
        let Some(seen) = look.nodes.iter().find(|seen| seen.node == node.node) else {
            continue;
        };
        let met = |what: fn(Expected) -> bool| {
            let all = plan
                .expected
                .iter()
                .filter(|expected| expected.node.as_deref() == Some(&node.node))
                .filter(|expected| what(expected.what))
                .all(|expected| is_met(expected, outcomes));
            if all { Met::Yes } else { Met::No }
        };
        if let Some(unread) = look.pods_unread() {
            walk.blind(unread);
            continue;
        }
        walk.look(
            look.at,
            &seen.agents,
            met(|what| what == Expected::Resume),
            met(|what| what != Expected::Resume),
        );
    }
    let reached = walk
        .stages
        .last()
        .map_or(RestartStage::Planned, |stage| stage.stage);
    let result = if reached == RestartStage::Moving {
        NodeResult::Recovered
    } else {
        NodeResult::NotRecovered(reached)
    };
    let lost = match &observations.ending {
        Ending::ServerLost(_) => observations
            .looks
            .last()
            .map(|look| format!("nothing was seen after {}", look.at)),
        Ending::Decided | Ending::TimeLimit | Ending::Interrupted => None,
    };
    NodeOutcome {
        node: node.node.clone(),
        unseen: walk
            .unseen
            .or(lost)
            .filter(|_| result != NodeResult::Recovered),
        trouble: walk.trouble.filter(|_| result != NodeResult::Recovered),
        result,
        stages: walk.stages,
    }
}

/// Whether everything of a kind that was expected happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    No,
    Yes,
}

/// The stages of one node, look by look.
struct Walk<'w> {
    old: &'w str,
    deleted: Timestamp,
    stages: Vec<StageSeen>,
    trouble: Option<String>,
    unseen: Option<String>,
}

impl Walk<'_> {
    /// A look that could not see the pods: none is known to be gone, none to be missing, and whose bytes a
    /// task has done is not known either.
    fn blind(&mut self, unread: &Unread) {
        self.unseen = Some(unread.why());
    }

    fn look(&mut self, at: Timestamp, agents: &[AgentSeen], resumed: Met, moving: Met) {
        self.unseen = None;
        if let Some(old) = agents.iter().find(|agent| agent.uid == self.old) {
            self.trouble = Some(match old.works {
                Works::Terminating => {
                    self.reach(RestartStage::Deleted, at, || {
                        "the old pod is being deleted".to_owned()
                    });
                    format!("pod {} is being deleted, and still there", old.pod)
                }
                Works::Yes | Works::NotYet => format!("pod {} is still there", old.pod),
            });
            return;
        }
        self.reach(RestartStage::Gone, at, || {
            "the old pod is not there any more".to_owned()
        });
        // The newest of those that are not the old one.
        let Some(new) = agents.last() else {
            self.trouble = Some("no new pod is there yet".to_owned());
            return;
        };
        self.reach(RestartStage::Replaced, at, || {
            format!("pod {}, uid {}", new.pod, new.uid)
        });
        if new.works != Works::Yes {
            self.trouble = Some(new.trouble.clone().map_or_else(
                || format!("pod {} is not ready", new.pod),
                |trouble| format!("pod {}: {trouble}", new.pod),
            ));
            return;
        }
        self.reach(RestartStage::Ready, at, || {
            format!("pod {} is ready", new.pod)
        });
        let started = match (new.start_logged, new.started) {
            (Some(logged), _) => Some(format!("logged at {logged}")),
            (None, Some(started)) => Some(format!("container started at {started}")),
            (None, None) => None,
        };
        let Some(started) = started else {
            self.trouble = Some(format!("the start of pod {} is not known", new.pod));
            return;
        };
        self.reach(RestartStage::Started, at, || started);
        if resumed == Met::No {
            self.trouble = Some("not every task that ran is known to be taken up again".to_owned());
            return;
        }
        self.reach(RestartStage::Resumed, at, || {
            "what ran before runs again, or nothing ran".to_owned()
        });
        if moving == Met::No {
            self.trouble = Some("not as many tasks moved as were expected".to_owned());
            return;
        }
        self.reach(RestartStage::Moving, at, || {
            "what was stuck moves, or nothing waited".to_owned()
        });
        self.trouble = None;
    }

    /// Notes a stage when it is reached for the first time; a later look that falls behind takes nothing back.
    fn reach(&mut self, stage: RestartStage, at: Timestamp, by: impl FnOnce() -> String) {
        let reached = self.stages.last().map(|stage| stage.stage);
        if reached.is_none_or(|reached| reached < stage) {
            self.stages.push(StageSeen {
                stage,
                at: at.max(self.deleted),
                by: by(),
            });
        }
    }
}
