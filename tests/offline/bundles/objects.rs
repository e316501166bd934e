//! The objects and logs of a case, to be written as other programs would write them.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on has found something"
)]

use std::fs;
use std::path::Path;

use serde_json::Value;

/// What a cluster holds.
pub(crate) struct Cluster {
    /// Every object.
    pub(crate) objects: Vec<Value>,
    /// Every log: namespace, pod, container, whether it is that of the container before, text.
    pub(crate) logs: Vec<Log>,
}

/// A container's log.
pub(crate) struct Log {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) container: String,
    pub(crate) previous: bool,
    pub(crate) body: String,
}

/// The objects of one kind and namespace.
pub(crate) struct Group<'c> {
    pub(crate) api_version: &'c str,
    pub(crate) kind: &'c str,
    pub(crate) namespace: &'c str,
    pub(crate) objects: Vec<&'c Value>,
}

impl Cluster {
    /// Reads a case.
    pub(crate) fn of_case(case: &str) -> Self {
        let folder = crate::root().join("fixtures").join(case).join("objects");
        let mut files: Vec<_> = fs::read_dir(&folder)
            .expect("a case has objects")
            .map(|entry| entry.expect("a case is readable").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
            .collect();
        files.sort();
        let mut objects = Vec::new();
        for file in files {
            let text = fs::read_to_string(file).expect("a case is text");
            for document in text.split("\n---\n").filter(|text| !text.trim().is_empty()) {
                let object: Value = serde_saphyr::from_str(document).expect("a case is YAML");
                match object.get("items").and_then(Value::as_array) {
                    Some(items) => objects.extend(items.iter().cloned()),
                    None => objects.push(object),
                }
            }
        }
        Self {
            objects,
            logs: logs(&folder.join("logs")),
        }
    }

    /// Returns the objects by kind and namespace.
    pub(crate) fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for object in &self.objects {
            let key = (
                text(object, "/apiVersion"),
                text(object, "/kind"),
                text(object, "/metadata/namespace"),
            );
            let found = groups
                .iter_mut()
                .find(|group| (group.api_version, group.kind, group.namespace) == key);
            match found {
                Some(group) => group.objects.push(object),
                None => groups.push(Group {
                    api_version: key.0,
                    kind: key.1,
                    namespace: key.2,
                    objects: vec![object],
                }),
            }
        }
        groups
    }
}

impl Group<'_> {
    pub(crate) fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    pub(crate) fn plural(&self) -> String {
        format!("{}s", self.kind.to_ascii_lowercase())
    }

    /// A typed list, as the API server answers.
    pub(crate) fn typed_list(&self) -> Value {
        serde_json::json!({
            "kind": format!("{}List", self.kind), "apiVersion": self.api_version,
            "metadata": {"resourceVersion": "123456"}, "items": self.objects,
        })
    }

    /// A list of anything, as `kubectl get` prints.
    pub(crate) fn list(&self) -> Value {
        serde_json::json!({
            "apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": self.objects,
        })
    }
}

pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn logs(folder: &Path) -> Vec<Log> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("logs are readable").path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let body = fs::read_to_string(&path).expect("logs are text");
            let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
            let [.., namespace, pod, file] = parts.as_slice() else {
                continue;
            };
            let name = file.trim_end_matches(".log");
            found.push(Log {
                namespace: (*namespace).to_owned(),
                pod: (*pod).to_owned(),
                container: name.trim_end_matches(".previous").to_owned(),
                previous: name.ends_with(".previous"),
                body,
            });
        }
    }
    found.sort_by(|a, b| (&a.pod, a.previous).cmp(&(&b.pod, b.previous)));
    found
}
