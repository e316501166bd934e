//! The words of a plan.

use jiff::Timestamp;

use super::step::Step;
use crate::snapshot::{MarkKind, SourceType};
use crate::velero::{ObjectRef, Phase, TaskRef};

/// Which action is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlanAction {
    /// Make a controller look again.
    Nudge,
    /// Restart a node-agent.
    Restart,
}

impl PlanAction {
    /// Returns the name of the command.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nudge => "nudge",
            Self::Restart => "restart",
        }
    }
}

/// What an action would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The action.
    pub action: PlanAction,
    /// "Now" of the reading that the plan rests on.
    pub taken_at: Timestamp,
    /// Cluster or files. A plan from files cannot be carried out.
    pub source: SourceType,
    /// Velero's namespace.
    pub namespace: String,
    /// The nodes concerned, by name, with their agents; empty where only tasks without a node are nudged.
    pub nodes: Vec<NodePlan>,
    /// The tasks that are nudged; for a restart the stuck ones that it is for. Ordered.
    pub targets: Vec<TaskRef>,
    /// The writes, in order, one node after the other. See [`Plan::executable`].
    pub steps: Vec<Step>,
    /// Accepted tasks that may have to be nudged by their pods after a restart; ordered. Nothing else is
    /// written after the steps.
    pub follow_ups: Vec<FollowUp>,
    /// What the action does to each task that it concerns, ordered by node and task.
    pub effects: Vec<TaskEffect>,
    /// What should happen afterwards: the action succeeds when all of these do.
    pub expected: Vec<Expectation>,
    /// What was tried before, newest first.
    pub earlier: Vec<Earlier>,
    /// Why the action is refused as a whole; those that may be overridden are listed also under `--force`.
    pub refusals: Vec<Refusal>,
    /// What a selection (`--node`, `--all-stuck`) leaves out, and why; the rest goes on.
    pub left_out: Vec<LeftOut>,
    /// What the user should know beforehand, one sentence each.
    pub warnings: Vec<String>,
    /// What must be confirmed before the first step.
    pub confirmation: Confirmation,
    /// Whether the action is made to find out rather than to mend.
    pub probe: Probe,
    /// The rights that the steps, the trail and the watching need, essential ones first.
    pub rights: Vec<NeededRight>,
    /// Whether `--force` was given.
    pub force: super::Force,
}

/// Whether a plan may be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allowed,
    /// It may because `--force` was given.
    Forced,
    /// It is refused, and `--force` would change that.
    RefusedUnlessForced,
    /// It is refused.
    Refused,
}

impl Verdict {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Forced => "forced",
            Self::RefusedUnlessForced => "refused-unless-forced",
            Self::Refused => "refused",
        }
    }
}

impl Plan {
    /// Returns whether the plan may be carried out.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let is = |by: Override| self.refusals.iter().any(|refusal| refusal.by == by);
        if is(Override::Never) {
            return Verdict::Refused;
        }
        match (is(Override::Force), self.force) {
            (false, super::Force::No | super::Force::Yes) => Verdict::Allowed,
            (true, super::Force::Yes) => Verdict::Forced,
            (true, super::Force::No) => Verdict::RefusedUnlessForced,
        }
    }

    /// Returns the steps that may be carried out: all of them, or none where the plan is refused.
    #[must_use]
    pub fn executable(&self) -> &[Step] {
        match self.verdict() {
            Verdict::Allowed | Verdict::Forced => &self.steps,
            Verdict::RefusedUnlessForced | Verdict::Refused => &[],
        }
    }

    /// Returns the plan of a node.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodePlan> {
        self.nodes.iter().find(|node| node.node == name)
    }

    /// Returns the effects that end a task that could have succeeded.
    pub fn losses(&self) -> impl Iterator<Item = &TaskEffect> {
        self.effects.iter().filter(|effect| effect.is_loss())
    }
}

/// One node of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// Its name.
    pub node: String,
    /// Its node-agent pod; `None` if there is none.
    pub agent: Option<AgentBill>,
    /// The release whose rules the effects follow, such as `v1.17.1`.
    pub rules: &'static str,
    /// Why those rules are not certain, if they are not.
    pub rules_doubt: Option<String>,
    /// How many slots the tasks of the node hold by their status.
    pub holders: Vec<TaskRef>,
    /// The limit in force, where it is known.
    pub limit: Option<i64>,
    /// Tasks that wait for a slot there.
    pub waiting: Vec<TaskRef>,
    /// The log that a restart destroys.
    pub save_log: Option<SaveLog>,
}

/// The node-agent pod of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentBill {
    /// The pod's name.
    pub pod: String,
    /// Its UID.
    pub uid: String,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// When the process started.
    pub started: Option<Timestamp>,
    /// Its version, where that could be read.
    pub version: Option<String>,
    /// How often its container restarted.
    pub restarts: i64,
    /// The container that runs the agent.
    pub container: String,
    /// The DaemonSet that owns it.
    pub daemon_set: Option<String>,
}

