//! What the name of a file in a folder or archive says about it.

use crate::capture::{BundleForm, Previous};

/// What a file is, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// YAML or JSON.
    Objects,
    /// A container's log.
    Log(LogName),
    /// Logs of several containers, one after the other, as `kubectl cluster-info dump` writes them.
    Logs,
    /// A log of which the name may tell the pod, and nothing else does.
    LooseLog,
    /// Objects or a log, packed in a form that is not read.
    Packed,
    /// A part of an agent's log that was rotated away.
    RotatedLog,
    /// Nothing that is read.
    Other,
}

/// Whose log a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogName {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) container: String,
    pub(super) previous: Previous,
}

/// Returns what a file is. Read are
///
/// - `*.json`, `*.yaml`, `*.yml`, each also with `.gz`,
/// - `logs/<namespace>/<pod>/<container>.log` and `<container>.previous.log`,
/// - `core_v1/<namespace>/<pod>/<container>/<container>.log`, as `velero debug` writes it
///   (crash-diagnostics v0.3.7 and v0.4.3),
/// - `namespaces/<namespace>/pods/<pod>/<container>/<container>/logs/{current,previous}.log`, as
///   `oc adm inspect` writes it, or `{current,previous}.insecure.log` where it had to ask again without the
///   certificate of the kubelet,
/// - `<namespace>/<pod>/logs.txt`, as `kubectl cluster-info dump` writes it,
/// - other `*.log`, which are joined to a pod by their name: what people save with `kubectl logs`,
///
/// each below any folders. Names that start with a dot are left out: they are the trash of file managers.
pub(super) fn role(components: &[String]) -> Role {
    if components.iter().any(|name| name.starts_with('.')) {
        return Role::Other;
    }
    let Some(name) = components.last() else {
        return Role::Other;
    };
    if let Some(log) = own_log(components)
        .or_else(|| velero_debug_log(components))
        .or_else(|| inspect_log(components))
    {
        return Role::Log(log);
    }
    if is_rotated_log_of_an_agent(components) {
        return Role::RotatedLog;
    }
    // What `oc adm inspect` asks of a container itself: metrics.json is not even JSON.
    if is_answer_of_container(components) {
        return Role::Other;
    }
    let lower = name.to_ascii_lowercase();
    if is_packed(&lower, components) {
        return Role::Packed;
    }
    let plain = lower.strip_suffix(".gz").unwrap_or(&lower);
    if is_objects_name(plain) {
        return Role::Objects;
    }
    if plain == "logs.txt" {
        return Role::Logs;
    }
    if is_log_name(name) && !is_log_of_an_operation(components) {
        return Role::LooseLog;
    }
    Role::Other
}

fn is_objects_name(plain: &str) -> bool {
    [".json", ".yaml", ".yml"]
        .iter()
        .any(|ending| plain.ends_with(ending))
}

/// Endings of files that are packed in another form than gzip.
const PACKED: [&str; 8] = [
    ".zip", ".xz", ".bz2", ".zst", ".zstd", ".lz4", ".7z", ".lzma",
];

fn is_packed(lower: &str, components: &[String]) -> bool {
    PACKED
        .iter()
        .find_map(|ending| lower.strip_suffix(ending))
        .is_some_and(|inner| {
            is_objects_name(inner)
                || inner == "logs.txt"
                || (is_log_name(inner) && !is_log_of_an_operation(components))
        })
}

/// Returns whether a file is called what people call a log that they save.
pub(super) fn is_log_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let plain = lower.strip_suffix(".gz").unwrap_or(&lower);
    plain.ends_with(".log")
        || plain.ends_with(".log.txt")
        || (plain.starts_with("node-agent") && plain.ends_with(".txt"))
}

/// The log of a Backup or Restore, which Velero writes and keeps elsewhere: that of the server, not of an
/// agent. `velero debug` calls it `backup_<name>.log`, a must-gather has it below `velero.io`.
fn is_log_of_an_operation(components: &[String]) -> bool {
    components.iter().any(|name| name == "velero.io")
        || components
            .last()
            .is_some_and(|name| name.starts_with("backup_") || name.starts_with("restore_"))
}

fn own_log(components: &[String]) -> Option<LogName> {
    let [.., logs, namespace, pod, file] = components else {
        return None;
    };
    if logs != "logs" {
        return None;
    }
    let name = file.strip_suffix(".log")?;
    Some(match name.strip_suffix(".previous") {
        Some(container) => log_name(namespace, pod, container, Previous::Yes),
        None => log_name(namespace, pod, name, Previous::No),
    })
}

