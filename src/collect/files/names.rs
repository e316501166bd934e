//! What the name of a file in a folder or archive says about it.

use crate::capture::Previous;

/// What a file is, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// YAML or JSON.
    Objects,
    /// A container's log.
    Log(LogName),
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
///   (crash-diagnostics v0.4.3),
/// - `namespaces/<namespace>/pods/<pod>/<container>/<container>/logs/{current,previous}.log`, as
///   `oc adm inspect` writes it,
///
/// each below any folders. Names that start with a dot are left out: they are the trash of file managers.
pub(super) fn role(components: &[String]) -> Role {
    if components.iter().any(|name| name.starts_with('.')) {
        return Role::Other;
    }
    let Some(name) = components.last() else {
        return Role::Other;
    };
    let lower = name.to_ascii_lowercase();
    let plain = lower.strip_suffix(".gz").unwrap_or(&lower);
    if [".json", ".yaml", ".yml"]
        .iter()
        .any(|ending| plain.ends_with(ending))
    {
        return Role::Objects;
    }
    own_log(components)
        .or_else(|| velero_debug_log(components))
        .or_else(|| inspect_log(components))
        .map_or(Role::Other, Role::Log)
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
        "current.log" => Some(log_name(namespace, pod, container, Previous::No)),
        "previous.log" => Some(log_name(namespace, pod, container, Previous::Yes)),
        _ => None,
    }
}

fn log_name(namespace: &str, pod: &str, container: &str, previous: Previous) -> LogName {
    LogName {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        container: container.to_owned(),
        previous,
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, role};
    use crate::capture::Previous;

    fn of(path: &str) -> Role {
        role(&path.split('/').map(str::to_owned).collect::<Vec<_>>())
    }

    fn log_of(path: &str) -> (String, Previous) {
        match of(path) {
            Role::Log(log) => (
                format!("{} {} {}", log.namespace, log.pod, log.container),
                log.previous,
            ),
            other @ (Role::Objects | Role::Other) => panic!("{other:?}"),
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
        ] {
            assert_eq!(log_of(path), (who.to_owned(), previous), "{path}");
        }
    }

    #[test]
    fn files_with_other_names_are_not_read() {
        for path in [
            "README.md",
            "a/notes.txt",
            "c.log",
            ".git/x.json",
            "a/._x.yaml",
            "x.json.bak",
        ] {
            assert_eq!(of(path), Role::Other, "{path}");
        }
        for path in ["a.json", "b/c.YAML", "d.yml.gz"] {
            assert_eq!(of(path), Role::Objects, "{path}");
        }
    }
}