/// The log to be saved before a restart (`--save-log`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveLog {
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// The command that saves it without this tool; `{ns}` as in a finding's action.
    pub command: String,
}

/// What an action does to one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEffect {
    /// The task.
    pub task: TaskRef,
    /// Its node, if it has one.
    pub node: Option<String>,
    /// Its phase now.
    pub phase: Phase,
    /// Bytes done and bytes in all, where it runs and says so.
    pub progress: Option<(i64, i64)>,
    /// What happens to it.
    pub effect: Effect,
    /// Whether it is one of those that the action is for.
    pub concern: Concern,
    /// Why, one sentence.
    pub why: String,
    /// Where Velero does that: release and file.
    pub source: &'static str,
}

impl TaskEffect {
    /// Returns whether the action ends a task that could have succeeded.
    #[must_use]
    pub const fn is_loss(&self) -> bool {
        match (self.effect, self.concern) {
            (
                Effect::Canceled | Effect::Failed | Effect::Stranded,
                Concern::Works | Concern::Target,
            ) => true,
            (Effect::Canceled | Effect::Failed | Effect::Stranded, Concern::Broken)
            | (
                Effect::Resumed
                | Effect::StartsAgain
                | Effect::LookedAt
                | Effect::Unobserved
                | Effect::Released
                | Effect::Untouched,
                Concern::Works | Concern::Target | Concern::Broken,
            ) => false,
        }
    }
}

/// How a task of the bill stands before the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concern {
    /// It is one that the action is for.
    Target,
    /// It works, or could.
    Works,
    /// It is broken or being cancelled already: nothing is lost with it.
    Broken,
}

impl Concern {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Works => "works",
            Self::Broken => "broken",
        }
    }
}

/// What happens to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It runs, and the new agent takes it up again; cancelled if that fails.
    Resumed,
    /// It is cancelled.
    Canceled,
    /// It is marked Failed.
    Failed,
    /// Its phase stays, and nobody works on it any more: a timeout ends it, if any does.
    Stranded,
    /// Its phase stays, and the new agent tries it again on the normal path.
    StartsAgain,
    /// A controller looks at it, and decides.
    LookedAt,
    /// Its phase stays, and if its pod begins to run while no agent watches, nobody notices.
    Unobserved,
    /// It is Canceling, and its slot is gone with the process; nobody resumes it.
    Released,
    /// Nothing happens to it.
    Untouched,
}

impl Effect {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resumed => "resumed",
            Self::Canceled => "cancelled",
            Self::Failed => "failed",
            Self::Stranded => "stranded",
            Self::StartsAgain => "starts-again",
            Self::LookedAt => "looked-at",
            Self::Unobserved => "unobserved",
            Self::Released => "released",
            Self::Untouched => "untouched",
        }
    }
}

/// Something that should happen after the action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The node, if it is about one.
    pub node: Option<String>,
    /// The tasks, ordered.
    pub tasks: Vec<TaskRef>,
    /// How many of them; a node with one free slot moves one of many.
    pub at_least: usize,
    /// What they should do.
    pub what: Expected,
    /// How many seconds that may take, from the look on.
    pub within_seconds: i64,
}

/// What a task should do after an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expected {
    /// Leave its phase towards its end: New to Accepted, Accepted to Prepared, Prepared to InProgress.
    Move,
    /// End, because its cancel is requested.
    End,
    /// Go on: it was InProgress, and is taken up again.
    Resume,
}

impl Expected {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Move => "move",
            Self::End => "end",
            Self::Resume => "resume",
        }
    }
}

/// An Accepted task that a restart may leave unobserved (v1.17 on: pod Create events are ignored, and a
/// restart does not cancel it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowUp {
    /// The task.
    pub task: TaskRef,
    /// The node of its mover pod.
    pub node: String,
    /// Its mover pod, which is named like the task.
    pub pod: ObjectRef,
    /// The UID of that pod.
    pub pod_uid: String,
}

/// Something that was tried before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Earlier {
    /// When.
    pub at: Timestamp,
    /// What.
    pub action: MarkKind,
    /// On what: a task, a mover pod, a node-agent pod.
    pub object: ObjectRef,
    /// The node, where it is known.
    pub node: Option<String>,
    /// The `--reason` that was given.
    pub reason: Option<String>,
    /// What tells it: an annotation or an Event.
    pub told_by: &'static str,
}

impl Override {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Force => "force",
        }
    }
}

impl RightNeed {
    /// Returns the text of the document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Essential => "essential",
            Self::FollowUp => "follow-up",
            Self::Watching => "watching",
            Self::Trail => "trail",
        }
    }
}

