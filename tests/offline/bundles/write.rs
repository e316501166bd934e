//! Writes what a cluster holds as other programs would, after the layouts that docs/bundles.md describes.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has found something"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::objects::{Cluster, Group};

/// Velero's namespace in the cases.
const NAMESPACE: &str = "velero";

/// Files by path.
pub(crate) type Files = Vec<(String, String)>;

/// The forms of bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `velero debug` up to Velero 1.18.1.
    VeleroDebug,
    /// `velero debug` of 1.18.2 and later.
    VeleroDebugNewTime,
    /// OADP must-gather below the folder of its image.
    MustGather,
    /// `oc adm inspect` of namespace and custom resources.
    Inspect,
    /// `kubectl cluster-info dump --output-directory`, with the custom resources beside it.
    DumpFolder,
    /// `kubectl cluster-info dump` on standard output, likewise.
    DumpStream,
    /// `kubectl get` and `kubectl logs`, flat.
    KubectlFiles,
}

impl Form {
    pub(crate) const ALL: [Self; 7] = [
        Self::VeleroDebug,
        Self::VeleroDebugNewTime,
        Self::MustGather,
        Self::Inspect,
        Self::DumpFolder,
        Self::DumpStream,
        Self::KubectlFiles,
    ];

    /// Its folder below `fixtures/bundles`.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::VeleroDebug => "velero-debug",
            Self::VeleroDebugNewTime => "velero-debug-1.18.2",
            Self::MustGather => "oadp-must-gather",
            Self::Inspect => "oc-adm-inspect",
            Self::DumpFolder => "cluster-info-dump",
            Self::DumpStream => "cluster-info-dump-stream",
            Self::KubectlFiles => "kubectl-logs",
        }
    }

    pub(crate) fn files(self, cluster: &Cluster) -> Files {
        match self {
            Self::VeleroDebug => velero_debug(cluster, "202601020304.0000"),
            Self::VeleroDebugNewTime => velero_debug(cluster, "2026-01-02T03-04-05Z.0000"),
            Self::MustGather => must_gather(cluster),
            Self::Inspect => inspect("inspect.local.42", cluster, &["velero.io"]),
            Self::DumpFolder => dump_folder(cluster),
            Self::DumpStream => dump_stream(cluster),
            Self::KubectlFiles => kubectl_files(cluster),
        }
    }
}

/// Writes files below a folder.
pub(crate) fn to_folder(files: &Files, folder: &Path) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

/// Packs files as `tar czf` does.
pub(crate) fn to_archive(files: &Files) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(gzip);
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder
            .append_data(&mut header, path, text.as_bytes())
            .expect("memory");
    }
    builder
        .into_inner()
        .and_then(flate2::write::GzEncoder::finish)
        .expect("memory")
}

fn json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("JSON");
    format!("{text}\n")
}

/// YAML in blocks, as kubectl writes it.
fn yaml(value: &Value) -> String {
    let mut out = String::from("---\n");
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                // Plain keys, as kubectl writes them: none of them looks like another type.
                let key = match key.as_str() {
                    "." => "\".\"".to_owned(),
                    key => key.to_owned(),
                };
                let _written = write!(out, "{pad}{key}:");
                nested(value, indent, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut text = String::new();
                block(item, indent + 2, &mut text);
                let _written = write!(out, "{pad}- {}", text.trim_start());
            }
        }
        scalar @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => {
            let _written = writeln!(out, "{pad}{scalar}");
        }
    }
}

fn nested(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            block(value, indent + 2, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(value, indent, out);
        }
        scalar @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => {
            let _written = writeln!(out, " {scalar}");
        }
    }
}

/// Velero's objects and the pods of its namespace, one list a kind, and the present logs of its pods.
fn velero_debug(cluster: &Cluster, time: &str) -> Files {
    let mut files = vec![(
        "velero-bundle/version.txt".to_owned(),
        "Client:\n\tVersion: v1.17.2\n".to_owned(),
    )];
    for group in cluster.groups() {
        let folder = match (group.group(), group.kind) {
            ("", "Pod") => "core_v1".to_owned(),
            ("velero.io", _) => group.api_version.replace('/', "_"),
            _ => continue,
        };
        if group.namespace == NAMESPACE {
            let path = format!(
                "velero-bundle/kubecapture/{folder}/{NAMESPACE}/{}-{time}.json",
                group.plural()
            );
            files.push((path, json(&group.typed_list())));
        }
    }
    for log in cluster.logs.iter().filter(|log| !log.previous) {
        let path = format!(
            "velero-bundle/kubecapture/core_v1/{}/{}/{}/{}.log",
            log.namespace, log.pod, log.container, log.container
        );
        files.push((path, log.body.clone()));
    }
    files.push((
        "velero-bundle/backup_nightly.log".to_owned(),
        "time=\"2026-01-01T00:00:00Z\" level=info msg=\"a log of a Backup\"\n".to_owned(),
    ));
    files
}

