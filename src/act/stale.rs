//! Whether what a plan was shown for is still so.

use crate::plan::Plan;

/// Returns what has changed between the plan that was shown and one made from a newer reading, if anything did
/// that the user has not agreed to.
#[must_use]
pub fn stale(shown: &Plan, fresh: &Plan) -> Option<String> {
    for step in shown.executable() {
        if fresh.executable().contains(step) {
            continue;
        }
        let object = step
            .object()
            .map_or_else(|| "an object".to_owned(), |object| object.to_string());
        return Some(
            match fresh
                .refusals
                .iter()
                .find(|refusal| refusal.node == step.node)
            {
                Some(refusal) => format!("{object}: {}", refusal.reason),
                None => format!("{object} is gone, has changed, or no longer needs it"),
            },
        );
    }
    if fresh.verdict() != shown.verdict() {
        let reason = fresh
            .refusals
            .first()
            .map_or("the plan is another one now", |refusal| {
                refusal.reason.as_str()
            });
        return Some(reason.to_owned());
    }
    let lost = fresh
        .losses()
        .find(|loss| !shown.losses().any(|known| known.task == loss.task));
    lost.map(|loss| format!("{} would be lost too: {}", loss.task, loss.why))
}
