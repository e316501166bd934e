//! What the plugin says to someone who may not see everything.

use std::collections::BTreeSet;
use std::path::Path;

use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use velero_slots::capture::ResourceKind;

use crate::api::Api;
use crate::cases::{list, text};
use crate::control_plane::{ControlPlane, Plane};
use crate::load::forbidden_requests;
use crate::player::Moment;
use crate::plugin::{PATIENT, Run, User};

const NAMESPACE: &str = "velero";

/// Every command that reads a cluster, on the scenario of a restore.
pub(crate) const READING_COMMANDS: [&[&str]; 7] = [
    &["status", "-o", "json"],
    &["status", "-o", "wide"],
    &["diagnose", "-o", "json"],
    &["explain", "restore/restore-1", "-o", "json"],
    &["replay", "-o", "json"],
    &["replay", "--simulate", "-o", "json"],
    &["capture", "--no-redact", "-f", "-"],
];

/// Where a reader's rights hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Cluster,
    Namespace,
}

/// Lays a case, at its own time.
pub(crate) fn play(plane: &ControlPlane, case: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(case);
    let expect = std::fs::read_to_string(folder.join("expect.yaml")).expect("it is a case");
    let expect: Value = serde_saphyr::from_str(&expect).expect("it is YAML");
    let now: Timestamp = text(&expect, "now").parse().expect("it is a time");
    let by = plane.api().now().as_second() - now.as_second();
    Moment::read(&folder.join("objects"))
        .later(SignedDuration::from_secs(by))
        .lay(plane);
}

/// Makes whatever is not there yet.
fn make(plane: &ControlPlane, path: &str, object: &Value) {
    let answer = plane
        .api()
        .send(
            &Method::POST,
            path,
            "application/json",
            object.to_string().into_bytes(),
        )
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(
        answer.status.is_success() || answer.status == http::StatusCode::CONFLICT,
        "POST {path}: {}",
        answer.body
    );
}

/// Makes a service account without rights, and returns its token.
pub(crate) fn account(plane: &ControlPlane, name: &str) -> String {
    make(
        plane,
        "/api/v1/namespaces",
        &json!({"metadata": {"name": NAMESPACE}}),
    );
    let accounts = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
    make(plane, &accounts, &json!({"metadata": {"name": name}}));
    let token = plane.api().post(
        &format!("{accounts}/{name}/token"),
        &json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
    );
    text(&token["status"], "token").to_owned()
}

impl Reach {
    const fn role(self) -> &'static str {
        match self {
            Self::Cluster => "ClusterRole",
            Self::Namespace => "Role",
        }
    }

    fn path(self, plural: &str) -> String {
        let root = "/apis/rbac.authorization.k8s.io/v1";
        match self {
            Self::Cluster => format!("{root}/cluster{plural}"),
            Self::Namespace => format!("{root}/namespaces/{NAMESPACE}/{plural}"),
        }
    }

    /// Binds a service account to a role.
    fn bind(self, plane: &ControlPlane, account: &str, role: &str) {
        make(
            plane,
            &self.path("rolebindings"),
            &json!({
                "metadata": {"name": account},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": self.role(), "name": role,
                },
                "subjects": [
                    {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE},
                ],
            }),
        );
    }
}

/// Makes a service account that may list all resources but `forbidden`.
pub(crate) fn reader(plane: &ControlPlane, reach: Reach, forbidden: &[ResourceKind]) -> User {
    let left_out: Vec<&str> = forbidden.iter().map(|resource| resource.plural()).collect();
    let name = format!(
        "{}-{}",
        reach.role().to_lowercase(),
        if left_out.is_empty() {
            "of-all".to_owned()
        } else if left_out.len() == ResourceKind::ALL.len() {
            "of-nothing".to_owned()
        } else {
            format!("without-{}", left_out.join("-"))
        }
    );
    let allowed: Vec<ResourceKind> = ResourceKind::ALL
        .into_iter()
        .filter(|resource| !forbidden.contains(resource))
        .collect();
    let rules: Vec<Value> = allowed
        .iter()
        .map(|resource| {
            json!({
                "apiGroups": [resource.group()],
                "resources": [resource.plural()],
                "verbs": ["list"],
            })
        })
        .collect();
    let token = account(plane, &name);
    make(
        plane,
        &reach.path("roles"),
        &json!({"metadata": {"name": name}, "rules": rules}),
    );
    reach.bind(plane, &name, &name);
    // A Role holds in its namespace, and Nodes are in none.
    let shown = allowed
        .into_iter()
        .filter(|&resource| reach == Reach::Cluster || resource != ResourceKind::Node);
    wait_for_rights(plane, &token, shown);
    User::new(&plane.kubeconfig_of(&token))
}