fn velero_debug_log(components: &[String]) -> Option<LogName> {
    let [.., group, namespace, pod, container, file] = components else {
        return None;
    };
    (group == "core_v1" && file.strip_suffix(".log") == Some(container.as_str()))
        .then(|| log_name(namespace, pod, container, Previous::No))
}

fn inspect_log(components: &[String]) -> Option<LogName> {
    let [
        ..,
        namespaces,
        namespace,
        pods,
        pod,
        container,
        _,
        logs,
        file,
    ] = components
    else {
        return None;
    };
    if namespaces != "namespaces" || pods != "pods" || logs != "logs" {
        return None;
    }
    match file.as_str() {
        "current.log" | "current.insecure.log" => {
            Some(log_name(namespace, pod, container, Previous::No))
        }
        "previous.log" | "previous.insecure.log" => {
            Some(log_name(namespace, pod, container, Previous::Yes))
        }
        _ => None,
    }
}

/// What `oc adm inspect --rotated-pod-logs` writes: parts of a log that the kubelet has rotated.
fn is_rotated_log_of_an_agent(components: &[String]) -> bool {
    matches!(
        components,
        [.., pods, _, container, _, logs, rotated, _]
            if pods == "pods"
                && logs == "logs"
                && rotated == "rotated"
                && container.starts_with("node-agent")
    )
}

fn is_answer_of_container(components: &[String]) -> bool {
    components
        .iter()
        .position(|name| name == "namespaces")
        .and_then(|at| components.get(at..))
        .is_some_and(|below| matches!(below, [_, _, pods, _, _, _, ..] if pods == "pods"))
}

fn log_name(namespace: &str, pod: &str, container: &str, previous: Previous) -> LogName {
    LogName {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        container: container.to_owned(),
        previous,
    }
}

/// Returns which program writes files to such a place, if it is one that nobody else uses.
pub(super) fn form(components: &[String]) -> Option<BundleForm> {
    let (file, folders) = components.split_last()?;
    let has = |name: &str| folders.iter().any(|folder| folder == name);
    if has("kubecapture") || has("core_v1") || has("velero.io_v1") || has("velero.io_v2alpha1") {
        return Some(BundleForm::VeleroDebug);
    }
    if let Some(below) = folders
        .iter()
        .position(|folder| folder == "namespaces")
        .and_then(|at| folders.get(at..))
    {
        return match below {
            [_, _, group, resource]
                if group == "velero.io"
                    && (file.strip_suffix(".yaml") == Some(resource)
                        || resource.ends_with(".velero.io")) =>
            {
                Some(BundleForm::MustGather)
            }
            [_, _, group, ..] if is_inspected_group(group) => Some(
                match folders
                    .iter()
                    .any(|folder| folder == "clusters" || folder.starts_with("must-gather"))
                {
                    true => BundleForm::MustGather,
                    false => BundleForm::OcInspect,
                },
            ),
            _ => None,
        };
    }
    match folders {
        [.., _, _] if file == "logs.txt" => Some(BundleForm::ClusterInfoDump),
        [.., _] if file.starts_with("replication-controllers.") => {
            Some(BundleForm::ClusterInfoDump)
        }
        _ => None,
    }
}

/// The folders of a namespace that `oc adm inspect` makes: one per API group, and one for the pods.
fn is_inspected_group(folder: &str) -> bool {
    matches!(folder, "core" | "apps" | "pods" | "velero.io" | "batch")
}

#[cfg(test)]
mod tests {
    use super::{Role, form, role};
    use crate::capture::{BundleForm, Previous};

    fn parts(path: &str) -> Vec<String> {
        path.split('/').map(str::to_owned).collect()
    }

    fn of(path: &str) -> Role {
        role(&parts(path))
    }

    fn log_of(path: &str) -> (String, Previous) {
        match of(path) {
            Role::Log(log) => (
                format!("{} {} {}", log.namespace, log.pod, log.container),
                log.previous,
            ),
            other @ (Role::Objects
            | Role::Logs
            | Role::LooseLog
            | Role::Packed
            | Role::RotatedLog
            | Role::Other) => {
                panic!("{other:?}")
            }
        }
    }

