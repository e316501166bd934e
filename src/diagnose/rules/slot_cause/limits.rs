//! What a log cannot prove: what came after its end, and what the objects are too old to show.

use jiff::Timestamp;

use super::{BLOCKED_SECONDS, SlotCause};
use crate::diagnose::case::Case;
use crate::diagnose::finding::{Confidence, Evidence, EvidenceKind};
use crate::diagnose::rules::{overtaken, words};
use crate::replay::{NodeReplay, Pool};
use crate::snapshot::NowFrom;
use crate::snapshot::log_evidence::{LogEvidence, LoggedEntry};
use crate::snapshot::{Gap, GapReason, NodeAgent};
use crate::velero::{Phase, TaskKind, TaskRef};

/// For how long, in seconds, a log may have been silent before "now" without being old: an agent that looks
/// at nothing writes nothing.
const SILENT_SECONDS: i64 = 300;

/// Whether logs were read up to "now": from the cluster, where a silent log is one of an agent that writes nothing.
pub(super) const fn is_read_to_the_end(case: &Case<'_, '_>) -> bool {
    match case.snapshot.source.now_from {
        NowFrom::Server | NowFrom::Capture => true,
        NowFrom::Flag | NowFrom::NewestObject => false,
    }
}

/// Returns when a log ends, if that is long before "now" and what came after is not known.
pub(in crate::diagnose::rules) fn old_end(
    case: &Case<'_, '_>,
    log: &LogEvidence,
) -> Option<Timestamp> {
    log.speaks_to
        .filter(|end| !is_read_to_the_end(case) && case.age(*end) >= SILENT_SECONDS)
}

/// Says that the log of an agent ends long before "now".
pub(in crate::diagnose::rules) fn old_log(case: &Case<'_, '_>, agent: &NodeAgent) -> Option<Gap> {
    let end = old_end(case, agent.evidence.as_ref()?)?;
    Some(Gap::new(
        "log",
        GapReason::Partial,
        &format!(
            "log of {}/{} ends at {end}, {} before now",
            agent.pod.key.namespace,
            agent.pod.key.name,
            words::span(case.age(end))
        ),
        "what the node-agent has done since is not known",
    ))
}

/// Leaves of a cause what the log can carry: nothing is certain of a log that is old, torn or not read whole.
pub(super) fn within(case: &Case<'_, '_>, agent: &NodeAgent, mut found: SlotCause) -> SlotCause {
    let by_log = found
        .evidence
        .iter()
        .any(|one| one.kind == EvidenceKind::Log);
    let Some(log) = agent.evidence.as_ref().filter(|_| by_log) else {
        return found;
    };
    let end = old_end(case, log);
    let is_incomplete =
        log.torn > 0 || log.overflow == crate::snapshot::log_evidence::Overflow::Yes;
    if end.is_some() || is_incomplete {
        found.confidence = found.confidence.min(Confidence::Likely);
    }
    if let Some(end) = end {
        let ago = words::span(case.age(end));
        found.why = format!("{} (as of the end of its log, {ago} ago)", found.why);
        found.evidence.push(Evidence::derived(
            "end of the log".to_owned(),
            format!("{end}, {ago} before now"),
        ));
    }
    found
}

/// Says that a task was let in by the log which the objects do not show to hold a slot: the log is newer than the
/// objects, which need not be a moment's. `None` if no line says so, or the task asked again since.
pub(in crate::diagnose::rules) fn let_in_since(
    case: &Case<'_, '_>,
    node: &NodeReplay<'_>,
    pools: &[&Pool<'_>],
) -> Option<String> {
    let log = node.agent?.evidence.as_ref()?;
    let waiting = pools
        .iter()
        .flat_map(|pool| pool.waiting.iter().copied())
        .filter_map(|task| Some((task.to_string(), let_in(case, log, task)?)));
    let others = log.entries.iter().filter_map(|(name, entry)| {
        let at = let_in_by(case, pools, name, entry)?;
        Some((name.clone(), at))
    });
    let (task, at) = waiting.chain(others).next()?;
    Some(format!("it let {task} in at {at}"))
}

/// Returns when an entry was made of a task that by its object has not come so far, or that is not among the
/// objects because they are older.
fn let_in_by(
    case: &Case<'_, '_>,
    pools: &[&Pool<'_>],
    name: &str,
    entry: &LoggedEntry,
) -> Option<Timestamp> {
    let mut is_known = false;
    for kind in TaskKind::ALL {
        if entry.kind.is_some_and(|known| known != kind)
            || !pools.iter().any(|pool| pool.kinds.contains(&kind))
        {
            continue;
        }
        let reference = TaskRef {
            kind,
            namespace: case.snapshot.namespace.clone(),
            name: name.to_owned(),
        };
        is_known |= case.snapshot.tasks.contains_key(&reference);
        let not_begun = case
            .replay
            .tasks
            .get(&reference)
            .filter(|task| matches!(task.task.phase, Phase::New | Phase::Accepted));
        if let Some(at) = not_begun.and_then(|task| overtaken::let_in(case, task)) {
            return Some(at);
        }
    }
    let after_the_objects = entry.since.filter(|since| {
        overtaken::objects_may_be_old(case)
            && case
                .snapshot
                .newest_object
                .is_some_and(|newest| newest < *since)
    });
    after_the_objects.filter(|_| !is_known)
}

fn let_in(case: &Case<'_, '_>, log: &LogEvidence, task: &TaskRef) -> Option<Timestamp> {
    let logged = log.task(task)?;
    let at = logged.admitted?;
    if log.waits.contains_key(&task.name) || log.unmarked.contains_key(&task.name) {
        return None;
    }
    // Looked at long after it was let in, and not begun: the entry is in its own way.
    let looked_at_since = logged
        .looked
        .is_some_and(|looked| looked.duration_since(at).as_secs() >= BLOCKED_SECONDS);
    let is_overtaken =
        overtaken::objects_may_be_old(case) && (logged.left.is_some() || !looked_at_since);
    let just_now = case.age(logged.left.unwrap_or(at)) < BLOCKED_SECONDS;
    (just_now || is_overtaken).then_some(at)
}
