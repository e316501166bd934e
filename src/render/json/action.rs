//! `kind: Plan` and `kind: Outcome`, version 1.

use serde::Serialize;

use super::text::Text;
use super::v1::{API_VERSION, Gap, Object, Source, Task, each, time};
use crate::report::action as plan;
use crate::report::{Head, OutcomeReport, PlanReport};
use crate::velero;

#[cfg(test)]
use schemars::JsonSchema;

/// What `nudge` or `restart` would do.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan<'a> {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Plan`.
    #[cfg_attr(test, schemars(extend("const" = "Plan")))]
    kind: &'static str,
    /// "Now": the time that every age counts from.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    taken_at: String,
    /// Where the answer comes from.
    source: Source<'a>,
    /// Velero's namespace.
    namespace: Text<'a>,
    /// The versions of server and agents, oldest first.
    velero_versions: Vec<Text<'a>>,
    /// What could not be read or known.
    gaps: Vec<Gap<'a>>,
    /// The action.
    #[cfg_attr(test, schemars(extend("enum" = ["nudge", "restart"])))]
    action: &'static str,
    /// Whether it may be carried out.
    #[cfg_attr(test, schemars(extend("enum" = ["allowed", "forced", "refused-unless-forced", "refused"])))]
    verdict: &'static str,
    /// The nodes concerned, by name.
    nodes: Vec<Node<'a>>,
    /// The tasks that it is for.
    targets: Vec<Task<'a>>,
    /// The writes, in order; with a verdict of refused none of them is made.
    steps: Vec<Step<'a>>,
    /// Accepted tasks that may be nudged by their pods after a restart.
    follow_ups: Vec<FollowUp<'a>>,
    /// What it does to each task.
    effects: Vec<Effect<'a>>,
    /// What should happen afterwards.
    expected: Vec<Expectation<'a>>,
    /// What was tried before, newest first.
    earlier: Vec<Earlier<'a>>,
    /// Why it is refused.
    refusals: Vec<Refusal<'a>>,
    /// What the selection leaves out.
    left_out: Vec<LeftOut<'a>>,
    /// What to know beforehand.
    warnings: Vec<Text<'a>>,
    /// What must be confirmed.
    confirmation: Confirmation<'a>,
    /// Set where it is made to find out rather than to mend.
    probe: Option<Probe<'a>>,
    /// The rights that it needs.
    rights: Vec<Right<'a>>,
}

/// A node of a plan.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node<'a> {
    /// Its name.
    name: Text<'a>,
    /// Its node-agent pod; null if there is none.
    agent: Option<Agent<'a>>,
    /// The first release with the rules that the effects follow.
    rules: &'static str,
    /// Why these are not certain; null if they are.
    rules_doubt: Option<Text<'a>>,
    /// The limit in force; null where it is not known.
    limit: Option<i64>,
    /// Tasks that hold a slot, by their status.
    holders: Vec<Task<'a>>,
    /// Tasks that wait for one.
    waiting: Vec<Task<'a>>,
    /// The log that a restart destroys; null for a nudge.
    save_log: Option<SaveLog<'a>>,
}

/// A node-agent pod.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agent<'a> {
    /// Its name.
    pod: Text<'a>,
    /// Its UID.
    uid: Text<'a>,
    /// When it was made.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    created_at: Option<String>,
    /// When its process started.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    started_at: Option<String>,
    /// Its version; null where it could not be read.
    version: Option<Text<'a>>,
    /// How often its container restarted.
    restarts: i64,
    /// The DaemonSet that makes a new one.
    daemon_set: Option<Text<'a>>,
}

/// The log that a restart destroys.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct SaveLog<'a> {
    /// The pod.
    pod: Text<'a>,
    /// The container.
    container: Text<'a>,
    /// The command that saves it.
    command: Text<'a>,
}

/// One write.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step<'a> {
    /// What is written.
    #[serde(rename = "type")]
    #[cfg_attr(test, schemars(extend("enum" = ["annotate-task", "annotate-pod", "delete-pod", "mark-replacement"])))]
    step_type: &'static str,
    /// The node, if it is about one.
    node: Option<Text<'a>>,
    /// The object; null for the pod that replaces a deleted one.
    object: Option<OwnObject>,
    /// The task that it is for.
    task: Option<Task<'a>>,
    /// The UID that the object must have.
    uid: Option<Text<'a>>,
    /// The resource version that it must have.
    resource_version: Option<Text<'a>>,
}

