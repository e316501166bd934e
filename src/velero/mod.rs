//! What is known about Velero itself: kinds, phases, releases and configuration. No data of any cluster.
//!
//! Every fact names the release and the file it was read from. Nothing here looks at a capture.

pub mod config;
pub mod duration;
pub mod profile;
pub mod selector;
pub mod task;

pub use config::{ConfigIssue, LoadConcurrency, NodeAgentConfig, RuledConfig};
pub use duration::parse_go_duration;
pub use profile::{FieldEvidence, Known, KnownBug, Profile, TooOld, VeleroVersion};
pub use selector::{LabelSelector, SelectorError};
pub use task::{ObjectRef, Phase, TaskKind, TaskRef};

/// The label that Velero ≥ 1.17 puts on a task while it counts against the prepare queue
/// (v1.17.0 `pkg/exposer/types.go`): set on accept, removed on InProgress and on any final phase.
pub const EXPOSE_ON_GOING_LABEL: &str = "velero.io/expose-on-going";

/// The label that names a task's Backup.
pub const BACKUP_NAME_LABEL: &str = "velero.io/backup-name";

/// The label that names a task's Restore; Velero also puts it on every object that the Restore created.
pub const RESTORE_NAME_LABEL: &str = "velero.io/restore-name";

/// The field manager under which every node-agent writes tasks: the basename that the process sets
/// for its user agent (v1.12.4 `pkg/cmd/cli/nodeagent/server.go`). All node-agents share the one entry.
pub const NODE_AGENT_MANAGER: &str = "node-agent-server";

/// The prepare timeout of a node-agent that was given no `--data-mover-prepare-timeout`, in seconds
/// (v1.12.4 … main `pkg/cmd/cli/nodeagent/server.go`).
pub const DEFAULT_PREPARE_TIMEOUT_SECONDS: i64 = 30 * 60;

/// How long a look at a pod volume waits for its mover pod to run: the default of the agent's
/// `--resource-timeout`, in seconds (main `pkg/cmd/cli/nodeagent/server.go`, v1.17.2
/// `pkg/exposer/pod_volume.go`).
pub const DEFAULT_RESOURCE_TIMEOUT_SECONDS: i64 = 10 * 60;

/// The operation timeout of a Backup or Restore without `spec.itemOperationTimeout`, in seconds
/// (main `pkg/cmd/server/config/config.go`).
pub const DEFAULT_ITEM_OPERATION_TIMEOUT_SECONDS: i64 = 4 * 60 * 60;

/// The default of the server's `--fs-backup-timeout`, in seconds (main `pkg/cmd/server/config/config.go`).
pub const DEFAULT_FS_BACKUP_TIMEOUT_SECONDS: i64 = 240 * 60;

/// The default of a task's `spec.operationTimeout` (Backup `spec.csiSnapshotTimeout`), in seconds.
pub const DEFAULT_OPERATION_TIMEOUT_SECONDS: i64 = 10 * 60;
