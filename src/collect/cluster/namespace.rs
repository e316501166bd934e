//! Which namespace is Velero's.

use std::collections::BTreeSet;
use std::fmt;

use futures_util::future::join_all;
use serde::Deserialize;

use super::answer::{Failure, FailureKind};
use super::error::CollectError;
use super::list::{Answer, Depth, Narrowed, Question, first_page, list};
use super::request::Asker;
use crate::capture::{ResourceKind, Scope};
use crate::collect::kubectl_compat::{
    Cause, ClusterFlags, Environment, printable, velero_namespace_hint,
};
use crate::velero::TaskKind;

/// Velero's namespace, and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceChoice {
    /// The namespace.
    pub namespace: String,
    /// The rule that won.
    pub rule: NamespaceRule,
}

/// The rules, in the order in which they are tried: Velero's own order, then a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceRule {
    /// `-n`.
    Flag,
    /// The Velero client's configuration file.
    VeleroClientConfig,
    /// `$VELERO_NAMESPACE`.
    Environment,
    /// The namespace `velero` holds Velero.
    DefaultName,
    /// It is the only namespace that holds Velero.
    OnlyOne,
}

impl fmt::Display for NamespaceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "named by -n",
            Self::VeleroClientConfig => "named by Velero's client configuration",
            Self::Environment => "named by $VELERO_NAMESPACE",
            Self::DefaultName => "the default, and Velero is there",
            Self::OnlyOne => "the only one with Velero in it",
        })
    }
}

/// The namespace that `velero install` uses.
pub(super) const DEFAULT_NAMESPACE: &str = "velero";

/// What was looked for, in messages.
const LOOKED_FOR: &str = "no node-agent DaemonSet or pod, velero Deployment, or data movement task";

/// Returns what the user says, without asking the cluster.
pub(super) fn told(flags: &ClusterFlags, env: &Environment) -> Option<NamespaceChoice> {
    let present = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let choices = [
        (present(&flags.namespace), NamespaceRule::Flag),
        (
            velero_namespace_hint(env),
            NamespaceRule::VeleroClientConfig,
        ),
        (present(&env.velero_namespace), NamespaceRule::Environment),
    ];
    choices
        .into_iter()
        .find_map(|(namespace, rule)| Some((namespace?, rule)))
        .map(|(namespace, rule)| NamespaceChoice { namespace, rule })
}

/// Looks for Velero: first where `velero install` puts it, then everywhere.
pub(super) async fn search(asker: &Asker<'_>) -> Result<NamespaceChoice, SearchError> {
    let (first, others) = signs();
    // One request is enough for nearly every installation.
    let mut at_home = look(asker, Where::DefaultNamespace, vec![first]).await;
    if let Some(failure) = asker.verdict() {
        return Err(SearchError::Server(failure));
    }
    if at_home.namespaces.is_empty() {
        let more = look(asker, Where::DefaultNamespace, others.clone()).await;
        at_home.namespaces = more.namespaces;
        if let Some(failure) = more.failure {
            note(&mut at_home.failure, failure);
        }
    }
    if !at_home.namespaces.is_empty() {
        return Ok(NamespaceChoice {
            namespace: DEFAULT_NAMESPACE.to_owned(),
            rule: NamespaceRule::DefaultName,
        });
    }
    let all = [first].into_iter().chain(others).collect();
    let everywhere = look(asker, Where::Everywhere, all).await;
    let mut found = everywhere.namespaces.into_iter();
    match (found.next(), found.next()) {
        (Some(namespace), None) => Ok(NamespaceChoice {
            namespace,
            rule: NamespaceRule::OnlyOne,
        }),
        (Some(first), Some(second)) => Err(SearchError::Collect(CollectError::SeveralNamespaces {
            namespaces: [first, second].into_iter().chain(found).collect(),
        })),
        (None, _) => Err(SearchError::Collect(nothing_found(
            everywhere.failure.or(at_home.failure),
        ))),
    }
}

/// Returns the namespaces with a node-agent DaemonSet in them, as far as they can be read.
pub(super) async fn with_node_agent(asker: &Asker<'_>) -> BTreeSet<String> {
    let (first, _) = signs();
    look(asker, Where::Everywhere, vec![first]).await.namespaces
}

/// Returns the names of the first namespaces, as far as they can be read: whoever has more than a page of them types
/// the name.
pub(super) async fn names_of_all(asker: &Asker<'_>) -> BTreeSet<String> {
    let Ok(page) = first_page(asker, "/api/v1/namespaces", "namespaces").await else {
        return BTreeSet::new();
    };
    page.objects()
        .filter_map(|json| serde_json::from_str::<Object>(json).ok())
        .map(|object| object.metadata.name)
        .filter(|name| !name.is_empty())
        .collect()
}

