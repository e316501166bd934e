//! What a glance has shown, as candidates: what is wrong first.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::Candidate;
use crate::diagnose::{Diagnosis, Severity, diagnose};
use crate::replay::{Replay, ReplayOptions, replay};
use crate::report::{Filters, NodeRow, NodeVerdict, Pins, StatusReport};
use crate::snapshot::{ObjectKey, ParentKind, ParentRef, Snapshot, Task};
use crate::velero::{Phase, TaskKind, TaskRef};

/// What a glance has shown.
pub(super) struct Seen {
    nodes: Vec<NodeRow>,
    /// The most wanted first.
    tasks: Vec<SeenTask>,
    parents: BTreeMap<ParentRef, Count>,
    claims: BTreeMap<ObjectKey, (Urgency, String)>,
}

/// One task.
struct SeenTask {
    reference: TaskRef,
    urgency: Urgency,
    about: String,
}

/// How many tasks a Backup or Restore has.
#[derive(Default)]
struct Count {
    unfinished: usize,
    all: usize,
}

/// How much a task is likely to be the one that is asked about, the most wanted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// A critical finding is about it.
    Stuck,
    /// Another warning is.
    Suspect,
    /// It waits for a slot.
    Waits,
    /// It waits for what comes before.
    Early,
    /// It holds a slot.
    Runs,
    /// It is over.
    Over,
}

/// How a word spells kinds of tasks.
pub(super) struct TaskWords<'w> {
    word: &'w str,
}

impl<'w> TaskWords<'w> {
    /// Looks at what was typed.
    pub(super) const fn begun(word: &'w str) -> Self {
        Self { word }
    }

    /// Spells a kind as the word does; by its short name where the word is no help.
    fn spell(&self, kind: TaskKind) -> String {
        let short = kind.short_name().to_owned();
        match self.word.split_once('/') {
            Some((typed, _)) if TaskKind::parse(typed) == Some(kind) => typed.to_owned(),
            Some(_) => short,
            None => {
                let full = kind.as_str().to_owned();
                let lower = full.to_ascii_lowercase();
                [short.clone(), lower, full]
                    .into_iter()
                    .find(|name| name.starts_with(self.word))
                    .unwrap_or(short)
            }
        }
    }
}