/// Waits until the API server knows of the rights.
fn wait_for_rights(
    plane: &ControlPlane,
    token: &str,
    resources: impl IntoIterator<Item = ResourceKind>,
) {
    let own = Api::new(plane.url(), Some(token));
    for resource in resources {
        plane.wait_for(&format!("the right to list {resource}"), || {
            own.send(
                &Method::GET,
                &path(resource),
                "application/json",
                Vec::new(),
            )
            .is_ok_and(|answer| answer.status.is_success())
        });
    }
}

fn path(resource: ResourceKind) -> String {
    let (group, version, plural) = (resource.group(), resource.version(), resource.plural());
    let root = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    if resource == ResourceKind::Node {
        format!("{root}/{plural}?limit=1")
    } else {
        format!("{root}/namespaces/{NAMESPACE}/{plural}?limit=1")
    }
}

fn critical(document: &Value) -> BTreeSet<String> {
    list(document, "findings")
        .iter()
        .filter(|finding| text(finding, "severity") == "critical")
        .map(|finding| text(finding, "id").to_owned())
        .collect()
}

fn has_gap(document: &Value, resource: ResourceKind) -> bool {
    list(document, "gaps")
        .iter()
        .any(|gap| text(gap, "resource") == resource.plural() && text(gap, "reason") == "forbidden")
}

fn diagnose(user: &User) -> (Run, Value) {
    let run = user.plugin(&["diagnose", "-o", "json", PATIENT[0], PATIENT[1]]);
    let document = run.json();
    (run, document)
}

fn waits_for_a_snapshot(plane: &ControlPlane) -> bool {
    let uploads = plane
        .api()
        .get("/apis/velero.io/v2alpha1/namespaces/velero/datauploads");
    list(&uploads, "items")
        .iter()
        .any(|upload| text(&upload["status"], "phase") == "Accepted")
}

/// Resources without which an unfinished task cannot be called well.
const VITAL: [ResourceKind; 1] = [ResourceKind::Pod];

/// Forbids each resource in turn, and returns what was said that must not be said.
fn forbid_each(scenario: &str) -> Vec<String> {
    let plane = Plane::Still.lock();
    play(&plane, scenario);
    let (_, everything) = diagnose(&reader(&plane, Reach::Cluster, &[]));
    let known = critical(&everything);
    let mut complaints = Vec::new();
    for resource in ResourceKind::ALL {
        let user = reader(&plane, Reach::Cluster, &[resource]);
        let (run, document) = diagnose(&user);
        let mut complain =
            |what: &str| complaints.push(format!("{scenario} without {resource}: {what}\n{run}"));
        // Snapshots are listed while somebody waits for one.
        let is_asked = resource != ResourceKind::VolumeSnapshot || waits_for_a_snapshot(&plane);
        if has_gap(&document, resource) != is_asked {
            complain("the refusal is not told, or one is that nobody ran into");
        }
        let verdict = text(&document, "verdict");
        let found = critical(&document);
        if !found.is_subset(&known) {
            complain("stuck for a reason that is not one");
        }
        if verdict == "stuck" && found.is_empty() {
            complain("stuck without a reason");
        }
        let is_vital = VITAL.contains(&resource) || matches!(resource, ResourceKind::Task(_));
        if is_vital && (verdict == "healthy" || verdict == "attention") {
            complain("called well without being seen");
        }
        let code = match verdict {
            "stuck" => Some(3),
            "unknown" => Some(1),
            _ => Some(0),
        };
        if run.code != code {
            complain("the exit code is not that of the verdict");
        }
        for command in ["status", "diagnose"] {
            let table = user.plugin(&[command, PATIENT[0], PATIENT[1]]);
            let said = format!("{}{}", table.stdout, table.stderr).to_lowercase();
            if is_asked && !said.contains("forbidden") && !said.contains(resource.plural()) {
                complaints.push(format!(
                    "{scenario} without {resource}: the table hides it\n{table}"
                ));
            }
        }
    }
    complaints
}

