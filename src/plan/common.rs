//! What both planners need: names, preconditions, rights, what was tried before.

use std::collections::BTreeSet;

use super::model::{
    ConfirmBy, Confirmation, Earlier, Instead, NeededRight, Plan, PlanAction, Probe, Refusal,
    RefusalCode, RightNeed,
};
use super::select::{NotSelected, Sure};
use super::step::{Precondition, StepKind};
use super::trail::{EVENT_NUDGE, EVENT_RESTART, restarted};
use super::{FollowUps, Intent, Known, Override, Wishes};
use crate::diagnose::near::nearest;
use crate::diagnose::{Finding, FindingId, paste};
use crate::snapshot::{
    Coverage, GapReason, Mark, MarkKind, Pod, ResourceKind, Snapshot, SourceType,
};
use crate::velero::{ObjectRef, TaskKind, TaskRef};

/// How many seconds an Event and an annotation of one action may be apart.
const SAME_ACTION_SECONDS: i64 = 10;

impl<'a, 's> Known<'a, 's> {
    /// Returns the findings that are about a task.
    pub(super) fn findings_about<'t>(
        &self,
        task: &'t TaskRef,
    ) -> impl Iterator<Item = &'a Finding> + use<'a, 's, 't> {
        self.diagnosis
            .findings
            .iter()
            .filter(move |finding| finding.tasks.binary_search(task).is_ok())
    }

    /// Returns the findings of a node.
    pub(super) fn findings_on<'t>(
        &self,
        node: &'t str,
    ) -> impl Iterator<Item = &'a Finding> + use<'a, 's, 't> {
        self.diagnosis
            .findings
            .iter()
            .filter(move |finding| finding.node.as_deref() == Some(node))
    }

    /// Returns the names of the nodes that can be meant.
    fn nodes(&self) -> BTreeSet<&str> {
        self.replay
            .nodes
            .keys()
            .chain(self.snapshot.nodes.keys())
            .map(String::as_str)
            .collect()
    }

    /// Returns nodes by their names, in order and each once.
    pub(super) fn chosen_nodes(&self, names: &[String]) -> Result<Vec<String>, NotSelected> {
        let known = self.nodes();
        for name in names {
            if !known.contains(name.as_str()) {
                let (why, sure) = self.no_such_node(name);
                return Err(NotSelected {
                    text: name.clone(),
                    why,
                    sure,
                    near: nearest(
                        name,
                        known
                            .iter()
                            .map(|name| ((*name).to_owned(), (*name).to_owned())),
                    ),
                });
            }
        }
        let chosen: BTreeSet<&String> = names.iter().collect();
        Ok(chosen.into_iter().cloned().collect())
    }
}

impl Known<'_, '_> {
    /// Says why a name names no node, and whether that is known.
    fn no_such_node(&self, name: &str) -> (String, Sure) {
        let unread = unread(self.snapshot, with_pods());
        let nodes = self.snapshot.coverage_of(ResourceKind::Node, "");
        if unread.is_empty() {
            let why = format!("there is no node {name:?}, and no node-agent or task on it");
            return (why, Sure::Yes);
        }
        if nodes == Coverage::Listed {
            return (format!("there is no node {name:?}"), Sure::Yes);
        }
        let why = format!(
            "whether there is a node {name:?} is not known: {} could not be read",
            listed(&unread)
        );
        (why, Sure::NotRead)
    }
}

/// The resources that hold tasks.
pub(super) fn tasks_alone() -> impl Iterator<Item = ResourceKind> {
    TaskKind::ALL.into_iter().map(ResourceKind::Task)
}

/// The resources that tell what is on a node.
pub(super) fn with_pods() -> impl Iterator<Item = ResourceKind> {
    tasks_alone().chain([ResourceKind::Pod])
}

/// Names the resources that were not read whole, each with its reason.
pub(super) fn unread(
    snapshot: &Snapshot,
    resources: impl Iterator<Item = ResourceKind>,
) -> Vec<String> {
    resources
        .filter_map(|resource| {
            let reason = not_whole(snapshot, resource)?;
            Some(format!("{} ({})", resource.plural(), reason.as_str()))
        })
        .collect()
}