impl Seen {
    /// Concludes what a diagnosis would, from what is there.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let replayed = replay(snapshot, ReplayOptions::default());
        let diagnosis = diagnose(snapshot, &replayed);
        let report = StatusReport::new(
            snapshot,
            &replayed,
            &diagnosis,
            &Filters::default(),
            &Pins::default(),
        );
        let mut nodes = report.nodes;
        nodes.sort_by_key(|node| order(node.verdict));
        let tasks = tasks(snapshot, &replayed, &diagnosis);
        Self {
            nodes,
            parents: parents(snapshot),
            claims: claims(snapshot, &tasks),
            tasks,
        }
    }

    /// Returns the nodes with their slots, those that need somebody first.
    pub(super) fn nodes(&self, suffix: &str) -> Vec<Candidate> {
        self.nodes
            .iter()
            .map(|node| Candidate::new(format!("{}{suffix}", node.name), slots(node)))
            .collect()
    }

    /// Returns the unfinished tasks, stuck ones first.
    pub(super) fn tasks(&self, words: &TaskWords<'_>) -> Vec<Candidate> {
        self.tasks
            .iter()
            .filter(|task| task.urgency != Urgency::Over)
            .map(|task| task.candidate(&words.spell(task.reference.kind)))
            .collect()
    }

    /// Returns the Backups, those with unfinished tasks first.
    pub(super) fn backups(&self) -> Vec<Candidate> {
        self.parents(ParentKind::Backup, "", &|_| true)
    }

    /// Returns the Restores, those with unfinished tasks first.
    pub(super) fn restores(&self) -> Vec<Candidate> {
        self.parents(ParentKind::Restore, "", &|_| true)
    }

    /// Returns what can be explained: to an empty word what is not over, to a begun one all that may be meant.
    pub(super) fn subjects(&self, word: &str) -> Vec<Candidate> {
        let kind = word.split_once('/').map(|(kind, _)| kind);
        let plain = kind.map(|kind| {
            let lower = kind.to_ascii_lowercase();
            lower.split('.').next().unwrap_or_default().to_owned()
        });
        match (kind, plain.as_deref()) {
            (Some(kind), Some("task" | "tasks" | "pod" | "pods" | "po")) => (self.tasks.iter())
                .map(|task| task.candidate(kind))
                .collect(),
            (Some(kind), Some("backup" | "backups")) => {
                self.parents(ParentKind::Backup, &format!("{kind}/"), &|_| true)
            }
            (Some(kind), Some("restore" | "restores")) => {
                self.parents(ParentKind::Restore, &format!("{kind}/"), &|_| true)
            }
            (Some(kind), Some("pvc" | "persistentvolumeclaim" | "persistentvolumeclaims")) => {
                self.claims(kind)
            }
            (Some(_) | None, _) => self.everything(word),
        }
    }

    fn everything(&self, word: &str) -> Vec<Candidate> {
        let words = TaskWords::begun(word);
        let is_begun = !word.is_empty();
        let mut all: Vec<Candidate> = self
            .tasks
            .iter()
            .filter(|task| is_begun || task.urgency != Urgency::Over)
            .map(|task| task.candidate(&words.spell(task.reference.kind)))
            .collect();
        let shown = |count: &Count| is_begun || count.unfinished > 0;
        all.extend(self.parents(ParentKind::Backup, "backup/", &shown));
        all.extend(self.parents(ParentKind::Restore, "restore/", &shown));
        if is_begun {
            all.extend(self.claims("pvc"));
        }
        all
    }

    fn parents(
        &self,
        kind: ParentKind,
        prefix: &str,
        shown: &dyn Fn(&Count) -> bool,
    ) -> Vec<Candidate> {
        let mut all: Vec<(&ParentRef, &Count)> = self
            .parents
            .iter()
            .filter(|(parent, count)| parent.kind == kind && shown(count))
            .collect();
        // Names stay in order.
        all.sort_by_key(|(_, count)| count.unfinished == 0);
        all.into_iter()
            .map(|(parent, count)| {
                let about = format!("{} of {} unfinished", count.unfinished, tasks_of(count.all));
                Candidate::new(format!("{prefix}{}", parent.name), about)
            })
            .collect()
    }

    fn claims(&self, kind: &str) -> Vec<Candidate> {
        let mut all: Vec<_> = self.claims.iter().collect();
        all.sort_by_key(|(_, (urgency, _))| *urgency);
        all.into_iter()
            .map(|(claim, (_, about))| {
                Candidate::new(
                    format!("{kind}/{}/{}", claim.namespace, claim.name),
                    about.clone(),
                )
            })
            .collect()
    }
}

impl SeenTask {
    fn candidate(&self, kind: &str) -> Candidate {
        Candidate::new(
            format!("{kind}/{}", self.reference.name),
            self.about.clone(),
        )
    }
}

fn tasks_of(count: usize) -> String {
    if count == 1 {
        "1 task".to_owned()
    } else {
        format!("{count} tasks")
    }
}