    #[test]
    fn logs_are_known_by_where_they_lie() {
        for (path, who, previous) in [
            ("logs/ns/pod/c.log", "ns pod c", Previous::No),
            ("x/logs/ns/pod/c.previous.log", "ns pod c", Previous::Yes),
            (
                "b/kubecapture/core_v1/ns/pod/c/c.log",
                "ns pod c",
                Previous::No,
            ),
            (
                "namespaces/ns/pods/pod/c/c/logs/previous.log",
                "ns pod c",
                Previous::Yes,
            ),
            (
                "namespaces/ns/pods/pod/c/c/logs/current.insecure.log",
                "ns pod c",
                Previous::No,
            ),
            (
                "x/namespaces/ns/pods/pod/c/c/logs/previous.insecure.log",
                "ns pod c",
                Previous::Yes,
            ),
        ] {
            assert_eq!(log_of(path), (who.to_owned(), previous), "{path}");
        }
    }

    #[test]
    fn logs_that_lie_anywhere_are_known_by_their_ending() {
        for path in [
            "node-agent-x7k2p.log",
            "a/node-agent-x7k2p_node-agent.log.gz",
            "node-agent-x7k2p.txt",
            "namespaces/ns/logs/node-agent-x7k2p/current.log",
        ] {
            assert_eq!(of(path), Role::LooseLog, "{path}");
        }
        assert_eq!(of("ns/pod/logs.txt"), Role::Logs);
    }

    #[test]
    fn files_that_would_be_read_if_they_were_packed_otherwise_are_told_from_those_that_would_not() {
        for path in [
            "node-agent-x7k2p.log.zip",
            "a/node-agent-x7k2p.LOG.XZ",
            "pods.yaml.zst",
            "ns/pod/logs.txt.bz2",
        ] {
            assert_eq!(of(path), Role::Packed, "{path}");
        }
        for path in ["a.zip", "photo.png.zip", "backup_nightly.log.xz"] {
            assert_eq!(of(path), Role::Other, "{path}");
        }
    }

    #[test]
    fn a_rotated_part_of_an_agents_log_is_told_from_those_of_others() {
        let of_container = |name: &str| {
            of(&format!(
                "namespaces/ns/pods/pod/{name}/{name}/logs/rotated/0.log.20260102-030405.gz"
            ))
        };
        assert_eq!(of_container("node-agent"), Role::RotatedLog);
        assert_eq!(of_container("db"), Role::Other);
    }

    #[test]
    fn files_with_other_names_are_not_read() {
        for path in [
            "README.md",
            "a/notes.txt",
            ".git/x.json",
            "a/._x.yaml",
            "x.json.bak",
            "velero-bundle/backup_nightly.log",
            "namespaces/ns/velero.io/restores/r/r.log",
            "namespaces/ns/pods/pod/c/c/metrics.json",
            "namespaces/ns/pods/pod/c/c/healthz/index.json",
        ] {
            assert_eq!(of(path), Role::Other, "{path}");
        }
        for path in [
            "a.json",
            "b/c.YAML",
            "d.yml.gz",
            "namespaces/ns/pods/pod/pod.yaml",
        ] {
            assert_eq!(of(path), Role::Objects, "{path}");
        }
    }

    #[test]
    fn a_bundle_is_known_by_its_folders() {
        for (path, expected) in [
            (
                "velero-bundle/kubecapture/core_v1/velero/pods-202601020304.0000.json",
                Some(BundleForm::VeleroDebug),
            ),
            (
                "velero.io_v2alpha1/velero/datauploads-2026-01-02T03-04-05Z.0000.json",
                Some(BundleForm::VeleroDebug),
            ),
            (
                "namespaces/openshift-adp/core/pods.yaml",
                Some(BundleForm::OcInspect),
            ),
            (
                "quay-io-oadp/clusters/0a1b2c3d/namespaces/openshift-adp/core/pods.yaml",
                Some(BundleForm::MustGather),
            ),
            (
                "namespaces/openshift-adp/velero.io/datauploads/datauploads.yaml",
                Some(BundleForm::MustGather),
            ),
            (
                "namespaces/adp/velero.io/datauploads.velero.io/du-1.yaml",
                Some(BundleForm::MustGather),
            ),
            (
                "namespaces/adp/velero.io/datauploads.yaml",
                Some(BundleForm::OcInspect),
            ),
            (
                "velero/node-agent-x/logs.txt",
                Some(BundleForm::ClusterInfoDump),
            ),
            (
                "velero/replication-controllers.json",
                Some(BundleForm::ClusterInfoDump),
            ),
            ("objects/pods.yaml", None),
            ("logs/velero/node-agent-x/node-agent.log", None),
            ("logs.txt", None),
        ] {
            assert_eq!(form(&parts(path)), expected, "{path}");
        }
    }
}