/// The refusal to say that nothing is stuck where that could not be read.
pub(super) fn not_read(unread: &[String], what: &str) -> Refusal {
    refusal(
        RefusalCode::NotKnown,
        Override::Never,
        format!(
            "whether {what} is not known: {} could not be read",
            listed(unread)
        ),
    )
    .or(
        Some("kubectl velero-slots auth {ns}".to_owned()),
        "says which rights are missing",
    )
}

/// Returns why a resource of Velero's namespace was not read whole, if so: what is missing then is not known to
/// be gone. A kind that the cluster does not know, and what files do not hold, is none of that.
pub(super) fn not_whole(snapshot: &Snapshot, resource: ResourceKind) -> Option<GapReason> {
    match snapshot.coverage_of(resource, &snapshot.namespace) {
        Coverage::Listed | Coverage::Present => None,
        Coverage::Partial => Some(GapReason::Partial),
        Coverage::Unreadable(reason) => match reason {
            GapReason::NotInInput | GapReason::NotFound => None,
            GapReason::Forbidden
            | GapReason::Malformed
            | GapReason::Partial
            | GapReason::Timeout
            | GapReason::Unsupported => Some(reason),
        },
    }
}

/// Begins a plan without anything in it.
pub(super) fn begin(known: Known<'_, '_>, action: PlanAction, wishes: &Wishes) -> Plan {
    let mut plan = Plan {
        action,
        taken_at: known.snapshot.taken_at,
        source: known.snapshot.source.source,
        namespace: known.snapshot.namespace.clone(),
        nodes: Vec::new(),
        targets: Vec::new(),
        steps: Vec::new(),
        follow_ups: Vec::new(),
        effects: Vec::new(),
        expected: Vec::new(),
        earlier: Vec::new(),
        refusals: Vec::new(),
        left_out: Vec::new(),
        warnings: Vec::new(),
        confirmation: Confirmation {
            by: ConfirmBy::YesNo,
            question: String::new(),
        },
        probe: Probe::No,
        rights: Vec::new(),
        force: wishes.force,
    };
    if plan.source == SourceType::Files {
        // A plan that is shown and no more needs no cluster.
        if wishes.intent == Intent::CarryOut {
            plan.refusals.push(refusal(
                RefusalCode::Offline,
                Override::Never,
                "the input is files: this is what would be done, and there is no cluster to do it on"
                    .to_owned(),
            ));
        }
        plan.warnings.push(format!(
            "the files tell of {}: the cluster may look different now",
            plan.taken_at
        ));
    }
    plan
}

/// Begins a refusal about nothing in particular.
pub(super) fn refusal(code: RefusalCode, by: Override, mut reason: String) -> Refusal {
    // The summary of a finding, which many a reason ends with, is a sentence of its own.
    while reason.ends_with('.') {
        reason.pop();
    }
    Refusal {
        code,
        node: None,
        tasks: Vec::new(),
        reason,
        instead: Vec::new(),
        by,
    }
}

impl Refusal {
    /// Says about which node it is.
    pub(super) fn on(mut self, node: Option<&str>) -> Self {
        self.node = node.map(str::to_owned);
        self
    }

    /// Says about which tasks it is.
    pub(super) fn about<'t>(mut self, tasks: impl IntoIterator<Item = &'t TaskRef>) -> Self {
        self.tasks = tasks.into_iter().cloned().collect();
        self.tasks.sort();
        self.tasks.dedup();
        self
    }

    /// Adds what to do instead; a command with a name that cannot be pasted is left out.
    pub(super) fn or(mut self, command: Option<String>, effect: &str) -> Self {
        let command = command.filter(|command| !command.contains(paste::NO_NAME));
        self.instead.push(Instead {
            command,
            effect: effect.to_owned(),
        });
        self
    }

    /// Adds what a finding suggests, other than an action of this tool.
    pub(super) fn or_as(self, finding: &Finding) -> Self {
        self.or_such(finding, |command| !is_own_action(command))
    }

    /// Adds what a finding suggests, other than a restart.
    pub(super) fn or_nudge_as(self, finding: &Finding) -> Self {
        self.or_such(finding, |command| {
            !command.starts_with("kubectl velero-slots restart ")
        })
    }

    fn or_such(mut self, finding: &Finding, is_told: fn(&str) -> bool) -> Self {
        let actions = finding
            .actions
            .iter()
            .filter(|action| is_told(&action.command))
            .take(2);
        self.instead.extend(actions.map(|action| Instead {
            command: Some(action.command.clone()),
            effect: action.effect.clone(),
        }));
        self
    }
}