/// Names an object that the answer itself made up the name of.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnObject {
    /// The kind.
    kind: String,
    /// The namespace; null for objects of the cluster.
    namespace: Option<String>,
    /// The name.
    name: String,
}

/// A task that may be nudged by its pod after a restart.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct FollowUp<'a> {
    /// The task.
    task: Task<'a>,
    /// The node of its pod.
    node: Text<'a>,
    /// Its pod.
    pod: Object<'a>,
    /// The UID of that pod.
    pod_uid: Text<'a>,
}

/// What an action does to a task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Effect<'a> {
    /// The task.
    task: Task<'a>,
    /// Its node.
    node: Option<Text<'a>>,
    /// Its phase now.
    phase: Text<'a>,
    /// Its progress, where it runs.
    progress: Option<Progress>,
    /// What happens to it.
    #[cfg_attr(test, schemars(extend("enum" = ["resumed", "cancelled", "failed", "stranded", "starts-again", "looked-at", "unobserved", "released", "untouched"])))]
    effect: &'static str,
    /// How it stands before.
    #[cfg_attr(test, schemars(extend("enum" = ["target", "works", "broken"])))]
    concern: &'static str,
    /// Whether the action ends a task that could have succeeded.
    lost: bool,
    /// Why, in one sentence.
    reason: Text<'a>,
    /// Where Velero does that: release and file.
    rule: &'static str,
}

/// `status.progress`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Progress {
    /// Bytes done.
    bytes_done: i64,
    /// Bytes in all; 0 while unknown.
    total_bytes: i64,
}

/// Something that should happen afterwards.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Expectation<'a> {
    /// The node, if it is about one.
    node: Option<Text<'a>>,
    /// The tasks.
    tasks: Vec<Task<'a>>,
    /// How many of them at least.
    at_least: usize,
    /// What they should do.
    #[cfg_attr(test, schemars(extend("enum" = ["move", "end", "resume"])))]
    what: &'static str,
    /// How long that may take.
    within_seconds: i64,
}

/// Something that was tried before.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Earlier<'a> {
    /// When.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    at: String,
    /// What.
    #[cfg_attr(test, schemars(extend("enum" = ["nudge", "restart"])))]
    action: &'static str,
    /// On what.
    object: Object<'a>,
    /// The node, where it is known.
    node: Option<Text<'a>>,
    /// The reason that was given.
    reason: Option<Text<'a>>,
    /// What tells it.
    #[cfg_attr(test, schemars(extend("enum" = ["annotation", "event"])))]
    told_by: &'static str,
}

/// Why an action is refused.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Refusal<'a> {
    /// Which of the reasons.
    #[cfg_attr(test, schemars(extend("enum" = refusal_codes())))]
    code: &'static str,
    /// The node, if it is about one.
    node: Option<Text<'a>>,
    /// The tasks that it is about.
    tasks: Vec<Task<'a>>,
    /// Why, in one sentence.
    reason: Text<'a>,
    /// What to do instead.
    instead: Vec<Instead<'a>>,
    /// Whether `--force` overrides it.
    #[serde(rename = "override")]
    #[cfg_attr(test, schemars(extend("enum" = ["never", "force"])))]
    by: &'static str,
}

/// What to do instead.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Instead<'a> {
    /// The command; null where there is nothing to type.
    command: Option<Text<'a>>,
    /// What it does, or what to wait for.
    effect: Text<'a>,
}

/// What a selection leaves out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeftOut<'a> {
    /// The task; null where a node is left out.
    task: Option<Task<'a>>,
    /// The node.
    node: Option<Text<'a>>,
    /// Why.
    refusal: Refusal<'a>,
}

/// What must be confirmed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Confirmation<'a> {
    /// How.
    #[cfg_attr(test, schemars(extend("enum" = ["yes-no", "node-names"])))]
    by: &'static str,
    /// The names to be typed in turn.
    nodes: Vec<Text<'a>>,
    /// What happens.
    question: Text<'a>,
}

/// An action that is made to find out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Probe<'a> {
    /// What it may cost.
    risk: Text<'a>,
}

/// A right that a plan needs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Right<'a> {
    /// What happens without it.
    #[cfg_attr(test, schemars(extend("enum" = ["essential", "follow-up", "watching", "trail"])))]
    need: &'static str,
    /// The verb.
    verb: &'static str,
    /// The API group; empty for the core group.
    group: &'static str,
    /// The plural resource name.
    resource: &'static str,
    /// The subresource, or empty.
    subresource: &'static str,
    /// The namespace.
    namespace: Text<'a>,
    /// The object, where only one is concerned.
    name: Option<Text<'a>>,
}