/// Why an action is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which of the reasons.
    pub code: RefusalCode,
    /// The node, if it is about one.
    pub node: Option<String>,
    /// The tasks that it is about, ordered.
    pub tasks: Vec<TaskRef>,
    /// Why, one sentence that a tired person understands.
    pub reason: String,
    /// What to do instead.
    pub instead: Vec<Instead>,
    /// Whether `--force` overrides it.
    pub by: Override,
}

/// What to do instead of a refused action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    /// The command, with `{ns}` as in a finding's action; `None` where there is nothing but to wait.
    pub command: Option<String>,
    /// What it does, or what to wait for.
    pub effect: String,
}

/// Whether a refusal can be overridden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Override {
    /// It cannot: the action cannot help, or cannot be made.
    Never,
    /// By `--force`: it would help, at a price.
    Force,
}

macro_rules! refusal_codes {
    ($($(#[$doc:meta])* $variant:ident => $code:literal;)+) => {
        /// The code of a refusal; never renamed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RefusalCode {
            $($(#[$doc])* $variant,)+
        }

        impl RefusalCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the code as it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }
        }
    };
}

refusal_codes! {
    /// The input is files: there is no cluster to act on.
    Offline => "offline";
    /// Nothing is stuck there.
    NothingStuck => "nothing-stuck";
    /// The task is final: nothing looks at it any more.
    TaskFinal => "task-final";
    /// The task is another data mover's.
    ForeignDataMover => "foreign-data-mover";
    /// Every slot is held by a healthy task: the normal queue.
    NormalQueue => "normal-queue";
    /// The prepare queue is full.
    PrepareQueueFull => "prepare-queue-full";
    /// A slot is held by something that is gone: a look is refused again.
    GhostSlot => "ghost-slot";
    /// The mover pod is gone, or has ended: no look brings it back.
    MoverPodLost => "mover-pod-lost";
    /// Nobody works on the node, or anywhere: nobody would look.
    NoWorkingAgent => "no-working-agent";
    /// The phase has no look that would help.
    NoTouchHelps => "no-touch-helps";
    /// The mover pod or its volume does not come up.
    ExposeBlocked => "expose-blocked";
    /// The restore's target is missing or not ready.
    RestoreTarget => "restore-target";
    /// The task is Prepared and its pod or volume is gone: a look would end it as Failed.
    TaskDoomed => "task-doomed";
    /// The Node does not exist any more.
    NodeGone => "node-gone";
    /// There is no node-agent pod on the node to restart.
    NoAgentPod => "no-agent-pod";
    /// The node-agent pod is being deleted or replaced already.
    AlreadyRestarting => "already-restarting";
    /// The new pod would crash at its configuration.
    ConfigWouldCrash => "config-would-crash";
    /// No DaemonSet would make a new pod.
    NotRecreated => "not-recreated";
    /// Another finding must be mended first.
    OtherFindingFirst => "other-finding-first";
    /// Tasks that could succeed would be cancelled or failed.
    TasksWouldBeLost => "tasks-would-be-lost";
    /// What matters could not be read.
    NotKnown => "not-known";
    /// The cause is open, and the look at another task of the same slots shows it.
    ProbedByAnother => "probed-by-another";
    /// The object was read without its UID or resource version, so no write of it can be guarded.
    NoPrecondition => "no-precondition";
}

/// What a selection leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The task, or `None` where a node is left out.
    pub task: Option<TaskRef>,
    /// The node.
    pub node: Option<String>,
    /// Why.
    pub refusal: Refusal,
}

/// What must be confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// How.
    pub by: ConfirmBy,
    /// What happens, one sentence for the prompt.
    pub question: String,
}

/// How an action is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfirmBy {
    /// By y or N.
    YesNo,
    /// By typing the name of each of these nodes in turn: running work is lost there.
    TypeNodeNames(Vec<String>),
}

/// Whether an action is made to find out rather than to mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It should mend what is wrong.
    No,
    /// The cause is not determined: the outcome is evidence. What that may cost.
    Yes {
        /// The risk, one sentence.
        risk: String,
    },
}

/// A right that a plan needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededRight {
    /// What happens without it.
    pub need: RightNeed,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The plural resource name.
    pub resource: &'static str,
    /// The subresource, or empty.
    pub subresource: &'static str,
    /// The verb.
    pub verb: &'static str,
    /// The namespace.
    pub namespace: String,
    /// The object, where only one is concerned.
    pub name: Option<String>,
}

/// What happens without a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RightNeed {
    /// The action cannot be carried out: it is refused before anything is changed.
    Essential,
    /// What a restart leaves unobserved is named instead of nudged.
    FollowUp,
    /// The outcome cannot be watched as well.
    Watching,
    /// The trail is incomplete: a warning.
    Trail,
}