/// Returns whether a command is an action of this tool.
pub(super) fn is_own_action(command: &str) -> bool {
    ["nudge", "restart"]
        .iter()
        .any(|action| command.starts_with(&format!("kubectl velero-slots {action} ")))
}

/// The command that nudges a task.
pub(super) fn nudge_command(task: &TaskRef) -> String {
    format!(
        "kubectl velero-slots nudge {}/{} {{ns}}",
        task.kind,
        paste::name(&task.name)
    )
}

/// The command that restarts the node-agent of a node.
pub(super) fn restart_command(node: &str) -> String {
    format!(
        "kubectl velero-slots restart --node {} {{ns}}",
        paste::name(node)
    )
}

/// The command that tells the story of a task.
pub(super) fn explain_command(task: &TaskRef) -> String {
    format!(
        "kubectl velero-slots explain {}/{} {{ns}}",
        task.kind,
        paste::name(&task.name)
    )
}

/// The command that requests the cancel of a task.
pub(super) fn cancel_command(task: &TaskRef) -> String {
    format!(
        "kubectl patch {}.velero.io {{ns}} {} --type merge -p '{{\"spec\":{{\"cancel\":true}}}}'",
        task.kind.plural(),
        paste::name(&task.name)
    )
}

/// Names some tasks for a sentence.
pub(super) fn named<'t>(tasks: impl IntoIterator<Item = &'t TaskRef>) -> String {
    let names: Vec<String> = tasks
        .into_iter()
        .map(|task| format!("{}/{}", task.kind, task.name))
        .collect();
    listed(&names)
}