/// What came of `nudge` or `restart`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome<'a> {
    /// `velero-slots/v1`.
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// `Outcome`.
    #[cfg_attr(test, schemars(extend("const" = "Outcome")))]
    kind: &'static str,
    /// The time of the last look; that of the plan where nothing was looked at.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    taken_at: String,
    /// Where the answer comes from.
    source: Source<'a>,
    /// Velero's namespace.
    namespace: Text<'a>,
    /// The versions of server and agents, oldest first.
    velero_versions: Vec<Text<'a>>,
    /// What could not be read or known.
    gaps: Vec<Gap<'a>>,
    /// The action.
    #[cfg_attr(test, schemars(extend("enum" = ["nudge", "restart"])))]
    action: &'static str,
    /// Whether what it was for happened.
    #[cfg_attr(test, schemars(extend("enum" = ["achieved", "not-achieved", "nothing-changed"])))]
    achieved: &'static str,
    /// One sentence.
    summary: Text<'a>,
    /// Why the watching ended.
    #[cfg_attr(test, schemars(extend("enum" = ["decided", "time-limit", "interrupted", "server-lost"])))]
    ending: &'static str,
    /// What came of each write, in order.
    steps: Vec<StepSeen<'a>>,
    /// What came of each node that was to be restarted.
    nodes: Vec<NodeOutcome<'a>>,
    /// What came of each task.
    tasks: Vec<TaskOutcome<'a>>,
    /// What else to know.
    warnings: Vec<Text<'a>>,
    /// What to type next.
    next: Vec<Next<'a>>,
}

/// What came of one write.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepSeen<'a> {
    /// The write.
    step: Step<'a>,
    /// When.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    at: String,
    /// What came of it.
    #[cfg_attr(test, schemars(extend("enum" = ["done", "dry-run", "changed", "gone", "forbidden", "refused", "unknown", "not-tried"])))]
    result: &'static str,
    /// What the server said.
    message: Option<Text<'a>>,
}

/// What came of a node.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeOutcome<'a> {
    /// The node.
    name: Text<'a>,
    /// What came of it.
    #[cfg_attr(test, schemars(extend("enum" = ["recovered", "not-recovered", "not-tried"])))]
    result: &'static str,
    /// The last stage that was reached; null where it was not tried.
    #[cfg_attr(test, schemars(extend("enum" = ["planned", "deleted", "gone", "replaced", "ready", "started", "resumed", "moving", null])))]
    reached: Option<&'static str>,
    /// The stages, with their times.
    stages: Vec<Stage<'a>>,
    /// What holds it up.
    trouble: Option<Text<'a>>,
}

/// A stage of a restart.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stage<'a> {
    /// The stage.
    #[cfg_attr(test, schemars(extend("enum" = ["planned", "deleted", "gone", "replaced", "ready", "started", "resumed", "moving"])))]
    stage: &'static str,
    /// When it was seen.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    at: String,
    /// What shows it.
    by: Text<'a>,
}

/// What came of a task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskOutcome<'a> {
    /// The task.
    task: Task<'a>,
    /// Its node.
    node: Option<Text<'a>>,
    /// Its phase before.
    before: Text<'a>,
    /// Its phase as it was last seen; null where it was not seen.
    after: Option<Text<'a>>,
    /// When it was last seen.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    at: Option<String>,
    /// What that means.
    #[cfg_attr(test, schemars(extend("enum" = ["moved", "refused-slot", "queued", "looked-at", "not-looked-at", "ended", "unchanged", "gone", "unknown"])))]
    result: &'static str,
    /// What shows it.
    evidence: Option<Text<'a>>,
}

/// A command to type next.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Next<'a> {
    /// The command.
    command: Text<'a>,
    /// What it does, or why it is next.
    effect: Text<'a>,
}

/// Every code of a refusal.
#[cfg(test)]
fn refusal_codes() -> Vec<&'static str> {
    plan::RefusalCode::ALL
        .iter()
        .map(|code| code.as_str())
        .collect()
}

fn texts(texts: &[String]) -> Vec<Text<'_>> {
    texts.iter().map(|text| Text(text)).collect()
}

