//! The plugin manifest, held to what krew's own validation and its reviewers ask for.

use serde_json::Value;

/// Operating systems and processors on which krew tries a plugin.
const PLATFORMS: [(&str, &str); 11] = [
    ("windows", "386"),
    ("windows", "amd64"),
    ("windows", "arm64"),
    ("linux", "386"),
    ("linux", "amd64"),
    ("linux", "arm"),
    ("linux", "arm64"),
    ("linux", "ppc64le"),
    ("darwin", "386"),
    ("darwin", "amd64"),
    ("darwin", "arm64"),
];

/// Names of devices, which Windows takes for themselves.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

fn manifest() -> Value {
    serde_saphyr::from_str(&crate::read("krew-manifest.yaml")).expect("the manifest is YAML")
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns the addresses of all archives that the manifest names.
pub(crate) fn archives() -> Vec<String> {
    let manifest = manifest();
    let platforms = manifest
        .pointer("/spec/platforms")
        .and_then(Value::as_array);
    platforms
        .into_iter()
        .flatten()
        .map(|platform| text(platform, "/uri").to_owned())
        .collect()
}

/// Returns every rule that the manifest breaks.
fn broken_rules(manifest: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rule = |holds: bool, says: &str| {
        if !holds {
            broken.push(says.to_owned());
        }
    };
    rule(
        text(manifest, "/apiVersion") == "krew.googlecontainertools.github.com/v1alpha2",
        "apiVersion is krew's",
    );
    rule(text(manifest, "/kind") == "Plugin", "kind is Plugin");

    let name = text(manifest, "/metadata/name");
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    rule(
        !name.is_empty() && name.chars().all(is_word),
        "the name is lower-case kebab-case",
    );
    rule(
        !name.starts_with("kube"),
        "the name does not repeat kubectl's",
    );
    rule(
        !DEVICES.contains(&name),
        "the name is not a device of Windows",
    );
    rule(name == "velero-slots", "the name is the command");

    let version = text(manifest, "/spec/version");
    rule(
        version.strip_prefix('v') == Some(env!("CARGO_PKG_VERSION")),
        "the version is that of Cargo.toml, with a v",
    );
    let homepage = text(manifest, "/spec/homepage");
    rule(
        homepage.starts_with("https://")
            && homepage
                .rsplit('/')
                .next()
                .is_some_and(|last| last.starts_with("kubectl-")),
        "the homepage is a repository named kubectl-…",
    );

    let short = text(manifest, "/spec/shortDescription");
    rule(
        !short.is_empty() && short.len() <= 50 && short.is_ascii() && !short.contains('\n'),
        "the short description is one line of at most 50 plain characters",
    );
    let lower = short.to_ascii_lowercase();
    rule(
        !lower.contains("kubectl") && !lower.contains("kubernetes"),
        "the short description does not say kubectl or Kubernetes",
    );
    let description = text(manifest, "/spec/description");
    rule(
        !description.is_empty() && description.lines().all(|line| line.chars().count() <= 80),
        "the description is wrapped at 80",
    );
    rule(
        !description.contains("--") && !description.contains("kubectl "),
        "the description lists no flags and no usage",
    );

    let platforms = manifest
        .pointer("/spec/platforms")
        .and_then(Value::as_array);
    let platforms = platforms.map_or(&[] as &[Value], Vec::as_slice);
    rule(!platforms.is_empty(), "there is a platform");
    let mut claimed = Vec::new();
    for platform in platforms {
        let matched = matched(platform);
        rule(
            matched.is_ok(),
            "a selector has os and arch only, as plain labels",
        );
        let matched = matched.unwrap_or_default();
        rule(
            !matched.is_empty(),
            "a selector matches a platform that krew knows",
        );
        rule(
            matched.iter().all(|one| !claimed.contains(one)),
            "no two platforms overlap",
        );
        let windows = matched.iter().any(|(os, _)| *os == "windows");
        claimed.extend(matched);
        let binary = if windows {
            "kubectl-velero_slots.exe"
        } else {
            "kubectl-velero_slots"
        };
        rule(
            text(platform, "/bin") == binary,
            "bin is the executable's file name",
        );

        let uri = text(platform, "/uri");
        rule(
            uri.starts_with(&format!("{homepage}/releases/download/{version}/")),
            "an archive is of this release",
        );
        rule(
            uri.ends_with(".tar.gz") || uri.ends_with(".zip"),
            "an archive is .tar.gz or .zip",
        );
        let is_lower_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let sum = text(platform, "/sha256");
        rule(
            sum.len() == 64 && sum.chars().all(is_lower_hex),
            "sha256 is 64 lower-case hexadecimal digits",
        );
        let files = platform.get("files");
        let complete =
            |file: &Value| !text(file, "/from").is_empty() && !text(file, "/to").is_empty();
        rule(
            files.is_none_or(|files| {
                files
                    .as_array()
                    .is_some_and(|files| !files.is_empty() && files.iter().all(complete))
            }),
            "files is absent, or says from where to where",
        );
    }
    for os in ["linux", "darwin", "windows"] {
        rule(
            claimed.iter().any(|(claimed, _)| *claimed == os),
            "the three operating systems of kubectl users are served",
        );
    }
    broken
}

/// Returns the platforms that a selector matches; an error if it has anything but plain labels `os` and `arch`.
fn matched(platform: &Value) -> Result<Vec<(&'static str, &'static str)>, ()> {
    let selector = platform
        .get("selector")
        .and_then(Value::as_object)
        .ok_or(())?;
    let labels = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .ok_or(())?;
    if selector.len() != 1 || labels.is_empty() {
        return Err(());
    }
    if labels.keys().any(|key| key != "os" && key != "arch") {
        return Err(());
    }
    let fits = |key: &str, value: &str| labels.get(key).is_none_or(|label| label == value);
    Ok(PLATFORMS
        .into_iter()
        .filter(|(os, arch)| fits("os", os) && fits("arch", arch))
        .collect())
}

#[test]
fn the_plugin_manifest_is_one_that_krew_accepts() {
    assert_eq!(broken_rules(&manifest()), Vec::<String>::new());
}

#[test]
fn the_archive_can_carry_a_licence_that_krew_finds() {
    assert!(crate::read("LICENSE").contains("Apache License"));
    assert!(
        !crate::read("Cargo.toml").contains("\"LICENSE\""),
        "LICENSE is not excluded"
    );
}

#[test]
fn a_manifest_with_any_one_field_wrong_is_refused() {
    for (pointer, wrong) in [
        ("/apiVersion", "krew.googlecontainertools.github.com/v1"),
        ("/kind", "Plugins"),
        ("/metadata/name", "Velero-Slots"),
        ("/metadata/name", "kube-velero-slots"),
        ("/spec/version", "0.1.0"),
        ("/spec/version", "v99.0.0"),
        ("/spec/homepage", "https://example.com/velero-slots"),
        (
            "/spec/shortDescription",
            "Tell why the movement of data by Velero is stuck now",
        ),
        ("/spec/shortDescription", "A kubectl plugin"),
        ("/spec/description", "Use it with --from PATH."),
        ("/spec/platforms/0/selector/matchLabels/os", "solaris"),
        ("/spec/platforms/0/selector/matchLabels/arch", "arm64"),
        (
            "/spec/platforms/0/uri",
            "https://example.com/archive/main.tar.gz",
        ),
        ("/spec/platforms/0/sha256", &"A".repeat(64)),
        ("/spec/platforms/0/sha256", "0"),
        ("/spec/platforms/4/bin", "kubectl-velero_slots"),
        ("/spec/platforms/0/bin", "kubectl-velero-slots"),
    ] {
        let mut manifest = manifest();
        *manifest.pointer_mut(pointer).expect("the field exists") = Value::from(wrong);
        assert_ne!(
            broken_rules(&manifest),
            Vec::<String>::new(),
            "{pointer}: {wrong}"
        );
    }
}

#[test]
fn a_manifest_with_a_selector_or_files_that_krew_refuses_is_refused() {
    for (pointer, wrong) in [
        ("/spec/platforms/0/selector", serde_json::json!({})),
        (
            "/spec/platforms/0/selector",
            serde_json::json!({"matchLabels": {}}),
        ),
        (
            "/spec/platforms/0/selector/matchLabels",
            serde_json::json!({"os": "linux"}),
        ),
        (
            "/spec/platforms/0/selector/matchLabels",
            serde_json::json!({"os": "linux", "libc": "musl"}),
        ),
        ("/spec/platforms", serde_json::json!([])),
    ] {
        let mut manifest = manifest();
        *manifest.pointer_mut(pointer).expect("the field exists") = wrong.clone();
        assert_ne!(
            broken_rules(&manifest),
            Vec::<String>::new(),
            "{pointer}: {wrong}"
        );
    }
    let mut manifest = manifest();
    let first = manifest
        .pointer_mut("/spec/platforms/0")
        .expect("there is one");
    first
        .as_object_mut()
        .expect("it is a mapping")
        .insert("files".to_owned(), serde_json::json!([]));
    assert_ne!(broken_rules(&manifest), Vec::<String>::new(), "empty files");
}

/// Renders `.krew.yaml` as the release bot does: the address of an archive, and its sum on the next line.
fn rendered_template() -> Value {
    let version = format!("v{}", env!("CARGO_PKG_VERSION"));
    let zeros = "0".repeat(64);
    let lines: Vec<String> = crate::read(".krew.yaml")
        .replace("{{ .TagName }}", &version)
        .lines()
        .map(|line| {
            line.trim()
                .strip_prefix("{{addURIAndSha \"")
                .and_then(|rest| rest.strip_suffix("\" .TagName | indent 6}}"))
                .map_or_else(
                    || line.to_owned(),
                    |uri| format!("      uri: {uri}\n      sha256: \"{zeros}\""),
                )
        })
        .collect();
    let rendered = lines.join("\n");
    assert!(!rendered.contains("{{"), "no other templates: {rendered}");
    serde_saphyr::from_str(&rendered).expect("the rendered template is YAML")
}

#[test]
fn the_template_of_the_release_bot_is_the_manifest() {
    assert_eq!(rendered_template(), manifest());
}

#[test]
fn the_package_names_the_repository_of_the_manifest() {
    let homepage = text(&manifest(), "/spec/homepage").to_owned();
    assert!(
        crate::read("Cargo.toml").contains(&format!("repository = \"{homepage}\"")),
        "cargo binstall finds the archives below the repository"
    );
}

#[test]
fn the_release_workflow_builds_every_archive_of_the_manifest() {
    let manifest = manifest();
    let workflow = crate::read(".github/workflows/release.yml");
    for platform in manifest["spec"]["platforms"].as_array().expect("platforms") {
        let uri = text(platform, "/uri");
        let target = uri
            .rsplit('/')
            .next()
            .and_then(|name| name.strip_prefix("kubectl-velero_slots-"))
            .and_then(|name| name.strip_suffix(".tar.gz"))
            .expect("an archive is named after its target");
        assert!(
            workflow.contains(&format!("{{ target: {target}, runner: ")),
            "{target} is not built"
        );
    }
}
