//! A plan carried out against a server that misbehaves in every way an API server or a proxy can.

mod logs;
mod stale;
mod writes;

use std::cell::RefCell;
use std::time::Duration;

use super::calls::Effect;
use super::{Journal, Rights, Run, SaveError, SaveTo, Settings};
use crate::collect::cluster::{Cluster, CollectOptions, Traces, connect};
use crate::collect::kubectl_compat::{ClusterFlags, Environment};
use crate::collect::test_server::{Asked, Reply, Server};
use crate::plan::{
    AgentBill, ConfirmBy, Confirmation, FollowUps, Force, NodePlan, Observations, Plan, PlanAction,
    Precondition, Probe, Step, StepKind, StepResult,
};
use crate::snapshot::{ReadOptions, Snapshot, SourceType, read};
use crate::velero::{ObjectRef, TaskKind, TaskRef};

const PODS: &str = "/api/v1/namespaces/velero/pods";
const EVENTS: &str = "/api/v1/namespaces/velero/events";
const UPLOADS: &str = "/apis/velero.io/v2alpha1/namespaces/velero/datauploads";

fn precondition(uid: &str) -> Precondition {
    Precondition {
        uid: uid.to_owned(),
        resource_version: "7".to_owned(),
    }
}

fn restart(node: &str) -> Vec<Step> {
    let at = |kind| Step {
        node: Some(node.to_owned()),
        kind,
    };
    vec![
        at(StepKind::DeletePod {
            pod: ObjectRef::namespaced("Pod", "velero", &format!("agent-{node}")),
            precondition: precondition(&format!("uid-{node}")),
            created: None,
        }),
        at(StepKind::MarkReplacement {
            replaces: format!("uid-{node}"),
            owner: Some("node-agent".to_owned()),
        }),
    ]
}

fn upload(name: &str) -> TaskRef {
    TaskRef {
        kind: TaskKind::DataUpload,
        namespace: "velero".to_owned(),
        name: name.to_owned(),
    }
}

fn nudge(name: &str) -> Step {
    Step {
        node: Some("a".to_owned()),
        kind: StepKind::AnnotateTask {
            task: upload(name),
            precondition: precondition(&format!("uid-{name}")),
        },
    }
}

fn node(name: &str) -> NodePlan {
    NodePlan {
        node: name.to_owned(),
        agent: Some(AgentBill {
            pod: format!("agent-{name}"),
            uid: format!("uid-{name}"),
            created: None,
            started: None,
            version: None,
            restarts: 1,
            container: "node-agent".to_owned(),
            daemon_set: Some("node-agent".to_owned()),
        }),
        rules: "v1.17.1",
        rules_doubt: None,
        holders: Vec::new(),
        limit: None,
        waiting: Vec::new(),
        save_log: None,
    }
}

fn plan(action: PlanAction, steps: Vec<Step>) -> Plan {
    Plan {
        action,
        taken_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        source: SourceType::Cluster,
        namespace: "velero".to_owned(),
        nodes: vec![node("a"), node("b")],
        targets: Vec::new(),
        steps,
        follow_ups: Vec::new(),
        effects: Vec::new(),
        expected: Vec::new(),
        earlier: Vec::new(),
        refusals: Vec::new(),
        left_out: Vec::new(),
        warnings: Vec::new(),
        confirmation: Confirmation {
            by: ConfirmBy::YesNo,
            question: String::new(),
        },
        probe: Probe::No,
        rights: Vec::new(),
        force: Force::No,
    }
}

fn settings() -> Settings {
    Settings {
        collect: CollectOptions {
            request_timeout: Duration::from_secs(5),
            ..CollectOptions::default()
        },
        threshold_seconds: 600,
        reason: None,
        follow_ups: FollowUps::Nudge,
        effect: Effect::Real,
        limit: Duration::from_millis(1500),
        pause: Duration::from_millis(20),
        logs: Traces::Never,
        save: None,
    }
}

/// An agent's pod as the API server shows it.
fn agent(node: &str, uid: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("agent-{node}"), "namespace": "velero", "uid": uid, "resourceVersion": "7",
            "labels": {"name": "node-agent", "role": "node-agent"},
            "creationTimestamp": "2026-01-02T03:00:00Z",
            "ownerReferences": [{"kind": "DaemonSet", "name": "node-agent", "controller": true}],
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "node-agent", "image": "velero/velero:v1.17.1"}],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [{
                "name": "node-agent", "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": "2026-01-02T03:00:00Z"}},
            }],
        },
    })
    .to_string()
}

/// What a run left.
struct Ran {
    result: Result<(), SaveError>,
    seen: Observations,
    lines: Vec<String>,
    asked: Vec<Asked>,
}

impl Ran {
    fn results(&self) -> Vec<&StepResult> {
        self.seen.steps.iter().map(|step| &step.result).collect()
    }

    /// Returns everything that was sent and is not a GET, as method and path.
    fn writes(&self) -> Vec<String> {
        self.asked
            .iter()
            .filter(|asked| asked.method != "GET")
            .map(|asked| format!("{} {}", asked.method, asked.path))
            .collect()
    }
}

async fn cluster(server: &Server) -> Cluster {
    let flags = ClusterFlags {
        server: Some(server.url()),
        namespace: Some("velero".to_owned()),
        ..ClusterFlags::default()
    };
    connect(&flags, &Environment::empty(), &|_: &str| {})
        .await
        .unwrap()
}

async fn run(server: &Server, plan: &Plan, settings: &Settings, rights: &Rights) -> Ran {
    run_with(server, plan, settings, rights, &|_, _| Ok(plan.clone())).await
}

/// Carries a plan out; `replan` is asked before each node but the first.
async fn run_with(
    server: &Server,
    plan: &Plan,
    settings: &Settings,
    rights: &Rights,
    replan: &dyn Fn(&Snapshot, &str) -> Result<Plan, String>,
) -> Ran {
    let cluster = cluster(server).await;
    let base = cluster
        .collect(&CollectOptions::default(), &|_: &str| {})
        .await
        .unwrap()
        .capture;
    let before = read(
        &base,
        &ReadOptions {
            namespace: "velero".to_owned(),
            now: None,
        },
    );
    let earlier = server.asked().len();
    let journal = Journal::default();
    let lines = RefCell::new(Vec::new());
    let say = |line: &str| lines.borrow_mut().push(line.to_owned());
    let result = Run {
        cluster: &cluster,
        plan,
        base: &base,
        before: &before,
        replan,
        settings,
        rights,
        journal: &journal,
        say: &say,
    }
    .carry_out()
    .await;
    Ran {
        result,
        seen: journal.observations(),
        lines: lines.into_inner(),
        asked: server.asked().split_off(earlier),
    }
}

fn save_to(path: std::path::PathBuf) -> Settings {
    Settings {
        save: Some(SaveTo::File(path)),
        ..settings()
    }
}

/// Answers reads with an agent on node a, and writes as told.
fn server(writes: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Server {
    Server::http(
        move |asked| match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", PODS) => Reply::list(&[&agent("a", "uid-a")], ""),
            ("GET", path) if !path.ends_with("/log") => Reply::empty(),
            _ => writes(asked),
        },
    )
}