/// Why the search ended without a namespace.
pub(super) enum SearchError {
    /// The server as a whole is unusable.
    Server(Failure),
    /// Velero was not found, or twice.
    Collect(CollectError),
}

fn nothing_found(failure: Option<Failure>) -> CollectError {
    let looked_for = |place: &str| format!("{LOOKED_FOR} in {place}");
    match failure {
        None => CollectError::VeleroNotFound {
            looked_for: looked_for("any namespace"),
        },
        Some(failure) if failure.kind == FailureKind::Forbidden => CollectError::SearchForbidden {
            looked_for: looked_for("namespace velero"),
            source: Cause(failure.message),
        },
        Some(failure) => CollectError::SearchFailed {
            looked_for: looked_for("what could be read"),
            source: Cause(failure.message),
        },
    }
}

#[derive(Clone, Copy)]
enum Where {
    DefaultNamespace,
    Everywhere,
}

struct Seen {
    namespaces: BTreeSet<String>,
    /// One of the lists that could not be read, a refusal by preference.
    failure: Option<Failure>,
}

async fn look(asker: &Asker<'_>, place: Where, signs: Vec<Sign>) -> Seen {
    let (scope, depth) = match place {
        Where::DefaultNamespace => (
            Scope::Namespace(DEFAULT_NAMESPACE.to_owned()),
            Depth::AnyMetadata,
        ),
        Where::Everywhere => (Scope::Cluster, Depth::AllMetadata),
    };
    let answers = join_all(signs.into_iter().map(|sign| {
        let question = Question {
            resource: sign.resource,
            scope: scope.clone(),
        };
        async move { (sign, list(asker, question, &sign.narrowed(), depth).await) }
    }))
    .await;
    let mut seen = Seen {
        namespaces: BTreeSet::new(),
        failure: None,
    };
    for (sign, answer) in answers {
        seen.namespaces.extend(namespaces(sign, &answer));
        if let Some(failure) = answer.failure {
            note(&mut seen.failure, failure);
        }
    }
    seen
}

/// Keeps the failure that explains most. A missing resource type is an answer: no such objects.
fn note(kept: &mut Option<Failure>, failure: Failure) {
    if failure.kind == FailureKind::NotFound {
        return;
    }
    let is_refusal = failure.kind == FailureKind::Forbidden;
    if kept.is_none() || is_refusal {
        *kept = Some(failure);
    }
}

/// One kind of object that tells where Velero is.
#[derive(Clone, Copy)]
struct Sign {
    resource: ResourceKind,
    by: By,
}

#[derive(Clone, Copy)]
enum By {
    Name(&'static str),
    Label(&'static str, &'static [&'static str]),
    Kind,
}

/// Returns the sign that is nearly always there, and the others.
fn signs() -> (Sign, Vec<Sign>) {
    let first = Sign {
        resource: ResourceKind::DaemonSet,
        by: By::Name("node-agent"),
    };
    let mut others = vec![
        // Charts name the Deployment after the release but keep the label.
        Sign {
            resource: ResourceKind::Deployment,
            by: By::Label("component", &["velero"]),
        },
        Sign {
            resource: ResourceKind::Deployment,
            by: By::Name("velero"),
        },
        // v1.17.2 pkg/install/daemonset.go labels the pods of Linux and of Windows nodes so.
        Sign {
            resource: ResourceKind::Pod,
            by: By::Label("name", &["node-agent", "node-agent-windows"]),
        },
    ];
    others.extend(TaskKind::ALL.map(|kind| Sign {
        resource: ResourceKind::Task(kind),
        by: By::Kind,
    }));
    (first, others)
}

impl Sign {
    fn narrowed(self) -> Narrowed {
        match self.by {
            By::Name(name) => Narrowed {
                labels: None,
                fields: Some(format!("metadata.name={name}")),
            },
            By::Label(label, values) => Narrowed {
                labels: Some(format!("{label} in ({})", values.join(","))),
                fields: None,
            },
            By::Kind => Narrowed::default(),
        }
    }

    /// Checks the answer too: some proxies and old servers ignore a selector.
    fn fits(self, metadata: &Metadata) -> bool {
        match self.by {
            By::Name(name) => metadata.name == name,
            By::Label(label, values) => metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get(label))
                .is_some_and(|value| values.contains(&value.as_str())),
            By::Kind => true,
        }
    }
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    labels: Option<std::collections::BTreeMap<String, String>>,
}

fn namespaces(sign: Sign, answer: &Answer) -> BTreeSet<String> {
    answer
        .objects()
        .filter_map(|json| serde_json::from_str::<Object>(json).ok())
        .filter(|object| sign.fits(&object.metadata))
        .map(|object| printable(&object.metadata.namespace))
        .filter(|namespace| !namespace.is_empty())
        .collect()
}
