//! The rights that each feature needs, and the least roles made of them. No Secrets, no exec, no
//! cluster-admin: a capture of what these rights show can be mailed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::velero::TaskKind;

/// Where a right must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RightScope {
    /// In Velero's own namespace.
    Velero,
    /// In the whole cluster.
    Cluster,
}

/// Who needs a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleKind {
    /// Whoever reads.
    Viewer,
    /// Whoever also acts on tasks and node-agents.
    Operator,
}

/// Whether a feature works without a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Without it answers become unknown.
    Required,
    /// Without it the answer lacks what this right buys, and says so.
    Optional,
}

/// One right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The plural resource name.
    pub resource: &'static str,
    /// The subresource, or empty.
    pub subresource: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// Where.
    pub scope: RightScope,
    /// From which role on.
    pub role: RoleKind,
    /// Whether the feature works without.
    pub need: Need,
    /// What it is for.
    pub feature: &'static str,
}

const LIST: &[&str] = &["list"];

const fn reads(
    group: &'static str,
    resource: &'static str,
    scope: RightScope,
    need: Need,
    feature: &'static str,
) -> Right {
    Right {
        group,
        resource,
        subresource: "",
        verbs: LIST,
        scope,
        role: RoleKind::Viewer,
        need,
        feature,
    }
}

const fn traces(subresource: &'static str, feature: &'static str) -> Right {
    Right {
        group: "",
        resource: "pods",
        subresource,
        verbs: &["get"],
        scope: RightScope::Velero,
        role: RoleKind::Viewer,
        need: Need::Optional,
        feature,
    }
}

/// What the right to watch buys, for whatever list.
const LIVE: &str = "-w and --until without listing every few seconds";

const fn watches(group: &'static str, resource: &'static str, scope: RightScope) -> Right {
    Right {
        group,
        resource,
        subresource: "",
        verbs: &["watch"],
        scope,
        role: RoleKind::Viewer,
        need: Need::Optional,
        feature: LIVE,
    }
}

const fn acts(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    need: Need,
    feature: &'static str,
) -> Right {
    Right {
        group,
        resource,
        subresource: "",
        verbs,
        scope: RightScope::Velero,
        role: RoleKind::Operator,
        need,
        feature,
    }
}

/// Every right, required ones first within a role.
pub const RIGHTS: &[Right] = &[
    reads(
        "velero.io",
        TaskKind::DataUpload.plural(),
        RightScope::Velero,
        Need::Required,
        "tasks, slots and queues",
    ),
    reads(
        "velero.io",
        TaskKind::DataDownload.plural(),
        RightScope::Velero,
        Need::Required,
        "tasks, slots and queues",
    ),
    reads(
        "velero.io",
        TaskKind::PodVolumeBackup.plural(),
        RightScope::Velero,
        Need::Required,
        "tasks, slots and queues",
    ),
    reads(
        "velero.io",
        TaskKind::PodVolumeRestore.plural(),
        RightScope::Velero,
        Need::Required,
        "tasks, slots and queues",
    ),
    reads(
        "",
        "pods",
        RightScope::Velero,
        Need::Required,
        "node-agents and mover pods",
    ),
    reads(
        "apps",
        "daemonsets",
        RightScope::Velero,
        Need::Required,
        "why there is no node-agent",
    ),
    reads(
        "",
        "configmaps",
        RightScope::Velero,
        Need::Required,
        "the limit per node and the prepare queue",
    ),
    reads(
        "velero.io",
        "backups",
        RightScope::Velero,
        Need::Required,
        "deadlines, and tasks that nobody waits for",
    ),
    reads(
        "velero.io",
        "restores",
        RightScope::Velero,
        Need::Required,
        "deadlines, and tasks that nobody waits for",
    ),
    reads(
        "",
        "persistentvolumeclaims",
        RightScope::Velero,
        Need::Required,
        "why a mover pod does not come up",
    ),
    reads(
        "",
        "nodes",
        RightScope::Cluster,
        Need::Required,
        "rules for node labels, and nodes that are gone",
    ),
    reads(
        "apps",
        "deployments",
        RightScope::Velero,
        Need::Optional,
        "the server's version and timeouts",
    ),
    reads(
        "snapshot.storage.k8s.io",
        "volumesnapshots",
        RightScope::Cluster,
        Need::Optional,
        "snapshots that DataUploads wait for",
    ),
    reads(
        "",
        "events",
        RightScope::Velero,
        Need::Optional,
        "why a mover pod does not come up, in the kubelet's words",
    ),
    reads(
        "",
        "pods",
        RightScope::Cluster,
        Need::Optional,
        "target pods of restores; finding Velero without -n",
    ),
    reads(
        "",
        "persistentvolumeclaims",
        RightScope::Cluster,
        Need::Optional,
        "target PVCs of restores",
    ),
    reads(
        "apps",
        "daemonsets",
        RightScope::Cluster,
        Need::Optional,
        "finding Velero without -n",
    ),
    reads(
        "apps",
        "deployments",
        RightScope::Cluster,
        Need::Optional,
        "finding Velero without -n",
    ),
    traces(
        "log",
        "logs of node-agents, where they would decide something",
    ),
    traces(
        "proxy",
        "metrics of node-agents, where they would decide something",
    ),
    watches(
        "velero.io",
        TaskKind::DataUpload.plural(),
        RightScope::Velero,
    ),
    watches(
        "velero.io",
        TaskKind::DataDownload.plural(),
        RightScope::Velero,
    ),
    watches(
        "velero.io",
        TaskKind::PodVolumeBackup.plural(),
        RightScope::Velero,
    ),
    watches(
        "velero.io",
        TaskKind::PodVolumeRestore.plural(),
        RightScope::Velero,
    ),
    watches("velero.io", "backups", RightScope::Velero),
    watches("velero.io", "restores", RightScope::Velero),
    watches("", "pods", RightScope::Velero),
    watches("", "configmaps", RightScope::Velero),
    watches("", "persistentvolumeclaims", RightScope::Velero),
    watches("", "events", RightScope::Velero),
    watches("apps", "daemonsets", RightScope::Velero),
    watches("apps", "deployments", RightScope::Velero),
    watches("", "nodes", RightScope::Cluster),
    acts(
        "velero.io",
        TaskKind::DataUpload.plural(),
        &["patch"],
        Need::Required,
        "nudging tasks",
    ),
    acts(
        "velero.io",
        TaskKind::DataDownload.plural(),
        &["patch"],
        Need::Required,
        "nudging tasks",
    ),
    acts(
        "velero.io",
        TaskKind::PodVolumeBackup.plural(),
        &["patch"],
        Need::Required,
        "nudging tasks",
    ),
    acts(
        "velero.io",
        TaskKind::PodVolumeRestore.plural(),
        &["patch"],
        Need::Required,
        "nudging tasks",
    ),
    acts(
        "",
        "pods",
        &["delete", "patch"],
        Need::Required,
        "restarting a node-agent, nudging by a mover pod",
    ),
    acts(
        "",
        "events",
        &["create"],
        Need::Optional,
        "an Event that tells of each nudge and restart",
    ),
];