#[test]
fn a_forbidden_resource_is_never_read_as_an_absence_in_a_healthy_cluster() {
    let complaints = forbid_each("scenarios/normal-long-queue");
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn a_forbidden_resource_is_never_read_as_an_absence_in_a_stuck_cluster() {
    let complaints = forbid_each("scenarios/drained-node");
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn a_forbidden_resource_is_never_read_as_an_absence_where_a_snapshot_is_waited_for() {
    let complaints = forbid_each("rules/expose-blocked/fires-snapshot-not-ready");
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn a_forbidden_resource_is_never_read_as_an_absence_where_restores_wait() {
    let complaints = forbid_each("scenarios/restore-waits-for-its-pods");
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn rights_in_velero_s_namespace_alone_are_enough_for_what_is_in_it() {
    let plane = Plane::Still.lock();
    play(&plane, "scenarios/normal-long-queue");
    let user = reader(&plane, Reach::Namespace, &[]);
    let capture = user.file("capture.json");
    let capture = capture.to_string_lossy();
    let commands: [&[&str]; 6] = [
        &["status"],
        &["diagnose"],
        &["replay"],
        &["replay", "--simulate"],
        &["explain", "du/du-a09"],
        &["explain", "pvc/app/data-du-a09"],
    ];
    for command in commands {
        let mut arguments = command.to_vec();
        arguments.extend(["-o", "json"].iter().chain(&PATIENT));
        only_nodes_are_forbidden(&user.plugin(&arguments));
    }
    let taken = user.plugin(&["capture", "-f", &capture, PATIENT[0], PATIENT[1]]);
    let said = taken.expect_code(0);
    assert!(said.stderr.contains("nodes"), "{said}");
    only_nodes_are_forbidden(&user.plugin(&["diagnose", "-o", "json", "--from", &capture]));
    let (_, everything) = diagnose(&reader(&plane, Reach::Cluster, &[]));
    let (run, document) = diagnose(&user);
    let ids = |document: &Value| -> Vec<String> {
        list(document, "findings")
            .iter()
            .map(|finding| text(finding, "id").to_owned())
            .collect()
    };
    assert_eq!(ids(&document), ids(&everything), "{run}");
}

/// Holds that an answer lacks the Nodes and nothing else for want of a right.
fn only_nodes_are_forbidden(run: &Run) {
    let document = run.json();
    assert_eq!(text(&document, "namespace"), NAMESPACE, "{run}");
    let gaps: BTreeSet<&str> = list(&document, "gaps")
        .iter()
        .filter(|gap| text(gap, "reason") == "forbidden")
        .map(|gap| text(gap, "resource"))
        .collect();
    assert_eq!(gaps, BTreeSet::from(["nodes"]), "{run}");
}

#[test]
fn without_any_right_it_says_that_it_may_not_look_and_how_to_go_on() {
    let plane = Plane::Still.lock();
    play(&plane, "scenarios/normal-long-queue");
    let user = reader(&plane, Reach::Cluster, &ResourceKind::ALL);
    let run = user.plugin(&["status"]).expect_code(1);
    assert!(run.stderr.contains("forbidden"), "{run}");
    assert!(run.stderr.contains("-n"), "{run}");
}

#[test]
fn the_printed_viewer_role_is_enough_for_every_reading_command() {
    let plane = Plane::Still.lock();
    play(&plane, "scenarios/restore-waits-for-its-pods");
    let admin = User::new(&plane.kubeconfig());
    let token = account(&plane, "viewer");
    let printed = admin.plugin(&["auth", "--role", "viewer"]).expect_code(0);
    let file = admin.file("viewer.yaml");
    std::fs::write(&file, &printed.stdout).expect("the home is ours");
    admin
        .kubectl(&["apply", "-f", &file.to_string_lossy()])
        .expect_code(0);
    for reach in [Reach::Namespace, Reach::Cluster] {
        reach.bind(&plane, "viewer", "velero-slots-viewer");
    }
    wait_for_rights(&plane, &token, ResourceKind::ALL);

    let viewer = User::new(&plane.kubeconfig_of(&token));
    for command in READING_COMMANDS {
        let mut arguments = command.to_vec();
        arguments.extend(PATIENT);
        let run = viewer.plugin(&arguments);
        let as_admin = admin.plugin(&arguments);
        assert_eq!(run.code, as_admin.code, "{run}\n{as_admin}");
        assert!(!run.stderr.contains("forbidden"), "{run}");
        assert!(!run.stdout.contains("forbidden"), "{run}");
        if command.contains(&"json") {
            assert_eq!(list(&run.json(), "gaps"), [] as [Value; 0], "{run}");
        }
    }
    viewer.plugin(&["auth"]).expect_code(0);
    // The role lets a watch be one.
    let watch = ["status", "-w", "-o", "json", "--timeout", "10s"];
    let run = viewer.plugin(&watch).expect_code(124);
    assert!(!run.stderr.contains("no right to watch"), "{run}");
}

#[test]
fn no_reading_command_sends_anything_but_reads_and_reviews_of_rights() {
    let plane = Plane::Still.lock();
    play(&plane, "scenarios/restore-waits-for-its-pods");
    let (proxy, user) = plane.behind_proxy(SignedDuration::ZERO);
    let auth: &[&str] = &["auth"];
    for command in READING_COMMANDS.into_iter().chain([auth]) {
        let mut arguments = command.to_vec();
        arguments.extend(PATIENT);
        let run = user.plugin(&arguments);
        let seen = proxy.take();
        assert!(!seen.is_empty(), "it asked\n{run}");
        assert_eq!(forbidden_requests(&seen), Vec::<String>::new(), "{run}");
        for request in seen {
            let agent = &request.user_agent;
            assert!(agent.starts_with("kubectl-velero-slots/"), "{agent}\n{run}");
        }
    }
}