fn tasks(snapshot: &Snapshot, replay: &Replay<'_>, diagnosis: &Diagnosis) -> Vec<SeenTask> {
    // Findings are sorted by severity: the first one that is about a task is the worst.
    let mut findings: BTreeMap<&TaskRef, (Severity, &'static str)> = BTreeMap::new();
    for finding in &diagnosis.findings {
        for task in &finding.tasks {
            findings
                .entry(task)
                .or_insert((finding.severity, finding.id.as_str()));
        }
    }
    let mut tasks: Vec<SeenTask> = snapshot
        .tasks
        .values()
        .map(|task| {
            let finding = findings.get(&task.reference).copied();
            let node = replay
                .tasks
                .get(&task.reference)
                .and_then(|replayed| replayed.node.as_deref())
                .or(task.status_node.as_deref());
            SeenTask {
                reference: task.reference.clone(),
                urgency: urgency(task, finding.map(|(severity, _)| severity)),
                about: about(task, node, finding),
            }
        })
        .collect();
    // Tasks come in the order of their names, and stay in it.
    tasks.sort_by_key(|task| task.urgency);
    tasks
}

fn urgency(task: &Task, finding: Option<Severity>) -> Urgency {
    if task.phase.is_final() {
        return Urgency::Over;
    }
    match finding {
        Some(Severity::Critical) => return Urgency::Stuck,
        Some(Severity::Warning) => return Urgency::Suspect,
        Some(Severity::Info) | None => {}
    }
    match task.phase {
        Phase::Prepared => Urgency::Waits,
        Phase::New | Phase::Accepted | Phase::Other(_) => Urgency::Early,
        Phase::InProgress | Phase::Canceling => Urgency::Runs,
        Phase::Canceled | Phase::Completed | Phase::Failed => Urgency::Over,
    }
}

fn about(task: &Task, node: Option<&str>, finding: Option<(Severity, &'static str)>) -> String {
    let mut about = task.phase.to_string();
    if let Some(node) = node {
        about.push_str(" on ");
        about.push_str(node);
    }
    if let Some((Severity::Critical | Severity::Warning, id)) = finding {
        about.push_str(": ");
        about.push_str(id);
    }
    about
}

fn parents(snapshot: &Snapshot) -> BTreeMap<ParentRef, Count> {
    let mut parents: BTreeMap<ParentRef, Count> = BTreeMap::new();
    for task in snapshot.tasks.values() {
        if let Some(parent) = &task.parent {
            let count = parents.entry(parent.clone()).or_default();
            count.all += 1;
            if !task.phase.is_final() {
                count.unfinished += 1;
            }
        }
    }
    parents
}

/// Returns the claims that tasks name, each with the task that is most likely meant.
fn claims(snapshot: &Snapshot, tasks: &[SeenTask]) -> BTreeMap<ObjectKey, (Urgency, String)> {
    let mut claims = BTreeMap::new();
    for seen in tasks {
        let Some(task) = snapshot.tasks.get(&seen.reference) else {
            continue;
        };
        for claim in claims_of(snapshot, task) {
            let kind = seen.reference.kind.short_name();
            claims
                .entry(claim)
                .or_insert_with(|| (seen.urgency, format!("{kind}: {}", seen.about)));
        }
    }
    claims
}

fn claims_of(snapshot: &Snapshot, task: &Task) -> BTreeSet<ObjectKey> {
    let of_pod = task.pod.as_ref().and_then(|pod| {
        let key = ObjectKey::new(&pod.namespace, &pod.name);
        Some((pod, snapshot.pods.get(&key)?))
    });
    let of_pod = of_pod.into_iter().flat_map(|(target, pod)| {
        pod.claims
            .iter()
            .map(|claim| ObjectKey::new(&target.namespace, claim))
    });
    task.claim.iter().cloned().chain(of_pod).collect()
}

/// Returns the place of a verdict in the list: who needs somebody comes first.
const fn order(verdict: NodeVerdict) -> u8 {
    match verdict {
        NodeVerdict::Stuck => 0,
        NodeVerdict::NoAgent => 1,
        NodeVerdict::Degraded => 2,
        NodeVerdict::Queued => 3,
        NodeVerdict::Busy => 4,
        NodeVerdict::Unknown => 5,
        NodeVerdict::Idle => 6,
    }
}

/// Says how the slots of a node stand: `stuck: 0/1 in progress, 84 wait`.
fn slots(node: &NodeRow) -> String {
    let verdict = match node.verdict {
        NodeVerdict::Stuck => "stuck: ",
        NodeVerdict::NoAgent => "no agent: ",
        NodeVerdict::Degraded => "degraded: ",
        NodeVerdict::Queued | NodeVerdict::Busy | NodeVerdict::Unknown | NodeVerdict::Idle => "",
    };
    let held = node.slots.held;
    let held = match node.slots.limit {
        Some(limit) => format!("{held}/{limit} in progress"),
        None => format!("{held} in progress, limit not known"),
    };
    let waiting = match node.waiting_count {
        0 => String::new(),
        1 => ", 1 waits".to_owned(),
        waiting => format!(", {waiting} wait"),
    };
    format!("{verdict}{held}{waiting}")
}