impl Right {
    /// Returns the resource with its subresource, as RBAC rules write it.
    #[must_use]
    pub fn path(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

/// Returns the least roles for a kind of user as YAML: a Role for Velero's namespace and a ClusterRole.
/// What is optional stands in rules of its own, below a comment that says what it buys.
#[must_use]
pub fn role_yaml(kind: RoleKind, namespace: &str) -> String {
    let name = match kind {
        RoleKind::Viewer => "velero-slots-viewer",
        RoleKind::Operator => "velero-slots-operator",
    };
    let mut yaml = String::new();
    for (scope, role) in [
        (RightScope::Velero, "Role"),
        (RightScope::Cluster, "ClusterRole"),
    ] {
        let rights: Vec<&Right> = RIGHTS
            .iter()
            .filter(|right| right.scope == scope && right.role <= kind)
            .collect();
        if !yaml.is_empty() {
            yaml.push_str("---\n");
        }
        let place = match scope {
            RightScope::Velero => format!("  namespace: {namespace}\n"),
            RightScope::Cluster => String::new(),
        };
        // Writing to a String cannot fail.
        let _infallible = write!(
            yaml,
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {role}\nmetadata:\n  name: {name}\n{place}rules:\n"
        );
        for need in [Need::Required, Need::Optional] {
            rules(
                &mut yaml,
                rights.iter().copied().filter(|right| right.need == need),
                need,
            );
        }
    }
    yaml
}

fn rules<'r>(yaml: &mut String, rights: impl Iterator<Item = &'r Right>, need: Need) {
    let mut groups: BTreeMap<(&str, &[&str], &str), Vec<String>> = BTreeMap::new();
    for right in rights {
        // An optional right stands alone, so that it can be left out alone.
        let buys = if need == Need::Optional {
            right.feature
        } else {
            ""
        };
        groups
            .entry((right.group, right.verbs, buys))
            .or_default()
            .push(right.path());
    }
    for ((group, verbs, buys), resources) in groups {
        let resources = resources.join(", ");
        let verbs = verbs.join(", ");
        if !buys.is_empty() {
            let _infallible = writeln!(yaml, "  # optional: {buys}");
        }
        let _infallible = write!(
            yaml,
            "  - apiGroups: [\"{group}\"]\n    resources: [{resources}]\n    verbs: [{verbs}]\n"
        );
    }
}

/// One right, and whether the user has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RightRow {
    /// The right.
    pub right: Right,
    /// The verb that was asked for.
    pub verb: &'static str,
    /// Whether it is granted; `None` where the server did not say.
    pub granted: Option<bool>,
}

/// The answer of `auth`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthReport {
    /// The API server.
    pub server: String,
    /// Velero's namespace.
    pub namespace: String,
    /// The rights, in the order of [`RIGHTS`].
    pub rows: Vec<RightRow>,
}

impl AuthReport {
    /// Returns whether every right that reading needs is granted.
    #[must_use]
    pub fn can_read(&self) -> bool {
        self.rows
            .iter()
            .filter(|row| row.right.role == RoleKind::Viewer && row.right.need == Need::Required)
            .all(|row| row.granted == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_role_touches_secrets_or_runs_commands() {
        for right in RIGHTS {
            assert_ne!(right.resource, "secrets");
            assert_ne!(right.subresource, "exec");
            assert!(!right.verbs.contains(&"*"));
        }
    }

    #[test]
    fn a_viewer_only_reads() {
        let yaml = role_yaml(RoleKind::Viewer, "velero");
        assert!(
            yaml.lines()
                .filter(|line| line.contains("verbs:"))
                .all(|line| ["[list]", "[get]", "[watch]"]
                    .iter()
                    .any(|verbs| line.contains(verbs)))
        );
        assert!(yaml.contains("kind: ClusterRole"));
    }

    #[test]
    fn the_operator_role_holds_the_viewer_role() {
        let viewer = role_yaml(RoleKind::Viewer, "velero");
        let operator = role_yaml(RoleKind::Operator, "velero");
        assert!(
            viewer
                .lines()
                .filter(|line| line.contains("resources:"))
                .all(|line| operator.contains(line))
        );
        assert!(operator.contains("verbs: [delete, patch]"));
    }
}
