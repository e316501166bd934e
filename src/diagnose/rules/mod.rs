//! One file per rule, named after the finding it proposes. A rule only proposes: it knows nothing of
//! the other rules. To add one: its file here, and its line in [`RULES`].

use super::case::{Case, Proposals};

mod accept_blocked;
mod accepts;
mod agent_crashloop;
mod config_drift;
mod expose_blocked;
mod expose_lost;
mod no_node_agent;
mod prepare_missed;
mod prepare_queue_full;
mod prepare_queue_stale;
mod words;

/// Looks at the case and proposes.
pub(in crate::diagnose) type Check = fn(&Case<'_, '_>, &mut Proposals);

/// Every rule, in alphabetical order.
pub(in crate::diagnose) const RULES: &[Check] = &[
    accept_blocked::check,
    agent_crashloop::check,
    config_drift::check,
    expose_blocked::check,
    expose_lost::check,
    no_node_agent::check,
    prepare_missed::check,
    prepare_queue_full::check,
    prepare_queue_stale::check,
];