impl<'a> From<&'a PlanReport> for Plan<'a> {
    fn from(report: &'a PlanReport) -> Self {
        let (head, plan): (&Head, &plan::Plan) = (&report.head, &report.plan);
        Self {
            api_version: API_VERSION,
            kind: "Plan",
            taken_at: time(head.taken_at),
            source: Source::from(head),
            namespace: Text(&head.namespace),
            velero_versions: texts(&head.velero_versions),
            gaps: each(&head.gaps),
            action: plan.action.as_str(),
            verdict: plan.verdict().as_str(),
            nodes: each(&plan.nodes),
            targets: each(&plan.targets),
            steps: each(&plan.steps),
            follow_ups: each(&plan.follow_ups),
            effects: each(&plan.effects),
            expected: each(&plan.expected),
            earlier: each(&plan.earlier),
            refusals: each(&plan.refusals),
            left_out: each(&plan.left_out),
            warnings: texts(&plan.warnings),
            confirmation: Confirmation::from(&plan.confirmation),
            probe: match &plan.probe {
                plan::Probe::No => None,
                plan::Probe::Yes { risk } => Some(Probe { risk: Text(risk) }),
            },
            rights: each(&plan.rights),
        }
    }
}

impl<'a> From<&'a plan::NodePlan> for Node<'a> {
    fn from(node: &'a plan::NodePlan) -> Self {
        Self {
            name: Text(&node.node),
            agent: node.agent.as_ref().map(Agent::from),
            rules: node.rules,
            rules_doubt: node.rules_doubt.as_deref().map(Text),
            limit: node.limit,
            holders: each(&node.holders),
            waiting: each(&node.waiting),
            save_log: node.save_log.as_ref().map(|save| SaveLog {
                pod: Text(&save.pod),
                container: Text(&save.container),
                command: Text(&save.command),
            }),
        }
    }
}

impl<'a> From<&'a plan::AgentBill> for Agent<'a> {
    fn from(agent: &'a plan::AgentBill) -> Self {
        Self {
            pod: Text(&agent.pod),
            uid: Text(&agent.uid),
            created_at: agent.created.map(time),
            started_at: agent.started.map(time),
            version: agent.version.as_deref().map(Text),
            restarts: agent.restarts,
            daemon_set: agent.daemon_set.as_deref().map(Text),
        }
    }
}

impl<'a> From<&'a plan::Step> for Step<'a> {
    fn from(step: &'a plan::Step) -> Self {
        let precondition = step.precondition();
        Self {
            step_type: step.kind.as_str(),
            node: step.node.as_deref().map(Text),
            object: step.object().map(OwnObject::from),
            task: step.task().map(Task::from),
            uid: precondition.map(|precondition| Text(&precondition.uid)),
            resource_version: precondition.map(|precondition| Text(&precondition.resource_version)),
        }
    }
}

impl From<velero::ObjectRef> for OwnObject {
    fn from(object: velero::ObjectRef) -> Self {
        Self {
            kind: object.kind,
            namespace: object.namespace,
            name: object.name,
        }
    }
}

impl<'a> From<&'a plan::FollowUp> for FollowUp<'a> {
    fn from(follow_up: &'a plan::FollowUp) -> Self {
        Self {
            task: Task::from(&follow_up.task),
            node: Text(&follow_up.node),
            pod: Object::from(&follow_up.pod),
            pod_uid: Text(&follow_up.pod_uid),
        }
    }
}

impl<'a> From<&'a plan::TaskEffect> for Effect<'a> {
    fn from(effect: &'a plan::TaskEffect) -> Self {
        Self {
            task: Task::from(&effect.task),
            node: effect.node.as_deref().map(Text),
            phase: Text(effect.phase.as_str()),
            progress: effect.progress.map(|(bytes_done, total_bytes)| Progress {
                bytes_done,
                total_bytes,
            }),
            effect: effect.effect.as_str(),
            concern: effect.concern.as_str(),
            lost: effect.is_loss(),
            reason: Text(&effect.why),
            rule: effect.source,
        }
    }
}

impl<'a> From<&'a plan::Expectation> for Expectation<'a> {
    fn from(expected: &'a plan::Expectation) -> Self {
        Self {
            node: expected.node.as_deref().map(Text),
            tasks: each(&expected.tasks),
            at_least: expected.at_least,
            what: expected.what.as_str(),
            within_seconds: expected.within_seconds,
        }
    }
}

impl<'a> From<&'a plan::Earlier> for Earlier<'a> {
    fn from(earlier: &'a plan::Earlier) -> Self {
        Self {
            at: time(earlier.at),
            action: earlier.action.as_str(),
            object: Object::from(&earlier.object),
            node: earlier.node.as_deref().map(Text),
            reason: earlier.reason.as_deref().map(Text),
            told_by: earlier.told_by,
        }
    }
}