/// Lists up to three names and counts the rest.
pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
    match names.len().saturating_sub(3) {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

/// Returns what must still hold when an object is written; `None` where it was read without that.
pub(super) fn precondition(
    uid: &str,
    resource_version: Option<&String>,
    source: SourceType,
) -> Option<Precondition> {
    let found = Precondition {
        uid: uid.to_owned(),
        resource_version: resource_version.cloned().unwrap_or_default(),
    };
    // A plan from files is never carried out: what it lacks hides nothing of what it shows.
    let whole = !found.uid.is_empty() && !found.resource_version.is_empty();
    (whole || source == SourceType::Files).then_some(found)
}

/// Returns the precondition of a pod.
pub(super) fn pod_precondition(pod: &Pod, source: SourceType) -> Option<Precondition> {
    precondition(&pod.uid, pod.resource_version.as_ref(), source)
}

/// The refusal to write an object that was read without what guards the write.
pub(super) fn unguarded(object: &ObjectRef) -> Refusal {
    refusal(
        RefusalCode::NoPrecondition,
        Override::Never,
        format!(
            "{object} was read without its UID or resource version: a write of it could hit another object"
        ),
    )
}

/// Names a pod.
pub(super) fn pod_ref(pod: &Pod) -> ObjectRef {
    ObjectRef::namespaced("Pod", &pod.key.namespace, &pod.key.name)
}

/// Returns the rights that a plan needs, essential ones first.
pub(super) fn rights(plan: &Plan, wishes: &Wishes) -> Vec<NeededRight> {
    let mut rights = BTreeSet::new();
    let mut add = |need, group, resource, subresource, verb, name: Option<&str>| {
        rights.insert(NeededRight {
            need,
            group,
            resource,
            subresource,
            verb,
            namespace: plan.namespace.clone(),
            name: name.map(str::to_owned),
        });
    };
    for step in &plan.steps {
        match &step.kind {
            StepKind::AnnotateTask { task, .. } => add(
                RightNeed::Essential,
                "velero.io",
                task.kind.plural(),
                "",
                "patch",
                Some(&task.name),
            ),
            StepKind::AnnotatePod { pod, .. } => {
                add(
                    RightNeed::Essential,
                    "",
                    "pods",
                    "",
                    "patch",
                    Some(&pod.name),
                );
            }
            StepKind::DeletePod { pod, .. } => {
                add(
                    RightNeed::Essential,
                    "",
                    "pods",
                    "",
                    "delete",
                    Some(&pod.name),
                );
            }
            // Its name is not known before it is there.
            StepKind::MarkReplacement { .. } => {
                add(RightNeed::Trail, "", "pods", "", "patch", None);
            }
        }
    }
    if plan.steps.is_empty() {
        return Vec::new();
    }
    if wishes.follow_up == FollowUps::Nudge {
        for follow_up in &plan.follow_ups {
            let name = Some(follow_up.pod.name.as_str());
            add(RightNeed::FollowUp, "", "pods", "", "patch", name);
        }
    }
    add(RightNeed::Watching, "", "pods", "log", "get", None);
    add(RightNeed::Trail, "", "events", "", "create", None);
    rights.into_iter().collect()
}

/// Returns what was tried before on the tasks and nodes of a plan, newest first.
pub(super) fn earlier(known: Known<'_, '_>, plan: &Plan) -> Vec<Earlier> {
    let mut found: Vec<Earlier> = Vec::new();
    let mut add = |marks: &[Mark], object: &ObjectRef, node: Option<&str>| {
        found.extend(marks.iter().map(|mark| Earlier {
            at: mark.at,
            action: mark.kind,
            object: object.clone(),
            node: node.map(str::to_owned),
            reason: mark.reason.clone(),
            told_by: "annotation",
        }));
    };
    let tasks: BTreeSet<&TaskRef> = plan
        .targets
        .iter()
        .chain(plan.effects.iter().map(|effect| &effect.task))
        .collect();
    for reference in &tasks {
        let Some(task) = known.snapshot.tasks.get(*reference) else {
            continue;
        };
        let node = known
            .replay
            .tasks
            .get(*reference)
            .and_then(|task| task.node.as_deref());
        add(&task.marks, &ObjectRef::from(*reference), node);
        if let Some(pod) = known
            .snapshot
            .pod(&reference.namespace, &reference.name)
            .seen()
        {
            add(&pod.marks, &pod_ref(pod), node);
        }
    }
    let nodes: BTreeSet<&str> = plan.nodes.iter().map(|node| node.node.as_str()).collect();
    for agent in &known.snapshot.agents {
        if let Some(node) = agent.node().filter(|node| nodes.contains(node)) {
            add(&agent.pod.marks, &pod_ref(&agent.pod), Some(node));
        }
    }
    for event in &known.snapshot.events {
        let Some(at) = event.last_seen else {
            continue;
        };
        let (action, node) = match event.reason.as_str() {
            EVENT_RESTART => {
                let on = nodes
                    .iter()
                    .find(|node| event.message.starts_with(&restarted(Some(node))));
                let Some(node) = on else { continue };
                (MarkKind::Restart, Some((*node).to_owned()))
            }
            EVENT_NUDGE
                if tasks
                    .iter()
                    .any(|task| event.about == ObjectRef::from(*task)) =>
            {
                (MarkKind::Nudge, None)
            }
            _ => continue,
        };
        let told = found.iter().any(|other| {
            other.action == action
                && (other.object == event.about || (node.is_some() && other.node == node))
                && at.duration_since(other.at).as_secs().abs() <= SAME_ACTION_SECONDS
        });
        if !told {
            found.push(Earlier {
                at,
                action,
                object: event.about.clone(),
                node,
                reason: event
                    .message
                    .split_once(": ")
                    .map(|(_, reason)| reason.to_owned()),
                told_by: "event",
            });
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    found.dedup();
    found
}

/// Returns whether a finding has an id.
pub(super) fn has(findings: &[&Finding], id: FindingId) -> bool {
    findings.iter().any(|finding| finding.id == id)
}
