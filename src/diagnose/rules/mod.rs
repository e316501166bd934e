//! One file per rule, named after the finding it proposes. A rule only proposes: it knows nothing of
//! the other rules. To add one: its file here, and its line in [`RULES`].

use super::case::{Case, Proposals};

mod accept_blocked;
mod accepts;
mod agent_crashloop;
mod agent_label_missing;
mod agent_restarted;
mod backup_waits_finished_tasks;
mod broken;
mod cancel_stuck;
mod completion_stuck;
mod config_drift;
mod config_ignored;
mod deadline_at_risk;
mod ends;
#[cfg(test)]
mod example;
mod expose_blocked;
mod expose_lost;
mod foreign_data_mover;
mod known_bug;
mod mover_pod_lost;
mod no_node_agent;
mod node_slots;
mod orphaned_tasks;
mod overtaken;
mod owner_gone;
mod phase_rewound;
mod prepare_missed;
mod prepare_queue_full;
mod prepare_queue_stale;
mod prepared_doomed;
mod recent_failures;
mod restore_target;
mod slot_cause;
mod transfer_stalled;
mod version_skew;
mod words;

/// Looks at the case and proposes.
pub(in crate::diagnose) type Check = fn(&Case<'_, '_>, &mut Proposals);

/// Every rule, in alphabetical order.
pub(in crate::diagnose) const RULES: &[Check] = &[
    accept_blocked::check,
    agent_crashloop::check,
    agent_label_missing::check,
    agent_restarted::check,
    backup_waits_finished_tasks::check,
    cancel_stuck::check,
    completion_stuck::check,
    config_drift::check,
    config_ignored::check,
    deadline_at_risk::check,
    expose_blocked::check,
    expose_lost::check,
    foreign_data_mover::check,
    known_bug::check,
    mover_pod_lost::check,
    no_node_agent::check,
    node_slots::check,
    orphaned_tasks::check,
    owner_gone::check,
    phase_rewound::check,
    prepare_missed::check,
    prepare_queue_full::check,
    prepare_queue_stale::check,
    prepared_doomed::check,
    recent_failures::check,
    restore_target::check,
    transfer_stalled::check,
    version_skew::check,
];