impl<'a> From<&'a plan::Refusal> for Refusal<'a> {
    fn from(refusal: &'a plan::Refusal) -> Self {
        Self {
            code: refusal.code.as_str(),
            node: refusal.node.as_deref().map(Text),
            tasks: each(&refusal.tasks),
            reason: Text(&refusal.reason),
            instead: refusal
                .instead
                .iter()
                .map(|instead| Instead {
                    command: instead.command.as_deref().map(Text),
                    effect: Text(&instead.effect),
                })
                .collect(),
            by: refusal.by.as_str(),
        }
    }
}

impl<'a> From<&'a plan::LeftOut> for LeftOut<'a> {
    fn from(left: &'a plan::LeftOut) -> Self {
        Self {
            task: left.task.as_ref().map(Task::from),
            node: left.node.as_deref().map(Text),
            refusal: Refusal::from(&left.refusal),
        }
    }
}

impl<'a> From<&'a plan::Confirmation> for Confirmation<'a> {
    fn from(confirmation: &'a plan::Confirmation) -> Self {
        let (by, nodes) = match &confirmation.by {
            plan::ConfirmBy::YesNo => ("yes-no", Vec::new()),
            plan::ConfirmBy::TypeNodeNames(nodes) => ("node-names", texts(nodes)),
        };
        Self {
            by,
            nodes,
            question: Text(&confirmation.question),
        }
    }
}

impl<'a> From<&'a plan::NeededRight> for Right<'a> {
    fn from(right: &'a plan::NeededRight) -> Self {
        Self {
            need: right.need.as_str(),
            verb: right.verb,
            group: right.group,
            resource: right.resource,
            subresource: right.subresource,
            namespace: Text(&right.namespace),
            name: right.name.as_deref().map(Text),
        }
    }
}

impl<'a> From<&'a OutcomeReport> for Outcome<'a> {
    fn from(report: &'a OutcomeReport) -> Self {
        let (head, outcome) = (&report.head, &report.outcome);
        Self {
            api_version: API_VERSION,
            kind: "Outcome",
            taken_at: time(head.taken_at),
            source: Source::from(head),
            namespace: Text(&head.namespace),
            velero_versions: texts(&head.velero_versions),
            gaps: each(&head.gaps),
            action: outcome.action.as_str(),
            achieved: outcome.achieved.as_str(),
            summary: Text(&outcome.summary),
            ending: outcome.ending.as_str(),
            steps: outcome
                .steps
                .iter()
                .map(|seen| StepSeen {
                    step: Step::from(&seen.step),
                    at: time(seen.at),
                    result: seen.result.as_str(),
                    message: seen.result.message().map(Text),
                })
                .collect(),
            nodes: each(&outcome.nodes),
            tasks: each(&outcome.tasks),
            warnings: texts(&outcome.warnings),
            next: outcome
                .next
                .iter()
                .map(|next| Next {
                    command: Text(&next.command),
                    effect: Text(&next.effect),
                })
                .collect(),
        }
    }
}

impl<'a> From<&'a plan::NodeOutcome> for NodeOutcome<'a> {
    fn from(node: &'a plan::NodeOutcome) -> Self {
        Self {
            name: Text(&node.node),
            result: node.result.as_str(),
            reached: match node.result {
                plan::NodeResult::Recovered => Some(plan::RestartStage::Moving.as_str()),
                plan::NodeResult::NotRecovered(stage) => Some(stage.as_str()),
                plan::NodeResult::NotTried => None,
            },
            stages: node
                .stages
                .iter()
                .map(|stage| Stage {
                    stage: stage.stage.as_str(),
                    at: time(stage.at),
                    by: Text(&stage.by),
                })
                .collect(),
            trouble: node.trouble.as_deref().map(Text),
        }
    }
}

impl<'a> From<&'a plan::TaskOutcome> for TaskOutcome<'a> {
    fn from(task: &'a plan::TaskOutcome) -> Self {
        Self {
            task: Task::from(&task.task),
            node: task.node.as_deref().map(Text),
            before: Text(task.before.as_str()),
            after: task.after.as_ref().map(|phase| Text(phase.as_str())),
            at: task.at.map(time),
            result: task.result.as_str(),
            evidence: task.evidence.as_deref().map(Text),
        }
    }
}