/// Lists of a namespace by group, each running pod once more, logs with the kubelet's times, and what
/// is asked of containers.
fn inspect(root: &str, cluster: &Cluster, groups: &[&str]) -> Files {
    let mut files = vec![
        (
            format!("{root}/timestamp"),
            "2026-01-02 03:04:05\n".to_owned(),
        ),
        (
            format!("{root}/event-filter.html"),
            "<html></html>\n".to_owned(),
        ),
    ];
    let base = format!("{root}/namespaces/{NAMESPACE}");
    for group in cluster.groups() {
        let folder = match group.group() {
            "" => "core",
            named => named,
        };
        let is_inspected = matches!(folder, "core" | "apps") || groups.contains(&folder);
        if !is_inspected || group.namespace != NAMESPACE {
            continue;
        }
        files.push((
            format!("{base}/{folder}/{}.yaml", group.plural()),
            yaml(&group.typed_list()),
        ));
        if group.kind == "Pod" {
            files.extend(group.objects.iter().map(|pod| {
                let name = super::objects::text(pod, "/metadata/name");
                (format!("{base}/pods/{name}/{name}.yaml"), yaml(pod))
            }));
        }
    }
    for log in &cluster.logs {
        let name = if log.previous { "previous" } else { "current" };
        let container = format!(
            "{base}/pods/{}/{}/{}",
            log.pod, log.container, log.container
        );
        let body: String = log
            .body
            .lines()
            .map(|line| format!("2026-01-02T03:04:05.123456789Z {line}\n"))
            .collect();
        files.push((format!("{container}/logs/{name}.log"), body));
        files.push((
            format!("{container}/metrics.json"),
            "# HELP go_goroutines Number.\ngo_goroutines 12\n".to_owned(),
        ));
    }
    files
}

/// What `oc adm inspect` writes of the operator's namespace, and a list of each of Velero's kinds.
fn must_gather(cluster: &Cluster) -> Files {
    let root = "must-gather.local.42/quay-io-oadp-must-gather-sha256-0123/clusters/0a1b2c3d";
    let mut files = inspect(root, cluster, &[]);
    files.push((
        format!("{root}/oadp-must-gather-summary.md"),
        "# OADP must-gather summary\n".to_owned(),
    ));
    for group in cluster.groups() {
        if group.group() == "velero.io" {
            let plural = group.plural();
            let path = format!(
                "{root}/namespaces/{}/velero.io/{plural}/{plural}.yaml",
                group.namespace
            );
            files.push((path, yaml(&group.typed_list())));
        }
    }
    files
}

/// What a dump holds: name of the file and its list. Without managedFields, and items without a kind.
fn dumped(cluster: &Cluster) -> Files {
    let mut files = Vec::new();
    for group in cluster.groups() {
        let path = match (group.kind, group.namespace) {
            ("Node", _) => "nodes.json".to_owned(),
            ("Pod" | "Event" | "DaemonSet" | "Deployment", NAMESPACE) => {
                format!("{NAMESPACE}/{}.json", group.plural())
            }
            _ => continue,
        };
        let mut list = group.typed_list();
        let items = list["items"].as_array_mut().expect("a list has items");
        for item in items {
            let object = item.as_object_mut().expect("an item is an object");
            object.remove("kind");
            object.remove("apiVersion");
            if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                meta.remove("managedFields");
            }
        }
        files.push((path, json(&list)));
    }
    files.sort_by_key(|(path, _)| path.contains('/'));
    files.push((
        format!("{NAMESPACE}/replication-controllers.json"),
        "{\n    \"kind\": \"ReplicationControllerList\",\n    \"apiVersion\": \"v1\",\n    \"metadata\": {},\n    \"items\": []\n}\n"
            .to_owned(),
    ));
    files
}

fn dumped_log(log: &super::objects::Log) -> String {
    let whose = format!(
        "logs for container {} of pod {}/{} ====\n",
        log.container, log.namespace, log.pod
    );
    format!("==== START {whose}{}==== END {whose}", log.body)
}

fn custom_resources(cluster: &Cluster) -> (String, String) {
    let mut items: Vec<&Value> = Vec::new();
    for group in cluster.groups() {
        if group.group() == "velero.io" {
            items.extend(group.objects);
        }
    }
    let list = Group {
        api_version: "v1",
        kind: "",
        namespace: "",
        objects: items,
    };
    ("tasks.yaml".to_owned(), yaml(&list.list()))
}

fn dump_folder(cluster: &Cluster) -> Files {
    let mut files: Files = dumped(cluster)
        .into_iter()
        .map(|(path, text)| (format!("dump/{path}"), text))
        .collect();
    files.extend(cluster.logs.iter().filter(|log| !log.previous).map(|log| {
        let path = format!("dump/{}/{}/logs.txt", log.namespace, log.pod);
        (path, dumped_log(log))
    }));
    files.push(custom_resources(cluster));
    files
}

fn dump_stream(cluster: &Cluster) -> Files {
    let mut stream: String = dumped(cluster).into_iter().map(|(_, text)| text).collect();
    for log in cluster.logs.iter().filter(|log| !log.previous) {
        stream.push_str(&dumped_log(log));
    }
    vec![("dump.json".to_owned(), stream), custom_resources(cluster)]
}

fn kubectl_files(cluster: &Cluster) -> Files {
    let mut files: Files = cluster
        .groups()
        .iter()
        .filter(|group| group.namespace == NAMESPACE || group.kind == "Node")
        .map(|group| (format!("{}.yaml", group.plural()), yaml(&group.list())))
        .collect();
    files.extend(cluster.logs.iter().map(|log| {
        let name = match log.previous {
            true => format!("{}.previous.log", log.pod),
            false => format!("{}_{}.log", log.pod, log.container),
        };
        (name, log.body.clone())
    }));
    files
}
