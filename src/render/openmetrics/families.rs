//! The metrics, in the order in which they are written. Names are never changed once released.

use super::text::Family;

macro_rules! families {
    ($($name:ident => $metric:literal, $help:literal;)+) => {
        $(pub(super) const $name: Family = Family { name: $metric, help: $help };)+

        /// Every metric.
        #[cfg(test)]
        pub(super) const ALL: &[Family] = &[$($name,)+];
    };
}

families! {
    BUILD => "velero_slots_build_info",
        "Observed: the release of this program. Always 1.";
    TAKEN_AT => "velero_slots_taken_at_timestamp_seconds",
        "Observed: the time that the answer is about, by the clock of the API server.";
    VELERO => "velero_slots_velero_info",
        "Observed: a release of Velero that runs. Always 1.";
    GAP => "velero_slots_gap",
        "Observed: something could not be read or known; metrics that need it are missing. Always 1.";
    UNREAD => "velero_slots_unread_task_kind",
        "Observed: a kind of task could not be read, or not all of it. Always 1.";
    VERDICT => "velero_slots_verdict",
        "Derived: the verdict of the diagnosis. A state set.";
    INCONCLUSIVE => "velero_slots_inconclusive",
        "Derived: for how many reasons nothing better than unknown could be said.";
    SEVERITY => "velero_slots_severity_findings",
        "Derived: how many findings there are of a severity.";
    FINDINGS => "velero_slots_findings",
        "Derived: how many findings there are of an id and cause.";
    FINDING_TASKS => "velero_slots_finding_tasks",
        "Derived: how many tasks these findings are about.";
    FINDING_AFFECTED => "velero_slots_finding_affected_tasks",
        "Derived: how many other tasks wait because of these findings.";
    FINDING_OLDEST => "velero_slots_finding_oldest_seconds",
        "Derived: for how long the oldest of these findings holds.";
    FINDING_DEADLINE => "velero_slots_finding_deadline_timestamp_seconds",
        "Derived: when the first task of these findings ends by itself.";
    UNFINISHED => "velero_slots_unfinished_tasks",
        "Observed: unfinished tasks of Velero's own data mover, by kind.";
    TASKS => "velero_slots_tasks",
        "Observed: unfinished tasks of Velero's own data mover, by kind, phase and node; the node is empty while no node has the task.";
    QUEUE_LENGTH => "velero_slots_prepare_queue_length",
        "Observed: how many tasks fill the prepare queue.";
    QUEUE_LIMIT => "velero_slots_prepare_queue_limit",
        "Derived: the prepareQueueLength in force.";
    NODE_VERDICT => "velero_slots_node_verdict",
        "Derived: the verdict of a node. A state set.";
    AGENT_READY => "velero_slots_agent_ready",
        "Observed: whether the node-agent of a node works: Running, ready, not terminating.";
    AGENT_RESTARTS => "velero_slots_agent_restarts",
        "Observed: how often the container of the node-agent restarted.";
    AGENT_START => "velero_slots_agent_start_timestamp_seconds",
        "Observed: when the process of the node-agent started.";
    LIMIT => "velero_slots_node_limit",
        "Derived: the concurrency number that the running node-agent read when it started, and where that comes from.";
    CONFIGURED => "velero_slots_node_limit_configured",
        "Configured: the concurrency number that a node-agent that starts now would use.";
    SLOTS => "velero_slots_node_slots",
        "Derived: how many slots a node has; on Velero 1.12 of all kinds together, else the limit.";
    IN_PROGRESS => "velero_slots_node_in_progress",
        "Derived: how many tasks hold a slot, by the status of the tasks. The memory of a node-agent is not seen.";
    FREE => "velero_slots_node_slots_free",
        "Derived: how many slots are free by the status of the tasks. Not proven: the memory of a node-agent is not seen.";
    LEAKED => "velero_slots_node_slots_leaked_at_least",
        "Derived: how many slots are held by nothing that exists; above 0 only where a finding says so.";
    WAITING => "velero_slots_node_waiting",
        "Derived: how many tasks wait for a slot of the node.";
    OLDEST => "velero_slots_node_oldest_wait_seconds",
        "Derived: for how long the oldest of them waits; missing where none waits.";
}
